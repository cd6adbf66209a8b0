//! Reading, waiting, scrolling, pictures. Rows B144, B146, B148, B150, B152 of the public reports, and their kind.

use crate::on_both;
use crate::support::rig::Rig;
use serde_json::{Value, json};

on_both!(long_pages, attributes, waiting, scrolling, pictures);

async fn long_pages(rig: Rig) {
    let rows: String = (0..60_000).map(|i| format!("row {i:07} 漢字 lorem ipsum dolor sit amet\n")).collect();
    rig.open(&format!("<p id=small>tiny text</p><pre id=big>{rows}</pre><input id=i value=typed><a href='#x' title=t target=_top>link</a><svg><a href='/svg'><text>s</text></a></svg>")).await;
    let (mut all, mut offset, mut total) = (String::new(), 0, 0);
    loop {
        let piece = rig.done("get_content", json!({"selector": "#big", "offset": offset})).await;
        let text = piece["content"].as_str().unwrap();
        assert!(text.len() <= 300_000);
        total = total.max(piece["total_bytes"].as_u64().unwrap());
        all.push_str(text);
        match piece["next_offset"].as_u64() {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert_eq!(all.trim_end(), rows.trim_end());
    assert_eq!(total as usize, all.len());
    assert_eq!(rig.done("get_content", json!({"selector": "#small"})).await["content"], "tiny text");
    assert_eq!(rig.done("get_content", json!({"selector": "#i"})).await["content"], "typed");
    assert!(rig.fails("get_content", json!({"selector": "#absent"})).await.contains("no element"));
    let links = rig.done("get_links", json!({})).await;
    assert_eq!(links["total"], 2, "{links}");
    assert_eq!(
        (links["links"][0]["text"].as_str(), links["links"][0]["title"].as_str(), links["links"][0]["target"].as_str()),
        (Some("link"), Some("t"), Some("_top"))
    );
    assert!(links["links"][1]["href"].as_str().unwrap().ends_with("/svg"));
    assert_eq!(rig.done("get_links", json!({"limit": 1})).await["links"].as_array().unwrap().len(), 1);
}

async fn attributes(rig: Rig) {
    rig.open("<button id=b disabled>b</button><input id=i value=old><a id=l href='../x'>l</a>").await;
    let read = async |selector: &str, name: &str| rig.done("get_attribute", json!({"selector": selector, "name": name})).await;
    let empty = read("#b", "disabled").await;
    assert_eq!((empty["attributeValue"].as_str(), &empty["propertyValue"], &empty["present"]), (Some(""), &json!(true), &json!(true)));
    let absent = read("#b", "data-none").await;
    assert_eq!((&absent["attributeValue"], &absent["value"], &absent["present"]), (&Value::Null, &Value::Null, &json!(false)));
    rig.type_text("#i", "new").await.success();
    let live = read("#i", "value").await;
    assert_eq!(
        (live["value"].as_str(), live["attributeValue"].as_str(), live["propertyValue"].as_str()),
        (Some("new"), Some("old"), Some("new"))
    );
    let link = read("#l", "href").await;
    assert!(link["attributeValue"] == "../x" && link["propertyValue"].as_str().unwrap().starts_with("http"), "{link}");
    assert!(!rig.call("get_attribute", json!({"selector": "#absent", "name": "id"})).await.ok);
}

async fn waiting(rig: Rig) {
    rig.open("<p id=here>here</p><p id=never style='display:none'>n</p><p class=m style='display:none'>1</p><p class=m>2</p><p id=box style='display:none'>box</p>\
        <script>addEventListener('keydown',()=>setTimeout(()=>box.style.display='',1000))</script>").await;
    rig.done("key_press", json!({"key": "a"})).await;
    let shown = std::time::Instant::now();
    rig.done("wait", json!({"selector": "#box", "timeout": 30_000})).await;
    assert!(shown.elapsed().as_millis() > 400);
    for (selector, timeout) in [("#here", 700), (".m", 700), ("#here", 0)] {
        assert_eq!(rig.done("wait", json!({"selector": selector, "timeout": timeout})).await["found"], true);
    }
    for (selector, word) in [("#never", "not visible"), ("#absent", "nothing matches")] {
        let answer = rig.call("wait", json!({"selector": selector, "timeout": 300})).await;
        assert!(answer.json["error"] == "timed_out" && answer.text.contains(word), "{}", answer.text);
    }
    for bad in [json!("abc"), json!(-1), json!(1.5)] {
        assert_eq!(rig.call("wait", json!({"selector": "#here", "timeout": bad})).await.json["error"], "invalid_arguments", "{bad}");
    }
}

async fn scrolling(rig: Rig) {
    rig.open("<div style='height:3000px'>tall</div><div id=area style='height:100px;overflow:auto'><div style='height:900px'><p id=flat>flat</p></div></div>").await;
    assert_eq!(rig.done("scroll", json!({"y": 700})).await["scrollY"], 700);
    assert_eq!(rig.script("scrollY").await, 700);
    // The debugging bar comes up beside the page and changes its window, so the end is looked for until it stays.
    let mut end = rig.done("scroll", json!({"y": 100_000})).await["scrollY"].clone();
    let stuck = loop {
        let stuck = rig.done("scroll", json!({"y": 500})).await;
        if stuck["scrollY"] == end && stuck["movedY"] == 0 {
            break stuck;
        }
        end = stuck["scrollY"].clone();
    };
    assert_eq!(stuck["movedY"], 0);
    // Away from the end, where a window that grows moves the page by itself.
    rig.done("scroll", json!({"y": -600})).await;
    assert_eq!(rig.done("scroll", json!({"y": -400})).await["movedY"], -400);
    for selector in ["#area", "#flat"] {
        rig.script("area.scrollTop=0").await;
        let moved = rig.done("scroll", json!({"selector": selector, "y": 50})).await;
        assert_eq!(
            (&moved["scrollTop"], &moved["movedY"], moved["area"].as_str()),
            (&json!(50), &json!(50), Some("div#area")),
            "{selector}"
        );
    }
    rig.open("<body style='margin:0;overflow:hidden;height:100vh'><main id=app style='height:100vh;overflow:auto'><div style='height:4000px'>app</div></main>").await;
    assert_eq!(rig.done("scroll", json!({"y": 300})).await["area"], "main#app");
}

async fn pictures(rig: Rig) {
    let colour = async |arguments: Value| {
        let (_, bytes) = rig.call("screenshot", arguments).await.success().picture();
        let picture = image::load_from_memory(&bytes).unwrap().to_rgb8();
        (picture.get_pixel(picture.width() / 2, picture.height() / 2).0, picture.dimensions())
    };
    let near = |a: [u8; 3], b: [u8; 3]| a.iter().zip(b).all(|(a, b)| a.abs_diff(b) < 30);
    let mut tabs = Vec::new();
    for (path, css) in [("/red", "rgb(200,30,30)"), ("/blue", "rgb(30,30,200)")] {
        let page = rig.web.page(path, &format!("<body style='background:{css}'><div id=d style='width:120px;height:80px;background:rgb(30,200,30);margin-top:1500px'></div>"));
        tabs.push(rig.done("tab_new", json!({"url": page})).await["tabId"].clone());
    }
    for (tab, want) in [(&tabs[0], [200, 30, 30]), (&tabs[1], [30, 30, 200]), (&tabs[0], [200, 30, 30])] {
        rig.done("tab_select", json!({"tabId": tab})).await;
        let (seen, _) = colour(json!({})).await;
        assert!(near(seen, want), "{seen:?} is not {want:?}");
    }
    let (seen, size) = colour(json!({"selector": "#d"})).await;
    assert!(near(seen, [30, 200, 30]) && size == (120, 80), "{seen:?} {size:?}");
    // A tab behind others is drawn as far as its window in the person's browser, and that is said.
    let whole = rig.call("screenshot", json!({"full_page": true})).await;
    if whole.ok || rig.person.is_none() {
        assert!(image::load_from_memory(&whole.success().picture().1).unwrap().height() > 1500);
    } else {
        assert!(whole.text.contains("behind others"), "{}", whole.text);
    }
    assert_eq!(rig.call("screenshot", json!({"format": "bmp"})).await.json["error"], "invalid_arguments");
    let jpeg = rig.call("screenshot", json!({"format": "jpeg"})).await.success().picture();
    assert_eq!(jpeg.0, "image/jpeg");
}
