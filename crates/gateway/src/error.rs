//! What can go wrong in the gateway, in words a person can act on: the thing, the reason, the next step.

use std::path::PathBuf;

/// Every failure of the gateway's library and of its subcommands.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The database refused or could not be reached.
    #[error("the gateway's database did not answer: {0}; check --database and that the server or file is reachable")]
    Database(#[from] sqlx::Error),
    /// The schema could not be brought up to date.
    #[error("the gateway's database could not be brought up to date: {0}; was it written by a newer deskhand?")]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// A file or folder of the gateway could not be used.
    #[error("{what} {path}: {source}")]
    File {
        /// What was being done, e.g. "cannot read the server key".
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The address could not be listened on.
    #[error("cannot listen on {address}: {source}; choose another with --listen")]
    Listen {
        /// The address as asked for.
        address: String,
        /// Why.
        source: std::io::Error,
    },
    /// Something the person or the agent gave is not usable; the text says what and how.
    #[error("{0}")]
    Invalid(String),
    /// The named thing is not there.
    #[error("there is no {kind} {name:?}; see `deskhand gateway {kind} list`")]
    Missing {
        /// `user`, `server`, `grant` or `folder`.
        kind: &'static str,
        /// As it was asked for.
        name: String,
    },
    /// The named thing is there already.
    #[error("the {kind} {name:?} is there already; remove it first or choose another name")]
    Exists {
        /// `user`, `server`, `grant` or `folder`.
        kind: &'static str,
        /// As it was asked for.
        name: String,
    },
    /// A password could not be hashed or its stored form could not be read.
    #[error("the password could not be processed: {0}")]
    Password(String),
    /// TLS could not be set up from the given files.
    #[error("TLS could not be set up: {0}; check --tls-cert and --tls-key")]
    Tls(String),
}

impl GatewayError {
    /// For `map_err` on file operations.
    pub(crate) fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { what, path, source }
    }

    /// True when the caller, not the gateway, has to change something.
    #[must_use]
    pub fn is_callers(&self) -> bool {
        matches!(self, Self::Invalid(_) | Self::Missing { .. } | Self::Exists { .. })
    }
}

/// The crate's result.
pub type Result<T> = std::result::Result<T, GatewayError>;
