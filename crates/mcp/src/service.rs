//! What a door serves: the one trait between the wire and whatever has tools.
//!
//! The worker, the gateway's services and the tests all implement [`Service`]; the transports (Streamable HTTP of every
//! revision, bare JSON-RPC, legacy SSE, stdio) know nothing else. That keeps the protocol out of the tools and the tools
//! out of the protocol.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Who holds the token that came with a request.
///
/// Two principals are equal only when both the name and the token are: a session opened with a token that was since
/// replaced is not the new token's session.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    name: Arc<str>,
    mark: [u8; 16],
}

impl Principal {
    /// A principal `name` whose identity is bound to `token` (kept only as a digest).
    pub fn new(name: impl Into<Arc<str>>, token: &str) -> Self {
        let digest = Sha256::digest(token.as_bytes());
        let mut mark = [0; 16];
        mark.copy_from_slice(&digest[..16]);
        Self { name: name.into(), mark }
    }

    /// The name the authenticator gave: `main`, a connected client's name, a gateway's user.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Name and token digest in one string, fit for a file.
    pub(crate) fn mark(&self) -> String {
        let hex: String = self.mark.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{hex}:{}", self.name)
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Principal").field(&self.name).finish()
    }
}

/// Who asks, as far as the wire can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Whose token it was.
    pub principal: Principal,
    /// The other end of the socket; absent in-process.
    pub peer: Option<SocketAddr>,
    /// What the client calls itself (`name version`). A claim, good for a prompt, never for a decision.
    pub client: Option<String>,
    /// The MCP session, when there is one.
    pub session: Option<String>,
}

impl Caller {
    /// A caller known by its principal only.
    pub fn new(principal: Principal) -> Self {
        Self { principal, peer: None, client: None, session: None }
    }
}

/// What the server calls itself in `initialize`, `server/discover` and `/health`.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Machine name, e.g. `deskhand`.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Version of the product.
    pub version: String,
    /// How a model should use the tools; short.
    pub instructions: Option<String>,
}

/// One tool as `tools/list` shows it.
#[derive(Clone, Debug)]
pub struct ToolInfo {
    /// Unique name, 1 to 128 of `A-Za-z0-9_.-`.
    pub name: String,
    /// Name for people.
    pub title: Option<String>,
    /// What it does, for a model.
    pub description: String,
    /// JSON Schema (an object schema) of the arguments.
    pub input_schema: Arc<Map<String, Value>>,
    /// JSON Schema of the structured result, when there is one.
    pub output_schema: Option<Arc<Map<String, Value>>>,
    /// It changes nothing.
    pub read_only: bool,
    /// It may destroy something.
    pub destructive: bool,
    /// Doing it twice is like doing it once.
    pub idempotent: bool,
    /// It reaches things outside this machine.
    pub open_world: bool,
}

impl ToolInfo {
    /// The tool as `tools/list` has it on the wire.
    pub(crate) fn to_value(&self) -> Value {
        let mut tool = json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": *self.input_schema,
            "annotations": {
                "readOnlyHint": self.read_only,
                "destructiveHint": self.destructive,
                "idempotentHint": self.idempotent,
                "openWorldHint": self.open_world,
            },
        });
        if let Some(title) = &self.title {
            tool["title"] = title.clone().into();
        }
        if let Some(schema) = &self.output_schema {
            tool["outputSchema"] = Value::Object((**schema).clone());
        }
        tool
    }
}

/// One piece of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text for a model.
    Text(String),
    /// A picture.
    Image {
        /// The bytes in base64.
        data: String,
        /// `image/png` or `image/jpeg`.
        mime_type: String,
    },
    /// Content of another MCP server, passed on as it is.
    Foreign(Value),
}

impl Content {
    /// The content block of the wire.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Text(text) => json!({"type": "text", "text": text}),
            Self::Image { data, mime_type } => json!({"type": "image", "data": data, "mimeType": mime_type}),
            Self::Foreign(value) => value.clone(),
        }
    }
}

/// What a tool answered, success or failure: both are results for a model to read.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Texts and pictures, in order.
    pub content: Vec<Content>,
    /// The same as data, matching the tool's output schema.
    pub structured: Option<Value>,
    /// The tool ran, or tried to, and failed.
    pub is_error: bool,
}

impl Outcome {
    /// The result of `tools/call` on the wire.
    pub(crate) fn to_value(&self) -> Value {
        let content: Vec<Value> = self.content.iter().map(Content::to_value).collect();
        let mut result = json!({"content": content, "isError": self.is_error});
        if let Some(structured) = &self.structured {
            result["structuredContent"] = structured.clone();
        }
        result
    }

    /// A failure in words.
    pub fn error(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text(text.into())], structured: None, is_error: true }
    }
}

/// Why a call has no result at all (a JSON-RPC error).
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No tool of that name is offered to this caller: −32602.
    #[error("unknown tool: {0}")]
    UnknownTool(String),
    /// The request itself is malformed: −32602.
    #[error("{0}")]
    InvalidParams(String),
    /// Our own fault: −32603.
    #[error("{0}")]
    Internal(String),
}

type Tell = dyn Fn(f64, Option<f64>, Option<String>) + Send + Sync;

/// Tells the caller how far a long call is. Cheap to call; drops what nobody listens to.
#[derive(Clone)]
pub struct Progress(Arc<Tell>);

impl Progress {
    /// Progress that goes to `tell(done, total, message)`.
    pub fn new(tell: impl Fn(f64, Option<f64>, Option<String>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// `done` of `total` (any unit, rising), with an optional word on it.
    pub fn tell(&self, done: f64, total: Option<f64>, message: Option<String>) {
        (self.0)(done, total, message);
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

/// One `tools/call`.
#[derive(Debug)]
pub struct Call {
    /// Who asks.
    pub caller: Caller,
    /// The tool's name, not yet known to exist.
    pub tool: String,
    /// The arguments, not yet checked against the schema.
    pub arguments: Map<String, Value>,
    /// Fires when the caller cancels or goes away; the action must end within 200 ms.
    pub cancel: CancellationToken,
    /// Where progress goes, if the caller asked for it.
    pub progress: Option<Progress>,
}

/// A set of tools that can be served over every transport of this crate.
#[async_trait]
pub trait Service: Send + Sync + 'static {
    /// What the server calls itself.
    fn identity(&self) -> Identity;

    /// The tools this caller sees, in the order they are to be listed.
    async fn tools(&self, caller: &Caller) -> Vec<ToolInfo>;

    /// Runs one tool. Runs in a task of its own, so it is never dropped half way: cancelling goes by `call.cancel`.
    ///
    /// # Errors
    /// Only for calls that are no calls: an unknown name, malformed parameters. A tool that fails is an [`Outcome`].
    async fn call(&self, call: Call) -> Result<Outcome, CallError>;

    /// A counter that changes when the list of tools does; `None` when it never does.
    fn changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// A session of this caller is over: whatever it holds (keys, buttons) is to be let go.
    fn session_closed(&self, _caller: &Caller) {}
}
