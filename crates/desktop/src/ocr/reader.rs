//! From a picture to lines of text: finds, remembers, reads what is new, and puts it in reading order.

use super::cache::Cache;
use super::crop::{Crop, crop};
use super::huge;
use super::image::{Image, Rect};
use super::lines::{LOWEST_LINE, find};
use super::models::ModelSize;
use super::regions::Regions;
use super::seen::Looks;
use super::stack::Stack;
use super::text::line;
use super::{Line, OcrError, Reading};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;

/// Which engine reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// PP-OCR when its models are there, else Tesseract.
    #[default]
    Auto,
    /// PP-OCR.
    Pp,
    /// Tesseract.
    Tesseract,
}

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct ReaderOptions {
    /// Where the models of PP-OCR are, before any other place ([`super::model_folders`]).
    pub models_dir: Option<PathBuf>,
    /// Which engine.
    pub engine: Choice,
    /// Which models.
    pub size: ModelSize,
    /// Languages for Tesseract in its own names (`eng`, `chi_sim`); empty for those of ours that are installed.
    pub languages: Vec<String>,
}

/// Reads pictures of screens. Cheap to make: the engine is loaded with the first reading. A handle: clones share what
/// is remembered, so keep one for the process.
#[derive(Clone)]
pub struct Reader(Arc<Shared>);

struct Shared {
    options: ReaderOptions,
    stack: Mutex<Option<Arc<Stack>>>,
    cache: Mutex<Cache>,
    last: Mutex<Option<Frame>>,
    looks: Mutex<Looks>,
}

/// The last picture and what it said.
struct Frame {
    region: Rect,
    pixels: Vec<u8>,
    lines: Vec<Line>,
}

impl Reader {
    /// A reader that has loaded nothing yet.
    #[must_use]
    pub fn new(options: ReaderOptions) -> Self {
        let shared = Shared { options, stack: Mutex::new(None), cache: Mutex::default(), last: Mutex::new(None), looks: Mutex::default() };
        Self(Arc::new(shared))
    }

