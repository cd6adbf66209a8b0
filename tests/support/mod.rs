//! What the end-to-end tests stand on: displays, workers, witnesses. Everything ends with the test that started it.

pub mod board;
pub mod eye;
pub mod hand;
pub mod lender;
pub mod page;
pub mod painter;
pub mod person;
pub mod rig;
pub mod server;
pub mod terminal;
pub mod tray_app;
pub mod tray_host;
pub mod web;
pub mod webdriver;
pub mod window;
pub mod wire;
pub mod worker;

/// Says that a test is left out, and why. Past the test harness, which keeps to itself what a passing test prints.
pub fn skipped(why: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("SKIPPED: {why}\n").as_bytes());
}
