//! Which tabs the managed Chromium has, and which session speaks to which.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;

use crate::tab_ids::TabIds;
use crate::transport::{Route, TabId, TransportError};

/// One page target with a session of ours.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) id: TabId,
    pub(super) target: String,
    session: String,
    pub(super) url: String,
    pub(super) title: String,
    pub(super) front: bool,
    /// Its page was told to go on after our rules were in place.
    begun: bool,
}

/// What an event of the browser changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    Opened(TabId, Option<TabId>),
    Closed(TabId),
}

#[derive(Debug, Default)]
struct Rows {
    tabs: BTreeMap<TabId, Row>,
    routes: HashMap<String, Route>,
    gone: HashMap<TabId, String>,
    /// Who opened a target, kept beyond its end: a window that was opened for a download is gone before it is told.
    openers: HashMap<String, TabId>,
}

/// The tabs, by number.
#[derive(Debug)]
pub(super) struct Table {
    ids: Arc<TabIds>,
    rows: Mutex<Rows>,
    changed: Notify,
}

impl Table {
    pub(super) fn new(ids: Arc<TabIds>) -> Self {
        Self { ids, rows: Mutex::default(), changed: Notify::new() }
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        self.rows.lock().tabs.values().cloned().collect()
    }

    /// Target and session of a tab.
    pub(super) fn target(&self, tab: TabId) -> Result<(String, String), TransportError> {
        let found = self.rows.lock().tabs.get(&tab).map(|r| (r.target.clone(), r.session.clone()));
        found.ok_or_else(|| self.missing(tab))
    }

    pub(super) fn missing(&self, tab: TabId) -> TransportError {
        let reason = self.rows.lock().gone.get(&tab).cloned().unwrap_or_else(|| "no tab has this number".to_owned());
        TransportError::NoTab { tab, reason }
    }

    /// The page of a tab goes on by now: its rules are in place.
    pub(super) fn begins(&self, tab: TabId) {
        if let Some(row) = self.rows.lock().tabs.get_mut(&tab) {
            row.begun = true;
        }
        self.changed.notify_waiters();
    }

