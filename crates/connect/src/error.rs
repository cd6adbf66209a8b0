//! Why a client could not be connected or disconnected.

use std::io;
use std::path::PathBuf;

/// Every failure leaves the client's file as it was.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No client has this name.
    #[error("there is no client {name:?}. Clients: {known}")]
    UnknownClient {
        /// What was asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// The client has no settings file in a project.
    #[error("{client} has no settings file in a project; connect it without --project")]
    NoProjectFile {
        /// The client's title.
        client: &'static str,
    },
    /// The file is not what the client itself would accept, so it is not touched.
    #[error("{path} was left untouched: {reason} at line {line}, column {column}. Mend the file (the client cannot read it either), then try again", path = .path.display())]
    Malformed {
        /// The client's file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
    },
    /// The file is fine but has something else where the servers belong.
    #[error("{path} was left untouched: {reason}", path = .path.display())]
    Unexpected {
        /// The client's file.
        path: PathBuf,
        /// What was found, and what to do.
        reason: String,
    },
    /// The file changed between plan and apply.
    #[error("{path} changed since the plan was made; nothing was written. Look at the new plan", path = .path.display())]
    Changed {
        /// The client's file.
        path: PathBuf,
    },
    /// The binary is not one that a client should start.
    #[error("{path} cannot be put into a client's settings: {reason}", path = .path.display())]
    Binary {
        /// The binary.
        path: PathBuf,
        /// Why not.
        reason: &'static str,
    },
    /// A name that cannot be a client's.
    #[error("{name:?} is not a client name: use 1 to 64 of a-z, 0-9, \"-\" and \"_\"")]
    Name {
        /// The name.
        name: String,
    },
    /// The system said no.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl ConnectError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
