//! Something that stays open rather than being called: it passes the same gate and the same log, and ends with the
//! authorisation it came from.

use super::{Dispatcher, call_id};
use crate::gate::Request;
use crate::{Caller, DEADLINE, Group, Permit, ToolError};
use serde_json::{Value, json};
use tokio::time::Instant;

/// An open channel. Dropping it is recorded as its end.
pub struct Channel {
    dispatcher: Dispatcher,
    permit: Permit,
    id: String,
    begun: Instant,
}

impl Channel {
    /// Waits until AI control ends, is paused, or was given anew.
    pub async fn ended(&self) {
        self.permit.ended().await;
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        let ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        if let Err(e) = self.dispatcher.audit().append("end", json!({ "call": self.id, "result": "ok", "ms": ms })) {
            tracing::error!("{e}");
        }
    }
}

impl Dispatcher {
    /// Opens the channel `name` for a caller, if the gate lets it use `group`.
    ///
    /// # Errors
    /// What the gate says; `unavailable` when it cannot be recorded.
    pub async fn open_channel(&self, caller: &Caller, name: &str, group: Group) -> Result<Channel, ToolError> {
        let id = call_id();
        let start =
            json!({ "call": id, "caller": caller.id(), "program": caller.program, "tool": name, "groups": [group], "arguments": {} });
        self.audit().append("start", start).map_err(|e| ToolError::unavailable(format!("nothing is done that cannot be recorded: {e}")))?;
        let begun = Instant::now();
        let request = Request { caller, tool: name, groups: group.into(), looks: false, shown: &Value::Null, digest: [0; 32] };
        match self.gate().admit(&request, begun + DEADLINE).await {
            Ok(permit) => Ok(Channel { dispatcher: self.clone(), permit, id, begun }),
            Err(error) => {
                self.audit()
                    .append("end", json!({ "call": id, "result": error.kind.name(), "ms": 0 }))
                    .map_err(|e| ToolError::unavailable(e.to_string()))?;
                Err(error)
            }
        }
    }
}
