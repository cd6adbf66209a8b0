//! Old Excel workbooks (xls) as text, through `calamine`.
//!
//! That library trusts two claims of such a file: the dimension of a sheet, for which it reserves memory, and the
//! positions of cells, between which it lays out everything. So the one stream that matters is taken out first, claims
//! are blanked, positions are measured, and the parser is given a clean container with only that stream in it.

use crate::FilesError;
use crate::cell_format::{CellFormat, number};
use crate::grid::Grid;
use crate::read::{ReadOptions, Sheet};
use crate::text::Source;
use crate::window::Window;
use calamine::{Data, Reader as _, SheetVisible, Xls};
use std::io::{Cursor, Read as _, Seek as _, SeekFrom, Write as _};

/// How such a file begins (so does an encrypted xlsx).
pub(crate) const SIGNATURE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
/// The workbook stream may have this many bytes.
const MAX_STREAM: u64 = 64 << 20;
/// The sheets may cover this many cells together, empty ones included: the parser lays all of them out, 32 bytes each.
const MAX_CELLS: u64 = 4 << 20;

const BOF: u16 = 0x0809;
const FILE_PASS: u16 = 0x002f;
const DIMENSIONS: u16 = 0x0200;
/// Records that put cells at a row and column given in their first four bytes.
const CELLS: &[u16] = &[0x0006, 0x0201, 0x0203, 0x0204, 0x00d6, 0x0205, 0x0207, 0x027e, 0x00fd, 0x00bd];

/// Writes all sheets (or the one asked for) into the window.
pub(crate) fn read(source: &Source<'_>, options: &ReadOptions, window: &mut Window) -> Result<Vec<Sheet>, FilesError> {
    let stream = workbook_stream(source)?;
    let clean = container(stream).map_err(|error| damaged(source, &error))?;
    let mut book = Xls::new(Cursor::new(clean)).map_err(|error| match error {
        calamine::XlsError::Password => locked(source),
        error => damaged(source, &error),
    })?;
    let sheets = book.sheets_metadata().to_vec();
    let wanted = |name: &str| options.sheet.as_ref().is_none_or(|sheet| sheet == name);
    if !sheets.iter().any(|sheet| wanted(&sheet.name)) && options.sheet.is_some() {
        let names: Vec<_> = sheets.iter().map(|sheet| sheet.name.as_str()).collect();
        let reason = format!("there is no such sheet. Sheets: {}", names.join(", "));
        return Err(FilesError::InvalidArgument { name: "sheet", reason });
    }
    let mut done = Vec::new();
    for sheet in sheets.into_iter().filter(|sheet| wanted(&sheet.name)) {
        source.cancel.check()?;
        let range = book.worksheet_range(&sheet.name).map_err(|error| damaged(source, &error))?;
        let (top, left) = range.start().unwrap_or_default();
        let hidden = sheet.visible != SheetVisible::Visible;
        let mut grid = Grid::new(window, sheet.name, hidden);
        let write = |(row, column, cell): (usize, usize, &Data)| {
            let at = |from: u32, by: usize| from.saturating_add(u32::try_from(by).unwrap_or(u32::MAX));
            grid.cell(at(top, row), at(left, column), &shown(cell))
        };
        let useful = range.used_cells().all(write);
        done.push(grid.end());
        if !useful {
            break;
        }
    }
    Ok(done)
}

fn damaged(source: &Source<'_>, reason: &dyn std::fmt::Display) -> FilesError {
    let path = source.asked.to_owned();
    FilesError::Damaged { path, format: "xls", reason: reason.to_string() }
}

fn locked(source: &Source<'_>) -> FilesError {
    FilesError::Locked { path: source.asked.to_owned() }
}

fn shown(cell: &Data) -> String {
    match cell {
        Data::Empty => String::new(),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
        Data::Bool(value) => if *value { "TRUE" } else { "FALSE" }.to_owned(),
        Data::DateTime(value) => {
            let number_of_days = value.as_f64();
            let format = match () {
                () if value.is_duration() => CellFormat::Duration,
                () if number_of_days < 1.0 => CellFormat::Time,
                () => CellFormat::Date,
            };
            // The parser keeps the epoch to itself; it shows in what the value converts to.
            number(number_of_days, format, is_from_1904(value))
        }
        other => other.to_string(),
    }
}

