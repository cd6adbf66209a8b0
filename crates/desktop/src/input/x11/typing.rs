//! Text, exactly.
//!
//! What the keymap has is typed with the keymap's own keys, as a person would. What it lacks is typed with keys lent for
//! the purpose ([`super::spare`]). A text needs as many rounds as it has more new characters than keys can be lent; between
//! rounds, and before the keys are given back, the window must have handled what was sent ([`super::receipt`]).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::batch::Batch;
use super::keymap::{Keymap, Stroke, keysym};
use super::link::Link;
use super::receipt::{self, Receipt, Receipts};
use super::spare::Spare;
use crate::cancel::Cancel;
use crate::error::Stop;
use crate::input::backend::Typed;
use crate::{Error, Result};

/// Characters sent in one go, while nobody else is served: about a millisecond of the server's time.
const BATCH: usize = 50;
/// Keys lent at once at most: a sentence of Chinese in one round, a page in a few.
const LENT: usize = 40;
/// How long a cancelled text waits for the window before it takes the lent keys back.
const LAST_WORD: Duration = Duration::from_millis(60);
const RETURN: u32 = 0xff0d;
const TAB: u32 = 0xff09;

/// Types `text` into the window that has the focus.
pub(super) fn type_text(link: &Link, text: &str, cancel: &Cancel) -> Result<Typed> {
    let wanted = symbols(text)?;
    let mut typing = Typing {
        link,
        wanted,
        done: 0,
        spare: Spare::default(),
        total: text.chars().count(),
        confirmed: true,
        receipts: Receipts::default(),
        hurry: cancel.deadline().map(|at| Instant::now() + at.saturating_duration_since(Instant::now()) / 2),
    };
    let outcome = typing.run(cancel);
    if outcome.is_err() && !typing.spare.is_empty() {
        // What was sent is still to be read with the lent keys; a window that keeps pace needs a few milliseconds.
        let soon = Cancel::new(CancellationToken::new(), Some(Instant::now() + LAST_WORD));
        let _ = typing.receipts.all(link, &soon);
    }
    let restored = typing.give_back().and(std::mem::take(&mut typing.receipts).end(link));
    outcome?;
    restored?;
    Ok(Typed { characters: typing.total, confirmed: typing.confirmed })
}

/// A character of the text, or the key that stands for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Char(char),
    Key(u32),
}

impl Wanted {
    fn keysym(self) -> u32 {
        match self {
            Self::Char(c) => keysym(c),
            Self::Key(sym) => sym,
        }
    }
}

/// Line ends become Return and tabs Tab; any other control character has no key that types it.
fn symbols(text: &str) -> Result<Vec<Wanted>> {
    let mut wanted = Vec::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' | '\r' => wanted.push(Wanted::Key(RETURN)),
            '\t' => wanted.push(Wanted::Key(TAB)),
            c if c.is_control() => {
                let reason = "it is a control character, which no key types; leave it out, or press a key by name instead".into();
                return Err(Error::Untypable { character: c, reason, typed: 0, total: text.chars().count() });
            }
            c => wanted.push(Wanted::Char(c)),
        }
    }
    Ok(wanted)
}

struct Typing<'a> {
    link: &'a Link,
    wanted: Vec<Wanted>,
    done: usize,
    spare: Spare,
    total: usize,
    confirmed: bool,
    receipts: Receipts,
    /// From when on a window that will not be done in time is not waited for any more: it handles what it was sent in its
    /// own time, and a long text must not fail for that. The result then says that the text is not confirmed.
    hurry: Option<Instant>,
}

/// The next stretch of the text that one state of the keymap can type.
struct Round {
    strokes: Vec<Stroke>,
}

