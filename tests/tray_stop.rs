//! Stop, in each of its ways, and the person's own hand. A window counts what still arrived.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::eye::{active_window, window_named};
use crate::support::hand::{ALT, CONTROL, ESCAPE, Hand};
use crate::support::painter::{Look, Painter};
use crate::support::tray_app::{Home, OFF, PAUSED, READY, TrayApp};
use crate::support::window::Window;
use crate::support::worker::PATIENCE;

/// Characters that may still arrive after Stop.
const BOUND: usize = 40;

/// Types a long text and has `stop` end it in the midst.
async fn stopped<F: AsyncFnOnce()>(app: &TrayApp<'_>, hand: &Hand, how: &str, stop: F) {
    let mut window = Window::open(app.home.server.name(), "slow");
    app.authorise(&["screen", "mouse", "keyboard"]).await;
    let typing = app.main.call("computer_keyboard_type", json!({"text": "Slowly ".repeat(2_000)}));
    let stopping = async {
        let end = Instant::now() + PATIENCE;
        while window.glance().len() < 20 {
            assert!(Instant::now() < end, "nothing is typed");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        stop().await;
        (window.glance().len(), Instant::now())
    };
    let (answer, (before, at)) = tokio::join!(typing, stopping);
    assert!(!answer.ok, "{how}: {}", answer.text);
    assert!(at.elapsed() < Duration::from_secs(10), "{how}: it took {:?}", at.elapsed());
    let after = window.text().len() - before;
    assert!(after <= BOUND, "{how}: {after} characters after Stop");
    hand.wait_held(&[], 0);
    app.is_off(how).await;
    let told = window.text().len();
    let answer = app.main.call("computer_keyboard_type", json!({"text": "more"})).await;
    answer.error("consent_pending");
    assert_eq!(window.text().len(), told, "{how}: something is typed after Stop");
    app.question().await.click("#refuse").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stop_key_the_sign_the_window_and_the_menu_stop_what_is_being_typed() {
    let mut home = Home::new();
    let mut tray = home.take_tray();
    let app = home.start().await;
    let hand = Hand::on(home.server.name());
    stopped(&app, &hand, "the key", async || hand.chord(&[CONTROL, ALT, ESCAPE])).await;
    stopped(&app, &hand, "the sign", async || app.driver.view("pill").await.click("#stop").await).await;
    stopped(&app, &hand, "the window", async || app.window().await.click("#stop").await).await;
    stopped(&app, &hand, "the menu", async || tray.choose("Stop everything")).await;
    tray.icon_of(OFF);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_persons_hand_pauses_and_after_resuming_the_agent_must_look() {
    let mut home = Home::new();
    let mut tray = home.take_tray();
    let app = home.start().await;
    let hand = Hand::on(home.server.name());
    app.authorise(&["screen", "mouse", "keyboard"]).await;
    tray.icon_of(READY);
    let end = Instant::now() + PATIENCE;
    // The hand counts only while an agent acts, so it comes right after an action.
    loop {
        let answer = app.main.call("computer_mouse_move", json!({"x": 300, "y": 200})).await;
        if answer.json["error"] == "paused" {
            assert!(answer.text.contains("resume"), "{}", answer.text);
            break;
        }
        assert!(Instant::now() < end, "the person's motion does not pause: {}", answer.text);
        hand.point(20, 20);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(hand.pointer(), (20, 20));
    app.is("paused").await;
    tray.icon_of(PAUSED);
    tray.offers("Resume");
    let window = app.window().await;
    window.says("#state", "paused").await;
    app.keep(&window, "control-paused").await;
    app.main.call("computer_screenshot", json!({})).await.error("paused");
    window.click("#resume").await;
    app.is("authorised").await;
    tray.icon_of(READY);
    app.main.call("computer_mouse_move", json!({"x": 300, "y": 200})).await.error("look_again");
    assert_eq!(hand.pointer(), (20, 20));
    app.main.call("computer_screenshot", json!({})).await.success();
    app.main.call("computer_mouse_move", json!({"x": 300, "y": 200})).await.success();
    assert_eq!(hand.pointer(), (300, 200));
}

/// What the screen shows there, by the server's own word.
fn pixels(display: &str, [x, y, width, height]: [i32; 4]) -> Vec<u8> {
    use x11rb::connection::Connection as _;
    use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat};
    let (conn, number) = x11rb::rust_connection::RustConnection::connect(Some(display)).unwrap();
    let root = conn.setup().roots[number].root;
    let image = conn.get_image(ImageFormat::Z_PIXMAP, root, x as i16, y as i16, width as u16, height as u16, !0).unwrap();
    image.reply().unwrap().data
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sign_is_seen_by_the_person_and_by_no_agent_and_is_in_nobodys_way() {
    const SIGN: &str = "AI is acting";
    let home = Home::with(true, &json!({"takeover": false}));
    let app = home.start().await;
    let display = home.server.name();
    let painter = Painter::open(display);
    let beneath = painter.window(&Look { rect: [300, 0, 680, 70], ..Look::default() });
    let mut witness = Window::open(display, "slow");
    app.authorise(&["screen", "mouse", "keyboard"]).await;
    let shot = async || {
        let (_, bytes) = app.main.call("computer_screenshot", json!({"format": "png", "region": "300,0,680,70"})).await.success().picture();
        image::load_from_memory(&bytes).unwrap().to_rgb8()
    };
    let bare = pixels(display, [300, 0, 680, 70]);
    let without = shot().await;
    // The person's eye sees it over the window beneath while a text is being typed; what is asked for meanwhile comes next,
    // with the sign still there.
    let sign = async || {
        let end = Instant::now() + PATIENCE;
        loop {
            let now = pixels(display, [300, 0, 680, 70]);
            if now.chunks(4).zip(bare.chunks(4)).filter(|(a, b)| a[..3] != b[..3]).count() > 400 * 30 {
                assert_eq!(active_window(display), "witness slow", "it takes the keyboard");
                return window_named(display, SIGN);
            }
            assert!(Instant::now() < end, "the sign is not seen");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let text = json!({"text": "x".repeat(40)});
    let (typed, (place, picture)) = tokio::join!(app.main.call("computer_keyboard_type", text.clone()), async {
        let place = sign().await;
        app.keep(&app.driver.view("pill").await, "sign").await;
        (place, shot().await)
    });
    typed.success();
    assert!(picture == without, "it is in the picture");
    let (x, y) = (place[0] + place[2] / 2, place[1] + place[3] / 2);
    let (typed, again) = tokio::join!(app.main.call("computer_keyboard_type", text), async {
        let again = sign().await;
        app.main.call("computer_mouse_click", json!({"x": x, "y": y})).await.success();
        again
    });
    typed.success();
    assert_eq!(again, place, "it stands where it stood");
    assert_eq!(painter.press(beneath), Some((1, x, y)), "the click reaches what is beneath");
    assert_eq!(witness.text(), "x".repeat(80));
    assert_eq!(app.snapshot().await["control"]["state"], "authorised", "it was no click on Stop");
}
