//! `/mcp`: clients of every age on one URL.
//!
//! A message is judged, then sent one of four ways: the newest revision (no session), a session of an older one, the
//! opening of such a session, or bare JSON-RPC. The endpoint checks nobody's token; it is given a caller by the guard in
//! front of it, or by whoever embeds it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use rmcp::ServerHandler;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::answer::{self, Held, Taste};
use crate::bare::Bare;
use crate::body;
use crate::door::Door;
use crate::error::McpError;
use crate::revisions::{self, Order, Revisions, tidy};
use crate::rpc::{self, CANCELLED, INVALID_REQUEST, Incoming, MODERN, Message, RpcError};
use crate::service::{Caller, Service};
use crate::sessions::{InFlight, Refused, Sessions};
use crate::store::FileStore;

pub(crate) const SESSION: &str = "mcp-session-id";
pub(crate) const VERSION: &str = "mcp-protocol-version";
/// By this our own lines (stdio, SSE) say which of them a request without a session came by: two never share what the
/// worker remembers for one. It tells apart, it lets nobody in; whoever sends it needs the same token anyway.
pub(crate) const CONVERSATION: &str = "deskhand-conversation";

/// What a session may ask a [`Service`] for. rmcp answers anything else with the bare name of the method.
const OLDER_METHODS: [&str; 4] = ["initialize", "ping", "tools/list", "tools/call"];

/// Largest `initialize` in bytes: it is kept as long as its session.
const OPENING: usize = 64 * 1024;

/// Limits and places of one endpoint.
#[derive(Debug, Clone)]
pub struct EndpointConfig {
    /// Folder that sessions of older revisions are kept in; without one they end with the process.
    pub session_folder: Option<PathBuf>,
    /// Sessions in memory at once.
    pub sessions: usize,
    /// A session without messages leaves memory after this.
    pub session_idle: Duration,
    /// Bare requests at once.
    pub bare: usize,
    /// Listening streams (GET, `/sse`, subscriptions) open at once.
    pub streams: usize,
    /// Requests of sessions and of the newest revision at once.
    pub requests: usize,
    /// Largest body in bytes.
    pub body_limit: usize,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            session_folder: None,
            sessions: 100,
            session_idle: Duration::from_secs(3600),
            bare: 32,
            streams: 256,
            requests: 256,
            body_limit: 8 * 1024 * 1024,
        }
    }
}

/// One set of tools on the wire. Cheap to clone.
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) revisions: Arc<dyn Revisions>,
    bare: Option<Arc<Bare>>,
    pub(crate) service: Option<Arc<dyn Service>>,
    pub(crate) sessions: Arc<Sessions>,
    streams: Arc<Semaphore>,
    requests: Arc<Semaphore>,
    body_limit: usize,
    pub(crate) stop: CancellationToken,
}

impl Endpoint {
    /// An endpoint for a service.
    ///
    /// # Errors
    /// When the session folder cannot be made.
    pub fn new(service: Arc<dyn Service>, config: EndpointConfig) -> Result<Self, McpError> {
        let door = Door::new(Arc::clone(&service));
        Self::build(move || door.clone(), Some(service), config)
    }

