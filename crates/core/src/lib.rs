//! What every call into Deskhand has in common, whoever asks and whatever is asked.
//!
//! A tool is declared once ([`Tool`]), kept in a [`Registry`], and run only by the [`Dispatcher`], in the order
//! find → parse → gate → lane → run → audit. The [`Gate`] alone can make the [`Permit`] without which no [`Context`]
//! exists, so a handler that runs has been allowed to. This crate knows no engine and no transport.

pub mod arguments;
pub mod audit;
mod caller;
mod consent;
mod dispatch;
mod error;
mod extra;
mod gate;
mod grant;
mod group;
mod lane;
mod registry;
mod reply;
mod tool;

pub use audit::{Audit, AuditError};
pub use caller::{Caller, Origin};
pub use consent::{Answer, Consent, Prompt, PromptKind};
pub use dispatch::{Call, Channel, Dispatcher, DispatcherParts, HeldInput, NothingHeld};
pub use error::{ErrorKind, ToolError};
pub use extra::{ExtraTools, NoExtras};
pub use gate::{Gate, GateState, Halt, Permit};
pub use grant::{Callers, Grant, Standing};
pub use group::{Group, GroupSet};
pub use lane::Lane;
pub use registry::{Handler, Registry};
pub use reply::{Content, Outcome, Reply};
pub use tool::{Context, Effect, Listing, Progress, Text, Tool, ToolInfo};

/// How long a call may take from its arrival, queueing and consent included, unless it names a longer time.
/// A gateway gives a call up after 30 s; 25 s leaves room for the answer to travel.
pub const DEADLINE: std::time::Duration = std::time::Duration::from_secs(25);

/// The longest time that a local caller's own `timeout` argument may ask for.
pub const LONGEST: std::time::Duration = std::time::Duration::from_secs(120);
