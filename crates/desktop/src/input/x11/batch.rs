//! A run of key events that nobody can come between.
//!
//! While it is sent the server serves no other client, so a layout change, another program's Shift or a second automation
//! cannot land in the middle of a word. Whatever modifiers, locks and group somebody else had are set aside at its start
//! and are back at its end, before anybody can look: a Ctrl that the person holds is neither merged into the text nor
//! lost, and when they let go between two batches it is simply up.

use x11rb::protocol::xkb::{self, ConnectionExt as _, GetStateReply};
use x11rb::protocol::xproto::ConnectionExt as _;
use x11rb::protocol::xproto::ModMask;

use super::devices::{self, Hand};
use super::keymap::{Keymap, SHIFT, Stroke};
use super::link::{CORE_KEYBOARD, Link, down};
use crate::Result;
use crate::own;
use crate::screen::x11::{lost, refused};

/// The server, grabbed. Dropping it lets the others in again.
pub(super) struct Batch<'a> {
    link: &'a Link,
    state: GetStateReply,
    down: Vec<u8>,
    /// Keys of others that were let go, in the order to press them again.
    aside: Vec<u8>,
    /// Those of `aside` that a person's keyboard held.
    by_person: Vec<u8>,
    locks_aside: u8,
    group: Option<u8>,
    mods: u8,
    pressed: Vec<u8>,
}

impl<'a> Batch<'a> {
    /// Grabs the server; `None` when the keymap has changed since it was last read, and everything planned is void.
    pub(super) fn begin(link: &'a Link) -> Result<Option<Self>> {
        link.conn.grab_server().map_err(lost)?;
        let state = link.conn.xkb_get_state(CORE_KEYBOARD).map_err(lost)?;
        let keys = link.conn.query_keymap().map_err(lost)?;
        let answers = (|| Ok((state.reply().map_err(refused)?, keys.reply().map_err(refused)?)))();
        let (state, keys) = match answers {
            Ok(answers) => answers,
            Err(e) => {
                drop(link.conn.ungrab_server());
                return Err(e);
            }
        };
        let batch = Self {
            link,
            state,
            down: down(&keys.keys),
            aside: Vec::new(),
            by_person: Vec::new(),
            locks_aside: 0,
            group: None,
            mods: 0,
            pressed: Vec::new(),
        };
        if link.keymap_changed()? { Ok(None) } else { Ok(Some(batch)) }
    }

    /// Whether a window of Deskhand itself would get the keys; nobody can give it the focus before the batch is over.
    pub(super) fn meets_own(&self) -> Result<bool> {
        Ok(own::any() && own::focused(&self.link.conn, self.link.root)?)
    }

    /// Keycodes that were down when it began.
    pub(super) fn down(&self) -> &[u8] {
        &self.down
    }

    /// The group the keyboard is in.
    pub(super) fn current_group(&self) -> u8 {
        u8::from(self.state.group)
    }

    /// Sets aside modifiers that are down except those in `keep`, and lets go of any key in `needed` that somebody holds.
    pub(super) fn set_aside(&mut self, map: &Keymap, keep: &[u8], needed: &[u8]) -> Result<()> {
        for code in self.down.clone() {
            let modifier = map.modmap[usize::from(code)] & !(map.num_lock | super::keymap::LOCK) != 0;
            if !keep.contains(&code) && (modifier || needed.contains(&code)) {
                self.link.key(code, false)?;
                if modifier {
                    self.aside.push(code);
                }
            }
        }
        if !self.aside.is_empty() {
            // Asked after the release: what is still down on a real keyboard is held there.
            self.by_person = devices::down_by(self.link, Hand::Real)?;
            self.by_person.retain(|c| self.aside.contains(c));
        }
        Ok(())
    }

    /// Unlocks Caps Lock and whatever else is locked except Num Lock, until the end of the batch.
    pub(super) fn unlock(&mut self, map: &Keymap) -> Result<()> {
        let locked = (u16::from(self.state.locked_mods) as u8) & !map.num_lock;
        let latched = u16::from(self.state.latched_mods) as u8;
        if locked | latched != 0 {
            self.lock(locked, 0, latched)?;
            self.locks_aside = locked;
        }
        Ok(())
    }

