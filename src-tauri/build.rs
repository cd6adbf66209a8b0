//! Writes down what pages may call: this list and nothing else. `capabilities/windows.json` gives it to our own windows, and
//! `ui/bridge.d.ts` says what each of them does.

const COMMANDS: &[&str] = &[
    "snapshot",
    "authorize",
    "extend",
    "pause",
    "resume",
    "stop",
    "answer",
    "set_group",
    "forget_standing",
    "choose_folder",
    "examine_folder",
    "add_folder",
    "remove_folder",
    "clients",
    "client_plan",
    "client_apply",
    "start_pairing",
    "stop_pairing",
    "rename_browser",
    "prefer_browser",
    "revoke_browser",
    "open_extension_page",
    "activity",
    "verify_activity",
    "export_activity",
    "clear_activity",
    "set_settings",
    "reset_settings",
    "sign_in",
    "sign_out",
    "reconnect_gateway",
    "examine",
    "finish_first_run",
    "quit",
];

fn main() {
    let attributes = tauri_build::Attributes::new().app_manifest(tauri_build::AppManifest::new().commands(COMMANDS));
    if let Err(error) = tauri_build::try_build(attributes) {
        eprintln!("{error:#}");
        std::process::exit(1);
    }
}
