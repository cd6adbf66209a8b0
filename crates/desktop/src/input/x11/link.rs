//! The connection that input goes through, and the few words spoken on it.
//!
//! It is one connection for pointer and keyboard, apart from the one that takes pictures: requests of one connection are
//! carried out in order, so a click after a move is at the place of the move without asking in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec};
use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::protocol::xinput::ConnectionExt as _;
use x11rb::protocol::xkb::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{self, Atom, ConnectionExt as _, Window};
use x11rb::protocol::xtest::{self, ConnectionExt as _};
use x11rb::protocol::{Event, xinput};
use x11rb::rust_connection::RustConnection;

use super::account::Account;
use crate::held::Journal;
use crate::screen::x11::{lost, refused};
use crate::{Error, Result};

x11rb::atom_manager! {
    /// Names the server knows by number.
    pub(super) Atoms: AtomsCookie {
        WM_PROTOCOLS,
        _NET_WM_PING,
    }
}

/// The keyboard that every client means unless it says otherwise.
pub(super) const CORE_KEYBOARD: u16 = 0x100;

/// An input connection and what does not change while it lives.
pub(super) struct Link {
    pub(super) conn: RustConnection,
    pub(super) root: Window,
    pub(super) ping: Atom,
    pub(super) protocols: Atom,
    pub(super) display: String,
    /// Where keys are accounted for that would stay down or lent if we were killed.
    pub(super) journal: Arc<Journal>,
    /// Somebody else changed the keymap since [`Link::keymap_changed`] was last asked.
    stale: AtomicBool,
    /// Tokens of our pings that windows have answered.
    pub(super) pongs: Mutex<Vec<u32>>,
    /// What was sent, for the watcher.
    pub(super) account: Arc<Account>,
}

impl Link {
    /// Connects to `name`, or to what DISPLAY names, and sees that the server has what input needs.
    pub(super) fn open(name: Option<&str>, journal: Arc<Journal>) -> Result<Self> {
        let display = name.map_or_else(|| std::env::var("DISPLAY").unwrap_or_default(), str::to_owned);
        if display.is_empty() {
            return Err(Error::unavailable(
                "the display",
                "DISPLAY is not set, so there is no X server to send input to",
                "start the worker inside a desktop session, or with --display :N or --virtual-display 1920x1080",
            ));
        }
        let (conn, number) = RustConnection::connect(Some(&display)).map_err(|e| {
            Error::unavailable(
                "the display",
                format!("no X server answers at DISPLAY={display} ({e})"),
                "check DISPLAY and XAUTHORITY, or start the worker with --virtual-display 1920x1080",
            )
        })?;
        let root = conn.setup().roots.get(number).map(|s| s.root).ok_or_else(|| lost("it has no such screen"))?;
        require(&conn, &display)?;
        let atoms = Atoms::new(&conn).map_err(lost)?.reply().map_err(refused)?;
        conn.xkb_use_extension(1, 0).map_err(lost)?.reply().map_err(refused)?;
        conn.xinput_xi_query_version(2, 2).map_err(lost)?.reply().map_err(refused)?;
        // Impervious to another client's server grab, or a window manager's menu could hold a Stop up.
        conn.xtest_grab_control(true).map_err(lost)?;
        let map = xkb::MapPart::KEY_TYPES | xkb::MapPart::KEY_SYMS | xkb::MapPart::MODIFIER_MAP;
        conn.xkb_select_events(
            CORE_KEYBOARD,
            xkb::EventType::from(0u16),
            xkb::EventType::NEW_KEYBOARD_NOTIFY | xkb::EventType::MAP_NOTIFY,
            map,
            map,
            &xkb::SelectEventsAux::new(),
        )
        .map_err(lost)?;
        Ok(Self {
            conn,
            root,
            ping: atoms._NET_WM_PING,
            protocols: atoms.WM_PROTOCOLS,
            display,
            journal,
            stale: AtomicBool::new(false),
            account: Arc::default(),
            pongs: Mutex::default(),
        })
    }

