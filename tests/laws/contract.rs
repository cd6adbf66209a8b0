//! The fixed part of every tool: what clients have been built on. Written by hand, so that no change of a declaration
//! changes it along. Parameters and result keys may be added; none of these is renamed, removed or made required.

use super::{hold, printed};
use serde_json::{Value, json};

/// What a tool keeps promising.
struct Fixed {
    name: &'static str,
    groups: &'static [&'static str],
    effect: &'static str,
    parameters: Vec<Parameter>,
    /// Result keys; `a.b` is key `b` in the object, or in each object of the list, under `a`.
    result: Vec<&'static str>,
}

/// One parameter: its JSON type, and what else clients rely on.
struct Parameter {
    name: &'static str,
    kind: &'static str,
    required: bool,
    one_of: &'static [&'static str],
    range: Option<(i64, i64)>,
    default: Value,
}

impl Parameter {
    fn one_of(self, one_of: &'static [&'static str]) -> Self {
        Self { one_of, ..self }
    }

    fn range(self, least: i64, most: i64) -> Self {
        Self { range: Some((least, most)), ..self }
    }

    fn or(self, default: impl Into<Value>) -> Self {
        Self { default: default.into(), ..self }
    }
}

fn may(name: &'static str, kind: &'static str) -> Parameter {
    Parameter { name, kind, required: false, one_of: &[], range: None, default: Value::Null }
}

fn must(name: &'static str, kind: &'static str) -> Parameter {
    Parameter { required: true, ..may(name, kind) }
}

fn tool<const P: usize, const R: usize>(
    name: &'static str,
    group: &'static [&'static str],
    effect: &'static str,
    parameters: [Parameter; P],
    result: [&'static str; R],
) -> Fixed {
    Fixed { name, groups: group, effect, parameters: parameters.into(), result: result.into() }
}

const READS: &str = "reads";
const CHANGES: &str = "changes";
const SCREEN: &[&str] = &["screen"];
const MOUSE: &[&str] = &["mouse"];
const KEYBOARD: &[&str] = &["keyboard"];
const LIST: &[&str] = &["file_list"];
const PAGE: &[&str] = &["browser_read"];
const ACT: &[&str] = &["browser_act"];
/// The group depends on the kind of action.
const BY_ACTION: &[&str] = &["screen", "mouse", "keyboard"];
const BUTTONS: &[&str] = &["left", "right", "middle"];
const INTEGER: &str = "integer";
const NUMBER: &str = "number";
const STRING: &str = "string";
const BOOLEAN: &str = "boolean";

fn computer() -> Vec<Fixed> {
    let place = || [must("x", INTEGER), must("y", INTEGER)];
    let [x, y] = place();
    let click = [x, y, may("button", STRING).one_of(BUTTONS).or("left"), may("clicks", INTEGER).or(1).range(1, 3)];
    let drag = ["startX", "startY", "endX", "endY"].map(|name| must(name, INTEGER));
    let scroll = [may("x", INTEGER), may("y", INTEGER), may("scrollX", INTEGER).or(0), must("scrollY", INTEGER)];
    let search = [must("path", STRING), must("query", STRING), may("max_results", INTEGER).or(50)];
    let picture = ["width", "height", "screen_width", "screen_height", "origin_x", "origin_y", "frame"];
    let words = [
        "elements.text",
        "elements.confidence",
        "elements.x",
        "elements.y",
        "elements.width",
        "elements.height",
        "elements.center_x",
        "elements.center_y",
        "count",
    ];
    let found = ["matches.path", "matches.name", "matches.is_dir", "matches.size", "count", "query"];
    vec![
        tool("computer_screenshot", SCREEN, READS, [], picture),
        tool("computer_screen_size", SCREEN, READS, [], ["width", "height", "platform"]),
        tool("computer_active_window", SCREEN, READS, [], ["title", "platform"]),
        tool("computer_screen_text", SCREEN, READS, [may("region", STRING)], words),
        tool("computer_mouse_click", MOUSE, CHANGES, click, ["ok", "x", "y"]),
        tool("computer_mouse_move", MOUSE, CHANGES, place(), ["ok"]),
        tool("computer_mouse_drag", MOUSE, CHANGES, drag, ["ok"]),
        tool("computer_mouse_scroll", MOUSE, CHANGES, scroll, ["ok"]),
        tool("computer_keyboard_type", KEYBOARD, CHANGES, [must("text", STRING)], ["ok"]),
        tool("computer_keyboard_press", KEYBOARD, CHANGES, [must("keys", "array")], ["ok"]),
        tool("computer_file_read", &["file_read"], READS, [must("path", STRING)], ["path", "sheets"]),
        tool("computer_file_write", &["file_write"], CHANGES, [must("path", STRING), must("content", STRING)], ["ok", "path"]),
        tool("computer_file_list", LIST, READS, [must("path", STRING)], ["entries.name", "entries.is_dir", "entries.size", "path"]),
        tool("computer_whitelist", LIST, READS, [], ["directories", "count"]),
        tool("computer_file_search", LIST, READS, search, found),
    ]
}