    /// Returns when a target's page goes on, or when the target is gone.
    pub(super) async fn wait_begun(&self, target: &str) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.rows.lock().tabs.values().find(|r| r.target == target).is_some_and(|r| r.begun) {
                return;
            }
            changed.await;
        }
    }

    /// The tab whose page opened this target, also when that is gone by now.
    pub(super) fn opener(&self, target: &str) -> Option<TabId> {
        self.rows.lock().openers.get(target).copied()
    }

    pub(super) fn bring_to_front(&self, tab: TabId) {
        for row in self.rows.lock().tabs.values_mut() {
            row.front = row.id == tab;
        }
    }

    pub(super) fn clear(&self, reason: &str) {
        let mut rows = self.rows.lock();
        let ids: Vec<TabId> = rows.tabs.keys().copied().collect();
        rows.gone.extend(ids.into_iter().map(|id| (id, reason.to_owned())));
        rows.tabs.clear();
        rows.routes.clear();
        drop(rows);
        self.changed.notify_waiters();
    }

    /// The number of a target, once it is attached.
    pub(super) async fn wait_for(&self, target: &str) -> TabId {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(row) = self.rows.lock().tabs.values().find(|r| r.target == target) {
                return row.id;
            }
            changed.await;
        }
    }

    pub(super) async fn wait_any(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if !self.rows.lock().tabs.is_empty() {
                return;
            }
            changed.await;
        }
    }

    pub(super) async fn wait_gone(&self, tab: TabId) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if !self.rows.lock().tabs.contains_key(&tab) {
                return;
            }
            changed.await;
        }
    }

    /// Where an event of a session belongs; learns of child sessions on the way.
    pub(super) fn route(&self, session: &str, method: &str, params: &Value) -> Option<Route> {
        let mut rows = self.rows.lock();
        let route = rows.routes.get(session)?.clone();
        let child = params["sessionId"].as_str();
        match (method, child) {
            ("Target.attachedToTarget", Some(child)) => {
                rows.routes.insert(child.to_owned(), Route { tab: route.tab, session: Some(child.into()) });
            }
            ("Target.detachedFromTarget", Some(child)) => {
                rows.routes.remove(child);
            }
            _ => {}
        }
        Some(route)
    }

    /// An event of the browser itself.
    pub(super) fn take(&self, method: &str, params: &Value) -> Option<Change> {
        let change = match method {
            "Target.attachedToTarget" => self.attached(params),
            "Target.detachedFromTarget" => self.detached(params["sessionId"].as_str()?),
            "Target.targetInfoChanged" => {
                let info = &params["targetInfo"];
                let mut rows = self.rows.lock();
                let row = rows.tabs.values_mut().find(|r| Some(r.target.as_str()) == info["targetId"].as_str())?;
                row.url = info["url"].as_str().unwrap_or_default().to_owned();
                row.title = info["title"].as_str().unwrap_or_default().to_owned();
                None
            }
            _ => None,
        };
        self.changed.notify_waiters();
        change
    }

    fn attached(&self, params: &Value) -> Option<Change> {
        let info = &params["targetInfo"];
        let text = |k: &str| info[k].as_str().unwrap_or_default().to_owned();
        if text("type") != "page" {
            return None;
        }
        let session = params["sessionId"].as_str()?.to_owned();
        let mut rows = self.rows.lock();
        let opener = rows.tabs.values().find(|r| Some(r.target.as_str()) == info["openerId"].as_str()).map(|r| r.id);
        let id = self.ids.next();
        if let Some(opener) = opener {
            rows.openers.insert(text("targetId"), opener);
        }
        // A popup comes to the front; a tab that an agent opens is brought there by `open`.
        let front = opener.is_some() || rows.tabs.is_empty();
        if front {
            rows.tabs.values_mut().for_each(|r| r.front = false);
        }
        rows.routes.insert(session.clone(), Route::tab(id));
        rows.tabs.insert(id, Row { id, target: text("targetId"), session, url: text("url"), title: text("title"), front, begun: false });
        Some(Change::Opened(id, opener))
    }

    fn detached(&self, session: &str) -> Option<Change> {
        let mut rows = self.rows.lock();
        let tab = rows.routes.remove(session)?.tab;
        rows.routes.retain(|_, r| r.tab != tab);
        rows.tabs.remove(&tab)?;
        rows.gone.insert(tab, "it was closed".to_owned());
        Some(Change::Closed(tab))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn attached(session: &str, target: &str, opener: &str) -> Value {
        json!({"sessionId": session, "targetInfo": {"targetId": target, "type": "page", "url": "about:blank", "title": "", "openerId": opener}})
    }

    #[test]
    fn numbers_stay_unknown_once_their_tab_is_gone() {
        let table = Table::new(Arc::new(TabIds::fresh()));
        assert_eq!(table.take("Target.attachedToTarget", &attached("S1", "T1", "")), Some(Change::Opened(1, None)));
        assert_eq!(table.take("Target.attachedToTarget", &attached("S2", "T2", "T1")), Some(Change::Opened(2, Some(1))));
        assert!(table.rows().iter().any(|r| r.id == 2 && r.front), "a popup comes to the front");
        table.take("Target.detachedFromTarget", &json!({"sessionId": "S2"}));
        assert_eq!((table.opener("T2"), table.opener("T1")), (Some(1), None));
        assert_eq!(table.take("Target.detachedFromTarget", &json!({"sessionId": "S1"})), Some(Change::Closed(1)));
        assert_eq!(table.target(1), Err(TransportError::NoTab { tab: 1, reason: "it was closed".into() }));
        assert_eq!(table.take("Target.attachedToTarget", &attached("S3", "T1", "")), Some(Change::Opened(3, None)));
    }

    #[test]
    fn frames_are_routed_to_their_tab_until_they_go() {
        let table = Table::new(Arc::new(TabIds::fresh()));
        table.take("Target.attachedToTarget", &attached("S1", "T1", ""));
        assert!(table.route("S1", "Target.attachedToTarget", &json!({"sessionId": "F"})).is_some());
        assert_eq!(table.route("F", "Page.frameNavigated", &json!({})), Some(Route { tab: 1, session: Some("F".into()) }));
        table.route("S1", "Target.detachedFromTarget", &json!({"sessionId": "F"}));
        assert_eq!(table.route("F", "Page.frameNavigated", &json!({})), None);
    }
}
