//! The last calls, for the status page: who called what, how it ended, how long it took. Never arguments or results.

use std::collections::VecDeque;

use parking_lot::Mutex;
use serde::Serialize;

/// Calls remembered.
const LENGTH: usize = 500;

/// One call.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// When it ended, Unix milliseconds.
    pub at_ms: i64,
    /// Whose agent called.
    pub user: String,
    /// The tool's name as called, cut at 128 bytes.
    pub tool: String,
    /// Duration in milliseconds.
    pub took_ms: u64,
    /// `ok`, `error`, `not connected`, `timed out`, `lost`, `busy` or `cancelled`.
    pub ending: &'static str,
}

/// The last calls, newest last.
#[derive(Debug, Default)]
pub struct Journal(Mutex<VecDeque<Entry>>);

impl Journal {
    /// Adds a call; the oldest leaves.
    pub fn note(&self, entry: Entry) {
        let mut entries = self.0.lock();
        if entries.len() >= LENGTH {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// The newest `most` calls, newest first; of one user, or of all.
    #[must_use]
    pub fn last(&self, user: Option<&str>, most: usize) -> Vec<Entry> {
        let entries = self.0.lock();
        entries.iter().rev().filter(|entry| user.is_none_or(|user| entry.user == user)).take(most).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_leave_and_users_see_their_own() {
        let journal = Journal::default();
        for at_ms in 0..LENGTH as i64 + 10 {
            let user = if at_ms % 2 == 0 { "ana" } else { "bob" };
            journal.note(Entry { at_ms, user: user.into(), tool: "t".into(), took_ms: 1, ending: "ok" });
        }
        assert_eq!(journal.last(None, 1)[0].at_ms, LENGTH as i64 + 9);
        assert!(journal.last(Some("ana"), 50).iter().all(|entry| entry.user == "ana"));
        assert_eq!(journal.last(None, usize::MAX).len(), LENGTH);
    }
}
