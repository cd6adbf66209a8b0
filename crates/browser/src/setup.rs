//! How the browsers of a worker are set up, and how their tabs are told of.

use std::str::FromStr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::extension::Relay;
use crate::managed::Launch;
use crate::policy::Policy;
use crate::tab_ids::TabIds;
use crate::transport::{TabId, TabInfo};

/// `--browser`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Choice {
    /// The person's own browser when a tab of it is lent, else the managed one.
    #[default]
    Auto,
    /// Only the managed one.
    Managed,
    /// Only the person's own.
    Extension,
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "managed" => Ok(Self::Managed),
            "extension" => Ok(Self::Extension),
            other => Err(format!("{other:?} is no browser; give auto, managed or extension")),
        }
    }
}

/// Where the managed Chromium comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// Started by us.
    Launch(Launch),
    /// Somebody else's, at this address (`--cdp-url`).
    Attach(String),
}

/// How the browsers of a worker are set up.
#[derive(Debug)]
pub struct Setup {
    /// Which browser calls go to.
    pub choice: Choice,
    /// The managed one.
    pub source: Source,
    /// The person's own ones.
    pub relay: Option<Relay>,
    /// What is allowed.
    pub policy: Policy,
    /// The numbers of all tabs; the same object as the relay's.
    pub ids: Arc<TabIds>,
}

/// A tab as results tell of it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TabRow {
    /// Its number.
    pub id: TabId,
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Whether it is in front of its window.
    pub active: bool,
    /// Whether it is this caller's current tab, on which the other tools act.
    pub current: bool,
    /// The browser's number for its window.
    #[serde(rename = "windowId")]
    pub window: i64,
    /// Its place in that window, from 0.
    pub index: i64,
    /// `complete` or `loading`.
    pub status: &'static str,
    /// The browser it is in.
    pub browser: String,
}

/// How far a call may go in choosing a browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// Its result names the browser, so it may choose another than before.
    Named,
    /// It acts in the browser that the last result named, or fails once saying which is next.
    Silent,
}

/// Where a caller (by its scope) may attach to the managed browser, if it may.
#[derive(Clone)]
pub struct CdpRoute(pub Arc<AddressFor>);

/// The address for a caller's scope.
pub type AddressFor = dyn Fn(&str) -> Option<String> + Send + Sync;

impl std::fmt::Debug for CdpRoute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CdpRoute")
    }
}

impl TabRow {
    pub(crate) fn new(t: TabInfo, current: Option<TabId>, browser: &str) -> Self {
        Self {
            id: t.id,
            url: t.url,
            title: t.title,
            active: t.active,
            current: current == Some(t.id),
            window: t.window,
            index: t.index,
            status: if t.loading { "loading" } else { "complete" },
            browser: browser.to_owned(),
        }
    }
}
