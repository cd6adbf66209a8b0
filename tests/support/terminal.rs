//! An xterm as witness: the bytes that its terminal got.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

/// A terminal in raw mode that keeps every byte in a file.
pub struct Terminal {
    child: Child,
    out: PathBuf,
    folder: tempfile::TempDir,
}

impl Terminal {
    pub fn open(display: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("bytes");
        let script = format!("stty raw -echo; touch {0}.ready; exec cat > {0}", out.display());
        let mut command = Command::new("xterm");
        // A title of its own: the display may still show another terminal as the active window.
        let title = folder.path().display().to_string();
        command.args(["-u8", "-T", &title, "-e", "sh", "-c", &script]).env("DISPLAY", display).env("LANG", "C.UTF-8");
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("xterm is installed");
        let terminal = Self { child, out, folder };
        terminal.until("the terminal starts", || terminal.folder.path().join("bytes.ready").exists());
        let asked = |arguments: &[&str]| {
            let answer = Command::new("xprop").args(["-display", display]).args(arguments).output().unwrap();
            String::from_utf8_lossy(&answer.stdout).into_owned()
        };
        let focused = || {
            let active = asked(&["-root", "_NET_ACTIVE_WINDOW"]);
            active.split_whitespace().last().is_some_and(|window| asked(&["-id", window, "WM_NAME"]).contains(&title))
        };
        terminal.until("the terminal has the focus", focused);
        terminal
    }

    #[track_caller]
    fn until(&self, what: &str, done: impl Fn() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !done() {
            assert!(Instant::now() < end, "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Where the bytes are kept.
    pub fn file(&self) -> &std::path::Path {
        &self.out
    }

    /// What has been typed into it, once it is this or time is up.
    pub fn text(&self, wanted: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let got = String::from_utf8_lossy(&std::fs::read(&self.out).unwrap_or_default()).into_owned();
            if got == wanted || Instant::now() >= end {
                return got;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
