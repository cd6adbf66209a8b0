//! A connected browser of the person as a [`Transport`]. Lives as long as one connection: when the service worker is
//! restarted, a new one takes its place, with the same tab numbers for the same lent tabs.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::wire::{CallError, Fault, Told, Wire};
use crate::tab_ids::TabIds;
use crate::transport::{Event, Kind, OpenTab, Route, TabId, TabInfo, Transport, TransportError};

/// Tab numbers of one paired browser; they outlive its connections. The extension's own ids are random, so one that
/// comes again is the same lent tab.
#[derive(Debug)]
pub(super) struct Numbers {
    ids: Arc<TabIds>,
    by_lease: HashMap<String, TabId>,
    by_number: HashMap<TabId, String>,
    gone: HashMap<TabId, String>,
}

impl Numbers {
    pub(super) fn new(ids: Arc<TabIds>) -> Self {
        Self { ids, by_lease: HashMap::new(), by_number: HashMap::new(), gone: HashMap::new() }
    }

    fn of(&mut self, lease: &str) -> TabId {
        if let Some(number) = self.by_lease.get(lease) {
            return *number;
        }
        let number = self.ids.next();
        self.by_lease.insert(lease.to_owned(), number);
        self.by_number.insert(number, lease.to_owned());
        number
    }

    fn drop_lease(&mut self, lease: &str, reason: &str) -> Option<TabId> {
        let number = self.by_lease.remove(lease)?;
        self.by_number.remove(&number);
        self.gone.insert(number, reason.to_owned());
        Some(number)
    }

    fn lease(&self, tab: TabId) -> Result<String, TransportError> {
        self.by_number.get(&tab).cloned().ok_or_else(|| TransportError::NoTab {
            tab,
            reason: self.gone.get(&tab).cloned().unwrap_or_else(|| "it is not lent to Deskhand".to_owned()),
        })
    }

    /// Everything a restarted browser no longer lends.
    fn keep_only(&mut self, leases: &[Row]) -> Vec<TabId> {
        let lost: Vec<String> = self.by_lease.keys().filter(|l| !leases.iter().any(|r| r.tab == **l)).cloned().collect();
        lost.iter().filter_map(|l| self.drop_lease(l, "it is not lent any more")).collect()
    }
}

/// A tab as the extension lists it.
#[derive(Debug, Deserialize)]
struct Row {
    tab: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    active: bool,
    #[serde(rename = "windowId", default)]
    window: i64,
    #[serde(default)]
    index: i64,
    #[serde(default)]
    status: String,
}

/// One connected browser.
#[derive(Debug)]
pub struct ExtensionBrowser {
    id: String,
    name: Mutex<String>,
    wire: Arc<Wire>,
    numbers: Arc<Mutex<Numbers>>,
    listener: Mutex<Option<mpsc::UnboundedSender<Event>>>,
    listened: AtomicBool,
}

impl ExtensionBrowser {
    pub(super) fn new(id: String, name: String, wire: Arc<Wire>, numbers: Arc<Mutex<Numbers>>) -> Self {
        Self { id, name: Mutex::new(name), wire, numbers, listener: Mutex::new(None), listened: AtomicBool::new(false) }
    }

    /// The id of the paired browser, stable over connections.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn rename(&self, name: &str) {
        name.clone_into(&mut self.name.lock());
    }

    pub(super) fn wire(&self) -> &Wire {
        &self.wire
    }

    async fn tab_call(&self, tab: TabId, call: &str, mut params: Value) -> Result<Value, TransportError> {
        params["tab"] = Value::String(self.numbers.lock().lease(tab)?);
        self.wire.call(call, params).await.map_err(|e| self.sorted(e, tab, call))
    }

    /// An error of the extension as one of the transport's. `what` is the command as the caller knows it.
    fn sorted(&self, error: CallError, tab: TabId, what: &str) -> TransportError {
        let Fault { reason, message, code } = match error {
            CallError::Ended(reason) => return TransportError::Gone(reason),
            CallError::Fault(fault) => fault,
        };
        match reason.as_str() {
            "not_lent" | "closed" => {
                let reason = self.numbers.lock().gone.get(&tab).cloned().unwrap_or(message);
                TransportError::NoTab { tab, reason }
            }
            "cdp" if message.contains("Session with given id not found") => TransportError::NoSession,
            "cdp" => TransportError::Protocol { method: what.to_owned(), code: code.unwrap_or_default(), message },
            "not_allowed" | "too_large" | "bad_request" => {
                TransportError::Unsupported { what: what.to_owned(), browser: self.name(), reason: message }
            }
            _ => TransportError::Unreachable { tab, reason: message },
        }
    }

    fn tell(&self, event: Event) {
        if let Some(listener) = self.listener.lock().as_ref() {
            // A listener that went away is no loss.
            let _ = listener.send(event);
        }
    }

    /// An event of the extension.
    pub(super) fn told(&self, Told { event, mut params }: Told) {
        let lease = params["tab"].as_str().unwrap_or_default().to_owned();
        match event.as_str() {
            "debugger.event" => {
                let Some(tab) = self.numbers.lock().by_lease.get(&lease).copied() else { return };
                let session = params["session"].as_str().map(Arc::from);
                let method = params["method"].as_str().unwrap_or_default().to_owned();
                let params = params.get_mut("params").map(Value::take).unwrap_or_default();
                self.tell(Event::Cdp { route: Route { tab, session }, method, params });
            }
            "tab.lent" => {
                let mut numbers = self.numbers.lock();
                let tab = numbers.of(&lease);
                let opener = params["opener"].as_str().and_then(|o| numbers.by_lease.get(o).copied());
                drop(numbers);
                self.tell(Event::Opened { tab, opener });
            }
            "tab.gone" => {
                let reason = gone(params["reason"].as_str().unwrap_or_default());
                let tab = self.numbers.lock().drop_lease(&lease, reason);
                if let Some(tab) = tab {
                    self.tell(Event::Closed { tab, reason: reason.to_owned() });
                }
            }
            "tab.detached" => {
                let Some(tab) = self.numbers.lock().by_lease.get(&lease).copied() else { return };
                let reason = format!("Chrome ended the debugging session ({})", params["reason"].as_str().unwrap_or("?"));
                self.tell(Event::Detached { tab, reason });
            }
            other => tracing::debug!(event = other, "an event of the extension that this version does not know"),
        }
    }

    pub(super) fn gone(&self, reason: &str) {
        self.tell(Event::Gone { reason: reason.to_owned() });
        *self.listener.lock() = None;
        self.listened.store(true, Ordering::Relaxed);
    }
}

