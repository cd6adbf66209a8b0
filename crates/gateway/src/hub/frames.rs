//! The frames between gateway and executor, as the contract fixes them.

use serde::Deserialize;
use serde_json::{Value, json};

/// A frame from an executor, sorted.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// The first frame of an executor that knows Deskhand's additions.
    Hello(Hello),
    /// The answer to call `id`: a result, or an error's message.
    Answer(u64, Result<Value, String>),
    /// Not such an object: ignored, as the contract says.
    Noise,
}

/// What an executor announces.
#[derive(Debug, PartialEq, Deserialize)]
pub(crate) struct Hello {
    /// Version of the additions; 1 so far.
    pub(crate) version: u64,
    /// Its tools as in `tools/list`.
    #[serde(default)]
    pub(crate) tools: Vec<Value>,
    /// Random per run of the executor; calls are sent again only to the same one.
    #[serde(default)]
    pub(crate) instance: Option<String>,
}

/// Sorts a frame. Never fails: what is not understood is noise.
pub(crate) fn sort(text: &str) -> Incoming {
    let Ok(Value::Object(mut frame)) = serde_json::from_str(text) else { return Incoming::Noise };
    if let Some(hello) = frame.remove("hello") {
        return match serde_json::from_value::<Hello>(hello) {
            Ok(hello) if hello.version >= 1 => Incoming::Hello(hello),
            _ => Incoming::Noise,
        };
    }
    let Some(id) = frame.get("id").and_then(Value::as_u64).filter(|id| *id >= 1) else { return Incoming::Noise };
    match frame.remove("error") {
        None | Some(Value::Null) => match frame.remove("result") {
            Some(result) => Incoming::Answer(id, Ok(result)),
            None => Incoming::Noise,
        },
        Some(error) => Incoming::Answer(id, Err(message(&error))),
    }
}

fn message(error: &Value) -> String {
    let text = error.get("message").and_then(Value::as_str).or_else(|| error.as_str());
    text.filter(|text| !text.is_empty()).map_or_else(|| error.to_string(), str::to_owned)
}

/// A call; `extra` is (key, deadline on the gateway's clock) for a peer that announced the additions.
pub(crate) fn call(id: u64, tool: &str, params: &Value, extra: Option<(&str, i64)>) -> String {
    let mut frame = json!({"id": id, "tool": tool, "params": params});
    if let Some((key, deadline_ms)) = extra {
        frame["key"] = key.into();
        frame["deadline_ms"] = deadline_ms.into();
    }
    frame.to_string()
}

/// The cancelling of a call.
pub(crate) fn cancel(id: u64) -> String {
    json!({"id": id, "cancel": true}).to_string()
}

/// The answer to a hello: the version, and the gateway's clock, which `deadline_ms` is on.
pub(crate) fn hello(now_ms: i64) -> String {
    json!({"hello": {"version": 1, "now_ms": now_ms}}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_noise() {
        for noise in [
            "",
            "null",
            "[]",
            "7",
            "\"x\"",
            "{",
            "{}",
            "{\"id\":1}",
            "{\"id\":0,\"result\":1}",
            "{\"id\":-1,\"result\":1}",
            "{\"id\":\"1\",\"result\":1}",
            "{\"id\":1.5,\"result\":1}",
            "{\"hello\":7}",
            "{\"hello\":{\"version\":0}}",
            "{\"result\":{}}",
            "{\"id\":99999999999999999999999,\"result\":1}",
            "\u{0}\u{1}",
        ] {
            assert_eq!(sort(noise), Incoming::Noise, "{noise:?}");
        }
    }

    #[test]
    fn answers_and_hello() {
        assert_eq!(sort(r#"{"id":3,"result":null}"#), Incoming::Answer(3, Ok(Value::Null)));
        assert_eq!(sort(r#"{"id":3,"error":{"message":"no"}}"#), Incoming::Answer(3, Err("no".into())));
        assert_eq!(sort(r#"{"id":3,"error":"no"}"#), Incoming::Answer(3, Err("no".into())));
        assert_eq!(sort(r#"{"id":3,"error":null,"result":1}"#), Incoming::Answer(3, Ok(json!(1))));
        let Incoming::Hello(hello) = sort(r#"{"hello":{"version":1,"tools":[{"name":"computer_x"}]}}"#) else { panic!("a hello") };
        assert_eq!((hello.tools.len(), hello.instance), (1, None));
    }

    #[test]
    fn a_plain_peer_gets_the_plain_frame() {
        assert_eq!(call(1, "computer_x", &json!({"a": 1}), None), r#"{"id":1,"tool":"computer_x","params":{"a":1}}"#);
        let extended: Value = serde_json::from_str(&call(1, "t", &Value::Null, Some(("k", 5)))).unwrap();
        assert_eq!((extended["key"].as_str(), extended["deadline_ms"].as_i64()), (Some("k"), Some(5)));
    }
}
