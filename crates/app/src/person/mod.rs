//! The person's side of a worker: what they set, what they are asked, what they see of it, and the orders they give.
//!
//! The tray app is a window onto this; nothing here knows of windows, so all of it is tested without any. The gate lives
//! as long as the app does and the worker is started anew under it when a setting needs that. Whatever gives an agent
//! more than it had passes [`Person::may_go_up`]: an agent's own click must never be the person's word.

pub mod activity;
pub mod folders;
mod orders;
mod preferences;
pub mod questions;
mod running;
pub mod settings;
mod shown;
pub mod snapshot;
mod view;

pub use orders::{GrantWish, Reply};
pub use running::Started;

use self::activity::{Activity, Entry};
use self::questions::Questions;
use self::running::Running;
use self::settings::Settings;
use self::snapshot::Pairing;
use crate::state::StateFolder;
use crate::worker::QUIET;
use anyhow::Result;
use deskhand_core::{Gate, GroupSet, ToolInfo};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

/// See the module. A handle: clones are the same person.
#[derive(Clone)]
pub struct Person(Arc<Inner>);

struct Inner {
    state: StateFolder,
    gate: Gate,
    questions: Questions,
    settings: Mutex<Settings>,
    /// Why the worker does not run, or what of it does not work.
    problem: Mutex<Option<String>>,
    /// What was wrong with the saved settings; told until the person changes one.
    settings_told: Mutex<Option<String>>,
    running: Mutex<Option<Running>>,
    /// Held while the worker is started or ended.
    changing: tokio::sync::Mutex<()>,
    activity: Arc<Activity>,
    /// When each caller last called, since the start.
    seen: Mutex<BTreeMap<String, u64>>,
    pairing: Mutex<Option<Pairing>>,
    tools: Vec<Arc<ToolInfo>>,
    changed: watch::Sender<u64>,
    entries: broadcast::Sender<Entry>,
    tray: AtomicBool,
    over: CancellationToken,
    runtime: tokio::runtime::Handle,
}

impl Person {
    /// Loads what was set. Nothing runs yet: see [`Person::start`]. Must be called inside a runtime.
    ///
    /// # Errors
    /// When the declarations of the tools cannot be read, for want of a temporary folder.
    pub fn new(state: StateFolder) -> Result<Self> {
        let (settings, told) = Settings::load(&state);
        let questions = Questions::default();
        let gate = Gate::asking(Arc::new(questions.clone()), settings.disabled);
        gate.set_standing(settings.standing.clone());
        let activity = Arc::new(Activity::of(state.join("audit.jsonl")));
        Ok(Self(Arc::new(Inner {
            gate,
            questions,
            settings: Mutex::new(settings),
            problem: Mutex::default(),
            settings_told: Mutex::new(told),
            running: Mutex::default(),
            changing: tokio::sync::Mutex::default(),
            activity,
            seen: Mutex::default(),
            pairing: Mutex::default(),
            tools: crate::worker::declared()?,
            changed: watch::Sender::new(0),
            entries: broadcast::channel(256).0,
            tray: AtomicBool::new(false),
            over: CancellationToken::new(),
            runtime: tokio::runtime::Handle::current(),
            state,
        })))
    }

    /// Wakes when a snapshot may differ from the one before.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// Calls as they begin and end.
    #[must_use]
    pub fn entries(&self) -> broadcast::Receiver<Entry> {
        self.0.entries.subscribe()
    }

    /// The log.
    #[must_use]
    pub fn activity(&self) -> Arc<Activity> {
        Arc::clone(&self.0.activity)
    }

    /// The state folder.
    #[must_use]
    pub fn state(&self) -> &StateFolder {
        &self.0.state
    }

    /// The gate.
    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.0.gate
    }

    /// What is set now.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.0.settings.lock().clone()
    }

    /// Says whether a tray shows our icon.
    pub fn set_tray(&self, shown: bool) {
        if self.0.tray.swap(shown, Ordering::Relaxed) != shown {
            self.notify();
        }
    }

    /// Whether a tray shows our icon.
    #[must_use]
    pub fn has_tray(&self) -> bool {
        self.0.tray.load(Ordering::Relaxed)
    }

    /// Ends when the worker was told to end from outside (`deskhand mcp stop`), or [`Person::end`] was called.
    pub async fn over(&self) {
        self.0.over.cancelled().await;
    }

    /// Windows give orders from threads that are no runtime's.
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> tokio::task::JoinHandle<()> {
        self.0.runtime.spawn(work)
    }

    fn notify(&self) {
        self.0.changed.send_modify(|n| *n += 1);
    }

    fn problem(&self, problem: Option<String>) {
        *self.0.problem.lock() = problem;
        self.notify();
    }

    /// Whether what just came may be the person's word. While Deskhand itself presses keys or buttons, holds one, or did so
    /// within the last second, it may be an agent's click.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn may_go_up(&self) -> Result<(), String> {
        let running = self.0.running.lock();
        let hand = running.as_ref().map(|running| running.host.desktop.clone());
        drop(running);
        judge(hand.is_some_and(|desktop| desktop.pressed_within(QUIET)))
    }
}

fn judge(agent_pressed: bool) -> Result<(), String> {
    if agent_pressed {
        return Err("An AI agent pressed a key or button a moment ago, so this could be its own doing. Nothing was changed: \
                    wait a second and try again, or pause AI control first."
            .into());
    }
    Ok(())
}

/// Groups by their names.
fn groups(names: &[String]) -> Result<GroupSet, String> {
    names.iter().map(|name| name.parse::<deskhand_core::Group>()).collect()
}

#[cfg(test)]
mod tests;
