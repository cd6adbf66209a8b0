//! Third-party servers of all three kinds, and grants. The HTTP and SSE ones are another gateway.

use std::collections::BTreeMap;

use deskhand_gateway::ServerSpec;
use serde_json::json;

use crate::house::{House, eventually};

/// A stdio server in shell: one tool, which answers with its pid, or dies when told to.
const SCRIPT: &str = r#"while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
        *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
        *'"method":"tools/list"'*) result='{"tools":[{"name":"pid","description":"Says the pid","inputSchema":{"type":"object"}}]}' ;;
        *'"die":true'*) exit 1 ;;
        *'"method":"tools/call"'*) result="{\"content\":[{\"type\":\"text\",\"text\":\"$SECRET $$\"}]}" ;;
        *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done"#;

fn stdio() -> ServerSpec {
    ServerSpec::Stdio {
        command: "/bin/sh".into(),
        args: vec!["-c".into(), SCRIPT.into()],
        env: BTreeMap::from([("SECRET".to_owned(), "pid".to_owned())]),
    }
}

#[tokio::test]
async fn a_stdio_server_is_granted_called_and_restarted() {
    let house = House::new().await;
    let (ana, bob) = (house.user("ana").await, house.user("bob").await);
    let store = &house.gateway().store;
    store.add_server("tool_box", &stdio()).await.unwrap();
    store.add_grant("tool_box", "ana").await.unwrap();
    eventually("listed", async || house.names(&ana, "agent").await.contains(&"mcp_tool_box_pid".to_owned())).await;
    assert_eq!(house.names(&ana, "tool_box").await, ["mcp_tool_box_pid"]);
    assert!(!house.names(&bob, "agent").await.contains(&"mcp_tool_box_pid".to_owned()));
    let denied = house.rpc(&bob, "agent", "tools/call", json!({"name": "mcp_tool_box_pid"})).await;
    assert_eq!(denied["error"]["code"], -32602, "without a grant it is not callable: {denied}");
    let status = house.post(&bob, "tool_box", &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await.status();
    assert_eq!(status, 404);
    let (first, is_error) = house.call(&ana, "mcp_tool_box_pid", json!({})).await;
    assert!(!is_error && first.starts_with("pid "), "{first}");
    let (text, is_error) = house.call(&ana, "mcp_tool_box_pid", json!({"die": true})).await;
    assert!(is_error && text.contains("tool_box"), "{text}");
    eventually("started again", async || {
        let (second, is_error) = house.call(&ana, "mcp_tool_box_pid", json!({})).await;
        !is_error && second != first
    })
    .await;
    store.add_grant("tool_box", "*").await.unwrap();
    assert!(house.names(&bob, "agent").await.contains(&"mcp_tool_box_pid".to_owned()), "* is everyone");
    store.remove_grant("tool_box", "*").await.unwrap();
    assert!(!house.names(&bob, "agent").await.contains(&"mcp_tool_box_pid".to_owned()));
    house.stop().await;
}

#[tokio::test]
async fn http_and_sse_servers_are_reached() {
    let inner = House::new().await;
    let key = inner.user("robot").await;
    let house = House::new().await;
    let ana = house.user("ana").await;
    let headers = BTreeMap::from([("Authorization".to_owned(), format!("Bearer {key}"))]);
    let store = &house.gateway().store;
    let http = ServerSpec::Http { url: inner.at_path("/api/mcp/agent"), headers: headers.clone() };
    store.add_server("over-http", &http).await.unwrap();
    store.add_server("over-sse", &ServerSpec::Sse { url: inner.at_path("/api/mcp/sse/agent"), headers }).await.unwrap();
    store.add_server("absent", &ServerSpec::Http { url: "http://127.0.0.1:1/mcp".into(), headers: BTreeMap::new() }).await.unwrap();
    for server in ["over-http", "over-sse", "absent"] {
        store.add_grant(server, "ana").await.unwrap();
    }
    for server in ["over-http", "over-sse"] {
        let tool = format!("mcp_{server}_picoaide_user_info");
        eventually("listed", async || house.names(&ana, "agent").await.contains(&tool)).await;
        let (text, is_error) = house.call(&ana, &tool, json!({})).await;
        assert!(!is_error && text.contains("robot"), "{text}");
    }
    assert!(house.names(&ana, "absent").await.is_empty(), "one that does not answer is absent");
    let (text, is_error) = house.call(&ana, "mcp_absent_x", json!({})).await;
    assert!(is_error && text.contains("absent") && text.contains("could not be reached"), "{text}");
}
