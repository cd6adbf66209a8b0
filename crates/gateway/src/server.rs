//! The listener: accepts, speaks TLS when told to, bounds what a peer may hold open, and goes down in order.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::cron::Webhook;
use crate::error::{GatewayError, Result};
use crate::gateway::{Gateway, Parts};
use crate::hub::{Close, HubLimits};
use crate::keys::ServerKey;
use crate::settings::{Place, Serve};
use crate::store::Store;
use crate::web::{self, Front, PeerAddress};

/// A request's head must be complete within this; hyper closes the connection otherwise.
const HEAD_WITHIN: Duration = Duration::from_secs(30);
/// A TLS handshake must be complete within this.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// Calls in flight get this long to end when the gateway goes down.
const DRAIN: Duration = Duration::from_secs(8);

/// What `--ready-json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Ready {
    /// Where the gateway is reached.
    pub url: String,
    /// The process.
    pub pid: u32,
}

/// A gateway that serves.
#[derive(Debug)]
pub struct Running {
    /// The gateway.
    pub gateway: Arc<Gateway>,
    /// Where it listens.
    pub address: SocketAddr,
    /// How it is reached.
    pub ready: Ready,
    accepting: JoinHandle<()>,
    tasks: JoinHandle<()>,
    closing: CancellationToken,
}

/// Opens the store, listens and serves; returns once requests are accepted.
///
/// # Errors
/// Every [`GatewayError`] of opening, reading files and listening.
pub async fn start(place: &Place, serve: &Serve, tools: &'static str) -> Result<Running> {
    serve.check()?;
    let folder = place.folder()?;
    crate::keys::private_folder(&folder)?;
    let key = ServerKey::load(&folder.join("gateway.key"))?;
    let store = Store::open(&place.database_url()?).await?;
    let webhook = webhook(serve)?;
    let tls = match (&serve.tls_cert, &serve.tls_key) {
        (Some(cert), Some(key)) => Some(crate::tls::acceptor(cert, key)?),
        _ => None,
    };
    let gateway = Gateway::new(Parts {
        store,
        key,
        skills_dir: serve.skills_dir.clone().unwrap_or_else(|| folder.join("skills")),
        webhook,
        limits: HubLimits { connections: serve.max_executors, ..HubLimits::default() },
        tools,
    })?;
    let listen = |source| GatewayError::Listen { address: serve.listen.to_string(), source };
    let listener = TcpListener::bind(serve.listen).await.map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    if tls.is_none() && !address.ip().is_loopback() && serve.public_url.as_ref().is_none_or(|url| url.starts_with("http://")) {
        tracing::warn!(
            %address,
            "serving plain HTTP beyond this machine: passwords, tokens and screens can be read by anyone on the way; use --tls-cert and --tls-key, or a TLS proxy in front and --public-url https://…"
        );
    }
    let url = serve.public_url.clone().unwrap_or_else(|| format!("{}://{address}", if tls.is_some() { "https" } else { "http" }));
    let front = Front {
        public_url: serve.public_url.as_deref(),
        tls: tls.is_some(),
        loopback: address.ip().is_loopback(),
        behind_proxy: serve.behind_proxy,
    };
    let router = web::router(Arc::clone(&gateway), front);
    let closing = CancellationToken::new();
    let door = Door { router, tls, gateway: Arc::clone(&gateway), closing: closing.clone() };
    let accepting = tokio::spawn(door.accept(listener, serve.max_connections));
    let for_tasks = Arc::clone(&gateway);
    let tasks = tokio::spawn(async move { for_tasks.run_tasks().await });
    Ok(Running { gateway, address, ready: Ready { url, pid: std::process::id() }, accepting, tasks, closing })
}

fn webhook(serve: &Serve) -> Result<Option<Webhook>> {
    let Some(url) = serve.cron_webhook.clone() else { return Ok(None) };
    let secret = match &serve.cron_webhook_secret_file {
        None => None,
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(GatewayError::file("cannot read the webhook's secret", path))?;
            Some(text.trim().as_bytes().to_vec())
        }
    };
    Ok(Some(Webhook::new(crate::tls::client()?, url, secret)))
}

impl Running {
    /// Goes down in order: no new connections, calls in flight end (8 s at most), executors are told, files are closed.
    pub async fn stop(self) {
        self.closing.cancel();
        let _late = timeout(DRAIN, async {
            while self.gateway.hub.links().iter().any(|link| link.is_busy()) {
                sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        self.gateway.stop.cancel();
        for link in self.gateway.hub.links() {
            link.close(Close::ShuttingDown);
        }
        let _late = timeout(DRAIN, async {
            while self.gateway.hub.connected() > 0 {
                sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        self.gateway.upstreams.stop();
        let _late = timeout(DRAIN, self.accepting).await;
        let _late = timeout(DRAIN, self.tasks).await;
        self.gateway.store.close().await;
    }
}

struct Door {
    router: Router,
    tls: Option<TlsAcceptor>,
    gateway: Arc<Gateway>,
    closing: CancellationToken,
}

impl Door {
    async fn accept(self, listener: TcpListener, most: usize) {
        let places = Arc::new(Semaphore::new(most));
        let open = TaskTracker::new();
        let door = Arc::new(self);
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
            let (stream, peer) = tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        // Out of file descriptors, mostly: existing connections go on, new ones wait.
                        tracing::warn!(%error, "cannot accept a connection");
                        sleep(Duration::from_millis(100)).await;
                        continue;
                    }
                },
                () = door.closing.cancelled() => break,
            };
            let door = Arc::clone(&door);
            open.spawn(async move {
                door.gateway.metrics.connections.fetch_add(1, Ordering::Relaxed);
                door.serve(stream, peer).await;
                door.gateway.metrics.connections.fetch_sub(1, Ordering::Relaxed);
                drop(place);
            });
        }
        drop(listener);
        open.close();
        let _late = timeout(DRAIN, open.wait()).await;
    }

    async fn serve(&self, stream: TcpStream, peer: SocketAddr) {
        // Small frames must not wait for each other.
        let _unsupported = stream.set_nodelay(true);
        match &self.tls {
            None => self.speak(stream, peer).await,
            Some(tls) => match timeout(HANDSHAKE_WITHIN, tls.accept(stream)).await {
                Ok(Ok(stream)) => self.speak(stream, peer).await,
                Ok(Err(error)) => tracing::debug!(%peer, %error, "TLS handshake failed"),
                Err(_) => tracing::debug!(%peer, "TLS handshake took too long"),
            },
        }
    }

    async fn speak<S>(&self, stream: S, peer: SocketAddr)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let router = self.router.clone();
        let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(PeerAddress(peer));
            let router = router.clone();
            async move {
                let Ok(response) = router.oneshot(request.map(Body::new)).await;
                Ok::<_, Infallible>(response)
            }
        });
        // HTTP/1.1 alone: WebSockets need it, and a peer that says nothing at all must run into the time limit, which
        // guessing the version from its first bytes has none for.
        let mut builder = Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(64 << 10);
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service).with_upgrades());
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.closing.cancelled() => {
                // The request in hand is answered, and no other taken.
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%peer, %error, "connection ended");
        }
    }
}
