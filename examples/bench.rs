//! The measurements of the worker, each beside a floor measured in the same run: absolute times depend on the machine,
//! ratios do not. `make bench` runs it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark ends loudly at the first thing that is not right"
)]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// One keep-alive connection that posts JSON-RPC: as little of a client as possible.
struct Wire {
    stream: BufReader<TcpStream>,
    host: String,
    token: String,
}

impl Wire {
    fn open(host: &str, token: &str) -> Self {
        let stream = TcpStream::connect(host).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream), host: host.into(), token: token.into() }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let body =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } }).to_string();
        let text = self.post(&body);
        let answer: Value = serde_json::from_slice(&text).unwrap();
        assert!(answer["result"]["isError"] != true && answer["error"].is_null(), "{tool}: {answer}");
        answer
    }

    fn post(&mut self, body: &str) -> Vec<u8> {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.host,
            self.token,
            body.len()
        );
        self.stream.get_mut().write_all((head + body).as_bytes()).unwrap();
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).unwrap();
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }
}

struct Worker {
    child: Child,
    host: String,
    token: String,
    started: Duration,
    ready: Value,
    _state: tempfile::TempDir,
}

impl Drop for Worker {
    fn drop(&mut self) {
        #[allow(unsafe_code)]
        // SAFETY: signals a child that has not been waited for.
        unsafe {
            libc::kill(self.child.id() as i32, libc::SIGTERM);
        }
        let _ = self.child.wait();
    }
}

fn worker(bin: &str, size: &str) -> Worker {
    let state = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let mut command = Command::new(bin);
    command.args(["serve", "--listen", "127.0.0.1:0", "--authorize", "all", "--ready-json", "--state-dir"]).arg(state.path());
    if !size.is_empty() {
        command.args(["--virtual-display", size]);
    }
    let mut child = command.env("RUST_LOG", "error").stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).expect("a ready line");
    let host = ready["mcp_url"].as_str().unwrap().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let token = ready["token"].as_str().unwrap().to_owned();
    let mut wire = Wire::open(&host, &token);
    wire.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string());
    Worker { child, host, token, started: begun.elapsed(), ready, _state: state }
}

