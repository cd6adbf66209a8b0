//! Keys pressed by name: chords, and keys held down.
//!
//! A character in a chord is looked up by meaning: on a Russian layout `ctrl+c` is the key that gives c in the Latin group,
//! pressed while that group is in force; on a layout without any c a key is lent to it.

use super::batch::Batch;
use super::keymap::{Keymap, Stroke, keysym};
use super::link::Link;
use super::receipt::{self, Receipts};
use super::spare::Spare;
use super::typing::claim;
use crate::cancel::Cancel;
use crate::input::key::Key;
use crate::{Error, Result};

/// Keys that stay down until they are let go, with the keycodes that are down for each.
pub(super) type Holding = Vec<(Key, Vec<u8>)>;

/// Presses keys in order and releases them in reverse, all at once.
pub(super) fn press(link: &Link, keys: &[Key], holding: &Holding, cancel: &Cancel) -> Result<()> {
    claim(link)?;
    let mut spare = Spare::default();
    let done = attempt(link, keys, holding, &mut spare, cancel);
    if !spare.is_empty() {
        let grabbed = Batch::begin(link)?;
        spare.give_back(link)?;
        link.sync()?;
        link.keymap_changed()?;
        drop(grabbed);
    }
    done
}

fn attempt(link: &Link, keys: &[Key], holding: &Holding, spare: &mut Spare, cancel: &Cancel) -> Result<()> {
    link.keymap_changed()?;
    loop {
        cancel.check()?;
        let map = Keymap::read(link)?;
        let Some(mut batch) = Batch::begin(link)? else { continue };
        if batch.meets_own()? {
            return Err(Error::OwnWindow);
        }
        let strokes = resolve(link, &map, keys, &batch, spare)?;
        send(&map, keys, &strokes, holding, &mut batch)?;
        batch.end(&map)?;
        link.sync()?;
        break;
    }
    if !spare.is_empty() {
        // Whether it was confirmed makes no difference to a key: there is nothing to look at that is not on the screen.
        let mut receipts = Receipts::default();
        receipts.sent(link, receipt::focus(link)?, 1)?;
        let asked = receipts.all(link, cancel);
        receipts.end(link)?;
        asked?;
    }
    Ok(())
}

fn resolve(link: &Link, map: &Keymap, keys: &[Key], batch: &Batch<'_>, spare: &mut Spare) -> Result<Vec<Stroke>> {
    let group = batch.current_group();
    let shortcut = keys.iter().any(|k| k.makes_shortcut());
    let found: Vec<(u32, Option<Stroke>)> = keys.iter().map(|key| find(map, *key, group, shortcut)).collect();
    let lend: Vec<u32> = found.iter().filter(|(_, s)| s.is_none()).map(|(sym, _)| *sym).collect();
    if !lend.is_empty() {
        let needed: Vec<u8> = found.iter().filter_map(|(_, s)| s.map(|s| s.code)).collect();
        let codes = Spare::candidates(map, batch.down(), &needed);
        if codes.len() < lend.len() {
            return Err(Error::unavailable(
                "that key",
                "this keymap does not have it and no key is free to be lent to it",
                "press another key",
            ));
        }
        spare.lend(link, map, &codes, &lend)?;
        link.sync()?;
        link.keymap_changed()?;
    }
    let lent = |sym: u32| spare.code(sym).map(|code| Stroke { code, mods: 0, group: None });
    Ok(found.into_iter().filter_map(|(sym, s)| s.or_else(|| lent(sym))).collect())
}

fn find(map: &Keymap, key: Key, group: u8, shortcut: bool) -> (u32, Option<Stroke>) {
    match key {
        Key::Char(c) => {
            // People write Ctrl+C and mean the key, not a capital.
            let lower = if shortcut { c.to_lowercase().next().unwrap_or(c) } else { c };
            (keysym(lower), map.stroke(lower, group))
        }
        Key::Named(named) => (named.keysym, map.stroke_of(named.keysym, group)),
        Key::Keysym(sym) => (sym, super::keymap::character(sym).and_then(|c| map.stroke(c, group)).or_else(|| map.stroke_of(sym, group))),
    }
}

fn send(map: &Keymap, keys: &[Key], strokes: &[Stroke], holding: &Holding, batch: &mut Batch<'_>) -> Result<()> {
    let held: Vec<u8> = holding.iter().flat_map(|(_, codes)| codes).copied().collect();
    let needed: Vec<u8> = strokes.iter().map(|s| s.code).filter(|c| !held.contains(c)).collect();
    batch.set_aside(map, &held, &needed)?;
    if keys.iter().any(|k| matches!(k, Key::Char(_))) {
        batch.unlock(map)?;
    }
    let chord: u8 = strokes.iter().fold(0, |bits, s| bits | map.modmap[usize::from(s.code)]);
    for stroke in strokes {
        batch.enter_group(map, stroke.group)?;
        // What the chord or a held key already gives need not be pressed again.
        let given = chord | held.iter().fold(0, |bits, c| bits | map.modmap[usize::from(*c)]);
        batch.enter_mods(map, stroke.mods & !given)?;
        if !held.contains(&stroke.code) {
            batch.press(stroke.code)?;
        }
    }
    batch.release_pressed()
}

/// Puts a key down to stay. The keycodes that are down for it.
pub(super) fn hold(link: &Link, key: Key, holding: &Holding, announce: &dyn Fn(&[u8])) -> Result<Vec<u8>> {
    claim(link)?;
    link.keymap_changed()?;
    loop {
        let map = Keymap::read(link)?;
        let Some(batch) = Batch::begin(link)? else { continue };
        if batch.meets_own()? {
            return Err(Error::OwnWindow);
        }
        let shortcut = holding.iter().any(|(k, _)| k.makes_shortcut());
        let Some(stroke) = find(&map, key, batch.current_group(), shortcut).1 else {
            return Err(Error::unavailable(
                "that key",
                format!("no key of this keymap gives {key}, so it cannot be held"),
                "press it once instead, or hold another",
            ));
        };
        let level =
            [map.shift.filter(|_| stroke.mods & super::keymap::SHIFT != 0), map.level3.filter(|l| stroke.mods & l.1 != 0).map(|l| l.0)];
        let down: Vec<u8> = holding.iter().flat_map(|(_, codes)| codes).copied().collect();
        let codes: Vec<u8> = level.into_iter().flatten().chain([stroke.code]).filter(|c| !down.contains(c)).collect();
        announce(&codes);
        for code in &codes {
            link.key(*code, true)?;
        }
        link.sync()?;
        return Ok(codes);
    }
}

/// Puts keycodes up, in reverse.
pub(super) fn let_go(link: &Link, codes: &[u8]) -> Result<()> {
    for code in codes.iter().rev() {
        link.key(*code, false)?;
    }
    link.sync()
}
