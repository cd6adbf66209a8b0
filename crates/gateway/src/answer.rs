//! What a tool call comes to, in the shape MCP gives it, whoever ran it.

use serde_json::{Value, json};

/// Text for a result of `null`.
const DONE: &str = "Done.";

/// A result of `tools/call`.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// MCP content blocks.
    pub content: Vec<Value>,
    /// The machine-readable half, when there is one.
    pub structured: Option<Value>,
    /// True when the call failed.
    pub is_error: bool,
}

impl Answer {
    /// A success with one text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![text_block(text.into())], structured: None, is_error: false }
    }

    /// A failure with one text: the thing, the reason, the next step.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// A success given as JSON, as text and as structured content.
    #[must_use]
    pub fn json(value: Value) -> Self {
        Self { content: vec![text_block(value.to_string())], structured: Some(value), is_error: false }
    }

    /// An executor's `result` as the contract turns it into MCP: the `content` of an object passes on, any other object
    /// becomes one text with its JSON, anything else its text, null a fixed text. Of a peer that announced Deskhand's
    /// additions the structured content and the error flag pass on as well.
    #[must_use]
    pub fn from_result(result: Value, extended: bool) -> Self {
        match result {
            Value::Null => Self::text(DONE),
            Value::String(text) => Self::text(text),
            Value::Object(mut object) => match object.remove("content") {
                Some(Value::Array(content)) => Self {
                    content,
                    structured: object.remove("structuredContent").filter(|value| extended && value.is_object()),
                    is_error: extended && object.get("isError") == Some(&Value::Bool(true)),
                },
                other => {
                    if let Some(other) = other {
                        object.insert("content".into(), other);
                    }
                    Self::text(Value::Object(object).to_string())
                }
            },
            other => Self::text(other.to_string()),
        }
    }

    /// An MCP `CallToolResult` of another server.
    #[must_use]
    pub fn from_mcp(mut result: Value) -> Self {
        let is_error = result.get("isError") == Some(&Value::Bool(true));
        let structured = result.get_mut("structuredContent").map(Value::take).filter(Value::is_object);
        match result.get_mut("content").map(Value::take) {
            Some(Value::Array(content)) => Self { content, structured, is_error },
            _ => Self { content: vec![text_block(result.to_string())], structured, is_error },
        }
    }

    /// As `CallToolResult`.
    #[must_use]
    pub fn into_mcp(self) -> Value {
        let mut result = json!({"content": self.content, "isError": self.is_error});
        if let Some(structured) = self.structured {
            result["structuredContent"] = structured;
        }
        result
    }
}

fn text_block(text: String) -> Value {
    json!({"type": "text", "text": text})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_turn_into_mcp_as_the_contract_says() {
        let content = json!([{"type": "image", "data": "aGk=", "mimeType": "image/png"}]);
        let rich = json!({"content": content, "structuredContent": {"a": 1}, "isError": true});
        let plain = Answer::from_result(rich.clone(), false);
        assert_eq!((json!(plain.content), plain.structured, plain.is_error), (content.clone(), None, false));
        let extended = Answer::from_result(rich, true);
        assert_eq!((extended.structured, extended.is_error), (Some(json!({"a": 1})), true));
        let text = |value: Value| Answer::from_result(value, false).content[0]["text"].clone();
        assert_eq!(text(json!({"x": 1, "y": 2})), r#"{"x":1,"y":2}"#);
        assert_eq!(text(json!({"content": "no array"})), r#"{"content":"no array"}"#);
        assert_eq!(text(json!("words")), "words");
        assert_eq!(text(json!(5)), "5");
        assert_eq!(text(json!([1])), "[1]");
        assert_eq!(text(Value::Null), DONE);
    }
}
