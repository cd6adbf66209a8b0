//! The task behind an [`Executor`](crate::Executor): follows account and authorisation, and keeps one round of sockets.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::account::Account;
use crate::address::{Address, Service};
use crate::error::Result;
use crate::executor::{Source, sign_out};
use crate::secret::{Token, Vault};
use crate::socket::{self, Event, Shared, Target};
use crate::status::{SocketState, Status};
use crate::tls;

/// How often the account's file is looked at: `deskhand gateway login` is another process.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What the task is told.
pub(crate) enum Order {
    /// Look for the account again, and connect although replaced.
    Reload,
    /// The token was refused, in that round.
    Revoked(Service, u64),
    /// A socket's news, of that round.
    News(Service, u64, Event),
}

/// The sockets of one round: a target while it is authorised.
struct Round {
    stop: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

/// The task behind an [`Executor`].
pub(crate) struct Keeper {
    shared: Arc<Shared>,
    source: Source,
    orders: mpsc::UnboundedSender<Order>,
    status: watch::Sender<Status>,
    stop: CancellationToken,
    account: Option<Account>,
    target: Option<Arc<Target>>,
    running: Option<Round>,
    /// Tells news of an earlier round from those of this one.
    round: u64,
    /// What is wrong with each socket: one that works must not hide the other's trouble.
    errors: [Option<String>; 2],
}

impl Keeper {
    pub(crate) fn new(
        shared: Arc<Shared>,
        source: Source,
        orders: mpsc::UnboundedSender<Order>,
        status: watch::Sender<Status>,
        stop: CancellationToken,
    ) -> Self {
        Self { shared, source, orders, status, stop, account: None, target: None, running: None, round: 0, errors: [None, None] }
    }

    pub(crate) async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Order>, mut authorised: watch::Receiver<bool>) {
        self.load().await;
        let mut looks = tokio::time::interval(LOOK_EVERY);
        loop {
            let wanted = *authorised.borrow_and_update();
            self.follow(wanted).await;
            tokio::select! {
                () = self.stop.cancelled() => break,
                changed = authorised.changed() => if changed.is_err() { break },
                order = inbox.recv() => match order {
                    Some(Order::Reload) => { self.end_round().await; self.load().await; }
                    Some(Order::Revoked(service, round)) if round == self.round => self.revoked(service).await,
                    Some(Order::News(service, round, event)) if round == self.round => self.news(service, event),
                    Some(_) => {}
                    None => break,
                },
                _ = looks.tick() => if self.account_changed() { self.end_round().await; self.load().await; },
            }
        }
        self.end_round().await;
        self.show(|status| *status = Status { authorised: false, ..Status::default() });
    }

    /// Starts or ends the sockets as wanted.
    async fn follow(&mut self, authorised: bool) {
        self.show(|status| status.authorised = authorised);
        match (&self.target, authorised, self.running.is_some()) {
            (Some(target), true, false) => {
                let target = Arc::clone(target);
                self.begin_round(&target);
            }
            (_, false, true) | (None, _, true) => self.end_round().await,
            _ => {}
        }
    }

    fn begin_round(&mut self, target: &Arc<Target>) {
        self.round += 1;
        self.errors = [None, None];
        let stop = self.stop.child_token();
        let tasks = Service::ALL.map(|service| {
            let (shared, target, stop) = (Arc::clone(&self.shared), Arc::clone(target), stop.clone());
            let (orders, round) = (self.orders.clone(), self.round);
            tokio::spawn(async move {
                let tell = move |event| {
                    let order = match event {
                        Event::Revoked => Order::Revoked(service, round),
                        event => Order::News(service, round, event),
                    };
                    let _stopped = orders.send(order);
                };
                socket::keep(&shared, &target, service, &stop, &tell).await;
            })
        });
        self.running = Some(Round { stop, tasks: tasks.into() });
    }

    async fn end_round(&mut self) {
        let Some(round) = self.running.take() else { return };
        round.stop.cancel();
        for task in round.tasks {
            let _ended = task.await;
        }
        self.round += 1;
        self.show(|status| {
            status.computer = SocketState::Off;
            status.browser = SocketState::Off;
        });
    }

    fn account_changed(&self) -> bool {
        match &self.source {
            Source::Fixed { .. } => false,
            Source::Account { state_dir, .. } => match Account::load(state_dir) {
                Ok(account) => account != self.account,
                Err(_) => false,
            },
        }
    }

