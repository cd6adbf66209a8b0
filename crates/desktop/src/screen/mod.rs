//! What is on the screen: pixels, monitors, and the pictures made of them.
//!
//! Everything here speaks in *desktop coordinates*: physical pixels, origin at the top left of the virtual screen, whatever
//! scale the toolkits draw at. A scale is information for the caller and never enters a computation.
//!
//! On X11 the picture comes through shared memory ([`x11`]): the server copies into pages we already have, and encoders
//! and OCR read those pages. Everywhere else `xcap` does it ([`native`]).

mod capture;
mod display;
mod encode;
mod fit;
mod monitors;
mod native;
#[cfg(target_os = "linux")]
mod pixels;
#[cfg(target_os = "linux")]
mod shm;
#[cfg(target_os = "linux")]
pub(crate) mod x11;

pub use crate::ocr::{Image, Order, Rect};
pub use capture::{Area, Capture};
pub use display::Display;
pub use encode::{Format, jpeg, png};
pub use fit::{Fit, Picture, fit};
pub use monitors::{Monitor, Screen};
pub(crate) use native::screen_and_origin as native_screen;
