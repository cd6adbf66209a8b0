//! The one way in. Every call, from whichever door, is found, parsed, let through, given its lane, run and recorded here,
//! in that order.
//!
//! A call runs in a task of its own: a door that goes away cancels it and cannot tear it apart, so there is always an end
//! record and always a release of what is held down.

mod channel;
mod run;

pub use channel::Channel;

use crate::registry::Prepared;
use crate::{
    Audit, Caller, DEADLINE, ErrorKind, ExtraTools, Gate, Group, Handler, LONGEST, Listing, Outcome, Progress, Registry, ToolError,
    ToolInfo, lane,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// One call, as a door received it.
pub struct Call {
    /// Who asks.
    pub caller: Caller,
    /// Name of the tool.
    pub tool: String,
    /// Its arguments, unchecked.
    pub arguments: Value,
    /// When it arrived; the deadline counts from here.
    pub arrived: Instant,
    /// An earlier deadline that the door knows of (a gateway's `deadline_ms`).
    pub deadline: Option<Instant>,
    /// Cancelled by the door when its caller cancels or is gone.
    pub cancel: CancellationToken,
    /// Where to report progress.
    pub progress: Option<Arc<dyn Progress>>,
}

impl Call {
    /// A call that arrived now.
    #[must_use]
    pub fn new(caller: Caller, tool: impl Into<String>, arguments: Value) -> Self {
        Self {
            caller,
            tool: tool.into(),
            arguments,
            arrived: Instant::now(),
            deadline: None,
            cancel: CancellationToken::new(),
            progress: None,
        }
    }
}

/// Keys and buttons that are down because a call pressed them. State of the desktop engine; the dispatcher decides when
/// they must come up.
pub trait HeldInput: Send + Sync {
    /// Whether anything is held down.
    fn any(&self) -> bool;
    /// Releases everything, at once.
    fn release(&self);
}

/// A desktop that never holds anything.
pub struct NothingHeld;

impl HeldInput for NothingHeld {
    fn any(&self) -> bool {
        false
    }
    fn release(&self) {}
}

/// What a dispatcher is made of.
pub struct DispatcherParts {
    /// Our tools.
    pub registry: Registry,
    /// Tools of other servers.
    pub extras: Arc<dyn ExtraTools>,
    /// Who may do what.
    pub gate: Gate,
    /// The log.
    pub audit: Arc<Audit>,
    /// What is held down.
    pub held: Arc<dyn HeldInput>,
}

struct Inner {
    parts: DispatcherParts,
    lanes: lane::Lanes,
}

/// See the module. A handle: clones are the same dispatcher.
#[derive(Clone)]
pub struct Dispatcher {
    inner: Arc<Inner>,
}

/// What a name stands for.
enum Found<'a> {
    Ours(&'a Handler),
    Foreign,
}

impl Dispatcher {
    /// A dispatcher over these parts.
    #[must_use]
    pub fn new(parts: DispatcherParts) -> Self {
        Self { inner: Arc::new(Inner { parts, lanes: lane::Lanes::default() }) }
    }

    /// The gate that its calls pass.
    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.inner.parts.gate
    }

    /// The log that its calls are recorded in.
    #[must_use]
    pub fn audit(&self) -> &Arc<Audit> {
        &self.inner.parts.audit
    }

    /// Our own tools, whether listed or not, in declaration order.
    pub fn own_tools(&self) -> impl Iterator<Item = &Arc<ToolInfo>> {
        self.inner.parts.registry.iter().map(|h| &h.info)
    }

    /// The tools as they are listed now: ours in declaration order without those that are switched off, then those of
    /// other servers.
    pub async fn tools(&self) -> Vec<Arc<ToolInfo>> {
        let disabled = self.gate().disabled();
        let listed = |info: &ToolInfo| match info.listing {
            Listing::All => info.groups.both(disabled).is_empty(),
            Listing::Any => !info.groups.without(disabled).is_empty(),
        };
        let mut tools: Vec<_> = self.own_tools().filter(|i| listed(i)).cloned().collect();
        if !disabled.has(Group::Extra) {
            tools.extend(self.inner.parts.extras.tools().await.into_iter().map(Arc::new));
        }
        tools
    }

    /// Carries out a call. Dropping the future cancels the call; it still ends in good order.
    ///
    /// # Errors
    /// Everything that can go wrong with a call; see [`ErrorKind`].
    pub async fn call(&self, mut call: Call) -> Outcome {
        let cancel = call.cancel.child_token();
        let guard = cancel.clone().drop_guard();
        call.cancel = cancel;
        let dispatcher = self.clone();
        let joined = tokio::spawn(async move { dispatcher.recorded(call).await }).await;
        guard.disarm();
        joined.unwrap_or_else(|_| {
            self.inner.parts.held.release();
            Err(ToolError::failed("the call broke down inside Deskhand; this is a fault of Deskhand, please report it"))
        })
    }

    /// A conversation ended: what it holds down comes up, what it knew is forgotten.
    pub async fn session_ended(&self, caller: &Caller) {
        self.gate().session_ended(caller);
        self.let_go(&caller.scope(), None).await;
    }

    /// Releases what the conversation `scope` holds across calls, if it still does as it did at `renewal`.
    async fn let_go(&self, scope: &str, renewal: Option<u64>) {
        let Some(place) = self.inner.lanes.enter_kept(scope).await else { return };
        if renewal.is_none_or(|r| place.renewal() == Some(r)) {
            self.inner.parts.held.release();
            place.keep(false);
        }
    }

    async fn recorded(&self, call: Call) -> Outcome {
        let id = call_id();
        let found = self.find(&call.tool);
        let prepared = match &found {
            Some(Found::Ours(handler)) => handler.prepare(&call.caller, call.arguments.clone()),
            Some(Found::Foreign) => Ok(Prepared::foreign(call.arguments.clone())),
            None => Err(ToolError::new(
                ErrorKind::UnknownTool,
                format!("Unknown tool: {}. tools/list names the tools that exist", shortened(&call.tool)),
            )),
        };
        let shown = prepared.as_ref().map_or(Value::Null, |p| p.shown.clone());
        let groups = prepared.as_ref().map_or_else(|_| json!([]), |p| json!(p.groups));
        let start = json!({ "call": id, "caller": call.caller.id(), "program": call.caller.program, "tool": shortened(&call.tool), "groups": groups, "arguments": shown });
        let begun = self.audit().append("start", start);
        let outcome = match (prepared, found, begun) {
            (Ok(_), _, Err(e)) => Err(ToolError::unavailable(format!("nothing is done that cannot be recorded: {e}"))),
            (Ok(prepared), Some(found), Ok(())) => self.allowed(&call, &found, prepared).await,
            (Ok(_), None, Ok(())) => Err(ToolError::failed("a call without a tool")),
            (Err(e), ..) => Err(e),
        };
        let outcome = outcome.map_err(ToolError::brief);
        let result = outcome.as_ref().map_or_else(|e| e.kind.name(), |_| "ok");
        let ms = u64::try_from(call.arrived.elapsed().as_millis()).unwrap_or(u64::MAX);
        if let Err(e) = self.audit().append("end", json!({ "call": id, "result": result, "ms": ms })) {
            tracing::error!("{e}");
        }
        outcome
    }

    fn find(&self, name: &str) -> Option<Found<'_>> {
        let parts = &self.inner.parts;
        match parts.registry.find(name) {
            Some(handler) => Some(Found::Ours(handler)),
            None => parts.extras.owns(name).then_some(Found::Foreign),
        }
    }
}

