//! Windows of this very process: the person's side of Deskhand.
//!
//! An agent must never press what only the person may press, so no click, wheel turn or key of ours reaches one of them,
//! and pictures show them grey. The small sign that says "AI is acting" is one of them too, and is moved away before
//! an action or a picture that would meet it. A process without windows (the headless worker) pays one atomic read.
//!
//! All windows of a process belong to its toolkit's connection, and the server numbers what a connection makes from one
//! base: knowing one window is knowing menus, popups and dialogs too.

use crate::ocr::Rect;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// Whether there is any: what everything else asks first.
static ANY: AtomicBool = AtomicBool::new(false);
/// Top-level windows, by the numbers of the X server.
static WINDOWS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Says that this window is ours.
pub fn claim(window: u32) {
    let mut windows = WINDOWS.lock();
    if !windows.contains(&window) {
        windows.push(window);
    }
    ANY.store(true, Ordering::Release);
}

/// Says that this window is gone.
pub fn disclaim(window: u32) {
    // The last one stays: what the toolkit makes later has the same base.
    let mut windows = WINDOWS.lock();
    if windows.len() > 1 {
        windows.retain(|known| *known != window);
    }
}

/// Whether this process has windows at all.
pub(crate) fn any() -> bool {
    ANY.load(Ordering::Acquire)
}

/// What is left of `rect` when `cover` is laid over it: up to four rectangles.
fn without(rect: Rect, cover: &Rect) -> Vec<Rect> {
    let Some(cut) = rect.intersection(cover) else { return vec![rect] };
    let (right, bottom) = (rect.x + rect.width.cast_signed(), rect.y + rect.height.cast_signed());
    let (cut_right, cut_bottom) = (cut.x + cut.width.cast_signed(), cut.y + cut.height.cast_signed());
    let part = |x: i32, y: i32, to_x: i32, to_y: i32| {
        let (width, height) = (u32::try_from(to_x - x).unwrap_or(0), u32::try_from(to_y - y).unwrap_or(0));
        (width > 0 && height > 0).then(|| Rect::new(x, y, width, height))
    };
    let parts = [
        part(rect.x, rect.y, right, cut.y),
        part(rect.x, cut_bottom, right, bottom),
        part(rect.x, cut.y, cut.x, cut_bottom),
        part(cut_right, cut.y, right, cut_bottom),
    ];
    parts.into_iter().flatten().collect()
}

#[cfg(target_os = "linux")]
pub(crate) use self::x11::{clear, focused, grey, under};
#[cfg(target_os = "linux")]
pub use self::x11::{hide_sign, return_sign, show_sign};