fn browser() -> Vec<Fixed> {
    let info = ["user_agent", "cdp_url", "viewport.width", "viewport.height"];
    let picture = ["screen_width", "screen_height", "image_width", "image_height"];
    let tabs = ["tabs.id", "tabs.url", "tabs.title", "tabs.active", "tabs.current", "tabs.windowId", "tabs.index"];
    let current = ["tab.id", "tab.url", "tab.title", "tab.active", "tab.windowId", "tab.index", "tab.status"];
    let scroll = [may("selector", STRING), may("x", INTEGER).or(0), may("y", INTEGER).or(0)];
    let held = |name| may(name, BOOLEAN).or(false);
    let press = [must("key", STRING), may("selector", STRING), held("ctrlKey"), held("shiftKey"), held("altKey"), held("metaKey")];
    let attribute = ["name", "value", "attributeValue", "propertyValue", "propertyType"];
    let links = ["links.text", "links.href", "links.title", "links.target"];
    let selector = || must("selector", STRING);
    vec![
        tool("browser_get_info", PAGE, READS, [], info),
        tool("browser_gui_screenshot", SCREEN, READS, [], picture),
        tool("browser_gui_execute_action", BY_ACTION, CHANGES, [must("action", "object")], ["status", "action_performed"]),
        tool("browser_navigate", ACT, CHANGES, [must("url", STRING)], ["success"]),
        tool("browser_screenshot", PAGE, READS, [], []),
        tool("browser_click", ACT, CHANGES, [selector()], ["success"]),
        tool("browser_type", ACT, CHANGES, [selector(), must("text", STRING)], ["success"]),
        tool("browser_get_content", PAGE, READS, [may("selector", STRING).or("body")], ["content"]),
        tool("browser_execute", &["browser_script"], CHANGES, [must("script", STRING)], ["result"]),
        tool("browser_tabs_list", PAGE, READS, [], tabs),
        tool("browser_tab_new", ACT, CHANGES, [may("url", STRING)], ["tabId"]),
        tool("browser_tab_close", ACT, CHANGES, [must("tabId", INTEGER)], ["success"]),
        tool("browser_go_back", ACT, CHANGES, [], ["success"]),
        tool("browser_go_forward", ACT, CHANGES, [], ["success"]),
        tool("browser_reload", ACT, CHANGES, [may("bypassCache", BOOLEAN).or(false)], ["success"]),
        tool("browser_current_tab", PAGE, READS, [], current),
        tool("browser_tab_select", ACT, CHANGES, [must("tabId", INTEGER)], ["success", "tabId"]),
        tool("browser_scroll", ACT, CHANGES, scroll, ["success", "scrollX", "scrollY", "scrollLeft", "scrollTop"]),
        tool("browser_key_press", ACT, CHANGES, press, ["success"]),
        tool("browser_get_attribute", PAGE, READS, [selector(), must("name", STRING)], attribute),
        tool("browser_get_links", PAGE, READS, [may("selector", STRING), may("limit", INTEGER).or(100)], links),
        tool("browser_wait", PAGE, READS, [selector(), may("timeout", INTEGER).or(10_000)], ["found"]),
    ]
}

/// Ours, added since; they stand after the fixed ones.
const ADDED: [&str; 2] = ["computer_click_text", "computer_wait_for"];

/// What `action` of `browser_gui_execute_action` may hold, for all kinds together.
fn action() -> Vec<Parameter> {
    let kinds = &[
        "CLICK",
        "DOUBLE_CLICK",
        "RIGHT_CLICK",
        "MOVE_TO",
        "MOVE_REL",
        "MOUSE_DOWN",
        "MOUSE_UP",
        "DRAG_TO",
        "DRAG_REL",
        "SCROLL",
        "TYPING",
        "PRESS",
        "KEY_DOWN",
        "KEY_UP",
        "HOTKEY",
        "WAIT",
    ];
    vec![
        must("action_type", STRING).one_of(kinds),
        may("x", NUMBER),
        may("y", NUMBER),
        may("x_offset", NUMBER),
        may("y_offset", NUMBER),
        may("button", STRING).one_of(BUTTONS).or("left"),
        may("num_clicks", INTEGER).range(1, 3).or(1),
        may("dx", INTEGER).range(-100, 100),
        may("dy", INTEGER).range(-100, 100),
        may("text", STRING),
        may("use_clipboard", BOOLEAN).or(true),
        may("key", STRING),
        may("keys", "array"),
        may("duration", NUMBER),
    ]
}

