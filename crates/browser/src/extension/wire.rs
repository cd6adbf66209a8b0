//! One connection to the extension: numbered calls with answers in any order, events, heartbeat.
//!
//! A call is sent once. When the connection ends before its answer, the caller hears exactly that: whether it took
//! effect is unknown, and nobody repeats it (the extension drops answers that belong to an ended connection).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{Sink, SinkExt, Stream, StreamExt};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// One WebSocket message, whatever library carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// JSON text.
    Text(String),
    /// The last message of a connection. Only sent, never expected.
    Close {
        /// From 4000 on: 4401 revoked, 4408 silent, 4409 another connection of the same browser is alive, 4400 no greeting.
        code: u16,
        /// In words.
        reason: String,
    },
}

/// Silence after which the worker asks whether anybody is there (the extension pings every 20 s by itself).
const ASK_AFTER: Duration = Duration::from_secs(30);
/// Silence after which the connection is taken for dead: a sleeping computer, a stopped browser.
const DEAD_AFTER: Duration = Duration::from_secs(60);
/// How long the other side may take to show that it is alive when a second connection wants its place.
const PROBE: Duration = Duration::from_secs(3);

/// An error as the extension tells it (`extension/relay/fault.js` lists the reasons).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Fault {
    pub(super) reason: String,
    pub(super) message: String,
    #[serde(default)]
    pub(super) code: Option<i64>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallError {
    /// The extension answered with an error.
    Fault(Fault),
    /// The connection ended first.
    Ended(String),
}

type Answer = Result<Value, CallError>;

/// What came in besides answers.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) event: String,
    pub(super) params: Value,
}

/// The worker's half of a connection. Cheap to share.
#[derive(Debug)]
pub(super) struct Wire {
    out: mpsc::UnboundedSender<Frame>,
    pending: Mutex<Option<HashMap<u64, oneshot::Sender<Answer>>>>,
    next: AtomicU64,
    heard: Notify,
    /// Cancelled when the connection is over or shall be.
    ending: CancellationToken,
    why: Mutex<String>,
}

/// The queue that [`Wire::run`] empties.
pub(super) type Outbox = mpsc::UnboundedReceiver<Frame>;

impl Wire {
    pub(super) fn new() -> (Self, Outbox) {
        let (out, outbox) = mpsc::unbounded_channel();
        let wire = Self {
            out,
            pending: Mutex::new(Some(HashMap::new())),
            next: AtomicU64::new(1),
            heard: Notify::new(),
            ending: CancellationToken::new(),
            why: Mutex::new(String::new()),
        };
        (wire, outbox)
    }

    /// One call and its answer. Dropping the future forgets the call; its late answer is thrown away.
    pub(super) async fn call(&self, call: &str, params: Value) -> Answer {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (tx, rx) = oneshot::channel();
        match self.pending.lock().as_mut() {
            Some(pending) => pending.insert(id, tx),
            None => return Err(CallError::Ended(self.why())),
        };
        let _forget = Forget { wire: self, id };
        self.send(&json!({ "id": id, "call": call, "params": params }));
        rx.await.unwrap_or_else(|_| Err(CallError::Ended(self.why())))
    }

    pub(super) fn send(&self, frame: &Value) {
        // The receiver is gone only when the connection is over, which every waiting call hears by itself.
        let _ = self.out.send(Frame::Text(frame.to_string()));
    }

    pub(super) fn open(&self) -> bool {
        !self.ending.is_cancelled()
    }

    fn why(&self) -> String {
        let why = self.why.lock();
        if why.is_empty() { "the connection to the extension ended".to_owned() } else { why.clone() }
    }

    /// Ends the connection; the other side reads the code.
    pub(super) fn end(&self, code: u16, reason: &str) {
        self.because(reason);
        let _ = self.out.send(Frame::Close { code, reason: reason.to_owned() });
        self.ending.cancel();
    }

    fn because(&self, reason: &str) {
        let mut why = self.why.lock();
        if why.is_empty() {
            reason.clone_into(&mut why);
        }
    }

