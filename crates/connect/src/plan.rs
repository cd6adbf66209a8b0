//! What connecting or disconnecting a client would change, to be shown before it is done.

use crate::client::KEY;
use crate::edit::{self, EditError};
use crate::file::Snapshot;
use crate::{Client, ConnectError, Environment, clients, places};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Connect or disconnect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Put our entry in.
    Install,
    /// Take our entry out.
    Uninstall,
}

/// Whose settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The person's own, for all projects.
    User,
    /// Those in this project's folder, which others may get with the project.
    Project(PathBuf),
}

/// One file that would change.
#[derive(Debug, Clone, Serialize)]
pub struct FileChange {
    /// The client's file.
    pub path: PathBuf,
    /// Where it really is, when `path` is a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leads_to: Option<PathBuf>,
    /// The file does not exist yet.
    pub creates: bool,
    /// The change as a unified diff; empty when the file already is as it should be.
    pub diff: String,
    #[serde(skip)]
    before: Snapshot,
    #[serde(skip)]
    after: String,
}

impl FileChange {
    /// The file is not yet as it should be.
    pub fn is_needed(&self) -> bool {
        self.before.text.as_deref() != Some(self.after.as_str())
    }
}

/// Everything that would be done.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// For which client.
    pub client: Client,
    /// Connect or disconnect.
    pub action: Action,
    /// Whose settings.
    pub scope: Scope,
    /// The files.
    pub files: Vec<FileChange>,
    /// A token will be made (install) or taken away (uninstall).
    pub changes_token: bool,
    /// What the person should know before, in sentences.
    pub notes: Vec<String>,
}

/// What was done.
#[derive(Debug, Clone, Serialize)]
pub struct Applied {
    /// Files that were written.
    pub files: Vec<PathBuf>,
    /// Copies of what they held before.
    pub backups: Vec<PathBuf>,
    /// What the person does now.
    pub next_step: &'static str,
}

/// Says what `action` would change. Nothing is written.
///
/// `binary`: the `deskhand` program the client is to start. `state`: the state folder.
///
/// # Errors
/// [`ConnectError::Malformed`] and [`ConnectError::Unexpected`] for a file that is left alone; [`ConnectError::Binary`].
pub fn plan(
    action: Action,
    client: Client,
    scope: Scope,
    binary: &Path,
    environment: &Environment,
    state: &Path,
) -> Result<Plan, ConnectError> {
    let paths = match &scope {
        Scope::User => places::user_places(client, environment).into_iter().map(|place| place.file).collect(),
        Scope::Project(project) => vec![places::project_file(client, project)?],
    };
    let mut notes = Vec::new();
    let mut files = Vec::new();
    for path in paths {
        let before = Snapshot::of(&path)?;
        match action {
            Action::Install => files.push(connected(client, binary, before, &mut notes)?),
            Action::Uninstall => files.extend(disconnected(client, before)?),
        }
    }
    if action == Action::Install {
        check_binary(binary)?;
        if scope == Scope::User && !places::is_found(client, environment) {
            notes.push(format!("{} was not found on this machine; its settings file is made all the same.", client.title()));
        }
        if let Scope::Project(_) = scope {
            notes.push(
                "The file belongs to the project and may reach others: it holds the path of the program on this machine, and no token."
                    .into(),
            );
        }
    }
    let has_token = clients::token(state, client.name())?.is_some();
    let changes_token = match (action, &scope) {
        (Action::Install, _) => !has_token,
        // Projects may still use it.
        (Action::Uninstall, Scope::Project(_)) => false,
        (Action::Uninstall, Scope::User) => has_token,
    };
    Ok(Plan { client, action, scope, files, changes_token, notes })
}

fn connected(client: Client, binary: &Path, before: Snapshot, notes: &mut Vec<String>) -> Result<FileChange, ConnectError> {
    let text = before.text.clone().unwrap_or_default();
    let file = edit::parse(&text, client.syntax()).map_err(|error| refusal(&before.path, error))?;
    let (location, entry) = (client.location(&file), client.entry(binary, &file));
    if let Some(old) = edit::get(&file, &location)
        && *old != entry
    {
        let (program, named) = Client::starts(old);
        let old = program.or(old.get("url").and_then(Value::as_str)).unwrap_or("something else");
        let of = named.filter(|named| *named != client.name()).map(|named| format!(" for {named}")).unwrap_or_default();
        notes.push(format!("It replaces the entry {KEY:?} that is there, which starts {old}{of}."));
    }
    let after = edit::set(&text, client.syntax(), &location, &entry).map_err(|error| refusal(&before.path, error))?;
    Ok(change(before, after))
}

