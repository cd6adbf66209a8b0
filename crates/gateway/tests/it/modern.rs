//! `/api/mcp/{service}`: the same by today's MCP.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::house::{CountingDesk, House, connected, executor};

#[tokio::test]
async fn todays_clients_see_and_call_the_same_tools() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let desk = Arc::new(CountingDesk::default());
    let executor = executor(&house.url, &token, &desk);
    connected(&executor).await;
    let url = house.at_path("/api/mcp/agent");
    let post = |message: Value, session: Option<String>| {
        let mut request =
            house.client.post(&url).bearer_auth(&token).header("accept", "application/json, text/event-stream").json(&message);
        if let Some(session) = session {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-06-18");
        }
        async { request.send().await.unwrap() }
    };
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }});
    let response = post(initialize, None).await;
    assert_eq!(response.status(), 200);
    let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    post(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), Some(session.clone())).await;
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "computer_click", "arguments": {"n": 5}}});
    let text = post(call, Some(session)).await.text().await.unwrap();
    assert!(text.contains("done 5") && text.contains("structuredContent"), "{text}");
    // And bare, without any handshake.
    let list: Value = post(json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}), None).await.json().await.unwrap();
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 6 + 8);
    let status = house.client.post(house.at_path("/api/mcp/none")).bearer_auth(&token).json(&json!({})).send().await.unwrap().status();
    assert_eq!(status, 404);
    let status = house.client.post(&url).json(&json!({})).send().await.unwrap().status();
    assert_eq!(status, 401);
}