/// Why a lent tab is gone, in words for a reader.
fn gone(reason: &str) -> &'static str {
    match reason {
        "closed" => "the tab was closed",
        "cancelled" => "the person pressed Cancel on the browser's debugging bar; only they can lend it again",
        "stopped" => "the person stopped all AI control in this browser; only they can lend it again",
        _ => "the person stopped lending this tab; only they can lend it again",
    }
}

#[async_trait]
impl Transport for ExtensionBrowser {
    fn kind(&self) -> Kind {
        Kind::Extension
    }

    fn name(&self) -> String {
        self.name.lock().clone()
    }

    fn alive(&self) -> bool {
        self.wire.open()
    }

    async fn tabs(&self) -> Result<Vec<TabInfo>, TransportError> {
        let answer = self.wire.call("tabs.query", json!({})).await.map_err(|e| self.sorted(e, 0, "tabs.query"))?;
        let rows: Vec<Row> = serde_json::from_value(answer["tabs"].clone())
            .map_err(|e| TransportError::Gone(format!("the extension's list of tabs is not readable: {e}")))?;
        let mut numbers = self.numbers.lock();
        let lost = numbers.keep_only(&rows);
        let tabs = rows
            .into_iter()
            .map(|row| TabInfo {
                id: numbers.of(&row.tab),
                url: row.url,
                title: row.title,
                active: row.active,
                window: row.window,
                index: row.index,
                loading: row.status == "loading",
            })
            .collect();
        drop(numbers);
        for tab in lost {
            self.tell(Event::Closed { tab, reason: "it is not lent any more".to_owned() });
        }
        Ok(tabs)
    }

    async fn open(&self, wish: OpenTab) -> Result<TabId, TransportError> {
        let params = json!({ "url": wish.url, "active": wish.front, "group": wish.caller });
        let answer = self.wire.call("tabs.create", params).await.map_err(|error| match error {
            CallError::Fault(fault) if fault.reason != "failed" => {
                TransportError::Unsupported { what: "opening a tab".to_owned(), browser: self.name(), reason: fault.message }
            }
            other => self.sorted(other, 0, "opening a tab"),
        })?;
        let lease = answer["tab"].as_str().unwrap_or_default();
        Ok(self.numbers.lock().of(lease))
    }

    async fn close(&self, tab: TabId) -> Result<(), TransportError> {
        self.tab_call(tab, "tabs.remove", json!({})).await.map(drop)
    }

    async fn select(&self, tab: TabId) -> Result<(), TransportError> {
        self.tab_call(tab, "tabs.update", json!({})).await.map(drop)
    }

    async fn label(&self, tab: TabId, caller: &str) {
        if let Err(error) = self.tab_call(tab, "tabs.group", json!({ "title": caller })).await {
            tracing::debug!(tab, %error, "a tab could not be labelled");
        }
    }

    async fn send(&self, route: &Route, method: &str, params: Value) -> Result<Value, TransportError> {
        let lease = self.numbers.lock().lease(route.tab)?;
        let params = json!({ "tab": lease, "session": route.session.as_deref(), "method": method, "params": params });
        self.wire.call("debugger.sendCommand", params).await.map_err(|e| self.sorted(e, route.tab, method))
    }

    fn events(&self) -> mpsc::UnboundedReceiver<Event> {
        let (tx, rx) = mpsc::unbounded_channel();
        if !self.listened.swap(true, Ordering::Relaxed) {
            *self.listener.lock() = Some(tx);
        }
        rx
    }
}
