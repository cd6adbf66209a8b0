//! The server's keymap as it is now, asked from the character's end: which key gives it, with which modifiers, in which group?
//!
//! It is read anew for every call (one round trip), because a session changes it under a running worker. Dead keys, keypad
//! keys and levels that need anything but Shift and AltGr are left out: what they give depends on more than the key.

use std::collections::HashMap;

use x11rb::protocol::xkb::{self, ConnectionExt as _, KeySymMap, KeyType};

use super::link::{CORE_KEYBOARD, Link};
use crate::Result;
use crate::screen::x11::{lost, refused};

/// Real modifier bits of the core protocol.
pub(super) const SHIFT: u8 = 1;
pub(super) const LOCK: u8 = 2;
pub(super) const CONTROL: u8 = 4;

const NUM_LOCK: u32 = 0xff7f;
const SHIFT_KEYS: [u32; 2] = [0xffe1, 0xffe2];
const LEVEL3: u32 = 0xfe03;

/// One way to produce a keysym: this key, while these modifiers are down, in this group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stroke {
    pub(super) code: u8,
    /// Among [`SHIFT`] and the AltGr bit of this keymap.
    pub(super) mods: u8,
    /// The group the keyboard must be in; `None` when any will do.
    pub(super) group: Option<u8>,
}

/// A copy of the keymap.
pub(super) struct Keymap {
    pub(super) min: u8,
    pub(super) types: Vec<KeyType>,
    pub(super) keys: Vec<KeySymMap>,
    pub(super) modmap: [u8; 256],
    pub(super) has_action: [bool; 256],
    pub(super) num_lock: u8,
    /// Keycode of a Shift key.
    pub(super) shift: Option<u8>,
    /// Keycode of an AltGr key, and the modifier bit it sets.
    pub(super) level3: Option<(u8, u8)>,
    /// Per group: what gives each character.
    chars: Vec<HashMap<char, Stroke>>,
    /// Per group: what gives each keysym that is no character.
    syms: Vec<HashMap<u32, Stroke>>,
}

impl Keymap {
    /// Reads it from the server.
    pub(super) fn read(link: &Link) -> Result<Self> {
        use xkb::MapPart as P;
        let full = P::KEY_TYPES | P::KEY_SYMS | P::MODIFIER_MAP | P::KEY_ACTIONS;
        let cookie =
            link.conn.xkb_get_map(CORE_KEYBOARD, full, P::from(0u16), 0, 0, 0, 0, 0, 0, 0, 0, xkb::VMod::from(0u16), 0, 0, 0, 0, 0, 0);
        let reply = cookie.map_err(lost)?.reply().map_err(refused)?;
        let mut modmap = [0; 256];
        for entry in reply.map.modmap_rtrn.iter().flatten() {
            modmap[usize::from(entry.keycode)] = u16::from(entry.mods) as u8;
        }
        let mut has_action = [false; 256];
        if let Some(actions) = &reply.map.key_actions {
            for (i, n) in actions.acts_rtrn_count.iter().enumerate() {
                has_action[(usize::from(reply.first_key_action) + i) & 255] = *n > 0;
            }
        }
        let mut map = Self {
            min: reply.first_key_sym,
            types: reply.map.types_rtrn.unwrap_or_default(),
            keys: reply.map.syms_rtrn.unwrap_or_default(),
            modmap,
            has_action,
            num_lock: 0,
            shift: None,
            level3: None,
            chars: Vec::new(),
            syms: Vec::new(),
        };
        map.find_modifiers();
        map.find_strokes();
        Ok(map)
    }

