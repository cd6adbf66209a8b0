//! Connecting AI clients: what would change is shown, and exactly that is done.

use crate::commands::Answer;
use deskhand_app::person::Person;
use deskhand_connect::{Action, Client, Connection, Environment, Plan, Scope};
use parking_lot::Mutex;
use serde::Serialize;
use std::path::PathBuf;
use tauri::State;

/// Plans that were shown and not carried out; more than a page shows are not kept.
const KEPT: usize = 16;

/// The plans that a page has been shown.
#[derive(Default)]
pub struct Plans(Mutex<(u64, Vec<(u64, Plan)>)>);

/// A client, as the page shows it.
#[derive(Serialize)]
pub struct ClientStatus {
    name: &'static str,
    title: &'static str,
    found: bool,
    state: &'static str,
    detail: Option<String>,
    files: Vec<String>,
}

/// A plan, as the page shows it.
#[derive(Serialize)]
pub struct ClientPlan {
    id: u64,
    files: Vec<PlannedFile>,
    notes: Vec<String>,
    done: bool,
}

#[derive(Serialize)]
struct PlannedFile {
    path: String,
    creates: bool,
    diff: String,
}

/// The program that clients start: `deskhand` beside this one.
fn program() -> Answer<PathBuf> {
    let own = std::env::current_exe().map_err(|e| format!("Deskhand cannot tell where it is installed: {e}."))?;
    let beside = own.with_file_name(if cfg!(windows) { "deskhand.exe" } else { "deskhand" });
    if beside.is_file() { Ok(beside) } else { Err(format!("{} is missing. Install Deskhand again.", beside.display())) }
}

fn environment() -> Answer<Environment> {
    Environment::of_this_process().ok_or_else(|| "There is no home folder, so no AI client can be found.".into())
}

#[tauri::command]
pub async fn clients(person: State<'_, Person>) -> Answer<Vec<ClientStatus>> {
    let found = deskhand_connect::status(&program()?, &environment()?, person.state().path());
    Ok(found.into_iter().map(shown).collect())
}

fn shown(status: deskhand_connect::ClientStatus) -> ClientStatus {
    let (state, detail) = match status.connection {
        Connection::NotConnected => ("not_connected", None),
        Connection::Connected => ("connected", None),
        Connection::Revoked => ("revoked", None),
        Connection::Differs { starts } => ("differs", Some(starts)),
        Connection::Unreadable { reason } => ("unreadable", Some(reason)),
    };
    let files = status.files.into_iter().map(|file| file.path.display().to_string()).collect();
    ClientStatus { name: status.client.name(), title: status.title, found: status.found, state, detail, files }
}

#[tauri::command]
pub async fn client_plan(person: State<'_, Person>, plans: State<'_, Plans>, client: String, action: String) -> Answer<ClientPlan> {
    let client = Client::ALL.into_iter().find(|c| c.name() == client).ok_or_else(|| format!("No client is called {client:?}."))?;
    let action = match action.as_str() {
        "install" => Action::Install,
        "uninstall" => Action::Uninstall,
        _ => return Err(format!("{action:?} is nothing that can be planned.")),
    };
    let plan = deskhand_connect::plan(action, client, Scope::User, &program()?, &environment()?, person.state().path());
    let plan = plan.map_err(|e| e.to_string())?;
    let files = plan.files.iter().filter(|file| file.is_needed());
    let files = files.map(|f| PlannedFile { path: f.path.display().to_string(), creates: f.creates, diff: f.diff.clone() }).collect();
    let (notes, done) = (plan.notes.clone(), plan.is_done());
    let mut kept = plans.0.lock();
    kept.0 += 1;
    let id = kept.0;
    if kept.1.len() >= KEPT {
        kept.1.remove(0);
    }
    kept.1.push((id, plan));
    Ok(ClientPlan { id, files, notes, done })
}

#[tauri::command]
pub async fn client_apply(person: State<'_, Person>, plans: State<'_, Plans>, plan: u64) -> Answer<String> {
    person.may_go_up()?;
    let mut kept = plans.0.lock();
    let at = kept.1.iter().position(|(id, _)| *id == plan).ok_or("That plan is too old; look at the change again.")?;
    let (_, plan) = kept.1.remove(at);
    drop(kept);
    plan.apply(person.state().path()).map(|applied| applied.next_step.to_owned()).map_err(|e| e.to_string())
}
