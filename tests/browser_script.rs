//! Scripts and dialogs. Rows B130, B132, B136, B138, B140, B142 of the public reports, and their kind.

use crate::on_both;
use crate::support::rig::Rig;
use serde_json::{Value, json};

on_both!(dialogs, nagging, plain_scripts, values, faults);

async fn dialogs(rig: Rig) {
    rig.open("<button id=b onclick=\"document.title=[alert('hey'),confirm('sure?'),prompt('name','x')].join('|')\">b</button><script>onbeforeunload=e=>{e.preventDefault();return 'stay'}</script>").await;
    let run = rig.done("execute", json!({"script": "alert('a'); 1"})).await;
    assert_eq!(
        (run["result"].as_i64(), run["dialogs"][0]["message"].as_str(), run["dialogs"][0]["answer"].as_str()),
        (Some(1), Some("a"), Some("accepted"))
    );
    let clicked = rig.click("#b").await.success();
    let told: Vec<_> = clicked.json["dialogs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| (d["kind"].as_str().unwrap().to_owned(), d["answer"].as_str().unwrap().to_owned()))
        .collect();
    let want = [("alert", "accepted"), ("confirm", "dismissed"), ("prompt", "dismissed")].map(|(k, a)| (k.to_owned(), a.to_owned()));
    assert_eq!(told, want);
    assert_eq!(rig.script("document.title").await, "|false|");
    let left = rig.done("navigate", json!({"url": rig.web.page("/n", "n")})).await;
    assert_eq!(left["dialogs"][0]["kind"], "beforeunload", "{left}");
    rig.works().await;
}

async fn nagging(rig: Rig) {
    rig.open("<p id=t>text</p><script>setInterval(()=>{prompt('nag-x')},500)</script>").await;
    let mut seen = String::new();
    for (tool, arguments) in [
        ("get_content", json!({"selector": "#t"})),
        ("click", json!({"selector": "#t"})),
        ("wait", json!({"selector": "text=nothing", "timeout": 1500})),
        ("current_tab", json!({})),
    ] {
        seen += &rig.call(tool, arguments).await.text;
    }
    assert!(seen.contains("nag-x"), "{seen}");
    rig.works().await;
}

async fn plain_scripts(rig: Rig) {
    rig.open("<a href=1>1</a><a href=2>2</a><script>const taken=1</script>").await;
    for (script, want) in [
        ("document.links.length", json!(2)),
        ("JSON.stringify({w: innerWidth > 0})", json!("{\"w\":true}")),
        ("var t=[3,4]; t.map(function(v){return v+1}).join('-')", json!("4-5")),
        ("const x=1; x", json!(1)),
        ("const x=1; x", json!(1)),
        ("let x=2; x", json!(2)),
        ("class K{}; typeof K", json!("function")),
        ("class K{}; typeof K", json!("function")),
        ("const taken=5; taken+1", json!(6)),
        ("const y=3; return y*2", json!(6)),
        ("if (1) { return 'early' } return 'late'", json!("early")),
        ("await 5", json!(5)),
        ("Promise.resolve({a:1})", json!({"a": 1})),
        ("fetch('/page').then(r=>r.status)", json!(200)),
        ("(async()=>{await null; return 'x'})()", json!("x")),
    ] {
        assert_eq!(rig.script(script).await, want, "{script}");
    }
}

async fn values(rig: Rig) {
    rig.open("<p id=p>x</p>").await;
    let run = async |script: &str| {
        let done = rig.done("execute", json!({"script": script})).await;
        (done["result"].clone(), done["type"].as_str().unwrap().to_owned())
    };
    let cases: [(&str, Value, &str); 16] = [
        ("void 0", Value::Null, "undefined"),
        ("null", Value::Null, "null"),
        ("NaN", json!("NaN"), "number"),
        ("-0", json!("-0"), "number"),
        ("Infinity", json!("Infinity"), "number"),
        ("10n", json!("10n"), "bigint"),
        ("Symbol('x')", json!("Symbol(x)"), "symbol"),
        ("new Date(0)", json!("1970-01-01T00:00:00.000Z"), "date"),
        ("()=>1", json!("()=>1"), "function"),
        ("[undefined]", json!(["undefined"]), "array"),
        ("({a:NaN,b:5n})", json!({"a": "NaN", "b": "5n"}), "object"),
        ("p", json!("<p id=p>"), "node"),
        ("new Map([[1,'x']])", json!({"Map": [[1, "x"]]}), "map"),
        ("new Uint8Array([1,2])", json!([1, 2]), "typedarray"),
        ("var o={n:1}; [o,o]", json!([{"n": 1}, {"n": 1}]), "array"),
        ("var c={}; c.c=c; c", json!({"c": "[circular]"}), "object"),
    ];
    for (script, value, kind) in cases {
        assert_eq!(run(script).await, (value, kind.to_owned()), "{script}");
    }
    let long = rig.done("execute", json!({"script": "'é'.repeat(400000)"})).await;
    assert!(long["truncated"] == true && long["total_bytes"].as_u64() == Some(800_002), "{}", long["total_bytes"]);
}

async fn faults(rig: Rig) {
    rig.open("<p>x</p>").await;
    for empty in ["", "  \n "] {
        assert_eq!(rig.call("execute", json!({"script": empty})).await.json["error"], "invalid_arguments");
    }
    for (script, word) in [
        ("throw new Error('mine')", "mine"),
        ("throw 7", "7"),
        ("x y", "SyntaxError"),
        ("Promise.reject(new TypeError('no'))", "TypeError"),
        ("nothing.at.all", "ReferenceError"),
        ("JSON.parse('{')", "SyntaxError"),
    ] {
        let said = rig.fails("execute", json!({"script": script})).await;
        assert!(said.contains(word), "{script}: {said}");
    }
    let left = rig.fails("execute", json!({"script": "location='/elsewhere'; new Promise(()=>{})"})).await;
    assert!(left.contains("navigated"), "{left}");
    rig.open("<p>x</p>").await;
    for endless in ["for(;;);", "new Promise(()=>{})"] {
        assert_eq!(rig.call("execute", json!({"script": endless})).await.json["error"], "timed_out");
    }
    assert_eq!(rig.script("1+1").await, 2);
    rig.works().await;
}
