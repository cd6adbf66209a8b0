//! What the person should know of a folder before agents may use it.

use serde::Serialize;
use std::path::{Component, Path};

/// Why a folder is worth a second thought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    /// It is not there (any more).
    Missing,
    /// It is the root of everything.
    Root,
    /// It is a home folder, or holds home folders.
    Home,
    /// Keys, passwords or browser profiles are kept in it, or below it.
    Secrets,
    /// It belongs to the system.
    System,
}

/// Where keys and passwords are kept, below a home folder.
const SECRETS: [&str; 17] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".mozilla",
    ".thunderbird",
    ".config",
    ".local/share",
    ".local",
    ".netrc",
    ".npmrc",
    "Library/Keychains",
    "Library/Application Support",
    "AppData",
];

/// Folders of the system.
const SYSTEM: [&str; 13] = ["/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/dev", "/proc", "/sys", "/var", "/run", "/root"];

/// Looks at a folder. `home` is the person's own; `state` is Deskhand's, which stays closed to agents in any case.
#[must_use]
pub fn examine(path: &Path, home: Option<&Path>, state: &Path) -> Option<Warning> {
    let Ok(real) = path.canonicalize() else { return Some(Warning::Missing) };
    if !real.is_dir() {
        return Some(Warning::Missing);
    }
    let home = home.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
    let state = state.canonicalize().unwrap_or_else(|_| state.to_owned());
    judge(&real, home.as_deref(), &state)
}

fn judge(real: &Path, home: Option<&Path>, state: &Path) -> Option<Warning> {
    if !real.components().any(|part| matches!(part, Component::Normal(_))) {
        return Some(Warning::Root);
    }
    if let Some(home) = home {
        if SECRETS.iter().any(|name| real.starts_with(home.join(name))) || real.starts_with(state) {
            return Some(Warning::Secrets);
        }
        if home.starts_with(real) {
            return Some(Warning::Home);
        }
        if real.starts_with(home) {
            return None;
        }
    }
    if real == Path::new("/home") || real == Path::new("/Users") || real.parent() == Some(Path::new("/home")) {
        return Some(Warning::Home);
    }
    SYSTEM.iter().any(|place| real.starts_with(place)).then_some(Warning::System)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_keys_and_system_are_warned_of_and_a_plain_folder_is_not() {
        let of = |path: &str| judge(Path::new(path), Some(Path::new("/home/ann")), Path::new("/home/ann/.local/state/deskhand"));
        assert_eq!(of("/"), Some(Warning::Root));
        assert_eq!(of("/home"), Some(Warning::Home));
        assert_eq!(of("/home/ann"), Some(Warning::Home));
        assert_eq!(of("/home/bob"), Some(Warning::Home));
        assert_eq!(of("/home/ann/.ssh"), Some(Warning::Secrets));
        assert_eq!(of("/home/ann/.config/chromium/Default"), Some(Warning::Secrets));
        assert_eq!(of("/home/ann/.local/state/deskhand/clients"), Some(Warning::Secrets));
        assert_eq!(of("/etc/ssl"), Some(Warning::System));
        assert_eq!(of("/home/ann/shared"), None);
        assert_eq!(of("/srv/data"), None);
    }

    #[test]
    fn a_folder_that_is_not_there_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(examine(&dir.path().join("gone"), None, Path::new("/none")), Some(Warning::Missing));
        std::fs::write(dir.path().join("file"), "").unwrap();
        assert_eq!(examine(&dir.path().join("file"), None, Path::new("/none")), Some(Warning::Missing));
    }
}
