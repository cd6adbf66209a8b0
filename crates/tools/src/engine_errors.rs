//! Errors of the engines, sorted into the kinds that callers know. The texts are the engines' own.

use deskhand_core::{ErrorKind, ToolError};
use deskhand_desktop::Error;
use deskhand_desktop::error::Stop;

/// An error of the desktop engine.
pub(crate) fn desktop(error: Error) -> ToolError {
    let text = error.to_string();
    match error {
        Error::Unavailable { .. } | Error::Locked(_) => ToolError::unavailable(text),
        Error::Invalid(_) | Error::OutOfBounds { .. } => ToolError::invalid(text),
        Error::NotFound(_) => ToolError::not_found(text),
        Error::Untypable { typed, total, .. } => ToolError::failed(text).with("typed", typed).with("total", total),
        Error::TypingStopped { why, typed, total } => {
            let kind = match why {
                Stop::Cancelled => ErrorKind::Cancelled,
                Stop::TimedOut => ErrorKind::TimedOut,
                Stop::OwnWindow => ErrorKind::Denied,
                Stop::Unread => ErrorKind::Failed,
            };
            ToolError::new(kind, text).with("typed", typed).with("total", total)
        }
        Error::OwnWindow => ToolError::denied(text),
        Error::Cancelled => ToolError::cancelled(text),
        Error::TimedOut => ToolError::timed_out(text),
        _ => ToolError::failed(text),
    }
}
