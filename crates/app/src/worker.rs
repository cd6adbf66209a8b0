//! One worker: engines, gate, dispatcher, doors and listener, brought up in order and taken down in the opposite one.

use crate::control::{self, Order};
use crate::engines::Engines;
use crate::held::DesktopHeld;
use crate::options::{ServeOptions, Takeover};
use crate::relay_route;
use crate::state::{Lock, RunningWorker, StateFolder};
use crate::tokens::TokenBook;
use crate::watch::Watches;
use anyhow::{Context, Result};
use deskhand_browser::extension::Relay;
use deskhand_core::{Audit, Dispatcher, DispatcherParts, ExtraTools, Gate, GateState, NoExtras, Registry};
use deskhand_desktop::input::Desktop;
use deskhand_desktop::virtual_display::VirtualDisplay;
use deskhand_executor::Executor;
use deskhand_mcp::{Endpoint, EndpointConfig, Extras, Identity, OriginList, ProgramOf, Server};
use deskhand_tools::Host;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// So long after a key or button that Deskhand itself pressed, nothing is taken for the person's word.
pub(crate) const QUIET: std::time::Duration = std::time::Duration::from_secs(1);

/// What a worker is started from.
pub struct WorkerParts {
    /// Its settings.
    pub options: ServeOptions,
    /// Its state folder.
    pub state: StateFolder,
    /// Who may do what, and how the person is asked.
    pub gate: Gate,
    /// The virtual display it works on, if it brought one up; ends with the worker.
    pub virtual_display: Option<VirtualDisplay>,
}

/// A running worker.
pub struct Worker {
    /// The one way in.
    pub dispatcher: Dispatcher,
    /// The engines.
    pub host: Arc<Host>,
    /// Where it listens, as it is announced.
    pub ready: Value,
    /// The way to a gateway.
    pub executor: Arc<Executor>,
    /// The person's own browsers: pairing, names, revoking.
    pub relay: Relay,
    stop: CancellationToken,
    serving: tokio::task::JoinHandle<()>,
    control: tokio::task::JoinHandle<()>,
    watches: Arc<Rearm>,
    _lock: Lock,
    _virtual_display: Option<VirtualDisplay>,
}

impl Worker {
    /// Brings it up. When this returns, calls are accepted.
    ///
    /// # Errors
    /// When another worker has the state folder, the address is taken, or a setting cannot be used.
    pub async fn start(parts: WorkerParts) -> Result<Self> {
        let WorkerParts { options, state, gate, virtual_display } = parts;
        let lock = state.lock()?;
        let token = state.token(options.token_file.as_deref())?;
        let listener = TcpListener::bind(&options.listen).await.with_context(|| format!("{} cannot be listened on", options.listen))?;
        let display_name = virtual_display.as_ref().map(VirtualDisplay::name).or_else(|| options.display.clone());
        let Engines { host, relay } = Engines::open(&options, &state, display_name.clone())?;
        let audit = Arc::new(Audit::open(&state.join("audit.jsonl"))?);
        let held = Arc::new(DesktopHeld(host.desktop.clone()));
        let registry = deskhand_tools::registry(&host);
        let extras = extras(&options, &registry)?;
        let dispatcher = Dispatcher::new(DispatcherParts { registry, extras, gate: gate.clone(), audit, held });
        let watches = Arc::new(Rearm { dispatcher: dispatcher.clone(), host: Arc::clone(&host), held: Mutex::default() });
        watches.arm(&options)?;
        let stop = CancellationToken::new();
        let address = listener.local_addr()?;
        let ready = json!({
            "mcp_url": format!("http://{address}/mcp"), "sse_url": format!("http://{address}/sse"),
            "token": token, "pid": std::process::id(), "display": display_name.or_else(|| std::env::var("DISPLAY").ok()),
            "xauthority": virtual_display.as_ref().and_then(|_| std::env::var("XAUTHORITY").ok()),
        });
        let server = endpoint(&options, &state, &dispatcher, &token)?
            .route(relay_route::route(relay.clone()))
            .route(crate::cdp_route::route(&dispatcher, &host.browsers, address));
        let serving = tokio::spawn(serve(server, listener, stop.clone()));
        let carry = orders(&gate, &dispatcher, &host.desktop, &relay, &ready, &stop);
        let control = control::listen(&state, carry)?;
        let executor = Arc::new(crate::gateway::start(&options, &state, &dispatcher)?);
        state.announce(&RunningWorker {
            pid: std::process::id(),
            mcp_url: format!("http://{address}/mcp"),
            version: crate::VERSION.into(),
        })?;
        Ok(Self {
            dispatcher,
            host,
            ready,
            executor,
            relay,
            stop,
            serving,
            control,
            watches,
            _lock: lock,
            _virtual_display: virtual_display,
        })
    }

    /// Ends when somebody asks for it: a signal, `deskhand mcp stop`, or [`Worker::stopping`].
    pub async fn run(self) {
        self.stop.cancelled().await;
        self.end().await;
    }

    /// What changes stop key and takeover while it runs.
    #[must_use]
    pub fn watches(&self) -> Arc<Rearm> {
        Arc::clone(&self.watches)
    }

    /// Pulling it ends the worker.
    #[must_use]
    pub fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Ends every call, lets go of everything, and closes the doors.
    async fn end(self) {
        self.dispatcher.gate().stop("the worker is ending");
        self.executor.stop().await;
        self.stop.cancel();
        let _ = self.serving.await;
        self.host.browsers.quit().await;
        self.control.abort();
        let desktop = self.host.desktop.clone();
        let _ = tokio::task::spawn_blocking(move || desktop.release_all()).await;
    }
}