    /// Finds gateway and token; says in the status why not.
    async fn load(&mut self) {
        let found = match &self.source {
            Source::Fixed { address, token, ca, .. } => {
                target(address.clone(), token.clone(), ca.as_deref()).map(|target| Some((target, None)))
            }
            Source::Account { state_dir, vault } => from_account(state_dir, vault).await,
        };
        let (target, error) = match found {
            Ok(Some((target, account))) => {
                self.account = account;
                (Some(Arc::new(target)), None)
            }
            Ok(None) => {
                self.account = None;
                (None, None)
            }
            Err(error) => (None, Some(error.to_string())),
        };
        if let Some(warning) = target.as_ref().and_then(|target| target.address.warning()) {
            tracing::warn!("{warning}");
        }
        self.show(|status| {
            status.server = target.as_ref().map(|target| target.address.to_string());
            status.user = target.as_ref().map(|target| target.token.user().to_owned());
            // Why one was signed out stays until somebody signs in.
            if target.is_some() || error.is_some() {
                status.last_error = error;
            }
        });
        self.target = target;
    }

    fn news(&mut self, service: Service, event: Event) {
        let error = match &event {
            Event::Connected => Some(None),
            Event::Failed(why) => Some(Some(why.clone())),
            Event::Replaced => Some(Some("another Deskhand signed in as the same user and took this one's place".to_owned())),
            Event::Connecting { .. } | Event::Revoked => None,
        };
        if let Some(error) = error {
            self.errors[usize::from(service == Service::Browser)] = error;
        }
        let last_error = self.errors.iter().flatten().next().cloned();
        self.show(|status| {
            status.last_error = last_error;
            let state = match event {
                Event::Connecting { tries } => SocketState::Connecting { tries },
                Event::Connected => SocketState::Connected { since_ms: unix_ms() },
                Event::Replaced => SocketState::Replaced,
                Event::Failed(_) | Event::Revoked => return,
            };
            match service {
                Service::Computer => status.computer = state,
                Service::Browser => status.browser = state,
            }
        });
    }

    /// The gateway does not accept the token any more: signs out and says so.
    async fn revoked(&mut self, service: Service) {
        tracing::warn!(service = service.name(), "the gateway does not accept the token any more");
        self.end_round().await;
        let mut text =
            "the gateway does not accept the token any more (it was reset, or the user was removed); you are signed out. Sign in again."
                .to_owned();
        match &self.source {
            Source::Fixed { .. } => {
                text = "the gateway does not accept the token of --gateway-token-file; write the new one there and start again".into()
            }
            Source::Account { state_dir, vault } => {
                if let Err(error) = sign_out(state_dir, vault).await {
                    text = format!("{text} ({error})");
                }
            }
        }
        self.account = None;
        self.target = None;
        self.show(|status| {
            status.server = None;
            status.user = None;
            status.last_error = Some(text);
        });
    }

    /// Changes the status and writes it down for `deskhand gateway status`.
    fn show(&self, change: impl FnOnce(&mut Status)) {
        let changed = self.status.send_if_modified(|status| {
            let before = status.clone();
            change(status);
            *status != before
        });
        if changed {
            let status = self.status.borrow().clone();
            if status.server.is_none() && status.last_error.is_none() {
                // Most workers have no gateway: not worth a line at every start.
                tracing::debug!(state = status.sentence(), "gateway");
            } else {
                tracing::info!(state = status.sentence(), "gateway");
            }
            let folder = match &self.source {
                Source::Account { state_dir, .. } => Some(state_dir),
                Source::Fixed { state_dir, .. } => state_dir.as_ref(),
            };
            if let Some(folder) = folder {
                crate::command::write_status(folder, &status);
            }
        }
    }
}

async fn from_account(state_dir: &std::path::Path, vault: &Vault) -> Result<Option<(Target, Option<Account>)>> {
    let Some(account) = Account::load(state_dir)? else { return Ok(None) };
    let Some(token) = vault.get(&account.key()).await? else { return Ok(None) };
    let target = target(account.address()?, token, account.ca.as_deref())?;
    Ok(Some((target, Some(account))))
}

fn target(address: Address, token: Token, ca: Option<&std::path::Path>) -> Result<Target> {
    let ca = ca.map(tls::read_ca).transpose()?.unwrap_or_default();
    Ok(Target { address, token, tls: tls::config(&ca)? })
}

fn unix_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
