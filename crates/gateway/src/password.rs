//! Passwords: Argon2id, off the async threads, few at a time (each takes 19 MiB and some 20 ms).

use std::sync::LazyLock;

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash};
use tokio::sync::Semaphore;

use crate::error::{GatewayError, Result};

/// Shortest password that `user add` takes, in characters.
pub(crate) const SHORTEST: usize = 8;
/// Longest, in bytes: hashing must not become a way to burn the processor.
pub(crate) const LONGEST: usize = 1024;

static AT_ONCE: Semaphore = Semaphore::const_new(4);

/// Hashes a new password into a PHC string.
///
/// # Errors
/// `Invalid` when too short or too long; `Password` when hashing fails.
pub async fn hash(password: String) -> Result<String> {
    if password.chars().count() < SHORTEST || password.len() > LONGEST {
        return Err(GatewayError::Invalid(format!("a password has {SHORTEST} characters at least and {LONGEST} bytes at most")));
    }
    blocking(move || {
        Argon2::default()
            .hash_password(password.as_bytes())
            .map(|hash| hash.to_string())
            .map_err(|error| GatewayError::Password(error.to_string()))
    })
    .await
}

/// Whether `password` matches `hash`; without a hash (no such user) the same work is done, so that the time tells
/// nothing about which names exist.
///
/// # Errors
/// `Password` when the stored hash cannot be read.
pub(crate) async fn verify(password: String, hash: Option<String>) -> Result<bool> {
    /// A hash of a random password, made once.
    static NOBODY: LazyLock<Option<String>> = LazyLock::new(|| {
        let drawn = hex::encode(rand::random::<[u8; 16]>());
        Argon2::default().hash_password(drawn.as_bytes()).ok().map(|hash| hash.to_string())
    });
    if password.len() > LONGEST {
        return Ok(false);
    }
    blocking(move || {
        let known = hash.is_some();
        let Some(text) = hash.or_else(|| NOBODY.clone()) else { return Ok(false) };
        let stored = PasswordHash::new(&text).map_err(|error| GatewayError::Password(error.to_string()))?;
        Ok(Argon2::default().verify_password(password.as_bytes(), &stored).is_ok() && known)
    })
    .await
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let _turn = AT_ONCE.acquire().await;
    tokio::task::spawn_blocking(work).await.map_err(|error| GatewayError::Password(error.to_string()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn argon2id_and_nothing_else() {
        let stored = hash("correct horse".into()).await.unwrap();
        assert!(stored.starts_with("$argon2id$"), "{stored}");
        assert!(verify("correct horse".into(), Some(stored.clone())).await.unwrap());
        assert!(!verify("wrong".into(), Some(stored)).await.unwrap());
        assert!(!verify("anything".into(), None).await.unwrap());
        assert!(hash("short".into()).await.is_err());
    }
}
