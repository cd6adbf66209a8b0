//! Reading the text on a screen.
//!
//! A screen is not a photo: its backgrounds are flat, its letters are upright and small, and most of it stays the same
//! from one look to the next. So the lines are found by [`lines`] from flat colour regions, in their own size and at
//! the cost of a few passes over the pixels; each line is brought to black on white by its distance from its own
//! background ([`crop`]), which makes dark themes, coloured buttons and dimmed pages the same task; a recogniser
//! ([`Engine`]) reads what the [`cache`] has not seen yet; and [`Reader`] puts it together.
//!
//! What was on the screen stays in memory: no type here that holds text or pixels prints them, and nothing is written.

mod cache;
mod crop;
mod find;
mod huge;
mod image;
mod lines;
mod memory;
mod models;
mod pitch;
mod pp;
mod reader;
mod regions;
mod script;
mod seen;
mod stack;
#[cfg(feature = "tesseract")]
mod tesseract;
mod text;

pub use find::{FindError, Match, MatchKind, Query};
pub use image::{Image, Order, Rect};
pub use models::{ModelSize, model_folders};
pub use reader::{Choice, Reader, ReaderOptions};
pub use stack::languages;

use std::fmt;

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
pub enum OcrError {
    /// No engine can work here.
    #[error("no OCR engine is available: {reason}; {remedy}")]
    Unavailable {
        /// What was looked for and where.
        reason: String,
        /// The next step.
        remedy: String,
    },
    /// Tesseract lacks the data of a language.
    #[error(
        "Tesseract has no data for the language `{language}`: {language}.traineddata was looked for in {folders}; \
         install the package that holds it (on Debian: tesseract-ocr-{package}) or set TESSDATA_PREFIX"
    )]
    MissingLanguage {
        /// Tesseract's name of the language, such as `eng`.
        language: String,
        /// Debian's way of writing it, such as `chi-sim`.
        package: String,
        /// Where it was looked for.
        folders: String,
    },
    /// A model is there but cannot be used.
    #[error("the OCR model {file} cannot be used: {reason}; fetch the models again")]
    Model {
        /// Which file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The engine failed while reading.
    #[error("the OCR engine {engine} failed: {reason}")]
    Engine {
        /// Which engine.
        engine: &'static str,
        /// What it said.
        reason: String,
    },
    /// The region lies outside the image or is empty.
    #[error("the region {region} has no pixel on the screen of {width}x{height}")]
    Region {
        /// The region as asked for.
        region: String,
        /// Width of the image in pixels.
        width: u32,
        /// Height of the image in pixels.
        height: u32,
    },
    /// The caller gave up before all was read.
    #[error("reading was cancelled")]
    Cancelled,
}

/// A word of a line.
#[derive(Clone, PartialEq)]
pub struct Word {
    /// What it says.
    pub text: String,
    /// 0 to 1, as for [`Line`].
    pub confidence: f32,
    /// Where, in pixels of the image.
    pub rect: Rect,
}

/// A line of text: one cell, one label or one row of a paragraph.
#[derive(Clone, PartialEq)]
pub struct Line {
    /// What it says.
    pub text: String,
    /// Mean over its characters of the probability that the recogniser gives each of them, 0 to 1.
    pub confidence: f32,
    /// Its ink, in pixels of the image.
    pub rect: Rect,
    /// Its words, from left to right. A run of Han, kana or Hangul without a space is one word.
    pub words: Vec<Word>,
}

impl Line {
    /// Moves it, with its words: from a place in a picture to one on the screen.
    pub fn shift(&mut self, dx: i32, dy: i32) {
        self.rect = self.rect.moved(dx, dy);
        for word in &mut self.words {
            word.rect = word.rect.moved(dx, dy);
        }
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Word({} characters)", self.text.chars().count())
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Line({} characters at {})", self.text.chars().count(), self.rect)
    }
}

/// What an engine made of one crop.
#[derive(Clone)]
pub(crate) struct Reading {
    /// The characters from left to right; the spaces between words too.
    pub(crate) glyphs: Vec<Glyph>,
}

/// One character with its place in the crop.
#[derive(Clone, Copy)]
pub(crate) struct Glyph {
    pub(crate) character: char,
    /// Probability, 0 to 1.
    pub(crate) confidence: f32,
    /// Left and right end in pixels of the crop; may be rough.
    pub(crate) left: f32,
    pub(crate) right: f32,
}

/// Something that reads single lines, black on white.
pub(crate) trait Engine: Send + Sync {
    /// Its name, for errors and reports.
    fn name(&self) -> &'static str;
    /// Reads each crop; the answer has one reading for each, in the same order. May use several threads.
    fn read(&self, crops: &[&crop::Crop], cancelled: &(dyn Fn() -> bool + Sync)) -> Result<Vec<Reading>, OcrError>;
}
