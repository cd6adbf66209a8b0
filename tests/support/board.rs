//! A GTK window with texts and buttons at given places, which says what was clicked.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

const SCRIPT: &str = include_str!("board.py");

/// A shown window; closed when dropped.
pub struct Board {
    child: Child,
    orders: ChildStdin,
    reports: Receiver<Value>,
}

impl Board {
    /// Shows `items` in a window of this size at the top left of the display.
    pub fn show(display: &str, (width, height): (u32, u32), items: &[Value]) -> Self {
        let spec = json!({"width": width, "height": height, "items": items});
        let mut child = Command::new("/usr/bin/python3")
            .args(["-c", SCRIPT, &spec.to_string()])
            .env("DISPLAY", display)
            .env("GDK_BACKEND", "x11")
            .env("GTK_THEME", "Adwaita")
            .env("NO_AT_BRIDGE", "1")
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
        let board = Self { child, orders, reports };
        board.wait_for("ready");
        board
    }

    /// The next report of this kind.
    #[track_caller]
    pub fn wait_for(&self, kind: &str) -> Value {
        loop {
            match self.reports.recv_timeout(Duration::from_secs(60)) {
                Ok(report) if report["kind"] == kind => return report,
                Ok(_) => {}
                Err(error) => panic!("the board reported no {kind:?}: {error}"),
            }
        }
    }

    /// That nothing was pressed since the last report that was read.
    #[track_caller]
    pub fn untouched(&self) {
        match self.reports.recv_timeout(Duration::from_millis(300)) {
            Err(RecvTimeoutError::Timeout) => {}
            other => panic!("the board was touched: {other:?}"),
        }
    }

    /// Adds an item.
    pub fn add(&mut self, item: &Value) {
        writeln!(self.orders, "{}", json!({"order": "add", "item": item})).unwrap();
    }

    /// Hides an item.
    pub fn hide(&mut self, name: &str) {
        writeln!(self.orders, "{}", json!({"order": "hide", "name": name})).unwrap();
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
