//! What can go wrong on the way to a gateway, in words for the person: the thing, the reason, the next step.

use std::path::PathBuf;

/// Every failure that reaches the person.
#[derive(Debug, thiserror::Error)]
pub enum ExecutorError {
    /// The server's address cannot be used.
    #[error("the gateway's address {address:?} is not usable: {why}; it begins with http:// or https://, as in https://desk.example.org")]
    Address {
        /// As given, without user and password parts.
        address: String,
        /// Why.
        why: String,
    },
    /// Plain HTTP beyond this machine, not confirmed.
    #[error("{0}")]
    PlainHttp(String),
    /// The gateway could not be reached.
    #[error("the gateway {server} could not be reached: {why}; check the address and the network")]
    Unreachable {
        /// Address of the gateway.
        server: String,
        /// Why.
        why: String,
    },
    /// The gateway turned the sign-in away.
    #[error("the gateway refused the sign-in: {0}")]
    Refused(String),
    /// The gateway answered in a way that is none of its protocol.
    #[error("{server} does not answer like a gateway: {why}; check the address")]
    NotAGateway {
        /// Address of the gateway.
        server: String,
        /// What was unexpected.
        why: String,
    },
    /// A file could not be read or written.
    #[error("{what} {path}: {source}")]
    File {
        /// What was being done.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The keyring failed in a way that a file cannot replace.
    #[error("the system's keyring did not answer: {0}; unlock it and try again")]
    Keyring(String),
    /// A certificate could not be used.
    #[error("TLS could not be set up: {0}")]
    Tls(String),
    /// Nobody is signed in.
    #[error("no gateway is signed in to; run `deskhand gateway login --url URL --user NAME`")]
    SignedOut,
}

/// The crate's result.
pub type Result<T> = std::result::Result<T, ExecutorError>;
