//! Has the focused window handled what was sent to it?
//!
//! Asked before a lent key may change again. A window that takes part in `_NET_WM_PING` (GTK, Qt, Chromium) answers a ping
//! in the order of its input, so the answer is proof. For others (xterm) the server is asked to tell when that client
//! reads the keymap; see [`super::reading`].

use std::time::{Duration, Instant};

use x11rb::protocol::Event;
use x11rb::protocol::xproto::{AtomEnum, ChangeWindowAttributesAux, ClientMessageEvent, ConnectionExt as _, EventMask, Window};

use super::link::Link;
use crate::cancel::Cancel;
use crate::error::Stop;
use crate::screen::x11::{lost, refused};
use crate::{Error, Result};

/// How long a window may leave a ping unanswered. A window that is busy longer than this is not reading its input.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// The window that keys go to, and whom to ask about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Focus {
    /// The window with the focus.
    pub(super) window: Window,
    /// The window that answers pings for it.
    pub(super) pinged: Option<Window>,
}

/// Finds the window that keys go to.
pub(super) fn focus(link: &Link) -> Result<Focus> {
    let mut window = link.conn.get_input_focus().map_err(lost)?.reply().map_err(refused)?.focus;
    if window == x11rb::NONE {
        return Err(Error::unavailable(
            "a window to type into",
            "no window has the keyboard focus, so keys would go nowhere",
            "click into the window first",
        ));
    }
    if window == u32::from(x11rb::protocol::xproto::InputFocus::POINTER_ROOT) || window == link.root {
        // Keys follow the pointer: to the deepest window below it.
        window = link.root;
        while let Ok(at) = link.conn.query_pointer(window).map_err(lost)?.reply() {
            if at.child == x11rb::NONE {
                break;
            }
            window = at.child;
        }
    }
    Ok(Focus { window, pinged: pinged(link, window)? })
}

/// The window itself or the nearest one above it that says it answers pings.
fn pinged(link: &Link, mut window: Window) -> Result<Option<Window>> {
    while window != link.root && window != x11rb::NONE {
        let protocols = link.conn.get_property(false, window, link.protocols, AtomEnum::ATOM, 0, 32).map_err(lost)?;
        let tree = link.conn.query_tree(window).map_err(lost)?;
        let (protocols, tree) = (protocols.reply(), tree.reply());
        if protocols.is_ok_and(|p| p.value32().is_some_and(|mut v| v.any(|a| a == link.ping))) {
            return Ok(Some(window));
        }
        let Ok(tree) = tree else { return Ok(None) };
        window = tree.parent;
    }
    Ok(None)
}

/// Waits until the window has handled everything sent to it, or says what came between.
pub(super) fn wait_for(link: &Link, focus: Focus, cancel: &Cancel) -> Result<Option<Stop>> {
    match focus.pinged {
        Some(window) => ping(link, window, cancel),
        None => {
            cancel.pause(Duration::from_millis(150))?;
            Ok(None)
        }
    }
}

/// Pings a window and waits for its answer: everything sent before has then been handled.
fn ping(link: &Link, window: Window, cancel: &Cancel) -> Result<Option<Stop>> {
    let listen = |mask| {
        let aux = ChangeWindowAttributesAux::new().event_mask(mask);
        link.conn.change_window_attributes(link.root, &aux).map_err(lost).map(drop)
    };
    listen(EventMask::SUBSTRUCTURE_NOTIFY)?;
    // A number of our own in place of the time stamp, unlike any that a window manager would use.
    let token = 0xD500_0000 | (fresh() & 0x00ff_ffff);
    let message = ClientMessageEvent::new(32, window, link.protocols, [link.ping, token, window, 0, 0]);
    link.conn.send_event(false, window, EventMask::NO_EVENT, message).map_err(lost)?;
    link.flush()?;
    let answered = wait(link, token, cancel);
    listen(EventMask::NO_EVENT)?;
    link.flush()?;
    answered
}

fn wait(link: &Link, token: u32, cancel: &Cancel) -> Result<Option<Stop>> {
    let until = Instant::now() + PATIENCE;
    loop {
        while let Some(event) = link.poll()? {
            if let Event::ClientMessage(m) = event
                && m.type_ == link.protocols
                && m.data.as_data32()[..2] == [link.ping, token]
            {
                return Ok(None);
            }
        }
        if let Some(stop) = cancel.stopped() {
            return Ok(Some(stop));
        }
        if Instant::now() >= until {
            return Ok(Some(Stop::Unread));
        }
        link.wait_readable(Duration::from_millis(10))?;
    }
}

fn fresh() -> u32 {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}
