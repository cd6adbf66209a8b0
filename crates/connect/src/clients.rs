//! The tokens of connected clients: one file each, `STATE/clients/NAME`, readable by the person only.
//!
//! The worker reads this folder while it runs, so a token counts from the moment it is written and no longer than its
//! file is there.

use crate::ConnectError;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Makes sure that the client has a token. Answers the file it is in and whether it was made now.
///
/// # Errors
/// [`ConnectError::Name`] for a name that is no file name; [`ConnectError::Io`].
pub fn create(state: &Path, name: &str) -> Result<(PathBuf, bool), ConnectError> {
    let path = file(state, name)?;
    private_folder(&path)?;
    let token: [u8; 32] = rand::random();
    let token: String = token.iter().map(|byte| format!("{byte:02x}")).collect();
    // Never replaced: a client that is running keeps its token when it is connected once more.
    match private_file(&path) {
        Ok(mut file) => {
            let written = file.write_all(token.as_bytes()).and_then(|()| file.sync_all());
            written.map_err(|error| {
                let _ = fs::remove_file(&path);
                ConnectError::Io { path: path.clone(), source: error }
            })?;
            Ok((path, true))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok((path, false)),
        Err(error) => Err(ConnectError::io(&path)(error)),
    }
}

/// The names of all clients that have a token, in order.
///
/// # Errors
/// [`ConnectError::Io`] when the folder is there but cannot be read.
pub fn list(state: &Path) -> Result<Vec<String>, ConnectError> {
    let folder = state.join("clients");
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(ConnectError::io(&folder))?,
    };
    let mut names: Vec<_> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| is_name(name)).collect();
    names.sort();
    Ok(names)
}

/// The token of a client, if it has one.
///
/// # Errors
/// [`ConnectError::Name`], [`ConnectError::Io`].
pub fn token(state: &Path, name: &str) -> Result<Option<String>, ConnectError> {
    let path = file(state, name)?;
    match fs::read_to_string(&path) {
        Ok(token) => Ok(Some(token.trim().to_owned()).filter(|token| !token.is_empty())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ConnectError::io(path)(error)),
    }
}

/// Takes a client's token away, at once. Answers whether there was one.
///
/// # Errors
/// [`ConnectError::Name`], [`ConnectError::Io`].
pub fn revoke(state: &Path, name: &str) -> Result<bool, ConnectError> {
    let path = file(state, name)?;
    match fs::remove_file(&path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(ConnectError::io(path)(error)),
    }
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_')
}

fn file(state: &Path, name: &str) -> Result<PathBuf, ConnectError> {
    if is_name(name) { Ok(state.join("clients").join(name)) } else { Err(ConnectError::Name { name: name.to_owned() }) }
}

fn private_folder(file: &Path) -> Result<(), ConnectError> {
    let Some(folder) = file.parent() else { return Ok(()) };
    crate::file::make_private_folder(folder).map_err(ConnectError::io(folder))
}

fn private_file(path: &Path) -> io::Result<fs::File> {
    let mut how = fs::OpenOptions::new();
    how.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut how, 0o600);
    how.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_and_revoked() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(list(state.path()).unwrap(), Vec::<String>::new());
        let (path, made) = create(state.path(), "cursor").unwrap();
        assert!(made);
        let first = token(state.path(), "cursor").unwrap().unwrap();
        assert_eq!(first.len(), 64);
        assert!(!create(state.path(), "cursor").unwrap().1);
        assert_eq!(token(state.path(), "cursor").unwrap().unwrap(), first);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        }
        create(state.path(), "claude-code").unwrap();
        assert_eq!(list(state.path()).unwrap(), ["claude-code", "cursor"]);
        assert!(revoke(state.path(), "cursor").unwrap());
        assert!(!revoke(state.path(), "cursor").unwrap());
        assert_eq!(token(state.path(), "cursor").unwrap(), None);
        create(state.path(), "cursor").unwrap();
        assert_ne!(token(state.path(), "cursor").unwrap().unwrap(), first, "{}", path.display());
    }

    #[test]
    fn a_name_is_never_a_path() {
        let state = tempfile::tempdir().unwrap();
        for name in ["", "..", "a/b", "../x", "A", "a b", "\0", &"x".repeat(65)] {
            assert!(matches!(create(state.path(), name), Err(ConnectError::Name { .. })), "{name:?}");
            assert!(matches!(revoke(state.path(), name), Err(ConnectError::Name { .. })), "{name:?}");
        }
    }
}
