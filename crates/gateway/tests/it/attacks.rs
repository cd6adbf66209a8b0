//! What strangers, other sites' pages and broken peers try.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::SinkExt;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

use crate::house::{House, PASSWORD, Peer};

/// A request as bytes on a connection of its own; the status, or 0 when the gateway hung up without one.
async fn raw(house: &House, bytes: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(house.running.as_ref().unwrap().address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = [0; 64];
    let length = tokio::time::timeout(Duration::from_secs(60), stream.read(&mut answer)).await.expect("an answer").unwrap_or(0);
    String::from_utf8_lossy(&answer[..length]).split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guesses_at_the_same_moment_are_counted_like_others() {
    let house = Arc::new(House::new().await);
    house.user("ana").await;
    let guesses: Vec<_> = (0..60)
        .map(|number| {
            let house = Arc::clone(&house);
            tokio::spawn(async move {
                let form = [("username", "ana".to_owned()), ("password", format!("guess {number}"))];
                house.client.post(house.at_path("/api/login")).form(&form).send().await.unwrap().status().as_u16()
            })
        })
        .collect();
    let mut counts: HashMap<u16, u32> = HashMap::new();
    for guess in guesses {
        *counts.entry(guess.await.unwrap()).or_default() += 1;
    }
    assert_eq!((counts.get(&401), counts.get(&429)), (Some(&10), Some(&50)), "{counts:?}");
}

#[tokio::test]
async fn what_cannot_be_a_name_is_nobody() {
    let house = House::new().await;
    let token = house.user("ana").await;
    for name in ["' OR 1=1 --", "ana\0", "../ana", "a:b", &"x".repeat(500_000)] {
        let form = [("username", name), ("password", PASSWORD)];
        let response = house.client.post(house.at_path("/api/login")).form(&form).send().await.unwrap();
        assert_eq!(response.status(), 401, "{:.20}", name);
    }
    for (path, token, status) in [
        ("/api/mcp/sse/agent", "' OR 1=1 --:00", 403),
        ("/api/mcp/sse/agent", "an\u{e9}:00", 403),
        ("/api/mcp/sse/'%3B%20DROP%20TABLE%20users%3B--", token.as_str(), 404),
    ] {
        let response = house.client.post(house.at_path(path)).bearer_auth(token).json(&json!({})).send().await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{path}");
    }
    let (text, is_error) = house.call(&token, "picoaide_cron_delete", json!({"id": "' OR '1'='1"})).await;
    assert!(is_error && text.contains("no cron entry"), "{text}");
    assert!(house.gateway().store.user("ana").await.unwrap().is_some());
}

#[tokio::test]
async fn a_cookie_brought_along_is_not_taken_over() {
    let house = House::new().await;
    house.user("ana").await;
    let planted = format!("deskhand_session={}", "ab".repeat(32));
    let form = [("username", "ana"), ("password", PASSWORD)];
    let response = house.client.post(house.at_path("/api/login")).header("cookie", &planted).form(&form).send().await.unwrap();
    let cookie = response.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    assert_ne!(cookie, planted);
    let status = |cookie: String| async {
        house.client.get(house.at_path("/api/mcp/token")).header("cookie", cookie).send().await.unwrap().status()
    };
    assert_eq!((status(planted).await, status(cookie.clone()).await), (StatusCode::UNAUTHORIZED, StatusCode::OK));
    // Signed out is signed out, and a new password ends all sessions.
    house.client.delete(house.at_path("/api/session")).header("cookie", &cookie).send().await.unwrap();
    assert_eq!(status(cookie).await, 401);
}

#[tokio::test]
async fn other_sites_pages_get_nothing_done() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let form = [("username", "ana"), ("password", PASSWORD)];
    let login = |path: &str, origin: &str| house.client.post(house.at_path(path)).header("origin", origin).form(&form);
    let own = house.url.clone();
    let response = login("/api/session", &own).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let cookie = response.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    for origin in ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost", "file://"] {
        let client = &house.client;
        let requests = [
            login("/api/login", origin),
            login("/api/session", origin),
            client.delete(house.at_path("/api/session")).header("origin", origin),
            client.get(house.at_path("/api/mcp/token")).header("origin", origin),
            client.delete(house.at_path("/api/mcp/token")).header("origin", origin),
            client.post(house.at_path("/api/admin/user-remove")).header("origin", origin).json(&json!({"user": "ana"})),
            client.post(house.at_path("/api/mcp/sse/agent")).header("origin", origin).bearer_auth(&token).json(&json!({})),
            client.post(house.at_path("/api/mcp/agent")).header("origin", origin).bearer_auth(&token).json(&json!({})),
        ];
        for request in requests {
            let response = request.header("cookie", &cookie).send().await.unwrap();
            let (status, url) = (response.status(), response.url().clone());
            let body: Value = response.json().await.unwrap();
            assert_eq!((status.as_u16(), &body["success"]), (403, &json!(false)), "{url} {origin}");
        }
    }
    let extension = "chrome-extension://gdkdipmegppdlcihkchkdeikhpocmaip";
    assert_eq!(login("/api/login", extension).send().await.unwrap().status(), 200, "an extension may sign in");
    assert_eq!(login("/api/session", extension).send().await.unwrap().status(), 403);
    let two = format!(
        "POST /api/login HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nOrigin: http://evil\r\nContent-Length: 0\r\n\r\n",
        &own[7..]
    );
    assert_eq!(raw(&house, two.as_bytes()).await, 403);
    assert_eq!(house.token("ana").await, token, "not reset");
}

