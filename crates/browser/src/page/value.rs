//! JavaScript values as JSON. What JSON cannot carry gets a fixed textual form, so that nothing disappears: `NaN`,
//! `Infinity`, `-0`, `10n`, `Symbol(x)`, `undefined` (inside of a structure), a function's source, a date as ISO text,
//! a node as its tag.

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

fn inner(deep: &Value) -> Value {
    let value = deep.get("value");
    let list = |v: Option<&Value>| v.and_then(Value::as_array).map(|a| a.iter().map(inner).collect::<Vec<_>>());
    match deep["type"].as_str().unwrap_or_default() {
        "undefined" => "undefined".into(),
        "null" => Value::Null,
        // Chrome writes NaN, Infinity and -0 inside of structures as text already.
        "string" | "boolean" | "number" => value.cloned().unwrap_or_default(),
        "bigint" => format!("{}n", value.and_then(Value::as_str).unwrap_or_default()).into(),
        "date" => value.cloned().unwrap_or_else(|| "[date]".into()),
        "regexp" => {
            format!("/{}/{}", deep["value"]["pattern"].as_str().unwrap_or_default(), deep["value"]["flags"].as_str().unwrap_or_default())
                .into()
        }
        "array" | "htmlcollection" | "nodelist" => list(value).map_or_else(|| "[array]".into(), Value::Array),
        "set" => list(value).map_or_else(|| "[set]".into(), |all| json!({"Set": all})),
        "map" => {
            value.map_or_else(|| "[map]".into(), |v| json!({"Map": pairs(v).into_iter().map(|(k, v)| json!([k, v])).collect::<Vec<_>>()}))
        }
        "object" => value.map_or_else(
            || "[object]".into(),
            |v| {
                Value::Object(
                    pairs(v).into_iter().map(|(k, v)| (k.as_str().map_or_else(|| k.to_string(), str::to_owned), v)).collect::<Map<_, _>>(),
                )
            },
        ),
        "node" => node(value),
        other => format!("[{other}]").into(),
    }
}

fn pairs(value: &Value) -> Vec<(Value, Value)> {
    let entry = |p: &Value| {
        let key = match &p[0] {
            Value::String(s) => Value::from(s.as_str()),
            other => inner(other),
        };
        (key, inner(&p[1]))
    };
    value.as_array().map(|all| all.iter().map(entry).collect()).unwrap_or_default()
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
    fn undefined_and_null_are_told_apart_by_their_kind() {
        assert_eq!(kind(&json!({"type": "undefined"})), "undefined");
        assert_eq!(kind(&json!({"type": "object", "subtype": "null", "value": null})), "null");
    }
}
