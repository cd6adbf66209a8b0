//! The managed Chromium as a [`Transport`]: launched by us over private pipes, or attached to by `--cdp-url` over
//! chromiumoxide's WebSocket. One raw command in, one answer out; the tabs' own sessions are kept here.

mod attach;
mod cdp;
mod downloads;
mod guard;
mod launch;
mod outside;
mod profile;
mod table;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use self::cdp::{CallError, Cdp, Told};
use self::downloads::Downloads;
use self::outside::Outsiders;
use self::table::{Change, Table};
use crate::error::BrowserError;
use crate::policy::Policy;
use crate::tab_ids::TabIds;
use crate::transport::{Event, Kind, OpenTab, Route, TabId, TabInfo, Transport, TransportError};

/// How long a tab may take to come up, and to close when its page has nothing against it.
const TAB: Duration = Duration::from_secs(5);
/// How long Chromium gets to end by itself.
const QUIT: Duration = Duration::from_secs(4);

/// How to start a Chromium of our own.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program; found by itself when none is named.
    pub executable: Option<PathBuf>,
    /// Its profile folder, made when missing. Never a browser's default one.
    pub profile: PathBuf,
    /// Where downloads land; made when missing.
    pub downloads: PathBuf,
    /// Without a window.
    pub headless: bool,
    /// The X display for its window, such as `:0`; the worker's own environment decides when none is given.
    pub display: Option<String>,
    /// Further Chromium flags.
    pub extra_flags: Vec<String>,
}

/// A Chromium that answers.
pub struct Managed {
    cdp: Cdp,
    table: Arc<Table>,
    outsiders: Arc<Outsiders>,
    events: Mutex<Option<mpsc::UnboundedReceiver<Event>>>,
    process: Mutex<Option<Process>>,
    name: String,
    user_agent: String,
    address: String,
    downloads: Option<PathBuf>,
}

/// The browser's process. A task waits for it, so that one that crashed leaves no zombie; letting go of `keep` ends it.
struct Process {
    keep: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

impl Process {
    fn watch(mut child: Child) -> Self {
        let (keep, let_go) = oneshot::channel();
        let ended = tokio::spawn(async move {
            tokio::select! {
                _ = child.wait() => {}
                _ = let_go => {
                    let _ = child.kill().await;
                }
            }
        });
        Self { keep, ended }
    }
}

impl std::fmt::Debug for Managed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Managed").field("name", &self.name).field("alive", &self.alive()).finish_non_exhaustive()
    }
}

impl Managed {
    /// Starts a Chromium.
    ///
    /// # Errors
    /// [`BrowserError::Unavailable`] with what is missing or in the way.
    pub async fn launch(wish: &Launch, policy: &Policy, ids: Arc<TabIds>) -> Result<Self, BrowserError> {
        std::fs::create_dir_all(&wish.downloads)
            .map_err(|e| BrowserError::Unavailable(format!("the folder for downloads {} cannot be made: {e}", wish.downloads.display())))?;
        let process = launch::start(wish, policy).await?;
        let name = "managed Chromium".to_owned();
        let made =
            Self::over(process.cdp, process.told, &process.version, ids, name, "its private pipe".to_owned(), Some(wish.downloads.clone()));
        *made.process.lock() = Some(Process::watch(process.child));
        made.begin().await.map(|()| made)
    }

    /// Attaches to a Chromium that somebody else started with a debugging port.
    ///
    /// # Errors
    /// [`BrowserError::Unavailable`] naming the address tried.
    pub async fn attach(address: &str, ids: Arc<TabIds>) -> Result<Self, BrowserError> {
        let (cdp, told) = attach::connect(address).await?;
        let nobody = |why: String| BrowserError::Unavailable(format!("no browser answers at {address}: {why}"));
        let version = tokio::time::timeout(TAB, cdp.call(None, "Browser.getVersion", json!({})))
            .await
            .map_err(|_| nobody("no answer in 5 s".to_owned()))?
            .map_err(|e| nobody(format!("{e:?}")))?;
        let name = format!("Chromium at {address}");
        let made = Self::over(cdp, told, &version, ids, name, address.to_owned(), None);
        made.begin().await.map(|()| made)
    }

    fn over(
        cdp: Cdp,
        told: mpsc::UnboundedReceiver<Told>,
        version: &Value,
        ids: Arc<TabIds>,
        name: String,
        address: String,
        downloads: Option<PathBuf>,
    ) -> Self {
        let (send, events) = mpsc::unbounded_channel();
        let table = Arc::new(Table::new(ids));
        let outsiders = Arc::new(Outsiders::default());
        tokio::spawn(pump(told, cdp.clone(), Arc::clone(&table), Arc::clone(&outsiders), Downloads::new(downloads.clone()), send));
        let user_agent = version["userAgent"].as_str().unwrap_or_default().to_owned();
        Self { cdp, table, outsiders, events: Mutex::new(Some(events)), process: Mutex::new(None), name, user_agent, address, downloads }
    }