/// Median and 99th percentile, in milliseconds.
fn times(n: usize, mut action: impl FnMut()) -> (f64, f64) {
    action();
    let mut all: Vec<f64> = (0..n)
        .map(|_| {
            let begun = Instant::now();
            action();
            begun.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    all.sort_by(f64::total_cmp);
    (all[n / 2], all[(n * 99) / 100])
}

fn row(what: &str, (p50, p99): (f64, f64), floor: Option<(&str, f64)>) {
    let beside = floor.map_or(String::new(), |(name, ms)| format!("   {:5.2} x {name} ({ms:.2} ms)", p50 / ms));
    println!("{what:<52} p50 {p50:9.3} ms   p99 {p99:9.3} ms{beside}");
}

/// Encoding a picture with the fastest PNG and base64, in this process: what a screenshot cannot be faster than, together
/// with the capture.
fn encode_floor(wire: &mut Wire) -> (f64, f64) {
    use base64::Engine;
    let answer = wire.call("computer_screenshot", &json!({ "format": "png" }));
    let data = answer["result"]["content"][0]["data"].as_str().unwrap().to_owned();
    let bytes = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
    let picture = image::load_from_memory(&bytes).unwrap().to_rgb8();
    times(20, || {
        let mut out = Vec::new();
        let encoder = image::codecs::png::PngEncoder::new_with_quality(
            &mut out,
            image::codecs::png::CompressionType::Fast,
            image::codecs::png::FilterType::Up,
        );
        image::ImageEncoder::write_image(encoder, &picture, picture.width(), picture.height(), image::ExtendedColorType::Rgb8).unwrap();
        assert!(!base64::engine::general_purpose::STANDARD.encode(out).is_empty());
    })
}

fn memory(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let kb: f64 = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap().split_whitespace().next().unwrap().parse().unwrap();
    kb / 1024.0
}

fn clients(host: &str, token: &str, count: usize) -> (f64, f64) {
    let each = 2_000 / count;
    let threads: Vec<_> = (0..count)
        .map(|_| {
            let mut wire = Wire::open(host, token);
            std::thread::spawn(move || {
                (0..each).map(|_| times(1, || drop(wire.call("computer_whitelist", &json!({})))).0).collect::<Vec<_>>()
            })
        })
        .collect();
    let mut all: Vec<f64> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
    all.sort_by(f64::total_cmp);
    (all[all.len() / 2], all[all.len() * 99 / 100])
}

/// The tray app without a window, on the display of `desk`: until `/health` answers, and what it holds then.
fn tray(bin: &str, desk: &Worker) -> Option<(Duration, f64)> {
    let program = std::path::Path::new(bin).with_file_name("deskhand-tray");
    if !program.is_file() {
        return None;
    }
    let state = tempfile::tempdir().unwrap();
    std::fs::write(state.path().join("settings.json"), r#"{"port": 0}"#).unwrap();
    let mut command = Command::new(program);
    command.args(["--hidden", "--state-dir"]).arg(state.path()).env("DISPLAY", desk.ready["display"].as_str().unwrap());
    if let Some(file) = desk.ready["xauthority"].as_str() {
        command.env("XAUTHORITY", file);
    }
    let begun = Instant::now();
    let child = command.env("RUST_LOG", "error").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let healthy = || {
        let running: Value = serde_json::from_slice(&std::fs::read(state.path().join("worker.json")).ok()?).ok()?;
        let host = running["mcp_url"].as_str()?.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        let mut stream = TcpStream::connect(&host).ok()?;
        write!(stream, "GET /health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.starts_with("HTTP/1.1 200").then_some(host)
    };
    let host = loop {
        if let Some(host) = healthy() {
            break host;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the tray app did not start");
        std::thread::sleep(Duration::from_millis(5));
    };
    let app = Worker { child, host, token: String::new(), started: begun.elapsed(), ready: Value::Null, _state: state };
    std::thread::sleep(Duration::from_secs(2));
    Some((app.started, memory(app.child.id())))
}

fn tell_of_tray(bin: &str, desk: &Worker) {
    match tray(bin, desk) {
        Some((started, memory)) => {
            println!("tray app, hidden: start to /health {:.0} ms; memory after 2 s {memory:.1} MB", started.as_secs_f64() * 1000.0);
        }
        None => println!("tray app: not built (make build)"),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let bin = arguments.iter().position(|a| a == "--bin").and_then(|i| arguments.get(i + 1)).expect("usage: bench --bin DESKHAND").clone();
    println!("binary: {:.1} MB, debug lines included", std::fs::metadata(&bin).unwrap().len() as f64 / 1e6);
    let bare = worker(&bin, "");
    println!(
        "start to first answered tools/list: {:.0} ms; idle memory {:.1} MB",
        bare.started.as_secs_f64() * 1000.0,
        memory(bare.child.id())
    );
    let mut wire = Wire::open(&bare.host, &bare.token);
    let health = times(500, || drop(wire.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string())));
    row("ping over HTTP, one connection (floor)", health, None);
    row(
        "a tool that does nothing, one connection",
        times(500, || drop(wire.call("computer_whitelist", &json!({})))),
        Some(("the ping", health.0)),
    );
    for count in [10, 30] {
        row(&format!("the same, {count} clients at once"), clients(&bare.host, &bare.token, count), Some(("the ping", health.0)));
    }
    drop(bare);
    for size in ["1920x1080", "3840x2160"] {
        let desk = worker(&bin, size);
        let mut wire = Wire::open(&desk.host, &desk.token);
        let floor = encode_floor(&mut wire);
        if size == "1920x1080" {
            tell_of_tray(&bin, &desk);
        }
        row(
            &format!("computer_screenshot at {size}"),
            times(20, || drop(wire.call("computer_screenshot", &json!({})))),
            Some(("PNG + base64 alone", floor.0)),
        );
        let moved = times(100, || drop(wire.call("computer_mouse_move", &json!({ "x": 5, "y": 5 }))));
        row("computer_mouse_move (verified by the server)", moved, None);
        row(
            "computer_mouse_click",
            times(100, || drop(wire.call("computer_mouse_click", &json!({ "x": 9, "y": 9 })))),
            Some(("the move", moved.0)),
        );
        row(
            "computer_keyboard_type, 100 characters, no window",
            times(20, || drop(wire.call("computer_keyboard_type", &json!({ "text": "a".repeat(100) })))),
            None,
        );
    }
}
