//! Writing a file whole: the old one or the new one, never half of either.
//!
//! The text goes to a new file in the same folder, through the same open handle, is flushed to the disk and renamed
//! over the name. What follows from replacing by rename, on purpose:
//! * mode is kept (0600 never becomes wider, not even for a moment) and the owner where the system lets us; access
//!   lists and extended attributes are not;
//! * a file with several hard links is split: this name gets the new text, the other names keep the old. The answer
//!   says so;
//! * a link is followed if it stays inside the allowed folders, and stays a link; a read-only file is refused.
//!
//! Folders are not made unless asked for: a mistyped path should fail, not grow a tree.

use crate::names::shown_path;
use crate::walk::{Missing, Place, Walk, kind_of};
use crate::{Cancel, Files, FilesError, charset};
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

/// Most bytes of text that one call may write.
pub const MAX_WRITE: usize = 16 << 20;
const CHUNK: usize = 256 << 10;

/// How to write.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// Make missing folders of the path.
    pub create_folders: bool,
    /// The encoding (a name of the WHATWG standard); UTF-8 when absent. No byte order mark is added: one that is wanted
    /// stands in the text as U+FEFF.
    pub encoding: Option<String>,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The real path.
    pub path: String,
    /// Bytes on the disk.
    pub bytes: u64,
    /// There was no such file before.
    pub created: bool,
    /// The file had other hard links; they keep the old text.
    pub links_split: bool,
}

impl Files {
    /// Writes `content` as the whole of the file, exactly as given.
    ///
    /// # Errors
    /// Everything in [`FilesError`]; the old file is then untouched.
    pub fn write(&self, path: &str, content: &str, options: &WriteOptions, cancel: Cancel<'_>) -> Result<Written, FilesError> {
        let bytes = encoded(path, content, options)?;
        let missing = if options.create_folders { Missing::MakeFolders } else { Missing::LastMayMiss };
        let place = Walk::to(&self.roots(), path, missing, cancel)?;
        let Some(name) = &place.name else { return Err(not_writable(path, "a folder")) };
        let before = existing(&place, name, path)?;
        let temporary = Temporary::make(&place.folder, before.as_ref()).map_err(|error| FilesError::from_io(path, error))?;
        temporary.fill(&bytes, path, cancel)?;
        cancel.check()?;
        temporary.rename_to(name).map_err(|error| FilesError::from_io(path, error))?;
        sync_folder(&place.folder);
        Ok(Written {
            path: shown_path(&place.real),
            bytes: bytes.len() as u64,
            created: before.is_none(),
            links_split: before.as_ref().is_some_and(has_other_links),
        })
    }
}

fn encoded(path: &str, content: &str, options: &WriteOptions) -> Result<Vec<u8>, FilesError> {
    if content.len() > MAX_WRITE {
        let what = format!("content of {} bytes", content.len());
        let hint = "Write it in several files";
        return Err(FilesError::TooLarge { path: path.to_owned(), what, limit: MAX_WRITE as u64, hint });
    }
    let Some(label) = &options.encoding else { return Ok(content.as_bytes().to_vec()) };
    let unknown = || format!("there is no encoding {label:?}. Examples: utf-8, utf-16le, gbk, shift_jis, windows-1252");
    let encoding = charset::named(label).ok_or_else(|| FilesError::InvalidArgument { name: "encoding", reason: unknown() })?;
    charset::encode(content, encoding).map_err(|character| FilesError::Encoding {
        path: path.to_owned(),
        reason: format!("{} has no {character:?}; nothing was written. Use utf-8, or leave the character out", encoding.name()),
    })
}

fn not_writable(path: &str, kind: &'static str) -> FilesError {
    FilesError::NotAFile { path: path.to_owned(), kind, hint: "Only regular files can be written" }
}

