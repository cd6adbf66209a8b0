//! The demonstration: a real task over MCP on a real display, with nothing mocked. `make demo` runs it.
//!
//! Act one: in a text editor, found by what is on the screen, a sentence with Chinese and an emoji is typed and saved
//! through the editor's own dialog; the file is read back and compared. Act two: a form on a local page is filled in
//! Chinese in the managed Chromium, sent, and the answer read; then the same through the extension in a second Chromium,
//! paired by a typed code and lent by its button. Act three: the same desktop through a gateway.
//! Pictures of every step are kept. Exit code 0 only if all came out right.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a demonstration ends loudly at the first thing that is not right"
)]

mod client;
mod editor;
mod gateway;
mod lent;
mod page;
#[path = "../../tests/support/person.rs"]
#[allow(dead_code, reason = "the tests need more of it")]
mod person;

use client::{Client, Process};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What all acts share.
pub struct Stage {
    bin: PathBuf,
    /// Pictures and the saved file.
    out: PathBuf,
    begun: Instant,
    shots: std::cell::Cell<u32>,
}

impl Stage {
    /// One line a step, with the time since the start.
    fn step(&self, what: &str) {
        println!("{:7.2} s  {what}", self.begun.elapsed().as_secs_f64());
    }

    /// Keeps a picture of the screen as the agent sees it.
    async fn picture(&self, client: &Client, name: &str) {
        self.keep(client, "computer_screenshot", name).await;
    }

    /// Keeps a picture of the current page.
    async fn page(&self, client: &Client, name: &str) {
        self.keep(client, "browser_screenshot", name).await;
    }

    async fn keep(&self, client: &Client, tool: &str, name: &str) {
        let number = self.shots.get() + 1;
        self.shots.set(number);
        let (mime, bytes) = client.call(tool, serde_json::json!({})).await.picture();
        let end = if mime == "image/png" { "png" } else { "jpg" };
        std::fs::write(self.out.join(format!("{number:02}-{name}.{end}")), bytes).unwrap();
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let bin =
        arguments.iter().position(|a| a == "--bin").and_then(|i| arguments.get(i + 1)).expect("usage: demo --bin DESKHAND [--out FOLDER]");
    let out = arguments
        .iter()
        .position(|a| a == "--out")
        .and_then(|i| arguments.get(i + 1))
        .map_or_else(|| Path::new("target/demo").to_owned(), PathBuf::from);
    let _ = std::fs::remove_dir_all(&out);
    std::fs::create_dir_all(&out).unwrap();
    let stage = Stage {
        bin: std::fs::canonicalize(bin).unwrap(),
        out: std::fs::canonicalize(out).unwrap(),
        begun: Instant::now(),
        shots: std::cell::Cell::new(0),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (worker, client) = Process::worker(&stage).await;
        println!("Act one: a text editor");
        editor::play(&stage, &worker, &client).await;
        println!("Act two: a page in the managed Chromium");
        let board = page::Board::open().await;
        board.task(&stage, &client, "managed").await;
        println!("Act two, once more: the same through the extension in a person's own Chromium");
        lent::play(&stage, &worker, &client, &board).await;
        drop(worker);
        println!("Act three: this desktop through a gateway");
        gateway::play(&stage).await;
    });
    println!("\nAll came out right. Pictures: {}", stage.out.display());
}
