//! Input on Windows, macOS and Wayland, by way of `enigo`.
//!
//! These systems take text as text (Windows, macOS) or give each client a keymap of its own (Wayland), so nothing here has
//! to do with layouts. What they do not tell (where the pointer is on Wayland, who else has a hand on the mouse) is an
//! error that says so. A key that one of them lacks is an error of that call, never of the start.

use std::sync::Arc;

use enigo::{Axis, Coordinate, Direction, Enigo, InputError, Keyboard as _, Mouse as _, NewConError, Settings};

use super::backend::{Backend, Button, Point, Typed};
use super::key::{Key, Named};
use crate::cancel::Cancel;
use crate::held::Journal;
use crate::screen::native_screen;
use crate::{Error, Result};

/// Characters sent between two looks at the cancel.
const CHUNK: usize = 16;

/// Pointer and keyboard of this session.
pub(crate) struct Native {
    enigo: Enigo,
    holding: Vec<Key>,
    /// Where the pointer was last moved to, for systems that do not tell.
    last: Option<Point>,
}

impl Native {
    /// Asks the system for its input.
    pub(crate) fn open(_journal: &Arc<Journal>) -> Result<Self> {
        // Held keys are our own account, kept above the back ends.
        let settings = Settings { release_keys_when_dropped: false, ..Settings::default() };
        let enigo = Enigo::new(&settings).map_err(|e| match e {
            NewConError::NoPermission => Error::unavailable(
                "input",
                "the system does not let Deskhand use mouse and keyboard",
                "allow it under System Settings, Privacy & Security, Accessibility",
            ),
            e => Error::unavailable(
                "input",
                e.to_string(),
                "log in to a session whose compositor lets programs send input, or to an X11 session",
            ),
        })?;
        Ok(Self { enigo, holding: Vec::new(), last: None })
    }

    fn key(&mut self, key: Key, direction: Direction) -> Result<()> {
        self.enigo.key(named(key)?, direction).map_err(|e| refused(format!("the key {key}"), &e))
    }
}

impl Backend for Native {
    fn size(&mut self) -> Result<(u32, u32)> {
        native_screen().map(|(screen, _)| (screen.width, screen.height))
    }

    fn pointer(&mut self) -> Result<Point> {
        let (_, origin) = native_screen()?;
        match (self.enigo.location(), self.last) {
            (Ok((x, y)), _) => Ok(Point::new(x - origin.0, y - origin.1)),
            (Err(_), Some(last)) => Ok(last),
            (Err(_), None) => Err(Error::unavailable(
                "the place of the pointer",
                "this system does not tell a program where it is",
                "move it to a place first, or give one",
            )),
        }
    }

    fn move_to(&mut self, to: Point) -> Result<()> {
        let (_, origin) = native_screen()?;
        let moved = self.enigo.move_mouse(to.x + origin.0, to.y + origin.1, Coordinate::Abs);
        moved.map_err(|e| refused(format!("moving the pointer to {},{}", to.x, to.y), &e))?;
        self.last = Some(to);
        Ok(())
    }

    fn button(&mut self, button: Button, down: bool) -> Result<()> {
        let which = match button {
            Button::Left => enigo::Button::Left,
            Button::Middle => enigo::Button::Middle,
            Button::Right => enigo::Button::Right,
        };
        self.enigo.button(which, direction(down)).map_err(|e| refused(format!("the {button} button"), &e))
    }

    fn scroll(&mut self, right: i32, down: i32) -> Result<()> {
        for (notches, axis) in [(down, Axis::Vertical), (right, Axis::Horizontal)] {
            if notches != 0 {
                self.enigo.scroll(notches, axis).map_err(|e| refused("scrolling".into(), &e))?;
            }
        }
        Ok(())
    }

    fn type_text(&mut self, text: &str, cancel: &Cancel) -> Result<Typed> {
        let text = text.replace("\r\n", "\n");
        let total = text.chars().count();
        if let Some(character) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
            let reason = "it is a control character, which no key types; leave it out, or press a key by name instead".into();
            return Err(Error::Untypable { character, reason, typed: 0, total });
        }
        let mut typed = 0;
        let mut pending = String::new();
        for c in text.chars() {
            let key = match c {
                '\n' | '\r' => Some(enigo::Key::Return),
                '\t' => Some(enigo::Key::Tab),
                _ => None,
            };
            if key.is_none() {
                pending.push(c);
            }
            if key.is_some() || pending.chars().count() == CHUNK {
                if let Some(why) = cancel.stopped() {
                    return Err(Error::TypingStopped { why, typed, total });
                }
                typed += self.send(&mut pending, typed, total)?;
            }
            if let Some(key) = key {
                self.enigo.key(key, Direction::Click).map_err(|e| refused("typing".into(), &e))?;
                typed += 1;
            }
        }
        typed += self.send(&mut pending, typed, total)?;
        Ok(Typed { characters: typed, confirmed: true })
    }

    fn press(&mut self, keys: &[Key], _cancel: &Cancel) -> Result<()> {
        let new: Vec<Key> = keys.iter().copied().filter(|k| !self.holding.contains(k)).collect();
        // All of them must be there before the first one goes down.
        new.iter().try_for_each(|k| named(*k).map(drop))?;
        let mut down = Vec::with_capacity(new.len());
        let mut outcome = Ok(());
        for key in new {
            outcome = self.key(key, Direction::Press);
            if outcome.is_err() {
                break;
            }
            down.push(key);
        }
        for key in down.into_iter().rev() {
            outcome = outcome.and(self.key(key, Direction::Release));
        }
        outcome
    }

    fn key_down(&mut self, key: Key, _announce: &dyn Fn(&[u8])) -> Result<Vec<u8>> {
        self.key(key, Direction::Press)?;
        self.holding.push(key);
        Ok(Vec::new())
    }

    fn key_up(&mut self, key: Key) -> Result<()> {
        self.holding.retain(|k| *k != key);
        self.key(key, Direction::Release)
    }
}

