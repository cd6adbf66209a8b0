//! A worker as a process of its own, called as any client calls it: JSON-RPC over HTTP with the token, no handshake.

use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// How long anything may take on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A running worker; killed when dropped.
pub struct Worker {
    pub url: String,
    pub token: String,
    /// An allowed folder of its own.
    pub allowed: PathBuf,
    /// Its state folder.
    pub state: PathBuf,
    pub ready: Value,
    pub child: Child,
    client: reqwest::Client,
    ids: AtomicU64,
    folder: TempDir,
}

/// What a call came back with.
#[derive(Debug)]
pub struct Answer {
    pub ok: bool,
    pub text: String,
    pub json: Value,
    pub content: Vec<Value>,
}

impl Answer {
    /// What came back for `tools/call`.
    pub fn of(tool: &str, answer: &Value) -> Self {
        let result = &answer["result"];
        assert!(result.is_object(), "{tool}: {answer}");
        let content = result["content"].as_array().cloned().unwrap_or_default();
        let text = content.iter().filter_map(|c| c["text"].as_str()).collect::<Vec<_>>().join("\n");
        Self { ok: result["isError"] != true, text, json: result["structuredContent"].clone(), content }
    }

    /// Media type and bytes of its picture.
    pub fn picture(&self) -> (String, Vec<u8>) {
        use base64::Engine;
        let image = self.content.iter().find(|c| c["type"] == "image").unwrap_or_else(|| panic!("no picture in {}", self.text));
        let bytes = base64::engine::general_purpose::STANDARD.decode(image["data"].as_str().unwrap()).unwrap();
        (image["mimeType"].as_str().unwrap().to_owned(), bytes)
    }

    /// The answer, which must be a success.
    #[track_caller]
    pub fn success(self) -> Self {
        assert!(self.ok, "{}", self.text);
        self
    }

    /// The text of the answer, which must be an error of this kind.
    #[track_caller]
    pub fn error(self, kind: &str) -> String {
        assert_eq!((self.ok, self.json["error"].as_str()), (false, Some(kind)), "{}", self.text);
        self.text
    }
}

impl Worker {
    /// A worker on this display that may do everything.
    pub async fn on(display: &str) -> Self {
        Self::with(Some(display), &["--authorize", "all"]).await
    }

    /// A worker where there is no display.
    pub async fn without_display() -> Self {
        Self::with(None, &["--authorize", "all"]).await
    }

    /// A worker with these arguments of `deskhand serve`.
    pub async fn with(display: Option<&str>, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::again(display, arguments, folder).await
    }

    /// A worker that goes on in the folder of an earlier one.
    pub async fn again(display: Option<&str>, arguments: &[&str], folder: TempDir) -> Self {
        let (allowed, state) = (folder.path().join("allowed"), folder.path().join("state"));
        std::fs::create_dir_all(&allowed).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_deskhand"));
        // Any port, unless the test names one.
        let listen: &[&str] = if arguments.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
        command
            .arg("serve")
            .args(listen)
            .args(["--ready-json", "--state-dir"])
            .arg(&state)
            .arg("--allow-dir")
            .arg(&allowed)
            .args(arguments);
        command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env_remove("XAUTHORITY").env("HOME", folder.path());
        // Its home is its own, the OCR models are this machine's.
        if let (None, Some(home)) = (std::env::var_os("DESKHAND_MODELS"), std::env::home_dir()) {
            command.env("DESKHAND_MODELS", home.join(".local/share/deskhand/models"));
        }
        if let Some(display) = display {
            command.env("DISPLAY", display);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        tokio::time::timeout(PATIENCE, out.read_line(&mut line)).await.expect("a ready line").unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("the worker did not start: {line:?}"));
        let text = |name: &str| ready[name].as_str().unwrap().to_owned();
        let (url, token) = (text("mcp_url"), text("token"));
        // The client library wants one even for plain http.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { url, token, allowed, state, ready, child, client, ids: AtomicU64::new(1), folder }
    }

    /// Its folder, after it ended.
    pub async fn into_folder(mut self) -> TempDir {
        let _ = self.child.kill().await;
        self.folder
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        let pid = i32::try_from(self.pid()).unwrap();
        // SAFETY: signals a child that we hold.
        #[allow(unsafe_code)]
        unsafe {
            libc::kill(pid, signal);
        }
    }

    /// Posts one JSON-RPC message and returns the answer.
    pub async fn rpc(&self, method: &str, params: Value) -> Value {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let request = self.client.post(&self.url).bearer_auth(&self.token).json(&body).send();
        let response = tokio::time::timeout(Duration::from_secs(150), request).await.expect("an answer").unwrap();
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["id"], id);
        answer
    }

    /// Calls a tool.
    pub async fn call(&self, tool: &str, arguments: Value) -> Answer {
        Answer::of(tool, &self.rpc("tools/call", json!({ "name": tool, "arguments": arguments })).await)
    }

    /// The lines of its audit log.
    pub fn audit(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.state.join("audit.jsonl")).unwrap();
        log.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
    }
}
