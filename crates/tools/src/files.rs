//! Files in the folders that the person allowed: read as text, write, list, search.
//!
//! The engine blocks, so each call runs on a blocking thread and is told to stop through the call's token; the deadline
//! cancels that token too.

use crate::Host;
use deskhand_core::{Context, Effect, ErrorKind, Group, Reply, Text, Tool, ToolError};
use deskhand_files::{Cancel, Entry, Files, FilesError, MAX_RESULTS, MAX_TEXT, ReadOptions, Sheet, WriteOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Runs the engine on a blocking thread. When the caller stops waiting, the engine notices by the token.
async fn on_files<T: Send + 'static>(
    host: &Host,
    cx: &Context,
    work: impl FnOnce(&Files, Cancel<'_>) -> Result<T, FilesError> + Send + 'static,
) -> Result<T, ToolError> {
    let (files, token) = (host.files.clone(), cx.cancel.clone());
    let working = tokio::task::spawn_blocking(move || {
        let stop = || token.is_cancelled();
        work(&files, Cancel::new(&stop))
    });
    match working.await.map_err(|error| ToolError::failed(format!("the file tool broke off: {error}")))? {
        Err(FilesError::Cancelled) if cx.remaining().is_zero() => {
            Err(ToolError::timed_out("it took longer than the time left for this call"))
        }
        outcome => outcome.map_err(sorted),
    }
}

/// An error of the engine, sorted by who can act. The texts are the engine's own.
fn sorted(error: FilesError) -> ToolError {
    let kind = match error {
        FilesError::NoFolders { .. } | FilesError::Outside { .. } | FilesError::Closed { .. } | FilesError::Denied { .. } => {
            ErrorKind::Denied
        }
        FilesError::InvalidPath { .. }
        | FilesError::InvalidArgument { .. }
        | FilesError::Ambiguous { .. }
        | FilesError::NotAFile { .. }
        | FilesError::NotAFolder { .. } => ErrorKind::InvalidArguments,
        FilesError::NotFound { .. } => ErrorKind::NotFound,
        FilesError::Cancelled => ErrorKind::Cancelled,
        _ => ErrorKind::Failed,
    };
    ToolError::new(kind, error.to_string())
}

/// Reads a file as text.
pub struct FileRead;

/// Arguments of `computer_file_read`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct FileReadArgs {
    /// Absolute path of a file inside an allowed folder (computer_whitelist lists them).
    path: String,
    /// Where to begin: the next_offset of the answer before.
    #[serde(default)]
    offset: u64,
    /// Most bytes of text to answer, 1024 to 300000.
    #[serde(default)]
    limit: Option<u32>,
    /// Encoding of a text file, such as utf-8, gbk, shift_jis, windows-1252. Detected when absent.
    #[serde(default)]
    encoding: Option<String>,
    /// Only this sheet of a workbook.
    #[serde(default)]
    sheet: Option<String>,
}

/// What was read. The text itself is the text content of the result.
#[derive(Serialize, JsonSchema)]
pub struct FileReadOutput {
    /// Real path of the file.
    path: String,
    /// text, xlsx, xls, ods or docx.
    format: &'static str,
    /// Encoding of a text file. Pass it to computer_file_write to keep it.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
    /// The encoding is only likely.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    encoding_guessed: bool,
    /// Places in this text that could not be decoded and stand as U+FFFD.
    #[serde(skip_serializing_if = "is_zero")]
    undecodable: u64,
    /// Sheets of a workbook, as far as it was read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sheets: Vec<SheetOutput>,
    /// There is more after this text.
    truncated: bool,
    /// Where to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    /// Bytes of the whole: of the file for text, of the extracted text for a document.
    total_bytes: u64,
    /// total_bytes is only the least it can be, because a limit was met.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    total_is_minimum: bool,
}

/// A sheet of a workbook.
#[derive(Serialize, JsonSchema)]
pub struct SheetOutput {
    /// Its name.
    name: String,
    /// Rows up to the last used one.
    rows: u32,
    /// Columns up to the last used one.
    columns: u32,
    /// Hidden from the person.
    hidden: bool,
}

