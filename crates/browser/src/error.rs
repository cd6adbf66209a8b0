//! What can go wrong with a page, sorted by who can act on it. The texts are read by a model: the thing, the reason,
//! the next step.

use std::time::Duration;

use crate::policy::Refused;
use crate::transport::{TabId, TransportError};

/// An error of a page operation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BrowserError {
    /// The caller's argument cannot be carried out as it stands.
    #[error("{0}")]
    Argument(String),
    /// A selector that no engine here reads.
    #[error("{selector:?} is not a valid selector: {why}")]
    Selector {
        /// As it was given.
        selector: String,
        /// The reason and what to write instead.
        why: String,
    },
    /// Nothing matches.
    #[error("no element matches {selector:?}: {hint}")]
    NoElement {
        /// As it was given.
        selector: String,
        /// Where was looked, and the next step.
        hint: String,
    },
    /// The element is there but this cannot be done to it; nothing was changed.
    #[error("{element}: {reason}")]
    Element {
        /// Such as `button#go`.
        element: String,
        /// Such as `it is covered by div#cookie-banner`.
        reason: String,
    },
    /// No such tab.
    #[error("there is no tab {tab}: {reason}")]
    NoTab {
        /// The number asked for.
        tab: TabId,
        /// What became of it, and the next step.
        reason: String,
    },
    /// The tab is there but cannot be worked in.
    #[error("tab {tab} cannot be used now: {reason}")]
    TabUnusable {
        /// The tab.
        tab: TabId,
        /// Why, and the next step.
        reason: String,
    },
    /// The policy given by the person forbids it.
    #[error("{0}")]
    Refused(#[from] Refused),
    /// The browser could not load the page.
    #[error("{url} could not be opened: {reason}")]
    Load {
        /// Where it was to go.
        url: String,
        /// The net error, in the browser's words and ours.
        reason: String,
    },
    /// The page left or reloaded while this was under way.
    #[error("{0}")]
    Navigated(String),
    /// A script of the caller threw.
    #[error("the script threw {0}")]
    Script(String),
    /// It did not happen in time.
    #[error("{what} (gave up after {} ms)", .after.as_millis())]
    TimedOut {
        /// What was waited for, and how far it came.
        what: String,
        /// How long.
        after: Duration,
    },
    /// Something needed is missing on this machine, or the browser does not start or answer.
    #[error("{0}")]
    Unavailable(String),
    /// It was tried and did not work.
    #[error("{0}")]
    Failed(String),
}

impl BrowserError {
    /// Whether the document under the operation went away, so that trying again may meet the next one.
    pub(crate) fn is_navigation(&self) -> bool {
        matches!(self, Self::Navigated(_))
    }

    /// The same error with more to know appended to its text.
    #[must_use]
    pub fn with_note(self, note: &str) -> Self {
        if note.is_empty() {
            return self;
        }
        let add = |s: String| if s.ends_with(['.', ')']) { format!("{s} {note}") } else { format!("{s}. {note}") };
        match self {
            Self::Argument(s) => Self::Argument(add(s)),
            Self::Selector { selector, why } => Self::Selector { selector, why: add(why) },
            Self::NoElement { selector, hint } => Self::NoElement { selector, hint: add(hint) },
            Self::Element { element, reason } => Self::Element { element, reason: add(reason) },
            Self::NoTab { tab, reason } => Self::NoTab { tab, reason: add(reason) },
            Self::TabUnusable { tab, reason } => Self::TabUnusable { tab, reason: add(reason) },
            Self::Refused(r) => Self::Refused(Refused { what: r.what, why: add(r.why) }),
            Self::Load { url, reason } => Self::Load { url, reason: add(reason) },
            Self::Navigated(s) => Self::Navigated(add(s)),
            Self::Script(s) => Self::Script(add(s)),
            Self::TimedOut { what, after } => Self::TimedOut { what: add(what), after },
            Self::Unavailable(s) => Self::Unavailable(add(s)),
            Self::Failed(s) => Self::Failed(add(s)),
        }
    }
}

/// Chrome's ways to say that the document which a command was meant for is no more.
const DOCUMENT_GONE: [&str; 8] = [
    "context was destroyed",
    "Cannot find context",
    "uniqueContextId not found",
    "Cannot find default execution context",
    "Inspected target navigated or closed",
    "Promise was collected",
    "Could not find object with given id",
    "No frame with given id",
];

impl From<TransportError> for BrowserError {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::NoTab { tab, reason } => Self::NoTab { tab, reason },
            TransportError::Unreachable { tab, reason } => Self::TabUnusable { tab, reason },
            TransportError::NoSession => Self::Navigated("the frame went away".to_owned()),
            TransportError::Protocol { ref message, .. } if DOCUMENT_GONE.iter().any(|w| message.contains(w)) => {
                Self::Navigated("the page is navigating".to_owned())
            }
            TransportError::Protocol { method, message, .. } => Self::Failed(format!("the browser refused {method}: {message}")),
            TransportError::Gone(reason) => Self::Unavailable(format!("the browser is gone ({reason}); the next call uses a fresh one")),
            TransportError::Unsupported { what, browser, reason } => {
                Self::Unavailable(format!("{what} is not possible in {browser}: {reason}"))
            }
        }
    }
}
