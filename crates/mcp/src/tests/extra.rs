//! Another server's tools: names, collisions, limits, absence.

use super::*;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn parse(text: &str) -> Extras {
    Extras::parse(text, ["computer_screenshot".to_owned(), "peer_taken".to_owned()]).unwrap()
}

#[test]
fn only_plain_http_on_loopback_is_taken() {
    for url in ["http://127.0.0.1:1/mcp", "http://localhost:1/mcp", "http://[::1]:1/mcp"] {
        assert_eq!(parse(&json!({"peer": {"url": url}}).to_string()).len(), 1, "{url}");
    }
    for url in [
        "https://127.0.0.1:1/mcp",
        "http://example.com/mcp",
        "http://127.0.0.1.evil.com/mcp",
        "http://192.168.0.1/mcp",
        "http://0.0.0.0:1/mcp",
        "http://user@127.0.0.1:1/mcp",
        "http://evil@localhost/",
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "/mcp",
        "",
    ] {
        assert!(parse(&json!({"peer": {"url": url}}).to_string()).is_empty(), "{url}");
    }
    assert!(Extras::parse("nonsense", []).is_err());
    for odd in
        [json!({}), json!(null), json!("http://127.0.0.1:1/mcp"), json!({"url": 7}), json!({"url": "http://127.0.0.1:1/", "prefix": "a b"})]
    {
        let both = json!({"odd": odd, "peer": {"url": "http://127.0.0.1:1/mcp"}});
        assert_eq!(parse(&both.to_string()).len(), 1, "{both}: one that is described wrong takes no other with it");
    }
}

/// A server that answers `tools/list` and `tools/call` for every POST.
async fn server(names: &'static [&'static str]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut seen = Vec::new();
                let mut chunk = [0; 4096];
                let request: Value = loop {
                    let read = stream.read(&mut chunk).await.unwrap_or(0);
                    if read == 0 {
                        return;
                    }
                    seen.extend_from_slice(&chunk[..read]);
                    let body = seen.windows(4).position(|w| w == b"\r\n\r\n").map(|at| &seen[at + 4..]);
                    if let Some(Ok(value)) = body.map(serde_json::from_slice) {
                        break value;
                    }
                };
                let result = match request["method"].as_str() {
                    Some("tools/list") => {
                        let tools: Vec<Value> =
                            names.iter().map(|name| json!({"name": name, "description": "d", "inputSchema": {"type": "object"}})).collect();
                        json!({"tools": tools})
                    }
                    _ => {
                        json!({"content": [{"type": "text", "text": format!("called {}", request["params"]["name"])}], "isError": request["params"]["name"] == "bad"})
                    }
                };
                let body = json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string();
                let text = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(text.as_bytes()).await;
            });
        }
    });
    port
}

async fn names(extras: &Extras) -> Vec<String> {
    extras.tools().await.into_iter().map(|tool| tool.name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_prefixed_and_the_first_keeps_them() {
    let one = server(&["echo", "taken", "bad", "not a name"]).await;
    let two = server(&["peer_echo", "two_x", "other"]).await;
    let text = format!(
        r#"{{"peer":{{"url":"http://127.0.0.1:{one}/mcp","prefix":"peer"}},"two":{{"url":"http://127.0.0.1:{two}/mcp"}},"dead":{{"url":"http://127.0.0.1:9/mcp","prefix":"dead"}}}}"#
    );
    let extras = parse(&text);
    assert_eq!(names(&extras).await, ["peer_echo", "peer_bad", "two_x"]);
    assert!(extras.owns("peer_echo") && extras.owns("two_x") && extras.owns("dead_anything"));
    assert!(!extras.owns("other") && !extras.owns("peer_") && !extras.owns("computer_screenshot"));
    let tool = extras.tools().await.remove(0);
    assert_eq!((tool.effect, tool.open_world), (Effect::Changes, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_may_come_later() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let extras = parse(&format!(r#"{{"p":{{"url":"http://127.0.0.1:{port}/mcp","prefix":"p"}}}}"#));
    assert!(names(&extras).await.is_empty());
    let other = Arc::clone(&extras.others[0]);
    assert!(matches!(other.client.call("x", json!({})).await, Err(Missed::Absent(_))));
    let late = server(&["echo"]).await;
    let extras = parse(&format!(r#"{{"p":{{"url":"http://127.0.0.1:{late}/mcp","prefix":"p"}}}}"#));
    assert_eq!(names(&extras).await, ["p_echo"]);
    let result = extras.others[0].client.call("echo", json!({})).await.unwrap();
    assert_eq!(result["content"][0]["text"], "called \"echo\"");
}

#[test]
fn a_foreign_result_is_kept_within_our_limits() {
    let text = "漢".repeat(200_000);
    let result =
        json!({"content": [{"type": "text", "text": text}, {"type": "image", "data": "A".repeat(700_001), "mimeType": "image/png"}]});
    let reply = outcome(result.as_object().cloned().unwrap()).unwrap();
    let Content::Foreign(first) = &reply.content[0] else { panic!("{:?}", reply.content) };
    let first = first["text"].as_str().unwrap();
    assert!(first.len() < 300_100 && first.ends_with("total_bytes 600000]"));
    let Content::Foreign(second) = &reply.content[1] else { panic!("{:?}", reply.content) };
    assert_eq!(second["type"], "text");
    let picture = json!({"type": "image", "data": "A".repeat(400_000), "mimeType": "image/png"});
    let file = json!({"type": "resource", "resource": {"uri": "x:y", "text": "t".repeat(400_000)}});
    let result = json!({"content": [picture, picture, file], "structuredContent": {"rows": "s".repeat(400_000)}});
    let reply = outcome(result.as_object().cloned().unwrap()).unwrap();
    let kinds: Vec<_> =
        reply.content.iter().map(|block| if let Content::Foreign(block) = block { block["type"].clone() } else { Value::Null }).collect();
    assert_eq!((kinds, reply.output), (vec!["image".into(), "text".into(), "text".into()], Value::Null));
    let failed = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
    assert_eq!(outcome(failed.as_object().cloned().unwrap()).unwrap_err().message, "no");
}

#[test]
fn a_tool_with_a_schema_without_end_is_not_adopted() {
    let tool = |bytes: usize| json!({"inputSchema": {"type": "object", "description": "x".repeat(bytes)}});
    assert!(adopt("a".into(), &tool(1_000)).is_some());
    assert!(adopt("a".into(), &tool(100_000)).is_none());
}
