//! When to give up: a token that somebody may pull and a time after which nothing may act any more.
//!
//! Long actions look here between events, so that a cancel acts within a few milliseconds of being pulled.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result, Stop};

/// A cancel token and an optional deadline, handed to every action that can take longer than a moment.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    token: CancellationToken,
    deadline: Option<Instant>,
}

impl Cancel {
    /// Never gives up by itself.
    #[must_use]
    pub fn never() -> Self {
        Self::default()
    }

    /// Gives up when `token` is cancelled or `deadline` has passed.
    #[must_use]
    pub fn new(token: CancellationToken, deadline: Option<Instant>) -> Self {
        Self { token, deadline }
    }

    /// What has happened so far, if anything.
    #[must_use]
    pub fn stopped(&self) -> Option<Stop> {
        if self.token.is_cancelled() {
            Some(Stop::Cancelled)
        } else if self.deadline.is_some_and(|at| Instant::now() >= at) {
            Some(Stop::TimedOut)
        } else {
            None
        }
    }

    /// An error when the action must end now.
    ///
    /// # Errors
    /// [`Error::Cancelled`] or [`Error::TimedOut`].
    pub fn check(&self) -> Result<()> {
        match self.stopped() {
            None => Ok(()),
            Some(Stop::TimedOut) => Err(Error::TimedOut),
            Some(_) => Err(Error::Cancelled),
        }
    }

    /// When the action must have ended, if that is known.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Waits for `pause`, or less when the action must end before that.
    ///
    /// # Errors
    /// As [`Cancel::check`].
    pub fn pause(&self, pause: Duration) -> Result<()> {
        let until = Instant::now() + pause;
        loop {
            self.check()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(5)));
        }
    }
}
