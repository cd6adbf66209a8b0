//! The sixteen actions, read from what agents send: numbers as text, whole numbers with `.0`, names in any case. What is
//! missing or not known is named, never guessed.

use crate::acting::ButtonName;
use deskhand_core::{Group, Text};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Every `action_type`, with the parameters it takes.
const ACTIONS: [(&str, &[&str]); 16] = [
    ("CLICK", &["x", "y", "button", "num_clicks", "frame"]),
    ("DOUBLE_CLICK", &["x", "y", "frame"]),
    ("RIGHT_CLICK", &["x", "y", "frame"]),
    ("MOVE_TO", &["x", "y", "frame"]),
    ("MOVE_REL", &["x_offset", "y_offset"]),
    ("MOUSE_DOWN", &["button"]),
    ("MOUSE_UP", &["button"]),
    ("DRAG_TO", &["x", "y", "frame"]),
    ("DRAG_REL", &["x_offset", "y_offset"]),
    ("SCROLL", &["dx", "dy"]),
    ("TYPING", &["text", "use_clipboard"]),
    ("PRESS", &["key"]),
    ("KEY_DOWN", &["key"]),
    ("KEY_UP", &["key"]),
    ("HOTKEY", &["keys"]),
    ("WAIT", &["duration"]),
];
/// Most notches of one SCROLL, and the longest WAIT in seconds.
const MOST_NOTCHES: i32 = 100;
const LONGEST_WAIT: f64 = 10.0;

/// A place that may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Place {
    pub(super) x: Option<i32>,
    pub(super) y: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) frame: Option<String>,
}

/// One action. It writes itself for the audit log, typed text as its length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Action {
    /// The `action_type` as the contract writes it.
    #[serde(rename = "action_type")]
    pub(super) name: &'static str,
    #[serde(flatten)]
    pub(super) what: What,
}

/// What an action does; several names may mean the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum What {
    Click { at: Place, button: ButtonName, clicks: u8 },
    MoveTo { to: Place },
    MoveRel { dx: i32, dy: i32 },
    MouseDown { button: ButtonName },
    MouseUp { released: ButtonName },
    DragTo { target: Place },
    DragRel { right: i32, below: i32 },
    Scroll { notches_right: i32, notches_up: i32 },
    Typing { text: Text },
    Press { keys: Vec<String> },
    KeyDown { key: String },
    KeyUp { key_up: String },
    Wait { seconds: f64 },
}

impl Action {
    /// The group it needs.
    pub(super) fn group(&self) -> Group {
        match self.what {
            What::Typing { .. } | What::Press { .. } | What::KeyDown { .. } | What::KeyUp { .. } => Group::Keyboard,
            What::Wait { .. } => Group::Screen,
            _ => Group::Mouse,
        }
    }

    /// Reads an action from what an agent sent.
    fn read(given: &Map<String, Value>) -> Result<Self, String> {
        let kind = given.get("action_type").and_then(Value::as_str).unwrap_or_default();
        let wanted = kind.trim().to_ascii_uppercase();
        let Some((name, takes)) = ACTIONS.iter().find(|(name, _)| *name == wanted) else {
            let names: Vec<&str> = ACTIONS.iter().map(|(name, _)| *name).collect();
            let what = if kind.is_empty() { "action_type is missing".to_owned() } else { format!("there is no action_type {kind:?}") };
            return Err(format!("{what}; it is one of {}", names.join(", ")));
        };
        let given = Given { name, takes, values: given };
        given.known()?;
        Ok(Self { name, what: given.what()? })
    }
}

/// The parameters of one action.
struct Given<'a> {
    name: &'static str,
    takes: &'static [&'static str],
    values: &'a Map<String, Value>,
}

