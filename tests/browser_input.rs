//! Fields and keys: the field holds what was typed, or the error says why and it holds what it held. Rows B110, B112,
//! B114, B116 of the public reports, and their kind.

use crate::on_both;
use crate::support::rig::Rig;
use serde_json::{Value, json};

on_both!(refused_fields, texts, choices, values, keys);

async fn value(rig: &Rig, id: &str) -> Value {
    rig.script(&format!("document.getElementById('{id}').value")).await
}

async fn refused_fields(rig: Rig) {
    rig.open("<input id=ro readonly value=KEEP><input id=di disabled value=KEEP><input id=ok value=x><input id=max maxlength=5 value=KEEP><input id=box type=checkbox><p id=p>text</p>").await;
    let mark = rig.web.mark();
    for (selector, text, word) in [
        ("#ro", "x", "read-only"),
        ("#di", "x", "disabled"),
        ("#max", "123456", "at most 5"),
        ("#ok", "a\nb", "line breaks"),
        ("#box", "x", "browser_click"),
        ("#p", "x", "no field"),
    ] {
        let said = rig.fails("type", json!({"selector": selector, "text": text})).await;
        assert!(said.contains(word), "{selector}: {said}");
    }
    for id in ["ro", "di", "max"] {
        assert_eq!(value(&rig, id).await, "KEEP");
    }
    assert!(rig.web.since(mark, "input").is_empty());
    rig.type_text("#ok", "fine").await.success();
    assert_eq!(value(&rig, "ok").await, "fine");
}

async fn texts(rig: Rig) {
    rig.open("<textarea id=t>old</textarea><input id=i value=old><div id=e contenteditable>old <b>text</b></div><input id=r><script>let v='';\
        Object.defineProperty(r,'value',{get(){return v},set(x){v=x}});r.addEventListener('input',e=>{tell({event:'react',seen:Object.getOwnPropertyDescriptor(HTMLInputElement.prototype,'value').get.call(r)})})</script>").await;
    for (selector, text) in [
        ("#i", "Hello, World! ~`@#"),
        ("#i", "naïve 漢字 🎉 ok"),
        ("#t", "one\ntwo\n\nfour"),
        ("#e", "rich 中文"),
        ("#e", "two\nlines"),
        ("#i", ""),
    ] {
        rig.type_text(selector, text).await.success();
        let held = rig.done("get_content", json!({"selector": selector})).await["content"].as_str().unwrap().to_owned();
        assert_eq!(held.trim_end(), text, "{selector}");
    }
    let mark = rig.web.mark();
    rig.type_text("#i", "ab").await.success();
    let keys = rig.web.hears(mark, "the keys", |t| t["event"] == "keydown" && t["key"] == "b").await;
    assert_eq!(keys["trusted"], true);
    // A field whose own `value` lies, as frameworks make it: its handler sees the text.
    rig.type_text("#r", "xy").await.success();
    rig.web.hears(mark, "the framework's handler", |t| t["event"] == "react" && t["seen"] == "xy").await;
    for text in ["The quick brown fox 0123456789. ".repeat(940), (0..4000).map(|i| format!("line {i}")).collect::<Vec<_>>().join("\n")] {
        rig.type_text("#t", &text).await.success();
        assert_eq!(rig.script("t.value.length").await, json!(text.len()));
        assert_eq!(rig.script("t.value.slice(-30)").await, json!(&text[text.len() - 30..]));
    }
    let file = rig.worker.allowed.join("letter.txt");
    std::fs::write(&file, "hello").unwrap();
    rig.open("<input type=file id=f onchange=\"f.files[0].text().then(t=>tell({event:'file',text:t}))\">").await;
    let mark = rig.web.mark();
    let up = rig.type_text("#f", file.to_str().unwrap()).await;
    if rig.person.is_none() {
        up.success();
        rig.web.hears(mark, "the file's text", |t| t["event"] == "file" && t["text"] == "hello").await;
    }
    assert!(!rig.type_text("#f", "/etc/passwd").await.ok);
}