    /// An endpoint for an rmcp handler of one's own: prompts, resources and whatever else rmcp knows. Every request
    /// carries its [`Caller`] in the extensions of `http::request::Parts`. There is no bare way into such a handler.
    ///
    /// # Errors
    /// When the session folder cannot be made.
    pub fn with_handler<H>(make: impl Fn() -> H + Send + Sync + 'static, config: EndpointConfig) -> Result<Self, McpError>
    where
        H: ServerHandler + Send + Sync + 'static,
    {
        Self::build(make, None, config)
    }

    fn build<H>(
        make: impl Fn() -> H + Send + Sync + 'static,
        service: Option<Arc<dyn Service>>,
        config: EndpointConfig,
    ) -> Result<Self, McpError>
    where
        H: ServerHandler + Send + Sync + 'static,
    {
        let store = config.session_folder.as_deref().map(FileStore::open).transpose().map_err(McpError::SessionFolder)?;
        let sessions = Sessions::new(config.sessions, config.session_idle, store.clone(), service.clone());
        let stop = CancellationToken::new();
        let inner = Inner {
            revisions: revisions::serve(make, &sessions, store, stop.clone(), config.body_limit),
            bare: service.clone().map(|service| Bare::new(service, config.bare)),
            service,
            sessions,
            streams: Arc::new(Semaphore::new(config.streams)),
            requests: Arc::new(Semaphore::new(config.requests)),
            body_limit: config.body_limit,
            stop,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Name and version, for `/health`.
    pub(crate) fn identity(&self) -> (String, String) {
        match &self.inner.service {
            Some(service) => {
                let identity = service.identity();
                (identity.name, identity.version)
            }
            None => (env!("CARGO_PKG_NAME").to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        }
    }

    /// Largest body in bytes.
    pub(crate) fn body_limit(&self) -> usize {
        self.inner.body_limit
    }

    /// Ends every session and stream; stored sessions can be picked up again.
    pub fn stop(&self) {
        self.inner.stop.cancel();
    }

    /// Answers one HTTP request of an authenticated caller: POST, GET or DELETE of Streamable HTTP.
    pub async fn handle(&self, caller: Caller, request: Request<Body>) -> Response<Body> {
        if request.headers().get_all(SESSION).iter().count() > 1 {
            return answer::refuse(StatusCode::BAD_REQUEST, "Two Mcp-Session-Id headers");
        }
        match *request.method() {
            Method::POST => match body::read_json(request, self.inner.body_limit).await {
                Ok((parts, bytes)) => self.post(caller, &parts, bytes).await,
                Err(response) => response,
            },
            Method::GET => self.get(caller, request.into_parts().0).await,
            Method::DELETE => self.delete(caller, request.into_parts().0).await,
            _ => body::method_not_allowed("GET, POST, DELETE"),
        }
    }

    /// Answers a POST whose body has been read.
    pub async fn post(&self, caller: Caller, parts: &Parts, bytes: Bytes) -> Response<Body> {
        let headers = &parts.headers;
        let caller = Caller { session: conversation(headers), ..caller };
        let incoming = match rpc::read(&bytes) {
            Ok(incoming) => incoming,
            Err(error) => return answer::error(error_status(headers, &error), &error),
        };
        match incoming {
            Incoming::Batch(items) => self.batch(caller, headers, items).await,
            Incoming::One(message) => self.one(caller, headers, message, bytes, Taste::of(headers)).await,
        }
    }

    pub(crate) async fn one(&self, caller: Caller, headers: &HeaderMap, message: Message, bytes: Bytes, taste: Taste) -> Response<Body> {
        let session = headers.get(SESSION).map(|id| id.to_str().unwrap_or_default().to_owned());
        match message {
            Message::Request(request) if is_modern(headers, &request) => {
                let order = Order { caller, method: Method::POST, headers: headers.clone(), body: bytes };
                let place = if request.method == "subscriptions/listen" { self.stream_place() } else { self.request_place() };
                let Some(place) = place else { return too_many_streams() };
                self.modern(order, request.id, place, taste).await
            }
            Message::Request(request) => match session {
                Some(session) => self.in_session(caller, headers, &session, request, bytes, taste).await,
                None if request.method == "initialize" => self.open(caller, headers, request, bytes.len()).await,
                None => self.bare(caller, headers, request, bytes, taste).await,
            },
            message => self.one_way(caller, headers, session, message, bytes).await,
        }
    }

    /// The revision of this caller's session, brought back from the store if need be.
    pub(crate) async fn session(&self, id: &str, caller: &Caller) -> Result<String, Refused> {
        let sessions = &self.inner.sessions;
        if let Some(known) = sessions.known(id, caller) {
            return known;
        }
        let mut headers = HeaderMap::new();
        headers.insert(SESSION, HeaderValue::from_str(id).map_err(|_| Refused::NotFound)?);
        // Any notification makes rmcp restore the session; this one means nothing to anybody.
        let body = r#"{"jsonrpc":"2.0","method":"notifications/deskhand/restored"}"#.into();
        let order = Order { caller: caller.clone(), method: Method::POST, headers, body };
        let wake = async { self.inner.revisions.answer(order).await.status().is_success() };
        sessions.restore(id, caller, wake).await
    }

    async fn bare(&self, caller: Caller, headers: &HeaderMap, request: rpc::Request, bytes: Bytes, taste: Taste) -> Response<Body> {
        match &self.inner.bare {
            Some(bare) => bare.request(caller, request, taste).await,
            None => {
                let order = Order { caller, method: Method::POST, headers: headers.clone(), body: bytes };
                tidy(self.inner.revisions.answer(order).await, &request.id, true).await
            }
        }
    }

    /// Notifications and answers: taken, and nothing comes back.
    async fn one_way(
        &self,
        caller: Caller,
        headers: &HeaderMap,
        session: Option<String>,
        message: Message,
        bytes: Bytes,
    ) -> Response<Body> {
        let Some(session) = session else {
            if let (Some(bare), Message::Notification { method, params }) = (&self.inner.bare, &message) {
                bare.notification(&caller, method, params);
            }
            return answer::accepted();
        };
        if let Err(refused) = self.session(&session, &caller).await {
            return refusal(&refused);
        }
        let order = Order { caller, method: Method::POST, headers: headers.clone(), body: bytes };
        let response = self.inner.revisions.answer(order).await;
        match response.status() {
            StatusCode::NOT_FOUND => {
                self.inner.sessions.forget(&session);
                tidy(response, &Value::Null, true).await
            }
            // A notification of a shape that rmcp cannot read: nobody waits for an answer.
            StatusCode::UNSUPPORTED_MEDIA_TYPE => answer::accepted(),
            _ => response,
        }
    }

    /// Opens a session. The answer is JSON for everybody; both kinds of client take it.
    async fn open(&self, caller: Caller, headers: &HeaderMap, mut request: rpc::Request, bytes: usize) -> Response<Body> {
        if bytes > OPENING {
            let text = "Invalid params: initialize is larger than 64 KiB";
            return answer::error(StatusCode::OK, &RpcError::new(request.id, rpc::INVALID_PARAMS, text));
        }
        let Ok(_place) = self.inner.sessions.reserve().await else { return refusal(&Refused::Full) };
        rpc::complete_initialize(&mut request.params);
        let body = serde_json::json!({"jsonrpc": "2.0", "id": request.id, "method": "initialize", "params": request.params});
        let mut caller = caller;
        caller.client = rpc::client_name(request.params.get("clientInfo"));
        let mut headers = headers.clone();
        // Without a session yet, the header can only repeat what the body says.
        headers.remove(VERSION);
        let order = Order { caller: caller.clone(), method: Method::POST, headers, body: body.to_string().into() };
        let response = tidy(self.inner.revisions.answer(order).await, &request.id, true).await;
        let Some(id) = response.headers().get(SESSION).cloned() else { return response };
        let answered = answer::answer_to(&request.id, response).await.unwrap_or_default();
        let version = serde_json::from_slice::<Value>(&answered).unwrap_or_default();
        let version = version.pointer("/result/protocolVersion").and_then(Value::as_str).unwrap_or_default();
        self.inner.sessions.opened(id.to_str().unwrap_or_default(), &caller, version);
        let mut response = answer::json(StatusCode::OK, answered);
        response.headers_mut().insert(SESSION, id);
        response
    }

    /// A request of an open session.
    pub(crate) async fn in_session(
        &self,
        mut caller: Caller,
        headers: &HeaderMap,
        session: &str,
        request: rpc::Request,
        bytes: Bytes,
        taste: Taste,
    ) -> Response<Body> {
        if let Err(refused) = self.session(session, &caller).await {
            return refusal(&refused);
        }
        if self.inner.service.is_some() && !OLDER_METHODS.contains(&request.method.as_str()) {
            return answer::error(StatusCode::OK, &rpc::no_such_method(request.id, &request.method));
        }
        let Some(place) = self.request_place() else { return too_many_streams() };
        let Some(in_flight) = self.inner.sessions.begin(session, &request.id, self.inner.service.is_some()) else {
            let text = "Invalid request: this id is still in use by a request under way";
            return answer::error(StatusCode::OK, &RpcError::new(request.id, INVALID_REQUEST, text));
        };
        caller.session = Some(session.to_owned());
        let order = Order { caller, method: Method::POST, headers: headers.clone(), body: bytes };
        let response = tidy(self.inner.revisions.answer(order).await, &request.id, true).await;
        if response.status() == StatusCode::NOT_FOUND {
            self.inner.sessions.forget(session);
        }
        if !answer::is_stream(&response) {
            return response;
        }
        let held =
            response.map(|body| Held::wrap(body, (in_flight, place), |kept: &mut (InFlight, OwnedSemaphorePermit)| kept.0.finished()));
        if taste == Taste::Stream { held } else { as_json(request.id, held).await }
    }

    /// A request of the newest revision.
    async fn modern(&self, order: Order, id: Value, place: OwnedSemaphorePermit, taste: Taste) -> Response<Body> {
        let revisions = Arc::clone(&self.inner.revisions);
        let answered = id.clone();
        let answer = async move {
            let response = tidy(revisions.answer(order).await, &answered, false).await;
            response.map(|body| Held::wrap(body, place, |_: &mut OwnedSemaphorePermit| ()))
        };
        let response = answer::patiently(answer, taste).await;
        if taste == Taste::Json && answer::is_stream(&response) { as_json(id, response).await } else { response }
    }

    fn request_place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.inner.requests).try_acquire_owned().ok()
    }

    pub(crate) fn stream_place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.inner.streams).try_acquire_owned().ok()
    }
}

