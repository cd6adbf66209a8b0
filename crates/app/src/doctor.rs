//! What works on this machine and what does not, found out by doing it: a picture is taken, the pointer is moved, a text is
//! read. Each thing that is missing comes with the one command that mends it.

use crate::engines::Engines;
use crate::options::ServeOptions;
use crate::state::StateFolder;
use anyhow::Result;
use deskhand_browser::managed::find_browser;
use deskhand_desktop::clipboard::Clipboard;
use deskhand_desktop::input::{Key, Point};
use deskhand_desktop::ocr::{Image, Order};
use deskhand_desktop::screen::Area;
use deskhand_tools::Host;
use serde::Serialize;
use std::time::Instant;

/// A picture whose text is known.
const SAMPLE: &[u8] = include_bytes!("../assets/doctor.png");
const SAMPLE_TEXT: &str = "Deskhand reads 2026";

/// How one thing stands.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// What was tried.
    pub name: &'static str,
    /// Whether it worked.
    pub ok: bool,
    /// Whether a worker is of use without it.
    pub needed: bool,
    /// What was found, or why it did not work.
    pub found: String,
    /// The command or step that mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<&'static str>,
}

/// Everything that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of the product.
    pub version: &'static str,
    /// The checks, in the order in which they were made.
    pub checks: Vec<Check>,
}

impl Report {
    /// Whether everything that is needed works.
    #[must_use]
    pub fn well(&self) -> bool {
        self.checks.iter().all(|c| c.ok || !c.needed)
    }
}

type Found = Result<String, String>;

fn check(name: &'static str, needed: bool, remedy: &'static str, tried: Found) -> Check {
    match tried {
        Ok(found) => Check { name, ok: true, needed, found, remedy: None },
        Err(found) => Check { name, ok: false, needed, found, remedy: Some(remedy) },
    }
}

/// Tries everything on this display (`None`: the session's own). Must run inside a runtime; blocks for a second or two.
///
/// # Errors
/// When the state folder cannot be used.
pub fn examine(state: &StateFolder, display: Option<String>) -> Result<Report> {
    // A folder of its own: a running worker's journal and paired browsers are not touched.
    let folder = tempfile::tempdir()?;
    let engines = Engines::open(&ServeOptions::default(), &StateFolder::open(Some(folder.path()))?, display.clone())?;
    let host = &engines.host;
    const DISPLAY: &str = "run it inside a desktop session, name a display with --display :N, or try --virtual-display 1280x800";
    let checks = vec![
        check("display", true, DISPLAY, display_found(host)),
        check("capture", true, DISPLAY, captured(host)),
        check(
            "pointer",
            true,
            "install the XTEST extension of the X server (xserver-xorg-core), or try --virtual-display 1280x800",
            pointed(host),
        ),
        check(
            "keyboard",
            true,
            "install the XTEST extension of the X server (xserver-xorg-core), or try --virtual-display 1280x800",
            pressed(host),
        ),
        check("session", true, "unlock the session", host.session.state().open().map(|()| "open".into()).map_err(|e| e.to_string())),
        check(
            "reading",
            true,
            "scripts/fetch-models.sh, or: sudo apt-get install tesseract-ocr tesseract-ocr-eng tesseract-ocr-chi-sim",
            read(host),
        ),
        check("clipboard", false, DISPLAY, clipboard(display)),
        check(
            "browser",
            false,
            "sudo apt-get install chromium",
            find_browser(None).map(|p| p.display().to_string()).map_err(|e| e.to_string()),
        ),
        check("virtual display", false, "sudo apt-get install xvfb openbox dbus", virtual_display()),
        check("state folder", true, "name a folder that you can write with --state-dir", written(state)),
        check("worker", false, "deskhand serve --authorize screen,mouse,keyboard", running(state)),
    ];
    Ok(Report { version: crate::VERSION, checks })
}

