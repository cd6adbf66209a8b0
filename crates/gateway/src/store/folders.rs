//! Shared folders: rows an administrator keeps, told to agents by `picoaide_shared_folders`.

use super::{Store, is_duplicate, servers::EVERYONE, users::check_name};
use crate::error::{GatewayError, Result};

/// One shared folder.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Folder {
    /// Unique.
    pub name: String,
    /// What is in it, for the agent.
    pub description: String,
    /// Where it is.
    pub path: String,
    /// `*` or user names with commas between.
    pub who: String,
}

impl Folder {
    /// Whether `user` is among those who may.
    #[must_use]
    pub fn is_for(&self, user: &str) -> bool {
        self.who.split(',').map(str::trim).any(|one| one == EVERYONE || one == user)
    }
}

impl Store {
    /// Adds a folder.
    ///
    /// # Errors
    /// `Invalid`, `Exists` or `Database`.
    pub async fn add_folder(&self, folder: &Folder) -> Result<()> {
        check_name("folder", &folder.name)?;
        if folder.path.is_empty() || folder.who.trim().is_empty() {
            return Err(GatewayError::Invalid("a shared folder needs a path and who may use it (names or *)".into()));
        }
        let added = sqlx::query("INSERT INTO folders (name, description, path, who) VALUES ($1, $2, $3, $4)")
            .bind(&folder.name)
            .bind(&folder.description)
            .bind(&folder.path)
            .bind(&folder.who)
            .execute(&self.pool)
            .await;
        match added {
            Ok(_) => Ok(()),
            Err(error) if is_duplicate(&error) => Err(GatewayError::Exists { kind: "folder", name: folder.name.clone() }),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a folder's row (nothing on disk).
    ///
    /// # Errors
    /// `Missing` or `Database`.
    pub async fn remove_folder(&self, name: &str) -> Result<()> {
        let gone = sqlx::query("DELETE FROM folders WHERE name = $1").bind(name).execute(&self.pool).await?;
        if gone.rows_affected() == 0 {
            return Err(GatewayError::Missing { kind: "folder", name: name.into() });
        }
        Ok(())
    }

    /// All folders by name.
    ///
    /// # Errors
    /// `Database`.
    pub async fn folders(&self) -> Result<Vec<Folder>> {
        Ok(sqlx::query_as("SELECT name, description, path, who FROM folders ORDER BY name").fetch_all(&self.pool).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fresh;
    use super::*;

    #[tokio::test]
    async fn a_folder_is_for_those_it_names() {
        let (store, _dir) = fresh().await;
        let folder =
            |name: &str, who: &str| Folder { name: name.into(), description: String::new(), path: "/srv/x".into(), who: who.into() };
        store.add_folder(&folder("team", "ana, bob")).await.unwrap();
        store.add_folder(&folder("all", "*")).await.unwrap();
        assert!(store.add_folder(&folder("none", " ")).await.is_err());
        let rows = store.folders().await.unwrap();
        let of = |user: &str| rows.iter().filter(|row| row.is_for(user)).count();
        assert_eq!((of("ana"), of("bob"), of("eve")), (2, 2, 1));
        store.remove_folder("all").await.unwrap();
        assert_eq!(store.folders().await.unwrap().len(), 1);
    }
}
