//! `/api/mcp/sse/{service}`: the shape an existing gateway gave MCP.
//!
//! A POST is answered in its own body. A client of the 2024-11-05 transport reads its answers from the stream instead:
//! the `endpoint` event therefore names the stream, and a post that names it is answered in both places.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Shared, Web, error_response, failure};
use crate::gateway::{Gateway, ServiceName};

/// Streams at once, and of one user.
const STREAMS: (usize, usize) = (4_096, 64);
/// Answers waiting for one stream's reader.
const QUEUE: usize = 64;
/// A comment keeps proxies from closing a quiet stream.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// How often a stream's token is checked.
const RECHECK: Duration = Duration::from_secs(15);

#[derive(Debug)]
struct Reader {
    user: String,
    sender: mpsc::Sender<Value>,
}

/// Who posts: the user, and which of their conversations, as far as the client says. Request ids are told apart by it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Client {
    user: String,
    conversation: String,
}

impl Client {
    fn of(user: &str, headers: &HeaderMap, uri: &Uri) -> Self {
        let query = uri.query().unwrap_or_default();
        let named = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "session").map(|(_, id)| id.into_owned());
        let header = || Some(headers.get("mcp-session-id")?.to_str().ok()?.to_owned());
        Self { user: user.to_owned(), conversation: named.or_else(header).unwrap_or_default() }
    }
}

/// Open streams by id, and calls in flight by user and request id.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams {
    readers: Arc<Mutex<HashMap<String, Reader>>>,
    calls: Arc<Mutex<HashMap<(Client, String), CancellationToken>>>,
}

