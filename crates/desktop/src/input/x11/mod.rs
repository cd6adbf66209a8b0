//! Input on X11, through XTEST and XKB.
//!
//! A back end of our own, because exact text needs more than "press this key": see [`typing`].

mod batch;
mod devices;
mod keymap;
mod link;
mod receipt;
mod spare;
mod typing;

use self::link::Link;
use crate::Result;
use crate::cancel::Cancel;

/// Pointer and keyboard of an X server.
pub struct X11 {
    link: Link,
}

impl X11 {
    /// Connects.
    pub fn open(display: Option<&str>) -> Result<Self> {
        Ok(Self { link: Link::open(display)? })
    }

    /// Types.
    pub fn type_text(&mut self, text: &str, cancel: &Cancel) -> Result<usize> {
        typing::type_text(&self.link, text, cancel)
    }
}