async fn choices(rig: Rig) {
    rig.open("<select id=s><option value=one>One<option value=two>Two<option value=three disabled>Three</select><select id=m multiple><option>a<option>b<option>c</select>").await;
    let mark = rig.web.mark();
    let chosen = rig.type_text("#s", "two").await.success();
    assert_eq!(value(&rig, "s").await, "two");
    rig.web.hears(mark, "change", |t| t["event"] == "change" && t["id"] == "s" && t["value"] == "two").await;
    rig.web.hears(mark, "input", |t| t["event"] == "input" && t["id"] == "s").await;
    assert_eq!(rig.web.since(mark, "input").len(), 1, "{}", chosen.text);
    for (text, word) in [("Four", "no option"), ("Three", "disabled")] {
        assert!(rig.fails("type", json!({"selector": "#s", "text": text})).await.contains(word));
        assert_eq!(value(&rig, "s").await, "two");
    }
    rig.type_text("#m", "a\nc").await.success();
    assert_eq!(rig.script("[...m.selectedOptions].map(o=>o.value).join()").await, "a,c");
    assert!(rig.fails("click", json!({"selector": "#s option:nth-child(1)"})).await.contains("browser_type"));
    rig.done("key_press", json!({"selector": "#s", "key": "ArrowUp"})).await;
    assert_eq!(value(&rig, "s").await, "one");
}

async fn values(rig: Rig) {
    rig.open("<input id=d type=date value=2024-02-03><input id=r type=range min=0 max=100 value=50><input id=n type=number value=7><input id=k type=color value='#112233'><input id=t type=time value='10:00'><input id=rd type=date readonly value=2024-02-03>").await;
    for (id, bad, kept) in [
        ("d", "31/12/2025", "2024-02-03"),
        ("r", "abc", "50"),
        ("r", "150", "50"),
        ("n", "12e", "7"),
        ("k", "nonsense", "#112233"),
        ("t", "25:00", "10:00"),
        ("rd", "2025-01-01", "2024-02-03"),
    ] {
        let said = rig.fails("type", json!({"selector": format!("#{id}"), "text": bad})).await;
        assert!(said.contains("unchanged"), "{said}");
        assert_eq!(value(&rig, id).await, kept, "{id}");
    }
    for (id, good) in [("d", "2025-12-31"), ("r", "70"), ("n", "-4.5"), ("k", "#abcdef"), ("t", "23:59")] {
        let mark = rig.web.mark();
        rig.type_text(&format!("#{id}"), good).await.success();
        assert_eq!(value(&rig, id).await, good);
        rig.web.hears(mark, "input", |t| t["event"] == "input" && t["id"] == id && t["value"] == good).await;
    }
}

async fn keys(rig: Rig) {
    rig.web.page("/sent", "<title>sent</title>sent");
    rig.open("<form action='/sent'><input id=i name=i value='abc'></form><textarea id=t></textarea>").await;
    rig.done("key_press", json!({"selector": "#i", "key": "a", "ctrlKey": true})).await;
    rig.done("key_press", json!({"key": "x"})).await;
    assert_eq!(value(&rig, "i").await, "x");
    rig.done("key_press", json!({"key": "Shift+q"})).await;
    rig.done("key_press", json!({"key": "中"})).await;
    assert_eq!(value(&rig, "i").await, "xQ中");
    assert!(rig.fails("key_press", json!({"key": "Bogus"})).await.contains("no key"));
    assert_eq!(rig.call("key_press", json!({"key": ""})).await.json["error"], "invalid_arguments");
    rig.done("key_press", json!({"selector": "#t", "key": "Enter"})).await;
    assert_eq!(value(&rig, "t").await, "\n");
    let sent = rig.done("key_press", json!({"selector": "#i", "key": "Enter"})).await;
    assert!(sent["navigated"] == true && sent["url"].as_str().unwrap().contains("/sent?i="), "{sent}");
}
