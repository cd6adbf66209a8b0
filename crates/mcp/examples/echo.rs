//! The smallest service on every transport: one tool that says what it was told.
//!
//!     echo                     serves, prints its base URL, ends when standard input does
//!     echo bridge URL          the stdio end of it
//!
//! Shows what serving a set of tools takes, and is what transports and clients are measured against.

use std::io::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use deskhand_mcp::{
    Call, CallError, Caller, Content, Endpoint, EndpointConfig, Identity, Locate, Outcome, Server, Service, Target, Tokens, ToolInfo,
    bridge,
};
use serde_json::{Map, Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const TOKEN: &str = "echo";

type Failure = Box<dyn std::error::Error + Send + Sync>;

struct Echo {
    schema: Arc<Map<String, Value>>,
}

#[async_trait]
impl Service for Echo {
    fn identity(&self) -> Identity {
        Identity { name: "echo".into(), title: "Echo".into(), version: "1".into(), instructions: None }
    }

    async fn tools(&self, _caller: &Caller) -> Vec<ToolInfo> {
        vec![ToolInfo {
            name: "echo".into(),
            title: None,
            description: "Says what it was told".into(),
            input_schema: Arc::clone(&self.schema),
            output_schema: Some(Arc::clone(&self.schema)),
            read_only: true,
            destructive: false,
            idempotent: true,
            open_world: false,
        }]
    }

    async fn call(&self, call: Call) -> Result<Outcome, CallError> {
        if call.tool != "echo" {
            return Err(CallError::UnknownTool(call.tool));
        }
        let text = call.arguments.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Outcome { structured: Some(json!({"text": text})), content: vec![Content::Text(text)], is_error: false })
    }
}

/// Always the same place.
struct Fixed(String);

#[async_trait]
impl Locate for Fixed {
    async fn locate(&self) -> Result<Target, String> {
        Ok(Target { url: self.0.clone(), token: TOKEN.into() })
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, mode, url] = &arguments[..]
        && mode == "bridge"
    {
        bridge(Arc::new(Fixed(url.clone())), tokio::io::stdin(), tokio::io::stdout()).await?;
        std::process::exit(0);
    }
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    let schema = Arc::new(schema.as_object().cloned().unwrap_or_default());
    let endpoint = Endpoint::new(Arc::new(Echo { schema }), EndpointConfig::default())?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "http://{}", listener.local_addr()?)?;
    let stop = CancellationToken::new();
    let ended = stop.clone();
    tokio::spawn(async move {
        let _ = tokio::io::stdin().read_to_end(&mut Vec::new()).await;
        ended.cancel();
    });
    Server::new(endpoint, Arc::new(Tokens::new([("main", TOKEN)]))).serve(listener, stop).await?;
    Ok(())
}
