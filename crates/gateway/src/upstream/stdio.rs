//! A third-party server as a program of ours: started with the gateway's list of servers, restarted when it dies.
//!
//! One task owns the process. It ends with the last handle, and the process with it (its whole group: servers are
//! often started through a shell or `npx`).

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::correlation::{Correlation, notification, request};
use super::{Peer, UpstreamError, initialize_params};

/// First and longest wait before a restart.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// A server that ran this long starts again at once.
const SETTLED: Duration = Duration::from_secs(60);
/// How long a request waits for a server that is just starting.
const READY_WITHIN: Duration = Duration::from_secs(15);
/// Longest line taken from a server, in bytes.
const LONGEST_LINE: usize = 32 << 20;

/// A running program: where to write, and who waits.
#[derive(Clone)]
struct Running {
    lines: mpsc::Sender<String>,
    correlation: Arc<Correlation>,
}

type State = Result<Option<Running>, String>;

/// The handle.
pub(super) struct StdioPeer {
    state: watch::Receiver<State>,
    _stop: DropGuard,
}

struct Program {
    name: String,
    command: String,
    args: Vec<String>,
    env: BTreeMap<String, String>,
}

impl StdioPeer {
    /// Starts the program and keeps it running.
    pub(super) fn start(name: &str, command: &str, args: &[String], env: &BTreeMap<String, String>) -> Self {
        let program = Program { name: name.into(), command: command.into(), args: args.to_vec(), env: env.clone() };
        let (sender, state) = watch::channel(Ok(None));
        let stop = CancellationToken::new();
        tokio::spawn(keep_running(program, sender, stop.clone()));
        Self { state, _stop: stop.drop_guard() }
    }

    async fn running(&self) -> Result<Running, UpstreamError> {
        let mut state = self.state.clone();
        let ready = state.wait_for(|state| match state {
            Ok(running) => running.as_ref().is_some_and(|running| !running.correlation.ended()),
            Err(_) => true,
        });
        match timeout(READY_WITHIN, ready).await {
            Err(_) => Err(UpstreamError::TimedOut(READY_WITHIN)),
            Ok(Err(_)) => Err(UpstreamError::Gone),
            Ok(Ok(state)) => match &*state {
                Ok(Some(running)) => Ok(running.clone()),
                Ok(None) => Err(UpstreamError::Gone),
                Err(text) => Err(UpstreamError::Unreachable(text.clone())),
            },
        }
    }
}

#[async_trait]
impl Peer for StdioPeer {
    async fn request(&self, method: &str, params: Value) -> Result<Value, UpstreamError> {
        self.running().await?.request(method, &params).await
    }
}

impl Running {
    async fn request(&self, method: &str, params: &Value) -> Result<Value, UpstreamError> {
        let ticket = self.correlation.open()?;
        let line = request(ticket.id, method, params).to_string();
        let lines = self.lines.clone();
        let ticket = ticket.on_cancel(move |id| {
            let _full = lines.try_send(notification("notifications/cancelled", &json!({"requestId": id})).to_string());
        });
        self.lines.send(line).await.map_err(|_| UpstreamError::Gone)?;
        ticket.answer().await
    }
}

