//! Pointer and keyboard.
//!
//! [`Desktop`] is the one door: it keeps what is held, looks at cancels and deadlines, paces drags, and opens a back end
//! when the first call needs one. Behind it is one [`Backend`] per system: our own on X11, where text must be exact on any
//! keymap, `enigo` on the others, and [`Recorder`] in tests.

mod acting;
mod backend;
mod desktop;
mod key;
mod key_names;
mod recorder;
mod route;
#[cfg(target_os = "linux")]
mod x11;

use std::sync::Arc;

use self::backend::Backend;
pub use self::backend::{Button, Point, Typed};
pub use self::desktop::{Desktop, HeldNow, OpenOptions};
pub use self::key::{Key, Named, chord};
pub use self::recorder::{Act, Recorder};
use crate::Result;
use crate::held::{Entry, Journal, Released};

/// The back end of this system.
#[cfg(target_os = "linux")]
fn native(display: Option<&str>, journal: &Arc<Journal>) -> Result<Box<dyn Backend>> {
    Ok(Box::new(x11::X11::open(display, journal)?))
}

/// Lets go of what a journal says is held.
#[cfg(target_os = "linux")]
pub(crate) fn release_entry(entry: &Entry) -> Result<Released> {
    x11::orphans::release(entry)
}
