//! How far a tab's protocol session is, and why it cannot be worked in: one set-up at a time, however many ask, and none that outlives its session.

use crate::error::BrowserError;
use crate::transport::TabId;

/// Why a tab cannot be worked in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It is no more, or the person took it back.
    Closed(String),
    /// Its page crashed; opening another page or reloading helps.
    Crashed,
}

impl Lost {
    pub(crate) fn error(&self, tab: TabId) -> BrowserError {
        match self {
            Self::Closed(reason) => BrowserError::NoTab { tab, reason: reason.clone() },
            Self::Crashed => {
                BrowserError::TabUnusable { tab, reason: "its page crashed; use browser_reload or browser_navigate".to_owned() }
            }
        }
    }
}

/// How far it is.
#[derive(Debug, Default)]
pub(crate) enum Stage {
    /// There is none, or it was lost.
    #[default]
    None,
    /// What it needs was sent.
    SettingUp,
    /// It can be worked in.
    Ready,
    /// It could not be set up; the next attempt may succeed.
    Failed(BrowserError),
}

/// The session of a tab, and how many there were.
#[derive(Debug, Default)]
pub(crate) struct Session {
    stage: Stage,
    number: u64,
}

impl Session {
    pub(crate) fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Whether it can be worked in.
    pub(crate) fn ready(&self) -> bool {
        matches!(self.stage, Stage::Ready)
    }

    /// The number of a session that has to be set up now; none while one is, or when it is done.
    pub(crate) fn begin(&mut self) -> Option<u64> {
        if matches!(self.stage, Stage::Ready | Stage::SettingUp) {
            return None;
        }
        self.number += 1;
        self.stage = Stage::SettingUp;
        Some(self.number)
    }

    /// How setting up that session ended; of no interest when it was lost meanwhile.
    pub(crate) fn done(&mut self, number: u64, done: Result<(), BrowserError>) {
        if self.number == number && matches!(self.stage, Stage::SettingUp) {
            self.stage = done.map_or_else(Stage::Failed, |()| Stage::Ready);
        }
    }

    pub(crate) fn lose(&mut self) {
        self.stage = Stage::None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_up_that_outlived_its_session_says_nothing_of_the_next() {
        let mut session = Session::default();
        let first = session.begin().unwrap();
        assert_eq!(session.begin(), None);
        session.lose();
        let second = session.begin().unwrap();
        session.done(first, Ok(()));
        assert!(!session.ready());
        session.done(second, Err(BrowserError::Failed("x".into())));
        assert!(matches!(session.stage(), Stage::Failed(_)));
        let third = session.begin().unwrap();
        session.done(third, Ok(()));
        assert!(session.ready() && session.begin().is_none());
    }
}
