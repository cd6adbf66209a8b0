//! The door to pointer and keyboard.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;

use super::acting::{Acting, Inner, Opener};
use super::backend::{Button, Point, Typed};
use super::key::Key;
use crate::cancel::Cancel;
use crate::stop_key::StopKey;
use crate::takeover::Takeover;
use crate::{Error, Result};

/// How to reach the desktop.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// The X display, such as `:0`; `None` for what the environment names.
    pub display: Option<String>,
    /// Where to keep account of what is held, so that the next start can let it go if this process is killed.
    pub journal: Option<PathBuf>,
}

/// Pointer and keyboard of this machine. Cloning is cheap and shares them.
///
/// Calls block, most of them for less than a millisecond, typing and drags for as long as they take: call them from a
/// blocking thread (`tokio::task::spawn_blocking`). They take turns. Long ones look at their [`Cancel`] between events. A
/// call that ends by cancel, deadline or panic, and the last clone going away, let go of everything that is held.
///
/// Opening never fails: without a display each call answers [`Error::Unavailable`], and the first call after a display has
/// come up works.
#[derive(Clone)]
pub struct Desktop(Arc<Inner>);

/// What is held down by us at this moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeldNow {
    /// Keys, in the order they went down.
    pub keys: Vec<Key>,
    /// Buttons, in the order they went down.
    pub buttons: Vec<Button>,
}

impl HeldNow {
    /// True when nothing is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.buttons.is_empty()
    }
}

impl Desktop {
    /// Opens the desktop. No display is needed yet.
    #[must_use]
    pub fn open(options: OpenOptions) -> Self {
        let display = options.display;
        Self::with(Box::new(move |journal| super::native(display.as_deref(), journal)), options.journal)
    }

    pub(super) fn with(opener: Opener, journal: Option<PathBuf>) -> Self {
        Self(Arc::new(Inner::new(opener, journal)))
    }

    /// Width and height of the virtual screen in pixels.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a display, as every call here.
    pub fn size(&self) -> Result<(u32, u32)> {
        self.act(|s| s.backend()?.size())
    }

