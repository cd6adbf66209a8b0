//! Reading and replacing a client's settings file.
//!
//! A link (people keep settings in a repository and link them) is followed: the file at its end is replaced and the
//! link stays. Replacing is atomic, keeps mode and owner, and first checks that the file still is what the plan saw.

use crate::ConnectError;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A settings file larger than this is none.
const MAX_BYTES: u64 = 64 << 20;
/// So many backups are kept for each client.
const KEPT_BACKUPS: usize = 20;

/// A file as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// The path the client uses.
    pub(crate) path: PathBuf,
    /// Where its links end.
    pub(crate) real: PathBuf,
    /// Its text; absent when there is no file.
    pub(crate) text: Option<String>,
}

impl Snapshot {
    /// Reads the file, if there is one.
    pub(crate) fn of(path: &Path) -> Result<Self, ConnectError> {
        let real = end_of_links(path).map_err(ConnectError::io(path))?;
        // Told by its kind before it is opened: opening a named pipe waits for somebody to write.
        let text = match fs::metadata(&real) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(ConnectError::io(path)(error)),
            Ok(metadata) if !is_settings(&metadata) => return Err(no_settings(path)),
            Ok(_) => Some(text_of(fs::File::open(&real).map_err(ConnectError::io(path))?, path)?),
        };
        Ok(Self { path: path.to_owned(), real, text })
    }

    /// Replaces the file by `text`, or removes it. `private`: a file made now is for the person's eyes only.
    pub(crate) fn replace(&self, text: Option<&str>, private: bool) -> Result<(), ConnectError> {
        if Self::of(&self.path)? != *self {
            return Err(ConnectError::Changed { path: self.path.clone() });
        }
        let error = || ConnectError::io(&self.path);
        let Some(text) = text else { return fs::remove_file(&self.real).map_err(error()) };
        let folder = self.real.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(error())?;
        let mut new = tempfile::Builder::new().prefix(".deskhand-").tempfile_in(folder).map_err(error())?;
        new.write_all(text.as_bytes()).map_err(error())?;
        keep_rights(new.as_file(), &self.real, folder, private).map_err(error())?;
        new.as_file().sync_all().map_err(error())?;
        new.persist(&self.real).map_err(|failed| error()(failed.error))?;
        if let Ok(folder) = fs::File::open(folder) {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    /// Copies what the file holds into the folder of backups, readable by the person only.
    pub(crate) fn back_up(&self, folder: &Path, client: &str) -> Result<Option<PathBuf>, ConnectError> {
        let Some(text) = &self.text else { return Ok(None) };
        make_private_folder(folder).map_err(ConnectError::io(folder))?;
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let backup = folder.join(format!("{client}.{time:015}.{name}"));
        let mut file = tempfile::Builder::new().prefix(".backup-").tempfile_in(folder).map_err(ConnectError::io(folder))?;
        file.write_all(text.as_bytes()).map_err(ConnectError::io(&backup))?;
        file.persist(&backup).map_err(|failed| ConnectError::io(&backup)(failed.error))?;
        forget_old_backups(folder, client);
        Ok(Some(backup))
    }
}

/// Follows links by hand, because the last one may lead to a file that is still to be made.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut here = path.to_owned();
    for _ in 0..40 {
        match fs::read_link(&here) {
            Ok(target) => here = here.parent().unwrap_or(Path::new(".")).join(target),
            // Not a link, or not there.
            Err(_) => return Ok(here),
        }
    }
    Err(io::Error::other("its links form a circle"))
}

fn is_settings(metadata: &fs::Metadata) -> bool {
    metadata.is_file() && metadata.len() <= MAX_BYTES
}

fn no_settings(path: &Path) -> ConnectError {
    let reason = "it is not a settings file (a folder, a device, a pipe, or larger than 64 MB)".to_owned();
    ConnectError::Unexpected { path: path.to_owned(), reason }
}

fn text_of(file: fs::File, path: &Path) -> Result<String, ConnectError> {
    if !is_settings(&file.metadata().map_err(ConnectError::io(path))?) {
        return Err(no_settings(path));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(ConnectError::io(path))?;
    String::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]).into_owned();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        ConnectError::Malformed { path: path.to_owned(), reason: "it is not UTF-8 text".into(), line, column }
    })
}

#[cfg(unix)]
fn keep_rights(new: &fs::File, old: &Path, folder: &Path, private: bool) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let before = fs::metadata(old).ok();
    // Run with sudo, the file still is the person's.
    if let Some(owner) = before.as_ref().cloned().or_else(|| fs::metadata(folder).ok())
        && let now = new.metadata()?
        && (now.uid(), now.gid()) != (owner.uid(), owner.gid())
    {
        let (user, group) = (rustix::fs::Uid::from_raw(owner.uid()), rustix::fs::Gid::from_raw(owner.gid()));
        let _ = rustix::fs::fchown(new, Some(user), Some(group));
    }
    let fresh = if private { 0o600 } else { 0o644 };
    let mode = before.map_or(fresh, |metadata| metadata.permissions().mode() & 0o7777);
    new.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn keep_rights(_new: &fs::File, _old: &Path, _folder: &Path, _private: bool) -> io::Result<()> {
    Ok(())
}

/// Makes a folder that only the person can enter, and its parents.
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

fn forget_old_backups(folder: &Path, client: &str) {
    let start = format!("{client}.");
    let mut backups: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start)))
        .collect();
    // Their names begin with the time.
    backups.sort();
    let surplus = backups.len().saturating_sub(KEPT_BACKUPS);
    for backup in backups.into_iter().take(surplus) {
        let _ = fs::remove_file(backup);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_refused_and_never_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let (pipe, link, folder) = (dir.path().join("pipe"), dir.path().join("link"), dir.path().join("folder"));
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        fs::create_dir(&folder).unwrap();
        for path in [&pipe, &link, &folder, Path::new("/dev/zero")] {
            assert!(matches!(Snapshot::of(path), Err(ConnectError::Unexpected { .. })), "{}", path.display());
        }
        assert_eq!(Snapshot::of(&dir.path().join("none")).unwrap().text, None);
    }
}
