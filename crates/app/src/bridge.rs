//! `deskhand mcp start`: a client's stdio, passed to the worker of this state folder. When none runs, this process becomes
//! one, with the policy that `mcp install` saved; it ends with its client, and another bridge takes over.

use crate::options::ServeOptions;
use crate::state::{StateFolder, write_private};
use crate::{Worker, WorkerParts};
use anyhow::{Context, Result};
use async_trait::async_trait;
use deskhand_core::{Gate, GroupSet};
use deskhand_mcp::{Locate, Target, bridge};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// What a worker that a client starts may do: saved by `deskhand mcp install`, nothing when none was saved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The groups.
    #[serde(default)]
    pub groups: GroupSet,
    /// Folders that agents may use.
    #[serde(default)]
    pub allow_dirs: Vec<PathBuf>,
}

impl Policy {
    /// The saved policy.
    ///
    /// # Errors
    /// When it is there and cannot be read: then nothing is allowed, loudly.
    pub fn load(state: &StateFolder) -> Result<Self> {
        match std::fs::read(state.join("policy.json")) {
            Ok(bytes) => serde_json::from_slice(&bytes).context("policy.json in the state folder cannot be read"),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(e) => Err(e).context("policy.json in the state folder cannot be read"),
        }
    }

    /// Saves it.
    ///
    /// # Errors
    /// When the state folder cannot be written.
    pub fn save(&self, state: &StateFolder) -> Result<()> {
        write_private(&state.join("policy.json"), &serde_json::to_vec_pretty(self)?)
    }
}

/// Finds the worker, or becomes it.
struct Finder {
    state: StateFolder,
    client: Option<String>,
    options: ServeOptions,
    own: Mutex<Option<Worker>>,
}

impl Finder {
    fn token(&self) -> Result<String> {
        match &self.client {
            Some(name) => {
                let path = self.state.join("clients").join(name);
                let token = std::fs::read_to_string(&path).with_context(|| {
                    format!("the client {name:?} has no token any more; connect it again with `deskhand mcp install --target {name}`")
                })?;
                Ok(token.trim().to_owned())
            }
            None => self.state.token(None),
        }
    }

    /// Becomes the worker unless another process was faster.
    async fn become_worker(&self) -> Result<()> {
        let mut own = self.own.lock().await;
        if own.is_some() || self.state.running().is_some() {
            return Ok(());
        }
        let policy = Policy::load(&self.state)?;
        let mut options = self.options.clone();
        options.allow_dirs = policy.allow_dirs;
        let start = |options| {
            Worker::start(WorkerParts { options, state: self.state.clone(), gate: Gate::headless(policy.groups), virtual_display: None })
        };
        let started = match start(options.clone()).await {
            Ok(worker) => Ok(worker),
            Err(_) if self.state.running().is_some() => return Ok(()),
            // Something else has our port: the bridge needs no fixed one.
            Err(_) => start(ServeOptions { listen: "127.0.0.1:0".into(), ..options }).await,
        };
        *own = Some(started?);
        Ok(())
    }

    async fn find(&self) -> Result<Target> {
        if self.state.running().is_none() && !start_tray_app(&self.state) {
            self.become_worker().await?;
        }
        let worker = self.state.running().context("the worker is starting")?;
        Ok(Target { url: worker.mcp_url, token: self.token()? })
    }
}

#[async_trait]
impl Locate for Finder {
    async fn locate(&self) -> Result<Target, String> {
        self.find().await.map_err(|e| format!("{e:#}"))
    }
}

/// Starts the tray app, once, where it is installed and there is a display for it. It becomes the worker.
fn start_tray_app(state: &StateFolder) -> bool {
    static STARTED: std::sync::Once = std::sync::Once::new();
    let folder = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned()));
    // What cargo has just built lies side by side without being installed.
    let installed = folder.filter(|f| !f.join(".fingerprint").is_dir());
    let tray = installed.map(|f| f.join(if cfg!(windows) { "deskhand-tray.exe" } else { "deskhand-tray" }));
    let shown =
        !cfg!(target_os = "linux") || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|v| std::env::var_os(v).is_some_and(|v| !v.is_empty()));
    let Some(tray) = tray.filter(|t| shown && t.is_file()) else { return false };
    let mut started = true;
    STARTED.call_once(|| {
        let null = std::process::Stdio::null;
        let mut command = std::process::Command::new(tray);
        command.args(["--hidden", "--state-dir"]).arg(state.path()).stdin(null()).stdout(null()).stderr(null());
        // It outlives the client that was first to need it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        started = command.spawn().is_ok();
    });
    started
}

/// Bridges standard input and output to the worker, until input ends.
///
/// # Errors
/// When the client's name is no name, or reading or writing fails.
pub async fn bridge_stdio(state: StateFolder, client: Option<String>, options: ServeOptions) -> Result<()> {
    if let Some(name) = &client {
        anyhow::ensure!(
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) && !name.starts_with('.'),
            "{name:?} is no client's name"
        );
    }
    let finder = Arc::new(Finder { state, client, options, own: Mutex::default() });
    let done = bridge(Arc::clone(&finder) as Arc<dyn Locate>, tokio::io::stdin(), tokio::io::stdout()).await;
    if let Some(worker) = finder.own.lock().await.take() {
        worker.stopping().cancel();
        let _ = tokio::time::timeout(Duration::from_secs(5), worker.run()).await;
    }
    Ok(done?)
}
