//! Where the token lives: the system's keyring, or a file with mode 0600 where there is none.

use std::fmt;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{ExecutorError, Result};

/// The keyring's service name.
const SERVICE: &str = "deskhand-gateway";
/// A keyring that asks the person for its password may take this long.
const KEYRING_WITHIN: Duration = Duration::from_secs(30);

/// A token. `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token as the gateway gave it.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into().trim().to_owned())
    }

    /// Reads a token file, e.g. of `--gateway-token-file`.
    ///
    /// # Errors
    /// `File` when it cannot be read or is empty.
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |source| ExecutorError::File { what: "cannot read the gateway token in", path: path.to_owned(), source };
        let token = Self::new(std::fs::read_to_string(path).map_err(failed)?);
        if token.0.is_empty() {
            return Err(failed(std::io::Error::new(std::io::ErrorKind::InvalidData, "it is empty")));
        }
        Ok(token)
    }

    /// The text, for the Authorization header only.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The user it names.
    #[must_use]
    pub fn user(&self) -> &str {
        self.0.split_once(':').map_or("", |(user, _)| user)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Where a token was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// In the system's keyring.
    Keyring,
    /// In a file of the state folder.
    File,
}

/// Keeps one token per account.
#[derive(Clone, Debug)]
pub struct Vault {
    file: PathBuf,
    keyring: bool,
}

impl Vault {
    /// In the keyring, or below `state_dir`.
    #[must_use]
    pub fn new(state_dir: &Path) -> Self {
        Self { file: state_dir.join("gateway-token"), keyring: true }
    }

    /// Never in the keyring: for tests and headless machines that ask for it.
    #[must_use]
    pub fn in_file(state_dir: &Path) -> Self {
        Self { keyring: false, ..Self::new(state_dir) }
    }

    /// Keeps `token` for `account`, where it replaces an older one.
    ///
    /// # Errors
    /// `File` when neither place takes it.
    pub async fn put(&self, account: &str, token: &Token) -> Result<Kept> {
        if self.keyring {
            let text = token.0.clone();
            match with_keyring(account, move |entry| entry.set_password(&text)).await {
                Ok(()) => {
                    // An older token must not stay behind in the other place.
                    let _absent = std::fs::remove_file(&self.file);
                    return Ok(Kept::Keyring);
                }
                Err(why) => tracing::warn!(%why, "no keyring takes the gateway token; it is kept in a private file"),
            }
        }
        write_private(&self.file, token.0.as_bytes())?;
        Ok(Kept::File)
    }

    /// The token of `account`, if one is kept.
    ///
    /// # Errors
    /// `File` when the file is there and cannot be read; `Keyring` when there is none and the keyring did not answer.
    pub async fn get(&self, account: &str) -> Result<Option<Token>> {
        match std::fs::read_to_string(&self.file) {
            Ok(text) => return Ok(Some(Token::new(text)).filter(|token| !token.0.is_empty())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(ExecutorError::File { what: "cannot read", path: self.file.clone(), source }),
        }
        if !self.keyring {
            return Ok(None);
        }
        match with_keyring(account, |entry| entry.get_password()).await {
            Ok(text) => Ok(Some(Token::new(text))),
            Err(Failure::Absent) => Ok(None),
            Err(failure) => Err(ExecutorError::Keyring(failure.to_string())),
        }
    }

    /// Removes the token of `account` from both places.
    ///
    /// # Errors
    /// When it is in a place that does not let go of it.
    pub async fn remove(&self, account: &str) -> Result<()> {
        match std::fs::remove_file(&self.file) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(ExecutorError::File { what: "cannot remove", path: self.file.clone(), source });
            }
            removed => {
                if removed.is_ok() || !self.keyring {
                    return Ok(());
                }
            }
        }
        match with_keyring(account, |entry| entry.delete_credential()).await {
            Ok(()) | Err(Failure::Absent | Failure::NoKeyring(_)) => Ok(()),
            Err(failure) => Err(ExecutorError::Keyring(failure.to_string())),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("nothing is kept")]
    Absent,
    #[error("there is none ({0})")]
    NoKeyring(String),
    #[error("{0}")]
    Other(String),
}

/// Runs a keyring operation on a thread of its own: it may block while the person types a password.
async fn with_keyring<T: Send + 'static>(
    account: &str,
    work: impl FnOnce(&keyring::Entry) -> keyring::Result<T> + Send + 'static,
) -> std::result::Result<T, Failure> {
    let account = account.to_owned();
    let run = move || {
        if let Err(error) = keyring::Entry::store_status() {
            return Err(Failure::NoKeyring(error.to_string()));
        }
        let entry = keyring::Entry::new(SERVICE, &account).map_err(|error| Failure::NoKeyring(error.to_string()))?;
        work(&entry).map_err(|error| match error {
            keyring::Error::NoEntry => Failure::Absent,
            keyring::Error::NoDefaultStore | keyring::Error::NoStorageAccess(_) => Failure::NoKeyring(error.to_string()),
            other => Failure::Other(other.to_string()),
        })
    };
    match tokio::time::timeout(KEYRING_WITHIN, tokio::task::spawn_blocking(run)).await {
        Ok(Ok(result)) => result,
        Ok(Err(error)) => Err(Failure::Other(error.to_string())),
        Err(_) => Err(Failure::Other(format!("it did not answer within {} s", KEYRING_WITHIN.as_secs()))),
    }
}

/// Writes a file whole or not at all, readable by nobody else.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |source| ExecutorError::File { what: "cannot write", path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let part = path.with_extension(format!("part{}", std::process::id()));
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part).map_err(failed)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    std::fs::rename(&part, path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_keeps_it_private_and_lets_go() {
        let dir = tempfile::tempdir().unwrap();
        let vault = Vault::in_file(dir.path());
        assert_eq!(vault.get("a").await.unwrap(), None);
        assert_eq!(vault.put("a", &Token::new("ana:ff\n")).await.unwrap(), Kept::File);
        let mode = std::fs::metadata(dir.path().join("gateway-token")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let token = vault.get("a").await.unwrap().unwrap();
        assert_eq!((token.text(), token.user()), ("ana:ff", "ana"));
        assert_eq!(format!("{token:?}"), "Token(..)");
        vault.remove("a").await.unwrap();
        vault.remove("a").await.unwrap();
        assert_eq!(vault.get("a").await.unwrap(), None);
    }
}