    /// Whether the other side still answers.
    pub(super) async fn probe(&self) -> bool {
        let heard = self.heard.notified();
        self.send(&json!({ "event": "ping" }));
        tokio::select! {
            () = heard => self.open(),
            () = self.ending.cancelled() => false,
            () = tokio::time::sleep(PROBE) => false,
        }
    }

    /// Carries the connection until it ends; `told` gets every event in its order. Call
    /// [`finish`](Self::finish) after it.
    pub(super) async fn run<S, R>(&self, mut outbox: Outbox, mut sink: S, stream: R, told: impl Fn(Told))
    where
        S: Sink<Frame> + Send + Unpin,
        R: Stream<Item = String> + Send + Unpin,
    {
        // Writing has its own branch, so that a browser that does not read cannot keep us from reading.
        let mut write = std::pin::pin!(async {
            while let Some(frame) = outbox.recv().await {
                let last = matches!(frame, Frame::Close { .. });
                if sink.send(frame).await.is_err() || last {
                    break;
                }
            }
            let _ = sink.close().await;
        });
        tokio::select! {
            () = &mut write => self.because("the connection to the extension ended"),
            () = self.read(stream, told) => {}
            // The close frame is on its way; a peer that does not take it is cut.
            () = self.ending.cancelled() => {
                let _ = tokio::time::timeout(Duration::from_secs(1), write).await;
            }
        }
    }

    async fn read<R: Stream<Item = String> + Send + Unpin>(&self, mut stream: R, told: impl Fn(Told)) {
        let mut asked = false;
        loop {
            let wait = if asked { DEAD_AFTER - ASK_AFTER } else { ASK_AFTER };
            match tokio::time::timeout(wait, stream.next()).await {
                Ok(Some(text)) => {
                    asked = false;
                    self.heard.notify_waiters();
                    self.take(&text, &told);
                }
                Ok(None) => return self.because("the browser, its extension or its service worker ended"),
                Err(_) if asked => return self.because("the extension has been silent for a minute"),
                Err(_) => {
                    asked = true;
                    self.send(&json!({ "event": "ping" }));
                }
            }
        }
    }

    fn take(&self, text: &str, told: &impl Fn(Told)) {
        let Ok(mut frame) = serde_json::from_str::<Value>(text) else {
            tracing::warn!(bytes = text.len(), "the extension sent something that is not JSON");
            return;
        };
        if let Some(id) = frame["id"].as_u64() {
            let answer = match frame.get_mut("error").map(Value::take) {
                Some(error) => Err(CallError::Fault(serde_json::from_value(error).unwrap_or_else(|_| Fault {
                    reason: "failed".to_owned(),
                    message: "the extension answered with an error it did not explain".to_owned(),
                    code: None,
                }))),
                None => Ok(frame.get_mut("result").map(Value::take).unwrap_or_default()),
            };
            let waiting = self.pending.lock().as_mut().and_then(|p| p.remove(&id));
            if let Some(waiting) = waiting {
                let _ = waiting.send(answer);
            }
            return;
        }
        match frame["event"].as_str() {
            Some("ping") => self.send(&json!({ "event": "pong" })),
            Some("pong") | None => {}
            Some(event) => {
                let event = event.to_owned();
                told(Told { event, params: frame.get_mut("params").map(Value::take).unwrap_or_default() });
            }
        }
    }

    /// After this no call waits and none is accepted. Answers why the connection ended.
    pub(super) fn finish(&self) -> String {
        self.ending.cancel();
        let why = self.why();
        let waiting = self.pending.lock().take().unwrap_or_default();
        for (_, call) in waiting {
            let reason = format!("{why} while the call was under way; whether it took effect is unknown, and it is not repeated");
            let _ = call.send(Err(CallError::Ended(reason)));
        }
        why
    }
}

struct Forget<'a> {
    wire: &'a Wire,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        if let Some(pending) = self.wire.pending.lock().as_mut() {
            pending.remove(&self.id);
        }
    }
}
