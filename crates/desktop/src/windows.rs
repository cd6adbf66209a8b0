//! The windows a person sees: title, place, owner.
//!
//! Windows come and go between two questions about them. A window that vanished is no error here: it is left out, and
//! the next one is looked at.

use crate::ocr::Rect;

/// A top-level window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The system's number for it.
    pub id: u64,
    /// Its title; empty when it has none.
    pub title: String,
    /// What kind of program it belongs to (`WM_CLASS`, or the program's name); empty when unknown.
    pub class: String,
    /// Where it lies, with the frame that the window manager drew, in desktop coordinates.
    pub rect: Rect,
    /// The process it says it belongs to.
    pub pid: Option<u32>,
}

#[cfg(target_os = "linux")]
pub(crate) mod x11 {
    //! By the properties that window managers agree on, and without them by the window tree.

    use x11rb::protocol::xproto::{self, AtomEnum, ConnectionExt as _, MapState};

    use super::{Rect, Window};
    use crate::screen::x11::{X11, lost, refused};
    use crate::{Error, Result};

    /// The window with the keyboard.
    pub(crate) fn active(x11: &X11) -> Result<Option<Window>> {
        // It may vanish while it is asked about; then another one has become the active one.
        for _ in 0..4 {
            let Some(id) = active_id(x11)? else { return Ok(None) };
            if let Some(window) = described(x11, id)? {
                return Ok(if is_frame(x11, &window)? { None } else { Some(window) });
            }
        }
        Ok(None)
    }

    /// What a window manager leaves for a moment of a window that has gone: it has the focus and is nobody's.
    fn is_frame(x11: &X11, window: &Window) -> Result<bool> {
        let nameless = window.title.is_empty() && window.class.is_empty();
        Ok(nameless
            && numbers(x11, x11.root, x11.atoms._NET_CLIENT_LIST_STACKING)?
                .is_some_and(|ids| !ids.iter().any(|i| u64::from(*i) == window.id)))
    }

    fn active_id(x11: &X11) -> Result<Option<xproto::Window>> {
        let named = numbers(x11, x11.root, x11.atoms._NET_ACTIVE_WINDOW)?;
        if let Some(id) = named.and_then(|v| v.first().copied()).filter(|id| *id > 1) {
            return Ok(Some(id));
        }
        let focus = x11.conn.get_input_focus().map_err(lost)?.reply().map_err(refused)?.focus;
        match focus {
            0 => Ok(None),
            // The focus follows the pointer, or rests on the root: no window manager gave it to a window.
            id if id == 1 || id == x11.root => under_pointer(x11),
            id => match top_level(x11, id)? {
                // Between two windows a manager keeps the focus on a window of its own that nobody sees.
                Some(top) if is_seen(x11, top)? => Ok(Some(top)),
                _ => Ok(None),
            },
        }
    }

    fn is_seen(x11: &X11, id: xproto::Window) -> Result<bool> {
        let attributes = x11.conn.get_window_attributes(id).map_err(lost)?;
        let place = x11.conn.translate_coordinates(id, x11.root, 0, 0).map_err(lost)?;
        let geometry = x11.conn.get_geometry(id).map_err(lost)?;
        let (Some(a), Some(p), Some(g)) = (gone(attributes.reply())?, gone(place.reply())?, gone(geometry.reply())?) else {
            return Ok(false);
        };
        let (width, height) = x11.size()?;
        let rect = Rect::new(p.dst_x.into(), p.dst_y.into(), g.width.into(), g.height.into());
        let shown = a.class == xproto::WindowClass::INPUT_OUTPUT && a.map_state == MapState::VIEWABLE;
        Ok(shown && rect.intersection(&Rect::new(0, 0, width, height)).is_some())
    }

    /// The child of the root that `id` is or lies in; what a toolkit focuses may be a window inside its window.
    fn top_level(x11: &X11, id: xproto::Window) -> Result<Option<xproto::Window>> {
        let mut at = id;
        loop {
            let Some(tree) = gone(x11.conn.query_tree(at).map_err(lost)?.reply())? else { return Ok(None) };
            if tree.parent == x11.root || tree.parent == 0 || has_title(x11, at)? {
                return Ok(Some(at));
            }
            at = tree.parent;
        }
    }

