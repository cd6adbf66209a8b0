//! Who gets in at the real worker's doors. Rows B200 to B204 of the public reports; the attacks of every route are in the
//! tests of `crates/mcp`, on the same code.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::support::wire::{Ask, Bridge, call, peak_kb, request, until};
use crate::support::worker::Worker;

const ROUTES: [(&str, &str); 5] =
    [("POST", "/mcp"), ("GET", "/mcp"), ("GET", "/sse"), ("POST", "/messages?sessionId=x"), ("GET", "/extension")];

fn write(worker: &Worker) -> String {
    call(1, "computer_file_write", json!({ "path": worker.allowed.join("planted"), "content": "planted" }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_page_gets_nothing_done() {
    let worker = Worker::without_display().await;
    let port = worker.url.split(':').nth(2).unwrap().split('/').next().unwrap().to_owned();
    let origins = [
        "https://evil.test",
        "null",
        "file://",
        "http://127.0.0.1",
        "http://localhost.evil.test",
        "chrome-extension://ponmlkjihgfedcbaponmlkjihgfedcba",
    ];
    let hosts = [
        "evil.test".to_owned(),
        format!("evil.test:{port}"),
        format!("LOCALHOST:{port}"),
        format!("localhost.:{port}"),
        format!("127.1:{port}"),
    ];
    for (method, path) in ROUTES {
        let ask = || Ask::new(&worker, method, path).body(write(&worker));
        for origin in origins {
            for kind in ["application/json", "text/plain", "application/x-www-form-urlencoded"] {
                let reply = ask().header("Content-Type", kind).header("Origin", origin).send().await;
                assert!([403, 404, 415].contains(&reply.status), "{method} {path} {origin} {kind}: {}", reply.status);
                assert!(!reply.head.contains("access-control-"), "{}", reply.head);
            }
        }
        for host in &hosts {
            let reply = ask().header("Content-Type", "application/json").set("Host", host).send().await;
            assert!([400, 403].contains(&reply.status), "{method} {path} {host}: {}", reply.status);
        }
        let preflight =
            Ask::new(&worker, "OPTIONS", path).header("Origin", "null").header("Access-Control-Request-Method", "POST").send().await;
        assert!((400..500).contains(&preflight.status) && !preflight.head.contains("access-control-"), "{path} {}", preflight.head);
    }
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let reply = Ask::new(&worker, "POST", "/mcp").header("Content-Type", kind).body(write(&worker)).send().await;
        assert_eq!(reply.status, 415, "{kind}, with the right token");
    }
    assert_eq!(Ask::post(&worker, write(&worker)).without("Authorization").send().await.status, 401);
    assert!(!worker.allowed.join("planted").exists());
    assert_eq!(Ask::post(&worker, write(&worker)).send().await.json()["result"]["isError"], false);
    assert!(worker.allowed.join("planted").exists(), "the same request in order does it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_openings_leaves_the_worker_at_work() {
    let worker = Worker::without_display().await;
    let before = peak_kb(worker.pid());
    let mut full = 0;
    for _ in 0..30 {
        let asks = (0..100).map(|_| Ask::post(&worker, request(1, "initialize", json!({}))).send());
        full += futures_util::future::join_all(asks).await.iter().filter(|reply| reply.status == 503).count();
    }
    assert_eq!(full, 2900, "one hundred sessions, no more");
    assert!(peak_kb(worker.pid()) < before + 64_000, "{before} kB became {} kB", peak_kb(worker.pid()));
    assert!(worker.call("computer_whitelist", json!({})).await.ok, "service goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_do_not_shut_the_owner_out() {
    let worker = Worker::without_display().await;
    let address = worker.url.trim_start_matches("http://").split('/').next().unwrap();
    let mut idle = Vec::new();
    for _ in 0..800 {
        idle.push(TcpStream::connect(address).await.unwrap());
    }
    assert!(worker.call("computer_whitelist", json!({})).await.ok);
    drop(idle);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_stays_out_of_sight() {
    let worker = Worker::without_display().await;
    let mut bridge = Bridge::start(&worker.state);
    bridge.initialize("2025-06-18").await;
    for pid in [worker.pid(), bridge.child.id().unwrap()] {
        for what in ["cmdline", "environ"] {
            let seen = std::fs::read(format!("/proc/{pid}/{what}")).unwrap();
            assert!(!String::from_utf8_lossy(&seen).contains(&worker.token), "{what} of {pid}");
        }
    }
    let health = Ask::new(&worker, "GET", "/health").without("Authorization").send().await;
    assert_eq!(health.status, 200);
    let keys: Vec<_> = health.json().as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["name", "version", "protocol", "ready"]);
}

/// Starts a worker that logs all it can; its process, its ready line, and where the log is.
async fn talkative(folder: &std::path::Path) -> (tokio::process::Child, Value, std::path::PathBuf) {
    let log = folder.join("log");
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_deskhand"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--ready-json", "--authorize", "all", "--state-dir"]).arg(folder.join("state"));
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env("HOME", folder).env("RUST_LOG", "trace");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(std::fs::File::create(&log).unwrap()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let read = BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).await;
    read.unwrap();
    (child, serde_json::from_str(&line).unwrap(), log)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_log_level_writes_down_what_passes() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, ready, log) = talkative(folder.path()).await;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let post = |body: String, headers: [(&'static str, String); 3]| {
        let ask = client.post(ready["mcp_url"].as_str().unwrap()).bearer_auth(ready["token"].as_str().unwrap());
        let ask = ask.header("Content-Type", "application/json").body(body);
        headers.into_iter().fold(ask, |ask, (name, value)| ask.header(name, value)).send()
    };
    let plain = || [("X-A", String::new()), ("X-B", String::new()), ("X-C", String::new())];
    let opened = post(request(1, "initialize", json!({})), plain()).await.unwrap();
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let secret = json!({ "text": "PRIVATE-TEXT" });
    let mut modern = json!({ "name": "computer_keyboard_type", "arguments": secret });
    modern["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "x", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let marks = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "computer_keyboard_type")];
    let in_session = || [("Mcp-Session-Id", session.clone()), ("X-B", String::new()), ("X-C", String::new())];
    for (body, headers) in [
        (call(2, "computer_keyboard_type", secret.clone()), plain()),
        (call(3, "computer_keyboard_type", secret.clone()), in_session()),
        (request(4, "tools/call", modern), marks.map(|(name, value)| (name, value.to_owned()))),
        // Something that is logged, so that the log is known to be on.
        (call(5, "computer_nope", json!({})), in_session()),
    ] {
        assert_eq!(post(body, headers).await.unwrap().status(), 200);
    }
    child.kill().await.unwrap();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("computer_nope"), "{log}");
    assert!(!log.contains("PRIVATE-TEXT") && !log.contains(ready["token"].as_str().unwrap()), "{log}");
}

/// Answers `tools/list` and `tools/call` like a small server of somebody else's.
async fn peer() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut seen, mut chunk) = (Vec::new(), [0; 4096]);
                let asked: Value = loop {
                    let read = stream.read(&mut chunk).await.unwrap_or(0);
                    if read == 0 {
                        return;
                    }
                    seen.extend_from_slice(&chunk[..read]);
                    let body = seen.windows(4).position(|window| window == b"\r\n\r\n").map(|at| &seen[at + 4..]);
                    if let Some(Ok(value)) = body.map(serde_json::from_slice) {
                        break value;
                    }
                };
                let result = match asked["method"].as_str() {
                    Some("tools/list") => {
                        json!({ "tools": [{ "name": "shout", "description": "Shouts", "inputSchema": { "type": "object" } }] })
                    }
                    _ => {
                        json!({ "content": [{ "type": "text", "text": asked["params"]["arguments"]["text"].as_str().unwrap_or_default().to_uppercase() }] })
                    }
                };
                let body = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }).to_string();
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all((head + &body).as_bytes()).await;
            });
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread")]
async fn another_servers_tools_are_ours_to_offer() {
    let port = peer().await;
    let servers = json!({
        "peer": { "url": format!("http://127.0.0.1:{port}/mcp"), "prefix": "peer" },
        "far": { "url": "http://192.0.2.1/mcp", "prefix": "far" },
        "gone": { "url": "http://127.0.0.1:9/mcp", "prefix": "gone" },
    });
    let worker = Worker::with(None, &["--authorize", "all", "--mcp-servers", &servers.to_string()]).await;
    let names = worker.rpc("tools/list", json!({})).await["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect::<Vec<_>>();
    assert_eq!(names.last().map(String::as_str), Some("peer_shout"));
    assert!(!names.iter().any(|name| name.starts_with("far") || name.starts_with("gone")));
    assert_eq!(worker.call("peer_shout", json!({ "text": "hello" })).await.success().text, "HELLO");
    let gone = worker.call("gone_thing", json!({})).await;
    assert!(gone.error("unavailable").contains("gone"));
    assert_eq!(worker.rpc("tools/call", json!({ "name": "far_thing", "arguments": {} })).await["error"]["code"], -32602);
    until("the call is in the log", || worker.audit().iter().any(|line| line["tool"] == "peer_shout")).await;
    let without = Worker::with(None, &["--authorize", "screen,mouse", "--mcp-servers", &servers.to_string()]).await;
    without.call("peer_shout", json!({ "text": "hello" })).await.error("denied");
}