impl Typing<'_> {
    fn run(&mut self, cancel: &Cancel) -> Result<()> {
        claim(self.link)?;
        let mut map = Keymap::read(self.link)?;
        self.link.keymap_changed()?;
        while self.done < self.wanted.len() {
            let Some(round) = self.prepare(&map)? else {
                map = self.start_over()?;
                continue;
            };
            if !self.send(&map, &round, cancel)? {
                map = self.start_over()?;
                continue;
            }
            self.receipt(cancel)?;
        }
        Ok(())
    }

    /// Somebody changed the keymap: what was planned is void, and what was lent may be gone.
    fn start_over(&mut self) -> Result<Keymap> {
        self.give_back()?;
        self.link.keymap_changed()?;
        Keymap::read(self.link)
    }

    /// Plans as much of the rest as one set of lent keys can type, and lends them. `None` when the keymap changed.
    fn prepare(&mut self, map: &Keymap) -> Result<Option<Round>> {
        let focus = receipt::focus(self.link)?;
        if self.wanted[self.done..].iter().any(|w| native(map, *w, 0).is_none()) {
            self.receipts.prepare(self.link, focus)?;
        }
        let Some(batch) = Batch::begin(self.link)? else { return Ok(None) };
        let group = batch.current_group();
        let rest = &self.wanted[self.done..];
        let native: Vec<Option<Stroke>> = rest.iter().map(|w| native(map, *w, group)).collect();
        let mut needed: BTreeSet<u8> = native.iter().flatten().map(|s| s.code).collect();
        needed.extend(map.shift);
        needed.extend(map.level3.map(|(code, _)| code));
        let needed: Vec<u8> = needed.into_iter().collect();
        let codes = Spare::candidates(map, batch.down(), &needed);
        let room = codes.len().min(LENT);
        let mut lend: Vec<u32> = Vec::new();
        let mut upto = rest.len();
        for (i, (w, stroke)) in rest.iter().zip(&native).enumerate() {
            let sym = w.keysym();
            if stroke.is_none() && !lend.contains(&sym) {
                if lend.len() == room {
                    upto = i;
                    break;
                }
                lend.push(sym);
            }
        }
        if upto == 0 {
            return Err(self.untypable(rest[0]));
        }
        if !lend.is_empty() {
            self.spare.lend(self.link, map, &codes, &lend)?;
            // Our own change, not somebody else's.
            self.link.sync()?;
            self.link.keymap_changed()?;
            self.receipts.lent();
        }
        let spare = |w: &Wanted| self.spare.code(w.keysym()).map(|code| Stroke { code, mods: 0, group: None });
        let strokes = rest[..upto].iter().zip(native).map_while(|(w, n)| n.or_else(|| spare(w))).collect();
        Ok(Some(Round { strokes }))
    }

    fn untypable(&self, wanted: Wanted) -> Error {
        let reason = "no key of this keymap gives it and no key is free to be lent to it".into();
        let character = match wanted {
            Wanted::Char(c) => c,
            Wanted::Key(TAB) => '\t',
            Wanted::Key(_) => '\n',
        };
        Error::Untypable { character, reason, typed: self.done, total: self.total }
    }

    /// Sends a round, batch by batch. False when the keymap changed before its end.
    fn send(&mut self, map: &Keymap, round: &Round, cancel: &Cancel) -> Result<bool> {
        let mut rest = &round.strokes[..];
        while !rest.is_empty() {
            if let Some(why) = cancel.stopped() {
                return Err(self.stopped(why));
            }
            let focus = receipt::focus(self.link)?;
            let late = self.is_late(cancel);
            let portion = if late { BATCH } else { self.receipts.portion(focus).min(BATCH) };
            let (strokes, later) = rest.split_at(portion.min(rest.len()));
            let Some(mut batch) = Batch::begin(self.link)? else { return Ok(false) };
            if batch.meets_own()? {
                return Err(if self.done == 0 { Error::OwnWindow } else { self.stopped(Stop::OwnWindow) });
            }
            let needed: Vec<u8> = strokes.iter().map(|s| s.code).chain(map.shift).chain(map.level3.map(|l| l.0)).collect();
            // A batch is more than one packet, and the last of it may never be sent.
            self.link.journal.change(|e| e.keys.extend(&needed));
            batch.set_aside(map, &[], &needed)?;
            batch.unlock(map)?;
            for stroke in strokes {
                batch.stroke(map, *stroke)?;
            }
            batch.end(map)?;
            self.done += strokes.len();
            self.link.sync()?;
            self.link.journal.change(|e| e.keys.retain(|k| !needed.contains(k)));
            self.receipts.sent(self.link, focus, strokes.len())?;
            if late {
                self.confirmed = false;
            } else if let Some(why) = self.receipts.pace(self.link, cancel)? {
                return Err(self.stopped(why));
            }
            rest = later;
        }
        Ok(true)
    }

    /// Half of the time is over, and at the window's pace the other half will not be enough.
    fn is_late(&self, cancel: &Cancel) -> bool {
        let now = Instant::now();
        let left = cancel.deadline().map_or(Duration::MAX, |at| at.saturating_duration_since(now));
        self.hurry.is_some_and(|at| now >= at) && !self.receipts.manages(self.total - self.done, left)
    }

    /// Waits until the windows that got lent keys have handled them.
    fn receipt(&mut self, cancel: &Cancel) -> Result<()> {
        if self.spare.is_empty() {
            return Ok(());
        }
        match self.receipts.all(self.link, cancel)? {
            Receipt::Handled => {}
            Receipt::Likely => self.confirmed = false,
            Receipt::Stopped(why) => return Err(self.stopped(why)),
        }
        Ok(())
    }

    fn stopped(&self, why: Stop) -> Error {
        Error::TypingStopped { why, typed: self.done, total: self.total }
    }

    fn give_back(&mut self) -> Result<()> {
        if self.spare.is_empty() {
            return Ok(());
        }
        let grabbed = Batch::begin(self.link)?;
        let given = self.spare.give_back(self.link);
        self.link.sync()?;
        self.link.keymap_changed()?;
        drop(grabbed);
        given
    }
}

/// Makes the device that fake events come from the one whose keymap is in force, before that keymap is read. Until its
/// first event in a session it is not, and the first character would be looked up in another keymap than it is typed with.
pub(super) fn claim(link: &Link) -> Result<()> {
    let down = link.keys_down()?;
    if let Some(code) = (9..=255).rev().find(|c| !down.contains(c)) {
        // A release of what is not pressed reaches no window.
        link.key(code, false)?;
    }
    link.sync()
}

fn native(map: &Keymap, wanted: Wanted, group: u8) -> Option<Stroke> {
    match wanted {
        Wanted::Char(c) => map.stroke(c, group),
        Wanted::Key(sym) => map.stroke_of(sym, group),
    }
}
