//! Word documents (docx) as text.
//!
//! Paragraphs are lines, headings begin with `#`, list items with `- `, table cells are apart by tabs. Text inside
//! links, text boxes and content controls is there; **inserted (tracked) text is there, deleted text is not**, as the
//! document would be with all changes accepted. Footnotes and endnotes are marked `[^n]` and follow at the end, then
//! comments, headers and footers.

use crate::FilesError;
use crate::archive::{Archive, add_text, attribute};
use crate::read::{ReadOptions, Sheet};
use crate::text::Source;
use crate::window::Window;
use quick_xml::events::{BytesStart, Event};

/// Writes the document's text into the window.
pub(crate) fn read(source: &Source<'_>, _options: &ReadOptions, window: &mut Window) -> Result<Vec<Sheet>, FilesError> {
    let mut archive = Archive::open(source, "docx")?;
    if !part(&mut archive, "word/document.xml", "", window)? {
        return Ok(Vec::new());
    }
    let mut names = archive.names();
    names.sort();
    let extra = |start: &str| -> Vec<String> {
        let of_kind = |name: &&String| name.starts_with(start) && name.ends_with(".xml");
        names.iter().filter(of_kind).cloned().collect()
    };
    for (start, title) in [
        ("word/footnotes", "Footnotes"),
        ("word/endnotes", "Endnotes"),
        ("word/comments.", "Comments"),
        ("word/header", "Header"),
        ("word/footer", "Footer"),
    ] {
        for name in extra(start) {
            if !part(&mut archive, &name, title, window)? {
                return Ok(Vec::new());
            }
        }
    }
    Ok(Vec::new())
}

/// Text on its way to the window, with what is open around it.
struct Writer<'w> {
    window: &'w mut Window,
    title: &'static str,
    line: String,
    useful: bool,
    in_text: bool,
    /// Elements whose text is not wanted, one inside the other.
    skipped: u32,
    /// Table cells, one inside the other.
    cells: u32,
    /// The line holds only the mark of a note, whose first paragraph goes on in it.
    marked: bool,
}

/// Deleted and moved-away text, field codes, and the second copy of text boxes for old programs.
const UNWANTED: &[&str] = &["del", "moveFrom", "delText", "instrText", "delInstrText", "Fallback", "pPrChange", "rPrChange"];

/// Writes one part. Answers whether more is of any use.
fn part(archive: &mut Archive<'_>, name: &str, title: &'static str, window: &mut Window) -> Result<bool, FilesError> {
    let Some(mut xml) = archive.part(name)? else { return Ok(true) };
    let line = String::new();
    let mut writer = Writer { window, title, line, useful: true, in_text: false, skipped: 0, cells: 0, marked: false };
    while writer.useful {
        match xml.next()? {
            Event::Start(e) => writer.start(&e),
            Event::Empty(e) if writer.skipped == 0 => writer.empty(&e),
            Event::End(e) => writer.end(e.local_name().as_ref()),
            Event::Eof => {
                if !writer.line.is_empty() {
                    writer.end_line();
                }
                return Ok(writer.useful);
            }
            event if writer.in_text && writer.skipped == 0 => add_text(&event, &mut writer.line),
            _ => {}
        }
    }
    Ok(false)
}

impl Writer<'_> {
    fn start(&mut self, e: &BytesStart<'_>) {
        let name = e.local_name();
        let name = name.as_ref();
        if UNWANTED.contains(&name) {
            self.skipped += 1;
        }
        if self.skipped > 0 {
            return;
        }
        match name {
            "t" => self.in_text = true,
            "p" if self.marked => self.marked = false,
            // A paragraph inside a paragraph is a text box: it gets lines of its own.
            "p" if self.cells == 0 && !self.line.is_empty() => self.end_line(),
            "p" if self.cells > 0 && !self.line.is_empty() && !self.line.ends_with('\t') => self.line.push(' '),
            "tc" => self.cells += 1,
            "footnote" | "endnote" => self.note(e),
            _ => self.empty(e),
        }
    }

    fn empty(&mut self, e: &BytesStart<'_>) {
        match e.local_name().as_ref() {
            "tab" if attribute(e, "pos").is_none() => self.line.push('\t'),
            "br" | "cr" => self.line.push(if self.cells > 0 { ' ' } else { '\n' }),
            "noBreakHyphen" => self.line.push('\u{2011}'),
            "softHyphen" => self.line.push('\u{ad}'),
            "numPr" if self.line.is_empty() => self.line.push_str("- "),
            "pStyle" => self.heading(&attribute(e, "val").unwrap_or_default()),
            "footnoteReference" | "endnoteReference" => {
                let id = attribute(e, "id").unwrap_or_default();
                self.line.push_str(&format!("[^{id}]"));
            }
            _ => {}
        }
    }

    fn heading(&mut self, style: &str) {
        let level = match style.strip_prefix("Heading").or_else(|| style.strip_prefix("heading ")) {
            Some(level) => level.parse::<usize>().ok(),
            None => (style == "Title").then_some(1),
        };
        if let Some(level) = level.filter(|level| (1..=9).contains(level) && self.cells == 0) {
            self.line.push_str(&"#".repeat(level));
            self.line.push(' ');
        }
    }

    /// A footnote begins; the two that only draw lines are left out.
    fn note(&mut self, e: &BytesStart<'_>) {
        if attribute(e, "type").is_some_and(|kind| kind != "normal") {
            return;
        }
        let id = attribute(e, "id").unwrap_or_default();
        self.line.push_str(&format!("[^{id}]: "));
        self.marked = true;
    }

    fn end(&mut self, name: &str) {
        if UNWANTED.contains(&name) {
            self.skipped = self.skipped.saturating_sub(1);
            return;
        }
        if self.skipped > 0 {
            return;
        }
        match name {
            "t" => self.in_text = false,
            "p" if self.cells == 0 => self.end_line(),
            "tc" => {
                self.cells = self.cells.saturating_sub(1);
                self.line.push('\t');
            }
            "tr" if self.cells == 0 => {
                self.line.truncate(self.line.trim_end_matches('\t').len());
                self.end_line();
            }
            _ => {}
        }
    }

    fn end_line(&mut self) {
        if self.title.is_empty() || !self.line.is_empty() {
            let title = std::mem::take(&mut self.title);
            if !title.is_empty() {
                self.useful = self.window.push(&format!("\n{title}:\n"));
            }
            self.line.push('\n');
            self.useful &= self.window.push(&self.line);
        }
        self.line.clear();
    }
}
