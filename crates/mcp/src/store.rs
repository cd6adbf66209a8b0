//! Sessions on disk, so that a client of an older revision carries on after our restart.
//!
//! Clients of the official SDKs never recover from "session not found". One small file a session is enough: what the
//! client said in `initialize`, and whose session it is. The id arrives as a raw request header, so only something that
//! is a UUID is ever made into a path.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use rmcp::transport::streamable_http_server::session::{SessionState, SessionStore, SessionStoreError};
use serde::{Deserialize, Serialize};

use crate::service::Caller;

/// How long an unused session can be picked up again.
const LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);
/// Most files kept; the oldest go first.
const MOST: usize = 2_000;
/// Saves between two cleanings.
const PRUNE_EVERY: usize = 200;

tokio::task_local! {
    /// The caller on whose behalf rmcp reads or writes the store; it passes no such thing along itself.
    pub(crate) static OPENER: Caller;
}

/// What one file holds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Saved {
    owner: String,
    state: SessionState,
}

impl Saved {
    /// The negotiated or asked-for revision.
    pub(crate) fn version(&self) -> String {
        self.state.initialize_params.protocol_version.as_str().to_owned()
    }
}

/// A folder of sessions, mode 0700.
#[derive(Debug, Clone)]
pub(crate) struct FileStore {
    folder: PathBuf,
    saves: Arc<AtomicUsize>,
}

impl FileStore {
    /// Opens (makes) the folder and drops what has expired.
    pub(crate) fn open(folder: &Path) -> std::io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
        }
        let store = Self { folder: folder.to_owned(), saves: Arc::default() };
        store.prune();
        Ok(store)
    }

    fn path(&self, id: &str) -> Option<PathBuf> {
        is_session_id(id).then(|| self.folder.join(format!("{id}.json")))
    }

    /// The saved session, if it is this caller's and has not expired.
    pub(crate) fn find(&self, id: &str, caller: &Caller) -> Option<Saved> {
        let path = self.path(id)?;
        let age = path.metadata().ok()?.modified().ok()?.elapsed().unwrap_or_default();
        if age > LIFETIME {
            let _ = std::fs::remove_file(&path);
            return None;
        }
        let saved: Saved = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        (saved.owner == caller.principal.mark()).then_some(saved)
    }

    /// Starts the seven days anew.
    pub(crate) fn stamp(&self, id: &str) {
        let file = self.path(id).and_then(|path| std::fs::File::options().write(true).open(path).ok());
        if let Some(file) = file {
            let _ = file.set_modified(SystemTime::now());
        }
    }

    /// Forgets a session for good.
    pub(crate) fn remove(&self, id: &str) {
        if let Some(path) = self.path(id) {
            let _ = std::fs::remove_file(path);
        }
    }

    fn save(&self, id: &str, saved: &Saved) -> std::io::Result<()> {
        let path = self.path(id).ok_or_else(|| std::io::Error::other("not a session id"))?;
        let temporary = path.with_extension("new");
        let mut options = std::fs::File::options();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&temporary)?.write_all(&serde_json::to_vec(saved)?)?;
        std::fs::rename(&temporary, &path)?;
        if self.saves.fetch_add(1, Ordering::Relaxed) % PRUNE_EVERY == PRUNE_EVERY - 1 {
            self.prune();
        }
        Ok(())
    }

    /// Drops expired files, then the oldest beyond the limit.
    fn prune(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let mut files: Vec<(SystemTime, PathBuf)> =
            entries.flatten().filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
        files.sort();
        let surplus = files.len().saturating_sub(MOST);
        for (index, (modified, path)) in files.into_iter().enumerate() {
            if index < surplus || modified.elapsed().unwrap_or_default() > LIFETIME {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// Ids are what rmcp makes: a hyphenated UUID. Anything else never reaches the file system.
pub(crate) fn is_session_id(id: &str) -> bool {
    id.len() == 36
        && id.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        })
}

#[async_trait]
impl SessionStore for FileStore {
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        let caller = OPENER.try_with(Clone::clone)?;
        Ok(self.find(id, &caller).map(|saved| saved.state))
    }

    async fn store(&self, id: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        let owner = OPENER.try_with(|caller| caller.principal.mark())?;
        self.save(id, &Saved { owner, state: state.clone() })?;
        Ok(())
    }

    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        self.remove(id);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Principal;
    use rmcp::model::InitializeRequestParams;

    fn caller(token: &str) -> Caller {
        Caller::new(Principal::new("main", token))
    }

    #[tokio::test]
    async fn a_session_is_found_by_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let store = FileStore::open(folder.path()).unwrap();
        let id = uuid::Uuid::new_v4().to_string();
        let state = SessionState::new(InitializeRequestParams::default());
        OPENER.scope(caller("a"), store.store(&id, &state)).await.unwrap();
        let again = FileStore::open(folder.path()).unwrap();
        assert!(again.find(&id, &caller("a")).is_some());
        assert!(again.find(&id, &caller("b")).is_none());
        assert!(OPENER.scope(caller("b"), again.load(&id)).await.unwrap().is_none());
        again.remove(&id);
        assert!(again.find(&id, &caller("a")).is_none());
    }

    #[test]
    fn only_a_uuid_becomes_a_path() {
        let folder = tempfile::tempdir().unwrap();
        let store = FileStore::open(folder.path()).unwrap();
        for id in ["../../../../etc/passwd", "", "x", "..%2f..%2f0000-0000-0000-000000000000", "0123456z-0000-0000-0000-000000000000"] {
            assert!(store.path(id).is_none(), "{id}");
        }
        assert!(store.path(&uuid::Uuid::new_v4().to_string()).is_some());
    }

    #[test]
    fn expired_and_surplus_files_go() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join(format!("{}.json", uuid::Uuid::new_v4()));
        std::fs::write(&old, b"{}").unwrap();
        let file = std::fs::File::options().write(true).open(&old).unwrap();
        file.set_modified(SystemTime::now() - LIFETIME - Duration::from_secs(60)).unwrap();
        for _ in 0..MOST + 5 {
            std::fs::write(folder.path().join(format!("{}.json", uuid::Uuid::new_v4())), b"{}").unwrap();
        }
        FileStore::open(folder.path()).unwrap();
        assert!(!old.exists());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), MOST);
    }
}
