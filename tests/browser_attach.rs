//! The guarded address of the managed browser: who may attach, and when it ends.

use crate::support::server::Server;
use crate::support::worker::{PATIENCE, Worker};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};

/// The status that an upgrade with these headers is refused with; 101 when it is not.
async fn status(url: &str, headers: &[(&'static str, String)]) -> u16 {
    let mut request = url.into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, HeaderValue::from_str(value).unwrap());
    }
    match connect_async(request).await {
        Ok(_) => 101,
        Err(Error::Http(response)) => response.status().as_u16(),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_with_the_token_attaches_until_control_ends_and_nobody_else_does() {
    let server = Server::managed("1024x768x24");
    let worker = Worker::with(Some(server.name()), &["--authorize", "all", "--browser", "managed"]).await;
    worker.call("browser_navigate", json!({"url": "about:blank"})).await.success();
    let info = worker.call("browser_get_info", json!({})).await.success();
    let url = info.json["cdp_url"].as_str().unwrap().to_owned();
    let bearer = ("authorization", format!("Bearer {}", worker.token));
    assert_eq!(status(&url, &[]).await, 401);
    assert_eq!(status(&url, &[("authorization", "Bearer wrong".into())]).await, 401);
    assert_eq!(status(&url, &[bearer.clone(), ("origin", "https://evil.test".into())]).await, 403);
    assert_eq!(
        status(&format!("{}0", &url[..url.len() - 1]), std::slice::from_ref(&bearer)).await.min(404),
        if url.ends_with('0') { 101 } else { 404 }
    );
    let mut request = url.as_str().into_client_request().unwrap();
    request.headers_mut().insert("authorization", HeaderValue::from_str(&bearer.1).unwrap());
    let (mut socket, _) = connect_async(request).await.unwrap();
    socket.send(Message::text(json!({"id": 7, "method": "Browser.getVersion"}).to_string())).await.unwrap();
    let answer = tokio::time::timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap();
    let answer: Value = serde_json::from_str(answer.to_text().unwrap()).unwrap();
    assert!(answer["id"] == 7 && answer["result"]["product"].is_string(), "{answer}");
    let stopped =
        std::process::Command::new(env!("CARGO_BIN_EXE_deskhand")).args(["stop", "--state-dir"]).arg(&worker.state).status().unwrap();
    assert!(stopped.success());
    let ended = tokio::time::timeout(PATIENCE, async { while let Some(Ok(Message::Text(_))) = socket.next().await {} }).await;
    assert!(ended.is_ok(), "the socket outlives the authorisation");
    assert_eq!(status(&url, std::slice::from_ref(&bearer)).await, 403);
    assert!(worker.audit().iter().any(|l| l["tool"] == "cdp" && l["event"] == "start"));
}
