//! Excel workbooks (xlsx, xlsm) as text, read as streams.
//!
//! Read here with `quick-xml` rather than with `calamine`: that library reserves what a file claims to hold (a count of
//! strings, a dimension) before it is seen, and a claim of a few billion aborts the process, which cannot be caught.
//! Here claims are not read at all: positions come from the cells, and only shared strings and styles are kept.

use crate::FilesError;
use crate::archive::{Archive, add_text, attribute};
use crate::cell_format::{CellFormat, format_of, number};
use crate::grid::{Grid, position};
use crate::read::{ReadOptions, Sheet};
use crate::text::Source;
use crate::window::Window;
use quick_xml::events::{BytesStart, Event};
use std::collections::HashMap;

/// Excel's own limits; references beyond them are broken.
const MAX_ROW: u32 = 1 << 20;
const MAX_COLUMN: u32 = 1 << 14;

/// What the sheets refer to.
struct Book {
    strings: Strings,
    formats: Vec<CellFormat>,
    from_1904: bool,
}

/// All shared strings in one piece: a million short ones cost 8 bytes each, not 24.
#[derive(Default)]
struct Strings {
    text: String,
    ends: Vec<usize>,
}

impl Strings {
    fn get(&self, index: usize) -> Option<&str> {
        let start = if index == 0 { 0 } else { *self.ends.get(index - 1)? };
        self.text.get(start..*self.ends.get(index)?)
    }
}

