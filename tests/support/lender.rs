//! A person who lends a tab: a display, a worker, a real browser with the real extension paired by the popup, and a page
//! of a site that the test serves. The site is the witness: pages report what happened to them.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::person::{Person, until};
use super::server::Server;
use super::worker::Worker;

/// Pages served on a loopback port, and what they reported by `tell(text)`.
pub struct Site {
    pub port: u16,
    told: Arc<Mutex<Vec<String>>>,
    serving: tokio::task::JoinHandle<()>,
}

const HEAD: &str = "<!doctype html><meta charset=utf-8><title>TITLE</title><script>\
    const tell = t => fetch('/tell?' + encodeURIComponent(t));\
    </script>";

impl Site {
    /// `body` gives the page of a path.
    pub async fn serve(body: fn(&str) -> String) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = Arc::clone(&told);
        let serving = tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let heard = Arc::clone(&heard);
                tokio::spawn(async move {
                    let mut head = vec![0; 16_384];
                    let read = socket.read(&mut head).await.unwrap_or(0);
                    let text = String::from_utf8_lossy(&head[..read]).into_owned();
                    let path = text.split(' ').nth(1).unwrap_or("/").to_owned();
                    let page = match path.strip_prefix("/tell?") {
                        Some(told) => {
                            heard.lock().unwrap().push(decoded(told));
                            String::new()
                        }
                        None => HEAD.replace("TITLE", path.trim_start_matches('/')) + &body(&path),
                    };
                    let reply = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
                        page.len()
                    );
                    let _ = socket.write_all(reply.as_bytes()).await;
                });
            }
        });
        Self { port, told, serving }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Everything that was told so far.
    pub fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    /// Waits until this was told.
    pub async fn hears(&self, text: &str) {
        until(text, || async { self.told().iter().any(|t| t == text).then_some(()) }).await;
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).and_then(|h| u8::from_str_radix(h, 16).ok());
        match (bytes[at], hex) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 2;
            }
            (byte, _) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The extension as it is shipped.
pub fn extension() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("extension")
}

/// A one-time code, as `deskhand pair` prints it.
pub async fn pairing_code(worker: &Worker) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deskhand"));
    let output = command.arg("pair").arg("--state-dir").arg(&worker.state).stdin(Stdio::null()).output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let code = text.lines().find_map(|line| line.strip_prefix("Code:")).unwrap_or_else(|| panic!("no code in {text:?}"));
    code.trim().to_owned()
}

/// Everything at once.
pub struct Lender {
    pub worker: Worker,
    pub person: Person,
    pub site: Site,
    /// The target of the lent page in the person's browser.
    pub target: String,
    pub profile: TempDir,
    pub server: Server,
}

impl Lender {
    /// A person who lends `/one` of a site to a worker with `--browser extension` and all groups.
    pub async fn start(body: fn(&str) -> String) -> Self {
        let server = Server::managed("1280x900x24");
        let worker = Worker::with(Some(server.name()), &["--authorize", "all", "--browser", "extension"]).await;
        let site = Site::serve(body).await;
        let profile = tempfile::tempdir().unwrap();
        let person = Person::start(server.name(), &profile.path().join("profile"), &extension(), &[]).await;
        person.pair(&address(&worker), &pairing_code(&worker).await, "Chrome (Work)").await;
        let target = person.open(&site.url("/one")).await;
        person.lend(&target).await;
        Self { worker, person, site, target, profile, server }
    }

    /// The rows of `browser_tabs_list`.
    pub async fn tabs(&self) -> Vec<Value> {
        tabs(&self.worker).await
    }
}

/// The rows of `browser_tabs_list`.
pub async fn tabs(worker: &Worker) -> Vec<Value> {
    let answer = worker.call("browser_tabs_list", serde_json::json!({})).await.success();
    answer.json["tabs"].as_array().cloned().unwrap_or_default()
}

/// Host and port of a worker, as the popup takes them.
pub fn address(worker: &Worker) -> String {
    worker.url.trim_start_matches("http://").split('/').next().unwrap().to_owned()
}

/// Presses "Cancel" on the debugging bar: the only large area of this blue below the toolbar, once it has stopped sliding.
pub async fn cancel_debugging(worker: &Worker, display: &str) {
    let before = Mutex::new(None);
    let (x, y) = until("the debugging bar", || async {
        let (_, bytes) = worker.call("computer_screenshot", serde_json::json!({})).await.success().picture();
        let found = cancel_button(&image::load_from_memory(&bytes).unwrap().to_rgb8());
        let same = found.is_some() && *before.lock().unwrap() == found;
        *before.lock().unwrap() = found;
        found.filter(|_| same)
    })
    .await;
    let at = [x.to_string(), y.to_string()];
    let done = Command::new("xdotool").args(["mousemove", &at[0], &at[1], "click", "1"]).env("DISPLAY", display).status().await;
    assert!(done.unwrap().success());
}

fn cancel_button(picture: &image::RgbImage) -> Option<(u32, u32)> {
    let blue = |p: &image::Rgb<u8>| p.0[0] < 60 && (60..120).contains(&p.0[1]) && p.0[2] > 180;
    let band = picture.enumerate_pixels().filter(|(_, y, p)| (90..220).contains(y) && blue(p));
    let (mut across, mut down): (Vec<u32>, Vec<u32>) = band.map(|(x, y, _)| (x, y)).unzip();
    across.sort_unstable();
    down.sort_unstable();
    let middle = |all: &[u32]| all.get(all.len() / 2).copied();
    if across.len() > 600 { middle(&across).zip(middle(&down)) } else { None }
}
