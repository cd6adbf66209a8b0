//! Errors sorted by who can act on them. The text is read by a model: it says the thing, the reason and the next step.

use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt;

/// Who can do something about a failed call, and what kind of thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The caller sent something that cannot be carried out as it stands.
    InvalidArguments,
    /// No tool of that name exists here.
    UnknownTool,
    /// The person has been asked and has not answered yet; nothing was done.
    ConsentPending,
    /// The person, or the policy given at start, does not allow this.
    Denied,
    /// The person has paused AI control.
    Paused,
    /// The screen may have changed since the caller last looked; it must look before it acts.
    LookAgain,
    /// Something this machine needs for the call is missing; the text names it and how to get it.
    Unavailable,
    /// The thing the call names is not there.
    NotFound,
    /// The deadline passed; the text says how far it came.
    TimedOut,
    /// The caller, or the person's stop, ended the call; the text says how far it came.
    Cancelled,
    /// It was tried and did not work.
    Failed,
}

impl ErrorKind {
    /// The name used on the wire and in the audit log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidArguments => "invalid_arguments",
            Self::UnknownTool => "unknown_tool",
            Self::ConsentPending => "consent_pending",
            Self::Denied => "denied",
            Self::Paused => "paused",
            Self::LookAgain => "look_again",
            Self::Unavailable => "unavailable",
            Self::NotFound => "not_found",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Of a message that is longer than both together so many characters stay at its beginning and at its end.
const HEAD: usize = 3_000;
const TAIL: usize = 1_000;

/// A call that did not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct ToolError {
    /// Who can act.
    pub kind: ErrorKind,
    /// The thing, the reason and the next step, for a model to read.
    pub message: String,
    /// Machine-readable additions, such as `retry_after_ms` or `typed`.
    pub details: Map<String, Value>,
}

impl ToolError {
    /// An error of this kind with this text.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), details: Map::new() }
    }

    /// The same error with one more detail in its structured content.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// The same error with a text that a model can read in one go: of a longer one the beginning and the end.
    ///
    /// Messages quote what was sent, and what was sent may be a hundred kilobytes.
    #[must_use]
    pub(crate) fn brief(mut self) -> Self {
        let length = self.message.chars().count();
        if length > HEAD + TAIL {
            let head: String = self.message.chars().take(HEAD).collect();
            let tail: String = self.message.chars().skip(length - TAIL).collect();
            self.message = format!("{head} … ({} characters left out) … {tail}", length - HEAD - TAIL);
        }
        self
    }

    /// The structured content of the failed result: `{"error": kind, "message": …, …details}`.
    #[must_use]
    pub fn structured(&self) -> Value {
        let mut map = Map::new();
        map.insert("error".into(), self.kind.name().into());
        map.insert("message".into(), self.message.clone().into());
        map.extend(self.details.clone());
        Value::Object(map)
    }
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $kind:ident;)*) => {
        impl ToolError {
            $($(#[$doc])* pub fn $name(message: impl Into<String>) -> Self { Self::new(ErrorKind::$kind, message) })*
        }
    };
}
constructors! {
    /// See [`ErrorKind::InvalidArguments`].
    invalid => InvalidArguments;
    /// See [`ErrorKind::Denied`].
    denied => Denied;
    /// See [`ErrorKind::Paused`].
    paused => Paused;
    /// See [`ErrorKind::LookAgain`].
    look_again => LookAgain;
    /// See [`ErrorKind::Unavailable`].
    unavailable => Unavailable;
    /// See [`ErrorKind::NotFound`].
    not_found => NotFound;
    /// See [`ErrorKind::TimedOut`].
    timed_out => TimedOut;
    /// See [`ErrorKind::Cancelled`].
    cancelled => Cancelled;
    /// See [`ErrorKind::Failed`].
    failed => Failed;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_quotes_too_much_keeps_its_beginning_and_its_end() {
        let short = ToolError::invalid("漢".repeat(HEAD + TAIL)).brief();
        assert_eq!(short.message, "漢".repeat(HEAD + TAIL));
        let long = ToolError::invalid(format!("there is no key {:?}; it takes a, b, c", "字".repeat(100_000))).brief();
        assert!(long.message.starts_with("there is no key") && long.message.ends_with("it takes a, b, c"), "{}", long.message);
        assert!(long.message.chars().count() < HEAD + TAIL + 60);
    }
}
