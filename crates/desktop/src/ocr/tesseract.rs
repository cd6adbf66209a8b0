//! Lines read by the system's Tesseract, through leptess.
//!
//! It gets one line at a time, black on white and enlarged to the size that its network was trained on, so that none of
//! its own page layout, inversion or size guesses are in the way: those are what loses rows on screens.

use super::crop::Crop;
use super::{Engine, Glyph, OcrError, Reading};
use leptess::Variable;
use leptess::tesseract::TessApi;
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows that a line's ink is brought to.
const INK_ROWS: f32 = 36.0;
/// White around it, in pixels after scaling.
const MARGIN: usize = 12;
/// `PSM_SINGLE_LINE`.
const SINGLE_LINE: &str = "7";

/// Tesseract with the data of some languages.
pub(super) struct Tesseract {
    folder: PathBuf,
    /// As Tesseract takes it: `eng+chi_sim`.
    languages: String,
    idle: Mutex<Vec<Instance>>,
    threads: usize,
}

struct Instance(TessApi);

// SAFETY: an instance owns all of its state and is not tied to the thread that made it; it is only ever used by the one
// thread that took it out of `idle`.
unsafe impl Send for Instance {}

impl Tesseract {
    /// Readies it for `languages` (Tesseract's names), all of which must be installed. Their data is loaded with the
    /// first line.
    pub(super) fn new(languages: &[&str], threads: usize) -> Result<Self, OcrError> {
        let folders = data_folders();
        let has = |folder: &Path, language: &str| folder.join(format!("{language}.traineddata")).is_file();
        let missing = |language: &str| OcrError::MissingLanguage {
            language: language.into(),
            package: language.replace('_', "-"),
            folders: folders.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", "),
        };
        let first = languages.first().copied().unwrap_or("eng");
        let folder = folders.iter().find(|f| has(f, first)).ok_or_else(|| missing(first))?.clone();
        if let Some(absent) = languages.iter().find(|l| !has(&folder, l)) {
            return Err(missing(absent));
        }
        Ok(Self { folder, languages: languages.join("+"), idle: Mutex::new(Vec::new()), threads })
    }

    /// Which of `languages` have data installed, in one folder.
    pub(super) fn installed<'a>(languages: &[&'a str]) -> Vec<&'a str> {
        let folders = data_folders();
        let present = |folder: &PathBuf| {
            let here = |l: &&&str| folder.join(format!("{l}.traineddata")).is_file();
            languages.iter().filter(here).copied().collect::<Vec<_>>()
        };
        folders.iter().map(present).find(|found| !found.is_empty()).unwrap_or_default()
    }

    fn start(&self) -> Result<Instance, OcrError> {
        one_thread_for_openmp();
        let folder = self.folder.to_string_lossy();
        let failed = |reason: String| OcrError::Engine { engine: "tesseract", reason };
        let api = TessApi::new(Some(&folder), &self.languages)
            .map_err(|_| failed(format!("its data for {} in {folder} could not be loaded", self.languages)))?;
        let mut api = Instance(api);
        let mode = std::ffi::CString::new(SINGLE_LINE).map_err(|e| failed(e.to_string()))?;
        let set = api.0.raw.set_variable(Variable::TesseditPagesegMode.as_cstr(), &mode);
        set.map_err(|_| failed("it does not know single lines".into()))?;
        Ok(api)
    }

    fn read_one(&self, instance: &mut Instance, crop: &Crop) -> Result<Reading, OcrError> {
        let failed = |reason: &str| OcrError::Engine { engine: "tesseract", reason: reason.into() };
        let scale = (INK_ROWS / crop.height as f32).clamp(0.1, 4.0);
        let (width, height, pixels) = paper(crop, scale);
        let raw = &mut instance.0.raw;
        raw.set_image(&pixels, width as i32, height as i32, 1, width as i32).map_err(|_| failed("it refused a line"))?;
        raw.set_source_resolution(300);
        raw.recognize().map_err(|_| failed("it gave up on a line"))?;
        let table = raw.get_tsv_text(0).map_err(|_| failed("it gave no result"))?;
        let table = table.as_ref().to_str().map_err(|_| failed("its result is not text"))?;
        Ok(Reading { glyphs: glyphs(table, scale) })
    }
}

