//! `/api/mcp/{service}`: the same services over Streamable HTTP of every revision, served by the `mcp` crate.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::any;
use deskhand_mcp::{Call, CallError, Caller, Content, Endpoint, EndpointConfig, Identity, Outcome, Principal, Service, ToolInfo};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::{LARGEST_BODY, PeerAddress, Web, error_response, failure};
use crate::answer::Answer;
use crate::gateway::{Gateway, ServiceName};

/// Clients are told of changes of the tool list at most this often: executors come and go in crowds.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// The endpoints made so far, one per service name; each tells users apart by the caller.
struct Endpoints {
    web: Arc<Web>,
    made: Mutex<HashMap<String, Endpoint>>,
    changes: watch::Receiver<u64>,
}

pub(super) fn routes(web: &Arc<Web>) -> Router<Arc<Web>> {
    let (sender, changes) = watch::channel(0);
    tokio::spawn(tell_changes(Arc::clone(&web.gateway), sender));
    let endpoints = Arc::new(Endpoints { web: Arc::clone(web), made: Mutex::new(HashMap::new()), changes });
    Router::new().route("/api/mcp/{service}", any(handle)).with_state(endpoints)
}

async fn tell_changes(gateway: Arc<Gateway>, sender: watch::Sender<u64>) {
    let mut hub = gateway.hub.changes();
    loop {
        tokio::select! {
            changed = hub.changed() => if changed.is_err() { return },
            () = gateway.stop.cancelled() => return,
        }
        sender.send_modify(|count| *count += 1);
        tokio::time::sleep(TELL_EVERY).await;
    }
}

async fn handle(State(endpoints): State<Arc<Endpoints>>, Path(name): Path<String>, request: Request) -> Response<Body> {
    let web = &endpoints.web;
    let (user, token, _) = match web.token_user(request.headers(), request.uri()).await {
        Ok(found) => found,
        Err(response) => return response,
    };
    let service = match web.gateway.service(&user.name, &name).await {
        Ok(Some(service)) => service,
        Ok(None) => return failure(StatusCode::NOT_FOUND, format!("there is no service {name:?} for this user")),
        Err(error) => return error_response(&error),
    };
    let mut caller = Caller::new(Principal::new(user.name.as_str(), &token));
    caller.peer = request.extensions().get::<PeerAddress>().map(|peer| peer.0);
    match endpoints.get(&name, service) {
        Ok(endpoint) => endpoint.handle(caller, request).await,
        Err(error) => {
            tracing::error!(%error, "cannot make an endpoint");
            failure(StatusCode::SERVICE_UNAVAILABLE, "this service cannot be served at the moment")
        }
    }
}

impl Endpoints {
    fn get(&self, name: &str, service: ServiceName) -> Result<Endpoint, deskhand_mcp::McpError> {
        let mut made = self.made.lock();
        if let Some(endpoint) = made.get(name) {
            return Ok(endpoint.clone());
        }
        let offered = Offered { gateway: Arc::clone(&self.web.gateway), service, changes: self.changes.clone() };
        let config = EndpointConfig {
            session_folder: None,
            sessions: 2_000,
            bare: 4_096,
            streams: 4_096,
            requests: 4_096,
            body_limit: LARGEST_BODY,
            ..EndpointConfig::default()
        };
        let endpoint = Endpoint::new(Arc::new(offered), config)?;
        let (stop, ending) = (self.web.gateway.stop.clone(), endpoint.clone());
        tokio::spawn(async move {
            stop.cancelled().await;
            ending.stop();
        });
        made.insert(name.to_owned(), endpoint.clone());
        Ok(endpoint)
    }
}

/// One service of the gateway, as the `mcp` crate serves it.
struct Offered {
    gateway: Arc<Gateway>,
    service: ServiceName,
    changes: watch::Receiver<u64>,
}

#[async_trait]
impl Service for Offered {
    fn identity(&self) -> Identity {
        Identity {
            name: "deskhand-gateway".into(),
            title: "Deskhand gateway".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            instructions: None,
        }
    }

    async fn tools(&self, caller: &Caller) -> Vec<ToolInfo> {
        match self.gateway.tools(caller.principal.name(), &self.service).await {
            Ok(tools) => tools.iter().filter_map(tool_info).collect(),
            Err(error) => {
                tracing::error!(%error, "cannot list tools");
                Vec::new()
            }
        }
    }

    async fn call(&self, call: Call) -> Result<Outcome, CallError> {
        let user = call.caller.principal.name().to_owned();
        let arguments = Value::Object(call.arguments);
        tokio::select! {
            answer = self.gateway.call(&user, &self.service, &call.tool, &arguments) => match answer {
                Ok(Some(answer)) => Ok(outcome(answer)),
                Ok(None) => Err(CallError::UnknownTool(call.tool.clone())),
                Err(error) => {
                    tracing::error!(%error, "call failed");
                    Err(CallError::Internal("the gateway could not do this at the moment; try again".into()))
                }
            },
            () = call.cancel.cancelled() => Ok(Outcome::error(format!("{} was cancelled by the client; it may have acted in part.", call.tool))),
        }
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.changes.clone())
    }
}

fn outcome(answer: Answer) -> Outcome {
    Outcome { content: answer.content.into_iter().map(content).collect(), structured: answer.structured, is_error: answer.is_error }
}

fn content(mut block: Value) -> Content {
    match block.get("type").and_then(Value::as_str) {
        // A text with annotations or other fields passes on whole.
        Some("text") if block.as_object().is_some_and(|object| object.len() == 2) => match block.get_mut("text").map(Value::take) {
            Some(Value::String(text)) => Content::Text(text),
            _ => Content::Text(String::new()),
        },
        Some(_) => Content::Foreign(block),
        None => Content::Text(block.to_string()),
    }
}

fn tool_info(tool: &Value) -> Option<ToolInfo> {
    let text = |field: &str| tool.get(field).and_then(Value::as_str).map(str::to_owned);
    let schema = |field: &str| tool.get(field).and_then(Value::as_object).cloned().map(Arc::new);
    let hint = |name: &str, default| tool.pointer(&format!("/annotations/{name}")).and_then(Value::as_bool).unwrap_or(default);
    Some(ToolInfo {
        name: text("name")?,
        title: text("title"),
        description: text("description").unwrap_or_default(),
        input_schema: schema("inputSchema").unwrap_or_else(|| Arc::new(Map::from_iter([("type".to_owned(), Value::from("object"))]))),
        output_schema: schema("outputSchema"),
        read_only: hint("readOnlyHint", false),
        destructive: hint("destructiveHint", true),
        idempotent: hint("idempotentHint", false),
        open_world: hint("openWorldHint", true),
    })
}
