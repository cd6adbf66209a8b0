//! Files in the folders that the person allowed, and nothing outside them.
//!
//! The only crate that opens a path an agent named. [`Files`] is the whole of it: read as text, write, list, search,
//! the list of allowed folders, and files lent to the browser. Calls block; run them where blocking is fine and pass a
//! [`Cancel`] that answers for the caller's cancellation and deadline.
//!
//! Containment does not rest on checking paths: see `walk` for how a path becomes an open handle.

mod archive;
mod cancel;
mod cell_format;
mod charset;
mod docx;
mod error;
mod grid;
mod list;
mod names;
mod ods;
mod read;
mod roots;
#[cfg(test)]
#[cfg(unix)]
mod tests;
#[cfg(test)]
mod tests_documents;
mod text;
mod upload;
mod walk;
mod window;
mod write;
mod xls;
mod xlsx;

pub use cancel::Cancel;
pub use error::FilesError;
pub use list::{Entry, Found, Listing, MAX_RESULTS};
pub use read::{MAX_TEXT, ReadOptions, Reading, Sheet};
pub use roots::AllowedFolder;
pub use upload::{MAX_UPLOAD, Upload};
pub use write::{MAX_WRITE, WriteOptions, Written};

use std::path::PathBuf;
use std::sync::{Arc, RwLock};

/// The files an agent may reach. A clone is the same list; nothing is cached but the real paths of the allowed folders.
#[derive(Clone)]
pub struct Files {
    list: Arc<RwLock<Arc<roots::Roots>>>,
}

impl Files {
    /// `folders`: the allowed ones, absolute or `~/...`; links are fine. `home`: what `~` stands for. An empty list, or
    /// one of which nothing exists, allows nothing.
    pub fn new(folders: Vec<PathBuf>, home: Option<PathBuf>) -> Self {
        Self { list: Arc::new(RwLock::new(Arc::new(roots::Roots::new(folders, home)))) }
    }

    /// The same, with one more folder or file that stays closed whatever is allowed around it: Deskhand's own, where
    /// tokens and the person's decisions are. Of a folder only its `downloads` may be allowed by name.
    #[must_use]
    pub fn with_closed(self, place: &std::path::Path) -> Self {
        let closed = roots::Closed::of(place);
        self.change(|roots| roots.with_closed(closed));
        self
    }

    /// Other folders are allowed from now on; calls that run go on with the old list.
    pub fn set_folders(&self, folders: Vec<PathBuf>) {
        self.change(|roots| roots.with_folders(folders));
    }

    fn change(&self, change: impl FnOnce(&roots::Roots) -> roots::Roots) {
        let mut list = self.list.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        *list = Arc::new(change(&list));
    }

    pub(crate) fn roots(&self) -> Arc<roots::Roots> {
        Arc::clone(&self.list.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// The allowed folders as a caller may see them.
    pub fn allowed(&self) -> Vec<AllowedFolder> {
        self.roots().folders()
    }
}
