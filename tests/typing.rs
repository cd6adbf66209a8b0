//! Text arrives exactly as asked, whatever the keymap, whoever holds what, into whatever reads it; and the keyboard is
//! afterwards what it was. Rows B002 to B026 of the public reports, and their kind.

use serde_json::json;

use crate::support::hand::{ALT, CAPS_LOCK, CONTROL, Hand, NUM_LOCK, SHIFT};
use crate::support::page::Page;
use crate::support::server::Server;
use crate::support::terminal::Terminal;
use crate::support::window::Window;
use crate::support::worker::{Answer, Worker};

/// Dead keys, swapped letters, other scripts, a family of emoji, a combining accent.
const EVERYTHING: &str =
    "Zypresse yYzZ a^ ~n e` o ^ say \"hi\" @home run_a_b; 0123 раз два € àéîõüß øØ 漢字テスト 😀👍🏽 👨\u{200d}👩\u{200d}👧 e\u{301} ^";

struct Desk {
    server: Server,
    worker: Worker,
    hand: Hand,
}

impl Desk {
    async fn set() -> Self {
        let server = Server::managed("1280x800x24");
        let (worker, hand) = (Worker::on(server.name()).await, Hand::on(server.name()));
        Self { server, worker, hand }
    }

    async fn type_text(&self, text: &str) -> Answer {
        self.worker.call("computer_keyboard_type", json!({ "text": text })).await
    }

    /// Types into the window and compares, the keyboard too.
    #[track_caller]
    fn compare(&self, window: &mut Window, text: &str, before: (String, u8, u16), what: &str) {
        let got = window.text();
        assert_eq!(got, text, "{what}");
        let after = self.hand.keyboard();
        assert!(after.0 == before.0, "{what}: the keymap is another one afterwards");
        assert_eq!((after.1, after.2), (before.1, before.2), "{what}: group and locks");
    }

