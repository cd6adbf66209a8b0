//! A gateway in this process, a desk that counts, and small clients.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use clap::Parser;
use deskhand_core::Caller;
use deskhand_executor::{Address, Desk, DeskCall, Executor, Service, SocketState, Source, Token};
use deskhand_gateway::{Place, Running, Serve};
use futures_util::{SinkExt, StreamExt};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

pub const PASSWORD: &str = "correct horse";

#[derive(Parser)]
pub struct Options {
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub serve: Serve,
}

/// A running gateway with its state.
pub struct House {
    pub running: Option<Running>,
    pub url: String,
    pub dir: Arc<tempfile::TempDir>,
    pub client: reqwest::Client,
}

impl House {
    pub async fn new() -> Self {
        Self::with(&[]).await
    }

    pub async fn with(options: &[&str]) -> Self {
        Self::at(Arc::new(tempfile::tempdir().unwrap()), options).await
    }

    /// Over the state in `dir`, which may be that of an earlier one.
    pub async fn at(dir: Arc<tempfile::TempDir>, options: &[&str]) -> Self {
        deskhand_executor::install_provider();
        let state = dir.path().join("state");
        let mut args = vec!["gateway", "--state-dir", state.to_str().unwrap()];
        if !options.contains(&"--listen") {
            args.extend(["--listen", "127.0.0.1:0"]);
        }
        args.extend(options);
        let options = Options::parse_from(args);
        let running = deskhand_gateway::start(&options.place, &options.serve, "").await.unwrap();
        let url = running.ready.url.clone();
        let client = reqwest::Client::builder().cookie_store(false).build().unwrap();
        Self { running: Some(running), url, dir, client }
    }

    pub fn gateway(&self) -> &deskhand_gateway::Gateway {
        &self.running.as_ref().unwrap().gateway
    }

    /// Adds a user and returns the token.
    pub async fn user(&self, name: &str) -> String {
        self.add(name, false).await;
        self.token(name).await
    }

    pub async fn add(&self, name: &str, superadmin: bool) {
        let hash = deskhand_gateway::hash_password(PASSWORD.into()).await.unwrap();
        self.gateway().store.add_user(name, &hash, superadmin).await.unwrap();
    }

    pub async fn token(&self, name: &str) -> String {
        let user = self.gateway().store.user(name).await.unwrap().unwrap();
        self.gateway().access.token_of(&user)
    }

