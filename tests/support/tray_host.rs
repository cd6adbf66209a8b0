//! A session bus of a test's own, and on it what a desktop has: a tray that shows icons and menus, and a screen saver.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::worker::PATIENCE;

const SCRIPT: &str = include_str!("tray_host.py");

/// Nothing is started by it: no keyring asks for its password, no portal draws its own dialogs.
const CONFIGURATION: &str = "<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><policy context=\"default\">\
    <allow send_destination=\"*\" eavesdrop=\"true\"/><allow eavesdrop=\"true\"/><allow own=\"*\"/></policy></busconfig>";

/// A session bus; ends when dropped.
pub struct Bus {
    child: Child,
    pub address: String,
}

impl Bus {
    /// Starts one; its configuration is kept in `folder`.
    pub fn start(folder: &Path) -> Self {
        let file = folder.join("bus.conf");
        std::fs::write(&file, CONFIGURATION).unwrap();
        let mut command = Command::new("dbus-daemon");
        command.arg(format!("--config-file={}", file.display())).args(["--nofork", "--print-address=1"]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("dbus-daemon is installed");
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        assert!(address.starts_with("unix:"), "no bus: {address:?}");
        Self { child, address: address.trim().to_owned() }
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The tray and the screen saver, on one bus.
pub struct TrayHost {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// An entry of the icon's menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    id: i64,
    pub label: String,
    pub enabled: bool,
}

impl TrayHost {
    /// `tray`: whether there is a tray at all; the screen saver is there in any case.
    pub fn start(bus: &Bus, tray: bool) -> Self {
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", SCRIPT, "saver"]).args(tray.then_some("tray")).env("DBUS_SESSION_BUS_ADDRESS", &bus.address);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 is installed");
        let (orders, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut host = Self { child, orders, answers };
        assert_eq!(host.answer()["ready"], true);
        host
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("the tray ended: {line:?}"))
    }

    fn ask(&mut self, order: &Value) -> Value {
        writeln!(self.orders, "{order}").unwrap();
        self.answer()
    }

    /// Asks until the answer fits.
    #[track_caller]
    fn until(&mut self, what: &str, order: &Value, fits: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let answer = self.ask(order);
            if answer["error"].is_null() && fits(&answer) {
                return answer;
            }
            assert!(Instant::now() < end, "the tray never shows {what}, but {answer}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits for an icon; what it shows: `picture` with `sum` and `colour`, `Title`, `Status`.
    #[track_caller]
    pub fn icon(&mut self) -> Value {
        self.until("an icon", &json!({ "order": "item" }), |item| item["picture"].is_object())
    }

    /// Waits until the icon's picture has mostly this colour.
    #[track_caller]
    pub fn icon_of(&mut self, colour: [u8; 3]) -> Value {
        self.until(&format!("an icon of {colour:?}"), &json!({ "order": "item" }), |item| item["picture"]["colour"] == json!(colour))
    }

    /// How many icons there are.
    pub fn icons(&mut self) -> usize {
        self.ask(&json!({ "order": "items" }))["items"].as_array().map_or(0, Vec::len)
    }

    /// The menu as it is now.
    #[track_caller]
    pub fn menu(&mut self) -> Vec<Row> {
        let told = self.until("a menu", &json!({ "order": "menu" }), |told| told["rows"].as_array().is_some_and(|rows| !rows.is_empty()));
        let row = |row: &Value| Row {
            id: row["id"].as_i64().unwrap(),
            label: row["label"].as_str().unwrap().to_owned(),
            enabled: row["enabled"] != false,
        };
        told["rows"].as_array().unwrap().iter().filter(|row| row["visible"] != false).map(row).collect()
    }

    /// Waits until the menu has an entry that says this and can be chosen.
    #[track_caller]
    pub fn offers(&mut self, label: &str) -> Row {
        let end = Instant::now() + PATIENCE;
        loop {
            let menu = self.menu();
            if let Some(row) = menu.iter().find(|row| row.label == label && row.enabled) {
                return row.clone();
            }
            assert!(Instant::now() < end, "the menu does not offer {label:?}: {menu:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Chooses the entry that says this.
    #[track_caller]
    pub fn choose(&mut self, label: &str) {
        let row = self.offers(label);
        let answer = self.ask(&json!({ "order": "choose", "id": row.id }));
        // "Quit" may end the app before it has answered.
        let gone = answer["error"].as_str().is_some_and(|e| e.contains("NoReply"));
        assert!(gone || answer["chosen"] == row.id, "{label}: {answer}");
    }

    /// Locks or unlocks the screen, as a screen saver says it.
    pub fn lock(&mut self, locked: bool) {
        assert_eq!(self.ask(&json!({ "order": "lock", "locked": locked }))["locked"], locked);
    }
}

impl Drop for TrayHost {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
