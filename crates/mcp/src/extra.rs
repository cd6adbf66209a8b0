//! Tools of other MCP servers on this machine, offered beside ours in group `extra`.
//!
//! One POST per call and no handshake: a server may start after us, or restart, and nothing has to be set up again. Only
//! plain http on loopback is taken, because nothing here could tell a good remote server from a bad one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use deskhand_core::{Content, Context, Effect, ExtraTools, Group, GroupSet, Listing, Outcome, Reply, ToolError, ToolInfo};
use futures_util::future::join_all;
use http::Uri;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::McpError;
use crate::extra_client::{ExtraClient, Missed};

/// How long a list may take; a server that hangs must not hold ours up for longer.
const LIST_TIME: Duration = Duration::from_secs(2);
/// How long a server that hung is left alone.
const LEFT_ALONE: Duration = Duration::from_secs(10);
/// Most tools taken from one server.
const MOST: usize = 500;
/// Longest text of one result, in bytes.
const TEXT: usize = 300_000;
/// Longest base64 of the pictures (and sounds) of one result.
const PICTURE: usize = 700_000;
/// Longest schema of one tool as JSON, in bytes, and of all tools of one server together with their descriptions.
const SCHEMA: usize = 64 * 1024;
const LIST: usize = 512 * 1024;

#[derive(Debug, Deserialize)]
struct Spec {
    url: String,
    #[serde(default)]
    prefix: Option<String>,
}

/// One other server.
struct Other {
    name: String,
    prefix: Option<String>,
    client: ExtraClient,
    hung: Mutex<Option<Instant>>,
}

impl Other {
    /// What its tools' names begin with, outside.
    fn mark(&self) -> String {
        format!("{}_", self.prefix.as_deref().unwrap_or(&self.name))
    }

    /// Its own name for one of its tools.
    fn inside<'a>(&self, name: &'a str) -> Option<&'a str> {
        let bare = name.strip_prefix(&self.mark()).filter(|bare| !bare.is_empty())?;
        Some(if self.prefix.is_some() { bare } else { name })
    }

    fn outside(&self, name: &str) -> Option<String> {
        match &self.prefix {
            Some(prefix) => Some(format!("{prefix}_{name}")),
            None => name.starts_with(&self.mark()).then(|| name.to_owned()),
        }
    }

    async fn tools(&self) -> Vec<Value> {
        if self.hung.lock().is_some_and(|since| since.elapsed() < LEFT_ALONE) {
            return Vec::new();
        }
        match tokio::time::timeout(LIST_TIME, self.client.list(MOST)).await {
            Ok(Ok(tools)) => tools,
            Ok(Err(missed)) => {
                tracing::debug!(server = self.name, %missed, "another server is absent");
                Vec::new()
            }
            Err(_) => {
                *self.hung.lock() = Some(Instant::now());
                tracing::warn!(server = self.name, "another server does not answer; left alone for 10 s");
                Vec::new()
            }
        }
    }
}

/// The other servers, in the order they were named.
pub struct Extras {
    others: Vec<Arc<Other>>,
    own: HashSet<String>,
    /// Which server listed a name last; settles names that two prefixes fit.
    seen: Mutex<HashMap<String, usize>>,
}

impl Extras {
    /// Reads `{"NAME":{"url":"http://127.0.0.1:PORT/mcp","prefix":"P"}}`. `own` are our own tools' names, which win.
    ///
    /// Servers that are not plain http on loopback, or are not described so, are left out with a warning.
    ///
    /// # Errors
    /// When the text is no JSON object.
    pub fn parse(text: &str, own: impl IntoIterator<Item = String>) -> Result<Self, McpError> {
        let specs: Map<String, Value> = serde_json::from_str(text)
            .map_err(|error| McpError::Config(format!("the list of other MCP servers is no JSON object: {error}")))?;
        let mut others = Vec::new();
        for (name, spec) in specs {
            match check(&name, spec) {
                Ok((uri, prefix)) => others.push(Arc::new(Other { name, prefix, client: ExtraClient::new(uri), hung: Mutex::default() })),
                Err(reason) => tracing::warn!(server = name, "another MCP server is left out: {reason}"),
            }
        }
        Ok(Self { others, own: own.into_iter().collect(), seen: Mutex::default() })
    }

