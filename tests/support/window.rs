//! A GTK window as witness: it says what text it holds and which events reached it. Also an xterm and a slow reader.

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const SCRIPT: &str = include_str!("window.py");

/// A window with one widget, focused when this returns.
pub struct Window {
    child: Child,
    orders: ChildStdin,
    reports: Receiver<Value>,
}

impl Window {
    /// `kind`: `entry`, `view` (many lines), `slow` (a view that sleeps 50 ms for each key), `form` (two entries).
    pub fn open(display: &str, kind: &str) -> Self {
        let mut child = Command::new("/usr/bin/python3")
            .args(["-c", SCRIPT, kind])
            .env("DISPLAY", display)
            .env("GDK_BACKEND", "x11")
            .env("NO_AT_BRIDGE", "1")
            .env("GTK_IM_MODULE", "gtk-im-context-simple")
            .env_remove("WAYLAND_DISPLAY")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python3 is installed");
        let (tx, reports) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if let Ok(report) = serde_json::from_str(&line) {
                    let _ = tx.send(report);
                }
            }
        });
        let orders = child.stdin.take().unwrap();
        let window = Self { child, orders, reports };
        window.wait_for("ready");
        window
    }

    /// The next report of this kind.
    #[track_caller]
    pub fn wait_for(&self, kind: &str) -> Value {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let report = self.reports.recv_timeout(left).unwrap_or_else(|_| panic!("the witness reported no {kind:?}"));
            if report["kind"] == kind {
                return report;
            }
        }
    }

    fn ask(&mut self, order: &str) -> Value {
        writeln!(self.orders, "{order}").unwrap();
        self.wait_for(order)
    }

    /// The text it holds, after every event that was sent to it has been handled.
    pub fn text(&mut self) -> String {
        self.ask("text")["value"].as_str().unwrap().to_owned()
    }

    /// The text it holds now, whatever else is under way to it.
    pub fn glance(&mut self) -> String {
        self.ask("glance")["value"].as_str().unwrap().to_owned()
    }

    /// Empties it and forgets the events.
    pub fn clear(&mut self) {
        self.ask("clear");
    }

    /// The events that reached it since the last [`Window::clear`]: `{"type": "key-press", "name": "a", …}`.
    pub fn events(&mut self) -> Vec<Value> {
        self.ask("events")["value"].as_array().unwrap().clone()
    }

    /// The middle of its widget in screen pixels.
    pub fn middle(&mut self) -> (i64, i64) {
        let place = self.ask("place");
        (place["x"].as_i64().unwrap(), place["y"].as_i64().unwrap())
    }

    /// The selected text.
    pub fn selection(&mut self) -> String {
        self.ask("selection")["value"].as_str().unwrap().to_owned()
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
