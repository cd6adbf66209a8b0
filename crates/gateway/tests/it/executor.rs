//! The executor against a scripted gateway that plays exactly the contract, and its signing in.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use deskhand_executor::{Account, Address, Credentials, ExecutorError, SocketState, Source, Vault};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::house::{CountingDesk, House, PASSWORD, connected, executor, start, until};

/// An existing gateway: hands each executor socket to the test.
struct Scripted {
    url: String,
    sockets: mpsc::UnboundedReceiver<(String, WebSocket)>,
}

type Sockets = mpsc::UnboundedSender<(String, WebSocket)>;

async fn accept(State(sockets): State<Sockets>, headers: HeaderMap, uri: Uri, upgrade: WebSocketUpgrade) -> Response {
    match headers.get("authorization").map(|value| value.to_str().unwrap()) {
        Some("Bearer ana:good") => {}
        Some(_) => return StatusCode::FORBIDDEN.into_response(),
        None => return StatusCode::UNAUTHORIZED.into_response(),
    }
    assert!(uri.query().is_none(), "no token in a URL");
    let service = uri.path().split('/').nth_back(1).unwrap().to_owned();
    upgrade.max_message_size(64 << 20).max_frame_size(64 << 20).on_upgrade(|socket| async move {
        let _over = sockets.send((service, socket));
    })
}

