//! The calls of one connection: never twice, never late, ended with it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deskhand_core::{Caller, DEADLINE};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::connection::Outgoing;
use super::{Shared, Target};
use crate::address::Service;
use crate::clock::Moment;
use crate::desk::{Desk, DeskCall};
use crate::frames::{self, Call, Deadline};
use crate::ledger::{Answer, Begin, Ledger, end_of};

/// Calls of one connection at once.
const AT_ONCE: usize = 64;
/// Answered ids remembered, to know a frame that comes again.
const REMEMBERED: usize = 1_024;
/// A tool that did not end this long after its deadline is answered for.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Default)]
struct Book {
    running: HashMap<u64, (CancellationToken, Moment)>,
    answered: HashMap<u64, [u8; 32]>,
    order: VecDeque<u64>,
    /// What to add to the gateway's clock (ms) to get ours (ms since boot); a little too small, never too large.
    offset: Option<i64>,
}

/// All calls of one connection.
pub(crate) struct Calls<'a> {
    shared: &'a Shared,
    caller: Caller,
    service: Service,
    out: mpsc::Sender<Outgoing>,
    cancel: CancellationToken,
    book: Arc<Mutex<Book>>,
    connected: Moment,
    used: AtomicBool,
}

impl<'a> Calls<'a> {
    pub(crate) fn new(
        shared: &'a Shared,
        target: &Target,
        service: Service,
        out: mpsc::Sender<Outgoing>,
        cancel: CancellationToken,
    ) -> Self {
        let caller = Caller::gateway(&target.address.host(), target.token.user());
        Self { shared, caller, service, out, cancel, book: Arc::default(), connected: Moment::now(), used: AtomicBool::new(false) }
    }

    pub(crate) fn caller(&self) -> Caller {
        self.caller.clone()
    }

    /// Whether any call was taken: the gateway works, then.
    pub(crate) fn were_any(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// The gateway said hello, at `now_ms` on its clock. It did so after we connected: that bounds the difference of
    /// the clocks from below, so a deadline translated with it is early by the time the hello took, and never late.
    pub(crate) fn greeted(&self, now_ms: Option<i64>) {
        if let Some(now_ms) = now_ms {
            let mut book = self.book.lock();
            if book.offset.is_none() {
                book.offset = Some(self.connected.millis().saturating_sub(now_ms));
            }
        }
    }

    /// Answers with an error without running anything.
    pub(crate) fn refuse(&self, id: u64, text: &str) {
        let text = frames::answer(id, &Err(json!({"message": text})));
        if self.out.try_send(Outgoing { text, of: None }).is_err() {
            tracing::warn!(id, "too many answers wait; a refusal was dropped");
        }
    }

    /// The gateway cancels a call.
    pub(crate) fn cancel(&self, id: u64) {
        if let Some((cancel, _)) = self.book.lock().running.get(&id) {
            cancel.cancel();
        }
    }

    /// Cancels what is past its deadline by the clock that counts sleep.
    pub(crate) fn expire(&self, now: Moment) {
        for (cancel, deadline) in self.book.lock().running.values() {
            if now > *deadline {
                cancel.cancel();
            }
        }
    }

    /// How long the call may run from `now`.
    fn allowance(&self, call: &Call) -> Result<Duration, &'static str> {
        let left_ms = match call.deadline {
            None => return Ok(DEADLINE),
            Some(Deadline::Within(ms)) => ms,
            Some(Deadline::At(ms)) => match self.book.lock().offset {
                Some(offset) => ms.saturating_add(offset).saturating_sub(Moment::now().millis()),
                // A gateway that told no time: the two system clocks are all there is.
                None => ms.saturating_sub(unix_ms()),
            },
        };
        match u64::try_from(left_ms) {
            Ok(ms) if ms > 0 => Ok(Duration::from_millis(ms).min(DEADLINE)),
            _ => Err("this call came after its deadline and was not run. Look at the screen or page, then call again."),
        }
    }