    fn under_pointer(x11: &X11) -> Result<Option<xproto::Window>> {
        let pointer = x11.conn.query_pointer(x11.root).map_err(lost)?.reply().map_err(refused)?;
        match pointer.child {
            0 => Ok(None),
            child => titled(x11, child),
        }
    }

    /// All that are shown, the front one first.
    pub(crate) fn all(x11: &X11) -> Result<Vec<Window>> {
        let listed = numbers(x11, x11.root, x11.atoms._NET_CLIENT_LIST_STACKING)?;
        let ids = match listed {
            Some(ids) => ids,
            None => x11.conn.query_tree(x11.root).map_err(lost)?.reply().map_err(refused)?.children,
        };
        let mut windows = Vec::new();
        for id in ids.into_iter().rev() {
            let shown = gone(x11.conn.get_window_attributes(id).map_err(lost)?.reply())?;
            if shown.is_some_and(|a| a.map_state == MapState::VIEWABLE && a.class == xproto::WindowClass::INPUT_OUTPUT) {
                windows.extend(described(x11, id)?);
            }
        }
        Ok(windows)
    }

    /// `None` when it has vanished.
    fn described(x11: &X11, id: xproto::Window) -> Result<Option<Window>> {
        // A window may go while it is asked about, and the next one may get its number: its place comes after its title,
        // and the title is asked once more. What does not fit together was two windows.
        let class = text(x11, id, AtomEnum::WM_CLASS.into())?.unwrap_or_default();
        let class = class.split('\0').rfind(|s| !s.is_empty()).unwrap_or_default().to_owned();
        let pid = numbers(x11, id, x11.atoms._NET_WM_PID)?.and_then(|v| v.first().copied());
        let title = title(x11, id)?.unwrap_or_default();
        let conn = &x11.conn;
        let geometry = conn.get_geometry(id).map_err(lost)?;
        let place = conn.translate_coordinates(id, x11.root, 0, 0).map_err(lost)?;
        let shown = conn.get_window_attributes(id).map_err(lost)?;
        let (Some(geometry), Some(place), Some(shown)) = (gone(geometry.reply())?, gone(place.reply())?, gone(shown.reply())?) else {
            return Ok(None);
        };
        if shown.map_state != MapState::VIEWABLE || self::title(x11, id)?.unwrap_or_default() != title {
            return Ok(None);
        }
        let inner = Rect::new(place.dst_x.into(), place.dst_y.into(), geometry.width.into(), geometry.height.into());
        // Shadows that a program draws itself belong to its window, not to what a person calls the window.
        let rect = match (edges(x11, id, x11.atoms._GTK_FRAME_EXTENTS)?, edges(x11, id, x11.atoms._NET_FRAME_EXTENTS)?) {
            (Some([left, right, top, bottom]), _) => grown(inner, [-left, -right, -top, -bottom]),
            (None, Some(frame)) => grown(inner, frame),
            (None, None) => inner,
        };
        Ok(Some(Window { id: id.into(), title, class, rect, pid }))
    }

    fn grown(rect: Rect, [left, right, top, bottom]: [i32; 4]) -> Rect {
        let size = |length: u32, more: i32| length.saturating_add_signed(more).max(1);
        Rect::new(rect.x - left, rect.y - top, size(rect.width, left + right), size(rect.height, top + bottom))
    }

    fn edges(x11: &X11, id: xproto::Window, property: xproto::Atom) -> Result<Option<[i32; 4]>> {
        let found = numbers(x11, id, property)?.and_then(|v| <[u32; 4]>::try_from(v).ok());
        Ok(found.map(|v| v.map(|n| n.min(1000).cast_signed())))
    }

    fn title(x11: &X11, id: xproto::Window) -> Result<Option<String>> {
        match text(x11, id, x11.atoms._NET_WM_NAME)? {
            Some(title) if !title.is_empty() => Ok(Some(title)),
            _ => text(x11, id, AtomEnum::WM_NAME.into()),
        }
    }

