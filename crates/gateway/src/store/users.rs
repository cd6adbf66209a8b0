//! Users: name, Argon2id hash, whether superadmin, and the generation their token is derived from.

use std::collections::HashMap;

use super::{Store, is_duplicate, now_ms};
use crate::error::{GatewayError, Result};

/// Longest user name, in characters.
const NAME_MAX: usize = 64;

/// One row of `users`.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct User {
    /// Unique; see [`check_name`].
    pub name: String,
    /// PHC string of Argon2id.
    #[sqlx(rename = "password")]
    pub password_hash: String,
    /// 1 for those who administer and may not be a worker.
    pub superadmin: i64,
    /// Rises at every reset; the token is derived from it.
    pub generation: i64,
    /// When the user was added.
    pub created_ms: i64,
}

impl User {
    /// Superadmins administer; they take no tokens and are no executors.
    #[must_use]
    pub fn is_superadmin(&self) -> bool {
        self.superadmin != 0
    }
}

/// A name must survive as the left half of `user:hex`, as a folder name and in a log line.
///
/// # Errors
/// `Invalid` naming what is allowed.
pub(crate) fn check_name(kind: &str, name: &str) -> Result<()> {
    let fine = !name.is_empty()
        && name.chars().count() <= NAME_MAX
        && !name.starts_with('.')
        && name.chars().all(|c| c.is_alphanumeric() || "._-@".contains(c));
    if fine {
        return Ok(());
    }
    Err(GatewayError::Invalid(format!(
        "the {kind} name {name:?} is not usable: 1 to {NAME_MAX} letters, digits, '.', '_', '-' or '@', not beginning with '.'"
    )))
}

impl Store {
    /// Adds a user.
    ///
    /// # Errors
    /// `Invalid` for an unusable name, `Exists`, or `Database`.
    pub async fn add_user(&self, name: &str, password_hash: &str, superadmin: bool) -> Result<()> {
        check_name("user", name)?;
        // The first generation is drawn, so that a user who is removed and added again does not get the old token back.
        let generation = i64::from(rand::random::<u32>());
        let added = sqlx::query("INSERT INTO users (name, password, superadmin, generation, created_ms) VALUES ($1, $2, $3, $4, $5)")
            .bind(name)
            .bind(password_hash)
            .bind(i64::from(superadmin))
            .bind(generation)
            .bind(now_ms())
            .execute(&self.pool)
            .await;
        match added {
            Ok(_) => Ok(()),
            Err(error) if is_duplicate(&error) => Err(GatewayError::Exists { kind: "user", name: name.into() }),
            Err(error) => Err(error.into()),
        }
    }

    /// The user of that name, if any. What cannot be a name is not asked for: a database may refuse the text itself.
    ///
    /// # Errors
    /// `Database`.
    pub async fn user(&self, name: &str) -> Result<Option<User>> {
        if check_name("user", name).is_err() {
            return Ok(None);
        }
        Ok(sqlx::query_as("SELECT name, password, superadmin, generation, created_ms FROM users WHERE name = $1")
            .bind(name)
            .fetch_optional(&self.pool)
            .await?)
    }

    /// All users by name.
    ///
    /// # Errors
    /// `Database`.
    pub async fn users(&self) -> Result<Vec<User>> {
        Ok(sqlx::query_as("SELECT name, password, superadmin, generation, created_ms FROM users ORDER BY name")
            .fetch_all(&self.pool)
            .await?)
    }

    /// The token generations of all who may have a token, by name.
    ///
    /// # Errors
    /// `Database`.
    pub async fn generations(&self) -> Result<HashMap<String, i64>> {
        let rows: Vec<(String, i64)> =
            sqlx::query_as("SELECT name, generation FROM users WHERE superadmin = 0").fetch_all(&self.pool).await?;
        Ok(rows.into_iter().collect())
    }

    /// Removes a user with sessions, grants and cron entries.
    ///
    /// # Errors
    /// `Missing` or `Database`.
    pub async fn remove_user(&self, name: &str) -> Result<()> {
        let mut transaction = self.pool.begin().await?;
        let gone = sqlx::query("DELETE FROM users WHERE name = $1").bind(name).execute(&mut *transaction).await?;
        for sql in [
            "DELETE FROM sessions WHERE user_name = $1",
            "DELETE FROM grants WHERE user_name = $1",
            "DELETE FROM cron WHERE user_name = $1",
        ] {
            sqlx::query(sql).bind(name).execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        require(gone.rows_affected(), name)
    }

    /// Sets a new password and ends the user's sessions (the token stays: it is reset on its own).
    ///
    /// # Errors
    /// `Missing` or `Database`.
    pub async fn set_password(&self, name: &str, password_hash: &str) -> Result<()> {
        let done = sqlx::query("UPDATE users SET password = $2 WHERE name = $1").bind(name).bind(password_hash).execute(&self.pool).await?;
        require(done.rows_affected(), name)?;
        self.end_sessions_of(name).await
    }

    /// Makes the present token of `name` void; the next one derives from the new generation.
    ///
    /// # Errors
    /// `Missing` or `Database`.
    pub async fn raise_generation(&self, name: &str) -> Result<()> {
        let done = sqlx::query("UPDATE users SET generation = generation + 1 WHERE name = $1").bind(name).execute(&self.pool).await?;
        require(done.rows_affected(), name)
    }
}

fn require(rows: u64, name: &str) -> Result<()> {
    if rows == 0 {
        return Err(GatewayError::Missing { kind: "user", name: name.into() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::fresh;
    use super::*;

    #[tokio::test]
    async fn users_come_and_go() {
        let (store, _dir) = fresh().await;
        store.add_user("ana", "hash", false).await.unwrap();
        assert!(matches!(store.add_user("ana", "hash", false).await, Err(GatewayError::Exists { .. })));
        let first = store.user("ana").await.unwrap().unwrap();
        store.raise_generation("ana").await.unwrap();
        assert_eq!(store.user("ana").await.unwrap().unwrap().generation, first.generation + 1);
        store.remove_user("ana").await.unwrap();
        assert!(matches!(store.remove_user("ana").await, Err(GatewayError::Missing { .. })));
    }

    #[test]
    fn names_that_would_break_a_token_or_a_path_are_refused() {
        for bad in ["", "a:b", "../x", "a b", ".hidden", "a/b", "a\nb"] {
            assert!(check_name("user", bad).is_err(), "{bad:?}");
        }
        for good in ["ana", "ana.b@example.org", "李雷"] {
            assert!(check_name("user", good).is_ok(), "{good:?}");
        }
    }
}
