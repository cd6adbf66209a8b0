//! What can go wrong on a desktop, sorted by who can act on it.
//!
//! The layers above turn each variant into one sort of answer without loss, so a variant says *whose turn it is*: the
//! caller's (arguments), the person's (nothing there to work with), nobody's (cancelled). Texts name the thing, the
//! reason and the next step.

use std::fmt;

/// Why a call to the desktop did not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something this call needs is not there: no display, no extension, no permission.
    #[error("{what} is not available: {reason}; {remedy}")]
    Unavailable {
        /// The thing that is missing.
        what: &'static str,
        /// Why it is missing.
        reason: String,
        /// The next step that brings it.
        remedy: String,
    },
    /// The person's session is locked: nothing is shown and nothing may be typed, least of all into the password field.
    #[error("the session is locked ({0}); nothing was done. Ask the person to unlock it, then call again")]
    Locked(String),
    /// The caller asked for something that cannot be meant; asking differently helps.
    #[error("{0}")]
    Invalid(String),
    /// Nothing is there under that name.
    #[error("{0}")]
    NotFound(String),
    /// A coordinate outside the screen.
    #[error("{x},{y} is outside the screen, which reaches from 0,0 to {},{}; use a place inside", .width - 1, .height - 1)]
    OutOfBounds {
        /// Asked for, in screen pixels.
        x: i32,
        /// Asked for, in screen pixels.
        y: i32,
        /// Width of the screen in pixels.
        width: u32,
        /// Height of the screen in pixels.
        height: u32,
    },
    /// A character that no key can be made to produce.
    #[error("{} cannot be typed: {reason}. {typed} of {total} characters went in before it", Character(*character))]
    Untypable {
        /// The character.
        character: char,
        /// Why, as a clause.
        reason: String,
        /// Characters that arrived before it.
        typed: usize,
        /// Characters of the whole text.
        total: usize,
    },
    /// Typing was cut short; the characters counted went in.
    #[error("typing stopped ({why}): {typed} of {total} characters went in")]
    TypingStopped {
        /// What cut it.
        why: Stop,
        /// Characters that went in.
        typed: usize,
        /// Characters of the whole text.
        total: usize,
    },
    /// Input that would have gone to a window of Deskhand itself.
    #[error("that is Deskhand's own window; only the person acts there, and nothing was done. Work in another window, or ask the person")]
    OwnWindow,
    /// The caller or the person cancelled; whatever was held has been released.
    #[error("cancelled; every key and button that was held has been released")]
    Cancelled,
    /// The deadline passed; whatever was held has been released.
    #[error("the deadline passed; every key and button that was held has been released")]
    TimedOut,
    /// The system said no, or answered something unexpected.
    #[error("{what} failed: {reason}")]
    Failed {
        /// What was tried.
        what: String,
        /// What the system said.
        reason: String,
    },
}

impl Error {
    /// [`Error::Failed`] from anything that has words.
    pub fn failed(what: impl Into<String>, reason: impl fmt::Display) -> Self {
        Self::Failed { what: what.into(), reason: reason.to_string() }
    }

    /// [`Error::Unavailable`].
    pub fn unavailable(what: &'static str, reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Unavailable { what, reason: reason.into(), remedy: remedy.into() }
    }
}

/// What cut a long action short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The cancel token.
    Cancelled,
    /// The deadline.
    TimedOut,
    /// A window of Deskhand itself has the focus, where only the person types.
    OwnWindow,
    /// The window that has the focus stopped reading its input, so what it still holds unread is not known.
    Unread,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancelled => "cancelled",
            Self::TimedOut => "the deadline passed",
            Self::OwnWindow => "a window of Deskhand itself got the focus, and there only the person types",
            Self::Unread => "the focused window has stopped reading its input, so the last of them may still be lost",
        })
    }
}

struct Character(char);

impl fmt::Display for Character {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = u32::from(self.0);
        if self.0.is_control() { write!(f, "U+{code:04X}") } else { write!(f, "{:?} (U+{code:04X})", self.0) }
    }
}

/// Shorthand of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
