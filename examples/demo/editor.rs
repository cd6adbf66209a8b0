//! Act one: a sentence typed in a text editor and saved through its own dialog.

use crate::Stage;
use crate::client::{Client, Process};
use serde_json::json;

const SENTENCE: &str = "Deskhand 说：你好，世界！ This was typed by an agent 🎉";

/// Plays the act.
pub async fn play(stage: &Stage, worker: &Process, client: &Client) {
    let mut command = worker.on_display("mousepad");
    command
        .arg("--disable-server")
        .env("GTK_CSD", "0")
        .env("LANG", "C.UTF-8")
        .env("NO_AT_BRIDGE", "1")
        .env("GSETTINGS_BACKEND", "memory")
        .env_remove("WAYLAND_DISPLAY");
    let editor = Process::window(&mut command);
    let found = client.call("computer_wait_for", json!({ "text": "Document", "timeout": 20_000 })).await;
    stage.step(&format!("the editor's window was found by the text in its menu: {}", found.text));
    stage.picture(client, "editor").await;
    let window = client.call("computer_active_window", json!({})).await;
    stage.step(&format!("the active window is {:?}", window.json["title"].as_str().unwrap_or_default()));
    let place = |key: &str| window.json["window"][key].as_i64().expect("the window's place");
    client.call("computer_mouse_click", json!({ "x": place("x") + place("width") / 2, "y": place("y") + place("height") / 2 })).await;
    client.call("computer_keyboard_type", json!({ "text": SENTENCE })).await;
    client.call("computer_wait_for", json!({ "text": "typed by an agent", "timeout": 10_000 })).await;
    stage.step(&format!("typed, and read on the screen: {SENTENCE}"));
    stage.picture(client, "typed").await;
    client.call("computer_click_text", json!({ "text": "File", "nth": 1 })).await;
    client.call("computer_wait_for", json!({ "text": "Save As", "timeout": 10_000 })).await;
    client.call("computer_click_text", json!({ "text": "Save As", "nth": 1 })).await;
    client.call("computer_wait_for", json!({ "text": "Cancel", "timeout": 10_000 })).await;
    stage.step("the editor's own save dialog was opened by clicking on the words File and Save As");
    let file = stage.out.join("saved by the agent.txt");
    let label = client.call("computer_wait_for", json!({ "text": "Name:", "timeout": 10_000 })).await;
    let beside = |key: &str| label.json["element"][key].as_i64().expect("the label's place");
    client.call("computer_mouse_click", json!({ "x": beside("center_x") + 200, "y": beside("center_y") })).await;
    client.call("computer_keyboard_press", json!({ "keys": ["ctrl", "a"] })).await;
    client.call("computer_keyboard_type", json!({ "text": file.to_str().unwrap() })).await;
    client.call("computer_wait_for", json!({ "text": "by the agent.txt", "timeout": 10_000 })).await;
    stage.picture(client, "dialog").await;
    client.call("computer_keyboard_press", json!({ "keys": ["Return"] })).await;
    stage.picture(client, "accepted").await;
    client.call("computer_wait_for", json!({ "gone": "Cancel", "timeout": 10_000 })).await;
    stage.picture(client, "saved").await;
    let read = client.call("computer_file_read", json!({ "path": file.to_str().unwrap() })).await;
    assert_eq!(read.text.trim_end_matches('\n'), SENTENCE, "the saved file is not what was typed");
    stage.step("the saved file was read back and is the same, character for character");
    drop(editor);
}
