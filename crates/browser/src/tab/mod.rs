//! One tab as the page operations see it: its frames with a script world in each, what happens in it, and a way to run
//! the injected script. Follows Chrome's events, so that an action costs as few round trips as possible: where to
//! evaluate is known before it is asked.

mod frames;
mod notices;
mod progress;
mod session;
mod setup;
mod state;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

pub(crate) use self::frames::{FrameId, World};
pub use self::notices::{Dialog, Downloaded, Happened, OpenedTab};
pub(crate) use self::session::Lost;
pub(crate) use self::state::State;
pub(crate) use self::state::{Moment, Signal};
use crate::error::BrowserError;
use crate::policy::Policy;
use crate::transport::{Route, TabId, Transport};

/// The script that lives in a world of its own in every frame.
const SCRIPT: &str = concat!(include_str!("../script/find.js"), include_str!("../script/act.js"), include_str!("../script/read.js"));
/// The name of that world; pages can neither see nor change it.
const WORLD: &str = "deskhand";
/// What the script calls when an event arrived.
const BINDING: &str = "deskhandTell";
/// How long a frame may take to get its world; longer than any healthy renderer needs.
const WORLD_WAIT: Duration = Duration::from_secs(10);

/// One tab of one browser.
pub(crate) struct Tab {
    pub(crate) id: TabId,
    transport: Arc<dyn Transport>,
    policy: Policy,
    state: Mutex<State>,
    changed: Notify,
}

impl std::fmt::Debug for Tab {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tab").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Tab {
    pub(crate) fn new(id: TabId, transport: Arc<dyn Transport>, policy: Policy) -> Arc<Self> {
        let folder = transport.download_folder().map(|f| f.to_string_lossy().into_owned());
        let state = Mutex::new(State::landing_in(folder));
        Arc::new(Self { id, transport, policy, state, changed: Notify::new() })
    }

    pub(crate) fn transport(&self) -> &Arc<dyn Transport> {
        &self.transport
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// One raw command to the tab itself.
    pub(crate) async fn send(&self, method: &str, params: Value) -> Result<Value, BrowserError> {
        self.send_to(None, method, params).await
    }

    pub(crate) async fn send_to(&self, session: Option<Arc<str>>, method: &str, params: Value) -> Result<Value, BrowserError> {
        let route = Route { tab: self.id, session };
        tokio::select! {
            biased;
            answer = self.transport.send(&route, method, params) => answer.map_err(BrowserError::from),
            lost = self.lost() => Err(lost),
        }
    }

    /// Returns once the tab can no longer be worked in.
    async fn lost(&self) -> BrowserError {
        self.wait(|s| s.lost.as_ref().map(|l| l.error(self.id))).await
    }

    /// Waits until `look` sees in the state what it looks for.
    pub(crate) async fn wait<T>(&self, mut look: impl FnMut(&mut State) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(found) = look(&mut self.state.lock()) {
                return found;
            }
            changed.await;
        }
    }

    /// The same, for a limited time.
    pub(crate) async fn wait_for<T>(&self, limit: Duration, look: impl FnMut(&mut State) -> Option<T>) -> Option<T> {
        tokio::time::timeout(limit, self.wait(look)).await.ok()
    }

    pub(crate) fn look<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock())
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock());
        self.changed.notify_waiters();
    }

    /// The frames in document order, the main one first.
    pub(crate) fn frames(&self) -> Vec<FrameId> {
        self.state.lock().frames.in_order()
    }

    /// Runs a function of the injected script in a frame and reads its answer.
    ///
    /// # Errors
    /// `Navigated` when the frame's document went away meanwhile; whatever the tab fails with.
    pub(crate) async fn run<T: DeserializeOwned>(&self, frame: &FrameId, function: &str, args: &Value) -> Result<T, BrowserError> {
        let (session, world) = self.world(frame).await?;
        let expression = format!("__deskhand.run({},{args})", json!(function));
        let params = json!({"expression": expression, "uniqueContextId": world.unique, "awaitPromise": true, "returnByValue": true});
        let answer = self.send_to(session, "Runtime.evaluate", params).await?;
        if let Some(details) = answer.get("exceptionDetails") {
            let text = details["exception"]["description"].as_str().or(details["text"].as_str()).unwrap_or("unknown");
            return Err(BrowserError::Failed(format!(
                "the page's own state made this impossible ({})",
                text.lines().next().unwrap_or(text)
            )));
        }
        serde_json::from_value(answer["result"]["value"].clone())
            .map_err(|e| BrowserError::Failed(format!("the injected script answered nonsense to {function}: {e}")))
    }

    /// The world of a frame's present document.
    pub(crate) async fn world(&self, frame: &FrameId) -> Result<(Option<Arc<str>>, World), BrowserError> {
        let found = self
            .wait_for(WORLD_WAIT, |s| {
                if let Some(lost) = &s.lost {
                    return Some(Err(lost.error(self.id)));
                }
                match s.frames.get(frame) {
                    None => Some(Err(BrowserError::Navigated("the frame went away".to_owned()))),
                    Some(f) => f.world.clone().map(|w| Ok((f.session.clone(), w))),
                }
            })
            .await;
        found.unwrap_or_else(|| {
            Err(BrowserError::TimedOut { what: "the page does not answer; its own scripts may be busy".to_owned(), after: WORLD_WAIT })
        })
    }

    /// The same in a frame that may be away or not ready: then nothing.
    pub(crate) async fn run_if_ready<T: DeserializeOwned>(&self, frame: &FrameId, function: &str, args: Value) -> Option<T> {
        if self.look(|s| s.frames.get(frame).is_none_or(|f| f.world.is_none())) {
            return None;
        }
        self.run(frame, function, &args).await.ok()
    }

    /// The frame around a frame.
    pub(crate) fn parent_of(&self, frame: &FrameId) -> Option<FrameId> {
        self.look(|s| s.frames.get(frame).and_then(|f| f.parent.clone()))
    }

    /// The session of a frame; none when the frame is gone.
    pub(crate) fn session_of(&self, frame: &FrameId) -> Option<Option<Arc<str>>> {
        self.look(|s| s.frames.get(frame).map(|f| f.session.clone()))
    }

    /// A fresh token, whose signals are kept from now on.
    pub(crate) fn new_token(&self) -> u64 {
        self.look(|s| s.new_token())
    }

    /// The main frame.
    pub(crate) fn main(&self) -> FrameId {
        self.state.lock().frames.main().unwrap_or_default()
    }

    /// The address of the main frame's document.
    pub(crate) fn url(&self) -> String {
        self.state.lock().frames.main_url()
    }

    /// Whether a page is loading.
    pub(crate) fn loading(&self) -> bool {
        let state = self.state.lock();
        state.moment.started.is_some() || !state.loaded()
    }

    /// What happened since this was last asked, for the result of a call.
    pub(crate) fn happened(&self) -> Happened {
        self.state.lock().take_notices()
    }

    /// Time left until `end`.
    pub(crate) fn left(end: Instant) -> Duration {
        end.saturating_duration_since(Instant::now())
    }
}
