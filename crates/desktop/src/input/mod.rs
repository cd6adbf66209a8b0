//! Pointer and keyboard.

#[cfg(target_os = "linux")]
pub mod x11;
