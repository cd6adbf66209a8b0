//! PP-OCR's recogniser, run by `rten`.
//!
//! The network takes lines 48 rows high and answers, for each eight columns, how likely each character of its alphabet
//! is there (CTC). Its cost is the number of columns, so lines are not made wider than it needs; lines of like width
//! share a run, and each core works on runs of its own, which is faster than sharing one run among cores.

use super::crop::{Crop, scaled};
use super::models::ModelSize;
use super::{Engine, Glyph, OcrError, Reading};
use parking_lot::Mutex;
use rten::{Model, ModelOptions, RunOptions, ThreadPool};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows that the network takes.
const ROWS: usize = 48;
/// Columns of white left and right of the ink.
const MARGIN: usize = 10;
/// Columns of the widest run; a longer line is squeezed.
const WIDEST: usize = 3200;
/// Columns of all lines in one run: more take more memory and save no time.
const RUN_COLUMNS: usize = 960;

/// A loaded recogniser.
pub(super) struct Pp {
    model: Model,
    /// The character of each class; class 0 is "nothing".
    alphabet: Vec<char>,
    pools: Vec<Arc<ThreadPool>>,
    file: PathBuf,
    /// Rows that the ink of a line is brought to: fewer make the run shorter and small letters unclear.
    ink_rows: f32,
}

impl Pp {
    /// Loads the recogniser of `size` from the first folder that has it.
    pub(super) fn load(folders: &[PathBuf], size: ModelSize, threads: usize) -> Result<Self, OcrError> {
        let name = size.recognizer();
        let Some(file) = folders.iter().map(|f| f.join(name)).find(|f| f.is_file()) else {
            let places = folders.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", ");
            return Err(OcrError::Unavailable {
                reason: format!("{name} was not found in {places}"),
                remedy: "fetch the models with `make models`, or install Tesseract with its language data".into(),
            });
        };
        super::memory::give_large_blocks_back();
        let bad = |reason: String| OcrError::Model { file: file.display().to_string(), reason };
        let mut options = ModelOptions::with_all_ops();
        options.prepack_weights(true);
        let model = options.load_file(&file).map_err(|e| bad(e.to_string()))?;
        let alphabet = alphabet(&model, &file).map_err(bad)?;
        let pools = (0..threads).map(|_| Arc::new(ThreadPool::with_num_threads(1))).collect();
        Ok(Self { model, alphabet, pools, file, ink_rows: size.ink_rows() })
    }

    fn failed(&self, reason: impl ToString) -> OcrError {
        OcrError::Model { file: self.file.display().to_string(), reason: reason.to_string() }
    }

    /// Reads lines of about the same width in one run.
    fn run(&self, lines: &[&Prepared], pool: &Arc<ThreadPool>) -> Result<Vec<Reading>, OcrError> {
        let columns = lines.iter().map(|l| l.columns).max().unwrap_or(MARGIN);
        let mut input = NdTensor::full([lines.len(), 3, ROWS, columns], 1.0_f32);
        let plane = ROWS * columns;
        let data = input.data_mut().ok_or_else(|| self.failed("its input is not contiguous"))?;
        for (line, image) in lines.iter().zip(data.chunks_exact_mut(3 * plane)) {
            line.draw(&mut image[..plane], columns);
            image.copy_within(..plane, plane);
            image.copy_within(..plane, 2 * plane);
        }
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
        let output = self.model.run_one(input.view().into(), Some(options)).map_err(|e| self.failed(e))?;
        let output: NdTensor<f32, 3> = output.try_into().map_err(|_| self.failed("its output is not a tensor of three dimensions"))?;
        let [_, steps, classes] = output.shape();
        if classes != self.alphabet.len() + 1 {
            return Err(self.failed(format!("it knows {classes} classes, its alphabet has {} characters", self.alphabet.len())));
        }
        let step = columns as f32 / steps.max(1) as f32;
        Ok(lines.iter().enumerate().map(|(at, line)| self.decode(output.slice(at), line, step)).collect())
    }

    /// The most likely class of each step; repeats are one character, class 0 parts them.
    fn decode(&self, steps: NdTensorView<'_, f32, 2>, line: &Prepared, step: f32) -> Reading {
        let mut glyphs: Vec<Glyph> = Vec::new();
        let mut last = 0;
        for at in 0..steps.size(0) {
            let (class, confidence) = best(steps.slice(at));
            let place = |columns: f32| (columns - MARGIN as f32) / line.scale;
            let (left, right) = (place(at as f32 * step), place((at + 1) as f32 * step));
            match glyphs.last_mut() {
                Some(glyph) if class == last && class != 0 => {
                    glyph.confidence = glyph.confidence.max(confidence);
                    glyph.right = right;
                }
                _ if class != 0 && at as f32 * step < line.columns as f32 => {
                    let character = self.alphabet.get(class - 1).copied().unwrap_or('\u{fffd}');
                    glyphs.push(Glyph { character, confidence, left, right });
                }
                _ => {}
            }
            last = class;
        }
        Reading { glyphs }
    }
}

