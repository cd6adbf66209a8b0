//! JSON-RPC as it comes off the wire, judged before anything else sees it.
//!
//! rmcp answers malformed input with plain-text HTTP errors and takes a malformed call of a known method for an unknown
//! method. Clients need JSON-RPC errors with the right code, so every message is parsed and classified here first.

use bytes::Bytes;
use serde_json::{Map, Value, json};

/// Not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// JSON, but no JSON-RPC message.
pub const INVALID_REQUEST: i64 = -32600;
/// No such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The method is known, its parameters are wrong (an unknown tool too).
pub const INVALID_PARAMS: i64 = -32602;
/// Our own fault.
pub const INTERNAL_ERROR: i64 = -32603;
/// The server is busy or full.
pub const BUSY: i64 = -32000;
/// The caller cancelled the request.
pub const CANCELLED: i64 = -32800;

/// The newest revision, the first without sessions.
pub(crate) const MODERN: &str = "2026-07-28";
/// The only revision whose sessions may send batches.
pub(crate) const BATCHING: &str = "2025-03-26";
/// `_meta` key by which a message names its revision.
pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// An error answer in the making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError {
    /// The id it answers; null when it could not be read.
    pub id: Value,
    /// JSON-RPC code.
    pub code: i64,
    /// What is wrong and what to do.
    pub message: String,
}

impl RpcError {
    /// An error for the request `id`.
    pub fn new(id: Value, code: i64, message: impl Into<String>) -> Self {
        Self { id, code, message: message.into() }
    }

    /// The JSON-RPC message.
    pub fn to_value(&self) -> Value {
        json!({"jsonrpc": "2.0", "id": self.id, "error": {"code": self.code, "message": self.message}})
    }

    /// The JSON-RPC message as bytes.
    pub fn to_bytes(&self) -> Bytes {
        self.to_value().to_string().into()
    }
}

/// One judged message.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Wants an answer.
    Request(Request),
    /// Wants none.
    Notification {
        /// `notifications/…`
        method: String,
        /// Its parameters; empty when absent.
        params: Map<String, Value>,
    },
    /// An answer to something the server asked.
    Response(Value),
}

/// A request with a usable id.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// A string or an integer.
    pub id: Value,
    /// The method.
    pub method: String,
    /// Its parameters; empty when absent.
    pub params: Map<String, Value>,
}

impl Request {
    /// The id as a map key: `1` and `"1"` differ.
    pub(crate) fn key(&self) -> String {
        self.id.to_string()
    }

    /// The revision named in `_meta`, if any.
    pub(crate) fn meta_version(&self) -> Option<&str> {
        self.params.get("_meta")?.get(META_VERSION)?.as_str()
    }
}

/// What a body or a line held.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// One message.
    One(Message),
    /// A batch, each judged by itself; never empty.
    Batch(Vec<Value>),
}

/// Judges the bytes of one body or line. Nesting deeper than 128 is refused by the parser.
///
/// # Errors
/// The error answer to send.
pub fn read(bytes: &[u8]) -> Result<Incoming, RpcError> {
    let value: Value =
        serde_json::from_slice(bytes).map_err(|error| RpcError::new(readable_id(bytes), PARSE_ERROR, format!("Parse error: {error}")))?;
    match value {
        Value::Array(items) if items.is_empty() => Err(RpcError::new(Value::Null, INVALID_REQUEST, "Invalid request: an empty batch")),
        Value::Array(items) => Ok(Incoming::Batch(items)),
        value => message(value).map(Incoming::One),
    }
}

/// The id of a message that is JSON and yet cannot be read: half a surrogate pair, a number out of range, a nest too deep.
///
/// Its sender waits for an answer to that id, and one without it would leave it waiting. Nothing but the id is looked at.
fn readable_id(bytes: &[u8]) -> Value {
    #[derive(serde::Deserialize)]
    struct Envelope {
        id: Option<Value>,
    }
    let envelope: Option<Envelope> = serde_json::from_slice(bytes).ok();
    envelope.and_then(|envelope| envelope.id).filter(usable_id).unwrap_or(Value::Null)
}

