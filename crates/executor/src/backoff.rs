//! Waits between tries: from 0.5 s to 30 s, doubling, with jitter, without limit of tries.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

/// The next wait.
#[derive(Debug)]
pub(crate) struct Backoff(Duration);

impl Backoff {
    pub(crate) fn new() -> Self {
        Self(FIRST)
    }

    /// After a connection that held.
    pub(crate) fn reset(&mut self) {
        self.0 = FIRST;
    }

    /// Between half of the step and all of it, so that a crowd does not come back as one.
    pub(crate) fn next(&mut self) -> Duration {
        let step = self.0;
        self.0 = (step * 2).min(LONGEST);
        let share = 0.5 + rand::random::<f64>() / 2.0;
        step.mul_f64(share).max(FIRST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_stay_within_bounds() {
        let mut backoff = Backoff::new();
        let waits: Vec<Duration> = (0..20).map(|_| backoff.next()).collect();
        assert!(waits.iter().all(|wait| (FIRST..=LONGEST).contains(wait)));
        assert!(waits[10] >= Duration::from_secs(15));
        backoff.reset();
        assert!(backoff.next() <= Duration::from_millis(500));
    }
}
