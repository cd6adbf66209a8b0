//! Third-party MCP servers and who may use them.

use super::{Store, is_duplicate, now_ms, users::check_name};
use crate::error::{GatewayError, Result};
use crate::upstream::ServerSpec;

/// The user name of a grant that means every user.
pub(crate) const EVERYONE: &str = "*";

/// Names of services that a server may not take.
const TAKEN: [&str; 5] = ["browser", "computer", "agent", "token", "sse"];

/// A third-party server as stored.
#[derive(Clone, Debug)]
pub struct ServerRow {
    /// Unique; part of the tool names.
    pub name: String,
    /// How to reach it. May hold secrets (env, headers): never logged or listed in full.
    pub spec: ServerSpec,
}

impl Store {
    /// Adds a server.
    ///
    /// # Errors
    /// `Invalid` for an unusable name or spec, `Exists`, or `Database`.
    pub async fn add_server(&self, name: &str, spec: &ServerSpec) -> Result<()> {
        check_name("server", name)?;
        if name.len() > 40 || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)) {
            return Err(GatewayError::Invalid(format!(
                "the server name {name:?} is not usable: it becomes part of tool names, so 1 to 40 of a-z, A-Z, 0-9, '_' and '-'"
            )));
        }
        if TAKEN.contains(&name) {
            return Err(GatewayError::Invalid(format!("{name:?} is a service of the gateway itself; choose another name")));
        }
        spec.check()?;
        let text = serde_json::to_string(spec).map_err(|error| GatewayError::Invalid(error.to_string()))?;
        let added = sqlx::query("INSERT INTO servers (name, spec, created_ms) VALUES ($1, $2, $3)")
            .bind(name)
            .bind(text)
            .bind(now_ms())
            .execute(&self.pool)
            .await;
        match added {
            Ok(_) => Ok(()),
            Err(error) if is_duplicate(&error) => Err(GatewayError::Exists { kind: "server", name: name.into() }),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a server and its grants.
    ///
    /// # Errors
    /// `Missing` or `Database`.
    pub async fn remove_server(&self, name: &str) -> Result<()> {
        let gone = sqlx::query("DELETE FROM servers WHERE name = $1").bind(name).execute(&self.pool).await?;
        sqlx::query("DELETE FROM grants WHERE server = $1").bind(name).execute(&self.pool).await?;
        if gone.rows_affected() == 0 {
            return Err(GatewayError::Missing { kind: "server", name: name.into() });
        }
        Ok(())
    }

    /// All servers by name. A row that cannot be read is left out and logged.
    ///
    /// # Errors
    /// `Database`.
    pub async fn servers(&self) -> Result<Vec<ServerRow>> {
        let rows: Vec<(String, String)> = sqlx::query_as("SELECT name, spec FROM servers ORDER BY name").fetch_all(&self.pool).await?;
        let read = |(name, text): (String, String)| match serde_json::from_str(&text) {
            Ok(spec) => Some(ServerRow { name, spec }),
            Err(error) => {
                // Line and column only: the text may hold secrets.
                tracing::error!(server = name, line = error.line(), column = error.column(), "stored server is unreadable");
                None
            }
        };
        Ok(rows.into_iter().filter_map(read).collect())
    }

    /// Lets `user` (or [`EVERYONE`]) use `server`. Granting twice is fine.
    ///
    /// # Errors
    /// `Missing` when either is not there, or `Database`.
    pub async fn add_grant(&self, server: &str, user: &str) -> Result<()> {
        if !self.servers().await?.iter().any(|row| row.name == server) {
            return Err(GatewayError::Missing { kind: "server", name: server.into() });
        }
        if user != EVERYONE && self.user(user).await?.is_none() {
            return Err(GatewayError::Missing { kind: "user", name: user.into() });
        }
        sqlx::query("INSERT INTO grants (server, user_name) VALUES ($1, $2) ON CONFLICT DO NOTHING")
            .bind(server)
            .bind(user)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Takes a grant back.
    ///
    /// # Errors
    /// `Missing` or `Database`.
    pub async fn remove_grant(&self, server: &str, user: &str) -> Result<()> {
        let gone =
            sqlx::query("DELETE FROM grants WHERE server = $1 AND user_name = $2").bind(server).bind(user).execute(&self.pool).await?;
        if gone.rows_affected() == 0 {
            return Err(GatewayError::Missing { kind: "grant", name: format!("{server} for {user}") });
        }
        Ok(())
    }

    /// All grants as (server, user or `*`).
    ///
    /// # Errors
    /// `Database`.
    pub async fn grants(&self) -> Result<Vec<(String, String)>> {
        Ok(sqlx::query_as("SELECT server, user_name FROM grants ORDER BY server, user_name").fetch_all(&self.pool).await?)
    }

    /// The servers `user` has been granted.
    ///
    /// # Errors
    /// `Database`.
    pub async fn granted(&self, user: &str) -> Result<Vec<String>> {
        let rows: Vec<(String,)> =
            sqlx::query_as("SELECT DISTINCT server FROM grants WHERE user_name = $1 OR user_name = $2 ORDER BY server")
                .bind(user)
                .bind(EVERYONE)
                .fetch_all(&self.pool)
                .await?;
        Ok(rows.into_iter().map(|row| row.0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fresh;
    use super::*;

    #[tokio::test]
    async fn grants_name_a_user_or_everyone() {
        let (store, _dir) = fresh().await;
        store.add_user("ana", "h", false).await.unwrap();
        store.add_user("bob", "h", false).await.unwrap();
        let spec = ServerSpec::Http { url: "http://127.0.0.1:1/mcp".into(), headers: Default::default() };
        store.add_server("notes", &spec).await.unwrap();
        store.add_server("maps", &spec).await.unwrap();
        assert!(store.add_server("agent", &spec).await.is_err(), "a service's name is taken");
        store.add_grant("notes", "ana").await.unwrap();
        store.add_grant("notes", "ana").await.unwrap();
        store.add_grant("maps", EVERYONE).await.unwrap();
        assert!(store.add_grant("none", "ana").await.is_err());
        assert!(store.add_grant("maps", "nobody").await.is_err());
        assert_eq!(store.granted("ana").await.unwrap(), ["maps", "notes"]);
        assert_eq!(store.granted("bob").await.unwrap(), ["maps"]);
        store.remove_server("maps").await.unwrap();
        assert!(store.granted("bob").await.unwrap().is_empty(), "grants go with the server");
    }
}
