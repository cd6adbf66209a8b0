//! Clicks: what is clicked is what was meant, or nothing. Rows B096, B098, B100, B102, B104, B108 of the public reports.

use crate::on_both;
use crate::support::rig::Rig;
use serde_json::json;

on_both!(covered, moving, shadow_and_frames, disabled_and_hidden, leaving, words);

const BAR: &str = "<div id=consent style='position:fixed;left:0;right:0;bottom:0;height:160px;background:#ccd'>cookies</div>\
    <a id=legal href='/legal' style='position:fixed;left:40px;bottom:60px'>Legal</a><script>consent.before(legal)</script><button id=free>free</button>";

async fn covered(rig: Rig) {
    rig.open(BAR).await;
    let mark = rig.web.mark();
    let said = rig.fails("click", json!({"selector": "#legal"})).await;
    assert!(said.contains("covered by div#consent"), "{said}");
    let free = rig.web.mark();
    assert!(rig.click("#free").await.ok);
    rig.web.clicked(free, "free").await;
    assert_eq!(rig.web.since(mark, "mousedown").len(), 1, "the bar was not touched");
    rig.open("<button id=b>hello</button><div style='position:fixed;inset:0;opacity:0;z-index:9' id=veil></div>").await;
    assert!(rig.fails("click", json!({"selector": "button"})).await.contains("div#veil"));
    rig.open("<button id=b>hello</button><div style='position:fixed;inset:0;opacity:0;z-index:9;pointer-events:none'></div>").await;
    let mark = rig.web.mark();
    assert!(rig.click("button").await.ok);
    rig.web.clicked(mark, "b").await;
    // What a fixed header hides after scrolling is scrolled further.
    rig.open("<div style='position:fixed;top:0;left:0;right:0;height:120px;background:#fff;z-index:5'>head</div><div style='height:3000px'></div><button id=low>low</button><div style='height:3000px'></div>").await;
    rig.done("scroll", json!({"y": 3000})).await;
    let mark = rig.web.mark();
    assert!(rig.click("#low").await.ok);
    rig.web.clicked(mark, "low").await;
}

async fn moving(rig: Rig) {
    let body = "<style>#h{display:block}#l{overflow:hidden;max-height:0;transition:max-height 250ms linear;margin:0}#l.o{max-height:400px}li{height:40px}\
        #pad{height:0;transition:height 250ms linear}#pad.o{height:120px}</style><button id=h onclick=\"l.className='o';pad.className='o'\">open</button>\
        <div id=pad></div><ul id=l><li id=i1>1<li id=i2>2<li id=i3>3<li id=i4>4<li id=i5>5</ul>";
    for _ in 0..4 {
        rig.open(body).await;
        let mark = rig.web.mark();
        assert!(rig.click("#h").await.ok);
        // The page tells of it in its own time; what it tells after the next mark would count as a click there.
        rig.web.clicked(mark, "h").await;
        let mark = rig.web.mark();
        assert!(rig.click("li:nth-child(3)").await.ok);
        rig.web.clicked(mark, "i3").await;
    }
    // Moved by a script: it is hit where it is, or not at all.
    rig.open(
        "<div id=other style='position:fixed;inset:0'></div><button id=run style='position:fixed;left:0;top:200px;width:60px'>run</button>\
        <script>let x=0;setInterval(()=>{run.style.left=(x=(x+37)%900)+'px'},16)</script>",
    )
    .await;
    let mark = rig.web.mark();
    let answer = rig.click("#run").await;
    let clicks = rig.web.since(mark, "click");
    assert!(clicks.iter().all(|c| c["id"] == "run"), "{clicks:?}");
    if answer.ok {
        rig.web.clicked(mark, "run").await;
    } else {
        assert!(answer.text.contains("mov"), "{}", answer.text);
    }
}

