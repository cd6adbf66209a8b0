//! Whose token it is: the main one, or one of the connected clients' (`STATE/clients/NAME`). Clients can be added and
//! revoked while the worker runs; the folder is looked at when it changed.

use deskhand_mcp::{Authenticator, Principal};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;
use subtle::ConstantTimeEq;

/// Name of the principal that holds the main token.
pub const MAIN: &str = "main";

/// The tokens that are valid now.
pub struct TokenBook {
    folder: PathBuf,
    main: Option<Entry>,
    clients: Mutex<(Option<SystemTime>, Vec<Entry>)>,
}

#[derive(Clone)]
struct Entry {
    principal: Principal,
    digest: [u8; 32],
}

impl Entry {
    /// An empty token is nobody's.
    fn new(name: &str, token: &str) -> Option<Self> {
        let token = token.trim();
        (!token.is_empty()).then(|| Self { principal: Principal::new(name, token), digest: Sha256::digest(token).into() })
    }
}

impl TokenBook {
    /// The book of the main token and of the clients in `folder`.
    #[must_use]
    pub fn new(main: &str, folder: PathBuf) -> Self {
        Self { folder, main: Entry::new(MAIN, main), clients: Mutex::default() }
    }

    fn clients(&self) -> Vec<Entry> {
        let changed = fs::metadata(&self.folder).and_then(|m| m.modified()).ok();
        let mut known = self.clients.lock();
        // Within the resolution of the file system's clock a second change looks like the first: read again for a while.
        let fresh = changed.and_then(|c| c.elapsed().ok()).is_none_or(|age| age.as_secs() < 2);
        if known.0 != changed || fresh {
            *known = (changed, self.read());
        }
        known.1.clone()
    }

    fn read(&self) -> Vec<Entry> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries
            .filter(|e| e.file_type().is_ok_and(|t| t.is_file()))
            .filter_map(|e| Entry::new(&format!("client:{}", e.file_name().to_str()?), &fs::read_to_string(e.path()).ok()?))
            .collect()
    }
}

impl Authenticator for TokenBook {
    fn principal(&self, token: &str) -> Option<Principal> {
        let given: [u8; 32] = Sha256::digest(token).into();
        let clients = self.clients();
        let mut found = None;
        for entry in self.main.iter().chain(&clients) {
            if bool::from(entry.digest.ct_eq(&given)) {
                found = Some(entry.principal.clone());
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_come_and_go_while_it_runs_and_an_empty_token_is_nobodys() {
        let dir = tempfile::tempdir().unwrap();
        let book = TokenBook::new("secret", dir.path().join("clients"));
        assert_eq!(book.principal("secret").unwrap().name(), "main");
        assert!(book.principal("cursor-token").is_none() && book.principal("").is_none());
        fs::create_dir(dir.path().join("clients")).unwrap();
        fs::write(dir.path().join("clients/cursor"), "cursor-token\n").unwrap();
        fs::write(dir.path().join("clients/empty"), "").unwrap();
        assert_eq!(book.principal("cursor-token").unwrap().name(), "client:cursor");
        assert!(book.principal("").is_none());
        fs::remove_file(dir.path().join("clients/cursor")).unwrap();
        assert!(book.principal("cursor-token").is_none());
        assert!(TokenBook::new("", dir.path().join("none")).principal("").is_none());
    }
}
