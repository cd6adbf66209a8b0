//! Slows guessing: counts failures per key (a peer's address, a user name) in a sliding window. No request field turns
//! it off, and loopback is counted like any other address.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Entries kept at most; beyond it the stalest leave, so that a flood of addresses cannot eat memory.
const MOST_KEYS: usize = 10_000;

/// Failures per key within a window.
#[derive(Debug)]
pub(crate) struct Throttle<K> {
    most: u32,
    window: Duration,
    failures: Mutex<HashMap<K, (u32, Instant)>>,
}

impl<K: Eq + Hash + Clone> Throttle<K> {
    /// Allows `most` failures per `window`.
    #[must_use]
    pub(crate) fn new(most: u32, window: Duration) -> Self {
        Self { most, window, failures: Mutex::new(HashMap::new()) }
    }

    /// How long `key` has to wait, if it used its failures up.
    #[must_use]
    pub(crate) fn wait(&self, key: &K) -> Option<Duration> {
        let failures = self.failures.lock();
        let (count, since) = failures.get(key)?;
        let left = self.window.checked_sub(since.elapsed())?;
        (*count >= self.most).then_some(left)
    }

    /// Counts a failure.
    pub(crate) fn fail(&self, key: &K) {
        let mut failures = self.failures.lock();
        if failures.len() >= MOST_KEYS && !failures.contains_key(key) {
            let window = self.window;
            failures.retain(|_, (_, since)| since.elapsed() < window);
            if failures.len() >= MOST_KEYS
                && let Some(oldest) = failures.iter().min_by_key(|(_, (_, since))| *since).map(|(key, _)| key.clone())
            {
                failures.remove(&oldest);
            }
        }
        let entry = failures.entry(key.clone()).or_insert_with(|| (0, Instant::now()));
        if entry.1.elapsed() >= self.window {
            *entry = (0, Instant::now());
        }
        entry.0 += 1;
    }

    /// Forgets `key` after a success.
    pub(crate) fn succeed(&self, key: &K) {
        self.failures.lock().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_close_the_door_and_time_opens_it() {
        let throttle = Throttle::new(3, Duration::from_millis(300));
        for _ in 0..3 {
            assert_eq!(throttle.wait(&"a"), None);
            throttle.fail(&"a");
        }
        assert!(throttle.wait(&"a").is_some());
        assert_eq!(throttle.wait(&"b"), None, "others are not hit");
        std::thread::sleep(Duration::from_millis(350));
        assert_eq!(throttle.wait(&"a"), None);
        throttle.fail(&"a");
        throttle.succeed(&"a");
        assert_eq!(throttle.wait(&"a"), None);
    }

    #[test]
    fn memory_is_bounded() {
        let throttle = Throttle::new(1, Duration::from_secs(60));
        for key in 0..MOST_KEYS + 5 {
            throttle.fail(&key);
        }
        assert!(throttle.failures.lock().len() <= MOST_KEYS);
    }
}
