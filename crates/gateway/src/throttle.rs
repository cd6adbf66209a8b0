//! Slows guessing: counts tries per key (a peer's address, a user name) in a window. A try counts before its password is
//! looked at and is given back when it was right, so that a thousand tries at the same moment are no way around it. No
//! request field turns it off, and loopback is counted like any other address.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Entries kept at most; beyond it the stalest leave, so that a flood of addresses cannot eat memory.
const MOST_KEYS: usize = 10_000;

/// Tries per key within a window.
#[derive(Debug)]
pub(crate) struct Throttle<K> {
    most: u32,
    window: Duration,
    tries: Mutex<HashMap<K, (u32, Instant)>>,
}

impl<K: Eq + Hash + Clone> Throttle<K> {
    /// Allows `most` tries per `window`.
    #[must_use]
    pub(crate) fn new(most: u32, window: Duration) -> Self {
        Self { most, window, tries: Mutex::new(HashMap::new()) }
    }

    /// Counts a try of `key`, or says how long it has to wait when it used its tries up.
    pub(crate) fn begin(&self, key: &K) -> Result<(), Duration> {
        let mut tries = self.tries.lock();
        if tries.len() >= MOST_KEYS && !tries.contains_key(key) {
            let window = self.window;
            tries.retain(|_, (_, since)| since.elapsed() < window);
            if tries.len() >= MOST_KEYS
                && let Some(oldest) = tries.iter().min_by_key(|(_, (_, since))| *since).map(|(key, _)| key.clone())
            {
                tries.remove(&oldest);
            }
        }
        let entry = tries.entry(key.clone()).or_insert_with(|| (0, Instant::now()));
        match self.window.checked_sub(entry.1.elapsed()) {
            Some(left) if entry.0 >= self.most => return Err(left),
            Some(_) => {}
            None => *entry = (0, Instant::now()),
        }
        entry.0 += 1;
        Ok(())
    }

    /// Gives a try back that was no guess.
    pub(crate) fn give_back(&self, key: &K) {
        if let Some((count, _)) = self.tries.lock().get_mut(key) {
            *count = count.saturating_sub(1);
        }
    }

    /// Forgets `key` after a success.
    pub(crate) fn succeed(&self, key: &K) {
        self.tries.lock().remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_close_the_door_and_time_opens_it() {
        let throttle = Throttle::new(3, Duration::from_millis(300));
        for _ in 0..3 {
            assert_eq!(throttle.begin(&"a"), Ok(()));
        }
        assert!(throttle.begin(&"a").is_err());
        assert_eq!(throttle.begin(&"b"), Ok(()), "others are not hit");
        throttle.give_back(&"a");
        assert_eq!(throttle.begin(&"a"), Ok(()), "one was given back");
        std::thread::sleep(Duration::from_millis(350));
        assert_eq!(throttle.begin(&"a"), Ok(()));
        throttle.succeed(&"a");
        assert_eq!(throttle.begin(&"a"), Ok(()));
    }

    #[test]
    fn memory_is_bounded() {
        let throttle = Throttle::new(1, Duration::from_secs(60));
        for key in 0..MOST_KEYS + 5 {
            assert_eq!(throttle.begin(&key), Ok(()));
        }
        assert!(throttle.tries.lock().len() <= MOST_KEYS);
    }
}
