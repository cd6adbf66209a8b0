//! One connection to Chromium's debugging interface: numbered commands out, answers and events in. Two things carry it:
//! a pair of pipes to a browser we started ([`pipe`]) and chromiumoxide's WebSocket to one that somebody else started
//! ([`socket`]). Events stay JSON on purpose: a newer browser may send ones that no generated type knows (case B176).

use std::collections::HashMap;
use std::sync::Arc;

use chromiumoxide::conn::Connection;
use chromiumoxide::types::{EventMessage, Message, Method, MethodId};
use futures_util::StreamExt;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};

/// How a command failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallError {
    /// Chrome's own error.
    Fault {
        /// Such as -32000.
        code: i64,
        /// In Chrome's words.
        message: String,
    },
    /// The connection ended before the answer.
    Ended(String),
}

/// What the browser says, in its order.
#[derive(Debug, Clone)]
pub(super) enum Told {
    /// An event as it came.
    Event { session: Option<String>, method: String, params: Value },
    /// The answer to a command of an outside program, which must not overtake the events before it.
    Reply { outsider: u64, message: Value },
}

/// Who waits for an answer.
enum Answer {
    Once(oneshot::Sender<Result<Value, CallError>>),
    Outsider { number: u64, id: Value, session: Option<String> },
}

impl Answer {
    fn give(self, result: Result<Value, CallError>, told: Option<&mpsc::UnboundedSender<Told>>) {
        match self {
            Self::Once(waiting) => {
                let _ = waiting.send(result);
            }
            Self::Outsider { number, id, session } => {
                let mut message = match result {
                    Ok(result) => json!({"id": id, "result": result}),
                    Err(CallError::Fault { code, message }) => json!({"id": id, "error": {"code": code, "message": message}}),
                    Err(CallError::Ended(reason)) => json!({"id": id, "error": {"code": -32000, "message": reason}}),
                };
                if let Some(session) = session {
                    message["sessionId"] = session.into();
                }
                if let Some(told) = told {
                    let _ = told.send(Told::Reply { outsider: number, message });
                }
            }
        }
    }
}

struct Command {
    session: Option<String>,
    method: String,
    params: Value,
    answer: Answer,
}

/// An event as chromiumoxide's connection is to read it. Its own JSON event type looks for `session_id`, which Chrome
/// never writes, so that events of tabs could not be told apart.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Raw {
    method: MethodId,
    session_id: Option<String>,
    #[serde(default)]
    params: Value,
}

impl Method for Raw {
    fn identifier(&self) -> MethodId {
        self.method.clone()
    }
}

impl EventMessage for Raw {
    fn session_id(&self) -> Option<&str> {
        self.session_id.as_deref()
    }
}

/// The sending half. Commands are carried in the order in which their futures were first polled.
#[derive(Clone)]
pub(super) struct Cdp {
    out: mpsc::UnboundedSender<Command>,
    ended: Arc<Mutex<Option<String>>>,
}

impl Cdp {
    /// One command to the browser (`session` none) or to a target.
    pub(super) async fn call(&self, session: Option<&str>, method: &str, params: Value) -> Result<Value, CallError> {
        let (answer, heard) = oneshot::channel();
        let command = Command { session: session.map(str::to_owned), method: method.to_owned(), params, answer: Answer::Once(answer) };
        if self.out.send(command).is_err() {
            return Err(self.gone());
        }
        heard.await.unwrap_or_else(|_| Err(self.gone()))
    }

    /// One command to the browser whose answer is of no interest. It is ahead of whatever is sent after it.
    pub(super) fn tell(&self, method: &str, params: Value) {
        let (answer, _) = oneshot::channel();
        let _ = self.out.send(Command { session: None, method: method.to_owned(), params, answer: Answer::Once(answer) });
    }

    /// One command of an outside program; its answer comes as [`Told::Reply`], with `shown` as its session.
    pub(super) fn order(&self, outsider: u64, id: Value, shown: Option<String>, session: &str, method: &str, params: Value) {
        let answer = Answer::Outsider { number: outsider, id, session: shown };
        let _ = self.out.send(Command { session: Some(session.to_owned()), method: method.to_owned(), params, answer });
    }

