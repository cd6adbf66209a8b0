//! The session as it is: no window manager, windows that vanish, no display at all, a locked screen. Rows B086, B088, B090
//! and B094 of the public reports, and their kind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::support::painter::{Look, Painter};
use crate::support::server::Server;
use crate::support::worker::Worker;

#[tokio::test(flavor = "multi_thread")]
async fn without_a_window_manager_the_focused_window_is_found_with_its_title_and_place() {
    let server = Server::start("1280x800x24");
    let painter = Painter::open(server.name());
    let worker = Worker::on(server.name()).await;
    let none = worker.call("computer_active_window", json!({})).await;
    assert_eq!((none.json["title"].as_str(), none.json["active"].as_bool()), (Some(""), Some(false)), "{}", none.text);
    assert!(none.text.contains("no active window"), "{}", none.text);
    let window = painter.window(&Look { rect: [150, 120, 420, 310], title: "Lonely 漢字", class: "lonely", ..Look::default() });
    painter.focus(window);
    let answer = worker.call("computer_active_window", json!({})).await;
    let place = ["x", "y", "width", "height"].map(|key| answer.json["window"][key].as_i64().unwrap());
    assert_eq!((answer.json["title"].as_str(), place), (Some("Lonely 漢字"), [150, 120, 420, 310]));
    assert_eq!(answer.json["window"]["class"], "lonely");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_vanishes_while_it_is_asked_about_is_no_error() {
    let server = Server::managed("1280x800x24");
    let worker = Worker::on(server.name()).await;
    let over = Arc::new(AtomicBool::new(false));
    let flicker = {
        let (name, over) = (server.name().to_owned(), Arc::clone(&over));
        std::thread::spawn(move || {
            let painter = Painter::open(&name);
            while !over.load(Ordering::Relaxed) {
                let window = painter.window(&Look { free: false, title: "flicker", rect: [300, 200, 300, 200], ..Look::default() });
                painter.destroy(window);
            }
        })
    };
    for _ in 0..200 {
        let answer = worker.call("computer_active_window", json!({})).await;
        let title = answer.json["title"].as_str();
        assert!(answer.ok && (title == Some("flicker") || answer.json["active"] == false), "{}", answer.text);
    }
    over.store(true, Ordering::Relaxed);
    flicker.join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_display_the_worker_starts_and_each_desktop_call_names_what_is_missing() {
    let worker = Worker::without_display().await;
    for tool in ["computer_screenshot", "computer_screen_size", "computer_active_window", "browser_gui_screenshot"] {
        let answer = worker.call(tool, json!({})).await;
        assert_eq!((answer.ok, answer.json["error"].as_str()), (false, Some("unavailable")), "{tool}");
        assert!(answer.text.contains("DISPLAY"), "{tool}: {}", answer.text);
    }
    assert!(worker.call("computer_whitelist", json!({})).await.ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_locker_nothing_is_shown_and_no_key_reaches_it() {
    let server = Server::managed("1280x800x24");
    let painter = Painter::open(server.name());
    let worker = Worker::on(server.name()).await;
    // A wallpaper or kiosk covers the screen, an open menu holds the keyboard: neither alone is a lock.
    let wallpaper = painter.window(&Look { rect: [0, 0, 1280, 800], ..Look::default() });
    assert!(worker.call("computer_screenshot", json!({})).await.ok, "a wallpaper is not a lock");
    painter.destroy(wallpaper);
    let menu = painter.window(&Look { rect: [60, 60, 100, 200], ..Look::default() });
    painter.grab_keyboard(menu);
    assert!(worker.call("computer_screenshot", json!({})).await.ok, "a menu is not a lock");
    painter.destroy(menu);
    let locker = painter.window(&Look { rect: [0, 0, 1280, 800], class: "locker", ground: [20, 20, 20], ..Look::default() });
    painter.grab_keyboard(locker);
    painter.keys();
    for (tool, arguments) in [
        ("computer_keyboard_type", json!({"text": "x"})),
        ("computer_keyboard_press", json!({"keys": ["enter"]})),
        ("computer_mouse_click", json!({"x": 5, "y": 5})),
        ("computer_screenshot", json!({})),
        ("computer_active_window", json!({})),
    ] {
        let answer = worker.call(tool, arguments).await;
        assert!(!answer.ok && answer.text.contains("lock"), "{tool}: {}", answer.text);
    }
    assert_eq!(painter.keys(), 0, "keys went into the locker");
}
