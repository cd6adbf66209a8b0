//! Time that goes on while the machine sleeps, and how late a frame may have been read.
//!
//! A frame may wait in the socket's buffer while this process is stopped or the machine sleeps. Nothing says when it
//! came in, but the last moment the socket was seen empty bounds it. A machine that slept may get frames that were sent
//! meanwhile only when the other end repeats them: so for a while after a stop nothing counts as in time.

use std::time::Duration;

/// A frame that may be older than this is not run.
pub(crate) const TOO_LATE: Duration = Duration::from_secs(5);
/// After a stop was noticed, frames count as late for this long: the first ones may not be in our hands yet.
const SETTLE: Duration = Duration::from_secs(3);

/// Time since boot, sleep included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(crate) Duration);

impl Moment {
    #[cfg(target_os = "linux")]
    pub(crate) fn now() -> Self {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Self(Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0)))
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn now() -> Self {
        use std::sync::OnceLock;
        use std::time::Instant;
        static START: OnceLock<Instant> = OnceLock::new();
        Self(START.get_or_init(Instant::now).elapsed())
    }

    pub(crate) fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    pub(crate) fn millis(self) -> i64 {
        i64::try_from(self.0.as_millis()).unwrap_or(i64::MAX)
    }
}

/// Watches one socket's reading.
#[derive(Debug)]
pub(crate) struct Lateness {
    seen_empty: Moment,
    alive: Moment,
    settled: Moment,
}

impl Lateness {
    pub(crate) fn new(now: Moment) -> Self {
        Self { seen_empty: now, alive: now, settled: now }
    }

    /// The socket had nothing to read, at `now`.
    pub(crate) fn empty(&mut self, now: Moment) {
        self.seen_empty = now;
    }

    /// The task ran, which it does every second. Returns the length of a gap, when it did not for long.
    pub(crate) fn woke(&mut self, now: Moment) -> Option<Duration> {
        let gap = now.since(self.alive);
        self.alive = now;
        (gap > TOO_LATE).then(|| {
            self.settled = Moment(now.0 + SETTLE);
            gap
        })
    }

    /// Whether a frame read now may be older than [`TOO_LATE`].
    pub(crate) fn is_late(&mut self, now: Moment) -> bool {
        self.woke(now);
        now.since(self.seen_empty) > TOO_LATE || now < self.settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Moment {
        Moment(Duration::from_millis(ms))
    }

    #[test]
    fn frames_after_a_stop_are_late_until_the_socket_was_empty_again() {
        let mut lateness = Lateness::new(at(0));
        lateness.empty(at(0));
        assert!(!lateness.is_late(at(900)));
        lateness.empty(at(1_000));
        assert_eq!(lateness.woke(at(1_000)), None);
        // Stopped for ten seconds; then three frames at once.
        assert!(lateness.is_late(at(11_000)));
        assert!(lateness.is_late(at(11_001)));
        lateness.empty(at(11_002));
        assert!(lateness.is_late(at(11_100)), "still settling");
        lateness.empty(at(14_500));
        assert!(!lateness.is_late(at(14_501)));
    }

    #[test]
    fn a_tick_that_comes_first_does_not_hide_the_stop() {
        let mut lateness = Lateness::new(at(0));
        assert_eq!(lateness.woke(at(9_000)), Some(Duration::from_secs(9)));
        lateness.empty(at(9_000));
        assert!(lateness.is_late(at(9_001)));
    }
}
