//! What the person allowed: which groups, until when, for whom.

use crate::{Caller, Group, GroupSet};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime};

/// For whom a grant holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Callers {
    /// Every caller that has a token.
    Everyone,
    /// Only callers with these identities ([`Caller::id`]).
    Only(BTreeSet<String>),
}

impl Callers {
    /// Whether `caller` is meant.
    #[must_use]
    pub fn includes(&self, caller: &Caller) -> bool {
        match self {
            Self::Everyone => true,
            Self::Only(ids) => ids.contains(&caller.id()),
        }
    }
}

/// What "Authorize AI control" granted.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The groups.
    pub groups: GroupSet,
    /// For whom.
    pub callers: Callers,
    until: Option<(Instant, SystemTime)>,
}

impl Grant {
    /// A grant that lasts until it is taken back.
    #[must_use]
    pub fn lasting(groups: GroupSet, callers: Callers) -> Self {
        Self { groups, callers, until: None }
    }

    /// A grant for `time` from now.
    #[must_use]
    pub fn timed(groups: GroupSet, callers: Callers, time: Duration) -> Self {
        Self { groups, callers, until: Some((Instant::now() + time, SystemTime::now() + time)) }
    }

    /// When it ends by the wall clock; `None` for one that lasts.
    #[must_use]
    pub fn until(&self) -> Option<SystemTime> {
        self.until.map(|(_, wall)| wall)
    }

    /// Time left; `None` for one that lasts. A grant ends when either clock says so: the steady one does not run while the
    /// machine sleeps, and the wall clock can be set back.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        let (steady, wall) = self.until?;
        let by_steady = steady.saturating_duration_since(Instant::now());
        let by_wall = wall.duration_since(SystemTime::now()).unwrap_or_default();
        Some(by_steady.min(by_wall))
    }

    /// Whether it has ended by itself.
    #[must_use]
    pub fn expired(&self) -> bool {
        self.remaining().is_some_and(|left| left.is_zero())
    }
}

/// A remembered decision about one caller and one group: an "always", or a refusal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Standing {
    /// [`Caller::id`].
    pub caller: String,
    /// The group.
    pub group: Group,
    /// `true` for "always", `false` for a refusal.
    pub allowed: bool,
}