    /// How many servers are asked.
    pub fn len(&self) -> usize {
        self.others.len()
    }

    /// Whether no server is asked.
    pub fn is_empty(&self) -> bool {
        self.others.is_empty()
    }

    fn owner(&self, name: &str) -> Option<&Arc<Other>> {
        if let Some(other) = self.seen.lock().get(name).and_then(|index| self.others.get(*index)) {
            return Some(other);
        }
        self.others.iter().find(|other| other.inside(name).is_some())
    }
}

fn is_name(name: &str) -> bool {
    (1..=128).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// Its address and its prefix, or why it is left out.
fn check(name: &str, spec: Value) -> Result<(Uri, Option<String>), String> {
    let spec: Spec = serde_json::from_value(spec).map_err(|error| format!("{error}; write {{\"url\": …, \"prefix\": …}}"))?;
    if !is_name(name) || !spec.prefix.as_deref().unwrap_or("x").bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b)) {
        return Err("names and prefixes are of A-Z a-z 0-9 _ . -".to_owned());
    }
    let uri: Uri = spec.url.parse().map_err(|_| "its url cannot be read".to_owned())?;
    let host = uri.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    let local = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    let plain = uri.scheme_str() == Some("http") && !uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
    if !local || !plain {
        // An address with a password in it is not repeated.
        let url = if spec.url.contains('@') { "its url" } else { spec.url.as_str() };
        return Err(format!("{url}: only http on loopback is taken"));
    }
    Ok((uri, spec.prefix.filter(|prefix| !prefix.is_empty())))
}

/// A foreign tool as one of ours; `None` when it is not fit to be listed.
fn adopt(name: String, tool: &Value) -> Option<ToolInfo> {
    let schema = |key: &str| match tool.get(key) {
        Some(value @ Value::Object(schema)) if schema.get("type").and_then(Value::as_str) == Some("object") && size(value) <= SCHEMA => {
            Some(Arc::new(plain(schema.clone())))
        }
        _ => None,
    };
    if !is_name(&name) {
        return None;
    }
    let text = |key: &str| tool.get(key).and_then(Value::as_str).unwrap_or_default().chars().take(8_000).collect::<String>();
    let hint = |key: &str, default| tool.pointer(&format!("/annotations/{key}")).and_then(Value::as_bool).unwrap_or(default);
    Some(ToolInfo {
        name,
        title: text("title"),
        description: text("description"),
        groups: [Group::Extra].into_iter().collect::<GroupSet>(),
        listing: Listing::All,
        effect: Effect::Changes,
        idempotent: hint("idempotentHint", false),
        destructive: hint("destructiveHint", true),
        open_world: true,
        looks: false,
        input_schema: schema("inputSchema")?,
        output_schema: schema("outputSchema"),
    })
}

/// Length as JSON, in bytes.
fn size(value: &Value) -> usize {
    value.to_string().len()
}

/// Without the header annotations: they would bind clients to headers that nobody here checks.
fn plain(mut schema: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            property.remove("x-mcp-header");
        }
    }
    schema
}

