//! What a call gives back.

use crate::ToolError;
use serde::Serialize;
use serde_json::Value;

/// One piece of a result, as MCP knows them.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text for the model.
    Text(String),
    /// A picture, already base64.
    Image {
        /// Base64 of the encoded picture.
        data: String,
        /// Its media type, such as `image/png`.
        mime: &'static str,
    },
    /// Content of another MCP server, passed on as it is (a `content` element of its result).
    Foreign(Value),
}

/// A successful result: typed where a tool makes it, `Value` once it left the tool.
#[derive(Clone, Debug)]
pub struct Reply<T = Value> {
    /// The structured content, described by the tool's output schema.
    pub output: T,
    /// What the model reads. Empty means: the structured content as JSON text.
    pub content: Vec<Content>,
}

impl<T> Reply<T> {
    /// A result whose text is its structured content as JSON.
    pub fn new(output: T) -> Self {
        Self { output, content: Vec::new() }
    }

    /// A picture, followed by the structured content as JSON text.
    pub fn image(output: T, data: String, mime: &'static str) -> Self {
        Self { output, content: vec![Content::Image { data, mime }] }
    }

    /// A result whose text is `text` and not its structured content.
    pub fn text(output: T, text: impl Into<String>) -> Self {
        Self { output, content: vec![Content::Text(text.into())] }
    }
}

impl<T: Serialize> Reply<T> {
    /// Forgets the type. Text content with the structured JSON is added unless the tool gave its own text.
    ///
    /// # Errors
    /// `failed` when the output cannot be written as JSON, which is a fault of the tool.
    pub fn erase(self) -> Result<Reply, ToolError> {
        let output =
            serde_json::to_value(&self.output).map_err(|e| ToolError::failed(format!("the result cannot be written as JSON: {e}")))?;
        let mut content = self.content;
        if !content.iter().any(|c| matches!(c, Content::Text(_) | Content::Foreign(_))) {
            content.push(Content::Text(output.to_string()));
        }
        Ok(Reply { output, content })
    }
}

/// How a call ended. Doors translate it; they add nothing.
pub type Outcome = Result<Reply, ToolError>;
