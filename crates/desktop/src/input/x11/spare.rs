//! Keys lent to characters that the keymap lacks.
//!
//! A key that means nothing is given a meaning for as long as the text needs it, and then gets back exactly what it had.
//! The trap is that windows read the keymap *when they handle a key*, not when it is pressed: a meaning taken away too
//! early turns a queued character into another. So many characters are lent keys at once, a key is never re-lent before
//! the window has handled what was sent (see [`super::receipt`]), and only then is anything taken back.
//!
//! The XKB form of the request is used: unlike the core one it says the key's type itself, so Shift, Caps Lock and group do
//! not change what it gives, and what is put back is what was there, bit for bit.

use std::collections::BTreeMap;

use x11rb::protocol::xkb::{self, ConnectionExt as _, KeySymMap, SetMapAux, SetMapFlags};

use super::keymap::{Keymap, LOCK, SHIFT, groups};
use super::link::{CORE_KEYBOARD, Link};
use crate::held::{Lent, Meaning};
use crate::screen::x11::{lost, refused};
use crate::{Error, Result};

/// Which keysym each lent key has now, and what it had.
#[derive(Default)]
pub(super) struct Spare {
    lent: BTreeMap<u8, (KeySymMap, KeySymMap)>,
    codes: BTreeMap<u32, u8>,
}

impl Spare {
    /// The key lent to a keysym.
    pub(super) fn code(&self, sym: u32) -> Option<u8> {
        self.codes.get(&sym).copied()
    }

    /// True when no key is lent.
    pub(super) fn is_empty(&self) -> bool {
        self.lent.is_empty()
    }

    /// Keys that may be lent now, best first: those without any meaning, then those whose meaning is the least missed.
    /// Never one that is down, sets a modifier, has an action, or is in `needed`.
    pub(super) fn candidates(map: &Keymap, down: &[u8], needed: &[u8]) -> Vec<u8> {
        let mut empty = Vec::new();
        let mut rare = Vec::new();
        for (code, key) in map.iter() {
            let index = usize::from(code);
            if code < 9 || map.modmap[index] != 0 || map.has_action[index] || down.contains(&code) || needed.contains(&code) {
                continue;
            }
            if groups(key) == 0 || key.syms.iter().all(|s| *s == 0) {
                empty.push(code);
            } else if key.syms.iter().all(|s| rarely_used(*s)) {
                rare.push(code);
            }
        }
        // From the top: the highest keycodes are on the fewest keyboards.
        empty.reverse();
        rare.reverse();
        empty.extend(rare);
        empty
    }

    /// Lends keys to `syms`, which must not exceed `codes`. Call it with the server grabbed.
    pub(super) fn lend(&mut self, link: &Link, map: &Keymap, codes: &[u8], syms: &[u32]) -> Result<()> {
        let immune = map.types.get(2).is_some_and(|t| t.num_levels == 2 && (u16::from(t.mods_mask) as u8) == SHIFT | LOCK);
        for (code, sym) in codes.iter().zip(syms) {
            let Some(before) = map.key(*code) else { continue };
            let now = if immune {
                KeySymMap { kt_index: [2, 0, 0, 0], group_info: 1, width: 2, syms: vec![*sym, *sym] }
            } else {
                KeySymMap { kt_index: [0; 4], group_info: 1, width: 1, syms: vec![*sym] }
            };
            let original = self.lent.get(code).map_or_else(|| before.clone(), |(original, _)| original.clone());
            if let Some((_, old)) = self.lent.insert(*code, (original, now)) {
                old.syms.first().map(|s| self.codes.remove(s));
            }
            self.codes.insert(*sym, *code);
        }
        link.journal.change(|e| {
            e.lent = self.lent.iter().map(|(code, (was, now))| Lent { code: *code, was: meaning(was), now: meaning(now) }).collect()
        });
        let wanted: BTreeMap<u8, KeySymMap> = codes.iter().filter_map(|c| Some((*c, self.lent.get(c)?.1.clone()))).collect();
        put(link, &wanted)?;
        let there = present(link, &wanted)?;
        if there.len() != wanted.len() {
            let reason = format!("the X server of {} took only {} of {} keys", link.display, there.len(), wanted.len());
            return Err(Error::failed("lending keys to characters the keymap lacks", reason));
        }
        Ok(())
    }

    /// Gives every lent key back what it had, except those that somebody else has changed meanwhile: a layout set by the
    /// person while we typed must not be undone. Call it with the server grabbed.
    pub(super) fn give_back(&mut self, link: &Link) -> Result<()> {
        if self.lent.is_empty() {
            return Ok(());
        }
        let ours = self.lent.iter().map(|(c, (_, now))| (*c, now.clone())).collect();
        let still = present(link, &ours)?;
        let back = self.lent.iter().filter(|(c, _)| still.contains(c)).map(|(c, (was, _))| (*c, was.clone())).collect();
        put(link, &back)?;
        self.lent.clear();
        self.codes.clear();
        link.journal.change(|e| e.lent.clear());
        Ok(())
    }
}

