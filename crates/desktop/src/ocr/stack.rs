//! The engines that are at hand, in the order they are asked.
//!
//! The first one reads every line. A line that it is not sure of may be written in letters that it does not have
//! (Hangul, Cyrillic); such lines are shown to the others, and the surest reading holds.

use super::crop::Crop;
use super::models::model_folders;
use super::pp::Pp;
use super::reader::{Choice, ReaderOptions};
use super::{Engine, OcrError, Reading};

/// Below this a reading is doubted and the next engine asked.
const DOUBT: f32 = 0.80;

pub(super) struct Stack {
    main: Box<dyn Engine>,
    others: Vec<Box<dyn Engine>>,
    certain: f32,
}

impl Stack {
    /// Loads what `options` ask for and this machine has.
    pub(super) fn load(options: &ReaderOptions) -> Result<Self, OcrError> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(8);
        let pp = || Pp::load(&model_folders(options.models_dir.clone()), options.size, threads);
        match options.engine {
            Choice::Tesseract => tesseract(options, threads),
            Choice::Pp => pp().map(|pp| Self::with(pp, threads)),
            Choice::Auto => match pp() {
                Ok(pp) => Ok(Self::with(pp, threads)),
                Err(OcrError::Unavailable { reason, remedy }) => tesseract(options, threads).map_err(|error| match error {
                    OcrError::Unavailable { reason: other, .. } => OcrError::Unavailable { reason: format!("{reason}; {other}"), remedy },
                    error => error,
                }),
                Err(error) => Err(error),
            },
        }
    }

    fn with(pp: Pp, threads: usize) -> Self {
        Self { main: Box::new(pp), others: others(threads, &["rus", "kor"]), certain: 0.5 }
    }

    pub(super) fn name(&self) -> &'static str {
        self.main.name()
    }

    /// The confidence from which on a reading is taken for text, not for a drawing.
    pub(super) fn certain(&self) -> f32 {
        self.certain
    }

    pub(super) fn read(&self, crops: &[&Crop], cancelled: &(dyn Fn() -> bool + Sync)) -> Result<Vec<Reading>, OcrError> {
        if crops.is_empty() {
            return Ok(Vec::new());
        }
        let mut readings = self.main.read(crops, cancelled)?;
        for other in &self.others {
            let doubted: Vec<usize> = (0..crops.len()).filter(|at| doubted(&readings[*at], crops[*at])).collect();
            if doubted.is_empty() {
                break;
            }
            let again = other.read(&doubted.iter().map(|at| crops[*at]).collect::<Vec<_>>(), cancelled)?;
            for (at, reading) in doubted.into_iter().zip(again) {
                if reading.confidence() > readings[at].confidence() {
                    readings[at] = reading;
                }
            }
        }
        Ok(readings)
    }
}

fn doubted(reading: &Reading, crop: &Crop) -> bool {
    reading.confidence() < DOUBT && crop.width * 2 >= crop.height * 3
}

#[cfg(feature = "tesseract")]
fn tesseract(options: &ReaderOptions, threads: usize) -> Result<Stack, OcrError> {
    use super::tesseract::Tesseract;
    let asked: Vec<&str> = options.languages.iter().map(String::as_str).collect();
    if !asked.is_empty() {
        let main = Box::new(Tesseract::new(&asked, threads)?);
        return Ok(Stack { main, others: Vec::new(), certain: 0.35 });
    }
    let mut main = Tesseract::installed(&["eng", "chi_sim"]);
    if main.first() != Some(&"eng") {
        main.insert(0, "eng");
    }
    let main = Box::new(Tesseract::new(&main, threads)?);
    Ok(Stack { main, others: others(threads, &["rus", "kor", "jpn", "deu", "fra"]), certain: 0.35 })
}

#[cfg(not(feature = "tesseract"))]
fn tesseract(_: &ReaderOptions, _: usize) -> Result<Stack, OcrError> {
    Err(OcrError::Unavailable {
        reason: "this build has no Tesseract".into(),
        remedy: "fetch the OCR models with `make models`".into(),
    })
}

/// Tesseract for each of `languages` that is installed.
#[cfg(feature = "tesseract")]
fn others(threads: usize, languages: &[&str]) -> Vec<Box<dyn Engine>> {
    use super::tesseract::Tesseract;
    let installed = Tesseract::installed(languages);
    installed.into_iter().filter_map(|l| Tesseract::new(&[l], threads).ok()).map(|t| Box::new(t) as Box<dyn Engine>).collect()
}

#[cfg(not(feature = "tesseract"))]
fn others(_: usize, _: &[&str]) -> Vec<Box<dyn Engine>> {
    Vec::new()
}
