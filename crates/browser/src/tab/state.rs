//! What a tab's events add up to. Pure: an event in, a change of state and what has to be answered out, so that each
//! rule is tested without a browser.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use serde_json::Value;
use url::Url;

use super::frames::{Frames, World};
use super::notices::{Dialog, Downloaded, Happened, OpenedTab};
use super::progress::Progress;
use super::session::{Lost, Session};
use super::{BINDING, WORLD};
use crate::policy::{Policy, Refused};
use crate::transport::Download;

/// Where the main frame stands in its comings and goings. Counters only grow, so that whoever compares two looks
/// misses nothing in between.
#[derive(Debug, Clone, Default)]
pub(crate) struct Moment {
    /// The address of a navigation that was asked for and is not decided yet.
    pub(crate) started: Option<String>,
    /// Documents that came, restored ones too.
    pub(crate) commits: u64,
    /// Changes of the address within a document.
    pub(crate) within: u64,
    /// Navigations that ended without a document (204, download, stopped).
    pub(crate) aborted: u64,
    /// Downloads that began.
    pub(crate) downloads: u64,
    /// Windows that the page asked for, and tabs that came of it.
    pub(crate) windows: u64,
    pub(crate) opened: u64,
    /// The last request of a document that the policy refused.
    pub(crate) refused: Option<Refused>,
}

/// What the injected script told about an event that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signal {
    pub(crate) event: String,
    pub(crate) by: String,
}

/// What has to be sent in answer to an event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reaction {
    /// Answer a dialog.
    Dialog { session: Option<Arc<str>>, accept: bool },
    /// A paused request goes on, or fails.
    Request { session: Option<Arc<str>>, id: String, allow: bool },
    /// Set up the session of a frame in another process.
    Child { session: Arc<str> },
    /// Set up the session of a worker.
    Worker { session: Arc<str> },
}

/// The state of a tab.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) frames: Frames,
    pub(crate) notices: Happened,
    pub(crate) moment: Moment,
    pub(crate) lost: Option<Lost>,
    pub(crate) session: Session,
    /// By the token of the action they belong to.
    pub(crate) signals: HashMap<u64, Vec<Signal>>,
    tokens: u64,
    /// Downloads by id, and the ones that a result told of while they were running.
    running: HashMap<String, Downloaded>,
    told: HashSet<String>,
    /// Where downloads land, when the browser itself tells the place of each.
    folder: Option<String>,
    /// Where the windows that the page asked for are to go, until they are tabs.
    window_urls: VecDeque<String>,
    progress: Progress,
}

impl State {
    /// A tab whose downloads land in this folder, when the browser itself tells the place of each.
    pub(crate) fn landing_in(folder: Option<String>) -> Self {
        Self { folder, ..Self::default() }
    }

    /// What happened since this was last asked.
    pub(crate) fn take_notices(&mut self) -> Happened {
        let taken = self.notices.take();
        self.told.extend(taken.downloads.iter().filter(|d| d.state == "inProgress").map(|d| d.guid.clone()));
        taken
    }

    /// A fresh token, whose signals are kept from now on. Those of actions that were given up are forgotten.
    pub(crate) fn new_token(&mut self) -> u64 {
        self.tokens += 1;
        let token = self.tokens;
        self.signals.retain(|t, _| token - t < 8);
        self.signals.insert(token, Vec::new());
        token
    }

    /// The session ended; the tab is still there.
    pub(crate) fn detached(&mut self) {
        self.frames = Frames::default();
        self.session.lose();
        self.signals.clear();
        self.moment.started = None;
    }

    pub(crate) fn download_told(&mut self, told: &Download) {
        let Some(known) = self.running.get_mut(&told.guid) else { return };
        known.state.clone_from(&told.state);
        known.path = told.path.clone().or(known.path.take());
        known.total = known.total.max(told.total);
        let known = known.clone();
        match self.notices.downloads.iter_mut().find(|d| d.guid == told.guid) {
            Some(listed) => *listed = known,
            // It was told as begun by an earlier result; its end is news.
            None if told.state != "inProgress" && self.told.remove(&told.guid) => self.notices.download(known),
            None => {}
        }
    }

