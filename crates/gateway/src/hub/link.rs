//! One executor's socket, seen from the callers: numbering, waiting, cancelling.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::frames;
use super::{Service, frames::Hello};
use crate::answer::Answer;

/// Frames waiting to be written to one executor; a caller beyond waits, within its deadline.
pub(crate) const QUEUE: usize = 16;

/// Why the gateway closes a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// A newer connection of the same user and service took its place.
    Replaced,
    /// The token was reset or the user removed.
    Revoked,
    /// The gateway is going down.
    ShuttingDown,
}

impl Close {
    /// The WebSocket close code.
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Self::Replaced => 1000,
            Self::Revoked => 1008,
            Self::ShuttingDown => 1001,
        }
    }

    /// The close frame's text.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Replaced => "replaced by a newer connection",
            Self::Revoked => "token revoked",
            Self::ShuttingDown => "gateway shutting down",
        }
    }
}

/// A frame to write. One that belongs to a call is written only while that call still waits.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) call: Option<u64>,
    pub(crate) text: String,
}

/// What a caller hands over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) tool: &'a str,
    pub(crate) params: &'a Value,
    pub(crate) key: &'a str,
    pub(crate) deadline: Instant,
    pub(crate) deadline_ms: i64,
}

/// What came of sending a call over one link.
#[derive(Debug)]
pub(crate) enum Exchange {
    Answered(Answer),
    TimedOut,
    Busy,
    Lost,
}

/// For the status page.
#[derive(Clone, Debug, serde::Serialize)]
pub struct LinkInfo {
    /// Whose executor.
    pub user: String,
    /// `computer` or `browser`.
    pub service: &'static str,
    /// Connected since, Unix milliseconds.
    pub since_ms: i64,
    /// Whether it announced Deskhand's additions.
    pub deskhand: bool,
    /// Number of tools it announced, if it did.
    pub tools: Option<usize>,
    /// Calls sent over this socket so far.
    pub calls: u64,
}

/// Tools an executor announced, shared between executors that announced the same.
pub(crate) type ToolList = Arc<Vec<Value>>;

#[derive(Debug)]
struct Announced {
    instance: Option<String>,
    tools: ToolList,
}

type Waiting = HashMap<u64, oneshot::Sender<Result<Value, String>>>;

/// One executor's socket.
#[derive(Debug)]
pub struct Link {
    serial: u64,
    user: String,
    service: Service,
    generation: i64,
    since_ms: i64,
    most: usize,
    next_id: AtomicU64,
    outgoing: mpsc::Sender<Outgoing>,
    /// `None` once the socket is gone, so that no call can begin to wait after the last answer.
    waiting: Mutex<Option<Waiting>>,
    extended: AtomicBool,
    announced: Mutex<Option<Announced>>,
    closing: CancellationToken,
    close: OnceLock<Close>,
}

impl Link {
    pub(crate) fn new(serial: u64, user: String, service: Service, generation: i64, most: usize) -> (Arc<Self>, mpsc::Receiver<Outgoing>) {
        let (outgoing, frames) = mpsc::channel(QUEUE);
        let link = Self {
            serial,
            user,
            service,
            generation,
            since_ms: crate::store::now_ms(),
            most,
            next_id: AtomicU64::new(1),
            outgoing,
            waiting: Mutex::new(Some(HashMap::new())),
            extended: AtomicBool::new(false),
            announced: Mutex::new(None),
            closing: CancellationToken::new(),
            close: OnceLock::new(),
        };
        (Arc::new(link), frames)
    }

    pub(crate) fn serial(&self) -> u64 {
        self.serial
    }

    /// Whose executor this is.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// What it offers.
    #[must_use]
    pub fn service(&self) -> Service {
        self.service
    }

    /// The token generation it signed in with.
    #[must_use]
    pub fn generation(&self) -> i64 {
        self.generation
    }

    pub(crate) fn instance(&self) -> Option<String> {
        self.announced.lock().as_ref()?.instance.clone()
    }

    /// Whether it announced Deskhand's additions.
    fn is_extended(&self) -> bool {
        self.extended.load(Ordering::Acquire)
    }

    /// The tools it announced, if it did.
    pub(crate) fn tools(&self) -> Option<ToolList> {
        self.announced.lock().as_ref().map(|announced| Arc::clone(&announced.tools))
    }

    /// For the status page.
    #[must_use]
    pub fn info(&self) -> LinkInfo {
        LinkInfo {
            user: self.user.clone(),
            service: self.service.name(),
            since_ms: self.since_ms,
            deskhand: self.is_extended(),
            tools: self.tools().map(|tools| tools.len()),
            calls: self.next_id.load(Ordering::Relaxed) - 1,
        }
    }

    /// Takes the executor's announcement; a later one tells of changed tools.
    pub(crate) fn announce(&self, instance: Option<String>, tools: ToolList) {
        *self.announced.lock() = Some(Announced { instance, tools });
        self.extended.store(true, Ordering::Release);
    }

    /// Asks the socket to close for that reason; the first reason holds.
    pub fn close(&self, why: Close) {
        let _later = self.close.set(why);
        self.closing.cancel();
    }

    pub(crate) async fn closed(&self) -> Close {
        self.closing.cancelled().await;
        self.close.get().copied().unwrap_or(Close::ShuttingDown)
    }

