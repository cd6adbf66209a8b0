//! Which files a client reads, on each system, and what shows that it is there.
//!
//! Sources: the vendors' documentation as of November 2026. Where a client has several homes (an app from a store, an
//! editor's relatives), each that is there gets the entry.

use crate::{Client, ConnectError, Environment, Os};
use std::path::{Path, PathBuf};

/// One file that a client may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: PathBuf,
    /// It exists when the client (or this variant of it) is installed.
    marker: PathBuf,
}

impl Place {
    fn new(file: PathBuf, marker: PathBuf) -> Self {
        Self { file, marker }
    }

    /// A file whose own folder is the mark.
    fn in_folder(folder: PathBuf, file: &str) -> Self {
        Self { file: folder.join(file), marker: folder }
    }

    /// The file, or the variant of the client it belongs to, is there.
    pub(crate) fn is_there(&self) -> bool {
        self.file.is_file() || self.marker.exists()
    }
}

/// The files to change for this person: of the variants that are there, or the usual one when none is.
pub(crate) fn user_places(client: Client, environment: &Environment) -> Vec<Place> {
    let all = all_places(client, environment);
    let there: Vec<_> = all.iter().filter(|place| place.is_there()).cloned().collect();
    if there.is_empty() { all.into_iter().take(1).collect() } else { there }
}

/// Whether the client shows itself on this machine.
pub(crate) fn is_found(client: Client, environment: &Environment) -> bool {
    let programs: &[&str] = match client {
        Client::Claude => &[],
        Client::ClaudeCode => &["claude"],
        Client::Cursor => &["cursor"],
        Client::VsCode => &["code", "code-insiders", "codium"],
        Client::Copilot => &["copilot"],
        Client::Windsurf => &["windsurf"],
        Client::Zed => &["zed", "zeditor"],
        Client::Codex => &["codex"],
        Client::Gemini => &["gemini"],
        Client::Cline => &["cline"],
        Client::Goose => &["goose"],
        Client::OpenCode => &["opencode"],
    };
    programs.iter().any(|program| environment.has_program(program)) || all_places(client, environment).iter().any(Place::is_there)
}

