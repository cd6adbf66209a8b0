//! Real clients at the real worker: PyPI `mcp` 2.x and 1.x, `fastmcp`, npm `client` and `sdk`, the inspector's CLI, each at
//! a pinned version, by HTTP, legacy SSE and stdio. `scripts/clients.sh` fetches them once into a cache folder.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::support::worker::Worker;

#[tokio::test(flavor = "multi_thread")]
async fn every_client_lists_calls_and_is_refused() {
    let worker = Worker::without_display().await;
    let token = worker.state.parent().unwrap().join("token-for-clients");
    std::fs::write(&token, &worker.token).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/clients.sh");
    let stdio = format!("{} mcp start --state-dir {}", env!("CARGO_BIN_EXE_deskhand"), worker.state.display());
    let mut command = Command::new(script);
    command.args(["--base", worker.url.trim_end_matches("/mcp"), "--command", &stdio, "--token-file"]).arg(&token);
    let ran = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let ran = tokio::time::timeout(Duration::from_secs(1200), ran).await.expect("an end").unwrap();
    let told = format!("{}\n{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    if ran.status.code() == Some(77) {
        crate::support::skipped(&told);
        return;
    }
    println!("{told}");
    assert!(ran.status.success(), "{told}");
}
