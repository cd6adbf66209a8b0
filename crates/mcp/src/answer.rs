//! Answers on the wire: JSON bodies, event streams, and how one becomes the other.
//!
//! Three needs meet here. A client that takes only JSON gets JSON even where rmcp writes an event stream. An answer that
//! takes long keeps its connection alive (comments on a stream, white space before a JSON body), because proxies and
//! clients cut silent ones. And what belongs to a request (its id in flight, its place among the streams) lives exactly
//! as long as its body.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use serde_json::Value;

use crate::rpc::{BUSY, RpcError};

/// Silence after which an answer that is not ready begins to be kept alive.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time between two signs of life.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// A comment: a sign of life on an event stream.
pub(crate) const COMMENT: &[u8] = b": keep-alive\n\n";

/// What a client can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taste {
    /// JSON only (or it did not say).
    Json,
    /// Event streams too.
    Stream,
}

impl Taste {
    /// Reads `Accept`: a stream only for a client that names it.
    pub(crate) fn of(headers: &http::HeaderMap) -> Self {
        let named = headers.get_all(http::header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).any(|value| {
            value.split(',').any(|entry| {
                let mut parts = entry.split(';').map(str::trim);
                let named = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("text/event-stream"));
                named && !parts.any(|part| part.replace(' ', "").eq_ignore_ascii_case("q=0"))
            })
        });
        if named { Self::Stream } else { Self::Json }
    }
}