    fn gone(&self) -> CallError {
        CallError::Ended(self.ended().unwrap_or_else(|| "the connection ended".to_owned()))
    }

    /// Why the connection ended, once it did.
    pub(super) fn ended(&self) -> Option<String> {
        self.ended.lock().clone()
    }

    fn new() -> (Self, mpsc::UnboundedReceiver<Command>) {
        let (out, orders) = mpsc::unbounded_channel();
        (Self { out, ended: Arc::default() }, orders)
    }
}

/// What a carrier task does with each message of the browser.
struct Inbox {
    waiting: HashMap<u64, Answer>,
    /// None once the browser ended, so that its listeners hear the end.
    told: Option<mpsc::UnboundedSender<Told>>,
}

impl Inbox {
    fn take(&mut self, mut message: Value) {
        let Some(id) = message.get("id").and_then(Value::as_u64) else {
            let Some(method) = message.get("method").and_then(Value::as_str).map(str::to_owned) else { return };
            let session = message.get("sessionId").and_then(Value::as_str).map(str::to_owned);
            if let Some(told) = &self.told {
                let _ = told.send(Told::Event { session, method, params: message["params"].take() });
            }
            return;
        };
        if let Some(waiting) = self.waiting.remove(&id) {
            let result = match message.get("error") {
                Some(error) => Err(fault(error)),
                None => Ok(message["result"].take()),
            };
            waiting.give(result, self.told.as_ref());
        }
    }
}

fn fault(error: &Value) -> CallError {
    let text = |k: &str| error.get(k).and_then(Value::as_str).unwrap_or_default();
    let message = [text("message"), text("data")].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(": ");
    CallError::Fault { code: error.get("code").and_then(Value::as_i64).unwrap_or(0), message }
}

/// Speaks over two pipes, each message ended by a zero byte. Dropping the [`Cdp`] and its clones closes them, upon
/// which Chromium ends itself.
pub(super) fn pipe<W, R>(mut to: W, from: R) -> (Cdp, mpsc::UnboundedReceiver<Told>)
where
    W: AsyncWrite + Unpin + Send + 'static,
    R: AsyncRead + Unpin + Send + 'static,
{
    let (cdp, mut orders) = Cdp::new();
    let (told, events) = mpsc::unbounded_channel();
    let inbox = Arc::new(Mutex::new(Inbox { waiting: HashMap::new(), told: Some(told) }));
    let ended = Arc::clone(&cdp.ended);
    let reading = Arc::clone(&inbox);
    tokio::spawn(async move {
        let mut from = BufReader::with_capacity(1 << 16, from);
        let mut frame = Vec::new();
        while matches!(from.read_until(0, &mut frame).await, Ok(n) if n > 0) {
            frame.pop();
            match serde_json::from_slice(&frame) {
                Ok(message) => reading.lock().take(message),
                Err(error) => tracing::debug!(%error, "the browser sent a message that is no JSON"),
            }
            frame.clear();
        }
        ended.lock().get_or_insert_with(|| "the browser ended".to_owned());
        let mut inbox = reading.lock();
        inbox.waiting.clear();
        inbox.told = None;
    });
    let writer_ended = Arc::clone(&cdp.ended);
    tokio::spawn(async move {
        let mut next = 0_u64;
        while let Some(order) = orders.recv().await {
            next += 1;
            let mut bytes = encode(next, &order);
            bytes.push(0);
            {
                // One lock for both: the reader says that it ended before it drops whoever waits.
                let mut inbox = inbox.lock();
                if writer_ended.lock().is_some() {
                    break;
                }
                inbox.waiting.insert(next, order.answer);
            }
            if to.write_all(&bytes).await.is_err() {
                writer_ended.lock().get_or_insert_with(|| "the browser ended".to_owned());
                break;
            }
        }
        inbox.lock().waiting.clear();
    });
    (cdp, events)
}

