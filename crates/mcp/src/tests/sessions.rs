//! Sessions of the older revisions, and the newest one without any.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::support::*;
use crate::EndpointConfig;

const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

#[tokio::test(flavor = "multi_thread")]
async fn every_older_revision_has_its_session() {
    let desk = Desk::start().await;
    for version in REVISIONS {
        let session = desk.session(version).await;
        let ask =
            desk.post(call(1, "echo", json!({"text": version}))).header("Mcp-Session-Id", &session).header("MCP-Protocol-Version", version);
        let stream = ask.clone().header("Accept", BOTH).send().await;
        assert!(stream.header("content-type").unwrap().starts_with("text/event-stream"));
        assert_eq!(stream.json()["result"]["content"][0]["text"], version);
        let plain = ask.clone().send().await;
        assert_eq!(plain.header("content-type"), Some("application/json"));
        assert_eq!(plain.json()["result"]["structuredContent"]["text"], version);
        let who = desk.post(call(2, "whoami", json!({}))).header("Mcp-Session-Id", &session).send().await.json();
        assert_eq!(who["result"]["content"][0]["text"], "main Some(\"test 1\") true");
        let gone = desk.ask("DELETE", "/mcp").header("Mcp-Session-Id", &session).send().await;
        assert_eq!(gone.status, 204);
        assert_eq!(desk.ask("DELETE", "/mcp").header("Mcp-Session-Id", &session).send().await.status, 404);
        assert_eq!(ask.send().await.status, 404);
    }
    until("all told", || desk.fake.closed.load(Ordering::SeqCst) == REVISIONS.len()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn curl_can_open_a_session() {
    let desk = Desk::start().await;
    let reply = desk.post(message(1, "initialize", json!({}))).send().await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
    assert_eq!(reply.json()["result"]["serverInfo"]["name"], "fake");
    assert_eq!(reply.json()["result"]["capabilities"]["tools"]["listChanged"], true);
    let session = reply.header("mcp-session-id").unwrap();
    let list = desk.post(message(2, "tools/list", json!({}))).header("Mcp-Session-Id", session).send().await;
    assert_eq!(list.json()["result"]["tools"][0]["name"], "zeta");
    for asked in ["2026-07-28", "1999-01-01"] {
        let reply = desk.post(message(1, "initialize", json!({"protocolVersion": asked}))).send().await;
        assert_eq!(reply.json()["result"]["protocolVersion"], "2025-11-25");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn session_errors_have_their_codes() {
    let desk = Desk::start().await;
    let session = desk.session("2025-06-18").await;
    let cases = [
        (call(1, "nope", json!({})), -32602),
        (message(1, "tools/call", json!({})), -32602),
        (message(1, "tools/call", json!({"name": "echo", "arguments": 3})), -32602),
        (message(1, "no/such", json!({})), -32601),
        (message(1, "prompts/list", json!({})), -32601),
        ("nonsense".to_owned(), -32700),
        ("[]".to_owned(), -32600),
        (format!("[{}]", message(1, "ping", json!({}))), -32600),
        (call(1, "panic", json!({})), -32603),
    ];
    for (body, code) in cases {
        for accept in [BOTH, "*/*"] {
            let reply = desk.post(body.clone()).header("Mcp-Session-Id", &session).header("Accept", accept).send().await;
            assert_eq!((reply.status, reply.code()), (200, code), "{body}");
        }
    }
    for (header, status) in [("bogus", 400), ("2025-06-18", 200)] {
        let ask = desk.post(message(1, "ping", json!({}))).header("Mcp-Session-Id", &session);
        assert_eq!(ask.header("MCP-Protocol-Version", header).send().await.status, status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_belongs_to_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let desk = Desk::stored(folder.path()).await;
    let session = desk.session("2025-06-18").await;
    for id in [session.as_str(), "../../../etc/passwd", "00000000-0000-0000-0000-000000000000", "", "x"] {
        let other = |ask: Ask| ask.set("Authorization", &format!("Bearer {OTHER}")).header("Mcp-Session-Id", id);
        assert_eq!(other(desk.post(message(1, "ping", json!({})))).send().await.status, 404, "{id}");
        assert_eq!(other(desk.ask("DELETE", "/mcp")).send().await.status, 404, "{id}");
        assert_eq!(other(desk.ask("GET", "/mcp").header("Accept", "text/event-stream")).send().await.status, 404, "{id}");
    }
    let twice = desk.post(message(1, "ping", json!({}))).header("Mcp-Session-Id", &session).header("Mcp-Session-Id", &session);
    assert_eq!(twice.send().await.status, 400);
    let own = desk.post(message(1, "ping", json!({}))).header("Mcp-Session-Id", &session).send().await;
    assert_eq!(own.json()["result"], json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let first = Desk::stored(folder.path()).await;
    let session = first.session("2025-11-25").await;
    drop(first);
    let second = Desk::stored(folder.path()).await;
    let asks = (0..5)
        .map(|n| second.post(call(n, "echo", json!({"text": "again"}))).header("Mcp-Session-Id", &session).header("Accept", BOTH).send());
    for reply in futures_util::future::join_all(asks).await {
        assert_eq!(reply.json()["result"]["content"][0]["text"], "again");
    }
    assert_eq!(second.endpoint.inner.sessions.len(), 1);
    let stolen = second.post(message(1, "ping", json!({}))).header("Mcp-Session-Id", &session);
    assert_eq!(stolen.set("Authorization", &format!("Bearer {OTHER}")).send().await.status, 404);
    assert_eq!(second.ask("DELETE", "/mcp").header("Mcp-Session-Id", &session).send().await.status, 204);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_in_flight_is_not_taken_twice() {
    let desk = Desk::start().await;
    let session = desk.session("2025-06-18").await;
    let ask = |body: String| desk.post(body).header("Mcp-Session-Id", &session).header("Accept", BOTH);
    let first = tokio::spawn(ask(call(5, "wait", json!({"ms": 1500}))).send());
    until("started", || desk.fake.started.load(Ordering::SeqCst) == 1).await;
    assert_eq!(ask(call(5, "echo", json!({}))).send().await.code(), -32600);
    assert_eq!(ask(message(6, "ping", json!({}))).send().await.json()["result"], json!({}), "ping while a tool runs");
    assert_eq!(first.await.unwrap().json()["result"]["content"][0]["text"], "waited");
    assert!(ask(call(5, "echo", json!({}))).send().await.json()["result"].is_object(), "free again");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_and_hanging_up_end_a_session_call() {
    let desk = Desk::start().await;
    let session = desk.session("2025-06-18").await;
    let ask = |body: String| desk.post(body).header("Mcp-Session-Id", &session).header("Accept", BOTH);
    let first = tokio::spawn(ask(call(5, "wait", json!({}))).send());
    until("started", || desk.fake.started.load(Ordering::SeqCst) == 1).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
    assert_eq!(ask(cancel.to_string()).send().await.status, 202);
    until("cancelled", || desk.fake.cancelled.load(Ordering::SeqCst) == 1).await;
    assert_eq!(first.await.unwrap().events(), Vec::<Value>::new(), "no late answer");
    let stream = ask(call(5, "wait", json!({}))).open().await;
    until("started", || desk.fake.started.load(Ordering::SeqCst) == 2).await;
    drop(stream);
    until("cancelled", || desk.fake.cancelled.load(Ordering::SeqCst) == 2).await;
    let plain = tokio::spawn(desk.post(call(9, "wait", json!({}))).header("Mcp-Session-Id", &session).send());
    until("started", || desk.fake.started.load(Ordering::SeqCst) == 3).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}});
    ask(cancel.to_string()).send().await;
    assert_eq!(plain.await.unwrap().code(), -32800);
}

#[tokio::test(flavor = "multi_thread")]
async fn three_thousand_openings_leave_room_for_service() {
    let folder = tempfile::tempdir().unwrap();
    let desk = Desk::stored(folder.path()).await;
    let mut opened = 0;
    for _ in 0..300 {
        let asks = (0..10).map(|_| desk.post(message(1, "initialize", json!({}))).send());
        for reply in futures_util::future::join_all(asks).await {
            match reply.status {
                200 => opened += 1,
                status => assert_eq!((status, reply.header("retry-after")), (503, Some("60"))),
            }
        }
    }
    assert_eq!((opened, desk.endpoint.inner.sessions.len()), (100, 100));
    assert_eq!(desk.rpc("ping", json!({})).await["result"], json!({}), "service goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_session_leaves_memory_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let config = EndpointConfig {
        session_folder: Some(folder.path().into()),
        session_idle: Duration::from_millis(200),
        ..EndpointConfig::default()
    };
    let desk = Desk::with(config, |server| server).await;
    let session = desk.session("2025-06-18").await;
    until("gone from memory", || desk.endpoint.inner.sessions.len() == 0).await;
    let reply = desk.post(call(1, "echo", json!({"text": "back"}))).header("Mcp-Session-Id", &session).send().await;
    assert_eq!(reply.json()["result"]["content"][0]["text"], "back");
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_are_for_the_revision_that_has_them() {
    let desk = Desk::start().await;
    let session = desk.session("2025-03-26").await;
    let post = |body: Value| desk.post(body.to_string()).header("Mcp-Session-Id", &session);
    let one = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    let batch = json!([
        one(call(1, "echo", json!({"text": "a"}))), {"jsonrpc": "2.0", "method": "notifications/x"}, 7,
        one(call(2, "nope", json!({}))), one(message(3, "ping", json!({}))), one(message(4, "initialize", json!({}))),
    ]);
    let answers = post(batch).send().await.json();
    let ids: Vec<_> = answers.as_array().unwrap().iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!(null), json!(2), json!(3), json!(4)]);
    assert_eq!(answers[0]["result"]["content"][0]["text"], "a");
    assert_eq!((&answers[2]["error"]["code"], &answers[4]["error"]["code"]), (&json!(-32602), &json!(-32600)));
    assert_eq!(post(json!([{"jsonrpc": "2.0", "method": "notifications/x"}])).send().await.status, 202);
    assert_eq!(post(json!([])).send().await.code(), -32600);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_list_is_told() {
    let desk = Desk::start().await;
    let session = desk.session("2025-06-18").await;
    let listen = desk.ask("GET", "/mcp").without("Connection").header("Mcp-Session-Id", &session).header("Accept", "text/event-stream");
    let mut stream = listen.open().await;
    read_until(&mut stream, "retry: 3000").await;
    desk.fake.changes.send_modify(|n| *n += 1);
    read_until(&mut stream, "notifications/tools/list_changed").await;
}

fn modern(id: i64, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": id,
    });
    message(id, method, params)
}

fn ask_modern(desk: &Desk, id: i64, method: &str, params: Value) -> Ask {
    let name = params.get("name").and_then(Value::as_str).map(str::to_owned);
    let ask = desk.post(modern(id, method, params)).header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", method);
    match name {
        Some(name) => ask.header("Mcp-Name", &name),
        None => ask,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_revision_needs_no_session() {
    let desk = Desk::start().await;
    let found = ask_modern(&desk, 1, "server/discover", json!({})).header("Accept", BOTH).send().await;
    assert!(found.json()["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{}", found.text());
    for accept in [BOTH, "application/json", "*/*"] {
        let reply =
            ask_modern(&desk, 2, "tools/call", json!({"name": "echo", "arguments": {"text": "x"}})).header("Accept", accept).send().await;
        assert_eq!(reply.json()["result"]["content"][0]["text"], "x", "{}", reply.text());
        assert!(reply.header("mcp-session-id").is_none());
    }
    let waited = ask_modern(&desk, 3, "tools/call", json!({"name": "wait", "arguments": {"ms": 100}}));
    let events = waited.clone().header("Accept", BOTH).send().await.events();
    assert_eq!(events[0]["method"], "notifications/progress", "{events:?}");
    assert_eq!(waited.send().await.json()["result"]["content"][0]["text"], "waited");
    let unknown = ask_modern(&desk, 4, "no/such", json!({})).send().await;
    assert_eq!((unknown.status, unknown.code()), (404, -32601));
    let tool = ask_modern(&desk, 5, "tools/call", json!({"name": "nope", "arguments": {}})).send().await;
    assert_eq!((tool.status, tool.code()), (200, -32602));
    let panic = ask_modern(&desk, 6, "tools/call", json!({"name": "panic", "arguments": {}})).send().await;
    assert_eq!(panic.code(), -32603);
    let wrong = ask_modern(&desk, 7, "ping", json!({})).set("Mcp-Method", "tools/list").send().await;
    assert_eq!(wrong.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_the_stream_cancels_and_listening_hears() {
    let desk = Desk::start().await;
    let stream = ask_modern(&desk, 1, "tools/call", json!({"name": "wait", "arguments": {}})).header("Accept", BOTH).open().await;
    until("started", || desk.fake.started.load(Ordering::SeqCst) == 1).await;
    drop(stream);
    until("cancelled", || desk.fake.cancelled.load(Ordering::SeqCst) == 1).await;
    let listen = ask_modern(&desk, 2, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let mut stream = listen.header("Accept", BOTH).open().await;
    read_until(&mut stream, "notifications/subscriptions/acknowledged").await;
    desk.fake.changes.send_modify(|n| *n += 1);
    read_until(&mut stream, "notifications/tools/list_changed").await;
}