    /// Presses and releases one key as its stroke says. Shift and AltGr stay down between strokes that both want them.
    pub(super) fn stroke(&mut self, map: &Keymap, stroke: Stroke) -> Result<()> {
        self.enter_group(map, stroke.group)?;
        self.enter_mods(map, stroke.mods)?;
        self.link.key(stroke.code, true)?;
        self.link.key(stroke.code, false)
    }

    /// Puts a key down until [`Batch::release_pressed`].
    pub(super) fn press(&mut self, code: u8) -> Result<()> {
        self.link.key(code, true)?;
        self.pressed.push(code);
        Ok(())
    }

    /// Releases what [`Batch::press`] put down, in reverse.
    pub(super) fn release_pressed(&mut self) -> Result<()> {
        while let Some(code) = self.pressed.pop() {
            self.link.key(code, false)?;
        }
        Ok(())
    }

    /// Puts the keyboard into a group until the end of the batch.
    pub(super) fn enter_group(&mut self, map: &Keymap, wanted: Option<u8>) -> Result<()> {
        let Some(wanted) = wanted else { return Ok(()) };
        if self.group.unwrap_or(self.current_group()) == wanted {
            return Ok(());
        }
        // The group in force is the sum of what is held, latched and locked; only the locked part is ours to set.
        let fixed = i32::from(self.state.base_group) + i32::from(self.state.latched_group);
        let locked = (i32::from(wanted) - fixed).rem_euclid(i32::from(map.groups()));
        self.lock_group(u8::try_from(locked).unwrap_or(0))?;
        self.group = Some(wanted);
        Ok(())
    }

    /// Puts exactly these level modifiers down.
    pub(super) fn enter_mods(&mut self, map: &Keymap, wanted: u8) -> Result<()> {
        let change = self.mods ^ wanted;
        if let (Some(code), true) = (map.shift, change & SHIFT != 0) {
            self.link.key(code, wanted & SHIFT != 0)?;
        }
        if let Some((code, bit)) = map.level3
            && change & bit != 0
        {
            self.link.key(code, wanted & bit != 0)?;
        }
        self.mods = wanted;
        Ok(())
    }

    /// Puts everything back and lets the others in again.
    pub(super) fn end(mut self, map: &Keymap) -> Result<()> {
        self.enter_mods(map, 0)?;
        if self.group.take().is_some() {
            self.lock_group(u8::from(self.state.locked_group))?;
        }
        self.press_again()?;
        let locks = std::mem::take(&mut self.locks_aside);
        if locks != 0 {
            self.lock(locks, locks, 0)?;
        }
        Ok(())
    }

    /// Presses again what was set aside, unless the person has let go meanwhile. What another program holds by fake events
    /// is still held: it can only let go between two batches.
    fn press_again(&mut self) -> Result<()> {
        let aside = std::mem::take(&mut self.aside);
        let still = if self.by_person.is_empty() { Vec::new() } else { devices::down_by(self.link, Hand::Real)? };
        for code in aside {
            let person = self.by_person.contains(&code);
            if person && !still.contains(&code) {
                continue;
            }
            self.link.key(code, true)?;
            if person {
                self.link.journal.change(|e| e.keys.push(code));
                self.link.account.shadows.lock().insert(code);
            }
        }
        Ok(())
    }

    fn lock(&self, affect: u8, locks: u8, latches: u8) -> Result<()> {
        let (affect, locks, latches) =
            (ModMask::from(u16::from(affect)), ModMask::from(u16::from(locks)), ModMask::from(u16::from(latches)));
        let group = xkb::Group::M1;
        self.link.conn.xkb_latch_lock_state(CORE_KEYBOARD, affect, locks, false, group, latches, false, 0).map_err(lost)?;
        Ok(())
    }

    fn lock_group(&self, group: u8) -> Result<()> {
        let none = ModMask::from(0u16);
        self.link.conn.xkb_latch_lock_state(CORE_KEYBOARD, none, none, true, xkb::Group::from(group), none, false, 0).map_err(lost)?;
        Ok(())
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        // Also the way out after an error: what can be put back is put back, and nobody is kept waiting.
        drop(self.release_pressed());
        for code in std::mem::take(&mut self.aside) {
            drop(self.link.key(code, true));
        }
        drop(self.link.conn.ungrab_server());
        drop(self.link.flush());
    }
}
