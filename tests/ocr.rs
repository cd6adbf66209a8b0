//! The text on the screen: read from real GTK windows, clicked, waited for, and never written down. Rows B074, B076, B078,
//! B080, B082, B084 of the public reports, and their kind. Which engine reads is what this machine has: PP-OCR with its
//! models, else Tesseract; `deskhand-desktop`'s own tests run both.

use serde_json::{Value, json};
use std::time::Duration;

use crate::support::board::Board;
use crate::support::server::Server;
use crate::support::worker::{Answer, Worker};

const TEN: [&str; 10] = [
    "Lantern 1042 is lit",
    "Open harbour map",
    "Print two tickets",
    "Ferry at half past nine",
    "Save before sailing",
    "Radio connected",
    "Tank is 71 percent full",
    "New chart available",
    "Reply to Margaret",
    "Delete old routes",
];

fn label(text: &str, x: i32, y: i32, px: u32, fg: &str) -> Value {
    json!({"kind": "label", "text": text, "x": x, "y": y, "px": px, "fg": fg})
}

fn patch(name: &str, rect: [i32; 4], bg: &str) -> Value {
    json!({"kind": "patch", "name": name, "x": rect[0], "y": rect[1], "width": rect[2], "height": rect[3], "bg": bg})
}

fn button(text: &str, x: i32, y: i32) -> Value {
    json!({"kind": "button", "text": text, "x": x, "y": y, "px": 18, "font": "Noto Sans CJK SC"})
}

fn texts(answer: &Answer) -> Vec<&str> {
    answer.json["elements"].as_array().unwrap().iter().map(|e| e["text"].as_str().unwrap()).collect()
}

fn element<'a>(answer: &'a Answer, text: &str) -> &'a Value {
    let elements = answer.json["elements"].as_array().unwrap();
    elements.iter().find(|e| e["text"] == text).unwrap_or_else(|| panic!("{text:?} is not among {:?}", texts(answer)))
}

async fn read(worker: &Worker, arguments: Value) -> Answer {
    worker.call("computer_screen_text", arguments).await.success()
}

