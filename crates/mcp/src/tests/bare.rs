//! JSON-RPC without a handshake.

use serde_json::json;
use std::sync::atomic::Ordering;

use super::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_post_is_answered_whatever_it_accepts() {
    let desk = Desk::start().await;
    for accept in [None, Some("*/*"), Some("application/json"), Some("text/html"), Some(BOTH), Some("")] {
        let mut ask = desk.post(message(7, "tools/list", json!({})));
        if let Some(accept) = accept {
            ask = ask.header("Accept", accept);
        }
        let reply = ask.send().await;
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")), "{accept:?}");
        assert!(reply.header("mcp-session-id").is_none());
        let names: Vec<_> =
            reply.json()["result"]["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(names, ["zeta", "echo", "wait", "panic", "whoami"], "in declaration order");
    }
    let tool = desk.rpc("tools/list", json!({})).await["result"]["tools"][1].clone();
    assert_eq!(tool["annotations"]["readOnlyHint"], true);
    assert_eq!(tool["outputSchema"]["type"], "object");
    assert_eq!(desk.rpc("ping", json!({})).await["result"], json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_have_text_data_and_failures_are_results() {
    let desk = Desk::start().await;
    let reply = desk.post(call("a", "echo", json!({"text": "漢😀"}))).send().await.json();
    assert_eq!(reply["id"], "a");
    assert_eq!(reply["result"]["content"][0]["text"], "漢😀");
    assert_eq!(reply["result"]["structuredContent"]["text"], "漢😀");
    assert_eq!(reply["result"]["isError"], false);
    let failed = desk.post(call(1, "zeta", json!({}))).send().await.json();
    assert_eq!(failed["result"]["isError"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_have_their_codes_on_200() {
    let desk = Desk::start().await;
    let cases = [
        (call(1, "nope", json!({})), -32602),
        (message(1, "tools/call", json!({"arguments": {}})), -32602),
        (message(1, "tools/call", json!({"name": "echo", "arguments": "{}"})), -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#.to_owned(), -32602),
        (message(1, "resources/list", json!({})), -32601),
        (message(1, "no/such", json!({})), -32601),
        ("{".to_owned(), -32700),
        ("[1]".to_owned(), -32600),
        ("3".to_owned(), -32600),
        (call(1, "panic", json!({})), -32603),
        (format!("[{}]", message(1, "ping", json!({}))), -32600),
        ("[".repeat(100_000), -32700),
    ];
    for (body, code) in cases {
        let reply = desk.post(body.clone()).send().await;
        assert_eq!((reply.status, reply.code()), (200, code), "{}", &body[..body.len().min(80)]);
    }
    assert_eq!(desk.rpc("ping", json!({})).await["result"], json!({}), "still there");
    let told = desk.post(r#"{"jsonrpc":"2.0","method":"notifications/whatever"}"#).send().await;
    assert_eq!((told.status, told.body.len()), (202, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_a_hang_up_and_nothing_else_end_a_call() {
    let desk = Desk::start().await;
    let waiting = tokio::spawn(desk.post(call("w", "wait", json!({}))).send());
    until("started", || desk.fake.started.load(Ordering::SeqCst) == 1).await;
    assert_eq!(desk.rpc("ping", json!({})).await["result"], json!({}), "ping while a tool runs");
    let cancel = |token: &str| {
        let body = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "w"}}).to_string();
        desk.post(body).set("Authorization", &format!("Bearer {token}"))
    };
    assert_eq!(cancel(OTHER).send().await.status, 202);
    assert_eq!(desk.rpc("ping", json!({})).await["id"], 1);
    assert_eq!(desk.fake.cancelled.load(Ordering::SeqCst), 0, "another token cannot cancel it");
    assert_eq!(cancel(TOKEN).send().await.status, 202);
    assert_eq!(waiting.await.unwrap().json()["result"]["isError"], true);

    let stream = desk.post(call(1, "wait", json!({}))).open().await;
    until("started", || desk.fake.started.load(Ordering::SeqCst) == 2).await;
    drop(stream);
    until("cancelled by hanging up", || desk.fake.cancelled.load(Ordering::SeqCst) == 2).await;
    until("run to its end, not dropped", || desk.fake.finished.load(Ordering::SeqCst) == 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_thirty_third_request_waits_outside() {
    let desk = Desk::start().await;
    let mut open = Vec::new();
    for id in 0..32 {
        open.push(desk.post(call(id, "wait", json!({}))).open().await);
    }
    until("32 calls", || desk.fake.started.load(Ordering::SeqCst) == 32).await;
    let refused = desk.post(message(1, "ping", json!({}))).send().await;
    assert_eq!(refused.status, 429);
    assert!(refused.header("retry-after").is_some());
    drop(open);
    until("all cancelled", || desk.fake.finished.load(Ordering::SeqCst) == 32).await;
    assert_eq!(desk.rpc("ping", json!({})).await["result"], json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_ids_of_two_clients_never_cross() {
    let desk = Desk::start().await;
    let asks = (0..30).map(|n| {
        let ask = desk.post(call(1, "echo", json!({"text": format!("mine {n}")})));
        async move { (n, ask.send().await.json()) }
    });
    for (n, reply) in futures_util::future::join_all(asks).await {
        assert_eq!(reply["result"]["content"][0]["text"], format!("mine {n}"));
    }
}
