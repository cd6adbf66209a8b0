//! The rules about addresses hold whoever asks: the agent, a redirect, a frame, a script, a worker of a page, a file that
//! lies in an allowed folder. What is refused is never asked for: the witness is the server that would have heard it.

use crate::support::rig::Rig;
use serde_json::json;

/// The pages are on 127.0.0.1; the same server under this name is what the person blocks.
const BLOCKED: [&str; 2] = ["--block-origin", "localhost"];

mod managed {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_blocked_origin_hears_nothing() {
        super::a_blocked_origin_hears_nothing(Rig::managed_with(&BLOCKED).await).await;
    }
}

mod extension {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_blocked_origin_hears_nothing() {
        super::a_blocked_origin_hears_nothing(Rig::lent_with(&BLOCKED).await).await;
    }
}

const SCRIPT: [(&str, &str); 1] = [("Content-Type", "text/javascript")];
const ASKS: &str = "async t=>{let r;try{await fetch(t,{mode:'no-cors'});r='came'}catch(e){r='failed'};return r}";

async fn a_blocked_origin_hears_nothing(rig: Rig) {
    let mark = rig.web.mark();
    by_the_agent(&rig).await;
    by_the_page(&rig).await;
    if rig.person.is_none() {
        // A browser of our own cannot even resolve the name, so these are covered too.
        by_its_workers(&rig).await;
    }
    by_links(&rig).await;
    let refresh = rig.web.page("/refresh", &format!("<meta http-equiv=refresh content='0;url={}'>going", secret(&rig, "refresh")));
    rig.call("navigate", json!({"url": refresh})).await;
    rig.call("wait", json!({"selector": "#never", "timeout": 1000})).await;
    rig.works().await;
    let heard: Vec<_> = rig.web.since(mark, "request").into_iter().filter(|r| r["path"].as_str().unwrap().starts_with("/secret")).collect();
    assert!(heard.is_empty(), "{heard:?}");
}

/// An address that the person blocks.
fn secret(rig: &Rig, name: &str) -> String {
    rig.web.other(&format!("/secret-{name}"))
}

/// Directly, and by redirects.
async fn by_the_agent(rig: &Rig) {
    for (path, to) in [("/hop", secret(rig, "hop")), ("/far", rig.web.url("/hop"))] {
        rig.web.put(path, 302, &[("Location", &to)], "");
    }
    for url in [secret(rig, "direct"), rig.web.url("/hop"), rig.web.url("/far")] {
        let answer = rig.call("navigate", json!({"url": url})).await;
        assert!(answer.json["error"] == "denied" && answer.text.contains("blocked origins"), "{url}: {}", answer.text);
    }
    assert_eq!(rig.call("tab_new", json!({"url": secret(rig, "tab")})).await.json["error"], "denied");
}

/// By frames, pictures, scripts.
async fn by_the_page(rig: &Rig) {
    rig.web.put("/w.js", 200, &SCRIPT, format!("onmessage=async e=>postMessage(await ({ASKS})(e.data))"));
    let (frame, image) = (secret(rig, "frame"), secret(rig, "image"));
    rig.open(&format!(
        "<title>home</title><p id=p>here</p><iframe src='{frame}'></iframe><iframe src='/far'></iframe><img src='{image}'>\
         <a id=l href='{}'>l</a><form method=post action='{}'><button id=f>f</button></form><button id=w onclick=\"open('{}')\">w</button>",
        secret(rig, "link"),
        secret(rig, "form"),
        secret(rig, "window"),
    ))
    .await;
    assert_eq!(rig.done("get_content", json!({"selector": "#p"})).await["content"], "here");
    for how in ["fetch(u,{mode:'no-cors'})", "fetch(u,{method:'POST',body:'x',mode:'no-cors'})", "fetch('/far',{mode:'no-cors'})"] {
        let asked = format!("(u=>{how}.then(()=>'came',()=>'failed'))('{}')", secret(rig, "fetch"));
        assert_eq!(rig.script(&asked).await, "failed", "{how}");
    }
    rig.script(&format!("navigator.sendBeacon('{}','x'),1", secret(rig, "beacon"))).await;
    let worker =
        format!("new Promise(d=>{{const w=new Worker('/w.js');w.onmessage=e=>d(e.data);w.postMessage('{}')}})", secret(rig, "worker"));
    assert_eq!(rig.script(&worker).await, "failed");
}

