//! A service that does nothing but tell, a server for it, and a client that sends exactly what it is given.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{Call, CallError, Caller, Content, Endpoint, EndpointConfig, Identity, Outcome, Server, Service, Tokens, ToolInfo};

pub(crate) const TOKEN: &str = "token-of-the-main-caller";
pub(crate) const OTHER: &str = "token-of-another-client";
pub(crate) const BOTH: &str = "application/json, text/event-stream";

/// Counts what happens to it.
pub(crate) struct Fake {
    pub(crate) started: AtomicUsize,
    pub(crate) cancelled: AtomicUsize,
    pub(crate) finished: AtomicUsize,
    pub(crate) closed: AtomicUsize,
    pub(crate) changes: watch::Sender<u64>,
}

fn tool(name: &str) -> ToolInfo {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    let Value::Object(schema) = schema else { unreachable!() };
    ToolInfo {
        name: name.into(),
        title: Some(name.to_uppercase()),
        description: format!("does {name}"),
        input_schema: Arc::new(schema.clone()),
        output_schema: Some(Arc::new(schema)),
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: false,
    }
}

#[async_trait]
impl Service for Fake {
    fn identity(&self) -> Identity {
        Identity { name: "fake".into(), title: "Fake".into(), version: "1.2.3".into(), instructions: Some("Be kind".into()) }
    }

    async fn tools(&self, _caller: &Caller) -> Vec<ToolInfo> {
        ["zeta", "echo", "wait", "panic", "whoami"].iter().map(|name| tool(name)).collect()
    }

    async fn call(&self, call: Call) -> Result<Outcome, CallError> {
        self.started.fetch_add(1, Ordering::SeqCst);
        let outcome = self.run(&call).await;
        self.finished.fetch_add(1, Ordering::SeqCst);
        outcome
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.changes.subscribe())
    }

    fn session_closed(&self, _caller: &Caller) {
        self.closed.fetch_add(1, Ordering::SeqCst);
    }
}

impl Fake {
    async fn run(&self, call: &Call) -> Result<Outcome, CallError> {
        let text = |text: String| Outcome { structured: Some(json!({"text": text})), content: vec![Content::Text(text)], is_error: false };
        match call.tool.as_str() {
            "zeta" => Ok(Outcome::error("zeta is not there")),
            "echo" => Ok(text(call.arguments.get("text").and_then(Value::as_str).unwrap_or_default().to_owned())),
            "whoami" => Ok(text(format!("{} {:?} {}", call.caller.principal.name(), call.caller.client, call.caller.session.is_some()))),
            "line" => Ok(text(call.caller.session.clone().unwrap_or_default())),
            "wait" => {
                let ms = call.arguments.get("ms").and_then(Value::as_u64).unwrap_or(60_000);
                if let Some(progress) = &call.progress {
                    progress.tell(1.0, Some(2.0), Some("half".into()));
                }
                tokio::select! {
                    () = call.cancel.cancelled() => {
                        self.cancelled.fetch_add(1, Ordering::SeqCst);
                        Ok(Outcome::error("cancelled"))
                    }
                    () = tokio::time::sleep(Duration::from_millis(ms)) => Ok(text("waited".into())),
                }
            }
            "panic" => panic!("on purpose"),
            other => Err(CallError::UnknownTool(other.to_owned())),
        }
    }
}

