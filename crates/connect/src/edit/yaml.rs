//! YAML, by lines: the entry is a block of its own under a key at the margin.
//!
//! The editors for YAML that exist reflow what they touch; a block of lines put in or taken out does not. The general
//! check in `edit` (parse anew, compare) is what makes this safe for every way YAML can be written.

use super::{EditError, Edited};
use serde_json::Value;
use std::fmt::Write as _;
use std::ops::Range;

pub(super) fn parse(text: &str) -> Result<Value, EditError> {
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Value::Null);
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let (line, column) = error.location().map_or((1, 1), |at| (at.line() as usize, at.column() as usize));
        let reason = error.to_string().lines().next().unwrap_or_default().to_owned();
        EditError::Malformed { reason, line, column }
    })
}

pub(super) fn set(text: &str, path: &[&str], entry: &Value) -> Edited {
    let [parent, key] = path else { return Ok(text.to_owned()) };
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut lines = lines_of(text);
    if let Some(last) = lines.last_mut().filter(|last| !last.ends_with('\n')) {
        last.push_str(newline);
    }
    let block = |indent: usize| {
        let mut block = String::new();
        write_entry(&mut block, key, entry, indent);
        block.split_inclusive('\n').map(|line| line.replace('\n', newline)).collect::<Vec<_>>()
    };
    let Some(section) = Section::find(&lines, parent) else {
        lines.push(format!("{parent}:{newline}"));
        lines.extend(block(2));
        return Ok(lines.concat());
    };
    let head = &mut lines[section.head];
    if !section.value_in_line.is_empty() {
        // `extensions: {}` becomes a block; anything else in one line is left to the check to refuse.
        *head = head.replacen(&section.value_in_line, "", 1).replace(": ", ":");
        if section.value_in_line.starts_with(['{', '~', 'n']) && !head.contains('#') {
            *head = format!("{parent}:{newline}");
        }
    }
    let place = section.entry(&lines, key).unwrap_or(section.children.end..section.children.end);
    lines.splice(place, block(section.indent));
    Ok(lines.concat())
}

pub(super) fn remove(text: &str, path: &[&str]) -> Edited {
    let [parent, key] = path else { return Ok(text.to_owned()) };
    let mut lines = lines_of(text);
    let Some(section) = Section::find(&lines, parent) else { return Ok(text.to_owned()) };
    let Some(range) = section.entry(&lines, key) else { return Ok(text.to_owned()) };
    lines.drain(range.clone());
    let left = section.children.start..section.children.end - range.len();
    if lines[left].iter().all(|line| is_blank(line)) {
        // No entry left: an empty map, not nothing, which clients take for a mistake.
        let head = &lines[section.head];
        let colon = head.find(':').map_or(head.len(), |at| at + 1);
        lines[section.head] = format!("{} {{}}{}", &head[..colon], &head[colon..]);
    }
    Ok(lines.concat())
}

fn lines_of(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(ToOwned::to_owned).collect()
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// What follows `key:` in a line, without a comment; `None` when the line is not of this key.
fn value_of<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    let line = line.trim();
    let quoted = [format!("\"{key}\""), format!("'{key}'"), key.to_owned()];
    let rest = quoted.iter().find_map(|key| line.strip_prefix(key.as_str()))?.trim_start().strip_prefix(':')?;
    if !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let end = if rest.trim_start().starts_with('#') { 0 } else { rest.find(" #").unwrap_or(rest.len()) };
    Some(rest[..end].trim())
}

/// A key at the margin and the lines that belong to it.
struct Section {
    head: usize,
    value_in_line: String,
    children: Range<usize>,
    indent: usize,
}

impl Section {
    fn find(lines: &[String], key: &str) -> Option<Self> {
        let (head, value) = lines.iter().enumerate().find_map(|(at, line)| {
            let value = (indent_of(line) == 0).then(|| value_of(line, key)).flatten()?;
            Some((at, value.to_owned()))
        })?;
        let start = head + 1;
        let belongs = |line: &String| is_blank(line) || indent_of(line) > 0;
        let mut end = start + lines[start..].iter().take_while(|line| belongs(line)).count();
        // Blank lines and comments at the margin belong to what comes next.
        while end > start && is_blank(&lines[end - 1]) && indent_of(&lines[end - 1]) == 0 {
            end -= 1;
        }
        let first = lines[start..end].iter().find(|line| !is_blank(line));
        Some(Self { head, value_in_line: value, children: start..end, indent: first.map_or(2, |line| indent_of(line)) })
    }

    /// The lines of one entry.
    fn entry(&self, lines: &[String], key: &str) -> Option<Range<usize>> {
        let own = self.children.clone().find(|at| indent_of(&lines[*at]) == self.indent && value_of(&lines[*at], key).is_some())?;
        let inside = |line: &String| is_blank(line) || indent_of(line) > self.indent;
        let mut end = own + 1 + lines[own + 1..self.children.end].iter().take_while(|line| inside(line)).count();
        while end > own + 1 && is_blank(&lines[end - 1]) && indent_of(&lines[end - 1]) <= self.indent {
            end -= 1;
        }
        Some(own..end)
    }
}

fn write_entry(block: &mut String, key: &str, value: &Value, indent: usize) {
    let _ = write!(block, "{:indent$}{key}:", "");
    match value {
        Value::Object(map) if !map.is_empty() => {
            block.push('\n');
            for (key, value) in map {
                write_entry(block, key, value, indent + 2);
            }
        }
        Value::Array(values) if !values.is_empty() => {
            block.push('\n');
            for value in values {
                let _ = writeln!(block, "{:indent$}- {}", "", scalar(value));
            }
        }
        other => {
            let _ = writeln!(block, " {}", scalar(other));
        }
    }
}

/// A scalar as JSON writes it, which YAML reads alike; plain where that is sure to be the same text.
fn scalar(value: &Value) -> String {
    let plain = |text: &&str| {
        let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-/. ,'".contains(c))
            && !text.ends_with(' ')
            && !words.contains(&text.to_ascii_lowercase().as_str())
    };
    match value.as_str().filter(plain) {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    }
}