#[tokio::test]
async fn a_name_given_our_address_does_not_lead_here() {
    let house = House::new().await;
    let get = |host: &str| format!("GET /health HTTP/1.1\r\n{host}Connection: close\r\n\r\n").into_bytes();
    let port = house.url.rsplit(':').next().unwrap().to_owned();
    for (host, status) in [
        (format!("Host: 127.0.0.1:{port}\r\n"), 200),
        (format!("Host: localhost:{port}\r\n"), 200),
        (format!("Host: evil.example:{port}\r\n"), 403),
        ("Host: localhost.evil.example\r\n".into(), 403),
        ("Host: a b\r\n".into(), 400),
        (String::new(), 400),
        (format!("Host: 127.0.0.1:{port}\r\nHost: evil.example\r\n"), 400),
    ] {
        assert_eq!(raw(&house, &get(&host)).await, status, "{host}");
    }
    let house = House::with(&["--public-url", "https://desk.example.org"]).await;
    assert_eq!(raw(&house, &get("Host: desk.example.org\r\n")).await, 200);
}

#[tokio::test]
async fn every_refusal_has_the_same_shape() {
    let house = House::new().await;
    for (request, status) in [
        (house.client.get(house.at_path("/nowhere")), 404),
        (house.client.get(house.at_path("/api/login")), 405),
        (house.client.put(house.at_path("/api/mcp/sse/agent")), 405),
        (house.client.post(house.at_path("/api/login")).body("x"), 400),
        (house.client.get(house.at_path("/api/mcp/token")), 401),
        (house.client.get(house.at_path("/api/computer/ws")), 401),
        (house.client.get(house.at_path("/api/computer/ws?token=ana:00")), 403),
        (house.client.get(house.at_path("/api/status")), 401),
        (house.client.post(house.at_path("/api/admin/user-add")).json(&json!({})), 401),
        (house.client.get(house.at_path("/api/picoagent/me")), 401),
        (house.client.post(house.at_path("/api/mcp/agent")).json(&json!({})), 401),
    ] {
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{}", response.url());
        let url = response.url().clone();
        let body: Value = response.json().await.unwrap_or_else(|error| panic!("{url}: {error}"));
        assert!(body["success"] == false && body["error"].as_str().is_some_and(|text| text.len() > 5), "{url}: {body}");
    }
}

#[tokio::test]
async fn a_peer_that_says_nothing_or_trickles_loses_its_connection() {
    let house = House::new().await;
    let host = house.url.trim_start_matches("http://").to_owned();
    let form = format!(
        "POST /api/login HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 50\r\n\r\nuser"
    );
    let began = Instant::now();
    let ends = ["", "GET / HT", form.as_str()].map(|beginning| {
        let host = host.clone();
        async move {
            let mut stream = TcpStream::connect(host).await.unwrap();
            stream.write_all(beginning.as_bytes()).await.unwrap();
            let mut rest = Vec::new();
            let closed = tokio::time::timeout(Duration::from_secs(55), stream.read_to_end(&mut rest)).await;
            assert!(closed.is_ok(), "still open: {beginning:?}");
        }
    });
    futures_util::future::join_all(ends).await;
    assert!(began.elapsed() > Duration::from_secs(20), "not before there was a reason");
}

#[tokio::test]
async fn broken_frames_are_told_what_was_wrong() {
    let house = House::new().await;
    let token = house.user("ana").await;
    for (frame, code) in [
        (vec![0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe], 1007),
        (vec![0x81, 0x02, b'h', b'i'], 1002),
        (vec![0x83, 0x80, 0, 0, 0, 0], 1002),
        (vec![0x81, 0xff, 0, 0, 0, 0, 0x7f, 0, 0, 0, 0, 0, 0, 0], 1009),
    ] {
        let mut peer = Peer::connect(&house, "computer", &token).await;
        peer.0.get_mut().write_all(&frame).await.unwrap();
        assert_eq!(peer.close_code().await, code, "{frame:?}");
    }
}

#[tokio::test]
async fn a_replaced_executor_learns_it_also_while_it_sends() {
    let house = House::new().await;
    let token = house.user("ana").await;
    let mut old = Peer::connect(&house, "computer", &token).await;
    let mut sent = 0;
    let sending = async {
        let noise = Message::text("x".repeat(1 << 20));
        while old.0.send(noise.clone()).await.is_ok() {
            sent += 1;
        }
    };
    let replacing = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        Peer::connect(&house, "computer", &token).await
    };
    tokio::select! {
        () = sending => panic!("the connection broke instead of being closed"),
        _new = replacing => {}
    }
    assert!(sent > 1);
    assert_eq!(old.close_code().await, 1000);
}