impl Given<'_> {
    fn what(&self) -> Result<What, String> {
        Ok(match self.name {
            "CLICK" => What::Click { at: self.place()?, button: self.button()?, clicks: self.clicks()? },
            "DOUBLE_CLICK" => What::Click { at: self.place()?, button: ButtonName::Left, clicks: 2 },
            "RIGHT_CLICK" => What::Click { at: self.place()?, button: ButtonName::Right, clicks: 1 },
            "MOVE_TO" => What::MoveTo { to: self.there()? },
            "MOVE_REL" => What::MoveRel { dx: self.pixels("x_offset")?, dy: self.pixels("y_offset")? },
            "MOUSE_DOWN" => What::MouseDown { button: self.button()? },
            "MOUSE_UP" => What::MouseUp { released: self.button()? },
            "DRAG_TO" => What::DragTo { target: self.there()? },
            "DRAG_REL" => What::DragRel { right: self.pixels("x_offset")?, below: self.pixels("y_offset")? },
            "SCROLL" => self.scroll()?,
            "TYPING" => self.typing()?,
            "PRESS" => What::Press { keys: vec![self.key()?] },
            "HOTKEY" => What::Press { keys: self.keys()? },
            "KEY_DOWN" => What::KeyDown { key: self.key()? },
            "KEY_UP" => What::KeyUp { key_up: self.key()? },
            _ => What::Wait { seconds: self.seconds()? },
        })
    }

    /// The value of a parameter; null stands for one that is left out.
    fn get(&self, parameter: &str) -> Option<&Value> {
        self.values.get(parameter).filter(|v| !v.is_null())
    }

    fn missing(&self, parameter: &str) -> String {
        format!("{parameter} is missing; {} takes {}", self.name, self.takes.join(", "))
    }

    fn wrong(&self, parameter: &str, must: &str) -> String {
        format!("{parameter} of {} must be {must}", self.name)
    }

    /// A parameter that is not known would be left undone in silence.
    fn known(&self) -> Result<(), String> {
        let unknown = self.values.keys().find(|k| *k != "action_type" && !k.starts_with('_') && !self.takes.contains(&k.as_str()));
        unknown.map_or(Ok(()), |k| Err(format!("{} has no parameter {k:?}; it takes {}", self.name, self.takes.join(", "))))
    }

    fn number(&self, parameter: &str) -> Result<Option<f64>, String> {
        let Some(value) = self.get(parameter) else { return Ok(None) };
        let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()).filter(|n: &f64| n.is_finite());
        number.map(Some).ok_or_else(|| self.wrong(parameter, "a number"))
    }

    /// Pixels: the contract says *number*, so half pixels are rounded.
    fn optional_pixels(&self, parameter: &str) -> Result<Option<i32>, String> {
        let Some(number) = self.number(parameter)? else { return Ok(None) };
        if number.abs() > 1e6 {
            return Err(self.wrong(parameter, "a number of pixels"));
        }
        #[allow(clippy::cast_possible_truncation, reason = "within a million")]
        Ok(Some(number.round() as i32))
    }

    fn pixels(&self, parameter: &str) -> Result<i32, String> {
        self.optional_pixels(parameter)?.ok_or_else(|| self.missing(parameter))
    }

    fn place(&self) -> Result<Place, String> {
        let (x, y) = (self.optional_pixels("x")?, self.optional_pixels("y")?);
        if x.is_some() != y.is_some() {
            return Err(format!("x and y of {} belong together: give both, or neither for where the pointer is", self.name));
        }
        let frame =
            self.get("frame").map(|v| v.as_str().map(str::to_owned).ok_or_else(|| self.wrong("frame", "the frame id of a screenshot")));
        Ok(Place { x, y, frame: frame.transpose()? })
    }

    fn there(&self) -> Result<Place, String> {
        let place = self.place()?;
        if place.x.is_none() { Err(self.missing("x")) } else { Ok(place) }
    }

    fn button(&self) -> Result<ButtonName, String> {
        let Some(value) = self.get("button") else { return Ok(ButtonName::Left) };
        let name = value.as_str().map(str::to_ascii_lowercase).unwrap_or_default();
        serde_json::from_value(Value::String(name)).map_err(|_| self.wrong("button", "left, right or middle"))
    }

    /// A whole number in a range.
    fn whole(&self, parameter: &str, range: std::ops::RangeInclusive<i32>) -> Result<Option<i32>, String> {
        let Some(number) = self.number(parameter)? else { return Ok(None) };
        let (low, high) = (f64::from(*range.start()), f64::from(*range.end()));
        if number.fract() != 0.0 || !(low..=high).contains(&number) {
            return Err(self.wrong(parameter, &format!("a whole number from {low} to {high}, not {number}")));
        }
        #[allow(clippy::cast_possible_truncation, reason = "whole, and in a range of i32")]
        Ok(Some(number as i32))
    }

    fn clicks(&self) -> Result<u8, String> {
        Ok(self.whole("num_clicks", 1..=3)?.and_then(|n| u8::try_from(n).ok()).unwrap_or(1))
    }

    fn scroll(&self) -> Result<What, String> {
        let (dx, dy) = (self.whole("dx", -MOST_NOTCHES..=MOST_NOTCHES)?, self.whole("dy", -MOST_NOTCHES..=MOST_NOTCHES)?);
        if dx.is_none() && dy.is_none() {
            return Err(self.missing("dx or dy"));
        }
        Ok(What::Scroll { notches_right: dx.unwrap_or(0), notches_up: dy.unwrap_or(0) })
    }

    fn typing(&self) -> Result<What, String> {
        let text = match self.get("text") {
            None => return Err(self.missing("text")),
            Some(Value::String(text)) => text.clone(),
            // A whole number can only mean its digits; of any other the text that was meant is lost.
            Some(Value::Number(n)) if n.is_i64() || n.is_u64() => n.to_string(),
            Some(_) => return Err(self.wrong("text", "a string; put it in quotes")),
        };
        if text.is_empty() {
            return Err(self.wrong("text", "at least one character"));
        }
        // Text is typed exactly either way, so use_clipboard is a hint that needs no following.
        Ok(What::Typing { text: Text(text) })
    }

    fn key(&self) -> Result<String, String> {
        match self.get("key") {
            None => Err(self.missing("key")),
            Some(Value::String(key)) => Ok(key.clone()),
            Some(Value::Number(n)) => Ok(n.to_string()),
            Some(_) => Err(self.wrong("key", "the name of a key")),
        }
    }

    fn keys(&self) -> Result<Vec<String>, String> {
        let must = "an array of key names such as [\"ctrl\", \"c\"]";
        match self.get("keys") {
            None => Err(self.missing("keys")),
            Some(Value::String(keys)) => Ok(serde_json::from_str(keys).unwrap_or_else(|_| vec![keys.clone()])),
            Some(value) => serde_json::from_value(value.clone()).map_err(|_| self.wrong("keys", must)),
        }
    }

    fn seconds(&self) -> Result<f64, String> {
        let seconds = self.number("duration")?.ok_or_else(|| self.missing("duration"))?;
        if seconds > 0.0 && seconds <= LONGEST_WAIT {
            Ok(seconds)
        } else {
            Err(self.wrong("duration", &format!("seconds, more than 0 and at most {LONGEST_WAIT}, not {seconds}")))
        }
    }
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut given = Map::deserialize(deserializer)?;
        // Some agents put the parameters one level deeper.
        if let Some(Value::Object(deeper)) = given.remove("parameters") {
            given.extend(deeper);
        }
        Self::read(&given).map_err(D::Error::custom)
    }
}

