//! A third-party server over the older HTTP+SSE: one long GET brings the address to post to, then all answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::http::HeaderMap;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::sync::{Mutex, oneshot};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::correlation::{Correlation, notification, request};
use super::http::{header_map, unreachable};
use super::{Peer, UpstreamError, initialize_params};

/// How long the `endpoint` event may take.
const ENDPOINT_WITHIN: Duration = Duration::from_secs(10);
/// Largest event, in bytes.
const LARGEST: usize = 32 << 20;

/// One server-sent event.
#[derive(Debug, PartialEq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) data: String,
}

/// Cuts a byte stream into events; lines may end in any of the three ways and be split anywhere.
#[derive(Debug)]
pub(super) struct Events {
    line: Vec<u8>,
    after_cr: bool,
    name: String,
    data: String,
    largest: usize,
}

impl Events {
    pub(super) fn new(largest: usize) -> Self {
        Self { line: Vec::new(), after_cr: false, name: String::new(), data: String::new(), largest }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) -> Result<Vec<Event>, UpstreamError> {
        let mut events = Vec::new();
        for &byte in chunk {
            if std::mem::take(&mut self.after_cr) && byte == b'\n' {
                continue;
            }
            match byte {
                b'\r' | b'\n' => {
                    self.after_cr = byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    events.extend(self.line(&String::from_utf8_lossy(&line)));
                }
                _ => self.line.push(byte),
            }
            if self.line.len() + self.data.len() > self.largest {
                return Err(UpstreamError::Malformed(format!("an event of more than {} bytes", self.largest)));
            }
        }
        Ok(events)
    }

    fn line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
            return (!data.is_empty()).then(|| Event { name, data: data.trim_end_matches('\n').to_owned() });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            _ => {}
        }
        None
    }
}

struct Stream {
    endpoint: String,
    correlation: Arc<Correlation>,
    _reader: AbortOnDropHandle<()>,
}

/// The handle.
pub(super) struct SsePeer {
    client: reqwest::Client,
    url: String,
    headers: HeaderMap,
    stream: Mutex<Option<Arc<Stream>>>,
}

impl SsePeer {
    pub(super) fn new(client: reqwest::Client, url: &str, headers: &BTreeMap<String, String>) -> Self {
        Self { client, url: url.into(), headers: header_map(headers), stream: Mutex::new(None) }
    }

    async fn stream(&self) -> Result<Arc<Stream>, UpstreamError> {
        let mut open = self.stream.lock().await;
        if let Some(stream) = open.as_ref().filter(|stream| !stream.correlation.ended()) {
            return Ok(Arc::clone(stream));
        }
        let get = self.client.get(&self.url).headers(self.headers.clone()).header("accept", "text/event-stream");
        let response = get.send().await.map_err(unreachable)?;
        if !response.status().is_success() {
            return Err(UpstreamError::Refused(format!("HTTP {}", response.status())));
        }
        let correlation = Correlation::new();
        let (sender, endpoint) = oneshot::channel();
        let reader = tokio::spawn(read(response, Arc::clone(&correlation), sender));
        let reader = AbortOnDropHandle::new(reader);
        let endpoint = match timeout(ENDPOINT_WITHIN, endpoint).await {
            Err(_) => return Err(UpstreamError::TimedOut(ENDPOINT_WITHIN)),
            Ok(Err(_)) => return Err(UpstreamError::Gone),
            Ok(Ok(endpoint)) => self.resolve(&endpoint)?,
        };
        let stream = Arc::new(Stream { endpoint, correlation, _reader: reader });
        self.exchange(&stream, "initialize", &initialize_params()).await?;
        self.post(&stream, &notification("notifications/initialized", &json!({}))).await?;
        *open = Some(Arc::clone(&stream));
        Ok(stream)
    }

    /// The address to post to. It must be of the stream's own origin: our headers may hold a key.
    fn resolve(&self, endpoint: &str) -> Result<String, UpstreamError> {
        let malformed = |error: url::ParseError| UpstreamError::Malformed(format!("endpoint: {error}"));
        let base = url::Url::parse(&self.url).map_err(malformed)?;
        let full = base.join(endpoint).map_err(malformed)?;
        if full.origin() != base.origin() {
            return Err(UpstreamError::Malformed("the endpoint is on another origin than the stream".into()));
        }
        Ok(full.into())
    }

    async fn exchange(&self, stream: &Arc<Stream>, method: &str, params: &Value) -> Result<Value, UpstreamError> {
        let ticket = stream.correlation.open()?;
        let message = request(ticket.id, method, params);
        let (client, headers, endpoint) = (self.client.clone(), self.headers.clone(), stream.endpoint.clone());
        let ticket = ticket.on_cancel(move |id| {
            let cancelled = notification("notifications/cancelled", &json!({"requestId": id}));
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move { client.post(endpoint).headers(headers).json(&cancelled).send().await });
            }
        });
        self.post(stream, &message).await?;
        ticket.answer().await
    }

    async fn post(&self, stream: &Stream, message: &Value) -> Result<(), UpstreamError> {
        let post = self.client.post(&stream.endpoint).headers(self.headers.clone()).json(message);
        let response = post.send().await.map_err(unreachable)?;
        if response.status().is_success() {
            return Ok(());
        }
        Err(UpstreamError::Refused(format!("HTTP {}", response.status())))
    }
}

async fn read(response: reqwest::Response, correlation: Arc<Correlation>, endpoint: oneshot::Sender<String>) {
    let mut endpoint = Some(endpoint);
    let mut events = Events::new(LARGEST);
    let mut body = response.bytes_stream();
    while let Some(Ok(chunk)) = body.next().await {
        let Ok(found) = events.push(&chunk) else { break };
        for event in found {
            if event.name == "endpoint" {
                if let Some(sender) = endpoint.take() {
                    let _gone = sender.send(event.data);
                }
            } else if let Ok(message) = serde_json::from_str(&event.data) {
                let _request_of_the_server = correlation.take(message);
            }
        }
    }
    correlation.end();
}

#[async_trait]
impl Peer for SsePeer {
    async fn request(&self, method: &str, params: Value) -> Result<Value, UpstreamError> {
        let stream = self.stream().await?;
        self.exchange(&stream, method, &params).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_every_cut_and_line_ending() {
        let text = "event: endpoint\r\ndata: /x\r\n\r\n: comment\n\ndata: a\ndata: b\n\ndata:c\r\r";
        let expected = [("endpoint", "/x"), ("", "a\nb"), ("", "c")];
        for size in 1..text.len() {
            let mut events = Events::new(1000);
            let found: Vec<Event> = text.as_bytes().chunks(size).flat_map(|chunk| events.push(chunk).unwrap()).collect();
            let found: Vec<(&str, &str)> = found.iter().map(|event| (event.name.as_str(), event.data.as_str())).collect();
            assert_eq!(found, expected, "chunks of {size}");
        }
        assert!(Events::new(10).push(b"data: more than ten").is_err());
    }

    #[test]
    fn an_endpoint_elsewhere_is_refused() {
        let peer = SsePeer::new(crate::tls::client().unwrap(), "http://127.0.0.1:1/sse", &BTreeMap::new());
        assert_eq!(peer.resolve("/m?s=1").unwrap(), "http://127.0.0.1:1/m?s=1");
        assert!(peer.resolve("http://127.0.0.1:2/m").is_err());
    }
}
