//! Batches: the 2025-03-26 revision demands them, the next one took them out again.
//!
//! Each message of a batch goes the way it would go alone; the answers come back as one JSON array.

use axum::body::Body;
use futures_util::future::join_all;
use http::{HeaderMap, Response, StatusCode};
use serde_json::Value;

use crate::answer::{self, Taste};
use crate::endpoint::{Endpoint, SESSION, header, refusal};
use crate::rpc::{self, BATCHING, INVALID_REQUEST, Message, RpcError};
use crate::service::Caller;

/// Most messages in one batch.
const MOST: usize = 100;

impl Endpoint {
    pub(crate) async fn batch(&self, caller: Caller, headers: &HeaderMap, items: Vec<Value>) -> Response<Body> {
        let refuse = |text: &str| answer::error(StatusCode::OK, &RpcError::new(Value::Null, INVALID_REQUEST, text));
        let Some(session) = header(headers, SESSION).map(str::to_owned) else {
            return refuse("Invalid request: batches are taken only in a session of revision 2025-03-26");
        };
        match self.session(&session, &caller).await {
            Ok(version) if version == BATCHING => {}
            Ok(_) => return refuse("Invalid request: this session's revision has no batches"),
            Err(refused) => return refusal(&refused),
        }
        if items.len() > MOST {
            return refuse("Invalid request: more than 100 messages in one batch");
        }
        let mut pending = Vec::new();
        for item in items {
            let bytes = item.to_string().into();
            match rpc::message(item) {
                Err(error) => pending.push(Err(error)),
                Ok(Message::Request(request)) if request.method == "initialize" => {
                    pending.push(Err(RpcError::new(request.id, INVALID_REQUEST, "Invalid request: initialize cannot be part of a batch")));
                }
                Ok(Message::Request(request)) => {
                    pending.push(Ok(self.in_session(caller.clone(), headers, &session, request, bytes, Taste::Json)));
                }
                Ok(message) => {
                    self.one(caller.clone(), headers, message, bytes, Taste::Json).await;
                }
            }
        }
        if pending.is_empty() {
            return answer::accepted();
        }
        let answers = join_all(pending.into_iter().map(|one| async move {
            match one {
                Err(error) => Some(error.to_value()),
                Ok(response) => answer::whole(response.await).await,
            }
        }));
        let answers: Vec<Value> = answers.await.into_iter().flatten().collect();
        answer::json(StatusCode::OK, Value::Array(answers).to_string())
    }
}
