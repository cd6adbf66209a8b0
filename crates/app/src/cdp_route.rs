//! `/cdp/RANDOM`: the managed browser for programs that speak the DevTools protocol themselves (Playwright's
//! `connectOverCDP`). The browser's own channel is private to this process; this route has the endpoint's Host, Origin and
//! token checks, wants `browser_script`, is in the log, and ends with the grant. A path belongs to one caller.

use axum::Router;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Extension, Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use deskhand_browser::{Browsers, CdpRoute};
use deskhand_core::{Caller, Channel, Dispatcher, ErrorKind, Group};
use deskhand_mcp::{Access, Route};
use futures_util::future::ready;
use futures_util::{SinkExt, StreamExt};
use http::StatusCode;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Most paths kept; each conversation that asked for its address has one.
const PATHS: usize = 256;
/// A message of the protocol: a picture of a long page is the largest.
const MESSAGE: usize = 64 * 1024 * 1024;

#[derive(Clone)]
struct Shared {
    dispatcher: Dispatcher,
    browsers: Arc<Browsers>,
    address: SocketAddr,
    /// Path to the identity it was given to, and back.
    paths: Arc<Mutex<HashMap<String, String>>>,
}

/// The route; `browser_get_info` gives out its addresses from now on.
pub(crate) fn route(dispatcher: &Dispatcher, browsers: &Arc<Browsers>, address: SocketAddr) -> Route {
    let shared = Shared { dispatcher: dispatcher.clone(), browsers: Arc::clone(browsers), address, paths: Arc::default() };
    let paths = Arc::clone(&shared.paths);
    browsers.set_cdp_route(CdpRoute(Arc::new(move |scope| Some(format!("ws://{address}/cdp/{}", path_of(&paths, scope))))));
    let router = Router::new()
        .route("/cdp/{path}", get(attach))
        .route("/cdp/{path}/json/version", get(version))
        .route("/cdp/{path}/json/version/", get(version))
        .with_state(shared);
    Route::new("/cdp/", Access::Token, router)
}

/// The identity in a scope: what is before the conversation.
fn identity(scope: &str) -> &str {
    scope.split('#').next().unwrap_or(scope)
}

fn path_of(paths: &Mutex<HashMap<String, String>>, scope: &str) -> String {
    let id = identity(scope);
    let mut paths = paths.lock();
    if let Some((path, _)) = paths.iter().find(|(_, owner)| *owner == id) {
        return path.clone();
    }
    if paths.len() >= PATHS {
        paths.clear();
    }
    let path = crate::state::new_token();
    paths.insert(path.clone(), id.to_owned());
    path
}

impl Shared {
    /// The channel of the caller that this path was given to.
    async fn open(&self, path: &str, caller: Option<Extension<deskhand_mcp::Caller>>) -> Result<Channel, Response> {
        let refused = |status: StatusCode, text: &str| (status, text.to_owned()).into_response();
        let caller = caller.map(|c| caller_of(&c)).ok_or_else(|| refused(StatusCode::UNAUTHORIZED, "no token"))?;
        if self.paths.lock().get(path) != Some(&caller.id()) {
            return Err(refused(StatusCode::NOT_FOUND, "there is no such address; browser_get_info gives the present one"));
        }
        self.dispatcher.open_channel(&caller, "cdp", Group::BrowserScript).await.map_err(|error| {
            let status = if error.kind == ErrorKind::Unavailable { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::FORBIDDEN };
            refused(status, &error.to_string())
        })
    }
}

fn caller_of(caller: &deskhand_mcp::Caller) -> Caller {
    let name = caller.principal.name();
    name.strip_prefix("client:").map_or_else(Caller::main, Caller::client)
}

type Asking = Option<Extension<deskhand_mcp::Caller>>;

async fn attach(
    State(shared): State<Shared>,
    Path(path): Path<String>,
    caller: Asking,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    let channel = match shared.open(&path, caller).await {
        Ok(channel) => channel,
        Err(refused) => return refused,
    };
    upgrade.max_message_size(MESSAGE).max_frame_size(MESSAGE).on_upgrade(async move |socket| bridge(shared, channel, socket).await)
}

async fn bridge(shared: Shared, channel: Channel, socket: WebSocket) {
    let (sink, stream) = socket.split();
    let sink = sink.with(|text: String| ready(Ok::<_, axum::Error>(Message::Text(text.into()))));
    let stream = stream.filter_map(|message| {
        ready(match message {
            Ok(Message::Text(text)) => Some(text.to_string()),
            _ => None,
        })
    });
    let stop = CancellationToken::new();
    let speaking = async {
        let managed = shared.browsers.managed().await?;
        managed.bridge(shared.browsers.policy(), sink, Box::pin(stream), stop.clone()).await
    };
    tokio::pin!(speaking);
    let spoken = tokio::select! {
        spoken = &mut speaking => spoken,
        () = channel.ended() => {
            stop.cancel();
            speaking.await
        }
    };
    if let Err(error) = spoken {
        tracing::info!(%error, "a program that was attached to the browser was let go");
    }
}

async fn version(State(shared): State<Shared>, Path(path): Path<String>, caller: Asking) -> Response {
    if let Err(refused) = shared.open(&path, caller).await {
        return refused;
    }
    match shared.browsers.managed().await {
        Ok(managed) => axum::Json(managed.version_page(&format!("ws://{}/cdp/{path}", shared.address))).into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    }
}
