//! The desktop engine: screen, pointer, keyboard, windows, clipboard and OCR of the machine the worker runs on.
//!
//! It is the only crate that names the libraries behind these (`x11rb`, `enigo`, `xcap`, `leptess`), so that a system's
//! quirks end here and everything above speaks of pixels, keys and text. It knows nothing of tools, grants or callers.
//!
//! `unsafe` is allowed in this crate alone: capture through shared memory and some calls of the operating system have no
//! safe form. Each use carries its `SAFETY` comment.
#![allow(unsafe_code)]

pub mod cancel;
pub mod clipboard;
pub mod error;
pub mod held;
pub mod input;
pub mod ocr;
pub mod own;
pub mod screen;
pub mod session;
pub mod stop_key;
pub mod takeover;
pub mod virtual_display;
pub mod windows;

pub use cancel::Cancel;
pub use error::{Error, Result};
pub use input::{Button, Desktop, Key, OpenOptions, Point};