async fn scripted() -> Scripted {
    deskhand_executor::install_provider();
    let (sender, sockets) = mpsc::unbounded_channel();
    let login = |body: String| async move {
        let right = body.contains("username=ana") && body.contains("password=secret+word");
        let status = if right { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
        let answer = if right { json!({"success": true, "username": "ana"}) } else { json!({"success": false, "error": "bad password"}) };
        (status, [("set-cookie", "sid=1; Path=/; HttpOnly")], axum::Json(answer))
    };
    let token = |headers: HeaderMap| async move {
        let signed_in = headers.get("cookie").is_some_and(|cookie| cookie.to_str().unwrap().contains("sid=1"));
        assert!(signed_in, "the session cookie comes with it");
        axum::Json(json!({"success": true, "token": "ana:good"}))
    };
    let router = Router::new()
        .route("/aide/api/login", post(login))
        .route("/aide/api/mcp/token", get(token))
        .route("/aide/api/computer/ws", get(accept))
        .route("/aide/api/browser/ws", get(accept))
        .with_state(sender);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/aide/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    Scripted { url, sockets }
}

impl Scripted {
    /// The next socket of that service.
    async fn socket(&mut self, wanted: &str) -> WebSocket {
        loop {
            let next = tokio::time::timeout(Duration::from_secs(60), self.sockets.recv()).await;
            let (service, socket) = next.expect("a connection within 60 s").unwrap();
            if service == wanted {
                return socket;
            }
            // The other service's socket stays open.
            std::mem::forget(socket);
        }
    }
}

/// The next JSON frame with an id; hello and pings are what an existing gateway ignores.
async fn answer(socket: &mut WebSocket) -> Value {
    loop {
        let message = tokio::time::timeout(Duration::from_secs(40), socket.recv()).await.expect("an answer within 40 s");
        if let Message::Text(text) = message.unwrap().unwrap() {
            let frame: Value = serde_json::from_str(text.as_str()).unwrap();
            if frame.get("id").is_some() {
                return frame;
            }
        }
    }
}

async fn send(socket: &mut WebSocket, frame: Value) {
    socket.send(Message::text(frame.to_string())).await.unwrap();
}

#[tokio::test]
async fn an_existing_gateway_is_served_unchanged() {
    let mut gateway = scripted().await;
    let desk = Arc::new(CountingDesk::default());
    let executor = executor(&gateway.url, "ana:good", &desk);
    let mut socket = gateway.socket("computer").await;
    send(&mut socket, json!({"id": 1, "tool": "computer_click", "params": {"n": 3}})).await;
    let frame = answer(&mut socket).await;
    assert_eq!((frame["id"].as_u64(), frame["result"]["content"][0]["text"].as_str()), (Some(1), Some("done 3")));
    for (id, params) in [(2, json!({"id": 2, "tool": "computer_click", "params": null})), (3, json!({"id": 3, "tool": "computer_click"}))] {
        send(&mut socket, params).await;
        assert_eq!(answer(&mut socket).await["id"], id);
    }
    send(&mut socket, json!({"id": 4, "tool": "computer_fly", "params": {}})).await;
    assert!(answer(&mut socket).await["error"]["message"].as_str().unwrap().contains("computer_fly"), "an error, never silence");
    send(&mut socket, json!({"id": 5, "tool": "other_tool", "params": {}})).await;
    assert_eq!(answer(&mut socket).await["id"], 5);
    for noise in ["", "[]", "null", "{", "{\"tool\":\"computer_click\"}", "{\"id\":\"6\",\"tool\":\"computer_click\"}", "\u{0}"] {
        socket.send(Message::text(noise)).await.unwrap();
    }
    socket.send(Message::binary(vec![0, 159, 146, 150])).await.unwrap();
    // Calls overlap; the quick one is first.
    send(&mut socket, json!({"id": 7, "tool": "computer_slow", "params": {"ms": 1500, "n": 7}})).await;
    send(&mut socket, json!({"id": 8, "tool": "computer_slow", "params": {"n": 8}})).await;
    assert_eq!((answer(&mut socket).await["id"].as_u64(), answer(&mut socket).await["id"].as_u64()), (Some(8), Some(7)));
    executor.stop().await;
}

#[tokio::test]
async fn an_id_that_comes_again_runs_nothing_twice() {
    let mut gateway = scripted().await;
    let desk = Arc::new(CountingDesk::default());
    let _executor = executor(&gateway.url, "ana:good", &desk);
    let mut socket = gateway.socket("computer").await;
    let frame = json!({"id": 1, "tool": "computer_click", "params": {"n": 9, "ms": 300}});
    send(&mut socket, frame.clone()).await;
    send(&mut socket, frame.clone()).await;
    assert_eq!(answer(&mut socket).await["result"]["structuredContent"]["n"], 9);
    send(&mut socket, frame).await;
    assert!(answer(&mut socket).await["error"]["message"].as_str().unwrap().contains("not carried out again"));
    assert_eq!(desk.count(9), 1);
}

#[tokio::test]
async fn keys_hold_across_connections_and_lost_calls_are_cancelled() {
    let mut gateway = scripted().await;
    let desk = Arc::new(CountingDesk::default());
    let _executor = executor(&gateway.url, "ana:good", &desk);
    let mut socket = gateway.socket("computer").await;
    let quick = json!({"id": 1, "tool": "computer_click", "params": {"n": 1}, "key": "quick", "deadline_ms": 25_000});
    let slow = json!({"id": 2, "tool": "computer_slow", "params": {"n": 2, "ms": 20_000}, "key": "slow", "deadline_ms": 25_000});
    send(&mut socket, slow.clone()).await;
    send(&mut socket, quick.clone()).await;
    crate::house::eventually("both ran", async || desk.count(1) == 1 && desk.count(2) == 1).await;
    // Cut before anything was read.
    drop(socket);
    let mut socket = gateway.socket("computer").await;
    crate::house::eventually("the slow one was cancelled", async || *desk.cancelled.lock() == 1).await;
    let mut again = quick;
    again["id"] = 5.into();
    send(&mut socket, again).await;
    let frame = answer(&mut socket).await;
    assert_eq!(
        (frame["id"].as_u64(), frame["result"]["structuredContent"]["n"].as_u64()),
        (Some(5), Some(1)),
        "the result of the first run"
    );
    send(&mut socket, slow).await;
    assert!(answer(&mut socket).await["error"]["message"].as_str().unwrap().contains("cancelled"));
    assert_eq!((desk.count(1), desk.count(2)), (1, 1));
    assert!(desk.undelivered.lock().contains(&"computer_slow".to_owned()), "what reached nobody is recorded");
    assert!(*desk.gone.lock() >= 1, "held keys come up");
}

#[tokio::test]
async fn calls_of_a_lost_connection_leave_their_places() {
    let mut gateway = scripted().await;
    let desk = Arc::new(CountingDesk::default());
    let _executor = executor(&gateway.url, "ana:good", &desk);
    let mut socket = gateway.socket("computer").await;
    for id in 1..=64 {
        send(&mut socket, json!({"id": id, "tool": "computer_slow", "params": {"n": id, "ms": 20_000}})).await;
    }
    send(&mut socket, json!({"id": 65, "tool": "computer_click", "params": {"n": 65}})).await;
    assert!(answer(&mut socket).await["error"]["message"].as_str().unwrap().contains("too many calls"));
    drop(socket);
    let mut socket = gateway.socket("computer").await;
    send(&mut socket, json!({"id": 1, "tool": "computer_click", "params": {"n": 100}})).await;
    let frame = answer(&mut socket).await;
    assert_eq!(frame["result"]["structuredContent"]["n"], 100, "accepted, and no old result comes first");
    crate::house::eventually("the old ones ended", async || *desk.cancelled.lock() == 64).await;
    send(&mut socket, json!({"id": 2, "tool": "computer_click", "params": {"n": 101}})).await;
    assert_eq!(answer(&mut socket).await["id"], 2, "nor later");
}

#[tokio::test]
async fn nothing_runs_after_its_deadline() {
    let mut gateway = scripted().await;
    let desk = Arc::new(CountingDesk::default());
    let _executor = executor(&gateway.url, "ana:good", &desk);
    let mut socket = gateway.socket("computer").await;
    send(&mut socket, json!({"hello": {"version": 1, "now_ms": 1_800_000_000_000_u64}})).await;
    send(&mut socket, json!({"id": 1, "tool": "computer_click", "params": {"n": 1}, "key": "a", "deadline_ms": 1_799_999_999_000_u64}))
        .await;
    assert!(answer(&mut socket).await["error"]["message"].as_str().unwrap().contains("after its deadline"));
    send(&mut socket, json!({"id": 2, "tool": "computer_click", "params": {"n": 2}, "key": "b", "deadline_ms": 0})).await;
    assert!(answer(&mut socket).await["error"].is_object());
    // The gateway's clock is years off: only the difference counts.
    send(
        &mut socket,
        json!({"id": 3, "tool": "computer_slow", "params": {"n": 3, "ms": 20_000}, "key": "c", "deadline_ms": 1_800_000_002_000_u64}),
    )
    .await;
    let began = std::time::Instant::now();
    assert!(answer(&mut socket).await["error"].is_object());
    assert!(began.elapsed() < Duration::from_secs(10));
    send(&mut socket, json!({"id": 4, "tool": "computer_click", "params": {"n": 4}, "key": "d", "deadline_ms": 1_800_000_060_000_u64}))
        .await;
    assert_eq!(answer(&mut socket).await["result"]["structuredContent"]["n"], 4);
    assert_eq!((desk.count(1), desk.count(2), desk.count(4)), (0, 0, 1));
    send(
        &mut socket,
        json!({"id": 5, "tool": "computer_slow", "params": {"n": 5, "ms": 20_000}, "key": "e", "deadline_ms": 1_800_000_060_000_u64}),
    )
    .await;
    send(&mut socket, json!({"id": 5, "cancel": true})).await;
    assert!(answer(&mut socket).await["error"]["message"].as_str().unwrap().contains("cancelled"));
}

#[tokio::test]
async fn a_result_that_is_too_large_is_made_to_fit() {
    let mut gateway = scripted().await;
    let desk = Arc::new(CountingDesk::default());
    let _executor = executor(&gateway.url, "ana:good", &desk);
    let mut socket = gateway.socket("browser").await;
    send(&mut socket, json!({"id": 1, "tool": "browser_big", "params": {"bytes": 10_000_000}})).await;
    let frame = answer(&mut socket).await;
    let content = frame["result"]["content"].as_array().unwrap();
    assert!(content[0]["text"].as_str().unwrap().starts_with("xxx"));
    assert!(content[1]["text"].as_str().unwrap().contains("shortened"));
    // And a frame of 10 MB from the gateway is taken.
    send(&mut socket, json!({"id": 2, "tool": "browser_click", "params": {"n": 2, "padding": "y".repeat(10_000_000)}})).await;
    assert_eq!(answer(&mut socket).await["result"]["structuredContent"]["n"], 2);
}

#[tokio::test]
async fn code_1000_ends_it_and_a_person_brings_it_back() {
    let mut gateway = scripted().await;
    let desk = Arc::new(CountingDesk::default());
    let executor = executor(&gateway.url, "ana:good", &desk);
    let mut socket = gateway.socket("computer").await;
    socket.send(Message::Close(Some(CloseFrame { code: 1000, reason: "replaced".into() }))).await.unwrap();
    until(&executor, "replaced", |status| status.computer == SocketState::Replaced).await;
    assert!(executor.status().last_error.unwrap().contains("took this one's place"));
    let fights = tokio::time::timeout(Duration::from_secs(3), gateway.socket("computer")).await;
    assert!(fights.is_err(), "it does not fight");
    executor.reconnect();
    gateway.socket("computer").await;
    connected(&executor).await;
}

fn credentials(url: &str, password: &str) -> Credentials {
    Credentials {
        address: Address::parse(url).unwrap(),
        user: "ana".into(),
        password: password.into(),
        ca: Vec::new(),
        plain_http_accepted: false,
    }
}

#[tokio::test]
async fn signing_in_keeps_the_token_and_a_revoked_one_signs_out() {
    let mut gateway = scripted().await;
    let dir = tempfile::tempdir().unwrap();
    let vault = Vault::in_file(dir.path());
    let source = Source::Account { state_dir: dir.path().into(), vault: vault.clone() };
    let executor = start(source, &Arc::new(CountingDesk::default()));
    let wrong = executor.sign_in(credentials(&gateway.url, "wrong"), None).await.unwrap_err();
    assert!(matches!(&wrong, ExecutorError::Refused(text) if text == "bad password"), "{wrong}");
    executor.sign_in(credentials(&gateway.url, "secret word"), None).await.unwrap();
    let _socket = gateway.socket("computer").await;
    until(&executor, "signed in", |status| status.user.as_deref() == Some("ana")).await;
    let kept = std::fs::read_to_string(dir.path().join("gateway.json")).unwrap();
    assert!(!kept.contains("good") && !kept.contains("secret"), "neither token nor password: {kept}");
    executor.sign_out().await.unwrap();
    until(&executor, "signed out", |status| status.server.is_none()).await;
    assert!(vault.get("x").await.unwrap().is_none());
    // A token that the gateway does not take (any more).
    let account = Account { server: gateway.url.trim_end_matches('/').into(), user: "ana".into(), ca: None, signed_in: "2".into() };
    vault.put(&account.key(), &deskhand_executor::Token::new("ana:bad")).await.unwrap();
    account.save(dir.path()).unwrap();
    until(&executor, "told why", |status| status.last_error.as_ref().is_some_and(|error| error.contains("Sign in again"))).await;
    assert!(Account::load(dir.path()).unwrap().is_none() && vault.get(&account.key()).await.unwrap().is_none());
}

#[tokio::test]
async fn plain_http_beyond_this_machine_is_refused_before_anything_is_sent() {
    deskhand_executor::install_provider();
    let dir = tempfile::tempdir().unwrap();
    let far = credentials("http://192.0.2.1:9", PASSWORD);
    let error = deskhand_executor::sign_in(dir.path(), &Vault::in_file(dir.path()), far, None).await.unwrap_err();
    assert!(matches!(&error, ExecutorError::PlainHttp(text) if text.contains("see everything on its screen")), "{error}");
}

#[tokio::test]
async fn tls_with_an_own_authority() {
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let (ca, leaf) = certificates(dir.path());
    let options = ["--tls-cert", leaf.0.as_str(), "--tls-key", leaf.1.as_str()];
    let house = House::at(Arc::clone(&dir), &options).await;
    house.user("ana").await;
    let url = house.url.replace("127.0.0.1", "localhost");
    let state = dir.path().join("worker");
    let vault = Vault::in_file(&state);
    let untrusted = credentials(&url, PASSWORD);
    let error = deskhand_executor::sign_in(&state, &vault, untrusted, None).await.unwrap_err().to_string();
    assert!(error.to_lowercase().contains("certificate"), "{error}");
    let mut trusted = credentials(&url, PASSWORD);
    trusted.ca = deskhand_executor::read_ca(std::path::Path::new(&ca)).unwrap();
    let pem = std::fs::read(&ca).unwrap();
    deskhand_executor::sign_in(&state, &vault, trusted, Some(&pem)).await.unwrap();
    let executor = start(Source::Account { state_dir: state, vault }, &Arc::new(CountingDesk::default()));
    connected(&executor).await;
    executor.stop().await;
    house.stop().await;
}

/// Paths of a CA, and of a certificate for this machine with its key.
pub fn certificates(dir: &std::path::Path) -> (String, (String, String)) {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_key = KeyPair::generate().unwrap();
    let ca = params.self_signed(&ca_key).unwrap();
    let issuer = Issuer::new(params, ca_key);
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let write = |name: &str, text: String| {
        let path = dir.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    (write("ca.pem", ca.pem()), (write("leaf.pem", leaf.pem()), write("leaf.key", key.serialize_pem())))
}
