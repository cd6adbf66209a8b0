//! An engine in a process of its own, so that memory and start are its alone. All speak the same: the path of a picture on
//! a line of stdin, one line of JSON back.

use super::score::Page;
use deskhand_desktop::ocr::{Choice, Image, Line, ModelSize, Order, Reader, ReaderOptions, Rect};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The packages of the engines that ours is compared with.
const RIVALS: [&str; 3] = ["rapidocr==3.10.0", "onnxruntime", "faster-paddle==1.0.4"];

/// What one reading came to.
pub struct Answer {
    /// Milliseconds that reading took, loading the picture aside.
    pub ms: f64,
    /// What was read.
    pub lines: Vec<Line>,
    /// Most memory in use so far, in megabytes.
    pub peak_mb: f64,
}

/// A running engine.
pub struct Runner {
    /// Its name.
    pub name: &'static str,
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Runner {
    fn start(name: &'static str, command: &mut Command) -> Result<Self, String> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(|e| e.to_string())?;
        let (orders, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Ok(Self { name, child, orders, answers })
    }

    /// One of ours: this program again.
    pub fn own(name: &'static str, arguments: &[&str]) -> Result<Self, String> {
        Self::start(name, Command::new(std::env::current_exe().unwrap()).arg("--serve").args(arguments))
    }

    /// One of the others, run by that Python.
    pub fn rival(name: &'static str, python: &Path, engine: &str) -> Result<Self, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ocr_bench/rivals.py");
        Self::start(name, Command::new(python).arg(script).arg(engine))
    }

    /// Reads a picture; `None` when the engine is gone.
    pub fn read(&mut self, picture: &Path) -> Option<Answer> {
        writeln!(self.orders, "{}", picture.display()).ok()?;
        let mut line = String::new();
        self.answers.read_line(&mut line).ok().filter(|length| *length > 0)?;
        let answer: Value = serde_json::from_str(&line).ok()?;
        let lines = answer["lines"].as_array()?.iter().map(read_line).collect();
        Some(Answer { ms: answer["ms"].as_f64()?, lines, peak_mb: answer["peak_kb"].as_f64()? / 1024.0 })
    }

    /// Forgets what was read before, where the engine remembers anything.
    pub fn forget(&mut self) {
        if self.name.starts_with("Deskhand") {
            writeln!(self.orders).unwrap();
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _status = self.child.wait();
    }
}

fn read_line(line: &Value) -> Line {
    let number = |key: &str| line[key].as_f64().unwrap_or(0.0);
    let rect = Rect::new(number("x") as i32, number("y") as i32, number("width") as u32, number("height") as u32);
    Line { text: line["text"].as_str().unwrap_or_default().to_owned(), confidence: 1.0, rect, words: Vec::new() }
}

/// A Python with the other engines, installed once beside this program; or why there is none.
pub fn python() -> Result<PathBuf, String> {
    let place = std::env::current_exe().unwrap().parent().unwrap().join("ocr-rivals");
    let (python, done) = (place.join("bin/python"), place.join("complete"));
    if done.exists() {
        return Ok(python);
    }
    let run = |command: &mut Command| match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or("it failed").to_owned()),
        Err(error) => Err(error.to_string()),
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(RIVALS))?;
    std::fs::write(done, "").map_err(|error| error.to_string())?;
    Ok(python)
}

/// Plays one of our engines for another process of this program. An empty line means: forget.
pub fn serve(arguments: &[String]) {
    let mut options = ReaderOptions::default();
    for argument in arguments {
        match argument.as_str() {
            "tiny" => options.size = ModelSize::Tiny,
            "tesseract" => options.engine = Choice::Tesseract,
            _ => options.engine = Choice::Pp,
        }
    }
    let reader = Reader::new(options);
    for order in std::io::stdin().lines().map(Result::unwrap) {
        if order.is_empty() {
            reader.forget();
            continue;
        }
        let (width, height, pixels) = load(&order);
        let image = Image::new(width, height, width as usize * 4, &pixels, Order::Rgbx).unwrap();
        let start = Instant::now();
        let lines = reader.read(&image, None).unwrap();
        let ms = start.elapsed().div_duration_f64(Duration::from_millis(1));
        let line = |line: &Line| json!({"text": line.text, "x": line.rect.x, "y": line.rect.y, "width": line.rect.width, "height": line.rect.height, "confidence": line.confidence});
        let lines: Vec<Value> = lines.iter().map(line).collect();
        println!("{}", json!({"ms": ms, "peak_kb": peak_kilobytes(), "lines": lines}));
    }
}

fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse().ok()).unwrap_or(0)
}

/// Bytes before the pixels of a BMP.
const HEAD: usize = 54;

/// Keeps a picture where other processes read it: as a BMP, which takes nobody time to unpack.
pub fn save(folder: &Path, name: &str, page: &Page) -> PathBuf {
    let (width, height) = (page.width as usize, page.height as usize);
    let row = (width * 3).next_multiple_of(4);
    let mut bytes = vec![0; HEAD + row * height];
    let mut put = |at: usize, number: usize| bytes[at..at + 4].copy_from_slice(&(number as u32).to_le_bytes());
    for (at, number) in [(2, HEAD + row * height), (10, HEAD), (14, 40), (18, width), (22, height), (26, 1 | 24 << 16), (34, row * height)]
    {
        put(at, number);
    }
    bytes[..2].copy_from_slice(b"BM");
    // From the bottom to the top, blue first.
    for (to, from) in bytes[HEAD..].chunks_exact_mut(row).zip(page.pixels.chunks_exact(width * 4).rev()) {
        for (to, from) in to.chunks_exact_mut(3).zip(from.chunks_exact(4)) {
            to.copy_from_slice(&[from[2], from[1], from[0]]);
        }
    }
    let path = folder.join(format!("{name}.bmp"));
    std::fs::write(&path, bytes).unwrap();
    path
}

/// What [`save`] wrote: width, height, and red, green, blue and one more byte for each pixel.
fn load(path: &str) -> (u32, u32, Vec<u8>) {
    let bytes = std::fs::read(path).unwrap();
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (width, height) = (number(18), number(22));
    let row = (width as usize * 3).next_multiple_of(4);
    let rows = bytes[HEAD..].chunks_exact(row).rev();
    let pixels = rows.flat_map(|row| row[..width as usize * 3].chunks_exact(3).flat_map(|p| [p[2], p[1], p[0], 255])).collect();
    (width, height, pixels)
}
