//! JSON, with comments and trailing commas where the client accepts them.

use super::{EditError, Edited, Syntax, position};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::errors::ParseError;
use serde_json::Value;

fn options(syntax: Syntax) -> ParseOptions {
    ParseOptions {
        allow_comments: syntax != Syntax::Json,
        allow_trailing_commas: syntax == Syntax::Jsonc,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// What the text holds; an empty file holds nothing, which clients take for no settings.
pub(super) fn parse(text: &str, syntax: Syntax) -> Result<Value, EditError> {
    if root(text, syntax)?.value().is_none() {
        return Ok(Value::Null);
    }
    if syntax == Syntax::Json {
        // A second opinion: what a strict client reads, read strictly.
        return serde_json::from_str(text).map_err(|error| EditError::Malformed {
            reason: "not strict JSON".into(),
            line: error.line(),
            column: error.column(),
        });
    }
    jsonc_parser::parse_to_serde_value(text, &options(syntax)).map_err(|error| malformed(text, syntax, &error))
}

fn root(text: &str, syntax: Syntax) -> Result<CstRootNode, EditError> {
    CstRootNode::parse(text, &options(syntax)).map_err(|error| malformed(text, syntax, &error))
}

fn malformed(text: &str, syntax: Syntax, error: &ParseError) -> EditError {
    let (line, column) = position(text, error.range().start);
    let hint = match syntax {
        Syntax::Json => " (this client reads strict JSON: no comments, no trailing commas)",
        Syntax::JsonWithComments => " (this client accepts comments, but no trailing commas)",
        _ => "",
    };
    EditError::Malformed { reason: format!("{}{hint}", error.kind()), line, column }
}

pub(super) fn set(text: &str, syntax: Syntax, path: &[&str], entry: &Value) -> Edited {
    let root = root(text, syntax)?;
    let Some((last, parents)) = path.split_last() else { return Ok(text.to_owned()) };
    let mut here = root.object_value_or_create().ok_or_else(|| unexpected("the file's outermost value is not an object"))?;
    for key in parents {
        here = child(&here, key)?;
    }
    match only(&here, last)? {
        Some(property) => property.set_value(input(entry)),
        None => drop(here.append(last, input(entry))),
    }
    let mut edited = root.to_string();
    if text.trim().is_empty() && !edited.ends_with('\n') {
        edited.push('\n');
    }
    Ok(edited)
}

/// The object at this key, made when it is missing or null.
fn child(parent: &CstObject, key: &str) -> Result<CstObject, EditError> {
    match only(parent, key)? {
        Some(property) => match property.object_value() {
            Some(object) => Ok(object),
            None => Ok(property.object_value_or_set()),
        },
        None => Ok(parent.object_value_or_set(key)),
    }
}

/// The one property with this name. Clients disagree on which of two counts, so two are refused.
fn only(object: &CstObject, key: &str) -> Result<Option<jsonc_parser::cst::CstObjectProp>, EditError> {
    let named = |property: &jsonc_parser::cst::CstObjectProp| property.decoded_name().as_deref() == Some(key);
    let mut found: Vec<_> = object.properties().into_iter().filter(named).collect();
    if found.len() > 1 {
        return Err(unexpected(&format!("{key:?} stands in it twice. Remove one of them, then try again")));
    }
    Ok(found.pop())
}

pub(super) fn remove(text: &str, syntax: Syntax, path: &[&str]) -> Edited {
    let root = root(text, syntax)?;
    let Some((last, parents)) = path.split_last() else { return Ok(text.to_owned()) };
    let mut here = root.object_value();
    for key in parents {
        here = match here {
            Some(object) => only(&object, key)?.and_then(|property| property.object_value()),
            None => None,
        };
    }
    if let Some(object) = here
        && let Some(property) = only(&object, last)?
    {
        property.remove();
    }
    Ok(root.to_string())
}

fn unexpected(reason: &str) -> EditError {
    EditError::Unexpected(reason.to_owned())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(map) => CstInputValue::Object(map.iter().map(|(key, value)| (key.clone(), input(value))).collect()),
    }
}
