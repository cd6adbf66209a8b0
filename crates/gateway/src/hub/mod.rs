//! The hub: which executors are connected, and the way of a call to one of them and back.
//!
//! One link per user and service; a newer one replaces the older. A call waits for its answer 30 s at most. When the
//! socket is lost in between and the executor announced Deskhand's additions, the call is sent again, with the same
//! key, to the same running executor once it is back: its ledger of keys answers or runs it, but never twice. To a
//! restarted executor (which has no ledger of the old one) nothing is sent again.

mod frames;
mod link;
pub(crate) mod socket;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::answer::Answer;
pub(crate) use link::Close;
use link::Exchange;
pub(crate) use link::Link;

/// A call is given up after this.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a call that lost its socket waits for the same executor to come back.
const COMEBACK: Duration = Duration::from_secs(10);

/// The two services an executor offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Service {
    /// `computer_*`.
    Computer,
    /// `browser_*`.
    Browser,
}

impl Service {
    /// Both, in the order they are listed.
    pub const ALL: [Self; 2] = [Self::Browser, Self::Computer];

    /// As in paths and tool prefixes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Computer => "computer",
            Self::Browser => "browser",
        }
    }

    /// The service of a tool, by its prefix.
    #[must_use]
    pub fn of_tool(tool: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|service| tool.strip_prefix(service.name()).is_some_and(|rest| rest.starts_with('_')))
    }
}

/// How a call ended, for counters and the list of last calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The executor answered with a result.
    Answered,
    /// The executor answered with an error.
    Refused,
    /// No executor was connected.
    NotConnected,
    /// No answer in time.
    TimedOut,
    /// The socket was lost and the executor did not come back.
    Lost,
    /// Too many calls of this user in flight.
    Busy,
}

/// Connected executors.
#[derive(Debug)]
pub struct Hub {
    links: Mutex<HashMap<(Service, String), Arc<Link>>>,
    changed: watch::Sender<()>,
    serial: AtomicU64,
    limits: HubLimits,
    clock: Clock,
}

/// Bounds of the hub.
#[derive(Clone, Copy, Debug)]
pub struct HubLimits {
    /// Executor sockets at once.
    pub connections: usize,
    /// Calls in flight per executor socket.
    pub calls_per_link: usize,
}

impl Default for HubLimits {
    fn default() -> Self {
        Self { connections: 20_000, calls_per_link: 64 }
    }
}

/// The gateway's own time line for deadlines: Unix milliseconds at start, then monotonic, so that a jump of the
/// system clock moves no deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
    start_ms: i64,
}

impl Clock {
    fn new() -> Self {
        Self { start: Instant::now(), start_ms: crate::store::now_ms() }
    }

    fn at_ms(&self, at: Instant) -> i64 {
        let since = at.saturating_duration_since(self.start).as_millis();
        self.start_ms.saturating_add(i64::try_from(since).unwrap_or(i64::MAX))
    }

    fn now_ms(&self) -> i64 {
        self.at_ms(Instant::now())
    }
}

impl Hub {
    /// An empty hub.
    #[must_use]
    pub fn new(limits: HubLimits) -> Self {
        Self { links: Mutex::new(HashMap::new()), changed: watch::Sender::new(()), serial: AtomicU64::new(1), limits, clock: Clock::new() }
    }

    /// Runs `tool` on the user's executor and waits for what comes of it. Dropping the future cancels the call.
    pub async fn call(&self, user: &str, service: Service, tool: &str, params: &Value) -> (Answer, Ending) {
        let deadline = Instant::now() + CALL_TIMEOUT;
        let Some(mut link) = self.link(user, service) else {
            return (not_connected(service), Ending::NotConnected);
        };
        let key = uuid::Uuid::new_v4().simple().to_string();
        let call = link::Call { tool, params, key: &key, deadline, deadline_ms: self.clock.at_ms(deadline) };
        loop {
            match link.exchange(&call).await {
                Exchange::Answered(answer) => {
                    let ending = if answer.is_error { Ending::Refused } else { Ending::Answered };
                    return (answer, ending);
                }
                Exchange::TimedOut => return (timed_out(tool), Ending::TimedOut),
                Exchange::Busy => return (busy(self.limits.calls_per_link), Ending::Busy),
                Exchange::Lost => match self.same_again(&link, deadline.min(Instant::now() + COMEBACK)).await {
                    Some(next) => link = next,
                    None => return (lost(service, tool), Ending::Lost),
                },
            }
        }
    }

