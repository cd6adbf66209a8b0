//! `/extension`: the WebSocket of the person's own browser. The listener has checked Host and Origin; the relay decides by
//! the pinned origin and the code or token in the subprotocol.

use axum::Router;
use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocketUpgrade};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use deskhand_browser::extension::{EXTENSION_ID, Frame, MAX_FRAME, PROTOCOL, Relay};
use deskhand_mcp::{Access, Route};
use futures_util::future::ready;
use futures_util::{SinkExt, StreamExt};
use http::header::{ORIGIN, SEC_WEBSOCKET_PROTOCOL};
use http::{HeaderMap, HeaderName, StatusCode};

/// The route, for the extension's own origin alone.
pub(crate) fn route(relay: Relay) -> Route {
    let router = Router::new().route("/extension", get(upgrade)).with_state(relay);
    Route::new("/extension", Access::Own, router).only_from(vec![format!("chrome-extension://{EXTENSION_ID}")])
}

/// A header's value when it is there exactly once.
fn once(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

async fn upgrade(State(relay): State<Relay>, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    match relay.admit(once(&headers, ORIGIN), once(&headers, SEC_WEBSOCKET_PROTOCOL)) {
        Err(refusal) => (StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::FORBIDDEN), refusal.to_string()).into_response(),
        Ok(admission) => {
            upgrade.protocols([PROTOCOL]).max_message_size(MAX_FRAME).max_frame_size(MAX_FRAME).on_upgrade(async move |socket| {
                let (sink, stream) = socket.split();
                let sink = sink.with(|frame| {
                    ready(Ok::<_, axum::Error>(match frame {
                        Frame::Text(text) => Message::Text(text.into()),
                        Frame::Close { code, reason } => Message::Close(Some(CloseFrame { code, reason: reason.into() })),
                    }))
                });
                let stream = stream.filter_map(|message| {
                    ready(match message {
                        Ok(Message::Text(text)) => Some(text.to_string()),
                        _ => None,
                    })
                });
                relay.serve(admission, sink, stream).await;
            })
        }
    }
}