fn all_places(client: Client, environment: &Environment) -> Vec<Place> {
    let Environment { home, .. } = environment;
    match client {
        Client::Claude => claude_desktop(environment),
        Client::ClaudeCode => {
            let folder = environment.folder("CLAUDE_CONFIG_DIR");
            let marker = folder.clone().unwrap_or_else(|| home.join(".claude"));
            vec![Place::new(folder.unwrap_or_else(|| home.clone()).join(".claude.json"), marker)]
        }
        Client::Cursor => vec![Place::in_folder(home.join(".cursor"), "mcp.json")],
        Client::VsCode => code_users(environment).map(|user| Place::in_folder(user, "mcp.json")).collect(),
        Client::Copilot => {
            let folder = environment.folder("COPILOT_HOME").unwrap_or_else(|| home.join(".copilot"));
            vec![Place::in_folder(folder, "mcp-config.json")]
        }
        Client::Windsurf => vec![Place::in_folder(home.join(".codeium/windsurf"), "mcp_config.json")],
        Client::Zed => {
            let folder = match environment.os {
                Os::Windows => environment.app_data().join("Zed"),
                Os::MacOs => home.join(".config/zed"),
                Os::Linux => environment.config().join("zed"),
            };
            vec![Place::in_folder(folder, "settings.json")]
        }
        Client::Codex => {
            let folder = environment.folder("CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
            vec![Place::in_folder(folder, "config.toml")]
        }
        Client::Gemini => {
            let base = environment.folder("GEMINI_CLI_HOME").unwrap_or_else(|| home.clone());
            vec![Place::in_folder(base.join(".gemini"), "settings.json")]
        }
        Client::Cline => cline(environment),
        Client::Goose => {
            let folder = match environment.os {
                Os::Windows => environment.app_data().join("Block").join("goose").join("config"),
                _ => environment.config().join("goose"),
            };
            vec![Place::in_folder(folder, "config.yaml")]
        }
        Client::OpenCode => {
            let folder = environment.config().join("opencode");
            vec![Place::new(either(&folder, "opencode.json", "opencode.jsonc"), folder)]
        }
    }
}

/// The store's version for Windows keeps its own copy of the folder.
fn claude_desktop(environment: &Environment) -> Vec<Place> {
    const FILE: &str = "claude_desktop_config.json";
    let mut places = vec![Place::in_folder(environment.app_data().join("Claude"), FILE)];
    if environment.os == Os::Windows {
        let package = environment.local_app_data().join("Packages").join("Claude_pzs8sxrjxfjjc");
        let folder = package.join("LocalCache").join("Roaming").join("Claude");
        places.push(Place::new(folder.join(FILE), package));
    }
    places
}

/// The settings folders of VS Code and its kin, VS Code first.
fn code_users(environment: &Environment) -> impl Iterator<Item = PathBuf> {
    let base = environment.app_data();
    ["Code", "Code - Insiders", "VSCodium"].into_iter().map(move |product| base.join(product).join("User"))
}

fn cline(environment: &Environment) -> Vec<Place> {
    const FILE: &str = "cline_mcp_settings.json";
    let mut places: Vec<_> = code_users(environment)
        .map(|user| user.join("globalStorage").join("saoudrizwan.claude-dev"))
        .map(|folder| Place::new(folder.join("settings").join(FILE), folder))
        .collect();
    let program = environment.home.join(".cline");
    let file = environment.folder("CLINE_MCP_SETTINGS_PATH").unwrap_or_else(|| program.join("data/settings").join(FILE));
    places.push(Place::new(file, program));
    places
}

/// The second file if it is there and the first is not.
fn either(folder: &Path, first: &str, second: &str) -> PathBuf {
    let (first, second) = (folder.join(first), folder.join(second));
    if !first.is_file() && second.is_file() { second } else { first }
}

/// The file in a project that the client reads.
pub(crate) fn project_file(client: Client, project: &Path) -> Result<PathBuf, ConnectError> {
    Ok(match client {
        Client::ClaudeCode | Client::Copilot => project.join(".mcp.json"),
        Client::Cursor => project.join(".cursor").join("mcp.json"),
        Client::VsCode => project.join(".vscode").join("mcp.json"),
        Client::Zed => project.join(".zed").join("settings.json"),
        Client::Codex => project.join(".codex").join("config.toml"),
        Client::Gemini => project.join(".gemini").join("settings.json"),
        Client::OpenCode => either(project, "opencode.json", "opencode.jsonc"),
        Client::Claude | Client::Windsurf | Client::Cline | Client::Goose => {
            return Err(ConnectError::NoProjectFile { client: client.title() });
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual(client: Client, environment: &Environment) -> String {
        let place = user_places(client, environment).remove(0);
        place.file.strip_prefix(&environment.home).unwrap().to_str().unwrap().replace('\\', "/")
    }

    #[test]
    fn the_usual_files_on_each_system() {
        for (client, linux, mac, windows) in [
            (
                Client::Claude,
                ".config/Claude/claude_desktop_config.json",
                "Library/Application Support/Claude/claude_desktop_config.json",
                "AppData/Roaming/Claude/claude_desktop_config.json",
            ),
            (Client::ClaudeCode, ".claude.json", ".claude.json", ".claude.json"),
            (Client::Cursor, ".cursor/mcp.json", ".cursor/mcp.json", ".cursor/mcp.json"),
            (
                Client::VsCode,
                ".config/Code/User/mcp.json",
                "Library/Application Support/Code/User/mcp.json",
                "AppData/Roaming/Code/User/mcp.json",
            ),
            (Client::Zed, ".config/zed/settings.json", ".config/zed/settings.json", "AppData/Roaming/Zed/settings.json"),
            (Client::Goose, ".config/goose/config.yaml", ".config/goose/config.yaml", "AppData/Roaming/Block/goose/config/config.yaml"),
            (Client::Codex, ".codex/config.toml", ".codex/config.toml", ".codex/config.toml"),
        ] {
            for (os, wanted) in [(Os::Linux, linux), (Os::MacOs, mac), (Os::Windows, windows)] {
                let home = tempfile::tempdir().unwrap();
                assert_eq!(usual(client, &Environment::of(os, home.path())), wanted, "{client} {os:?}");
            }
        }
    }

    #[test]
    fn variables_move_the_files() {
        let home = tempfile::tempdir().unwrap();
        let plain = Environment::of(Os::Linux, home.path());
        let place = |client, environment: &Environment| user_places(client, environment).remove(0).file;
        let moved = plain.clone().with("XDG_CONFIG_HOME", "/x").with("CODEX_HOME", "/c").with("COPILOT_HOME", "relative");
        assert_eq!(place(Client::Goose, &moved), Path::new("/x/goose/config.yaml"));
        assert_eq!(place(Client::Codex, &moved), Path::new("/c/config.toml"));
        assert_eq!(place(Client::Copilot, &moved), home.path().join(".copilot/mcp-config.json"));
    }

    #[test]
    fn every_variant_that_is_there_is_taken() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::of(Os::Windows, home.path());
        let package = home.path().join("AppData/Local/Packages/Claude_pzs8sxrjxfjjc");
        std::fs::create_dir_all(&package).unwrap();
        assert!(is_found(Client::Claude, &environment));
        assert!(user_places(Client::Claude, &environment)[0].file.starts_with(&package));
        std::fs::create_dir_all(home.path().join("AppData/Roaming/Claude")).unwrap();
        assert_eq!(user_places(Client::Claude, &environment).len(), 2);
        assert!(!is_found(Client::Cursor, &environment));
    }
}
