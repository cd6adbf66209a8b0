//! `deskhand mcp install|uninstall|status` in a throw-away home, and real clients that read what it wrote.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The command line in this home and nowhere else.
fn deskhand(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deskhand"));
    command.args(arguments).env_clear().env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn install_status_and_uninstall_from_the_command_line() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".cursor/mcp.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let before = "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"}\n  }\n}\n";
    fs::write(&file, before).unwrap();
    let installed = deskhand(home.path(), &["mcp", "install", "--target", "cursor"]);
    assert!(installed.status.success(), "{}", text(&installed));
    let said = text(&installed);
    assert!(said.contains("+    \"deskhand\""), "the exact change is shown: {said}");
    let entry: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let entry = &entry["mcpServers"]["deskhand"];
    assert!(Path::new(entry["command"].as_str().unwrap()).is_absolute());
    assert_eq!(entry["args"], serde_json::json!(["mcp", "start", "--client", "cursor"]));
    let status = deskhand(home.path(), &["mcp", "status", "--json"]);
    assert!(text(&status).contains("cursor"), "{}", text(&status));
    let removed = deskhand(home.path(), &["mcp", "uninstall", "--target", "cursor"]);
    assert!(removed.status.success(), "{}", text(&removed));
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    // A file the client could not read either stays as it is.
    fs::write(&file, "{ // mine\n}").unwrap();
    let refused = deskhand(home.path(), &["mcp", "install", "--target", "cursor"]);
    assert!(!refused.status.success() && text(&refused).contains("line 1"), "{}", text(&refused));
    assert_eq!(fs::read_to_string(&file).unwrap(), "{ // mine\n}");
}

#[test]
fn real_clients_read_what_was_installed() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/connect.sh");
    let run = Command::new("bash").arg(script).arg(env!("CARGO_BIN_EXE_deskhand")).output().unwrap();
    if run.status.code() == Some(77) {
        crate::support::skipped(text(&run).trim());
        return;
    }
    assert!(run.status.success(), "{}", text(&run));
}
