//! The tray app: what a person installs. The worker runs inside it, and everything it knows and does is the person's side
//! of `deskhand-app`; here are only icon, windows and the list of what their pages may order.
#![cfg_attr(windows, windows_subsystem = "windows")]

mod autostart;
mod clients;
mod commands;
mod dialogs;
mod host;
mod look;
mod shell;
mod sign;
mod tray;
mod words;

use crate::shell::Shell;
use anyhow::{Context, Result};
use clap::Parser;
use deskhand_app::person::Person;
use deskhand_app::{Instance, StateFolder};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::time::Duration;
use tauri::{Manager, RunEvent, WindowEvent};

/// Deskhand, with an icon in the tray.
#[derive(Parser)]
#[command(name = "deskhand-tray", version = deskhand_app::VERSION)]
struct Options {
    /// Start without a window.
    #[arg(long)]
    hidden: bool,
    /// Folder for everything that is kept.
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

/// What the tray shows; made and changed on the main thread only.
struct TrayPlace(Mutex<Option<tray::Tray>>);

fn main() -> Result<()> {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info,tao=error,wry=error".into()))
        .with_writer(std::io::stderr)
        .init();
    let options = Options::parse();
    let state = StateFolder::open(options.state_dir.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    tauri::async_runtime::set(runtime.handle().clone());
    let Some(instance) = runtime.block_on(Instance::claim(&state, !options.hidden))? else { return Ok(()) };
    let person = runtime.block_on(async { Person::new(state) })?;
    let app = orders(tauri::Builder::default())
        .manage(person.clone())
        .manage(clients::Plans::default())
        .manage(TrayPlace(Mutex::default()))
        .build(tauri::generate_context!())
        .context("no window system answers; start it inside a desktop session, or use `deskhand serve`")?;
    let shell = Shell::new(app.handle().clone(), person);
    app.manage(shell.clone());
    begin(&shell, instance, options.hidden);
    app.run(move |_, event| happened(&shell, event));
    Ok(())
}

/// Everything that pages may order; `build.rs` has the same list for the permissions.
fn orders(builder: tauri::Builder<tauri::Wry>) -> tauri::Builder<tauri::Wry> {
    builder.invoke_handler(tauri::generate_handler![
        commands::snapshot,
        commands::authorize,
        commands::extend,
        commands::pause,
        commands::resume,
        commands::stop,
        commands::answer,
        commands::set_group,
        commands::forget_standing,
        commands::choose_folder,
        commands::examine_folder,
        commands::add_folder,
        commands::remove_folder,
        clients::clients,
        clients::client_plan,
        clients::client_apply,
        commands::start_pairing,
        commands::stop_pairing,
        commands::rename_browser,
        commands::prefer_browser,
        commands::revoke_browser,
        commands::open_extension_page,
        commands::activity,
        commands::verify_activity,
        commands::export_activity,
        commands::clear_activity,
        commands::set_settings,
        commands::reset_settings,
        commands::sign_in,
        commands::sign_out,
        commands::reconnect_gateway,
        commands::examine,
        commands::finish_first_run,
        commands::quit,
    ])
}

fn happened(shell: &Shell, event: RunEvent) {
    match event {
        RunEvent::WindowEvent { label, event: WindowEvent::CloseRequested { api, .. }, .. } => {
            api.prevent_close();
            if label == shell::MAIN {
                shell.closed();
            }
        }
        // No window is no end: the worker goes on, and the tray or a second start brings a window back.
        RunEvent::ExitRequested { api, code: None, .. } if !shell.is_quitting() => api.prevent_exit(),
        _ => {}
    }
}

/// Everything that runs beside the windows.
fn begin(shell: &Shell, mut instance: Instance, hidden: bool) {
    let (tell_first, first) = tokio::sync::oneshot::channel();
    tauri::async_runtime::spawn(host::watch(shell.clone(), tell_first));
    tauri::async_runtime::spawn(sign::keep(shell.clone()));
    tauri::async_runtime::spawn(follow(shell.clone()));
    let shell = shell.clone();
    tauri::async_runtime::spawn(async move {
        let showing = shell.clone();
        if let Err(error) = instance.listen(shell.person().state(), move || showing.show(None)) {
            tracing::warn!("a second start cannot show this window: {error:#}");
        }
        shell.person().start().await;
        let _ = first.await;
        let made = shell.clone();
        shell.on_main(move || put_into_tray(&made)).await;
        if !hidden {
            let page = shell.person().snapshot().first_run.then_some("first-run");
            shell.show(page);
        }
        told_to_end(&shell).await;
        drop(instance);
        shell.quit();
    });
}

fn put_into_tray(shell: &Shell) {
    let tray = tray::Tray::new(shell, &shell.person().snapshot());
    *shell.app().state::<TrayPlace>().0.lock() = tray;
}

/// Waits for a signal, or for the worker to be ended from outside.
async fn told_to_end(shell: &Shell) {
    tokio::select! {
        () = deskhand_app::signalled() => {}
        () = shell.person().over() => {}
    }
}

/// Tells windows and tray of every change, and pages of every call; changes that come close together are told as one.
async fn follow(shell: Shell) {
    use tauri::Emitter;
    let (mut changes, mut entries) = (shell.person().changes(), shell.person().entries());
    let calls = shell.clone();
    tauri::async_runtime::spawn(async move {
        loop {
            let entry = match entries.recv().await {
                Ok(entry) => entry,
                Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => continue,
                Err(tokio::sync::broadcast::error::RecvError::Closed) => return,
            };
            let _ = calls.app().emit("activity", entry);
        }
    });
    while changes.changed().await.is_ok() {
        let snapshot = shell.person().snapshot();
        shell.tell(&snapshot);
        let (app, words) = (shell.app().clone(), words::words(shell.person().settings().language));
        let _ = shell.app().run_on_main_thread(move || {
            if let Some(tray) = app.state::<TrayPlace>().0.lock().as_mut() {
                tray.update(&snapshot, words);
            }
        });
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}