/// Writes all sheets (or the one asked for) into the window.
pub(crate) fn read(source: &Source<'_>, options: &ReadOptions, window: &mut Window) -> Result<Vec<Sheet>, FilesError> {
    let mut archive = Archive::open(source, "xlsx")?;
    let (parts, from_1904) = sheets(&mut archive)?;
    let book = Book { strings: strings(&mut archive)?, formats: formats(&mut archive)?, from_1904 };
    let mut done = Vec::new();
    let wanted = |name: &String| options.sheet.as_ref().is_none_or(|sheet| sheet == name);
    if !parts.iter().any(|part| wanted(&part.name)) && options.sheet.is_some() {
        let names: Vec<_> = parts.iter().map(|part| part.name.as_str()).collect();
        let reason = format!("there is no such sheet. Sheets: {}", names.join(", "));
        return Err(FilesError::InvalidArgument { name: "sheet", reason });
    }
    for part in parts.into_iter().filter(|part| wanted(&part.name)) {
        let mut grid = Grid::new(window, part.name, part.hidden);
        let outcome = cells(&mut archive, &part.target, &book, &mut grid);
        done.push(grid.end());
        match outcome {
            Ok(true) => {}
            // Over the limit in the middle of a sheet: what was read is given, and that there is more.
            Err(FilesError::TooLarge { .. }) if window.seen() > options.offset => {
                window.end_early();
                return Ok(done);
            }
            Ok(false) => return Ok(done),
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

struct SheetPart {
    name: String,
    target: String,
    hidden: bool,
}

fn sheets(archive: &mut Archive<'_>) -> Result<(Vec<SheetPart>, bool), FilesError> {
    let mut targets = HashMap::new();
    if let Some(mut xml) = archive.part("xl/_rels/workbook.xml.rels")? {
        loop {
            match xml.next()? {
                Event::Start(e) | Event::Empty(e) if e.local_name().as_ref() == "Relationship" => {
                    if let (Some(id), Some(target)) = (attribute(&e, "Id"), attribute(&e, "Target")) {
                        let target = target.replace('\\', "/");
                        let part = target.strip_prefix('/').map_or_else(|| format!("xl/{target}"), ToOwned::to_owned);
                        targets.insert(id, part);
                    }
                }
                Event::Eof => break,
                _ => {}
            }
        }
    }
    let (mut parts, mut from_1904) = (Vec::new(), false);
    let Some(mut xml) = archive.part("xl/workbook.xml")? else { return Err(archive.damaged("it has no workbook part")) };
    loop {
        match xml.next()? {
            Event::Start(e) | Event::Empty(e) => match e.local_name().as_ref() {
                "workbookPr" => from_1904 = attribute(&e, "date1904").is_some_and(|value| value == "1" || value == "true"),
                "sheet" => {
                    let number = parts.len() + 1;
                    let target = attribute(&e, "id").and_then(|id| targets.get(&id).cloned());
                    parts.push(SheetPart {
                        name: attribute(&e, "name").unwrap_or_else(|| format!("Sheet {number}")),
                        target: target.unwrap_or_else(|| format!("xl/worksheets/sheet{number}.xml")),
                        hidden: attribute(&e, "state").is_some_and(|state| state != "visible"),
                    });
                }
                _ => {}
            },
            Event::Eof => return Ok((parts, from_1904)),
            _ => {}
        }
    }
}

fn strings(archive: &mut Archive<'_>) -> Result<Strings, FilesError> {
    let mut strings = Strings::default();
    let Some(mut xml) = archive.part("xl/sharedStrings.xml")? else { return Ok(strings) };
    let (mut item, mut in_text, mut phonetic) = (String::new(), false, false);
    loop {
        match xml.next()? {
            Event::Start(e) => match e.local_name().as_ref() {
                "si" => item.clear(),
                "rPh" => phonetic = true,
                "t" => in_text = !phonetic,
                _ => {}
            },
            Event::Empty(e) if e.local_name().as_ref() == "si" => strings.ends.push(strings.text.len()),
            Event::End(e) => match e.local_name().as_ref() {
                "si" => {
                    strings.text.push_str(&unescaped(&item));
                    strings.ends.push(strings.text.len());
                }
                "rPh" => phonetic = false,
                "t" => in_text = false,
                _ => {}
            },
            Event::Eof => return Ok(strings),
            event if in_text => add_text(&event, &mut item),
            _ => {}
        }
    }
}

fn formats(archive: &mut Archive<'_>) -> Result<Vec<CellFormat>, FilesError> {
    let (mut patterns, mut formats, mut in_cells) = (HashMap::new(), Vec::new(), false);
    let Some(mut xml) = archive.part("xl/styles.xml")? else { return Ok(formats) };
    let id_of = |e: &BytesStart<'_>| attribute(e, "numFmtId").and_then(|id| id.parse::<u32>().ok());
    loop {
        match xml.next()? {
            Event::Start(e) | Event::Empty(e) => match e.local_name().as_ref() {
                "numFmt" => {
                    if let (Some(id), Some(pattern)) = (id_of(&e), attribute(&e, "formatCode")) {
                        patterns.insert(id, pattern);
                    }
                }
                "cellXfs" => in_cells = true,
                "xf" if in_cells => {
                    let id = id_of(&e).unwrap_or(0);
                    formats.push(format_of(id, patterns.get(&id).map(String::as_str)));
                }
                _ => {}
            },
            Event::End(e) if e.local_name().as_ref() == "cellXfs" => in_cells = false,
            Event::Eof => return Ok(formats),
            _ => {}
        }
    }
}

/// Where the text of the event belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Nothing,
    Value,
    Text,
    Formula,
}

/// The cell that is being read.
#[derive(Default)]
struct CellState {
    row: u32,
    column: u32,
    kind: Option<String>,
    style: usize,
    value: String,
    text: String,
    formula: String,
}

impl CellState {
    fn begin(&mut self, e: &BytesStart<'_>) {
        if let Some((row, column)) = attribute(e, "r").as_deref().and_then(position) {
            (self.row, self.column) = (row, column);
        }
        self.kind = attribute(e, "t");
        self.style = attribute(e, "s").and_then(|style| style.parse().ok()).unwrap_or(0);
        self.value.clear();
        self.text.clear();
        self.formula.clear();
    }

    fn shown(&self, book: &Book) -> String {
        let value = self.value.trim();
        match self.kind.as_deref() {
            Some("s") => value.parse().ok().and_then(|index| book.strings.get(index)).unwrap_or_default().to_owned(),
            Some("inlineStr") => unescaped(&self.text),
            Some("str") => unescaped(&self.value),
            Some("b") => if value == "0" { "FALSE" } else { "TRUE" }.to_owned(),
            Some("e" | "d") => value.to_owned(),
            // A formula that was never calculated has no value; it is shown rather than lost.
            _ if value.is_empty() && !self.formula.is_empty() => format!("={}", self.formula),
            _ if value.is_empty() => unescaped(&self.text),
            _ => {
                let format = book.formats.get(self.style).copied().unwrap_or_default();
                value.parse().map_or_else(|_| value.to_owned(), |value| number(value, format, book.from_1904))
            }
        }
    }
}

/// Writes the cells of one sheet. Answers whether more is of any use.
fn cells(archive: &mut Archive<'_>, target: &str, book: &Book, grid: &mut Grid<'_>) -> Result<bool, FilesError> {
    let Some(mut xml) = archive.part(target)? else { return Ok(true) };
    let (mut cell, mut within, mut phonetic) = (CellState::default(), Within::Nothing, false);
    loop {
        match xml.next()? {
            Event::Start(e) => match e.local_name().as_ref() {
                "row" => begin_row(&mut cell, &e),
                "c" => cell.begin(&e),
                "v" => within = Within::Value,
                "f" => within = Within::Formula,
                "rPh" => phonetic = true,
                "t" if !phonetic => within = Within::Text,
                _ => {}
            },
            Event::Empty(e) => match e.local_name().as_ref() {
                "row" => cell.row = cell.row.saturating_add(1),
                "c" => {
                    cell.begin(&e);
                    cell.column = cell.column.saturating_add(1);
                }
                _ => {}
            },
            Event::End(e) => match e.local_name().as_ref() {
                "row" => (cell.row, cell.column) = (cell.row.saturating_add(1), 0),
                "c" => {
                    let (row, column) = (cell.row.min(MAX_ROW), cell.column.min(MAX_COLUMN));
                    if !grid.cell(row, column, &cell.shown(book)) {
                        return Ok(false);
                    }
                    cell.column = cell.column.saturating_add(1);
                }
                "rPh" => phonetic = false,
                "v" | "f" | "t" => within = Within::Nothing,
                "sheetData" => return Ok(true),
                _ => {}
            },
            Event::Eof => return Ok(true),
            event => match within {
                Within::Nothing => {}
                Within::Value => add_text(&event, &mut cell.value),
                Within::Text => add_text(&event, &mut cell.text),
                Within::Formula => add_text(&event, &mut cell.formula),
            },
        }
    }
}

fn begin_row(cell: &mut CellState, e: &BytesStart<'_>) {
    cell.column = 0;
    if let Some(row) = attribute(e, "r").and_then(|row| row.parse::<u32>().ok()).filter(|row| *row > 0) {
        cell.row = row - 1;
    }
}

/// `_x000D_` is how Excel writes characters that XML cannot hold.
fn unescaped(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find("_x") {
        out.push_str(&rest[..at]);
        let code = rest.get(at + 2..at + 6).filter(|_| rest.as_bytes().get(at + 6) == Some(&b'_'));
        match code.and_then(|hex| u32::from_str_radix(hex, 16).ok()).and_then(char::from_u32) {
            Some(c) => {
                out.push(c);
                rest = &rest[at + 7..];
            }
            None => {
                out.push_str("_x");
                rest = &rest[at + 2..];
            }
        }
    }
    out + rest
}
