//! One connected browser: its tabs, each with the state that the page operations need, kept up by one task that reads
//! the transport's events.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;

use crate::error::BrowserError;
use crate::policy::Policy;
use crate::tab::{Lost, OpenedTab, Tab};
use crate::transport::{Event, Kind, OpenTab, TabId, TabInfo, Transport};

/// How long a tab may take to close when its page has nothing against it.
const CLOSE: Duration = Duration::from_secs(6);
/// How long a page may take to tell its title.
const TITLE: Duration = Duration::from_millis(400);
/// How long the browser may take to list or open tabs.
const ANSWER: Duration = Duration::from_secs(8);

/// A browser and what is known of its tabs.
#[derive(Debug)]
pub(crate) struct Browser {
    transport: Arc<dyn Transport>,
    policy: Policy,
    tabs: Mutex<BTreeMap<TabId, Arc<Tab>>>,
    /// Why tabs are no more.
    closed: Mutex<HashMap<TabId, String>>,
    /// Tabs that pages opened, by their opener; they belong to whoever works in that one.
    children: Mutex<HashMap<TabId, TabId>>,
    changed: Notify,
}

impl Browser {
    pub(crate) fn new(transport: Arc<dyn Transport>, policy: Policy) -> Arc<Self> {
        let mut events = transport.events();
        let made = Arc::new(Self {
            transport,
            policy,
            tabs: Mutex::default(),
            closed: Mutex::default(),
            children: Mutex::default(),
            changed: Notify::new(),
        });
        let weak: Weak<Self> = Arc::downgrade(&made);
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                let Some(browser) = weak.upgrade() else { break };
                browser.take(event);
            }
        });
        made
    }

    pub(crate) fn transport(&self) -> &Arc<dyn Transport> {
        &self.transport
    }

    pub(crate) fn alive(&self) -> bool {
        self.transport.alive()
    }

    pub(crate) fn name(&self) -> String {
        self.transport.name()
    }

    pub(crate) fn kind(&self) -> Kind {
        self.transport.kind()
    }

    fn take(self: &Arc<Self>, event: Event) {
        match event {
            Event::Opened { tab, opener } => self.opened(tab, opener),
            Event::Closed { tab, reason } => self.lose(tab, &reason),
            Event::Detached { tab, reason } => {
                tracing::debug!(tab, %reason, "a tab's session was lost");
                if let Some(tab) = self.known(tab) {
                    tab.change(|s| s.detached());
                }
            }
            Event::Cdp { route, method, params } => {
                if let Some(tab) = self.known(route.tab) {
                    tab.on_event(route.session.as_ref(), &method, &params);
                }
                // A window that was opened for a download only is gone before anybody looks at it.
                if method == "Page.downloadWillBegin"
                    && let Some(opener) = self.children.lock().get(&route.tab).and_then(|o| self.known(*o))
                {
                    opener.on_event(None, &method, &params);
                }
            }
            Event::Download(told) => {
                for tab in self.all() {
                    tab.change(|s| s.download_told(&told));
                }
            }
            Event::Gone { reason } => {
                let ids: Vec<TabId> = self.tabs.lock().keys().copied().collect();
                ids.into_iter().for_each(|id| self.lose(id, &format!("its browser is gone ({reason})")));
            }
        }
        self.changed.notify_waiters();
    }

    fn opened(self: &Arc<Self>, id: TabId, opener: Option<TabId>) {
        let tab = self.adopt(id);
        if let Some(opener) = opener {
            self.children.lock().insert(id, opener);
        }
        if let Some(opener) = opener.and_then(|o| self.known(o)) {
            opener.change(|s| s.opened_tab(OpenedTab { tab_id: id, url: String::new() }));
        }
        get_ready(tab);
    }

    /// Sets up every tab there is, so that none has a dialog open of which nobody was told.
    pub(crate) async fn get_ready(&self) {
        if let Ok(listed) = tokio::time::timeout(ANSWER, self.transport.tabs()).await.unwrap_or_else(|_| Ok(Vec::new())) {
            listed.iter().filter(|t| self.reason(t.id).is_none()).for_each(|t| get_ready(self.adopt(t.id)));
        }
    }

    fn adopt(&self, id: TabId) -> Arc<Tab> {
        let mut tabs = self.tabs.lock();
        Arc::clone(tabs.entry(id).or_insert_with(|| Tab::new(id, Arc::clone(&self.transport), self.policy.clone())))
    }

    fn lose(&self, id: TabId, reason: &str) {
        if let Some(tab) = self.tabs.lock().remove(&id) {
            tab.change(|s| s.lost = Some(Lost::Closed(reason.to_owned())));
        }
        self.closed.lock().insert(id, reason.to_owned());
    }

    fn known(&self, id: TabId) -> Option<Arc<Tab>> {
        self.tabs.lock().get(&id).cloned()
    }

    fn all(&self) -> Vec<Arc<Tab>> {
        self.tabs.lock().values().cloned().collect()
    }

    /// Whether a page opened this tab.
    pub(crate) fn came_of_a_page(&self, id: TabId) -> bool {
        self.children.lock().contains_key(&id)
    }

    /// Why a tab that was here is no more.
    pub(crate) fn reason(&self, id: TabId) -> Option<String> {
        self.closed.lock().get(&id).cloned()
    }

    /// A tab that is here, also one that was here before we listened.
    pub(crate) async fn tab(&self, id: TabId) -> Option<Arc<Tab>> {
        if let Some(tab) = self.known(id) {
            return Some(tab);
        }
        if !self.alive() || self.reason(id).is_some() {
            return None;
        }
        let listed = self.list().await.ok()?;
        listed.iter().any(|t| t.id == id).then(|| self.adopt(id))
    }

    /// All usable tabs, with what our own events know better.
    pub(crate) async fn list(&self) -> Result<Vec<TabInfo>, BrowserError> {
        let listed = tokio::time::timeout(ANSWER, self.transport.tabs()).await;
        let mut tabs = listed.map_err(|_| self.silent("listing its tabs"))??;
        let known: Vec<Option<Arc<Tab>>> = tabs.iter().map(|t| self.known(t.id).filter(|t| t.look(|s| s.session.ready()))).collect();
        // The browser's list names a page by its address until it is opened again; the page itself knows.
        let titles = futures_util::future::join_all(known.iter().map(title)).await;
        for ((info, tab), title) in tabs.iter_mut().zip(&known).zip(titles) {
            if let Some(tab) = tab {
                info.loading = tab.loading();
                if let Some(title) = title {
                    info.title = title;
                }
                let url = tab.url();
                if !url.is_empty() {
                    info.url = url;
                }
            }
        }
        Ok(tabs)
    }

    fn silent(&self, doing: &str) -> BrowserError {
        BrowserError::TimedOut { what: format!("{} did not answer while {doing}", self.name()), after: ANSWER }
    }

    /// Opens a blank tab for a caller.
    pub(crate) async fn open(&self, caller: &str) -> Result<Arc<Tab>, BrowserError> {
        let wish = OpenTab { url: "about:blank".to_owned(), caller: caller.to_owned(), front: false };
        let id = tokio::time::timeout(ANSWER, self.transport.open(wish)).await.map_err(|_| self.silent("opening a tab"))??;
        let tab = self.adopt(id);
        tab.ensure_ready().await?;
        Ok(tab)
    }

    /// Closes a tab and returns when it is gone.
    pub(crate) async fn close(&self, id: TabId) -> Result<(), BrowserError> {
        self.transport.close(id).await?;
        let gone = tokio::time::timeout(CLOSE, async {
            loop {
                let changed = self.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                if self.known(id).is_none() {
                    return;
                }
                changed.await;
            }
        });
        gone.await.map_err(|_| BrowserError::TimedOut { what: format!("tab {id} did not close; its page keeps it open"), after: CLOSE })
    }

    pub(crate) async fn select(&self, id: TabId) -> Result<(), BrowserError> {
        Ok(tokio::time::timeout(ANSWER, self.transport.select(id)).await.map_err(|_| self.silent("showing a tab"))??)
    }
}

/// Sets a tab up in the background: a page of ours waits until its rules are in place, and a dialog that comes up before
/// the first call is answered and told like any other.
fn get_ready(tab: Arc<Tab>) {
    tokio::spawn(async move {
        if let Err(error) = tab.ensure_ready().await {
            tracing::debug!(tab = tab.id, %error, "a tab could not be set up");
        }
    });
}

/// The title of a tab's page, where it answers at once.
async fn title(tab: &Option<Arc<Tab>>) -> Option<String> {
    let tab = tab.as_ref()?;
    let asked = tab.send("Runtime.evaluate", json!({"expression": "document.title", "returnByValue": true}));
    let answer = tokio::time::timeout(TITLE, asked).await.ok()?.ok()?;
    answer["result"]["value"].as_str().map(str::to_owned)
}