#[cfg(target_os = "linux")]
mod x11 {
    use super::{Mutex, Rect, WINDOWS, without};
    use crate::screen::x11::{lost, refused};
    use crate::{Error, Result};
    use parking_lot::MutexGuard;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, Instant};
    use x11rb::connection::Connection as _;
    use x11rb::protocol::shape::{self, ConnectionExt as _};
    use x11rb::protocol::xproto::{ConfigureWindowAux, ConnectionExt as _, ImageFormat, MapState, StackMode, Window, WindowClass};
    use x11rb::rust_connection::RustConnection;

    /// Where the sign is while it is out of the way.
    const AWAY: i32 = -10_000;
    /// What lies under the sign is drawn again by its program, in its own time: so long at least, and at most.
    const REDRAWN: (Duration, Duration) = (Duration::from_millis(16), Duration::from_millis(120));
    const GLANCE: Duration = Duration::from_millis(8);

    /// The sign that an agent acts.
    struct Sign {
        conn: RustConnection,
        root: Window,
        window: Window,
        rect: Rect,
        away: bool,
        needed: Instant,
    }

    static SIGN: Mutex<Option<Sign>> = Mutex::new(None);
    /// Its window, to be known without waiting for whoever holds it away.
    static SIGN_WINDOW: AtomicU32 = AtomicU32::new(0);

    /// The sign is shown, of this size; it belongs `at` this place and comes there with the next [`return_sign`]. It must not be
    /// the window manager's to place.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the X server cannot be reached.
    pub fn show_sign(window: u32, at: (i32, i32), size: (u32, u32)) -> Result<()> {
        let rect = Rect::new(at.0, at.1, size.0, size.1);
        let long_ago = Instant::now().checked_sub(Duration::from_secs(60)).unwrap_or_else(Instant::now);
        SIGN_WINDOW.store(window, Ordering::Release);
        let mut sign = SIGN.lock();
        let (conn, root) = match sign.take() {
            Some(old) => (old.conn, old.root),
            None => {
                let (conn, number) = RustConnection::connect(None).map_err(lost)?;
                let root = conn.setup().roots.get(number).ok_or_else(|| lost("it has no such screen"))?.root;
                (conn, root)
            }
        };
        *sign = Some(Sign { conn, root, window, rect, away: true, needed: long_ago });
        Ok(())
    }

    /// The sign is gone.
    pub fn hide_sign() {
        *SIGN.lock() = None;
    }

    /// Brings the sign back when nothing has met it for `quiet`. True when it is where it belongs.
    pub fn return_sign(quiet: Duration) -> bool {
        let mut sign = SIGN.lock();
        let Some(sign) = sign.as_mut().filter(|sign| sign.away) else { return true };
        if sign.needed.elapsed() < quiet {
            return false;
        }
        let place = ConfigureWindowAux::new().x(sign.rect.x).y(sign.rect.y).stack_mode(StackMode::ABOVE);
        let sent = sign.conn.configure_window(sign.window, &place).is_ok() && sign.conn.flush().is_ok();
        sign.away = !sent;
        sent
    }

    /// The sign is out of the way while this lives.
    pub(crate) struct Cleared(
        #[expect(dead_code, reason = "held so that the sign cannot come back")] Option<MutexGuard<'static, Option<Sign>>>,
    );

    /// Sees that the sign is not in `part`; when its pixels matter, that what was under it is drawn again.
    pub(crate) fn clear(part: &Rect, pixels: bool) -> Result<Cleared> {
        if !super::any() {
            return Ok(Cleared(None));
        }
        let mut held = SIGN.lock();
        let Some(sign) = held.as_mut().filter(|sign| sign.rect.intersection(part).is_some()) else { return Ok(Cleared(None)) };
        sign.needed = Instant::now();
        if !sign.away {
            sign.conn.configure_window(sign.window, &ConfigureWindowAux::new().x(AWAY)).map_err(lost)?;
            sign.conn.get_input_focus().map_err(lost)?.reply().map_err(refused)?;
            sign.away = true;
            if pixels {
                redrawn(sign)?;
            }
            tracing::debug!(took = ?sign.needed.elapsed(), "the sign went out of the way");
        }
        Ok(Cleared(Some(held)))
    }

    /// Waits until two looks at the place of the sign are the same.
    fn redrawn(sign: &Sign) -> Result<()> {
        let began = Instant::now();
        let look = || {
            let (x, y) = (i16::try_from(sign.rect.x).unwrap_or(0), i16::try_from(sign.rect.y).unwrap_or(0));
            let (width, height) = (u16::try_from(sign.rect.width).unwrap_or(1), u16::try_from(sign.rect.height).unwrap_or(1));
            let asked = sign.conn.get_image(ImageFormat::Z_PIXMAP, sign.root, x, y, width, height, !0).map_err(lost)?;
            Ok::<_, Error>(asked.reply().ok().map(|image| image.data))
        };
        std::thread::sleep(REDRAWN.0);
        let mut before = look()?;
        while began.elapsed() < REDRAWN.1 {
            std::thread::sleep(GLANCE);
            let now = look()?;
            if now == before {
                return Ok(());
            }
            before = now;
        }
        Ok(())
    }

    fn belongs(conn: &RustConnection, window: Window) -> bool {
        let base = !conn.setup().resource_id_mask;
        WINDOWS.lock().iter().any(|own| own & base == window & base)
    }

    /// Whether what lies at this place of the screen is ours.
    pub(crate) fn under(conn: &RustConnection, root: Window, (x, y): (i16, i16)) -> Result<bool> {
        let mut at = root;
        // Windows are nested a few levels deep; one that vanishes meanwhile ends the descent.
        for _ in 0..32 {
            let found = conn.translate_coordinates(root, at, x, y).map_err(lost)?.reply();
            match found.map_or(0, |found| found.child) {
                0 => return Ok(false),
                child if belongs(conn, child) => return Ok(true),
                child => at = child,
            }
        }
        Ok(false)
    }

    /// Whether keys would go to one of ours.
    pub(crate) fn focused(conn: &RustConnection, root: Window) -> Result<bool> {
        let focus = conn.get_input_focus().map_err(lost)?.reply().map_err(refused)?.focus;
        match focus {
            0 => Ok(false),
            // The keyboard follows the pointer.
            1 => {
                let at = conn.query_pointer(root).map_err(lost)?.reply().map_err(refused)?;
                under(conn, root, (at.root_x, at.root_y))
            }
            window => Ok(belongs(conn, window)),
        }
    }

    /// The parts of `picture` (in screen pixels) where ours are to be seen.
    pub(crate) fn grey(conn: &RustConnection, root: Window, picture: &Rect) -> Result<Vec<Rect>> {
        // The sign itself is out of the way now, and whoever asks holds it there.
        let sign = SIGN_WINDOW.load(Ordering::Acquire);
        let windows: Vec<_> = WINDOWS.lock().iter().copied().filter(|own| *own != sign).collect();
        let mut seen = Vec::new();
        for window in windows {
            let Some(rect) = shown(conn, root, window)?.and_then(|rect| rect.intersection(picture)) else { continue };
            let Some(top) = top_level(conn, root, window)? else { continue };
            let stack = conn.query_tree(root).map_err(lost)?.reply().map_err(refused)?.children;
            let mut parts = vec![rect];
            for above in stack.into_iter().skip_while(|w| *w != top).skip(1) {
                if belongs(conn, above) || parts.is_empty() {
                    continue;
                }
                let Some(cover) = shown(conn, root, above)?.filter(|cover| parts.iter().any(|p| p.intersection(cover).is_some())) else {
                    continue;
                };
                if takes_input(conn, above)? {
                    parts = parts.into_iter().flat_map(|part| without(part, &cover)).collect();
                }
            }
            seen.extend(parts);
        }
        Ok(seen)
    }

    /// Where a window is on the screen, if it is.
    fn shown(conn: &RustConnection, root: Window, window: Window) -> Result<Option<Rect>> {
        let attributes = conn.get_window_attributes(window).map_err(lost)?;
        let geometry = conn.get_geometry(window).map_err(lost)?;
        let place = conn.translate_coordinates(window, root, 0, 0).map_err(lost)?;
        let (Ok(attributes), Ok(geometry), Ok(place)) = (attributes.reply(), geometry.reply(), place.reply()) else { return Ok(None) };
        if attributes.map_state != MapState::VIEWABLE || attributes.class != WindowClass::INPUT_OUTPUT {
            return Ok(None);
        }
        Ok(Some(Rect::new(place.dst_x.into(), place.dst_y.into(), geometry.width.into(), geometry.height.into())))
    }

    /// Overlays that let everything through hide nothing either.
    fn takes_input(conn: &RustConnection, window: Window) -> Result<bool> {
        let shape = conn.shape_get_rectangles(window, shape::SK::INPUT).map_err(lost)?.reply();
        Ok(shape.is_ok_and(|shape| !shape.rectangles.is_empty()))
    }

    fn top_level(conn: &RustConnection, root: Window, window: Window) -> Result<Option<Window>> {
        let mut at = window;
        loop {
            let Ok(tree) = conn.query_tree(at).map_err(lost)?.reply() else { return Ok(None) };
            if tree.parent == root || tree.parent == 0 {
                return Ok(Some(at));
            }
            at = tree.parent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_covered_is_not_seen() {
        let window = Rect::new(10, 10, 100, 80);
        assert_eq!(without(window, &Rect::new(200, 0, 50, 50)), [window]);
        assert!(without(window, &Rect::new(0, 0, 500, 500)).is_empty());
        let ring = without(window, &Rect::new(30, 30, 10, 10));
        let area: u32 = ring.iter().map(|r| r.width * r.height).sum();
        assert_eq!((ring.len(), area), (4, 100 * 80 - 100));
        assert!(ring.iter().all(|r| r.intersection(&Rect::new(30, 30, 10, 10)).is_none()));
        assert_eq!(without(window, &Rect::new(0, 0, 60, 500)), [Rect::new(60, 10, 50, 80)]);
    }
}
