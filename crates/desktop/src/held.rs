//! What is held down, kept once for all back ends, and a journal of it for the day we are killed.
//!
//! A key or button is written down *before* it goes down, and struck out after it has come up. The journal is a small file
//! next to the worker's state: when a worker starts and finds one, the last one died with something held, and
//! [`release_orphans`] lets it go. Keys lent to characters stand there too, with what they meant before.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A key lent to a character: the meaning it had and the one it has meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lent {
    pub(crate) code: u8,
    pub(crate) was: Meaning,
    pub(crate) now: Meaning,
}

/// What a key means, in the terms of the X keyboard extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Meaning {
    pub(crate) types: [u8; 4],
    pub(crate) groups: u8,
    pub(crate) width: u8,
    pub(crate) syms: Vec<u32>,
}

/// Everything that would have to be undone if this process ended now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The display it is held on.
    pub(crate) display: Option<String>,
    /// Raw key codes.
    pub(crate) keys: Vec<u8>,
    /// Button numbers.
    pub(crate) buttons: Vec<u8>,
    pub(crate) lent: Vec<Lent>,
}

impl Entry {
    fn is_clear(&self) -> bool {
        self.keys.is_empty() && self.buttons.is_empty() && self.lent.is_empty()
    }
}

/// The journal of one worker. Without a path it keeps the account in memory only.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    path: Option<PathBuf>,
    entry: Mutex<Entry>,
}

impl Journal {
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self { path, entry: Mutex::default() }
    }

    /// Changes the account and writes it down before it returns. A journal that cannot be written is no reason not to act.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Entry)) {
        let mut entry = self.entry.lock();
        let before = entry.clone();
        change(&mut entry);
        if *entry == before {
            return;
        }
        let Some(path) = &self.path else { return };
        let written = if entry.is_clear() { fs::remove_file(path) } else { write(path, &entry) };
        if let Err(e) = written
            && e.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!("the journal of held keys {} cannot be written: {e}", path.display());
        }
    }
}

/// Writes whole or not at all: a half-written journal would hold keys down for good.
fn write(path: &Path, entry: &Entry) -> std::io::Result<()> {
    let new = path.with_extension("new");
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&new)?;
    file.write_all(&serde_json::to_vec(entry)?)?;
    fs::rename(&new, path)
}

/// What a dead worker left held, now let go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Released {
    /// Keys that were still down.
    pub keys: usize,
    /// Buttons that were still down.
    pub buttons: usize,
    /// Keys that still had a lent meaning.
    pub lent: usize,
}

/// Lets go of what a worker that was killed held, as its journal says, and removes the journal. Without a journal it does
/// nothing. What the person holds at their own keyboard is not touched.
///
/// # Errors
/// [`Error::Unavailable`] when the display of that time is still named but cannot be reached: it is tried again next time.
pub fn release_orphans(journal: &Path) -> Result<Released> {
    let bytes = match fs::read(journal) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Released::default()),
        Err(e) => return Err(Error::failed(format!("reading the journal {}", journal.display()), e)),
    };
    let released = match serde_json::from_slice::<Entry>(&bytes) {
        Ok(entry) => crate::input::release_entry(&entry)?,
        Err(e) => {
            tracing::warn!("the journal of held keys {} cannot be read and is dropped: {e}", journal.display());
            Released::default()
        }
    };
    fs::remove_file(journal).map_err(|e| Error::failed(format!("removing the journal {}", journal.display()), e))?;
    Ok(released)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_exists_exactly_while_something_is_held() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("held.json");
        let journal = Journal::new(Some(path.clone()));
        journal.change(|e| e.keys.push(37));
        let entry: Entry = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(entry.keys, [37]);
        journal.change(|e| e.keys.clear());
        assert!(!path.exists());
    }

    #[test]
    fn no_journal_and_a_broken_journal_release_nothing_and_do_not_stop_a_start() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("held.json");
        assert_eq!(release_orphans(&path).unwrap(), Released::default());
        fs::write(&path, "{half").unwrap();
        assert_eq!(release_orphans(&path).unwrap(), Released::default());
        assert!(!path.exists());
    }
}