/// JSON out of an event stream, kept alive while it is awaited.
async fn as_json(id: Value, response: Response<Body>) -> Response<Body> {
    let answer = async move {
        match answer::answer_to(&id, response).await {
            Some(bytes) => answer::json(StatusCode::OK, bytes),
            None => answer::error(StatusCode::OK, &RpcError::new(id, CANCELLED, "Request cancelled")),
        }
    };
    answer::patiently(answer, Taste::Json).await
}

/// The line that a request came by, if it says so in the form that ours have.
pub(crate) fn conversation(headers: &HeaderMap) -> Option<String> {
    let id = header(headers, CONVERSATION)?;
    (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| id.to_owned())
}

pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(HeaderValue::to_str)?.ok()
}

/// Whether the request speaks the newest revision: it says so, or uses what only that one has.
///
/// `initialize` belongs to the older ones whatever else is said beside it; without the version that it is there to
/// settle, it is only a method that the newest revision does not have.
fn is_modern(headers: &HeaderMap, request: &rpc::Request) -> bool {
    let marked = header(headers, VERSION).is_some_and(|version| version >= MODERN) || request.meta_version().is_some();
    match request.method.as_str() {
        "initialize" => marked && !request.params.contains_key("protocolVersion"),
        "server/discover" => true,
        _ => marked,
    }
}

/// Errors of older clients come with 200; the newest revision wants 400 for what is no request.
fn error_status(headers: &HeaderMap, error: &RpcError) -> StatusCode {
    let modern = header(headers, VERSION).is_some_and(|version| version >= MODERN);
    if modern && error.code != rpc::INVALID_PARAMS { StatusCode::BAD_REQUEST } else { StatusCode::OK }
}

pub(crate) fn refusal(refused: &Refused) -> Response<Body> {
    match refused {
        Refused::NotFound => answer::refuse(StatusCode::NOT_FOUND, "Session not found: it ended or is not yours; send initialize again"),
        Refused::Full => {
            answer::busy(StatusCode::SERVICE_UNAVAILABLE, "Too many sessions are open; end one with DELETE, or try again later", 60)
        }
    }
}

pub(crate) fn too_many_streams() -> Response<Body> {
    answer::busy(StatusCode::SERVICE_UNAVAILABLE, "Too many streams are open; close one, or try again later", 5)
}
