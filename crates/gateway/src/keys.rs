//! The server key, and the tokens derived from it.
//!
//! A token is `user:HMAC-SHA256(key, user, generation)`. It can be shown again at any time and is stored nowhere; a
//! stolen database alone opens nothing, because the key lies in a file of its own. A reset raises the generation.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use crate::error::{GatewayError, Result};

/// Bytes of the server key.
const KEY_BYTES: usize = 32;

/// The secret that tokens derive from. Never printed: `Debug` says nothing.
#[derive(Clone)]
pub struct ServerKey([u8; KEY_BYTES]);

impl std::fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerKey(..)")
    }
}

impl ServerKey {
    /// Reads the key at `path`, or draws one and writes it with mode 0600.
    ///
    /// # Errors
    /// `File` when it cannot be read or made; `Invalid` when it is not a key or others could read it.
    pub fn load(path: &Path) -> Result<Self> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(path, &text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                    private_folder(folder)?;
                }
                let key = rand::random::<[u8; KEY_BYTES]>();
                match private_file(path, hex::encode(key).as_bytes()) {
                    Ok(()) => Ok(Self(key)),
                    // Another process drew one at the same moment: that one holds.
                    Err(GatewayError::File { source, .. }) if source.kind() == std::io::ErrorKind::AlreadyExists => {
                        let text = std::fs::read_to_string(path).map_err(GatewayError::file("cannot read the server key", path))?;
                        Self::parse(path, &text)
                    }
                    Err(error) => Err(error),
                }
            }
            Err(error) => Err(GatewayError::file("cannot read the server key", path)(error)),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self> {
        let mode = std::fs::metadata(path).map_err(GatewayError::file("cannot read the server key", path))?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(GatewayError::Invalid(format!(
                "the server key {} can be read by others (mode {:o}); run `chmod 600` on it, and `deskhand gateway token reset` if they may have",
                path.display(),
                mode & 0o777
            )));
        }
        let mut key = [0; KEY_BYTES];
        hex::decode_to_slice(text.trim(), &mut key).map_err(|_| {
            GatewayError::Invalid(format!(
                "{} is not a server key (64 hex digits); restore it, or remove it and all tokens change",
                path.display()
            ))
        })?;
        Ok(Self(key))
    }

    fn digest(&self, user: &str, generation: i64) -> [u8; 32] {
        // A key of any length is accepted by HMAC, so the error cannot be; an all-zero digest would match nothing.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return [0; 32] };
        mac.update(b"deskhand token\0");
        mac.update(user.as_bytes());
        mac.update(&[0]);
        mac.update(&generation.to_be_bytes());
        mac.finalize().into_bytes().into()
    }

    /// The token of `user` in `generation`.
    #[must_use]
    pub fn token(&self, user: &str, generation: i64) -> String {
        format!("{user}:{}", hex::encode(self.digest(user, generation)))
    }

    /// Whether `token` is that of `user` in `generation`, in constant time.
    #[must_use]
    pub fn accepts(&self, token: &str, user: &str, generation: i64) -> bool {
        self.token(user, generation).as_bytes().ct_eq(token.as_bytes()).into()
    }
}

/// The user a token claims to be of.
#[must_use]
pub(crate) fn claimed_user(token: &str) -> Option<&str> {
    token.split_once(':').map(|(user, _)| user).filter(|user| !user.is_empty())
}

/// Makes a folder (and its parents) that only we can enter; leaves an existing one as it is.
pub(crate) fn private_folder(path: &Path) -> Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(GatewayError::file("cannot make the folder", path))
}

/// Writes a new file with mode 0600; fails if it is there.
pub(crate) fn private_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(GatewayError::file("cannot make the file", path))?;
    file.write_all(bytes).map_err(GatewayError::file("cannot write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_stable_until_its_generation_rises() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/gateway.key");
        let key = ServerKey::load(&path).unwrap();
        let token = key.token("ana", 7);
        assert_eq!(ServerKey::load(&path).unwrap().token("ana", 7), token, "stable across restarts");
        assert!(key.accepts(&token, "ana", 7));
        assert!(!key.accepts(&token, "ana", 8));
        assert!(!key.accepts(&token, "bob", 7));
        assert_eq!(claimed_user(&token), Some("ana"));
        assert_eq!(claimed_user(":ff"), None);
        assert!(!format!("{key:?}").contains(&token[4..12]));
    }

    #[test]
    fn a_key_that_others_can_read_or_that_is_none_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gateway.key");
        ServerKey::load(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(ServerKey::load(&path).unwrap_err().to_string().contains("chmod 600"));
        let other = dir.path().join("other.key");
        private_file(&other, b"not hex").unwrap();
        assert!(ServerKey::load(&other).unwrap_err().to_string().contains("not a server key"));
    }
}
