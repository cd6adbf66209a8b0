//! A two-way line of messages (stdio, legacy SSE) mapped onto `/mcp`.
//!
//! Older transports are one stream of messages each way. Rather than a second protocol machine for them, each message
//! goes to the endpoint as the POST that a Streamable HTTP client would have made, and the answers come back on the one
//! stream. So error codes, sessions, batches, limits and cancelling are the same whichever way a client came.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use base64::Engine as _;
use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::answer;
use crate::endpoint::{CONVERSATION, SESSION, VERSION};
use crate::rpc::{self, BATCHING, BUSY, INTERNAL_ERROR, INVALID_REQUEST, Incoming, Message, RpcError};

/// How long the next message waits for the one before it to have been taken, so that calls sent in one go start in order.
const ORDER: Duration = Duration::from_millis(20);
/// Most requests under way on one line.
const IN_FLIGHT: usize = 128;
/// Pause before a lost listening stream is opened again.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// Where the messages go.
#[async_trait]
pub(crate) trait Upstream: Send + Sync + 'static {
    /// Sends one HTTP request to `/mcp`. `repeatable` says that it may be sent again when its fate is unknown.
    async fn send(&self, method: Method, headers: HeaderMap, body: Bytes, repeatable: bool) -> Result<Response<Body>, String>;
}

#[derive(Debug, Default, Clone)]
struct State {
    session: Option<String>,
    version: Option<String>,
    initialize: Option<Map<String, Value>>,
}

/// One client on one line.
pub(crate) struct Conversation {
    upstream: Arc<dyn Upstream>,
    out: mpsc::Sender<Bytes>,
    state: Mutex<State>,
    in_flight: Mutex<HashMap<String, CancellationToken>>,
    tasks: TaskTracker,
    over: CancellationToken,
    listening: AtomicBool,
    /// 128 random bits: what is remembered for this line is its own.
    id: String,
}

impl Conversation {
    /// A conversation that writes whole messages to `out`.
    pub(crate) fn new(upstream: Arc<dyn Upstream>, out: mpsc::Sender<Bytes>) -> Arc<Self> {
        Arc::new(Self {
            upstream,
            out,
            state: Mutex::default(),
            in_flight: Mutex::default(),
            tasks: TaskTracker::new(),
            over: CancellationToken::new(),
            listening: AtomicBool::new(false),
            id: format!("{:032x}", rand::random::<u128>()),
        })
    }

    /// Takes one message from the client.
    pub(crate) async fn feed(self: &Arc<Self>, bytes: Bytes) {
        match rpc::read(&bytes) {
            Err(error) => self.say(error.to_bytes()).await,
            Ok(Incoming::Batch(items)) => self.batch(items, bytes).await,
            Ok(Incoming::One(Message::Request(request))) if request.method == "initialize" => self.initialize(request, bytes).await,
            Ok(Incoming::One(Message::Request(request))) => self.request(request, bytes).await,
            Ok(Incoming::One(Message::Notification { method, params })) => self.notification(&method, &params, bytes).await,
            Ok(Incoming::One(Message::Response(_))) => self.one_way(bytes).await,
        }
    }

