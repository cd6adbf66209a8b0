//! A page in a real Chromium as witness of desktop input: it reports to a small server of the test's own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);
/// A browser drops input until a page has shown its first frames, so the page waits for some of them.
const SCRIPT: &str = "<script>let sent=Promise.resolve();function say(o){const b=JSON.stringify(o);sent=sent.then(()=>fetch('/say',{method:'POST',body:b}))}\
function ready(n=0){if(n>20&&document.hasFocus()&&innerWidth==screen.width)say({kind:'ready'});\
else requestAnimationFrame(()=>ready(n+1))}</script>";

/// A window of Chromium with one page over the whole screen, focused when this returns: page pixels are screen pixels.
pub struct Page {
    child: Child,
    reports: Receiver<Value>,
    _profile: tempfile::TempDir,
}

impl Page {
    /// `body` may call `say({kind: …})`; it must call `ready()`.
    pub fn open(display: &str, body: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let (tx, reports) = channel();
        let page = format!("<!doctype html><meta charset=utf-8><style>body{{margin:0}}</style>{SCRIPT}<body>{body}");
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (tx, page) = (tx.clone(), page.clone());
                std::thread::spawn(move || answer(stream, &page, &tx));
            }
        });
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new("chromium");
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg(format!("--app={address}"));
        command.args(["--no-sandbox", "--no-first-run", "--disable-gpu", "--password-store=basic", "--disable-background-networking"]);
        command.args(["--kiosk", "--disable-smooth-scrolling", "--force-device-scale-factor=1"]);
        command.env("DISPLAY", display).env_remove("WAYLAND_DISPLAY").env("HOME", profile.path());
        // Its helpers end with it: they are of its process group.
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().expect("chromium is installed");
        let page = Self { child, reports, _profile: profile };
        page.wait_for("ready");
        page
    }

    /// The next report of this kind.
    #[track_caller]
    pub fn wait_for(&self, kind: &str) -> Value {
        self.wait_until(kind, |_| true)
    }

    /// The next report of this kind that is as wanted; the last one of the kind stands in the failure.
    #[track_caller]
    pub fn wait_until(&self, kind: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        let mut last = Value::Null;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let report =
                self.reports.recv_timeout(left).unwrap_or_else(|_| panic!("the page reported no such {kind:?}; the last was {last}"));
            if report["kind"] == kind {
                if wanted(&report) {
                    return report;
                }
                last = report;
            }
        }
    }

    /// Everything reported and not yet asked for.
    pub fn rest(&self) -> Vec<Value> {
        self.reports.try_iter().collect()
    }
}

fn answer(mut stream: TcpStream, page: &str, tx: &Sender<Value>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut request, mut length) = (String::new(), 0);
        if reader.read_line(&mut request).unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).unwrap_or(0) == 0 || header.trim().is_empty() {
                break;
            }
            if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let content = if request.starts_with("POST") {
            let _ = tx.send(serde_json::from_slice(&body).unwrap_or_default());
            ""
        } else {
            page
        };
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n", content.len());
        if stream.write_all(format!("{head}{content}").as_bytes()).is_err() {
            return;
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let group = i32::try_from(self.child.id()).unwrap();
        // SAFETY: ends the process group of a child that we hold.
        #[allow(unsafe_code)]
        unsafe {
            libc::kill(-group, libc::SIGKILL);
        }
        let _ = self.child.wait();
    }
}
