//! Programs that attach to the managed Chromium from outside (`cdp_url`, for example Playwright's `connectOverCDP`).
//! Each gets a browser session of its own inside our one connection, so that it sees an ordinary browser, its commands
//! change nothing of ours, and every command passes [`guard`](super::guard).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{Sink, SinkExt, Stream, StreamExt};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Managed;
use super::guard::{self, Verdict};
use crate::error::BrowserError;
use crate::policy::Policy;

/// The attached programs, and which session is whose.
#[derive(Debug, Default)]
pub(super) struct Outsiders {
    next: AtomicU64,
    all: Mutex<Rows>,
}

#[derive(Debug, Default)]
struct Rows {
    /// By number: where to send, and the session that is its browser.
    outsiders: HashMap<u64, (mpsc::UnboundedSender<String>, String)>,
    sessions: HashMap<String, u64>,
}

impl Outsiders {
    fn enter(&self, session: &str) -> (u64, mpsc::UnboundedReceiver<String>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (send, hear) = mpsc::unbounded_channel();
        let mut rows = self.all.lock();
        rows.outsiders.insert(number, (send, session.to_owned()));
        rows.sessions.insert(session.to_owned(), number);
        (number, hear)
    }

    fn leave(&self, number: u64) {
        let mut rows = self.all.lock();
        rows.outsiders.remove(&number);
        rows.sessions.retain(|_, n| *n != number);
    }

    fn owns(&self, number: u64, session: &str) -> bool {
        self.all.lock().sessions.get(session) == Some(&number)
    }

    pub(super) fn clear(&self) {
        *self.all.lock() = Rows::default();
    }

    pub(super) fn reply(&self, number: u64, message: Value) {
        if let Some((send, _)) = self.all.lock().outsiders.get(&number) {
            let _ = send.send(message.to_string());
        }
    }

    /// An event of one of their sessions; learns of sessions that begin and end by it.
    pub(super) fn event(&self, session: &str, method: String, params: Value) {
        let mut rows = self.all.lock();
        let Some(number) = rows.sessions.get(session).copied() else { return };
        match (method.as_str(), params["sessionId"].as_str()) {
            ("Target.attachedToTarget", Some(child)) => {
                rows.sessions.insert(child.to_owned(), number);
            }
            ("Target.detachedFromTarget", Some(child)) => {
                rows.sessions.remove(child);
            }
            _ => {}
        }
        let Some((send, own)) = rows.outsiders.get(&number) else { return };
        let mut message = json!({"method": method, "params": params});
        if session != own {
            message["sessionId"] = session.into();
        }
        let _ = send.send(message.to_string());
    }
}

impl Managed {
    /// Speaks with one attached program until it leaves, `stop` fires or the browser ends. Each item is one JSON text.
    ///
    /// # Errors
    /// [`BrowserError::Unavailable`] when the browser gives it no session.
    pub async fn bridge<S, R>(&self, policy: &Policy, mut sink: S, mut stream: R, stop: CancellationToken) -> Result<(), BrowserError>
    where
        S: Sink<String> + Unpin + Send,
        R: Stream<Item = String> + Unpin + Send,
    {
        let begun = self.cdp.call(None, "Target.attachToBrowserTarget", json!({})).await;
        let session = begun.ok().and_then(|b| b["sessionId"].as_str().map(str::to_owned));
        let session = session.ok_or_else(|| BrowserError::Unavailable("the browser takes no further program now".to_owned()))?;
        let (number, mut hear) = self.outsiders.enter(&session);
        loop {
            let message = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                said = hear.recv() => match said {
                    Some(said) => said,
                    None => break,
                },
                asked = stream.next() => match asked {
                    Some(asked) => match self.asked(number, &session, policy, &asked) {
                        Some(answer) => answer.to_string(),
                        None => continue,
                    },
                    None => break,
                },
            };
            if sink.send(message).await.is_err() {
                break;
            }
        }
        self.outsiders.leave(number);
        let _ = self.cdp.call(None, "Target.detachFromTarget", json!({"sessionId": session})).await;
        let _ = sink.close().await;
        Ok(())
    }

    /// Passes one message on, or answers it at once.
    fn asked(&self, number: u64, own: &str, policy: &Policy, text: &str) -> Option<Value> {
        let Ok(mut message) = serde_json::from_str::<Value>(text) else {
            return Some(json!({"error": {"code": -32700, "message": "this is no JSON"}}));
        };
        let (id, session) = (message["id"].clone(), message["sessionId"].as_str().map(str::to_owned));
        let mut answer = json!({"id": id});
        if let Some(session) = &session {
            answer["sessionId"] = session.as_str().into();
        }
        let Some(method) = message["method"].as_str().map(str::to_owned) else {
            answer["error"] = json!({"code": -32600, "message": "a message needs a method"});
            return Some(answer);
        };
        if session.as_deref().is_some_and(|s| !self.outsiders.owns(number, s)) {
            answer["error"] = json!({"code": -32001, "message": "Session with given id not found."});
            return Some(answer);
        }
        match guard::check(policy, &method, message["params"].take()) {
            Verdict::Pass(params) => {
                let to = session.clone().unwrap_or_else(|| own.to_owned());
                self.cdp.order(number, id, session, &to, &method, params);
                None
            }
            Verdict::Answer(result) => {
                answer["result"] = result;
                Some(answer)
            }
            Verdict::Refuse(why) => {
                answer["error"] = json!({"code": -32000, "message": format!("Deskhand refuses {method}: {why}")});
                Some(answer)
            }
        }
    }

    /// What `/json/version` says to a program that asks before it attaches at `socket`.
    #[must_use]
    pub fn version_page(&self, socket: &str) -> Value {
        let product = self.user_agent.split(' ').find(|w| w.starts_with("Chrome/") || w.starts_with("HeadlessChrome/")).unwrap_or("Chrome");
        json!({"Browser": product, "Protocol-Version": "1.3", "User-Agent": self.user_agent, "webSocketDebuggerUrl": socket})
    }
}