    /// The socket is gone: every waiting call learns it.
    pub(crate) fn end(&self) {
        self.waiting.lock().take();
    }

    /// Whether any call waits.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.waiting.lock().as_ref().is_some_and(|waiting| !waiting.is_empty())
    }

    /// Whether call `id` still waits.
    pub(crate) fn waits(&self, id: u64) -> bool {
        self.waiting.lock().as_ref().is_some_and(|waiting| waiting.contains_key(&id))
    }

    /// Hands an answer to its call. False for a late or unknown one, which is dropped.
    pub(crate) fn deliver(&self, id: u64, answer: Result<Value, String>) -> bool {
        let waiter = self.waiting.lock().as_mut().and_then(|waiting| waiting.remove(&id));
        waiter.is_some_and(|waiter| waiter.send(answer).is_ok())
    }

    /// Queues a frame that belongs to no call; dropped when the queue is full.
    pub(crate) fn tell(&self, text: String) {
        let _full = self.outgoing.try_send(Outgoing { call: None, text });
    }

    /// Sends the call and waits for its answer. Dropping the future cancels the call at the executor.
    pub(crate) async fn exchange(self: &Arc<Self>, call: &Call<'_>) -> Exchange {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        match self.waiting.lock().as_mut() {
            None => return Exchange::Lost,
            Some(waiting) if waiting.len() >= self.most => return Exchange::Busy,
            Some(waiting) => waiting.insert(id, sender),
        };
        let _guard = Waiter { link: self, id };
        let extended = self.is_extended();
        let extra = extended.then_some((call.key, call.deadline_ms));
        let text = frames::call(id, call.tool, call.params, extra);
        match timeout_at(call.deadline, self.outgoing.send(Outgoing { call: Some(id), text })).await {
            Err(_) => return Exchange::TimedOut,
            Ok(Err(_)) => return Exchange::Lost,
            Ok(Ok(())) => {}
        }
        match timeout_at(call.deadline, answer).await {
            Err(_) => Exchange::TimedOut,
            Ok(Err(_)) => Exchange::Lost,
            Ok(Ok(Ok(result))) => Exchange::Answered(Answer::from_result(result, extended)),
            Ok(Ok(Err(message))) => Exchange::Answered(Answer::error(message)),
        }
    }

    pub(crate) fn take_hello(&self, hello: Hello, tools: ToolList, now_ms: i64) {
        self.announce(hello.instance, tools);
        self.tell(frames::hello(now_ms));
    }
}

/// Ends the waiting of a call on every way out; an unanswered one is cancelled at a peer that knows cancelling.
struct Waiter<'a> {
    link: &'a Arc<Link>,
    id: u64,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let unanswered = self.link.waiting.lock().as_mut().is_some_and(|waiting| waiting.remove(&self.id).is_some());
        if unanswered && self.link.is_extended() {
            let frame = Outgoing { call: None, text: frames::cancel(self.id) };
            if let Err(mpsc::error::TrySendError::Full(frame)) = self.link.outgoing.try_send(frame) {
                // A full queue must not swallow a cancel: the executor would act for nobody.
                let outgoing = self.link.outgoing.clone();
                tokio::spawn(async move { outgoing.send(frame).await });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn call(params: &Value) -> Call<'_> {
        let deadline = Instant::now() + Duration::from_secs(5);
        Call { tool: "computer_x", params, key: "k", deadline, deadline_ms: 9 }
    }

    #[tokio::test]
    async fn answers_find_their_call_and_late_ones_nobody() {
        let (link, mut frames) = Link::new(1, "ana".into(), Service::Computer, 0, 8);
        let params = json!({});
        let answering = async {
            let frame = frames.recv().await.unwrap();
            assert_eq!(frame.text, r#"{"id":1,"tool":"computer_x","params":{}}"#);
            assert!(link.deliver(1, Ok(json!("hi"))));
            assert!(!link.deliver(1, Ok(json!("again"))), "a duplicate id");
            assert!(!link.deliver(77, Ok(json!("unknown"))));
        };
        let params = call(&params);
        let (exchange, ()) = tokio::join!(link.exchange(&params), answering);
        assert!(matches!(exchange, Exchange::Answered(answer) if answer.content[0]["text"] == "hi"));
    }

    #[tokio::test]
    async fn a_dropped_call_is_cancelled_only_at_a_peer_that_knows() {
        for deskhand in [false, true] {
            let (link, mut frames) = Link::new(1, "ana".into(), Service::Computer, 0, 8);
            if deskhand {
                link.announce(Some("i".into()), Arc::default());
            }
            let params = json!({});
            let call = call(&params);
            tokio::select! {
                _ = link.exchange(&call) => panic!("nobody answers"),
                frame = frames.recv() => assert_eq!(frame.unwrap().text.contains("\"key\""), deskhand),
            }
            assert!(!link.waits(1));
            assert_eq!(frames.try_recv().ok().map(|frame| frame.text), deskhand.then(|| r#"{"id":1,"cancel":true}"#.into()));
        }
    }

    #[tokio::test]
    async fn a_lost_socket_and_a_full_one_are_told_at_once() {
        let (link, _frames) = Link::new(1, "ana".into(), Service::Computer, 0, 0);
        let params = json!({});
        assert!(matches!(link.exchange(&call(&params)).await, Exchange::Busy));
        link.end();
        assert!(matches!(link.exchange(&call(&params)).await, Exchange::Lost));
    }
}