/// Forgets a stream when its response is dropped.
struct Open {
    streams: Streams,
    id: String,
    gateway: Arc<Gateway>,
    _stop: DropGuard,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.streams.readers.lock().remove(&self.id);
        self.gateway.metrics.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn find(web: &Web, user: &str, name: &str) -> Result<ServiceName, Response> {
    match web.gateway.service(user, name).await {
        Ok(Some(service)) => Ok(service),
        Ok(None) => Err(failure(StatusCode::NOT_FOUND, format!("there is no service {name:?} for this user"))),
        Err(error) => Err(error_response(&error)),
    }
}

/// `GET`: the stream.
pub(super) async fn stream(State(web): Shared, Path(name): Path<String>, headers: HeaderMap, uri: Uri) -> Response {
    let (user, token, in_url) = match web.token_user(&headers, &uri).await {
        Ok(found) => found,
        Err(response) => return response,
    };
    if let Err(response) = find(&web, &user.name, &name).await {
        return response;
    }
    let id = hex::encode(rand::random::<[u8; 16]>());
    let (sender, answers) = mpsc::channel(QUEUE);
    {
        let mut readers = web.streams.readers.lock();
        let own = readers.values().filter(|reader| reader.user == user.name).count();
        if readers.len() >= STREAMS.0 || own >= STREAMS.1 {
            return failure(StatusCode::SERVICE_UNAVAILABLE, "too many open streams; close some and try again");
        }
        readers.insert(id.clone(), Reader { user: user.name.clone(), sender });
    }
    web.gateway.metrics.streams.fetch_add(1, Ordering::Relaxed);
    let modern = headers.contains_key("mcp-protocol-version") || headers.contains_key("mcp-session-id");
    let first = if modern {
        Event::default().comment("deskhand")
    } else {
        let mut endpoint = format!("{}/api/mcp/sse/{name}?session={id}", web.base_url(&headers));
        if in_url {
            // A client that can only give its token in the URL gets it back there, where it already was.
            endpoint.push_str("&token=");
            endpoint.extend(url::form_urlencoded::byte_serialize(token.as_bytes()));
        }
        Event::default().event("endpoint").data(endpoint)
    };
    let ended = web.gateway.stop.child_token();
    tokio::spawn(watch_token(Arc::clone(&web.gateway), user.name, user.generation, ended.clone()));
    let open = Open { streams: web.streams.clone(), id, gateway: Arc::clone(&web.gateway), _stop: ended.clone().drop_guard() };
    Sse::new(events(first, answers, ended, open)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

fn events(
    first: Event,
    answers: mpsc::Receiver<Value>,
    ended: CancellationToken,
    open: Open,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let first = futures_util::stream::once(async move { Ok(first) });
    let rest = ReceiverStream::new(answers).map(move |answer| {
        let _held = &open;
        Ok(Event::default().event("message").data(answer.to_string()))
    });
    first.chain(rest).take_until(ended.cancelled_owned())
}

/// Ends a stream whose token was reset.
async fn watch_token(gateway: Arc<Gateway>, user: String, generation: i64, ended: CancellationToken) {
    loop {
        tokio::select! {
            () = ended.cancelled() => return,
            () = tokio::time::sleep(RECHECK) => {}
        }
        if matches!(gateway.access.is_current(&user, generation).await, Ok(false)) {
            ended.cancel();
        }
    }
}

/// `POST`: one message, answered in the body.
pub(super) async fn message(
    State(web): Shared,
    Path(name): Path<String>,
    headers: HeaderMap,
    uri: Uri,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let user = match web.token_user(&headers, &uri).await {
        Ok((user, _, _)) => user.name,
        Err(response) => return response,
    };
    let service = match find(&web, &user, &name).await {
        Ok(service) => service,
        Err(response) => return response,
    };
    let body = match body {
        Ok(body) => body,
        Err(rejection) => return failure(rejection.status(), "the message is larger than 1 MiB or was cut off"),
    };
    let client = Client::of(&user, &headers, &uri);
    let Ok(message) = serde_json::from_slice::<Value>(&body) else {
        return answer(&error(Value::Null, -32700, "not JSON"));
    };
    let Value::Object(mut message) = message else {
        return answer(&error(Value::Null, -32600, "send one JSON-RPC message, an object"));
    };
    let id = message.remove("id").filter(|id| !id.is_null());
    let method = message.remove("method");
    let params = message.remove("params").unwrap_or_default();
    let Some(Value::String(method)) = method else {
        // An answer of the client (to a ping we never send) is taken; anything else is no message.
        return if message.contains_key("result") || message.contains_key("error") {
            StatusCode::ACCEPTED.into_response()
        } else {
            answer(&error(id.unwrap_or_default(), -32600, "the message has no method"))
        };
    };
    let Some(id) = id else {
        if method == "notifications/cancelled" {
            web.streams.cancel(&client, params.get("requestId"));
        }
        return StatusCode::ACCEPTED.into_response();
    };
    let result = handle(&web, &client, &service, &id, &method, params).await;
    let opens = method == "initialize" && accepts_stream(&headers) && result.get("result").is_some();
    web.streams.tell(&client, &result);
    let mut response = answer(&result);
    if opens && let Ok(session) = HeaderValue::try_from(uuid::Uuid::new_v4().to_string()) {
        response.headers_mut().insert("mcp-session-id", session);
    }
    response
}

async fn handle(web: &Web, client: &Client, service: &ServiceName, id: &Value, method: &str, params: Value) -> Value {
    match method {
        "initialize" => {
            let version = params.get("protocolVersion").and_then(Value::as_str).unwrap_or("2024-11-05");
            result(
                id,
                json!({
                    "protocolVersion": version,
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "deskhand-gateway", "title": "Deskhand gateway", "version": env!("CARGO_PKG_VERSION")},
                }),
            )
        }
        "ping" => result(id, json!({})),
        "tools/list" => match web.gateway.tools(&client.user, service).await {
            Ok(tools) => result(id, json!({"tools": tools})),
            Err(failure) => internal(id, &failure),
        },
        "tools/call" => call(web, client, service, id, params).await,
        _ => error(id.clone(), -32601, &format!("unknown method: {method}")),
    }
}

async fn call(web: &Web, client: &Client, service: &ServiceName, id: &Value, mut params: Value) -> Value {
    let Some(Value::String(tool)) = params.get_mut("name").map(Value::take) else {
        return error(id.clone(), -32602, "tools/call needs the name of a tool");
    };
    let arguments = match params.get_mut("arguments").map(Value::take) {
        None | Some(Value::Null) => json!({}),
        Some(Value::Object(arguments)) => Value::Object(arguments),
        Some(_) => return error(id.clone(), -32602, "arguments must be an object"),
    };
    let (cancelled, _registered) = web.streams.register(client, id);
    tokio::select! {
        answer = web.gateway.call(&client.user, service, &tool, &arguments) => match answer {
            Ok(Some(answer)) => result(id, answer.into_mcp()),
            Ok(None) => error(id.clone(), -32602, &format!("unknown tool: {tool}")),
            Err(failure) => internal(id, &failure),
        },
        () = cancelled.cancelled() => {
            let text = format!("{tool} was cancelled by the client; it may have acted in part.");
            result(id, crate::answer::Answer::error(text).into_mcp())
        }
    }
}

/// Forgets a call's cancel token.
struct Registered<'a>(&'a Streams, (Client, String));

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.0.calls.lock().remove(&self.1);
    }
}

impl Streams {
    fn register(&self, client: &Client, id: &Value) -> (CancellationToken, Registered<'_>) {
        let token = CancellationToken::new();
        let key = (client.clone(), id.to_string());
        self.calls.lock().insert(key.clone(), token.clone());
        (token, Registered(self, key))
    }

    fn cancel(&self, client: &Client, id: Option<&Value>) {
        let Some(id) = id else { return };
        if let Some(token) = self.calls.lock().get(&(client.clone(), id.to_string())) {
            token.cancel();
        }
    }

    /// Sends an answer to the stream a post named, if it is the same user's and still open.
    fn tell(&self, client: &Client, answer: &Value) {
        let readers = self.readers.lock();
        if let Some(reader) = readers.get(&client.conversation).filter(|reader| reader.user == client.user)
            && reader.sender.try_send(answer.clone()).is_err()
        {
            tracing::warn!(user = client.user, "an SSE client does not read; its answer is in the POST's body only");
        }
    }
}

fn accepts_stream(headers: &HeaderMap) -> bool {
    headers.get_all(header::ACCEPT).iter().any(|value| value.to_str().is_ok_and(|value| value.contains("text/event-stream")))
}

fn answer(message: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], message.to_string()).into_response()
}

fn result(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn error(id: Value, code: i64, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}})
}

fn internal(id: &Value, failure: &crate::GatewayError) -> Value {
    tracing::error!(error = %failure, "request failed");
    error(id.clone(), -32603, "the gateway could not do this at the moment; try again")
}
