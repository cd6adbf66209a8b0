//! Starting, without a window, when the person signs in to the system.

use auto_launch::AutoLaunchBuilder;
use deskhand_app::StateFolder;

/// Switches it on or off.
///
/// # Errors
/// A sentence for the person.
pub fn set(on: bool, state: &StateFolder) -> Result<(), String> {
    let told = |e: &dyn std::fmt::Display| format!("Starting at login could not be switched {}: {e}.", if on { "on" } else { "off" });
    let program = std::env::current_exe().map_err(|e| told(&e))?;
    let mut arguments = vec!["--hidden".to_owned()];
    // The person's own folder need not be named.
    if StateFolder::open(None).map(|own| own.path() != state.path()).unwrap_or(true) {
        arguments.extend(["--state-dir".into(), state.path().display().to_string()]);
    }
    let launch = AutoLaunchBuilder::new()
        .set_app_name("Deskhand")
        .set_app_path(&program.display().to_string())
        .set_args(&arguments)
        .build()
        .map_err(|e| told(&e))?;
    if on {
        launch.enable().map_err(|e| told(&e))
    } else if launch.is_enabled().unwrap_or(false) {
        launch.disable().map_err(|e| told(&e))
    } else {
        Ok(())
    }
}
