//! A stand for the gateway's end-to-end tests: the real gateway, a real worker on a virtual display, and a witness window
//! that says what really reached the screen. All are processes of their own.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long anything may take on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The witness: a full-screen X window that prints each press of a button or key.
const WITNESS: &str = r#"
import sys
from Xlib import X, display, XK
d = display.Display(sys.argv[1])
s = d.screen()
w = s.root.create_window(0, 0, s.width_in_pixels, s.height_in_pixels, 0, s.root_depth, X.InputOutput, X.CopyFromParent,
                         background_pixel=s.white_pixel, override_redirect=1,
                         event_mask=X.ButtonPressMask | X.KeyPressMask | X.ExposureMask)
w.map()
d.sync()
w.set_input_focus(X.RevertToParent, X.CurrentTime)
d.sync()
print("ready", flush=True)
while True:
    e = d.next_event()
    if e.type == X.ButtonPress:
        print("button", e.detail, e.root_x, e.root_y, flush=True)
    elif e.type == X.KeyPress:
        shift = 1 if e.state & X.ShiftMask else 0
        print("key", XK.keysym_to_string(d.keycode_to_keysym(e.detail, shift)) or d.keycode_to_keysym(e.detail, shift), flush=True)
    elif e.type == X.MappingNotify:
        d.refresh_keyboard_mapping(e)
"#;

/// A process that ends with the test, its whole group with it.
pub struct Process {
    pub child: Child,
}

impl Process {
    pub fn spawn(command: &mut Command) -> Self {
        Self { child: command.process_group(0).spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")) }
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Sends a signal to the process alone.
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.pid().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Ends it at once and waits for it.
    pub fn kill(&mut self) {
        let _gone = Command::new("kill").args(["-KILL", "--", &format!("-{}", self.pid())]).stderr(Stdio::null()).status();
        let _status = self.child.wait();
    }

    /// The first line on its stdout.
    pub fn first_line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _gone = Command::new("kill").args(["-CONT", "--", &format!("-{}", self.pid())]).stderr(Stdio::null()).status();
        self.kill();
    }
}

/// Where a process logs everything it logs at `debug`: what is said there must hold no secret.
pub fn logging(command: &mut Command, path: &Path) {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    command.env("RUST_LOG", "debug").stderr(file);
}

pub fn deskhand() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deskhand"));
    command.env_remove("DISPLAY").env_remove("DBUS_SESSION_BUS_ADDRESS");
    command
}

/// Runs a subcommand to its end; its stdout.
pub fn run(command: &mut Command, stdin: &str) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Waits until the condition holds.
pub fn eventually(what: &str, within: Duration, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < within, "not within {within:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A gateway with one user, `ana`.
pub struct Gateway {
    pub process: Process,
    pub url: String,
    pub state: PathBuf,
    pub token: String,
}

pub const PASSWORD: &str = "correct horse battery";

impl Gateway {
    pub fn start(dir: &Path) -> Self {
        Self::start_at(dir, "127.0.0.1")
    }

    /// At an address of this machine.
    pub fn start_at(dir: &Path, address: &str) -> Self {
        Self::start_with(dir, address, &[])
    }

    /// With more options.
    pub fn start_with(dir: &Path, address: &str, options: &[&str]) -> Self {
        let state = dir.join("gateway");
        let port = std::net::TcpListener::bind((address, 0)).unwrap().local_addr().unwrap().port();
        run(deskhand().args(["gateway", "user", "add", "ana", "--state-dir"]).arg(&state), PASSWORD);
        let token = run(deskhand().args(["gateway", "token", "show", "ana", "--state-dir"]).arg(&state), "").trim().to_owned();
        let url = format!("http://{address}:{port}");
        let process = Self::serve(&state, &url, options);
        Self { process, url, state, token }
    }

    fn serve(state: &Path, url: &str, options: &[&str]) -> Process {
        let address = url.trim_start_matches("http://");
        let mut command = deskhand();
        command
            .args(["gateway", "serve", "--ready-json", "--listen", address, "--state-dir"])
            .arg(state)
            .args(options)
            .stdout(Stdio::piped());
        logging(&mut command, &state.with_extension("log"));
        let mut process = Process::spawn(&mut command);
        let ready: Value = serde_json::from_str(&process.first_line()).expect("a ready line");
        assert_eq!(ready["url"], url);
        process
    }

    /// Ends it with SIGKILL and starts it again at the same address.
    pub fn crash_and_restart(&mut self) {
        self.process.kill();
        self.process = Self::serve(&self.state, &self.url, &[]);
    }
}

/// One request on a connection of its own, answered with JSON; as little of a client as possible.
pub fn http(host: &str, line: &str, headers: &str, body: &str) -> Result<Value, String> {
    let length = body.len();
    let head = format!(
        "{line} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let exchange = || {
        let mut stream = std::net::TcpStream::connect(host)?;
        stream.set_read_timeout(Some(Duration::from_secs(45)))?;
        stream.write_all(format!("{head}{body}").as_bytes())?;
        let mut reader = BufReader::new(stream);
        let (mut line, mut length) = (String::new(), None);
        while reader.read_line(&mut line)? > 2 {
            let (name, value) = line.split_once(':').unwrap_or_default();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok();
            }
            line.clear();
        }
        // Chromium keeps the connection open whatever one asks for.
        let mut answer = vec![0; length.ok_or(std::io::ErrorKind::InvalidData)?];
        reader.read_exact(&mut answer)?;
        Ok::<_, std::io::Error>(answer)
    };
    let answer = exchange().map_err(|error| error.to_string())?;
    serde_json::from_slice(&answer).map_err(|error| error.to_string())
}

