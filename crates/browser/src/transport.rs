//! The one seam between the page operations and Chrome. Whatever can list, open, close and show tabs, carry one
//! Chrome DevTools Protocol (CDP) command to a tab and hand back its events is a browser for Deskhand. Two things can:
//! [`managed`](crate::managed) (a Chromium of our own, over a private pipe) and the extension's relay (the person's
//! own browser). Nothing above this trait may know which one it talks to, except to say so in a result.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::mpsc;

/// A tab's number as agents see it: positive, unique over all browsers of this worker, never given out twice
/// (see [`TabIds`](crate::TabIds)).
pub type TabId = i64;

/// Which kind of browser stands behind a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The Chromium that Deskhand launches, or attached to by `--cdp-url`.
    Managed,
    /// The person's own browser, through the extension.
    Extension,
}

/// Where a command goes: a tab's main target, or one of its child sessions (a cross-origin frame or a worker) that
/// `Target.attachedToTarget` announced on that tab after `Target.setAutoAttach {flatten: true}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Route {
    /// The tab.
    pub tab: TabId,
    /// The child session's id as Chrome gave it; `None` for the tab itself.
    pub session: Option<Arc<str>>,
}

impl Route {
    /// The tab itself.
    #[must_use]
    pub fn tab(tab: TabId) -> Self {
        Self { tab, session: None }
    }
}

/// One tab as the browser tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TabInfo {
    /// Its number.
    pub id: TabId,
    /// Its address.
    pub url: String,
    /// Its title; may be empty.
    pub title: String,
    /// Whether it is the tab in front of its window.
    pub active: bool,
    /// The browser's number for its window; 0 when the browser does not say.
    pub window: i64,
    /// Its place in that window, from 0.
    pub index: i64,
    /// Whether it is still loading.
    pub loading: bool,
}

/// What happened in the browser. In the order in which it happened, per transport.
#[derive(Debug, Clone)]
pub enum Event {
    /// A tab came up that may be used: opened by a page or a person, or just lent by the person.
    Opened {
        /// The new tab.
        tab: TabId,
        /// The tab whose page opened it, where that is known.
        opener: Option<TabId>,
    },
    /// The tab is gone for good, or was taken back by the person ("Cancel" on the debugger bar, "stop lending").
    Closed {
        /// The tab.
        tab: TabId,
        /// In words for a reader, such as "the tab was closed" or "the person stopped lending this tab".
        reason: String,
    },
    /// The tab exists still but its protocol session was lost (a crash of the relay, developer tools took over).
    /// All state of the session (enabled domains, child sessions, scripts) is gone; the next `send` attaches anew.
    Detached {
        /// The tab.
        tab: TabId,
        /// In words for a reader.
        reason: String,
    },
    /// A CDP event of a tab or of one of its child sessions. Unknown ones are passed on like any other.
    Cdp {
        /// Where it came from.
        route: Route,
        /// Such as `Page.frameNavigated`.
        method: String,
        /// As Chrome sent them.
        params: Value,
    },
    /// A download ended or moved on, told by the browser itself (not every transport can tell).
    Download(Download),
    /// The browser or the connection to it is gone; nothing more will come from this transport.
    Gone {
        /// In words for a reader.
        reason: String,
    },
}

/// What a transport that watches downloads says about one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// Chrome's id of the download, the `guid` of `Page.downloadWillBegin`.
    pub guid: String,
    /// Where the file is, once it is complete.
    pub path: Option<String>,
    /// `inProgress`, `completed` or `canceled`.
    pub state: String,
    /// Bytes so far.
    pub received: u64,
    /// Bytes in all; 0 while that is not known.
    pub total: u64,
}

impl Download {
    /// From the parameters of `Browser.downloadProgress` or `Page.downloadProgress`.
    pub(crate) fn from_event(params: &Value) -> Self {
        let text = |k: &str| params[k].as_str().map(str::to_owned);
        let bytes = |k: &str| params[k].as_f64().map_or(0, |b| b as u64);
        Self {
            guid: text("guid").unwrap_or_default(),
            path: text("filePath").filter(|p| !p.is_empty()),
            state: text("state").unwrap_or_default(),
            received: bytes("receivedBytes"),
            total: bytes("totalBytes"),
        }
    }
}