fn encode(id: u64, order: &Command) -> Vec<u8> {
    let mut message = json!({"id": id, "method": order.method, "params": order.params});
    if let (Some(session), Some(map)) = (&order.session, message.as_object_mut()) {
        map.insert("sessionId".to_owned(), session.as_str().into());
    }
    message.to_string().into_bytes()
}

/// Speaks over a WebSocket that is already open.
pub(super) fn socket(mut ws: Connection<Raw>) -> (Cdp, mpsc::UnboundedReceiver<Told>) {
    let (cdp, mut orders) = Cdp::new();
    let (told, events) = mpsc::unbounded_channel();
    let ended = Arc::clone(&cdp.ended);
    tokio::spawn(async move {
        let mut waiting: HashMap<String, Answer> = HashMap::new();
        loop {
            tokio::select! {
                order = orders.recv() => {
                    let Some(Command { session, method, params, answer }) = order else { break };
                    if let Ok(id) = ws.submit_command(method.into(), session.map(Into::into), params) {
                        waiting.insert(id.to_string(), answer);
                    }
                }
                message = ws.next() => match message {
                    Some(Ok(Message::Response(response))) => {
                        if let Some(answer) = waiting.remove(&response.id.to_string()) {
                            let result = match response.error {
                                Some(e) => Err(CallError::Fault { code: e.code, message: e.message }),
                                None => Ok(response.result.unwrap_or_default()),
                            };
                            answer.give(result, Some(&told));
                        }
                    }
                    Some(Ok(Message::Event(e))) => {
                        let _ = told.send(Told::Event { session: e.session_id, method: e.method.into_owned(), params: e.params });
                    }
                    Some(Err(error)) if matches!(error, chromiumoxide::error::CdpError::InvalidMessage(..)) => {
                        tracing::debug!(%error, "the browser sent a message that nobody knows");
                    }
                    Some(Err(_)) | None => break,
                },
            }
        }
        ended.lock().get_or_insert_with(|| "its debugging connection ended".to_owned());
    });
    (cdp, events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, duplex};

    #[tokio::test]
    async fn unknown_events_and_broken_messages_stop_nothing() {
        let (ours, mut theirs) = duplex(1 << 16);
        let (read, write) = tokio::io::split(ours);
        let (cdp, mut events) = pipe(write, read);
        let call = tokio::spawn(async move { cdp.call(Some("S"), "A.b", json!({"x": 1})).await });
        let mut asked = vec![0; 256];
        let n = theirs.read(&mut asked).await.unwrap();
        let asked: Value = serde_json::from_slice(&asked[..n - 1]).unwrap();
        assert_eq!((asked["sessionId"].as_str(), asked["method"].as_str()), (Some("S"), Some("A.b")));
        for m in [
            "{\"method\":\"New.thing\",\"params\":{\"q\":[1]},\"sessionId\":\"S\"}",
            "no json",
            "{\"odd\":1}",
            "{\"id\":99,\"result\":{}}",
            "{\"id\":1,\"result\":{\"ok\":true}}",
        ] {
            theirs.write_all(m.as_bytes()).await.unwrap();
            theirs.write_all(&[0]).await.unwrap();
        }
        assert_eq!(call.await.unwrap(), Ok(json!({"ok": true})));
        assert!(matches!(events.recv().await.unwrap(), Told::Event { method, .. } if method == "New.thing"));
    }

    #[tokio::test]
    async fn the_end_of_the_browser_answers_whoever_waits() {
        let (ours, theirs) = duplex(1 << 16);
        let (read, write) = tokio::io::split(ours);
        let (cdp, _events) = pipe(write, read);
        let waiting = cdp.clone();
        let call = tokio::spawn(async move { waiting.call(None, "A.b", json!({})).await });
        tokio::task::yield_now().await;
        drop(theirs);
        assert!(matches!(call.await.unwrap(), Err(CallError::Ended(_))));
        assert!(matches!(cdp.call(None, "A.b", json!({})).await, Err(CallError::Ended(_))));
    }
}
