//! Orders from the person's own command line to the running worker: a socket in the state folder that its owner alone can
//! open. Nothing an agent can reach leads here.

use crate::StateFolder;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

/// What can be asked of a running worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Show a one-time code for pairing a browser.
    Pair,
    /// What it stands at.
    Status,
    /// Hold AI control.
    Pause,
    /// Let it go on.
    Resume,
    /// End AI control; the worker goes on running.
    Stop,
    /// End the worker.
    Quit,
}

/// Carries out orders.
pub(crate) type Carry = Arc<dyn Fn(Order) -> Result<Value> + Send + Sync>;

#[derive(Serialize, Deserialize)]
struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(default)]
    result: Value,
}

/// Gives an order to the worker of this state folder and returns its answer.
///
/// # Errors
/// When none runs there, or it cannot do it.
pub async fn order(state: &StateFolder, order: Order) -> Result<Value> {
    if state.running().is_none() {
        bail!("no worker runs in {}; start one with `deskhand serve` or the tray app", state.path().display());
    }
    let stream = platform::connect(state, "control").await.context("the worker does not answer")?;
    let (read, mut write) = tokio::io::split(stream);
    write.write_all(format!("{}\n", serde_json::to_string(&order)?).as_bytes()).await?;
    let mut line = String::new();
    BufReader::new(read).read_line(&mut line).await?;
    let answer: Answer = serde_json::from_str(&line).context("the worker does not answer")?;
    match answer.error {
        Some(error) => bail!("{error}"),
        None => Ok(answer.result),
    }
}

async fn conversation<S: tokio::io::AsyncRead + tokio::io::AsyncWrite>(stream: S, carry: Carry) {
    let (read, mut write) = tokio::io::split(stream);
    let mut line = String::new();
    if BufReader::new(read.take(1024)).read_line(&mut line).await.is_err() {
        return;
    }
    let done = serde_json::from_str::<Order>(&line).map_err(anyhow::Error::from).and_then(|order| carry(order));
    let answer = match done {
        Ok(result) => Answer { error: None, result },
        Err(error) => Answer { error: Some(format!("{error:#}")), result: Value::Null },
    };
    let text = serde_json::to_string(&answer).unwrap_or_default() + "\n";
    let _ = write.write_all(text.as_bytes()).await;
    let _ = write.shutdown().await;
}

/// Listens until the task is dropped.
///
/// # Errors
/// When the socket cannot be made.
pub(crate) fn listen(state: &StateFolder, carry: Carry) -> Result<tokio::task::JoinHandle<()>> {
    platform::listen(state, "control", move |stream| {
        tokio::spawn(conversation(stream, Arc::clone(&carry)));
    })
}

/// Takes the place of the one window of this state folder and calls `show` whenever another start asks for it.
///
/// # Errors
/// When the socket cannot be made.
pub(crate) fn await_others(state: &StateFolder, show: impl Fn() + Send + Sync + 'static) -> Result<tokio::task::JoinHandle<()>> {
    platform::listen(state, "window", move |_stream| show())
}

/// Asks the tray app of this state folder to show its window; false when none runs.
pub(crate) async fn ask_to_show(state: &StateFolder) -> bool {
    platform::connect(state, "window").await.is_ok()
}

#[cfg(unix)]
mod platform {
    use super::StateFolder;
    use anyhow::{Context, Result};
    use tokio::net::{UnixListener, UnixStream};

    /// A socket's path is limited to about 100 bytes, a state folder's is not: long ones are reached by a short link.
    fn place(state: &StateFolder, name: &str) -> std::path::PathBuf {
        let path = state.join(name);
        if path.as_os_str().len() < 100 {
            return path;
        }
        use sha2::{Digest, Sha256};
        let name = hex::encode(&Sha256::digest(path.as_os_str().as_encoded_bytes())[..12]);
        let folder = dirs::runtime_dir().unwrap_or_else(std::env::temp_dir);
        folder.join(format!("deskhand-{name}"))
    }

    pub(super) async fn connect(state: &StateFolder, name: &str) -> std::io::Result<UnixStream> {
        UnixStream::connect(place(state, name)).await
    }

    pub(super) fn listen(
        state: &StateFolder,
        name: &str,
        hear: impl Fn(UnixStream) + Send + 'static,
    ) -> Result<tokio::task::JoinHandle<()>> {
        let path = place(state, name);
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).with_context(|| format!("the control socket {} cannot be made", path.display()))?;
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        let own = rustix::process::geteuid().as_raw();
        Ok(tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if stream.peer_cred().is_ok_and(|c| c.uid() == own) {
                    hear(stream);
                }
            }
        }))
    }
}

#[cfg(windows)]
mod platform {
    use super::StateFolder;
    use anyhow::Result;
    use sha2::{Digest, Sha256};
    use tokio::net::windows::named_pipe::{ClientOptions, NamedPipeClient, NamedPipeServer, ServerOptions};

    fn place(state: &StateFolder, name: &str) -> String {
        let folder = hex::encode(&Sha256::digest(state.path().as_os_str().as_encoded_bytes())[..12]);
        format!(r"\\.\pipe\deskhand-{folder}-{name}")
    }

    pub(super) async fn connect(state: &StateFolder, name: &str) -> std::io::Result<NamedPipeClient> {
        ClientOptions::new().open(place(state, name))
    }

    pub(super) fn listen(
        state: &StateFolder,
        name: &str,
        hear: impl Fn(NamedPipeServer) + Send + 'static,
    ) -> Result<tokio::task::JoinHandle<()>> {
        let name = place(state, name);
        // The first instance only: nobody else may have taken the name. The default security lets the owner alone write.
        let mut next = ServerOptions::new().first_pipe_instance(true).reject_remote_clients(true).create(&name)?;
        Ok(tokio::spawn(async move {
            while next.connect().await.is_ok() {
                let Ok(after) = ServerOptions::new().reject_remote_clients(true).create(&name) else { return };
                hear(std::mem::replace(&mut next, after));
            }
        }))
    }
}
