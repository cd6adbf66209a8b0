//! The person's own browser, through the Deskhand extension: pairing, the relay's connections, and a
//! [`Transport`](crate::Transport) for each browser that is connected.
//!
//! The crate knows no web server. Whoever owns the listener asks [`Relay::admit`] with two headers of the WebSocket
//! upgrade, answers 101 with the subprotocol [`PROTOCOL`] (or [`Refusal::status`]), and hands the frames to
//! [`Relay::serve`]:
//!
//! ```ignore
//! // axum 0.8: Host and query are checked by the listener's own layer, as for every other route.
//! async fn extension(State(relay): State<Relay>, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
//!     let one = |name| { let mut all = headers.get_all(name).iter(); all.next().filter(|_| all.next().is_none()) };
//!     let text = |name| one(name).and_then(|v: &HeaderValue| v.to_str().ok());
//!     match relay.admit(text(ORIGIN), text(SEC_WEBSOCKET_PROTOCOL)) {
//!         Err(refusal) => (StatusCode::from_u16(refusal.status()).unwrap(), refusal.to_string()).into_response(),
//!         Ok(admission) => upgrade
//!             .protocols([deskhand_browser::extension::PROTOCOL])
//!             .max_message_size(MAX_FRAME).max_frame_size(MAX_FRAME)
//!             .on_upgrade(async move |socket| {
//!                 let (sink, stream) = socket.split();
//!                 let sink = sink.with(|frame| ready(Ok::<_, axum::Error>(match frame {
//!                     Frame::Text(text) => Message::Text(text.into()),
//!                     Frame::Close { code, reason } => Message::Close(Some(CloseFrame { code, reason: reason.into() })),
//!                 })));
//!                 let stream = stream.filter_map(|m| ready(match m { Ok(Message::Text(t)) => Some(t.to_string()), _ => None }));
//!                 relay.serve(admission, sink, stream).await;
//!             }),
//!     }
//! }
//! ```
//! `deskhand pair` and the tray show [`Relay::start_pairing`]; the settings page shows [`Relay::browsers`].

mod browser;
mod codes;
mod door;
mod relay;
mod store;
#[cfg(test)]
mod tests;
mod wire;

pub use browser::ExtensionBrowser;
pub use codes::PairingCode;
pub use door::{Admission, Refusal};
pub use relay::{PairedBrowser, Relay, RelayError, Settings};
pub use store::StoreError;
pub use wire::Frame;

/// The extension's id, pinned by the public key in its manifest.
pub const EXTENSION_ID: &str = "gdkdipmegppdlcihkchkdeikhpocmaip";

/// The subprotocol of the relay's WebSocket; the second one offered is the pairing code or the token.
pub const PROTOCOL: &str = "deskhand.v1";

/// The largest message either side takes, in bytes. A screenshot of a very long page is the largest there is.
pub const MAX_FRAME: usize = 32 * 1024 * 1024;