/// What stands at the name now, if it may be replaced.
fn existing(place: &Place, name: &OsStr, path: &str) -> Result<Option<Metadata>, FilesError> {
    let metadata = match place.folder.symlink_metadata(name) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(FilesError::from_io(path, error)),
    };
    if metadata.is_symlink() {
        return Err(FilesError::Changed { path: path.to_owned() });
    }
    if !metadata.is_file() {
        return Err(not_writable(path, kind_of(&metadata)));
    }
    // Renaming over a read-only file would work; a person who made it read-only did not mean that.
    let mut how = OpenOptions::new();
    how.write(true).follow(FollowSymlinks::No).nonblock(true);
    match place.folder.open_with(name, &how) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(FilesError::Denied { path: path.to_owned() }),
        // A running program cannot be opened for writing but can be replaced.
        _ => Ok(Some(metadata)),
    }
}

#[cfg(unix)]
fn has_other_links(metadata: &Metadata) -> bool {
    cap_std::fs::MetadataExt::nlink(metadata) > 1
}

#[cfg(not(unix))]
fn has_other_links(_metadata: &Metadata) -> bool {
    false
}

/// Makes the rename itself last through a power cut; where a folder cannot be flushed there is nothing to do about it.
fn sync_folder(folder: &Dir) {
    if let Ok(folder) = folder.open(".") {
        let _ = folder.sync_all();
    }
}

/// A new file beside the one to replace; removed unless it takes its place.
struct Temporary<'d> {
    folder: &'d Dir,
    name: String,
    file: File,
    placed: bool,
}

impl<'d> Temporary<'d> {
    fn make(folder: &'d Dir, before: Option<&Metadata>) -> io::Result<Self> {
        for _ in 0..16 {
            // Short, so that it fits beside a name of 255 bytes. Uniqueness is by create_new, not by the number.
            let name = format!(".deskhand-{:x}.tmp", number());
            let mut how = OpenOptions::new();
            how.write(true).create_new(true).follow(FollowSymlinks::No);
            narrow(&mut how, before);
            match folder.open_with(&name, &how) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) => {
                    let temporary = Self { folder, name, file, placed: false };
                    if let Some(before) = before {
                        keep_rights(&temporary.file, before)?;
                    }
                    return Ok(temporary);
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn fill(&self, bytes: &[u8], path: &str, cancel: Cancel<'_>) -> Result<(), FilesError> {
        for chunk in bytes.chunks(CHUNK) {
            cancel.check()?;
            (&self.file).write_all(chunk).map_err(|error| FilesError::from_io(path, error))?;
        }
        self.file.sync_all().map_err(|error| FilesError::from_io(path, error))
    }

    fn rename_to(mut self, name: &OsStr) -> io::Result<()> {
        self.folder.rename(&self.name, self.folder, name)?;
        self.placed = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.placed {
            let _ = self.folder.remove_file(&self.name);
        }
    }
}

fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let time = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.subsec_nanos());
    (u64::from(std::process::id()) << 40) ^ (u64::from(time) << 8) ^ NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A file that replaces another is born readable by its owner only; its real mode follows.
#[cfg(unix)]
fn narrow(how: &mut OpenOptions, before: Option<&Metadata>) {
    use cap_std::fs::OpenOptionsExt as _;
    how.mode(if before.is_some() { 0o600 } else { 0o666 });
}

#[cfg(not(unix))]
fn narrow(_how: &mut OpenOptions, _before: Option<&Metadata>) {}

#[cfg(unix)]
fn keep_rights(file: &File, before: &Metadata) -> io::Result<()> {
    use cap_std::fs::{MetadataExt as _, PermissionsExt as _};
    let now = file.metadata()?;
    if (now.uid(), now.gid()) != (before.uid(), before.gid()) {
        // Owner first: changing it clears set-id bits. Not being allowed to is the documented limit.
        let (owner, group) = (rustix::fs::Uid::from_raw(before.uid()), rustix::fs::Gid::from_raw(before.gid()));
        let _ = rustix::fs::fchown(file, Some(owner), Some(group));
    }
    file.set_permissions(cap_std::fs::Permissions::from_mode(before.permissions().mode() & 0o7777))
}

#[cfg(not(unix))]
fn keep_rights(file: &File, before: &Metadata) -> io::Result<()> {
    file.set_permissions(before.permissions())
}
