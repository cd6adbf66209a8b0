//! Compares what was read on a page with what it says. Shared by the test and the bench.

use deskhand_desktop::ocr::{Image, Line, Order, Rect};
use std::path::{Path, PathBuf};

/// A page of the set.
pub struct Page {
    /// Its file name without the ending.
    pub name: String,
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
    /// Red, green, blue and one more byte each.
    pub pixels: Vec<u8>,
    /// What it says, and where.
    pub lines: Vec<(String, Rect)>,
}

impl Page {
    /// The pages of a folder: `NAME.png` with `NAME.json` beside it.
    pub fn all(folder: &Path) -> Vec<Self> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|e| e == "png") && file.with_extension("json").is_file());
        files.sort();
        files.iter().map(|file| Self::load(file)).collect()
    }

    fn load(file: &Path) -> Self {
        let picture = image::open(file).unwrap().to_rgba8();
        let truth: serde_json::Value = serde_json::from_slice(&std::fs::read(file.with_extension("json")).unwrap()).unwrap();
        let entries = truth.get("lines").unwrap_or(&truth).as_array().unwrap();
        let number = |entry: &serde_json::Value, keys: [&str; 2]| keys.iter().find_map(|k| entry[*k].as_f64()).unwrap() as i32;
        let line = |entry: &serde_json::Value| {
            let (width, height) = (number(entry, ["width", "w"]), number(entry, ["height", "h"]));
            let rect = Rect::new(number(entry, ["x", "x"]), number(entry, ["y", "y"]), width.unsigned_abs(), height.unsigned_abs());
            (entry["text"].as_str().unwrap().to_owned(), rect)
        };
        let lines = entries.iter().filter(|entry| entry["ignore"].as_bool() != Some(true)).map(line).collect();
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        Self { name, width: picture.width(), height: picture.height(), pixels: picture.into_raw(), lines }
    }

    /// Its picture.
    pub fn image(&self) -> Image<'_> {
        Image::new(self.width, self.height, self.width as usize * 4, &self.pixels, Order::Rgbx).unwrap()
    }
}

/// How well lines were read.
#[derive(Clone, Copy, Default)]
pub struct Score {
    /// Characters that the pages have, white space aside.
    pub characters: usize,
    /// Wrong, missing and extra characters.
    pub errors: usize,
    /// Lines that the pages have.
    pub lines: usize,
    /// Lines that were found.
    pub found: usize,
}

impl Score {
    /// Adds a page, and gives the lines with errors: what it says, what was read.
    pub fn add(&mut self, page: &Page, read: &[Line]) -> Vec<(String, String)> {
        let mut wrong = Vec::new();
        for (text, rect) in &page.lines {
            // What was read within the line's box, from left to right.
            let mut parts: Vec<&Line> = read.iter().filter(|line| belongs(&line.rect, rect)).collect();
            parts.sort_by_key(|line| line.rect.x);
            let got: String = parts.iter().map(|line| line.text.as_str()).collect();
            let (want, have) = (plain(text), plain(&got));
            let errors = distance(&want, &have);
            self.characters += want.len();
            self.errors += errors;
            self.lines += 1;
            self.found += usize::from(!have.is_empty());
            if errors > 0 {
                wrong.push((text.clone(), got));
            }
        }
        wrong
    }

    /// Errors for each character.
    pub fn error_rate(&self) -> f64 {
        self.errors as f64 / self.characters.max(1) as f64
    }

    /// The share of lines that were found.
    pub fn recall(&self) -> f64 {
        self.found as f64 / self.lines.max(1) as f64
    }
}

fn belongs(read: &Rect, truth: &Rect) -> bool {
    let (x, y) = read.center();
    (truth.x..truth.right()).contains(&x) && (truth.y..truth.bottom()).contains(&y)
}

fn plain(text: &str) -> Vec<char> {
    use unicode_normalization::UnicodeNormalization;
    text.nfkc().filter(|c| !c.is_whitespace()).collect()
}

fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut before = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = before + usize::from(x != y);
            before = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(before + 1);
        }
    }
    row[b.len()]
}