/// Judges one message.
///
/// # Errors
/// The error answer to send.
pub fn message(value: Value) -> Result<Message, RpcError> {
    let Value::Object(mut object) = value else {
        return Err(RpcError::new(Value::Null, INVALID_REQUEST, "Invalid request: not a JSON object"));
    };
    let id = object.get("id").cloned();
    let told = id.clone().filter(usable_id).unwrap_or(Value::Null);
    let refuse = |code, text: &str| Err(RpcError::new(told.clone(), code, text));
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return refuse(INVALID_REQUEST, "Invalid request: \"jsonrpc\" must be \"2.0\"");
    }
    if !object.contains_key("method") && (object.contains_key("result") || object.contains_key("error")) {
        return Ok(Message::Response(Value::Object(object)));
    }
    let Some(Value::String(method)) = object.remove("method") else {
        return refuse(INVALID_REQUEST, "Invalid request: \"method\" must be a string");
    };
    let params = match object.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        // Some clients write null for "no parameters".
        Some(Value::Null) => Map::new(),
        Some(_) if id.is_none() => Map::new(),
        Some(_) => return refuse(INVALID_PARAMS, "Invalid params: \"params\" must be an object"),
    };
    let Some(id) = id else {
        return Ok(Message::Notification { method, params });
    };
    if !usable_id(&id) {
        return refuse(INVALID_REQUEST, "Invalid request: \"id\" must be a string or an integer");
    }
    let request = Request { id, method, params };
    check_params(&request)?;
    Ok(Message::Request(request))
}

fn usable_id(id: &Value) -> bool {
    id.is_string() || id.is_i64()
}

/// Known methods whose parameters have the wrong shape are −32602, never "unknown method".
fn check_params(request: &Request) -> Result<(), RpcError> {
    let refuse = |text: &str| Err(RpcError::new(request.id.clone(), INVALID_PARAMS, text));
    match request.params.get("_meta") {
        None => {}
        Some(Value::Object(meta)) if meta.get("progressToken").is_some_and(|token| !usable_id(token)) => {
            return refuse("Invalid params: \"progressToken\" must be a string or an integer");
        }
        Some(Value::Object(_)) => {}
        Some(_) => return refuse("Invalid params: \"_meta\" must be an object"),
    }
    match request.method.as_str() {
        "tools/call" => {
            if !request.params.get("name").is_some_and(Value::is_string) {
                return refuse("Invalid params: tools/call needs \"name\", a string");
            }
            match request.params.get("arguments") {
                None | Some(Value::Null | Value::Object(_)) => Ok(()),
                Some(_) => refuse("Invalid params: \"arguments\" must be an object"),
            }
        }
        "tools/list" => match request.params.get("cursor") {
            None | Some(Value::Null) => Ok(()),
            // Lists are never cut into pages here, so no cursor was ever given out.
            Some(_) => refuse("Invalid params: unknown \"cursor\"; the list has one page"),
        },
        "initialize" => check_initialize(request),
        _ => Ok(()),
    }
}

fn check_initialize(request: &Request) -> Result<(), RpcError> {
    let params = &request.params;
    let refuse = |text: &str| Err(RpcError::new(request.id.clone(), INVALID_PARAMS, text));
    if params.get("protocolVersion").is_some_and(|version| !version.is_string()) {
        return refuse("Invalid params: \"protocolVersion\" must be a string");
    }
    if params.get("capabilities").is_some_and(|value| !value.is_object()) {
        return refuse("Invalid params: \"capabilities\" must be an object");
    }
    match params.get("clientInfo") {
        None => Ok(()),
        Some(Value::Object(info)) => {
            let strings = ["name", "version"].iter().all(|key| info.get(*key).is_none_or(Value::is_string));
            if strings { Ok(()) } else { refuse("Invalid params: \"clientInfo\" has a name or version that is no string") }
        }
        Some(_) => refuse("Invalid params: \"clientInfo\" must be an object"),
    }
}

