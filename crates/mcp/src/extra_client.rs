//! One POST to another MCP server, and what came of it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, Uri};
use http_body_util::{Full, Limited};
use serde_json::{Map, Value, json};

use crate::answer;
use crate::link::{Http, http_client};

/// Largest answer that is read, in bytes.
const ANSWER: usize = 16 * 1024 * 1024;
/// Most pages of a list.
const PAGES: usize = 20;

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Missed {
    /// The server is not there, or what it says is no answer.
    Absent(String),
    /// It answered with a JSON-RPC error.
    Refused(String),
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent(text) | Self::Refused(text) => f.write_str(text),
        }
    }
}

/// A server by its address.
pub(crate) struct ExtraClient {
    uri: Uri,
    http: Http,
    serial: AtomicU64,
}

impl ExtraClient {
    pub(crate) fn new(uri: Uri) -> Self {
        Self { uri, http: http_client(), serial: AtomicU64::new(1) }
    }

    /// Its tools, at most `most`.
    pub(crate) async fn list(&self, most: usize) -> Result<Vec<Value>, Missed> {
        let mut tools = Vec::new();
        let mut params = json!({});
        for _ in 0..PAGES {
            let mut page = self.ask("tools/list", params).await?;
            if let Some(Value::Array(more)) = page.remove("tools") {
                tools.extend(more);
            }
            match page.remove("nextCursor") {
                Some(Value::String(cursor)) if tools.len() < most => params = json!({"cursor": cursor}),
                _ => break,
            }
        }
        tools.truncate(most);
        Ok(tools)
    }

    /// The result of one tool.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Result<Map<String, Value>, Missed> {
        self.ask("tools/call", json!({"name": name, "arguments": arguments})).await
    }

    async fn ask(&self, method: &str, params: Value) -> Result<Map<String, Value>, Missed> {
        let absent = |text: String| Missed::Absent(text);
        let id = Value::from(self.serial.fetch_add(1, Ordering::Relaxed));
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let response = self.http.request(request).await.map_err(|error| absent(error.to_string()))?;
        let status = response.status();
        if status.is_redirection() {
            return Err(absent("it answered with a redirect, which is never followed".to_owned()));
        }
        let response: Response<Body> = response.map(|body| Body::new(Limited::new(body, ANSWER)));
        let answer = answer::answer_to(&id, response).await.ok_or_else(|| absent(format!("status {status} without an answer")))?;
        let mut answer: Map<String, Value> = serde_json::from_slice(&answer).map_err(|error| absent(format!("no JSON-RPC: {error}")))?;
        match (answer.remove("result"), answer.remove("error")) {
            (Some(Value::Object(result)), _) => Ok(result),
            (_, Some(error)) => {
                let text = error.get("message").and_then(Value::as_str).unwrap_or("an error without words");
                Err(Missed::Refused(text.chars().take(2_000).collect()))
            }
            _ => Err(absent("an answer without a result".to_owned())),
        }
    }
}
