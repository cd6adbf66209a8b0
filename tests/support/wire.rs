//! Raw ends of the wire: HTTP as bytes on a socket, and the stdio bridge as the process a client starts.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::worker::{PATIENCE, Worker};

/// A JSON-RPC request as text.
pub fn request(id: impl Into<Value>, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params }).to_string()
}

/// A `tools/call` as text.
pub fn call(id: impl Into<Value>, tool: &str, arguments: Value) -> String {
    request(id, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// One HTTP exchange, exactly as written.
#[derive(Clone)]
pub struct Ask {
    address: String,
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    /// The head in lower case.
    pub head: String,
    pub body: Vec<u8>,
}

impl Ask {
    /// With the right Host and token; the connection is closed after it.
    pub fn new(worker: &Worker, method: &str, path: &str) -> Self {
        let address = worker.url.trim_start_matches("http://").split('/').next().unwrap().to_owned();
        let headers = vec![
            ("Host".to_owned(), address.clone()),
            ("Authorization".to_owned(), format!("Bearer {}", worker.token)),
            ("Connection".to_owned(), "close".to_owned()),
        ];
        Self { address, line: format!("{method} {path} HTTP/1.1"), headers, body: Vec::new() }
    }

    /// A JSON POST to `/mcp`.
    pub fn post(worker: &Worker, body: impl Into<Vec<u8>>) -> Self {
        Self::new(worker, "POST", "/mcp").header("Content-Type", "application/json").body(body)
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    pub fn set(self, name: &str, value: &str) -> Self {
        self.without(name).header(name, value)
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends it and leaves the connection to the test.
    pub async fn open(self) -> TcpStream {
        let mut head = format!("{}\r\n", self.line);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !self.body.is_empty() {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        // A refusal may come before all of it has been sent.
        let _ = stream.write_all((head + "\r\n").as_bytes()).await;
        let _ = stream.write_all(&self.body).await;
        stream
    }

    pub async fn send(self) -> Reply {
        let mut stream = self.open().await;
        let mut all = Vec::new();
        let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut all)).await.expect("an end of the answer");
        Reply::parse(&all)
    }
}

impl Reply {
    fn parse(all: &[u8]) -> Self {
        let end = all.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(all.len());
        let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let body = all.get(end + 4..).unwrap_or_default();
        let body = if head.contains("transfer-encoding: chunked") { unchunked(body) } else { body.to_vec() };
        Self { status, head, body }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")))
    }

    /// The JSON body, or the last message of an event stream.
    #[track_caller]
    pub fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        let mut events = text.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?).ok());
        events.next_back().unwrap_or_else(|| serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {} {text}", self.head)))
    }

    #[track_caller]
    pub fn code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap_or_default()
    }
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(end) = body.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(String::from_utf8_lossy(&body[..end]).trim(), 16).unwrap_or(0);
        let Some(chunk) = body.get(end + 2..end + 2 + size).filter(|chunk| !chunk.is_empty()) else { break };
        all.extend_from_slice(chunk);
        body = body.get(end + 4 + size..).unwrap_or_default();
    }
    all
}

/// `deskhand mcp start` on the state folder of a worker.
pub struct Bridge {
    pub child: Child,
    pub input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Bridge {
    pub fn start(state: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deskhand"));
        command.args(["mcp", "start", "--state-dir"]).arg(state).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { input: child.stdin.take(), child, output }
    }

    /// Writes a line.
    pub async fn say(&mut self, line: impl AsRef<[u8]>) {
        let input = self.input.as_mut().expect("input is open");
        input.write_all(line.as_ref()).await.unwrap();
        input.write_all(b"\n").await.unwrap();
    }

    /// Reads the next line.
    pub async fn hear(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await.expect("an answer").unwrap().expect("output is open");
        serde_json::from_str(&line).unwrap()
    }

    /// Opens a session.
    pub async fn initialize(&mut self, version: &str) {
        let client = json!({ "name": "e2e", "version": "1" });
        self.say(request("hello", "initialize", json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client }))).await;
        assert_eq!(self.hear().await["result"]["protocolVersion"], version);
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }

    /// Closes its input and waits until it has ended.
    pub async fn end(mut self) -> std::process::ExitStatus {
        drop(self.input.take());
        tokio::time::timeout(PATIENCE, self.child.wait()).await.expect("it ends with its input").unwrap()
    }
}

/// The most memory a process has had, in kB.
pub fn peak_kb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Waits for something to come true.
pub async fn until(what: &str, mut check: impl FnMut() -> bool) {
    let end = tokio::time::Instant::now() + PATIENCE;
    while !check() {
        assert!(tokio::time::Instant::now() < end, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
