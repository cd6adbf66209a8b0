//! The audit log as a person reads it: one entry a call, newest first. Old entries come from the file, new ones as they
//! are written; pictures of clicks are kept in memory alone, a few of them.

use super::shown::name_of;
use deskhand_core::audit;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Pictures kept; about 15 kB each.
const PICTURES: usize = 64;
/// Entries of one answer at most.
const PAGE: usize = 200;

/// One call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "ui/bridge.d.ts says what each field means")]
pub struct Entry {
    pub seq: u64,
    pub start: u64,
    pub end: Option<u64>,
    pub caller: String,
    pub caller_name: String,
    pub tool: String,
    pub groups: Vec<String>,
    #[serde(rename = "where")]
    pub place: Option<String>,
    pub result: String,
    pub text: Option<String>,
    pub arguments: String,
    pub picture: Option<String>,
    /// The log's own name of the call; for the app alone.
    #[serde(skip)]
    pub call: String,
}

/// Some of the entries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page {
    /// Newest first.
    pub entries: Vec<Entry>,
    /// Whether there are older ones.
    pub more: bool,
}

/// The log, and the pictures that belong to it.
pub struct Activity {
    file: PathBuf,
    running: Mutex<HashMap<String, Entry>>,
    pictures: Mutex<VecDeque<(String, String)>>,
}

impl Activity {
    /// Of the log in `file`.
    #[must_use]
    pub fn of(file: PathBuf) -> Self {
        Self { file, running: Mutex::default(), pictures: Mutex::default() }
    }

    /// Takes note of a line that was just written; the entry as it is now, if the line belongs to a call.
    pub fn note(&self, line: &Value) -> Option<Entry> {
        let call = line["call"].as_str()?;
        match line["event"].as_str()? {
            "start" => {
                let entry = begun(line, call);
                self.running.lock().insert(call.to_owned(), entry.clone());
                Some(entry)
            }
            "end" => {
                let mut entry = self.running.lock().remove(call)?;
                finish(&mut entry, line);
                entry.picture = self.picture(call);
                Some(entry)
            }
            _ => None,
        }
    }

    /// The calls that run now, oldest first.
    #[must_use]
    pub fn running(&self) -> Vec<Entry> {
        let mut running: Vec<_> = self.running.lock().values().cloned().collect();
        running.sort_by_key(|entry| entry.seq);
        running
    }

    /// Keeps the picture of a call; the oldest goes.
    pub fn keep(&self, call: &str, picture: String) {
        let mut pictures = self.pictures.lock();
        if pictures.len() >= PICTURES {
            pictures.pop_front();
        }
        pictures.push_back((call.to_owned(), picture));
    }

    fn picture(&self, call: &str) -> Option<String> {
        self.pictures.lock().iter().rev().find(|(of, _)| of == call).map(|(_, picture)| picture.clone())
    }

    /// Entries older than `before` that contain `filter` in what is shown of them, newest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn page(&self, before: Option<u64>, limit: usize, filter: &str) -> std::io::Result<Page> {
        let limit = limit.clamp(1, PAGE);
        let wanted = filter.trim().to_lowercase();
        // The last ones that match are kept while the log goes by: memory does not grow with the log.
        let mut last: VecDeque<Entry> = VecDeque::new();
        let mut more = false;
        let mut open: HashMap<String, Entry> = HashMap::new();
        let mut place = |entry: Entry| {
            if !matches(&entry, &wanted) {
                return;
            }
            let at = last.partition_point(|other| other.seq < entry.seq);
            last.insert(at, entry);
            if last.len() > limit {
                last.pop_front();
                more = true;
            }
        };
        for line in lines(&self.file)? {
            let Some(call) = line["call"].as_str() else { continue };
            if line["event"] == "start" && before.is_none_or(|before| line["seq"].as_u64().is_some_and(|seq| seq < before)) {
                open.insert(call.to_owned(), begun(&line, call));
            } else if line["event"] == "end"
                && let Some(mut entry) = open.remove(call)
            {
                finish(&mut entry, &line);
                place(entry);
            }
        }
        let running = self.running.lock();
        for (call, mut entry) in open {
            if !running.contains_key(&call) {
                entry.result = "cancelled".into();
                entry.text = Some("the worker ended before the call did".into());
            }
            place(entry);
        }
        let mut entries: Vec<_> = last.into_iter().rev().collect();
        for entry in &mut entries {
            entry.picture = self.picture(&entry.call);
        }
        Ok(Page { entries, more })
    }

    /// What `deskhand audit verify` says.
    ///
    /// # Errors
    /// With the first line that does not hold.
    pub fn verify(&self) -> Result<String, String> {
        let verified = audit::verify(&self.file).map_err(|error| error.to_string())?;
        let torn = if verified.torn == 0 { String::new() } else { format!(", {} cut short by a crash and accounted for", verified.torn) };
        Ok(format!("{}: {} lines hold{torn}", self.file.display(), verified.lines))
    }

    /// The log's file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Forgets every picture.
    pub fn forget_pictures(&self) {
        self.pictures.lock().clear();
    }
}

