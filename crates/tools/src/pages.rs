//! `TOOLS.md` and `tools.json`, derived from the declarations.

use deskhand_core::{Effect, GroupSet, ToolInfo};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::sync::Arc;

/// The tools as data: what the gateway embeds, and what a program can read with `deskhand tools --format json`.
pub fn as_json<'a>(tools: impl Iterator<Item = &'a Arc<ToolInfo>>) -> String {
    let list: Vec<Value> = tools
        .map(|t| {
            json!({
                "name": t.name, "title": t.title, "description": t.description, "groups": t.groups, "effect": t.effect,
                "idempotent": t.idempotent, "destructive": t.destructive, "open_world": t.open_world,
                "inputSchema": *t.input_schema, "outputSchema": t.output_schema.as_deref(),
            })
        })
        .collect();
    let mut text = serde_json::to_string_pretty(&json!({ "tools": list })).unwrap_or_default();
    text.push('\n');
    text
}

/// The tools as a page for people.
pub fn as_markdown<'a>(tools: impl Iterator<Item = &'a Arc<ToolInfo>>) -> String {
    let mut page = String::from("# Tools\n\nMade by `deskhand tools --format md`; do not edit.\n");
    for tool in tools {
        let _ = write!(page, "\n## {}\n\n{}\n\n", tool.name, tool.description);
        let effect = match (tool.effect, tool.destructive) {
            (Effect::Reads, _) => "reads",
            (Effect::Changes, false) => "changes",
            (Effect::Changes, true) => "changes, can destroy",
        };
        let _ = write!(page, "Group: {} · {effect}\n\n", names(tool.groups));
        parameters(&mut page, &tool.input_schema);
        if let Some(schema) = &tool.output_schema {
            let keys: Vec<_> =
                schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(k, _)| format!("`{k}`")).collect();
            let _ = writeln!(page, "Result: {}", if keys.is_empty() { "see the description".into() } else { keys.join(", ") });
        }
    }
    page
}

fn names(groups: GroupSet) -> String {
    groups.iter().map(|g| format!("`{g}`")).collect::<Vec<_>>().join(", ")
}

fn parameters(page: &mut String, schema: &Map<String, Value>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object).filter(|p| !p.is_empty()) else {
        page.push_str("No parameters.\n\n");
        return;
    };
    let required: Vec<_> = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    page.push_str("| parameter | type | required | meaning |\n|---|---|---|---|\n");
    for (name, property) in properties {
        let kind = match property.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).filter(|k| *k != "null").collect::<Vec<_>>().join(" or "),
            _ => "any".into(),
        };
        let need = if required.contains(&name.as_str()) { "yes" } else { "no" };
        let meaning = property.get("description").and_then(Value::as_str).unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        let _ = writeln!(page, "| `{name}` | {kind} | {need} | {meaning} |");
    }
    page.push('\n');
}
