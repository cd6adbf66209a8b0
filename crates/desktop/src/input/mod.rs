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
mod native;
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

/// The back end of this system. On a Wayland session that is the compositor's own input where it lets programs have it; an
/// X server inside such a session reaches the windows of old programs only.
#[cfg(target_os = "linux")]
fn native(display: Option<&str>, journal: &Arc<Journal>) -> Result<Box<dyn Backend>> {
    let x11 = x11::X11::open(display, journal);
    let foreign = x11.as_ref().map_or(true, x11::X11::is_xwayland);
    if display.is_none()
        && foreign
        && crate::session::is_wayland()
        && let Ok(wayland) = native::Native::open(journal)
    {
        return Ok(Box::new(wayland));
    }
    Ok(Box::new(x11?))
}

/// The back end of this system.
#[cfg(not(target_os = "linux"))]
fn native(_display: Option<&str>, journal: &Arc<Journal>) -> Result<Box<dyn Backend>> {
    Ok(Box::new(native::Native::open(journal)?))
}

/// Lets go of what a journal says is held.
#[cfg(target_os = "linux")]
pub(crate) fn release_entry(entry: &Entry) -> Result<Released> {
    x11::orphans::release(entry)
}

/// Systems other than X11 let go of what a program held when it ends.
#[cfg(not(target_os = "linux"))]
pub(crate) fn release_entry(_entry: &Entry) -> Result<Released> {
    Ok(Released::default())
}
