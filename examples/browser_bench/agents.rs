//! Who is measured: the same four actions, each in the tools of its own server.

use async_trait::async_trait;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// The four actions.
#[async_trait]
pub trait Agent {
    /// Opens an address and reads the page.
    async fn open(&mut self, url: &str) -> String;
    /// Clicks.
    async fn click(&mut self, selector: &str);
    /// Fills a field.
    async fn fill(&mut self, selector: &str, text: &str);
    /// Takes a picture of the page.
    async fn picture(&mut self);
}

fn text(answer: &Value) -> String {
    let content = answer["result"]["content"].as_array();
    let text = content.into_iter().flatten().filter_map(|c| c["text"].as_str()).collect::<Vec<_>>().join("\n");
    assert!(answer["error"].is_null() && answer["result"]["isError"] != true, "{answer:.500}");
    text
}

/// A worker of ours, called over one HTTP connection.
pub struct Deskhand {
    child: Child,
    host: String,
    token: String,
    stream: BufReader<TcpStream>,
    state: tempfile::TempDir,
}

impl Deskhand {
    /// Starts one that works in this browser, without a window.
    pub async fn start(bin: &str, browser: &str) -> Self {
        let state = tempfile::tempdir().unwrap();
        let mut command = Command::new(bin);
        command.args(["serve", "--listen", "127.0.0.1:0", "--authorize", "all", "--headless", "--ready-json", "--browser", browser]);
        command.arg("--state-dir").arg(state.path()).env("RUST_LOG", "error").kill_on_drop(true);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
        let ready: Value = serde_json::from_str(&line).expect("a ready line");
        let host = ready["mcp_url"].as_str().unwrap().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        let stream = TcpStream::connect(&host).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let token = ready["token"].as_str().unwrap().to_owned();
        Self { child, host, token, stream: BufReader::new(stream), state }
    }

    /// Host and port.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// A one-time code, as the person reads it.
    pub fn pairing_code(&self, bin: &str) -> String {
        let said = std::process::Command::new(bin).arg("pair").arg("--state-dir").arg(self.state.path()).stdin(Stdio::null()).output();
        let said = String::from_utf8(said.unwrap().stdout).unwrap();
        said.lines().find_map(|l| l.strip_prefix("Code:")).expect("a code").trim().to_owned()
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let body =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } }).to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.host,
            self.token,
            body.len()
        );
        self.stream.get_mut().write_all((head + &body).as_bytes()).await.unwrap();
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).await.unwrap();
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).await.unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }
}

#[async_trait]
impl Agent for Deskhand {
    async fn open(&mut self, url: &str) -> String {
        text(&self.call("browser_navigate", json!({ "url": url })).await);
        text(&self.call("browser_get_content", json!({})).await)
    }

    async fn click(&mut self, selector: &str) {
        text(&self.call("browser_click", json!({ "selector": selector })).await);
    }

    async fn fill(&mut self, selector: &str, with: &str) {
        text(&self.call("browser_type", json!({ "selector": selector, "text": with })).await);
    }

    async fn picture(&mut self) {
        text(&self.call("browser_screenshot", json!({})).await);
    }
}

impl Drop for Deskhand {
    fn drop(&mut self) {
        if let Some(pid) = self.child.id().and_then(|p| i32::try_from(p).ok()) {
            // SIGTERM, so that it ends its browser.
            #[allow(unsafe_code)]
            // SAFETY: signals a child that has not been waited for.
            unsafe {
                libc::kill(pid, libc::SIGTERM);
            }
            while matches!(self.child.try_wait(), Ok(None)) {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
    }
}

/// `@playwright/mcp` over stdio.
pub struct Playwright {
    _child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: u64,
}

impl Playwright {
    /// Starts it with the same browser; what it writes goes to `folder`.
    pub async fn start(program: &Path, folder: &Path) -> Self {
        let browser = std::env::var("DESKHAND_TEST_CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
        let browser = which(&browser);
        let mut command = Command::new("node");
        command.arg(program).args(["--headless", "--isolated", "--no-sandbox", "--executable-path", &browser]);
        command.current_dir(folder).kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut made = Self { _child: child, to, from, next: 0 };
        let client = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" } });
        made.rpc("initialize", client).await;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        made.to.write_all(format!("{ready}\n").as_bytes()).await.unwrap();
        made
    }

    async fn rpc(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        self.to.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).await.unwrap() > 0, "@playwright/mcp ended");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == self.next {
                return answer;
            }
        }
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> String {
        text(&self.rpc("tools/call", json!({ "name": tool, "arguments": arguments })).await)
    }
}

fn which(program: &str) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let found = path.split(':').map(|folder| Path::new(folder).join(program)).find(|p| p.exists());
    found.map_or_else(|| program.to_owned(), |p| p.to_string_lossy().into_owned())
}

#[async_trait]
impl Agent for Playwright {
    async fn open(&mut self, url: &str) -> String {
        self.call("browser_navigate", json!({ "url": url })).await;
        self.call("browser_snapshot", json!({})).await
    }

    async fn click(&mut self, selector: &str) {
        self.call("browser_click", json!({ "element": "it", "target": selector })).await;
    }

    async fn fill(&mut self, selector: &str, with: &str) {
        self.call("browser_type", json!({ "element": "it", "target": selector, "text": with })).await;
    }

    async fn picture(&mut self) {
        self.call("browser_take_screenshot", json!({ "scale": "css" })).await;
    }
}
