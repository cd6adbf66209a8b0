//! Sessions in memory: whose each one is, how many there may be, and which request ids are in flight.
//!
//! rmcp's own manager keeps sessions without owner or limit and loses the first answer when an id is reused, so this
//! one wraps it. Full means full for now: when the limit is reached, a session that has been quiet for a minute moves to
//! the store (its id keeps working), and only if there is none is a new one refused.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures_util::Stream;
use parking_lot::Mutex;
use rmcp::model::{CancelledNotificationParam, ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, LocalSessionManagerError, SessionTransport};
use rmcp::transport::streamable_http_server::session::{RestoreOutcome, ServerSseMessage, SessionId, SessionManager};
use serde_json::Value;

use crate::service::{Caller, Service};
use crate::store::FileStore;

/// A session this quiet may move to the store when room is needed.
const QUIET: Duration = Duration::from_secs(60);
/// How often a busy session's file gets a new date.
const STAMP_EVERY: Duration = Duration::from_secs(3600);

/// What is known of one session in memory.
#[derive(Debug)]
struct Entry {
    caller: Caller,
    version: String,
    used: Instant,
    stamped: Instant,
    in_flight: HashSet<String>,
    streams: usize,
}

/// All sessions in memory, and the rmcp manager that runs them.
pub(crate) struct Sessions {
    inner: LocalSessionManager,
    entries: Mutex<HashMap<String, Entry>>,
    opening: Mutex<usize>,
    restoring: tokio::sync::Mutex<()>,
    limit: usize,
    store: Option<FileStore>,
    service: Option<Arc<dyn Service>>,
    me: Weak<Self>,
}

/// A place kept for a session that is being opened.
pub(crate) struct Place(Arc<Sessions>);

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.opening.lock() -= 1;
    }
}

/// Why a session cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Unknown, ended, or somebody else's; the three look alike from outside.
    NotFound,
    /// No room for one more.
    Full,
}

impl Sessions {
    /// A manager of at most `limit` sessions that leave memory after `idle` without a message.
    pub(crate) fn new(limit: usize, idle: Duration, store: Option<FileStore>, service: Option<Arc<dyn Service>>) -> Arc<Self> {
        Arc::new_cyclic(|me| {
            let mut inner = LocalSessionManager::default();
            inner.session_config.keep_alive = Some(idle);
            Self {
                inner,
                entries: Mutex::default(),
                opening: Mutex::new(0),
                restoring: tokio::sync::Mutex::default(),
                limit,
                store,
                service,
                me: me.clone(),
            }
        })
    }

    /// Keeps a place for a new session, moving a quiet one out if need be.
    pub(crate) async fn reserve(self: &Arc<Self>) -> Result<Place, Refused> {
        for _ in 0..2 {
            {
                let mut opening = self.opening.lock();
                if self.entries.lock().len() + *opening < self.limit {
                    *opening += 1;
                    return Ok(Place(Arc::clone(self)));
                }
            }
            let Some(id) = self.quietest() else { return Err(Refused::Full) };
            let _ = self.inner.close_session(&SessionId::from(id.as_str())).await;
            self.forget(&id);
        }
        Err(Refused::Full)
    }

    fn quietest(&self) -> Option<String> {
        // Without a store a session that leaves memory is lost, so there it stays.
        self.store.as_ref()?;
        let entries = self.entries.lock();
        let quiet = entries.iter().filter(|(_, e)| e.in_flight.is_empty() && e.streams == 0 && e.used.elapsed() >= QUIET);
        quiet.min_by_key(|(_, entry)| entry.used).map(|(id, _)| id.clone())
    }

    /// Notes a session that was just opened.
    pub(crate) fn opened(&self, id: &str, caller: &Caller, version: &str) {
        let now = Instant::now();
        let mut caller = caller.clone();
        caller.session = Some(id.to_owned());
        let entry = Entry { caller, version: version.to_owned(), used: now, stamped: now, in_flight: HashSet::new(), streams: 0 };
        self.entries.lock().entry(id.to_owned()).or_insert(entry);
    }

    /// The revision of this caller's session if it is in memory; `None` when it is not.
    pub(crate) fn known(&self, id: &str, caller: &Caller) -> Option<Result<String, Refused>> {
        let mut entries = self.entries.lock();
        let entry = entries.get_mut(id)?;
        if entry.caller.principal != caller.principal {
            return Some(Err(Refused::NotFound));
        }
        entry.used = Instant::now();
        if let Some(store) = self.store.as_ref().filter(|_| entry.stamped.elapsed() > STAMP_EVERY) {
            entry.stamped = Instant::now();
            store.stamp(id);
        }
        Some(Ok(entry.version.clone()))
    }