/// Gives back keys that a dead worker lent, where they still mean what it made them mean. Call it with the server grabbed.
pub(super) fn take_back(link: &Link, lent: &[Lent]) -> Result<usize> {
    let still = present(link, &lent.iter().map(|l| (l.code, symbols(&l.now))).collect())?;
    let back: BTreeMap<u8, KeySymMap> = lent.iter().filter(|l| still.contains(&l.code)).map(|l| (l.code, symbols(&l.was))).collect();
    put(link, &back)?;
    Ok(back.len())
}

fn meaning(key: &KeySymMap) -> Meaning {
    Meaning { types: key.kt_index, groups: key.group_info, width: key.width, syms: key.syms.clone() }
}

fn symbols(meaning: &Meaning) -> KeySymMap {
    KeySymMap { kt_index: meaning.types, group_info: meaning.groups, width: meaning.width, syms: meaning.syms.clone() }
}

/// Vendor keys that programs act on by the place of the key, whatever it means at the moment: browsers go back, players
/// play, sessions suspend. Low bytes of the `XF86` keysyms; volume and brightness, navigation, media, clipboard, power.
const ACTED_ON: [u32; 51] = [
    0x02, 0x03, 0x04, 0x05, 0x06, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x20, 0x21, 0x26,
    0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f, 0x30, 0x31, 0x33, 0x38, 0x3e, 0x3f, 0x56, 0x57, 0x58, 0x59, 0x63, 0x68, 0x6b,
    0x6d, 0x72, 0x73, 0x77, 0x7b, 0x90, 0x97,
];

fn rarely_used(sym: u32) -> bool {
    match sym {
        0 => true,
        // F13 to F35.
        0xffca..=0xffe0 => true,
        0x1008_ffa0..=0x1008_ffbf => false,
        0x1008_ff00..=0x1008_ffff => !ACTED_ON.contains(&(sym & 0xff)),
        _ => false,
    }
}

fn span(keys: &BTreeMap<u8, KeySymMap>) -> Option<(u8, u8)> {
    let (first, last) = (*keys.keys().next()?, *keys.keys().next_back()?);
    Some((first, last - first + 1))
}

fn read(link: &Link, first: u8, count: u8) -> Result<BTreeMap<u8, KeySymMap>> {
    use xkb::MapPart as P;
    let none = xkb::VMod::from(0u16);
    let cookie = link.conn.xkb_get_map(CORE_KEYBOARD, P::from(0u16), P::KEY_SYMS, 0, 0, first, count, 0, 0, 0, 0, none, 0, 0, 0, 0, 0, 0);
    let reply = cookie.map_err(lost)?.reply().map_err(refused)?;
    Ok((reply.first_key_sym..=u8::MAX).zip(reply.map.syms_rtrn.unwrap_or_default()).collect())
}

/// Which of these keys have exactly this meaning on the server.
fn present(link: &Link, wanted: &BTreeMap<u8, KeySymMap>) -> Result<Vec<u8>> {
    let Some((first, count)) = span(wanted) else { return Ok(Vec::new()) };
    let now = read(link, first, count)?;
    Ok(wanted.iter().filter(|(c, w)| now.get(c).is_some_and(|n| same(n, w))).map(|(c, _)| *c).collect())
}

fn same(a: &KeySymMap, b: &KeySymMap) -> bool {
    (a.group_info & 0x0f, a.width, &a.syms) == (b.group_info & 0x0f, b.width, &b.syms)
}

/// Sets the meaning of keys in one request, so that windows are told once. The keys between them are sent as they are.
fn put(link: &Link, wanted: &BTreeMap<u8, KeySymMap>) -> Result<()> {
    let Some((first, count)) = span(wanted) else { return Ok(()) };
    let mut all = read(link, first, count)?;
    all.extend(wanted.iter().map(|(c, k)| (*c, k.clone())));
    let syms: Vec<KeySymMap> = all.into_values().collect();
    let total = syms.iter().map(|k| k.syms.len()).sum::<usize>();
    let total = u16::try_from(total).map_err(|e| Error::failed("setting the keymap", e))?;
    let setup = x11rb::connection::Connection::setup(&link.conn);
    let aux = SetMapAux::new().syms(syms);
    link.conn
        .xkb_set_map(
            CORE_KEYBOARD,
            SetMapFlags::from(0u16),
            setup.min_keycode,
            setup.max_keycode,
            0,
            0,
            first,
            count,
            total,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            xkb::VMod::from(0u16),
            &aux,
        )
        .map_err(lost)?
        .check()
        .map_err(refused)
}
