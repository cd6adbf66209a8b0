//! The pages of the main window, in both languages, and what they change on the disk.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::tray_app::{Home, TrayApp, binary};

const PAGES: [&str; 7] = ["control", "permissions", "activity", "connect", "browser", "gateway", "settings"];

/// Opens each page and keeps its picture.
async fn pictures(app: &TrayApp<'_>, language: &str) {
    let window = app.window().await;
    for page in PAGES {
        window.open(page).await;
        if page == "connect" {
            window.has("#look-again").await;
        }
        app.keep(&window, &format!("{page}-{language}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_languages_and_what_was_set_is_there_again_after_a_restart() {
    let mut home = Home::new();
    let mut tray = home.take_tray();
    let app = home.start().await;
    pictures(&app, "en").await;
    let window = app.window().await;
    window.says("#nav-control", "Control").await;
    window.choose("#setting-language", "zh-CN").await;
    window.says("#nav-control", "控制").await;
    assert_eq!(window.run("return document.documentElement.lang").await, "zh-CN");
    tray.offers("打开 Deskhand");
    tray.offers("15 分钟");
    window.click("#takeover").await;
    window.until("return !document.querySelector('#takeover').checked").await;
    window.fill("#block-origins", "https://bank.example").await;
    window.run("document.activeElement.blur(); return true").await;
    window.until("return window.__TAURI__.core.invoke('snapshot').then(s => s.settings.blockOrigins.length === 1)").await;
    // What cannot be meant is told beside it and changes nothing.
    window.fill("#stop-key", "Ctrl+Nonsense").await;
    window.run("document.activeElement.blur(); return true").await;
    window.has("[data-place=settings-stopKey]").await;
    pictures(&app, "zh-CN").await;
    window.open("settings").await;
    window.click("#quit").await;
    tray_is_empty(&mut tray);
    drop(app);
    let saved: Value = serde_json::from_slice(&fs::read(home.state.join("settings.json")).unwrap()).unwrap();
    assert_eq!((saved["language"].as_str(), saved["takeover"].as_bool()), (Some("zh-CN"), Some(false)));
    assert_eq!((saved["stop_key"].as_str(), saved["block_origins"].clone()), (Some("Ctrl+Alt+Esc"), json!(["https://bank.example"])));
    let app = home.start().await;
    let window = app.window().await;
    window.says("#nav-control", "控制").await;
    window.open("settings").await;
    assert_eq!(window.run("return document.querySelector('#block-origins').value").await, "https://bank.example");
    assert_eq!(window.run("return document.querySelector('#takeover').checked").await, false);
    window.click("#reset").await;
    window.click("#reset-yes").await;
    window.until("return document.querySelector('#takeover').checked").await;
}

fn tray_is_empty(tray: &mut crate::support::tray_host::TrayHost) {
    let end = std::time::Instant::now() + crate::support::worker::PATIENCE;
    while tray.icons() > 0 {
        assert!(std::time::Instant::now() < end, "the icon stays");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_shows_what_it_is_tests_that_it_works_and_connects() {
    let home = Home::with(true, &json!({"introduced": false}));
    let app = home.start().await;
    let window = app.window().await;
    window.has("[data-screen='1']").await;
    app.keep(&window, "first-run-1").await;
    window.click("#next").await;
    window.has("[data-screen='2'] [data-check]").await;
    let failed = window.run("return [...document.querySelectorAll('[data-ok=false]')].map(e => e.innerText)").await;
    assert_eq!(failed, json!([]), "everything works here");
    app.keep(&window, "first-run-2").await;
    window.click("#next").await;
    window.has("[data-screen='3'] .client").await;
    app.keep(&window, "first-run-3").await;
    window.click("#finish").await;
    window.has("#page-control").await;
    let saved: Value = serde_json::from_slice(&fs::read(home.state.join("settings.json")).unwrap()).unwrap();
    assert_eq!(saved["introduced"], true);
}

/// A client's file before, and what stands in it once connected.
struct Golden {
    client: &'static str,
    file: &'static str,
    before: &'static str,
    after: &'static str,
}

const GOLDEN: [Golden; 3] = [
    Golden {
        client: "cursor",
        file: ".cursor/mcp.json",
        before: "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"other\"}\n  }\n}\n",
        after: "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"other\"},\n    \"deskhand\": {\n      \"command\": \"BINARY\",\n      \"args\": [\"mcp\", \"start\", \"--client\", \"cursor\"]\n    }\n  }\n}\n",
    },
    Golden {
        client: "codex",
        file: ".codex/config.toml",
        before: "# mine\nmodel = \"x\" # stays\n\n[mcp_servers.other]\ncommand = \"other\"\n",
        after: "# mine\nmodel = \"x\" # stays\n\n[mcp_servers.other]\ncommand = \"other\"\n\n[mcp_servers.deskhand]\ncommand = \"BINARY\"\nargs = [\"mcp\", \"start\", \"--client\", \"codex\"]\n",
    },
    Golden {
        client: "opencode",
        file: ".config/opencode/opencode.json",
        before: "{\n  // a comment of mine\n  \"theme\": \"x\",\n}\n",
        after: "",
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn connecting_a_client_shows_the_change_makes_exactly_it_and_takes_it_back() {
    let home = Home::new();
    for golden in &GOLDEN {
        let file = home.path().join(golden.file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, golden.before).unwrap();
    }
    let app = home.start().await;
    let window = app.window().await;
    window.open("connect").await;
    for golden in &GOLDEN {
        let (client, file) = (golden.client, home.path().join(golden.file));
        let read = || fs::read_to_string(&file).unwrap();
        window.click(&format!("#connect-{client}")).await;
        window.says(&format!("#plan-{client} .diff"), "deskhand").await;
        window.says(&format!("#plan-{client} figcaption"), golden.file).await;
        assert_eq!(read(), golden.before, "nothing is changed before the person has seen it");
        if client == "cursor" {
            app.keep(&window, "connect-change").await;
            window.click("#cancel-cursor").await;
            window.lacks("#plan-cursor").await;
            assert_eq!(read(), golden.before);
            window.click("#connect-cursor").await;
        }
        window.click(&format!("#apply-{client}")).await;
        window.has(&format!("#client-{client}[data-state=connected]")).await;
        let deskhand = binary().with_file_name("deskhand");
        let expected = golden.after.replace("BINARY", &deskhand.display().to_string());
        if expected.is_empty() {
            assert!(read().contains("// a comment of mine") && read().contains("\"deskhand\""), "{}", read());
        } else {
            assert_eq!(read(), expected);
        }
        secret(&home.state.join("clients").join(client));
        assert!(!read().contains(fs::read_to_string(home.state.join("clients").join(client)).unwrap().trim()), "no token in its file");
        // It is known by its name, and asked about like any other.
        home.caller(client).await.call("computer_whitelist", json!({})).await.error("consent_pending");
        let question = app.question().await;
        question.says("#ask-caller", client).await;
        app.order("stop", json!({})).await;
        window.click(&format!("#disconnect-{client}")).await;
        window.says(&format!("#plan-{client} .diff"), "deskhand").await;
        window.click(&format!("#apply-{client}")).await;
        window.has(&format!("#client-{client}[data-state=not_connected]")).await;
        if golden.after.is_empty() {
            // The section that it made stays, empty; comments do too.
            assert!(read().contains("// a comment of mine") && !read().contains("deskhand"), "{}", read());
        } else {
            assert_eq!(read(), golden.before);
        }
        assert!(!home.state.join("clients").join(client).exists(), "its token is gone");
    }
}

fn secret(file: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_is_told_on_the_activity_page_without_what_was_typed() {
    let home = Home::new();
    let app = home.start().await;
    let mut witness = crate::support::window::Window::open(home.server.name(), "entry");
    app.authorise(&["screen", "mouse", "keyboard"]).await;
    let window = app.window().await;
    window.open("activity").await;
    let (x, y) = witness.middle();
    app.main.call("computer_mouse_click", json!({"x": x, "y": y})).await.success();
    app.main.call("computer_keyboard_type", json!({"text": "tulip-secret"})).await.success();
    app.main.call("computer_mouse_click", json!({"x": -5, "y": 5})).await.error("invalid_arguments");
    window.says("main", "computer_keyboard_type").await;
    window.says("main", &format!("{x}, {y}")).await;
    window.has("main img[src^='data:image/jpeg']").await;
    app.keep(&window, "activity-done").await;
    let shown = window.run("return document.documentElement.outerHTML").await;
    assert!(!shown.as_str().unwrap().contains("tulip"), "what was typed is on the page");
    assert!(!home.audit().iter().any(|line| line.to_string().contains("tulip")));
    window.click("#verify").await;
    window.has("[data-place=verify].outcome").await;
    window.fill("#filter", "keyboard").await;
    window.until("return !document.querySelector('main').textContent.includes('computer_mouse_click')").await;
    window.fill("#filter", "mouse").await;
    window.says("main", "computer_mouse_click").await;
    // Within a second of an agent's key nothing is taken for the person's word.
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    window.click("#clear").await;
    window.click("#clear-yes").await;
    window.has("#no-activity").await;
}
