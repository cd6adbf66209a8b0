//! The gate: nothing runs without a [`Permit`], and only this module can make one.
//!
//! States are off → authorised → paused → off. The person alone moves it up; time, stop, screen lock and sign-out move it
//! down. Every authorisation is a generation of its own: stopping or pausing ends the generation, and with it every
//! call that holds a permit of it.

mod prompts;
mod state;

use crate::{Caller, Callers, Consent, Grant, GroupSet, PromptKind, Standing, ToolError};
use parking_lot::Mutex;
use prompts::{Key, Open, Verdict};
use state::State;
pub use state::{Halt, Permit};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use tokio::time::Instant;

/// What the gate stands at, for people to see.
#[derive(Clone, Debug, PartialEq)]
pub enum GateState {
    /// Nothing is allowed.
    Off {
        /// What ended it, or that it never began.
        why: String,
    },
    /// AI control is on.
    Authorised {
        /// The groups granted.
        groups: GroupSet,
        /// For whom.
        callers: Callers,
        /// When it ends by itself.
        until: Option<SystemTime>,
    },
    /// On, and held.
    Paused {
        /// By what, and who resumes.
        why: String,
    },
}

/// See the module. A handle: clones are the same gate.
#[derive(Clone)]
pub struct Gate {
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    consent: Option<Arc<dyn Consent>>,
    open: Mutex<HashMap<Key, Open>>,
    next_prompt: AtomicU64,
    changed: watch::Sender<u64>,
    policy: Option<GroupSet>,
}

/// One call before the gate.
pub(crate) struct Request<'a> {
    pub caller: &'a Caller,
    pub tool: &'a str,
    pub groups: GroupSet,
    /// Whether a success of the tool means having looked (then `look_again` does not hold it back).
    pub looks: bool,
    /// The arguments as the audit log writes them.
    pub shown: &'a serde_json::Value,
    /// Digest of the parsed arguments, private ones included; equal digests are equal calls.
    pub digest: [u8; 32],
}

impl Gate {
    /// A gate whose whole policy is `groups`, given at start: what is outside of it is denied and nobody is asked.
    #[must_use]
    pub fn headless(groups: GroupSet) -> Self {
        let gate = Self::build(None, GroupSet::NONE, Some(groups));
        if !groups.is_empty() {
            gate.authorise(Grant::lasting(groups, Callers::Everyone));
        }
        gate
    }

    /// A gate that begins off and asks the person through `consent`. `disabled` groups are not listed and not asked for.
    #[must_use]
    pub fn asking(consent: Arc<dyn Consent>, disabled: GroupSet) -> Self {
        Self::build(Some(consent), disabled, None)
    }

    fn build(consent: Option<Arc<dyn Consent>>, disabled: GroupSet, policy: Option<GroupSet>) -> Self {
        let inner = Inner {
            state: Mutex::new(State::off(disabled)),
            consent,
            open: Mutex::default(),
            next_prompt: AtomicU64::new(1),
            changed: watch::Sender::new(0),
            policy,
        };
        Self { inner: Arc::new(inner) }
    }

    fn notify(&self) {
        self.inner.changed.send_modify(|n| *n += 1);
    }

