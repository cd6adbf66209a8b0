//! How much of a text is sent ahead of the window that reads it.
//!
//! What has been sent cannot be taken back: after a stop, the window still handles all of it. So as little is under way as
//! keeps the window busy. How little that is, only the window can tell: one that takes its time over each character needs
//! few, one that takes as long over many as over one (it draws a frame in between) needs many.

use std::time::Duration;

/// Characters under way at once, from the least to the most.
const LEVELS: [usize; 7] = [8, 16, 32, 64, 128, 256, 512];
/// Where a text begins: before the window has answered once.
const FIRST: usize = 1;
/// The most for a window that keeps within [`BUDGET`] anyway.
const NEAR: usize = 4;
/// What is under way should be handled in this time, so that a stop leaves no more than that behind.
const BUDGET: Duration = Duration::from_millis(80);
/// More under way counts as no faster unless it is faster by this factor.
const GAIN: f64 = 1.6;

/// What is known of the speed of one window.
#[derive(Debug)]
pub(super) struct Pace {
    level: usize,
    /// Characters a second, as measured at each level.
    rates: [Option<f64>; LEVELS.len()],
}

impl Default for Pace {
    fn default() -> Self {
        Self { level: FIRST, rates: [None; LEVELS.len()] }
    }
}

impl Pace {
    /// Characters that may be under way at once.
    pub(super) fn limit(&self) -> usize {
        LEVELS[self.level]
    }

    /// Whether the window would handle so many characters in this time, as far as it is known.
    pub(super) fn manages(&self, characters: usize, time: Duration) -> bool {
        self.rates[self.level].is_none_or(|rate| rate * time.as_secs_f64() >= characters as f64)
    }

    /// The window has handled `characters` in this time.
    pub(super) fn handled(&mut self, characters: usize, took: Duration) {
        let rate = characters as f64 / took.as_secs_f64().max(1e-5);
        let known = &mut self.rates[self.level];
        *known = Some(known.map_or(rate, |old| f64::midpoint(old, rate)));
        self.level = self.next();
    }

    fn next(&self) -> usize {
        let level = self.level;
        let Some(rate) = self.rates[level] else { return level };
        if LEVELS[level] as f64 / rate <= BUDGET.as_secs_f64() {
            let gains = level < NEAR && self.rates[level + 1].is_none_or(|more| more > rate * GAIN);
            return if gains { level + 1 } else { level };
        }
        // Too much for a quick stop: the least that is about as fast as the best, trying one level beside what is known.
        let best = self.rates.iter().flatten().fold(0.0, |a: f64, b| a.max(*b));
        let enough = |l: &usize| self.rates[*l].is_some_and(|r| r * GAIN >= best);
        let Some(least) = (0..LEVELS.len()).find(enough) else { return level };
        match () {
            () if least > 0 && self.rates[..least].iter().all(Option::is_none) => least - 1,
            () if least + 1 < LEVELS.len() && least > 0 && self.rates[least + 1..].iter().all(Option::is_none) => least + 1,
            () => least,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is under way in the end with a window that takes `each` for a character and `all` for what it finds at once.
    fn settled(each: u64, all: u64) -> (usize, Duration) {
        let (mut pace, mut took, mut done) = (Pace::default(), Duration::ZERO, 0);
        while done < 10_000 {
            let characters = pace.limit();
            let time = Duration::from_micros(each * characters as u64 + all);
            pace.handled(characters, time);
            (took, done) = (took + time, done + characters);
        }
        (pace.limit(), took)
    }

    #[test]
    fn little_is_under_way_to_a_window_that_takes_its_time() {
        for each in [2_000, 5_000, 20_000, 50_000] {
            let (limit, took) = settled(each, 500);
            assert!(limit <= 32, "{each} µs: {limit}");
            assert!(took < Duration::from_micros(each * 10_000 * 12 / 10), "{each} µs: {took:?}");
        }
    }

    #[test]
    fn much_is_under_way_where_that_is_faster() {
        assert_eq!(settled(20, 2_000).0, LEVELS[NEAR]);
        for all in [20_000, 60_000, 100_000, 300_000] {
            let (limit, took) = settled(50, all);
            assert!(limit >= 100, "{all} µs: {limit}");
            assert!(took < Duration::from_secs(12), "{all} µs: {took:?}");
        }
    }
}
