//! A third-party server over Streamable HTTP. Answers come as JSON or as an SSE body; a forgotten session is begun anew.

use std::collections::BTreeMap;

use async_trait::async_trait;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::correlation::{notification, outcome, request};
use super::sse::Events;
use super::{PROTOCOL, Peer, UpstreamError, initialize_params};

/// Largest answer, in bytes.
const LARGEST: usize = 32 << 20;

#[derive(Clone, Debug)]
struct Session {
    id: Option<HeaderValue>,
    protocol: HeaderValue,
}

/// The handle.
pub(super) struct HttpPeer {
    client: reqwest::Client,
    url: String,
    headers: HeaderMap,
    session: Mutex<Option<Session>>,
}

/// Configured headers, checked when the server was added.
pub(super) fn header_map(headers: &BTreeMap<String, String>) -> HeaderMap {
    let pair = |(name, value): (&String, &String)| {
        let mut value = HeaderValue::try_from(value).ok()?;
        value.set_sensitive(true);
        Some((HeaderName::try_from(name).ok()?, value))
    };
    headers.iter().filter_map(pair).collect()
}

/// A reqwest error without its URL, which may hold a key.
pub(super) fn unreachable(error: reqwest::Error) -> UpstreamError {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    UpstreamError::Unreachable(text)
}

impl HttpPeer {
    pub(super) fn new(client: reqwest::Client, url: &str, headers: &BTreeMap<String, String>) -> Self {
        Self { client, url: url.into(), headers: header_map(headers), session: Mutex::new(None) }
    }

    async fn session(&self) -> Result<Session, UpstreamError> {
        let mut session = self.session.lock().await;
        if let Some(session) = session.as_ref() {
            return Ok(session.clone());
        }
        let first = request(1, "initialize", &initialize_params());
        let response = self.post(&first, None).await?;
        let id = response.headers().get("mcp-session-id").cloned();
        let result = answer(response, 1).await?;
        let spoken = result.get("protocolVersion").and_then(Value::as_str).unwrap_or(PROTOCOL);
        let protocol = HeaderValue::try_from(spoken).map_err(|error| UpstreamError::Malformed(error.to_string()))?;
        let new = Session { id, protocol };
        self.post(&notification("notifications/initialized", &json!({})), Some(&new)).await?;
        *session = Some(new.clone());
        Ok(new)
    }

    async fn post(&self, message: &Value, session: Option<&Session>) -> Result<reqwest::Response, UpstreamError> {
        let mut post =
            self.client.post(&self.url).headers(self.headers.clone()).header("accept", "application/json, text/event-stream").json(message);
        if let Some(session) = session {
            post = post.header("mcp-protocol-version", session.protocol.clone());
            if let Some(id) = &session.id {
                post = post.header("mcp-session-id", id.clone());
            }
        }
        post.send().await.map_err(unreachable)
    }
}

#[async_trait]
impl Peer for HttpPeer {
    async fn request(&self, method: &str, params: Value) -> Result<Value, UpstreamError> {
        let id = u64::from(rand::random::<u32>()) + 2;
        let message = request(id, method, &params);
        for last in [false, true] {
            let session = self.session().await?;
            let response = self.post(&message, Some(&session)).await?;
            // 404 is how a server says that it forgot the session: the request was not run and may be sent again.
            if response.status() == reqwest::StatusCode::NOT_FOUND && session.id.is_some() && !last {
                *self.session.lock().await = None;
                continue;
            }
            return answer(response, id).await;
        }
        Err(UpstreamError::Gone)
    }
}

/// Reads the answer to `id` from a response of either kind.
async fn answer(response: reqwest::Response, id: u64) -> Result<Value, UpstreamError> {
    let status = response.status();
    let kind = response.headers().get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    if kind.starts_with("text/event-stream") {
        let mut events = Events::new(LARGEST);
        let mut body = response.bytes_stream();
        while let Some(chunk) = body.next().await {
            for event in events.push(&chunk.map_err(unreachable)?)? {
                if let Ok(message) = serde_json::from_str::<Value>(&event.data)
                    && message.get("id").and_then(Value::as_u64) == Some(id)
                    && message.get("method").is_none()
                {
                    return outcome(message);
                }
            }
        }
        return Err(UpstreamError::Gone);
    }
    let mut bytes = Vec::new();
    let mut body = response.bytes_stream();
    while let Some(chunk) = body.next().await {
        bytes.extend_from_slice(&chunk.map_err(unreachable)?);
        if bytes.len() > LARGEST {
            return Err(UpstreamError::Malformed(format!("more than {LARGEST} bytes")));
        }
    }
    match serde_json::from_slice::<Value>(&bytes) {
        Ok(message) if message.is_object() => outcome(message),
        _ if !status.is_success() => Err(UpstreamError::Refused(format!("HTTP {status}"))),
        _ => Err(UpstreamError::Malformed("no JSON-RPC answer".into())),
    }
}
