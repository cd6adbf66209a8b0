//! Dialogs that stood open before Deskhand came to their tab are named, and can be left by opening an address.

use crate::support::lender::{Lender, extension};
use crate::support::person::{Person, until};
use crate::support::server::Server;
use crate::support::web::Web;
use crate::support::worker::Worker;
use serde_json::json;
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn one_that_stood_open_when_the_tab_was_lent_is_named_and_can_be_left() {
    let lender = Lender::start(|_| "<h1>page</h1>".to_owned()).await;
    let target = lender.person.open(&lender.site.url("/asking")).await;
    let page = lender.person.find("the page", |t| t["targetId"] == target.as_str()).await;
    page.until("document.querySelector('h1')").await;
    page.eval("setTimeout(()=>{tell('asks');confirm('old')},0),1").await;
    lender.site.hears("asks").await;
    page.detach().await;
    lender.person.lend_in_front(&target).await;
    let tab = until("the second tab", || async {
        lender.tabs().await.iter().find(|t| t["url"].as_str().is_some_and(|u| u.ends_with("/asking"))).map(|t| t["id"].clone())
    })
    .await;
    lender.worker.call("browser_tab_select", json!({ "tabId": tab })).await;
    named_and_left(&lender.worker, &lender.site.url("/next")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_stood_open_when_we_attached_is_named_and_can_be_left() {
    let server = Server::managed("1280x900x24");
    let profile = tempfile::tempdir().unwrap();
    let person = Person::start(server.name(), profile.path(), &extension(), &[]).await;
    let web = Web::start().await;
    let mark = web.mark();
    let target = person
        .open(&web.page("/asking", "<h1>page</h1><script>onload=()=>{tell({event:'asks'});setTimeout(()=>confirm('old'),100)}</script>"))
        .await;
    web.hears(mark, "the dialog", |t| t["event"] == "asks").await;
    let page = person.find("the page", |t| t["targetId"] == target.as_str()).await;
    // It answers nothing once the dialog stands.
    until("the dialog to stand", || async {
        let asked = tokio::time::timeout(Duration::from_millis(700), page.eval("1")).await;
        asked.is_err().then_some(())
    })
    .await;
    let worker = Worker::with(Some(server.name()), &["--authorize", "all", "--browser", "managed", "--cdp-url", &person.address()]).await;
    let rows = until("its tabs", || async {
        let answer = worker.call("browser_tabs_list", json!({})).await;
        answer.json["tabs"].as_array().filter(|t| !t.is_empty()).cloned()
    });
    // Nothing is attached to before it is needed; another tab is as good as this one for that.
    worker.call("browser_tab_new", json!({})).await.success();
    let rows = rows.await;
    let asking = rows.iter().find(|t| t["url"].as_str().is_some_and(|u| u.ends_with("/asking"))).unwrap_or_else(|| panic!("{rows:?}"));
    worker.call("browser_tab_select", json!({ "tabId": asking["id"] })).await;
    named_and_left(&worker, &web.page("/next", "<h1>page</h1>")).await;
}

async fn named_and_left(worker: &Worker, next: &str) {
    for (tool, arguments) in [("browser_get_content", json!({})), ("browser_click", json!({ "selector": "h1" }))] {
        let begun = Instant::now();
        let answer = worker.call(tool, arguments).await;
        assert!(!answer.ok && answer.text.contains("dialog") && answer.text.contains("browser_navigate"), "{}", answer.text);
        assert!(begun.elapsed() < Duration::from_secs(24), "{:?}", begun.elapsed());
    }
    worker.call("browser_navigate", json!({ "url": next })).await.success();
    let read = worker.call("browser_get_content", json!({ "selector": "h1" })).await.success();
    assert_eq!(read.json["content"], "page");
    worker.call("browser_click", json!({ "selector": "h1" })).await.success();
}
