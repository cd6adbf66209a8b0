//! JavaScript values as JSON. What JSON cannot carry gets a fixed textual form, so that nothing disappears: `NaN`,
//! `Infinity`, `-0`, `10n`, `Symbol(x)`, `undefined` (inside of a structure), a function's source, a date as ISO text,
//! a node as its tag.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

/// How deep structures are followed; deeper ones are `"[object]"`.
pub(crate) const DEPTH: u8 = 12;

/// The kind of a result, as Chrome's `RemoteObject` tells it.
pub(crate) fn kind(object: &Value) -> String {
    let text = |k: &str| object[k].as_str();
    match (text("type"), text("subtype")) {
        (Some("object"), Some(subtype)) => subtype.to_owned(),
        (Some(kind), _) => kind.to_owned(),
        _ => "undefined".to_owned(),
    }
}

/// A result as JSON. `undefined` itself is null; its kind tells it from null.
pub(crate) fn plain(object: &Value) -> Value {
    let text = |k: &str| object[k].as_str();
    match text("type") {
        Some("undefined") | None => Value::Null,
        Some("function" | "symbol") => text("description").unwrap_or("[function]").into(),
        _ => match (text("unserializableValue"), object.get("deepSerializedValue")) {
            (Some(v), _) => v.into(),
            (None, Some(deep)) => inner(deep),
            (None, None) => object.get("value").cloned().unwrap_or_else(|| text("description").unwrap_or_default().into()),
        },
    }
}

/// Structures that stand in several places are told once by Chrome and then only referred to by number.
struct Reader<'a> {
    known: HashMap<u64, &'a Value>,
    /// What is being written, so that a structure that holds itself comes to an end.
    open: Vec<u64>,
}

fn inner(deep: &Value) -> Value {
    let mut reader = Reader { known: HashMap::new(), open: Vec::new() };
    reader.learn(deep);
    reader.read(deep)
}

impl<'a> Reader<'a> {
    fn learn(&mut self, deep: &'a Value) {
        if let (Some(id), Some(_)) = (deep["weakLocalObjectReference"].as_u64(), deep.get("value")) {
            self.known.insert(id, deep);
        }
        for part in deep.get("value").and_then(Value::as_array).into_iter().flatten() {
            match part {
                Value::Array(pair) => pair.iter().filter(|p| p.is_object()).for_each(|p| self.learn(p)),
                Value::Object(_) => self.learn(part),
                _ => {}
            }
        }
    }

    fn read(&mut self, deep: &'a Value) -> Value {
        let id = deep["weakLocalObjectReference"].as_u64();
        let told = match id.and_then(|id| self.known.get(&id)) {
            Some(told) if deep.get("value").is_none() => told,
            _ => deep,
        };
        let Some(id) = id else { return self.write(told) };
        if self.open.contains(&id) {
            return "[circular]".into();
        }
        self.open.push(id);
        let written = self.write(told);
        self.open.pop();
        written
    }

    fn write(&mut self, deep: &'a Value) -> Value {
        let value = deep.get("value");
        let kind = deep["type"].as_str().unwrap_or_default();
        match kind {
            "undefined" => "undefined".into(),
            "null" => Value::Null,
            // Chrome writes NaN, Infinity and -0 inside of structures as text already.
            "string" | "boolean" | "number" => value.cloned().unwrap_or_default(),
            "bigint" => format!("{}n", value.and_then(Value::as_str).unwrap_or_default()).into(),
            "date" => value.cloned().unwrap_or_else(|| "[date]".into()),
            "regexp" => format!(
                "/{}/{}",
                deep["value"]["pattern"].as_str().unwrap_or_default(),
                deep["value"]["flags"].as_str().unwrap_or_default()
            )
            .into(),
            "node" => node(value),
            "array" | "htmlcollection" | "nodelist" | "set" | "map" | "object" => match value.and_then(Value::as_array) {
                None => format!("[{kind}]").into(),
                Some(parts) => self.parts(kind, parts),
            },
            other => format!("[{other}]").into(),
        }
    }

