//! The clients: what each is called, what its file looks like, and the entry it wants.

use crate::ConnectError;
use crate::edit::Syntax;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;
use std::str::FromStr;

/// The key of our entry in every client's file.
pub(crate) const KEY: &str = "deskhand";

/// An AI client that Deskhand can be connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Client {
    /// Claude Desktop.
    Claude,
    /// Claude Code.
    ClaudeCode,
    /// Cursor.
    Cursor,
    /// Visual Studio Code and its kin (Insiders, `VSCodium`).
    VsCode,
    /// GitHub Copilot CLI.
    Copilot,
    /// Windsurf (Cascade).
    Windsurf,
    /// Zed.
    Zed,
    /// Codex: CLI, app and IDE share one file.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cline: the VS Code extension and the CLI.
    Cline,
    /// Goose.
    Goose,
    /// opencode.
    OpenCode,
}

impl Client {
    /// All of them, in the order they are shown.
    pub const ALL: [Client; 12] = [
        Client::Claude,
        Client::ClaudeCode,
        Client::Cursor,
        Client::VsCode,
        Client::Copilot,
        Client::Windsurf,
        Client::Zed,
        Client::Codex,
        Client::Gemini,
        Client::Cline,
        Client::Goose,
        Client::OpenCode,
    ];

    /// The name on the command line, of the token file, and of the caller.
    pub fn name(self) -> &'static str {
        self.names().0
    }

    /// The name people know.
    pub fn title(self) -> &'static str {
        self.names().1
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Client::Claude => ("claude", "Claude Desktop"),
            Client::ClaudeCode => ("claude-code", "Claude Code"),
            Client::Cursor => ("cursor", "Cursor"),
            Client::VsCode => ("vscode", "VS Code"),
            Client::Copilot => ("copilot", "GitHub Copilot CLI"),
            Client::Windsurf => ("windsurf", "Windsurf"),
            Client::Zed => ("zed", "Zed"),
            Client::Codex => ("codex", "Codex"),
            Client::Gemini => ("gemini", "Gemini CLI"),
            Client::Cline => ("cline", "Cline"),
            Client::Goose => ("goose", "Goose"),
            Client::OpenCode => ("opencode", "opencode"),
        }
    }

    /// What the person does after a change, if the client does not notice by itself.
    pub fn next_step(self) -> &'static str {
        match self {
            Client::Claude => "Quit Claude Desktop completely and start it again.",
            Client::ClaudeCode | Client::Copilot | Client::Codex | Client::Gemini | Client::Goose | Client::OpenCode => {
                "It is used from the next session on."
            }
            Client::Cursor => "Switch deskhand on in Cursor's settings under MCP if it is off.",
            Client::VsCode => "Start the server deskhand when VS Code offers it (MCP: List Servers).",
            Client::Windsurf => "Press Refresh in Windsurf's MCP settings.",
            Client::Zed | Client::Cline => "It is picked up at once.",
        }
    }

    pub(crate) fn syntax(self) -> Syntax {
        match self {
            Client::VsCode | Client::Zed | Client::OpenCode => Syntax::Jsonc,
            Client::Gemini => Syntax::JsonWithComments,
            Client::Codex => Syntax::Toml,
            Client::Goose => Syntax::Yaml,
            _ => Syntax::Json,
        }
    }

    /// Where the entry stands, given what the file holds now.
    pub(crate) fn location(self, file: &Value) -> Vec<&'static str> {
        match self {
            Client::VsCode => vec!["servers", KEY],
            Client::Zed => vec!["context_servers", KEY],
            Client::Codex => vec!["mcp_servers", KEY],
            Client::Goose => vec!["extensions", KEY],
            // Its second version moved the servers one level down and still reads the first; a server of the first
            // version may itself be called "servers", which its type shows.
            Client::OpenCode if is_second_opencode(file) => vec!["mcp", "servers", KEY],
            Client::OpenCode => vec!["mcp", KEY],
            _ => vec!["mcpServers", KEY],
        }
    }

    /// The entry: starts the bridge over stdio. It holds a path and fixed arguments, no secret.
    pub(crate) fn entry(self, binary: &Path, file: &Value) -> Value {
        let command = binary.to_string_lossy();
        let args = json!(["mcp", "start", "--client", self.name()]);
        match self {
            Client::ClaudeCode | Client::VsCode => json!({"type": "stdio", "command": command, "args": args}),
            Client::Copilot => json!({"type": "stdio", "command": command, "args": args, "tools": ["*"]}),
            Client::Zed => json!({"source": "custom", "command": command, "args": args, "env": {}}),
            Client::Cline => json!({"command": command, "args": args, "disabled": false}),
            Client::Goose => json!({
                "name": KEY,
                "description": "This desktop and browser, on its owner's terms",
                "type": "stdio",
                "cmd": command,
                "args": args,
                "envs": {},
                "enabled": true,
                "timeout": 300,
            }),
            Client::OpenCode => {
                let all: Vec<_> = [json!(command)].into_iter().chain(args.as_array().cloned().unwrap_or_default()).collect();
                if is_second_opencode(file) {
                    json!({"type": "local", "command": all})
                } else {
                    json!({"type": "local", "command": all, "enabled": true})
                }
            }
            _ => json!({"command": command, "args": args}),
        }
    }

    /// The program an entry starts and the client it names, whoever wrote it.
    pub(crate) fn starts(entry: &Value) -> (Option<&str>, Option<&str>) {
        let list = |key: &str| entry.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let command = entry.get("command").or_else(|| entry.get("cmd"));
        let (program, args) = match command {
            Some(Value::Array(all)) => (all.first().and_then(Value::as_str), all.get(1..).unwrap_or_default()),
            other => (other.and_then(Value::as_str), list("args")),
        };
        let named = args.iter().position(|arg| arg == "--client").and_then(|at| args.get(at + 1)).and_then(Value::as_str);
        (program, named)
    }
}

fn is_second_opencode(file: &Value) -> bool {
    file.pointer("/mcp/servers").and_then(Value::as_object).is_some_and(|servers| !servers.get("type").is_some_and(Value::is_string))
}

impl FromStr for Client {
    type Err = ConnectError;

    fn from_str(name: &str) -> Result<Self, ConnectError> {
        let wanted = name.trim().to_ascii_lowercase();
        let alias = match wanted.as_str() {
            "claude-desktop" => "claude",
            "code" | "vs-code" => "vscode",
            "copilot-cli" => "copilot",
            "gemini-cli" => "gemini",
            other => other,
        };
        Client::ALL.into_iter().find(|client| client.name() == alias).ok_or_else(|| {
            let known = Client::ALL.map(Client::name).join(", ");
            ConnectError::UnknownClient { name: name.to_owned(), known }
        })
    }
}

impl std::fmt::Display for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

impl Serialize for Client {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
