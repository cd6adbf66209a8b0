//! The audit log: append-only JSON lines, one at the start and one at the end of each call.
//!
//! Each line carries the hash of the line before it and its own, so that a line that was changed, removed or inserted
//! shows. Typed text, page text and file contents cannot get in: arguments are written by [`crate::Text`]'s rule, results
//! not at all. A line that a crash cut short is closed by the next start, which records the digest of the torn bytes.

mod chain;
mod verify;

pub use chain::Audit;
pub use verify::{Verified, verify};

use std::path::PathBuf;

/// Why the audit log cannot be written or trusted.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The file cannot be opened, read or written.
    #[error("the audit log {path} cannot be used: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line is not what was written.
    #[error("the audit log {path} was changed: line {line}: {why}", path = path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: u64,
        /// What does not hold.
        why: String,
    },
}
