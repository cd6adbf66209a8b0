//! The account that is signed in: which gateway, which user, which own CA. The token is kept apart.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::error::{ExecutorError, Result};
use crate::secret::write_private;

/// A signed-in account, as `STATE/gateway.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Address of the gateway.
    pub server: String,
    /// The user there.
    pub user: String,
    /// PEM of certificates trusted beside the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// Drawn at each sign-in, so that a running worker notices a new one.
    #[serde(default)]
    pub signed_in: String,
}

/// Where the account is kept.
#[must_use]
pub(crate) fn path(state_dir: &Path) -> PathBuf {
    state_dir.join("gateway.json")
}

impl Account {
    /// The account that is signed in, if any.
    ///
    /// # Errors
    /// `File` when it is there and cannot be read.
    pub fn load(state_dir: &Path) -> Result<Option<Self>> {
        let path = path(state_dir);
        let failed = |source| ExecutorError::File { what: "cannot read", path: path.clone(), source };
        match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| failed(std::io::Error::new(std::io::ErrorKind::InvalidData, error))),
        }
    }

    /// Keeps it.
    ///
    /// # Errors
    /// `File`.
    pub fn save(&self, state_dir: &Path) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).unwrap_or_default();
        write_private(&path(state_dir), &text)
    }

    /// Forgets it; fine when there is none.
    ///
    /// # Errors
    /// `File`.
    pub fn remove(state_dir: &Path) -> Result<()> {
        let path = path(state_dir);
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(ExecutorError::File { what: "cannot remove", path, source })
            }
            _ => Ok(()),
        }
    }

    /// The address.
    ///
    /// # Errors
    /// `Address`.
    pub fn address(&self) -> Result<Address> {
        Address::parse(&self.server)
    }

    /// Under which name the token is kept.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{} {}", self.server, self.user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_kept_without_secrets_and_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Account::load(dir.path()).unwrap(), None);
        let account = Account { server: "https://x".into(), user: "ana".into(), ca: None, signed_in: "1".into() };
        account.save(dir.path()).unwrap();
        assert_eq!(Account::load(dir.path()).unwrap(), Some(account));
        Account::remove(dir.path()).unwrap();
        Account::remove(dir.path()).unwrap();
        assert_eq!(Account::load(dir.path()).unwrap(), None);
        std::fs::write(path(dir.path()), "{").unwrap();
        assert!(Account::load(dir.path()).is_err());
    }
}