    /// Lets one session at a time come back from the store: `wake` has rmcp restore it.
    ///
    /// rmcp shows a session as present before its handshake has been replayed, and a request that comes in between kills
    /// it; so the others wait here until the first is through.
    pub(crate) async fn restore<W>(self: &Arc<Self>, id: &str, caller: &Caller, wake: W) -> Result<String, Refused>
    where
        W: Future<Output = bool>,
    {
        let _one = self.restoring.lock().await;
        if let Some(known) = self.known(id, caller) {
            return known;
        }
        let saved = self.store.as_ref().and_then(|store| store.find(id, caller)).ok_or(Refused::NotFound)?;
        let _place = self.reserve().await?;
        if !wake.await {
            return Err(Refused::NotFound);
        }
        self.opened(id, caller, &saved.version());
        Ok(saved.version())
    }

    /// Whether this caller could end the session; takes no place for it.
    pub(crate) fn belongs(&self, id: &str, caller: &Caller) -> bool {
        match self.entries.lock().get(id) {
            Some(entry) => entry.caller.principal == caller.principal,
            None => self.store.as_ref().is_some_and(|store| store.find(id, caller).is_some()),
        }
    }

    /// Marks a request id as in flight.
    ///
    /// `cancel` says whether dropping the mark before it is finished cancels the request (the client is gone).
    pub(crate) fn begin(&self, session: &str, id: &Value, cancel: bool) -> Option<InFlight> {
        let key = id.to_string();
        let mut entries = self.entries.lock();
        let entry = entries.get_mut(session)?;
        entry.in_flight.insert(key.clone()).then(|| InFlight {
            sessions: self.me.clone(),
            session: session.to_owned(),
            id: id.clone(),
            key,
            cancel,
        })
    }

    /// Marks an open stream of the session: it is not quiet.
    pub(crate) fn listening(&self, session: &str) -> Listening {
        if let Some(entry) = self.entries.lock().get_mut(session) {
            entry.streams += 1;
        }
        Listening { sessions: self.me.clone(), session: session.to_owned() }
    }

    /// Sessions in memory.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.entries.lock().len()
    }

    /// Drops the entry of a session that rmcp does not have (any more).
    pub(crate) fn forget(&self, id: &str) {
        let entry = self.entries.lock().remove(id);
        if let (Some(service), Some(entry)) = (&self.service, entry) {
            service.session_closed(&entry.caller);
        }
    }

    /// Forgets a session on disk too.
    pub(crate) fn erase(&self, id: &str) {
        self.forget(id);
        if let Some(store) = &self.store {
            store.remove(id);
        }
    }
}

/// A request under way. Dropped early it cancels the request, because then the client is gone.
pub(crate) struct InFlight {
    sessions: Weak<Sessions>,
    session: String,
    id: Value,
    key: String,
    cancel: bool,
}

impl InFlight {
    /// The answer has been sent: nothing to cancel.
    pub(crate) fn finished(&mut self) {
        self.cancel = false;
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let Some(sessions) = self.sessions.upgrade() else { return };
        if let Some(entry) = sessions.entries.lock().get_mut(&self.session) {
            entry.in_flight.remove(&self.key);
            entry.used = Instant::now();
        }
        let (true, Ok(runtime)) = (self.cancel, tokio::runtime::Handle::try_current()) else { return };
        let Ok(id) = serde_json::from_value(self.id.clone()) else { return };
        let session = SessionId::from(self.session.as_str());
        runtime.spawn(async move {
            let params = CancelledNotificationParam::new(Some(id), Some("the client closed the stream".to_owned()));
            let notification = rmcp::model::CancelledNotification::new(params);
            let _ = sessions.inner.accept_message(&session, ClientJsonRpcMessage::notification(notification.into())).await;
        });
    }
}

/// An open GET stream.
pub(crate) struct Listening {
    sessions: Weak<Sessions>,
    session: String,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let Some(sessions) = self.sessions.upgrade() else { return };
        if let Some(entry) = sessions.entries.lock().get_mut(&self.session) {
            entry.streams = entry.streams.saturating_sub(1);
            entry.used = Instant::now();
        }
    }
}

/// rmcp's side: everything goes to the local manager, and what closes is noted.
pub(crate) struct Manager(pub(crate) Arc<Sessions>);

impl SessionManager for Manager {
    type Error = LocalSessionManagerError;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        self.0.inner.create_session().await
    }

    async fn initialize_session(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.0.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.0.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.0.forget(id);
        self.0.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + 'static, Self::Error> {
        self.0.inner.create_stream(id, message).await
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.0.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(&self, id: &SessionId) -> Result<impl Stream<Item = ServerSseMessage> + Send + 'static, Self::Error> {
        self.0.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + 'static, Self::Error> {
        self.0.inner.resume(id, last_event_id).await
    }

    async fn restore_session(&self, id: SessionId) -> Result<RestoreOutcome<Self::Transport>, Self::Error> {
        self.0.inner.restore_session(id).await
    }
}