async fn shadow_and_frames(rig: Rig) {
    rig.web.page("/frame", "<button id=pay>Pay 7 euro</button><input id=card>");
    rig.open(&format!("<x-menu></x-menu><script>customElements.define('x-menu',class extends HTMLElement{{constructor(){{super();this.attachShadow({{mode:'open'}}).innerHTML=\
        '<button id=inside>in</button><input id=field>'}}}})</script><div style='height:900px'></div><iframe id=f style='margin:20px;border:7px solid;padding:5px;width:400px;height:200px' src='{}'></iframe>", rig.web.other("/frame"))).await;
    for selector in ["x-menu button", "x-menu >>> button", "#inside", "text=in"] {
        let mark = rig.web.mark();
        rig.click(selector).await.success();
        rig.web.clicked(mark, "inside").await;
    }
    rig.type_text("x-menu input", "abc").await.success();
    rig.done("wait", json!({"selector": "#f >>> #pay"})).await;
    for selector in ["#pay", "#f >>> #pay", "iframe >>> text=pay", "role=button[name='Pay 7 euro']"] {
        let mark = rig.web.mark();
        rig.click(selector).await.success();
        rig.web.clicked(mark, "pay").await;
    }
    rig.type_text("#card", "4111 中").await.success();
    assert_eq!(rig.done("get_content", json!({"selector": "#card"})).await["content"], "4111 中");
    assert!(rig.done("get_content", json!({})).await["content"].as_str().unwrap().contains("Pay 7 euro"));
    // A frame that is covered from outside is not clicked through.
    rig.done(
        "execute",
        json!({"script": "f.insertAdjacentHTML('afterend','<div id=over style=\"position:fixed;inset:0;background:#eee\">over</div>');1"}),
    )
    .await;
    let mark = rig.web.mark();
    assert!(rig.fails("click", json!({"selector": "#pay"})).await.contains("div#over"));
    rig.untouched(mark).await;
}

async fn disabled_and_hidden(rig: Rig) {
    rig.open("<button id=off disabled>off</button><button id=aria aria-disabled=true>aria</button><button id=none style='display:none'>none</button>\
        <fieldset disabled><button id=inner>inner</button></fieldset><select id=s><option>one<option id=two>two</select>\
        <input type=checkbox id=c style='opacity:0;position:absolute'><label for=c style='display:inline-block;width:80px;background:#eee'>agree</label>").await;
    let mark = rig.web.mark();
    for (selector, word) in [
        ("#off", "disabled"),
        ("#aria", "disabled"),
        ("#none", "not visible"),
        ("#inner", "disabled"),
        ("#two", "browser_type"),
        ("#absent", "no element"),
    ] {
        let said = rig.fails("click", json!({"selector": selector})).await;
        assert!(said.contains(word), "{selector}: {said}");
    }
    rig.untouched(mark).await;
    let mark = rig.web.mark();
    rig.click("#c").await.success();
    rig.web.clicked(mark, "c").await;
    assert_eq!(rig.script("c.checked").await, true);
    // Enabled a moment later: waited for.
    rig.open("<button id=later disabled>later</button><script>setTimeout(()=>later.disabled=false,700)</script>").await;
    let mark = rig.web.mark();
    rig.click("#later").await.success();
    rig.web.clicked(mark, "later").await;
}

async fn leaving(rig: Rig) {
    rig.web.page("/there", "<title>there</title>there");
    for _ in 0..4 {
        rig.open("<a id=go href='/there' style='position:fixed;inset:0'>go</a>").await;
        let mark = rig.web.mark();
        let went = rig.click("#go").await.success();
        rig.web.clicked(mark, "go").await;
        assert!(went.json["navigated"] == true && went.json["url"].as_str().unwrap().ends_with("/there"), "{}", went.text);
        assert!(rig.current().await["url"].as_str().unwrap().ends_with("/there"));
    }
    rig.web.page("/again", "<a id=go href='/there' style='position:fixed;inset:0'>go</a>");
    for round in 0..8 {
        rig.open(&format!(
            "<a id=go href='/there' style='position:fixed;inset:0'>go</a><script>onload=()=>setTimeout(()=>location='/again',{})</script>",
            round * 11
        ))
        .await;
        let mark = rig.web.mark();
        let answer = rig.click("#go").await;
        if answer.ok {
            rig.web.hears(mark, "the click", |t| t["event"] == "click" && t["id"] == "go").await;
        } else {
            assert!(answer.text.contains("navigat") && !answer.text.contains("context"), "{}", answer.text);
        }
    }
}

async fn words(rig: Rig) {
    rig.open("<title>t</title><a id=more href='#m'>More</a><div id=q title=\"it's &quot;x&quot;\">q</div><script>addEventListener('click',e=>e.preventDefault())</script>").await;
    let mark = rig.web.mark();
    rig.click("[title=\"it's \\\"x\\\"\"]").await.success();
    rig.web.clicked(mark, "q").await;
    let mark = rig.web.mark();
    for bad in [
        "a:contains(\"More\")",
        "#1a2b",
        "div >",
        "//a",
        "",
        "  ",
        "');document.title='pwned';('",
        "x\"]');document.title='pwned';//",
        "a >>>",
        "role=",
        "text=",
    ] {
        let answer = rig.click(bad).await;
        assert_eq!(answer.json["error"], "invalid_arguments", "{bad:?}: {}", answer.text);
    }
    rig.untouched(mark).await;
    assert_eq!(rig.script("document.title").await, "t");
    let mark = rig.web.mark();
    rig.click("text=\"More\"").await.success();
    rig.web.clicked(mark, "more").await;
}