/// A wish for a new tab.
#[derive(Debug, Clone)]
pub struct OpenTab {
    /// What it opens at first; `about:blank` when a page comes later.
    pub url: String,
    /// The name of the agent that asks, for the person to see (the extension makes one tab group per name).
    pub caller: String,
    /// Whether it comes to the front of its window. Agents' tabs normally do not, so that nobody's focus is stolen.
    pub front: bool,
}

/// Why a command did not reach its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// No such tab here, or it was closed or taken back meanwhile.
    #[error("tab {tab} is gone: {reason}")]
    NoTab {
        /// The tab.
        tab: TabId,
        /// In words for a reader.
        reason: String,
    },
    /// The tab is there but nobody can talk to it now: developer tools hold it, its page may not be debugged.
    #[error("tab {tab} cannot be reached: {reason}")]
    Unreachable {
        /// The tab.
        tab: TabId,
        /// In words for a reader, with the next step.
        reason: String,
    },
    /// The child session ended (its frame went away or moved to another process).
    #[error("the frame is gone")]
    NoSession,
    /// Chrome answered this command with an error.
    #[error("{method}: {message}")]
    Protocol {
        /// The command.
        method: String,
        /// Chrome's code, such as -32000.
        code: i64,
        /// Chrome's words.
        message: String,
    },
    /// The browser or the connection to it is gone.
    #[error("the browser is gone: {0}")]
    Gone(String),
    /// This transport does not carry this command.
    #[error("{what} is not possible in {browser}: {reason}")]
    Unsupported {
        /// The command or operation.
        what: String,
        /// The browser's name.
        browser: String,
        /// Why.
        reason: String,
    },
}

/// A browser as the page operations need it. Object safe; all methods may be called from many tasks at once.
///
/// No method has a deadline of its own: the caller drops the future when its time is over, and a transport must stay
/// usable when that happens. Commands to one route are carried in the order of the calls.
#[async_trait]
pub trait Transport: Send + Sync + std::fmt::Debug {
    /// Which kind this is.
    fn kind(&self) -> Kind;

    /// The name a person knows it by: "managed Chromium", "Chrome (Work)". Stable while connected.
    fn name(&self) -> String;

    /// Whether it still answers. After [`Event::Gone`] it is false for ever.
    fn alive(&self) -> bool;

    /// Where downloads land, when this transport tells the place of each by [`Event::Download`].
    fn download_folder(&self) -> Option<PathBuf> {
        None
    }

    /// The tabs that may be used: all of a managed browser's page tabs, of a person's browser only the lent ones and
    /// those that agents opened there.
    ///
    /// # Errors
    /// [`TransportError::Gone`].
    async fn tabs(&self) -> Result<Vec<TabInfo>, TransportError>;

    /// Opens a tab and returns when it exists (not when its page has loaded). [`Event::Opened`] comes too.
    ///
    /// # Errors
    /// [`TransportError::Gone`], or [`TransportError::Unsupported`] when the person's browser allows no new tabs.
    async fn open(&self, wish: OpenTab) -> Result<TabId, TransportError>;

    /// Asks the browser to close a tab, as a person would: its page may ask back through `beforeunload`. Returns when
    /// the wish is delivered; [`Event::Closed`] tells that it happened.
    ///
    /// # Errors
    /// [`TransportError::NoTab`], [`TransportError::Gone`].
    async fn close(&self, tab: TabId) -> Result<(), TransportError>;

    /// Brings a tab to the front of its window.
    ///
    /// # Errors
    /// [`TransportError::NoTab`], [`TransportError::Gone`].
    async fn select(&self, tab: TabId) -> Result<(), TransportError>;

    /// Shows the person which agent works in a tab, where the browser can (the extension: a tab group of that name).
    /// Decoration only, so it cannot fail.
    async fn label(&self, _tab: TabId, _caller: &str) {}

    /// One raw CDP command; answers the `result` object. Attaches to the tab first when that is needed.
    ///
    /// # Errors
    /// Any [`TransportError`].
    async fn send(&self, route: &Route, method: &str, params: Value) -> Result<Value, TransportError>;

    /// Everything that happens from now on. May be called once per transport; later calls get a stream that is
    /// already at its end.
    fn events(&self) -> mpsc::UnboundedReceiver<Event>;
}
