//! A desktop that is not there: it does nothing and remembers everything.
//!
//! It always compiles, on every system, so that what stands on the desktop can be tested without one.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::backend::{Backend, Button, Point, Typed};
use super::desktop::Desktop;
use super::key::Key;
use crate::cancel::Cancel;
use crate::{Error, Result};

/// Something that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// The pointer was moved.
    Move(Point),
    /// A button went down.
    Down(Button),
    /// A button went up.
    Up(Button),
    /// The wheel was turned: right, down.
    Scroll(i32, i32),
    /// A text was typed.
    Type(String),
    /// Keys were pressed together and released.
    Press(Vec<Key>),
    /// A key went down to stay.
    KeyDown(Key),
    /// A key went up.
    KeyUp(Key),
}

/// What was done on a desktop of its own, to look at in a test.
#[derive(Debug, Clone, Default)]
pub struct Recorder(Arc<Mutex<Recording>>);

#[derive(Debug, Default)]
struct Recording {
    acts: Vec<Act>,
    pointer: Point,
    panics: bool,
}

impl Recorder {
    /// A desktop of 1280 by 800 pixels without a screen, and its recorder.
    #[must_use]
    pub fn desktop(journal: Option<PathBuf>) -> (Desktop, Self) {
        let recorder = Self::default();
        let hand = recorder.clone();
        (Desktop::with(Box::new(move |_| Ok(Box::new(hand.clone()))), journal), recorder)
    }

    /// What was done so far, and forgets it.
    #[must_use]
    pub fn take(&self) -> Vec<Act> {
        std::mem::take(&mut self.0.lock().acts)
    }

    /// Lets the next move panic, to see what becomes of what is held.
    pub fn panic_next(&self) {
        self.0.lock().panics = true;
    }

    fn note(&self, act: Act) {
        self.0.lock().acts.push(act);
    }
}

impl Backend for Recorder {
    fn size(&mut self) -> Result<(u32, u32)> {
        Ok((1280, 800))
    }

    fn pointer(&mut self) -> Result<Point> {
        Ok(self.0.lock().pointer)
    }

    fn move_to(&mut self, to: Point) -> Result<()> {
        let mut recording = self.0.lock();
        recording.pointer = to;
        recording.acts.push(Act::Move(to));
        if std::mem::take(&mut recording.panics) {
            drop(recording);
            std::panic::resume_unwind(Box::new("asked for"));
        }
        Ok(())
    }

    fn button(&mut self, button: Button, down: bool) -> Result<()> {
        self.note(if down { Act::Down(button) } else { Act::Up(button) });
        Ok(())
    }

    fn scroll(&mut self, right: i32, down: i32) -> Result<()> {
        self.note(Act::Scroll(right, down));
        Ok(())
    }

    fn type_text(&mut self, text: &str, cancel: &Cancel) -> Result<Typed> {
        let total = text.chars().count();
        if let Some(why) = cancel.stopped() {
            return Err(Error::TypingStopped { why, typed: 0, total });
        }
        self.note(Act::Type(text.into()));
        Ok(Typed { characters: total, confirmed: true })
    }

    fn press(&mut self, keys: &[Key], _cancel: &Cancel) -> Result<()> {
        self.note(Act::Press(keys.to_vec()));
        Ok(())
    }

    fn key_down(&mut self, key: Key, announce: &dyn Fn(&[u8])) -> Result<Vec<u8>> {
        announce(&[99]);
        self.note(Act::KeyDown(key));
        Ok(vec![99])
    }

    fn key_up(&mut self, key: Key) -> Result<()> {
        self.note(Act::KeyUp(key));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::input::chord;

    fn ctrl() -> Key {
        chord(&["ctrl"]).unwrap()[0]
    }

    #[test]
    fn everything_held_is_released_on_every_way_out() {
        let dir = tempfile::tempdir().unwrap();
        let journal = dir.path().join("held.json");
        let (desktop, recorder) = Recorder::desktop(Some(journal.clone()));
        let hold = || {
            desktop.key_down(ctrl()).unwrap();
            desktop.button_down(Button::Left).unwrap();
            assert!(journal.exists());
            assert!(!desktop.held().is_empty());
            let _ = recorder.take();
        };
        let released = || {
            assert!(desktop.held().is_empty());
            assert!(!journal.exists());
            let acts = recorder.take();
            assert!(acts.contains(&Act::Up(Button::Left)) && acts.contains(&Act::KeyUp(ctrl())), "{acts:?}");
        };

        hold();
        desktop.release_all().unwrap();
        released();

        hold();
        let token = CancellationToken::new();
        token.cancel();
        assert!(matches!(desktop.type_text("x", &Cancel::new(token, None)), Err(Error::TypingStopped { typed: 0, .. })));
        released();

        hold();
        let past = Cancel::new(CancellationToken::new(), Some(std::time::Instant::now()));
        assert!(matches!(desktop.drag(None, Point::new(5, 5), Button::Left, &past), Err(Error::TimedOut)));
        released();

        hold();
        recorder.panic_next();
        let moved = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| desktop.move_to(Point::new(1, 1))));
        assert!(moved.is_err());
        released();

        hold();
        drop(desktop);
        let acts = recorder.take();
        assert!(acts.contains(&Act::Up(Button::Left)) && acts.contains(&Act::KeyUp(ctrl())), "{acts:?}");
        assert!(!journal.exists());
    }

    #[test]
    fn places_outside_the_screen_are_refused_with_its_bounds() {
        let (desktop, recorder) = Recorder::desktop(None);
        for (x, y) in [(1280, 0), (0, 800), (-1, 5), (i32::MAX, i32::MIN)] {
            let text = desktop.click(Some(Point::new(x, y)), Button::Left, 1, &Cancel::never()).unwrap_err().to_string();
            assert!(text.contains("1279,799"), "{text}");
        }
        assert!(recorder.take().is_empty());
    }

    #[test]
    fn a_relative_move_of_nothing_sends_nothing() {
        let (desktop, recorder) = Recorder::desktop(None);
        desktop.move_to(Point::new(640, 400)).unwrap();
        let _ = recorder.take();
        assert_eq!(desktop.move_by(0, 0).unwrap(), Point::new(640, 400));
        assert!(recorder.take().is_empty());
        assert_eq!(desktop.move_by(-9, 6).unwrap(), Point::new(631, 406));
    }

    #[test]
    fn a_drag_is_pressed_moved_and_released_where_asked() {
        let (desktop, recorder) = Recorder::desktop(None);
        desktop.drag(Some(Point::new(10, 10)), Point::new(13, 10), Button::Left, &Cancel::never()).unwrap();
        let acts = recorder.take();
        assert_eq!(acts[..2], [Act::Move(Point::new(10, 10)), Act::Down(Button::Left)]);
        assert_eq!(acts[acts.len() - 2..], [Act::Move(Point::new(13, 10)), Act::Up(Button::Left)]);
        assert!(acts.len() >= 6);
        assert!(desktop.drag(None, Point::new(13, 10), Button::Left, &Cancel::never()).is_err());
    }
}
