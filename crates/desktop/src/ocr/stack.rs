//! The engines that are at hand, in the order they are asked.
//!
//! Most of a screen is easy: the small network reads it as well as the large one, six times as fast. So the fastest
//! engine reads every line, and a line that it is not sure of goes to the next one. Last come those for letters that the
//! others do not have (Hangul, Cyrillic); their reading counts only when it is in those letters.

use super::crop::Crop;
use super::models::{ModelSize, model_folders};
use super::pp::Pp;
use super::reader::{Choice, ReaderOptions};
use super::script::{Script, is_odd, merged};
use super::text::{letters, mean, without_marginals};
use super::{Engine, Glyph, OcrError, Reading};

/// A character that is less sure than this is read again by a more exact engine.
const DOUBT: f32 = 0.85;
/// A line shorter than this many times its height is read again as a whole.
const SHORT: usize = 12;
/// A lone sign that is read with less than this is a drawing; no engine needs to look again.
const HOPELESS: f32 = 0.3;

/// The engines, first one first.
pub(super) struct Stack {
    steps: Vec<Step>,
    certain: f32,
}

/// An engine and when it is asked.
struct Step {
    engine: Box<dyn Engine>,
    /// It reads the lines whose reading so far is less sure than this.
    doubt: f32,
    /// What its reading must be written in, if it is only good for that.
    script: Option<Script>,
}

impl Stack {
    /// Loads what `options` ask for and this machine has.
    pub(super) fn load(options: &ReaderOptions) -> Result<Self, OcrError> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(8);
        match options.engine {
            Choice::Tesseract => tesseract(options, threads),
            Choice::Pp => pp(options, threads),
            Choice::Auto => match pp(options, threads) {
                Err(OcrError::Unavailable { reason, remedy }) => tesseract(options, threads).map_err(|error| match error {
                    OcrError::Unavailable { reason: other, .. } => OcrError::Unavailable { reason: format!("{reason}; {other}"), remedy },
                    error => error,
                }),
                loaded => loaded,
            },
        }
    }

    /// The name of the engine that reads every line.
    pub(super) fn name(&self) -> &'static str {
        self.steps.first().map_or("none", |step| step.engine.name())
    }

    /// The confidence from which on a reading is taken for text, not for a drawing.
    pub(super) fn certain(&self) -> f32 {
        self.certain
    }

    /// One reading for each crop.
    pub(super) fn read(&self, crops: &[&Crop], cancelled: &(dyn Fn() -> bool + Sync)) -> Result<Vec<Reading>, OcrError> {
        let Some((first, others)) = self.steps.split_first() else { return Ok(Vec::new()) };
        let mut readings = first.engine.read(crops, cancelled)?;
        for step in others {
            let doubts: Vec<Doubt> =
                crops.iter().zip(&readings).enumerate().flat_map(|(at, (crop, reading))| step.doubts(at, crop, reading)).collect();
            if doubts.is_empty() {
                continue;
            }
            let asked: Vec<&Crop> = doubts.iter().map(|doubt| doubt.part.as_ref().unwrap_or(crops[doubt.line])).collect();
            let read = step.engine.read(&asked, cancelled)?;
            for (doubt, reading) in doubts.iter().zip(read) {
                step.settle(doubt, crops[doubt.line], reading, &mut readings[doubt.line]);
            }
        }
        Ok(readings)
    }
}

/// A stretch of a line that an engine is not sure of.
struct Doubt {
    line: usize,
    left: f32,
    right: f32,
    /// The stretch cut out; `None` when it is the whole line.
    part: Option<Crop>,
    /// Whether ink was left over.
    unread: bool,
}

impl Step {
    /// What this step is to read again of a line.
    fn doubts(&self, line: usize, crop: &Crop, reading: &Reading) -> Vec<Doubt> {
        let whole = |unread| vec![Doubt { line, left: 0.0, right: f32::MAX, part: None, unread }];
        if self.script.is_some() {
            let letters = letters(crop, reading);
            let words = crop.width * 10 >= crop.height * 16;
            let unread = reading.leaves_ink_unread(crop);
            let asked = words && (unread || mean(letters) < self.doubt || is_odd(letters));
            return if asked { whole(unread) } else { Vec::new() };
        }
        let doubted = |g: &&Glyph| g.confidence < self.doubt && !g.character.is_whitespace();
        let unsure: Vec<(f32, f32)> = match reading.glyphs.as_slice() {
            [] => vec![(0.0, crop.width as f32)],
            glyphs => glyphs.iter().filter(doubted).map(|g| (g.left, g.right)).collect(),
        };
        let lone = crop.width * 10 < crop.height * 13;
        let kana = reading.glyphs.iter().any(|g| is_kana(g.character));
        if (unsure.is_empty() && !kana) || (lone && reading.confidence() < HOPELESS) {
            return Vec::new();
        }
        // The fast network takes kana for Han; a short line is read best as a whole, and so is one with many doubts.
        let many = unsure.len() * 4 >= reading.glyphs.len();
        if kana || many || crop.width < crop.height * SHORT {
            return whole(false);
        }
        let parts = crop.stretches(&unsure);
        if parts.iter().map(|(left, right)| right - left).sum::<usize>() * 10 >= crop.width * 8 {
            return whole(false);
        }
        let cut = |(left, right): (usize, usize)| Doubt {
            line,
            left: left as f32,
            right: right as f32,
            part: Some(crop.columns(left, right)),
            unread: false,
        };
        parts.into_iter().map(cut).collect()
    }

