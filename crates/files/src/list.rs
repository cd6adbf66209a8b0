//! What is in a folder, and where a name is below it.
//!
//! Links are shown as links. One that stays inside the allowed folders is described by what it leads to; of one that
//! leads out nothing is told but that it does. A search never follows links, so it ends and meets each file once.

use crate::names::{search_form, shown, shown_path};
use crate::walk::{Missing, Walk, kind_of};
use crate::{Cancel, Files, FilesError};
use cap_fs_ext::MetadataExt as _;
use cap_std::fs::{Dir, Metadata};
use serde::Serialize;
use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Entries in one answer, and bytes of their names as JSON writes them.
const MAX_ENTRIES: usize = 2000;
const MAX_NAME_BYTES: usize = 200_000;
/// A folder with more entries than this is cut.
const MAX_SEEN: usize = 1_000_000;
/// Most results of one search.
pub const MAX_RESULTS: usize = 1000;
/// A search ends after this time with what it has found.
const SEARCH_TIME: Duration = Duration::from_secs(15);

/// One entry of a folder, or one match of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The full path in the form that these tools take back.
    pub path: String,
    /// Its name in the same form.
    pub name: String,
    /// It is a folder, or a link to one inside the allowed folders.
    pub is_dir: bool,
    /// Bytes of a file; 0 for everything else.
    pub size: u64,
    /// `file`, `folder`, `link` or `other`.
    pub kind: &'static str,
    /// The name is not Unicode and is shown with `\xHH` for its raw bytes, which these tools accept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub raw_bytes: bool,
    /// Where a link leads: `inside`, or `outside` (or nowhere), of which nothing more is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leads: Option<&'static str>,
}

/// The entries of a folder, in order of their names.
#[derive(Debug, Clone)]
pub struct Listing {
    /// The real path of the folder.
    pub path: String,
    /// The entries from `offset` on.
    pub entries: Vec<Entry>,
    /// All entries of the folder.
    pub total: usize,
    /// The index to go on at; absent at the end.
    pub next_offset: Option<usize>,
}

/// What a search found.
#[derive(Debug, Clone)]
pub struct Found {
    /// The matches, nearest folders first.
    pub matches: Vec<Entry>,
    /// Why there may be more; absent when everything was seen.
    pub incomplete: Option<&'static str>,
    /// Folders that could not be opened.
    pub unreadable: u64,
}

impl Files {
    /// Lists a folder from the entry with index `offset` on.
    ///
    /// # Errors
    /// [`FilesError::NotAFolder`] for a file, and the usual refusals.
    pub fn list(&self, path: &str, offset: usize, cancel: Cancel<'_>) -> Result<Listing, FilesError> {
        let (dir, real) = self.open_folder(path, cancel)?;
        let mut names = Vec::new();
        for (seen, entry) in dir.entries().map_err(|error| FilesError::from_io(path, error))?.enumerate().take(MAX_SEEN) {
            if seen % 256 == 0 {
                cancel.check()?;
            }
            names.push(entry.map_err(|error| FilesError::from_io(path, error))?.file_name());
        }
        names.sort();
        let total = names.len();
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for name in names.into_iter().skip(offset) {
            cancel.check()?;
            let entry = self.describe(&dir, &real, &name, cancel);
            bytes += serde_json::to_string(&entry).map_or(0, |json| json.len());
            if !entries.is_empty() && (bytes > MAX_NAME_BYTES || entries.len() == MAX_ENTRIES) {
                break;
            }
            entries.push(entry);
        }
        let end = offset.saturating_add(entries.len());
        Ok(Listing { path: shown_path(&real), entries, total, next_offset: (end < total).then_some(end) })
    }

    /// Finds files and folders below `path` whose name contains `query`, whatever the case and composition.
    ///
    /// # Errors
    /// [`FilesError::InvalidArgument`] for an empty query, and the usual refusals.
    pub fn search(&self, path: &str, query: &str, most: usize, cancel: Cancel<'_>) -> Result<Found, FilesError> {
        if query.is_empty() {
            let reason = "it is empty. Give a part of the name, or use computer_file_list".to_owned();
            return Err(FilesError::InvalidArgument { name: "query", reason });
        }
        let (dir, real) = self.open_folder(path, cancel)?;
        let search = Search {
            files: self,
            query: search_form(query),
            most: most.clamp(1, MAX_RESULTS),
            started: Instant::now(),
            cancel,
            bytes: 0,
            seen: HashSet::new(),
            found: Found { matches: Vec::new(), incomplete: None, unreadable: 0 },
        };
        search.run(&dir, &real)
    }

