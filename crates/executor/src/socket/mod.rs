//! One socket to a gateway, for as long as it is wanted: connect, serve, and come back.

mod calls;
mod connection;

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::header::AUTHORIZATION;
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config, tungstenite};
use tokio_util::sync::CancellationToken;

use crate::address::{Address, Service};
use crate::backoff::Backoff;
use crate::desk::Desk;
use crate::ledger::Ledger;
use crate::network;
use crate::secret::Token;

/// Connecting, TLS and handshake together may take this long.
const CONNECT_WITHIN: Duration = Duration::from_secs(15);
/// A connection that held this long, or over which a call came, makes the next wait short again: long enough that a gateway which accepts and drops is
/// not hammered, short enough that one which restarts is found at once.
const HELD: Duration = Duration::from_secs(2);
/// A try that was given up while the gateway was frozen may still reach it when it wakes, and take the place of the one that
/// came after. For this long after such a try, a replacement is answered once by connecting again.
const ECHO: Duration = Duration::from_secs(120);
/// Largest frame taken from a gateway, in bytes.
const LARGEST_FRAME: usize = 32 << 20;

pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Which gateway, as whom.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) address: Address,
    pub(crate) token: Token,
    pub(crate) tls: Arc<rustls::ClientConfig>,
}

/// What all connections of an executor share.
pub(crate) struct Shared {
    pub(crate) desk: Arc<dyn Desk>,
    pub(crate) ledger: Ledger,
    /// Random per process; see [`crate::ledger`].
    pub(crate) instance: String,
    /// Changes when the list of tools may have.
    pub(crate) tools_changed: watch::Receiver<u64>,
    /// Ends a wait for the next try.
    pub(crate) now: Notify,
}

/// How a connection, or the try to make one, ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// We ended it.
    Stopped,
    /// Closed with code 1000: a newer connection took its place.
    Replaced,
    /// The token is not accepted any more.
    Revoked,
    /// Anything that passes.
    Lost(String),
    /// The try was given up without an answer.
    Silent(String),
}

/// What the loop tells the executor.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Connecting { tries: u32 },
    Connected,
    Failed(String),
    Replaced,
    Revoked,
}

/// Keeps a socket to `target` until `stop`, or until it was replaced or revoked.
pub(crate) async fn keep(
    shared: &Shared,
    target: &Target,
    service: Service,
    stop: &CancellationToken,
    tell: &(dyn Fn(Event) + Send + Sync),
) {
    let mut backoff = Backoff::new();
    let mut tries = 0;
    let mut given_up: Option<Instant> = None;
    loop {
        tries += 1;
        tell(Event::Connecting { tries });
        let tried = tokio::select! {
            connected = connect(target, service) => connected,
            // A try over a network that is no more only fails when its time is over: the new one is tried instead.
            () = network::changed() => {
                backoff.reset();
                Err(Ended::Silent(format!("{} could not be reached: the network changed meanwhile", target.address)))
            }
            () = stop.cancelled() => Err(Ended::Stopped),
        };
        let ended = match tried {
            Ok(socket) => {
                tell(Event::Connected);
                tries = 0;
                let began = Instant::now();
                let (ended, used) = connection::serve(socket, shared, target, service, stop).await;
                if used || began.elapsed() >= HELD {
                    backoff.reset();
                }
                ended
            }
            Err(Ended::Silent(why)) => {
                given_up = Some(Instant::now());
                Ended::Lost(why)
            }
            Err(ended) => ended,
        };
        tracing::debug!(service = service.name(), ?ended, "gateway socket ended");
        match ended {
            Ended::Stopped => return,
            Ended::Replaced if given_up.take().is_some_and(|at| at.elapsed() < ECHO) => {
                tell(Event::Failed("an earlier try to connect took this connection's place".into()));
            }
            Ended::Replaced => return tell(Event::Replaced),
            Ended::Revoked => return tell(Event::Revoked),
            Ended::Lost(why) | Ended::Silent(why) => tell(Event::Failed(why)),
        }
        tokio::select! {
            () = tokio::time::sleep(backoff.next()) => {}
            () = network::changed() => backoff.reset(),
            () = shared.now.notified() => backoff.reset(),
            () = stop.cancelled() => return,
        }
    }
}

/// Opens the socket. The token goes into a header only, never into the URL.
async fn connect(target: &Target, service: Service) -> Result<Socket, Ended> {
    let lost = |why: String| Ended::Lost(format!("{} could not be reached: {why}", target.address));
    let mut request = target.address.socket(service).into_client_request().map_err(|error| lost(error.to_string()))?;
    let bearer = http::HeaderValue::try_from(format!("Bearer {}", target.token.text()));
    let mut bearer = bearer.map_err(|_| Ended::Revoked)?;
    bearer.set_sensitive(true);
    request.headers_mut().insert(AUTHORIZATION, bearer);
    let config =
        WebSocketConfig::default().max_message_size(Some(LARGEST_FRAME)).max_frame_size(Some(LARGEST_FRAME)).read_buffer_size(16 << 10);
    let connector = Connector::Rustls(Arc::clone(&target.tls));
    match timeout(CONNECT_WITHIN, connect_async_tls_with_config(request, Some(config), true, Some(connector))).await {
        Err(_) => Err(Ended::Silent(format!("{} could not be reached: no answer within {} s", target.address, CONNECT_WITHIN.as_secs()))),
        Ok(Ok((socket, _))) => Ok(socket),
        Ok(Err(tungstenite::Error::Http(response))) => match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(Ended::Revoked),
            status => Err(lost(format!("it answered HTTP {status}"))),
        },
        Ok(Err(error)) => Err(lost(error.to_string())),
    }
}
