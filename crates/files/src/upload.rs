//! Files for others to open by path: uploads and `file:` pages of the browser.
//!
//! Chromium opens a path long after it was checked, and follows links. So an upload is a private copy, made from the
//! checked handle, under the file's own name; it lives as long as its guard. A `file:` page has neighbours (pictures,
//! style sheets) and cannot be copied: it gets its real path, and the browser side holds the rest to the same folders.

use crate::names::shown_path;
use crate::walk::{Missing, Walk};
use crate::{Cancel, Files, FilesError};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A file larger than this is not lent to the browser.
pub const MAX_UPLOAD: u64 = 2 << 30;
const CHUNK: u64 = 1 << 20;

/// A private copy of a file. It is removed when this is dropped: keep it until the page is gone.
#[derive(Debug)]
pub struct Upload {
    path: PathBuf,
    bytes: u64,
    _folder: TempDir,
}

impl Upload {
    /// Where the copy is. Its last part is the file's own name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Files {
    /// Makes a private copy of a file for a page to upload. `private` is a folder only the person can enter (the state
    /// folder); the copy goes into a new folder in it.
    ///
    /// # Errors
    /// Everything in [`FilesError`]; [`FilesError::TooLarge`] over [`MAX_UPLOAD`].
    pub fn open_for_upload(&self, path: &str, private: &Path, cancel: Cancel<'_>) -> Result<Upload, FilesError> {
        let (file, size, real) = self.open_file(path, cancel)?;
        let io = |error| FilesError::from_io(path, error);
        let name = Path::new(&real).file_name().unwrap_or("file".as_ref()).to_owned();
        let folder = tempfile::Builder::new().prefix("upload-").tempdir_in(private).map_err(io)?;
        let target = folder.path().join(crate::names::unescape(&name).unwrap_or(name));
        let mut copy = File::create_new(&target).map_err(io)?;
        let mut bytes = 0;
        loop {
            cancel.check()?;
            // Copied inside the kernel where it can do that.
            let copied = std::io::copy(&mut (&file).take(CHUNK), &mut copy).map_err(io)?;
            bytes += copied;
            if bytes.max(size) > MAX_UPLOAD {
                let (what, hint) = (format!("a file of {} bytes", bytes.max(size)), "Larger files cannot be uploaded");
                return Err(FilesError::TooLarge { path: path.to_owned(), what, limit: MAX_UPLOAD, hint });
            }
            if copied == 0 {
                break;
            }
        }
        copy.flush().map_err(io)?;
        Ok(Upload { path: target, bytes, _folder: folder })
    }

    /// The real path of a file or folder that a `file:` URL names, if it is inside the allowed folders. The browser is
    /// given this path, not the URL, so that it follows no link the walk did not.
    ///
    /// # Errors
    /// [`FilesError::InvalidPath`] for a URL that is not `file:` or names another machine; the usual refusals.
    pub fn check_file_url(&self, url: &str, cancel: Cancel<'_>) -> Result<PathBuf, FilesError> {
        let invalid = |reason: &str| FilesError::InvalidPath { path: url.to_owned(), reason: reason.to_owned() };
        let parsed = url::Url::parse(url).map_err(|_| invalid("it is not a URL"))?;
        if parsed.scheme() != "file" {
            return Err(invalid("it is not a file: URL"));
        }
        let path = parsed.to_file_path().map_err(|()| invalid("it names another machine or no path"))?;
        let text = shown_path(&path);
        let place = Walk::to(&self.roots(), &text, Missing::Fails, cancel)?;
        let metadata = place.metadata().map_err(|error| FilesError::from_io(&text, error))?;
        if !metadata.is_file() && !metadata.is_dir() {
            let (kind, hint) = (crate::walk::kind_of(&metadata), "Only files and folders can be shown");
            return Err(FilesError::NotAFile { path: text, kind, hint });
        }
        Ok(place.real)
    }
}
