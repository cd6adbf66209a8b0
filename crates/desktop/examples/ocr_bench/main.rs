//! Measures reading, beside other engines in the same run: `ocr_bench [--alone|--quick] [--out DIR] [FOLDER]`.
//!
//! FOLDER has screens (`NAME.png`, `NAME.json`); without one they are those beside this file. The others are RapidOCR,
//! faster-paddle and Tesseract, each from its package; `--alone` leaves them out, `--quick` lets them read one screen. With `--out`, what ours read is written
//! there as JSON lists for another scorer. Times are wall time: measure on a quiet machine. Prints a table in Markdown.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for developers: it prints and may panic")]
#![allow(dead_code, unreachable_pub, missing_docs, reason = "the scorer is shared with the test")]

mod runner;
#[path = "../../tests/pages/score.rs"]
mod score;

use runner::{Answer, Runner, python, save};
use score::{Page, Score};
use std::path::{Path, PathBuf};
use std::time::Instant;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut folder, mut out, mut others) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ocr_bench/screens"), None, Others::Whole);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--serve" => return runner::serve(&arguments.collect::<Vec<_>>()),
            "--alone" => others = Others::No,
            "--quick" => others = Others::Once,
            "--out" => out = arguments.next().map(PathBuf::from),
            _ => folder = argument.into(),
        }
    }
    let pages = Page::all(&folder);
    assert!(!pages.is_empty(), "{} has no pictures", folder.display());
    let scratch = std::env::temp_dir().join(format!("deskhand-ocr-bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).unwrap();
    let series: Vec<Series> = (0..pages.len()).map(|at| Series::of(&pages, at, &scratch)).collect();
    let large = save(&scratch, "large", &four(&pages));
    let mut rows = start_all(others != Others::No, &series[0].plain);
    for (at, (page, series)) in pages.iter().zip(&series).enumerate() {
        // One engine after the other on each page: whatever else the machine does hits all of them alike.
        for row in rows.iter_mut().filter(|row| row.is_ours() || at == 0 || others == Others::Whole) {
            row.measure_cold(page, &series.plain, out.as_deref());
            // The others remember nothing, so one page tells what a change costs them.
            if row.is_ours() || (at == 0 && others == Others::Whole) {
                row.measure_changes(series);
            }
        }
    }
    for row in rows.iter_mut().filter(|row| row.is_ours() || others == Others::Whole) {
        row.measure_large(&large);
    }
    print_table(&rows);
    let _left_behind = std::fs::remove_dir_all(scratch);
}

/// What the other engines are asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    No,
    Once,
    Whole,
}

/// Starts each engine and lets it read once, which loads its models.
fn start_all(others: bool, first: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |name, start: &dyn Fn() -> Result<Runner, String>| {
        let began = Instant::now();
        let started = start().and_then(|mut runner| match runner.read(first) {
            Some(_) => Ok(runner),
            None => Err("it does not read; is what it needs installed?".into()),
        });
        match started {
            Ok(runner) => rows.push(Row::of(runner, began.elapsed().as_secs_f64() * 1000.0)),
            Err(why) => println!("{name} is left out: {why}"),
        }
    };
    add("Deskhand", &|| Runner::own("Deskhand", &["pp"]));
    add("Deskhand, tiny model", &|| Runner::own("Deskhand, tiny model", &["pp", "tiny"]));
    add("Deskhand with Tesseract", &|| Runner::own("Deskhand with Tesseract", &["tesseract"]));
    if !others {
        return rows;
    }
    match python() {
        Ok(python) => {
            add("RapidOCR 3.10", &|| Runner::rival("RapidOCR 3.10", &python, "rapidocr"));
            add("faster-paddle 1.0.4 small", &|| Runner::rival("faster-paddle 1.0.4 small", &python, "faster-paddle-small"));
            add("faster-paddle 1.0.4 tiny", &|| Runner::rival("faster-paddle 1.0.4 tiny", &python, "faster-paddle-tiny"));
        }
        Err(why) => println!("RapidOCR and faster-paddle are left out, their packages cannot be had here: {why}"),
    }
    add("Tesseract", &|| Runner::rival("Tesseract", Path::new("python3"), "tesseract"));
    rows
}

/// The pictures of one page: itself, moved up by a line, and with a dialog on it.
struct Series {
    plain: PathBuf,
    scrolled: PathBuf,
    dialog: PathBuf,
}

impl Series {
    fn of(pages: &[Page], at: usize, folder: &Path) -> Self {
        let page = &pages[at];
        let with = |pixels| Page { name: String::new(), width: page.width, height: page.height, pixels, lines: Vec::new() };
        Self {
            plain: save(folder, &page.name, page),
            scrolled: save(folder, &format!("{}-scrolled", page.name), &with(scrolled(page))),
            dialog: save(folder, &format!("{}-dialog", page.name), &with(with_dialog(page, &pages[(at + 1) % pages.len()]))),
        }
    }
}

