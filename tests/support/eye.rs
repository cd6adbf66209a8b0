//! The windows of a display as a person sees them, and the person's click on them: another client's hand.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ClientMessageEvent, ConnectionExt as _, EventMask, MapState};

use super::worker::PATIENCE;

/// The windows of a display that are to be seen: number, name, place and size.
pub fn windows(display: &str) -> Vec<(u32, String, [i32; 4])> {
    let (conn, number) = x11rb::rust_connection::RustConnection::connect(Some(display)).unwrap();
    let root = conn.setup().roots[number].root;
    let utf8 = conn.intern_atom(false, b"_NET_WM_NAME").unwrap().reply().unwrap().atom;
    let any = 0u32;
    let (mut found, mut left) = (Vec::new(), vec![root]);
    while let Some(window) = left.pop() {
        let Ok(tree) = conn.query_tree(window).unwrap().reply() else { continue };
        left.extend(tree.children);
        let Ok(name) = conn.get_property(false, window, utf8, any, 0, 64).unwrap().reply() else { continue };
        let (Ok(attributes), Ok(size)) = (conn.get_window_attributes(window).unwrap().reply(), conn.get_geometry(window).unwrap().reply())
        else {
            continue;
        };
        if name.value.is_empty() || attributes.map_state != MapState::VIEWABLE {
            continue;
        }
        let Ok(at) = conn.translate_coordinates(window, root, 0, 0).unwrap().reply() else { continue };
        let name = String::from_utf8_lossy(&name.value).into_owned();
        found.push((window, name, [at.dst_x.into(), at.dst_y.into(), size.width.into(), size.height.into()]));
    }
    found
}

/// Waits for a window to be seen of this name.
#[track_caller]
pub fn window_named(display: &str, name: &str) -> [i32; 4] {
    let end = Instant::now() + PATIENCE;
    loop {
        let all = windows(display);
        if let Some((_, _, place)) = all.iter().find(|(_, n, [x, ..])| n == name && *x > -5_000) {
            return *place;
        }
        assert!(Instant::now() < end, "no window is named {name:?}: {all:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Closes a window as by its cross: the window manager is asked to.
pub fn close(display: &str, name: &str) {
    window_named(display, name);
    let (number, ..) = windows(display).into_iter().find(|(_, n, _)| n == name).unwrap();
    let (conn, screen) = x11rb::rust_connection::RustConnection::connect(Some(display)).unwrap();
    let root = conn.setup().roots[screen].root;
    let order = conn.intern_atom(false, b"_NET_CLOSE_WINDOW").unwrap().reply().unwrap().atom;
    let event = ClientMessageEvent::new(32, number, order, [0, 2, 0, 0, 0]);
    conn.send_event(false, root, EventMask::SUBSTRUCTURE_NOTIFY | EventMask::SUBSTRUCTURE_REDIRECT, event).unwrap().check().unwrap();
}

/// Keeps a picture of what a window shows, in front of all others.
pub fn keep(display: &str, name: &str, file: &Path) {
    let [x, y, width, height] = window_named(display, name);
    let number = windows(display).into_iter().find(|(_, n, _)| n == name).map(|(number, ..)| number.to_string());
    let _ = Command::new("xdotool").args(["windowraise"]).args(number).env("DISPLAY", display).status();
    let part = format!("{width}x{height}{x:+}{y:+}");
    let kept = Command::new("import").args(["-window", "root", "-crop", &part, "+repage"]).arg(file).env("DISPLAY", display).status();
    assert!(kept.expect("imagemagick is installed").success());
}

/// The name of the window that has the keyboard, by the window manager's word.
pub fn active_window(display: &str) -> String {
    let told = Command::new("xdotool").args(["getactivewindow", "getwindowname"]).env("DISPLAY", display).output();
    String::from_utf8_lossy(&told.expect("xdotool is installed").stdout).trim().to_owned()
}

/// Presses a mouse button where the person points, with another client's hand.
pub fn person_clicks(display: &str, x: i32, y: i32) {
    let at: [OsString; 2] = [x.to_string().into(), y.to_string().into()];
    let done = Command::new("xdotool").arg("mousemove").args(at).args(["click", "1"]).env("DISPLAY", display).status();
    assert!(done.expect("xdotool is installed").success());
}
