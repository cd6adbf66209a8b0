//! The engines that are at hand, in the order they are asked.
//!
//! Most of a screen is easy: the small network reads it as well as the large one, six times as fast. So the fastest
//! engine reads every line, and a line that it is not sure of goes to the next one. Last come those for letters that the
//! others do not have (Hangul, Cyrillic); their reading counts only when it is in those letters.

use super::crop::Crop;
use super::models::{ModelSize, model_folders};
use super::pp::Pp;
use super::reader::{Choice, ReaderOptions};
use super::{Engine, Glyph, OcrError, Reading};

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
    script: Option<fn(char) -> bool>,
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
        let mut readings: Vec<Reading> = vec![Reading { glyphs: Vec::new() }; crops.len()];
        for (at, step) in self.steps.iter().enumerate() {
            let asked: Vec<usize> = (0..crops.len()).filter(|n| at == 0 || step.is_asked(&readings[*n], crops[*n])).collect();
            if asked.is_empty() {
                continue;
            }
            let t = std::time::Instant::now();
            let read = step.engine.read(&asked.iter().map(|n| crops[*n]).collect::<Vec<_>>(), cancelled)?;
            if std::env::var("STEPS").is_ok() { eprintln!("step {at} lines {} cols {} in {:?}", asked.len(), asked.iter().map(|n| crops[*n].width*30/crops[*n].height).sum::<usize>(), t.elapsed()); }
            for (n, reading) in asked.into_iter().zip(read) {
                step.settle(reading, &mut readings[n]);
            }
        }
        Ok(readings)
    }
}

impl Step {
    fn is_asked(&self, reading: &Reading, crop: &Crop) -> bool {
        match self.script {
            None => reading.weakest() < self.doubt,
            Some(_) => crop.width >= crop.height && (reading.confidence() < self.doubt || reading.leaves_ink_unread(crop)),
        }
    }

    /// Puts the reading of this step in the place of the earlier one, if it is better.
    fn settle(&self, new: Reading, old: &mut Reading) {
        let Some(script) = self.script else {
            // Steps go from fast to exact; a more exact engine that reads nothing knows that the other one guessed.
            *old = new;
            return;
        };
        let letters = || new.glyphs.iter().map(|g| g.character).filter(|c| c.is_alphabetic());
        let own = letters().filter(|c| script(*c)).count();
        if own * 3 >= letters().count() && own > 0 && new.confidence() >= 0.5 {
            *old = merged(&new, old, script);
        }
    }
}

/// `new`, but words of it that have no letter of its script as `old` has them: that engine knows them better.
fn merged(new: &Reading, old: &Reading, script: fn(char) -> bool) -> Reading {
    let mut glyphs = Vec::with_capacity(new.glyphs.len());
    for word in new.glyphs.split_inclusive(|g| g.character.is_whitespace()) {
        let (letters, space) = match word.split_last() {
            Some((last, letters)) if last.character.is_whitespace() => (letters, Some(*last)),
            _ => (word, None),
        };
        let (left, right) = (letters.first().map_or(0.0, |g| g.left), letters.last().map_or(0.0, |g| g.right));
        let known: Vec<Glyph> = old.glyphs.iter().copied().filter(|g| (left..right).contains(&f32::midpoint(g.left, g.right))).collect();
        let known = Reading { glyphs: known };
        let foreign = !letters.iter().any(|g| script(g.character));
        glyphs.extend_from_slice(if foreign && known.confidence() >= 0.8 { &known.glyphs } else { letters });
        glyphs.extend(space);
    }
    Reading { glyphs }
}

impl Reading {
    /// The probability of its least sure character; 0 when there are none.
    fn weakest(&self) -> f32 {
        let inked = self.glyphs.iter().filter(|g| !g.character.is_whitespace());
        let weakest = inked.map(|g| g.confidence).fold(f32::MAX, f32::min);
        if weakest > 1.0 { 0.0 } else { weakest }
    }
}

/// PP-OCR: the fast network for all, the large one for what that doubts.
fn pp(options: &ReaderOptions, threads: usize) -> Result<Stack, OcrError> {
    let folders = model_folders(options.models_dir.clone());
    let doubt = std::env::var("DOUBT").ok().and_then(|d| d.parse().ok()).unwrap_or(0.85);
    let load = |size| Pp::load(&folders, size, threads).map(|pp| Step { engine: Box::new(pp), doubt, script: None });
    let mut steps = match options.size {
        ModelSize::Tiny => vec![load(ModelSize::Tiny)?],
        ModelSize::Small => vec![load(ModelSize::Small)?],
    };
    if options.size == ModelSize::Small && std::env::var("ONLY").is_err() {
        match load(ModelSize::Tiny) {
            Ok(tiny) => steps.insert(0, tiny),
            Err(OcrError::Unavailable { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    steps.extend(scripts(threads));
    Ok(Stack { steps, certain: 0.5 })
}

fn is_cyrillic(c: char) -> bool {
    matches!(c, '\u{400}'..='\u{52f}')
}

fn is_hangul(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7a3}')
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
    let known: [(&str, fn(char) -> bool); 2] = [("rus", is_cyrillic), ("kor", is_hangul)];
    let installed = |language: &str| !Tesseract::installed(&[language]).is_empty();
    let load = |language: &str, script| {
        let engine = Box::new(Tesseract::new(&[language], threads).ok()?);
        Some(Step { engine, doubt: 0.85, script: Some(script) })
    };
    known.into_iter().filter(|(language, _)| installed(language)).filter_map(|(language, script)| load(language, script)).collect()
}

#[cfg(not(feature = "tesseract"))]
fn scripts(_: usize) -> Vec<Step> {
    Vec::new()
}