    /// Every keycode with its symbols.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u8, &KeySymMap)> {
        (self.min..=u8::MAX).zip(&self.keys)
    }

    /// The symbols of one key.
    pub(super) fn key(&self, code: u8) -> Option<&KeySymMap> {
        self.keys.get(usize::from(code.checked_sub(self.min)?))
    }

    /// How many groups the keymap has; at least 1.
    pub(super) fn groups(&self) -> u8 {
        self.keys.iter().map(groups).max().unwrap_or(1).max(1)
    }

    /// A stroke for a character, in the current group if it is there, else in another.
    pub(super) fn stroke(&self, c: char, group: u8) -> Option<Stroke> {
        self.lookup(&self.chars, &c, group)
    }

    /// A stroke for a keysym that is no character.
    pub(super) fn stroke_of(&self, sym: u32, group: u8) -> Option<Stroke> {
        self.lookup(&self.syms, &sym, group)
    }

    fn lookup<K: std::hash::Hash + Eq>(&self, tables: &[HashMap<K, Stroke>], key: &K, group: u8) -> Option<Stroke> {
        let first = usize::from(group);
        std::iter::once(first).chain(0..tables.len()).find_map(|g| tables.get(g)?.get(key)).copied()
    }

    fn find_modifiers(&mut self) {
        let at = |map: &Self, code: u8| map.modmap[usize::from(code)];
        let first = |k: &KeySymMap| k.syms.first().copied().unwrap_or(0);
        let (mut num_lock, mut shift, mut level3) = (0, None, None);
        for (code, key) in self.iter() {
            let (sym, mods) = (first(key), at(self, code));
            if sym == NUM_LOCK {
                num_lock |= mods;
            }
            if shift.is_none() && SHIFT_KEYS.contains(&sym) && mods == SHIFT {
                shift = Some(code);
            }
            // Only a bit that nothing else means, or AltGr would be Alt.
            if level3.is_none() && sym == LEVEL3 && mods.count_ones() == 1 && mods > CONTROL && self.only_level3(mods) {
                level3 = Some((code, mods));
            }
        }
        (self.num_lock, self.shift, self.level3) = (num_lock, shift, level3);
    }

    fn only_level3(&self, bit: u8) -> bool {
        // Alt, Meta, Super and Hyper as applications know them.
        !self.iter().any(|(code, key)| self.modmap[usize::from(code)] & bit != 0 && key.syms.iter().any(|s| (0xffe7..=0xffee).contains(s)))
    }

    fn find_strokes(&mut self) {
        let count = self.groups();
        let mut ways = vec![0];
        if self.shift.is_some() {
            ways.push(SHIFT);
        }
        if let Some((_, bit)) = self.level3 {
            ways.push(bit);
            if self.shift.is_some() {
                ways.push(SHIFT | bit);
            }
        }
        let mut chars = vec![HashMap::new(); usize::from(count)];
        let mut syms = vec![HashMap::new(); usize::from(count)];
        for mods in ways {
            for group in 0..count {
                for (code, key) in self.iter() {
                    let Some(sym) = self.symbol(key, group, mods) else { continue };
                    let stroke = Stroke { code, mods, group: Some(group) };
                    match character(sym) {
                        Some(c) => {
                            chars[usize::from(group)].entry(c).or_insert(stroke);
                        }
                        None => {
                            syms[usize::from(group)].entry(sym).or_insert(stroke);
                        }
                    }
                }
            }
        }
        (self.chars, self.syms) = (chars, syms);
    }

    /// What a key gives in a group under modifiers, or nothing when Num Lock would change it.
    fn symbol(&self, key: &KeySymMap, group: u8, mods: u8) -> Option<u32> {
        let n = groups(key);
        let group = effective(key, group, n)?;
        let kind = self.types.get(usize::from(key.kt_index[usize::from(group)]))?;
        let at = level(kind, mods);
        if at != level(kind, mods | self.num_lock) {
            return None;
        }
        let sym = *key.syms.get(usize::from(group) * usize::from(key.width) + at)?;
        (sym != 0).then_some(sym)
    }
}

/// How many groups a key has.
pub(super) fn groups(key: &KeySymMap) -> u8 {
    (key.group_info & 0x0f).min(4)
}

/// The group of a key for a group of the keyboard: keys with fewer groups wrap, clamp or redirect.
fn effective(key: &KeySymMap, group: u8, n: u8) -> Option<u8> {
    if n == 0 {
        return None;
    }
    if group < n {
        return Some(group);
    }
    Some(match key.group_info & 0xc0 {
        0x40 => n - 1,
        0x80 => ((key.group_info >> 4) & 3).min(n - 1),
        _ => group % n,
    })
}

fn level(kind: &KeyType, mods: u8) -> usize {
    let wanted = mods & (u16::from(kind.mods_mask) as u8);
    let found = kind.map.iter().find(|e| e.active && (u16::from(e.mods_mask) as u8) == wanted);
    found.map_or(0, |e| usize::from(e.level))
}

/// The character a keysym stands for; dead keys, keypad and function keys stand for none.
pub(super) fn character(sym: u32) -> Option<char> {
    match sym {
        0x20..=0x7e | 0xa0..=0xff => char::from_u32(sym),
        0x0100_0100..=0x0110_ffff => char::from_u32(sym - 0x0100_0000),
        0x100..=0xfcff => xkeysym::Keysym::new(sym).key_char(),
        _ => None,
    }
}

/// The keysym that stands for a character on any keymap.
pub(super) fn keysym(c: char) -> u32 {
    match u32::from(c) {
        latin @ (0x20..=0x7e | 0xa0..=0xff) => latin,
        other => 0x0100_0000 + other,
    }
}
