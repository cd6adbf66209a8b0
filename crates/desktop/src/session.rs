//! Whether the person's session is locked.
//!
//! Behind a locker a picture shows nothing and keys go into a password field, so every action asks first. Three things
//! tell: the desktop's screen saver service and logind, which are listened to, and on X11 the locker itself: a window
//! over everything, whose program holds the keyboard. That last question is one round trip and changes nothing: a grab
//! on a window that is not shown is refused, and the refusal says whether somebody else has it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use crate::screen::Display;
use crate::{Error, Result};

/// How often a locker is looked for when nobody asks.
const PERIOD: Duration = Duration::from_millis(500);
/// How long the first question waits for the services' first answer.
const FIRST_ANSWER: Duration = Duration::from_millis(300);

/// What the session is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The person's screen is there.
    Open,
    /// It is locked, and how that is known.
    Locked(String),
}

impl State {
    /// Whether nothing may be done.
    #[must_use]
    pub const fn is_locked(&self) -> bool {
        matches!(self, Self::Locked(_))
    }

    /// `Ok` when open.
    ///
    /// # Errors
    /// [`Error::Locked`].
    pub fn open(self) -> Result<()> {
        match self {
            Self::Open => Ok(()),
            Self::Locked(how) => Err(Error::Locked(how)),
        }
    }
}

/// Whether this process belongs to a Wayland session.
#[must_use]
pub fn is_wayland() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
    cfg!(target_os = "linux") && (set("WAYLAND_DISPLAY").is_some() || set("XDG_SESSION_TYPE").is_some_and(|v| v == "wayland"))
}

/// The session that a display belongs to. A handle: clones are the same session.
#[derive(Clone, Debug)]
pub struct Session {
    display: Arc<Display>,
    services: Arc<Services>,
    changes: watch::Receiver<State>,
}

/// What the services last said.
#[derive(Debug, Default)]
struct Services {
    locked: AtomicBool,
    answered: AtomicBool,
}

impl Session {
    /// Begins to listen, on a thread of its own that ends with this value.
    #[must_use]
    pub fn new(display: Arc<Display>) -> Self {
        let (sender, changes) = watch::channel(State::Open);
        let services = Arc::<Services>::default();
        let watcher = Watcher { display: Arc::clone(&display), services: Arc::clone(&services), sender };
        let started = std::thread::Builder::new().name("session".into()).spawn(move || watcher.run());
        if let Err(error) = started {
            tracing::warn!(%error, "the session cannot be watched; each action still asks");
            services.answered.store(true, Ordering::Release);
        }
        Self { display, services, changes }
    }

    /// The state now. Cheap enough (a fraction of a millisecond) to ask before every action.
    ///
    /// Without a display it is open: the action itself will say what is missing.
    #[must_use]
    pub fn state(&self) -> State {
        let end = std::time::Instant::now() + FIRST_ANSWER;
        while !self.services.answered.load(Ordering::Acquire) && std::time::Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        // A service that hangs is waited for once.
        self.services.answered.store(true, Ordering::Release);
        state(&self.display, &self.services)
    }

    /// Changes of the state, noticed within half a second.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<State> {
        self.changes.clone()
    }
}

fn state(display: &Display, services: &Services) -> State {
    if services.locked.load(Ordering::Acquire) {
        return State::Locked("the desktop's screen lock is on".into());
    }
    locked_by(display).map_or(State::Open, State::Locked)
}

#[cfg(target_os = "linux")]
fn locked_by(display: &Display) -> Option<String> {
    display.ask(locker::found).ok()?
}

#[cfg(not(target_os = "linux"))]
fn locked_by(_: &Display) -> Option<String> {
    None
}

/// Looks and listens until nobody holds a receiver any more.
struct Watcher {
    display: Arc<Display>,
    services: Arc<Services>,
    sender: watch::Sender<State>,
}

impl Watcher {
    fn run(self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        match runtime {
            Ok(runtime) => runtime.block_on(self.watch()),
            Err(error) => {
                tracing::warn!(%error, "the session cannot be watched; each action still asks");
                self.services.answered.store(true, Ordering::Release);
            }
        }
    }

    async fn watch(self) {
        #[cfg(target_os = "linux")]
        let listening = tokio::spawn(bus::listen(Arc::clone(&self.services), self.display.is_own()));
        #[cfg(not(target_os = "linux"))]
        self.services.answered.store(true, Ordering::Release);
        let mut ticks = tokio::time::interval(PERIOD);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.sender.closed() => break,
                _ = ticks.tick() => {}
            }
            #[cfg(target_os = "linux")]
            self.display.trim();
            let now = state(&self.display, &self.services);
            self.sender.send_if_modified(|last| {
                let changed = *last != now;
                *last = now;
                changed
            });
        }
        #[cfg(target_os = "linux")]
        listening.abort();
    }
}

#[cfg(target_os = "linux")]
mod locker;

#[cfg(target_os = "linux")]
mod bus;
