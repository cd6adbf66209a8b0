//! From a point in a frame to a point in the window: through each frame element around it, checking at each that it is
//! not covered there.

use serde_json::{Value, json};

use super::Page;
use crate::error::BrowserError;
use crate::tab::FrameId;

/// A point in CSS pixels of the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

impl Page {
    /// The window's point for a point of a frame's own window.
    ///
    /// # Errors
    /// `Element` when something lies over the frame there.
    pub(crate) async fn to_window(&self, frame: &FrameId, mut at: Point, name: &str) -> Result<Point, BrowserError> {
        let main = self.tab.main();
        let mut inner = frame.clone();
        while inner != main {
            let parent = self.tab.parent_of(&inner).unwrap_or_else(|| main.clone());
            let owner = self.owner(&parent, &inner).await?;
            let mut spot = self.call_on(&parent, &owner, "frameSpot", json!([at.x, at.y])).await?;
            if !spot["covered"].as_str().unwrap_or_default().is_empty() {
                self.call_on(&parent, &owner, "showFrame", json!([])).await?;
                spot = self.call_on(&parent, &owner, "frameSpot", json!([at.x, at.y])).await?;
            }
            if let Some(reason) = spot["covered"].as_str().filter(|r| !r.is_empty()) {
                return Err(BrowserError::Element { element: name.to_owned(), reason: reason.to_owned() });
            }
            at = Point { x: spot["x"].as_f64().unwrap_or(at.x), y: spot["y"].as_f64().unwrap_or(at.y) };
            inner = parent;
        }
        Ok(at)
    }

    /// A handle, in the parent's script world, to the element that shows a frame.
    async fn owner(&self, parent: &FrameId, inner: &FrameId) -> Result<String, BrowserError> {
        let (session, world) = self.tab.world(parent).await?;
        let owner = self.tab.send_to(session.clone(), "DOM.getFrameOwner", json!({"frameId": inner})).await?;
        let node = json!({"backendNodeId": owner["backendNodeId"], "executionContextId": world.number, "objectGroup": "deskhand"});
        let object = self.tab.send_to(session, "DOM.resolveNode", node).await?;
        object["object"]["objectId"].as_str().map(str::to_owned).ok_or_else(|| BrowserError::Navigated("the frame went away".to_owned()))
    }

    async fn call_on(&self, frame: &FrameId, object: &str, function: &str, args: Value) -> Result<Value, BrowserError> {
        let (session, _) = self.tab.world(frame).await?;
        let arguments: Vec<Value> = args.as_array().into_iter().flatten().map(|v| json!({"value": v})).collect();
        let declaration = format!("function(...args){{return __deskhand.{function}(this,...args)}}");
        let params = json!({"functionDeclaration": declaration, "objectId": object, "arguments": arguments, "returnByValue": true});
        let answer = self.tab.send_to(session, "Runtime.callFunctionOn", params).await?;
        Ok(answer["result"]["value"].clone())
    }
}
