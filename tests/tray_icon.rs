//! The icon in the tray, its menu, and the app without one. The tray is the test's own; it sees what a panel would.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::eye::{close, window_named, windows};
use crate::support::tray_app::{ACTING, Home, OFF, PAUSED, PROBLEM, READY, TrayApp};
use crate::support::tray_host::TrayHost;
use crate::support::window::Window;
use crate::support::worker::PATIENCE;

/// Waits until the main window is shown or not.
fn wait_shown(display: &str, wanted: bool) {
    let end = Instant::now() + PATIENCE;
    while windows(display).iter().any(|(_, name, _)| name == "Deskhand") != wanted {
        assert!(Instant::now() < end, "the window is shown: {}", !wanted);
        std::thread::sleep(Duration::from_millis(30));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_icon_tells_the_state_and_each_entry_of_the_menu_does_its_thing() {
    let mut home = Home::new();
    let mut tray = home.take_tray();
    let app = home.start().await;
    let display = home.server.name();
    let mut sums = vec![tray.icon_of(OFF)["picture"]["sum"].clone()];
    assert_eq!(tray.icons(), 1);
    the_menu_offers_times(&mut tray, &app).await;
    tray.choose("Until I stop it");
    app.window().await.says("#time-left", "Until you stop it").await;
    sums.push(tray.icon_of(READY)["picture"]["sum"].clone());
    tray.choose("Pause");
    app.is("paused").await;
    sums.push(tray.icon_of(PAUSED)["picture"]["sum"].clone());
    tray.choose("Resume");
    app.is("authorised").await;
    app.main.call("computer_screenshot", json!({})).await.success();
    // While an agent acts.
    let _window = Window::open(display, "slow");
    let typing = app.main.call("computer_keyboard_type", json!({"text": "x".repeat(10_000)}));
    let (answer, acting) = tokio::join!(typing, async {
        let acting = tokio::task::block_in_place(|| tray.icon_of(ACTING));
        tokio::task::block_in_place(|| tray.choose("Stop everything"));
        acting
    });
    assert!(!answer.ok);
    sums.push(acting["picture"]["sum"].clone());
    app.is("off").await;
    tray.icon_of(OFF);
    // Closed, the window is only hidden; the menu brings it back.
    close(display, "Deskhand");
    wait_shown(display, false);
    app.main.call("computer_whitelist", json!({})).await.error("consent_pending");
    tray.choose("Open Deskhand");
    wait_shown(display, true);
    tray.choose("Quit");
    let end = Instant::now() + PATIENCE;
    while home.state.join("worker.json").exists() || tray.icons() > 0 {
        assert!(Instant::now() < end, "it does not end: {}", home.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    drop(app);
    sums.push(trouble(&home, &mut tray).await);
    let distinct: std::collections::BTreeSet<_> = sums.iter().map(ToString::to_string).collect();
    assert_eq!(distinct.len(), 5, "five states, five icons");
}

async fn the_menu_offers_times(tray: &mut TrayHost, app: &TrayApp<'_>) {
    let icon = tray.icon();
    assert_eq!(icon["Status"], "Active");
    let labels: Vec<_> = tray.menu().into_iter().map(|row| (row.label, row.enabled)).collect();
    for wanted in ["Authorize AI control", "For 15 minutes", "For 1 hour", "Until I stop it", "Stop everything", "Open Deskhand", "Quit"] {
        assert!(labels.contains(&(wanted.to_owned(), true)), "{wanted} is not in {labels:?}");
    }
    assert!(labels.contains(&("Pause".to_owned(), false)), "there is nothing to pause: {labels:?}");
    let minutes = async || {
        let until = app.snapshot().await["control"]["until"].as_u64()?;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        Some((until - u64::try_from(now).unwrap()) / 60_000)
    };
    for (label, least, most) in [("For 15 minutes", 10, 15), ("For 1 hour", 50, 60)] {
        tray.choose(label);
        app.is("authorised").await;
        let end = Instant::now() + PATIENCE;
        while !minutes().await.is_some_and(|m| (least..=most).contains(&m)) {
            assert!(Instant::now() < end, "{label}: {:?} minutes", minutes().await);
        }
    }
}

/// What keeps it from working is told, too; the picture of the icon then.
async fn trouble(home: &Home, tray: &mut TrayHost) -> Value {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    std::fs::write(home.state.join("settings.json"), json!({"port": port, "introduced": true, "language": "en"}).to_string()).unwrap();
    let app = home.start_troubled().await;
    let sum = tray.icon_of(PROBLEM)["picture"]["sum"].clone();
    let window = app.window().await;
    window.says("#problem", &format!("port {port}")).await;
    app.keep(&window, "problem").await;
    sum
}

#[tokio::test(flavor = "multi_thread")]
async fn started_hidden_it_is_in_the_tray_and_a_second_start_shows_its_window_and_ends() {
    let mut home = Home::new();
    let mut tray = home.take_tray();
    let mut first = home.spawn(&["--hidden"]);
    tray.icon_of(OFF);
    home.caller("main").await.call("computer_whitelist", json!({})).await.error("consent_pending");
    // The question comes up also then; the main window does not.
    window_named(home.server.name(), "Deskhand asks");
    assert!(!windows(home.server.name()).iter().any(|(_, name, _)| name == "Deskhand"));
    home.spawn(&["--hidden"]).ends();
    home.spawn(&[]).ends();
    window_named(home.server.name(), "Deskhand");
    assert_eq!(tray.icons(), 1);
    tray.choose("Quit");
    first.ends();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_tray_the_window_does_the_same_and_closing_it_is_the_end() {
    let home = Home::with(false, &json!({}));
    let app = home.start().await;
    let display = home.server.name();
    window_named(display, "Deskhand");
    assert_eq!(app.snapshot().await["tray"], false);
    let window = app.window().await;
    window.click("#minutes-60").await;
    window.click("#group-mouse").await;
    window.click("#authorize").await;
    app.is("authorised").await;
    app.main.call("computer_screen_size", json!({})).await.success();
    window.click("#pause").await;
    app.is("paused").await;
    window.click("#resume").await;
    app.is("authorised").await;
    window.click("#stop").await;
    app.is("off").await;
    close(display, "Deskhand");
    let end = Instant::now() + PATIENCE;
    while home.state.join("worker.json").exists() {
        assert!(Instant::now() < end, "a worker that nobody sees stays behind");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_screen_ends_ai_control_and_unlocking_does_not_bring_it_back() {
    let mut home = Home::new();
    let mut tray = home.take_tray();
    let app = home.start().await;
    app.authorise(&["screen"]).await;
    app.main.call("computer_screen_size", json!({})).await.success();
    tray.lock(true);
    app.is("off").await;
    let control = app.snapshot().await["control"].clone();
    assert_eq!(control["reason"], "lock");
    tray.icon_of(OFF);
    tray.lock(false);
    app.window().await.says("#meaning", "locked").await;
    app.main.call("computer_screen_size", json!({})).await.error("consent_pending");
}
