//! Answers that arrive on another way than their requests (stdio, SSE): finds whom each belongs to.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::UpstreamError;

type Waiting = HashMap<u64, oneshot::Sender<Result<Value, UpstreamError>>>;

/// Open requests of one connection.
#[derive(Debug)]
pub(super) struct Correlation {
    next: AtomicU64,
    /// `None` once the connection ended.
    waiting: Mutex<Option<Waiting>>,
}

/// One open request. Dropped before its answer came, it forgets itself and tells the server that nobody waits.
pub(super) struct Ticket {
    pub(super) id: u64,
    answer: oneshot::Receiver<Result<Value, UpstreamError>>,
    correlation: Arc<Correlation>,
    cancel: Option<Box<dyn FnOnce(u64) + Send>>,
}

impl Correlation {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { next: AtomicU64::new(1), waiting: Mutex::new(Some(HashMap::new())) })
    }

    pub(super) fn open(self: &Arc<Self>) -> Result<Ticket, UpstreamError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.waiting.lock().as_mut().ok_or(UpstreamError::Gone)?.insert(id, sender);
        Ok(Ticket { id, answer, correlation: Arc::clone(self), cancel: None })
    }

    /// Takes a message. Returns what has to be answered to it, when it is a request of the server.
    pub(super) fn take(&self, message: Value) -> Option<Value> {
        let id = message.get("id")?.clone();
        if let Some(method) = message.get("method").and_then(Value::as_str) {
            // We offer no capabilities, so a server may only ping.
            return Some(match method {
                "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
                _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "not supported by this client"}}),
            });
        }
        let sender = self.waiting.lock().as_mut()?.remove(&id.as_u64()?)?;
        let _gone = sender.send(outcome(message));
        None
    }

    /// The connection ended: all open requests learn it, new ones are refused.
    pub(super) fn end(&self) {
        self.waiting.lock().take();
    }

    pub(super) fn ended(&self) -> bool {
        self.waiting.lock().is_none()
    }
}

/// Result or error of a JSON-RPC answer.
pub(super) fn outcome(mut message: Value) -> Result<Value, UpstreamError> {
    if let Some(error) = message.get("error") {
        let text = error.get("message").and_then(Value::as_str).map_or_else(|| error.to_string(), str::to_owned);
        return Err(UpstreamError::Refused(text));
    }
    message.get_mut("result").map(Value::take).ok_or_else(|| UpstreamError::Malformed("neither result nor error".into()))
}

impl Ticket {
    /// Calls `cancel` with the id when the ticket is dropped before its answer came.
    pub(super) fn on_cancel(mut self, cancel: impl FnOnce(u64) + Send + 'static) -> Self {
        self.cancel = Some(Box::new(cancel));
        self
    }

    pub(super) async fn answer(mut self) -> Result<Value, UpstreamError> {
        (&mut self.answer).await.unwrap_or(Err(UpstreamError::Gone))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let open = self.correlation.waiting.lock().as_mut().is_some_and(|waiting| waiting.remove(&self.id).is_some());
        if let (true, Some(cancel)) = (open, self.cancel.take()) {
            cancel(self.id);
        }
    }
}

/// A request on the wire.
pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A notification on the wire.
pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_find_their_request_and_pings_are_answered() {
        let correlation = Correlation::new();
        let (one, two) = (correlation.open().unwrap(), correlation.open().unwrap());
        assert!(correlation.take(json!({"id": two.id, "result": 2})).is_none());
        assert!(correlation.take(json!({"id": one.id, "error": {"message": "no"}})).is_none());
        assert_eq!(two.answer().await.unwrap(), 2);
        assert!(matches!(one.answer().await, Err(UpstreamError::Refused(text)) if text == "no"));
        assert_eq!(correlation.take(json!({"id": "s", "method": "ping"})).unwrap()["result"], json!({}));
        let open = correlation.open().unwrap();
        correlation.end();
        assert!(matches!(open.answer().await, Err(UpstreamError::Gone)));
        assert!(correlation.open().is_err() && correlation.ended());
    }
}
