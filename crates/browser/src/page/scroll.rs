//! Scrolling, told in numbers of what really moved.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Page;
use crate::error::BrowserError;

/// Where it is now, and how far it moved. CSS pixels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scrolled {
    /// The window's place, when the window was scrolled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scroll_x: Option<i64>,
    /// The window's place, when the window was scrolled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scroll_y: Option<i64>,
    /// The element's place, when an element was scrolled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scroll_left: Option<i64>,
    /// The element's place, when an element was scrolled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scroll_top: Option<i64>,
    /// How far it moved to the right; 0 at the end.
    pub moved_x: i64,
    /// How far it moved down; 0 at the end.
    pub moved_y: i64,
    /// What was scrolled: the page, or the nearest element around the named one that scrolls.
    pub area: String,
}

impl Page {
    /// Scrolls by so many CSS pixels: the element of `selector` or the nearest one around it that scrolls; without one
    /// the page, or its largest scrolling part.
    ///
    /// # Errors
    /// `NoElement` when nothing matches.
    pub async fn scroll(&self, selector: Option<&str>, x: i64, y: i64) -> Result<Scrolled, BrowserError> {
        let told = match selector {
            Some(selector) => self.ask("scroll", selector, json!({"x": x, "y": y}), Duration::from_millis(500)).await?.verdict.more.into(),
            None => {
                self.tab.ensure_ready().await?;
                let main = self.tab.main();
                let args = json!({"x": x, "y": y});
                let asked = self.tab.run::<Value>(&main, "scroll", &args);
                self.in_time("the page does not answer; its own scripts may be busy", asked).await?
            }
        };
        serde_json::from_value(told).map_err(|e| BrowserError::Failed(format!("the page's answer cannot be read: {e}")))
    }
}
