//! The person's own browser, through the Deskhand extension: pairing, the relay's connections, and a
//! [`Transport`](crate::Transport) for each browser that is connected.
//!
//! The crate knows no web server. Whoever owns the listener checks Host as for every other route, asks [`Relay::admit`]
//! with the upgrade's `Origin` and `Sec-WebSocket-Protocol` (`None` for one that is absent or stands twice), answers 101
//! with the subprotocol [`PROTOCOL`] and messages up to [`MAX_FRAME`], or [`Refusal::status`], and hands sink and stream
//! of the socket's text messages to [`Relay::serve`]. Nothing in the query or in a frame replaces the two headers.
//!
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