/// Tools of other MCP servers, by `--mcp-servers`.
fn extras(options: &ServeOptions, registry: &Registry) -> Result<Arc<dyn ExtraTools>> {
    match options.mcp_servers.as_deref().filter(|s| !s.trim().is_empty()) {
        Some(servers) => Ok(Arc::new(Extras::parse(servers, registry.iter().map(|h| h.info.name.clone()))?)),
        None => Ok(Arc::new(NoExtras)),
    }
}

/// Time, lock, stop key and takeover, armed as the settings say and anew when the person changes them.
pub struct Rearm {
    dispatcher: Dispatcher,
    host: Arc<Host>,
    held: Mutex<Option<Watches>>,
}

impl Rearm {
    /// Arms them as `options` say. What was armed before is given up first, for a key can be armed once only.
    ///
    /// # Errors
    /// When the keys are no keys, or another program has them; then nothing but time and lock is watched.
    pub fn arm(&self, options: &ServeOptions) -> Result<()> {
        let (gate, desktop) = (self.dispatcher.gate(), &self.host.desktop);
        let mut held = self.held.lock();
        *held = None;
        let watches = held.insert(Watches::start(gate, &self.host.session));
        if let Some(keys) = &options.stop_key {
            watches.stop_key(keys, gate, desktop)?;
        }
        if options.takeover == Takeover::Pause {
            watches.takeover(gate, desktop)?;
        }
        Ok(())
    }
}

const INSTRUCTIONS: &str = "Deskhand works on a person's real desktop and browser. Look before you act: take computer_screenshot or read \
computer_screen_text, then click or type. Coordinates are screen pixels as computer_screen_size reports them; pass a screenshot's frame to give \
coordinates in its own pixels. An error says what happened and what to do next; consent_pending and paused mean that the person decides.";

fn identity() -> Identity {
    Identity { name: "deskhand".into(), title: "Deskhand".into(), version: crate::VERSION.into(), instructions: Some(INSTRUCTIONS.into()) }
}

/// Which program calls is asked of the system only where a person may be asked about it.
fn program_of(asks: bool) -> ProgramOf {
    if asks { Arc::new(crate::peer::Programs::default().finder()) } else { Arc::new(|_| None) }
}

fn endpoint(options: &ServeOptions, state: &StateFolder, dispatcher: &Dispatcher, token: &str) -> Result<Server> {
    let service = deskhand_mcp::Worker::new(dispatcher.clone(), identity(), program_of(dispatcher.gate().asks()));
    let config = EndpointConfig { session_folder: Some(state.join("sessions")), ..EndpointConfig::default() };
    let endpoint = Endpoint::new(service, config)?;
    let book = Arc::new(TokenBook::new(token, state.join("clients")));
    let origins = Arc::new(OriginList::default());
    origins.set(options.allow_origins.clone())?;
    Ok(Server::new(endpoint, book).origins(origins))
}

async fn serve(server: Server, listener: TcpListener, stop: CancellationToken) {
    if let Err(error) = server.serve(listener, stop.clone()).await {
        tracing::error!(%error, "the endpoint ended");
        stop.cancel();
    }
}

/// What the person's own command line may ask for.
fn orders(
    gate: &Gate,
    dispatcher: &Dispatcher,
    desktop: &Desktop,
    relay: &Relay,
    ready: &Value,
    stop: &CancellationToken,
) -> control::Carry {
    let (gate, dispatcher, relay, url, stop) = (gate.clone(), dispatcher.clone(), relay.clone(), ready["mcp_url"].clone(), stop.clone());
    let desktop = desktop.clone();
    Arc::new(move |order| {
        // Where a person decides, an agent's own typing must not bring it more than it had.
        if matches!(order, Order::Pair | Order::Resume) && gate.asks() && desktop.pressed_within(QUIET) {
            anyhow::bail!("an AI agent pressed a key or button a moment ago, so this could be its own doing; wait a second and try again");
        }
        match order {
            Order::Pair => {
                let code = relay.start_pairing();
                let address = url.as_str().and_then(|u| u.strip_prefix("http://")?.split('/').next()).unwrap_or_default();
                return Ok(json!({ "code": code.to_string(), "address": address }));
            }
            Order::Status => {}
            Order::Pause => gate.pause("the person paused AI control; they resume it with `deskhand resume` or in the tray app"),
            Order::Resume => gate.resume(),
            Order::Stop => gate.stop("the person stopped it from the command line"),
            Order::Quit => stop.cancel(),
        }
        let state = match gate.state() {
            GateState::Off { why } => json!({ "state": "off", "why": why }),
            GateState::Authorised { groups, until, .. } => {
                let until = until.and_then(|u| u.duration_since(std::time::UNIX_EPOCH).ok()).map(|d| d.as_secs());
                json!({ "state": "authorised", "groups": groups, "until": until })
            }
            GateState::Paused { why } => json!({ "state": "paused", "why": why }),
        };
        Ok(
            json!({ "control": state, "mcp_url": url, "pid": std::process::id(), "version": crate::VERSION, "tools": dispatcher.own_tools().count() }),
        )
    })
}

/// The tools as declared: engines open nothing until they are used.
pub(crate) fn declared() -> Result<Vec<Arc<deskhand_core::ToolInfo>>> {
    let folder = tempfile::tempdir()?;
    let engines = Engines::open(&ServeOptions::default(), &StateFolder::open(Some(folder.path()))?, None)?;
    Ok(deskhand_tools::registry(&engines.host).iter().map(|h| Arc::clone(&h.info)).collect())
}
