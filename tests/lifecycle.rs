//! A worker's life, told from the person's own command line: one to a state folder, started by a client and gone with it,
//! in the background, paused and resumed, examined, and its log checked.

use crate::support::server::Server;
use crate::support::worker::Worker;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn deskhand(arguments: &[&str], state: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deskhand"));
    command.args(arguments).arg("--state-dir").arg(state).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env("RUST_LOG", "warn");
    command
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_folder_has_one_worker_and_the_second_names_the_first() {
    let worker = Worker::without_display().await;
    let second = deskhand(&["serve", "--listen", "127.0.0.1:0", "--ready-json"], &worker.state).output().unwrap();
    assert!(!second.status.success());
    let text = said(&second);
    assert!(text.contains("already runs") && text.contains(&worker.pid().to_string()), "{text}");
    worker.call("computer_whitelist", json!({})).await.success();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_authorised_is_listed_and_denied_and_says_how_to_allow_it() {
    let worker = Worker::with(None, &["--authorize", "screen,file_list"]).await;
    let tools = worker.rpc("tools/list", json!({})).await;
    let names: Vec<_> = tools["result"]["tools"].as_array().unwrap().iter().filter_map(|t| t["name"].as_str()).collect();
    assert!(names.contains(&"computer_keyboard_type") && names.contains(&"computer_file_write"), "{names:?}");
    worker.call("computer_whitelist", json!({})).await.success();
    let text = worker.call("computer_file_write", json!({"path": "/tmp/x", "content": "y"})).await.error("denied");
    assert!(text.contains("file_write") && text.contains("--authorize"), "{text}");
    worker.call("computer_keyboard_press", json!({"keys": ["a"]})).await.error("denied");
    worker.call("browser_execute", json!({"script": "1"})).await.error("denied");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_pause_the_caller_looks_before_it_acts() {
    let server = Server::managed("800x600x24");
    let worker = Worker::on(server.name()).await;
    let tell = |what: &str| assert!(deskhand(&[what], &worker.state).status().unwrap().success(), "{what}");
    let moved = || worker.call("computer_mouse_move", json!({"x": 7, "y": 8}));
    moved().await.success();
    tell("pause");
    let text = moved().await.error("paused");
    assert!(text.contains("resume"), "{text}");
    tell("resume");
    moved().await.error("look_again");
    worker.call("computer_screenshot", json!({})).await.success();
    moved().await.success();
    tell("stop");
    moved().await.error("denied");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_log_is_noticed_and_holds_nothing_private() {
    let server = Server::managed("800x600x24");
    let worker = Worker::on(server.name()).await;
    worker.call("computer_keyboard_type", json!({"text": "hunter2 汉字"})).await.success();
    let file = worker.allowed.join("a.txt");
    worker.call("computer_file_write", json!({"path": file.to_str().unwrap(), "content": "swordfish"})).await.success();
    let log = std::fs::read_to_string(worker.state.join("audit.jsonl")).unwrap();
    assert!(!log.contains("hunter2") && !log.contains("汉字") && !log.contains("swordfish") && !log.contains(&worker.token), "{log}");
    let verify = || deskhand(&["audit", "verify"], &worker.state).output().unwrap();
    assert!(verify().status.success(), "{}", said(&verify()));
    std::fs::write(worker.state.join("audit.jsonl"), log.replacen("computer_keyboard_type", "computer_screen_sizes_", 1)).unwrap();
    let found = verify();
    assert!(!found.status.success() && said(&found).contains("line 1"), "{}", said(&found));
}

/// A client's conversation with `deskhand mcp start` over stdio.
fn converse(state: &Path, message: &Value) -> Value {
    let mut child = deskhand(&["mcp", "start"], state).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    writeln!(child.stdin.as_mut().unwrap(), "{message}").unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    serde_json::from_str(&line).unwrap_or_else(|_| panic!("no answer: {line:?}"))
}

#[test]
fn a_client_starts_a_worker_that_may_nothing_and_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    for round in 0..5 {
        let answer = converse(
            &state,
            &json!({"jsonrpc": "2.0", "id": round, "method": "tools/call", "params": {"name": "computer_whitelist", "arguments": {}}}),
        );
        assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(round), &json!(true)), "{answer}");
        assert_eq!(answer["result"]["structuredContent"]["error"], "denied", "no policy was saved: {answer}");
    }
    let status = deskhand(&["mcp", "status", "--json"], &state).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!((&status["running"], &status["server"]), (&Value::Null, &json!("deskhand")), "a worker was left behind");
}

#[test]
fn a_worker_in_the_background_is_found_and_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let started = deskhand(&["mcp", "start", "--http", "--port", &port, "--background"], &state).output().unwrap();
    let text = said(&started);
    assert!(
        started.status.success()
            && text.contains("pid ")
            && text.contains(&format!("http://127.0.0.1:{port}/mcp"))
            && text.contains("log "),
        "{text}"
    );
    let token = std::fs::read_to_string(state.join("token")).unwrap();
    assert!(!text.contains(&token), "the token is printed");
    let status = deskhand(&["mcp", "status", "--json"], &state).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    let pid = status["running"]["pid"].as_u64().expect("it runs");
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(!String::from_utf8_lossy(&command).contains(token.trim()), "the token is an argument");
    assert!(deskhand(&["mcp", "stop"], &state).status().unwrap().success());
    let again = deskhand(&["mcp", "stop"], &state).output().unwrap();
    assert!(!again.status.success() && said(&again).contains("no worker"), "{}", said(&again));
}

#[test]
fn doctor_finds_all_well_on_a_virtual_display_and_names_what_mends_a_missing_one() {
    let folder = tempfile::tempdir().unwrap();
    let well = deskhand(&["doctor", "--virtual-display", "1280x800", "--json"], folder.path()).output().unwrap();
    let report: Value = serde_json::from_slice(&well.stdout).unwrap_or_else(|_| panic!("{}", said(&well)));
    let broken: Vec<_> = report["checks"].as_array().unwrap().iter().filter(|c| c["needed"] == true && c["ok"] == false).collect();
    assert!(well.status.success() && broken.is_empty(), "{broken:?}");
    let without = deskhand(&["doctor"], folder.path()).output().unwrap();
    let text = said(&without);
    assert!(!without.status.success() && text.contains("MISSING display") && text.contains("--virtual-display"), "{text}");
}
