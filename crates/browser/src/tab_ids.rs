//! Numbers of tabs. They are never reused, not even after a restart of the browser or of the worker, so that a number
//! an agent remembers can become unknown but can never point at another page (case B158).

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::transport::TabId;

/// How many numbers one run of the worker sets aside on disk at a time.
const BLOCK: i64 = 1000;

/// Gives out tab numbers: one per worker, shared by all its browsers.
#[derive(Debug)]
pub struct TabIds {
    next: AtomicI64,
}

impl TabIds {
    /// Numbers from 1, for a worker without a memory of earlier runs (tests).
    #[must_use]
    pub fn fresh() -> Self {
        Self { next: AtomicI64::new(1) }
    }

    /// Numbers above all that earlier runs with the same file gave out. The file holds the first number of the next
    /// block; where it cannot be written the numbers begin at the present second, which no earlier run can have used.
    #[must_use]
    pub fn kept_in(file: &Path) -> Self {
        let first = std::fs::read_to_string(file).ok().and_then(|t| t.trim().parse::<i64>().ok()).unwrap_or(1).max(1);
        let kept =
            file.parent().is_none_or(|d| std::fs::create_dir_all(d).is_ok()) && std::fs::write(file, (first + BLOCK).to_string()).is_ok();
        let first = if kept { first } else { seconds() };
        Self { next: AtomicI64::new(first) }
    }

    /// The next number.
    pub fn next(&self) -> TabId {
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

fn seconds() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_never_come_again_in_the_next_run() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("browser/tab-ids");
        let first = TabIds::kept_in(&file);
        let a = first.next();
        let b = first.next();
        let second = TabIds::kept_in(&file);
        assert!(a < b && b < second.next());
    }

    #[test]
    fn an_unwritable_place_still_gives_unused_numbers() {
        let ids = TabIds::kept_in(Path::new("/proc/nowhere/tab-ids"));
        assert!(ids.next() > 1_000_000);
    }
}
