//! The worker's own tools on the wire: the [`Dispatcher`] as a [`Service`].
//!
//! A door translates and adds nothing. Who may do what is settled inside the dispatcher.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use deskhand_core::{Content as CoreContent, Dispatcher, Effect, ErrorKind, Progress as CoreProgress, Reply, ToolError};
use serde_json::Value;
use tokio::sync::watch;

use crate::service::{Call, CallError, Caller, Content, Identity, Outcome, Progress, Service, ToolInfo};

/// Finds the program at the other end of a local socket, where the system tells.
pub type ProgramOf = Arc<dyn Fn(SocketAddr) -> Option<String> + Send + Sync>;

/// A principal of this name is a connected client's; any other is the main caller.
pub const CLIENT_PREFIX: &str = "client:";

/// The dispatcher behind the endpoint.
pub struct Worker {
    dispatcher: Dispatcher,
    identity: Identity,
    program_of: ProgramOf,
    changes: watch::Sender<u64>,
}

impl Worker {
    /// Serves `dispatcher` under `identity`. Must be called inside a tokio runtime: the list of tools is watched there.
    pub fn new(dispatcher: Dispatcher, identity: Identity, program_of: ProgramOf) -> Arc<Self> {
        let worker = Arc::new(Self { dispatcher, identity, program_of, changes: watch::Sender::new(0) });
        tokio::spawn(watch_list(Arc::downgrade(&worker), worker.dispatcher.gate().changes()));
        worker
    }

    /// Says that the list may have changed for a reason the gate does not know (another server came or went).
    pub fn list_changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn caller(&self, caller: &Caller) -> deskhand_core::Caller {
        let name = caller.principal.name();
        let mut known = match name.strip_prefix(CLIENT_PREFIX) {
            Some(client) => deskhand_core::Caller::client(client),
            None => deskhand_core::Caller::main(),
        };
        if let Some(session) = &caller.session {
            known = known.in_session(session);
        }
        known.with_program(caller.peer.and_then(|peer| (self.program_of)(peer)))
    }
}

/// The gate changes often (each grant); clients are told only when the list of names became another.
async fn watch_list(worker: Weak<Worker>, mut gate: watch::Receiver<u64>) {
    let names = |worker: Arc<Worker>| async move {
        let tools = worker.dispatcher.tools().await;
        tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()
    };
    let mut last = match worker.upgrade() {
        Some(worker) => names(worker).await,
        None => return,
    };
    while gate.changed().await.is_ok() {
        let Some(worker) = worker.upgrade() else { return };
        let now = names(Arc::clone(&worker)).await;
        if now != last {
            last = now;
            worker.list_changed();
        }
    }
}

struct Told(Progress);

impl CoreProgress for Told {
    fn report(&self, done: f64, total: Option<f64>, message: &str) {
        self.0.tell(done, total, (!message.is_empty()).then(|| message.to_owned()));
    }
}

#[async_trait]
impl Service for Worker {
    fn identity(&self) -> Identity {
        self.identity.clone()
    }

    async fn tools(&self, _caller: &Caller) -> Vec<ToolInfo> {
        self.dispatcher.tools().await.iter().map(|tool| tool_info(tool)).collect()
    }

    async fn call(&self, call: Call) -> Result<Outcome, CallError> {
        let mut inner = deskhand_core::Call::new(self.caller(&call.caller), call.tool, Value::Object(call.arguments));
        inner.cancel = call.cancel;
        inner.progress = call.progress.map(|progress| Arc::new(Told(progress)) as Arc<dyn CoreProgress>);
        match self.dispatcher.call(inner).await {
            Ok(reply) => Ok(success(reply)),
            Err(error) => failure(&error),
        }
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.changes.subscribe())
    }

    fn session_closed(&self, caller: &Caller) {
        let (dispatcher, caller) = (self.dispatcher.clone(), self.caller(caller));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { dispatcher.session_ended(&caller).await });
        }
    }
}

/// A tool of the worker as the wire shows it.
pub fn tool_info(tool: &deskhand_core::ToolInfo) -> ToolInfo {
    ToolInfo {
        name: tool.name.clone(),
        title: (!tool.title.is_empty()).then(|| tool.title.clone()),
        description: tool.description.clone(),
        input_schema: Arc::clone(&tool.input_schema),
        output_schema: tool.output_schema.clone(),
        read_only: tool.effect == Effect::Reads,
        destructive: tool.destructive,
        idempotent: tool.idempotent,
        open_world: tool.open_world,
    }
}

fn success(reply: Reply) -> Outcome {
    let content = reply.content.into_iter().map(|content| match content {
        CoreContent::Text(text) => Content::Text(text),
        CoreContent::Image { data, mime } => Content::Image { data, mime_type: mime.to_owned() },
        CoreContent::Foreign(value) => Content::Foreign(value),
    });
    let structured = (!reply.output.is_null()).then_some(reply.output);
    Outcome { content: content.collect(), structured, is_error: false }
}

fn failure(error: &ToolError) -> Result<Outcome, CallError> {
    if error.kind == ErrorKind::UnknownTool {
        return Err(CallError::InvalidParams(error.message.clone()));
    }
    Ok(Outcome { content: vec![Content::Text(error.to_string())], structured: Some(error.structured()), is_error: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_tool_is_no_result_and_a_failed_one_is() {
        assert!(failure(&ToolError::new(ErrorKind::UnknownTool, "Unknown tool: x")).is_err());
        let outcome = failure(&ToolError::denied("not allowed")).unwrap();
        assert!(outcome.is_error);
        assert_eq!(outcome.content, [Content::Text("denied: not allowed".into())]);
        assert_eq!(outcome.structured.unwrap()["error"], "denied");
    }
}
