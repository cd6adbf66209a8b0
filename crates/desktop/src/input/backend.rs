//! What a system must be able to do for pointer and keyboard to work: the one trait behind [`crate::Desktop`].
//!
//! Back ends send events and nothing else. What is held, when to stop, how a drag is paced and what a place may be are
//! decided once above them.

use tokio::sync::broadcast;

use super::key::Key;
use crate::cancel::Cancel;
use crate::stop_key::StopKey;
use crate::takeover::Takeover;
use crate::{Error, Result};

/// A place on the virtual screen, in pixels from its top left corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Point {
    /// To the right.
    pub x: i32,
    /// Down.
    pub y: i32,
}

impl Point {
    /// A place.
    #[must_use]
    pub const fn new(x: i32, y: i32) -> Self {
        Self { x, y }
    }
}

/// A mouse button, by what it means: a left-handed mouse has its buttons exchanged by the system, not by us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Button {
    /// Selects and presses.
    Left,
    /// Pastes, opens in a tab.
    Middle,
    /// Opens the context menu.
    Right,
}

impl Button {
    /// Its number in the core X protocol, and in the journal.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Left => 1,
            Self::Middle => 2,
            Self::Right => 3,
        }
    }
}

impl std::fmt::Display for Button {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Left => "left",
            Self::Middle => "middle",
            Self::Right => "right",
        })
    }
}

/// What became of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Typed {
    /// Characters that went in: all of the text.
    pub characters: usize,
    /// False when the window gave no sign of having read them, which is asked where keys had to be lent, or when it was too
    /// slow to be waited for.
    pub confirmed: bool,
}

/// Pointer and keyboard of one system.
pub(crate) trait Backend: Send {
    /// Width and height of the virtual screen in pixels.
    fn size(&mut self) -> Result<(u32, u32)>;
    /// Where the pointer is.
    fn pointer(&mut self) -> Result<Point>;
    /// Moves the pointer and sees that it got there.
    fn move_to(&mut self, to: Point) -> Result<()>;
    /// Puts a button down or up where the pointer is.
    fn button(&mut self, button: Button, down: bool) -> Result<()>;
    /// Turns the wheel by whole notches: positive is right and down.
    fn scroll(&mut self, right: i32, down: i32) -> Result<()>;
    /// Types a text exactly.
    fn type_text(&mut self, text: &str, cancel: &Cancel) -> Result<Typed>;
    /// Presses keys in order and releases them in reverse.
    fn press(&mut self, keys: &[Key], cancel: &Cancel) -> Result<()>;
    /// Puts a key down to stay so. The raw codes that are down for it; `announce` hears of them before they go down.
    fn key_down(&mut self, key: Key, announce: &dyn Fn(&[u8])) -> Result<Vec<u8>>;
    /// Puts a key up that [`Backend::key_down`] put down.
    fn key_up(&mut self, key: Key) -> Result<()>;
    /// What others do with mouse and keyboard from now on.
    fn takeovers(&mut self) -> Result<broadcast::Receiver<Takeover>> {
        Err(unwatched("noticing that somebody takes over"))
    }
    /// Arms a key combination that is noticed in every window.
    fn stop_key(&mut self, keys: &[Key]) -> Result<StopKey> {
        let _ = keys;
        Err(unwatched("the stop key"))
    }
    /// Makes sure that everything sent has been carried out.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    /// An error when what lies at this place is a window of Deskhand itself, where only the person acts.
    fn refuses(&mut self, at: Point) -> Result<()> {
        let _ = at;
        Ok(())
    }

    /// Moves, then presses and releases a button `times` times in a row.
    fn click(&mut self, at: Point, button: Button, times: u8) -> Result<()> {
        self.move_to(at)?;
        for _ in 0..times {
            self.button(button, true)?;
            self.button(button, false)?;
        }
        self.settle()
    }

    /// An error when a place is outside the screen.
    fn within(&mut self, at: Point) -> Result<()> {
        let (width, height) = self.size()?;
        let inside = |v: i32, size: u32| u32::try_from(v).is_ok_and(|v| v < size);
        if inside(at.x, width) && inside(at.y, height) { Ok(()) } else { Err(Error::OutOfBounds { x: at.x, y: at.y, width, height }) }
    }
}

fn unwatched(what: &'static str) -> Error {
    Error::unavailable(what, "this system does not let a program watch mouse and keyboard", "use the pause button of the tray instead")
}
