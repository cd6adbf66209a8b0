//! The relay: which browsers are paired, which of them are connected now, and the place each of them has.
//!
//! A place belongs to a paired browser. A second connection with the same token (a copied profile, or the same browser
//! after a sleep) gets it only when the first one no longer answers; a stranger gets none at all.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Sink, Stream, StreamExt};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::browser::{ExtensionBrowser, Numbers};
use super::codes::{Codes, PairingCode};
use super::door::{Admission, Door, Refusal, Who};
use super::store::{self, Record, Store, StoreError};
use super::wire::{Frame, Told, Wire};
use crate::tab_ids::TabIds;

/// How long a browser that was let in may take to say its name.
const GREETING: Duration = Duration::from_secs(10);
/// The longest name of a browser, in characters.
const NAME_MAX: usize = 60;

/// What a relay needs to know.
#[derive(Debug)]
pub struct Settings {
    /// The file of paired browsers; its folder is made when it is missing.
    pub store: PathBuf,
    /// What the popup calls this worker, such as `Deskhand on studio-pc`.
    pub worker: String,
    /// The worker's version.
    pub version: String,
    /// The numbers of all tabs of this worker.
    pub ids: Arc<TabIds>,
}

/// What can go wrong with the relay's own book-keeping.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The list of paired browsers.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No paired browser has this id.
    #[error("no paired browser has the id {0}; the list of paired browsers shows them")]
    Unknown(String),
    /// A name is empty or longer than 60 characters.
    #[error("a browser's name has 1 to 60 characters")]
    Name,
}

/// A paired browser, for the settings page.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PairedBrowser {
    /// Its id, stable while it is paired.
    pub id: String,
    /// What the person calls it.
    pub name: String,
    /// Such as `Chromium 156`.
    pub product: String,
    /// Whether it is connected now.
    pub connected: bool,
    /// Whether the person prefers it over other connected ones.
    pub preferred: bool,
    /// Seconds since 1970.
    pub paired_at: u64,
    /// Seconds since 1970 of its last connection.
    pub seen_at: u64,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    store: Store,
    codes: Codes,
    door: Door,
    connected: Mutex<HashMap<String, Arc<ExtensionBrowser>>>,
    /// Tab numbers of each paired browser, kept between its connections.
    numbers: Mutex<HashMap<String, Arc<Mutex<Numbers>>>>,
    /// One at a time takes or yields a place.
    entering: tokio::sync::Mutex<()>,
    changes: watch::Sender<u64>,
}

/// The relay of one worker. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Relay(Arc<Shared>);

impl Relay {
    /// Reads the paired browsers.
    ///
    /// # Errors
    /// [`RelayError::Store`] when their file cannot be read.
    pub fn open(settings: Settings) -> Result<Self, RelayError> {
        let store = Store::open(&settings.store)?;
        Ok(Self(Arc::new(Shared {
            settings,
            store,
            codes: Codes::default(),
            door: Door::default(),
            connected: Mutex::default(),
            numbers: Mutex::default(),
            entering: tokio::sync::Mutex::default(),
            changes: watch::Sender::new(0),
        })))
    }

    /// Makes a one-time pairing code, good for 2 minutes and 5 tries; the one before it is dead.
    #[must_use]
    pub fn start_pairing(&self) -> PairingCode {
        self.0.codes.start()
    }

    /// Ends the live code, when the person closes the window that shows it.
    pub fn stop_pairing(&self) {
        self.0.codes.stop();
    }

    /// Whether a code can be typed now (false once it was used).
    #[must_use]
    pub fn pairing(&self) -> bool {
        self.0.codes.waiting()
    }

    /// Decides about a WebSocket upgrade by its `Origin` and `Sec-WebSocket-Protocol`. Give `None` for a header that is
    /// absent or stands twice.
    ///
    /// # Errors
    /// A [`Refusal`], with the HTTP status to answer.
    pub fn admit(&self, origin: Option<&str>, protocols: Option<&str>) -> Result<Admission, Refusal> {
        self.0.door.admit(origin, protocols, &self.0.codes, &self.0.store)
    }