    /// From here on every page, popups included, is attached before its first request, so that no rule comes late.
    async fn begin(&self) -> Result<(), BrowserError> {
        let pages = json!([{"type": "page"}]);
        let downloads = self.downloads.as_deref().map(|folder| downloads::order(folder, None));
        let (a, b, c) = tokio::join!(
            self.cdp.call(None, "Target.setDiscoverTargets", json!({"discover": true, "filter": pages})),
            self.cdp.call(
                None,
                "Target.setAutoAttach",
                json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": pages})
            ),
            async {
                match downloads {
                    Some(d) => self.cdp.call(None, "Browser.setDownloadBehavior", d).await,
                    None => Ok(Value::Null),
                }
            }
        );
        for answer in [a, b, c] {
            answer.map_err(|e| BrowserError::Unavailable(format!("{} does not take orders: {e:?}", self.name)))?;
        }
        Ok(())
    }

    /// Returns when the tab that it starts with is there, so that the first caller gets that one.
    pub(crate) async fn first_tab(&self) {
        let _ = tokio::time::timeout(TAB, self.table.wait_any()).await;
    }

    /// What it calls itself towards servers.
    #[must_use]
    pub fn user_agent(&self) -> &str {
        &self.user_agent
    }

    /// Where it answers, for an error that has to name it.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Ends it: asks first, then ends its process. Does nothing to a browser that somebody else started.
    pub async fn quit(&self) {
        let Some(mut process) = self.process.lock().take() else { return };
        let _ = tokio::time::timeout(Duration::from_secs(1), self.cdp.call(None, "Browser.close", json!({}))).await;
        if tokio::time::timeout(QUIT, &mut process.ended).await.is_err() {
            drop(process.keep);
            let _ = process.ended.await;
        }
    }

    fn error(&self, method: &str, tab: Option<TabId>, error: CallError) -> TransportError {
        match error {
            CallError::Ended(reason) => TransportError::Gone(reason),
            // The session of a tab or frame that just closed is unknown to Chrome.
            CallError::Fault { message, .. } if message.contains("Session with given id not found") => match tab {
                Some(tab) => self.table.missing(tab),
                None => TransportError::NoSession,
            },
            CallError::Fault { code, message } => TransportError::Protocol { method: method.to_owned(), code, message },
        }
    }

    async fn browser_call(&self, method: &str, params: Value) -> Result<Value, TransportError> {
        self.cdp.call(None, method, params).await.map_err(|e| self.error(method, None, e))
    }

    async fn window_of(&self, target: &str) -> i64 {
        let answer = self.cdp.call(None, "Browser.getWindowForTarget", json!({"targetId": target})).await;
        answer.ok().and_then(|a| a["windowId"].as_i64()).unwrap_or(0)
    }
}

