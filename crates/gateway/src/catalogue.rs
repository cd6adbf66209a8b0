//! Tool lists: what an executor announced, else what this build of Deskhand knows.
//!
//! Announced lists are shared between executors that announce the same one, so that thousands of idle executors cost
//! one list. An executor that announces nothing is listed with the embedded tools of its service.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::hub::{Hub, Service};

/// Tools of one executor that are listed at most.
const MOST_TOOLS: usize = 300;
/// Longest announced list, in bytes of JSON.
const LARGEST: usize = 2 << 20;

/// Known tool lists.
#[derive(Debug)]
pub struct Catalogue {
    embedded: HashMap<Service, Arc<Vec<Value>>>,
    announced: Mutex<HashMap<[u8; 32], Weak<Vec<Value>>>>,
}

impl Catalogue {
    /// A catalogue with the given embedded list: JSON text of an array of tools or of `{"tools": […]}`.
    #[must_use]
    pub fn new(embedded: &str) -> Self {
        let all: Vec<Value> = match serde_json::from_str(embedded) {
            Ok(Value::Array(tools)) => tools,
            Ok(Value::Object(mut object)) => match object.remove("tools") {
                Some(Value::Array(tools)) => tools,
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        let of = |service| Arc::new(all.iter().filter_map(|tool| clean(tool, service)).collect());
        Self { embedded: Service::ALL.into_iter().map(|service| (service, of(service))).collect(), announced: Mutex::new(HashMap::new()) }
    }

    /// Takes an announced list: only well-formed tools of that service, once per distinct list.
    pub(crate) fn intern(&self, tools: Vec<Value>, service: Service) -> Arc<Vec<Value>> {
        let clean: Vec<Value> = tools.iter().filter_map(|tool| clean(tool, service)).take(MOST_TOOLS).collect();
        let text = serde_json::to_vec(&clean).unwrap_or_default();
        if text.len() > LARGEST {
            tracing::warn!(bytes = text.len(), "an executor announced too long a tool list; the embedded one is used");
            return self.embedded.get(&service).cloned().unwrap_or_default();
        }
        let digest: [u8; 32] = Sha256::digest(&text).into();
        let mut announced = self.announced.lock();
        if let Some(list) = announced.get(&digest).and_then(Weak::upgrade) {
            return list;
        }
        announced.retain(|_, list| list.strong_count() > 0);
        let list = Arc::new(clean);
        announced.insert(digest, Arc::downgrade(&list));
        list
    }

    /// The tools of the user's executor for `service`; empty while it is not connected.
    #[must_use]
    pub fn tools(&self, hub: &Hub, user: &str, service: Service) -> Arc<Vec<Value>> {
        match hub.link(user, service) {
            None => Arc::default(),
            Some(link) => link.tools().or_else(|| self.embedded.get(&service).cloned()).unwrap_or_default(),
        }
    }
}

/// The tool as `tools/list` shows it, if it is one of `service` and well formed.
fn clean(tool: &Value, service: Service) -> Option<Value> {
    let name = tool.get("name")?.as_str()?;
    let fine = name.len() <= 128 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b));
    if !fine || Service::of_tool(name) != Some(service) {
        return None;
    }
    Some(listed(name, tool))
}

/// A tool with exactly the fields MCP knows; a missing schema becomes "any object".
pub(crate) fn listed(name: &str, tool: &Value) -> Value {
    let mut out = Map::new();
    out.insert("name".into(), name.into());
    for field in ["title", "description"] {
        if let Some(text) = tool.get(field).filter(|text| text.is_string()) {
            out.insert(field.into(), text.clone());
        }
    }
    if !out.contains_key("description") {
        out.insert("description".into(), tool.get("summary").and_then(Value::as_str).unwrap_or_default().into());
    }
    let schema = ["inputSchema", "input_schema"].iter().find_map(|key| tool.get(*key)).filter(|schema| schema.is_object());
    out.insert("inputSchema".into(), schema.cloned().unwrap_or_else(|| json!({"type": "object"})));
    for (field, other) in [("outputSchema", "output_schema"), ("annotations", "annotations")] {
        if let Some(object) = tool.get(field).or_else(|| tool.get(other)).filter(|object| object.is_object()) {
            out.insert(field.into(), object.clone());
        }
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_cleaned_and_shared() {
        let catalogue = Catalogue::new(r#"{"tools":[{"name":"computer_a","summary":"A"},{"name":"browser_b"}]}"#);
        assert_eq!(
            catalogue.embedded[&Service::Computer][0],
            json!({"name":"computer_a","description":"A","inputSchema":{"type":"object"}})
        );
        let tools = vec![json!({"name": "computer_x"}), json!({"name": "browser_y"}), json!({"name": "computer bad"}), json!(7)];
        let one = catalogue.intern(tools.clone(), Service::Computer);
        let two = catalogue.intern(tools, Service::Computer);
        assert_eq!(one.len(), 1);
        assert!(Arc::ptr_eq(&one, &two));
    }

    #[test]
    fn nothing_embedded_is_nothing_listed() {
        assert!(Catalogue::new("").embedded[&Service::Browser].is_empty());
    }
}