/// What one engine came to.
struct Row {
    runner: Runner,
    first_ms: f64,
    cold: Vec<f64>,
    same: Vec<f64>,
    dialog: Vec<f64>,
    scrolled: Vec<f64>,
    large: Option<f64>,
    peak_mb: f64,
    score: Score,
}

impl Row {
    fn of(runner: Runner, first_ms: f64) -> Self {
        let (cold, same, dialog, scrolled) = Default::default();
        Self { runner, first_ms, cold, same, dialog, scrolled, large: None, peak_mb: 0.0, score: Score::default() }
    }

    fn is_ours(&self) -> bool {
        self.runner.name.starts_with("Deskhand")
    }

    fn measure_cold(&mut self, page: &Page, picture: &Path, out: Option<&Path>) {
        self.runner.forget();
        let Some(cold) = self.runner.read(picture) else { return };
        let wrong = self.score.add(page, &cold.lines);
        println!("{}, {}: {} lines, {} with errors, {:.0} ms", self.runner.name, page.name, cold.lines.len(), wrong.len(), cold.ms);
        if let Some(out) = out.filter(|_| self.runner.name == "Deskhand") {
            write(out, &page.name, &cold);
        }
        self.cold.push(cold.ms);
        self.peak_mb = cold.peak_mb;
    }

    fn measure_changes(&mut self, series: &Series) {
        let ours = self.is_ours();
        let mut read = |picture: &Path| self.runner.read(picture).map_or(f64::NAN, |answer| answer.ms);
        self.same.push(read(&series.plain));
        self.scrolled.push(read(&series.scrolled));
        if ours {
            read(&series.plain);
        }
        self.dialog.push(self.runner.read(&series.dialog).map_or(f64::NAN, |answer| {
            self.peak_mb = answer.peak_mb;
            answer.ms
        }));
    }

    fn measure_large(&mut self, picture: &Path) {
        self.runner.forget();
        self.large = self.runner.read(picture).map(|answer| answer.ms);
    }
}

fn print_table(rows: &[Row]) {
    println!(
        "\n| engine | cold 1920×1080 | nothing changed | a dialog opened | scrolled by a line | cold 3840×2160 | memory | first result | wrong characters | lines found |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for row in rows {
        let time = |times: &[f64]| if times.is_empty() { "–".to_owned() } else { format!("{:.0} ms", median(times)) };
        println!(
            "| {} | {} | {} | {} | {} | {} | {:.0} MB | {:.0} ms | {:.1} % | {:.1} % |",
            row.runner.name,
            time(&row.cold),
            time(&row.same),
            time(&row.dialog),
            time(&row.scrolled),
            time(row.large.as_slice()),
            row.peak_mb,
            row.first_ms,
            row.score.error_rate() * 100.0,
            row.score.recall() * 100.0
        );
    }
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// The page moved up by the height of a line.
fn scrolled(page: &Page) -> Vec<u8> {
    let mut pixels = page.pixels.clone();
    pixels.copy_within(page.width as usize * 4 * 22.., 0);
    pixels
}

/// The page with a window of 420x200 pixels of another page over its middle.
fn with_dialog(page: &Page, other: &Page) -> Vec<u8> {
    let mut pixels = page.pixels.clone();
    let (x, y) = (page.width as usize / 2 - 210, page.height as usize / 2 - 100);
    for row in 0..200 {
        let from = ((row + 34) * other.width as usize + 8) * 4;
        let to = ((y + row) * page.width as usize + x) * 4;
        pixels[to..to + 420 * 4].copy_from_slice(&other.pixels[from..from + 420 * 4]);
    }
    pixels
}

/// Four pages side by side and below each other.
fn four(pages: &[Page]) -> Page {
    let (width, height) = (pages[0].width as usize, pages[0].height as usize);
    let mut pixels = vec![0; width * height * 16];
    for at in 0..4 {
        let page = &pages[at % pages.len()];
        for row in 0..height.min(page.height as usize) {
            let to = ((at / 2 * height + row) * width * 2 + at % 2 * width) * 4;
            let from = row * page.width as usize * 4;
            let length = width.min(page.width as usize) * 4;
            pixels[to..to + length].copy_from_slice(&page.pixels[from..from + length]);
        }
    }
    Page { name: "large".into(), width: width as u32 * 2, height: height as u32 * 2, pixels, lines: Vec::new() }
}

fn write(folder: &Path, name: &str, answer: &Answer) {
    std::fs::create_dir_all(folder).unwrap();
    let line = |line: &deskhand_desktop::ocr::Line| serde_json::json!({"text": line.text, "x": line.rect.x, "y": line.rect.y, "width": line.rect.width, "height": line.rect.height});
    let list: Vec<_> = answer.lines.iter().map(line).collect();
    std::fs::write(folder.join(format!("{name}.json")), serde_json::to_vec(&list).unwrap()).unwrap();
}