    pub(crate) fn opened_tab(&mut self, mut tab: OpenedTab) {
        self.moment.opened += 1;
        // A new tab has no address of its own yet; its opener said where it is to go.
        let said = self.window_urls.pop_front().unwrap_or_default();
        if tab.url.is_empty() {
            tab.url = said;
        }
        self.notices.opened(tab);
    }

    /// One CDP event of the tab (`session` none) or of one of its frames.
    pub(crate) fn event(&mut self, session: Option<&Arc<str>>, method: &str, params: &Value, policy: &Policy) -> Option<Reaction> {
        let text = |k: &str| params[k].as_str().unwrap_or_default();
        match method {
            "Page.javascriptDialogOpening" => return Some(self.dialog(session, params)),
            "Fetch.requestPaused" => return Some(self.request(session, params, policy)),
            "Target.attachedToTarget" => return self.child(params),
            "Target.detachedFromTarget" => self.frames.session_gone(&text("sessionId").into()),
            "Inspector.targetCrashed" if session.is_none() => self.lost = Some(Lost::Crashed),
            "Inspector.targetReloadedAfterCrash" if self.lost == Some(Lost::Crashed) => self.lost = None,
            "Page.downloadWillBegin" => self.download(params),
            // Where the browser itself tells of downloads, its word has the place too and is the only one that counts.
            "Page.downloadProgress" if self.folder.is_none() => self.download_told(&Download::from_event(params)),
            "Page.windowOpen" => {
                self.moment.windows += 1;
                self.window_urls.push_back(text("url").to_owned());
            }
            "Runtime.bindingCalled" if text("name") == BINDING => self.signal(text("payload")),
            _ if method.starts_with("Runtime.") => self.context(session, method, params),
            _ => self.page(session, method, params),
        }
        None
    }

    fn dialog(&mut self, session: Option<&Arc<str>>, params: &Value) -> Reaction {
        let kind = params["type"].as_str().unwrap_or("alert").to_owned();
        // Nothing is agreed to in the person's name; leaving a page is what the agent just asked for.
        let accept = kind == "alert" || kind == "beforeunload";
        let answer = if accept { "accepted" } else { "dismissed" };
        let message = params["message"].as_str().unwrap_or_default().chars().take(2000).collect();
        self.notices.dialog(Dialog { kind, message, answer: answer.to_owned() });
        Reaction::Dialog { session: session.cloned(), accept }
    }

    fn request(&mut self, session: Option<&Arc<str>>, params: &Value, policy: &Policy) -> Reaction {
        let checked = match Url::parse(params["request"]["url"].as_str().unwrap_or_default()) {
            Ok(url) if matches!(url.scheme(), "http" | "https" | "ws" | "wss") => policy.check(&url),
            // A page from an allowed folder may not lead to, or show in a frame, what lies outside.
            Ok(url) if url.scheme() == "file" => policy.file(&url),
            _ => Ok(()),
        };
        if let Err(refused) = &checked
            && params["resourceType"].as_str() == Some("Document")
        {
            self.notices.note(refused.to_string());
            if params["frameId"].as_str().is_some_and(|f| self.frames.is_main(f)) {
                self.moment.refused = Some(refused.clone());
            }
        }
        Reaction::Request {
            session: session.cloned(),
            id: params["requestId"].as_str().unwrap_or_default().to_owned(),
            allow: checked.is_ok(),
        }
    }

    fn child(&mut self, params: &Value) -> Option<Reaction> {
        let info = &params["targetInfo"];
        let session: Arc<str> = params["sessionId"].as_str()?.into();
        if info["type"].as_str() == Some("iframe") {
            let id = info["targetId"].as_str().unwrap_or_default();
            self.frames.attached(id, info["parentFrameId"].as_str(), Some(session.clone()));
            return Some(Reaction::Child { session });
        }
        Some(Reaction::Worker { session })
    }

