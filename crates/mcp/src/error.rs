//! What can go wrong in this crate, by who can act on it.

use std::io;

/// Failures of the endpoint and of its clients.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The folder that sessions are kept in cannot be made or read.
    #[error("the session folder cannot be used: {0}; check its owner and free space")]
    SessionFolder(#[source] io::Error),
    /// The listener failed.
    #[error("the listener failed: {0}")]
    Listener(#[source] io::Error),
    /// An address, origin or header value that cannot be used.
    #[error("{0}")]
    Config(String),
    /// The other end did not answer.
    #[error("{0}")]
    Upstream(String),
    /// Standard input or output failed.
    #[error("standard input or output failed: {0}")]
    Stdio(#[source] io::Error),
}