    pub fn at_path(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// A JSON-RPC message to a legacy service.
    pub async fn post(&self, token: &str, service: &str, message: &Value) -> reqwest::Response {
        let url = self.at_path(&format!("/api/mcp/sse/{service}"));
        self.client.post(url).bearer_auth(token).json(message).send().await.unwrap()
    }

    pub async fn rpc(&self, token: &str, service: &str, method: &str, params: Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.post(token, service, &message).await.json().await.unwrap()
    }

    /// Calls a tool through the agent service; the result's first text and whether it is an error.
    pub async fn call(&self, token: &str, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.rpc(token, "agent", "tools/call", json!({"name": tool, "arguments": arguments})).await;
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"));
        (text.to_owned(), result["isError"].as_bool().unwrap())
    }

    pub async fn names(&self, token: &str, service: &str) -> Vec<String> {
        let answer = self.rpc(token, service, "tools/list", json!({})).await;
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tools in {answer}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    pub async fn stop(mut self) {
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
    }
}

/// A desk that counts how often each number was run.
#[derive(Default)]
pub struct CountingDesk {
    pub runs: Mutex<HashMap<u64, u32>>,
    pub undelivered: Mutex<Vec<String>>,
    pub cancelled: Mutex<u32>,
    pub gone: Mutex<u32>,
}

impl CountingDesk {
    pub fn most(&self) -> u32 {
        self.runs.lock().values().copied().max().unwrap_or(0)
    }

    pub fn count(&self, number: u64) -> u32 {
        self.runs.lock().get(&number).copied().unwrap_or(0)
    }
}

#[async_trait]
impl Desk for CountingDesk {
    async fn tools(&self, service: Service) -> Vec<Value> {
        let name = service.name();
        ["click", "slow", "big", "look"].iter().map(|tool| json!({"name": format!("{name}_{tool}"), "description": tool})).collect()
    }

    fn only_reads(&self, tool: &str) -> bool {
        tool.ends_with("_look")
    }

    async fn call(&self, call: DeskCall) -> Result<Value, Value> {
        let number = call.params["n"].as_u64().unwrap_or(0);
        *self.runs.lock().entry(number).or_default() += 1;
        let wait = Duration::from_millis(call.params["ms"].as_u64().unwrap_or(0));
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = call.cancel.cancelled() => {
                *self.cancelled.lock() += 1;
                return Err(json!({"message": "cancelled: it may have acted in part", "kind": "cancelled"}));
            }
            () = tokio::time::sleep_until(call.deadline) => return Err(json!({"message": "timed out", "kind": "timed_out"})),
        }
        match call.tool.split_once('_').map(|(_, tool)| tool) {
            Some("big") => {
                let text = "x".repeat(call.params["bytes"].as_u64().unwrap_or(0) as usize);
                Ok(json!({"content": [{"type": "text", "text": text}]}))
            }
            Some("click" | "slow" | "look") => Ok(json!({
                "content": [{"type": "text", "text": format!("done {number}")}],
                "structuredContent": {"n": number},
            })),
            _ => Err(json!({"message": format!("unknown tool: {}", call.tool), "kind": "unknown_tool"})),
        }
    }

    fn undelivered(&self, _caller: &Caller, tool: &str, _ok: bool) {
        self.undelivered.lock().push(tool.to_owned());
    }

    async fn gone(&self, _caller: &Caller) {
        *self.gone.lock() += 1;
    }
}

/// An executor of ours with that desk, wherever `url` leads.
pub fn executor(url: &str, token: &str, desk: &Arc<CountingDesk>) -> Executor {
    let source = Source::Fixed { address: Address::parse(url).unwrap(), token: Token::new(token), ca: None, state_dir: None };
    start(source, desk)
}

pub fn start(source: Source, desk: &Arc<CountingDesk>) -> Executor {
    let (on, authorised) = watch::channel(true);
    let (tools, changes) = watch::channel(0);
    // The senders live as long as the test process: nobody switches them.
    std::mem::forget((on, tools));
    Executor::start(Arc::clone(desk) as Arc<dyn Desk>, source, authorised, changes)
}

/// Waits until `wanted` holds for the executor's status.
pub async fn until(executor: &Executor, what: &str, wanted: impl Fn(&deskhand_executor::Status) -> bool) {
    let mut status = executor.watch();
    let waiting = status.wait_for(|status| wanted(status));
    match tokio::time::timeout(Duration::from_secs(60), waiting).await {
        Ok(found) => drop(found.unwrap()),
        Err(_) => panic!("never {what}: {:?}", executor.status()),
    }
}

pub async fn connected(executor: &Executor) {
    until(executor, "connected", |status| {
        matches!(status.computer, SocketState::Connected { .. }) && matches!(status.browser, SocketState::Connected { .. })
    })
    .await;
}

/// Waits until the condition holds.
pub async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(60), waiting).await.is_ok(), "never: {what}");
}

/// A scripted executor: a bare WebSocket.
pub struct Peer(pub WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Peer {
    pub async fn connect(house: &House, service: &str, token: &str) -> Self {
        let url = format!("{}/api/{service}/ws?token={token}", house.url.replacen("http", "ws", 1));
        let (socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
        let peer = Self(socket);
        let user = token.split(':').next().unwrap().to_owned();
        let service = if service == "computer" { deskhand_gateway::Service::Computer } else { deskhand_gateway::Service::Browser };
        eventually("registered", async || house.gateway().hub.link(&user, service).is_some()).await;
        peer
    }

    pub async fn send(&mut self, text: impl Into<String>) {
        self.0.send(Message::text(text.into())).await.unwrap();
    }

    /// The next JSON frame.
    pub async fn frame(&mut self) -> Value {
        loop {
            match tokio::time::timeout(Duration::from_secs(30), self.0.next()).await.expect("a frame within 30 s") {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(text.as_str()).unwrap(),
                Some(Ok(Message::Close(frame))) => panic!("closed: {frame:?}"),
                Some(Ok(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The close code.
    pub async fn close_code(&mut self) -> u16 {
        loop {
            match tokio::time::timeout(Duration::from_secs(30), self.0.next()).await.expect("a close within 30 s") {
                Some(Ok(Message::Close(Some(frame)))) => return frame.code.into(),
                Some(Ok(_)) => {}
                other => panic!("no close frame: {other:?}"),
            }
        }
    }
}
