//! JSON-RPC without a handshake: one POST, one JSON answer.
//!
//! This is the way of `curl`, scripts and of other servers that pass calls on, and the fast one: rmcp is not involved.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use http::{Response, StatusCode};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::answer::{self, Taste};
use crate::door;
use crate::rpc::{self, INTERNAL_ERROR, INVALID_PARAMS, Request, RpcError};
use crate::service::{CallError, Caller, Service};

type Key = (String, String);

/// The bare door of one service.
pub(crate) struct Bare {
    service: Arc<dyn Service>,
    places: Arc<Semaphore>,
    running: Mutex<HashMap<Key, Vec<(u64, CancellationToken)>>>,
    serial: AtomicU64,
}

/// A call under way; dropped with the answer, and then whatever still runs is cancelled.
struct Running {
    bare: Arc<Bare>,
    key: Key,
    serial: u64,
    cancel: CancellationToken,
    _place: OwnedSemaphorePermit,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.cancel.cancel();
        let mut running = self.bare.running.lock();
        if let Some(calls) = running.get_mut(&self.key) {
            calls.retain(|(serial, _)| *serial != self.serial);
            if calls.is_empty() {
                running.remove(&self.key);
            }
        }
    }
}

impl Bare {
    /// A door that lets `limit` requests in at once.
    pub(crate) fn new(service: Arc<dyn Service>, limit: usize) -> Arc<Self> {
        Arc::new(Self { service, places: Arc::new(Semaphore::new(limit)), running: Mutex::default(), serial: AtomicU64::new(0) })
    }

    /// Answers one request.
    pub(crate) async fn request(self: &Arc<Self>, caller: Caller, request: Request, taste: Taste) -> Response<Body> {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            let text = "Too many requests at once; wait for an answer before sending more";
            return answer::busy(StatusCode::TOO_MANY_REQUESTS, text, 1);
        };
        let running = self.begin(&caller, &request, place);
        let me = Arc::clone(self);
        let answer = async move {
            let cancel = running.cancel.clone();
            let id = request.id.clone();
            let value = match me.result(caller, request, cancel).await {
                Ok(result) => rpc::answer(&id, result),
                Err(error) => error.to_value(),
            };
            drop(running);
            answer::json(StatusCode::OK, value.to_string())
        };
        answer::patiently(answer, taste).await
    }

    fn begin(self: &Arc<Self>, caller: &Caller, request: &Request, place: OwnedSemaphorePermit) -> Running {
        let key = (caller.principal.mark(), request.key());
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let cancel = CancellationToken::new();
        self.running.lock().entry(key.clone()).or_default().push((serial, cancel.clone()));
        Running { bare: Arc::clone(self), key, serial, cancel, _place: place }
    }

    async fn result(&self, caller: Caller, request: Request, cancel: CancellationToken) -> Result<Value, RpcError> {
        match request.method.as_str() {
            "ping" => Ok(json!({})),
            "tools/list" => {
                let tools: Vec<Value> = self.service.tools(&caller).await.iter().map(|tool| tool.to_value()).collect();
                Ok(json!({"tools": tools}))
            }
            "tools/call" => {
                let call = door::bare_call(caller, request.params, cancel);
                match door::run(Arc::clone(&self.service), call).await {
                    Ok(outcome) => Ok(outcome.to_value()),
                    Err(error @ CallError::Internal(_)) => Err(RpcError::new(request.id, INTERNAL_ERROR, error.to_string())),
                    Err(error) => Err(RpcError::new(request.id, INVALID_PARAMS, error.to_string())),
                }
            }
            method => Err(rpc::no_such_method(request.id, method)),
        }
    }

    /// Takes a notification; only a cancellation means anything without a session.
    ///
    /// Without sessions, callers with the same token that use the same id cannot be told apart. Then all of their calls
    /// of that id end: stopping one too many is the harmless mistake.
    pub(crate) fn notification(&self, caller: &Caller, method: &str, params: &Map<String, Value>) {
        let Some(id) = params.get("requestId").filter(|_| method == "notifications/cancelled") else { return };
        let key = (caller.principal.mark(), id.to_string());
        if let Some(calls) = self.running.lock().get(&key) {
            for (_, cancel) in calls {
                cancel.cancel();
            }
        }
    }
}