impl Engine for Tesseract {
    fn name(&self) -> &'static str {
        "tesseract"
    }

    fn read(&self, crops: &[&Crop], cancelled: &(dyn Fn() -> bool + Sync)) -> Result<Vec<Reading>, OcrError> {
        let next = AtomicUsize::new(0);
        let results: Vec<Mutex<Option<Reading>>> = crops.iter().map(|_| Mutex::new(None)).collect();
        let work = || -> Result<(), OcrError> {
            one_thread_for_openmp();
            let taken = self.idle.lock().pop();
            let mut instance = taken.map_or_else(|| self.start(), Ok)?;
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(crop) = crops.get(at) else { break };
                if cancelled() {
                    break;
                }
                *results[at].lock() = Some(self.read_one(&mut instance, crop)?);
            }
            self.idle.lock().push(instance);
            Ok(())
        };
        std::thread::scope(|scope| {
            let helpers: Vec<_> = (1..self.threads.min(crops.len())).map(|_| scope.spawn(work)).collect();
            let own = work();
            helpers.into_iter().map(|h| h.join().unwrap_or(Ok(()))).fold(own, Result::and)
        })?;
        results.into_iter().map(|r| r.into_inner().ok_or(OcrError::Cancelled)).collect()
    }
}

/// The line on white, enlarged by `scale`.
fn paper(crop: &Crop, scale: f32) -> (usize, usize, Vec<u8>) {
    let (width, height, ink) = super::crop::scaled(crop, scale);
    let (outer_width, outer_height) = (width + 2 * MARGIN, height + 2 * MARGIN);
    let mut pixels = vec![255_u8; outer_width * outer_height];
    for (row, line) in ink.chunks_exact(width).zip(pixels.chunks_exact_mut(outer_width).skip(MARGIN)) {
        for (ink, pixel) in row.iter().zip(&mut line[MARGIN..]) {
            *pixel = 255 - ink;
        }
    }
    (outer_width, outer_height, pixels)
}

/// Reads Tesseract's table: level, page, block, paragraph, line, word, left, top, width, height, confidence, text.
fn glyphs(table: &str, scale: f32) -> Vec<Glyph> {
    let mut glyphs: Vec<Glyph> = Vec::new();
    for row in table.lines() {
        let fields: Vec<&str> = row.split('\t').collect();
        let &["5", _, _, _, _, _, left, _, width, _, confidence, text] = fields.as_slice() else { continue };
        let (Ok(left), Ok(width), Ok(confidence)) = (left.parse::<f32>(), width.parse::<f32>(), confidence.parse::<f32>()) else {
            continue;
        };
        let left = (left - MARGIN as f32) / scale;
        let each = width / scale / text.chars().count().max(1) as f32;
        let confidence = (confidence / 100.0).clamp(0.0, 1.0);
        if let Some(last) = glyphs.last().copied() {
            glyphs.push(Glyph { character: ' ', confidence, left: last.right, right: left });
        }
        let placed = text.chars().enumerate().map(|(at, character)| {
            let left = left + each * at as f32;
            Glyph { character, confidence, left, right: left + each }
        });
        glyphs.extend(placed);
    }
    glyphs
}

/// Where language data may be, as Tesseract itself and the packages of common systems have it.
fn data_folders() -> Vec<PathBuf> {
    if let Some(prefix) = std::env::var_os("TESSDATA_PREFIX").filter(|p| !p.is_empty()) {
        let prefix = PathBuf::from(prefix);
        return vec![prefix.clone(), prefix.join("tessdata")];
    }
    let mut folders: Vec<PathBuf> = ["5", "4.00", "4"].iter().map(|v| format!("/usr/share/tesseract-ocr/{v}/tessdata").into()).collect();
    folders.extend(["/usr/share/tessdata", "/usr/local/share/tessdata", "/opt/homebrew/share/tessdata"].map(PathBuf::from));
    folders
}

/// Tesseract shares each line's work among OpenMP threads, which on few cores takes several times as long as one thread
/// does; the lines are shared out here instead. The limit can only be set through the library that is loaded already.
fn one_thread_for_openmp() {
    #[cfg(unix)]
    {
        // SAFETY: looks up a symbol by a constant, terminated name among the loaded libraries.
        let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"omp_set_max_active_levels".as_ptr()) };
        if !symbol.is_null() {
            // SAFETY: by OpenMP's standard this symbol is `void omp_set_max_active_levels(int)`; 0 makes every parallel
            // region of this thread run on it alone.
            let set: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(symbol) };
            set(0);
        }
    }
}