    /// Runs a call in a task of its own and queues its answer.
    pub(crate) fn run(&self, call: Call, now: Moment) {
        // Counted from when it was read, also when the process was stopped in between.
        let instant = Instant::now();
        let arrived = instant.checked_sub(Moment::now().since(now)).unwrap_or(instant);
        if !self.service.serves(&call.tool) {
            let text = format!("unknown tool: {}; this socket serves {}_* only", shortened(&call.tool), self.service.name());
            return self.refuse(call.id, &text);
        }
        let allowance = match self.allowance(&call) {
            Ok(allowance) => allowance,
            Err(text) => return self.refuse(call.id, text),
        };
        let digest = call.digest();
        let cancel = self.cancel.child_token();
        {
            let mut book = self.book.lock();
            if book.running.contains_key(&call.id) {
                // The answer of the first is the answer to both; a second one would be taken for another call's.
                tracing::warn!(id = call.id, "a call's id came again while it runs; it is not run twice");
                return;
            }
            if call.key.is_none() && book.answered.get(&call.id) == Some(&digest) && !self.shared.desk.only_reads(&call.tool) {
                drop(book);
                return self.refuse(call.id, "this very call was carried out before under the same id; it was not carried out again");
            }
            if book.running.len() >= AT_ONCE {
                drop(book);
                return self.refuse(call.id, "too many calls at once; wait for some of them, then call again");
            }
            book.running.insert(call.id, (cancel.clone(), Moment(now.0 + allowance)));
        }
        self.used.store(true, Ordering::Relaxed);
        let deadline = arrived + allowance;
        let desk_call = DeskCall { caller: self.caller.clone(), tool: call.tool.clone(), params: call.params, arrived, deadline, cancel };
        let errand = Errand {
            desk: Arc::clone(&self.shared.desk),
            ledger: self.shared.ledger.clone(),
            book: Arc::clone(&self.book),
            out: self.out.clone(),
            id: call.id,
            key: call.key,
            digest,
        };
        tokio::spawn(errand.carry_out(desk_call));
    }
}

/// One call on its way through the desk and back.
struct Errand {
    desk: Arc<dyn Desk>,
    ledger: Ledger,
    book: Arc<Mutex<Book>>,
    out: mpsc::Sender<Outgoing>,
    id: u64,
    key: Option<String>,
    digest: [u8; 32],
}

impl Errand {
    async fn carry_out(self, call: DeskCall) {
        let (tool, caller) = (call.tool.clone(), call.caller.clone());
        let answer: Answer = match self.key.as_deref().map(|key| self.ledger.begin(key)) {
            None => Arc::new(self.run(call).await),
            Some(Begin::Run(ticket)) => {
                let answer = Arc::new(self.run(call).await);
                ticket.note(&answer);
                answer
            }
            Some(Begin::Wait(end)) => match timeout_at(call.deadline + GRACE, end_of(end)).await {
                Ok(answer) => answer,
                Err(_) => Arc::new(Err(timed_out())),
            },
            Some(Begin::Answered(answer)) => answer,
        };
        {
            let mut book = self.book.lock();
            book.running.remove(&self.id);
            if book.answered.insert(self.id, self.digest).is_none() {
                book.order.push_back(self.id);
            }
            if book.order.len() > REMEMBERED
                && let Some(oldest) = book.order.pop_front()
            {
                book.answered.remove(&oldest);
            }
        }
        let ok = answer.is_ok();
        let text = frames::answer(self.id, &answer);
        if self.out.send(Outgoing { text, of: Some((tool.clone(), ok)) }).await.is_err() {
            self.desk.undelivered(&caller, &tool, ok);
        }
    }

    /// Runs the call in a task, so that neither a panic nor a tool that does not end leaves the gateway without answer.
    async fn run(&self, call: DeskCall) -> Result<Value, Value> {
        let (cancel, deadline) = (call.cancel.clone(), call.deadline);
        let desk = Arc::clone(&self.desk);
        let task = tokio::spawn(async move { desk.call(call).await });
        match timeout_at(deadline + GRACE, task).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(json!({"message": "the call broke down inside Deskhand; nothing more is known of its effect"})),
            Err(_) => {
                cancel.cancel();
                Err(timed_out())
            }
        }
    }
}

fn timed_out() -> Value {
    json!({"message": "the call did not end in time and was cancelled; it may have acted in part. Look at the screen or page before trying again.", "kind": "timed_out"})
}

fn shortened(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(80).collect()
}

fn unix_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
