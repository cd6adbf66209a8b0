//! The person's own hand, and the key that stops everything.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::hand::{ALT, CAPS_LOCK, CONTROL, ESCAPE, Hand, NUM_LOCK};
use crate::support::server::Server;
use crate::support::window::Window;
use crate::support::worker::Worker;

#[tokio::test(flavor = "multi_thread")]
async fn a_motion_of_the_persons_pauses_and_ours_do_not() {
    let server = Server::managed("800x600x24");
    let hand = Hand::on(server.name());
    let worker = Worker::with(Some(server.name()), &["--authorize", "all", "--takeover", "pause"]).await;
    let mut window = Window::open(server.name(), "entry");
    hand.key(CONTROL, true);
    worker.call("computer_keyboard_type", json!({"text": "held already, 漢字"})).await.success();
    worker.call("computer_mouse_move", json!({"x": 300, "y": 200})).await.success();
    worker.call("computer_keyboard_press", json!({"keys": ["ctrl", "a"]})).await.success();
    hand.key(CONTROL, false);
    assert_eq!(window.selection(), "held already, 漢字");
    worker.call("computer_mouse_move", json!({"x": 310, "y": 200})).await.success();
    hand.point(20, 20);
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let answer = worker.call("computer_screen_size", json!({})).await;
        if answer.json["error"] == "paused" {
            break;
        }
        assert!(Instant::now() < end, "the person's motion does not pause");
    }
    worker.call("computer_mouse_move", json!({"x": 50, "y": 50})).await.error("paused");
    assert_eq!(hand.pointer(), (20, 20));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stop_key_stops_while_a_text_is_typed_whatever_lock_is_on() {
    let server = Server::managed("800x600x24");
    let hand = Hand::on(server.name());
    for locks in [vec![], vec![CAPS_LOCK, NUM_LOCK]] {
        let worker = Worker::with(Some(server.name()), &["--authorize", "all", "--stop-key", "Ctrl+Alt+Esc"]).await;
        let mut window = Window::open(server.name(), "slow");
        for lock in &locks {
            hand.chord(&[*lock]);
        }
        let text = "slowly ".repeat(2_000);
        let typing = worker.call("computer_keyboard_type", json!({ "text": text }));
        let pressing = async {
            let end = Instant::now() + Duration::from_secs(23);
            let mut before = 0;
            while before < 20 {
                assert!(Instant::now() < end, "nothing is typed");
                tokio::time::sleep(Duration::from_millis(20)).await;
                before = window.glance().len();
            }
            // As a person presses it: the modifiers are down for a while, and text is typed meanwhile.
            hand.key(CONTROL, true);
            hand.key(ALT, true);
            let held = window.glance().len();
            while before < held + 20 {
                assert!(Instant::now() < end, "nothing is typed while modifiers are held");
                tokio::time::sleep(Duration::from_millis(20)).await;
                before = window.glance().len();
            }
            hand.key(ESCAPE, true);
            let at = Instant::now();
            [ESCAPE, ALT, CONTROL].into_iter().for_each(|key| hand.key(key, false));
            (before, at)
        };
        let (answer, (before, at)) = tokio::join!(typing, pressing);
        let took = at.elapsed();
        assert!(!answer.ok, "{}", answer.text);
        assert!(took < Duration::from_secs(5), "it took {took:?}");
        // All that was under way to it is handled before the window answers.
        let after = window.text().len() - before;
        assert!(after <= 40, "{after} characters after the stop key");
        hand.wait_held(&[], 0);
        assert!(window.events().iter().all(|e| e["name"] != "Escape"), "no window sees the stop key");
        assert!(!worker.call("computer_mouse_move", json!({"x": 5, "y": 5})).await.ok);
        for lock in &locks {
            hand.chord(&[*lock]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_key_that_is_taken_is_an_error_of_the_start() {
    let server = Server::managed("800x600x24");
    let _first = Worker::with(Some(server.name()), &["--authorize", "all", "--stop-key", "Ctrl+Alt+Esc"]).await;
    let folder = tempfile::tempdir().unwrap();
    let second = std::process::Command::new(env!("CARGO_BIN_EXE_deskhand"))
        .args(["serve", "--ready-json", "--listen", "127.0.0.1:0", "--authorize", "all", "--stop-key", "Ctrl+Alt+Esc", "--state-dir"])
        .arg(folder.path())
        .env("DISPLAY", server.name())
        .output()
        .unwrap();
    assert!(!second.status.success());
    let text = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(text.contains("stop key"), "{text}");
}