/// When the call must be over.
fn deadline_of(call: &Call, timeout: Option<Duration>) -> Result<Instant, ToolError> {
    let limit = if call.caller.is_gateway() { DEADLINE } else { LONGEST };
    let asked = timeout.unwrap_or_default();
    if asked > limit {
        let through = if call.caller.is_gateway() { " through a gateway" } else { "" };
        return Err(ToolError::invalid(format!(
            "timeout may be at most {} milliseconds{through}, not {}",
            limit.as_millis(),
            asked.as_millis()
        )));
    }
    // A little more than was asked for, so that the tool itself can say what it waited for in vain.
    let time = if call.caller.is_gateway() { DEADLINE } else { DEADLINE.max(asked + Duration::from_secs(2)) };
    let own = call.arrived + time;
    Ok(call.deadline.map_or(own, |d| d.min(own)))
}

/// A name as it may stand in a message or record: whatever was sent, but not all of a megabyte.
fn shortened(name: &str) -> String {
    if name.chars().count() <= 128 { name.to_owned() } else { name.chars().take(128).chain(std::iter::once('…')).collect() }
}

/// An id for one call in the log: 64 random bits.
fn call_id() -> String {
    hex::encode(rand::random::<[u8; 8]>())
}

#[cfg(test)]
#[path = "dispatch/tests.rs"]
mod tests;