    /// Carries one admitted connection until it ends. `stream` yields the text messages and ends with the socket.
    pub async fn serve<S, R>(&self, admission: Admission, mut sink: S, mut stream: R)
    where
        S: Sink<Frame> + Send + Unpin,
        R: Stream<Item = String> + Send + Unpin,
    {
        let hello = match tokio::time::timeout(GREETING, stream.next()).await {
            Ok(Some(text)) => serde_json::from_str::<Value>(&text).ok().filter(|f| f["hello"].is_object()),
            _ => None,
        };
        let Some(hello) = hello else {
            return close(&mut sink, 4400, "no greeting came").await;
        };
        let (record, token) = match self.greet(admission, &hello["hello"]) {
            Ok(known) => known,
            Err(error) => {
                tracing::error!(%error, "a browser could not be paired");
                return close(&mut sink, 4500, "the worker could not keep the pairing").await;
            }
        };
        let (wire, outbox) = Wire::new();
        let Settings { worker, version, .. } = &self.0.settings;
        let mut welcome = json!({ "worker": worker, "version": version, "name": record.name });
        if let Some(token) = token {
            welcome["token"] = token.into();
        }
        // Before anybody learns of the browser: who asks something of it at once must not come before the welcome.
        wire.send(&json!({ "welcome": welcome }));
        let Some(browser) = self.enter(&record, wire).await else {
            return close(&mut sink, 4409, "this browser is connected already").await;
        };
        tracing::info!(browser = record.name, "a browser connected");
        // Also when this future is dropped (the listener stops), nobody may keep a browser that is not there.
        let place = Place { relay: self, browser: &browser };
        browser.wire().run(outbox, sink, stream, |told| self.told(&browser, told)).await;
        drop(place);
    }

    /// The record of who was admitted; a new one's token goes out in the welcome and nowhere else.
    fn greet(&self, admission: Admission, hello: &Value) -> Result<(Record, Option<String>), StoreError> {
        let name = short(hello["name"].as_str().unwrap_or_default());
        let product = short(hello["product"].as_str().unwrap_or_default());
        match admission.0 {
            Who::New => {
                let name = if name.is_empty() { "Chromium".to_owned() } else { name };
                self.0.store.add(&name, &product).map(|(record, token)| (record, Some(token)))
            }
            Who::Known(record) => {
                self.0.store.update(&record.id, |r| {
                    r.seen_at = store::now();
                    r.product = product;
                })?;
                Ok((record, None))
            }
        }
    }

    /// Takes the browser's place; `None` when another connection has it and is alive, or it was revoked meanwhile.
    async fn enter(&self, record: &Record, wire: Wire) -> Option<Arc<ExtensionBrowser>> {
        let _one = self.0.entering.lock().await;
        let holder = self.0.connected.lock().get(&record.id).cloned();
        if let Some(holder) = holder {
            if holder.wire().probe().await {
                return None;
            }
            holder.wire().end(4408, "the extension did not answer any more");
        }
        self.0.store.get(&record.id)?;
        let numbers = Arc::clone(
            self.0
                .numbers
                .lock()
                .entry(record.id.clone())
                .or_insert_with(|| Arc::new(Mutex::new(Numbers::new(Arc::clone(&self.0.settings.ids))))),
        );
        let browser = Arc::new(ExtensionBrowser::new(record.id.clone(), record.name.clone(), Arc::new(wire), numbers));
        self.0.connected.lock().insert(record.id.clone(), Arc::clone(&browser));
        self.changed();
        Some(browser)
    }

    fn leave(&self, browser: &Arc<ExtensionBrowser>) {
        let mut connected = self.0.connected.lock();
        if connected.get(browser.id()).is_some_and(|b| Arc::ptr_eq(b, browser)) {
            connected.remove(browser.id());
        }
        drop(connected);
        self.changed();
    }

    fn told(&self, browser: &Arc<ExtensionBrowser>, told: Told) {
        if told.event == "renamed" {
            let name = short(told.params["name"].as_str().unwrap_or_default());
            if !name.is_empty() && self.0.store.update(browser.id(), |r| r.name.clone_from(&name)).is_ok() {
                browser.rename(&name);
                self.changed();
            }
            return;
        }
        let moved = matches!(told.event.as_str(), "tab.lent" | "tab.gone");
        browser.told(told);
        if moved {
            self.changed();
        }
    }

