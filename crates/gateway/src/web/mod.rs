//! The routes. Each module is one door; this one only puts them together.

mod accounts;
mod admin;
mod guard;
mod legacy;
mod modern;
mod page;
mod sockets;
mod status;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::access::{TokenUser, token_of};
use crate::error::GatewayError;
use crate::gateway::Gateway;
use crate::throttle::Throttle;

/// Largest body of a request, in bytes, as the contract says.
const LARGEST_BODY: usize = 1 << 20;

/// What the routes share.
#[derive(Debug)]
pub(crate) struct Web {
    pub(crate) gateway: Arc<Gateway>,
    /// How clients reach us, without a trailing slash, if configured.
    public_url: Option<String>,
    tls: bool,
    /// We listen on loopback and no other address is configured: only this machine's names lead here.
    loopback_only: bool,
    /// A proxy in front names the client in X-Forwarded-For.
    behind_proxy: bool,
    streams: legacy::Streams,
    by_address: Throttle<std::net::IpAddr>,
    by_name: Throttle<String>,
}

type Shared = State<Arc<Web>>;

/// The peer's address, put into each request by the listener.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerAddress(pub(crate) std::net::SocketAddr);

/// How clients reach the gateway.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Front<'a> {
    /// The configured address, if any.
    pub(crate) public_url: Option<&'a str>,
    /// The gateway itself speaks TLS.
    pub(crate) tls: bool,
    /// It listens on a loopback address.
    pub(crate) loopback: bool,
    /// A proxy in front names the client in X-Forwarded-For.
    pub(crate) behind_proxy: bool,
}

/// All routes of `gateway`.
pub(crate) fn router(gateway: Arc<Gateway>, front: Front<'_>) -> Router {
    let web = Arc::new(Web {
        gateway: Arc::clone(&gateway),
        public_url: front.public_url.map(|url| url.trim_end_matches('/').to_owned()),
        tls: front.tls,
        loopback_only: front.loopback && !front.tls && front.public_url.is_none(),
        behind_proxy: front.behind_proxy,
        streams: legacy::Streams::default(),
        by_address: Throttle::new(30, Duration::from_secs(300)),
        by_name: Throttle::new(10, Duration::from_secs(300)),
    });
    Router::new()
        .route("/", get(page::page))
        .route("/page.js", get(page::script))
        .route("/page.css", get(page::style))
        .route("/health", get(status::health))
        .route("/metrics", get(status::metrics))
        .route("/api/login", post(accounts::login))
        .route("/api/session", post(accounts::session).delete(accounts::sign_out))
        .route("/api/mcp/token", get(accounts::token).delete(accounts::reset_token))
        .route("/api/picoagent/me", get(accounts::me))
        .route("/api/status", get(status::status))
        .route("/api/admin/{what}", post(admin::act))
        .route("/api/computer/ws", get(sockets::computer))
        .route("/api/browser/ws", get(sockets::browser))
        .route("/api/mcp/sse/{service}", get(legacy::stream).post(legacy::message))
        .merge(modern::routes(&web))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(middleware::from_fn_with_state(Arc::clone(&web), guard::guard))
        .with_state(web)
}

/// A path that is not there, in the shape of every other refusal.
async fn no_route() -> Response {
    failure(StatusCode::NOT_FOUND, "there is no such path on this gateway")
}

/// A method that this path does not take.
async fn no_method() -> Response {
    failure(StatusCode::METHOD_NOT_ALLOWED, "this path does not take that method")
}

impl Web {
    /// Whose token came with the request, and whether it came in the URL.
    async fn token_user(&self, headers: &HeaderMap, uri: &Uri) -> Result<(TokenUser, String, bool), Response> {
        let found = token_of(headers, uri);
        let token = found.as_ref().map(|(token, _)| token.as_str());
        match self.gateway.access.check(token).await {
            Ok(user) => {
                let (token, in_url) = found.unwrap_or_default();
                Ok((user, token, in_url))
            }
            Err(denied) => Err(failure(denied.status(), denied.text())),
        }
    }

    /// How the client reached us: the configured address, else by its Host header.
    fn base_url(&self, headers: &HeaderMap) -> String {
        if let Some(url) = &self.public_url {
            return url.clone();
        }
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
        format!("{}://{host}", if self.tls { "https" } else { "http" })
    }

    /// Whether cookies may travel over TLS only.
    fn is_secure(&self) -> bool {
        self.tls || self.public_url.as_ref().is_some_and(|url| url.starts_with("https://"))
    }
}

/// `{"success":false,"error":…}` with that status.
fn failure(status: StatusCode, text: impl Into<String>) -> Response {
    (status, axum::Json(json!({"success": false, "error": text.into()}))).into_response()
}

/// `{"success":true, …}`.
fn success(mut fields: Value) -> Response {
    if let Value::Object(map) = &mut fields {
        map.shift_insert(0, "success".into(), Value::Bool(true));
    }
    axum::Json(fields).into_response()
}

/// An error of ours as an answer: the caller's with its text, ours logged.
fn error_response(error: &GatewayError) -> Response {
    if error.is_callers() {
        return failure(StatusCode::BAD_REQUEST, error.to_string());
    }
    tracing::error!(%error, "request failed");
    failure(StatusCode::SERVICE_UNAVAILABLE, "the gateway could not do this at the moment; try again")
}
