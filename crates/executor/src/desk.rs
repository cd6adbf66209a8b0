//! The way in: what the executor needs of the worker, and the worker's dispatcher as that.

use std::sync::Arc;

use async_trait::async_trait;
use deskhand_core::{Call, Caller, Content, Dispatcher, Effect, ToolInfo};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::address::Service;

/// One call for the worker.
#[derive(Debug)]
pub struct DeskCall {
    /// The gateway and its user.
    pub caller: Caller,
    /// Name of the tool.
    pub tool: String,
    /// Its arguments, unchecked.
    pub params: Value,
    /// When the frame was read.
    pub arrived: Instant,
    /// When nothing may act any more.
    pub deadline: Instant,
    /// Fires when the gateway cancels or its socket is lost.
    pub cancel: CancellationToken,
}

/// The worker, seen from the executor. Implemented by [`Dispatcher`]; a trait, so that the executor's faults can be
/// tested without a desktop.
#[async_trait]
pub trait Desk: Send + Sync + 'static {
    /// The tools of that socket as `tools/list` shows them.
    async fn tools(&self, service: Service) -> Vec<Value>;

    /// Whether a tool changes nothing, so that it may safely run twice.
    fn only_reads(&self, tool: &str) -> bool;

    /// Runs a call: a result object (`content`, `structuredContent`), or an error object (`message`, `kind`).
    async fn call(&self, call: DeskCall) -> Result<Value, Value>;

    /// The result of a call reached nobody.
    fn undelivered(&self, caller: &Caller, tool: &str, ok: bool);

    /// The caller's socket is gone: what it holds down comes up.
    async fn gone(&self, caller: &Caller);
}

#[async_trait]
impl Desk for Dispatcher {
    async fn tools(&self, service: Service) -> Vec<Value> {
        Self::tools(self).await.iter().filter(|info| service.serves(&info.name)).map(listed).collect()
    }

    fn only_reads(&self, tool: &str) -> bool {
        self.own_tools().any(|info| info.name == tool && info.effect == Effect::Reads)
    }

    async fn call(&self, call: DeskCall) -> Result<Value, Value> {
        let DeskCall { caller, tool, params, arrived, deadline, cancel } = call;
        let call = Call { caller, tool, arguments: params, arrived, deadline: Some(deadline), cancel, progress: None };
        match Self::call(self, call).await {
            Ok(reply) => {
                let content: Vec<Value> = reply.content.iter().map(block).collect();
                let mut result = json!({"content": content});
                if reply.output.is_object() {
                    result["structuredContent"] = reply.output;
                }
                Ok(result)
            }
            Err(error) => {
                let mut body = json!({"message": error.message, "kind": error.kind.name()});
                if !error.details.is_empty() {
                    body["details"] = Value::Object(error.details);
                }
                Err(body)
            }
        }
    }

    fn undelivered(&self, caller: &Caller, tool: &str, ok: bool) {
        let result = if ok { "ok" } else { "error" };
        if let Err(error) = self.audit().append("undelivered", json!({"caller": caller.id(), "tool": tool, "result": result})) {
            tracing::error!("{error}");
        }
    }

    async fn gone(&self, caller: &Caller) {
        self.session_ended(caller).await;
    }
}

fn block(content: &Content) -> Value {
    match content {
        Content::Text(text) => json!({"type": "text", "text": text}),
        Content::Image { data, mime } => json!({"type": "image", "data": data, "mimeType": mime}),
        Content::Foreign(value) => value.clone(),
    }
}

fn listed(info: &Arc<ToolInfo>) -> Value {
    let mut tool = json!({
        "name": info.name,
        "title": info.title,
        "description": info.description,
        "inputSchema": *info.input_schema,
        "annotations": {
            "readOnlyHint": info.effect == Effect::Reads,
            "destructiveHint": info.destructive,
            "idempotentHint": info.idempotent,
            "openWorldHint": info.open_world,
        },
    });
    if let Some(schema) = &info.output_schema {
        tool["outputSchema"] = Value::Object((**schema).clone());
    }
    tool
}
