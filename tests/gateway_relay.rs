//! From an agent through the gateway to a real desktop and back.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::gateway_stand::{Agent, Desk, Gateway, PASSWORD, PATIENCE, deskhand, eventually, http, run};

#[test]
fn an_agent_sees_and_moves_a_desktop_through_the_gateway() {
    let dir = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(dir.path());
    let desk = Desk::start(dir.path(), &gateway);
    let agent = Agent::of(&gateway);
    let tools = agent.rpc("tools/list", json!({})).unwrap()["result"]["tools"].clone();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"computer_mouse_click") && names.contains(&"picoaide_user_info"), "{names:?}");
    let click = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "computer_mouse_click").unwrap();
    assert!(click["inputSchema"]["properties"]["x"].is_object(), "the executor's own schema: {click}");
    let picture = agent.call("computer_screenshot", json!({})).unwrap();
    assert_eq!(picture["content"][0]["type"], "image");
    assert!(picture["content"][0]["data"].as_str().unwrap().len() > 500);
    agent.call("computer_mouse_click", json!({"x": 321, "y": 234})).unwrap();
    eventually("one click", PATIENCE, || desk.clicks(321, 234) == 1);
    agent.call("computer_keyboard_type", json!({"text": "abc123"})).unwrap();
    eventually("six keys", PATIENCE, || desk.seen().iter().filter(|line| line.starts_with("key ")).count() >= 6);
    let keys: Vec<String> = desk.seen().iter().filter_map(|line| Some(line.strip_prefix("key ")?.to_owned())).collect();
    assert_eq!(keys, ["a", "b", "c", "1", "2", "3"]);
    let refused = agent.call("computer_mouse_click", json!({"x": "nowhere", "y": 1})).unwrap_err();
    assert!(refused.contains('x'), "{refused}");
    let (_, hex) = gateway.token.split_once(':').unwrap();
    for log in ["gateway.log", "worker.log"] {
        let text = std::fs::read_to_string(dir.path().join(log)).unwrap();
        assert!(text.len() > 100, "{log} says nothing");
        for secret in [hex, PASSWORD, "abc123"] {
            assert!(!text.contains(secret), "{log} has a secret");
        }
    }
}

#[test]
fn the_log_is_json_when_asked_for_and_holds_no_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let mut gateway = Gateway::start_with(dir.path(), "127.0.0.1", &["--log-format", "json"]);
    let host = gateway.url.trim_start_matches("http://");
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    // A password in the field of the name, as it happens.
    for body in ["username=ana&password=hush-wrong", "username=hush-misplaced&password=ana"] {
        assert_eq!(http(host, "POST /api/login", form, body).unwrap()["success"], false);
    }
    let line = format!("GET /api/picoagent/me?token={}", gateway.token);
    assert_eq!(http(host, &line, "", "").unwrap()["username"], "ana");
    let good = format!("username=ana&password={}", PASSWORD.replace(' ', "+"));
    assert_eq!(http(host, "POST /api/login", form, &good).unwrap()["success"], true);
    gateway.process.signal("-TERM");
    assert!(gateway.process.child.wait().unwrap().success());
    let text = std::fs::read_to_string(dir.path().join("gateway.log")).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect();
    let refused = lines.iter().find(|line| line["message"] == "sign-in refused").expect("the refusal is there");
    assert_eq!((refused["level"].as_str(), refused["user"].as_str()), (Some("WARN"), Some("ana")));
    let (_, hex) = gateway.token.split_once(':').unwrap();
    for secret in [hex, PASSWORD, &PASSWORD.replace(' ', "+"), "hush"] {
        assert!(!text.contains(secret), "the log has {secret}");
    }
}

#[test]
fn a_gateway_goes_down_in_order_when_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut gateway = Gateway::start(dir.path());
    let began = Instant::now();
    gateway.process.signal("-TERM");
    let status = gateway.process.child.wait().unwrap();
    assert!(status.success() && began.elapsed() < Duration::from_secs(15), "{status} after {:?}", began.elapsed());
    let text = std::fs::read_to_string(dir.path().join("gateway.log")).unwrap();
    assert!(text.contains("goes down"), "{text}");
}

#[test]
fn signing_in_from_the_command_line_connects_a_running_worker_and_signing_out_ends_it() {
    let dir = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(dir.path());
    let state = dir.path().join("worker");
    let mut command = deskhand();
    command.args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--virtual-display",
        "800x600",
        "--authorize",
        "screen",
        "--ready-json",
        "--state-dir",
    ]);
    let mut worker = crate::gateway_stand::Process::spawn(command.arg(&state).stdout(std::process::Stdio::piped()));
    worker.first_line();
    let agent = Agent::of(&gateway);
    assert!(!agent.is_connected());
    let login = |url: &str, password: &str| {
        let mut command = deskhand();
        command.args(["gateway", "login", "--url", url, "--user", "ana", "--no-keyring", "--state-dir"]).arg(&state);
        run(&mut command, password)
    };
    assert!(login(&gateway.url, PASSWORD).contains("Signed in"));
    eventually("connected", PATIENCE, || agent.is_connected());
    let status = || run(deskhand().args(["gateway", "status", "--json", "--state-dir"]).arg(&state), "");
    let shown: serde_json::Value = serde_json::from_str(&status()).unwrap();
    assert_eq!((shown["user"].as_str(), shown["running"].as_bool()), (Some("ana"), Some(true)), "{shown}");
    // A reset token signs out and says so.
    run(deskhand().args(["gateway", "token", "reset", "ana", "--state-dir"]).arg(&gateway.state), "");
    eventually("signed out", PATIENCE, || status().contains("does not accept the token"));
    assert!(!state.join("gateway.json").exists() && !state.join("gateway-token").exists());
    login(&gateway.url, PASSWORD);
    eventually("connected again", PATIENCE, || status().contains("\"connected\""));
    run(deskhand().args(["gateway", "logout", "--state-dir"]).arg(&state), "");
    eventually("signed out by the person", PATIENCE, || !status().contains("\"user\":\"ana\""));
}

#[test]
fn a_paused_desktop_stays_connected_and_an_ended_one_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(dir.path());
    let desk = Desk::start(dir.path(), &gateway);
    let agent = Agent::of(&gateway);
    run(deskhand().args(["pause", "--state-dir"]).arg(&desk.state), "");
    let paused = agent.call("computer_mouse_click", json!({"x": 50, "y": 50})).unwrap_err();
    assert!(paused.contains("pause"), "{paused}");
    assert!(agent.is_connected());
    run(deskhand().args(["stop", "--state-dir"]).arg(&desk.state), "");
    eventually("not connected", PATIENCE, || !agent.is_connected());
    let began = Instant::now();
    let refused = agent.call("computer_screen_size", json!({})).unwrap_err();
    assert!(refused.contains("not connected") && began.elapsed() < Duration::from_secs(5), "{refused}");
    assert_eq!(desk.clicks(50, 50), 0);
}
