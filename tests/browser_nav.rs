//! Going somewhere. Rows B118, B120, B122, B124, B126, B128 of the public reports, and their kind.

use crate::on_both;
use crate::support::rig::Rig;
use serde_json::json;
use std::time::{Duration, Instant};

on_both!(fragments, failures, history, downloads, refusals, never_ending);

async fn fragments(rig: Rig) {
    let page = rig.web.page("/p", "<p id=a>A</p><div style='height:3000px'></div><p id=b>B</p>");
    let first = rig.done("navigate", json!({"url": page})).await;
    assert_eq!((first["same_document"].as_bool(), first["status"].as_u64()), (Some(false), Some(200)));
    rig.script("window.mine=1").await;
    for part in ["#a", "#a", "#b"] {
        let went = rig.done("navigate", json!({"url": format!("{page}{part}")})).await;
        assert!(went["url"].as_str().unwrap().ends_with(part), "{went}");
    }
    assert_eq!(rig.script("window.mine").await, 1);
    // The browser scrolls to a fragment when it next draws.
    rig.script("new Promise(go=>{const look=()=>scrollY>1000?go(1):setTimeout(look,20);look()})").await;
    let went = rig.done("go_back", json!({})).await;
    assert!(went["same_document"] == true && went["url"].as_str().unwrap().ends_with("#a"), "{went}");
}

async fn failures(rig: Rig) {
    rig.open("<title>home</title>home").await;
    let home = rig.current().await["url"].clone();
    for bad in ["http://", "not a url", "", "example.com"] {
        assert!(!rig.fails("navigate", json!({"url": bad})).await.is_empty());
        assert_eq!(rig.current().await["url"], home);
    }
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for (url, word) in
        [(format!("http://127.0.0.1:{unused}/"), "ERR_CONNECTION_REFUSED"), ("https://no-such-host.invalid/".to_owned(), "ERR_")]
    {
        let begun = Instant::now();
        let said = rig.fails("navigate", json!({"url": url})).await;
        assert!(said.contains(word), "{said}");
        assert!(begun.elapsed() < Duration::from_secs(15));
    }
    let tls = rig.fails("navigate", json!({"url": rig.web.url("/page").replace("http:", "https:")})).await;
    assert!(tls.contains("ERR_"), "{tls}");
    rig.works().await;
}

async fn history(rig: Rig) {
    let (a, b) = (rig.web.page("/a", "<title>A</title>A"), rig.web.page("/b", "<title>B</title>B"));
    rig.done("navigate", json!({"url": a})).await;
    rig.done("navigate", json!({"url": b})).await;
    for (tool, path) in [("go_back", "/a"), ("go_forward", "/b"), ("go_back", "/a")] {
        let mark = rig.web.mark();
        let went = rig.done(tool, json!({})).await;
        assert!(went["url"].as_str().unwrap().ends_with(path), "{went}");
        rig.web.hears(mark, path, |t| t["event"] == "shown" && t["path"] == path).await;
        assert!(rig.current().await["url"].as_str().unwrap().ends_with(path));
    }
    assert_eq!(rig.script("document.title").await, "A");
    let mut last = None;
    for _ in 0..6 {
        let answer = rig.call("go_back", json!({})).await;
        if !answer.ok {
            last = Some(answer.text);
            break;
        }
    }
    let last = last.expect("the history has an end");
    assert!(last.contains("earlier page") || last.contains("refused"), "{last}");
    let mark = rig.web.mark();
    rig.done("navigate", json!({"url": rig.web.url("/b")})).await;
    rig.done("reload", json!({"bypassCache": true})).await;
    assert_eq!(rig.web.since(mark, "request").iter().filter(|r| r["path"] == "/b").count(), 2);
    rig.works().await;
}

async fn downloads(rig: Rig) {
    rig.web.put(
        "/f.bin",
        200,
        &[("Content-Type", "application/octet-stream"), ("Content-Disposition", "attachment; filename=report.bin")],
        vec![b'x'; 5000],
    );
    rig.web.put("/a.tar.gz", 200, &[("Content-Type", "application/gzip")], vec![0x1f, 0x8b, 0, 0]);
    rig.web.put("/none", 204, &[], "");
    rig.web.page("/next", "next");
    rig.web.put(
        "/home",
        200,
        &[("Content-Type", "text/html"), ("Set-Cookie", "sid=abc; Path=/")],
        "<!doctype html><title>home</title><a id=dl href=/f.bin>get</a> <a id=nx href=/next>next</a>",
    );
    rig.done("navigate", json!({"url": rig.web.url("/home")})).await;
    let clicked = rig.click("#dl").await.success();
    let came = rig.downloaded(&clicked.json).await;
    assert_eq!((came[0]["file"].as_str(), came[0]["state"].as_str()), (Some("report.bin"), Some("completed")), "{came:?}");
    if rig.person.is_none() {
        let path = came[0]["path"].as_str().unwrap_or_else(|| panic!("no place in {came:?}"));
        assert_eq!(std::fs::read(path).unwrap().len(), 5000);
        assert!(std::path::Path::new(path).starts_with(&rig.worker.state) && std::path::Path::new(path).starts_with(folder_of(&came[0])));
    }
    assert!(rig.current().await["url"].as_str().unwrap().ends_with("/home"));
    let archive = rig.call("navigate", json!({"url": rig.web.url("/a.tar.gz")})).await;
    assert!(archive.text.contains("download"), "{}", archive.text);
    assert!(rig.fails("navigate", json!({"url": rig.web.url("/none")})).await.contains("204"));
    assert!(rig.current().await["url"].as_str().unwrap().ends_with("/home"));
    let mark = rig.web.mark();
    rig.click("#nx").await.success();
    let asked = rig.web.hears(mark, "the next page's request", |t| t["event"] == "request" && t["path"] == "/next").await;
    assert!(asked["cookie"].as_str().unwrap().contains("sid=abc"));
}