    /// Waits until every request has been answered; streams that have no end are left out.
    pub(crate) async fn drained(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Ends everything under way, the session, and what was remembered for this line.
    pub(crate) async fn close(&self) {
        self.over.cancel();
        let mut headers = self.headers();
        if headers.contains_key(SESSION) {
            let _ = self.upstream.send(Method::DELETE, headers.clone(), Bytes::new(), false).await;
            headers.remove(SESSION);
        }
        let _ = self.upstream.send(Method::DELETE, headers, Bytes::new(), false).await;
    }

    /// Ends what has no end of its own (subscriptions), so that `drained` can come true.
    pub(crate) fn stop_listening(&self) {
        for (key, cancel) in self.in_flight.lock().iter() {
            if key.starts_with(ENDLESS) {
                cancel.cancel();
            }
        }
    }

    async fn say(&self, bytes: Bytes) {
        let _ = self.out.send(bytes).await;
    }

    fn headers(&self) -> HeaderMap {
        let state = self.state.lock();
        let mut headers = HeaderMap::new();
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(http::header::ACCEPT, accept);
        headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let line = Some(self.id.clone());
        for (name, value) in [(SESSION, &state.session), (VERSION, &state.version), (CONVERSATION, &line)] {
            if let Some(value) = value.as_deref().and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        headers
    }

    async fn initialize(self: &Arc<Self>, request: rpc::Request, bytes: Bytes) {
        *self.state.lock() = State::default();
        match self.open(request.id.clone(), bytes).await {
            Ok(answer) => {
                self.state.lock().initialize = Some(request.params);
                self.say(answer).await;
            }
            Err(text) => self.say(RpcError::new(request.id, BUSY, text).to_bytes()).await,
        }
    }

    /// Opens a session and gives the answer to `initialize`.
    async fn open(&self, id: Value, bytes: Bytes) -> Result<Bytes, String> {
        let response = self.upstream.send(Method::POST, self.headers(), bytes, true).await?;
        let session = response.headers().get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let answer = answer::answer_to(&id, response).await.ok_or("the worker did not answer initialize")?;
        let value: Value = serde_json::from_slice(&answer).unwrap_or_default();
        let version = value.pointer("/result/protocolVersion").and_then(Value::as_str).map(str::to_owned);
        let mut state = self.state.lock();
        state.session = session;
        state.version = version;
        Ok(answer)
    }

    /// The worker does not know the session any more: a new one is opened in its place, unseen by the client.
    async fn reopen(&self, lost: Option<&str>) -> Result<(), String> {
        let state = self.state.lock().clone();
        let Some(params) = state.initialize else { return Err("the session is over".to_owned()) };
        if state.session.as_deref() != lost {
            return Ok(());
        }
        *self.state.lock() = State { initialize: Some(params.clone()), ..State::default() };
        let body = json!({"jsonrpc": "2.0", "id": "reopen", "method": "initialize", "params": params});
        self.open("reopen".into(), body.to_string().into()).await?;
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.upstream.send(Method::POST, self.headers(), initialized.to_string().into(), true).await?;
        Ok(())
    }

    async fn request(self: &Arc<Self>, request: rpc::Request, bytes: Bytes) {
        let cancel = self.over.child_token();
        let prefix = if request.method == "subscriptions/listen" { ENDLESS } else { "" };
        let key = format!("{prefix}{}", request.key());
        if self.in_flight.lock().contains_key(&key) {
            let text = "Invalid request: this id is still in use by a request under way";
            self.say(RpcError::new(request.id, INVALID_REQUEST, text).to_bytes()).await;
            return;
        }
        if self.in_flight.lock().len() >= IN_FLIGHT {
            let text = "Too many requests under way; read the answers before sending more";
            self.say(RpcError::new(request.id, BUSY, text).to_bytes()).await;
            return;
        }
        self.in_flight.lock().insert(key.clone(), cancel.clone());
        let (taken, was_taken) = tokio::sync::oneshot::channel();
        let me = Arc::clone(self);
        self.tasks.spawn(async move {
            let id = request.id.clone();
            tokio::select! {
                () = cancel.cancelled() => {}
                result = me.exchange(request, bytes, taken) => {
                    if let Err(error) = result {
                        me.say(RpcError::new(id, error.0, error.1).to_bytes()).await;
                    }
                }
            }
            me.in_flight.lock().remove(&key);
        });
        let _ = tokio::time::timeout(ORDER, was_taken).await;
    }

    /// Sends a request and passes on what comes back, down to the answer.
    async fn exchange(&self, request: rpc::Request, bytes: Bytes, taken: tokio::sync::oneshot::Sender<()>) -> Result<(), (i64, String)> {
        let broken = |text: String| (BUSY, text);
        let mut headers = self.headers();
        mark_modern(&mut headers, &request);
        let session = headers.get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let repeatable = request.method != "tools/call";
        let mut response = self.upstream.send(Method::POST, headers.clone(), bytes.clone(), repeatable).await.map_err(broken)?;
        if response.status() == StatusCode::NOT_FOUND && session.is_some() {
            self.reopen(session.as_deref()).await.map_err(broken)?;
            let mut headers = self.headers();
            mark_modern(&mut headers, &request);
            response = self.upstream.send(Method::POST, headers, bytes, repeatable).await.map_err(broken)?;
        }
        drop(taken);
        let status = response.status();
        let mut messages = answer::messages(response);
        while let Some(message) = messages.next().await {
            let Some((message, answers)) = fit(&request.id, &message, status) else { continue };
            self.say(message).await;
            if answers {
                return Ok(());
            }
        }
        if request.method == "subscriptions/listen" {
            return Ok(());
        }
        Err((INTERNAL_ERROR, "the worker went away during this call; whether it took effect is not known".to_owned()))
    }

    async fn notification(self: &Arc<Self>, method: &str, params: &Map<String, Value>, bytes: Bytes) {
        if method == "notifications/cancelled" {
            // Letting go of the request's own stream is what cancels it, in every revision.
            if let Some(id) = params.get("requestId").map(Value::to_string) {
                let in_flight = self.in_flight.lock();
                for key in [id.clone(), format!("{ENDLESS}{id}")] {
                    if let Some(cancel) = in_flight.get(&key) {
                        cancel.cancel();
                    }
                }
            }
            return;
        }
        self.one_way(bytes).await;
        let open = self.state.lock().session.is_some();
        if method == "notifications/initialized" && open && !self.listening.swap(true, Ordering::Relaxed) {
            let me = Arc::clone(self);
            tokio::spawn(async move { me.listen().await });
        }
    }

    async fn one_way(&self, bytes: Bytes) {
        if self.state.lock().session.is_some() {
            let _ = self.upstream.send(Method::POST, self.headers(), bytes, true).await;
        }
    }

    async fn batch(self: &Arc<Self>, items: Vec<Value>, bytes: Bytes) {
        if self.state.lock().version.as_deref() != Some(BATCHING) {
            let text = "Invalid request: batches are taken only in a session of revision 2025-03-26";
            self.say(RpcError::new(Value::Null, INVALID_REQUEST, text).to_bytes()).await;
            return;
        }
        drop(items);
        let me = Arc::clone(self);
        self.tasks.spawn(async move {
            let send = me.upstream.send(Method::POST, me.headers(), bytes, false);
            let answer = tokio::select! {
                () = me.over.cancelled() => return,
                answer = send => answer,
            };
            match answer {
                Ok(response) => {
                    let mut messages = answer::messages(response);
                    while let Some(message) = messages.next().await {
                        me.say(message.trim_ascii().to_vec().into()).await;
                    }
                }
                Err(text) => me.say(RpcError::new(Value::Null, BUSY, text).to_bytes()).await,
            }
        });
    }

    /// Passes on what the server says by itself, for as long as the conversation lasts.
    async fn listen(&self) {
        while !self.over.is_cancelled() {
            let get = async {
                let Ok(response) = self.upstream.send(Method::GET, self.headers(), Bytes::new(), true).await else { return };
                if !answer::is_stream(&response) {
                    return;
                }
                let mut messages = answer::messages(response);
                while let Some(message) = messages.next().await {
                    self.say(message).await;
                }
            };
            tokio::select! {
                () = self.over.cancelled() => return,
                () = get => {}
            }
            tokio::select! {
                () = self.over.cancelled() => return,
                () = tokio::time::sleep(LISTEN_AGAIN) => {}
            }
        }
    }
}

/// Marks ids of requests that have no answer until they are cancelled.
const ENDLESS: &str = "endless ";

/// A message as the client is to see it, and whether it is the answer.
///
/// A refusal of the transport (busy, full, wrong token) answers no id; here it is the answer to this request.
fn fit(id: &Value, message: &Bytes, status: StatusCode) -> Option<(Bytes, bool)> {
    let message: Bytes = message.trim_ascii().to_vec().into();
    let mut value: Value = match serde_json::from_slice(&message) {
        Ok(value) => value,
        Err(_) if status.is_success() => return None,
        Err(_) => json!({"jsonrpc": "2.0", "id": null, "error": {"code": BUSY, "message": format!("the worker answered {status}")}}),
    };
    if value.get("method").is_some() {
        return Some((message, false));
    }
    if value.get("id") == Some(id) {
        return Some((message, true));
    }
    if value.get("id").is_none_or(Value::is_null) && value.get("error").is_some() {
        value["id"] = id.clone();
        return Some((value.to_string().into(), true));
    }
    None
}

/// The headers that the newest revision wants beside what the message says.
fn mark_modern(headers: &mut HeaderMap, request: &rpc::Request) {
    let Some(version) = request.meta_version() else { return };
    let name = request.params.get("name").or_else(|| request.params.get("uri")).and_then(Value::as_str);
    let pairs = [(VERSION, Some(version)), ("mcp-method", Some(request.method.as_str())), ("mcp-name", name)];
    headers.remove(SESSION);
    for (header, value) in pairs {
        if let Some(value) = value.map(encoded).and_then(|value| HeaderValue::from_str(&value).ok()) {
            headers.insert(HeaderName::from_static(header), value);
        }
    }
}

/// Header values that are not plain visible ASCII travel in base64, as the specification has it.
fn encoded(value: &str) -> String {
    let plain = value.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && value.trim() == value && !value.starts_with("=?base64?");
    if plain { value.to_owned() } else { format!("=?base64?{}?=", base64::engine::general_purpose::STANDARD.encode(value)) }
}