    /// Whether the server lives inside a Wayland session.
    pub(super) fn is_xwayland(&self) -> bool {
        let asked = self.conn.query_extension(b"XWAYLAND").ok().and_then(|c| c.reply().ok());
        asked.is_some_and(|e| e.present)
    }

    /// Sends a fake key or button event. `code` is a keycode or a physical button.
    pub(super) fn fake(&self, kind: u8, code: u8) -> Result<()> {
        self.fake_at(kind, code, x11rb::NONE, (0, 0))
    }

    /// As [`Link::fake`], with a place for motions.
    pub(super) fn fake_at(&self, kind: u8, code: u8, root: Window, (x, y): (i16, i16)) -> Result<()> {
        // The release of a button is nobody's takeover, and tells nothing; that of a key may be of one that a person holds.
        if kind != xproto::BUTTON_RELEASE_EVENT {
            self.account.note(kind, code);
        }
        self.conn.xtest_fake_input(kind, code, x11rb::CURRENT_TIME, root, x, y, 0).map_err(lost)?;
        Ok(())
    }

    /// Puts a key down or up.
    pub(super) fn key(&self, code: u8, down: bool) -> Result<()> {
        self.fake(if down { xproto::KEY_PRESS_EVENT } else { xproto::KEY_RELEASE_EVENT }, code)
    }

    /// Waits until the server has done everything sent so far.
    pub(super) fn sync(&self) -> Result<()> {
        self.conn.get_input_focus().map_err(lost)?.reply().map_err(refused)?;
        Ok(())
    }

    /// Hands everything written so far to the server.
    pub(super) fn flush(&self) -> Result<()> {
        self.conn.flush().map_err(lost)
    }

    /// Reads one event, if one has arrived. Changes of the keymap and answered pings are noted on the way.
    pub(super) fn poll(&self) -> Result<Option<Event>> {
        let event = self.conn.poll_for_event().map_err(lost)?;
        match &event {
            Some(Event::XkbMapNotify(_) | Event::XkbNewKeyboardNotify(_)) => self.stale.store(true, Ordering::Relaxed),
            Some(Event::ClientMessage(m)) if m.type_ == self.protocols => {
                let [what, token, ..] = m.data.as_data32();
                if what == self.ping {
                    self.pongs.lock().push(token);
                }
            }
            _ => {}
        }
        Ok(event)
    }

    /// Reads what has arrived; true when somebody changed the keymap since this was last asked.
    pub(super) fn keymap_changed(&self) -> Result<bool> {
        while self.poll()?.is_some() {}
        Ok(self.stale.swap(false, Ordering::Relaxed))
    }

    /// Waits until the server has sent something, at most `patience`.
    pub(super) fn wait_readable(&self, patience: Duration) -> Result<()> {
        let mut fds = [PollFd::new(self.conn.stream(), PollFlags::IN)];
        let limit = Timespec { tv_sec: 0, tv_nsec: i64::from(patience.subsec_nanos()) };
        match rustix::event::poll(&mut fds, Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(e) => Err(lost(e)),
        }
    }

    /// Keycodes that are down now, whoever pressed them.
    pub(super) fn keys_down(&self) -> Result<Vec<u8>> {
        Ok(down(&self.conn.query_keymap().map_err(lost)?.reply().map_err(refused)?.keys))
    }
}

/// The keycodes set in a bit field of the server.
pub(super) fn down(bits: &[u8]) -> Vec<u8> {
    (0..=255u8).filter(|code| bits.get(usize::from(code / 8)).is_some_and(|b| b >> (code % 8) & 1 == 1)).collect()
}

/// An error when the server lacks what input needs.
fn require(conn: &RustConnection, display: &str) -> Result<()> {
    for (extension, name) in
        [(xtest::X11_EXTENSION_NAME, "XTEST"), (xkb::X11_EXTENSION_NAME, "XKEYBOARD"), (xinput::X11_EXTENSION_NAME, "XInputExtension")]
    {
        if conn.extension_information(extension).map_err(lost)?.is_none() {
            return Err(Error::unavailable(
                "input",
                format!("the X server of {display} has no {name} extension"),
                format!("start it with +extension {name}"),
            ));
        }
    }
    Ok(())
}
