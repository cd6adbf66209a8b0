//! The relay against an extension that the test plays, frame by frame.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{sink, stream};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{EXTENSION_ID, ExtensionBrowser, Frame, Relay, Settings};
use crate::{Event, OpenTab, Route, TabIds, Transport, TransportError};

struct Place {
    relay: Relay,
    dir: tempfile::TempDir,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    Place { relay: relay(&dir), dir }
}

fn relay(dir: &tempfile::TempDir) -> Relay {
    Relay::open(Settings {
        store: dir.path().join("browsers.json"),
        worker: "Deskhand on test".to_owned(),
        version: "0".to_owned(),
        ids: Arc::new(TabIds::fresh()),
    })
    .unwrap()
}

/// The other end of a connection.
struct Peer {
    into: mpsc::UnboundedSender<String>,
    from: mpsc::UnboundedReceiver<Frame>,
    served: JoinHandle<()>,
}

impl Peer {
    fn dial(relay: &Relay, secret: &str) -> Self {
        let origin = format!("chrome-extension://{EXTENSION_ID}");
        let admission = relay.admit(Some(&origin), Some(&format!("deskhand.v1, {secret}"))).unwrap();
        let (into, read) = mpsc::unbounded_channel();
        let (write, from) = mpsc::unbounded_channel();
        let stream = Box::pin(stream::unfold(read, |mut read| async move { read.recv().await.map(|text| (text, read)) }));
        let sink = Box::pin(sink::unfold(write, |write, frame| async move { write.send(frame).map(|()| write) }));
        let relay = relay.clone();
        let served = tokio::spawn(async move { relay.serve(admission, sink, stream).await });
        Self { into, from, served }
    }

    /// A paired connection and its token.
    async fn paired(relay: &Relay) -> (Self, String) {
        let code = relay.start_pairing().code.replace('-', "");
        let mut peer = Self::dial(relay, &code);
        let welcome = peer.greet().await;
        (peer, welcome["token"].as_str().unwrap().to_owned())
    }

    async fn greet(&mut self) -> Value {
        self.say(&json!({ "hello": { "name": "Chrome on Test", "product": "Chromium 156" } }));
        self.hear().await["welcome"].clone()
    }

    fn say(&self, frame: &Value) {
        self.into.send(frame.to_string()).unwrap();
    }

    async fn hear(&mut self) -> Value {
        match self.frame().await {
            Some(Frame::Text(text)) => serde_json::from_str(&text).unwrap(),
            other => panic!("expected a frame, got {other:?}"),
        }
    }

    async fn frame(&mut self) -> Option<Frame> {
        tokio::time::timeout(Duration::from_secs(20), self.from.recv()).await.expect("a frame in time")
    }

    /// Answers the next call.
    async fn answer(&mut self, result: Value) -> Value {
        let call = self.hear().await;
        self.say(&json!({ "id": call["id"], "result": result }));
        call
    }

    async fn close_code(&mut self) -> u16 {
        loop {
            match self.frame().await {
                Some(Frame::Close { code, .. }) => return code,
                Some(Frame::Text(_)) => {}
                None => panic!("ended without a close frame"),
            }
        }
    }
}

/// A connected browser with one lent tab.
async fn lent() -> (Place, Peer, Arc<ExtensionBrowser>, i64) {
    let place = place();
    let (mut peer, _) = Peer::paired(&place.relay).await;
    let browser = place.relay.connected()[0].clone();
    let tab = listed(&mut peer, &browser).await;
    (place, peer, browser, tab)
}

async fn listed(peer: &mut Peer, browser: &Arc<ExtensionBrowser>) -> i64 {
    let rows = json!({ "tabs": [{ "tab": "lease", "url": "https://a/", "title": "A", "windowId": 3, "index": 1, "status": "complete" }] });
    let (tabs, _) = tokio::join!(browser.tabs(), peer.answer(rows));
    tabs.unwrap()[0].id
}

fn evaluate(browser: &Arc<ExtensionBrowser>, tab: i64, n: usize) -> JoinHandle<Result<Value, TransportError>> {
    let browser = Arc::clone(browser);
    tokio::spawn(async move { browser.send(&Route::tab(tab), "Runtime.evaluate", json!({ "n": n })).await })
}

#[tokio::test]
async fn a_paired_browser_comes_back_with_its_token_after_a_restart_of_the_worker() {
    let place = place();
    let (peer, token) = Peer::paired(&place.relay).await;
    assert_eq!(place.relay.browsers()[0].name, "Chrome on Test");
    assert!(!place.relay.pairing());
    peer.served.abort();
    let again = relay(&place.dir);
    assert!(!again.browsers()[0].connected);
    let mut peer = Peer::dial(&again, &token);
    let welcome = peer.greet().await;
    assert_eq!(welcome["worker"], "Deskhand on test");
    assert!(welcome["token"].is_null());
    assert!(again.browsers()[0].connected);
}

