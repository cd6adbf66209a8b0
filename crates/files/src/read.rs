//! Reading a file the agent named as text, whatever it is.
//!
//! What a file is, is told by its bytes, never by its name. Only regular files are opened, without waiting (a named
//! pipe or a device is told by its kind before it is touched and again once it is open), and every loop is bounded by
//! bytes read: the size the system claims is only a hint.

use crate::archive::Archive;
use crate::text::{self, Source};
use crate::walk::{Missing, Place, Walk, kind_of, swapped};
use crate::window::{View, Window};
use crate::{Cancel, Files, FilesError};
use crate::{docx, ods, xls, xlsx};
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::OpenOptions;
use serde::Serialize;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Bytes of text in one answer unless less is asked for.
pub const MAX_TEXT: usize = 300_000;
/// A document larger than this is not unfolded.
const MAX_DOCUMENT: u64 = 64 << 20;
/// How often a place that changes under the walk is tried.
const TRIES: usize = 5;

/// How to read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Where to begin: the `next_offset` of the answer before. Bytes of the file for text files, bytes of the extracted
    /// text for documents.
    pub offset: u64,
    /// Most bytes of text to answer: 1,024 to [`MAX_TEXT`].
    pub limit: usize,
    /// The encoding of a text file (a name of the WHATWG standard); told from the bytes when absent.
    pub encoding: Option<String>,
    /// Only this sheet of a workbook.
    pub sheet: Option<String>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { offset: 0, limit: MAX_TEXT, encoding: None, sheet: None }
    }
}

/// A sheet of a workbook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sheet {
    /// Its name.
    pub name: String,
    /// Rows up to the last used one.
    pub rows: u32,
    /// Columns up to the last used one.
    pub columns: u32,
    /// The person does not see it unless they unhide it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
}

/// The text of a file, or of as much as fits.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The real path.
    pub path: String,
    /// The text from `offset` on.
    pub text: String,
    /// `text`, `xlsx`, `xls`, `ods` or `docx`.
    pub format: &'static str,
    /// The encoding of a text file, in lower case.
    pub encoding: Option<String>,
    /// The encoding is only likely.
    pub encoding_guessed: bool,
    /// Undecodable places in this text that stand as U+FFFD.
    pub replaced: u64,
    /// The sheets of a workbook, as far as it was read.
    pub sheets: Vec<Sheet>,
    /// Where this text begins.
    pub offset: u64,
    /// Where to go on; absent when this was the end.
    pub next_offset: Option<u64>,
    /// Length of the whole in the unit of `offset`.
    pub total_bytes: u64,
    /// `total_bytes` is only the least it can be (the work ended at a limit).
    pub total_is_minimum: bool,
}

impl Reading {
    pub(crate) fn new(format: &'static str, offset: u64) -> Self {
        Self { format, offset, ..Self::default() }
    }

    /// There is more after this text.
    pub fn truncated(&self) -> bool {
        self.next_offset.is_some()
    }
}

impl Files {
    /// Reads a file as text.
    ///
    /// # Errors
    /// Everything in [`FilesError`]; nothing is changed.
    pub fn read(&self, path: &str, options: &ReadOptions, cancel: Cancel<'_>) -> Result<Reading, FilesError> {
        let options = ReadOptions { limit: options.limit.clamp(1024, MAX_TEXT), ..options.clone() };
        let (file, size, real) = self.open_file(path, cancel)?;
        let mut source = Source { file, asked: path, size, cancel };
        let (start, _) = source.bytes(0, 8)?;
        let mut reading = match &start[..] {
            _ if options.encoding.is_some() => text::read(&mut source, &options)?,
            [b'P', b'K', 3, 4, ..] => packed(&source, &options)?,
            xls::SIGNATURE => document(&source, "xls", &options, xls::read)?,
            _ => text::read(&mut source, &options)?,
        };
        reading.path = real;
        Ok(reading)
    }