impl From<Sheet> for SheetOutput {
    fn from(sheet: Sheet) -> Self {
        Self { name: sheet.name, rows: sheet.rows, columns: sheet.columns, hidden: sheet.hidden }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Tool for FileRead {
    type Host = Host;
    type Args = FileReadArgs;
    type Output = FileReadOutput;
    const NAME: &'static str = "computer_file_read";
    const TITLE: &'static str = "Read a file";
    const SUMMARY: &'static str = "Reads a file inside an allowed folder as text, at most 300 kB a call; go on with offset = next_offset. Any text encoding is detected and named; carriage returns and a byte order mark stay in the text. Workbooks (xlsx, xls, ods) come as one line a row with tabs between cells, Word documents (docx) as lines with # headings; deleted tracked text is left out.";
    const GROUPS: &'static [Group] = &[Group::FileRead];
    const EFFECT: Effect = Effect::Reads;
    const IDEMPOTENT: bool = true;

    async fn run(host: &Host, cx: &Context, args: FileReadArgs) -> Result<Reply<FileReadOutput>, ToolError> {
        let FileReadArgs { path, offset, limit, encoding, sheet } = args;
        let limit = limit.map_or(MAX_TEXT, |limit| limit as usize);
        let options = ReadOptions { offset, limit, encoding, sheet };
        let reading = on_files(host, cx, move |files, cancel| files.read(&path, &options, cancel)).await?;
        let output = FileReadOutput {
            truncated: reading.truncated(),
            path: reading.path,
            format: reading.format,
            encoding: reading.encoding,
            encoding_guessed: reading.encoding_guessed,
            undecodable: reading.replaced,
            sheets: reading.sheets.into_iter().map(SheetOutput::from).collect(),
            next_offset: reading.next_offset,
            total_bytes: reading.total_bytes,
            total_is_minimum: reading.total_is_minimum,
        };
        Ok(Reply::text(output, reading.text))
    }
}

/// Writes a file whole.
pub struct FileWrite;

/// Arguments of `computer_file_write`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct FileWriteArgs {
    /// Absolute path of a file inside an allowed folder. Its folder must exist unless create_folders is true.
    path: String,
    /// The whole new text, written exactly as given (line ends too).
    content: Text,
    /// Make missing folders of the path.
    #[serde(default)]
    create_folders: bool,
    /// Encoding to write, such as the one computer_file_read named. UTF-8 when absent.
    #[serde(default)]
    encoding: Option<String>,
}

/// What was written.
#[derive(Serialize, JsonSchema)]
pub struct FileWriteOutput {
    /// Always true; a failure is an error.
    ok: bool,
    /// Real path of the file.
    path: String,
    /// Bytes on the disk.
    bytes: u64,
    /// There was no such file before.
    created: bool,
    /// Something to know about what was replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

impl Tool for FileWrite {
    type Host = Host;
    type Args = FileWriteArgs;
    type Output = FileWriteOutput;
    const NAME: &'static str = "computer_file_write";
    const TITLE: &'static str = "Write a file";
    const SUMMARY: &'static str = "Writes a text file inside an allowed folder, replacing what was there: the old file or the whole new one, never half. The file's mode is kept. At most 16 MB.";
    const GROUPS: &'static [Group] = &[Group::FileWrite];
    const EFFECT: Effect = Effect::Changes;
    const IDEMPOTENT: bool = true;
    const DESTRUCTIVE: bool = true;

    async fn run(host: &Host, cx: &Context, args: FileWriteArgs) -> Result<Reply<FileWriteOutput>, ToolError> {
        let FileWriteArgs { path, content, create_folders, encoding } = args;
        let options = WriteOptions { create_folders, encoding };
        let written = on_files(host, cx, move |files, cancel| files.write(&path, content.as_str(), &options, cancel)).await?;
        let note = written.links_split.then_some("the file had other hard links; they keep the old text");
        Ok(Reply::new(FileWriteOutput { ok: true, path: written.path, bytes: written.bytes, created: written.created, note }))
    }
}

/// Lists a folder.
pub struct FileList;

/// Arguments of `computer_file_list`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct FileListArgs {
    /// Absolute path of an allowed folder or a folder inside one.
    path: String,
    /// Number of entries to skip: the next_offset of the answer before.
    #[serde(default)]
    offset: u64,
}

/// A file or folder.
#[derive(Serialize, JsonSchema)]
pub struct EntryOutput {
    /// Full path, in the form that the file tools take.
    path: String,
    /// Its name.
    name: String,
    /// A folder, or a link to one inside the allowed folders.
    is_dir: bool,
    /// Bytes of a file, else 0.
    size: u64,
    /// file, folder, link or other (pipe, device, socket).
    kind: &'static str,
    /// The name is not Unicode: its raw bytes are shown as \xHH, and the file tools take it so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    raw_bytes: bool,
    /// Where a link leads: inside, or outside the allowed folders (then it cannot be used).
    #[serde(skip_serializing_if = "Option::is_none")]
    leads: Option<&'static str>,
}

impl From<Entry> for EntryOutput {
    fn from(entry: Entry) -> Self {
        let Entry { path, name, is_dir, size, kind, raw_bytes, leads } = entry;
        Self { path, name, is_dir, size, kind, raw_bytes, leads }
    }
}

/// Entries of a folder.
#[derive(Serialize, JsonSchema)]
pub struct FileListOutput {
    /// Entries in order of their names.
    entries: Vec<EntryOutput>,
    /// Real path of the folder.
    path: String,
    /// All entries of the folder.
    total: u64,
    /// There are more entries than these.
    truncated: bool,
    /// Where to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

impl Tool for FileList {
    type Host = Host;
    type Args = FileListArgs;
    type Output = FileListOutput;
    const NAME: &'static str = "computer_file_list";
    const TITLE: &'static str = "List a folder";
    const SUMMARY: &'static str = "Lists the files and folders directly inside an allowed folder, with sizes in bytes.";
    const GROUPS: &'static [Group] = &[Group::FileList];
    const EFFECT: Effect = Effect::Reads;
    const IDEMPOTENT: bool = true;

