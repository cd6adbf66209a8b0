//! The wire of the real worker: framing, sizes, long silences, restarts. Rows B174, B180 to B190 of the public reports.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::server::Server;
use crate::support::wire::{Ask, Bridge, call, peak_kb, request};
use crate::support::worker::{PATIENCE, Worker};

#[tokio::test(flavor = "multi_thread")]
async fn files_of_every_size_come_whole_over_stdio() {
    let worker = Worker::without_display().await;
    let mut bridge = Bridge::start(&worker.state);
    bridge.initialize("2025-06-18").await;
    for kilobytes in [15, 16, 17, 64, 65] {
        let text = "x".repeat(kilobytes * 1024 - 1) + "\n";
        let path = worker.allowed.join(format!("{kilobytes}.txt"));
        std::fs::write(&path, &text).unwrap();
        bridge.say(call(kilobytes as u64, "computer_file_read", json!({ "path": path }))).await;
        let answer = bridge.hear().await;
        assert_eq!(answer["id"], kilobytes as u64);
        assert_eq!(answer["result"]["content"][0]["text"].as_str(), Some(text.as_str()), "{kilobytes} kB");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_megabytes_come_whole_by_offsets() {
    let worker = Worker::without_display().await;
    let mut bridge = Bridge::start(&worker.state);
    bridge.initialize("2025-11-25").await;
    let text: String = (0..60_000).map(|line| format!("line {line:06} with 漢字 and 😀 in it, so that cuts hurt\n")).collect();
    let path = worker.allowed.join("large.txt");
    std::fs::write(&path, &text).unwrap();
    let (mut read, mut offset) = (String::new(), json!(0));
    for round in 0..100 {
        bridge.say(call(round, "computer_file_read", json!({ "path": path, "offset": offset }))).await;
        let answer = bridge.hear().await;
        let result = &answer["result"]["structuredContent"];
        read += answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        if result["truncated"] != true {
            break;
        }
        assert_eq!(result["total_bytes"].as_u64(), Some(text.len() as u64));
        let next = result["next_offset"].clone();
        assert_ne!(offset, next, "no way forward: {result}");
        offset = next;
    }
    assert_eq!(read.len(), text.len());
    assert!(read == text, "not the same text");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_split_at_every_byte_is_the_same_request() {
    let worker = Worker::without_display().await;
    let path = worker.allowed.join("漢😀.txt");
    std::fs::write(&path, "found").unwrap();
    let mut bridge = Bridge::start(&worker.state);
    bridge.say("\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"notifications/early\"}\r").await;
    bridge.initialize("2025-06-18").await;
    let line = call("split", "computer_file_read", json!({ "path": path })) + "\r\n";
    for byte in line.as_bytes() {
        let input = bridge.input.as_mut().unwrap();
        input.write_all(std::slice::from_ref(byte)).await.unwrap();
        input.flush().await.unwrap();
    }
    assert_eq!(bridge.hear().await["result"]["content"][0]["text"], "found");
    bridge.say(format!("{}\n{}", request(1, "ping", json!({})), request(2, "ping", json!({})))).await;
    let mut ids = [bridge.hear().await["id"].as_i64(), bridge.hear().await["id"].as_i64()];
    ids.sort_unstable();
    assert_eq!(ids, [Some(1), Some(2)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn input_without_end_is_refused_and_takes_no_memory() {
    let worker = Worker::without_display().await;
    let mut bridge = Bridge::start(&worker.state);
    bridge.initialize("2025-06-18").await;
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..1024 {
        bridge.input.as_mut().unwrap().write_all(&chunk).await.unwrap();
    }
    bridge.say("").await;
    assert_eq!(bridge.hear().await["error"]["code"], -32600);
    bridge.say(request(1, "ping", json!({}))).await;
    assert_eq!(bridge.hear().await["result"], json!({}));
    assert!(peak_kb(bridge.child.id().unwrap()) < 120_000, "{} kB", peak_kb(bridge.child.id().unwrap()));

    let before = peak_kb(worker.pid());
    assert_eq!(Ask::post(&worker, vec![b' '; 200 << 20]).send().await.status, 413);
    let deep = "{\"a\":".repeat(10_000) + &"}".repeat(10_000);
    assert_eq!(Ask::post(&worker, deep).send().await.code(), -32700);
    assert!(peak_kb(worker.pid()) < before + 64_000, "{before} kB became {} kB", peak_kb(worker.pid()));
    assert_eq!(worker.rpc("ping", json!({})).await["result"], json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_call_is_never_silent() {
    let server = Server::start("640x480x24");
    let worker = Worker::on(server.name()).await;
    let wait = call(1, "computer_wait_for", json!({ "text": "never there", "timeout": 17_000 }));
    for accept in ["application/json", "application/json, text/event-stream"] {
        let mut stream = Ask::post(&worker, wait.clone()).header("Accept", accept).open().await;
        let mut chunk = [0; 65_536];
        let mut all = Vec::new();
        loop {
            // Proxies cut what is silent for 60 s; a sign of life comes every 15.
            let read = tokio::time::timeout(Duration::from_secs(30), stream.read(&mut chunk)).await.expect("silence").unwrap();
            if read == 0 {
                break;
            }
            all.extend_from_slice(&chunk[..read]);
        }
        let text = String::from_utf8_lossy(&all);
        assert!(text.contains("timed_out"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_no_call_has_its_code_at_every_door() {
    let worker = Worker::without_display().await;
    let mut bridge = Bridge::start(&worker.state);
    bridge.initialize("2025-06-18").await;
    let cases = [
        (call(1, "computer_nope", json!({})), -32602),
        (request(1, "tools/call", json!({ "arguments": {} })), -32602),
        (request(1, "tools/call", json!({ "name": "computer_whitelist", "arguments": "{}" })), -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#.to_owned(), -32602),
        (request(1, "no/such", json!({})), -32601),
        ("not json".to_owned(), -32700),
        ("[]".to_owned(), -32600),
        ("7".to_owned(), -32600),
    ];
    for (body, code) in cases {
        let reply = Ask::post(&worker, body.clone()).send().await;
        assert_eq!((reply.status, reply.code()), (200, code), "{body}");
        bridge.say(&body).await;
        assert_eq!(bridge.hear().await["error"]["code"], code, "{body}");
    }
    let failed = worker.call("computer_file_read", json!({ "path": 2024 })).await;
    assert!(!failed.ok && failed.text.contains("2024"), "{}", failed.text);
    let missing = worker.call("computer_file_read", json!({})).await;
    assert!(!missing.ok && missing.text.contains("path"), "{}", missing.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_outlives_the_worker() {
    let worker = Worker::without_display().await;
    let mut bridge = Bridge::start(&worker.state);
    bridge.initialize("2025-06-18").await;
    bridge.say(call(1, "computer_whitelist", json!({}))).await;
    assert_eq!(bridge.hear().await["result"]["isError"], false);
    let folder = worker.into_folder().await;
    let again = Worker::again(None, &["--authorize", "all"], folder).await;
    bridge.say(call(2, "computer_whitelist", json!({}))).await;
    let answer = bridge.hear().await;
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(2), &json!(false)), "{answer}");
    drop(again);
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_bridges_leave_nothing_behind() {
    let worker = Worker::without_display().await;
    let mut pids = Vec::new();
    for round in 0..20 {
        let mut bridge = Bridge::start(&worker.state);
        pids.push(bridge.child.id().unwrap());
        if round % 2 == 0 {
            bridge.initialize("2025-11-25").await;
        }
        assert!(bridge.end().await.success());
    }
    for pid in pids {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} is left");
    }
    assert_eq!(worker.rpc("ping", json!({})).await["result"], json!({}));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_read_of_a_message_decides_whom_its_error_answers() {
    let worker = Worker::without_display().await;
    let mut bridge = Bridge::start(&worker.state);
    bridge.initialize("2025-06-18").await;
    // Half of a character, a number out of range, a nest too deep: JSON, but nothing that can be held.
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    for value in [r#""\ud83d""#, "1e999", deep.as_str()] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{{"name":"x","arguments":{{"a":{value}}}}}}}"#);
        let reply = Ask::post(&worker, text.clone()).send().await.json();
        assert_eq!((&reply["id"], &reply["error"]["code"]), (&json!("mine"), &json!(-32700)), "{value:.20}");
        bridge.say(&text).await;
        assert_eq!(bridge.hear().await, reply, "{value:.20}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_short_whatever_was_sent() {
    let worker = Worker::without_display().await;
    let long = "漢".repeat(100_000);
    let mut bridge = Bridge::start(&worker.state);
    bridge.initialize("2025-06-18").await;
    for body in [
        request(1, &long, json!({})),
        request(1, "no/such", json!({})),
        call(1, &long, json!({})),
        call(1, "computer_file_read", json!({ "path": long })),
        call(1, "computer_keyboard_press", json!({ "keys": [long] })),
        call(1, "computer_mouse_click", json!({ "x": 1, "y": 1, "button": long })),
    ] {
        bridge.say(&body).await;
        for answer in [Ask::post(&worker, body.clone()).send().await.json(), bridge.hear().await] {
            let told = if answer["error"].is_object() { &answer["error"]["message"] } else { &answer["result"]["content"][0]["text"] };
            let told = told.as_str().unwrap();
            assert!((15..5_000).contains(&told.chars().count()), "{} characters: {told:.200}", told.chars().count());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_survive_a_restart_of_the_worker() {
    let worker = Worker::without_display().await;
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "e2e", "version": "1" } });
    let reply = Ask::post(&worker, request(1, "initialize", hello)).header("Accept", "application/json, text/event-stream").send().await;
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    let again = Worker::again(None, &["--authorize", "all"], worker.into_folder().await).await;
    let reply = Ask::post(&again, call(2, "computer_whitelist", json!({}))).header("Mcp-Session-Id", &session).send().await;
    assert_eq!(reply.json()["result"]["isError"], false, "{:?}", reply.json());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_frees_its_place_and_has_no_late_answer() {
    let worker = Worker::without_display().await;
    let mut bridge = Bridge::start(&worker.state);
    bridge.initialize("2025-06-18").await;
    bridge.say(call("long", "browser_gui_execute_action", json!({ "action": { "action_type": "WAIT", "duration": 8 } }))).await;
    bridge.say(request("ping", "ping", json!({}))).await;
    assert_eq!(bridge.hear().await["id"], "ping", "answered while a tool runs");
    let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "long" } });
    bridge.say(cancelled.to_string()).await;
    for id in 0..100 {
        bridge.say(call(id, "computer_whitelist", json!({}))).await;
        assert_eq!(bridge.hear().await["id"], id);
    }
    let end = tokio::time::Instant::now() + PATIENCE;
    let cancelled = |line: &Value| line["result"] == "cancelled";
    while !worker.audit().iter().any(cancelled) {
        assert!(tokio::time::Instant::now() < end, "the log never says that it was cancelled: {:?}", worker.audit().last());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
