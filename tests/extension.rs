//! The person's own browser: a real Chromium with the extension as it is shipped, paired and lent through its popup,
//! driven by the real worker. The pages are the witnesses.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::lender::{Lender, address, cancel_debugging, extension, pairing_code, tabs};
use crate::support::person::{Person, until};
use crate::support::worker::Worker;

fn pages(path: &str) -> String {
    let body = match path {
        "/prompts" => {
            "<h1>prompts</h1><button id=b onclick=\"tell('clicked')\">b</button><script>setInterval(() => prompt('x'), 500)</script>"
        }
        "/one" => {
            "<h1>one</h1><button id=small style='width:20px;height:20px' onclick=\"tell('small ' + event.isTrusted)\">s</button>\
             <button id=pop onclick=\"window.open('/popped')\">pop</button> <a id=blank target=_blank href=/blank>blank</a>\
             <button id=ask onclick=\"tell('confirmed ' + confirm('sure?'))\">ask</button><input id=field oninput=\"tell(this.value)\">"
        }
        _ => "<h1>other</h1><button id=b onclick=\"tell(location.pathname)\">b</button>",
    };
    body.to_owned()
}

async fn click(worker: &Worker, selector: &str) {
    worker.call("browser_click", json!({ "selector": selector })).await.success();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lent_tab_is_worked_in_and_nothing_else_is_reached() {
    let lender = Lender::start(pages).await;
    let (worker, site) = (&lender.worker, &lender.site);
    lender.person.open(&site.url("/private")).await;
    let rows = lender.tabs().await;
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((rows[0]["url"].as_str(), rows[0]["browser"].as_str()), (Some(site.url("/one").as_str()), Some("Chrome (Work)")));
    // B106: the first click of all, on a small button, while the debugging bar comes up and the tab is behind another.
    click(worker, "#small").await;
    site.hears("small true").await;
    worker.call("browser_type", json!({ "selector": "#field", "text": "漢字 😀" })).await.success();
    site.hears("漢字 😀").await;
    // B152: the picture is of the lent tab, not of the one in front.
    let (kind, bytes) = worker.call("browser_screenshot", json!({})).await.success().picture();
    assert!(kind.starts_with("image/") && image::load_from_memory(&bytes).is_ok());
    let content = worker.call("browser_get_content", json!({})).await.success();
    assert!(content.json["content"].as_str().unwrap().contains("one"));
    let info = worker.call("browser_get_info", json!({})).await.success();
    assert_eq!(info.json["cdp_url"], "");
    // Windows that the lent page opens are lent, also when they open behind.
    click(worker, "#pop").await;
    click(worker, "#blank").await;
    let paths: Vec<String> = until("both windows", || async {
        let rows = lender.tabs().await;
        (rows.len() == 3).then(|| rows.iter().map(|r| r["url"].as_str().unwrap_or_default().to_owned()).collect())
    })
    .await;
    assert!(paths.iter().all(|p| !p.ends_with("/private")), "{paths:?}");
    // A tab for the agent opens beside it, without taking the front.
    let opened = worker.call("browser_tab_new", json!({ "url": site.url("/agent") })).await.success();
    click(worker, "#b").await;
    site.hears("/agent").await;
    // B166: closing one leaves the other's session alone.
    worker.call("browser_tab_close", json!({ "tabId": opened.json["tabId"] })).await.success();
    worker.call("browser_tab_select", json!({ "tabId": rows[0]["id"] })).await.success();
    click(worker, "#small").await;
    for address in ["chrome-extension://gdkdipmegppdlcihkchkdeikhpocmaip/popup/popup.html", "chrome://settings/", "javascript:1"] {
        assert!(!worker.call("browser_navigate", json!({ "url": address })).await.ok, "{address}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bursts_dialogs_and_hanging_pages_hold_up_nobody() {
    let lender = Lender::start(pages).await;
    let (worker, site) = (&lender.worker, &lender.site);
    // B196, B170: twenty calls at once get twenty answers.
    let calls = (0..20).map(|n| worker.call("browser_execute", json!({ "script": format!("{n} * 2") })));
    for (n, answer) in futures_util::future::join_all(calls).await.into_iter().enumerate() {
        assert_eq!(answer.success().json["result"], n * 2);
    }
    click(worker, "#ask").await;
    site.hears("confirmed false").await;
    // B132: a page that asks every half second.
    worker.call("browser_navigate", json!({ "url": site.url("/prompts") })).await.success();
    let begun = Instant::now();
    for _ in 0..5 {
        let answer = worker.call("browser_get_content", json!({ "selector": "h1" })).await;
        assert_eq!(answer.success().json["content"], "prompts");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    click(worker, "#b").await;
    site.hears("clicked").await;
    assert!(begun.elapsed() < Duration::from_secs(120));
    // B134: developer tools on the same tab.
    worker.call("browser_navigate", json!({ "url": site.url("/one") })).await.success();
    lender.person.command(None, "Target.openDevTools", json!({ "targetId": lender.target })).await;
    let before = site.told().len();
    let answer = worker.call("browser_click", json!({ "selector": "#ask" })).await;
    assert!(answer.ok || answer.text.contains("developer tools"), "{}", answer.text);
    if answer.ok {
        until("the answer to confirm", || async { (site.told().len() > before).then_some(()) }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_person_takes_back_stays_taken() {
    let lender = Lender::start(pages).await;
    let (worker, person) = (&lender.worker, &lender.person);
    let old = lender.tabs().await[0]["id"].clone();
    click(worker, "#small").await;
    // Cancel on the debugging bar.
    person.front(&lender.target).await;
    cancel_debugging(worker, lender.server.name()).await;
    until("the tab to be gone", || async { lender.tabs().await.is_empty().then_some(()) }).await;
    let refused = worker.call("browser_click", json!({ "selector": "#small" })).await;
    assert!(!refused.ok && refused.text.contains("Cancel"), "{}", refused.text);
    let refused = worker.call("browser_tab_new", json!({})).await;
    assert!(!refused.ok && refused.text.contains("Authorize AI control"), "{}", refused.text);
    // Lent again, it has another number; the old one stays unknown.
    person.lend(&lender.target).await;
    let rows = lender.tabs().await;
    assert_ne!(rows[0]["id"], old);
    assert!(!worker.call("browser_tab_select", json!({ "tabId": old })).await.ok);
    click(worker, "#small").await;
    // Stop in the popup.
    let popup = person.popup().await;
    popup.press("#stop").await;
    popup.until("document.querySelector('#lent').hidden").await;
    popup.close().await;
    let refused = worker.call("browser_click", json!({ "selector": "#small" })).await;
    assert!(!refused.ok && refused.text.contains("stopped all AI control"), "{}", refused.text);
    // The tab closed by the person.
    person.lend(&lender.target).await;
    click(worker, "#small").await;
    person.close(&lender.target).await;
    let refused = worker.call("browser_click", json!({ "selector": "#small" })).await;
    assert!(!refused.ok && refused.text.contains("closed"), "{}", refused.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn worker_service_worker_and_browser_may_each_restart() {
    let mut lender = Lender::start(pages).await;
    click(&lender.worker, "#small").await;
    // B164: the worker, on the same port.
    let listen = address(&lender.worker);
    let arguments = ["--authorize", "all", "--browser", "extension", "--listen", listen.as_str()];
    let fresh = Worker::with(None, &["--authorize", "all"]).await;
    let folder = std::mem::replace(&mut lender.worker, fresh).into_folder().await;
    lender.worker = Worker::again(Some(lender.server.name()), &arguments, folder).await;
    let connected = || async { (tabs(&lender.worker).await.len() == 1).then_some(()) };
    until("the browser to come back", connected).await;
    click(&lender.worker, "#small").await;
    // The service worker, in the middle of a call.
    let number = tabs(&lender.worker).await[0]["id"].clone();
    let script = "tell('ran'); new Promise(() => {})";
    let hanging = lender.worker.call("browser_execute", json!({ "script": script }));
    let death = async {
        lender.site.hears("ran").await;
        let worker = lender.person.worker().await;
        lender.person.close(&worker.target).await;
    };
    let (answer, ()) = tokio::join!(hanging, death);
    assert!(!answer.ok && answer.text.contains("not repeated"), "{}", answer.text);
    // Wakes it as any event would; the alarm does within half a minute.
    lender.person.popup().await.close().await;
    until("the service worker to come back", || async { (tabs(&lender.worker).await.len() == 1).then_some(()) }).await;
    assert_eq!(tabs(&lender.worker).await[0]["id"], number, "the same lent tab keeps its number");
    lender.worker.call("browser_tab_select", json!({ "tabId": number })).await.success();
    click(&lender.worker, "#small").await;
    assert_eq!(lender.site.told().iter().filter(|t| *t == "ran").count(), 1, "nothing runs twice");
    // The browser: it connects by itself and lends nothing.
    lender.person.restart().await;
    let popup = lender.person.popup().await;
    popup.until("document.body.dataset.link === 'connected'").await;
    popup.close().await;
    assert!(tabs(&lender.worker).await.is_empty());
    let target = lender.person.open(&lender.site.url("/one")).await;
    lender.person.lend(&target).await;
    lender.worker.call("browser_navigate", json!({ "url": lender.site.url("/two") })).await.success();
    click(&lender.worker, "#b").await;
    lender.site.hears("/two").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_and_two_browsers_are_told_apart() {
    let lender = Lender::start(pages).await;
    // B168: a second worker gets an error, and the popup names the one that is served.
    let second = Worker::with(Some(lender.server.name()), &["--authorize", "all", "--browser", "extension"]).await;
    let refused = second.call("browser_navigate", json!({ "url": lender.site.url("/two") })).await.error("unavailable");
    assert!(refused.contains("deskhand pair"), "{refused}");
    let popup = lender.person.popup().await;
    let status = popup.eval("document.querySelector('#status').textContent").await;
    assert!(status.as_str().unwrap().contains(&address(&lender.worker)), "{status}");
    popup.close().await;
    // A second browser on the same worker.
    let other = Person::start(lender.server.name(), &lender.profile.path().join("other"), &extension(), &[]).await;
    let popup = other.popup().await;
    for (field, value) in [("address", address(&lender.worker)), ("code", "WRQNGCDE".to_owned())] {
        popup.fill(field, &value).await;
    }
    popup.press("#pairing .primary").await;
    popup.until("!document.querySelector('#error').hidden").await;
    let said = popup.eval("document.querySelector('#error').textContent").await;
    assert!(said.as_str().unwrap().contains("did not accept this code"), "{said}");
    popup.close().await;
    other.pair(&address(&lender.worker), &pairing_code(&lender.worker).await, "Chrome (Home)").await;
    let target = other.open(&lender.site.url("/home")).await;
    other.lend(&target).await;
    let rows = until("both tabs", || async { Some(lender.tabs().await).filter(|t| t.len() == 2) }).await;
    let home = rows.iter().find(|r| r["browser"] == "Chrome (Home)").unwrap();
    lender.worker.call("browser_tab_select", json!({ "tabId": home["id"] })).await.success();
    click(&lender.worker, "#b").await;
    lender.site.hears("/home").await;
    // One browser goes; the next call says so instead of acting elsewhere.
    drop(other);
    let lost = until("the loss to be noticed", || async {
        let answer = lender.worker.call("browser_click", json!({ "selector": "#b" })).await;
        (!answer.ok).then_some(answer)
    })
    .await;
    assert!(lost.text.contains("gone") || lost.text.contains("not there any more"), "{}", lost.text);
    assert!(!lender.site.told().iter().any(|t| t.starts_with("small")));
}
