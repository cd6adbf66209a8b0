//! Browser sessions of the status page and of the sign-in. Only the digest of the cookie is stored, so a stolen
//! database opens no session.

use sha2::{Digest, Sha256};

use super::{Store, now_ms};
use crate::error::Result;

fn digest(cookie: &str) -> String {
    hex::encode(Sha256::digest(cookie.as_bytes()))
}

impl Store {
    /// Starts a session of `lifetime_ms` and returns the cookie's value (256 random bits, hex). A user keeps at most
    /// `most` sessions; the oldest leave.
    ///
    /// # Errors
    /// `Database`.
    pub async fn start_session(&self, user: &str, lifetime_ms: i64, most: i64) -> Result<String> {
        let cookie = hex::encode(rand::random::<[u8; 32]>());
        let now = now_ms();
        sqlx::query("DELETE FROM sessions WHERE expires_ms < $1").bind(now).execute(&self.pool).await?;
        sqlx::query("INSERT INTO sessions (digest, user_name, expires_ms) VALUES ($1, $2, $3)")
            .bind(digest(&cookie))
            .bind(user)
            .bind(now.saturating_add(lifetime_ms))
            .execute(&self.pool)
            .await?;
        sqlx::query(
            "DELETE FROM sessions WHERE user_name = $1 AND digest NOT IN \
             (SELECT digest FROM sessions WHERE user_name = $1 ORDER BY expires_ms DESC LIMIT $2)",
        )
        .bind(user)
        .bind(most)
        .execute(&self.pool)
        .await?;
        Ok(cookie)
    }

    /// Whose session the cookie is, while it lasts.
    ///
    /// # Errors
    /// `Database`.
    pub async fn session_user(&self, cookie: &str) -> Result<Option<String>> {
        let row: Option<(String,)> = sqlx::query_as("SELECT user_name FROM sessions WHERE digest = $1 AND expires_ms >= $2")
            .bind(digest(cookie))
            .bind(now_ms())
            .fetch_optional(&self.pool)
            .await?;
        Ok(row.map(|row| row.0))
    }

    /// Ends one session.
    ///
    /// # Errors
    /// `Database`.
    pub async fn end_session(&self, cookie: &str) -> Result<()> {
        sqlx::query("DELETE FROM sessions WHERE digest = $1").bind(digest(cookie)).execute(&self.pool).await?;
        Ok(())
    }

    /// Ends all sessions of a user.
    ///
    /// # Errors
    /// `Database`.
    pub async fn end_sessions_of(&self, user: &str) -> Result<()> {
        sqlx::query("DELETE FROM sessions WHERE user_name = $1").bind(user).execute(&self.pool).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fresh;

    #[tokio::test]
    async fn sessions_end_and_are_few() {
        let (store, _dir) = fresh().await;
        let old = store.start_session("ana", 1_000, 2).await.unwrap();
        let one = store.start_session("ana", 60_000, 2).await.unwrap();
        let two = store.start_session("ana", 70_000, 2).await.unwrap();
        assert_eq!(store.session_user(&old).await.unwrap(), None, "the oldest leaves");
        assert_eq!(store.session_user(&one).await.unwrap().as_deref(), Some("ana"));
        store.end_session(&two).await.unwrap();
        assert_eq!(store.session_user(&two).await.unwrap(), None);
        let gone = store.start_session("bob", -1, 2).await.unwrap();
        assert_eq!(store.session_user(&gone).await.unwrap(), None, "expired");
    }
}
