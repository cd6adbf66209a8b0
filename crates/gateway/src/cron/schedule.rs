//! The three forms of a schedule: `cron M H D M W` (the gateway's local time), `every MILLISECONDS`,
//! `at UNIX_MILLISECONDS`.

use std::str::FromStr;

use chrono::{Local, TimeZone};

use crate::error::GatewayError;

/// Shortest interval, in milliseconds.
pub(crate) const SHORTEST_EVERY: i64 = 1_000;
/// Longest interval and farthest time, in milliseconds from now: ten years.
const FARTHEST: i64 = 10 * 366 * 24 * 3_600_000;

/// A parsed schedule.
#[derive(Clone, Debug)]
pub enum Schedule {
    /// Five fields, local time.
    Cron(Box<croner::Cron>),
    /// Fixed interval in milliseconds.
    Every(i64),
    /// Once, Unix milliseconds.
    At(i64),
}

impl FromStr for Schedule {
    type Err = GatewayError;

    fn from_str(text: &str) -> Result<Self, GatewayError> {
        let wrong = |why: &str| {
            GatewayError::Invalid(format!(
                "the schedule {text:?} is not usable: {why}; use `cron M H D M W`, `every MILLISECONDS` or `at UNIX_MILLISECONDS`"
            ))
        };
        let (form, rest) = text.trim().split_once(char::is_whitespace).ok_or_else(|| wrong("it has no value"))?;
        let number = || rest.trim().parse::<i64>().map_err(|_| wrong("the number of milliseconds is no whole number"));
        match form {
            "cron" => {
                if rest.split_whitespace().count() != 5 {
                    return Err(wrong("cron takes five fields"));
                }
                let cron = rest.trim().parse::<croner::Cron>().map_err(|error| wrong(&error.to_string()))?;
                Ok(Self::Cron(Box::new(cron)))
            }
            "every" => match number()? {
                every if (SHORTEST_EVERY..=FARTHEST).contains(&every) => Ok(Self::Every(every)),
                _ => Err(wrong("an interval is 1000 ms at least and ten years at most")),
            },
            "at" => Ok(Self::At(number()?)),
            _ => Err(wrong("it begins with none of cron, every, at")),
        }
    }
}

impl Schedule {
    /// The first time after `now` of a new entry; `None` when there is none.
    #[must_use]
    pub fn first_after(&self, now_ms: i64) -> Option<i64> {
        match self {
            Self::At(at) => (*at > now_ms && at.saturating_sub(now_ms) <= FARTHEST).then_some(*at),
            Self::Every(every) => Some(now_ms.saturating_add(*every)),
            Self::Cron(cron) => {
                let start = Local.timestamp_millis_opt(now_ms).single()?;
                Some(cron.find_next_occurrence(&start, false).ok()?.timestamp_millis())
            }
        }
    }

    /// The next time after one at `due` that fired at `now`. Times that passed meanwhile (the gateway was down) are
    /// not made up for; an interval keeps its beat.
    #[must_use]
    pub fn next_after(&self, now_ms: i64, due_ms: i64) -> Option<i64> {
        match self {
            Self::At(_) => None,
            Self::Every(every) => {
                let passed = now_ms.saturating_sub(due_ms).max(0) / every;
                Some(due_ms.saturating_add((passed + 1).saturating_mul(*every)))
            }
            Self::Cron(_) => self.first_after(now_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_and_what_is_none() {
        let next = |text: &str, now| text.parse::<Schedule>().unwrap().first_after(now);
        assert_eq!(next("every 60000", 5), Some(60_005));
        assert_eq!(next("at 1000", 5), Some(1_000));
        assert_eq!(next("at 1000", 5_000), None, "past");
        let minute = next("cron * * * * *", 1_700_000_000_000).unwrap();
        assert_eq!(minute % 60_000, 0);
        assert!(minute > 1_700_000_000_000 && minute <= 1_700_000_060_000);
        for bad in ["", "cron", "cron * * * *", "cron 61 * * * *", "every 1", "every x", "every -5", "at soon", "daily 5", "cron @daily"] {
            let error = bad.parse::<Schedule>().unwrap_err().to_string();
            assert!(error.contains("every MILLISECONDS"), "{error}");
        }
    }

    #[test]
    fn an_interval_keeps_its_beat_and_makes_nothing_up() {
        let every = "every 1000".parse::<Schedule>().unwrap();
        assert_eq!(every.next_after(10_010, 10_000), Some(11_000));
        assert_eq!(every.next_after(15_500, 10_000), Some(16_000), "five missed ones fire once");
        assert_eq!("at 5".parse::<Schedule>().unwrap().next_after(6, 5), None);
    }
}