    /// Wakes at every change of state, groups or standing decisions.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changed.subscribe()
    }

    /// What it stands at now.
    #[must_use]
    pub fn state(&self) -> GateState {
        let state = self.inner.state.lock();
        match (&state.grant, &state.paused) {
            (Some(grant), _) if grant.expired() => GateState::Off { why: "its time ran out".into() },
            (Some(_), Some(why)) => GateState::Paused { why: why.clone() },
            (Some(g), None) => GateState::Authorised { groups: g.groups, callers: g.callers.clone(), until: g.until() },
            (None, _) => GateState::Off { why: state.why_off.clone() },
        }
    }

    /// The person authorises AI control. Replaces an earlier grant; calls that run under the earlier one go on.
    pub fn authorise(&self, grant: Grant) {
        let mut state = self.inner.state.lock();
        if state.grant.is_none() {
            state.generation = Arc::default();
        }
        state.grant = Some(grant);
        state.refused_control.clear();
        drop(state);
        self.notify();
    }

    /// Ends AI control: every running call ends, what was allowed for the session is forgotten.
    pub fn stop(&self, why: &str) {
        let mut state = self.inner.state.lock();
        let had = state.grant.take().is_some();
        state.paused = None;
        state.session.clear();
        state.armed.clear();
        if had {
            state.why_off = why.to_owned();
        }
        state.generation.end(Halt::Stopped(why.to_owned()));
        drop(state);
        for (_, question) in self.inner.open.lock().drain() {
            question.withdrawn.cancel();
        }
        self.notify();
    }

    /// Ends every running call and allows new ones at once: what they relied on is gone.
    pub fn interrupt(&self, why: &str) {
        let mut state = self.inner.state.lock();
        let old = std::mem::take(&mut state.generation);
        old.end(Halt::Stopped(why.to_owned()));
        if state.grant.is_none() || state.paused.is_some() {
            state.generation = old;
        }
    }

    /// Whether the person can be asked; without it the policy given at start decides.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.inner.consent.is_some()
    }

    /// Holds AI control: running calls end, later ones answer `paused` with this text until [`Gate::resume`].
    /// Nothing happens when it is off. `why` says by what, and who resumes it.
    pub fn pause(&self, why: &str) {
        let mut state = self.inner.state.lock();
        if state.grant.is_none() || state.paused.is_some() {
            return;
        }
        state.paused = Some(why.to_owned());
        state.generation.end(Halt::Paused(why.to_owned()));
        drop(state);
        self.notify();
    }

    /// The person lets it go on. Every caller must look at the screen before it uses mouse or keyboard again.
    pub fn resume(&self) {
        let mut state = self.inner.state.lock();
        if state.paused.take().is_none() {
            return;
        }
        state.generation = Arc::default();
        drop(state);
        self.require_look("AI control was paused and the screen may have changed");
        self.notify();
    }

    /// Makes mouse and keyboard tools answer `look_again` until the caller has looked.
    pub fn require_look(&self, reason: &str) {
        let mut state = self.inner.state.lock();
        state.look_epoch += 1;
        reason.clone_into(&mut state.look_reason);
    }

    /// `caller` has seen the screen as it is now.
    pub(crate) fn looked(&self, caller: &Caller) {
        let mut state = self.inner.state.lock();
        if state.look_epoch > 0 {
            let epoch = state.look_epoch;
            state.looked.insert(caller.scope(), epoch);
        }
    }

    /// Forgets what belongs to a conversation that ended.
    pub(crate) fn session_ended(&self, caller: &Caller) {
        self.inner.state.lock().looked.remove(&caller.scope());
    }

    /// Switches groups off (not listed, denied) and on, as the permissions page says.
    pub fn set_disabled(&self, disabled: GroupSet) {
        self.inner.state.lock().disabled = disabled;
        self.notify();
    }

    /// The groups that are switched off.
    #[must_use]
    pub fn disabled(&self) -> GroupSet {
        self.inner.state.lock().disabled
    }

    /// The remembered decisions: "always" and refusals.
    #[must_use]
    pub fn standing(&self) -> Vec<Standing> {
        self.inner.state.lock().standing.iter().cloned().collect()
    }

    /// Replaces the remembered decisions: loaded at start, or changed by the person.
    pub fn set_standing(&self, standing: impl IntoIterator<Item = Standing>) {
        self.inner.state.lock().standing = standing.into_iter().collect();
        self.notify();
    }

    /// Takes everything back that was decided about the caller of this identity.
    pub fn forget(&self, caller_id: &str) {
        let mut state = self.inner.state.lock();
        state.standing.retain(|s| s.caller != caller_id);
        state.session.retain(|(id, _)| id != caller_id);
        state.refused_control.remove(caller_id);
        state.armed.retain(|a| a.caller != caller_id);
        drop(state);
        self.notify();
    }

    /// Runs for ever: ends AI control when its time is over. The composition root spawns it once.
    pub async fn expire(&self) {
        let mut changes = self.changes();
        loop {
            let left = self.inner.state.lock().grant.as_ref().and_then(Grant::remaining);
            match left {
                Some(left) if left.is_zero() => self.stop("its time ran out"),
                // The wall clock may be moved meanwhile, so no wait is longer than a few seconds.
                Some(left) => {
                    let _ = tokio::time::timeout(left.min(Duration::from_secs(5)), changes.changed()).await;
                }
                None => {
                    if changes.changed().await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// Lets a call through, asking the person where that is the way, and waiting at most 5 s for the answer.
    pub(crate) async fn admit(&self, request: &Request<'_>, deadline: Instant) -> Result<Permit, ToolError> {
        let patience = deadline.min(Instant::now() + prompts::PATIENCE);
        loop {
            let kind = match self.decide(request)? {
                Ok(permit) => return Ok(permit),
                Err(kind) => kind,
            };
            match self.question(request, kind, patience).await? {
                Verdict::Answered => {}
                Verdict::Unanswered => {
                    return Err(ToolError::denied(format!(
                        "nobody answered whether {} may be used; ask the person, then try again",
                        request.groups
                    )));
                }
                Verdict::Waiting => return Err(prompts::pending(request, kind)),
            }
        }
    }

    /// A permit, or the question that has to be put first.
    fn decide(&self, request: &Request<'_>) -> Result<Result<Permit, PromptKind>, ToolError> {
        let mut state = self.inner.state.lock();
        let off = request.groups.both(state.disabled);
        if !off.is_empty() {
            return Err(ToolError::denied(format!(
                "{off} is switched off on Deskhand's permissions page; the person can switch it on there"
            )));
        }
        let id = request.caller.id();
        let grant = match &state.grant {
            Some(grant) if !grant.expired() => grant,
            _ => return self.off(&state, &id),
        };
        if let Some(why) = &state.paused {
            return Err(ToolError::paused(why.clone()));
        }
        let granted = if grant.callers.includes(request.caller) { grant.groups } else { GroupSet::NONE };
        let kept: GroupSet = request.groups.iter().filter(|g| state.allows(&id, *g)).collect();
        let refused = request.groups.iter().find(|g| state.standing.contains(&Standing { caller: id.clone(), group: *g, allowed: false }));
        if let Some(group) = refused {
            return Err(ToolError::denied(format!(
                "the person refused {group} to {}; only they can change that, on Deskhand's permissions page",
                request.caller
            )));
        }
        let missing = request.groups.without(granted.with(kept));
        if let Some(group) = missing.iter().next()
            && !prompts::take_armed(&mut state.armed, &id, request)
        {
            return match self.inner.policy {
                Some(policy) => Err(ToolError::denied(format!(
                    "this worker was started without {group} (--authorize {}); start it with --authorize {}",
                    list(policy),
                    list(policy.with(missing))
                ))),
                None => Ok(Err(PromptKind::Group(group))),
            };
        }
        state.check_look(request)?;
        Ok(Ok(state.permit(request.groups)))
    }

    fn off(&self, state: &State, id: &str) -> Result<Result<Permit, PromptKind>, ToolError> {
        if let Some(policy) = self.inner.policy {
            let next =
                if policy.is_empty() { "start the worker with --authorize GROUP,… or all" } else { "only the person can start it again" };
            return Err(ToolError::denied(format!("AI control is off: {}; {next}", state.why_off)));
        }
        if state.refused_control.contains(id) {
            return Err(ToolError::denied("the person refused AI control; only they can authorise it, in Deskhand"));
        }
        Ok(Err(PromptKind::Authorize))
    }
}

fn list(groups: GroupSet) -> String {
    if groups.is_empty() { "(none)".into() } else { groups.to_string().replace(", ", ",") }
}
