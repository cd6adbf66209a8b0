//! All browsers of a worker, and which of them a caller acts in: the person's own through the extension, or the managed
//! Chromium, started when it is first needed and started again when it ended.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::browser::Browser;
use crate::callers::Callers;
use crate::error::BrowserError;
use crate::extension::Relay;
use crate::managed::Managed;
use crate::page::Page;
use crate::policy::Policy;
use crate::setup::{CdpRoute, Choice, Naming, Setup, Source, TabRow};
use crate::tab::Tab;
use crate::transport::{Kind, TabId, TabInfo, Transport};

/// Sets up tabs as they are lent, not only when they are first used.
async fn attend(browsers: Weak<Browsers>, mut lending: watch::Receiver<u64>) {
    while lending.changed().await.is_ok() {
        let Some(browsers) = browsers.upgrade() else { return };
        for browser in browsers.lent() {
            browser.get_ready().await;
        }
    }
}

/// A connected browser of the person, and what is known of it.
type Connected = (Arc<dyn Transport>, Arc<Browser>);

/// All browsers. Cheap to share by `Arc`.
#[derive(Debug)]
pub struct Browsers {
    setup: Setup,
    managed: tokio::sync::Mutex<Option<(Arc<Browser>, Arc<Managed>)>>,
    /// The same, to look at without waiting; older ones stay for the reasons of their tabs' end.
    running: Mutex<Vec<Arc<Browser>>>,
    extensions: Mutex<Vec<Connected>>,
    callers: Mutex<Callers>,
    /// Held while a caller takes a tab, so that no two take the same.
    seating: tokio::sync::Mutex<()>,
    cdp_route: OnceLock<CdpRoute>,
}

impl Browsers {
    /// Nothing is started yet.
    #[must_use]
    pub fn new(setup: Setup) -> Arc<Self> {
        let lending = setup.relay.as_ref().filter(|_| setup.choice != Choice::Managed).map(Relay::changes);
        let made = Arc::new(Self {
            setup,
            managed: tokio::sync::Mutex::default(),
            running: Mutex::default(),
            extensions: Mutex::default(),
            callers: Mutex::default(),
            seating: tokio::sync::Mutex::default(),
            cdp_route: OnceLock::new(),
        });
        if let (Some(lending), Ok(runtime)) = (lending, tokio::runtime::Handle::try_current()) {
            runtime.spawn(attend(Arc::downgrade(&made), lending));
        }
        made
    }

    /// Says how callers may attach to the managed browser. The first word counts.
    pub fn set_cdp_route(&self, route: CdpRoute) {
        let _ = self.cdp_route.set(route);
    }

    /// Where this caller may attach to the managed browser.
    #[must_use]
    pub fn cdp_address(&self, caller: &str) -> Option<String> {
        self.cdp_route.get().and_then(|route| (route.0)(caller))
    }

