//! The browsers that are paired, kept in one file of mode 0600. Only hashes of their tokens are kept: whoever reads
//! the file learns who is paired and can not take a place.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// What went wrong with the file of paired browsers.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It could not be read or written.
    #[error("the list of paired browsers {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// It is not what was written.
    #[error("the list of paired browsers {path} is damaged ({reason}); delete it and pair the browsers again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The parser's words.
        reason: String,
    },
}

/// One paired browser as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Random, stable for as long as it is paired.
    pub(super) id: String,
    /// What the person calls it.
    pub(super) name: String,
    /// Such as `Chromium 156`.
    #[serde(default)]
    pub(super) product: String,
    /// SHA-256 of its token, in hex.
    token_sha256: String,
    /// Seconds since 1970.
    pub(super) paired_at: u64,
    /// Seconds since 1970 of its last connection.
    #[serde(default)]
    pub(super) seen_at: u64,
    /// Whether the person prefers it over the others.
    #[serde(default)]
    pub(super) preferred: bool,
}

/// The file and its contents.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    records: Mutex<Vec<Record>>,
}

impl Store {
    /// Reads the file; a missing one is an empty list.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let records = match std::fs::read(path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map_err(|e| StoreError::Damaged { path: path.to_owned(), reason: e.to_string() })?
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(StoreError::Io { path: path.to_owned(), source }),
        };
        Ok(Self { path: path.to_owned(), records: Mutex::new(records) })
    }

    /// Adds a browser; answers its record and the token that only it will know.
    pub(super) fn add(&self, name: &str, product: &str) -> Result<(Record, String), StoreError> {
        let token = random_hex();
        let now = now();
        let record = Record {
            id: random_hex()[..16].to_owned(),
            name: name.to_owned(),
            product: product.to_owned(),
            token_sha256: hash(&token),
            paired_at: now,
            seen_at: now,
            preferred: false,
        };
        self.change(|all| all.push(record.clone()))?;
        Ok((record, token))
    }

    /// Whose token this is. Every record is compared, each in constant time.
    pub(super) fn by_token(&self, token: &str) -> Option<Record> {
        let hash = hash(token);
        let mut found = None;
        for record in self.records.lock().iter() {
            if bool::from(record.token_sha256.as_bytes().ct_eq(hash.as_bytes())) {
                found = Some(record.clone());
            }
        }
        found
    }

    pub(super) fn get(&self, id: &str) -> Option<Record> {
        self.records.lock().iter().find(|r| r.id == id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Record> {
        self.records.lock().clone()
    }

    /// Changes one record; `false` when there is none of that id.
    pub(super) fn update(&self, id: &str, change: impl FnOnce(&mut Record)) -> Result<bool, StoreError> {
        self.change(|all| all.iter_mut().find(|r| r.id == id).map(change).is_some())
    }

    /// Makes one browser the preferred one, or none.
    pub(super) fn prefer(&self, id: Option<&str>) -> Result<(), StoreError> {
        self.change(|all| all.iter_mut().for_each(|r| r.preferred = id == Some(r.id.as_str())))
    }

    /// Takes a browser out; `false` when there is none of that id.
    pub(super) fn remove(&self, id: &str) -> Result<bool, StoreError> {
        self.change(|all| {
            let before = all.len();
            all.retain(|r| r.id != id);
            all.len() < before
        })
    }

    /// Writes first and changes the memory after it, so that what is in force is what is on disk.
    fn change<T>(&self, change: impl FnOnce(&mut Vec<Record>) -> T) -> Result<T, StoreError> {
        let mut records = self.records.lock();
        let mut next = records.clone();
        let answer = change(&mut next);
        if next != *records {
            self.write(&next).map_err(|source| StoreError::Io { path: self.path.clone(), source })?;
            *records = next;
        }
        Ok(answer)
    }

    fn write(&self, records: &[Record]) -> std::io::Result<()> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(dir)?;
        // A temporary file is made with mode 0600 and keeps it when it is renamed.
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(&serde_json::to_vec_pretty(records)?)?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|e| e.error)?;
        Ok(())
    }
}

fn hash(token: &str) -> String {
    hex::encode(Sha256::digest(token.as_bytes()))
}

/// 32 random bytes as 64 hex digits.
fn random_hex() -> String {
    let bytes: [u8; 32] = rand::rng().random();
    hex::encode(bytes)
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/browsers.json");
        (dir, path)
    }

    #[test]
    fn a_token_is_known_after_a_restart_and_stands_nowhere() {
        let (_dir, path) = store();
        let (record, token) = Store::open(&path).unwrap().add("Chrome (Work)", "Chromium 156").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&token));
        let again = Store::open(&path).unwrap();
        assert_eq!(again.by_token(&token), Some(record));
        assert_eq!(again.by_token(""), None);
        assert_eq!(again.by_token(&token[..63]), None);
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let (_dir, path) = store();
        Store::open(&path).unwrap().add("a", "").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_revoked_browser_is_unknown() {
        let (_dir, path) = store();
        let store = Store::open(&path).unwrap();
        let (record, token) = store.add("a", "").unwrap();
        let (other, _) = store.add("b", "").unwrap();
        assert!(store.remove(&record.id).unwrap());
        assert!(!store.remove(&record.id).unwrap());
        assert_eq!(store.by_token(&token), None);
        assert_eq!(Store::open(&path).unwrap().all(), vec![other]);
    }

    #[test]
    fn one_is_preferred_at_most() {
        let (_dir, path) = store();
        let store = Store::open(&path).unwrap();
        let (a, _) = store.add("a", "").unwrap();
        let (b, _) = store.add("b", "").unwrap();
        store.prefer(Some(&a.id)).unwrap();
        store.prefer(Some(&b.id)).unwrap();
        let preferred: Vec<_> = store.all().into_iter().filter(|r| r.preferred).map(|r| r.id).collect();
        assert_eq!(preferred, vec![b.id]);
    }

    #[test]
    fn a_damaged_file_is_an_error_that_names_it() {
        let (_dir, path) = store();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "{").unwrap();
        let error = Store::open(&path).unwrap_err().to_string();
        assert!(error.contains("browsers.json") && error.contains("damaged"), "{error}");
    }
}
