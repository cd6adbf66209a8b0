//! Everything the gateway keeps: users, sessions, third-party servers, grants, shared folders, cron.
//!
//! One code for SQLite (the default, WAL) and PostgreSQL, through sqlx's `Any` driver: the SQL is the part both speak
//! (`$1` placeholders, TEXT and BIGINT, `ON CONFLICT`), so there is nothing to keep in step.

mod cron;
mod folders;
mod servers;
mod sessions;
mod users;

use std::path::Path;
use std::time::Duration;

use sqlx::Executor;
use sqlx::any::AnyPoolOptions;

pub(crate) use cron::CronRow;
pub use folders::Folder;
pub(crate) use servers::ServerRow;
pub(crate) use users::{User, check_name};

use crate::error::{GatewayError, Result};

/// The open database. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    pool: sqlx::AnyPool,
}

impl Store {
    /// Opens (and for SQLite creates) the database at `url` and brings its schema up to date.
    ///
    /// # Errors
    /// When the URL names neither SQLite nor PostgreSQL, or the database cannot be reached or migrated.
    pub async fn open(url: &str) -> Result<Self> {
        sqlx::any::install_default_drivers();
        let sqlite = url.starts_with("sqlite:");
        if !sqlite && !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(GatewayError::Invalid("--database must begin with sqlite:// or postgres://".into()));
        }
        let url = if sqlite { prepare_sqlite(url)? } else { url.to_owned() };
        let options = AnyPoolOptions::new()
            .max_connections(if sqlite { 4 } else { 8 })
            .acquire_timeout(Duration::from_secs(10))
            .after_connect(move |connection, _| {
                Box::pin(async move {
                    if sqlite {
                        connection.execute("PRAGMA journal_mode=WAL").await?;
                        connection.execute("PRAGMA synchronous=NORMAL").await?;
                        connection.execute("PRAGMA busy_timeout=10000").await?;
                    }
                    Ok(())
                })
            });
        let pool = options.connect(&url).await?;
        sqlx::migrate!("./migrations").run(&pool).await?;
        Ok(Self { pool })
    }

    /// Waits for open statements and closes.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// One round trip, for `/health`.
    pub(crate) async fn ping(&self) -> Result<()> {
        self.pool.execute("SELECT 1").await?;
        Ok(())
    }
}

/// Makes the file, readable by nobody else (password hashes are in it), before sqlx opens it; asks sqlx to create
/// what is missing.
fn prepare_sqlite(url: &str) -> Result<String> {
    let path = url.strip_prefix("sqlite:").unwrap_or(url);
    let path = path.strip_prefix("//").unwrap_or(path);
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    if path.is_empty() || path == ":memory:" {
        return Err(GatewayError::Invalid("--database sqlite:// needs a file path, e.g. sqlite:///var/lib/deskhand/gateway.db".into()));
    }
    let file = Path::new(path);
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        crate::keys::private_folder(folder)?;
    }
    if !file.exists() {
        crate::keys::private_file(file, &[])?;
    }
    Ok(if query.contains("mode=") { url.to_owned() } else { format!("sqlite://{path}?mode=rwc") })
}

/// Now, in Unix milliseconds.
#[must_use]
pub(crate) fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// True for the violation of a primary key, which means "it is there already".
pub(crate) fn is_duplicate(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) async fn fresh() -> (Store, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", dir.path().join("deep/gateway.db").display());
        (Store::open(&url).await.unwrap(), dir)
    }

    #[tokio::test]
    async fn the_file_is_private_and_in_wal_mode_and_opens_twice() {
        use std::os::unix::fs::PermissionsExt;
        let (store, dir) = fresh().await;
        let path = dir.path().join("deep/gateway.db");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let mode: (String,) = sqlx::query_as("PRAGMA journal_mode").fetch_one(&store.pool).await.unwrap();
        assert_eq!(mode.0, "wal");
        let again = Store::open(&format!("sqlite://{}", path.display())).await.unwrap();
        again.ping().await.unwrap();
    }

    #[tokio::test]
    async fn other_schemes_are_refused_in_words() {
        let error = Store::open("mysql://x/y").await.unwrap_err().to_string();
        assert!(error.contains("sqlite:// or postgres://"), "{error}");
    }
}
