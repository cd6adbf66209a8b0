//! Somebody else has a hand on mouse or keyboard.
//!
//! While an agent works, a press or a motion that we did not make means that the person wants the desktop back. The
//! watcher tells ours from theirs by account: what was sent is written down before it is sent and struck out when the
//! server reports it; what is reported and was not written down is somebody else's.

use std::time::{Duration, Instant};

/// What somebody else began to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hand {
    /// Pressed a key that was not down before.
    Key,
    /// Pressed a mouse button or turned the wheel.
    Button,
    /// Moved the pointer.
    Motion,
}

/// Input that Deskhand did not make, at its beginning: a key that is held on is reported once.
#[derive(Debug, Clone, Copy)]
pub struct Takeover {
    /// What it was.
    pub hand: Hand,
    /// When it was reported.
    pub at: Instant,
    /// How long before it we last sent something; `None` when we never have. A pause belongs to what happens during an
    /// action, which the layer above knows.
    pub since_ours: Option<Duration>,
}