impl JsonSchema for Action {
    fn schema_name() -> Cow<'static, str> {
        "Action".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = ACTIONS.iter().map(|(name, _)| *name).collect();
        json_schema!({
            "type": "object",
            "required": ["action_type"],
            "properties": {
                "action_type": { "type": "string", "enum": names },
                "x": { "type": "number" }, "y": { "type": "number" },
                "x_offset": { "type": "number" }, "y_offset": { "type": "number" },
                "button": { "type": "string", "enum": ["left", "right", "middle"], "default": "left" },
                "num_clicks": { "type": "integer", "minimum": 1, "maximum": 3, "default": 1 },
                "dx": { "type": "integer", "minimum": -MOST_NOTCHES, "maximum": MOST_NOTCHES },
                "dy": { "type": "integer", "minimum": -MOST_NOTCHES, "maximum": MOST_NOTCHES },
                "text": { "type": "string", "minLength": 1 },
                "use_clipboard": { "type": "boolean", "default": true },
                "key": { "type": "string" },
                "keys": { "type": "array", "items": { "type": "string" } },
                "duration": { "type": "number", "exclusiveMinimum": 0, "maximum": LONGEST_WAIT },
                "frame": { "type": "string" },
            },
        })
    }

    fn inline_schema() -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(given: Value) -> Result<Action, String> {
        serde_json::from_value(given).map_err(|e| e.to_string())
    }

    #[test]
    fn an_unknown_action_is_answered_with_the_valid_ones() {
        for given in [json!({"action_type": "SMASH"}), json!({}), json!({"action_type": 7})] {
            let text = read(given).unwrap_err();
            assert!(text.contains("DRAG_REL") && text.contains("WAIT"), "{text}");
        }
    }

    #[test]
    fn what_is_missing_wrong_or_unknown_is_named() {
        for (given, named) in [
            (json!({"action_type": "MOVE_TO", "y": 1}), "x and y"),
            (json!({"action_type": "MOVE_TO"}), "x is missing"),
            (json!({"action_type": "MOVE_REL", "x_offset": 1}), "y_offset is missing"),
            (json!({"action_type": "CLICK", "x": 1}), "x and y"),
            (json!({"action_type": "CLICK", "num_clicks": 4}), "from 1 to 3"),
            (json!({"action_type": "CLICK", "clicks": 2}), "clicks"),
            (json!({"action_type": "CLICK", "button": "top"}), "left, right or middle"),
            (json!({"action_type": "SCROLL"}), "dx or dy"),
            (json!({"action_type": "SCROLL", "dy": 101}), "100"),
            (json!({"action_type": "SCROLL", "dy": 0.5}), "whole"),
            (json!({"action_type": "TYPING"}), "text is missing"),
            (json!({"action_type": "TYPING", "text": ""}), "at least one"),
            (json!({"action_type": "TYPING", "text": 1.5}), "quotes"),
            (json!({"action_type": "HOTKEY", "keys": {"a": 1}}), "array"),
            (json!({"action_type": "WAIT", "duration": 0}), "more than 0"),
            (json!({"action_type": "WAIT", "duration": 10.5}), "at most 10"),
        ] {
            let text = read(given.clone()).unwrap_err();
            assert!(text.contains(named), "{given}: {text}");
        }
    }

    #[test]
    fn numbers_and_names_are_read_in_every_form_that_is_certain() {
        let at = |x, y| Place { x: Some(x), y: Some(y), frame: None };
        assert_eq!(read(json!({"action_type": "move_to", "x": "12", "y": 7.0})).unwrap().what, What::MoveTo { to: at(12, 7) });
        assert_eq!(
            read(json!({"action_type": "DRAG_TO", "parameters": {"x": 1.4, "y": 2.5}})).unwrap().what,
            What::DragTo { target: at(1, 3) }
        );
        let click = read(json!({"action_type": "CLICK", "num_clicks": 2, "x": null})).unwrap();
        assert_eq!((click.name, click.what), ("CLICK", What::Click { at: Place::default(), button: ButtonName::Left, clicks: 2 }));
        assert_eq!(read(json!({"action_type": "SCROLL", "dy": -3})).unwrap().what, What::Scroll { notches_right: 0, notches_up: -3 });
        assert_eq!(read(json!({"action_type": "HOTKEY", "keys": "ctrl+c"})).unwrap().what, What::Press { keys: vec!["ctrl+c".into()] });
    }

    #[test]
    fn groups_go_by_action_and_the_log_never_holds_typed_text() {
        assert_eq!(read(json!({"action_type": "WAIT", "duration": 1})).unwrap().group(), Group::Screen);
        assert_eq!(read(json!({"action_type": "CLICK"})).unwrap().group(), Group::Mouse);
        let typing = read(json!({"action_type": "TYPING", "text": "secret", "use_clipboard": false})).unwrap();
        assert_eq!(typing.group(), Group::Keyboard);
        assert!(!serde_json::to_string(&typing).unwrap().contains("secret"));
    }
}