fn fixed() -> Vec<Fixed> {
    let mut all = computer();
    all.extend(browser());
    all
}

fn declared() -> Vec<Value> {
    let page: Value = serde_json::from_str(&printed("json")).unwrap();
    page["tools"].as_array().unwrap().clone()
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// What the schema says otherwise than these parameters; `at` names the place.
fn differences(at: &str, schema: &Value, parameters: &[Parameter]) -> Vec<String> {
    let mut told = Vec::new();
    let required: Vec<_> = parameters.iter().filter(|parameter| parameter.required).map(|parameter| parameter.name).collect();
    if strings(&schema["required"]) != required {
        told.push(format!("{at}: {} is required, not {required:?}", schema["required"]));
    }
    for parameter in parameters {
        let declared = &schema["properties"][parameter.name];
        let at = format!("{at}.{}", parameter.name);
        let kinds = if declared["type"].is_array() { strings(&declared["type"]) } else { declared["type"].as_str().into_iter().collect() };
        if !kinds.contains(&parameter.kind) {
            told.push(format!("{at}: of type {}, not {}", declared["type"], parameter.kind));
        }
        if parameter.kind == "array" && declared["items"]["type"] != STRING {
            told.push(format!("{at}: a list of {}, not of strings", declared["items"]));
        }
        if declared.get("default").unwrap_or(&Value::Null) != &parameter.default {
            told.push(format!("{at}: by default {}, not {}", declared["default"], parameter.default));
        }
        if strings(&declared["enum"]) != parameter.one_of {
            told.push(format!("{at}: one of {}, not {:?}", declared["enum"], parameter.one_of));
        }
        if let Some((least, most)) = parameter.range
            && (declared["minimum"] != json!(least) || declared["maximum"] != json!(most))
        {
            told.push(format!("{at}: {} to {}, not {least} to {most}", declared["minimum"], declared["maximum"]));
        }
    }
    told
}

/// Whether the schema has the result key, looking into lists.
fn has_key(schema: &Value, path: &str) -> bool {
    let found = path.split('.').try_fold(schema, |schema, key| {
        let object = if schema.get("items").is_some() { &schema["items"] } else { schema };
        object["properties"].get(key)
    });
    found.is_some()
}

#[test]
fn the_tools_are_these_in_this_order() {
    let declared = declared();
    let names: Vec<_> = declared.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let promised: Vec<_> = fixed().iter().map(|tool| tool.name).chain(ADDED).collect();
    assert_eq!(names, promised);
}

#[test]
fn groups_and_effects_are_the_promised_ones() {
    let declared = declared();
    let mut breaches = Vec::new();
    for (tool, declared) in fixed().iter().zip(&declared) {
        if strings(&declared["groups"]) != tool.groups || declared["effect"] != tool.effect {
            breaches.push(format!("{}: {} {}, not {:?} {}", tool.name, declared["groups"], declared["effect"], tool.groups, tool.effect));
        }
    }
    hold("groups and effects", &breaches);
}

#[test]
fn parameters_are_the_promised_ones() {
    let declared = declared();
    let mut breaches = Vec::new();
    for (tool, declared) in fixed().iter().zip(&declared) {
        breaches.extend(differences(tool.name, &declared["inputSchema"], &tool.parameters));
        if tool.name == "browser_gui_execute_action" {
            let schema = &declared["inputSchema"]["properties"]["action"];
            breaches.extend(differences("action", schema, &action()));
            if schema["properties"]["duration"]["exclusiveMinimum"] != 0 || schema["properties"]["duration"]["maximum"] != 10.0 {
                breaches.push("action.duration: not more than 0 and at most 10".into());
            }
            if schema["properties"]["text"]["minLength"] != 1 {
                breaches.push("action.text: may be empty".into());
            }
        }
    }
    hold("parameters", &breaches);
}

#[test]
fn results_have_the_promised_keys() {
    let declared = declared();
    let mut breaches = Vec::new();
    for (tool, declared) in fixed().iter().zip(&declared) {
        let missing = tool.result.iter().filter(|key| !has_key(&declared["outputSchema"], key));
        breaches.extend(missing.map(|key| format!("{} has no {key}", tool.name)));
    }
    hold("result keys", &breaches);
}
