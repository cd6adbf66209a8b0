//! What a session needs before it can be worked in, sent in one go so that it costs one round trip: events on, our
//! script in a world of its own in every document, rules in place, and only then a page that waits may begin.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::session::Stage;
use super::state::Reaction;
use super::{BINDING, SCRIPT, Tab, WORLD};
use crate::error::BrowserError;

/// How long a page may take to answer for the first time; longer than any healthy renderer needs on a busy machine.
const FIRST_ANSWER: Duration = Duration::from_secs(8);
/// How long the browser's own process may take to answer when a page did not.
const BROWSER_ANSWER: Duration = Duration::from_secs(2);

impl Tab {
    /// Sets the tab's session up unless that is done.
    ///
    /// # Errors
    /// Whatever the tab cannot be reached for; `TabUnusable` when its page does not answer.
    pub(crate) async fn ensure_ready(self: &Arc<Self>) -> Result<(), BrowserError> {
        if self.first_answer().await? { Ok(()) } else { Err(self.silent().await) }
    }

    /// The same, but answers false when the page does not answer (yet). What was sent to it stays sent, so that the rules
    /// hold and the session is ready as soon as the page goes on.
    ///
    /// # Errors
    /// Whatever the tab cannot be reached for.
    pub(crate) async fn first_answer(self: &Arc<Self>) -> Result<bool, BrowserError> {
        self.begin_set_up();
        let answered = self.wait_for(FIRST_ANSWER, |s| match s.session.stage() {
            Stage::Ready => Some(Ok(true)),
            Stage::Failed(error) => Some(Err(error.clone())),
            Stage::SettingUp => None,
            // It was lost meanwhile; whoever asked for it begins again.
            Stage::None => Some(Err(BrowserError::TabUnusable {
                tab: self.id,
                reason: "its debugging session ended at this moment; try again".to_owned(),
            })),
        });
        answered.await.unwrap_or(Ok(false))
    }

    /// Why a page does not answer: a dialog that was open before we came blocks it and cannot be answered from here.
    async fn silent(&self) -> BrowserError {
        let asked = self.send("Page.getNavigationHistory", json!({}));
        match tokio::time::timeout(BROWSER_ANSWER, asked).await {
            Ok(Err(error)) => error,
            Ok(Ok(_)) => BrowserError::TabUnusable {
                tab: self.id,
                reason: "its page does not answer: a dialog (alert, confirm or prompt) stands open in it since before Deskhand came to this tab, or its scripts are busy. Close the dialog in the browser, or open an address with browser_navigate, which ends it".to_owned(),
            },
            Err(_) => BrowserError::TimedOut { what: "the browser does not answer".to_owned(), after: FIRST_ANSWER + BROWSER_ANSWER },
        }
    }

    fn begin_set_up(self: &Arc<Self>) {
        let Some(number) = self.look(|s| s.session.begin()) else { return };
        let tab = Arc::clone(self);
        tokio::spawn(async move {
            let done = tab.set_up(None).await;
            tab.change(|s| s.session.done(number, done));
        });
    }

    async fn set_up(&self, session: Option<Arc<str>>) -> Result<(), BrowserError> {
        let patterns: Vec<Value> = self.policy.patterns().iter().map(|p| json!({"urlPattern": p})).collect();
        let mut orders = vec![
            ("Page.enable", json!({})),
            ("Page.getFrameTree", json!({})),
            ("Runtime.enable", json!({})),
            ("Runtime.addBinding", json!({"name": BINDING, "executionContextName": WORLD})),
            ("Page.addScriptToEvaluateOnNewDocument", json!({"source": SCRIPT, "worldName": WORLD, "runImmediately": true})),
            ("Page.setLifecycleEventsEnabled", json!({"enabled": true})),
            ("Fetch.enable", json!({"patterns": patterns})),
            (
                "Target.setAutoAttach",
                json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": [{"type": "iframe"}, {"type": "worker"}]}),
            ),
        ];
        if session.is_none() {
            // A tab behind others counts as focused and visible for its page, so that keys arrive and frames are drawn.
            orders.push(("Emulation.setFocusEmulationEnabled", json!({"enabled": true})));
        }
        orders.push(("Runtime.runIfWaitingForDebugger", json!({})));
        let sent = orders.into_iter().map(|(method, params)| self.send_to(session.clone(), method, params));
        let answers = futures_util::future::join_all(sent).await;
        for needed in [0, 1, 2, 4] {
            if let Err(error) = &answers[needed] {
                return Err(error.clone());
            }
        }
        if let Ok(tree) = &answers[1] {
            self.change(|s| s.frames.tree(&tree["frameTree"], session.as_ref()));
        }
        Ok(())
    }

    /// A worker of the page: its requests go by the same rules. Nothing else is asked of it. Service and shared workers
    /// belong to no page; a browser of our own cannot reach what is blocked at all ([`Policy::unreachable`]).
    ///
    /// [`Policy::unreachable`]: crate::policy::Policy::unreachable
    async fn set_up_worker(&self, session: Arc<str>) -> Result<(), BrowserError> {
        let patterns: Vec<Value> = self.policy.patterns().iter().map(|p| json!({"urlPattern": p})).collect();
        let nested = json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": [{"type": "worker"}]});
        let sent = [
            ("Fetch.enable", json!({"patterns": patterns})),
            ("Target.setAutoAttach", nested),
            ("Runtime.runIfWaitingForDebugger", json!({})),
        ]
        .map(|(method, params)| self.send_to(Some(session.clone()), method, params));
        // A dedicated worker knows no `Fetch` of its own: its requests are stopped in the session of its page.
        let mut answers = futures_util::future::join_all(sent).await;
        answers.pop().map_or(Ok(()), |began| began.map(drop))
    }

    /// Takes in one event and sends what it calls for, without holding up the next event.
    pub(crate) fn on_event(self: &Arc<Self>, session: Option<&Arc<str>>, method: &str, params: &Value) {
        let mut reaction = None;
        self.change(|s| reaction = s.event(session, method, params, &self.policy));
        let Some(reaction) = reaction else { return };
        let tab = Arc::clone(self);
        tokio::spawn(async move {
            let sent = match reaction {
                Reaction::Dialog { session, accept } => {
                    tab.send_to(session, "Page.handleJavaScriptDialog", json!({"accept": accept})).await.map(drop)
                }
                Reaction::Request { session, id, allow: true } => {
                    tab.send_to(session, "Fetch.continueRequest", json!({"requestId": id})).await.map(drop)
                }
                Reaction::Request { session, id, allow: false } => {
                    tab.send_to(session, "Fetch.failRequest", json!({"requestId": id, "errorReason": "BlockedByClient"})).await.map(drop)
                }
                Reaction::Child { session } => tab.set_up(Some(session)).await,
                Reaction::Worker { session } => tab.set_up_worker(session).await,
            };
            if let Err(error) = sent {
                tracing::debug!(tab = tab.id, %error, "an answer to the page did not arrive");
            }
        });
    }
}
