//! One action at a time, and nothing left held when it ends badly.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::backend::{Backend, Button, Point};
use super::desktop::HeldNow;
use super::key::Key;
use super::route;
use crate::cancel::Cancel;
use crate::error::Stop;
use crate::held::Journal;
use crate::{Error, Result};

/// Opens a back end when the first call needs it.
pub(super) type Opener = Box<dyn Fn(&Arc<Journal>) -> Result<Box<dyn Backend>> + Send + Sync>;

/// Between the moves of a drag. Programs take one place of the pointer per frame, 16 ms on most screens.
const STEP: Duration = Duration::from_millis(10);
/// Before and after the last moves of a drag: longer than a frame, so that the target is seen twice.
const FRAME: Duration = Duration::from_millis(40);

/// What all clones of a desktop share.
pub(super) struct Inner {
    opener: Opener,
    journal: Arc<Journal>,
    state: Mutex<State>,
    /// When something was pressed last.
    pressed: Arc<Mutex<Option<Instant>>>,
}

#[derive(Default)]
struct State {
    backend: Option<Box<dyn Backend>>,
    keys: Vec<(Key, Vec<u8>)>,
    buttons: Vec<Button>,
}

impl State {
    fn held(&self) -> HeldNow {
        HeldNow { keys: self.keys.iter().map(|(k, _)| *k).collect(), buttons: self.buttons.clone() }
    }
}

impl Inner {
    pub(super) fn new(opener: Opener, journal: Option<PathBuf>) -> Self {
        Self { opener, journal: Arc::new(Journal::new(journal)), state: Mutex::default(), pressed: Arc::default() }
    }

    pub(super) fn held(&self) -> HeldNow {
        self.state.lock().held()
    }

    pub(super) fn pressed_within(&self, time: Duration) -> bool {
        // An action that runs now has the lock: it may be pressing.
        let busy = self.state.try_lock().is_none_or(|state| !state.held().is_empty());
        busy || self.pressed.lock().is_some_and(|at| at.elapsed() < time)
    }

    /// Runs an action with the desktop to itself.
    pub(super) fn act<T>(&self, action: impl FnOnce(&mut Acting<'_>) -> Result<T>) -> Result<T> {
        let mut state = self.state.lock();
        let mut acting = Acting { inner: self, state: &mut state };
        acting.notice_restart();
        let outcome = catch_unwind(AssertUnwindSafe(|| action(&mut acting)));
        match outcome {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                acting.after(&error);
                Err(error)
            }
            Err(panic) => {
                acting.let_everything_go();
                resume_unwind(panic)
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let mut state = std::mem::take(&mut *self.state.lock());
        Acting { inner: self, state: &mut state }.let_everything_go();
    }
}

/// The desktop during one action.
pub(super) struct Acting<'a> {
    inner: &'a Inner,
    state: &'a mut State,
}

/// Notes the time when something begins to be pressed and when that is over.
pub(super) struct Pressing(Arc<Mutex<Option<Instant>>>);

impl Drop for Pressing {
    fn drop(&mut self) {
        *self.0.lock() = Some(Instant::now());
    }
}

impl Acting<'_> {
    pub(super) fn pressing(&self) -> Pressing {
        *self.inner.pressed.lock() = Some(Instant::now());
        Pressing(Arc::clone(&self.inner.pressed))
    }

    /// The back end, opened if need be.
    pub(super) fn backend(&mut self) -> Result<&mut (dyn Backend + 'static)> {
        let backend = match self.state.backend.take() {
            Some(backend) => backend,
            None => (self.inner.opener)(&self.inner.journal)?,
        };
        Ok(self.state.backend.insert(backend).as_mut())
    }

    pub(super) fn held(&self) -> HeldNow {
        self.state.held()
    }

    pub(super) fn button_down(&mut self, button: Button) -> Result<()> {
        if self.state.buttons.contains(&button) {
            return Ok(());
        }
        self.backend()?;
        self.inner.journal.change(|e| e.buttons.push(button.number()));
        self.state.buttons.push(button);
        let pressed = self.backend()?.button(button, true);
        if pressed.is_err() {
            self.forget_button(button);
        }
        pressed
    }

    pub(super) fn button_up(&mut self, button: Button) -> Result<()> {
        let released = self.backend()?.button(button, false).and_then(|()| self.backend()?.settle());
        self.forget_button(button);
        released
    }

    fn forget_button(&mut self, button: Button) {
        self.state.buttons.retain(|b| *b != button);
        self.inner.journal.change(|e| e.buttons.retain(|b| *b != button.number()));
    }

    pub(super) fn key_down(&mut self, key: Key) -> Result<()> {
        if self.state.keys.iter().any(|(k, _)| *k == key) {
            return Ok(());
        }
        let journal = Arc::clone(&self.inner.journal);
        let codes = self.backend()?.key_down(key, &|codes| journal.change(|e| e.keys.extend(codes)))?;
        self.state.keys.push((key, codes));
        Ok(())
    }

    pub(super) fn key_up(&mut self, key: Key) -> Result<()> {
        let released = self.backend()?.key_up(key);
        if let Some(i) = self.state.keys.iter().position(|(k, _)| *k == key) {
            let (_, codes) = self.state.keys.remove(i);
            self.inner.journal.change(|e| e.keys.retain(|c| !codes.contains(c)));
        }
        released
    }

    /// Lets go of everything, newest first; the first error, after all have been tried.
    pub(super) fn release(&mut self) -> Result<()> {
        let held = self.state.held();
        let mut outcome = Ok(());
        for button in held.buttons.into_iter().rev() {
            outcome = outcome.and(self.button_up(button));
        }
        for key in held.keys.into_iter().rev() {
            outcome = outcome.and(self.key_up(key));
        }
        outcome
    }

    fn let_everything_go(&mut self) {
        if let Err(e) = self.release() {
            tracing::warn!("letting go of held keys and buttons: {e}");
        }
    }

    /// A display that was restarted since the last call is connected to anew, before anything is done.
    fn notice_restart(&mut self) {
        if let Some(Err(error)) = self.state.backend.as_mut().map(|b| b.settle()) {
            self.after(&error);
        }
    }

    /// What an error means for what is held and for the connection.
    fn after(&mut self, error: &Error) {
        match error {
            Error::Cancelled | Error::TimedOut | Error::TypingStopped { why: Stop::Cancelled | Stop::TimedOut, .. } => {
                self.let_everything_go()
            }
            // The connection is gone, and with it what was held; the next call connects anew.
            Error::Unavailable { what: "the display", .. } => {
                *self.state = State::default();
                self.inner.journal.change(|e| *e = crate::held::Entry::default());
            }
            _ => {}
        }
    }

    /// Moves along the way of a drag.
    pub(super) fn follow(&mut self, from: Point, to: Point, cancel: &Cancel) -> Result<()> {
        cancel.pause(STEP)?;
        let (approach, arrival) = route::drag(from, to);
        for step in approach {
            self.backend()?.move_to(step)?;
            cancel.pause(STEP)?;
        }
        for step in arrival {
            self.backend()?.move_to(step)?;
            cancel.pause(FRAME)?;
        }
        Ok(())
    }
}