    fn download(&mut self, params: &Value) {
        let text = |k: &str| params[k].as_str().unwrap_or_default().to_owned();
        if self.running.contains_key(&text("guid")) {
            return;
        }
        self.moment.downloads += 1;
        self.moment.started = None;
        let begun = Downloaded {
            file: text("suggestedFilename"),
            path: None,
            folder: self.folder.clone(),
            state: "inProgress".to_owned(),
            url: text("url"),
            guid: text("guid"),
            total: 0,
        };
        self.running.insert(begun.guid.clone(), begun.clone());
        self.notices.download(begun);
    }

    fn signal(&mut self, payload: &str) {
        let Ok(told) = serde_json::from_str::<Value>(payload) else { return };
        let Some(token) = told["token"].as_u64() else { return };
        let text = |k: &str| told[k].as_str().unwrap_or_default().to_owned();
        if let Some(signals) = self.signals.get_mut(&token) {
            signals.push(Signal { event: text("event"), by: text("by") });
        }
    }

    fn context(&mut self, session: Option<&Arc<str>>, method: &str, params: &Value) {
        match method {
            "Runtime.executionContextCreated" => {
                let context = &params["context"];
                if let (Some(WORLD), Some(frame), Some(unique)) =
                    (context["name"].as_str(), context["auxData"]["frameId"].as_str(), context["uniqueId"].as_str())
                {
                    let number = context["id"].as_i64().unwrap_or_default();
                    self.frames.world_made(frame, World { unique: unique.to_owned(), number }, session.cloned());
                }
            }
            "Runtime.executionContextDestroyed" => self.frames.world_gone(params["executionContextUniqueId"].as_str().unwrap_or_default()),
            "Runtime.executionContextsCleared" => self.frames.worlds_gone(session),
            _ => {}
        }
    }

