//! Sheets as text: one line a row, cells apart by tabs, quoted as spreadsheets do when they copy.
//!
//! Cells come as a stream and are never laid out in memory, so two cells in opposite corners of a sheet cost two
//! lines: a long gap is written in words (`[rows 3-1048575 empty]`, `[B-XFC empty]`) and short ones as they are.

use crate::read::Sheet;
use crate::window::Window;

/// Longer gaps than this are written in words.
const LONG_GAP: u32 = 20;

/// Writes the cells of one sheet.
pub(crate) struct Grid<'w> {
    window: &'w mut Window,
    /// Where the next cell would stand, from 0.
    row: u32,
    column: u32,
    sheet: Sheet,
    useful: bool,
}

impl<'w> Grid<'w> {
    pub(crate) fn new(window: &'w mut Window, name: String, hidden: bool) -> Self {
        let between = if window.seen() > 0 { "\n" } else { "" };
        let mark = if hidden { " (hidden)" } else { "" };
        let useful = window.push(&format!("{between}=== Sheet: {name}{mark} ===\n"));
        Self { window, row: 0, column: 0, sheet: Sheet { name, rows: 0, columns: 0, hidden }, useful }
    }

    /// Writes a cell; empty ones are left out. Answers whether more is of any use.
    pub(crate) fn cell(&mut self, row: u32, column: u32, text: &str) -> bool {
        if text.is_empty() || !self.useful {
            return self.useful;
        }
        let mut line = String::new();
        self.go_to(row, column, &mut line);
        if text.contains(['\t', '\n', '\r', '"']) {
            line.push('"');
            line.push_str(&text.replace('"', "\"\""));
            line.push('"');
        } else {
            line.push_str(text);
        }
        (self.row, self.column) = (row, column.saturating_add(1));
        self.sheet.rows = self.sheet.rows.max(row.saturating_add(1));
        self.sheet.columns = self.sheet.columns.max(self.column);
        self.useful = self.window.push(&line);
        self.useful
    }

    fn go_to(&mut self, row: u32, column: u32, line: &mut String) {
        if row != self.row {
            let started = self.column > 0;
            if started {
                line.push('\n');
            }
            let first = self.row + u32::from(started);
            if row < self.row {
                // Out of order, which no spreadsheet writes: said, so that the row is not taken for the next one.
                line.push_str(&format!("[row {}]\n", row + 1));
            } else if row - first > LONG_GAP {
                line.push_str(&format!("[rows {}-{row} empty]\n", first + 1));
            } else {
                line.extend(std::iter::repeat_n('\n', (row - first) as usize));
            }
            self.column = 0;
        } else if self.column > 0 {
            line.push('\t');
        }
        let gap = column.saturating_sub(self.column);
        if gap > LONG_GAP {
            line.push_str(&format!("[{}-{} empty]\t", letters(self.column), letters(column - 1)));
        } else {
            line.extend(std::iter::repeat_n('\t', gap as usize));
        }
    }

    /// Ends the sheet.
    pub(crate) fn end(self) -> Sheet {
        if self.column > 0 {
            self.window.push("\n");
        }
        self.sheet
    }
}

/// The name of a column counted from 0: A, Z, AA, XFD.
pub(crate) fn letters(column: u32) -> String {
    let (mut left, mut name) = (u64::from(column) + 1, Vec::new());
    while left > 0 {
        left -= 1;
        name.push(char::from(b'A' + u8::try_from(left % 26).unwrap_or(0)));
        left /= 26;
    }
    name.iter().rev().collect()
}

/// Row and column from 0 of a reference such as `XFD1048576`.
pub(crate) fn position(reference: &str) -> Option<(u32, u32)> {
    let digits = reference.find(|c: char| c.is_ascii_digit())?;
    let (name, row) = reference.split_at(digits);
    let mut column: u32 = 0;
    for letter in name.trim_matches('$').bytes() {
        let value = u32::from(letter.to_ascii_uppercase().checked_sub(b'A').filter(|value| *value < 26)?) + 1;
        column = column.checked_mul(26)?.checked_add(value)?;
    }
    Some((row.parse::<u32>().ok()?.checked_sub(1)?, column.checked_sub(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(cells: &[(u32, u32, &str)]) -> (String, Sheet) {
        let mut window = Window::new(0, 10_000);
        let mut grid = Grid::new(&mut window, "S".into(), false);
        for (row, column, text) in cells {
            grid.cell(*row, *column, text);
        }
        let sheet = grid.end();
        (window.view().text, sheet)
    }

    #[test]
    fn rows_are_lines_and_cells_are_apart() {
        let (text, sheet) = grid(&[(0, 0, "a"), (0, 1, "b"), (1, 1, "d"), (3, 0, "x\ny"), (3, 2, "q\"")]);
        assert_eq!(text, "=== Sheet: S ===\na\tb\n\td\n\n\"x\ny\"\t\t\"q\"\"\"\n");
        assert_eq!((sheet.rows, sheet.columns), (4, 3));
    }

    #[test]
    fn opposite_corners_cost_two_lines() {
        let (text, sheet) = grid(&[(0, 0, "first"), (1_048_575, 16_383, "last")]);
        assert_eq!(text, "=== Sheet: S ===\nfirst\n[rows 2-1048575 empty]\n[A-XFC empty]\tlast\n");
        assert_eq!((sheet.rows, sheet.columns), (1_048_576, 16_384));
    }

    #[test]
    fn references() {
        assert_eq!(position("A1"), Some((0, 0)));
        assert_eq!(position("XFD1048576"), Some((1_048_575, 16_383)));
        assert_eq!(position("A0"), None);
        assert_eq!(position("1"), None);
        assert_eq!((letters(0), letters(25), letters(26), letters(16_383)), ("A".into(), "Z".into(), "AA".into(), "XFD".into()));
    }
}
