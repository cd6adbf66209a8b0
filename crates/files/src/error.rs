//! What can go wrong with a file an agent named, sorted so that a caller can tell "not allowed" from "not there".
//!
//! Every text names the thing, the reason and the next step. Paths appear in the form that can be given back to
//! this crate (see `names`), never in a lossy one.

use std::io;

/// Why a file operation did not happen.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// No allowed folder is usable: none was configured, or none of them exists.
    #[error(
        "{path} is refused: no allowed folder is usable{}. The person allows a folder in Deskhand's settings or with --allow-dir",
        listed(" (configured but not reachable: ", .unusable, ")")
    )]
    NoFolders {
        /// The path as it was asked for.
        path: String,
        /// Configured folders that could not be opened.
        unusable: Vec<String>,
    },
    /// The path is not inside an allowed folder, or leads out of one through `..` or a link.
    #[error("{path} {}{}. Use a path inside an allowed folder, or ask the person to allow this one", if *.by_link { "leads out of the allowed folders through a link or \"..\"" } else { "is outside the allowed folders" }, listed(" (allowed: ", .allowed, ")"))]
    Outside {
        /// The path as it was asked for.
        path: String,
        /// It began inside and was led out.
        by_link: bool,
        /// The allowed folders, at most five of them.
        allowed: Vec<String>,
    },
    /// The path leads into Deskhand's own folder, or to its token.
    #[error("{path} is Deskhand's own (its state folder or a token), which stays closed to agents whatever is allowed around it")]
    Closed {
        /// The path as it was asked for.
        path: String,
    },
    /// The path cannot be a path at all (empty, NUL, relative without a base).
    #[error("{path:?} is not a usable path: {reason}")]
    InvalidPath {
        /// The path as it was asked for.
        path: String,
        /// What is wrong, and what to give instead.
        reason: String,
    },
    /// An argument other than the path is wrong.
    #[error("{name}: {reason}")]
    InvalidArgument {
        /// Which argument.
        name: &'static str,
        /// What is wrong, and what to give instead.
        reason: String,
    },
    /// There is no such file or folder.
    #[error("{path} does not exist: {hint}")]
    NotFound {
        /// The path as it was asked for.
        path: String,
        /// What is missing and what to do.
        hint: String,
    },
    /// Several entries differ only in Unicode form (composed, decomposed, kinds of space) and none is the exact name.
    #[error(
        "{path} is ambiguous: {count} entries differ from it only in how accents or spaces are encoded. List the folder and use one name exactly as shown"
    )]
    Ambiguous {
        /// The path as it was asked for.
        path: String,
        /// How many entries match.
        count: usize,
    },
    /// The path names something other than a regular file.
    #[error("{path} is {kind}, not a file. {hint}")]
    NotAFile {
        /// The path as it was asked for.
        path: String,
        /// What it is: "a folder", "a named pipe", ...
        kind: &'static str,
        /// The next step.
        hint: &'static str,
    },
    /// The path names something other than a folder.
    #[error("{path} is {kind}, not a folder")]
    NotAFolder {
        /// The path as it was asked for.
        path: String,
        /// What it is.
        kind: &'static str,
    },
    /// The operating system does not let the person who runs Deskhand do this.
    #[error("{path}: permission denied by the operating system. Deskhand has the rights of the person who runs it")]
    Denied {
        /// The path as it was asked for.
        path: String,
    },
    /// The file or what it unfolds to is over a limit.
    #[error("{path} is too large: {what} is over the limit of {limit} bytes. {hint}")]
    TooLarge {
        /// The path as it was asked for.
        path: String,
        /// What is too large.
        what: String,
        /// The limit in bytes.
        limit: u64,
        /// The next step.
        hint: &'static str,
    },
    /// The file is not text and none of the document formats that can be read as text.
    #[error("{path} is not text: it looks like {kind}. Text files, xlsx, xls, ods and docx can be read")]
    Binary {
        /// The path as it was asked for.
        path: String,
        /// What it looks like.
        kind: String,
    },
    /// The encoding cannot be told, is unknown, or cannot hold the text.
    #[error("{path}: {reason}")]
    Encoding {
        /// The path as it was asked for.
        path: String,
        /// What is wrong with which encoding, and what to do.
        reason: String,
    },
    /// The document is locked with a password.
    #[error("{path} is locked with a password: its text cannot be read. Ask the person for an unlocked copy")]
    Locked {
        /// The path as it was asked for.
        path: String,
    },
    /// The document's format is broken.
    #[error("{path} cannot be read as {format}: {reason}")]
    Damaged {
        /// The path as it was asked for.
        path: String,
        /// The format that was tried.
        format: &'static str,
        /// What the parser said.
        reason: String,
    },
    /// Something else kept changing the path while it was being opened.
    #[error("{path} kept changing while it was being opened (another program swaps it). Try again")]
    Changed {
        /// The path as it was asked for.
        path: String,
    },
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Anything else the operating system said.
    #[error("{path}: {source}")]
    Io {
        /// The path as it was asked for.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

impl FilesError {
    /// Sorts an error of the operating system by what the caller can do about it.
    pub(crate) fn from_io(path: &str, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => {
                let hint = "check the name with computer_file_list".to_owned();
                FilesError::NotFound { path, hint }
            }
            io::ErrorKind::PermissionDenied => FilesError::Denied { path },
            io::ErrorKind::InvalidFilename => {
                FilesError::InvalidPath { path, reason: "the name is too long or not allowed by this file system".into() }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                FilesError::Io { path, source: io::Error::new(source.kind(), "the disk or quota is full; nothing was changed") }
            }
            _ => FilesError::Io { path, source },
        }
    }
}

fn listed(before: &str, names: &[String], after: &str) -> String {
    if names.is_empty() { String::new() } else { format!("{before}{}{after}", names.join(", ")) }
}