/// A response with a JSON body.
pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::from(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A JSON-RPC error with an HTTP status.
pub(crate) fn error(status: StatusCode, error: &RpcError) -> Response<Body> {
    json(status, error.to_bytes())
}

/// A refusal that has to do with the transport, not with a request.
pub(crate) fn refuse(status: StatusCode, text: &str) -> Response<Body> {
    error(status, &RpcError::new(Value::Null, BUSY, text))
}

/// 429 or 503 with a hint when to come back.
pub(crate) fn busy(status: StatusCode, text: &str, seconds: u32) -> Response<Body> {
    let mut response = refuse(status, text);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// 202 without a body.
pub(crate) fn accepted() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// An event stream.
pub(crate) fn events(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// One message as an event.
pub(crate) fn event(kind: &str, data: &str) -> Bytes {
    format!("event: {kind}\ndata: {data}\n\n").into()
}

/// Whether the response is an event stream.
pub(crate) fn is_stream(response: &Response<Body>) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// A body and what lives as long as it does.
pub(crate) struct Held<T> {
    body: Body,
    kept: Option<T>,
    at_end: fn(&mut T),
}

impl<T: Send + Unpin + 'static> Held<T> {
    /// `kept` is dropped with the body; `at_end` is told first when the body came to its end.
    pub(crate) fn wrap(body: Body, kept: T, at_end: fn(&mut T)) -> Body {
        Body::new(Self { body, kept: Some(kept), at_end })
    }
}

impl<T: Send + Unpin + 'static> HttpBody for Held<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) || (matches!(polled, Poll::Ready(_)) && self.body.is_end_stream()) {
            let at_end = self.at_end;
            if let Some(mut kept) = self.kept.take() {
                at_end(&mut kept);
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Cuts an event stream into the data of its events; comments and empty (priming) events are left out.
#[derive(Debug, Default)]
pub(crate) struct EventReader {
    buffer: BytesMut,
}

impl EventReader {
    /// Takes bytes in and gives whole events' data out.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Bytes> {
        self.buffer.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = find(&self.buffer, b"\n\n") {
            let block = self.buffer.split_to(end + 2).freeze();
            let mut data = Vec::new();
            for line in block.as_ref().split(|byte| *byte == b'\n') {
                if let Some(rest) = line.strip_prefix(b"data:") {
                    if !data.is_empty() {
                        data.push(b'\n');
                    }
                    data.extend_from_slice(rest.strip_prefix(b" ").unwrap_or(rest));
                }
            }
            if !data.is_empty() {
                events.push(Bytes::from(data));
            }
        }
        events
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

/// The messages of a response body, JSON or stream, one by one.
pub(crate) fn messages(response: Response<Body>) -> BoxStream<'static, Bytes> {
    if !is_stream(&response) {
        let body = response.into_body();
        return stream::once(async move { body.collect().await.map(|all| all.to_bytes()).unwrap_or_default() })
            .filter(|bytes| std::future::ready(!bytes.is_empty()))
            .boxed();
    }
    let chunks = response.into_body().into_data_stream();
    let state = (chunks, EventReader::default());
    stream::unfold(state, |(mut chunks, mut reader)| async move {
        let chunk = chunks.next().await?.ok()?;
        let events = reader.feed(&chunk);
        Some((stream::iter(events), (chunks, reader)))
    })
    .flatten()
    .boxed()
}

/// Reads on until the answer to `id`; what comes before it (progress, logs) a JSON client cannot take.
pub(crate) async fn answer_to(id: &Value, response: Response<Body>) -> Option<Bytes> {
    let mut messages = messages(response);
    while let Some(bytes) = messages.next().await {
        let Ok(value) = serde_json::from_slice::<Value>(&bytes) else { continue };
        let answers = value.get("method").is_none() && value.get("id").is_some_and(|got| got == id || got.is_null());
        if answers {
            return Some(bytes);
        }
    }
    None
}

/// The one JSON value of a response, if it has one.
pub(crate) async fn whole(response: Response<Body>) -> Option<Value> {
    let bytes = response.into_body().collect().await.ok()?.to_bytes();
    serde_json::from_slice(&bytes).ok()
}

enum Slow {
    Waiting(Pin<Box<dyn Future<Output = Response<Body>> + Send>>),
    Passing(BoxStream<'static, Bytes>),
}

/// Gives the answer as it is when it comes soon, else starts a body that is kept alive until it comes.
///
/// Dropping the body drops the future: a client that goes away is noticed while its call still runs.
pub(crate) async fn patiently(answer: impl Future<Output = Response<Body>> + Send + 'static, taste: Taste) -> Response<Body> {
    paced(answer, taste, PATIENCE, KEEP_ALIVE).await
}

async fn paced(
    answer: impl Future<Output = Response<Body>> + Send + 'static,
    taste: Taste,
    patience: Duration,
    pace: Duration,
) -> Response<Body> {
    let mut answer = Box::pin(answer);
    if let Ok(response) = tokio::time::timeout(patience, &mut answer).await {
        return response;
    }
    let state = Slow::Waiting(answer);
    let body = stream::unfold(Some(state), move |state| async move {
        match state? {
            Slow::Waiting(mut answer) => match tokio::time::timeout(pace, &mut answer).await {
                Err(_) => Some((sign_of_life(taste), Some(Slow::Waiting(answer)))),
                Ok(response) => Some((Bytes::new(), Some(Slow::Passing(pass(response, taste))))),
            },
            Slow::Passing(mut chunks) => chunks.next().await.map(|chunk| (chunk, Some(Slow::Passing(chunks)))),
        }
    });
    // hyper writes no empty chunks; they are left out so that none ends the body early.
    let first = stream::once(async move { sign_of_life(taste) });
    let body = first.chain(body.filter(|chunk| std::future::ready(!chunk.is_empty()))).map(Ok::<_, Infallible>);
    let body = Body::from_stream(body);
    match taste {
        Taste::Stream => events(body),
        Taste::Json => {
            let mut response = Response::new(body);
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
    }
}

fn sign_of_life(taste: Taste) -> Bytes {
    match taste {
        Taste::Stream => Bytes::from_static(COMMENT),
        Taste::Json => Bytes::from_static(b" "),
    }
}

fn pass(response: Response<Body>, taste: Taste) -> BoxStream<'static, Bytes> {
    if taste == Taste::Stream && !is_stream(&response) {
        return messages(response).map(|bytes| event("message", &String::from_utf8_lossy(&bytes))).boxed();
    }
    response.into_body().into_data_stream().filter_map(|chunk| std::future::ready(chunk.ok())).boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_is_read_as_the_client_means_it() {
        let taste = |value: &str| {
            let mut headers = http::HeaderMap::new();
            headers.insert(http::header::ACCEPT, value.parse().unwrap());
            Taste::of(&headers)
        };
        assert_eq!(taste("application/json, text/event-stream"), Taste::Stream);
        assert_eq!(taste("text/event-stream;q=0, application/json"), Taste::Json);
        for value in ["*/*", "application/json", "", "text/html"] {
            assert_eq!(taste(value), Taste::Json, "{value}");
        }
        assert_eq!(Taste::of(&http::HeaderMap::new()), Taste::Json);
    }

    #[test]
    fn events_survive_any_split() {
        let text = ": hello\n\nid: 0\nretry: 3000\ndata: \n\nevent: message\ndata: {\"a\":\"漢😀\"}\n\ndata: 1\ndata: 2\n\n".as_bytes();
        for size in 1..text.len() {
            let mut reader = EventReader::default();
            let events: Vec<Bytes> = text.chunks(size).flat_map(|chunk| reader.feed(chunk)).collect();
            assert_eq!(events, ["{\"a\":\"漢😀\"}".as_bytes(), b"1\n2"], "chunks of {size}");
        }
    }

    #[tokio::test]
    async fn a_slow_answer_is_kept_alive_and_arrives_whole() {
        for taste in [Taste::Json, Taste::Stream] {
            let slow = async {
                tokio::time::sleep(Duration::from_millis(400)).await;
                json(StatusCode::OK, r#"{"id":1}"#)
            };
            let response = paced(slow, taste, Duration::from_millis(20), Duration::from_millis(20)).await;
            let text = response.into_body().collect().await.unwrap().to_bytes();
            let text = String::from_utf8_lossy(&text);
            match taste {
                Taste::Json => {
                    assert_eq!(text.trim_start(), r#"{"id":1}"#);
                    assert!(text.len() - text.trim_start().len() > 1, "signs of life");
                }
                Taste::Stream => {
                    assert!(text.matches(": keep-alive").count() > 1);
                    assert!(text.ends_with("event: message\ndata: {\"id\":1}\n\n"), "{text}");
                }
            }
        }
    }
}
