//! The frames between gateway and executor, as the contract fixes them, seen from the executor.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// Numbers below this are durations in milliseconds, others times since 1970: the border is March 1973.
const SMALLEST_TIME: i64 = 100_000_000_000;
/// Largest answer that is sent, in bytes; a longer one is made to fit.
pub(crate) const LARGEST_ANSWER: usize = 4 << 20;
/// Longest text block in an answer that had to be made to fit, in bytes.
const SHORTENED: usize = 300_000;

/// A frame of the gateway, sorted.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// The gateway knows Deskhand's additions; its clock at that moment, if it said so.
    Hello { now_ms: Option<i64> },
    /// Run a tool.
    Call(Call),
    /// End the call of that id.
    Cancel(u64),
    /// A frame with an id that asks for nothing we know: answered with an error.
    Unclear(u64),
    /// Anything else: ignored.
    Noise,
}

/// A call as received.
#[derive(Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: u64,
    pub(crate) tool: String,
    pub(crate) params: Value,
    pub(crate) key: Option<String>,
    pub(crate) deadline: Option<Deadline>,
}

/// What `deadline_ms` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deadline {
    /// A time on the gateway's clock.
    At(i64),
    /// So long after the frame was received.
    Within(i64),
}

impl Call {
    /// Tells frames with the same content.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.tool.as_bytes());
        hash.update([0]);
        hash.update(self.params.to_string().as_bytes());
        hash.finalize().into()
    }
}

/// Sorts a frame; never fails.
pub(crate) fn sort(text: &str) -> Incoming {
    let Ok(Value::Object(mut frame)) = serde_json::from_str(text) else { return Incoming::Noise };
    if let Some(hello) = frame.get("hello") {
        let known = hello.get("version").and_then(Value::as_u64).is_some_and(|version| version >= 1);
        let now_ms = hello.get("now_ms").and_then(Value::as_i64);
        return if known { Incoming::Hello { now_ms } } else { Incoming::Noise };
    }
    let Some(id) = frame.get("id").and_then(Value::as_u64).filter(|id| *id >= 1) else { return Incoming::Noise };
    if frame.get("cancel") == Some(&Value::Bool(true)) {
        return Incoming::Cancel(id);
    }
    let Some(Value::String(tool)) = frame.remove("tool") else { return Incoming::Unclear(id) };
    let params = match frame.remove("params") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(params) => params,
    };
    let key = frame.get("key").and_then(Value::as_str).filter(|key| !key.is_empty()).map(str::to_owned);
    let deadline = frame.get("deadline_ms").and_then(Value::as_i64).map(|ms| match ms {
        ms if ms >= SMALLEST_TIME => Deadline::At(ms),
        ms => Deadline::Within(ms),
    });
    Incoming::Call(Call { id, tool, params, key, deadline })
}

/// The executor's announcement.
pub(crate) fn hello(instance: &str, tools: &[Value]) -> String {
    json!({"hello": {"version": 1, "instance": instance, "tools": tools}}).to_string()
}

/// An answer, made to fit.
pub(crate) fn answer(id: u64, result: &Result<Value, Value>) -> String {
    let frame = match result {
        Ok(result) => json!({"id": id, "result": result}),
        Err(error) => json!({"id": id, "error": error}),
    };
    let text = frame.to_string();
    if text.len() <= LARGEST_ANSWER {
        return text;
    }
    let total = text.len();
    match result {
        Ok(result) => json!({"id": id, "result": fit(result, total)}).to_string(),
        Err(error) => {
            let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
            json!({"id": id, "error": {"message": cut(message, SHORTENED)}}).to_string()
        }
    }
}

/// Texts are cut, other blocks that are too large are named instead of sent; the structured half goes first.
fn fit(result: &Value, total: usize) -> Value {
    let note = format!("The result was {total} bytes long and has been shortened to fit; ask for less, or for a part of it.");
    let Some(blocks) = result.get("content").and_then(Value::as_array) else {
        return json!({"content": [{"type": "text", "text": cut(&result.to_string(), SHORTENED)}, {"type": "text", "text": note}]});
    };
    let mut left = LARGEST_ANSWER - SHORTENED;
    let mut content = Vec::new();
    for block in blocks {
        let kept = match block.get("text").and_then(Value::as_str) {
            Some(text) => json!({"type": "text", "text": cut(text, SHORTENED)}),
            None => block.clone(),
        };
        let size = kept.to_string().len();
        if size <= left {
            left -= size;
            content.push(kept);
        } else {
            let kind = block.get("type").and_then(Value::as_str).unwrap_or("unknown");
            content.push(json!({"type": "text", "text": format!("[{kind} of {} bytes left out]", block.to_string().len())}));
        }
        if content.len() >= 1_000 {
            break;
        }
    }
    content.push(json!({"type": "text", "text": note}));
    json!({"content": content})
}

/// The first `most` bytes, at a character's border.
fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_cancels_and_noise() {
        let Incoming::Call(call) = sort(r#"{"id":1,"tool":"computer_x"}"#) else { panic!("a call") };
        assert_eq!((call.id, call.tool.as_str(), call.params, call.key, call.deadline), (1, "computer_x", json!({}), None, None));
        let Incoming::Call(call) = sort(r#"{"id":2,"tool":"t","params":null,"key":"k","deadline_ms":25000}"#) else { panic!("a call") };
        assert_eq!((call.key.as_deref(), call.deadline), (Some("k"), Some(Deadline::Within(25_000))));
        let Incoming::Call(call) = sort(r#"{"id":2,"tool":"t","deadline_ms":1800000000000}"#) else { panic!("a call") };
        assert_eq!(call.deadline, Some(Deadline::At(1_800_000_000_000)));
        assert_eq!(sort(r#"{"id":3,"cancel":true}"#), Incoming::Cancel(3));
        assert_eq!(sort(r#"{"id":3}"#), Incoming::Unclear(3));
        assert_eq!(sort(r#"{"hello":{"version":1,"now_ms":5}}"#), Incoming::Hello { now_ms: Some(5) });
        for noise in
            ["", "[]", "null", "{}", "{\"id\":0,\"tool\":\"t\"}", "{\"id\":\"1\",\"tool\":\"t\"}", "{\"tool\":\"t\"}", "{\"hello\":1}"]
        {
            assert_eq!(sort(noise), Incoming::Noise, "{noise}");
        }
    }

    #[test]
    fn an_answer_that_is_too_long_is_made_to_fit() {
        let text = "é".repeat(LARGEST_ANSWER);
        let picture = json!({"type": "image", "data": "A".repeat(LARGEST_ANSWER), "mimeType": "image/png"});
        let result = json!({"content": [{"type": "text", "text": text}, picture, {"type": "text", "text": "end"}], "structuredContent": {"a": text}});
        let frame = answer(7, &Ok(result));
        assert!(frame.len() <= LARGEST_ANSWER);
        let frame: Value = serde_json::from_str(&frame).unwrap();
        let content = frame["result"]["content"].as_array().unwrap();
        assert_eq!(frame["id"], 7);
        assert!(content[1]["text"].as_str().unwrap().starts_with("[image of "));
        assert_eq!(content[2]["text"], "end");
        assert!(content[3]["text"].as_str().unwrap().contains("shortened"));
        assert!(answer(7, &Err(json!({"message": text}))).len() <= LARGEST_ANSWER);
    }
}