fn folder_of(download: &serde_json::Value) -> &str {
    download["folder"].as_str().unwrap_or_else(|| panic!("no folder in {download}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn no_download_leaves_its_folder_or_replaces_another() {
    let rig = Rig::managed().await;
    let served = |path: &str, name: &str, body: &str| {
        let named = format!("attachment; filename=\"{name}\"");
        rig.web.put(path, 200, &[("Content-Type", "application/octet-stream"), ("Content-Disposition", &named)], body);
    };
    served("/first", "report.bin", "first");
    served("/second", "report.bin", "second");
    served("/up", "../../up.bin", "up");
    served("/root", "/etc/root.bin", "root");
    served("/hidden", "..%2f..%2fhidden.bin", "hidden");
    let links = ["first", "second", "up", "root", "hidden"];
    let mut paths = Vec::new();
    for name in links {
        rig.open(&format!("<a id=l href=/{name}>get</a>")).await;
        let came = rig.downloaded(&rig.click("#l").await.success().json).await;
        let (path, folder) = (came[0]["path"].as_str().unwrap_or_else(|| panic!("no place in {came:?}")).to_owned(), folder_of(&came[0]));
        assert_eq!(std::path::Path::new(&path).parent().unwrap(), std::path::Path::new(folder));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), name);
        paths.push(path);
    }
    for (path, name) in paths.iter().zip(links) {
        assert_eq!(std::fs::read_to_string(path).unwrap(), name, "{path} was replaced");
    }
    rig.works().await;
}

async fn refusals(rig: Rig) {
    let secret = rig.worker.state.join("secret.txt");
    std::fs::write(&secret, "TOPSECRET").unwrap();
    let file = format!("file://{}", secret.display());
    rig.open("<title>home</title>home").await;
    for bad in [
        file.as_str(),
        "javascript:document.title='pwned'",
        "data:text/html,x",
        "view-source:http://127.0.0.1/",
        "chrome://settings",
        "http://169.254.169.254/",
        "http://[fe80::1]/",
        "http://metadata.google.internal/",
    ] {
        assert_eq!(rig.call("navigate", json!({"url": bad})).await.json["error"], "denied", "{bad}");
        assert_eq!(rig.call("tab_new", json!({"url": bad})).await.json["error"], "denied", "{bad}");
    }
    for (n, to) in [file.as_str(), "http://169.254.169.254:81/latest/", "javascript:document.title='pwned'"].iter().enumerate() {
        let hop = rig.web.put(&format!("/hop{n}"), 302, &[("Location", to)], "");
        let said = rig.fails("navigate", json!({"url": hop})).await;
        assert!(!to.contains("169.254") || said.contains("refused"), "{said}");
        let content = rig.call("get_content", json!({})).await;
        assert!(!content.text.contains("TOPSECRET") && !said.contains("TOPSECRET"));
    }
    // A page's own requests go by the same rule.
    rig.open("<title>home</title><a id=go href='http://169.254.169.254:81/'>go</a>").await;
    assert_eq!(rig.script("fetch('http://169.254.169.254:81/',{mode:'no-cors'}).then(()=>'came',()=>'failed')").await, "failed");
    let clicked = rig.click("#go").await.success();
    assert!(clicked.json["notes"].to_string().contains("refused"), "{}", clicked.text);
    // What lies in an allowed folder may be looked at.
    let page = rig.worker.allowed.join("page.html");
    std::fs::write(&page, "<p>from a file</p>").unwrap();
    let seen = rig.call("navigate", json!({"url": format!("file://{}", page.display())})).await;
    if rig.person.is_none() {
        seen.success();
        assert_eq!(rig.done("get_content", json!({})).await["content"], "from a file");
    }
    rig.works().await;
}

async fn never_ending(rig: Rig) {
    rig.open("<title>home</title><button id=b>b</button>").await;
    let home = rig.current().await["url"].clone();
    let said = rig.fails("navigate", json!({"url": rig.web.hang("/hang")})).await;
    assert!(said.contains("did not answer"), "{said}");
    assert_eq!(rig.current().await["url"], home);
    // The document is there, a picture of it never comes: told as loading, and usable.
    let page = rig.web.page("/part", "<button id=b>b</button><img src=/hang>");
    let went = rig.done("navigate", json!({"url": page})).await;
    assert_eq!(went["loading"], true);
    let mark = rig.web.mark();
    rig.click("#b").await.success();
    rig.web.clicked(mark, "b").await;
    rig.works().await;
}
