//! Where downloads land. The browser keeps each under a name of its own and, when it is complete, it gets the name that
//! the server suggests, made harmless and never one that is taken: left to itself a browser that is told a folder replaces
//! what lies there.
//!
//! The order is given once for the browser itself, and again for each further context that an attached program makes,
//! before the first page of it may load anything: such a context would save into the person's own folder.

use std::collections::{HashMap, HashSet};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::transport::Download;

/// The most bytes of a file's name.
const NAME: usize = 180;
/// How many files of one name may lie in the folder.
const SAME: u32 = 10_000;

/// What is said about downloads, for the browser or for one of its contexts.
pub(super) fn order(folder: &Path, context: Option<&str>) -> Value {
    let mut order = json!({"behavior": "allowAndName", "downloadPath": folder, "eventsEnabled": true});
    if let Some(context) = context {
        order["browserContextId"] = context.into();
    }
    order
}

/// The downloads of a browser of ours; of one that somebody else started nothing is known.
#[derive(Debug)]
pub(super) struct Downloads {
    folder: Option<PathBuf>,
    /// The contexts that pages were seen in.
    contexts: HashSet<String>,
    /// By their id, the names that servers suggest.
    names: HashMap<String, String>,
}

impl Downloads {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, contexts: HashSet::new(), names: HashMap::new() }
    }

    /// An event of the browser; answers the order for a context that was not seen before. The first one is the browser's
    /// own, which has its order.
    pub(super) fn take(&mut self, method: &str, params: &Value) -> Option<Value> {
        let folder = self.folder.as_deref()?;
        if method == "Browser.downloadWillBegin" {
            let text = |k: &str| params[k].as_str().unwrap_or_default().to_owned();
            self.names.insert(text("guid"), text("suggestedFilename"));
        }
        if method != "Target.attachedToTarget" {
            return None;
        }
        let context = params["targetInfo"]["browserContextId"].as_str()?;
        let first = self.contexts.is_empty();
        (self.contexts.insert(context.to_owned()) && !first).then(|| order(folder, Some(context)))
    }

    /// What the browser tells of one; a complete one has its name from now on.
    pub(super) fn told(&mut self, params: &Value) -> Download {
        let mut told = Download::from_event(params);
        if told.state == "inProgress" {
            return told;
        }
        let name = self.names.remove(&told.guid).unwrap_or_default();
        if let (Some(folder), "completed") = (&self.folder, told.state.as_str()) {
            let kept = told.path.take().map_or_else(|| folder.join(&told.guid), PathBuf::from);
            let named = named(folder, &kept, &name).unwrap_or_else(|error| {
                tracing::warn!(%error, file = name, "a download keeps the browser's name");
                kept
            });
            told.path = Some(named.to_string_lossy().into_owned());
        }
        told
    }
}

/// Gives a file its name. The name is taken first, by an empty file, so that none that came meanwhile is replaced.
fn named(folder: &Path, kept: &Path, name: &str) -> std::io::Result<PathBuf> {
    let name = harmless(name);
    let (stem, end) =
        name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map_or((name.as_str(), String::new()), |(s, e)| (s, format!(".{e}")));
    for number in 0..SAME {
        let file = if number == 0 { name.clone() } else { format!("{stem} ({number}){end}") };
        let place = folder.join(file);
        match OpenOptions::new().write(true).create_new(true).open(&place) {
            Ok(_) => {
                return match std::fs::rename(kept, &place) {
                    Ok(()) => Ok(place),
                    Err(error) => {
                        let _ = std::fs::remove_file(&place);
                        Err(error)
                    }
                };
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::from(std::io::ErrorKind::AlreadyExists))
}

/// A name that means a file in the folder and nothing else, on every system.
fn harmless(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = last.chars().map(|c| if c.is_control() || ":*?\"<>|".contains(c) { '_' } else { c }).collect();
    let plain = plain.trim().trim_start_matches('.').trim_end_matches(['.', ' ']);
    let mut cut = plain;
    while cut.len() > NAME {
        cut = &cut[..cut.char_indices().next_back().map_or(0, |(at, _)| at)];
    }
    if cut.is_empty() { "download".to_owned() } else { cut.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_further_context_is_told_once() {
        let mut downloads = Downloads::new(Some("/d".into()));
        let attached = |c: &str| json!({"targetInfo": {"type": "page", "browserContextId": c}});
        assert_eq!(downloads.take("Target.attachedToTarget", &attached("own")), None);
        assert_eq!(downloads.take("Target.attachedToTarget", &attached("own")), None);
        assert_eq!(downloads.take("Target.targetInfoChanged", &attached("new")), None);
        let told = downloads.take("Target.attachedToTarget", &attached("new")).unwrap();
        assert_eq!((told["browserContextId"].as_str(), told["downloadPath"].as_str()), (Some("new"), Some("/d")));
        assert_eq!(downloads.take("Target.attachedToTarget", &attached("new")), None);
        assert_eq!(Downloads::new(None).take("Target.attachedToTarget", &attached("new")), None);
    }

    #[test]
    fn a_name_is_harmless_and_never_taken() {
        for (name, want) in [
            ("report.bin", "report.bin"),
            ("../../up.bin", "up.bin"),
            ("/etc/passwd", "passwd"),
            ("..\\..\\x.exe", "x.exe"),
            ("..", "download"),
            ("", "download"),
            (".bashrc", "bashrc"),
            ("a\0b:c", "a_b_c"),
        ] {
            assert_eq!(harmless(name), want, "{name:?}");
        }
        assert!(harmless(&"漢".repeat(200)).len() <= NAME);
        let dir = tempfile::tempdir().unwrap();
        let mut downloads = Downloads::new(Some(dir.path().to_owned()));
        for (n, want) in ["a.bin", "a (1).bin", "a (2).bin"].iter().enumerate() {
            let guid = n.to_string();
            std::fs::write(dir.path().join(&guid), &guid).unwrap();
            downloads.take("Browser.downloadWillBegin", &json!({"guid": guid, "suggestedFilename": "x/../a.bin"}));
            let told = downloads.told(&json!({"guid": guid, "state": "completed"}));
            assert_eq!(told.path.as_deref(), dir.path().join(want).to_str());
            assert_eq!(std::fs::read_to_string(told.path.unwrap()).unwrap(), guid);
        }
    }
}
