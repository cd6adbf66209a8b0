//! rmcp's Streamable HTTP service with the type parameters forgotten, and its answers made uniform.
//!
//! rmcp serves every revision but answers some refusals in plain text. Here a refused request always gets JSON-RPC.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::answer;
use crate::rpc::{BUSY, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RpcError};
use crate::service::Caller;
use crate::sessions::{Manager, Sessions};
use crate::store::{FileStore, OPENER};

/// One message, or one GET or DELETE, for rmcp.
pub(crate) struct Order {
    pub(crate) caller: Caller,
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Whatever answers orders.
#[async_trait]
pub(crate) trait Revisions: Send + Sync + 'static {
    /// Hands the order to rmcp.
    async fn answer(&self, order: Order) -> Response<Body>;
}

/// rmcp serving `make()`, one handler a session.
pub(crate) fn serve<H: ServerHandler + Send + Sync + 'static>(
    make: impl Fn() -> H + Send + Sync + 'static,
    sessions: &Arc<Sessions>,
    store: Option<FileStore>,
    stop: CancellationToken,
    body_limit: usize,
) -> Arc<dyn Revisions> {
    // Host and Origin are the guard's: it knows the port and is in front of every route.
    let mut config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(true)
        .with_json_response(false)
        .with_sse_keep_alive(Some(answer::KEEP_ALIVE))
        .with_sse_retry(Some(Duration::from_secs(3)))
        .with_cancellation_token(stop)
        .with_max_request_body_bytes(body_limit)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    config.session_store = store.map(|store| Arc::new(store) as Arc<_>);
    let manager = Arc::new(Manager(Arc::clone(sessions)));
    Arc::new(Rmcp { service: StreamableHttpService::new(move || Ok(make()), manager, config) })
}

struct Rmcp<H> {
    service: StreamableHttpService<H, Manager>,
}

#[async_trait]
impl<H: ServerHandler + Send + Sync + 'static> Revisions for Rmcp<H> {
    async fn answer(&self, order: Order) -> Response<Body> {
        let Order { caller, method, mut headers, body } = order;
        // What the client takes is settled by `Taste`; rmcp wants both named. Host it wants, and only that there is one.
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(HOST, HeaderValue::from_static("localhost"));
        headers.remove(ORIGIN);
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.headers_mut() = headers;
        request.extensions_mut().insert(caller.clone());
        OPENER.scope(caller, self.service.handle(request)).await.map(Body::new)
    }
}

/// Turns a plain-text refusal of rmcp into a JSON-RPC error for `id`.
///
/// `legacy` requests get 200 with the error, because their clients read errors only there; a missing session stays 404
/// and a wrong header 400, which the specification asks for.
pub(crate) async fn tidy(response: Response<Body>, id: &Value, legacy: bool) -> Response<Body> {
    let json = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if response.status().is_success() || json {
        return response;
    }
    let status = response.status();
    let text = response.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let (code, status) = match status {
        StatusCode::NOT_FOUND => (BUSY, status),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => (INVALID_PARAMS, if legacy { StatusCode::OK } else { StatusCode::BAD_REQUEST }),
        status if status.is_server_error() => (INTERNAL_ERROR, if legacy { StatusCode::OK } else { status }),
        status => (INVALID_REQUEST, status),
    };
    let text = if code == INVALID_PARAMS { "Invalid params: the parameters do not fit the method".to_owned() } else { text };
    answer::error(status, &RpcError::new(id.clone(), code, text))
}
