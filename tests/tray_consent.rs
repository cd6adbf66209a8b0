//! The person's word, given in the real windows: off, asked, allowed in each of the ways, refused, over.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::eye::{active_window, person_clicks, window_named, windows};
use crate::support::hand::Hand;
use crate::support::tray_app::{Caller, Home, TrayApp};
use crate::support::webdriver::View;
use crate::support::window::Window;
use crate::support::worker::Answer;

/// The title of the question's window.
const QUESTION: &str = "Deskhand asks";

/// Calls, and gives the question that comes this answer. A call that gave up before the answer came is made again.
async fn answered(app: &TrayApp<'_>, caller: &Caller, tool: &str, arguments: Value, button: &str) -> Answer {
    let answering = async { app.question().await.click(button).await };
    let (answer, ()) = tokio::join!(caller.call(tool, arguments.clone()), answering);
    if answer.json["error"] == "consent_pending" { caller.call(tool, arguments).await } else { answer }
}

fn questions(display: &str) -> usize {
    windows(display).iter().filter(|(_, name, _)| name == QUESTION).count()
}

/// One click gives 15 minutes more.
async fn more_time(app: &TrayApp<'_>, window: &View<'_>, before: u64) {
    assert!(window.text("#time-left").await.contains(':'));
    let end = Instant::now() + Duration::from_secs(60);
    // Right after an agent's key a click is not taken for the person's, who then clicks again.
    while app.snapshot().await["control"]["until"].as_u64().unwrap() < before + 14 * 60_000 {
        assert!(Instant::now() < end, "there is no more time");
        window.click("#extend").await;
        tokio::time::sleep(Duration::from_millis(1_200)).await;
    }
    window.until("return parseInt(document.querySelector('#time-left').innerText) > 20").await;
    app.keep(window, "control-on").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_done_before_the_person_says_so_and_it_ends_by_itself() {
    let home = Home::new();
    let app = home.start().await;
    let mut witness = Window::open(home.server.name(), "entry");
    let began = Instant::now();
    let hello = json!({"text": "hello"});
    let answer = app.main.call("computer_keyboard_type", hello.clone()).await;
    assert!(began.elapsed() < Duration::from_secs(20), "it waits for 5 s, not {:?}", began.elapsed());
    assert!(answer.json["retry_after_ms"].as_u64().is_some_and(|ms| ms > 0), "{}", answer.text);
    answer.error("consent_pending");
    let question = app.question().await;
    question.says("#page-title", "Authorize AI control?").await;
    question.says("#ask-tool", "computer_keyboard_type").await;
    question.says("#ask-program", &std::env::current_exe().unwrap().file_name().unwrap().to_string_lossy()).await;
    assert!(!question.text("#ask-arguments").await.contains("hello"), "what is to be typed is not shown");
    window_named(home.server.name(), QUESTION);
    assert_eq!(active_window(home.server.name()), "witness entry", "the question takes the keyboard from nobody");
    app.keep(&question, "question-authorize").await;
    // Only what the call needs is ticked; the person adds one.
    assert_eq!(
        question.run("return [...document.querySelectorAll('[id^=group-]:checked')].map(e => e.id)").await,
        json!(["group-keyboard"])
    );
    question.click("#group-screen").await;
    question.click("#minutes-15").await;
    question.click("#authorize").await;
    app.is("authorised").await;
    assert_eq!(witness.text(), "", "a call that gave up never runs");
    app.main.call("computer_keyboard_type", hello.clone()).await.success();
    app.main.call("computer_screenshot", json!({})).await.success();
    assert_eq!(witness.text(), "hello");
    let control = app.snapshot().await["control"].clone();
    assert_eq!(control["groups"], json!(["screen", "keyboard"]));
    assert_eq!(control["callers"], json!(["main"]));
    let window = app.window().await;
    more_time(&app, &window, control["until"].as_u64().unwrap()).await;
    window.click("#stop").await;
    app.is("off").await;
    // A short one, which nobody ends.
    app.grant(&["screen"], Some(0.05)).await;
    app.main.call("computer_screen_size", json!({})).await;
    app.is("off").await;
    assert_eq!(app.snapshot().await["control"]["reason"], "time");
    // Now it is asked for again, and refused.
    let refused = answered(&app, &app.main, "computer_screen_size", json!({}), "#refuse").await;
    assert!(refused.error("denied").contains("refused"));
    app.main.call("computer_screen_size", json!({})).await.error("denied");
    assert_eq!(questions(home.server.name()), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_outside_the_grant_is_allowed_once_for_the_session_always_or_never() {
    let home = Home::new();
    let app = home.start().await;
    let hand = Hand::on(home.server.name());
    let cursor = home.caller("cursor").await;
    app.authorise(&["screen"]).await;
    let move_to = |x: i64, y: i64| json!({"x": x, "y": y});
    // Once: exactly this call.
    cursor.call("computer_mouse_move", move_to(40, 50)).await.error("consent_pending");
    let question = app.question().await;
    question.says("#page-title", "cursor").await;
    app.keep(&question, "question-group").await;
    question.click("#allow-once").await;
    question.lacks("main.ask").await;
    cursor.call("computer_mouse_move", move_to(60, 70)).await.error("consent_pending");
    assert_ne!(hand.pointer(), (60, 70));
    cursor.call("computer_mouse_move", move_to(40, 50)).await.success();
    assert_eq!(hand.pointer(), (40, 50));
    // For this session: until AI control ends, for this caller.
    app.question().await.click("#allow-session").await;
    question.lacks("main.ask").await;
    for at in [(60, 70), (80, 90)] {
        cursor.call("computer_mouse_move", move_to(at.0, at.1)).await.success();
        assert_eq!(hand.pointer(), at);
    }
    app.order("stop", json!({})).await;
    app.authorise(&["screen"]).await;
    // Always: also after AI control ended, but only while it is on.
    answered(&app, &cursor, "computer_mouse_move", move_to(100, 110), "#allow-always").await.success();
    app.order("stop", json!({})).await;
    let off = cursor.call("computer_mouse_move", move_to(1, 1)).await;
    off.error("consent_pending");
    assert_eq!(app.question().await.run("return document.querySelector('main').dataset.kind").await, "authorize");
    app.authorise(&["screen"]).await;
    cursor.call("computer_mouse_move", move_to(120, 130)).await.success();
    // It is listed, and can be taken back.
    let window = app.window().await;
    window.open("permissions").await;
    window.says("#standing", "Always allowed").await;
    app.keep(&window, "permissions-standing").await;
    window.click("[id='forget-client:cursor-mouse']").await;
    window.click("[id='forget-client:cursor-mouse-yes']").await;
    window.says("#standing", "None.").await;
    // Refused: nobody is asked again until the person changes it.
    let refused = answered(&app, &cursor, "computer_mouse_move", move_to(5, 5), "#refuse").await;
    refused.error("denied");
    cursor.call("computer_mouse_move", move_to(6, 6)).await.error("denied");
    assert_eq!(hand.pointer(), (120, 130));
    window.says("#standing", "Refused").await;
    window.click("[id='forget-client:cursor-mouse']").await;
    window.click("[id='forget-client:cursor-mouse-yes']").await;
    window.says("#standing", "None.").await;
    answered(&app, &cursor, "computer_mouse_move", move_to(140, 150), "#allow-session").await.success();
    assert_eq!(hand.pointer(), (140, 150));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_question_at_a_time_and_a_group_that_is_switched_off_is_gone() {
    let home = Home::new();
    let app = home.start().await;
    let (cursor, codex) = (home.caller("cursor").await, home.caller("codex").await);
    app.authorise(&["screen"]).await;
    let place = json!({"x": 30, "y": 30});
    let asked = tokio::join!(
        cursor.call("computer_mouse_move", place.clone()),
        cursor.call("computer_mouse_move", place.clone()),
        codex.call("computer_mouse_move", place.clone())
    );
    for answer in [asked.0, asked.1, asked.2] {
        answer.error("consent_pending");
    }
    let question = app.question().await;
    question.says("#ask-waiting", "1 more").await;
    window_named(home.server.name(), QUESTION);
    assert_eq!(questions(home.server.name()), 1, "never two windows");
    let first = question.text("#ask-caller").await;
    question.click("#allow-session").await;
    let second = if first == "cursor" { "codex" } else { "cursor" };
    question.says("#ask-caller", second).await;
    question.lacks("#ask-waiting").await;
    question.click("#allow-session").await;
    question.lacks("main.ask").await;
    cursor.call("computer_mouse_move", place.clone()).await.success();
    codex.call("computer_mouse_move", place.clone()).await.success();
    let end = Instant::now() + Duration::from_secs(30);
    while questions(home.server.name()) > 0 {
        assert!(Instant::now() < end, "the question stays on the screen");
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    // Off on the permissions page: not listed, not done, not asked for.
    assert!(cursor.tools().await.iter().any(|t| t == "computer_mouse_move"));
    let window = app.window().await;
    window.open("permissions").await;
    window.click("#allow-mouse").await;
    window.until("return !document.querySelector('#allow-mouse').checked").await;
    let tools = cursor.tools().await;
    assert!(!tools.iter().any(|t| t.starts_with("computer_mouse") || t == "computer_click_text"), "{tools:?}");
    assert!(tools.iter().any(|t| t == "computer_screenshot"));
    assert!(cursor.call("computer_mouse_move", place.clone()).await.error("denied").contains("permissions page"));
    window.click("#allow-mouse").await;
    window.until("return document.querySelector('#allow-mouse').checked").await;
    assert!(cursor.tools().await.iter().any(|t| t == "computer_mouse_move"));
    cursor.call("computer_mouse_move", place).await.success();
}

/// The person's own click on the same place is an answer.
async fn person_answers(app: &TrayApp<'_>, x: i32, y: i32) {
    let end = Instant::now() + Duration::from_secs(60);
    while app.snapshot().await["standing"] == json!([]) {
        // Right after an agent's try it is not taken for the person's, who then clicks again.
        assert!(Instant::now() < end, "the person's own click is no answer");
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        person_clicks(app.home.server.name(), x, y);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_cannot_answer_for_the_person() {
    let home = Home::with(true, &json!({"takeover": false}));
    let app = home.start().await;
    let display = home.server.name();
    app.authorise(&["screen", "mouse", "keyboard"]).await;
    app.main.call("computer_file_list", json!({"path": "/"})).await.error("consent_pending");
    let question = app.question().await;
    question.until("return !document.querySelector('#allow-always').hasAttribute('aria-disabled')").await;
    let middle = question
        .run("const r = document.querySelector('#allow-always').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]")
        .await;
    let [left, top, width, height] = window_named(display, QUESTION);
    let (x, y) = (left + middle[0].as_f64().unwrap() as i32, top + middle[1].as_f64().unwrap() as i32);
    assert!(x < left + width && y < top + height);
    let nothing = async || {
        let now = app.snapshot().await;
        assert_eq!((now["standing"].clone(), now["question"]["group"].as_str()), (json!([]), Some("file_list")));
        assert_eq!(now["control"]["groups"], json!(["screen", "mouse", "keyboard"]));
    };
    let said = app.main.call("computer_mouse_click", json!({"x": x, "y": y})).await.error("denied");
    assert!(said.contains("Deskhand"), "{said}");
    nothing().await;
    // What it asks cannot be read by an agent either.
    let (_, bytes) = app.main.call("computer_screenshot", json!({})).await.success().picture();
    let picture = image::load_from_memory(&bytes).unwrap().to_rgb8();
    let grey: Vec<_> = (0..40).map(|i| *picture.get_pixel((left + 20 + i * 8) as u32, (top + height / 2) as u32)).collect();
    assert!(grey.iter().all(|p| *p == grey[0]), "its words are in the picture");
    // The person looks at the window and has its keyboard: no key of an agent's gets there.
    person_clicks(display, left + width / 2, top + 12);
    let end = Instant::now() + Duration::from_secs(30);
    while active_window(display) != QUESTION {
        assert!(Instant::now() < end, "a click does not bring the question to the front");
        std::thread::sleep(Duration::from_millis(30));
    }
    for (tool, arguments) in [
        ("computer_keyboard_press", json!({"keys": ["tab"]})),
        ("computer_keyboard_press", json!({"keys": ["enter"]})),
        ("computer_keyboard_type", json!({"text": " "})),
    ] {
        app.main.call(tool, arguments).await.error("denied");
    }
    nothing().await;
    // The main window is not an agent's either.
    let window = app.window().await;
    let [left, top, _, height] = window_named(display, "Deskhand");
    app.main.call("computer_mouse_click", json!({"x": left + 60, "y": top + height - 9})).await.error("denied");
    assert!(window.run("return location.hash === ''").await == true);
    person_answers(&app, x, y).await;
    question.lacks("main.ask").await;
    assert_eq!(app.snapshot().await["standing"][0]["group"], "file_list");
}
