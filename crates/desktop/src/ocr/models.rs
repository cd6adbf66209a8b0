//! Where the models of the PP-OCR engine are.
//!
//! They are data: put there at set-up, never fetched while running.

use std::path::PathBuf;

/// Which pair of models reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelSize {
    /// The most exact.
    #[default]
    Small,
    /// Several times faster, for slow machines.
    Tiny,
}

impl ModelSize {
    /// File name of its recogniser.
    pub(super) fn recognizer(self) -> &'static str {
        match self {
            Self::Small => "PP-OCRv6_rec_small.onnx",
            Self::Tiny => "PP-OCRv6_rec_tiny.onnx",
        }
    }

    /// Rows that it needs the ink of a line to have, as measured on drawn screens.
    pub(super) fn ink_rows(self) -> f32 {
        match self {
            Self::Small => 26.0,
            Self::Tiny => 30.0,
        }
    }
}

/// The folders that are searched for models, first one first: `explicit`, `DESKHAND_MODELS`, the data folder of the
/// person, the system's, beside the program.
#[must_use]
pub fn model_folders(explicit: Option<PathBuf>) -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let mut folders: Vec<PathBuf> = explicit.into_iter().collect();
    folders.extend(variable("DESKHAND_MODELS"));
    let data = variable("XDG_DATA_HOME").or_else(|| variable("HOME").map(|home| home.join(".local/share")));
    folders.extend(data.map(|d| d.join("deskhand/models")));
    folders.extend(["/usr/local/share/deskhand/models", "/usr/share/deskhand/models"].map(PathBuf::from));
    if let Some(folder) = std::env::current_exe().ok().and_then(|exe| exe.parent().map(|p| p.join("models"))) {
        folders.push(folder);
    }
    folders
}
