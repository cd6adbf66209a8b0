//! `/api/mcp/sse/{service}`.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::house::{House, Peer};

/// Reads a stream until `wanted` is in it.
async fn read_until(
    response: reqwest::Response,
    wanted: &str,
) -> (String, impl futures_util::Stream<Item = reqwest::Result<bytes::Bytes>> + Unpin) {
    let mut body = Box::pin(response.bytes_stream());
    let mut text = String::new();
    while !text.contains(wanted) {
        let chunk = tokio::time::timeout(Duration::from_secs(20), body.next()).await.unwrap_or_else(|_| panic!("{wanted} not in {text}"));
        text.push_str(&String::from_utf8_lossy(&chunk.unwrap().unwrap()));
    }
    (text, body)
}

#[tokio::test]
async fn the_shape_of_the_contract() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let url = house.at_path("/api/mcp/sse/agent");
    let status = |request: reqwest::RequestBuilder| async { request.send().await.unwrap().status().as_u16() };
    assert_eq!(status(house.client.get(&url)).await, 401);
    assert_eq!(status(house.client.post(&url).bearer_auth("ana:0").json(&json!({}))).await, 403);
    assert_eq!(status(house.client.get(house.at_path("/api/mcp/sse/none")).bearer_auth(&token)).await, 404);
    let message = |message: Value| house.client.post(&url).bearer_auth(&token).json(&message);
    let initialize = message(json!({"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {}}));
    let answer = initialize.try_clone().unwrap().send().await.unwrap();
    assert!(!answer.headers().contains_key("mcp-session-id"));
    assert_eq!(answer.json::<Value>().await.unwrap()["result"]["protocolVersion"], "2024-11-05");
    let answer = initialize.header("accept", "application/json, text/event-stream").send().await.unwrap();
    assert!(answer.headers().contains_key("mcp-session-id"));
    let echo = message(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}}));
    assert_eq!(echo.send().await.unwrap().json::<Value>().await.unwrap()["result"]["protocolVersion"], "2025-03-26");
    assert_eq!(status(message(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))).await, 202);
    let code = |response: reqwest::Response| async { response.json::<Value>().await.unwrap()["error"]["code"].as_i64() };
    let raw = |body: &'static str| house.client.post(&url).bearer_auth(&token).header("content-type", "application/json").body(body).send();
    assert_eq!(code(raw("{nope").await.unwrap()).await, Some(-32700));
    assert_eq!(code(raw("[]").await.unwrap()).await, Some(-32600));
    assert_eq!(code(message(json!({"jsonrpc": "2.0", "id": 1, "method": "x/y"})).send().await.unwrap()).await, Some(-32601));
    let unknown = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "nothing"}});
    assert_eq!(code(message(unknown).send().await.unwrap()).await, Some(-32602));
    let large = house.client.post(&url).bearer_auth(&token).body("x".repeat((1 << 20) + 1));
    assert_eq!(status(large).await, 413);
}

#[tokio::test]
async fn a_service_lists_its_tools_only_while_connected() {
    let house = House::new().await;
    let token = house.user("ana").await;
    assert!(house.names(&token, "computer").await.is_empty());
    let platform = house.names(&token, "agent").await;
    assert_eq!(platform.len(), 6);
    assert!(platform.iter().all(|name| name.starts_with("picoaide_")));
    let mut peer = Peer::connect(&house, "computer", &token).await;
    peer.send(json!({"hello": {"version": 1, "tools": [{"name": "computer_a"}, {"name": "browser_no"}]}}).to_string()).await;
    let hello = peer.frame().await;
    assert_eq!(hello["hello"]["version"], 1);
    assert_eq!(house.names(&token, "computer").await, ["computer_a"]);
    assert!(house.names(&token, "browser").await.is_empty());
    assert_eq!(house.names(&token, "agent").await.len(), 7);
    assert_eq!(house.rpc(&token, "computer", "tools/call", json!({"name": "picoaide_user_info"})).await["error"]["code"], -32602);
    drop(peer);
    crate::house::eventually("gone from the list", async || house.names(&token, "computer").await.is_empty()).await;
}

#[tokio::test]
async fn the_stream_begins_with_its_endpoint_and_brings_answers_to_old_clients() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let stream = house.client.get(house.at_path(&format!("/api/mcp/sse/agent?token={token}"))).send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let (text, body) = read_until(stream, "\n\n").await;
    assert!(text.starts_with("event: endpoint\ndata: "), "{text}");
    let endpoint = text.lines().nth(1).unwrap().strip_prefix("data: ").unwrap().to_owned();
    assert!(endpoint.starts_with(&house.at_path("/api/mcp/sse/agent?")), "{endpoint}");
    // The token is in the address because it was in the first one: this client sends no header.
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
    let answer = house.client.post(&endpoint).json(&ping).send().await.unwrap().json::<Value>().await.unwrap();
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 7, "result": {}}), "answered in the body");
    let mut body = body;
    let chunk = tokio::time::timeout(Duration::from_secs(20), body.next()).await.unwrap().unwrap().unwrap();
    assert!(String::from_utf8_lossy(&chunk).contains("\"id\":7"), "and on the stream");
    let modern = house.client.get(house.at_path("/api/mcp/sse/agent")).bearer_auth(&token).header("mcp-protocol-version", "2025-06-18");
    let (text, _) = read_until(modern.send().await.unwrap(), "\n\n").await;
    assert!(text.starts_with(':'), "a comment only: {text}");
}

#[tokio::test]
async fn a_cancelled_call_is_reported_as_such() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let mut peer = Peer::connect(&house, "computer", &token).await;
    peer.send(json!({"hello": {"version": 1, "tools": []}}).to_string()).await;
    peer.frame().await;
    let script = async {
        let frame = peer.frame().await;
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
        assert_eq!(house.post(&token, "agent", &cancel).await.status(), 202);
        assert_eq!(peer.frame().await, json!({"id": frame["id"], "cancel": true}));
    };
    let ((text, is_error), ()) = tokio::join!(house.call(&token, "computer_x", json!({})), script);
    assert!(is_error && text.contains("cancelled"), "{text}");
    // A client that goes away cancels too.
    let request = house.client.post(house.at_path("/api/mcp/sse/agent")).bearer_auth(&token).json(&json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "computer_y"},
    }));
    let gone = tokio::spawn(request.send());
    let frame = peer.frame().await;
    assert_eq!(frame["tool"], "computer_y");
    gone.abort();
    assert_eq!(peer.frame().await, json!({"id": frame["id"], "cancel": true}));
    let endings: Vec<&str> = house.gateway().journal.last(Some("ana"), 2).iter().map(|entry| entry.ending).collect();
    assert_eq!(endings, ["cancelled", "cancelled"]);
}