/// Fills what a hand-written `initialize` may leave out, so that `curl` can open a session.
pub(crate) fn complete_initialize(params: &mut Map<String, Value>) {
    params.entry("protocolVersion").or_insert_with(|| "2025-06-18".into());
    params.entry("capabilities").or_insert_with(|| json!({}));
    let info = params.entry("clientInfo").or_insert_with(|| json!({}));
    if let Some(info) = info.as_object_mut() {
        info.entry("name").or_insert_with(|| "unnamed client".into());
        info.entry("version").or_insert_with(|| "0".into());
    }
}

/// `name version` of an `initialize`, short enough to show.
pub(crate) fn client_name(info: Option<&Value>) -> Option<String> {
    let info = info?;
    let name = info.get("name")?.as_str()?;
    let version = info.get("version").and_then(Value::as_str).unwrap_or_default();
    Some(format!("{name} {version}").trim().chars().filter(|c| !c.is_control()).take(120).collect())
}

/// The answer to a request for a method that there is not; of its name no more is repeated than can be read.
pub(crate) fn no_such_method(id: Value, method: &str) -> RpcError {
    let name: String = method.chars().take(100).collect();
    let more = if name.len() < method.len() { "…" } else { "" };
    RpcError::new(id, METHOD_NOT_FOUND, format!("Method not found: {name}{more}"))
}

/// A successful answer.
pub(crate) fn answer(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> i64 {
        read(text.as_bytes()).expect_err(text).code
    }

    #[test]
    fn what_is_no_message_is_refused_with_its_code() {
        assert_eq!(code("{"), PARSE_ERROR);
        assert_eq!(code("\u{feff}"), PARSE_ERROR);
        assert_eq!(code(&"[".repeat(10_000)), PARSE_ERROR);
        for text in ["[]", "1", "\"x\"", "null", "{}", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#] {
            assert_eq!(code(text), INVALID_REQUEST, "{text}");
        }
        for id in ["null", "true", "1.5", "{}", "[1]", "99999999999999999999"] {
            assert_eq!(code(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)), INVALID_REQUEST, "{id}");
        }
    }

    #[test]
    fn json_that_cannot_be_read_is_answered_by_its_id() {
        let error =
            |rest: &str| read(format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{rest}}}"#).as_bytes()).expect_err(rest);
        let deep = format!("{}1{}", r#"{"a":"#.repeat(10_000), "}".repeat(10_000));
        for rest in [r#"{"text":"\ud83d"}"#, r#"{"text":"\udc00x"}"#, r#"{"\ud800":1}"#, r#"{"x":1e999}"#, &deep] {
            assert_eq!((error(rest).code, error(rest).id), (PARSE_ERROR, 7.into()), "{rest:.40}");
        }
        for rest in ["NaN", "{", "{}}", "'x'", "Infinity"] {
            assert_eq!((error(rest).code, error(rest).id), (PARSE_ERROR, Value::Null), "{rest}");
        }
        let late = read(br#"{"method":"x","params":{"x":"\ud800"},"jsonrpc":"2.0","id":"late"}"#).expect_err("late");
        assert_eq!(late.id, "late");
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"\ud800"}"#), PARSE_ERROR);
    }

    #[test]
    fn a_malformed_call_is_invalid_params_and_keeps_its_id() {
        for params in [r#"{}"#, r#"{"name":7}"#, r#"{"name":"x","arguments":"{}"}"#, r#"{"name":"x","arguments":[]}"#, "[]", "\"x\"", "7"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{params}}}"#);
            let error = read(text.as_bytes()).expect_err(params);
            assert_eq!((error.code, error.id), (INVALID_PARAMS, "a".into()), "{params}");
        }
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#), INVALID_PARAMS);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#), INVALID_PARAMS);
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":3}}"#), INVALID_PARAMS);
    }

    #[test]
    fn messages_are_told_apart() {
        let kind = |text: &str| read(text.as_bytes()).expect(text);
        assert!(matches!(kind(r#"{"jsonrpc":"2.0","id":1,"method":"x","params":null}"#), Incoming::One(Message::Request(_))));
        assert!(matches!(kind(r#"{"jsonrpc":"2.0","method":"x","params":[1]}"#), Incoming::One(Message::Notification { .. })));
        assert!(matches!(kind(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Incoming::One(Message::Response(_))));
        assert!(matches!(kind("[1]"), Incoming::Batch(_)));
    }
}
