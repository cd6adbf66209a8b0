//! Finding a screen locker on an X server: a window over a whole monitor, above all others, and the keyboard in
//! somebody's hands.
//!
//! Either alone is common: an open menu holds the keyboard, a wallpaper or a kiosk covers the screen.

use x11rb::protocol::shape::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt as _, GrabMode, GrabStatus, MapState, Window, WindowClass};

use crate::Result;
use crate::ocr::Rect;
use crate::screen::x11::{X11, lost, refused};

/// What is said of the locker, if there is one.
pub(super) fn found(x11: &X11) -> Result<Option<String>> {
    if !keyboard_is_taken(x11)? {
        return Ok(None);
    }
    let screen = x11.screen()?;
    let monitors: Vec<Rect> = screen.monitors.iter().map(|m| m.rect).collect();
    let children = x11.conn.query_tree(x11.root).map_err(lost)?.reply().map_err(refused)?.children;
    for window in children.into_iter().rev() {
        let attributes = x11.conn.get_window_attributes(window).map_err(lost)?;
        let geometry = x11.conn.get_geometry(window).map_err(lost)?;
        // It may have vanished meanwhile.
        let (Ok(attributes), Ok(place)) = (attributes.reply(), geometry.reply()) else { continue };
        if attributes.map_state != MapState::VIEWABLE {
            continue;
        }
        if !attributes.override_redirect || is_frame(x11, window) {
            // A program's window lies above everything further down, so nothing there is a locker.
            return Ok(None);
        }
        let rect = Rect::new(place.x.into(), place.y.into(), place.width.into(), place.height.into());
        let covers = monitors.iter().any(|m| rect.intersection(m) == Some(*m));
        let name = name(x11, window);
        let is_seen = attributes.class == WindowClass::INPUT_OUTPUT || name.to_lowercase().contains("lock");
        if covers && is_seen && takes_clicks(x11, window, rect) {
            return Ok(Some(if name.is_empty() {
                "a locker holds the keyboard and covers the screen".into()
            } else {
                format!("{name} holds the keyboard and covers the screen")
            }));
        }
    }
    Ok(None)
}

/// Asks for the keyboard on a window that is not shown: that is never granted, and the answer tells why.
fn keyboard_is_taken(x11: &X11) -> Result<bool> {
    let asked = x11.conn.grab_keyboard(false, x11.hidden, x11rb::CURRENT_TIME, GrabMode::ASYNC, GrabMode::ASYNC);
    Ok(asked.map_err(lost)?.reply().map_err(refused)?.status == GrabStatus::ALREADY_GRABBED)
}

/// A window manager's frame: the window in it carries the state that only managed windows have.
fn is_frame(x11: &X11, window: Window) -> bool {
    let children = x11.conn.query_tree(window).ok().and_then(|c| c.reply().ok()).map(|t| t.children).unwrap_or_default();
    let managed = |w: Window| {
        let asked = x11.conn.get_property(false, w, x11.atoms.WM_STATE, AtomEnum::ANY, 0, 2).ok();
        asked.and_then(|c| c.reply().ok()).is_some_and(|p| p.type_ != 0)
    };
    children.into_iter().any(managed)
}

/// A compositor's overlay covers everything too, but lets clicks through.
fn takes_clicks(x11: &X11, window: Window, rect: Rect) -> bool {
    let asked = x11.conn.shape_get_rectangles(window, shape::SK::INPUT).ok();
    let Some(shape) = asked.and_then(|c| c.reply().ok()) else { return true };
    let area: u64 = shape.rectangles.iter().map(|r| u64::from(r.width) * u64::from(r.height)).sum();
    area * 2 >= u64::from(rect.width) * u64::from(rect.height)
}

/// The program's class, or nothing.
fn name(x11: &X11, window: Window) -> String {
    let asked = x11.conn.get_property(false, window, AtomEnum::WM_CLASS, AtomEnum::STRING, 0, 64).ok();
    let class = asked.and_then(|c| c.reply().ok()).map(|p| p.value).unwrap_or_default();
    let class = String::from_utf8_lossy(&class).into_owned();
    class.split('\0').next().unwrap_or_default().chars().filter(|c| !c.is_control()).take(40).collect()
}
