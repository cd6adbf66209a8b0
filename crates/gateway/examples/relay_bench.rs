//! What the way through the gateway costs. Run by `make bench`.
//!
//! The gateway is a process of its own (this program again). This process plays the agents, one real executor with a
//! desk that does nothing, a local endpoint with the same tool, and thousands of idle stub executors. The relay's overhead
//! is what a call through the gateway takes longer than the same call at the local endpoint. Prints one JSON line.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use async_trait::async_trait;
use clap::Parser;
use deskhand_core::Caller;
use deskhand_executor::{Address, Desk, DeskCall, Executor, Service, SocketState, Source, Token};
use deskhand_gateway::{ServerKey, Store};
use deskhand_mcp::{CallError, Content, Endpoint, EndpointConfig, Identity, Outcome, Server, Tokens, ToolInfo};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

const WARM_UP: usize = 500;
const SINGLE: usize = 4_000;
const CROWD: usize = 32;
const CROWD_FOR: Duration = Duration::from_secs(5);
const RELAY: &str = "/api/mcp/sse/agent";
const IDLE: (usize, usize) = (10, 5_000);

#[derive(Parser)]
struct Options {
    #[command(subcommand)]
    command: deskhand_gateway::Command,
}

struct NoOp;

#[async_trait]
impl Desk for NoOp {
    async fn tools(&self, service: Service) -> Vec<Value> {
        vec![json!({"name": format!("{}_nothing", service.name())})]
    }
    fn only_reads(&self, _tool: &str) -> bool {
        true
    }
    async fn call(&self, _call: DeskCall) -> Result<Value, Value> {
        Ok(json!({"content": [{"type": "text", "text": "{\"ok\":true}"}]}))
    }
    fn undelivered(&self, _caller: &Caller, _tool: &str, _ok: bool) {}
    async fn gone(&self, _caller: &Caller) {}
}

/// The same tool at a local endpoint.
struct Local;

#[async_trait]
impl deskhand_mcp::Service for Local {
    fn identity(&self) -> Identity {
        Identity { name: "bench".into(), title: "bench".into(), version: "0".into(), instructions: None }
    }
    async fn tools(&self, _caller: &deskhand_mcp::Caller) -> Vec<ToolInfo> {
        Vec::new()
    }
    async fn call(&self, _call: deskhand_mcp::Call) -> Result<Outcome, CallError> {
        Ok(Outcome { content: vec![Content::Text("{\"ok\":true}".into())], structured: None, is_error: false })
    }
}

/// Serves [`Local`] as the worker serves its tools; its host.
async fn serve_locally(token: &str) -> Result<String> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let host = listener.local_addr()?.to_string();
    let endpoint = Endpoint::new(Arc::new(Local), EndpointConfig::default())?;
    let server = Server::new(endpoint, Arc::new(Tokens::new([("bench", token)])));
    tokio::spawn(server.serve(listener, CancellationToken::new()));
    Ok(host)
}

/// One keep-alive connection of an agent, with as little of a client as possible.
struct Agent {
    stream: TcpStream,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl Agent {
    async fn connect(host: &str, path: &str, token: &str, tool: &str) -> Result<Self> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}}}).to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, request: format!("{head}{body}").into_bytes(), buffer: Vec::new() })
    }

    async fn call(&mut self) -> Result<()> {
        self.stream.write_all(&self.request).await?;
        self.buffer.clear();
        loop {
            ensure!(self.stream.read_buf(&mut self.buffer).await? > 0, "the gateway closed the connection");
            let text = String::from_utf8_lossy(&self.buffer);
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok());
            if body.len() >= length.context("no content-length")? {
                ensure!(body.contains("\"isError\":false"), "{body}");
                return Ok(());
            }
        }
    }
}

/// Microseconds at the given shares of a sorted list.
fn percentiles(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
    (at(0.50), at(0.99))
}

async fn one_by_one(host: &str, path: &str, token: &str, tool: &str) -> Result<(f64, f64)> {
    let mut agent = Agent::connect(host, path, token, tool).await?;
    for _ in 0..WARM_UP {
        agent.call().await?;
    }
    let mut times = Vec::with_capacity(SINGLE);
    for _ in 0..SINGLE {
        let began = Instant::now();
        agent.call().await?;
        times.push(began.elapsed());
    }
    Ok(percentiles(times))
}

async fn crowd(host: &str, token: &str) -> Result<f64> {
    let began = Instant::now();
    let agents: Vec<_> = (0..CROWD)
        .map(|_| {
            let (host, token) = (host.to_owned(), token.to_owned());
            tokio::spawn(async move {
                let mut agent = Agent::connect(&host, RELAY, &token, "computer_nothing").await?;
                let mut calls = 0_u64;
                while began.elapsed() < CROWD_FOR {
                    agent.call().await?;
                    calls += 1;
                }
                Ok::<_, anyhow::Error>(calls)
            })
        })
        .collect();
    let mut calls = 0;
    for agent in agents {
        calls += agent.await??;
    }
    Ok(calls as f64 / began.elapsed().as_secs_f64())
}