    /// What is allowed.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.setup.policy
    }

    /// The name of the lane for a caller's next action: its current tab.
    #[must_use]
    pub fn lane(&self, caller: &str) -> String {
        self.callers.lock().current(caller).map_or_else(|| format!("new:{caller}"), |t| t.to_string())
    }

    /// Forgets what a caller works in; its tabs stay open.
    pub fn forget(&self, caller: &str) {
        self.callers.lock().forget(caller);
    }

    /// The managed Chromium, started if need be.
    ///
    /// # Errors
    /// `Unavailable` with what is missing or in the way.
    pub async fn managed(&self) -> Result<Arc<Managed>, BrowserError> {
        self.managed_pair().await.map(|p| p.1)
    }

    async fn managed_pair(&self) -> Result<(Arc<Browser>, Arc<Managed>), BrowserError> {
        let mut slot = self.managed.lock().await;
        if let Some(pair) = slot.as_ref().filter(|p| p.0.alive()) {
            return Ok(pair.clone());
        }
        if let Some((_, ended)) = slot.take() {
            ended.quit().await;
        }
        let ids = Arc::clone(&self.setup.ids);
        let made = Arc::new(match &self.setup.source {
            Source::Launch(wish) => Managed::launch(wish, &self.setup.policy, ids).await?,
            Source::Attach(address) => Managed::attach(address, ids).await?,
        });
        let browser = Browser::new(made.clone(), self.setup.policy.clone());
        made.first_tab().await;
        self.running.lock().push(browser.clone());
        *slot = Some((browser.clone(), made.clone()));
        Ok((browser, made))
    }

    /// The person's browsers that are connected, the preferred one first.
    fn lent(&self) -> Vec<Arc<Browser>> {
        let Some(relay) = &self.setup.relay else { return Vec::new() };
        if self.setup.choice == Choice::Managed {
            return Vec::new();
        }
        let connected = relay.connected();
        let mut known = self.extensions.lock();
        // Ended ones stay a while for the reasons of their tabs' end.
        if known.len() > 16 {
            known.retain(|(t, _)| t.alive());
        }
        let mut out = Vec::new();
        for transport in connected {
            let transport: Arc<dyn Transport> = transport;
            let browser = match known.iter().find(|(t, _)| Arc::ptr_eq(t, &transport)) {
                Some((_, browser)) => browser.clone(),
                None => {
                    let made = Browser::new(transport.clone(), self.setup.policy.clone());
                    known.push((transport, made.clone()));
                    made
                }
            };
            out.push(browser);
        }
        out
    }

    /// Every browser that answers now.
    fn present(&self) -> Vec<Arc<Browser>> {
        let running = self.running.lock().iter().filter(|b| b.alive()).cloned().collect::<Vec<_>>();
        self.lent().into_iter().chain(running).collect()
    }

    async fn find(&self, tab: TabId) -> Result<(Arc<Browser>, Arc<Tab>), BrowserError> {
        for browser in self.present() {
            if let Some(found) = browser.tab(tab).await {
                return Ok((browser, found));
            }
        }
        let reason = self.running.lock().iter().chain(self.extensions.lock().iter().map(|(_, b)| b)).find_map(|b| b.reason(tab));
        let reason = reason.unwrap_or_else(|| "no tab has this number".to_owned());
        Err(BrowserError::NoTab { tab, reason: format!("{reason}; browser_tabs_list shows those there are") })
    }

    /// The caller's current tab; a new one when it has none.
    ///
    /// # Errors
    /// `NoTab` once when its tab was closed meanwhile, naming what the next call acts on; `Unavailable`.
    pub async fn page(&self, caller: &str, naming: Naming, deadline: Instant) -> Result<Page, BrowserError> {
        self.page_of(caller, naming, deadline, "this agent").await
    }

    /// The same, with the agent's name for the person to see where a tab is opened.
    ///
    /// # Errors
    /// As [`page`](Self::page).
    pub async fn page_of(&self, caller: &str, naming: Naming, deadline: Instant, shown: &str) -> Result<Page, BrowserError> {
        let current = self.callers.lock().current(caller);
        if let Some(id) = current {
            match self.find(id).await {
                Ok((_, tab)) => return Ok(Page::new(tab, deadline)),
                Err(lost) => {
                    self.callers.lock().seat(caller).leave(id);
                    if naming == Naming::Silent {
                        return Err(lost.with_note(&self.next_of(caller)));
                    }
                    return Box::pin(self.page_of(caller, naming, deadline, shown)).await;
                }
            }
        }
        let browser = self.choose(caller, naming).await?;
        let tab = self.seat(&browser, caller, shown).await?;
        Ok(Page::new(tab, deadline))
    }

    /// When a call failed because its tab is no more: the caller leaves it, and the error says what is next.
    #[must_use]
    pub fn after_loss(&self, caller: &str, error: BrowserError) -> BrowserError {
        let BrowserError::NoTab { tab, .. } = error else { return error };
        if self.callers.lock().current(caller) != Some(tab) {
            return error;
        }
        self.callers.lock().seat(caller).leave(tab);
        error.with_note(&self.next_of(caller))
    }

    fn next_of(&self, caller: &str) -> String {
        match self.callers.lock().current(caller) {
            Some(next) => format!("The next call acts on tab {next}."),
            None => "The next call opens a new tab.".to_owned(),
        }
    }

    async fn choose(&self, caller: &str, naming: Naming) -> Result<Arc<Browser>, BrowserError> {
        let mut chosen = None;
        for browser in self.lent() {
            if browser.list().await.is_ok_and(|tabs| !tabs.is_empty()) {
                chosen = Some(browser);
                break;
            }
        }
        let browser = match (chosen, self.setup.choice) {
            (Some(browser), _) => browser,
            (None, Choice::Extension) => {
                let why = if self.lent().is_empty() {
                    "the person's browser is not connected: install the Deskhand extension in it and pair it (deskhand pair)"
                } else {
                    "the person has lent no tab: ask them to open the Deskhand extension in a tab and choose \"Authorize AI control of this tab\""
                };
                return Err(BrowserError::Unavailable(why.to_owned()));
            }
            (None, _) => self.managed_pair().await?.0,
        };
        let named = self.callers.lock().seat(caller).browser.clone();
        if let Some(before) = named.filter(|n| naming == Naming::Silent && *n != browser.name()) {
            self.callers.lock().seat(caller).browser = Some(browser.name());
            return Err(BrowserError::Unavailable(format!(
                "{before}, in which you worked, is not there any more; nothing was done. The next call acts in {}",
                browser.name()
            )));
        }
        Ok(browser)
    }

    /// A tab for a caller that has none: a lent one that nobody works in, a blank one, or a new one.
    async fn seat(&self, browser: &Arc<Browser>, caller: &str, shown: &str) -> Result<Arc<Tab>, BrowserError> {
        let _one = self.seating.lock().await;
        let mut tabs = browser.list().await?;
        tabs.sort_by_key(|t| !t.active);
        let free = |t: &&TabInfo| {
            let open = browser.kind() == Kind::Extension || t.url == "about:blank";
            open && !browser.came_of_a_page(t.id) && !self.callers.lock().taken(t.id)
        };
        let found = tabs.iter().find(free).map(|t| t.id);
        if let Some(id) = found {
            self.callers.lock().seat(caller).sit(id, browser.name());
            if let Some(tab) = browser.tab(id).await {
                browser.transport().label(id, shown).await;
                return Ok(tab);
            }
        }
        let tab = browser.open(shown).await?;
        self.callers.lock().seat(caller).sit(tab.id, browser.name());
        Ok(tab)
    }

    /// A new tab, which becomes the caller's current one.
    ///
    /// # Errors
    /// `Refused` before anything is opened when the address may not be; `Unavailable`.
    pub async fn new_tab(&self, caller: &str, shown: &str, deadline: Instant) -> Result<Page, BrowserError> {
        let current = self.callers.lock().current(caller);
        let browser = match current {
            Some(id) => self.find(id).await.ok().map(|f| f.0),
            None => None,
        };
        let browser = match browser {
            Some(browser) => browser,
            None => self.choose(caller, Naming::Named).await?,
        };
        let _one = self.seating.lock().await;
        let tab = browser.open(shown).await?;
        self.callers.lock().seat(caller).sit(tab.id, browser.name());
        Ok(Page::new(tab, deadline))
    }

    /// Makes a tab the caller's current one; in the managed browser it comes to the front too.
    ///
    /// # Errors
    /// `NoTab`.
    pub async fn select(&self, caller: &str, tab: TabId, deadline: Instant) -> Result<Page, BrowserError> {
        let (browser, found) = self.find(tab).await?;
        if browser.kind() == Kind::Managed {
            browser.select(tab).await?;
        }
        self.callers.lock().seat(caller).sit(tab, browser.name());
        Ok(Page::new(found, deadline))
    }

    /// Closes a tab.
    ///
    /// # Errors
    /// `NoTab`; `TimedOut` when its page keeps it open.
    pub async fn close(&self, caller: &str, tab: TabId) -> Result<(), BrowserError> {
        let (browser, _) = self.find(tab).await?;
        browser.close(tab).await?;
        self.callers.lock().seat(caller).leave(tab);
        Ok(())
    }

    /// All tabs that a caller could act on. Starts nothing.
    ///
    /// # Errors
    /// When a browser does not answer.
    pub async fn tabs(&self, caller: &str) -> Result<Vec<TabRow>, BrowserError> {
        let current = self.callers.lock().current(caller);
        let mut rows = Vec::new();
        for browser in self.present() {
            let name = browser.name();
            rows.extend(browser.list().await?.into_iter().map(|t| TabRow::new(t, current, &name)));
        }
        Ok(rows)
    }

    /// One tab's row.
    ///
    /// # Errors
    /// `NoTab`.
    pub async fn tab_row(&self, caller: &str, tab: TabId) -> Result<TabRow, BrowserError> {
        let (browser, _) = self.find(tab).await?;
        let current = self.callers.lock().current(caller);
        let name = browser.name();
        let found = browser.list().await?.into_iter().find(|t| t.id == tab).map(|t| TabRow::new(t, current, &name));
        found.ok_or_else(|| BrowserError::NoTab { tab, reason: "it was closed at this moment".to_owned() })
    }

    /// The browser that a tab is in: its name and kind.
    ///
    /// # Errors
    /// `NoTab`.
    pub async fn browser_of(&self, tab: TabId) -> Result<(String, Kind), BrowserError> {
        let (browser, _) = self.find(tab).await?;
        Ok((browser.name(), browser.kind()))
    }

    /// Ends the managed Chromium, if it runs.
    pub async fn quit(&self) {
        if let Some((_, managed)) = self.managed.lock().await.take() {
            managed.quit().await;
        }
    }

    /// Where downloads of the managed Chromium land.
    #[must_use]
    pub fn downloads(&self) -> Option<PathBuf> {
        match &self.setup.source {
            Source::Launch(wish) => Some(wish.downloads.clone()),
            Source::Attach(_) => None,
        }
    }
}
