//! How each client stands.

use crate::client::KEY;
use crate::edit;
use crate::file::Snapshot;
use crate::{Client, Environment, clients, places};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Whether a client is connected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Connection {
    /// It has no entry of ours.
    NotConnected,
    /// Its entry starts this program and its token is valid.
    Connected,
    /// Its entry starts this program, but its token was revoked: connect it again.
    Revoked,
    /// It has an entry with our name that starts something else (a moved program, another client's name): connect again.
    Differs {
        /// What it starts.
        starts: String,
    },
    /// Its file cannot be read, by us or by the client.
    Unreadable {
        /// Why, with the place in the file.
        reason: String,
    },
}

/// One file of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileStatus {
    /// The file.
    pub path: PathBuf,
    /// It is there.
    pub exists: bool,
    /// What it says.
    #[serde(flatten)]
    pub connection: Connection,
}

/// A client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClientStatus {
    /// Which one.
    pub client: Client,
    /// Its name for people.
    pub title: &'static str,
    /// It shows itself on this machine (a program on the path or its settings folder).
    pub found: bool,
    /// The state of its files together: the first trouble if there is one.
    #[serde(flatten)]
    pub connection: Connection,
    /// Its files.
    pub files: Vec<FileStatus>,
}

/// How all clients stand, in the order they are shown. Never fails: trouble is part of the answer.
pub fn status(binary: &Path, environment: &Environment, state: &Path) -> Vec<ClientStatus> {
    Client::ALL.into_iter().map(|client| of_client(client, binary, environment, state)).collect()
}

fn of_client(client: Client, binary: &Path, environment: &Environment, state: &Path) -> ClientStatus {
    let has_token = matches!(clients::token(state, client.name()), Ok(Some(_)));
    let places = places::user_places(client, environment);
    let files: Vec<_> = places.into_iter().map(|place| of_file(client, place.file, binary, has_token)).collect();
    let order = |connection: &Connection| match connection {
        Connection::Unreadable { .. } => 0,
        Connection::Differs { .. } => 1,
        Connection::Revoked => 2,
        Connection::Connected => 3,
        Connection::NotConnected => 4,
    };
    let connection = files.iter().map(|file| file.connection.clone()).min_by_key(order).unwrap_or(Connection::NotConnected);
    ClientStatus { client, title: client.title(), found: places::is_found(client, environment), connection, files }
}

fn of_file(client: Client, path: PathBuf, binary: &Path, has_token: bool) -> FileStatus {
    let unreadable = |reason: String| Connection::Unreadable { reason };
    let (exists, connection) = match Snapshot::of(&path) {
        Err(error) => (true, unreadable(error.to_string())),
        Ok(Snapshot { text: None, .. }) => (false, Connection::NotConnected),
        Ok(Snapshot { text: Some(text), .. }) => {
            let connection = match edit::parse(&text, client.syntax()) {
                Err(edit::EditError::Malformed { reason, line, column }) => unreadable(format!("{reason} at line {line}, column {column}")),
                Err(edit::EditError::Unexpected(reason)) => unreadable(reason),
                Ok(file) => of_entry(client, &file, binary, has_token),
            };
            (true, connection)
        }
    };
    FileStatus { path, exists, connection }
}

fn of_entry(client: Client, file: &Value, binary: &Path, has_token: bool) -> Connection {
    let Some(entry) = edit::get(file, &client.location(file)).or_else(|| edit::get(file, &["mcp", KEY])) else {
        return Connection::NotConnected;
    };
    let (program, named) = Client::starts(entry);
    if program == binary.to_str() && named == Some(client.name()) {
        return if has_token { Connection::Connected } else { Connection::Revoked };
    }
    let starts = program.or(entry.get("url").and_then(Value::as_str)).unwrap_or("nothing").to_owned();
    Connection::Differs { starts: named.map_or(starts.clone(), |named| format!("{starts} (as {named})")) }
}
