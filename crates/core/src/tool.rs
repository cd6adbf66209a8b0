//! The declaration of a tool. Everything else about it (schemas, pages, lists) is derived from this.

use crate::{Caller, Group, GroupSet, Lane, Permit, Reply, ToolError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Whether a tool only looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing changes by calling it.
    Reads,
    /// It changes something.
    Changes,
}

/// When a tool with several groups is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// When all of its groups are switched on: it needs them together.
    All,
    /// When any of them is: which one it needs depends on the arguments.
    Any,
}

/// One tool: a unit struct with this implementation, in a family file of `crates/tools`.
pub trait Tool: Send + Sync + 'static {
    /// What its handler works on (the engines).
    type Host: Send + Sync + 'static;
    /// Its arguments. Field comments become parameter descriptions. `Serialize` writes the audit log's form:
    /// whatever may be private is a [`Text`], which writes its length only.
    type Args: DeserializeOwned + Serialize + JsonSchema + Send + Sync + 'static;
    /// Its structured content.
    type Output: Serialize + JsonSchema + Send + 'static;

    /// Name on the wire; fixed for ever.
    const NAME: &'static str;
    /// A short title for people.
    const TITLE: &'static str;
    /// What it does, units and rules, for a model to read.
    const SUMMARY: &'static str;
    /// The groups it belongs to.
    const GROUPS: &'static [Group];
    /// Whether it only looks.
    const EFFECT: Effect;
    /// Whether it is listed when all or any of its groups are on.
    const LISTING: Listing = Listing::All;
    /// Whether a second call with the same arguments changes nothing more.
    const IDEMPOTENT: bool = false;
    /// Whether it can destroy what was there.
    const DESTRUCTIVE: bool = false;
    /// Whether a success means that the caller has seen the screen (lifts `look_again`).
    const LOOKS: bool = false;

    /// The groups that this call needs, all of them.
    fn groups(args: &Self::Args) -> GroupSet {
        let _ = args;
        Self::GROUPS.iter().copied().collect()
    }

    /// What this call must not share with another one.
    fn lane(host: &Self::Host, caller: &Caller, args: &Self::Args) -> Lane {
        let _ = (host, caller, args);
        Lane::None
    }

    /// How long the caller asked this call to take, if it has such an argument.
    fn timeout(args: &Self::Args) -> Option<Duration> {
        let _ = args;
        None
    }

    /// Does it. A success means that it has been done.
    fn run(host: &Self::Host, cx: &Context, args: Self::Args) -> impl Future<Output = Result<Reply<Self::Output>, ToolError>> + Send;
}

/// Tells the caller how far a long call is.
pub trait Progress: Send + Sync {
    /// `done` of `total` units, with a word on what is being done.
    fn report(&self, done: f64, total: Option<f64>, message: &str);
}

/// What a running handler knows of its call. It holds the [`Permit`], so without the gate there is none.
#[derive(Clone)]
pub struct Context {
    /// Who asked.
    pub caller: Caller,
    /// Ends when the caller cancels, the person stops or pauses, or the deadline passes. A handler that notices ends within 100 ms.
    pub cancel: CancellationToken,
    /// After this nothing may act any more.
    pub deadline: Instant,
    /// Where to report progress.
    pub progress: Option<Arc<dyn Progress>>,
    permit: Permit,
}

impl Context {
    /// A context for an allowed call; only the dispatcher has a permit to make one from.
    #[must_use]
    pub fn new(permit: Permit, caller: Caller, cancel: CancellationToken, deadline: Instant, progress: Option<Arc<dyn Progress>>) -> Self {
        Self { caller, cancel, deadline, progress, permit }
    }

    /// The proof that the gate let this call through, with the groups it holds for.
    #[must_use]
    pub fn permit(&self) -> &Permit {
        &self.permit
    }

    /// Time left until the deadline.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

/// What is known of a tool without calling it.
#[derive(Clone, Debug)]
pub struct ToolInfo {
    /// Name on the wire.
    pub name: String,
    /// A short title for people.
    pub title: String,
    /// What it does.
    pub description: String,
    /// The groups it belongs to.
    pub groups: GroupSet,
    /// Whether all or any of the groups must be on for it to be listed.
    pub listing: Listing,
    /// Whether it only looks.
    pub effect: Effect,
    /// Whether a second equal call changes nothing more.
    pub idempotent: bool,
    /// Whether it can destroy what was there.
    pub destructive: bool,
    /// Whether it reaches what others control (pages, other servers).
    pub open_world: bool,
    /// Whether a success lifts `look_again`.
    pub looks: bool,
    /// JSON Schema (2020-12) of the arguments, without references.
    pub input_schema: Arc<Map<String, Value>>,
    /// JSON Schema of the structured content.
    pub output_schema: Option<Arc<Map<String, Value>>>,
}

/// Text that may be private: what is typed, what a page or a file holds. It writes itself as its length, in the audit
/// log and in `Debug` alike, so that nothing has to be remembered where it is used.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Text(pub String);

impl Text {
    /// The text itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn length(&self) -> String {
        format!("<{} characters>", self.0.chars().count())
    }
}

impl Serialize for Text {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.length())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.length())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_text_never_writes_itself() {
        let text: Text = serde_json::from_str("\"hunter2 汉\"").unwrap();
        assert_eq!(text.as_str(), "hunter2 汉");
        assert_eq!(serde_json::to_string(&text).unwrap(), "\"<9 characters>\"");
        assert_eq!(format!("{text:?}"), "<9 characters>");
    }
}