    fn has_title(x11: &X11, id: xproto::Window) -> Result<bool> {
        Ok(title(x11, id)?.is_some())
    }

    /// A window manager's frame has no title; the window in it has.
    fn titled(x11: &X11, id: xproto::Window) -> Result<Option<xproto::Window>> {
        if has_title(x11, id)? {
            return Ok(Some(id));
        }
        let Some(tree) = gone(x11.conn.query_tree(id).map_err(lost)?.reply())? else { return Ok(None) };
        for child in tree.children.into_iter().rev() {
            if has_title(x11, child)? {
                return Ok(Some(child));
            }
        }
        Ok(Some(id))
    }

    fn numbers(x11: &X11, id: xproto::Window, property: xproto::Atom) -> Result<Option<Vec<u32>>> {
        let asked = x11.conn.get_property(false, id, property, AtomEnum::ANY, 0, 1 << 14).map_err(lost)?;
        Ok(gone(asked.reply())?.and_then(|p| p.value32().map(Iterator::collect)))
    }

    fn text(x11: &X11, id: xproto::Window, property: xproto::Atom) -> Result<Option<String>> {
        let asked = x11.conn.get_property(false, id, property, AtomEnum::ANY, 0, 1 << 12).map_err(lost)?;
        let found = gone(asked.reply())?.filter(|p| p.type_ != 0 && p.format == 8);
        Ok(found.map(|p| decoded(&p.value, p.type_ == u32::from(AtomEnum::STRING))))
    }

    /// Text as a property holds it. `STRING` is Latin-1 by the rules; programs put UTF-8 there all the same.
    pub(super) fn decoded(bytes: &[u8], is_latin1: bool) -> String {
        match std::str::from_utf8(bytes) {
            Ok(text) => text.trim_end_matches('\0').to_owned(),
            Err(_) if is_latin1 => bytes.iter().map(|b| char::from(*b)).collect::<String>().trim_end_matches('\0').to_owned(),
            Err(_) => String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned(),
        }
    }

    /// A window that no longer exists is `None`; a lost connection stays an error.
    fn gone<T>(reply: Result<T, x11rb::errors::ReplyError>) -> Result<Option<T>> {
        match reply {
            Ok(reply) => Ok(Some(reply)),
            Err(x11rb::errors::ReplyError::X11Error(_)) => Ok(None),
            Err(e) => Err::<Option<T>, Error>(refused(e)),
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) mod native {
    //! By `xcap`.

    use super::{Rect, Window};
    use crate::{Error, Result};

    fn listed() -> Result<Vec<xcap::Window>> {
        xcap::Window::all().map_err(|e| Error::failed("listing the windows", e))
    }

    /// The window with the keyboard.
    pub(crate) fn active() -> Result<Option<Window>> {
        Ok(listed()?.iter().filter(|w| w.is_focused().unwrap_or(false)).find_map(described))
    }

    /// All that are shown, the front one first.
    pub(crate) fn all() -> Result<Vec<Window>> {
        Ok(listed()?.iter().filter(|w| !w.is_minimized().unwrap_or(true)).filter_map(described).collect())
    }

    fn described(window: &xcap::Window) -> Option<Window> {
        let rect = Rect::new(window.x().ok()?, window.y().ok()?, window.width().ok()?, window.height().ok()?);
        let class = window.app_name().unwrap_or_default();
        Some(Window { id: window.id().ok()?.into(), title: window.title().unwrap_or_default(), class, rect, pid: window.pid().ok() })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::x11::decoded;

    #[test]
    fn titles_are_read_in_whatever_encoding_they_come() {
        assert_eq!(decoded("漢字 – ü\0".as_bytes(), false), "漢字 – ü");
        assert_eq!(decoded("ü".as_bytes(), true), "ü");
        assert_eq!(decoded(&[b'G', 0xfc], true), "Gü");
        assert_eq!(decoded(&[b'G', 0xff], false), "G\u{fffd}");
    }
}
