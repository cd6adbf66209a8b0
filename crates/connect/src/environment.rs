//! Where this person's files are. Injected, so that tests (and the tray's preview) work on throw-away homes and on the
//! path rules of every system.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Whose path rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Os {
    /// XDG folders.
    Linux,
    /// `~/Library/Application Support`.
    MacOs,
    /// `%APPDATA%`.
    Windows,
}

/// Home folder and environment variables.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Whose path rules apply.
    pub os: Os,
    /// The person's home folder.
    pub home: PathBuf,
    variables: BTreeMap<String, OsString>,
}

impl Environment {
    /// This process's own. `None` when there is no home folder.
    pub fn of_this_process() -> Option<Self> {
        let os = match std::env::consts::OS {
            "macos" => Os::MacOs,
            "windows" => Os::Windows,
            _ => Os::Linux,
        };
        let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
        Some(Self { os, home: std::env::home_dir().filter(|home| home.is_absolute())?, variables })
    }

    /// A home without any variables.
    pub fn of(os: Os, home: impl Into<PathBuf>) -> Self {
        Self { os, home: home.into(), variables: BTreeMap::new() }
    }

    /// The same with a variable set.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    /// A variable that names an absolute folder; others are ignored, as the XDG rules ask.
    pub(crate) fn folder(&self, name: &str) -> Option<PathBuf> {
        self.variables.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// `$XDG_CONFIG_HOME` or `~/.config`, on every system (some programs use it everywhere).
    pub(crate) fn config(&self) -> PathBuf {
        self.folder("XDG_CONFIG_HOME").unwrap_or_else(|| self.home.join(".config"))
    }

    /// Where programs keep settings on this system: XDG, `Application Support` or `%APPDATA%`.
    pub(crate) fn app_data(&self) -> PathBuf {
        match self.os {
            Os::Linux => self.config(),
            Os::MacOs => self.home.join("Library/Application Support"),
            Os::Windows => self.folder("APPDATA").unwrap_or_else(|| self.home.join("AppData").join("Roaming")),
        }
    }

    /// `%LOCALAPPDATA%`.
    pub(crate) fn local_app_data(&self) -> PathBuf {
        self.folder("LOCALAPPDATA").unwrap_or_else(|| self.home.join("AppData").join("Local"))
    }

    /// Whether a program with this name is on the search path.
    pub(crate) fn has_program(&self, name: &str) -> bool {
        let endings: &[&str] = if self.os == Os::Windows { &[".exe", ".cmd", ".ps1"] } else { &[""] };
        let search = self.variables.get("PATH").cloned().unwrap_or_default();
        let folders: Vec<_> = std::env::split_paths(&search).collect();
        folders
            .iter()
            .filter(|folder| folder.is_absolute())
            .any(|folder| endings.iter().any(|ending| is_program(&folder.join(format!("{name}{ending}")))))
    }
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
