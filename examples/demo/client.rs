//! A small MCP client over HTTP, and the processes of the demonstration.

use crate::Stage;
use base64::Engine;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A process that ends with the demonstration.
pub struct Process {
    child: Child,
    /// What it said when it was ready.
    pub ready: Value,
}

impl Drop for Process {
    fn drop(&mut self) {
        // SIGTERM: whatever it started is to be ended by it.
        #[allow(unsafe_code)]
        // SAFETY: signals a child that has not been waited for.
        unsafe {
            libc::kill(self.child.id() as i32, libc::SIGTERM);
        }
        let _ = self.child.wait();
    }
}

impl Process {
    /// Starts a command that prints a line of JSON when it is ready.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{command:?} did not become ready"));
        Self { child, ready }
    }

    /// A program with a window.
    pub fn window(command: &mut Command) -> Self {
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        Self { child, ready: Value::Null }
    }

    /// A worker on this display, or on a virtual one when there is none, and a client of it.
    pub async fn worker(stage: &Stage) -> (Self, Client) {
        let mut command = Command::new(&stage.bin);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--authorize", "all", "--browser", "auto", "--ready-json", "--allow-dir"])
            .arg(&stage.out);
        command.arg("--state-dir").arg(stage.out.join("state")).env("RUST_LOG", "warn");
        if std::env::var_os("DISPLAY").is_none_or(|d| d.is_empty()) {
            command.args(["--virtual-display", "1280x800"]);
        }
        let worker = Self::start(&mut command);
        stage.step(&format!("a worker runs on display {}", worker.ready["display"].as_str().unwrap_or("?")));
        let text = |name: &str| worker.ready[name].as_str().unwrap().to_owned();
        let client = Client::new(text("mcp_url"), text("token"));
        let tools = client.rpc("tools/list", json!({})).await["tools"].as_array().unwrap().len();
        stage.step(&format!("an MCP client is connected and sees {tools} tools"));
        (worker, client)
    }

    /// What says where the worker's display is.
    pub fn display_variables(&self) -> Vec<(String, String)> {
        let all = [("DISPLAY", "display"), ("XAUTHORITY", "xauthority")];
        all.iter().filter_map(|(variable, key)| Some(((*variable).to_owned(), self.ready[*key].as_str()?.to_owned()))).collect()
    }

    /// A command for a program on the worker's display.
    pub fn on_display(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.envs(self.display_variables());
        command
    }
}

/// An MCP client.
pub struct Client {
    url: String,
    token: String,
    http: reqwest::Client,
}

/// The result of a call.
pub struct Answer {
    /// Its texts.
    pub text: String,
    /// Its structured content.
    pub json: Value,
    content: Vec<Value>,
}

impl Answer {
    /// Media type and bytes of its picture.
    pub fn picture(&self) -> (String, Vec<u8>) {
        let image = self.content.iter().find(|c| c["type"] == "image").expect("a picture");
        let bytes = base64::engine::general_purpose::STANDARD.decode(image["data"].as_str().unwrap()).unwrap();
        (image["mimeType"].as_str().unwrap().to_owned(), bytes)
    }
}

impl Client {
    /// A client of the server at `url`.
    pub fn new(url: String, token: String) -> Self {
        // The client library wants one even for plain http.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self { url, token, http: reqwest::Client::builder().no_proxy().build().unwrap() }
    }

    /// One JSON-RPC request.
    pub async fn rpc(&self, method: &str, params: Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let response = self.http.post(&self.url).bearer_auth(&self.token).json(&body).send().await.expect("the server answers");
        let mut answer: Value = response.json().await.expect("JSON");
        assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        answer["result"].take()
    }

    /// A call that has to work.
    pub async fn call(&self, tool: &str, arguments: Value) -> Answer {
        let shown = arguments.to_string();
        let result = self.rpc("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        let content = result["content"].as_array().cloned().unwrap_or_default();
        let text = content.iter().filter_map(|c| c["text"].as_str()).collect::<Vec<_>>().join("\n");
        assert!(result["isError"] != true, "{tool} {shown}: {text}");
        Answer { text, json: result["structuredContent"].clone(), content }
    }
}
