//! A second pair of hands on a display: what a person, or another program, does with mouse and keyboard, and what the
//! server says is held.

use std::process::Command;

use x11rb::connection::Connection as _;
use x11rb::protocol::xkb::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{ConnectionExt as _, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, MOTION_NOTIFY_EVENT, ModMask};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// Keycodes that are the same on every PC keymap.
pub const SHIFT: u8 = 50;
pub const CONTROL: u8 = 37;
pub const ALT: u8 = 64;
pub const ESCAPE: u8 = 9;
pub const CAPS_LOCK: u8 = 66;
pub const NUM_LOCK: u8 = 77;

/// A connection of somebody else.
pub struct Hand {
    conn: RustConnection,
    root: u32,
    display: String,
}

/// What is down, whoever pressed it.
#[derive(Debug, PartialEq, Eq)]
pub struct Held {
    pub keys: Vec<u8>,
    pub buttons: u16,
}

impl Hand {
    pub fn on(display: &str) -> Self {
        let (conn, number) = RustConnection::connect(Some(display)).unwrap();
        let root = conn.setup().roots[number].root;
        conn.xkb_use_extension(1, 0).unwrap().reply().unwrap();
        Self { conn, root, display: display.to_owned() }
    }

    fn sync(&self) {
        self.conn.get_input_focus().unwrap().reply().unwrap();
    }

    /// Puts a key down or up.
    pub fn key(&self, code: u8, down: bool) {
        let kind = if down { KEY_PRESS_EVENT } else { KEY_RELEASE_EVENT };
        self.conn.xtest_fake_input(kind, code, 0, 0, 0, 0, 0).unwrap();
        self.sync();
    }

    /// Presses and releases keys together.
    pub fn chord(&self, codes: &[u8]) {
        codes.iter().for_each(|c| self.key(*c, true));
        codes.iter().rev().for_each(|c| self.key(*c, false));
    }

    /// Moves the pointer.
    pub fn point(&self, x: i16, y: i16) {
        self.conn.xtest_fake_input(MOTION_NOTIFY_EVENT, 0, 0, self.root, x, y, 0).unwrap();
        self.sync();
    }

    /// Where the pointer is.
    pub fn pointer(&self) -> (i64, i64) {
        let at = self.conn.query_pointer(self.root).unwrap().reply().unwrap();
        (at.root_x.into(), at.root_y.into())
    }

    /// What is held.
    pub fn held(&self) -> Held {
        let bits = self.conn.query_keymap().unwrap().reply().unwrap().keys;
        let keys = (0..=255u8).filter(|c| bits[usize::from(c / 8)] >> (c % 8) & 1 == 1).collect();
        let mask = u16::from(self.conn.query_pointer(self.root).unwrap().reply().unwrap().mask);
        Held { keys, buttons: mask & 0x1f00 }
    }

    /// Waits until the server says that this is held.
    #[track_caller]
    pub fn wait_held(&self, wanted: &[u8], buttons: u16) {
        let wanted = Held { keys: wanted.to_vec(), buttons };
        let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while self.held() != wanted {
            assert!(std::time::Instant::now() < end, "held is {:?}, not {wanted:?}", self.held());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Takes the keyboard focus away from every window.
    pub fn unfocus(&self) {
        self.conn.set_input_focus(x11rb::protocol::xproto::InputFocus::NONE, x11rb::NONE, 0u32).unwrap();
        self.sync();
    }

    /// Sets the layout, as a session does.
    pub fn layout(&self, arguments: &[&str]) {
        let set = Command::new("setxkbmap").args(["-display", &self.display]).args(arguments).output().expect("setxkbmap is installed");
        assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
    }

    /// Puts the keyboard into a group.
    pub fn group(&self, group: u8) {
        let none = ModMask::from(0u16);
        self.conn.xkb_latch_lock_state(0x100, none, none, true, xkb::Group::from(group), none, false, 0).unwrap();
        self.sync();
    }

    /// Everything that a keyboard is: the keymap to the last detail, the group, the locks.
    pub fn keyboard(&self) -> (String, u8, u16) {
        let dump = Command::new("xkbcomp").args(["-xkb", &self.display, "-"]).output().expect("xkbcomp is installed");
        let state = self.conn.xkb_get_state(0x100).unwrap().reply().unwrap();
        (String::from_utf8_lossy(&dump.stdout).into_owned(), state.group.into(), state.locked_mods.into())
    }

    /// Gives every key without a meaning one, so that none is free.
    pub fn fill_keymap(&self) {
        let setup = self.conn.setup();
        let (min, max) = (setup.min_keycode, setup.max_keycode);
        let map = self.conn.get_keyboard_mapping(min, max - min + 1).unwrap().reply().unwrap();
        let per = usize::from(map.keysyms_per_keycode);
        for (i, syms) in map.keysyms.chunks(per).enumerate() {
            if syms.iter().all(|s| *s == 0) {
                let code = min + u8::try_from(i).unwrap();
                let sym = 0xffd1 + u32::from(code % 10);
                self.conn.change_keyboard_mapping(1, code, 2, &[sym, sym]).unwrap();
            }
        }
        self.sync();
    }
}