fn is_from_1904(value: &calamine::ExcelDateTime) -> bool {
    let (year, month, day, ..) = value.to_ymd_hms_milli();
    !number(value.as_f64().floor(), CellFormat::Date, false).starts_with(&format!("{year:04}-{month:02}-{day:02}"))
}

/// Takes the workbook's stream out of the container, measured and with its claims blanked.
fn workbook_stream(source: &Source<'_>) -> Result<Vec<u8>, FilesError> {
    let mut file = source.file.try_clone().map_err(|error| FilesError::from_io(source.asked, error))?;
    file.seek(SeekFrom::Start(0)).map_err(|error| FilesError::from_io(source.asked, error))?;
    let mut whole = Vec::new();
    file.take(MAX_STREAM + 1).read_to_end(&mut whole).map_err(|error| FilesError::from_io(source.asked, error))?;
    // Some programs do not fill the last sector.
    whole.resize(whole.len().next_multiple_of(512), 0);
    let mut outer = cfb::CompoundFile::open(Cursor::new(whole)).map_err(|error| damaged(source, &error))?;
    if outer.exists("/EncryptedPackage") {
        return Err(locked(source));
    }
    let name = ["/Workbook", "/Book", "/WORKBOOK", "/BOOK"].into_iter().find(|name| outer.is_stream(name));
    let Some(name) = name else {
        let kind = "an old Office document that is no workbook (doc, ppt or msg)".to_owned();
        return Err(FilesError::Binary { path: source.asked.to_owned(), kind });
    };
    let stream = outer.open_stream(name).map_err(|error| damaged(source, &error))?;
    let mut bytes = Vec::new();
    stream.take(MAX_STREAM).read_to_end(&mut bytes).map_err(|error| damaged(source, &error))?;
    let cells = measure(&mut bytes).ok_or_else(|| locked(source))?;
    if cells > MAX_CELLS {
        let what = format!("the area its sheets cover ({cells} cells)");
        let hint = "Save it as xlsx, which is read as a stream";
        return Err(FilesError::TooLarge { path: source.asked.to_owned(), what, limit: MAX_CELLS, hint });
    }
    Ok(bytes)
}

/// The number of cells that all sheets cover; dimensions are blanked on the way. `None`: locked with a password.
fn measure(stream: &mut [u8]) -> Option<u64> {
    let (mut total, mut at) = (0u64, 0);
    let mut bounds: Option<[u64; 4]> = None;
    let area = |bounds: Option<[u64; 4]>| bounds.map_or(0, |[top, left, bottom, right]| (bottom - top + 1) * (right - left + 1));
    while let Some([k0, k1, l0, l1]) = stream.get(at..at + 4).and_then(|head| <[u8; 4]>::try_from(head).ok()) {
        let (kind, length) = (u16::from_le_bytes([k0, k1]), usize::from(u16::from_le_bytes([l0, l1])));
        let end = (at + 4 + length).min(stream.len());
        let data = &mut stream[at + 4..end];
        let word = |data: &[u8], at: usize| data.get(at..at + 2).map(|pair| u64::from(u16::from_le_bytes([pair[0], pair[1]])));
        match kind {
            FILE_PASS if data.first_chunk() != Some(&[0, 0]) => return None,
            BOF => total = total.saturating_add(area(bounds.take())),
            DIMENSIONS => data.fill(0),
            _ if CELLS.contains(&kind) => {
                if let (Some(row), Some(first)) = (word(data, 0), word(data, 2)) {
                    let last = if kind == 0x00bd { word(data, data.len().saturating_sub(2)).unwrap_or(first) } else { first };
                    let (left, right) = (first.min(last), first.max(last));
                    let [t, l, b, r] = bounds.unwrap_or([row, left, row, right]);
                    bounds = Some([t.min(row), l.min(left), b.max(row), r.max(right)]);
                }
            }
            _ => {}
        }
        at = end;
    }
    Some(total.saturating_add(area(bounds)))
}

/// A container with nothing but the workbook stream.
fn container(stream: Vec<u8>) -> std::io::Result<Vec<u8>> {
    // The third version: of the fourth, `calamine` refuses one without small streams.
    let mut clean = cfb::CompoundFile::create_with_version(cfb::Version::V3, Cursor::new(Vec::new()))?;
    clean.create_stream("/Workbook")?.write_all(&stream)?;
    clean.flush()?;
    Ok(clean.into_inner().into_inner())
}
