//! One listener: the guard, the table of routes, and an accept loop of our own.
//!
//! `axum::serve` waits for ever for half a request, so connections are driven with hyper directly: headers within 30 s,
//! few of them, small writes at once.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::answer::{self, Held};
use crate::auth::{Authenticator, Gatekeeper};
use crate::body::{self, closing, method_not_allowed};
use crate::connections::{Connections, Place};
use crate::endpoint::Endpoint;
use crate::error::McpError;
use crate::guard::{Guard, OriginList, Refusal};
use crate::legacy::Legacy;
use crate::service::Caller;
use crate::stall::{Brisk, STALL};

/// Headers that are not whole after this close the connection.
const HEADER_TIME: Duration = Duration::from_secs(30);
/// Most headers in a request.
const HEADERS: usize = 64;
/// Most connections at once: below the 1,024 open files that a process may usually have.
const CONNECTIONS: usize = 768;
/// Of a refused request's body at most so much is read (and thrown away), for at most so long.
const REFUSED_BODY: u64 = 8 * 1024 * 1024;
const REFUSED_TIME: Duration = Duration::from_secs(1);
/// How long connections may take to finish when the server stops.
const FAREWELL: Duration = Duration::from_secs(2);

/// Who may use a route of the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// A bearer token, as for `/mcp`; the handler finds the [`Caller`] in the request's extensions.
    Token,
    /// The handler checks by itself (a pairing code in a subprotocol, a cookie).
    Own,
}

/// A route that the application adds behind the same Host and Origin checks.
#[derive(Debug)]
pub struct Route {
    path: String,
    access: Access,
    origins: Option<Vec<String>>,
    router: Router,
}

impl Route {
    /// `path` is exact, or a prefix when it ends in `/`; `router` sees the whole path.
    pub fn new(path: impl Into<String>, access: Access, router: Router) -> Self {
        Self { path: path.into(), access, origins: None, router }
    }

    /// Only these Origins, exact, and none is not enough.
    #[must_use]
    pub fn only_from(mut self, origins: Vec<String>) -> Self {
        self.origins = Some(origins);
        self
    }

    fn matches(&self, path: &str) -> bool {
        if self.path.ends_with('/') { path.len() > self.path.len() && path.starts_with(&self.path) } else { path == self.path }
    }
}

type Ready = Arc<dyn Fn() -> bool + Send + Sync>;

/// A listener's routes in the making.
pub struct Server {
    endpoint: Endpoint,
    authenticator: Arc<dyn Authenticator>,
    hosts: Vec<String>,
    origins: Arc<OriginList>,
    routes: Vec<Route>,
    ready: Ready,
}

impl Server {
    /// Serves `endpoint` on `/mcp`, `/sse` and `/messages`, and `/health`.
    pub fn new(endpoint: Endpoint, authenticator: Arc<dyn Authenticator>) -> Self {
        Self { endpoint, authenticator, hosts: Vec::new(), origins: Arc::default(), routes: Vec::new(), ready: Arc::new(|| true) }
    }

    /// Answers also to this Host, exact, with its port (`192.168.1.5:47800`, `desk.example:443`).
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// The list of foreign Origins, which the caller may change while serving.
    #[must_use]
    pub fn origins(mut self, origins: Arc<OriginList>) -> Self {
        self.origins = origins;
        self
    }

    /// Adds a route.
    #[must_use]
    pub fn route(mut self, route: Route) -> Self {
        self.routes.push(route);
        self
    }

    /// What `/health` says about being ready.
    #[must_use]
    pub fn ready(mut self, ready: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.ready = Arc::new(ready);
        self
    }

    /// Serves until `stop`, then gives open connections 2 s.
    ///
    /// # Errors
    /// When the listener has no address.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) -> Result<(), McpError> {
        let address = listener.local_addr().map_err(McpError::Listener)?;
        let guard = Guard::new(address, &self.hosts, self.origins, Gatekeeper::new(self.authenticator));
        let legacy = Legacy::new(self.endpoint.clone());
        let table = Arc::new(Table { guard, endpoint: self.endpoint, legacy, routes: self.routes, ready: self.ready });
        let tracker = TaskTracker::new();
        accept(&listener, &table, &tracker, &stop).await;
        drop(listener);
        table.endpoint.stop();
        tracker.close();
        let _ = tokio::time::timeout(FAREWELL, tracker.wait()).await;
        Ok(())
    }
}

