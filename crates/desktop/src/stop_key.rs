//! One key combination that stops everything, whatever window has the focus.

use std::time::Instant;

use tokio::sync::mpsc;

/// The keys that stop, unless the person chose others.
pub const DEFAULT: &str = "Ctrl+Alt+Escape";

/// An armed stop key. Dropping it disarms it.
pub struct StopKey {
    presses: mpsc::UnboundedReceiver<Instant>,
    _armed: Box<dyn Send>,
}

impl StopKey {
    pub(crate) fn new(presses: mpsc::UnboundedReceiver<Instant>, armed: Box<dyn Send>) -> Self {
        Self { presses, _armed: armed }
    }

    /// Waits for the next press; when it was. `None` when the display is gone.
    pub async fn pressed(&mut self) -> Option<Instant> {
        self.presses.recv().await
    }

    /// As [`StopKey::pressed`], for a thread.
    pub fn pressed_blocking(&mut self) -> Option<Instant> {
        self.presses.blocking_recv()
    }
}