    async fn exact(&self, window: &mut Window, text: &str, what: &str) {
        window.clear();
        let before = self.hand.keyboard();
        self.type_text(text).await.success();
        self.compare(window, text, before, what);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_is_exact_on_every_layout_also_one_set_later() {
    let desk = Desk::set().await;
    let mut window = Window::open(desk.server.name(), "entry");
    desk.exact(&mut window, EVERYTHING, "a server that nobody has configured").await;
    for layout in
        ["de", "us -variant colemak", "gb", "it", "fr", "ru", "us,ru", "gr", "us -variant intl", "jp", "cz", "ara", "ch -variant fr"]
    {
        desk.hand.layout(&layout.split(' ').collect::<Vec<_>>());
        desk.exact(&mut window, EVERYTHING, layout).await;
    }
    desk.hand.layout(&["us,ru"]);
    desk.hand.group(1);
    desk.exact(&mut window, "hello привет @#", "the second group in force").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_and_keys_that_others_hold_stay_as_they_are() {
    let desk = Desk::set().await;
    let mut window = Window::open(desk.server.name(), "entry");
    for lock in [CAPS_LOCK, NUM_LOCK] {
        desk.hand.chord(&[lock]);
        desk.exact(&mut window, EVERYTHING, "a lock is on").await;
        desk.hand.chord(&[lock]);
    }
    for held in [SHIFT, CONTROL, ALT] {
        window.clear();
        desk.hand.key(held, true);
        let before = desk.hand.keyboard();
        desk.type_text(EVERYTHING).await.success();
        desk.compare(&mut window, EVERYTHING, before, "a modifier is held");
        assert_eq!(desk.hand.held().keys, [held], "still held");
        desk.hand.key(held, false);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modifier_let_go_while_typing_does_not_stick() {
    let desk = Desk::set().await;
    let mut window = Window::open(desk.server.name(), "view");
    desk.hand.key(CONTROL, true);
    let text = "hello ".repeat(200);
    let (answer, ()) = tokio::join!(desk.type_text(&text), async {
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        desk.hand.key(CONTROL, false);
    });
    answer.success();
    assert_eq!(window.text(), text);
    desk.hand.wait_held(&[], 0);
    desk.type_text("x").await.success();
    assert_eq!(window.text(), format!("{text}x"));
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_tabs_and_what_no_key_types() {
    let desk = Desk::set().await;
    let mut window = Window::open(desk.server.name(), "view");
    desk.type_text("one\n\ttwo\r\nthree\n").await.success();
    assert_eq!(window.text(), "one\n\ttwo\nthree\n");
    window.clear();
    let refused = desk.type_text("a\u{1b}b").await;
    assert_eq!(refused.json["typed"], 0);
    let text = refused.error("failed");
    assert!(text.contains("U+001B") && text.contains("0 of 3"), "{text}");
    assert_eq!(window.text(), "", "nothing is half done");
}

#[tokio::test(flavor = "multi_thread")]
async fn terminals_get_every_byte() {
    let desk = Desk::set().await;
    desk.hand.layout(&["us"]);
    let terminal = Terminal::open(desk.server.name());
    let many: String = (0x4e00..0x4e60).filter_map(char::from_u32).collect();
    for text in [EVERYTHING, &many] {
        let before = std::fs::read(terminal.file()).unwrap_or_default();
        desk.type_text(text).await.success();
        let wanted = String::from_utf8(before).unwrap() + text;
        assert_eq!(terminal.text(&wanted), wanted);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keymap_without_a_free_key_is_no_obstacle() {
    let desk = Desk::set().await;
    desk.hand.layout(&["us"]);
    desk.hand.fill_keymap();
    let before = desk.hand.keyboard();
    let terminal = Terminal::open(desk.server.name());
    let text = "We USE It, in Rome!? 漢字";
    desk.type_text(text).await.success();
    assert_eq!(terminal.text(text), text);
    assert!(desk.hand.keyboard() == before);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_get_text_and_no_paste() {
    let desk = Desk::set().await;
    let page = Page::open(
        desk.server.name(),
        "<textarea id=q autofocus></textarea><script>q.oninput=()=>say({kind:'text',value:q.value});\
         q.onkeydown=e=>{if(e.ctrlKey)say({kind:'shortcut',key:e.key})};ready()</script>",
    );
    let many: String = (0x4e00..0x4e60).filter_map(char::from_u32).collect();
    let text = format!("{EVERYTHING} {many}");
    desk.type_text(&text).await.success();
    page.wait_until("text", |report| report["value"] == text.as_str());
    assert!(page.rest().iter().all(|r| r["kind"] != "shortcut"));
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_windows_lose_nothing() {
    let desk = Desk::set().await;
    let mut window = Window::open(desk.server.name(), "slow");
    let text = "aaabbbcccc   The 3 quick foxes, aABb! 漢漢字 ".repeat(5);
    desk.type_text(&text).await.success();
    assert_eq!(window.text(), text);
    // More than it can handle within the time of a call: it gets all of it, and the result does not claim to have seen that.
    window.clear();
    let text = "aaabbbcccc   The 3 quick foxes, aABb! ".repeat(16);
    let answer = desk.type_text(&text).await.success();
    assert_eq!(answer.json["confirmed"], false, "{}", answer.text);
    assert_eq!(window.text(), text);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_characters_and_many_short_calls_are_in_order() {
    let desk = Desk::set().await;
    let mut window = Window::open(desk.server.name(), "view");
    let text: String =
        (0..10_000).map(|i| if i % 70 == 69 { '\n' } else { char::from(b' ' + u8::try_from(i * 7 % 95).unwrap()) }).collect();
    desk.type_text(&text).await.success();
    assert_eq!(window.text(), text);
    window.clear();
    let mut whole = String::new();
    for i in 0..30 {
        let part = format!("[{i:02}] the quick brown fox jumps over it; .");
        desk.type_text(&part).await.success();
        whole += &part;
    }
    assert_eq!(window.text(), whole);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_focused_window_typing_is_refused() {
    let server = Server::start("640x480x24");
    let worker = Worker::on(server.name()).await;
    Hand::on(server.name()).unfocus();
    let text = worker.call("computer_keyboard_type", json!({"text": "x"})).await.error("unavailable");
    assert!(text.contains("focus"), "{text}");
}
