//! What was done to servers like this one (CVEs of rivals, of SDKs and of rmcp itself), done to this one, on every route.
//!
//! Each test names the kind of incident. "Nothing happened" is witnessed by the fake service: it counts its calls.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::support::*;
use crate::{Access, EndpointConfig, Route};

const ROUTES: [(&str, &str); 6] = [
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("DELETE", "/mcp"),
    ("GET", "/sse"),
    ("POST", "/messages?sessionId=00000000000000000000000000000000"),
    ("GET", "/extension"),
];

/// Paths that someone tries.
const SWEEP: [&str; 31] = [
    "/mcp",
    "/sse",
    "/messages",
    "/messages?sessionId=x",
    "/mcp/",
    "/mcp/x",
    "/mcp?x=1",
    "//mcp",
    "/MCP",
    "/",
    "/health/",
    "/metrics",
    "/debug",
    "/admin",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-authorization-server",
    "/register",
    "/token",
    "/cdp/",
    "/cdp/x",
    "/cdp",
    "/json/version",
    "/sse/",
    "/message",
    "/ws",
    "/mcp/../health",
    "/%6dcp",
    "/mcp%2f",
    "/favicon.ico",
    "/mcp?token=token-of-the-main-caller",
    "/extension?SIGNAL_KILL=1",
];

const EXTENSION: &str = "chrome-extension://abcdefghijklmnopabcdefghijklmnop";

async fn desk() -> Desk {
    Desk::with(EndpointConfig::default(), |server| {
        let own = Router::new().route("/extension", get(|| async { "own" }));
        let with_token = Router::new().route("/cdp/{id}", get(|| async { "cdp" }));
        server.route(Route::new("/extension", Access::Own, own).only_from(vec![EXTENSION.into()])).route(Route::new(
            "/cdp/",
            Access::Token,
            with_token,
        ))
    })
    .await
}

fn typing() -> String {
    call(1, "echo", json!({"text": "typed"}))
}

/// DNS rebinding (playwright-mcp, the TypeScript, Python, Java, Go and Ruby SDKs, rmcp): a foreign Host on any route.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_host_is_refused_everywhere() {
    let desk = desk().await;
    let port = desk.address.port();
    let hosts = [
        "evil.com".to_owned(),
        format!("evil.com:{port}"),
        format!("127.0.0.1.nip.io:{port}"),
        format!("0.0.0.0:{port}"),
        format!("127.1:{port}"),
        format!("localhost.:{port}"),
        format!("LOCALHOST:{port}"),
        format!("evil@127.0.0.1:{port}"),
        format!("127.0.0.1:{}", port.wrapping_add(1)),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{port}@evil.com"),
        format!("[::ffff:127.0.0.1]:{port}"),
        String::new(),
    ];
    for (method, path) in ROUTES.iter().chain(&[("GET", "/health"), ("GET", "/cdp/x")]) {
        for host in &hosts {
            let ask = desk
                .ask(method, path)
                .set("Host", host)
                .header("Content-Type", "application/json")
                .header("Origin", EXTENSION)
                .body(typing());
            let reply = ask.send().await;
            assert!(reply.status == 403 || reply.status == 400, "{method} {path} {host}: {}", reply.status);
        }
        let twice = desk.ask(method, path).header("Host", "evil.com");
        assert_eq!(twice.send().await.status, 400, "{method} {path}");
        assert_eq!(desk.ask(method, path).without("Host").send().await.status, 400, "{method} {path}");
        let absolute = desk.ask(method, &format!("http://evil.com{path}"));
        assert_eq!(absolute.send().await.status, 400, "{method} {path}");
        let own = desk.ask(method, &format!("http://{}{path}", desk.host()));
        assert_eq!(own.send().await.status, 400, "{method} {path}");
    }
    assert_eq!(desk.fake.started.load(Ordering::SeqCst), 0);
}