async fn accept(listener: &TcpListener, table: &Arc<Table>, tracker: &TaskTracker, stop: &CancellationToken) {
    let mut connections = Connections::new(CONNECTIONS);
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let Some(place) = connections.enter() else { continue };
                tracker.spawn(drive(stream, peer, Arc::clone(table), Arc::new(place), stop.clone()));
            }
            Err(error) => {
                // Out of file descriptors, mostly: others will end. Not a reason to stop serving.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn drive(stream: TcpStream, peer: SocketAddr, table: Arc<Table>, place: Arc<Place>, stop: CancellationToken) {
    let _ = stream.set_nodelay(true);
    let seat = Arc::clone(&place);
    let service = service_fn(move |request: Request<Incoming>| {
        let (table, work) = (Arc::clone(&table), seat.work());
        async move {
            let response = finish(table.answer(request.map(Body::new), peer).await);
            Ok::<_, Infallible>(response.map(|body| Held::wrap(body, work, |_| ())))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_headers(HEADERS)
        .serve_connection(Brisk::new(TokioIo::new(stream), STALL), service)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        result = connection.as_mut() => {
            if let Err(error) = result {
                tracing::debug!(%error, %peer, "a connection ended early");
            }
            return;
        }
        () = place.given_up() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Headers of every answer: nothing is cached, nothing is sniffed.
fn finish(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Everything that answers on one listener.
struct Table {
    guard: Guard,
    endpoint: Endpoint,
    legacy: Legacy,
    routes: Vec<Route>,
    ready: Ready,
}

/// Where an admitted request goes, and on whose behalf.
enum Admitted {
    Health,
    Mcp(Caller),
    Sse(Caller),
    Messages(Caller),
    Route(Router, Option<Caller>),
}

impl Table {
    async fn answer(&self, mut request: Request<Body>, peer: SocketAddr) -> Response<Body> {
        match self.admit(&request, peer) {
            Err(refusal) => {
                // Closed over an unread body the connection would be reset, and the refusal with it.
                body::drain(request.into_body(), REFUSED_BODY, REFUSED_TIME).await;
                *refusal
            }
            Ok(Admitted::Health) => self.health(),
            Ok(Admitted::Mcp(caller)) => self.endpoint.handle(caller, request).await,
            Ok(Admitted::Sse(caller)) => self.legacy.open(&caller),
            Ok(Admitted::Messages(caller)) => self.legacy.message(&caller, request).await,
            Ok(Admitted::Route(router, caller)) => {
                request.extensions_mut().insert(axum::extract::ConnectInfo(peer));
                if let Some(caller) = caller {
                    request.extensions_mut().insert(caller);
                }
                router.oneshot(request).await.unwrap_or_else(|never| match never {})
            }
        }
    }

    /// Address, then path and method, then Origin, then token; only then is anything of the request looked at.
    fn admit(&self, request: &Request<Body>, peer: SocketAddr) -> Result<Admitted, Refusal> {
        self.guard.address(request)?;
        let path = request.uri().path();
        if let Some(route) = self.routes.iter().find(|route| route.matches(path)) {
            self.guard.origin(request.headers(), route.origins.as_deref())?;
            let caller = if route.access == Access::Token { Some(self.caller(request, peer)?) } else { None };
            return Ok(Admitted::Route(route.router.clone(), caller));
        }
        self.guard.origin(request.headers(), None)?;
        let allow = match path {
            "/mcp" => "GET, POST, DELETE",
            "/sse" | "/health" => "GET",
            "/messages" => "POST",
            _ => return Err(Box::new(closing(answer::refuse(StatusCode::NOT_FOUND, "Nothing is here")))),
        };
        if !allow.split(", ").any(|method| method == request.method().as_str()) {
            return Err(Box::new(closing(method_not_allowed(allow))));
        }
        Ok(match path {
            "/health" => Admitted::Health,
            "/mcp" => Admitted::Mcp(self.caller(request, peer)?),
            "/sse" => Admitted::Sse(self.caller(request, peer)?),
            _ => Admitted::Messages(self.caller(request, peer)?),
        })
    }

    fn caller(&self, request: &Request<Body>, peer: SocketAddr) -> Result<Caller, Refusal> {
        let principal = self.guard.token(request.headers(), peer)?;
        Ok(Caller { principal, peer: Some(peer), client: None, session: None })
    }

    fn health(&self) -> Response<Body> {
        let identity = self.endpoint.identity();
        let body = json!({"name": identity.0, "version": identity.1, "protocol": crate::rpc::MODERN, "ready": (self.ready)()});
        answer::json(StatusCode::OK, body.to_string())
    }
}