    /// Where the pointer is.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub fn pointer(&self) -> Result<Point> {
        self.act(|s| s.backend()?.pointer())
    }

    /// Moves the pointer.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`]; [`Error::Failed`] when something keeps it from getting there.
    pub fn move_to(&self, to: Point) -> Result<()> {
        self.act(|s| {
            let backend = s.backend()?;
            backend.within(to)?;
            backend.move_to(to)
        })
    }

    /// Moves the pointer by so many pixels; the place it got to. 0,0 leaves it exactly where it is.
    ///
    /// # Errors
    /// As [`Desktop::move_to`].
    pub fn move_by(&self, dx: i32, dy: i32) -> Result<Point> {
        self.act(|s| {
            let backend = s.backend()?;
            let at = backend.pointer()?;
            if (dx, dy) == (0, 0) {
                return Ok(at);
            }
            let to = Point::new(at.x.saturating_add(dx), at.y.saturating_add(dy));
            backend.within(to)?;
            backend.move_to(to)?;
            Ok(to)
        })
    }

    /// Clicks at a place, or where the pointer is: `times` 1 to 3 for single, double and triple. The place clicked.
    ///
    /// # Errors
    /// [`Error::Invalid`], [`Error::OutOfBounds`], [`Error::Failed`].
    pub fn click(&self, at: Option<Point>, button: Button, times: u8, cancel: &Cancel) -> Result<Point> {
        if !(1..=3).contains(&times) {
            return Err(Error::Invalid(format!("{times} clicks cannot be meant; give 1, 2 or 3")));
        }
        self.press_with(|s| {
            cancel.check()?;
            let backend = s.backend()?;
            let at = at.map_or_else(|| backend.pointer(), Ok)?;
            backend.within(at)?;
            backend.click(at, button, times)?;
            Ok(at)
        })
    }

    /// Turns the wheel by whole notches at a place, or where the pointer is: positive is right and down.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], [`Error::Failed`].
    pub fn scroll(&self, at: Option<Point>, right: i32, down: i32, cancel: &Cancel) -> Result<()> {
        self.press_with(|s| {
            cancel.check()?;
            let backend = s.backend()?;
            if let Some(at) = at {
                backend.within(at)?;
                backend.move_to(at)?;
            }
            backend.scroll(right, down)
        })
    }

    /// Drags from one place to another: pressed at the start, moved in steps that programs recognise as a drag, released at
    /// the end. Where `from` is not given it starts where the pointer is; a button that is already held is not pressed again.
    /// Takes 0.1 to 0.4 seconds, because programs look at the pointer once a frame.
    ///
    /// # Errors
    /// [`Error::Invalid`] when both places are the same, [`Error::OutOfBounds`], [`Error::Cancelled`], [`Error::TimedOut`].
    pub fn drag(&self, from: Option<Point>, to: Point, button: Button, cancel: &Cancel) -> Result<()> {
        self.press_with(|s| {
            cancel.check()?;
            let backend = s.backend()?;
            let from = from.map_or_else(|| backend.pointer(), Ok)?;
            if from == to {
                return Err(Error::Invalid(format!(
                    "a drag from {},{} to the same place is a click; give another end or use a click",
                    to.x, to.y
                )));
            }
            backend.within(from)?;
            backend.within(to)?;
            // Where it begins is asked again with the press; where it ends something may be dropped.
            backend.refuses(to)?;
            backend.move_to(from)?;
            s.button_down(button)?;
            let moved = s.follow(from, to, cancel);
            let released = s.button_up(button);
            moved.and(released)
        })
    }

    /// Puts a button down to stay, until [`Desktop::button_up`] or [`Desktop::release_all`].
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub fn button_down(&self, button: Button) -> Result<()> {
        self.press_with(|s| s.button_down(button))
    }

    /// Puts a button up.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub fn button_up(&self, button: Button) -> Result<()> {
        self.press_with(|s| s.button_up(button))
    }

    /// Types a text exactly, whatever the keymap: a line end is Return, a tab is Tab.
    ///
    /// # Errors
    /// [`Error::Untypable`] naming the character, [`Error::TypingStopped`]; both say how many characters went in.
    pub fn type_text(&self, text: &str, cancel: &Cancel) -> Result<Typed> {
        self.press_with(|s| s.backend()?.type_text(text, cancel))
    }

    /// Presses keys in order and releases them in reverse.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when this keyboard cannot give one of them, [`Error::Cancelled`], [`Error::TimedOut`].
    pub fn press(&self, keys: &[Key], cancel: &Cancel) -> Result<()> {
        self.press_with(|s| {
            cancel.check()?;
            s.backend()?.press(keys, cancel)
        })
    }

    /// Puts a key down to stay, until [`Desktop::key_up`] or [`Desktop::release_all`].
    ///
    /// # Errors
    /// [`Error::Unavailable`] when this keyboard does not have it.
    pub fn key_down(&self, key: Key) -> Result<()> {
        self.press_with(|s| s.key_down(key))
    }

    /// Puts a key up that is held.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub fn key_up(&self, key: Key) -> Result<()> {
        self.press_with(|s| s.key_up(key))
    }

    /// What is held down by us.
    #[must_use]
    pub fn held(&self) -> HeldNow {
        self.0.held()
    }

    /// Whether a key or button of ours is being pressed, is held, or was pressed within `time`. Never waits.
    #[must_use]
    pub fn pressed_within(&self, time: Duration) -> bool {
        self.0.pressed_within(time)
    }

    /// Lets go of every key and button that is held. What was held.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the display is gone, and with it whatever was held.
    pub fn release_all(&self) -> Result<HeldNow> {
        self.act(|s| {
            let held = s.held();
            s.release()?;
            Ok(held)
        })
    }

    /// What others do with mouse and keyboard from now on, whatever has the focus.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a display, or where the system does not tell.
    pub fn takeover_events(&self) -> Result<broadcast::Receiver<Takeover>> {
        self.act(|s| s.backend()?.takeovers())
    }

    /// Arms a key combination such as Ctrl+Alt+Escape: it is noticed within milliseconds in every window, with any lock on,
    /// also while a text is being typed, and no window sees it. Disarmed when dropped.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when another program has it, or where the system does not tell; [`Error::Invalid`] when the
    /// first keys are not modifiers.
    pub fn stop_key(&self, keys: &[Key]) -> Result<StopKey> {
        self.act(|s| s.backend()?.stop_key(keys))
    }

    fn act<T>(&self, action: impl FnOnce(&mut Acting<'_>) -> Result<T>) -> Result<T> {
        self.0.act(action)
    }

    /// An action that presses something: for a while nobody can be sure whose hand a click was.
    fn press_with<T>(&self, action: impl FnOnce(&mut Acting<'_>) -> Result<T>) -> Result<T> {
        self.0.act(|acting| {
            let pressing = acting.pressing();
            let outcome = action(acting);
            drop(pressing);
            outcome
        })
    }
}
