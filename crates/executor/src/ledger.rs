//! At most once: every key that came, for as long as this process runs, and the latest results.
//!
//! A gateway that lost the socket sends a call again with the same key. If it ran, its result is given again; if it
//! runs, its end is awaited; it is never run a second time. A new process has a new instance id, and a gateway sends
//! nothing again to another instance.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

/// Keys remembered.
const KEYS: usize = 65_536;
/// Results remembered, in number and in bytes.
const RESULTS: (usize, usize) = (256, 32 << 20);

/// What a call came to: an MCP-like result object, or an error object.
pub(crate) type Answer = Arc<Result<Value, Value>>;

type Digested = [u8; 16];

enum Entry {
    Running(watch::Receiver<Option<Answer>>),
    Done(Answer),
    /// Ran, but its result is not kept any more.
    Over,
}

#[derive(Default)]
struct Book {
    entries: HashMap<Digested, Entry>,
    order: VecDeque<Digested>,
    results: VecDeque<(Digested, usize)>,
    bytes: usize,
}

/// All keys of one executor.
#[derive(Clone, Default)]
pub(crate) struct Ledger(Arc<Mutex<Book>>);

/// What to do with a key.
pub(crate) enum Begin {
    /// Run it, and say what came of it.
    Run(Ticket),
    /// It runs: wait for its end.
    Wait(watch::Receiver<Option<Answer>>),
    /// It ran.
    Answered(Answer),
}

/// The right to run one key; its end is noted on every way out.
pub(crate) struct Ticket {
    ledger: Ledger,
    digest: Digested,
    sender: watch::Sender<Option<Answer>>,
    noted: bool,
}

impl Ledger {
    pub(crate) fn begin(&self, key: &str) -> Begin {
        let hash = Sha256::digest(key.as_bytes());
        let mut digest = Digested::default();
        digest.copy_from_slice(&hash[..16]);
        let mut book = self.0.lock();
        match book.entries.get(&digest) {
            Some(Entry::Running(end)) => return Begin::Wait(end.clone()),
            Some(Entry::Done(answer)) => return Begin::Answered(Arc::clone(answer)),
            Some(Entry::Over) => return Begin::Answered(Arc::new(Err(over()))),
            None => {}
        }
        let (sender, end) = watch::channel(None);
        book.entries.insert(digest, Entry::Running(end));
        book.order.push_back(digest);
        if book.order.len() > KEYS
            && let Some(oldest) = book.order.pop_front()
        {
            book.entries.remove(&oldest);
        }
        drop(book);
        Begin::Run(Ticket { ledger: self.clone(), digest, sender, noted: false })
    }
}

impl Ticket {
    pub(crate) fn note(mut self, answer: &Answer) {
        self.end(answer);
    }

    fn end(&mut self, answer: &Answer) {
        self.noted = true;
        let size = match &**answer {
            Ok(value) | Err(value) => value.to_string().len(),
        };
        let mut book = self.ledger.0.lock();
        book.entries.insert(self.digest, Entry::Done(Arc::clone(answer)));
        book.results.push_back((self.digest, size));
        book.bytes += size;
        while book.results.len() > RESULTS.0 || book.bytes > RESULTS.1 {
            let Some((oldest, size)) = book.results.pop_front() else { break };
            book.bytes -= size;
            if let Some(entry) = book.entries.get_mut(&oldest) {
                *entry = Entry::Over;
            }
        }
        drop(book);
        self.sender.send_replace(Some(Arc::clone(answer)));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.noted {
            let text = "the call broke off inside Deskhand; it may have acted in part";
            self.end(&Arc::new(Err(json!({"message": text}))));
        }
    }
}

fn over() -> Value {
    json!({"message": "this call was carried out before and its result is not kept any more; it was not carried out again"})
}

/// Waits for the end of a call that runs.
pub(crate) async fn end_of(mut end: watch::Receiver<Option<Answer>>) -> Answer {
    match end.wait_for(Option::is_some).await {
        Ok(answer) => answer.clone().unwrap_or_else(|| Arc::new(Err(over()))),
        Err(_) => Arc::new(Err(over())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_key_runs_once_and_its_result_is_given_again() {
        let ledger = Ledger::default();
        let Begin::Run(ticket) = ledger.begin("k") else { panic!("new") };
        let Begin::Wait(end) = ledger.begin("k") else { panic!("running") };
        let answer: Answer = Arc::new(Ok(json!(1)));
        ticket.note(&answer);
        assert_eq!(end_of(end).await, answer);
        let Begin::Answered(again) = ledger.begin("k") else { panic!("done") };
        assert_eq!(again, answer);
        let Begin::Run(ticket) = ledger.begin("other") else { panic!("new") };
        drop(ticket);
        assert!(matches!(ledger.begin("other"), Begin::Answered(answer) if answer.is_err()));
    }

    #[test]
    fn results_are_bounded_but_keys_still_hold() {
        let ledger = Ledger::default();
        let large: Answer = Arc::new(Ok(Value::String("x".repeat(9 << 20))));
        for key in 0..5 {
            let Begin::Run(ticket) = ledger.begin(&key.to_string()) else { panic!("new") };
            ticket.note(&large);
        }
        assert!(ledger.0.lock().bytes <= RESULTS.1);
        assert!(matches!(ledger.begin("0"), Begin::Answered(answer) if answer.is_err()), "known, result gone");
        assert!(matches!(ledger.begin("4"), Begin::Answered(answer) if answer.is_ok()));
    }
}