/// The change that takes our entry out, if it is in.
fn disconnected(client: Client, before: Snapshot) -> Result<Option<FileChange>, ConnectError> {
    let Some(text) = before.text.clone() else { return Ok(None) };
    let mut after = text.clone();
    let mut locations = vec![client.location(&Value::Null)];
    if client == Client::OpenCode {
        locations.push(vec!["mcp", "servers", KEY]);
    }
    for location in locations {
        after = edit::remove(&after, client.syntax(), &location).map_err(|error| refusal(&before.path, error))?;
    }
    Ok((after != text).then(|| change(before, after)))
}

fn change(before: Snapshot, after: String) -> FileChange {
    let old = before.text.as_deref().unwrap_or_default();
    let name = before.path.display().to_string();
    let diff = similar::TextDiff::from_lines(old, &after).unified_diff().context_radius(3).header(&name, &name).to_string();
    FileChange {
        path: before.path.clone(),
        leads_to: (before.real != before.path).then(|| before.real.clone()),
        creates: before.text.is_none(),
        diff: if old == after { String::new() } else { diff },
        before,
        after,
    }
}

fn refusal(path: &Path, error: EditError) -> ConnectError {
    let path = path.to_owned();
    match error {
        EditError::Malformed { reason, line, column } => ConnectError::Malformed { path, reason, line, column },
        EditError::Unexpected(reason) => ConnectError::Unexpected { path, reason },
    }
}

/// A client starts this program without asking again, so it must be one that nobody else can change.
fn check_binary(binary: &Path) -> Result<(), ConnectError> {
    let refuse = |reason| Err(ConnectError::Binary { path: binary.to_owned(), reason });
    if !binary.is_absolute() {
        return refuse("the path is not absolute");
    }
    if binary.to_str().is_none() {
        return refuse("the path is not Unicode, which settings files need");
    }
    let Ok(metadata) = binary.metadata() else { return refuse("it does not exist") };
    if !metadata.is_file() {
        return refuse("it is not a file");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if metadata.mode() & 0o111 == 0 {
            return refuse("it is not executable");
        }
        if metadata.mode() & 0o002 != 0 {
            return refuse("everybody on this machine may change it. Take that right away (chmod o-w)");
        }
        if metadata.uid() != 0 && metadata.uid() != rustix::process::geteuid().as_raw() {
            return refuse("it belongs to another user of this machine");
        }
    }
    Ok(())
}

impl Plan {
    /// Nothing is left to be done.
    pub fn is_done(&self) -> bool {
        !self.changes_token && !self.files.iter().any(FileChange::is_needed)
    }

    /// The plan as text for a terminal: every file with its change, then the notes.
    pub fn preview(&self) -> String {
        let mut text = String::new();
        for file in self.files.iter().filter(|file| file.is_needed()) {
            if let Some(target) = &file.leads_to {
                text.push_str(&format!("{} is a link to {}\n", file.path.display(), target.display()));
            }
            text.push_str(&file.diff);
        }
        let token = match (self.changes_token, self.action) {
            (false, _) => None,
            (true, Action::Install) => Some(format!("A token for {} is made in the state folder.", self.client.title())),
            (true, Action::Uninstall) => Some(format!("The token of {} is taken away.", self.client.title())),
        };
        for note in self.notes.iter().chain(&token) {
            text.push_str(&format!("{note}\n"));
        }
        if self.is_done() {
            text.push_str("Nothing to change.\n");
        }
        text
    }

    /// Does it: the token first, then the files, each backed up; when one fails, those before it are put back.
    ///
    /// # Errors
    /// [`ConnectError::Changed`] when a file is no longer what the plan saw; [`ConnectError::Io`].
    pub fn apply(&self, state: &Path) -> Result<Applied, ConnectError> {
        let name = self.client.name();
        let made = self.action == Action::Install && clients::create(state, name)?.1;
        let mut applied = Applied { files: Vec::new(), backups: Vec::new(), next_step: self.client.next_step() };
        let mut done: Vec<&FileChange> = Vec::new();
        for change in self.files.iter().filter(|change| change.is_needed()) {
            if let Err(error) = self.write(change, state, &mut applied) {
                for change in done {
                    let written = Snapshot { text: Some(change.after.clone()), ..change.before.clone() };
                    let _ = written.replace(change.before.text.as_deref(), self.scope == Scope::User);
                }
                if made {
                    let _ = clients::revoke(state, name);
                }
                return Err(error);
            }
            done.push(change);
        }
        if self.action == Action::Uninstall && self.scope == Scope::User {
            clients::revoke(state, name)?;
        }
        Ok(applied)
    }

    fn write(&self, change: &FileChange, state: &Path, applied: &mut Applied) -> Result<(), ConnectError> {
        let backup = change.before.back_up(&state.join("backups"), self.client.name())?;
        change.before.replace(Some(&change.after), self.scope == Scope::User)?;
        applied.backups.extend(backup);
        applied.files.push(change.path.clone());
        Ok(())
    }
}