#[async_trait]
impl ExtraTools for Extras {
    async fn tools(&self) -> Vec<ToolInfo> {
        let lists = join_all(self.others.iter().map(|other| other.tools())).await;
        let mut taken = self.own.clone();
        let mut seen = HashMap::new();
        let mut tools = Vec::new();
        for (index, (other, list)) in self.others.iter().zip(lists).enumerate() {
            let mut room = LIST;
            for tool in list {
                let Some(name) = tool.get("name").and_then(Value::as_str).and_then(|name| other.outside(name)) else { continue };
                let Some(info) = adopt(name.clone(), &tool) else { continue };
                room = room.saturating_sub(info.description.len() + info.input_schema.iter().map(|(_, value)| size(value)).sum::<usize>());
                if room == 0 {
                    tracing::warn!(server = other.name, "another server's list is cut: it is longer than {LIST} bytes");
                    break;
                }
                if taken.insert(name.clone()) {
                    seen.insert(name, index);
                    tools.push(info);
                }
            }
        }
        *self.seen.lock() = seen;
        tools
    }

    fn owns(&self, name: &str) -> bool {
        self.owner(name).is_some()
    }

    async fn call(&self, cx: &Context, name: &str, arguments: Value) -> Outcome {
        let Some((other, inside)) = self.owner(name).and_then(|other| Some((other, other.inside(name)?))) else {
            return Err(ToolError::not_found(format!("no other server offers {name}")));
        };
        let answer = tokio::select! {
            () = cx.cancel.cancelled() => return Err(ToolError::cancelled(format!("{name} was cancelled; what the server {} did of it is not known", other.name))),
            answer = tokio::time::timeout(cx.remaining(), other.client.call(inside, arguments)) => answer,
        };
        match answer {
            Err(_) => {
                Err(ToolError::timed_out(format!("the server {} did not answer {name} in time; what it did is not known", other.name)))
            }
            Ok(Err(Missed::Absent(reason))) => {
                Err(ToolError::unavailable(format!("the server {} does not answer ({reason}); start it and call again", other.name)))
            }
            Ok(Err(Missed::Refused(text))) => Err(ToolError::failed(format!("the server {} refused {name}: {text}", other.name))),
            Ok(Ok(result)) => outcome(result),
        }
    }
}

/// A foreign result as ours, within our limits.
fn outcome(mut result: Map<String, Value>) -> Outcome {
    let blocks = match result.remove("content") {
        Some(Value::Array(blocks)) => blocks,
        _ => Vec::new(),
    };
    let output = result.remove("structuredContent").filter(|output| size(output) <= TEXT).unwrap_or(Value::Null);
    let mut room = Room { text: TEXT, data: PICTURE };
    let content: Vec<Value> = blocks.into_iter().map(|block| room.fit(block)).collect();
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        let texts: Vec<&str> = content.iter().filter_map(|block| block.get("text")?.as_str()).collect();
        return Err(ToolError::failed(texts.join("\n")));
    }
    Ok(Reply { output, content: content.into_iter().map(Content::Foreign).collect() })
}

/// What is left of one result's limits.
struct Room {
    text: usize,
    data: usize,
}

impl Room {
    /// The block if it fits, as much of its text as fits, or a note in its place.
    fn fit(&mut self, mut block: Value) -> Value {
        let length = |block: &Value, key: &str| block.get(key).and_then(Value::as_str).map_or(0, str::len);
        let (text, data) = (length(&block, "text"), length(&block, "data"));
        // Whatever else is in it (an embedded file, annotations) counts as text.
        let other = size(&block).saturating_sub(text + data);
        if data > self.data || (text == 0 && other > self.text.max(4 * 1024)) {
            return json!({"type": "text", "text": format!("[left out: {} bytes are more than one result holds]", data + other)});
        }
        if text > self.text {
            let kept = block["text"].as_str().unwrap_or_default();
            let cut = (0..=self.text).rev().find(|at| kept.is_char_boundary(*at)).unwrap_or(0);
            block = json!({"type": "text", "text": format!("{}\n[cut: truncated at {cut} of total_bytes {text}]", &kept[..cut])});
        }
        self.text = self.text.saturating_sub(text.max(other));
        self.data -= data;
        block
    }
}

#[cfg(test)]
#[path = "tests/extra.rs"]
mod tests;