    /// Opens a regular file for reading: the file, its size and its real path.
    pub(crate) fn open_file(&self, path: &str, cancel: Cancel<'_>) -> Result<(File, u64, String), FilesError> {
        let mut last = FilesError::Changed { path: path.to_owned() };
        for _ in 0..TRIES {
            let place = Walk::to(&self.roots(), path, Missing::Fails, cancel)?;
            let real = crate::names::shown_path(&place.real);
            match open_regular(&place, path) {
                Ok((file, size)) => return Ok((file, size, real)),
                Err(error @ FilesError::Changed { .. }) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }
}

fn open_regular(place: &Place, asked: &str) -> Result<(File, u64), FilesError> {
    let not_a_file = |kind| FilesError::NotAFile {
        path: asked.to_owned(),
        kind,
        hint: if kind == "a folder" { "computer_file_list shows what is in it" } else { "Only regular files can be read" },
    };
    let Some(name) = &place.name else { return Err(not_a_file("a folder")) };
    // Told before it is opened: opening a device can already do something.
    let before = place.metadata().map_err(|error| swapped(asked, error))?;
    if !before.is_file() && !before.is_symlink() {
        return Err(not_a_file(kind_of(&before)));
    }
    let mut how = OpenOptions::new();
    how.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = place.folder.open_with(name, &how).map_err(|error| swapped(asked, error))?;
    let metadata = file.metadata().map_err(|error| FilesError::from_io(asked, error))?;
    if !metadata.is_file() {
        return Err(not_a_file(kind_of(&metadata)));
    }
    Ok((file.into_std(), metadata.len()))
}

/// What a document reader gets and gives.
type Extract = fn(&Source<'_>, &ReadOptions, &mut Window) -> Result<Vec<Sheet>, FilesError>;

/// A ZIP archive: one of the documents made of one, or not text.
fn packed(source: &Source<'_>, options: &ReadOptions) -> Result<Reading, FilesError> {
    check_size(source)?;
    let kind = guarded(source, "zip", || Archive::open(source, "zip").and_then(|mut archive| archive.kind()))?;
    match kind {
        Some("xlsx") => document(source, "xlsx", options, xlsx::read),
        Some("docx") => document(source, "docx", options, docx::read),
        Some("ods") => document(source, "ods", options, ods::read),
        other => {
            let kind = other.unwrap_or("a ZIP archive").to_owned();
            Err(FilesError::Binary { path: source.asked.to_owned(), kind })
        }
    }
}

fn check_size(source: &Source<'_>) -> Result<(), FilesError> {
    if source.size <= MAX_DOCUMENT {
        return Ok(());
    }
    let what = format!("a document of {} bytes", source.size);
    Err(FilesError::TooLarge { path: source.asked.to_owned(), what, limit: MAX_DOCUMENT, hint: "Ask for a smaller export" })
}

fn document(source: &Source<'_>, format: &'static str, options: &ReadOptions, extract: Extract) -> Result<Reading, FilesError> {
    check_size(source)?;
    let mut window = Window::new(options.offset, options.limit);
    let sheets = guarded(source, format, || extract(source, options, &mut window))?;
    let View { text, total, total_is_minimum, next } = window.view();
    if options.offset > total {
        let (reason, name) = (format!("{} is past the end: the text has {total} bytes", options.offset), "offset");
        return Err(FilesError::InvalidArgument { name, reason });
    }
    let total_bytes = total;
    Ok(Reading { text, sheets, next_offset: next, total_bytes, total_is_minimum, ..Reading::new(format, options.offset) })
}

/// A parser of foreign formats that panics is a broken file, not a broken worker.
fn guarded<T>(source: &Source<'_>, format: &'static str, work: impl FnOnce() -> Result<T, FilesError>) -> Result<T, FilesError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let reason = "its structure is broken in a way the reader does not understand".to_owned();
        Err(FilesError::Damaged { path: source.asked.to_owned(), format, reason })
    })
}