async fn keep_running(program: Program, state: watch::Sender<State>, stop: CancellationToken) {
    let mut wait = BACKOFF.0;
    while !stop.is_cancelled() {
        let began = Instant::now();
        let why = tokio::select! {
            why = run(&program, &state) => why,
            () = stop.cancelled() => return,
        };
        tracing::warn!(server = program.name, why, "third-party server ended; it is started again");
        let _earlier = state.send_replace(Err(why));
        wait = if began.elapsed() >= SETTLED { BACKOFF.0 } else { (wait * 2).min(BACKOFF.1) };
        tokio::select! {
            () = sleep(wait) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Runs the program once; says why it ended.
async fn run(program: &Program, state: &watch::Sender<State>) -> String {
    let mut child = match spawn(program) {
        Ok(child) => child,
        Err(error) => return format!("{} cannot be started: {error}", program.command),
    };
    let _group = Group(child.id());
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return "the program has no stdin or stdout".into();
    };
    let (lines, queue) = mpsc::channel(64);
    let running = Running { lines: lines.clone(), correlation: Correlation::new() };
    let _end = EndOnDrop(Arc::clone(&running.correlation));
    let greet = async {
        running.request("initialize", &initialize_params()).await?;
        let _ended = running.lines.send(notification("notifications/initialized", &json!({})).to_string()).await;
        let _earlier = state.send_replace(Ok(Some(running.clone())));
        std::future::pending::<Result<(), UpstreamError>>().await
    };
    tokio::select! {
        () = write(stdin, queue) => "it closed its stdin".into(),
        () = read(stdout, &running.correlation, &lines) => ended(&mut child).await,
        status = child.wait() => status.map_or_else(|error| error.to_string(), |status| format!("it ended with {status}")),
        greeted = greet => match greeted {
            Ok(()) => "it was let go".into(),
            Err(error) => format!("it did not initialise: {error}"),
        },
    }
}

async fn ended(child: &mut Child) -> String {
    match timeout(Duration::from_secs(1), child.wait()).await {
        Ok(Ok(status)) => format!("it ended with {status}"),
        _ => "it closed its stdout".into(),
    }
}

fn spawn(program: &Program) -> std::io::Result<Child> {
    let mut command = Command::new(&program.command);
    // The gateway's own environment may hold the database's password: a server gets what a program needs, no more.
    command.env_clear();
    for name in ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "SHELL"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
        .args(&program.args)
        .envs(&program.env)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // What a server says on stderr may hold its secrets: it is not ours to log.
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

async fn write(mut stdin: ChildStdin, mut queue: mpsc::Receiver<String>) {
    while let Some(mut line) = queue.recv().await {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

async fn read(stdout: impl AsyncRead + Unpin, correlation: &Correlation, lines: &mpsc::Sender<String>) {
    let mut reader = BufReader::new(stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = tokio::io::AsyncReadExt::take(&mut reader, LONGEST_LINE as u64);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(length) if length >= LONGEST_LINE => return,
            Ok(_) => {}
        }
        if let Ok(message) = serde_json::from_slice(&line)
            && let Some(reply) = correlation.take(message)
        {
            let _full = lines.try_send(reply.to_string());
        }
    }
}

struct EndOnDrop(Arc<Correlation>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Kills the process group of a server when its run ends.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let pid = self.0.and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            let _gone = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server in a few lines of shell: answers `initialize`, then `pid` with its own pid.
    const SCRIPT: &str = r#"while read -r line; do
        id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
        [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":{"pid":%s}}\n' "$id" "$$"
    done"#;

    #[tokio::test]
    async fn a_server_that_dies_is_started_again() {
        let peer = StdioPeer::start("t", "/bin/sh", &["-c".into(), SCRIPT.into()], &BTreeMap::new());
        let first = peer.request("pid", json!({})).await.unwrap()["pid"].as_i64().unwrap();
        let pid = rustix::process::Pid::from_raw(first as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        let second = timeout(Duration::from_secs(20), async {
            loop {
                if let Ok(answer) = peer.request("pid", json!({})).await {
                    return answer["pid"].as_i64().unwrap();
                }
                sleep(Duration::from_millis(50)).await;
            }
        });
        let second = second.await.unwrap();
        assert_ne!(first, second);
        drop(peer);
        let pid = rustix::process::Pid::from_raw(second as i32).unwrap();
        timeout(Duration::from_secs(10), async {
            while rustix::process::test_kill_process(pid).is_ok() {
                sleep(Duration::from_millis(20)).await;
            }
        })
        .await
        .expect("the program ends with its handle");
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_named() {
        let peer = StdioPeer::start("t", "/nowhere/server", &[], &BTreeMap::new());
        let error = peer.request("tools/list", json!({})).await.unwrap_err().to_string();
        assert!(error.contains("/nowhere/server"), "{error}");
    }
}
