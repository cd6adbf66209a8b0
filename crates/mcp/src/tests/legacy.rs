//! `GET /sse` and `POST /messages`.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::support::*;

struct Line {
    stream: TcpStream,
    path: String,
}

impl Line {
    async fn open(desk: &Desk) -> Self {
        let mut stream = desk.ask("GET", "/sse").header("Accept", "text/event-stream").without("Connection").open().await;
        let text = read_until(&mut stream, "sessionId=").await;
        let whole = text.find("sessionId=").is_some_and(|at| text[at..].contains('\n'));
        let text = if whole { text } else { text + &read_until(&mut stream, "\n").await };
        assert!(text.contains("event: endpoint"), "{text}");
        let path = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap().to_owned();
        assert_eq!(path.len(), "/messages?sessionId=".len() + 32);
        Self { stream, path }
    }

    async fn say(&self, desk: &Desk, body: impl Into<Vec<u8>>) -> u16 {
        desk.ask("POST", &self.path).header("Content-Type", "application/json").body(body).send().await.status
    }

    async fn hear(&mut self, id: Value) -> Value {
        let mark = format!("\"id\":{id}");
        let text = read_until(&mut self.stream, &mark).await;
        let whole = text.find(&mark).is_some_and(|at| text[at..].contains("\n\n"));
        let text = if whole { text } else { text + &read_until(&mut self.stream, "\n\n").await };
        let found = text.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
        found.into_iter().find(|value| value["id"] == id).unwrap_or_else(|| panic!("{text}"))
    }
}

fn initialize(version: &str) -> String {
    message("i", "initialize", json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_client_works_whole() {
    let desk = Desk::start().await;
    let mut line = Line::open(&desk).await;
    assert_eq!(line.say(&desk, r#"{"jsonrpc":"2.0","method":"notifications/early"}"#).await, 202);
    assert_eq!(line.say(&desk, initialize("2024-11-05")).await, 202);
    assert_eq!(line.hear(json!("i")).await["result"]["protocolVersion"], "2024-11-05");
    line.say(&desk, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    for n in 0..40 {
        line.say(&desk, call(n, "echo", json!({"text": format!("漢😀 {n}")}))).await;
    }
    for n in 39..40 {
        assert_eq!(line.hear(json!(n)).await["result"]["content"][0]["text"], format!("漢😀 {n}"));
    }
    for (body, id, code) in [
        (call("a", "nope", json!({})), json!("a"), -32602),
        (message("b", "tools/call", json!({})), json!("b"), -32602),
        (message("c", "no/such", json!({})), json!("c"), -32601),
        ("nonsense".into(), Value::Null, -32700),
        ("[]".into(), Value::Null, -32600),
        (call("p", "panic", json!({})), json!("p"), -32603),
    ] {
        assert_eq!(line.say(&desk, body).await, 202);
        assert_eq!(line.hear(id).await["error"]["code"], code);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_cancelled_by_word_and_by_leaving() {
    let desk = Desk::start().await;
    let mut line = Line::open(&desk).await;
    line.say(&desk, initialize("2024-11-05")).await;
    line.hear(json!("i")).await;
    line.say(&desk, call(1, "wait", json!({}))).await;
    until("started", || desk.fake.started.load(Ordering::SeqCst) == 1).await;
    line.say(&desk, call(1, "echo", json!({}))).await;
    assert_eq!(line.hear(json!(1)).await["error"]["code"], -32600, "the id is in use");
    line.say(&desk, message(2, "ping", json!({}))).await;
    assert_eq!(line.hear(json!(2)).await["result"], json!({}));
    line.say(&desk, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    until("cancelled", || desk.fake.cancelled.load(Ordering::SeqCst) == 1).await;
    line.say(&desk, call(3, "wait", json!({}))).await;
    until("started", || desk.fake.started.load(Ordering::SeqCst) == 2).await;
    let path = line.path.clone();
    drop(line);
    until("cancelled", || desk.fake.cancelled.load(Ordering::SeqCst) == 2).await;
    until("session and line over", || desk.fake.closed.load(Ordering::SeqCst) == 2).await;
    assert_eq!(desk.ask("POST", &path).header("Content-Type", "application/json").body("{}").send().await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_of_no_use_to_another_token() {
    let desk = Desk::start().await;
    let line = Line::open(&desk).await;
    let post = |path: &str| desk.ask("POST", path).header("Content-Type", "application/json").body(message(1, "ping", json!({})));
    assert_eq!(post(&line.path).set("Authorization", &format!("Bearer {OTHER}")).send().await.status, 404);
    assert_eq!(post(&line.path).without("Authorization").send().await.status, 401);
    assert_eq!(post(&line.path).without("Content-Type").header("Content-Type", "text/plain").send().await.status, 415);
    let id = line.path.split('=').nth(1).unwrap();
    for query in [
        String::new(),
        "?".into(),
        "?sessionId=".into(),
        "?sessionId=1".into(),
        format!("?sessionId={id}&sessionId={id}"),
        format!("?sessionid={id}"),
    ] {
        let status = post(&format!("/messages{query}")).send().await.status;
        assert!(status == 400 || status == 404, "{query} {status}");
    }
    assert_eq!(post(&format!("/messages?sessionId={}", "0".repeat(32))).send().await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_old_clients_with_equal_ids_never_cross() {
    let desk = Desk::start().await;
    let mut lines = Vec::new();
    for n in 0..4 {
        let mut line = Line::open(&desk).await;
        line.say(&desk, initialize("2024-11-05")).await;
        line.hear(json!("i")).await;
        line.say(&desk, call(7, "echo", json!({"text": format!("mine {n}")}))).await;
        lines.push(line);
    }
    for (n, line) in lines.iter_mut().enumerate() {
        assert_eq!(line.hear(json!(7)).await["result"]["content"][0]["text"], format!("mine {n}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_257th_stream_is_refused_and_calls_go_on() {
    let desk = Desk::start().await;
    let mut open = Vec::new();
    for _ in 0..256 {
        let mut stream = desk.ask("GET", "/sse").without("Connection").open().await;
        read_until(&mut stream, "sessionId=").await;
        open.push(stream);
    }
    assert_eq!(desk.ask("GET", "/sse").send().await.status, 503);
    let session = desk.session("2025-06-18").await;
    let call = desk.post(call(1, "echo", json!({"text": "x"}))).header("Mcp-Session-Id", &session).header("Accept", BOTH).send().await;
    assert_eq!(call.json()["result"]["content"][0]["text"], "x");
    drop(open);
    for _ in 0..500 {
        let mut stream = desk.ask("GET", "/sse").without("Connection").open().await;
        if read_until(&mut stream, "\r\n\r\n").await.contains("200 OK") {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("no stream became free");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_on_one_stream_is_bounded() {
    let desk = Desk::start().await;
    let mut line = Line::open(&desk).await;
    for n in 0..140 {
        line.say(&desk, call(n, "wait", json!({}))).await;
    }
    assert_eq!(line.hear(json!(139)).await["error"]["code"], -32000);
}