impl Native {
    /// Types what is pending; how many characters that was.
    fn send(&mut self, pending: &mut String, typed: usize, total: usize) -> Result<usize> {
        let text = std::mem::take(pending);
        let Some(first) = text.chars().next() else { return Ok(0) };
        self.enigo.text(&text).map_err(|e| Error::Untypable { character: first, reason: e.to_string(), typed, total })?;
        Ok(text.chars().count())
    }
}

fn direction(down: bool) -> Direction {
    if down { Direction::Press } else { Direction::Release }
}

fn refused(what: String, error: &InputError) -> Error {
    Error::failed(what, error)
}

/// What `enigo` calls a key.
fn named(key: Key) -> Result<enigo::Key> {
    match key {
        Key::Char(c) => Ok(enigo::Key::Unicode(c)),
        Key::Named(named) => common(named).or_else(|| special(named.keysym)).ok_or_else(|| missing(named.name)),
        Key::Keysym(sym) => special(sym).ok_or_else(|| missing(&key.to_string())),
    }
}

fn missing(name: &str) -> Error {
    Error::unavailable("that key", format!("this system has no key {name}"), "press another key")
}

/// Keys that every system has.
fn common(named: &Named) -> Option<enigo::Key> {
    use enigo::Key as E;
    Some(match named.keysym {
        0xff0d => E::Return,
        0xff09 => E::Tab,
        0xff1b => E::Escape,
        0xff08 => E::Backspace,
        0xffff => E::Delete,
        0xff50 => E::Home,
        0xff57 => E::End,
        0xff55 => E::PageUp,
        0xff56 => E::PageDown,
        0xff51 => E::LeftArrow,
        0xff52 => E::UpArrow,
        0xff53 => E::RightArrow,
        0xff54 => E::DownArrow,
        0xffe1 => E::Shift,
        0xffe2 => E::RShift,
        0xffe3 => E::Control,
        0xffe4 => E::RControl,
        0xffe9 => E::Alt,
        0xffeb | 0xffec => E::Meta,
        0xffe5 => E::CapsLock,
        0xff6a => E::Help,
        0x1008_ff13 => E::VolumeUp,
        0x1008_ff11 => E::VolumeDown,
        0x1008_ff12 => E::VolumeMute,
        0x1008_ff14 => E::MediaPlayPause,
        0x1008_ff17 => E::MediaNextTrack,
        0x1008_ff16 => E::MediaPrevTrack,
        f @ 0xffbe..=0xffd1 => FUNCTION[(f - 0xffbe) as usize],
        n @ 0xffb0..=0xffb9 => NUMPAD[(n - 0xffb0) as usize],
        0xffab => E::Add,
        0xffad => E::Subtract,
        0xffaa => E::Multiply,
        0xffaf => E::Divide,
        0xffae => E::Decimal,
        _ => return None,
    })
}

const FUNCTION: [enigo::Key; 20] = {
    use enigo::Key as E;
    [
        E::F1,
        E::F2,
        E::F3,
        E::F4,
        E::F5,
        E::F6,
        E::F7,
        E::F8,
        E::F9,
        E::F10,
        E::F11,
        E::F12,
        E::F13,
        E::F14,
        E::F15,
        E::F16,
        E::F17,
        E::F18,
        E::F19,
        E::F20,
    ]
};

const NUMPAD: [enigo::Key; 10] = {
    use enigo::Key as E;
    [E::Numpad0, E::Numpad1, E::Numpad2, E::Numpad3, E::Numpad4, E::Numpad5, E::Numpad6, E::Numpad7, E::Numpad8, E::Numpad9]
};

/// Keys that only some systems have, by the system's own number.
#[cfg(target_os = "windows")]
fn special(keysym: u32) -> Option<enigo::Key> {
    let virtual_key = match keysym {
        0xff63 => 0x2d,
        0xff61 => 0x2c,
        0xff13 => 0x13,
        0xff7f => 0x90,
        0xff14 => 0x91,
        0xff67 => 0x5d,
        0xffea | 0xfe03 => 0xa5,
        0xff8d => 0x0d,
        // F21 to F24.
        f @ 0xffd2..=0xffd5 => 0x84 + (f - 0xffd2),
        _ => return None,
    };
    Some(enigo::Key::Other(virtual_key))
}

/// Keys that only some systems have, by the system's own number.
#[cfg(target_os = "macos")]
fn special(keysym: u32) -> Option<enigo::Key> {
    let code = match keysym {
        0xffea => 0x3d,
        0xff8d => 0x4c,
        0xff7f | 0xff0b => 0x47,
        _ => return None,
    };
    Some(enigo::Key::Other(code))
}

/// On Wayland a key is its keysym.
#[cfg(all(unix, not(target_os = "macos")))]
fn special(keysym: u32) -> Option<enigo::Key> {
    Some(enigo::Key::Other(keysym))
}
