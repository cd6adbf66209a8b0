//! TOML, through `toml_edit`, which keeps comments and order.

use super::{EditError, Edited, position};
use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, TomlError, value};

fn document(text: &str) -> Result<DocumentMut, EditError> {
    text.parse().map_err(|error: TomlError| {
        let (line, column) = position(text, error.span().map_or(0, |span| span.start));
        let reason = error.message().lines().next().unwrap_or_default().to_owned();
        EditError::Malformed { reason, line, column }
    })
}

pub(super) fn parse(text: &str) -> Result<Value, EditError> {
    Ok(of_table(document(text)?.as_table()))
}

fn of_table(table: &dyn TableLike) -> Value {
    Value::Object(table.iter().map(|(key, item)| (key.to_owned(), of_item(item))).collect())
}

fn of_item(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => of_value(value),
        Item::Table(table) => of_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| of_table(table)).collect(),
    }
}

fn of_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().clone().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        // As text: TOML has infinities, JSON does not.
        toml_edit::Value::Float(number) => number.value().to_string().into(),
        toml_edit::Value::Boolean(value) => (*value.value()).into(),
        toml_edit::Value::Datetime(time) => time.value().to_string().into(),
        toml_edit::Value::Array(values) => values.iter().map(of_value).collect(),
        toml_edit::Value::InlineTable(table) => of_table(table),
    }
}

pub(super) fn set(text: &str, path: &[&str], entry: &Value) -> Edited {
    let mut document = document(text)?;
    let [parent, key] = path else { return Ok(text.to_owned()) };
    let servers = document.entry(parent).or_insert_with(|| {
        let mut table = Table::new();
        // `[mcp_servers.deskhand]` alone, without an empty `[mcp_servers]` above it.
        table.set_implicit(true);
        Item::Table(table)
    });
    match servers {
        Item::Table(servers) => {
            let mut table = Table::new();
            fill(&mut table, entry);
            if let Some(old) = servers.get(key).and_then(Item::as_table) {
                // What the person wrote above the entry stays there.
                *table.decor_mut() = old.decor().clone();
                table.set_position(old.position());
            }
            servers.insert(key, Item::Table(table));
        }
        other => {
            let Some(servers) = other.as_table_like_mut() else {
                return Err(EditError::Unexpected(format!("{parent:?} is not a table. Correct or remove it, then try again")));
            };
            let mut table = toml_edit::InlineTable::new();
            fill(&mut table, entry);
            servers.insert(key, value(table));
        }
    }
    Ok(line_ends(text, document.to_string()))
}

fn fill(table: &mut dyn TableLike, entry: &Value) {
    for (key, field) in entry.as_object().into_iter().flatten() {
        let field = match field {
            Value::Array(values) => value(values.iter().filter_map(Value::as_str).collect::<Array>()),
            Value::Bool(flag) => value(*flag),
            Value::Number(number) => value(number.as_i64().unwrap_or_default()),
            other => value(other.as_str().unwrap_or_default()),
        };
        table.insert(key, field);
    }
}

pub(super) fn remove(text: &str, path: &[&str]) -> Edited {
    let mut document = document(text)?;
    let [parent, key] = path else { return Ok(text.to_owned()) };
    if let Some(servers) = document.get_mut(parent).and_then(Item::as_table_like_mut) {
        servers.remove(key);
    }
    Ok(line_ends(text, document.to_string()))
}

/// `toml_edit` writes its own lines with `\n`; a file that has `\r\n` keeps it.
fn line_ends(before: &str, after: String) -> String {
    if before.contains("\r\n") { after.replace("\r\n", "\n").replace('\n', "\r\n") } else { after }
}