    fn changed(&self) {
        self.0.changes.send_modify(|n| *n += 1);
    }

    /// Changes whenever a browser comes, goes or is renamed, or a tab is lent or taken back.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// The connected browsers, the preferred one first, then by name.
    #[must_use]
    pub fn connected(&self) -> Vec<Arc<ExtensionBrowser>> {
        let preferred = self.0.store.all().into_iter().find(|r| r.preferred).map(|r| r.id);
        let mut all: Vec<_> = self.0.connected.lock().values().cloned().collect();
        all.sort_by_key(|b| (Some(b.id()) != preferred.as_deref(), browser_name(b), b.id().to_owned()));
        all
    }

    /// All paired browsers, in the order of their pairing.
    #[must_use]
    pub fn browsers(&self) -> Vec<PairedBrowser> {
        let connected = self.0.connected.lock();
        let row = |r: Record| PairedBrowser {
            connected: connected.contains_key(&r.id),
            id: r.id,
            name: r.name,
            product: r.product,
            preferred: r.preferred,
            paired_at: r.paired_at,
            seen_at: r.seen_at,
        };
        self.0.store.all().into_iter().map(row).collect()
    }

    /// Names a browser; its popup shows the name at once when it is connected.
    ///
    /// # Errors
    /// [`RelayError::Name`], [`RelayError::Unknown`], [`RelayError::Store`].
    pub fn rename(&self, id: &str, name: &str) -> Result<(), RelayError> {
        let name = name.trim();
        if name.is_empty() || name.chars().count() > NAME_MAX {
            return Err(RelayError::Name);
        }
        if !self.0.store.update(id, |r| name.clone_into(&mut r.name))? {
            return Err(RelayError::Unknown(id.to_owned()));
        }
        if let Some(browser) = self.0.connected.lock().get(id) {
            browser.rename(name);
            browser.wire().send(&json!({ "event": "named", "params": { "name": name } }));
        }
        self.changed();
        Ok(())
    }

    /// Ends a pairing for good: the browser is cut and its token is worthless.
    ///
    /// # Errors
    /// [`RelayError::Unknown`], [`RelayError::Store`].
    pub fn revoke(&self, id: &str) -> Result<(), RelayError> {
        if !self.0.store.remove(id)? {
            return Err(RelayError::Unknown(id.to_owned()));
        }
        if let Some(browser) = self.0.connected.lock().get(id) {
            browser.wire().end(4401, "the pairing was ended on the worker's side");
        }
        self.changed();
        Ok(())
    }

    /// Prefers one browser over the others when several lend tabs; `None` prefers nobody.
    ///
    /// # Errors
    /// [`RelayError::Unknown`], [`RelayError::Store`].
    pub fn prefer(&self, id: Option<&str>) -> Result<(), RelayError> {
        if let Some(id) = id.filter(|id| self.0.store.get(id).is_none()) {
            return Err(RelayError::Unknown(id.to_owned()));
        }
        self.0.store.prefer(id)?;
        self.changed();
        Ok(())
    }
}

/// A browser's place for as long as its connection is carried.
struct Place<'a> {
    relay: &'a Relay,
    browser: &'a Arc<ExtensionBrowser>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let why = self.browser.wire().finish();
        tracing::info!(browser = browser_name(self.browser), reason = why, "a browser is gone");
        self.relay.leave(self.browser);
        self.browser.gone(&why);
    }
}

fn browser_name(browser: &ExtensionBrowser) -> String {
    crate::Transport::name(browser)
}

/// A name from outside: one line, no control characters, not endless.
fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(NAME_MAX).collect::<String>().trim().to_owned()
}

async fn close<S: Sink<Frame> + Unpin>(sink: &mut S, code: u16, reason: &str) {
    use futures_util::SinkExt;
    // Nobody waits for the outcome: the connection is over either way.
    let farewell = async {
        let _ = sink.send(Frame::Close { code, reason: reason.to_owned() }).await;
        let _ = sink.close().await;
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), farewell).await;
}