impl Engine for Pp {
    fn name(&self) -> &'static str {
        "pp-ocr"
    }

    fn read(&self, crops: &[&Crop], cancelled: &(dyn Fn() -> bool + Sync)) -> Result<Vec<Reading>, OcrError> {
        let prepared: Vec<Prepared> = crops.iter().map(|crop| Prepared::of(crop, self.ink_rows)).collect();
        let runs = runs(&prepared);
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<Option<Reading>>> = Mutex::new(vec![None; crops.len()]);
        let work = |pool: &Arc<ThreadPool>| -> Result<(), OcrError> {
            while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                if cancelled() {
                    return Err(OcrError::Cancelled);
                }
                let lines: Vec<&Prepared> = run.iter().map(|at| &prepared[*at]).collect();
                let read = self.run(&lines, pool)?;
                let mut results = results.lock();
                for (at, reading) in run.iter().zip(read) {
                    results[*at] = Some(reading);
                }
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let helpers: Vec<_> = self.pools.iter().skip(1).map(|pool| scope.spawn(move || work(pool))).collect();
            let own = self.pools.first().map_or(Ok(()), work);
            let lost = || Err(self.failed("a reading thread ended"));
            helpers.into_iter().map(|helper| helper.join().unwrap_or_else(|_| lost())).fold(own, Result::and)
        })?;
        results.into_inner().into_iter().map(|reading| reading.ok_or(OcrError::Cancelled)).collect()
    }
}

/// A line at the network's size.
struct Prepared {
    width: usize,
    height: usize,
    ink: Vec<u8>,
    /// Columns with the margins.
    columns: usize,
    /// Columns of the network for one pixel of the screen.
    scale: f32,
}

impl Prepared {
    fn of(crop: &Crop, ink_rows: f32) -> Self {
        let scale = (ink_rows / crop.height as f32).min(4.0);
        let widest = (WIDEST - 2 * MARGIN) as f32 / crop.width as f32;
        let (width, height, ink) = scaled(crop, scale.min(widest));
        Self { width, height, ink, columns: width + 2 * MARGIN, scale: width as f32 / crop.width as f32 }
    }

    /// Draws it in the middle of the rows: 1 is white, -1 black.
    fn draw(&self, plane: &mut [f32], columns: usize) {
        let top = (ROWS - self.height.min(ROWS)) / 2;
        for (row, line) in self.ink.chunks_exact(self.width).zip(plane.chunks_exact_mut(columns).skip(top)) {
            for (ink, pixel) in row.iter().zip(&mut line[MARGIN..]) {
                *pixel = 1.0 - f32::from(*ink) * (2.0 / 255.0);
            }
        }
    }
}

/// Groups lines of like width, widest first, so that the cores end together.
fn runs(prepared: &[Prepared]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..prepared.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(prepared[*at].columns));
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for at in order {
        let columns = prepared[at].columns;
        match runs.last_mut() {
            Some(run) if prepared[run[0]].columns * 9 <= columns * 10 && prepared[run[0]].columns * (run.len() + 1) <= RUN_COLUMNS => {
                run.push(at)
            }
            _ => runs.push(vec![at]),
        }
    }
    runs
}

fn best(probabilities: NdTensorView<'_, f32, 1>) -> (usize, f32) {
    // Whole lanes first: the class is only looked for once the maximum is known.
    let Some(row) = probabilities.data() else { return (0, 0.0) };
    let highest = row.chunks(64).map(|lane| lane.iter().copied().fold(f32::MIN, f32::max)).fold(f32::MIN, f32::max);
    (row.iter().position(|p| *p >= highest).unwrap_or(0), highest)
}

/// One character a class: from the text file beside the model, else from the model itself; the space comes last.
fn alphabet(model: &Model, file: &Path) -> Result<Vec<char>, String> {
    let beside = file.with_extension("txt");
    let listed = if beside.is_file() {
        std::fs::read_to_string(&beside).map_err(|e| format!("{}: {e}", beside.display()))?
    } else {
        let found = model.metadata().fields().find(|(key, _)| *key == "character");
        found
            .map(|(_, characters)| characters.to_owned())
            .ok_or_else(|| format!("it has no alphabet and {} is missing", beside.display()))?
    };
    let mut alphabet: Vec<char> =
        listed.split('\n').map(|line| line.trim_end_matches('\r')).filter_map(|line| line.chars().next()).collect();
    alphabet.push(' ');
    Ok(alphabet)
}