    /// Loads the engine if that has not happened, and names it.
    ///
    /// # Errors
    /// [`OcrError::Unavailable`], [`OcrError::MissingLanguage`] or [`OcrError::Model`] when none can work.
    pub fn engine(&self) -> Result<&'static str, OcrError> {
        self.stack().map(|stack| stack.name())
    }

    /// Reads `region` of `image` (all of it when `None`), in reading order. Places are in pixels of `image`.
    ///
    /// # Errors
    /// As [`Self::engine`]; [`OcrError::Region`] when the region has no pixel; [`OcrError::Engine`].
    pub fn read(&self, image: &Image<'_>, region: Option<Rect>) -> Result<Vec<Line>, OcrError> {
        self.read_unless(image, region, &|| false)
    }

    /// As [`Self::read`]; asks `cancelled` between lines and ends with [`OcrError::Cancelled`] once it is true.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_unless(
        &self,
        image: &Image<'_>,
        region: Option<Rect>,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<Line>, OcrError> {
        let asked = region.unwrap_or_else(|| image.bounds());
        let outside = || OcrError::Region { region: asked.to_string(), width: image.width, height: image.height };
        let area = asked.intersection(&image.bounds()).ok_or_else(outside)?;
        let view = image.view(&area).ok_or_else(outside)?;
        if let Some(lines) = self.unchanged(&view, area) {
            return Ok(lines);
        }
        let stack = self.stack()?;
        let mut lines = self.read_view(&stack, &view, cancelled)?;
        for line in &mut lines {
            line.shift(area.x, area.y);
        }
        let pixels = (0..view.height as usize).flat_map(|y| view.row(y)).copied().collect();
        *self.0.last.lock() = Some(Frame { region: area, pixels, lines: lines.clone() });
        Ok(lines)
    }

    /// Keeps a look at the screen under `id`, to ask later what has changed; `area` is the part of it that `image` shows.
    /// The last 16 looks are known, by fingerprints only.
    pub fn keep_look(&self, id: &str, image: &Image<'_>, area: Rect) {
        self.0.looks.lock().keep(id, image, area);
    }

    /// The tiles of `area` where `image` differs from the look `id`; `None` when that look is not known any more or was
    /// of another area.
    #[must_use]
    pub fn changed_since(&self, id: &str, image: &Image<'_>, area: Rect) -> Option<Vec<Rect>> {
        self.0.looks.lock().changed(id, image, area)
    }

    /// Forgets all that was seen and read.
    pub fn forget(&self) {
        *self.0.cache.lock() = Cache::default();
        *self.0.last.lock() = None;
        *self.0.looks.lock() = Looks::default();
    }

    fn stack(&self) -> Result<Arc<Stack>, OcrError> {
        let mut loaded = self.0.stack.lock();
        if let Some(stack) = &*loaded {
            return Ok(Arc::clone(stack));
        }
        let stack = Arc::new(Stack::load(&self.0.options)?);
        *loaded = Some(Arc::clone(&stack));
        Ok(stack)
    }

    /// The lines of the last picture, when this one has the same pixels.
    fn unchanged(&self, view: &Image<'_>, area: Rect) -> Option<Vec<Line>> {
        let last = self.0.last.lock();
        let frame = last.as_ref().filter(|frame| frame.region == area)?;
        let same = (0..view.height as usize).zip(frame.pixels.chunks_exact(view.width as usize * 4)).all(|(y, row)| view.row(y) == row);
        same.then(|| frame.lines.clone())
    }

    fn read_view(&self, stack: &Stack, view: &Image<'_>, cancelled: &(dyn Fn() -> bool + Sync)) -> Result<Vec<Line>, OcrError> {
        let mut cut = Cut::all(view, 1, LOWEST_LINE);
        let reduced = huge::reduced(view);
        cut.extend(reduced.image().map(|image| Cut::all(&image, huge::REDUCTION, huge::LOWEST)).unwrap_or_default());
        let readings = self.readings(stack, &cut, cancelled)?;
        let read = |(cut, reading): (&Cut, Reading)| line(cut.rect, &cut.crop, &reading, stack.certain()).map(|line| (cut.scale, line));
        let (lines, large): (Vec<_>, Vec<_>) = cut.iter().zip(readings).filter_map(read).partition(|(scale, _)| *scale == 1);
        let mut lines: Vec<Line> = lines.into_iter().map(|(_, line)| line).collect();
        huge::place(&mut lines, large.into_iter().map(|(_, line)| line));
        without_insides(&mut lines);
        in_reading_order(&mut lines);
        Ok(lines)
    }

    /// One reading for each crop; equal crops are read once, known ones not at all.
    fn readings(&self, stack: &Stack, cut: &[Cut], cancelled: &(dyn Fn() -> bool + Sync)) -> Result<Vec<Reading>, OcrError> {
        let mut readings: Vec<Option<Reading>> = {
            let mut cache = self.0.cache.lock();
            cut.iter().map(|cut| cache.get(&cut.crop)).collect()
        };
        let mut first: std::collections::HashMap<&Crop, usize> = std::collections::HashMap::new();
        let mut fresh: Vec<&Crop> = Vec::new();
        let mut place: Vec<usize> = vec![usize::MAX; cut.len()];
        for (at, cut) in cut.iter().enumerate().filter(|(at, _)| readings[*at].is_none()) {
            place[at] = *first.entry(&cut.crop).or_insert_with(|| {
                fresh.push(&cut.crop);
                fresh.len() - 1
            });
        }
        let read = stack.read(&fresh, cancelled)?;
        for (reading, place) in readings.iter_mut().zip(&place) {
            if reading.is_none() {
                *reading = read.get(*place).cloned();
            }
        }
        let mut cache = self.0.cache.lock();
        for (crop, reading) in fresh.into_iter().zip(read) {
            cache.put(crop.clone(), reading);
        }
        Ok(readings.into_iter().map(|r| r.unwrap_or(Reading { glyphs: Vec::new() })).collect())
    }
}

/// A line cut out of a picture.
struct Cut {
    rect: Rect,
    crop: Crop,
    /// Pixels of the screen for one of `rect`.
    scale: u32,
}

impl Cut {
    /// The lines of a picture that are at least `lowest` rows high.
    fn all(image: &Image<'_>, scale: u32, lowest: i32) -> Vec<Self> {
        let regions = Regions::of(image);
        let cut = find(&regions).into_iter().filter_map(|line| crop(&regions, &line));
        cut.filter(|(rect, _)| rect.height.cast_signed() >= lowest).map(|(rect, crop)| Self { rect, crop, scale }).collect()
    }
}

/// The inside of a huge 0 or B looks like a letter of its own.
fn without_insides(lines: &mut Vec<Line>) {
    let boxes: Vec<Rect> = lines.iter().map(|line| line.rect).collect();
    let inside = |a: &Rect, b: &Rect| a.intersection(b) == Some(*a) && a.width * a.height * 2 < b.width * b.height;
    lines.retain(|line| !boxes.iter().any(|other| inside(&line.rect, other)));
}

/// Rows from top to bottom, each from left to right. Lines are of one row when the middle of one is within the other.
fn in_reading_order(lines: &mut Vec<Line>) {
    lines.sort_by_key(|line| line.rect.center().1);
    let mut rows: Vec<(i32, i32, Vec<Line>)> = Vec::new();
    for line in lines.drain(..) {
        let (top, bottom) = (line.rect.y, line.rect.bottom());
        let middle = line.rect.center().1;
        match rows.iter_mut().rev().take(4).find(|row| (row.0..row.1).contains(&middle) && (row.0 + row.1) / 2 >= top) {
            Some(row) => row.2.push(line),
            None => rows.push((top, bottom, vec![line])),
        }
    }
    for (_, _, mut row) in rows {
        row.sort_by_key(|line| line.rect.x);
        lines.append(&mut row);
    }
}