/// Resident memory of a process, in bytes.
fn resident(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse::<u64>()? * 1024)
}

/// The upgrade of a stub executor that then only answers nothing at all.
async fn stub(host: &str, token: &str, service: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(host).await?;
    let head = format!(
        "GET /api/{service}/ws HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut answer = [0; 512];
    let length = stream.read(&mut answer).await?;
    ensure!(answer[..length].starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer[..length]));
    Ok(stream)
}

async fn idle(host: &str, pid: u32, tokens: &[String]) -> Result<Value> {
    let mut stubs = Vec::new();
    let mut before = 0;
    for (count, index) in (0..IDLE.1).map(|index| (index + 1, index)) {
        let service = ["computer", "browser"][index % 2];
        stubs.push(stub(host, &tokens[index / 2], service).await.with_context(|| format!("stub {count}"))?);
        if count == IDLE.0 {
            tokio::time::sleep(Duration::from_millis(500)).await;
            before = resident(pid)?;
        }
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let grown = resident(pid)?.saturating_sub(before);
    let each = grown as f64 / (IDLE.1 - IDLE.0) as f64 / 1024.0;
    Ok(json!({"executors": stubs.len(), "grown_mb": grown as f64 / 1048576.0, "kb_each": each}))
}

struct Gateway(Child);

impl Drop for Gateway {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _status = self.0.wait();
    }
}

fn start_gateway(state: &Path) -> Result<(Gateway, String)> {
    let child = Command::new(std::env::current_exe()?)
        .args(["serve", "--listen", "127.0.0.1:0", "--ready-json", "--state-dir"])
        .arg(state)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut gateway = Gateway(child);
    let mut line = String::new();
    BufReader::new(gateway.0.stdout.take().context("stdout")?).read_line(&mut line)?;
    let ready: Value = serde_json::from_str(&line)?;
    Ok((gateway, ready["url"].as_str().context("url")?.to_owned()))
}

async fn users(state: &Path) -> Result<Vec<String>> {
    let store = Store::open(&format!("sqlite://{}", state.join("gateway.db").display())).await?;
    let key = ServerKey::load(&state.join("gateway.key"))?;
    let mut tokens = Vec::new();
    for index in 0..=IDLE.1 / 2 {
        let name = format!("user{index}");
        store.add_user(&name, "none", false).await?;
        let user = store.user(&name).await?.context("the user")?;
        tokens.push(key.token(&user.name, user.generation));
    }
    store.close().await;
    Ok(tokens)
}

fn raise_file_limit() {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    if rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).is_err() {
        tracing::warn!("the limit of open files stays as it is");
    }
}

async fn measure() -> Result<Value> {
    let dir = std::env::temp_dir().join(format!("deskhand-relay-bench-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    let tokens = users(&dir).await?;
    let (gateway, url) = start_gateway(&dir)?;
    let host = url.trim_start_matches("http://").to_owned();
    let (last, others) = tokens.split_last().context("users")?;
    let source = Source::Fixed { address: Address::parse(&url)?, token: Token::new(last.as_str()), ca: None, state_dir: None };
    let (_on, authorised) = watch::channel(true);
    let (_tools, changes) = watch::channel(0);
    let executor = Executor::start(Arc::new(NoOp), source, authorised, changes);
    executor.watch().wait_for(|status| matches!(status.computer, SocketState::Connected { .. })).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let local = serve_locally(last).await?;
    let direct = one_by_one(&local, "/mcp", last, "computer_nothing").await?;
    let own = one_by_one(&host, RELAY, last, "picoaide_user_info").await?;
    let relayed = one_by_one(&host, RELAY, last, "computer_nothing").await?;
    let per_second = crowd(&host, last).await?;
    let idle = idle(&host, gateway.0.id(), others).await?;
    executor.stop().await;
    drop(gateway);
    std::fs::remove_dir_all(&dir)?;
    Ok(json!({
        "direct_us": {"p50": direct.0, "p99": direct.1},
        "gateways_own_tool_us": {"p50": own.0, "p99": own.1},
        "relayed_us": {"p50": relayed.0, "p99": relayed.1},
        "overhead_us": {"p50": relayed.0 - direct.0, "p99": relayed.1 - direct.1},
        "calls_per_second": per_second,
        "idle": idle,
        "targets": {"overhead_p50_us": 1000, "calls_per_second": 5000, "idle_kb_each": 30},
    }))
}

#[tokio::main]
async fn main() -> Result<()> {
    raise_file_limit();
    if std::env::args().len() > 1 {
        let mut out = std::io::stdout();
        return Ok(Options::parse().command.run("", &mut out).await?);
    }
    let report = measure().await?;
    std::io::Write::write_all(&mut std::io::stdout(), format!("{report}\n").as_bytes())?;
    Ok(())
}
