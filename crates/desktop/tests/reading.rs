//! Reads the pages of `tests/pages` with the engines that this machine has. The bounds are loose enough for any version
//! of an engine and tight enough that a broken step shows; the bench measures exactly.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking and says why it is skipped")]
#![allow(dead_code, unreachable_pub, missing_docs, reason = "the scorer is shared with the bench")]

#[path = "pages/score.rs"]
mod score;

use deskhand_desktop::ocr::{Choice, Image, OcrError, Order, Query, Reader, ReaderOptions, Rect};
use score::{Page, Score};
use std::path::Path;
use std::time::Instant;

fn pages() -> Vec<Page> {
    Page::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages"))
}

fn page(name: &str) -> Page {
    pages().into_iter().find(|page| page.name == name).unwrap()
}

/// A reader with this engine, or `None` with the reason printed.
fn reader(engine: Choice) -> Option<Reader> {
    let reader = Reader::new(ReaderOptions { engine, ..ReaderOptions::default() });
    match reader.engine() {
        Ok(_) => Some(reader),
        Err(error) => {
            skipped(&error.to_string());
            None
        }
    }
}

fn texts(reader: &Reader, image: &Image<'_>, region: Option<Rect>) -> Vec<String> {
    reader.read(image, region).unwrap().into_iter().map(|line| line.text).collect()
}

#[test]
fn pp_ocr_reads_every_page() {
    let Some(reader) = reader(Choice::Pp) else { return };
    for page in pages() {
        let mut score = Score::default();
        let wrong = score.add(&page, &reader.read(&page.image(), None).unwrap());
        println!("{}: {:.2} % wrong, {:.1} % of lines", page.name, score.error_rate() * 100.0, score.recall() * 100.0);
        let bound = if page.name == "languages" { 0.15 } else { 0.03 };
        assert!(score.error_rate() <= bound, "{}: {wrong:?}", page.name);
        assert!(score.recall() >= 0.9, "{}: {wrong:?}", page.name);
    }
}

#[test]
fn tesseract_reads_light_dark_selected_and_huge_text() {
    let Some(reader) = reader(Choice::Tesseract) else { return };
    let page = page("settings");
    let read = reader.read(&page.image(), None).unwrap();
    for wanted in ["Name of the workshop", "Save changes", "Delete everything", "Selected entry", "Lighthouse keeper", "09:41"] {
        let found = Query::parse(wanted).unwrap().run(&read);
        assert!(!found.is_empty(), "{wanted} is missing in {:?}", read.iter().map(|l| &l.text).collect::<Vec<_>>());
    }
    assert!(read.iter().all(|line| (0.0..=1.0).contains(&line.confidence)));
}

#[test]
fn cells_and_labels_stay_apart_and_han_has_no_spaces() {
    let Some(reader) = reader(Choice::Auto) else { return };
    let read = texts(&reader, &page("languages").image(), None);
    for wanted in ["打开港口地图", "潮汐表已更新", "保存当前航线", "确定", "取消 Cancel"] {
        assert!(read.iter().any(|text| text == wanted), "{wanted} is not among {read:?}");
    }
}

#[test]
fn places_are_those_of_the_screen_also_with_a_region() {
    let Some(reader) = reader(Choice::Auto) else { return };
    let page = page("settings");
    let truth = page.lines.iter().find(|(text, _)| text == "Save changes").unwrap().1;
    let whole = reader.read(&page.image(), None).unwrap();
    let region = Rect::new(truth.x - 20, truth.y - 8, truth.width + 40, truth.height + 16);
    let part = reader.read(&page.image(), Some(region)).unwrap();
    for lines in [whole, part] {
        let query = Query::parse("Save changes").unwrap();
        let found = query.run(&lines);
        let (x, y) = found[0].rect.center();
        let (want_x, want_y) = truth.center();
        assert!(x.abs_diff(want_x) <= 5 && y.abs_diff(want_y) <= 5, "{:?} is not in the middle of {truth}", found[0].rect);
        assert!(lines[found[0].line].words.len() == 2);
    }
    let outside = reader.read(&page.image(), Some(Rect::new(5000, 0, 10, 10)));
    assert!(matches!(outside, Err(OcrError::Region { .. })));
}

#[test]
fn nothing_is_read_twice() {
    let Some(reader) = reader(Choice::Auto) else { return };
    let mut page = page("editor");
    let start = Instant::now();
    let first = reader.read(&page.image(), None).unwrap();
    let cold = start.elapsed();
    // One more line of white at the top: everything has moved, no letter has changed.
    let row = page.width as usize * 4;
    page.pixels.copy_within(..row * (page.height as usize - 1), row);
    let start = Instant::now();
    let second = reader.read(&page.image(), None).unwrap();
    let moved = start.elapsed();
    assert!(second.len() + 2 >= first.len());
    let shifted = first.iter().filter(|line| second.iter().any(|other| other.text == line.text && other.rect == line.rect.moved(0, 1)));
    assert!(shifted.count() * 10 >= first.len() * 8, "lines are the same, one pixel lower");
    assert!(moved * 2 < cold, "read again: {moved:?} after {cold:?}");
}

/// In a process of its own, where no models are installed for anybody.
#[test]
fn without_models_the_error_says_what_to_do() {
    let nowhere = tempfile::tempdir().unwrap();
    if std::env::var_os("DESKHAND_TEST_HOMELESS").is_none() {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again
            .args(["--exact", "without_models_the_error_says_what_to_do"])
            .env_remove("DESKHAND_MODELS")
            .env("DESKHAND_TEST_HOMELESS", "1");
        let again = again.env("HOME", nowhere.path()).env("XDG_DATA_HOME", nowhere.path()).output().unwrap();
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stdout));
        return;
    }
    let options = ReaderOptions { engine: Choice::Pp, models_dir: Some(nowhere.path().into()), ..ReaderOptions::default() };
    let error = Reader::new(options).engine().unwrap_err();
    assert!(matches!(error, OcrError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("PP-OCRv6") && error.to_string().contains("make models"), "{error}");
}

#[test]
#[cfg(feature = "tesseract")]
fn a_missing_language_is_named() {
    let options = ReaderOptions { engine: Choice::Tesseract, languages: vec!["tlh".into()], ..ReaderOptions::default() };
    let error = Reader::new(options).engine().unwrap_err().to_string();
    assert!(error.contains("`tlh`") && error.contains("tlh.traineddata") && error.contains("tessdata"), "{error}");
}

#[test]
fn an_empty_picture_has_no_text() {
    let Some(reader) = reader(Choice::Auto) else { return };
    let pixels = vec![255_u8; 64 * 48 * 4];
    let image = Image::new(64, 48, 64 * 4, &pixels, Order::Bgrx).unwrap();
    assert!(reader.read(&image, None).unwrap().is_empty());
}

#[test]
fn a_cancelled_reading_ends() {
    let Some(reader) = reader(Choice::Auto) else { return };
    let page = page("editor");
    assert!(matches!(reader.read_unless(&page.image(), None, &|| true), Err(OcrError::Cancelled)));
}

/// Says that a test is left out, and why. Past the test harness, which keeps to itself what a passing test prints.
fn skipped(why: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("SKIPPED: {why}\n").as_bytes());
}
