//! Act three: the same tools from elsewhere, through a gateway.

use crate::Stage;
use crate::client::{Client, Process};
use serde_json::json;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs a subcommand that ends; what it prints.
fn run(command: &mut Command, stdin: &str) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Plays the act.
pub async fn play(stage: &Stage) {
    let state = stage.out.join("gateway");
    let gateway = |arguments: &[&str]| {
        let mut command = Command::new(&stage.bin);
        command.arg("gateway").args(arguments).arg("--state-dir").arg(&state).env("RUST_LOG", "warn");
        command
    };
    run(&mut gateway(&["user", "add", "ann"]), "a password of the demonstration");
    let token = run(&mut gateway(&["token", "show", "ann"]), "");
    let token_file = stage.out.join("gateway-token");
    std::fs::write(&token_file, &token).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = Process::start(&mut gateway(&["serve", "--listen", &format!("127.0.0.1:{port}"), "--ready-json"]));
    let url = server.ready["url"].as_str().unwrap().to_owned();
    stage.step(&format!("a gateway runs at {url}, with the user ann"));
    let mut command = Command::new(&stage.bin);
    command.args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--virtual-display",
        "1280x800",
        "--authorize",
        "screen",
        "--ready-json",
        "--gateway",
        &url,
        "--gateway-token-file",
    ]);
    command.arg(&token_file).arg("--state-dir").arg(stage.out.join("worker")).env("RUST_LOG", "error");
    let worker = Process::start(&mut command);
    stage.step("a worker registers with it");
    let agent = Client::new(format!("{url}/api/mcp/sse/computer"), token);
    let end = Instant::now() + Duration::from_secs(30);
    while agent.rpc("tools/list", json!({})).await["tools"].as_array().is_none_or(Vec::is_empty) {
        assert!(Instant::now() < end, "the worker does not appear at the gateway");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    stage.picture(&agent, "through-the-gateway").await;
    stage.step("an agent took a screenshot through the gateway");
    drop(worker);
    drop(server);
}
