//! What a session needs before it can be worked in, sent in one go so that it costs one round trip: events on, our
//! script in a world of its own in every document, rules in place, and only then a page that waits may begin.

use std::sync::Arc;

use serde_json::{Value, json};

use super::state::Reaction;
use super::{BINDING, SCRIPT, Tab, WORLD};
use crate::error::BrowserError;

impl Tab {
    /// Sets the tab's session up unless that is done.
    ///
    /// # Errors
    /// Whatever the tab cannot be reached for.
    pub(crate) async fn ensure_ready(self: &Arc<Self>) -> Result<(), BrowserError> {
        if self.look(|s| s.ready) {
            return Ok(());
        }
        let _one = self.setup.lock().await;
        if self.look(|s| s.ready) {
            return Ok(());
        }
        self.set_up(None).await?;
        self.change(|s| s.ready = true);
        Ok(())
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
                json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": [{"type": "iframe"}]}),
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
            };
            if let Err(error) = sent {
                tracing::debug!(tab = tab.id, %error, "an answer to the page did not arrive");
            }
        });
    }
}
