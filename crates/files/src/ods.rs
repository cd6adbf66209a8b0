//! OpenDocument spreadsheets (ods) as text.
//!
//! Read here, not with `calamine`, because a cell can claim to stand for seventeen billion others (repeated columns of
//! repeated rows) and that library lays them all out. Cells are given as the person sees them; a repeated row or cell
//! is written at most a hundred times.

use crate::FilesError;
use crate::archive::{Archive, add_text, attribute};
use crate::grid::Grid;
use crate::read::{ReadOptions, Sheet};
use crate::text::Source;
use crate::window::Window;
use quick_xml::events::{BytesStart, Event};

/// A cell or row that says it stands for more equal ones is written this often at most.
const MAX_REPEATED: u32 = 100;

#[derive(Default)]
struct TableState {
    row: u32,
    column: u32,
    row_repeats: u32,
    cell_repeats: u32,
    /// The filled cells of the row, for rows that repeat.
    cells: Vec<(u32, String)>,
    value: Option<String>,
    text: String,
    paragraphs: u32,
    in_paragraph: u32,
    in_note: u32,
}

/// Writes all sheets (or the one asked for) into the window.
pub(crate) fn read(source: &Source<'_>, options: &ReadOptions, window: &mut Window) -> Result<Vec<Sheet>, FilesError> {
    let mut archive = Archive::open(source, "ods")?;
    if locked(&mut archive)? {
        return Err(FilesError::Locked { path: source.asked.to_owned() });
    }
    let Some(mut xml) = archive.part("content.xml")? else { return Err(archive.damaged("it has no content part")) };
    let mut sheets = Vec::new();
    loop {
        let name = match xml.next()? {
            Event::Start(e) if e.local_name().as_ref() == "table" => attribute(&e, "name").unwrap_or_default(),
            Event::Eof => break,
            _ => continue,
        };
        let wanted = options.sheet.as_ref().is_none_or(|sheet| *sheet == name);
        let mut ignored = Window::new(0, 0);
        let mut grid = Grid::new(if wanted { &mut *window } else { &mut ignored }, name, false);
        let useful = table(&mut xml, &mut grid)?;
        let sheet = grid.end();
        if wanted {
            sheets.push(sheet);
            if !useful {
                break;
            }
        }
    }
    match &options.sheet {
        Some(_) if sheets.is_empty() => {
            Err(FilesError::InvalidArgument { name: "sheet", reason: "there is no such sheet. Read without it to see all".into() })
        }
        _ => Ok(sheets),
    }
}

fn locked(archive: &mut Archive<'_>) -> Result<bool, FilesError> {
    let Some(mut xml) = archive.part("META-INF/manifest.xml")? else { return Ok(false) };
    loop {
        match xml.next()? {
            Event::Start(e) | Event::Empty(e) if e.local_name().as_ref() == "encryption-data" => return Ok(true),
            Event::Eof => return Ok(false),
            _ => {}
        }
    }
}

/// Writes one table. Answers whether more is of any use.
fn table(xml: &mut crate::archive::Xml<'_>, grid: &mut Grid<'_>) -> Result<bool, FilesError> {
    let mut state = TableState { row_repeats: 1, cell_repeats: 1, ..TableState::default() };
    let mut depth = 1u32;
    loop {
        match xml.next()? {
            Event::Start(e) => match e.local_name().as_ref() {
                "table" => depth += 1,
                _ => state.start(&e),
            },
            Event::Empty(e) => {
                state.start(&e);
                if !state.end(e.local_name().as_ref(), grid) {
                    return Ok(false);
                }
            }
            Event::End(e) => match e.local_name().as_ref() {
                "table" => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(true);
                    }
                }
                name => {
                    if !state.end(name, grid) {
                        return Ok(false);
                    }
                }
            },
            Event::Eof => return Ok(true),
            event if state.in_paragraph > 0 && state.in_note == 0 => add_text(&event, &mut state.text),
            _ => {}
        }
    }
}

impl TableState {
    fn start(&mut self, e: &BytesStart<'_>) {
        let repeats = |name| attribute(e, name).and_then(|count| count.parse::<u32>().ok()).unwrap_or(1).max(1);
        match e.local_name().as_ref() {
            "table-row" => {
                self.row_repeats = repeats("number-rows-repeated");
                self.column = 0;
                self.cells.clear();
            }
            "table-cell" | "covered-table-cell" => {
                self.cell_repeats = repeats("number-columns-repeated");
                self.value = attribute(e, "value").or_else(|| attribute(e, "date-value"));
                self.text.clear();
                self.paragraphs = 0;
            }
            "annotation" => self.in_note += 1,
            "p" | "h" if self.in_note == 0 => {
                if self.paragraphs > 0 {
                    self.text.push('\n');
                }
                self.paragraphs += 1;
                self.in_paragraph += 1;
            }
            "s" if self.in_paragraph > 0 => {
                let count = attribute(e, "c").and_then(|count| count.parse().ok()).unwrap_or(1usize);
                self.text.extend(std::iter::repeat_n(' ', count.min(1000)));
            }
            "tab" if self.in_paragraph > 0 => self.text.push('\t'),
            "line-break" if self.in_paragraph > 0 => self.text.push('\n'),
            _ => {}
        }
    }

    /// Ends an element. Answers whether more is of any use.
    fn end(&mut self, name: &str, grid: &mut Grid<'_>) -> bool {
        match name {
            "annotation" => self.in_note = self.in_note.saturating_sub(1),
            "p" | "h" if self.in_note == 0 => self.in_paragraph = self.in_paragraph.saturating_sub(1),
            "table-cell" | "covered-table-cell" => {
                let shown = if self.paragraphs > 0 { self.text.clone() } else { self.value.take().unwrap_or_default() };
                if !shown.is_empty() {
                    for at in 0..self.cell_repeats.min(MAX_REPEATED) {
                        self.cells.push((self.column.saturating_add(at), shown.clone()));
                    }
                }
                self.column = self.column.saturating_add(self.cell_repeats);
            }
            "table-row" => {
                let writes = if self.cells.is_empty() { 0 } else { self.row_repeats.min(MAX_REPEATED) };
                for at in 0..writes {
                    for (column, text) in &self.cells {
                        if !grid.cell(self.row.saturating_add(at), *column, text) {
                            return false;
                        }
                    }
                }
                self.row = self.row.saturating_add(self.row_repeats);
            }
            _ => {}
        }
        true
    }
}
