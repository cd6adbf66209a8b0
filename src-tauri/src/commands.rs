//! What pages may order, as `ui/bridge.d.ts` lists it. Each is one call into the person's side of the worker; what a page
//! is told is a sentence or a value, never a token or a file's content.

use crate::dialogs;
use crate::shell::Shell;
use deskhand_app::person::activity;
use deskhand_app::person::snapshot::{FolderInfo, Snapshot};
use deskhand_app::person::{GrantWish, Person, Reply};
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;
use tauri::State;

/// What a page is told when it could not be done: a sentence.
pub type Answer<T = ()> = Result<T, String>;

/// One thing that was tried.
#[derive(Serialize)]
pub struct Check {
    name: &'static str,
    ok: bool,
    found: String,
    mend: Option<&'static str>,
}

/// Work that blocks, off the windows' thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Answer<T> + Send + 'static) -> Answer<T> {
    tokio::task::spawn_blocking(work).await.map_err(|e| format!("That broke off: {e}"))?
}

#[tauri::command]
pub async fn snapshot(person: State<'_, Person>) -> Answer<Snapshot> {
    Ok(person.snapshot())
}

#[tauri::command]
pub async fn authorize(person: State<'_, Person>, groups: Vec<String>, minutes: Option<f64>, callers: Option<Vec<String>>) -> Answer {
    person.authorize(&GrantWish { groups, minutes, callers })
}

#[tauri::command]
pub async fn extend(person: State<'_, Person>, minutes: u32) -> Answer {
    person.extend(minutes)
}

#[tauri::command]
pub async fn pause(person: State<'_, Person>) -> Answer {
    person.pause();
    Ok(())
}

#[tauri::command]
pub async fn resume(person: State<'_, Person>) -> Answer {
    person.resume()
}

#[tauri::command]
pub async fn stop(person: State<'_, Person>) -> Answer {
    person.stop();
    Ok(())
}

#[tauri::command]
pub async fn answer(person: State<'_, Person>, id: u64, answer: Reply, grant: Option<GrantWish>) -> Answer {
    person.answer(id, answer, grant.as_ref())
}

#[tauri::command]
pub async fn set_group(person: State<'_, Person>, group: String, enabled: bool) -> Answer {
    person.set_group(&group, enabled)
}

#[tauri::command]
pub async fn forget_standing(person: State<'_, Person>, caller: String, group: String) -> Answer {
    person.forget_standing(&caller, &group)
}

#[tauri::command]
pub async fn choose_folder(shell: State<'_, Shell>) -> Answer<Option<String>> {
    Ok(dialogs::folder(&shell).await)
}

#[tauri::command]
pub async fn examine_folder(person: State<'_, Person>, path: String) -> Answer<FolderInfo> {
    Ok(person.examine_folder(Path::new(&path)))
}

#[tauri::command]
pub async fn add_folder(person: State<'_, Person>, path: String) -> Answer {
    person.add_folder(Path::new(&path))
}

#[tauri::command]
pub async fn remove_folder(person: State<'_, Person>, path: String) -> Answer {
    person.remove_folder(Path::new(&path))
}

#[tauri::command]
pub async fn start_pairing(person: State<'_, Person>) -> Answer {
    person.start_pairing()
}

#[tauri::command]
pub async fn stop_pairing(person: State<'_, Person>) -> Answer {
    person.stop_pairing()
}

#[tauri::command]
pub async fn rename_browser(person: State<'_, Person>, id: String, name: String) -> Answer {
    person.rename_browser(&id, &name)
}

#[tauri::command]
pub async fn prefer_browser(person: State<'_, Person>, id: Option<String>) -> Answer {
    person.prefer_browser(id.as_deref())
}

#[tauri::command]
pub async fn revoke_browser(person: State<'_, Person>, id: String) -> Answer {
    person.revoke_browser(&id)
}

#[tauri::command]
pub async fn open_extension_page() -> Answer {
    blocking(deskhand_app::open_extension_page).await
}

#[tauri::command]
pub async fn activity(person: State<'_, Person>, before: Option<u64>, limit: usize, filter: String) -> Answer<activity::Page> {
    let log = person.activity();
    blocking(move || log.page(before, limit, &filter).map_err(|e| format!("The log cannot be read: {e}."))).await
}

#[tauri::command]
pub async fn verify_activity(person: State<'_, Person>) -> Answer<String> {
    let log = person.activity();
    blocking(move || log.verify()).await
}

#[tauri::command]
pub async fn export_activity(shell: State<'_, Shell>, person: State<'_, Person>) -> Answer<Option<String>> {
    let Some(target) = dialogs::save(&shell, "deskhand-activity.jsonl").await else { return Ok(None) };
    let log = person.activity();
    blocking(move || {
        std::fs::copy(log.file(), &target).map_err(|e| format!("{} could not be written: {e}.", target.display()))?;
        Ok(Some(target.display().to_string()))
    })
    .await
}

#[tauri::command]
pub async fn clear_activity(person: State<'_, Person>) -> Answer {
    person.clear_activity()
}

#[tauri::command]
pub async fn set_settings(person: State<'_, Person>, settings: Map<String, Value>) -> Answer {
    let before = person.settings().start_at_login;
    person.set_settings(&settings)?;
    let now = person.settings().start_at_login;
    if before != now {
        crate::autostart::set(now, person.state())?;
    }
    Ok(())
}

#[tauri::command]
pub async fn reset_settings(person: State<'_, Person>) -> Answer {
    person.reset_settings()?;
    crate::autostart::set(false, person.state())
}

#[tauri::command(rename_all = "camelCase")]
pub async fn sign_in(person: State<'_, Person>, server: String, user: String, password: String, accept_plain: bool) -> Answer {
    person.sign_in(&server, &user, password, accept_plain).await
}

#[tauri::command]
pub async fn sign_out(person: State<'_, Person>) -> Answer {
    person.sign_out().await
}

#[tauri::command]
pub async fn reconnect_gateway(person: State<'_, Person>) -> Answer {
    person.reconnect_gateway()
}

#[tauri::command]
pub async fn examine(person: State<'_, Person>) -> Answer<Vec<Check>> {
    let state = person.state().clone();
    blocking(move || {
        let report = deskhand_app::examine(&state, None).map_err(|e| format!("{e:#}"))?;
        Ok(report.checks.into_iter().map(|c| Check { name: c.name, ok: c.ok, found: c.found, mend: c.remedy }).collect())
    })
    .await
}

#[tauri::command]
pub async fn finish_first_run(person: State<'_, Person>) -> Answer {
    person.finish_first_run()
}

#[tauri::command]
pub async fn quit(shell: State<'_, Shell>) -> Answer {
    shell.quit();
    Ok(())
}
