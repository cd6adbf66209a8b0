//! What happened in a tab besides what was asked for: dialogs, downloads, new tabs, refused requests. Kept until the
//! next result of that tab carries it, so that nothing is known to the worker and not to the agent.

use schemars::JsonSchema;
use serde::Serialize;

use crate::transport::TabId;

/// The most entries of one kind that a result carries; the rest is counted.
const MOST: usize = 20;

/// A dialog that was answered at once, by the fixed rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Dialog {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    pub kind: String,
    /// Its text.
    pub message: String,
    /// `accepted` (alert, beforeunload) or `dismissed` (confirm, prompt).
    pub answer: String,
}

/// A download that began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Downloaded {
    /// The file's name as the server suggests it.
    pub file: String,
    /// Where the file is; absent while it is not complete, or when the person's browser does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The folder that it lands in, from its beginning on; absent when the browser decides that by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// `inProgress`, `completed` or `canceled`.
    pub state: String,
    /// Where it came from.
    pub url: String,
    #[serde(skip)]
    pub(crate) guid: String,
    /// Bytes in all, 0 while that is not known.
    #[serde(skip)]
    pub(crate) total: u64,
}

impl Downloaded {
    /// Whether there is no more to learn: it ended, and its place is told where the browser tells places.
    pub(crate) fn settled(&self) -> bool {
        match self.state.as_str() {
            "inProgress" => false,
            "completed" => self.path.is_some() || self.folder.is_none(),
            _ => true,
        }
    }
}

/// A tab that the page opened. The current tab stays the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OpenedTab {
    /// Its number, for `browser_tab_select`.
    #[serde(rename = "tabId")]
    pub tab_id: TabId,
    /// Its address so far.
    pub url: String,
}

/// What a result carries besides its own matter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Happened {
    /// Dialogs that the page opened, and how they were answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dialogs: Vec<Dialog>,
    /// Downloads that began.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub downloads: Vec<Downloaded>,
    /// Tabs that the page opened.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opened_tabs: Vec<OpenedTab>,
    /// Anything else worth knowing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Happened {
    /// Whether nothing happened.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// In a few words, for the text of an error.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.dialogs.iter().map(|d| format!("the page opened the {} dialog {:?}, which was {}", d.kind, d.message, d.answer)));
        parts.extend(self.downloads.iter().map(|d| {
            let place = match (&d.path, &d.folder) {
                (Some(path), _) => format!(" at {path}"),
                (None, Some(folder)) => format!(" in {folder}"),
                (None, None) => String::new(),
            };
            format!("the download of {} is {}{place}", d.file, d.state)
        }));
        parts.extend(self.opened_tabs.iter().map(|t| format!("the page opened the tab {} ({})", t.tab_id, t.url)));
        parts.extend(self.notes.iter().cloned());
        if parts.is_empty() { String::new() } else { format!("(Meanwhile {}.)", parts.join("; ")) }
    }

    /// Adds one word to the notes, once.
    pub fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) && self.notes.len() < MOST {
            self.notes.push(text);
        }
    }

    pub(crate) fn dialog(&mut self, dialog: Dialog) {
        if self.dialogs.len() < MOST {
            self.dialogs.push(dialog);
        } else {
            self.note("the page opened more dialogs than are listed here; all were answered by the same rule");
        }
    }

    pub(crate) fn download(&mut self, download: Downloaded) {
        if self.downloads.len() < MOST {
            self.downloads.push(download);
        }
    }

    pub(crate) fn opened(&mut self, tab: OpenedTab) {
        if self.opened_tabs.len() < MOST {
            self.opened_tabs.push(tab);
        }
    }

    pub(crate) fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}