    fn open_folder(&self, path: &str, cancel: Cancel<'_>) -> Result<(Dir, PathBuf), FilesError> {
        let place = Walk::to(&self.roots(), path, Missing::Fails, cancel)?;
        let metadata = place.metadata().map_err(|error| FilesError::from_io(path, error))?;
        if !metadata.is_dir() {
            return Err(FilesError::NotAFolder { path: path.to_owned(), kind: kind_of(&metadata) });
        }
        let real = place.real.clone();
        let dir = place.open_folder().map_err(|error| crate::walk::swapped(path, error))?;
        Ok((dir, real))
    }

    fn describe(&self, dir: &Dir, folder: &Path, name: &OsString, cancel: Cancel<'_>) -> Entry {
        let metadata = dir.symlink_metadata(name).ok();
        let mut entry = plain_entry(&folder.join(name), name, metadata.as_ref());
        if entry.kind == "link" {
            let target = Walk::to(&self.roots(), &entry.path, Missing::Fails, cancel);
            let target = target.and_then(|place| place.metadata().map_err(|error| FilesError::from_io("", error)));
            entry.leads = Some(if target.is_ok() { "inside" } else { "outside" });
            if let Ok(target) = target {
                entry.is_dir = target.is_dir();
                entry.size = if target.is_file() { target.len() } else { 0 };
            }
        }
        entry
    }
}

/// An entry as it is itself, no link followed.
fn plain_entry(path: &Path, name: &OsString, metadata: Option<&Metadata>) -> Entry {
    let (text, raw_bytes) = shown(name);
    let kind = match metadata {
        Some(metadata) if metadata.is_dir() => "folder",
        Some(metadata) if metadata.is_symlink() => "link",
        Some(metadata) if metadata.is_file() => "file",
        _ => "other",
    };
    Entry {
        path: shown_path(path),
        name: text,
        is_dir: kind == "folder",
        size: metadata.filter(|_| kind == "file").map_or(0, Metadata::len),
        kind,
        raw_bytes,
        leads: None,
    }
}

struct Search<'a> {
    files: &'a Files,
    query: String,
    most: usize,
    started: Instant,
    cancel: Cancel<'a>,
    bytes: usize,
    /// Folders by device and number: one that is mounted twice is seen once.
    seen: HashSet<(u64, u64)>,
    found: Found,
}

impl Search<'_> {
    /// Breadth first, each folder opened from the top by its relative path (contained by the system), so that a deep
    /// tree does not hold a handle per level.
    fn run(mut self, top: &Dir, real: &Path) -> Result<Found, FilesError> {
        let mut queue = VecDeque::from([PathBuf::new()]);
        while let Some(below) = queue.pop_front() {
            let opened = if below.as_os_str().is_empty() { top.try_clone() } else { top.open_dir(&below) };
            let Ok(entries) = opened.and_then(|dir| self.first_visit(&dir).then(|| dir.entries()).transpose()) else {
                self.found.unreadable += 1;
                continue;
            };
            for entry in entries.into_iter().flatten() {
                self.cancel.check()?;
                let Ok(entry) = entry else {
                    self.found.unreadable += 1;
                    break;
                };
                let name = entry.file_name();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    queue.push_back(below.join(&name));
                }
                if search_form(&shown(&name).0).contains(&self.query) {
                    let metadata = entry.metadata().ok();
                    self.add(plain_entry(&real.join(&below).join(&name), &name, metadata.as_ref()));
                }
                if self.ends() {
                    return Ok(self.found);
                }
            }
        }
        Ok(self.found)
    }

    fn first_visit(&mut self, dir: &Dir) -> bool {
        let roots = self.files.roots();
        dir.dir_metadata().is_ok_and(|metadata| !roots.closes(&metadata) && self.seen.insert((metadata.dev(), metadata.ino())))
    }

    fn add(&mut self, mut entry: Entry) {
        if entry.kind == "link" {
            let inside = Walk::to(&self.files.roots(), &entry.path, Missing::Fails, self.cancel).is_ok();
            entry.leads = Some(if inside { "inside" } else { "outside" });
        }
        self.bytes += serde_json::to_string(&entry).map_or(0, |json| json.len());
        self.found.matches.push(entry);
    }

    /// Whether a limit is met; says which.
    fn ends(&mut self) -> bool {
        self.found.incomplete = match () {
            () if self.found.matches.len() >= self.most => Some("max_results was met"),
            () if self.bytes > MAX_NAME_BYTES => Some("the answer is full"),
            () if self.started.elapsed() > SEARCH_TIME => Some("the search took too long; search in a deeper folder"),
            () => None,
        };
        self.found.incomplete.is_some()
    }
}
