//! The bridge's way to the worker: plain HTTP to a local address, found anew when the worker was restarted.
//!
//! No redirect is ever followed and no proxy is asked: the token goes to the address it belongs to and nowhere else.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::conversation::Upstream;

/// How long a worker that is not there is looked for before a request is answered with an error.
const PATIENCE: Duration = Duration::from_secs(15);
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(150);

/// Where the worker is and how to be let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// `http://127.0.0.1:PORT/mcp`
    pub url: String,
    /// The bearer token.
    pub token: String,
}

/// Finds the running worker; asked again whenever the last one does not answer.
#[async_trait]
pub trait Locate: Send + Sync + 'static {
    /// The worker's address and token now.
    ///
    /// # Errors
    /// A text for the client: what is missing and what to do.
    async fn locate(&self) -> Result<Target, String>;
}

pub(crate) type Http = Client<HttpConnector, Full<Bytes>>;

/// A client for local servers: no TLS, no proxy, no redirects.
pub(crate) fn http_client() -> Http {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(Duration::from_secs(3)));
    // The server closes idle connections after 30 s; ours go first, so that no call meets a closing one.
    Client::builder(TokioExecutor::new()).pool_idle_timeout(Duration::from_secs(10)).build(connector)
}

/// The upstream of a bridge.
pub(crate) struct Link {
    locate: Arc<dyn Locate>,
    client: Http,
    target: Mutex<Option<Target>>,
}

enum Failure {
    /// Nothing was sent.
    Unsent(String),
    /// It may have arrived.
    Unknown(String),
    /// Trying again changes nothing.
    Final(String),
}

impl Link {
    pub(crate) fn new(locate: Arc<dyn Locate>) -> Self {
        Self { locate, client: http_client(), target: Mutex::default() }
    }

    async fn target(&self) -> Result<Target, String> {
        if let Some(target) = self.target.lock().clone() {
            return Ok(target);
        }
        let target = self.locate.locate().await?;
        *self.target.lock() = Some(target.clone());
        Ok(target)
    }

    async fn attempt(&self, method: &Method, headers: &HeaderMap, body: &Bytes) -> Result<Response<Body>, Failure> {
        let target = self.target().await.map_err(Failure::Unsent)?;
        let uri: Uri = target.url.parse().map_err(|_| Failure::Final(format!("{} is no address", target.url)))?;
        if uri.scheme_str() != Some("http") {
            return Err(Failure::Final(format!("{} is no local http address", target.url)));
        }
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = headers.clone();
        let bearer = HeaderValue::from_str(&format!("Bearer {}", target.token));
        let mut bearer = bearer.map_err(|_| Failure::Final("the token holds characters that cannot be sent".to_owned()))?;
        bearer.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, bearer);
        let response = self.client.request(request).await.map_err(|error| {
            *self.target.lock() = None;
            let text = format!("the worker at {} does not answer: {error}", target.url);
            if error.is_connect() { Failure::Unsent(text) } else { Failure::Unknown(text) }
        })?;
        match response.status() {
            status if status.is_redirection() => {
                Err(Failure::Final("the worker answered with a redirect, which is never followed".to_owned()))
            }
            StatusCode::UNAUTHORIZED => {
                // The token may have been replaced; then the new one is looked up, once.
                *self.target.lock() = None;
                match self.locate.locate().await {
                    Ok(found) if found != target => Err(Failure::Unsent("the token was replaced".to_owned())),
                    _ => Ok(response.map(Body::new)),
                }
            }
            _ => Ok(response.map(Body::new)),
        }
    }
}

#[async_trait]
impl Upstream for Link {
    async fn send(&self, method: Method, headers: HeaderMap, body: Bytes, repeatable: bool) -> Result<Response<Body>, String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let text = match self.attempt(&method, &headers, &body).await {
                Ok(response) => return Ok(response),
                Err(Failure::Final(text)) => return Err(text),
                Err(Failure::Unknown(_)) if !repeatable => {
                    return Err("the worker went away during this call; whether it took effect is not known".to_owned());
                }
                Err(Failure::Unsent(text) | Failure::Unknown(text)) => text,
            };
            if Instant::now() >= until {
                return Err(text);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