#[tokio::test]
async fn twenty_calls_in_one_burst_get_twenty_answers_in_any_order() {
    let (_place, mut peer, browser, tab) = lent().await;
    let calls: Vec<_> = (0..20).map(|n| evaluate(&browser, tab, n)).collect();
    let mut asked = Vec::new();
    for _ in 0..20 {
        asked.push(peer.hear().await);
    }
    for call in asked.iter().rev() {
        assert_eq!(call["call"], "debugger.sendCommand");
        assert_eq!(call["params"]["tab"], "lease");
        peer.say(&json!({ "id": call["id"], "result": { "n": call["params"]["params"]["n"] } }));
    }
    for (n, answer) in join_all(calls).await.into_iter().enumerate() {
        assert_eq!(answer.unwrap().unwrap(), json!({ "n": n }));
    }
}

#[tokio::test]
async fn a_call_that_hangs_or_is_given_up_delays_no_other() {
    let (_place, mut peer, browser, tab) = lent().await;
    let hanging = evaluate(&browser, tab, 0);
    let first = peer.hear().await;
    let given_up = evaluate(&browser, tab, 1);
    let second = peer.hear().await;
    given_up.abort();
    let _ = given_up.await;
    let third = evaluate(&browser, tab, 2);
    let call = peer.hear().await;
    peer.say(&json!({ "id": second["id"], "result": { "late": true } }));
    peer.say(&json!({ "id": call["id"], "result": { "n": 2 } }));
    assert_eq!(third.await.unwrap().unwrap(), json!({ "n": 2 }));
    assert!(!hanging.is_finished());
    peer.say(&json!({ "id": first["id"], "result": {} }));
    hanging.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_connection_lost_in_mid_call_is_an_error_and_nothing_is_sent_again() {
    let place = place();
    let (mut peer, token) = Peer::paired(&place.relay).await;
    let browser = place.relay.connected()[0].clone();
    let tab = listed(&mut peer, &browser).await;
    let mut events = browser.events();
    let call = evaluate(&browser, tab, 0);
    peer.hear().await;
    let Peer { into, served, .. } = peer;
    drop(into);
    let error = call.await.unwrap().unwrap_err();
    assert!(matches!(&error, TransportError::Gone(why) if why.contains("unknown") && why.contains("not repeated")), "{error}");
    served.await.unwrap();
    assert!(!browser.alive());
    assert!(matches!(events.recv().await, Some(Event::Gone { .. })));
    assert!(events.recv().await.is_none());
    assert!(place.relay.connected().is_empty());

    let mut peer = Peer::dial(&place.relay, &token);
    peer.greet().await;
    let next = place.relay.connected()[0].clone();
    assert_eq!(listed(&mut peer, &next).await, tab, "the same lent tab keeps its number");
    let call = evaluate(&next, tab, 7);
    assert_eq!(peer.answer(json!({})).await["params"]["params"]["n"], 7, "the first frame is the new call");
    call.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_dropped_listener_leaves_no_browser_behind() {
    let (place, peer, browser, tab) = lent().await;
    let call = evaluate(&browser, tab, 0);
    tokio::task::yield_now().await;
    peer.served.abort();
    assert!(matches!(call.await.unwrap(), Err(TransportError::Gone(_))));
    assert!(!browser.alive() && place.relay.connected().is_empty());
}

#[tokio::test]
async fn a_living_connection_keeps_its_place_and_a_dead_one_yields_it() {
    let place = place();
    let (mut first, token) = Peer::paired(&place.relay).await;
    let mut second = Peer::dial(&place.relay, &token);
    second.say(&json!({ "hello": {} }));
    assert_eq!(first.hear().await, json!({ "event": "ping" }));
    first.say(&json!({ "event": "pong" }));
    assert_eq!(second.close_code().await, 4409);
    let browser = place.relay.connected()[0].clone();
    assert!(browser.alive());

    let mut third = Peer::dial(&place.relay, &token);
    let welcome = third.greet().await;
    assert_eq!(welcome["worker"], "Deskhand on test");
    assert_eq!(first.close_code().await, 4408);
    assert!(!browser.alive());
    assert!(place.relay.connected()[0].alive());
}

#[tokio::test]
async fn a_revoked_browser_is_cut_and_stays_out() {
    let place = place();
    let (mut peer, token) = Peer::paired(&place.relay).await;
    let id = place.relay.browsers()[0].id.clone();
    place.relay.revoke(&id).unwrap();
    assert_eq!(peer.close_code().await, 4401);
    peer.served.await.unwrap();
    assert!(place.relay.browsers().is_empty() && place.relay.connected().is_empty());
    let origin = format!("chrome-extension://{EXTENSION_ID}");
    assert!(place.relay.admit(Some(&origin), Some(&format!("deskhand.v1, {token}"))).is_err());
    assert!(place.relay.revoke(&id).is_err());
}

#[tokio::test]
async fn names_go_both_ways_and_the_preferred_browser_comes_first() {
    let place = place();
    let (mut a, _) = Peer::paired(&place.relay).await;
    let (b, _) = Peer::paired(&place.relay).await;
    let ids: Vec<_> = place.relay.browsers().into_iter().map(|r| r.id).collect();
    place.relay.rename(&ids[0], "Work").unwrap();
    assert_eq!(a.hear().await, json!({ "event": "named", "params": { "name": "Work" } }));
    let mut changes = place.relay.changes();
    b.say(&json!({ "event": "renamed", "params": { "name": "Home\u{7}" } }));
    changes.changed().await.unwrap();
    let names = || place.relay.connected().iter().map(|b| b.name()).collect::<Vec<_>>();
    assert_eq!(names(), ["Home", "Work"]);
    place.relay.prefer(Some(&ids[0])).unwrap();
    assert_eq!(names(), ["Work", "Home"]);
    assert!(place.relay.rename(&ids[0], " ").is_err());
    assert!(place.relay.prefer(Some("nobody")).is_err());
}

#[tokio::test]
async fn errors_of_the_extension_become_what_they_mean() {
    let (_place, mut peer, browser, tab) = lent().await;
    let cases = [
        ("conflict", "DevTools", "cannot be reached: DevTools"),
        ("restricted", "a chrome page", "cannot be reached: a chrome page"),
        ("cdp", "No node", "Runtime.evaluate: No node"),
        ("cdp", "Session with given id not found.", "the frame is gone"),
        ("not_allowed", "not carried", "is not possible in Chrome on Test: not carried"),
        ("closed", "the tab is closed", "is gone: the tab is closed"),
        ("whatever", "odd", "cannot be reached: odd"),
    ];
    for (reason, message, expected) in cases {
        let call = evaluate(&browser, tab, 0);
        let id = peer.hear().await["id"].clone();
        peer.say(&json!({ "id": id, "error": { "reason": reason, "message": message, "code": -32000 } }));
        let error = call.await.unwrap().unwrap_err().to_string();
        assert!(error.contains(expected), "{reason}: {error}");
    }
}

#[tokio::test]
async fn events_arrive_in_order_and_a_tab_taken_back_says_why() {
    let (_place, mut peer, browser, tab) = lent().await;
    let mut events = browser.events();
    assert!(browser.events().recv().await.is_none(), "the stream is given once");
    peer.say(&json!({ "event": "tab.lent", "params": { "tab": "child", "opener": "lease" } }));
    peer.say(
        &json!({ "event": "debugger.event", "params": { "tab": "lease", "session": "S", "method": "New.thing", "params": { "x": 1 } } }),
    );
    peer.say(&json!({ "event": "debugger.event", "params": { "tab": "stranger", "method": "A.b", "params": {} } }));
    peer.say(&json!({ "event": "something.new", "params": {} }));
    peer.say(&json!({ "event": "tab.detached", "params": { "tab": "lease", "reason": "target_closed" } }));
    peer.say(&json!({ "event": "tab.gone", "params": { "tab": "lease", "reason": "cancelled" } }));
    assert!(matches!(events.recv().await, Some(Event::Opened { opener, .. }) if opener == Some(tab)));
    let Some(Event::Cdp { route, method, params }) = events.recv().await else { panic!("an event of the page") };
    assert_eq!((route.session.as_deref(), method.as_str(), params["x"].as_i64()), (Some("S"), "New.thing", Some(1)));
    assert!(matches!(events.recv().await, Some(Event::Detached { tab: t, .. }) if t == tab));
    assert!(matches!(events.recv().await, Some(Event::Closed { tab: t, reason }) if t == tab && reason.contains("Cancel")));
    let error = evaluate(&browser, tab, 0).await.unwrap().unwrap_err();
    assert!(matches!(&error, TransportError::NoTab { reason, .. } if reason.contains("lend it again")), "{error}");
    let open = browser.open(OpenTab { url: "about:blank".to_owned(), caller: "Agent".to_owned(), front: false });
    let (opened, call) = tokio::join!(open, peer.answer(json!({ "tab": "mine" })));
    assert_eq!(call["params"], json!({ "url": "about:blank", "active": false, "group": "Agent" }));
    assert!(opened.unwrap() > tab);
}

#[tokio::test]
async fn junk_from_the_extension_harms_nobody() {
    let (_place, mut peer, browser, tab) = lent().await;
    for junk in ["", "{", "null", "[]", "7", r#"{"id":99,"result":1}"#, r#"{"id":-1}"#, r#"{"event":7}"#, r#"{"event":"tab.gone"}"#] {
        peer.into.send(junk.to_owned()).unwrap();
    }
    let call = evaluate(&browser, tab, 1);
    peer.answer(json!({})).await;
    call.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_connection_without_a_greeting_is_ended() {
    let place = place();
    let code = place.relay.start_pairing().code.replace('-', "");
    let mut peer = Peer::dial(&place.relay, &code);
    peer.say(&json!({ "event": "ping" }));
    assert_eq!(peer.close_code().await, 4400);
    assert!(place.relay.browsers().is_empty());
}

#[tokio::test(start_paused = true)]
async fn silence_is_asked_about_and_then_taken_for_the_end() {
    let place = place();
    let (mut peer, _) = Peer::paired(&place.relay).await;
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(peer.hear().await, json!({ "event": "ping" }));
    peer.say(&json!({ "event": "pong" }));
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert!(place.relay.connected()[0].alive());
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(place.relay.connected().is_empty());
    peer.served.await.unwrap();
}
