//! Executor sockets as the contract fixes them, with a scripted executor that knows nothing of Deskhand.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::house::{House, Peer};

async fn refused(house: &House, path: &str, token: Option<&str>) -> StatusCode {
    let mut request = house
        .client
        .get(house.at_path(path))
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    request.send().await.unwrap().status()
}

#[tokio::test]
async fn a_socket_needs_a_good_token() {
    let house = House::new().await;
    house.user("ana").await;
    house.add("root", true).await;
    for path in ["/api/computer/ws", "/api/browser/ws"] {
        assert_eq!(refused(&house, path, None).await, 401);
        assert_eq!(refused(&house, path, Some("ana:00")).await, 403);
        let superadmin = house.token("root").await;
        assert_eq!(refused(&house, path, Some(&superadmin)).await, 403, "a superadmin is no executor");
    }
}

#[tokio::test]
async fn frames_and_results_as_the_contract_says() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let (text, is_error) = house.call(&token, "computer_mouse_click", json!({"x": 1})).await;
    assert!(is_error && text.contains("not connected"), "an immediate error, not a wait: {text}");
    let mut peer = Peer::connect(&house, "computer", &token).await;
    for id in 1..=4 {
        let script = async {
            let frame = peer.frame().await;
            assert_eq!(frame, json!({"id": id, "tool": "computer_mouse_click", "params": {"x": id}}), "ids from 1, nothing added");
            let answer = match id {
                1 => json!({"id": id, "result": {"content": [{"type": "text", "text": "clicked"}], "other": 1}}),
                2 => json!({"id": id, "result": {"x": 5}}),
                3 => json!({"id": id, "result": null}),
                _ => json!({"id": id, "error": {"message": "no such place"}}),
            };
            peer.send(answer.to_string()).await;
        };
        let (answer, ()) = tokio::join!(house.call(&token, "computer_mouse_click", json!({"x": id})), script);
        let expected = [("clicked", false), ("{\"x\":5}", false), ("Done.", false), ("no such place", true)][id - 1];
        assert_eq!((answer.0.as_str(), answer.1), expected);
    }
}

#[tokio::test]
async fn a_newer_connection_replaces_the_older_with_code_1000() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let mut old = Peer::connect(&house, "computer", &token).await;
    let mut browser = Peer::connect(&house, "browser", &token).await;
    let mut new = Peer::connect(&house, "computer", &token).await;
    assert_eq!(old.close_code().await, 1000);
    let script = async {
        assert_eq!(new.frame().await["id"], 1, "ids restart with every connection");
        new.send(json!({"id": 1, "result": "new"}).to_string()).await;
    };
    let (answer, ()) = tokio::join!(house.call(&token, "computer_x", json!({})), script);
    assert_eq!(answer.0, "new");
    let script = async {
        assert_eq!(browser.frame().await["tool"], "browser_gui_y", "the other service is not touched");
        browser.send(json!({"id": 1, "result": "page"}).to_string()).await;
    };
    let (answer, ()) = tokio::join!(house.call(&token, "browser_gui_y", json!({})), script);
    assert_eq!(answer.0, "page");
}

#[tokio::test]
async fn calls_overlap_and_answers_come_in_any_order() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let mut peer = Peer::connect(&house, "computer", &token).await;
    let script = async {
        let (one, two): (Value, Value) = (peer.frame().await, peer.frame().await);
        for frame in [&two, &one] {
            peer.send(json!({"id": frame["id"], "result": frame["params"]["n"]}).to_string()).await;
        }
    };
    let (one, two, ()) =
        tokio::join!(house.call(&token, "computer_x", json!({"n": "a"})), house.call(&token, "computer_x", json!({"n": "b"})), script);
    assert_eq!((one.0.as_str(), two.0.as_str()), ("a", "b"));
}

#[tokio::test]
async fn a_revoked_token_closes_its_socket() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let mut peer = Peer::connect(&house, "computer", &token).await;
    // As `deskhand gateway token reset` does: in the database only.
    house.gateway().store.raise_generation("ana").await.unwrap();
    assert_eq!(peer.close_code().await, 1008);
    assert_eq!(refused(&house, "/api/computer/ws", Some(&token)).await, 403);
}

#[tokio::test]
async fn going_down_is_told_and_calls_in_flight_end_first() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let mut peer = Peer::connect(&house, "computer", &token).await;
    let call = {
        let request = house.client.post(house.at_path("/api/mcp/sse/computer")).bearer_auth(&token).json(&json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "computer_x"},
        }));
        tokio::spawn(async move { request.send().await.unwrap().json::<Value>().await.unwrap() })
    };
    assert_eq!(peer.frame().await["tool"], "computer_x");
    let stopping = tokio::spawn(house.stop());
    peer.send(json!({"id": 1, "result": "just in time"}).to_string()).await;
    assert_eq!(call.await.unwrap()["result"]["content"][0]["text"], "just in time");
    assert_eq!(peer.close_code().await, 1001);
    drop(peer);
    stopping.await.unwrap();
}
