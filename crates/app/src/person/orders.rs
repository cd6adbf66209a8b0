//! What the person says about AI control itself: on, longer, held, off, and the answers to questions.

use super::{Person, groups};
use deskhand_core::{Answer, Callers, GateState, Grant, Group};
use serde::Deserialize;
use std::time::{Duration, SystemTime};

/// What "Authorize AI control" is to grant.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GrantWish {
    /// Names of groups.
    pub groups: Vec<String>,
    /// For so long, parts of a minute too; absent: until it is stopped.
    pub minutes: Option<f64>,
    /// Identities of callers; absent: everybody with a token.
    pub callers: Option<Vec<String>>,
}

/// The person's answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Only this call.
    Once,
    /// Until AI control ends.
    Session,
    /// Whenever AI control is on.
    Always,
    /// Not.
    Refuse,
    /// AI control is to be on.
    Authorize,
}

/// Shortest grant, in minutes: a second.
const SHORTEST: f64 = 1.0 / 60.0;
/// Longest grant, in minutes: a week. Who wants more means "until I stop".
const LONGEST: u32 = 7 * 24 * 60;

impl GrantWish {
    fn grant(&self) -> Result<Grant, String> {
        let groups = groups(&self.groups)?;
        if groups.is_empty() {
            return Err("Choose at least one thing that AI agents may do.".into());
        }
        let callers = match &self.callers {
            None => Callers::Everyone,
            Some(ids) if ids.is_empty() => return Err("Choose at least one AI client.".into()),
            Some(ids) => Callers::Only(ids.iter().cloned().collect()),
        };
        match self.minutes {
            None => Ok(Grant::lasting(groups, callers)),
            Some(minutes) if (SHORTEST..=f64::from(LONGEST)).contains(&minutes) => {
                Ok(Grant::timed(groups, callers, Duration::from_secs_f64(minutes * 60.0)))
            }
            Some(_) => Err("The time must be between a second and a week.".into()),
        }
    }
}

fn time(minutes: u32) -> Duration {
    Duration::from_secs(u64::from(minutes) * 60)
}

impl Person {
    /// Authorises AI control.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn authorize(&self, wish: &GrantWish) -> Result<(), String> {
        self.may_go_up()?;
        let grant = wish.grant()?;
        if self.0.running.lock().is_none() {
            return Err("Deskhand does not run now; see what it says in its window.".into());
        }
        // A pause is lifted by its own order alone.
        if matches!(self.0.gate.state(), GateState::Paused { .. }) {
            return Err("AI control is paused: resume it, or stop it first.".into());
        }
        self.0.gate.authorise(grant.clone());
        self.0.questions.authorised(&grant);
        Ok(())
    }

    /// What the tray's menu grants: every group that is switched on, for everybody with a token.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn authorize_all(&self, minutes: Option<u32>) -> Result<(), String> {
        let disabled = self.0.gate.disabled();
        let groups = Group::ALL.into_iter().filter(|g| !disabled.has(*g)).map(|g| g.name().to_owned()).collect();
        self.authorize(&GrantWish { groups, minutes: minutes.map(f64::from), callers: None })
    }

    /// Lets AI control last longer.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn extend(&self, minutes: u32) -> Result<(), String> {
        self.may_go_up()?;
        let GateState::Authorised { groups, callers, until } = self.0.gate.state() else {
            return Err("AI control is not on, so there is nothing to extend.".into());
        };
        let Some(until) = until else { return Ok(()) };
        let left = until.duration_since(SystemTime::now()).unwrap_or_default();
        let time = left.saturating_add(time(minutes)).min(time(LONGEST));
        self.0.gate.authorise(Grant::timed(groups, callers, time));
        Ok(())
    }

    /// Holds AI control. Always possible.
    pub fn pause(&self) {
        self.0.gate.pause("the person paused AI control; they resume it in Deskhand (or with `deskhand resume`)");
        self.release();
    }

    /// Lets AI control go on.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn resume(&self) -> Result<(), String> {
        self.may_go_up()?;
        self.0.gate.resume();
        Ok(())
    }

    /// Ends AI control. Always possible.
    pub fn stop(&self) {
        self.0.gate.stop("the person stopped it in Deskhand");
        self.release();
    }

    /// Every key and button that is held comes up, whatever the calls that pressed them are doing.
    fn release(&self) {
        let desktop = self.0.running.lock().as_ref().map(|running| running.host.desktop.clone());
        if let Some(desktop) = desktop {
            std::thread::spawn(move || desktop.release_all());
        }
    }

    /// Answers the question on the screen.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn answer(&self, id: u64, reply: Reply, wish: Option<&GrantWish>) -> Result<(), String> {
        if reply != Reply::Refuse {
            self.may_go_up()?;
        }
        let answer = match reply {
            Reply::Once => Answer::Once,
            Reply::Session => Answer::Session,
            Reply::Always => Answer::Always,
            Reply::Refuse => Answer::Refuse,
            Reply::Authorize => Answer::Authorize(wish.ok_or("This answer must say what is granted.")?.grant()?),
        };
        self.0.questions.answer(id, answer).map_err(str::to_owned)
    }
}
