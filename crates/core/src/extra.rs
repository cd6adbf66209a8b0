//! Tools of other MCP servers: listed beside ours, run through the same gate, in group `extra`.

use crate::{Context, Outcome, ToolInfo};
use async_trait::async_trait;
use serde_json::Value;

/// A source of tools that are not ours. It may change at any time.
#[async_trait]
pub trait ExtraTools: Send + Sync {
    /// The tools that can be called right now; a server that does not answer is simply absent.
    async fn tools(&self) -> Vec<ToolInfo>;

    /// Whether a call to `name` would come here, also when its server does not answer at the moment.
    fn owns(&self, name: &str) -> bool;

    /// Passes the call on.
    async fn call(&self, cx: &Context, name: &str, arguments: Value) -> Outcome;
}

/// No other servers.
pub struct NoExtras;

#[async_trait]
impl ExtraTools for NoExtras {
    async fn tools(&self) -> Vec<ToolInfo> {
        Vec::new()
    }

    fn owns(&self, _name: &str) -> bool {
        false
    }

    async fn call(&self, _cx: &Context, name: &str, _arguments: Value) -> Outcome {
        Err(crate::ToolError::not_found(format!("no server offers {name}")))
    }
}
