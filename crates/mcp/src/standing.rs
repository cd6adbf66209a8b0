//! GET and DELETE of `/mcp`: a session's standing stream, and its end.

use axum::body::Body;
use bytes::Bytes;
use http::request::Parts;
use http::{Method, Response, StatusCode};
use serde_json::Value;

use crate::answer::{self, Held, Taste};
use crate::body;
use crate::endpoint::{Endpoint, SESSION, VERSION, conversation, header, refusal, too_many_streams};
use crate::revisions::{Order, tidy};
use crate::rpc::MODERN;
use crate::service::Caller;
use crate::sessions::Refused;

impl Endpoint {
    pub(crate) async fn get(&self, mut caller: Caller, parts: Parts) -> Response<Body> {
        let session = parts.headers.get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        if header(&parts.headers, VERSION).is_some_and(|version| version >= MODERN) {
            return body::method_not_allowed("POST");
        }
        let Some(session) = session else {
            return answer::refuse(StatusCode::BAD_REQUEST, "GET needs the Mcp-Session-Id of an open session");
        };
        if Taste::of(&parts.headers) == Taste::Json {
            return answer::refuse(StatusCode::NOT_ACCEPTABLE, "GET answers with an event stream: Accept must name text/event-stream");
        }
        if let Err(refused) = self.session(&session, &caller).await {
            return refusal(&refused);
        }
        let Some(place) = self.stream_place() else { return too_many_streams() };
        let listening = self.inner.sessions.listening(&session);
        caller.session = Some(session);
        let order = Order { caller, method: Method::GET, headers: parts.headers, body: Bytes::new() };
        let response = tidy(self.inner.revisions.answer(order).await, &Value::Null, true).await;
        response.map(|body| Held::wrap(body, (listening, place), |_| ()))
    }

    pub(crate) async fn delete(&self, caller: Caller, parts: Parts) -> Response<Body> {
        if let (Some(line), None, Some(service)) = (conversation(&parts.headers), parts.headers.get(SESSION), &self.inner.service) {
            service.session_closed(&Caller { session: Some(line), ..caller });
            return no_content();
        }
        if header(&parts.headers, VERSION).is_some_and(|version| version >= MODERN) {
            return body::method_not_allowed("POST");
        }
        let Some(session) = parts.headers.get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned) else {
            return answer::refuse(StatusCode::BAD_REQUEST, "DELETE needs a Mcp-Session-Id");
        };
        if !self.inner.sessions.belongs(&session, &caller) {
            return refusal(&Refused::NotFound);
        }
        let order = Order { caller, method: Method::DELETE, headers: parts.headers, body: Bytes::new() };
        let response = self.inner.revisions.answer(order).await;
        if !response.status().is_success() {
            return tidy(response, &Value::Null, true).await;
        }
        self.inner.sessions.erase(&session);
        no_content()
    }
}

fn no_content() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
