//! The sign that an agent acts: a small window on top of everything that never takes the keyboard. It stands still for as
//! long as calls follow each other, and the desktop engine moves it away from under clicks and out of pictures.

use crate::shell::{SIGN, Shell};
use std::time::Duration;
use tauri::{Manager, WebviewWindow};

/// Width and height, in logical pixels.
pub const SIZE: (f64, f64) = (420.0, 46.0);
/// From the top of the screen.
const MARGIN: f64 = 8.0;
/// It stays so long after a call, so that it does not flicker between calls.
const AFTER: Duration = Duration::from_millis(1_500);
/// And so long after the person took over, who may be reaching for its Stop.
const REACH: Duration = Duration::from_secs(6);
/// It comes back when nothing has met it for so long.
const QUIET: Duration = Duration::from_millis(350);

/// Shows and hides it for as long as the app runs.
pub async fn keep(shell: Shell) {
    let mut changes = shell.person().changes();
    loop {
        let snapshot = shell.person().snapshot();
        if snapshot.control.state == "authorised" && shell.app().get_webview_window(SIGN).is_none() {
            // Loaded before it is needed, so that it is never an empty box.
            let made = shell.clone();
            shell.on_main(move || made.window(SIGN).is_some()).await;
        }
        if snapshot.acting.is_some() {
            let _ = shell
                .on_main({
                    let shell = shell.clone();
                    move || show(&shell)
                })
                .await;
            while_acting(&shell, &mut changes).await;
            let _ = shell
                .on_main({
                    let shell = shell.clone();
                    move || hide(&shell)
                })
                .await;
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Ends when no call has run for a while, or at once when AI control is off.
async fn while_acting(shell: &Shell, changes: &mut tokio::sync::watch::Receiver<u64>) {
    let mut until = tokio::time::Instant::now() + AFTER;
    let mut paused = false;
    loop {
        let snapshot = shell.person().snapshot();
        match snapshot.control.state {
            "off" => return,
            // The person's hand on the mouse paused it, perhaps on the way to Stop: it must not vanish under the pointer.
            "paused" if !paused => {
                paused = true;
                until = tokio::time::Instant::now() + REACH;
            }
            "paused" => {}
            _ => paused = false,
        }
        if snapshot.acting.is_some() {
            until = tokio::time::Instant::now() + AFTER;
        }
        come_back();
        tokio::select! {
            _ = changes.changed() => {}
            () = tokio::time::sleep(Duration::from_millis(150)) => {}
        }
        if tokio::time::Instant::now() >= until {
            return;
        }
    }
}

fn show(shell: &Shell) {
    let Some(window) = shell.window(SIGN) else { return };
    place(&window);
}

/// At the top of the main monitor, in the middle.
fn place(window: &WebviewWindow) {
    let Ok(Some(monitor)) = window.primary_monitor() else {
        let _ = window.show();
        return;
    };
    let scale = monitor.scale_factor();
    let (origin, size) = (monitor.position(), monitor.size());
    let (width, height) = (SIZE.0 * scale, SIZE.1 * scale);
    let (x, y) = (f64::from(origin.x) + (f64::from(size.width) - width) / 2.0, f64::from(origin.y) + MARGIN * scale);
    unmanaged(window, (x as i32, y as i32), (width as u32, height as u32));
}

/// On X11 the window manager has no say: it could give the keyboard to the window, or keep the engine from moving it.
#[cfg(target_os = "linux")]
fn unmanaged(window: &WebviewWindow, at: (i32, i32), size: (u32, u32)) {
    use gtk::prelude::*;
    let number = crate::shell::x_number(window);
    if let (Some(number), Ok(own)) = (number, window.gtk_window()) {
        if let Some(drawn) = own.window() {
            drawn.set_override_redirect(true);
        }
        // It begins out of the way, and comes when nothing needs its place.
        own.resize(SIZE.0 as i32, SIZE.1 as i32);
        own.move_(-10_000, at.1);
        let _ = deskhand_app::own_windows::show_sign(number, at, size);
        own.show_all();
        return;
    }
    let _ = window.set_position(tauri::PhysicalPosition::new(at.0, at.1));
    let _ = window.show();
}

#[cfg(not(target_os = "linux"))]
fn unmanaged(window: &WebviewWindow, at: (i32, i32), _size: (u32, u32)) {
    let _ = window.set_position(tauri::PhysicalPosition::new(at.0, at.1));
    let _ = window.show();
}

fn hide(shell: &Shell) {
    #[cfg(target_os = "linux")]
    deskhand_app::own_windows::hide_sign();
    if let Some(window) = shell.app().get_webview_window(SIGN) {
        let _ = window.hide();
    }
}

fn come_back() {
    #[cfg(target_os = "linux")]
    deskhand_app::own_windows::return_sign(QUIET);
}
