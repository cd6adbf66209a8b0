//! Real MCP clients at the real gateway, each as a process: today's HTTP and the older HTTP+SSE.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::gateway_stand::Gateway;

/// Script, mode, folder of its Python (none for Node).
const CLIENTS: [(&str, &str, Option<&str>); 7] = [
    ("mcp2.py", "auto", Some("py-mcp2")),
    ("mcp2.py", "legacy", Some("py-mcp2")),
    ("mcp1.py", "", Some("py-mcp1")),
    ("fastmcp4.py", "", Some("py-fastmcp")),
    ("client2.mjs", "auto", None),
    ("client2.mjs", "legacy", None),
    ("sdk1.mjs", "", None),
];

/// Installs the clients once; where they are, or nothing when they cannot be had here.
fn prepare(root: &Path) -> Option<PathBuf> {
    let ran = Command::new(root.join("scripts/clients.sh")).arg("--prepare").stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    if ran.code() == Some(77) {
        return None;
    }
    assert!(ran.success());
    let script = format!(". {}/scripts/mcp-tools.sh; printf %s \"$DESKHAND_TOOLS\"", root.display());
    let told = Command::new("bash").args(["-c", &format!("root={}; {script}", root.display())]).output().unwrap();
    Some(String::from_utf8(told.stdout).unwrap().into())
}

fn report(root: &Path, tools: &Path, client: (&str, &str, Option<&str>), order: &Value) -> Value {
    let (script, _, python) = client;
    let mut command = match python {
        Some(folder) => {
            let mut command = Command::new(tools.join(folder).join("bin/python"));
            command.arg(root.join("tests/clients").join(script));
            command
        }
        None => {
            // Node looks modules up from the folder a script lies in.
            for name in [script, "order.mjs"] {
                std::fs::copy(root.join("tests/clients").join(name), tools.join("npm-clients").join(name)).unwrap();
            }
            let mut command = Command::new("node");
            command.arg(tools.join("npm-clients").join(script));
            command
        }
    };
    let output = command.env("ORDER", order.to_string()).env("PYTHONDONTWRITEBYTECODE", "1").stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let last = told.trim().lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|_| panic!("{client:?} {order}: {told}\n{}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn public_clients_reach_the_gateway_by_both_transports() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(tools) = prepare(root) else {
        crate::support::skipped("the MCP clients cannot be installed here");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(dir.path());
    for (way, path) in [("http", "/api/mcp/agent"), ("sse", "/api/mcp/sse/agent")] {
        for client in CLIENTS {
            let order = json!({
                "way": way, "mode": client.1, "url": format!("{}{path}", gateway.url), "token": gateway.token, "command": [],
                "tool": "picoaide_user_info", "arguments": {},
            });
            let report = report(root, &tools, client, &order);
            let listed = report["tools"].as_array().unwrap().iter().any(|name| name == "picoaide_user_info");
            assert!(listed && report["failed"] == false && report["unknown_refused"] == true, "{way} {client:?}: {report}");
        }
    }
}
