//! The frames of a tab: their tree, their documents, and in which session and script world each is reached.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

/// Chrome's id of a frame.
pub(crate) type FrameId = String;

/// A script world: unique over all processes, and its number within the session that reaches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct World {
    pub(crate) unique: String,
    pub(crate) number: i64,
}

/// One frame.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frame {
    pub(crate) parent: Option<FrameId>,
    /// The child session that reaches it; none when it lives in the tab's own process.
    pub(crate) session: Option<Arc<str>>,
    /// The script world of its present document.
    pub(crate) world: Option<World>,
    pub(crate) url: String,
    pub(crate) loader: String,
    order: u64,
}

/// All frames of a tab.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    by_id: HashMap<FrameId, Frame>,
    main: Option<FrameId>,
    next: u64,
}

impl Frames {
    pub(crate) fn get(&self, id: &str) -> Option<&Frame> {
        self.by_id.get(id)
    }

    pub(crate) fn main(&self) -> Option<FrameId> {
        self.main.clone()
    }

    pub(crate) fn is_main(&self, id: &str) -> bool {
        self.main.as_deref() == Some(id)
    }

    pub(crate) fn main_url(&self) -> String {
        self.main.as_ref().and_then(|m| self.by_id.get(m)).map(|f| f.url.clone()).unwrap_or_default()
    }

    pub(crate) fn main_loader(&self) -> &str {
        self.main.as_ref().and_then(|m| self.by_id.get(m)).map_or("", |f| &f.loader)
    }

    /// Parents before children, siblings in the order in which they came.
    pub(crate) fn in_order(&self) -> Vec<FrameId> {
        let mut out = Vec::with_capacity(self.by_id.len());
        if let Some(main) = &self.main {
            self.push(main, &mut out);
        }
        out
    }

    fn push(&self, id: &str, out: &mut Vec<FrameId>) {
        out.push(id.to_owned());
        // A frame whose parent was not told (attached late) counts as the main frame's child.
        let parent = |f: &'_ Frame| f.parent.clone().or_else(|| self.main.clone());
        let mut children: Vec<_> =
            self.by_id.iter().filter(|(k, f)| parent(f).as_deref() == Some(id) && k.as_str() != id && !self.is_main(k)).collect();
        children.sort_by_key(|(_, f)| f.order);
        for (child, _) in children {
            self.push(child, out);
        }
    }

    fn entry(&mut self, id: &str) -> &mut Frame {
        self.next += 1;
        let order = self.next;
        self.by_id.entry(id.to_owned()).or_insert_with(|| Frame { order, ..Frame::default() })
    }

    pub(crate) fn attached(&mut self, id: &str, parent: Option<&str>, session: Option<Arc<str>>) {
        let frame = self.entry(id);
        if parent.is_some() {
            frame.parent = parent.map(str::to_owned);
        }
        if frame.session != session {
            frame.session = session;
            frame.world = None;
        }
    }

    /// A document was committed. `url` with its fragment.
    pub(crate) fn navigated(&mut self, told: &Value, session: Option<Arc<str>>) {
        let text = |k: &str| told[k].as_str().unwrap_or_default();
        let id = text("id").to_owned();
        self.attached(&id, told["parentId"].as_str(), session.clone());
        let frame = self.entry(&id);
        frame.url = format!("{}{}", text("url"), text("urlFragment"));
        frame.loader = text("loaderId").to_owned();
        if frame.parent.is_none() && session.is_none() {
            self.main = Some(id.clone());
        }
        // A new document takes its child frames along; the ones it brings announce themselves.
        let children: Vec<FrameId> = self.by_id.iter().filter(|(_, f)| f.parent.as_deref() == Some(&id)).map(|(k, _)| k.clone()).collect();
        if told["keepChildren"].is_null() {
            children.iter().for_each(|c| self.removed(c));
        }
    }

    /// The tree as Chrome lists it when a session begins; only adds.
    pub(crate) fn tree(&mut self, node: &Value, session: Option<&Arc<str>>) {
        let mut told = node["frame"].clone();
        // What an event told meanwhile is newer than this list.
        if told["id"].as_str().and_then(|id| self.by_id.get(id)).is_none_or(|f| f.loader.is_empty()) {
            told["keepChildren"] = true.into();
            self.navigated(&told, session.cloned());
        }
        for child in node["childFrames"].as_array().into_iter().flatten() {
            self.tree(child, session);
        }
    }

    pub(crate) fn moved(&mut self, id: &str, url: &str) {
        if let Some(frame) = self.by_id.get_mut(id) {
            url.clone_into(&mut frame.url);
        }
    }

    pub(crate) fn removed(&mut self, id: &str) {
        self.by_id.remove(id);
        let children: Vec<FrameId> = self.by_id.iter().filter(|(_, f)| f.parent.as_deref() == Some(id)).map(|(k, _)| k.clone()).collect();
        children.iter().for_each(|c| self.removed(c));
    }

    /// The frame stays but leaves this session for another process.
    pub(crate) fn swapped(&mut self, id: &str) {
        if let Some(frame) = self.by_id.get_mut(id) {
            frame.world = None;
        }
    }

    pub(crate) fn world_made(&mut self, id: &str, world: World, session: Option<Arc<str>>) {
        let frame = self.entry(id);
        frame.session = session;
        frame.world = Some(world);
    }

    pub(crate) fn world_gone(&mut self, unique: &str) {
        for frame in self.by_id.values_mut().filter(|f| f.world.as_ref().is_some_and(|w| w.unique == unique)) {
            frame.world = None;
        }
    }

    /// All worlds of a session are gone.
    pub(crate) fn worlds_gone(&mut self, session: Option<&Arc<str>>) {
        for frame in self.by_id.values_mut().filter(|f| f.session.as_ref() == session) {
            frame.world = None;
        }
    }

    /// A child session ended: its frames went away, or came back to their parent's process and say so.
    pub(crate) fn session_gone(&mut self, session: &Arc<str>) {
        for frame in self.by_id.values_mut().filter(|f| f.session.as_ref() == Some(session)) {
            frame.session = None;
            frame.world = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_frame_that_changes_its_process_keeps_its_place() {
        let mut frames = Frames::default();
        frames.navigated(&json!({"id": "M", "url": "http://a/", "loaderId": "1"}), None);
        frames.attached("A", Some("M"), None);
        frames.attached("B", Some("M"), None);
        frames.swapped("A");
        let child: Arc<str> = "S".into();
        frames.attached("A", None, Some(child.clone()));
        frames.world_made("A", World { unique: "u1".into(), number: 3 }, Some(child.clone()));
        assert_eq!(frames.in_order(), ["M", "A", "B"]);
        assert_eq!(frames.get("A").and_then(|f| f.session.clone()), Some(child.clone()));
        frames.session_gone(&child);
        assert!(frames.get("A").is_some_and(|f| f.world.is_none() && f.session.is_none()));
    }

    #[test]
    fn a_new_document_takes_its_frames_along() {
        let mut frames = Frames::default();
        frames.tree(&json!({"frame": {"id": "M", "url": "http://a/"}, "childFrames": [{"frame": {"id": "A", "parentId": "M", "url": "http://a/f"}}]}), None);
        assert_eq!(frames.in_order(), ["M", "A"]);
        frames.navigated(&json!({"id": "M", "url": "http://b/", "urlFragment": "#x"}), None);
        assert_eq!(frames.in_order(), ["M"]);
        assert_eq!(frames.main_url(), "http://b/#x");
    }
}
