//! Documents that are ZIP archives of XML parts, unfolded under one limit.
//!
//! The sizes an archive claims are not believed: bytes are counted as they are inflated, over all parts together. XML
//! is read as a stream of events; nothing but the caller's own state is kept.

use crate::FilesError;
use crate::text::Source;
use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesRef, BytesStart, Event};
use std::fs::File;
use std::io::{BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use zip::ZipArchive;

/// All parts of one document together may unfold to this many bytes.
pub(crate) const MAX_UNFOLDED: u64 = 128 << 20;
const MAX_PARTS: usize = 20_000;

/// An open document.
pub(crate) struct Archive<'a> {
    zip: ZipArchive<BufReader<File>>,
    source: &'a Source<'a>,
    format: &'static str,
    left: Arc<AtomicU64>,
}

impl<'a> Archive<'a> {
    pub(crate) fn open(source: &'a Source<'_>, format: &'static str) -> Result<Self, FilesError> {
        let file = source.file.try_clone().map_err(|error| FilesError::from_io(source.asked, error))?;
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|error| damaged(source, format, &error))?;
        if zip.len() > MAX_PARTS {
            return Err(damaged(source, format, &format!("it has {} parts, more than {MAX_PARTS}", zip.len())));
        }
        Ok(Self { zip, source, format, left: Arc::new(AtomicU64::new(MAX_UNFOLDED)) })
    }

    /// Which document this is; for others, what to call it.
    pub(crate) fn kind(&mut self) -> Result<Option<&'static str>, FilesError> {
        let has = |name: &str| self.zip.index_for_name(name).is_some();
        if has("xl/workbook.xml") || has("xl\\workbook.xml") {
            return Ok(Some("xlsx"));
        }
        if has("xl/workbook.bin") {
            return Ok(Some("a binary workbook (xlsb). Save it as xlsx"));
        }
        if has("word/document.xml") {
            return Ok(Some("docx"));
        }
        if has("ppt/presentation.xml") {
            return Ok(Some("a presentation (pptx)"));
        }
        let (is_office, mut mimetype) = (has("[Content_Types].xml"), Vec::new());
        if let Ok(part) = self.zip.by_name("mimetype") {
            let _ = part.take(200).read_to_end(&mut mimetype);
        }
        Ok(match &mimetype[..] {
            b"application/vnd.oasis.opendocument.spreadsheet" => Some("ods"),
            b"application/epub+zip" => Some("an EPUB book"),
            other if other.starts_with(b"application/vnd.oasis.opendocument") => Some("an OpenDocument file other than ods"),
            _ if is_office => Some("an Office document that is neither xlsx nor docx"),
            _ => None,
        })
    }

    /// The names of all parts.
    pub(crate) fn names(&self) -> Vec<String> {
        self.zip.file_names().flatten().map(|name| name.into_owned()).collect()
    }

    /// Opens a part as XML. Names are compared without regard to case and kind of slash, as Office does.
    pub(crate) fn part(&mut self, name: &str) -> Result<Option<Xml<'_>>, FilesError> {
        let index = self.zip.index_for_name(name).or_else(|| {
            let same = |other: &String| other.replace('\\', "/").eq_ignore_ascii_case(name);
            let found = self.names().into_iter().find(same)?;
            self.zip.index_for_name(&found)
        });
        let Some(index) = index else { return Ok(None) };
        let (source, format) = (self.source, self.format);
        let part = self.zip.by_index(index).map_err(|error| damaged(source, format, &error))?;
        if part.encrypted() {
            return Err(FilesError::Locked { path: source.asked.to_owned() });
        }
        let counted = Counted { inner: part, left: Arc::clone(&self.left) };
        let mut reader = Reader::from_reader(BufReader::with_capacity(64 << 10, Box::new(counted) as Box<dyn Read + '_>));
        // Real files have tags that do not match; the text in them is wanted all the same.
        reader.config_mut().check_end_names = false;
        reader.config_mut().allow_unmatched_ends = true;
        Ok(Some(Xml { reader, buffer: Vec::new(), source, format, left: Arc::clone(&self.left), events: 0 }))
    }

    /// The error for a document whose structure is wrong.
    pub(crate) fn damaged(&self, reason: &str) -> FilesError {
        damaged(self.source, self.format, &reason)
    }
}

fn damaged(source: &Source<'_>, format: &'static str, reason: &dyn std::fmt::Display) -> FilesError {
    FilesError::Damaged { path: source.asked.to_owned(), format, reason: reason.to_string() }
}

/// Counts what is inflated and ends at the limit.
struct Counted<R> {
    inner: R,
    left: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return Err(std::io::Error::other("the document unfolds to more than the limit"));
        }
        let room = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = self.inner.read(&mut into[..room])?;
        self.left.fetch_sub(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// A part as a stream of XML events.
pub(crate) struct Xml<'a> {
    reader: Reader<BufReader<Box<dyn Read + 'a>>>,
    buffer: Vec<u8>,
    source: &'a Source<'a>,
    format: &'static str,
    left: Arc<AtomicU64>,
    events: u32,
}

impl Xml<'_> {
    /// The next event; `Eof` at the end.
    pub(crate) fn next(&mut self) -> Result<Event<'_>, FilesError> {
        self.events = self.events.wrapping_add(1);
        if self.events.is_multiple_of(1024) {
            self.source.cancel.check()?;
        }
        self.buffer.clear();
        let (source, format) = (self.source, self.format);
        self.reader.read_event_into(&mut self.buffer).map_err(|error| {
            if self.left.load(Ordering::Relaxed) == 0 {
                let (path, what) = (source.asked.to_owned(), "what the document unfolds to".to_owned());
                return FilesError::TooLarge { path, what, limit: MAX_UNFOLDED, hint: "Ask for a smaller export" };
            }
            damaged(source, format, &error)
        })
    }
}

/// The value of an attribute by its local name.
pub(crate) fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = element.attributes().with_checks(false).flatten().find(|a| a.key.local_name().as_ref() == name)?;
    Some(unescape(&attribute.value).map_or_else(|_| attribute.value.to_string(), |value| value.into_owned()))
}

/// The text an entity stands for (`&amp;`, `&#x41;`); an unknown one stays as it is.
pub(crate) fn entity(entity: &BytesRef<'_>) -> String {
    if let Ok(Some(character)) = entity.resolve_char_ref() {
        return character.to_string();
    }
    let name = entity.xml10_content();
    match &*name {
        "lt" => "<".into(),
        "gt" => ">".into(),
        "amp" => "&".into(),
        "quot" => "\"".into(),
        "apos" => "'".into(),
        other => format!("&{other};"),
    }
}

/// Adds the text of an event, if it has any.
pub(crate) fn add_text(event: &Event<'_>, to: &mut String) {
    match event {
        Event::Text(text) => to.push_str(&text.xml10_content()),
        Event::CData(text) => to.push_str(&text.xml10_content()),
        Event::GeneralRef(reference) => to.push_str(&entity(reference)),
        _ => {}
    }
}