/// Origin by prefix (mcp-chrome-bridge), `null` taken as harmless, other extensions, other loopback ports, cross-site WebSockets.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_origin_is_refused_everywhere() {
    let desk = desk().await;
    let port = desk.address.port();
    let origins = [
        "null".to_owned(),
        "https://evil.test".into(),
        "http://127.0.0.1".into(),
        "http://127.0.0.1.evil.com".into(),
        format!("http://localhost:{port}.evil.com"),
        format!("http://127.0.0.1:{}", port.wrapping_add(1)),
        format!("https://127.0.0.1:{port}"),
        format!("http://a@127.0.0.1:{port}"),
        "file://".into(),
        "chrome-extension://ponmlkjihgfedcbaponmlkjihgfedcba".into(),
        format!("http://127.0.0.1:{port}/"),
        format!("http://LOCALHOST:{port}"),
    ];
    for (method, path) in ROUTES.iter().chain(&[("GET", "/health"), ("GET", "/cdp/x")]) {
        for origin in &origins {
            let ask = desk.ask(method, path).header("Origin", origin).header("Content-Type", "application/json").body(typing());
            let reply = ask.send().await;
            assert_eq!(reply.status, 403, "{method} {path} {origin}");
            assert!(!reply.head.contains("access-control-"), "{}", reply.head);
        }
        let site = desk.ask(method, path).header("Sec-Fetch-Site", "cross-site").header("Content-Type", "application/json").body(typing());
        assert_eq!(site.send().await.status, 403, "{method} {path}");
    }
    assert_eq!(desk.ask("GET", "/extension").send().await.status, 403, "no Origin is not the extension's");
    assert_eq!(desk.ask("GET", "/extension").header("Origin", &format!("http://{}", desk.host())).send().await.status, 403);
    assert_eq!(desk.ask("GET", "/extension").header("Origin", EXTENSION).send().await.text(), "own");
    let own = desk.post(typing()).header("Origin", &format!("http://{}", desk.host())).send().await;
    assert_eq!(own.status, 200);
    assert_eq!(desk.fake.started.load(Ordering::SeqCst), 1);
}

/// Auth on some routes only (9Router), bind-all without auth, GET with effects (Inspector): the sweep.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_health_answers_without_a_token() {
    let desk = desk().await;
    for path in SWEEP {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "FOO"] {
            for token in [None, Some("Bearer wrong"), Some("Basic dG9rZW4="), Some("")] {
                let mut ask = desk.ask(method, path).without("Authorization").header("Content-Type", "application/json").body(typing());
                if let Some(token) = token {
                    ask = ask.header("Authorization", token);
                }
                let reply = ask.send().await;
                assert!([401, 403, 404, 405, 429].contains(&reply.status), "{method} {path} {token:?}: {}", reply.status);
                assert!(!reply.head.contains("access-control-") && !reply.head.contains("location:"), "{}", reply.head);
            }
        }
    }
    for method in ["POST", "PUT", "OPTIONS", "HEAD"] {
        assert_eq!(desk.ask(method, "/health").send().await.status, 405, "{method}");
    }
    let health = desk.ask("GET", "/health").without("Authorization").send().await;
    assert_eq!(health.json(), json!({"name": "fake", "version": "1.2.3", "protocol": "2026-07-28", "ready": true}));
    let well_known = desk.ask("GET", "/.well-known/oauth-protected-resource").send().await;
    assert_eq!((well_known.status, well_known.header("content-type")), (404, Some("application/json")));
    assert_eq!(desk.ask("GET", "/cdp/x").send().await.text(), "cdp");
    assert_eq!(desk.fake.started.load(Ordering::SeqCst), 0);
}

/// A preflight tells a page nothing, with or without a token.
#[tokio::test(flavor = "multi_thread")]
async fn preflights_are_refused() {
    let desk = desk().await;
    for path in ["/mcp", "/sse", "/messages", "/health"] {
        let reply = desk
            .ask("OPTIONS", path)
            .header("Origin", &format!("http://{}", desk.host()))
            .header("Access-Control-Request-Method", "POST")
            .send()
            .await;
        assert_eq!(reply.status, 405, "{path}");
        assert!(!reply.head.contains("access-control-"));
    }
}

