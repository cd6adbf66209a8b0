//! What the gate remembers, and the permits of an authorisation. The gate decides; this holds what it decides on, so
//! that a [`Permit`] can be made from a live state and nowhere else.

use super::Request;
use super::prompts::Armed;
use crate::{Grant, Group, GroupSet, Standing, ToolError};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

/// Why running calls were ended from the person's side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// AI control ended; the text says by what.
    Stopped(String),
    /// AI control is paused; the text says by what, and who resumes it.
    Paused(String),
}

impl Halt {
    /// The error that a call gets which this ended.
    #[must_use]
    pub fn error(&self) -> ToolError {
        match self {
            Self::Stopped(why) => ToolError::cancelled(format!("AI control was stopped: {why}")),
            Self::Paused(why) => ToolError::paused(why.clone()),
        }
    }
}

/// One authorisation, from the moment it begins to the moment it is stopped or paused.
#[derive(Debug, Default)]
pub(super) struct Generation {
    token: CancellationToken,
    halt: OnceLock<Halt>,
}

impl Generation {
    /// Ends every call that holds a permit of it; the first reason stays.
    pub(super) fn end(&self, halt: Halt) {
        let _ = self.halt.set(halt);
        self.token.cancel();
    }
}

/// The proof that the gate let a call through. It cannot be made elsewhere, and ends with the authorisation it came from.
#[derive(Clone, Debug)]
pub struct Permit {
    groups: GroupSet,
    generation: Arc<Generation>,
}

impl Permit {
    /// The groups that it holds for.
    #[must_use]
    pub fn groups(&self) -> GroupSet {
        self.groups
    }

    /// Why it no longer holds, if it does not.
    #[must_use]
    pub fn halted(&self) -> Option<&Halt> {
        self.generation.halt.get()
    }

    /// Waits until it no longer holds.
    pub async fn ended(&self) {
        self.generation.token.cancelled().await;
    }
}

/// All that changes, behind one lock.
pub(super) struct State {
    pub(super) grant: Option<Grant>,
    pub(super) paused: Option<String>,
    pub(super) why_off: String,
    pub(super) generation: Arc<Generation>,
    pub(super) disabled: GroupSet,
    pub(super) session: HashSet<(String, Group)>,
    pub(super) standing: BTreeSet<Standing>,
    pub(super) refused_control: HashSet<String>,
    pub(super) armed: Vec<Armed>,
    pub(super) look_epoch: u64,
    pub(super) look_reason: String,
    pub(super) looked: HashMap<String, u64>,
}

impl State {
    /// Before anybody has authorised anything.
    pub(super) fn off(disabled: GroupSet) -> Self {
        Self {
            grant: None,
            paused: None,
            why_off: "it has not been authorised since the start".into(),
            generation: Arc::default(),
            disabled,
            session: HashSet::new(),
            standing: BTreeSet::new(),
            refused_control: HashSet::new(),
            armed: Vec::new(),
            look_epoch: 0,
            look_reason: String::new(),
            looked: HashMap::new(),
        }
    }

    /// A permit for `groups` that lasts as long as this authorisation.
    pub(super) fn permit(&self, groups: GroupSet) -> Permit {
        Permit { groups, generation: Arc::clone(&self.generation) }
    }

    /// Whether `group` was allowed to the caller of this identity, for this session or always.
    pub(super) fn allows(&self, id: &str, group: Group) -> bool {
        self.session.contains(&(id.to_owned(), group)) || self.standing.contains(&Standing { caller: id.to_owned(), group, allowed: true })
    }

    /// Refuses what aims at a screen that the caller has not seen since it changed.
    pub(super) fn check_look(&self, request: &Request<'_>) -> Result<(), ToolError> {
        let aims = request.groups.has(Group::Mouse) || request.groups.has(Group::Keyboard);
        let seen = self.looked.get(&request.caller.scope()).copied().unwrap_or(0);
        if request.looks || !aims || seen >= self.look_epoch {
            return Ok(());
        }
        Err(ToolError::look_again(format!(
            "{}: take a computer_screenshot (or computer_screen_text) first, then act on what it shows",
            self.look_reason
        )))
    }
}
