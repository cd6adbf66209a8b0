//! Cron entries. The next time is stored, so an entry survives a restart; one that was due meanwhile fires once.

use super::{Store, now_ms};
use crate::error::Result;

/// One entry.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct CronRow {
    /// Random, 128 bits, hex.
    pub id: String,
    /// Whose it is.
    pub user_name: String,
    /// As given: `cron …`, `every …` or `at …`.
    pub schedule: String,
    /// What to tell the agent.
    pub prompt: String,
    /// When it was made.
    pub created_ms: i64,
    /// When it fires next.
    pub next_ms: i64,
    /// When it fired last; 0 if never.
    pub last_ms: i64,
    /// What came of it, in words; empty if it never fired.
    pub last_result: String,
}

const COLUMNS: &str = "id, user_name, schedule, prompt, created_ms, next_ms, last_ms, last_result";

impl Store {
    /// Stores an entry and returns its id.
    ///
    /// # Errors
    /// `Database`.
    pub async fn add_cron(&self, user: &str, schedule: &str, prompt: &str, next_ms: i64) -> Result<String> {
        let id = hex::encode(rand::random::<[u8; 16]>());
        sqlx::query(
            "INSERT INTO cron (id, user_name, schedule, prompt, created_ms, next_ms, last_ms, last_result) \
             VALUES ($1, $2, $3, $4, $5, $6, 0, '')",
        )
        .bind(&id)
        .bind(user)
        .bind(schedule)
        .bind(prompt)
        .bind(now_ms())
        .bind(next_ms)
        .execute(&self.pool)
        .await?;
        Ok(id)
    }

    /// The user's entries, oldest first.
    ///
    /// # Errors
    /// `Database`.
    pub async fn cron_of(&self, user: &str) -> Result<Vec<CronRow>> {
        let sql = sqlx::AssertSqlSafe(format!("SELECT {COLUMNS} FROM cron WHERE user_name = $1 ORDER BY created_ms, id"));
        Ok(sqlx::query_as(sql).bind(user).fetch_all(&self.pool).await?)
    }

    /// Entries that are due at `now`.
    ///
    /// # Errors
    /// `Database`.
    pub async fn cron_due(&self, now: i64) -> Result<Vec<CronRow>> {
        let sql = sqlx::AssertSqlSafe(format!("SELECT {COLUMNS} FROM cron WHERE next_ms <= $1 ORDER BY next_ms LIMIT 100"));
        Ok(sqlx::query_as(sql).bind(now).fetch_all(&self.pool).await?)
    }

    /// The earliest next time of all entries.
    ///
    /// # Errors
    /// `Database`.
    pub async fn cron_next(&self) -> Result<Option<i64>> {
        let row: Option<(i64,)> = sqlx::query_as("SELECT next_ms FROM cron ORDER BY next_ms LIMIT 1").fetch_optional(&self.pool).await?;
        Ok(row.map(|row| row.0))
    }

    /// Moves an entry on before it fires, so that a crash while firing loses one run rather than repeating it; false
    /// when another process took it first or it was deleted.
    ///
    /// # Errors
    /// `Database`.
    pub async fn take_cron(&self, row: &CronRow, next_ms: i64) -> Result<bool> {
        let done = sqlx::query("UPDATE cron SET next_ms = $3, last_ms = $4 WHERE id = $1 AND next_ms = $2")
            .bind(&row.id)
            .bind(row.next_ms)
            .bind(next_ms)
            .bind(now_ms())
            .execute(&self.pool)
            .await?;
        Ok(done.rows_affected() == 1)
    }

    /// Notes what came of a firing.
    ///
    /// # Errors
    /// `Database`.
    pub async fn note_cron(&self, id: &str, result: &str) -> Result<()> {
        sqlx::query("UPDATE cron SET last_result = $2 WHERE id = $1").bind(id).bind(result).execute(&self.pool).await?;
        Ok(())
    }

    /// Deletes an entry of `user`; false when there is none.
    ///
    /// # Errors
    /// `Database`.
    pub async fn delete_cron(&self, user: &str, id: &str) -> Result<bool> {
        let done = sqlx::query("DELETE FROM cron WHERE id = $1 AND user_name = $2").bind(id).bind(user).execute(&self.pool).await?;
        Ok(done.rows_affected() == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fresh;

    #[tokio::test]
    async fn an_entry_is_taken_once() {
        let (store, _dir) = fresh().await;
        let id = store.add_cron("ana", "every 60000", "look", 1_000).await.unwrap();
        assert_eq!(store.cron_next().await.unwrap(), Some(1_000));
        let row = store.cron_due(2_000).await.unwrap().remove(0);
        assert!(store.take_cron(&row, 61_000).await.unwrap());
        assert!(!store.take_cron(&row, 61_000).await.unwrap(), "a second taker loses");
        store.note_cron(&id, "delivered").await.unwrap();
        assert_eq!(store.cron_of("ana").await.unwrap()[0].last_result, "delivered");
        assert!(!store.delete_cron("bob", &id).await.unwrap(), "not his");
        assert!(store.delete_cron("ana", &id).await.unwrap());
    }
}