/// By workers that outlive or share pages, and by sockets.
async fn by_its_workers(rig: &Rig) {
    rig.web.put(
        "/shared.js",
        200,
        &SCRIPT,
        format!("onconnect=e=>{{const p=e.ports[0];p.onmessage=async m=>p.postMessage(await ({ASKS})(m.data))}}"),
    );
    rig.web.put(
        "/sw.js",
        200,
        &SCRIPT,
        format!("oninstall=e=>skipWaiting();onactivate=e=>e.waitUntil(clients.claim());onmessage=async e=>e.source.postMessage(await ({ASKS})(e.data))"),
    );
    let service = format!(
        "navigator.serviceWorker.register('/sw.js').then(async r=>{{await navigator.serviceWorker.ready;\
         return new Promise(d=>{{navigator.serviceWorker.onmessage=e=>d(e.data);r.active.postMessage('{}')}})}})",
        secret(rig, "service")
    );
    assert_eq!(rig.script(&service).await, "failed");
    let shared = format!(
        "new Promise(d=>{{const w=new SharedWorker('/shared.js');w.port.onmessage=e=>d(e.data);w.port.start();w.port.postMessage('{}')}})",
        secret(rig, "shared")
    );
    assert_eq!(rig.script(&shared).await, "failed");
    let socket = format!(
        "new Promise(d=>{{const w=new WebSocket('{}');w.onopen=()=>d('open');w.onerror=()=>d('failed')}})",
        secret(rig, "socket").replace("http:", "ws:")
    );
    assert_eq!(rig.script(&socket).await, "failed");
}

/// By what is clicked.
async fn by_links(rig: &Rig) {
    for selector in ["#l", "#f", "#w"] {
        rig.open(&format!(
            "<a id=l href='{}'>l</a><form method=post action='{}'><button id=f>f</button></form><button id=w onclick=\"open('{}')\">w</button>",
            secret(rig, "link"),
            secret(rig, "form"),
            secret(rig, "window")
        ))
        .await;
        let clicked = rig.click(selector).await;
        assert!(clicked.ok, "{selector}: {}", clicked.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_from_an_allowed_folder_shows_no_file_outside() {
    let rig = Rig::managed().await;
    let secret = rig.worker.state.join("secret.txt");
    std::fs::write(&secret, "TOPSECRET").unwrap();
    let outside = format!("file://{}", secret.display());
    std::fs::write(rig.worker.allowed.join("inner.html"), "<p>inner</p>").unwrap();
    let page = rig.worker.allowed.join("page.html");
    let body = format!(
        "<p id=p>page</p><iframe src='{outside}'></iframe><iframe src=inner.html></iframe><iframe src='../state/secret.txt'></iframe>\
         <a id=l href='{outside}'>l</a><a id=t target=_blank href='{outside}'>t</a><a id=w href='view-source:{outside}'>w</a>"
    );
    std::fs::write(&page, body).unwrap();
    let address = json!({"url": format!("file://{}", page.display())});
    rig.done("navigate", address.clone()).await;
    assert_eq!(rig.done("wait", json!({"selector": "text=inner", "timeout": 20_000})).await["found"], true);
    assert!(!rig.call("wait", json!({"selector": "text=TOPSECRET", "timeout": 1000})).await.ok);
    for selector in ["#l", "#t", "#w"] {
        rig.done("navigate", address.clone()).await;
        let clicked = rig.click(selector).await;
        for tab in clicked.json["opened_tabs"].as_array().into_iter().flatten() {
            rig.call("tab_select", json!({"tabId": tab["tabId"]})).await;
            assert!(!rig.call("get_content", json!({})).await.text.contains("TOPSECRET"), "{selector}");
            rig.call("tab_close", json!({"tabId": tab["tabId"]})).await;
        }
        assert!(!rig.call("get_content", json!({})).await.text.contains("TOPSECRET"), "{selector}");
    }
    rig.done("navigate", address.clone()).await;
    rig.call("execute", json!({"script": format!("location='{outside}'")})).await;
    rig.call("wait", json!({"selector": "text=TOPSECRET", "timeout": 1000})).await;
    assert!(!rig.call("get_content", json!({})).await.text.contains("TOPSECRET"));
    rig.done("navigate", address).await;
    let read = rig.call("execute", json!({"script": format!("fetch('{outside}').then(r=>r.text()).catch(()=>'refused')")})).await;
    assert!(!read.text.contains("TOPSECRET"), "{}", read.text);
    rig.works().await;
}
