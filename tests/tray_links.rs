//! What reaches out of the tray app: a person's browser, paired by the code on its page, and a gateway, signed in to in its
//! window. Both are real.

use serde_json::json;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::gateway_stand::{Agent, Gateway, PASSWORD, deskhand, run};
use crate::support::lender::{Site, extension};
use crate::support::person::Person;
use crate::support::tray_app::Home;
use crate::support::webdriver::View;
use crate::support::worker::PATIENCE;

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_is_paired_by_the_code_on_the_page_and_unpaired_there() {
    let home = Home::with(true, &json!({"browser": "extension", "takeover": false}));
    let site = Site::serve(|_| "<p>lent</p>".into()).await;
    let profile = tempfile::tempdir().unwrap();
    let person = Person::start(home.server.name(), &profile.path().join("profile"), &extension(), &[]).await;
    // The browser is up, with the extension awake, before the code's two minutes begin.
    person.popup().await.close().await;
    let app = home.start().await;
    let window = app.window().await;
    window.open("browser").await;
    window.says("#extension-folder", "extension").await;
    window.click("#start-pairing").await;
    let (code, address) = (window.text("#pairing-code").await, window.text("#pairing-address").await);
    assert_eq!(address, app.main.address());
    app.keep(&window, "browser-code").await;
    person.pair(&address, &code, "Chrome (Work)").await;
    window.says("#paired", "Chrome (Work)").await;
    window.says("#paired .state.good", "Connected").await;
    window.lacks("#pairing-code").await;
    app.keep(&window, "browser-paired").await;
    let target = person.open(&site.url("/one")).await;
    person.lend(&target).await;
    app.authorise(&["browser_read"]).await;
    let listed = app.main.call("browser_tabs_list", json!({})).await.success();
    assert_eq!(listed.json["tabs"][0]["title"], "one", "{}", listed.text);
    window.click("#paired [id^=revoke-]").await;
    window.click("#paired [id$=-yes]").await;
    window.lacks("#paired").await;
    let after = app.main.call("browser_tabs_list", json!({})).await;
    assert!(after.json["tabs"].as_array().is_none_or(Vec::is_empty), "an unpaired browser answers: {}", after.text);
    person.popup().await.until("document.body.dataset.link !== 'connected'").await;
}

/// Fills the form of the gateway's page and sends it.
async fn sign_in(window: &View<'_>, gateway: &Gateway, password: &str) {
    window.fill("#gateway-server", &gateway.url).await;
    // Without protection only on the person's word, given once while the page is open.
    window.has("#accept-plain").await;
    if window.run("return !document.querySelector('#accept-plain').checked").await == true {
        window.has("#sign-in:disabled").await;
        window.click("#accept-plain").await;
    }
    window.fill("#gateway-user", "ana").await;
    window.fill("#gateway-password", password).await;
    window.click("#sign-in").await;
}

fn wait_connected(agent: &Agent, wanted: bool) {
    let end = Instant::now() + PATIENCE;
    while agent.is_connected() != wanted {
        assert!(Instant::now() < end, "connected: {}", !wanted);
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_is_signed_in_to_and_out_of_in_the_window_and_says_what_happened() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path());
    let agent = Agent::of(&gateway);
    let home = Home::new();
    let app = home.start().await;
    let window = app.window().await;
    window.open("gateway").await;
    sign_in(&window, &gateway, "wrong").await;
    window.has("[data-place=gateway].trouble").await;
    sign_in_again(&window, PASSWORD).await;
    window.has("#gateway-state[data-state=off]").await;
    assert!(!agent.is_connected(), "nothing connects before AI control is authorised");
    app.authorise(&["screen"]).await;
    window.has("#gateway-state[data-state=connected]").await;
    app.keep(&window, "gateway-connected").await;
    wait_connected(&agent, true);
    agent.call("computer_screen_size", json!({})).unwrap();
    // What comes from there is asked about by its own name.
    let asking = agent.clone();
    let asked = tokio::task::spawn_blocking(move || asking.call("computer_mouse_move", json!({"x": 5, "y": 5})));
    let question = app.question().await;
    question.says("#ask-caller", "ana").await;
    question.click("#refuse").await;
    assert!(asked.await.unwrap().is_err());
    // Another token on the server's side: this one is worth nothing any more, and that is said.
    run(deskhand().args(["gateway", "token", "reset", "ana", "--state-dir"]).arg(&gateway.state).stderr(Stdio::null()), "");
    window.has("#sign-in-form").await;
    assert!(!app.snapshot().await["gateway"]["lastError"].is_null(), "it says why");
    app.keep(&window, "gateway-signed-out").await;
    sign_in(&window, &gateway, PASSWORD).await;
    window.has("#gateway-state[data-state=connected]").await;
    window.click("#sign-out").await;
    window.click("#sign-out-yes").await;
    window.has("#sign-in-form").await;
    assert!(!home.audit().iter().any(|line| line.to_string().contains(PASSWORD)));
    assert!(!home.log().contains(PASSWORD), "the password is in the log");
}

/// The password once more; the rest of the form stands.
async fn sign_in_again(window: &View<'_>, password: &str) {
    window.fill("#gateway-password", password).await;
    window.click("#sign-in").await;
}
