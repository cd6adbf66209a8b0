//! The mouse as toolkits understand it: clicks that count, drags that are drags, notches that are notches. Rows B038 to
//! B046 of the public reports, and their kind.

use serde_json::json;

use crate::support::hand::Hand;
use crate::support::page::Page;
use crate::support::server::Server;
use crate::support::window::Window;
use crate::support::worker::Worker;

/// Looks until it is there: a window manager holds a press back while it looks at it, so that it arrives a little later.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(std::time::Instant::now() < end, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_clicks_select_a_word_and_three_a_line() {
    let server = Server::managed("800x600x24");
    let worker = Worker::on(server.name()).await;
    let line = format!("{} other", "word".repeat(12));
    // The same line over and over: wherever the middle is, a long word is there.
    for (clicks, wanted) in [(2, "word".repeat(12)), (3, line.clone())] {
        // A window of its own for each: toolkits count clicks that follow each other soon as one sequence.
        let mut window = Window::open(server.name(), "view");
        let (x, y) = window.middle();
        worker.call("computer_keyboard_type", json!({"text": format!("{line}\n").repeat(14)})).await.success();
        // Laid out before it is clicked: until then a click is below the text.
        assert_eq!(window.text().lines().count(), 14);
        worker.call("computer_mouse_click", json!({"x": x - 150, "y": y, "clicks": clicks})).await.success();
        until(&wanted, || (window.selection().trim_end() == wanted).then_some(()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clicks_and_moves_arrive_where_asked_and_nowhere_else() {
    let server = Server::managed("800x600x24");
    let (worker, hand) = (Worker::on(server.name()).await, Hand::on(server.name()));
    let mut window = Window::open(server.name(), "view");
    let (x, y) = window.middle();
    for (button, number) in [("left", 1), ("middle", 2), ("right", 3)] {
        window.clear();
        let answer = worker.call("computer_mouse_click", json!({"x": x, "y": y, "button": button})).await.success();
        assert_eq!((answer.json["x"].as_i64(), answer.json["y"].as_i64()), (Some(x), Some(y)));
        let press = until("the press arrives", || window.events().into_iter().find(|e| e["type"] == "button-press"));
        assert_eq!((press["button"].as_i64(), press["x"].as_i64(), press["y"].as_i64()), (Some(number), Some(x), Some(y)));
        worker.call("computer_keyboard_press", json!({"keys": ["esc"]})).await.success();
    }
    let before = hand.pointer();
    for (x, y) in [(800, 10), (10, 600), (-1, 5)] {
        let text = worker.call("computer_mouse_click", json!({"x": x, "y": y})).await.error("invalid_arguments");
        assert!(text.contains("799,599"), "{text}");
    }
    assert_eq!(hand.pointer(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn relative_moves_are_exact() {
    let server = Server::start("1280x800x24");
    let (worker, hand) = (Worker::on(server.name()).await, Hand::on(server.name()));
    hand.point(1111, 733);
    let by = |x: i32, y: i32| json!({"action": {"action_type": "MOVE_REL", "x_offset": x, "y_offset": y}});
    for _ in 0..50 {
        worker.call("browser_gui_execute_action", by(0, 0)).await.success();
    }
    assert_eq!(hand.pointer(), (1111, 733));
    worker.call("browser_gui_execute_action", by(-9, 6)).await.success();
    assert_eq!(hand.pointer(), (1102, 739));
}

#[tokio::test(flavor = "multi_thread")]
async fn drags_are_drags_however_short() {
    let server = Server::managed("800x600x24");
    let worker = Worker::on(server.name()).await;
    let mut window = Window::open(server.name(), "view");
    let (x, y) = window.middle();
    for distance in [3, 150] {
        window.clear();
        worker.call("computer_mouse_drag", json!({"startX": x, "startY": y, "endX": x + distance, "endY": y})).await.success();
        let events = window.events();
        let at = |kind: &str| events.iter().find(|e| e["type"] == kind).map(|e| e["x"].as_i64().unwrap());
        assert_eq!((at("button-press"), at("button-release")), (Some(x), Some(x + distance)));
        let held = events.iter().filter(|e| e["type"] == "motion" && e["state"].as_i64().unwrap() & 256 != 0).count();
        assert!(held >= 2, "{held} moves with the button held over {distance} px");
    }
    Hand::on(server.name()).wait_held(&[], 0);
    worker.call("computer_mouse_drag", json!({"startX": x, "startY": y, "endX": x, "endY": y})).await.error("invalid_arguments");
}

// A slow page is given several moves as one event; what counts is what reached it.
const LIST: &str = "<style>.i{position:absolute;left:100px;width:300px;height:50px;background:#dde;user-select:none}</style>\
    <div class=i id=a style='top:100px'>A</div><div class=i id=b style='top:160px'>B</div><div class=i id=c style='top:220px'>C</div>\
    <script>let from=null,over=null,n=0;document.onmousedown=e=>{e.preventDefault();from=e.target.id;n=0};\
    document.onpointermove=e=>{if(!(e.buttons&1))return;for(const c of e.getCoalescedEvents()){\
    const t=document.elementFromPoint(c.clientX,c.clientY),id=t&&t.id;n=id==over?n+1:1;over=id}};\
    document.onmouseup=e=>say({kind:'dropped',from,over,moves:n});ready()</script>";

#[tokio::test(flavor = "multi_thread")]
async fn a_target_sees_two_moves_before_the_drop() {
    let server = Server::managed("1280x800x24");
    let worker = Worker::on(server.name()).await;
    let page = Page::open(server.name(), LIST);
    let (x, y) = (0, 0);
    worker.call("computer_mouse_drag", json!({"startX": x + 250, "startY": y + 125, "endX": x + 250, "endY": y + 245})).await.success();
    let dropped = page.wait_for("dropped");
    assert_eq!((dropped["from"].as_str(), dropped["over"].as_str()), (Some("a"), Some("c")));
    assert!(dropped["moves"].as_i64().unwrap() >= 2, "{dropped}");
    for action in
        [json!({"action_type": "MOVE_TO", "x": x + 250, "y": y + 245}), json!({"action_type": "DRAG_REL", "x_offset": 0, "y_offset": -60})]
    {
        worker.call("browser_gui_execute_action", json!({ "action": action })).await.success();
    }
    let dropped = page.wait_for("dropped");
    assert_eq!((dropped["from"].as_str(), dropped["over"].as_str()), (Some("c"), Some("b")));
}

#[tokio::test(flavor = "multi_thread")]
async fn notches_are_counted_down_and_right_and_the_other_tool_counts_up() {
    let server = Server::managed("1280x800x24");
    let worker = Worker::on(server.name()).await;
    let page = Page::open(
        server.name(),
        "<div style='height:10000px;background:linear-gradient(#eee,#888)'></div><script>scrollTo(0,4000);let last=-1;\
         setInterval(()=>{if(scrollY!=last){last=scrollY;say({kind:'at',y:scrollY})}},30);setTimeout(ready,300)</script>",
    );
    let (x, y) = (300, 300);
    let scroll = |n: i32| worker.call("computer_mouse_scroll", json!({"x": x, "y": y, "scrollY": n}));
    scroll(1).await.success();
    let one = page.wait_until("at", |r| r["y"].as_i64() > Some(4000))["y"].as_i64().unwrap() - 4000;
    scroll(3).await.success();
    page.wait_until("at", |r| r["y"] == 4000 + 4 * one);
    scroll(-3).await.success();
    page.wait_until("at", |r| r["y"] == 4000 + one);
    scroll(0).await.success();
    worker.call("browser_gui_execute_action", json!({"action": {"action_type": "SCROLL", "dy": 1}})).await.success();
    page.wait_until("at", |r| r["y"] == 4000);
    worker.call("computer_mouse_scroll", json!({"scrollY": 0.5})).await.error("invalid_arguments");
    worker.call("computer_mouse_scroll", json!({"x": 5, "scrollY": 1})).await.error("invalid_arguments");
}
