//! Reading arguments: lenient where the meaning is certain, exact in what it complains of.
//!
//! Clients send `"12"` for 12 and `7` for `"7"`. What can only mean one thing is accepted. A number with a fraction is not
//! turned into text: `1.50` and `1.5` arrive as the same number, so the text that was meant is already lost.

use crate::ToolError;
use serde_json::{Map, Number, Value};

/// Brings `arguments` into the shape that `schema` (an object schema without references) asks for.
///
/// # Errors
/// `invalid_arguments` naming the parameter, what is wrong with it, and what the tool takes.
pub fn fit(tool: &str, schema: &Map<String, Value>, arguments: Value) -> Result<Map<String, Value>, ToolError> {
    let mut given = match arguments {
        Value::Object(map) => map,
        Value::Null => Map::new(),
        other => return Err(ToolError::invalid(format!("the arguments of {tool} must be an object, not {}", kind(&other)))),
    };
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    // Clients that cannot send an empty object, or add fields of their own, use these.
    given.retain(|name, _| properties.contains_key(name) || !(name.starts_with('_') || name == "random_string"));
    if let Some(unknown) = given.keys().find(|name| !properties.contains_key(*name)) {
        return Err(ToolError::invalid(format!("{tool} has no parameter {unknown:?}; it takes {}", takes(properties, schema))));
    }
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if given.get(name).is_none_or(Value::is_null) {
            return Err(ToolError::invalid(format!("{name} is missing; {tool} takes {}", takes(properties, schema))));
        }
    }
    let mut fitted = Map::new();
    for (name, value) in given {
        // null stands for an optional parameter that is left out.
        if value.is_null() && !allows_null(&properties[&name]) {
            continue;
        }
        let value = fit_value(&properties[&name], value)
            .map_err(|why| ToolError::invalid(format!("{name} {why}; {tool} takes {}", takes(properties, schema))))?;
        fitted.insert(name, value);
    }
    Ok(fitted)
}

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(t)) => vec![t],
        Some(Value::Array(ts)) => ts.iter().filter_map(Value::as_str).filter(|t| *t != "null").collect(),
        _ => Vec::new(),
    }
}

fn allows_null(schema: &Value) -> bool {
    schema.get("type") == Some(&Value::String("null".into()))
}

fn fit_value(schema: &Value, value: Value) -> Result<Value, String> {
    let wanted = types(schema);
    let value = match wanted.as_slice() {
        ["integer"] => integer(value)?,
        ["number"] => number(value)?,
        ["boolean"] => boolean(value)?,
        ["string"] => string(value)?,
        ["array"] => array(schema, value)?,
        ["object"] => object(value)?,
        _ => value,
    };
    in_range(schema, &value)?;
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(&value)
    {
        let names: Vec<_> =
            allowed.iter().filter(|v| !v.is_null()).map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned)).collect();
        return Err(format!("must be one of {}, not {value}", names.join(", ")));
    }
    Ok(value)
}

fn integer(value: Value) -> Result<Value, String> {
    let whole = |f: f64| (f.fract() == 0.0 && f.abs() < 9_007_199_254_740_992.0).then_some(f as i64);
    let found = match &value {
        Value::Number(n) => n.as_i64().or_else(|| n.as_f64().and_then(whole)),
        Value::String(s) => s.trim().parse::<i64>().ok().or_else(|| s.trim().parse::<f64>().ok().and_then(whole)),
        _ => None,
    };
    found.map(Value::from).ok_or_else(|| format!("must be a whole number, not {}", shown(&value)))
}

fn number(value: Value) -> Result<Value, String> {
    let found = match &value {
        Value::Number(_) => return Ok(value),
        Value::String(s) => s.trim().parse::<f64>().ok().and_then(Number::from_f64),
        _ => None,
    };
    found.map(Value::Number).ok_or_else(|| format!("must be a number, not {}", shown(&value)))
}

fn boolean(value: Value) -> Result<Value, String> {
    match &value {
        Value::Bool(_) => Ok(value),
        Value::String(s) if s.eq_ignore_ascii_case("true") => Ok(Value::Bool(true)),
        Value::String(s) if s.eq_ignore_ascii_case("false") => Ok(Value::Bool(false)),
        _ => Err(format!("must be true or false, not {}", shown(&value))),
    }
}

fn string(value: Value) -> Result<Value, String> {
    match &value {
        Value::String(_) => Ok(value),
        Value::Number(n) if n.is_i64() || n.is_u64() => Ok(Value::String(n.to_string())),
        _ => Err(format!("must be a string, not {}; put it in quotes", shown(&value))),
    }
}

