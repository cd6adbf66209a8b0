//! Changing one entry of a settings file and nothing else in it.
//!
//! Each syntax has an editor that keeps the text around the entry as it is. None of them is trusted: after every edit
//! the new text is parsed anew and must hold exactly what the old one held with this one entry changed.

mod json;
mod toml;
mod yaml;

use serde_json::Value;

/// How a client's file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// Strict JSON.
    Json,
    /// JSON in which the client accepts comments.
    JsonWithComments,
    /// JSON in which it accepts comments and trailing commas.
    Jsonc,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// Why a text was not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EditError {
    /// The text is not in its syntax. Line and column from 1.
    Malformed { reason: String, line: usize, column: usize },
    /// The text is fine, but something else stands where the entry belongs.
    Unexpected(String),
}

type Edited = Result<String, EditError>;

/// A byte order mark some Windows editors put first: kept, but no part of the syntax.
const BOM: char = '\u{feff}';

/// What the text holds.
pub(crate) fn parse(text: &str, syntax: Syntax) -> Result<Value, EditError> {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    match syntax {
        Syntax::Toml => toml::parse(text),
        Syntax::Yaml => yaml::parse(text),
        _ => json::parse(text, syntax),
    }
}

/// The entry at `path`.
pub(crate) fn get<'v>(file: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(file, |value, key| value.get(key))
}

/// Puts `entry` at `path`, in the place of what is there.
pub(crate) fn set(text: &str, syntax: Syntax, path: &[&str], entry: &Value) -> Edited {
    let wanted = with_entry(parse(text, syntax)?, path, Some(entry))?;
    if parse(text, syntax)? == wanted {
        return Ok(text.to_owned());
    }
    let edited = apart_from_mark(text, |text| match syntax {
        Syntax::Toml => toml::set(text, path, entry),
        Syntax::Yaml => yaml::set(text, path, entry),
        _ => json::set(text, syntax, path, entry),
    })?;
    verified(edited, syntax, &wanted)
}

/// Takes the entry at `path` out. The same text when there is none.
pub(crate) fn remove(text: &str, syntax: Syntax, path: &[&str]) -> Edited {
    let file = parse(text, syntax)?;
    if get(&file, path).is_none() {
        return Ok(text.to_owned());
    }
    let wanted = with_entry(file, path, None)?;
    let edited = apart_from_mark(text, |text| match syntax {
        Syntax::Toml => toml::remove(text, path),
        Syntax::Yaml => yaml::remove(text, path),
        _ => json::remove(text, syntax, path),
    })?;
    verified(edited, syntax, &wanted)
}

fn apart_from_mark(text: &str, edit: impl FnOnce(&str) -> Edited) -> Edited {
    match text.strip_prefix(BOM) {
        Some(rest) => Ok(format!("{BOM}{}", edit(rest)?)),
        None => edit(text),
    }
}

/// The values of a file with one entry changed.
fn with_entry(mut file: Value, path: &[&str], entry: Option<&Value>) -> Result<Value, EditError> {
    let Some((last, parents)) = path.split_last() else { return Ok(file) };
    let mut here = &mut file;
    if here.is_null() {
        *here = Value::Object(serde_json::Map::new());
    }
    for key in parents {
        let Some(map) = here.as_object_mut() else { return Err(not_a_map(path)) };
        here = map.entry((*key).to_owned()).or_insert(Value::Null);
        if here.is_null() {
            *here = Value::Object(serde_json::Map::new());
        }
    }
    let Some(map) = here.as_object_mut() else { return Err(not_a_map(path)) };
    match entry {
        Some(entry) => drop(map.insert((*last).to_owned(), entry.clone())),
        None => drop(map.shift_remove(*last)),
    }
    Ok(file)
}

fn not_a_map(path: &[&str]) -> EditError {
    let key = path.split_last().map(|(_, parents)| parents.join(".")).unwrap_or_default();
    EditError::Unexpected(format!("{key:?} should hold named servers but holds something else. Correct or remove it, then try again"))
}

fn verified(edited: String, syntax: Syntax, wanted: &Value) -> Edited {
    match parse(&edited, syntax) {
        Ok(now) if now == *wanted => Ok(edited),
        // In TOML a table that only its children named is gone with the last of them.
        Ok(now) if syntax == Syntax::Toml && without_empty_tables(wanted.clone()) == without_empty_tables(now.clone()) => Ok(edited),
        _ => Err(EditError::Unexpected(
            "it is written in a way that cannot be changed without touching other lines. Add or remove the entry by hand".into(),
        )),
    }
}

fn without_empty_tables(mut file: Value) -> Value {
    if let Some(map) = file.as_object_mut() {
        map.retain(|_, value| value.as_object().is_none_or(|table| !table.is_empty()));
    }
    file
}

/// Line and column, from 1, of a byte position.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_goes_into_nothing_in_every_syntax() {
        let entry = json!({"command": "/a b", "args": ["x"], "on": true, "n": 3});
        for syntax in [Syntax::Json, Syntax::JsonWithComments, Syntax::Jsonc, Syntax::Yaml, Syntax::Toml] {
            for before in ["", "\n"] {
                let path = ["servers", "deskhand"];
                let after = set(before, syntax, &path, &entry).unwrap();
                assert_eq!(get(&parse(&after, syntax).unwrap(), &path), Some(&entry), "{after}");
                assert!(after.ends_with('\n'));
            }
        }
        assert_eq!(toml::set("", &["servers", "deskhand"], &entry).unwrap().lines().next(), Some("[servers.deskhand]"));
    }
}