/// What an agent does: JSON-RPC to the `agent` service, a connection per call.
#[derive(Clone)]
pub struct Agent {
    host: String,
    token: String,
}

impl Agent {
    pub fn of(gateway: &Gateway) -> Self {
        Self { host: gateway.url.trim_start_matches("http://").to_owned(), token: gateway.token.clone() }
    }

    pub fn rpc(&self, method: &str, params: Value) -> Result<Value, String> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        http(&self.host, "POST /api/mcp/sse/agent", &format!("Authorization: Bearer {}\r\n", self.token), &body)
    }

    /// The result of a tool; an error of the wire or of the tool as text.
    pub fn call(&self, tool: &str, arguments: Value) -> Result<Value, String> {
        let answer = self.rpc("tools/call", json!({"name": tool, "arguments": arguments}))?;
        let result = answer.get("result").ok_or_else(|| answer.to_string())?;
        if result["isError"] == true {
            Err(result["content"][0]["text"].as_str().unwrap_or_default().to_owned())
        } else {
            Ok(result.clone())
        }
    }

    /// Whether the computer executor is connected.
    pub fn is_connected(&self) -> bool {
        let found = self.call("picoaide_user_info", json!({}));
        found.is_ok_and(|result| {
            result["structuredContent"]["computer_connected"] == true
                || result["content"][0]["text"].as_str().is_some_and(|text| text.contains("\"computer_connected\":true"))
        })
    }
}

/// A worker on a virtual display, with a witness on it.
pub struct Desk {
    pub worker: Process,
    pub state: PathBuf,
    pub display: String,
    seen: Arc<Mutex<Vec<String>>>,
    _witness: Process,
    _server: Process,
}

impl Desk {
    pub fn start(dir: &Path, gateway: &Gateway) -> Self {
        Self::start_by(dir, gateway, deskhand())
    }

    /// With a worker that `command`, which is the program or leads to it, starts.
    pub fn start_by(dir: &Path, gateway: &Gateway, mut command: Command) -> Self {
        let state = dir.join("worker");
        let token = dir.join("token");
        std::fs::write(&token, &gateway.token).unwrap();
        let mut xvfb = Command::new("Xvfb");
        xvfb.args(["-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-ac", "-noreset"]);
        let mut server = Process::spawn(xvfb.stdout(Stdio::piped()).stderr(Stdio::null()));
        let display = format!(":{}", server.first_line().trim());
        command.args(["serve", "--listen", "127.0.0.1:0", "--display", &display, "--authorize", "all", "--ready-json", "--gateway"]);
        command.arg(&gateway.url).arg("--gateway-token-file").arg(&token).arg("--state-dir").arg(&state).stdout(Stdio::piped());
        logging(&mut command, &dir.join("worker.log"));
        let mut worker = Process::spawn(&mut command);
        let ready: Value = serde_json::from_str(&worker.first_line()).expect("a ready line");
        assert_eq!(ready["display"], display);
        let script = dir.join("witness.py");
        std::fs::write(&script, WITNESS).unwrap();
        let mut command = Command::new("/usr/bin/python3");
        command.arg(&script).arg(&display).stdout(Stdio::piped());
        let mut witness = Process::spawn(&mut command);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (lines, into) = (BufReader::new(witness.child.stdout.take().unwrap()).lines(), Arc::clone(&seen));
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| into.lock().unwrap().push(line)));
        eventually("the witness is ready", PATIENCE, || seen.lock().unwrap().first().is_some_and(|line| line == "ready"));
        let agent = Agent::of(gateway);
        eventually("the executor is connected", PATIENCE, || agent.is_connected());
        Self { worker, state, display, seen, _witness: witness, _server: server }
    }

    /// What the witness saw so far, without the first line.
    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().iter().skip(1).cloned().collect()
    }

    /// How often a click at that place arrived.
    pub fn clicks(&self, x: u64, y: u64) -> usize {
        let wanted = format!("button 1 {x} {y}");
        self.seen().iter().filter(|line| **line == wanted).count()
    }
}