    async fn run(host: &Host, cx: &Context, args: FileListArgs) -> Result<Reply<FileListOutput>, ToolError> {
        let offset = usize::try_from(args.offset).unwrap_or(usize::MAX);
        let listing = on_files(host, cx, move |files, cancel| files.list(&args.path, offset, cancel)).await?;
        Ok(Reply::new(FileListOutput {
            entries: listing.entries.into_iter().map(EntryOutput::from).collect(),
            path: listing.path,
            total: listing.total as u64,
            truncated: listing.next_offset.is_some(),
            next_offset: listing.next_offset.map(|offset| offset as u64),
        }))
    }
}

/// Tells which folders are allowed.
pub struct Whitelist;

/// `computer_whitelist` takes nothing.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct WhitelistArgs {}

/// The allowed folders.
#[derive(Serialize, JsonSchema)]
pub struct WhitelistOutput {
    /// Folders that can be used now. Empty: no file can be reached.
    directories: Vec<String>,
    /// How many they are.
    count: u64,
    /// Folders that are allowed but cannot be opened now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreachable: Vec<String>,
}

impl Tool for Whitelist {
    type Host = Host;
    type Args = WhitelistArgs;
    type Output = WhitelistOutput;
    const NAME: &'static str = "computer_whitelist";
    const TITLE: &'static str = "Allowed folders";
    const SUMMARY: &'static str = "Lists the folders that the file tools may use. Everything else is refused.";
    const GROUPS: &'static [Group] = &[Group::FileList];
    const EFFECT: Effect = Effect::Reads;
    const IDEMPOTENT: bool = true;

    async fn run(host: &Host, cx: &Context, _args: WhitelistArgs) -> Result<Reply<WhitelistOutput>, ToolError> {
        let folders = on_files(host, cx, |files, _| Ok(files.allowed())).await?;
        let (usable, others): (Vec<_>, Vec<_>) = folders.into_iter().partition(|folder| folder.reachable);
        let directories: Vec<_> = usable.into_iter().map(|folder| folder.path).collect();
        let unreachable = others.into_iter().map(|folder| folder.path).collect();
        Ok(Reply::new(WhitelistOutput { count: directories.len() as u64, directories, unreachable }))
    }
}

/// Finds files and folders by name.
pub struct FileSearch;

/// Arguments of `computer_file_search`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct FileSearchArgs {
    /// Absolute path of the folder to search, with everything below it.
    path: String,
    /// Part of the name, in any case.
    query: String,
    /// Most matches to answer, 1 to 1000.
    #[serde(default = "fifty")]
    max_results: u32,
}

fn fifty() -> u32 {
    50
}

/// What was found.
#[derive(Serialize, JsonSchema)]
pub struct FileSearchOutput {
    /// Matches, nearest folders first. Links are not followed.
    matches: Vec<EntryOutput>,
    /// How many they are.
    count: u64,
    /// What was searched for.
    query: String,
    /// There may be more; the reason says why.
    truncated: bool,
    /// Why there may be more.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// Folders that could not be opened.
    #[serde(skip_serializing_if = "is_zero")]
    unreadable_folders: u64,
}

impl Tool for FileSearch {
    type Host = Host;
    type Args = FileSearchArgs;
    type Output = FileSearchOutput;
    const NAME: &'static str = "computer_file_search";
    const TITLE: &'static str = "Find files by name";
    const SUMMARY: &'static str =
        "Finds files and folders below an allowed folder whose name contains the query, whatever the case. Contents are not searched.";
    const GROUPS: &'static [Group] = &[Group::FileList];
    const EFFECT: Effect = Effect::Reads;
    const IDEMPOTENT: bool = true;

    async fn run(host: &Host, cx: &Context, args: FileSearchArgs) -> Result<Reply<FileSearchOutput>, ToolError> {
        let FileSearchArgs { path, query, max_results } = args;
        let most = max_results as usize;
        if !(1..=MAX_RESULTS).contains(&most) {
            return Err(ToolError::invalid(format!("max_results is {most}; give 1 to {MAX_RESULTS}")));
        }
        let asked = query.clone();
        let found = on_files(host, cx, move |files, cancel| files.search(&path, &asked, most, cancel)).await?;
        Ok(Reply::new(FileSearchOutput {
            count: found.matches.len() as u64,
            matches: found.matches.into_iter().map(EntryOutput::from).collect(),
            query,
            truncated: found.incomplete.is_some(),
            reason: found.incomplete,
            unreadable_folders: found.unreadable,
        }))
    }
}
