//! Measures reading: `ocr_bench [--engine auto|pp|tesseract] [--tiny] [--out DIR] [FOLDER]`.
//!
//! FOLDER has pages (`NAME.png`, `NAME.json`); without one it is `tests/pages`. With `--out`, what was read is written
//! there as JSON lists for another scorer. Times are wall time, so measure on a quiet machine.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for developers: it prints and may panic")]
#![allow(dead_code, unreachable_pub, missing_docs, reason = "the scorer is shared with the test")]

#[path = "../tests/pages/score.rs"]
mod score;

use deskhand_desktop::ocr::{Choice, Image, Line, ModelSize, Order, Reader, ReaderOptions};
use score::{Page, Score};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn main() {
    let start = Instant::now();
    let mut options = ReaderOptions::default();
    let (mut folder, mut out) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages"), None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--engine" => {
                options.engine = match arguments.next().as_deref() {
                    Some("pp") => Choice::Pp,
                    Some("tesseract") => Choice::Tesseract,
                    _ => Choice::Auto,
                }
            }
            "--tiny" => options.size = ModelSize::Tiny,
            "--out" => out = arguments.next().map(PathBuf::from),
            _ => folder = argument.into(),
        }
    }
    let pages = Page::all(&folder);
    let reader = Reader::new(options);
    let name = reader.engine().unwrap();
    pages.first().inspect(|page| drop(reader.read(&page.image(), None).unwrap()));
    println!("engine {name}; first result {} ms after start", start.elapsed().as_millis());
    let mut rows = Rows::default();
    for page in &pages {
        reader.forget();
        let read = rows.cold.time(|| reader.read(&page.image(), None).unwrap());
        let wrong = rows.score.add(page, &read);
        println!("  {}: {} lines, {} with errors, {:.0} ms", page.name, read.len(), wrong.len(), rows.cold.last());
        rows.same.time(|| reader.read(&page.image(), None).unwrap());
        rows.scrolled.time(|| reader.read(&image(page, &scrolled(page)), None).unwrap());
        reader.read(&page.image(), None).unwrap();
        rows.dialog.time(|| reader.read(&image(page, &with_dialog(page, &pages)), None).unwrap());
        if let Some(out) = &out {
            write(out, &page.name, &read);
        }
    }
    rows.print();
}

#[derive(Default)]
struct Rows {
    score: Score,
    cold: Times,
    same: Times,
    scrolled: Times,
    dialog: Times,
}

impl Rows {
    fn print(&self) {
        println!("character errors {:.2} %, lines found {:.1} %", self.score.error_rate() * 100.0, self.score.recall() * 100.0);
        for (what, times) in [
            ("cold", &self.cold),
            ("nothing changed", &self.same),
            ("scrolled by a line", &self.scrolled),
            ("a dialog opened", &self.dialog),
        ] {
            println!("{what}: median {:.1} ms, worst {:.1} ms", times.median(), times.worst());
        }
        if let Some(peak) = peak_memory() {
            println!("peak memory {} MB", peak / 1024);
        }
    }
}

/// Milliseconds.
#[derive(Default)]
struct Times(Vec<f64>);

impl Times {
    fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.0.push(start.elapsed().div_duration_f64(Duration::from_millis(1)));
        result
    }

    fn last(&self) -> f64 {
        self.0.last().copied().unwrap_or(0.0)
    }

    fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
    }

    fn worst(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }
}

fn image<'a>(page: &Page, pixels: &'a [u8]) -> Image<'a> {
    Image::new(page.width, page.height, page.width as usize * 4, pixels, Order::Rgbx).unwrap()
}

/// The page moved up by the height of a line.
fn scrolled(page: &Page) -> Vec<u8> {
    let mut pixels = page.pixels.clone();
    pixels.copy_within(page.width as usize * 4 * 20.., 0);
    pixels
}

/// The page with a window of 420x200 pixels of the next page over its middle.
fn with_dialog(page: &Page, pages: &[Page]) -> Vec<u8> {
    let at = pages.iter().position(|other| other.name == page.name).unwrap_or(0);
    let other = &pages[(at + 1) % pages.len()];
    let mut pixels = page.pixels.clone();
    let (x, y) = (page.width as usize / 2 - 210, page.height as usize / 2 - 100);
    for row in 0..200 {
        let from = (row * other.width as usize + 20) * 4;
        let to = ((y + row) * page.width as usize + x) * 4;
        pixels[to..to + 420 * 4].copy_from_slice(&other.pixels[from..from + 420 * 4]);
    }
    pixels
}

fn write(folder: &Path, name: &str, lines: &[Line]) {
    std::fs::create_dir_all(folder).unwrap();
    let line = |line: &Line| serde_json::json!({ "text": line.text, "x": line.rect.x, "y": line.rect.y, "width": line.rect.width, "height": line.rect.height, "confidence": line.confidence });
    let list: Vec<_> = lines.iter().map(line).collect();
    std::fs::write(folder.join(format!("{name}.json")), serde_json::to_vec(&list).unwrap()).unwrap();
}

/// Kilobytes, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