fn array(schema: &Value, value: Value) -> Result<Value, String> {
    let items = match value {
        Value::Array(items) => items,
        // Some clients send an array as its JSON text.
        Value::String(ref s) if s.trim_start().starts_with('[') => {
            serde_json::from_str(s).map_err(|_| format!("must be an array, not {}", shown(&value)))?
        }
        other => return Err(format!("must be an array, not {}", shown(&other))),
    };
    let Some(item_schema) = schema.get("items") else { return Ok(Value::Array(items)) };
    let fitted: Result<Vec<_>, _> =
        items.into_iter().enumerate().map(|(i, v)| fit_value(item_schema, v).map_err(|why| format!("[{i}] {why}"))).collect();
    Ok(Value::Array(fitted?))
}

fn object(value: Value) -> Result<Value, String> {
    match value {
        Value::Object(_) => Ok(value),
        Value::String(ref s) if s.trim_start().starts_with('{') => {
            serde_json::from_str(s).map_err(|_| format!("must be an object, not {}", shown(&value)))
        }
        other => Err(format!("must be an object, not {}", shown(&other))),
    }
}

fn in_range(schema: &Value, value: &Value) -> Result<(), String> {
    let Some(n) = value.as_f64() else { return Ok(()) };
    let low = schema.get("minimum").and_then(Value::as_f64);
    let high = schema.get("maximum").and_then(Value::as_f64);
    if low.is_some_and(|l| n < l) || high.is_some_and(|h| n > h) {
        return Err(match (low, high) {
            (Some(l), Some(h)) => format!("must be from {l} to {h}, not {value}"),
            (Some(l), None) => format!("must be at least {l}, not {value}"),
            _ => format!("must be at most {}, not {value}", high.unwrap_or_default()),
        });
    }
    Ok(())
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A wrong value in an error text: short ones as they are, strings by their kind only (they may be private).
fn shown(value: &Value) -> String {
    match value {
        Value::Number(_) | Value::Bool(_) | Value::Null => value.to_string(),
        Value::String(s) if s.chars().count() <= 20 => format!("{s:?}"),
        other => kind(other).to_owned(),
    }
}

fn takes(properties: &Map<String, Value>, schema: &Map<String, Value>) -> String {
    let required: Vec<_> = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let list: Vec<_> = properties
        .iter()
        .map(|(name, s)| {
            let kind = types(s).join(" or ");
            let kind = if kind.is_empty() { "see its description".to_owned() } else { kind };
            if required.contains(&name.as_str()) { format!("{name} ({kind})") } else { format!("{name} ({kind}, optional)") }
        })
        .collect();
    if list.is_empty() { "no parameters".into() } else { list.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Map<String, Value> {
        let schema = json!({"type":"object","required":["x","text"],"properties":{
            "x":{"type":"integer","minimum":0,"maximum":3},"text":{"type":"string"},"on":{"type":["boolean","null"]},
            "keys":{"type":"array","items":{"type":"string"}},"button":{"type":"string","enum":["left","right"]},"f":{"type":"number"}}});
        schema.as_object().unwrap().clone()
    }

    fn of(arguments: Value) -> Result<Value, String> {
        fit("tool", &schema(), arguments).map(Value::Object).map_err(|e| e.message)
    }

    #[test]
    fn what_can_only_mean_one_thing_is_accepted() {
        assert_eq!(
            of(json!({"x":"2","text":7,"on":"True","f":"1.5","keys":["a",1]})).unwrap(),
            json!({"x":2,"text":"7","on":true,"f":1.5,"keys":["a","1"]})
        );
        assert_eq!(of(json!({"x":2.0,"text":"a","on":null,"_meta":{},"random_string":"x"})).unwrap(), json!({"x":2,"text":"a"}));
        assert_eq!(of(json!({"x":1,"text":"007"})).unwrap()["text"], "007");
    }

    #[test]
    fn what_cannot_is_named() {
        for (arguments, words) in [
            (json!({"text":"a"}), "x is missing"),
            (json!({"x":null,"text":"a"}), "x is missing"),
            (json!({"x":1.5,"text":"a"}), "x must be a whole number, not 1.5"),
            (json!({"x":"","text":"a"}), "x must be a whole number"),
            (json!({"x":4,"text":"a"}), "x must be from 0 to 3, not 4"),
            (json!({"x":1,"text":1.5}), "text must be a string, not 1.5"),
            (json!({"x":1,"text":true}), "text must be a string, not true"),
            (json!({"x":1,"text":"a","button":"both"}), "button must be one of left, right"),
            (json!({"x":1,"text":"a","keys":"a"}), "keys must be an array"),
            (json!({"x":1,"text":"a","keys":[["a"]]}), "keys [0] must be a string"),
            (json!({"x":1,"text":"a","tezt":1}), "no parameter \"tezt\""),
            (json!([1]), "must be an object, not an array"),
        ] {
            let error = of(arguments).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
