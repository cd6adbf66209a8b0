//! HTTP with SSE as the 2024-11-05 revision has it: `GET /sse` is the way back, `POST /messages` the way there.
//!
//! The stream's id is a secret of 128 random bits, and of no use without the token that opened it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::answer::{self, COMMENT, Held, KEEP_ALIVE};
use crate::body;
use crate::conversation::{Conversation, Upstream};
use crate::endpoint::{Endpoint, too_many_streams};
use crate::service::{Caller, Principal};

/// Messages waiting for a client that reads slowly.
const BACKLOG: usize = 64;

type Streams = Arc<Mutex<HashMap<String, (Principal, Arc<Conversation>)>>>;

/// The two old routes of one endpoint.
pub(crate) struct Legacy {
    endpoint: Endpoint,
    streams: Streams,
}

/// The endpoint in the same process, on behalf of one caller.
struct Inside {
    endpoint: Endpoint,
    caller: Caller,
}

#[async_trait]
impl Upstream for Inside {
    async fn send(&self, method: Method, headers: HeaderMap, body: Bytes, _repeatable: bool) -> Result<Response<Body>, String> {
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = method;
        *request.headers_mut() = headers;
        Ok(self.endpoint.handle(self.caller.clone(), request).await)
    }
}

/// An open stream; closing it ends its session and what is under way.
struct Open {
    id: String,
    streams: Streams,
    conversation: Arc<Conversation>,
    _place: tokio::sync::OwnedSemaphorePermit,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.streams.lock().remove(&self.id);
        let conversation = Arc::clone(&self.conversation);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { conversation.close().await });
        }
    }
}

impl Legacy {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, streams: Arc::default() }
    }

    /// `GET /sse`
    pub(crate) fn open(&self, caller: &Caller) -> Response<Body> {
        let Some(place) = self.endpoint.stream_place() else { return too_many_streams() };
        let id = format!("{:032x}", rand::random::<u128>());
        let (out, receiver) = mpsc::channel(BACKLOG);
        let upstream = Inside { endpoint: self.endpoint.clone(), caller: caller.clone() };
        let conversation = Conversation::new(Arc::new(upstream), out);
        self.streams.lock().insert(id.clone(), (caller.principal.clone(), Arc::clone(&conversation)));
        let first = answer::event("endpoint", &format!("/messages?sessionId={id}"));
        let stop = self.endpoint.inner.stop.clone();
        let events = stream::unfold(receiver, |mut receiver| async move {
            match tokio::time::timeout(KEEP_ALIVE, receiver.recv()).await {
                Err(_) => Some((Bytes::from_static(COMMENT), receiver)),
                Ok(message) => message.map(|bytes| (answer::event("message", &String::from_utf8_lossy(&bytes)), receiver)),
            }
        });
        let events = stream::once(async move { first }).chain(events).take_until(stop.cancelled_owned()).map(Ok::<_, Infallible>);
        let open = Open { id, streams: Arc::clone(&self.streams), conversation, _place: place };
        answer::events(Held::wrap(Body::from_stream(events), open, |_| ()))
    }

    /// `POST /messages?sessionId=…`
    pub(crate) async fn message(&self, caller: &Caller, request: Request<Body>) -> Response<Body> {
        let Some(id) = session_id(request.uri().query().unwrap_or_default()) else {
            return answer::refuse(
                StatusCode::BAD_REQUEST,
                "The query must be exactly one sessionId, as the stream's endpoint event gave it",
            );
        };
        let known = self.streams.lock().get(&id).filter(|(owner, _)| *owner == caller.principal).map(|(_, talk)| Arc::clone(talk));
        let Some(conversation) = known else {
            return answer::refuse(StatusCode::NOT_FOUND, "No such stream: open one with GET /sse");
        };
        match body::read_json(request, self.endpoint.body_limit()).await {
            Ok((_, bytes)) => {
                conversation.feed(bytes).await;
                answer::accepted()
            }
            Err(response) => response,
        }
    }
}

fn session_id(query: &str) -> Option<String> {
    let mut ids = query.split('&').filter_map(|pair| pair.strip_prefix("sessionId="));
    match (ids.next(), ids.next()) {
        (Some(id), None) if id.len() == 32 => Some(id.to_owned()),
        _ => None,
    }
}