/// "Simple" posts that a page may send unasked: forms, text/plain, no type; with the right token too.
#[tokio::test(flavor = "multi_thread")]
async fn only_json_is_taken() {
    let desk = desk().await;
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json-patch+json",
        "text/plain; application/json",
        "",
    ] {
        let reply = desk.ask("POST", "/mcp").header("Content-Type", kind).body(typing()).send().await;
        assert_eq!(reply.status, 415, "{kind}");
    }
    assert_eq!(desk.ask("POST", "/mcp").body(typing()).send().await.status, 415);
    let two = desk.post(typing()).header("Content-Type", "text/plain");
    assert_eq!(two.send().await.status, 415);
    for kind in ["application/json", "application/json; charset=utf-8", "Application/JSON"] {
        assert_eq!(desk.ask("POST", "/mcp").header("Content-Type", kind).body(typing()).send().await.status, 200, "{kind}");
    }
    assert_eq!(desk.fake.started.load(Ordering::SeqCst), 3);
}

/// Guessing the token from a page (ClawJacked): limited on loopback too, no field turns the limit off, the owner never waits.
#[tokio::test(flavor = "multi_thread")]
async fn guessing_is_limited() {
    let desk = desk().await;
    let mut seen = (0, 0);
    for n in 0..60 {
        let ask = desk.post(typing()).set("Authorization", &format!("Bearer guess-{n}")).header("X-Forwarded-For", &format!("10.0.0.{n}"));
        let reply = ask.header("deviceToken", "x").send().await;
        match reply.status {
            401 => seen.0 += 1,
            429 => {
                seen.1 += 1;
                assert!(reply.header("retry-after").is_some());
            }
            other => panic!("{other}"),
        }
        let started = Instant::now();
        assert_eq!(desk.rpc("ping", json!({})).await["result"], json!({}));
        assert!(started.elapsed() < Duration::from_secs(5));
    }
    assert!(seen.0 < 40 && seen.1 > 20, "{seen:?}");
    let twice = desk.post(typing()).header("Authorization", &format!("Bearer {TOKEN}")).send().await;
    assert_eq!(twice.status, 400, "two Authorization headers");
    assert_eq!(desk.fake.started.load(Ordering::SeqCst), 0);
}

/// Oversize, endless, malformed and half-sent bodies.
#[tokio::test(flavor = "multi_thread")]
async fn bad_bodies_have_their_answers() {
    let desk = desk().await;
    for size in [8 * 1024 * 1024 + 1, 100 << 20] {
        assert_eq!(desk.post(vec![b' '; size]).send().await.status, 413, "the refusal is read, not a reset");
    }
    let unknown = desk.post(vec![b' '; 3 << 20]).without("Authorization").send().await;
    assert_eq!(unknown.status, 401);
    assert_eq!(desk.post(message(1, "initialize", json!({"x": "y".repeat(70_000)}))).send().await.code(), -32602);
    let declared = desk.ask("POST", "/mcp").header("Content-Type", "application/json").header("Content-Length", "99999999999").open().await;
    let mut declared = declared;
    assert!(read_until(&mut declared, "\r\n\r\n").await.contains(" 413 "));
    let head = desk.ask("POST", "/mcp").header("Content-Type", "application/json").header("Transfer-Encoding", "chunked").bytes();
    let chunked = |body: &str| [head.as_slice(), body.as_bytes()].concat();
    for bad in ["zz\r\n{}\r\n0\r\n\r\n", "-1\r\n{}\r\n", "2\r\n{}XX0\r\n\r\n", "ffffffffffffffffff\r\n{}\r\n0\r\n\r\n"] {
        assert_eq!(desk.raw(&chunked(bad)).await.status, 400, "{bad:?}");
    }
    let ping = message(1, "ping", json!({}));
    let good = desk.raw(&chunked(&format!("{:x}\r\n{ping}\r\n0\r\n\r\n", ping.len()))).await;
    assert_eq!(good.status, 200);
    let mut endless =
        desk.ask("POST", "/mcp").header("Content-Type", "application/json").header("Transfer-Encoding", "chunked").open().await;
    let chunk = [b"100000\r\n".as_slice(), &vec![b'x'; 1 << 20], b"\r\n"].concat();
    for _ in 0..20 {
        if endless.write_all(&chunk).await.is_err() {
            break;
        }
    }
    let mut answer = Vec::new();
    let _ = endless.read_to_end(&mut answer).await;
    assert!(answer.is_empty() || String::from_utf8_lossy(&answer).contains("413"));
    for bad in
        ["GET\r\n\r\n", "GET /mcp HTTP/9.9\r\n\r\n", "\0\0\0\0\r\n\r\n", "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"]
    {
        let reply = desk.raw(bad.as_bytes()).await;
        assert!(reply.status == 400 || reply.status == 0, "{bad:?} {}", reply.status);
    }
    assert_eq!(desk.rpc("ping", json!({})).await["result"], json!({}));
}