    fn page(&mut self, session: Option<&Arc<str>>, method: &str, params: &Value) {
        let frame = params["frameId"].as_str().unwrap_or_default();
        let main = session.is_none() && self.frames.is_main(frame);
        match method {
            "Page.frameAttached" => self.frames.attached(frame, params["parentFrameId"].as_str(), session.cloned()),
            "Page.frameDetached" if params["reason"].as_str() == Some("swap") => self.frames.swapped(frame),
            "Page.frameDetached" => self.frames.removed(frame),
            "Page.frameNavigated" => self.navigated(session, params),
            "Page.navigatedWithinDocument" => {
                self.frames.moved(frame, params["url"].as_str().unwrap_or_default());
                if main {
                    self.moment.within += 1;
                    self.moment.started = None;
                }
            }
            "Page.frameRequestedNavigation" if main && params["disposition"].as_str() == Some("currentTab") => {
                self.moment.started = params["url"].as_str().map(str::to_owned);
            }
            "Page.frameStartedNavigating" if main => self.moment.started = params["url"].as_str().map(str::to_owned),
            "Page.frameStoppedLoading" if main => self.moment.aborted += u64::from(self.moment.started.take().is_some()),
            "Page.lifecycleEvent" => {
                let loader = params["loaderId"].as_str().unwrap_or_default();
                match params["name"].as_str() {
                    Some("DOMContentLoaded") => self.progress.came(loader, false),
                    Some("load") => self.progress.came(loader, true),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn navigated(&mut self, session: Option<&Arc<str>>, params: &Value) {
        let told = &params["frame"];
        let restored = params["type"].as_str() == Some("BackForwardCacheRestore");
        let mut told_with_children = told.clone();
        if restored {
            // Its frames come back with it; they were never announced as gone.
            told_with_children["keepChildren"] = true.into();
        }
        self.frames.navigated(&told_with_children, session.cloned());
        if session.is_none() && told["parentId"].is_null() {
            self.moment.commits += 1;
            if self.lost == Some(Lost::Crashed) {
                self.lost = None;
            }
            self.moment.started = None;
            if restored {
                self.progress.came(told["loaderId"].as_str().unwrap_or_default(), true);
            }
        }
    }

    /// Whether the main document has fired `load`.
    pub(crate) fn loaded(&self) -> bool {
        self.progress.of(self.frames.main_loader()).1
    }

    /// Whether the main document is parsed.
    pub(crate) fn dom_ready(&self) -> bool {
        self.progress.of(self.frames.main_loader()).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn state() -> State {
        let mut s = State::default();
        s.event(
            None,
            "Page.frameNavigated",
            &json!({"type": "Navigation", "frame": {"id": "M", "loaderId": "1", "url": "http://a/"}}),
            &Policy::default(),
        );
        s
    }

    #[test]
    fn dialogs_are_answered_by_the_rule_and_reported() {
        let mut s = state();
        for (kind, accept) in [("alert", true), ("confirm", false), ("prompt", false), ("beforeunload", true)] {
            let reaction = s.event(None, "Page.javascriptDialogOpening", &json!({"type": kind, "message": "m"}), &Policy::default());
            assert_eq!(reaction, Some(Reaction::Dialog { session: None, accept }));
        }
        let told = s.notices.take();
        assert_eq!(told.dialogs.len(), 4);
        assert!(told.sentence().contains("prompt") && s.notices.is_empty());
    }

    #[test]
    fn a_navigation_is_open_until_a_document_a_fragment_a_download_or_an_abort() {
        let policy = Policy::default();
        let ends: [(&str, Value); 4] = [
            ("Page.frameNavigated", json!({"type": "Navigation", "frame": {"id": "M", "loaderId": "2", "url": "http://b/"}})),
            ("Page.navigatedWithinDocument", json!({"frameId": "M", "url": "http://a/#x"})),
            ("Page.downloadWillBegin", json!({"frameId": "M", "guid": "g", "suggestedFilename": "f"})),
            ("Page.frameStoppedLoading", json!({"frameId": "M"})),
        ];
        for (method, params) in ends {
            let mut s = state();
            s.event(
                None,
                "Page.frameRequestedNavigation",
                &json!({"frameId": "M", "url": "http://b/", "disposition": "currentTab"}),
                &policy,
            );
            assert_eq!(s.moment.started.as_deref(), Some("http://b/"));
            s.event(None, method, &params, &policy);
            assert_eq!(s.moment.started, None, "{method}");
        }
    }

    #[test]
    fn a_restored_document_is_loaded_and_an_old_documents_load_is_not_the_new_ones() {
        let mut s = state();
        let policy = Policy::default();
        s.event(None, "Page.lifecycleEvent", &json!({"frameId": "M", "loaderId": "0", "name": "load"}), &policy);
        assert!(!s.loaded());
        s.event(None, "Page.lifecycleEvent", &json!({"frameId": "M", "loaderId": "1", "name": "load"}), &policy);
        assert!(s.loaded());
        s.event(
            None,
            "Page.frameNavigated",
            &json!({"type": "BackForwardCacheRestore", "frame": {"id": "M", "loaderId": "0", "url": "http://c/"}}),
            &policy,
        );
        assert!(s.loaded() && s.frames.main_url() == "http://c/");
    }

    #[test]
    fn a_refused_hop_fails_and_is_remembered() {
        let mut s = state();
        let hop = |url: &str| json!({"requestId": "r", "resourceType": "Document", "frameId": "M", "request": {"url": url}});
        let reaction = s.event(None, "Fetch.requestPaused", &hop("http://169.254.169.254/x"), &Policy::default());
        assert_eq!(reaction, Some(Reaction::Request { session: None, id: "r".into(), allow: false }));
        assert!(s.moment.refused.is_some());
        let reaction = s.event(None, "Fetch.requestPaused", &hop("http://a/?://169.254.1.1"), &Policy::default());
        assert_eq!(reaction, Some(Reaction::Request { session: None, id: "r".into(), allow: true }));
    }
}