#[async_trait]
impl Transport for Managed {
    fn kind(&self) -> Kind {
        Kind::Managed
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn alive(&self) -> bool {
        self.cdp.ended().is_none()
    }

    fn download_folder(&self) -> Option<PathBuf> {
        self.downloads.clone()
    }

    async fn tabs(&self) -> Result<Vec<TabInfo>, TransportError> {
        let rows = self.table.rows();
        let windows = futures_util::future::join_all(rows.iter().map(|r| self.window_of(&r.target))).await;
        if let Some(reason) = self.cdp.ended() {
            return Err(TransportError::Gone(reason));
        }
        let mut places = std::collections::HashMap::new();
        let info = rows.into_iter().zip(windows).map(|(row, window)| {
            let place: &mut i64 = places.entry(window).or_insert(0);
            *place += 1;
            TabInfo { id: row.id, url: row.url, title: row.title, active: row.front, window, index: *place - 1, loading: false }
        });
        Ok(info.collect())
    }

    async fn open(&self, wish: OpenTab) -> Result<TabId, TransportError> {
        let answer = self.browser_call("Target.createTarget", json!({"url": wish.url, "background": !wish.front})).await?;
        let target = answer["targetId"].as_str().unwrap_or_default().to_owned();
        let came = tokio::time::timeout(TAB, self.table.wait_for(&target)).await;
        let tab = came.map_err(|_| TransportError::Gone("a new tab did not come up in 5 s".to_owned()))?;
        if wish.front {
            self.table.bring_to_front(tab);
        }
        Ok(tab)
    }

    async fn close(&self, tab: TabId) -> Result<(), TransportError> {
        let (target, session) = self.table.target(tab)?;
        if self.table.rows().len() == 1 {
            // Chromium with a window ends itself with its last tab.
            self.open(OpenTab { url: "about:blank".to_owned(), caller: String::new(), front: true }).await?;
        }
        // `Page.close` asks the page; one that does not answer is closed without.
        let (cdp, table) = (self.cdp.clone(), Arc::clone(&self.table));
        tokio::spawn(async move {
            let asked = cdp.call(Some(&session), "Page.close", json!({}));
            let _ = tokio::time::timeout(Duration::from_secs(2), async {
                let _ = asked.await;
                table.wait_gone(tab).await;
            })
            .await;
            let _ = cdp.call(None, "Target.closeTarget", json!({"targetId": target})).await;
        });
        Ok(())
    }

    async fn select(&self, tab: TabId) -> Result<(), TransportError> {
        let (target, _) = self.table.target(tab)?;
        self.browser_call("Target.activateTarget", json!({"targetId": target})).await?;
        self.table.bring_to_front(tab);
        Ok(())
    }

    async fn send(&self, route: &Route, method: &str, params: Value) -> Result<Value, TransportError> {
        let session = match &route.session {
            Some(child) => child.to_string(),
            None => self.table.target(route.tab)?.1,
        };
        let tab = route.session.is_none().then_some(route.tab);
        let answer = self.cdp.call(Some(&session), method, params).await.map_err(|e| self.error(method, tab, e));
        if let ("Runtime.runIfWaitingForDebugger", Some(tab)) = (method, tab) {
            self.table.begins(tab);
        }
        answer
    }

    fn events(&self) -> mpsc::UnboundedReceiver<Event> {
        self.events.lock().take().unwrap_or_else(|| mpsc::unbounded_channel().1)
    }
}

/// Carries what the browser tells to whoever listens, in its order.
async fn pump(
    mut told: mpsc::UnboundedReceiver<Told>,
    cdp: Cdp,
    table: Arc<Table>,
    outsiders: Arc<Outsiders>,
    mut downloads: Downloads,
    send: mpsc::UnboundedSender<Event>,
) {
    while let Some(told) = told.recv().await {
        match told {
            Told::Reply { outsider, message } => match message["result"]["targetId"].as_str().map(str::to_owned) {
                // A page that is sent elsewhere before our rules are in place would never go on.
                Some(target) => {
                    let (table, outsiders) = (Arc::clone(&table), Arc::clone(&outsiders));
                    tokio::spawn(async move {
                        let _ = tokio::time::timeout(TAB, table.wait_begun(&target)).await;
                        outsiders.reply(outsider, message);
                    });
                }
                None => outsiders.reply(outsider, message),
            },
            Told::Event { session: Some(session), method, params } => {
                if let Some(route) = table.route(&session, &method, &params) {
                    let _ = send.send(Event::Cdp { route, method, params });
                } else {
                    outsiders.event(&session, method, params);
                }
            }
            Told::Event { session: None, method, params } => {
                if let Some(order) = downloads.take(&method, &params) {
                    cdp.tell("Browser.setDownloadBehavior", order);
                }
                if let Some(event) = of_browser(&table, &mut downloads, &method, &params) {
                    let _ = send.send(event);
                }
            }
        }
    }
    let reason = cdp.ended().unwrap_or_else(|| "the browser ended".to_owned());
    table.clear(&reason);
    outsiders.clear();
    let _ = send.send(Event::Gone { reason });
}

/// An event of the browser itself.
fn of_browser(table: &Table, downloads: &mut Downloads, method: &str, params: &Value) -> Option<Event> {
    if method == "Browser.downloadProgress" {
        return Some(Event::Download(downloads.told(params)));
    }
    if method == "Browser.downloadWillBegin" {
        // The tab tells its own ones. A window that was opened for a download cannot: it is told to its opener.
        let opener = table.opener(params["frameId"].as_str()?)?;
        return Some(Event::Cdp { route: Route::tab(opener), method: "Page.downloadWillBegin".to_owned(), params: params.clone() });
    }
    match table.take(method, params)? {
        Change::Opened(tab, opener) => Some(Event::Opened { tab, opener }),
        Change::Closed(tab) => Some(Event::Closed { tab, reason: "the tab was closed".to_owned() }),
    }
}

/// The browser that would be started: the named one, or what this machine has.
///
/// # Errors
/// [`BrowserError::Unavailable`] naming what is missing.
pub fn find_browser(named: Option<&std::path::Path>) -> Result<PathBuf, BrowserError> {
    launch::executable(named)
}