fn display_found(host: &Host) -> Found {
    let screen = host.display.screen().map_err(|e| e.to_string())?;
    Ok(format!("{}x{}, {} monitor(s)", screen.width, screen.height, screen.monitors.len()))
}

fn captured(host: &Host) -> Found {
    let begun = Instant::now();
    let capture = host.display.capture(&Area::All).map_err(|e| e.to_string())?;
    Ok(format!("a picture of {}x{} in {:.1} ms", capture.width(), capture.height(), begun.elapsed().as_secs_f64() * 1000.0))
}

/// Moves the pointer by a pixel and back, and looks where it is each time.
fn pointed(host: &Host) -> Found {
    let desktop = &host.desktop;
    let went = || -> Result<(Point, Point, Point), deskhand_desktop::Error> {
        let (width, _) = desktop.size()?;
        let before = desktop.pointer()?;
        let step = if before.x + 1 < i32::try_from(width).unwrap_or(i32::MAX) { 1 } else { -1 };
        let moved = desktop.move_by(step, 0)?;
        desktop.move_to(before)?;
        Ok((before, moved, desktop.pointer()?))
    };
    let (before, moved, after) = went().map_err(|e| e.to_string())?;
    if before == after && moved != before {
        Ok(format!("moved from {},{} and back", before.x, before.y))
    } else {
        Err("it does not go where it is sent".into())
    }
}

/// Presses Shift alone, which types nothing.
fn pressed(host: &Host) -> Found {
    let press = || host.desktop.press(&[Key::parse("shift")?], &deskhand_desktop::cancel::Cancel::never());
    match press() {
        Ok(()) => Ok("a key was pressed and released".into()),
        // In the tray app: its own window has the keyboard, and is spared.
        Err(deskhand_desktop::Error::OwnWindow) => {
            Ok("keys can be pressed; Deskhand's own window has the keyboard now and was left alone".into())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn read(host: &Host) -> Found {
    let picture = image::load_from_memory(SAMPLE).map_err(|e| e.to_string())?.to_rgba8();
    let (width, height) = picture.dimensions();
    let view = Image::new(width, height, width as usize * 4, picture.as_raw(), Order::Rgbx).ok_or("the sample cannot be read")?;
    let begun = Instant::now();
    let lines = host.reader.read(&view, None).map_err(|e| e.to_string())?;
    let text = lines.iter().map(|l| l.text.as_str()).collect::<Vec<_>>().join(" ");
    let engine = host.reader.engine().map_err(|e| e.to_string())?;
    let ms = begun.elapsed().as_millis();
    if text == SAMPLE_TEXT {
        Ok(format!("{engine} read a sample right, {ms} ms with loading"))
    } else {
        Err(format!("{engine} read {text:?} where {SAMPLE_TEXT:?} stands"))
    }
}

fn clipboard(display: Option<String>) -> Found {
    Clipboard::new(display)
        .text()
        .map(|t| if t.is_some() { "it holds text".into() } else { "it holds no text".into() })
        .map_err(|e| e.to_string())
}

fn virtual_display() -> Found {
    let paths: Vec<_> = std::env::var_os("PATH").map(|p| std::env::split_paths(&p).collect()).unwrap_or_default();
    let missing: Vec<_> =
        ["Xvfb", "openbox", "dbus-daemon"].into_iter().filter(|name| !paths.iter().any(|p| p.join(name).is_file())).collect();
    if missing.is_empty() { Ok("Xvfb, openbox and dbus-daemon are there".into()) } else { Err(format!("{} not found", missing.join(", "))) }
}

fn written(state: &StateFolder) -> Found {
    tempfile::NamedTempFile::new_in(state.path())
        .map(|_| state.path().display().to_string())
        .map_err(|e| format!("{}: {e}", state.path().display()))
}

fn running(state: &StateFolder) -> Found {
    state.running().map(|w| format!("process {} at {}", w.pid, w.mcp_url)).ok_or_else(|| "none runs in this state folder".into())
}
