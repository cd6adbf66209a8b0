//! What is held down on the desktop, as the dispatcher asks.

use deskhand_core::HeldInput;
use deskhand_desktop::input::Desktop;

/// The desktop engine's account of held keys and buttons.
pub(crate) struct DesktopHeld(pub(crate) Desktop);

impl HeldInput for DesktopHeld {
    fn any(&self) -> bool {
        !self.0.held().is_empty()
    }

    fn release(&self) {
        if let Err(error) = self.0.release_all() {
            tracing::debug!(%error, "nothing can be released: the display is gone, and with it what was held");
        }
    }
}