    fn parts(&mut self, kind: &str, parts: &'a [Value]) -> Value {
        match kind {
            "set" => json!({"Set": parts.iter().map(|p| self.read(p)).collect::<Vec<_>>()}),
            "map" => json!({"Map": parts.iter().map(|p| { let (k, v) = self.pair(p); json!([k, v]) }).collect::<Vec<_>>()}),
            "object" => {
                let named = parts.iter().map(|p| self.pair(p)).map(|(k, v)| (k.as_str().map_or_else(|| k.to_string(), str::to_owned), v));
                Value::Object(named.collect::<Map<_, _>>())
            }
            _ => Value::Array(parts.iter().map(|p| self.read(p)).collect()),
        }
    }

    fn pair(&mut self, pair: &'a Value) -> (Value, Value) {
        let key = match &pair[0] {
            Value::String(s) => Value::from(s.as_str()),
            other => self.read(other),
        };
        (key, self.read(&pair[1]))
    }
}

fn node(value: Option<&Value>) -> Value {
    let Some(v) = value else { return "[node]".into() };
    let name = v["localName"].as_str();
    let id = v["attributes"]["id"].as_str().filter(|i| !i.is_empty()).map(|i| format!(" id={i}")).unwrap_or_default();
    match (name, v["nodeType"].as_i64()) {
        (Some(name), _) => format!("<{name}{id}>").into(),
        (None, Some(9)) => "[document]".into(),
        (None, _) => v["nodeValue"].as_str().map_or_else(|| "[node]".into(), |t| t.chars().take(200).collect::<String>().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_cannot_carry_has_its_textual_form() {
        for (object, want) in [
            (
                json!({"type": "number", "unserializableValue": "NaN", "deepSerializedValue": {"type": "number", "value": "NaN"}}),
                json!("NaN"),
            ),
            (json!({"type": "number", "unserializableValue": "-0"}), json!("-0")),
            (json!({"type": "bigint", "unserializableValue": "10n"}), json!("10n")),
            (json!({"type": "symbol", "description": "Symbol(x)"}), json!("Symbol(x)")),
            (json!({"type": "function", "description": "()=>1"}), json!("()=>1")),
            (json!({"type": "undefined"}), Value::Null),
            (
                json!({"type": "object", "subtype": "array", "deepSerializedValue": {"type": "array", "value": [{"type": "undefined"}, {"type": "number", "value": 1}]}}),
                json!(["undefined", 1]),
            ),
            (
                json!({"type": "object", "deepSerializedValue": {"type": "object", "value": [["a", {"type": "number", "value": "NaN"}], ["b", {"type": "bigint", "value": "5"}]]}}),
                json!({"a": "NaN", "b": "5n"}),
            ),
            (
                json!({"type": "object", "deepSerializedValue": {"type": "map", "value": [[{"type": "number", "value": 1}, {"type": "string", "value": "x"}]]}}),
                json!({"Map": [[1, "x"]]}),
            ),
            (json!({"type": "string", "value": "s", "deepSerializedValue": {"type": "string", "value": "s"}}), json!("s")),
        ] {
            assert_eq!(plain(&object), want, "{object}");
        }
    }

    #[test]
    fn a_structure_in_two_places_is_told_in_both_and_one_that_holds_itself_ends() {
        let twice = json!({"type": "object", "deepSerializedValue": {"type": "array", "weakLocalObjectReference": 1, "value": [
            {"type": "object", "weakLocalObjectReference": 2, "value": [["a", {"type": "number", "value": 1}]]},
            {"type": "object", "weakLocalObjectReference": 2},
            {"type": "array", "weakLocalObjectReference": 1}]}});
        assert_eq!(plain(&twice), json!([{"a": 1}, {"a": 1}, "[circular]"]));
    }

    #[test]
    fn undefined_and_null_are_told_apart_by_their_kind() {
        assert_eq!(kind(&json!({"type": "undefined"})), "undefined");
        assert_eq!(kind(&json!({"type": "object", "subtype": "null", "value": null})), "null");
    }
}