    /// Puts the reading of this step in the place of the earlier one, if it is better.
    fn settle(&self, doubt: &Doubt, crop: &Crop, mut new: Reading, old: &mut Reading) {
        let Some(script) = self.script else {
            // Steps go from fast to exact; a more exact engine that reads nothing knows that the other one guessed.
            let inside = |g: &Glyph| (doubt.left..doubt.right).contains(&f32::midpoint(g.left, g.right).max(0.0));
            new.glyphs.iter_mut().for_each(|g| (g.left, g.right) = (g.left + doubt.left, g.right + doubt.left));
            old.glyphs.retain(|g| !inside(g));
            old.glyphs.append(&mut new.glyphs);
            old.glyphs.sort_by(|a, b| a.left.total_cmp(&b.left));
            return;
        };
        // An icon beside the text is known by what the first engines made of it; this one makes a letter of its own of it.
        without_marginals(crop, old, &mut new);
        if doubt.accepts(&new, old, script) {
            *old = merged(&new, old, script);
        }
    }
}

impl Doubt {
    /// Whether a reading in `script` is believed. Latin forced into Cyrillic looks like words, so there must be letters
    /// that Latin has nothing like, or much confidence.
    fn accepts(&self, new: &Reading, old: &Reading, script: Script) -> bool {
        let letters = || new.glyphs.iter().map(|g| g.character).filter(|c| c.is_alphabetic());
        let own = letters().filter(|c| script.has(*c)).count();
        let proof = letters().filter(|c| script.has(*c) && !script.is_shared(*c)).count();
        let sure = if self.unread || old.confidence() < 0.5 { 0.5 } else { 0.75 };
        own >= 2 && own * 3 >= letters().count() && new.confidence() >= if proof > 0 { sure } else { 0.9 }
    }
}

fn is_kana(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}')
}

/// PP-OCR: the fast network for all, the large one for what that doubts.
fn pp(options: &ReaderOptions, threads: usize) -> Result<Stack, OcrError> {
    let folders = model_folders(options.models_dir.clone());
    let load = |size| Pp::load(&folders, size, threads).map(|pp| Step { engine: Box::new(pp), doubt: DOUBT, script: None });
    let mut steps = match options.size {
        ModelSize::Tiny => vec![load(ModelSize::Tiny)?],
        ModelSize::Small => vec![load(ModelSize::Small)?],
    };
    if options.size == ModelSize::Small {
        match load(ModelSize::Tiny) {
            Ok(tiny) => steps.insert(0, tiny),
            Err(OcrError::Unavailable { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    steps.extend(scripts(threads));
    Ok(Stack { steps, certain: 0.5 })
}

/// The languages that can be read here, by Tesseract's names for them.
#[must_use]
pub fn languages() -> Vec<String> {
    let networks = super::model_folders(None).iter().any(|folder| folder.join(super::ModelSize::Small.recognizer()).is_file());
    #[cfg(feature = "tesseract")]
    let installed = super::tesseract::Tesseract::installed(&["eng", "chi_sim", "jpn", "deu", "fra", "rus", "kor"]);
    #[cfg(not(feature = "tesseract"))]
    let installed: Vec<&str> = Vec::new();
    let read = if networks { vec!["eng", "chi_sim", "jpn"] } else { Vec::new() };
    let more: Vec<_> = installed.into_iter().filter(|language| !read.contains(language)).collect();
    read.into_iter().chain(more).map(str::to_owned).collect()
}

#[cfg(feature = "tesseract")]
fn tesseract(options: &ReaderOptions, threads: usize) -> Result<Stack, OcrError> {
    use super::tesseract::Tesseract;
    let step = |languages: &[&str], doubt| Tesseract::new(languages, threads).map(|t| Step { engine: Box::new(t), doubt, script: None });
    let asked: Vec<&str> = options.languages.iter().map(String::as_str).collect();
    let certain = 0.35;
    if !asked.is_empty() {
        return Ok(Stack { steps: vec![step(&asked, 0.0)?], certain });
    }
    let mut main = Tesseract::installed(&["eng", "chi_sim"]);
    if main.first() != Some(&"eng") {
        main.insert(0, "eng");
    }
    let mut steps = vec![step(&main, 0.0)?];
    for language in Tesseract::installed(&["jpn", "deu", "fra"]) {
        steps.push(step(&[language], 0.6)?);
    }
    steps.extend(scripts(threads));
    Ok(Stack { steps, certain })
}

#[cfg(not(feature = "tesseract"))]
fn tesseract(_: &ReaderOptions, _: usize) -> Result<Stack, OcrError> {
    Err(OcrError::Unavailable { reason: "this build has no Tesseract".into(), remedy: "fetch the OCR models with `make models`".into() })
}

/// Tesseract for the letters that the networks do not have, where its data is installed.
#[cfg(feature = "tesseract")]
fn scripts(threads: usize) -> Vec<Step> {
    use super::tesseract::Tesseract;
    let known = [("rus", Script::Cyrillic), ("kor", Script::Hangul)];
    let installed = |language: &str| !Tesseract::installed(&[language]).is_empty();
    let load = |language: &str, script| {
        let engine = Box::new(Tesseract::new(&[language], threads).ok()?);
        Some(Step { engine, doubt: DOUBT, script: Some(script) })
    };
    known.into_iter().filter(|(language, _)| installed(language)).filter_map(|(language, script)| load(language, script)).collect()
}

#[cfg(not(feature = "tesseract"))]
fn scripts(_: usize) -> Vec<Step> {
    Vec::new()
}
