//! What we sent and the server has not reported back yet.
//!
//! The server reports every press and motion to the watcher, ours too, in the order it carries them out. Both sides know a
//! press by its kind and code only, so what is kept is a tally: if somebody presses the very key that we press at that
//! moment, one of the two reports is left over, and that is the one that counts as theirs.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Entries older than this belong to events that the server dropped, such as a press of a key that was down already.
const LIFE: Duration = Duration::from_secs(2);

/// Shared by the connection that sends and the one that watches.
#[derive(Default)]
pub(super) struct Account {
    /// Nobody watches: nothing need be kept.
    watched: AtomicBool,
    sent: Mutex<VecDeque<(Instant, u8, u8)>>,
    /// Keys pressed again on behalf of a person who still holds them; they go up when the person lets go.
    pub(super) shadows: Mutex<BTreeSet<u8>>,
}

impl Account {
    pub(super) fn watch(&self) {
        self.watched.store(true, Ordering::Release);
    }

    /// Notes what is about to be sent.
    pub(super) fn note(&self, kind: u8, code: u8) {
        if self.watched.load(Ordering::Acquire) {
            self.sent.lock().push_back((Instant::now(), kind, code));
        }
    }

    /// Strikes out what the server reports; false when it is not ours.
    pub(super) fn strike(&self, kind: u8, code: u8) -> bool {
        let mut sent = self.sent.lock();
        while sent.front().is_some_and(|(at, ..)| at.elapsed() > LIFE) {
            sent.pop_front();
        }
        sent.iter().position(|(_, k, c)| (*k, *c) == (kind, code)).and_then(|i| sent.remove(i)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_report_too_many_is_somebody_elses() {
        let account = Account::default();
        account.note(2, 38);
        assert!(!account.strike(2, 38), "not watched");
        account.watch();
        account.note(2, 38);
        account.note(2, 39);
        assert!(account.strike(2, 38));
        assert!(!account.strike(2, 38));
        assert!(account.strike(2, 39));
    }
}
