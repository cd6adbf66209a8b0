//! Tabs: whose they are, which one is meant, and what becomes of them. Rows B156, B158, B160 of the public reports, and
//! their kind.

use crate::on_both;
use crate::support::rig::Rig;
use serde_json::{Value, json};

on_both!(only_the_chosen, opened_by_pages, closed);

async fn ids(rig: &Rig) -> Vec<i64> {
    let list = rig.done("tabs_list", json!({})).await;
    list["tabs"].as_array().unwrap().iter().map(|t| t["id"].as_i64().unwrap()).collect()
}

async fn only_the_chosen(rig: Rig) {
    let body = "<body tabindex=0><div style='height:4000px'>x</div>";
    let mut tabs = Vec::new();
    for path in ["/a", "/b"] {
        tabs.push(rig.done("tab_new", json!({"url": rig.web.page(path, body)})).await["tabId"].clone());
    }
    for (mine, other) in [(0, 1), (1, 0)] {
        rig.done("tab_select", json!({"tabId": tabs[mine]})).await;
        assert_eq!(rig.current().await["id"], tabs[mine]);
        let mark = rig.web.mark();
        assert_eq!(rig.done("scroll", json!({"y": 300})).await["movedY"], 300);
        rig.done("key_press", json!({"key": "k"})).await;
        rig.script("document.title='T'+location.pathname").await;
        let path = ["/a", "/b"][mine];
        rig.web.hears(mark, "the key", |t| t["event"] == "keydown" && t["path"] == path && t["trusted"] == true).await;
        rig.done("tab_select", json!({"tabId": tabs[other]})).await;
        assert_ne!(rig.script("document.title").await, json!(format!("T{path}")));
        assert!(rig.web.since(mark, "keydown").iter().all(|k| k["path"] == path));
        rig.script("scrollTo(0,0)").await;
    }
}

async fn opened_by_pages(rig: Rig) {
    let new = rig.web.page("/new", "<title>new</title>new");
    rig.open("<a id=l href='/new' target=_blank>l</a><button id=w onclick=\"open('/new','w','width=300,height=200')\">w</button>").await;
    let (before, current) = (ids(&rig).await, rig.current().await["id"].clone());
    for selector in ["#l", "#w"] {
        let clicked = rig.click(selector).await.success();
        let opened = clicked.json["opened_tabs"][0]["tabId"].as_i64().unwrap_or_else(|| panic!("{}", clicked.text));
        assert!(!before.contains(&opened) && ids(&rig).await.contains(&opened));
        assert_eq!(rig.current().await["id"], current, "the current tab stays");
        rig.done("tab_select", json!({"tabId": opened})).await;
        rig.done("wait", json!({"selector": "text=new"})).await;
        assert_eq!(rig.script("location.href").await, new);
        rig.done("tab_close", json!({"tabId": opened})).await;
        assert_eq!(rig.current().await["id"], current, "the one before is current again");
    }
}

async fn closed(rig: Rig) {
    rig.web.page("/y", "y");
    rig.open("<title>first</title>first <button id=o onclick=\"window.open('/y')\">o</button>").await;
    let first = rig.current().await["id"].clone();
    let second =
        rig.done("tab_new", json!({"url": rig.web.page("/x", "<script>onbeforeunload=e=>e.preventDefault()</script>x")})).await["tabId"]
            .clone();
    rig.click("body").await;
    rig.done("tab_close", json!({"tabId": second})).await;
    for unknown in [second.clone(), json!(987_654)] {
        for tool in ["tab_close", "tab_select"] {
            assert_eq!(rig.call(tool, json!({"tabId": unknown})).await.json["error"], "not_found");
        }
    }
    assert_eq!(rig.current().await["id"], first);
    // One that closes itself, as only a window that a page opened may, is told once, with what is next.
    let third = rig.click("#o").await.success().json["opened_tabs"][0]["tabId"].clone();
    rig.done("tab_select", json!({"tabId": third})).await;
    assert!(third.as_i64() > second.as_i64(), "numbers are not used again");
    rig.script("setTimeout(()=>close(),50),1").await;
    let said = loop {
        let answer = rig.call("get_content", json!({"selector": "body"})).await;
        if !answer.ok {
            break answer.text;
        }
    };
    assert!(said.contains(&format!("next call acts on tab {first}")), "{said}");
    assert!(rig.done("get_content", json!({})).await["content"].as_str().unwrap().starts_with("first"));
    let bad = rig.call("tab_new", json!({"url": "http://127.0.0.1:9/"})).await;
    assert!(!bad.ok);
    assert_eq!(ids(&rig).await.len(), ids(&rig).await.iter().collect::<std::collections::BTreeSet<_>>().len());
    let rows: Value = rig.done("tabs_list", json!({})).await;
    assert_eq!(rows["tabs"].as_array().unwrap().iter().filter(|t| t["current"] == true).count(), 1);
}