fn lines(file: &Path) -> std::io::Result<impl Iterator<Item = Value>> {
    let lines = match std::fs::File::open(file) {
        Ok(file) => Some(BufReader::new(file).lines()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    Ok(lines.into_iter().flatten().map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok()))
}

fn text(line: &Value, key: &str) -> String {
    line[key].as_str().unwrap_or_default().to_owned()
}

fn begun(line: &Value, call: &str) -> Entry {
    let caller = text(line, "caller");
    let groups = line["groups"].as_array().into_iter().flatten().filter_map(|g| g.as_str().map(str::to_owned)).collect();
    Entry {
        seq: line["seq"].as_u64().unwrap_or(0),
        start: line["time"].as_u64().unwrap_or(0),
        end: None,
        caller_name: name_of(&caller),
        caller,
        tool: text(line, "tool"),
        groups,
        place: place(&line["arguments"]),
        result: "running".into(),
        text: None,
        arguments: if line["arguments"].is_null() { String::new() } else { line["arguments"].to_string() },
        picture: None,
        call: call.to_owned(),
    }
}

fn finish(entry: &mut Entry, line: &Value) {
    entry.end = line["time"].as_u64();
    entry.result = text(line, "result");
}

/// Where a call acts: the place of the pointer, or the address of a page.
fn place(arguments: &Value) -> Option<String> {
    let pair = |x: &str, y: &str| Some(format!("{}, {}", arguments[x].as_i64()?, arguments[y].as_i64()?));
    pair("x", "y").or_else(|| pair("endX", "endY")).or_else(|| arguments["url"].as_str().map(str::to_owned))
}

fn matches(entry: &Entry, wanted: &str) -> bool {
    let holds = |text: &str| text.to_lowercase().contains(wanted);
    wanted.is_empty() || [&entry.caller, &entry.caller_name, &entry.tool, &entry.result, &entry.arguments].into_iter().any(|t| holds(t))
}

#[cfg(test)]
mod tests {
    use super::*;
    use deskhand_core::Audit;
    use serde_json::json;

    fn log() -> (tempfile::TempDir, Audit, Activity) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("audit.jsonl");
        let audit = Audit::open(&file).unwrap();
        (dir, audit, Activity::of(file))
    }

    fn call(audit: &Audit, id: &str, tool: &str) {
        audit
            .append(
                "start",
                json!({"call": id, "caller": "client:cursor", "tool": tool, "groups": ["mouse"], "arguments": {"x": 640, "y": 400}}),
            )
            .unwrap();
        audit.append("end", json!({"call": id, "result": "ok", "ms": 3})).unwrap();
    }

    #[test]
    fn a_call_is_one_entry_and_pages_go_back_in_time() {
        let (_dir, audit, activity) = log();
        for i in 0..5 {
            call(&audit, &format!("c{i}"), "computer_mouse_click");
        }
        let first = activity.page(None, 2, "").unwrap();
        assert_eq!(first.entries.iter().map(|e| e.seq).collect::<Vec<_>>(), [9, 7]);
        assert!(first.more);
        let entry = &first.entries[0];
        assert_eq!((entry.caller_name.as_str(), entry.place.as_deref(), entry.result.as_str()), ("cursor", Some("640, 400"), "ok"));
        let rest = activity.page(Some(7), 10, "").unwrap();
        assert_eq!((rest.entries.len(), rest.more), (3, false));
        assert_eq!(activity.page(None, 10, "KEYBOARD").unwrap().entries.len(), 0);
        assert_eq!(activity.page(None, 10, "cursor").unwrap().entries.len(), 5);
        assert!(activity.verify().unwrap().contains("10 lines hold"));
    }

    #[test]
    fn a_running_call_is_told_and_one_that_a_crash_ended_is_not_said_to_run() {
        let (_dir, audit, activity) = log();
        let mut lines = audit.lines();
        audit.append("start", json!({"call": "a", "caller": "main", "tool": "t", "groups": [], "arguments": null})).unwrap();
        assert_eq!(activity.page(None, 5, "").unwrap().entries[0].result, "cancelled");
        let entry = activity.note(&lines.try_recv().unwrap()).unwrap();
        assert_eq!((entry.result.as_str(), activity.running().len()), ("running", 1));
        assert_eq!(activity.page(None, 5, "").unwrap().entries[0].result, "running");
        activity.keep("a", "data:x".into());
        audit.append("end", json!({"call": "a", "result": "denied", "ms": 1})).unwrap();
        let ended = activity.note(&lines.try_recv().unwrap()).unwrap();
        assert_eq!((ended.result.as_str(), ended.picture.as_deref(), activity.running().len()), ("denied", Some("data:x"), 0));
    }

    #[test]
    fn pictures_are_few() {
        let activity = Activity::of(PathBuf::from("/none"));
        for i in 0..=PICTURES {
            activity.keep(&i.to_string(), "p".into());
        }
        assert!(activity.picture("0").is_none() && activity.picture("64").is_some());
    }
}
