//! Keys by name: the right one, once, with nothing beside it. Rows B028 to B036 of the public reports, and their kind.

use serde_json::{Value, json};

use crate::support::hand::{Hand, SHIFT};
use crate::support::server::Server;
use crate::support::window::Window;
use crate::support::worker::Worker;

fn presses(window: &mut Window) -> Vec<String> {
    let events = window.events();
    events.iter().filter(|e| e["type"] == "key-press").map(|e| e["name"].as_str().unwrap().to_owned()).collect()
}

async fn press(worker: &Worker, keys: Value) {
    worker.call("computer_keyboard_press", json!({ "keys": keys })).await.success();
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_all_traditions_press_the_one_key_they_mean() {
    let server = Server::managed("800x600x24");
    let worker = Worker::on(server.name()).await;
    let mut window = Window::open(server.name(), "form");
    for (name, key) in [
        ("enter", "Return"),
        ("Return", "Return"),
        ("RETURN", "Return"),
        ("KP_Enter", "KP_Enter"),
        ("esc", "Escape"),
        ("PgDn", "Page_Down"),
        ("del", "Delete"),
        ("ArrowRight", "Right"),
        ("insert", "Insert"),
        ("pause", "Pause"),
        ("f13", "F13"),
        ("f24", "F24"),
        ("num_lock", "Num_Lock"),
        ("num_lock", "Num_Lock"),
        ("volumeup", "AudioRaiseVolume"),
        ("é", "eacute"),
        ("漢", "U+6F22"),
    ] {
        window.clear();
        press(&worker, json!([name])).await;
        assert_eq!(presses(&mut window), [key], "{name}");
    }
    let text = worker.call("computer_keyboard_press", json!({"keys": ["entre"]})).await.error("invalid_arguments");
    assert!(text.contains("Return") && text.contains("Escape"), "{text}");
    Hand::on(server.name()).wait_held(&[], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn chords_act_on_any_layout_and_insert_no_letter() {
    let server = Server::managed("800x600x24");
    let (worker, hand) = (Worker::on(server.name()).await, Hand::on(server.name()));
    let mut window = Window::open(server.name(), "view");
    for layout in ["us", "de", "fr", "ru", "us,ru"] {
        hand.layout(&[layout]);
        hand.group(u8::from(layout == "us,ru"));
        for (keys, wanted) in
            [(json!(["ctrl", "c"]), vec!["Control_L", "c"]), (json!("ctrl+z"), vec!["Control_L", "z"]), (json!(["Right"]), vec!["Right"])]
        {
            window.clear();
            press(&worker, keys.clone()).await;
            assert_eq!(presses(&mut window), wanted, "{keys} on {layout}");
        }
        hand.group(0);
    }
    hand.layout(&["us"]);
    for (keys, wanted) in [
        (json!("ctrl++"), vec!["Control_L", "Shift_L", "plus"]),
        (json!("Control++"), vec!["Control_L", "Shift_L", "plus"]),
        (json!(["+"]), vec!["Shift_L", "plus"]),
        (json!("ctrl+shift+t"), vec!["Control_L", "Shift_L", "T"]),
        (json!("Ctrl+A"), vec!["Control_L", "a"]),
    ] {
        window.clear();
        press(&worker, keys.clone()).await;
        assert_eq!(presses(&mut window), wanted, "{keys}");
    }
    window.clear();
    worker.call("computer_keyboard_type", json!({"text": "first line\nsecond line"})).await.success();
    press(&worker, json!(["ctrl", "a"])).await;
    assert_eq!(window.selection(), "first line\nsecond line");
    press(&worker, json!(["Return"])).await;
    assert_eq!(window.text(), "\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modifier_that_somebody_holds_is_not_part_of_the_key() {
    let server = Server::managed("800x600x24");
    let (worker, hand) = (Worker::on(server.name()).await, Hand::on(server.name()));
    let mut window = Window::open(server.name(), "entry");
    hand.key(SHIFT, true);
    window.clear();
    press(&worker, json!(["Right"])).await;
    let events = window.events();
    let right = events.iter().find(|e| e["type"] == "key-press" && e["name"] == "Right").expect("it is pressed");
    assert_eq!(right["state"].as_i64().unwrap() & 1, 0, "without Shift");
    hand.wait_held(&[SHIFT], 0);
    hand.key(SHIFT, false);
}
