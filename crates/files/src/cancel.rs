//! Cancellation as a question the engine asks: the caller's flag and deadline are one closure.
//!
//! Calls here block (callers run them on a blocking thread), so a future cannot be dropped to stop them; instead every
//! loop asks at least once per 64 KiB read or 256 entries seen.

use crate::FilesError;

/// Asks the caller whether to stop. Cheap to copy.
#[derive(Clone, Copy)]
pub struct Cancel<'a>(&'a (dyn Fn() -> bool + Send + Sync));

impl<'a> Cancel<'a> {
    /// Stops when `asked` answers true.
    pub fn new(asked: &'a (dyn Fn() -> bool + Send + Sync)) -> Self {
        Self(asked)
    }

    /// Never stops.
    pub fn never() -> Cancel<'static> {
        Cancel(&|| false)
    }

    /// # Errors
    /// [`FilesError::Cancelled`] once the caller wants to stop.
    pub fn check(&self) -> Result<(), FilesError> {
        if (self.0)() { Err(FilesError::Cancelled) } else { Ok(()) }
    }
}