#[tokio::test(flavor = "multi_thread")]
async fn dark_and_light_halves_are_both_read_line_by_line() {
    let server = Server::start("1280x800x24");
    let mut items = vec![patch("dark", [0, 0, 640, 800], "#1e1e22"), patch("light", [640, 0, 640, 800], "#fafafa")];
    for (at, text) in (0..).zip(TEN) {
        items.push(label(text, 30, 30 + 50 * at, 20, "#e1e1e1"));
        items.push(
            json!({"kind": "label", "name": format!("{text} 2"), "text": text, "x": 670, "y": 30 + 50 * at, "px": 20, "fg": "#1e1e1e"}),
        );
    }
    let _board = Board::show(server.name(), (1280, 800), &items);
    let worker = Worker::on(server.name()).await;
    let answer = read(&worker, json!({})).await;
    for text in TEN {
        let found = texts(&answer).into_iter().filter(|t| *t == text).count();
        assert_eq!(found, 2, "{text:?} in {:?}", texts(&answer));
    }
    assert_eq!(answer.json["count"], 20);
    let ys: Vec<i64> = answer.json["elements"].as_array().unwrap().iter().map(|e| e["y"].as_i64().unwrap()).collect();
    assert!(ys.is_sorted_by(|a, b| *b > *a - 10), "reading order: {ys:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gtk_window_is_read_and_clicked_in_english_and_chinese() {
    let server = Server::start("1280x800x24");
    let items = [
        label("Where shall the ferry go?", 60, 40, 20, "#222222"),
        button("确定", 90, 120),
        button("取消 Cancel", 320, 120),
        button("Keep sailing", 90, 220),
        button("打开海图", 320, 220),
    ];
    let board = Board::show(server.name(), (700, 400), &items);
    let worker = Worker::on(server.name()).await;
    let answer = read(&worker, json!({})).await;
    assert!(texts(&answer).contains(&"确定"), "no space inside Han: {:?}", texts(&answer));
    assert!(texts(&answer).contains(&"取消 Cancel"), "the space before Latin stays: {:?}", texts(&answer));
    for (text, button) in [("确定", "确定"), ("Keep sailing", "Keep sailing"), ("打开海图", "打开海图"), ("cancel", "取消 Cancel")]
    {
        let clicked = worker.call("computer_click_text", json!({"text": text})).await.success();
        assert_eq!(board.wait_for("clicked")["name"], button, "{text} was clicked at {}", clicked.json);
    }
    // The place that was read is one that can be clicked.
    let place = element(&answer, "Keep sailing");
    worker.call("computer_mouse_click", json!({"x": place["center_x"], "y": place["center_y"]})).await.success();
    assert_eq!(board.wait_for("clicked")["name"], "Keep sailing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_there_twice_is_only_clicked_when_one_is_chosen() {
    let server = Server::start("1280x800x24");
    let open = |name: &str, x| json!({"kind": "button", "name": name, "text": "Open", "x": x, "y": 120, "px": 18});
    let items = [open("first", 80), open("second", 300), label("Open the gate", 80, 40, 18, "#222222")];
    let board = Board::show(server.name(), (700, 400), &items);
    let worker = Worker::on(server.name()).await;
    let error = worker.call("computer_click_text", json!({"text": "Open"})).await.error("invalid_arguments");
    assert!(error.contains("2 times") && error.contains("1: \"Open\" at") && error.contains("nth"), "{error}");
    board.untouched();
    worker.call("computer_click_text", json!({"text": "Open", "nth": 2})).await.success();
    assert_eq!(board.wait_for("clicked")["name"], "second");
    worker.call("computer_click_text", json!({"text": "open", "region": "60,100,160,80", "clicks": 2})).await.success();
    assert_eq!(board.wait_for("clicked")["name"], "first");
    let error = worker.call("computer_click_text", json!({"text": "Open", "nth": 3})).await.error("not_found");
    assert!(error.contains("only 2"), "{error}");
    let error = worker.call("computer_click_text", json!({"text": "Submarine"})).await.error("not_found");
    assert!(error.contains("nothing was clicked"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_region_gives_screen_coordinates_and_only_what_is_in_it() {
    let server = Server::start("1280x800x24");
    let twice = json!({"kind": "label", "name": "second", "text": "PELICAN", "x": 420, "y": 380, "px": 26, "fg": "#000000"});
    let _board = Board::show(server.name(), (1280, 800), &[label("PELICAN", 20, 20, 26, "#000000"), twice]);
    let worker = Worker::on(server.name()).await;
    let answer = read(&worker, json!({"region": "320,240,400,300", "words": true})).await;
    assert_eq!(texts(&answer), ["PELICAN"]);
    let found = element(&answer, "PELICAN");
    let (x, y) = (found["x"].as_i64().unwrap(), found["y"].as_i64().unwrap());
    assert!((415..430).contains(&x) && (378..400).contains(&y), "{found}");
    assert_eq!(found["words"][0]["text"], "PELICAN");
    let confidence = found["confidence"].as_f64().unwrap();
    assert!((0.5..=1.0).contains(&confidence), "{confidence}");
    worker.call("computer_screen_text", json!({"region": "5000,0,10,10"})).await.error("invalid_arguments");
    let answer = read(&worker, json!({"find": "/^PEL.CAN$/"})).await;
    assert_eq!(answer.json["count"], 2);
    worker.call("computer_screen_text", json!({"find": "/(/"})).await.error("invalid_arguments");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selected_row_and_huge_digits_are_read() {
    let server = Server::start("1280x800x24");
    let rows = ["Documents", "Downloads", "Photographs", "Recordings", "Templates"];
    let mut items = vec![patch("selected", [40, 100, 400, 30], "#3584e4")];
    for (at, row) in (0..).zip(rows) {
        items.push(label(row, 60, 44 + 30 * at, 16, if at == 2 { "#ffffff" } else { "#222222" }));
    }
    items.push(label("12:47", 520, 60, 140, "#000000"));
    let _board = Board::show(server.name(), (1280, 800), &items);
    let worker = Worker::on(server.name()).await;
    let answer = read(&worker, json!({"region": "40,40,400,170"})).await;
    assert_eq!(texts(&answer), rows);
    let answer = read(&worker, json!({"region": "460,0,800,300"})).await;
    assert!(texts(&answer).contains(&"12:47"), "{:?}", texts(&answer));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_changed_is_given_when_asked_for() {
    let server = Server::start("800x600x24");
    let mut board = Board::show(server.name(), (800, 600), &[label("Stays where it is", 40, 40, 18, "#111111")]);
    let worker = Worker::on(server.name()).await;
    let before = read(&worker, json!({})).await;
    let frame = before.json["frame"].as_str().unwrap();
    assert_eq!(read(&worker, json!({"changed_since": frame})).await.json["count"], 0);
    board.add(&label("Has just come", 40, 300, 18, "#111111"));
    worker.call("computer_wait_for", json!({"text": "Has just come", "timeout": 30_000})).await.success();
    let after = read(&worker, json!({"changed_since": frame})).await;
    assert_eq!(texts(&after), ["Has just come"]);
    worker.call("computer_screen_text", json!({"changed_since": "f999999"})).await.error("look_again");
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_ends_with_the_event_or_in_time() {
    let server = Server::start("800x600x24");
    let mut board = Board::show(server.name(), (800, 600), &[label("Loading charts", 40, 40, 18, "#111111")]);
    let worker = Worker::on(server.name()).await;
    worker.call("computer_wait_for", json!({"text": "charts"})).await.success();
    let error = worker.call("computer_wait_for", json!({"text": "Finished", "timeout": 300})).await.error("timed_out");
    assert!(error.contains("1 lines were read"), "{error}");
    let error = worker.call("computer_wait_for", json!({"changed": "0,200,400,200", "timeout": 300})).await.error("timed_out");
    assert!(error.contains("nothing changed"), "{error}");
    worker.call("computer_wait_for", json!({"gone": "Loading", "timeout": 300})).await.error("timed_out");
    for wrong in [json!({}), json!({"text": "a", "gone": "b"}), json!({"changed": "1,2,3"})] {
        worker.call("computer_wait_for", wrong).await.error("invalid_arguments");
    }
    let waiting = worker.call("computer_wait_for", json!({"gone": "Loading charts", "timeout": 60_000}));
    let hiding = async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        board.hide("Loading charts");
        board.add(&label("Finished", 40, 300, 18, "#111111"));
    };
    let (gone, ()) = tokio::join!(waiting, hiding);
    assert_eq!(gone.success().json["ok"], true);
    let shown = worker.call("computer_wait_for", json!({"text": "Finished", "timeout": 60_000})).await.success();
    assert_eq!(shown.json["element"]["text"], "Finished");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_on_the_screen_is_written_nowhere() {
    let server = Server::start("800x600x24");
    let secret = "Albatross 8817";
    let _board = Board::show(server.name(), (800, 600), &[label(secret, 40, 40, 20, "#111111")]);
    let worker = Worker::on(server.name()).await;
    assert_eq!(texts(&read(&worker, json!({})).await), [secret]);
    worker.call("computer_click_text", json!({"text": "Albatross"})).await.success();
    let state = worker.state.clone();
    let _folder = worker.into_folder().await;
    let mut files = 0;
    let mut folders = vec![state];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if entry.file_type().unwrap().is_file() {
                files += 1;
                let bytes = std::fs::read(entry.path()).unwrap();
                assert!(!String::from_utf8_lossy(&bytes).contains("Albatross"), "{} holds it", entry.path().display());
            }
        }
    }
    assert!(files > 0, "the audit log at least");
}