/// A server of the fake service on a port of its own.
pub(crate) struct Desk {
    pub(crate) fake: Arc<Fake>,
    pub(crate) address: SocketAddr,
    pub(crate) endpoint: Endpoint,
    stop: CancellationToken,
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Desk {
    pub(crate) async fn start() -> Self {
        Self::with(EndpointConfig::default(), |server| server).await
    }

    pub(crate) async fn stored(folder: &Path) -> Self {
        Self::with(EndpointConfig { session_folder: Some(folder.to_owned()), ..EndpointConfig::default() }, |server| server).await
    }

    pub(crate) async fn with(config: EndpointConfig, change: impl FnOnce(Server) -> Server) -> Self {
        let counters = || AtomicUsize::new(0);
        let fake = Arc::new(Fake {
            started: counters(),
            cancelled: counters(),
            finished: counters(),
            closed: counters(),
            changes: watch::Sender::new(0),
        });
        let endpoint = Endpoint::new(Arc::clone(&fake) as Arc<dyn Service>, config).unwrap();
        let tokens = Tokens::new([("main", TOKEN), ("client:other", OTHER)]);
        let server = change(Server::new(endpoint.clone(), Arc::new(tokens)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        tokio::spawn(server.serve(listener, stop.clone()));
        Self { fake, address, endpoint, stop }
    }

    /// Stops it and waits until nothing answers there any more.
    pub(crate) async fn end(self) {
        let address = self.address;
        drop(self);
        for _ in 0..500 {
            if TcpStream::connect(address).await.is_err() {
                return tokio::time::sleep(Duration::from_millis(100)).await;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it still listens");
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    pub(crate) async fn raw(&self, bytes: &[u8]) -> Reply {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let _ = stream.write_all(bytes).await;
        let mut all = Vec::new();
        let _ = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut all)).await.expect("the connection stays open");
        Reply::parse(&all)
    }

    /// One request with a good Host and token.
    pub(crate) fn ask(&self, method: &str, path: &str) -> Ask {
        Ask {
            address: self.address,
            line: format!("{method} {path} HTTP/1.1"),
            headers: vec![
                ("Host".into(), self.host()),
                ("Authorization".into(), format!("Bearer {TOKEN}")),
                ("Connection".into(), "close".into()),
            ],
            body: Vec::new(),
        }
    }

    pub(crate) fn post(&self, body: impl Into<Vec<u8>>) -> Ask {
        self.ask("POST", "/mcp").header("Content-Type", "application/json").body(body)
    }

    pub(crate) async fn rpc(&self, method: &str, params: Value) -> Value {
        self.post(message(1, method, params)).send().await.json()
    }

    /// Opens a session of a revision.
    pub(crate) async fn session(&self, version: &str) -> String {
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let reply = self.post(message(0, "initialize", params)).header("Accept", BOTH).send().await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(reply.json()["result"]["protocolVersion"], version);
        let id = reply.header("mcp-session-id").unwrap().to_owned();
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
        assert_eq!(self.post(initialized).header("Mcp-Session-Id", &id).send().await.status, 202);
        id
    }
}

pub(crate) fn message(id: impl Into<Value>, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}).to_string()
}

pub(crate) fn call(id: impl Into<Value>, tool: &str, arguments: Value) -> String {
    message(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// Waits (up to 20 s) for something to come true.
pub(crate) async fn until(what: &str, mut check: impl FnMut() -> bool) {
    for _ in 0..2_000 {
        if check() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

/// A request in the making.
#[derive(Clone)]
pub(crate) struct Ask {
    address: SocketAddr,
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Ask {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    pub(crate) fn set(self, name: &str, value: &str) -> Self {
        self.without(name).header(name, value)
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{}\r\n", self.line);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !self.body.is_empty() {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        let mut bytes = (head + "\r\n").into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Sends it and leaves the connection to the test.
    pub(crate) async fn open(self) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(&self.bytes()).await.unwrap();
        stream
    }

    pub(crate) async fn send(self) -> Reply {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // A refusal may come, and the connection go, before all of the request has been sent.
        let _ = stream.write_all(&self.bytes()).await;
        let mut all = Vec::new();
        let read = stream.read_to_end(&mut all);
        let _ = tokio::time::timeout(Duration::from_secs(60), read).await.expect("no end of the answer");
        Reply::parse(&all)
    }
}

/// Reads from a stream until `text` has come.
pub(crate) async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut all = Vec::new();
    let mut chunk = [0; 65_536];
    loop {
        let got = String::from_utf8_lossy(&all).into_owned();
        if got.contains(text) {
            return got;
        }
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read(&mut chunk)).await;
        match read {
            Ok(Ok(n)) if n > 0 => all.extend_from_slice(&chunk[..n]),
            _ => panic!("{text:?} never came, only: {got}"),
        }
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn parse(all: &[u8]) -> Self {
        let Some(end) = all.windows(4).position(|window| window == b"\r\n\r\n") else {
            return Self { status: 0, head: String::from_utf8_lossy(all).into_owned(), body: Vec::new() };
        };
        let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let body = &all[end + 4..];
        let body = if head.contains("transfer-encoding: chunked") { dechunk(body) } else { body.to_vec() };
        Self { status, head, body }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The JSON body, or the last message of an event stream.
    pub(crate) fn json(&self) -> Value {
        if self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return self.events().pop().unwrap_or_default();
        }
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {} {}", self.head, self.text()))
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        self.text().lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?).ok()).collect()
    }

    pub(crate) fn code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap_or_default()
    }
}

fn dechunk(mut body: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(end) = body.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(String::from_utf8_lossy(&body[..end]).trim(), 16).unwrap_or(0);
        let from = end + 2;
        if size == 0 || body.len() < from + size {
            break;
        }
        all.extend_from_slice(&body[from..from + size]);
        body = &body[(from + size + 2).min(body.len())..];
    }
    all
}