    /// The newer link of the very executor that `old` was of, once it is there and has said so.
    async fn same_again(&self, old: &Link, until: Instant) -> Option<Arc<Link>> {
        let instance = old.instance()?;
        let mut changes = self.changed.subscribe();
        loop {
            if let Some(link) = self.link(old.user(), old.service())
                && link.serial() != old.serial()
                && let Some(found) = link.instance()
            {
                // A restarted executor does not know what the old one ran.
                return (found == instance).then_some(link);
            }
            timeout_at(until, changes.changed()).await.ok()?.ok()?;
        }
    }

    /// The user's link, if connected.
    #[must_use]
    pub fn link(&self, user: &str, service: Service) -> Option<Arc<Link>> {
        // The key is owned by the map; a look-up by parts would need an own map type for no gain.
        self.links.lock().get(&(service, user.to_owned())).cloned()
    }

    /// Makes `link` the one of its user and service; the older one is closed with code 1000. False when the hub is full.
    pub(crate) fn register(&self, link: &Arc<Link>) -> bool {
        let older = {
            let mut links = self.links.lock();
            let key = (link.service(), link.user().to_owned());
            if links.len() >= self.limits.connections && !links.contains_key(&key) {
                return false;
            }
            links.insert(key, Arc::clone(link))
        };
        if let Some(older) = older {
            older.close(Close::Replaced);
        }
        self.changed.send_replace(());
        true
    }

    /// Forgets `link`, unless a newer one took its place.
    pub(crate) fn deregister(&self, link: &Link) {
        let mut links = self.links.lock();
        let key = (link.service(), link.user().to_owned());
        if links.get(&key).is_some_and(|present| present.serial() == link.serial()) {
            links.remove(&key);
            if links.len() < links.capacity() / 4 {
                links.shrink_to_fit();
            }
        }
        drop(links);
        self.changed.send_replace(());
    }

    pub(crate) fn next_serial(&self) -> u64 {
        self.serial.fetch_add(1, Ordering::Relaxed)
    }

    /// Tells waiting calls and lists that a link said hello.
    pub(crate) fn notify(&self) {
        self.changed.send_replace(());
    }

    /// Changes of who is connected and with which tools.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// All links.
    #[must_use]
    pub fn links(&self) -> Vec<Arc<Link>> {
        self.links.lock().values().cloned().collect()
    }

    /// Number of links.
    #[must_use]
    pub fn connected(&self) -> usize {
        self.links.lock().len()
    }

    /// Closes every link of `user` for the given reason.
    pub fn close_user(&self, user: &str, why: Close) {
        for link in self.links().into_iter().filter(|link| link.user() == user) {
            link.close(why);
        }
    }

    pub(crate) fn limits(&self) -> HubLimits {
        self.limits
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }
}

fn not_connected(service: Service) -> Answer {
    Answer::error(format!(
        "The {0} executor is not connected: this user's Deskhand is not running, not signed in here, or AI control is not authorised on it. Ask the person to start it and authorise AI control, then call again.",
        service.name()
    ))
}

fn timed_out(tool: &str) -> Answer {
    Answer::error(format!(
        "{tool} was given up: the executor did not answer within {} s. It may or may not have acted; look at the screen or page before trying again.",
        CALL_TIMEOUT.as_secs()
    ))
}

fn lost(service: Service, tool: &str) -> Answer {
    Answer::error(format!(
        "{tool} has no answer: the {} executor's connection was lost while it ran. It may or may not have acted; look at the screen or page before trying again.",
        service.name()
    ))
}

fn busy(most: usize) -> Answer {
    Answer::error(format!("The executor has {most} calls in flight already; wait for some of them, then call again."))
}
