//! Opens the page of the person's browser where extensions are loaded. No link leads there: browsers only take its address
//! from their own command line.

use deskhand_browser::managed::find_browser;
use std::process::{Command, Stdio};

/// Opens it in the browser that is found first.
///
/// # Errors
/// A sentence for the person.
pub fn open_extension_page() -> Result<(), String> {
    let browser = find_browser(None).map_err(|e| format!("{e}. Open your browser and go to chrome://extensions yourself."))?;
    let started =
        Command::new(&browser).arg("chrome://extensions/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child =
        started.map_err(|e| format!("{} could not be started ({e}). Go to chrome://extensions yourself.", browser.display()))?;
    // It hands the address to the browser that runs, or becomes it; either way somebody must note its end.
    std::thread::spawn(move || child.wait());
    Ok(())
}
