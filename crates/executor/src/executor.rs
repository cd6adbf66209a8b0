//! The executor as the worker holds it: who is signed in, whether AI control is authorised, and the two sockets.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deskhand_core::{Dispatcher, Gate, GateState};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::account::Account;
use crate::address::Address;
use crate::desk::Desk;
use crate::error::{ExecutorError, Result};
use crate::keeper::{Keeper, Order};
use crate::ledger::Ledger;
use crate::login::{self, Credentials};
use crate::secret::{Kept, Token, Vault, write_private};
use crate::socket::Shared;
use crate::status::Status;

/// Where gateway and token come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// From signing in: the account in the state folder, the token in the vault. Followed while running.
    Account {
        /// The worker's state folder.
        state_dir: PathBuf,
        /// Where tokens are kept.
        vault: Vault,
    },
    /// Given at start (`--gateway`, `--gateway-token-file`); never changed or removed.
    Fixed {
        /// The gateway.
        address: Address,
        /// The token.
        token: Token,
        /// PEM of certificates trusted beside the system's.
        ca: Option<PathBuf>,
        /// Where the status file goes, if anywhere.
        state_dir: Option<PathBuf>,
    },
}

/// Whether AI control is authorised, as the executor needs it: true while authorised or paused.
#[must_use]
pub fn authorised(gate: &Gate) -> watch::Receiver<bool> {
    let wanted = |gate: &Gate| !matches!(gate.state(), GateState::Off { .. });
    let (sender, receiver) = watch::channel(wanted(gate));
    let gate = gate.clone();
    tokio::spawn(async move {
        let mut changes = gate.changes();
        loop {
            sender.send_if_modified(|known| std::mem::replace(known, wanted(&gate)) != *known);
            // A grant that runs out changes the state without a notice.
            let looked = tokio::time::timeout(Duration::from_secs(1), changes.changed());
            tokio::select! {
                changed = looked => if matches!(changed, Ok(Err(_))) { return },
                () = sender.closed() => return,
            }
        }
    });
    receiver
}

/// A running executor. Dropping it closes the sockets.
#[derive(Debug)]
pub struct Executor {
    status: watch::Receiver<Status>,
    orders: mpsc::UnboundedSender<Order>,
    shared: Arc<Shared>,
    source: Source,
    stop: CancellationToken,
    task: parking_lot::Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("instance", &self.instance).finish_non_exhaustive()
    }
}

impl Executor {
    /// Starts one. `authorised` says when sockets are wanted, `tools_changed` when the tool list may have changed.
    #[must_use]
    pub fn start(desk: Arc<dyn Desk>, source: Source, authorised: watch::Receiver<bool>, tools_changed: watch::Receiver<u64>) -> Self {
        let shared = Arc::new(Shared {
            desk,
            ledger: Ledger::default(),
            instance: uuid::Uuid::new_v4().simple().to_string(),
            tools_changed,
            now: Notify::new(),
        });
        let (orders, inbox) = mpsc::unbounded_channel();
        let (sender, status) = watch::channel(Status::default());
        let stop = CancellationToken::new();
        let keeper = Keeper::new(Arc::clone(&shared), source.clone(), orders.clone(), sender, stop.clone());
        let task = tokio::spawn(keeper.run(inbox, authorised));
        Self { status, orders, shared, source, stop, task: parking_lot::Mutex::new(Some(task)) }
    }

    /// Starts one for a worker's dispatcher: sockets are up while its gate is authorised (or paused).
    #[must_use]
    pub fn for_dispatcher(dispatcher: &Dispatcher, source: Source) -> Self {
        let gate = dispatcher.gate();
        Self::start(Arc::new(dispatcher.clone()), source, authorised(gate), gate.changes())
    }

    /// The state now.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// The state and its changes.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }

    /// Connects again: after a replacement, or without waiting for the next try.
    pub fn reconnect(&self) {
        let _stopped = self.orders.send(Order::Reload);
        self.shared.now.notify_waiters();
    }

    /// The network came back: tries at once.
    pub fn network_changed(&self) {
        self.shared.now.notify_waiters();
    }

    /// Signs in and connects (once authorised).
    ///
    /// # Errors
    /// Those of [`login::sign_in`] and of keeping the token; `Refused` when the gateway was fixed at start.
    pub async fn sign_in(&self, credentials: Credentials, ca_pem: Option<&[u8]>) -> Result<Kept> {
        let (state_dir, vault) = self.account_source()?;
        let kept = sign_in(state_dir, vault, credentials, ca_pem).await?;
        self.reconnect();
        Ok(kept)
    }

    /// Signs out: sockets close, the token is removed.
    ///
    /// # Errors
    /// When the token cannot be removed; `Refused` when the gateway was fixed at start.
    pub async fn sign_out(&self) -> Result<()> {
        let (state_dir, vault) = self.account_source()?;
        sign_out(state_dir, vault).await?;
        self.reconnect();
        Ok(())
    }

    fn account_source(&self) -> Result<(&std::path::Path, &Vault)> {
        match &self.source {
            Source::Account { state_dir, vault } => Ok((state_dir, vault)),
            Source::Fixed { .. } => Err(ExecutorError::Refused(
                "the gateway was given on the command line (--gateway); start without it to sign in or out here".into(),
            )),
        }
    }

    /// Closes the sockets and waits until all is ended.
    pub async fn stop(&self) {
        self.stop.cancel();
        let task = self.task.lock().take();
        if let Some(task) = task {
            let _ended = task.await;
        }
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Signs in and keeps account and token; for a worker and for `deskhand gateway login` alike.
///
/// # Errors
/// Those of [`login::sign_in`] and of keeping.
pub async fn sign_in(state_dir: &std::path::Path, vault: &Vault, credentials: Credentials, ca_pem: Option<&[u8]>) -> Result<Kept> {
    let (server, user) = (credentials.address.to_string(), credentials.user.clone());
    let token = login::sign_in(credentials).await?;
    if let Some(old) = Account::load(state_dir).ok().flatten() {
        let _replaced_anyway = vault.remove(&old.key()).await;
    }
    let ca = match ca_pem {
        None => None,
        Some(pem) => {
            let path = state_dir.join("gateway-ca.pem");
            write_private(&path, pem)?;
            Some(path)
        }
    };
    let account = Account { server, user, ca, signed_in: uuid::Uuid::new_v4().simple().to_string() };
    let kept = vault.put(&account.key(), &token).await?;
    account.save(state_dir)?;
    Ok(kept)
}

/// Removes token and account; fine when nobody is signed in.
///
/// # Errors
/// When either cannot be removed.
pub async fn sign_out(state_dir: &std::path::Path, vault: &Vault) -> Result<()> {
    if let Some(account) = Account::load(state_dir)? {
        vault.remove(&account.key()).await?;
    }
    Account::remove(state_dir)
}