/// Slow senders: headers or a body that never end, and very many headers.
#[tokio::test(flavor = "multi_thread")]
async fn half_sent_requests_are_closed() {
    let desk = desk().await;
    let started = Instant::now();
    let mut half_head = TcpStream::connect(desk.address).await.unwrap();
    half_head.write_all(b"POST /mcp HTTP/1.1\r\nHost: ").await.unwrap();
    let mut half_body = desk.ask("POST", "/mcp").header("Content-Type", "application/json").header("Content-Length", "100").open().await;
    half_body.write_all(b"{").await.unwrap();
    for stream in [&mut half_head, &mut half_body] {
        let mut rest = Vec::new();
        tokio::time::timeout(Duration::from_secs(45), stream.read_to_end(&mut rest)).await.expect("still open after 45 s").ok();
        let text = String::from_utf8_lossy(&rest);
        assert!(rest.is_empty() || text.contains(" 408 "), "{text}");
    }
    assert!(started.elapsed() > Duration::from_secs(20));
    let many = (0..200).fold(desk.post(typing()), |ask, n| ask.header(&format!("X-{n}"), "y"));
    let reply = many.send().await;
    assert!(reply.status == 431 || reply.status == 0, "{}", reply.status);
    let long = desk.post(typing()).header("X-Long", &"y".repeat(1_000_000)).send().await;
    assert!(long.status == 431 || long.status == 0, "{}", long.status);
    assert_eq!(desk.fake.started.load(Ordering::SeqCst), 0);
}

/// A batch, a deep nest, a hash flood of keys: refused or answered, and served on.
#[tokio::test(flavor = "multi_thread")]
async fn strange_json_does_no_harm() {
    let desk = desk().await;
    let deep = format!("{}{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    assert_eq!(desk.post(deep).send().await.code(), -32700);
    let keys: Vec<String> = (0..100_000).map(|n| format!("\"k{n}\":0")).collect();
    let wide = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{{}}}}}}}"#, keys.join(","));
    assert_eq!(desk.post(wide).send().await.status, 200);
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}"#,
        "\u{0}",
        r#"{"jsonrpc":"2.0","id":{"$ne":1},"method":"ping"}"#,
        "\"\\ud800\"",
    ] {
        assert_eq!(desk.post(body).send().await.status, 200);
    }
    assert_eq!(desk.post([b'"', 0xff, 0xfe, b'"'].to_vec()).send().await.code(), -32700);
    assert_eq!(desk.rpc("ping", json!({})).await["result"], json!({}));
}

/// Idle connections by the thousand: the owner still gets in.
#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_do_not_shut_the_owner_out() {
    let desk = desk().await;
    let mut idle = Vec::new();
    for _ in 0..900 {
        match TcpStream::connect(desk.address).await {
            Ok(stream) => idle.push(stream),
            Err(_) => break,
        }
        if idle.len() > 400 {
            idle.remove(0);
        }
    }
    assert_eq!(desk.rpc("ping", json!({})).await["result"], json!({}));
    drop(idle);
}

/// Requests smuggled behind or inside others are answered one by one or not at all.
#[tokio::test(flavor = "multi_thread")]
async fn no_request_hides_in_another() {
    let desk = desk().await;
    let body = typing();
    let hidden = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        desk.host(),
        body.len()
    );
    for extra in [
        "Content-Length: 3\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 3",
        "Transfer-Encoding: xchunked",
        "Content-Length: 3\r\nContent-Length: 4",
    ] {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n{extra}\r\n\r\n0\r\n\r\n",
            desk.host()
        );
        let mut stream = TcpStream::connect(desk.address).await.unwrap();
        let _ = stream.write_all((head + &hidden).as_bytes()).await;
        let mut all = Vec::new();
        let _ = tokio::time::timeout(Duration::from_secs(40), stream.read_to_end(&mut all)).await;
        assert!(!String::from_utf8_lossy(&all).contains("typed"), "{extra}");
    }
    assert_eq!(desk.fake.started.load(Ordering::SeqCst), 0);
}
