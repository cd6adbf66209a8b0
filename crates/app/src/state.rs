//! The state folder: what a worker keeps between starts, and the lock that makes it the only one there.

use anyhow::{Context, Result, bail};
use rand::Rng;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// What a running worker writes down for `deskhand call`, the stdio bridge and `deskhand mcp status`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunningWorker {
    /// Process id.
    pub pid: u32,
    /// URL of its MCP endpoint.
    pub mcp_url: String,
    /// Version of the product.
    pub version: String,
}

/// A state folder, not necessarily in use.
#[derive(Clone, Debug)]
pub struct StateFolder {
    path: PathBuf,
}

/// The hold of a running worker on its state folder; given up when it ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    running: PathBuf,
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.running);
    }
}

impl StateFolder {
    /// The folder at `path`, or the person's own one; made when missing, readable by its owner alone.
    ///
    /// # Errors
    /// When there is no home folder, or it cannot be made.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let path = match path {
            Some(path) => std::path::absolute(path)?,
            None => Self::usual().context("there is no home folder; name a state folder with --state-dir")?,
        };
        fs::create_dir_all(&path).with_context(|| format!("the state folder {} cannot be made", path.display()))?;
        #[cfg(unix)]
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .with_context(|| format!("the state folder {} is not ours", path.display()))?;
        Ok(Self { path })
    }

    /// The person's own state folder, made or not; `None` without a home folder.
    #[must_use]
    pub fn usual() -> Option<PathBuf> {
        Some(dirs::state_dir().or_else(dirs::data_local_dir)?.join("deskhand"))
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file or folder in it.
    #[must_use]
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Makes the caller the one worker of this folder.
    ///
    /// # Errors
    /// When another worker runs there, with its process id and address.
    pub fn lock(&self) -> Result<Lock> {
        let path = self.join("lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .with_context(|| format!("{} cannot be opened", path.display()))?;
        match file.try_lock() {
            Ok(()) => Ok(Lock { _file: file, running: self.join("worker.json") }),
            Err(TryLockError::WouldBlock) => {
                let who =
                    self.running().map_or_else(|| "it is starting or ending".to_owned(), |w| format!("process {}, {}", w.pid, w.mcp_url));
                bail!(
                    "a worker already runs in {} ({who}); use that one, stop it with `deskhand mcp stop`, or name another folder with --state-dir",
                    self.path.display()
                )
            }
            Err(TryLockError::Error(e)) => Err(e).with_context(|| format!("{} cannot be locked", path.display())),
        }
    }

    /// Writes down what runs here. Only the holder of the lock does this.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn announce(&self, worker: &RunningWorker) -> Result<()> {
        write_private(&self.join("worker.json"), serde_json::to_string(worker)?.as_bytes())
    }

    /// The worker that runs in this folder, if one does: the lock decides, not what is written down.
    #[must_use]
    pub fn running(&self) -> Option<RunningWorker> {
        let file = OpenOptions::new().write(true).open(self.join("lock")).ok()?;
        match file.try_lock() {
            Ok(()) => return None,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(_)) => return None,
        }
        serde_json::from_slice(&fs::read(self.join("worker.json")).ok()?).ok()
    }

    /// The main token: read from `file`, or from the state folder, and made there on first use.
    ///
    /// # Errors
    /// When the file cannot be read or made, or others may read it.
    pub fn token(&self, file: Option<&Path>) -> Result<String> {
        let path = file.map_or_else(|| self.join("token"), Path::to_path_buf);
        match File::open(&path) {
            Ok(mut open) => {
                let mut token = String::new();
                open.read_to_string(&mut token).with_context(|| format!("the token file {} cannot be read", path.display()))?;
                Ok(token.trim().to_owned())
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                let token = new_token();
                write_private(&path, token.as_bytes())?;
                Ok(token)
            }
            Err(e) => Err(e).with_context(|| format!("the token file {} cannot be read", path.display())),
        }
    }
}

/// 256 random bits, as hexadecimal digits.
pub(crate) fn new_token() -> String {
    let mut bytes = [0; 32];
    rand::rng().fill_bytes(&mut bytes);
    hex::encode(bytes)
}

/// Writes a file that its owner alone may read: the old one or the whole new one.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(|| format!("nothing can be written in {}", folder.display()))?;
    file.write_all(bytes)?;
    file.persist(path).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_worker_a_folder_and_a_token_that_stays() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateFolder::open(Some(dir.path())).unwrap();
        assert!(state.running().is_none());
        let lock = state.lock().unwrap();
        state.announce(&RunningWorker { pid: 7, mcp_url: "http://127.0.0.1:1/mcp".into(), version: "0".into() }).unwrap();
        assert_eq!(state.running().unwrap().pid, 7);
        assert!(state.lock().unwrap_err().to_string().contains("process 7"));
        drop(lock);
        assert!(state.running().is_none());
        let token = state.token(None).unwrap();
        assert_eq!((token.len(), state.token(None).unwrap()), (64, token));
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_reads_it() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let state = StateFolder::open(Some(&dir.path().join("s"))).unwrap();
        state.token(None).unwrap();
        let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(state.path()), mode(&state.join("token"))), (0o700, 0o600));
    }
}
