//! The pointer of an X server.
//!
//! Moves are fake motion events to absolute places, not warps: windows see them as they see a hand's, and acceleration has
//! no say. Button numbers go through the server's own button map backwards, so that *left* is left for a left-handed
//! person too.

use std::time::{Duration, Instant};

use x11rb::protocol::xproto::{self, ConnectionExt as _};

use super::link::Link;
use crate::input::backend::{Button, Point};
use crate::ocr::Rect;
use crate::own;
use crate::screen::x11::{lost, refused};
use crate::{Error, Result};

/// Wheel buttons of the core protocol: up, down, left, right.
const WHEEL: [u8; 4] = [4, 5, 6, 7];

pub(super) fn size(link: &Link) -> Result<(u32, u32)> {
    let root = link.conn.get_geometry(link.root).map_err(lost)?.reply().map_err(refused)?;
    Ok((root.width.into(), root.height.into()))
}

pub(super) fn place(link: &Link) -> Result<Point> {
    let at = link.conn.query_pointer(link.root).map_err(lost)?.reply().map_err(refused)?;
    Ok(Point::new(at.root_x.into(), at.root_y.into()))
}

/// How long the pointer may take to get there. A window manager may hold events back while it looks at a press, and then
/// the pointer stands still for as long as that program needs.
const HELD_BACK: Duration = Duration::from_secs(1);

/// Moves the pointer; an error when something keeps it from getting there (a confining grab, a barrier).
pub(super) fn move_to(link: &Link, to: Point) -> Result<()> {
    let coordinate =
        |v: i32| i16::try_from(v).map_err(|_| Error::Invalid(format!("{},{} is farther than an X screen can reach", to.x, to.y)));
    let (x, y) = (coordinate(to.x)?, coordinate(to.y)?);
    let _cleared = own::clear(&around(to), false)?;
    let began = Instant::now();
    link.fake_at(xproto::MOTION_NOTIFY_EVENT, 0, link.root, (x, y))?;
    let mut again = false;
    loop {
        let at = place(link)?;
        if at == to {
            return Ok(());
        }
        if began.elapsed() >= HELD_BACK {
            let reason = format!("it is at {},{}; a program confines it, or somebody is moving it", at.x, at.y);
            return Err(Error::failed(format!("moving the pointer to {},{}", to.x, to.y), reason));
        }
        // The person may have moved it meanwhile: once more.
        if !again && began.elapsed() >= HELD_BACK / 2 {
            link.fake_at(xproto::MOTION_NOTIFY_EVENT, 0, link.root, (x, y))?;
            again = true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(super) fn button(link: &Link, button: Button, down: bool) -> Result<()> {
    let code = physical(link, button.number())?;
    let _away = if down { Away::from_own(link)? } else { None };
    press(link, code, down)?;
    link.flush()
}

/// Presses and releases a button without a pause between, then waits until the server has done so.
pub(super) fn click(link: &Link, button: Button, times: u8) -> Result<()> {
    let code = physical(link, button.number())?;
    let _away = Away::from_own(link)?;
    for _ in 0..times {
        press(link, code, true)?;
        press(link, code, false)?;
    }
    link.sync()
}

pub(super) fn scroll(link: &Link, right: i32, down: i32) -> Result<()> {
    let [up, below, left, beside] = WHEEL;
    for (amount, back, forth) in [(down, up, below), (right, left, beside)] {
        let _away = Away::from_own(link)?;
        let code = physical(link, if amount < 0 { back } else { forth })?;
        for _ in 0..amount.unsigned_abs() {
            press(link, code, true)?;
            press(link, code, false)?;
        }
    }
    link.sync()
}

/// The sign that an agent acts is moved away from this far around the pointer.
const MARGIN: i32 = 16;

fn around(at: Point) -> Rect {
    Rect::new(at.x - MARGIN, at.y - MARGIN, MARGIN.unsigned_abs() * 2, MARGIN.unsigned_abs() * 2)
}

/// While it lives nobody can put another window under the pointer: the server serves us alone.
struct Away<'a>(&'a Link);

impl<'a> Away<'a> {
    /// An error when the pointer is over a window of Deskhand itself. Without such windows nothing is asked.
    fn from_own(link: &'a Link) -> Result<Option<Self>> {
        if !own::any() {
            return Ok(None);
        }
        drop(own::clear(&around(place(link)?), false)?);
        link.conn.grab_server().map_err(lost)?;
        let away = Self(link);
        let at = link.conn.query_pointer(link.root).map_err(lost)?.reply().map_err(refused)?;
        if own::under(&link.conn, link.root, (at.root_x, at.root_y))? { Err(Error::OwnWindow) } else { Ok(Some(away)) }
    }
}

impl Drop for Away<'_> {
    fn drop(&mut self) {
        drop(self.0.conn.ungrab_server());
        drop(self.0.flush());
    }
}

fn press(link: &Link, code: u8, down: bool) -> Result<()> {
    link.fake(if down { xproto::BUTTON_PRESS_EVENT } else { xproto::BUTTON_RELEASE_EVENT }, code)
}

/// The physical button that the server reports as this one.
fn physical(link: &Link, logical: u8) -> Result<u8> {
    let map = link.conn.get_pointer_mapping().map_err(lost)?.reply().map_err(refused)?.map;
    let found = map.iter().position(|m| *m == logical).and_then(|i| u8::try_from(i + 1).ok());
    found.ok_or_else(|| {
        Error::unavailable("that mouse button", format!("the button map of the display has no button {logical}"), "see `xmodmap -pp`")
    })
}
