//! Attacks on `/extension` (the table of incidents, rows 4, 5, 6, 9, 13): nobody but the paired extension gets in, and
//! nobody takes its place.

use std::time::Duration;

use serde_json::json;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::support::lender::{Lender, address, pairing_code};
use crate::support::person::EXTENSION_ID;
use crate::support::worker::Worker;
use futures_util::{SinkExt, StreamExt};

/// Tries to connect; answers the socket or the HTTP status of the refusal.
async fn dial(
    worker: &Worker,
    path: &str,
    headers: &[(&'static str, &str)],
) -> Result<tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>, u16> {
    let mut request = format!("ws://{}{path}", address(worker)).into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().append(*name, value.parse().unwrap());
    }
    match tokio_tungstenite::connect_async(request).await {
        Ok((socket, _)) => Ok(socket),
        Err(Error::Http(response)) => Err(response.status().as_u16()),
        Err(other) => panic!("neither in nor refused: {other}"),
    }
}

const SECRET: &str = "sec-websocket-protocol";

#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_refused_before_a_frame_is_read() {
    let worker = Worker::without_display().await;
    let code = pairing_code(&worker).await.replace('-', "");
    let offered = format!("deskhand.v1, {code}");
    let ours = format!("chrome-extension://{EXTENSION_ID}");
    let origins = [
        "null",
        "file://",
        "https://evil.test",
        "http://127.0.0.1.evil.test",
        "chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "chrome-extension://gdkdipmegppdlcihkchkdeikhpocmaip.evil.test",
        "moz-extension://gdkdipmegppdlcihkchkdeikhpocmaip",
    ];
    for origin in origins {
        assert_eq!(dial(&worker, "/extension", &[("origin", origin), (SECRET, &offered)]).await.err(), Some(403), "{origin}");
    }
    let own = format!("http://{}", address(&worker));
    assert_eq!(
        dial(&worker, "/extension", &[("origin", &own), (SECRET, &offered)]).await.err(),
        Some(403),
        "our own origin is no extension"
    );
    assert_eq!(dial(&worker, "/extension", &[(SECRET, &offered)]).await.err(), Some(403), "no Origin");
    let twice = [("origin", ours.as_str()), ("origin", ours.as_str()), (SECRET, offered.as_str())];
    assert!(dial(&worker, "/extension", &twice).await.is_err(), "two Origins");
    // Without a secret, with the main token in its place, or in the query: no.
    assert!(dial(&worker, "/extension", &[("origin", &ours)]).await.is_err());
    let main = format!("deskhand.v1, {}", worker.token);
    assert_eq!(dial(&worker, "/extension", &[("origin", &ours), (SECRET, &main)]).await.err(), Some(401));
    let query = format!("/extension?token={}&code={code}", worker.token);
    assert!(dial(&worker, &query, &[("origin", &ours), (SECRET, "deskhand.v1")]).await.is_err());
    // A foreign Host, with everything else right.
    let mut request = format!("ws://{}/extension", address(&worker)).into_client_request().unwrap();
    request.headers_mut().insert("host", "127.0.0.1.nip.io".parse().unwrap());
    request.headers_mut().insert("origin", ours.parse().unwrap());
    request.headers_mut().insert(SECRET, offered.parse().unwrap());
    assert!(tokio_tungstenite::connect_async(request).await.is_err());
    // None of it has used up the code.
    assert!(dial(&worker, "/extension", &[("origin", &ours), (SECRET, &offered)]).await.is_ok());
    assert_eq!(dial(&worker, "/extension", &[("origin", &ours), (SECRET, &offered)]).await.err(), Some(401), "a code works once");
}

#[tokio::test(flavor = "multi_thread")]
async fn guessing_ends_the_code() {
    let worker = Worker::without_display().await;
    let code = pairing_code(&worker).await.replace('-', "");
    let ours = format!("chrome-extension://{EXTENSION_ID}");
    for _ in 0..5 {
        assert_eq!(dial(&worker, "/extension", &[("origin", &ours), (SECRET, "deskhand.v1, AAAA2222")]).await.err(), Some(401));
    }
    let offered = format!("deskhand.v1, {code}");
    assert_eq!(dial(&worker, "/extension", &[("origin", &ours), (SECRET, &offered)]).await.err(), Some(401));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_controller_cannot_take_the_place_even_with_the_token() {
    let lender = Lender::start(|_| "<h1>page</h1>".to_owned()).await;
    let service = lender.person.worker().await;
    let token = service.eval("chrome.storage.local.get('pairing').then(p => p.pairing.token)").await;
    service.detach().await;
    let offered = format!("deskhand.v1, {}", token.as_str().unwrap());
    let ours = format!("chrome-extension://{EXTENSION_ID}");
    let mut thief = dial(&lender.worker, "/extension", &[("origin", &ours), (SECRET, &offered)]).await.expect("the token is right");
    thief.send(Message::Text(json!({ "hello": { "name": "thief" } }).to_string().into())).await.unwrap();
    let answer = tokio::time::timeout(Duration::from_secs(20), thief.next()).await.expect("an answer");
    let Some(Ok(Message::Close(Some(close)))) = answer else { panic!("expected to be sent away, got {answer:?}") };
    assert_eq!(u16::from(close.code), 4409);
    let content = lender.worker.call("browser_get_content", json!({ "selector": "h1" })).await.success();
    assert_eq!(content.json["content"], "page");
}
