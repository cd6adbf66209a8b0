//! Waiting for an element to be there and visible.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::Page;
use crate::error::BrowserError;

impl Page {
    /// Returns as soon as something that matches can be seen. With a zero timeout it looks once.
    ///
    /// # Errors
    /// `TimedOut` saying whether nothing matched or what matched was hidden; `Selector`.
    pub async fn wait_for(&self, selector: &str, timeout: Duration) -> Result<String, BrowserError> {
        let begun = Instant::now();
        let end = self.deadline.min(begun + timeout);
        let mut last = "nothing matches it".to_owned();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.ask("seen", selector, json!({}), left).await {
                Ok(found) => return Ok(found.verdict.name),
                Err(BrowserError::Element { element, reason }) => last = format!("{element} matches, but {reason}"),
                Err(BrowserError::NoElement { .. } | BrowserError::Navigated(_)) => {}
                Err(error) => return Err(error),
            }
            if Instant::now() >= end {
                return Err(BrowserError::TimedOut {
                    what: format!("{selector:?} did not become visible: {last}"),
                    after: begun.elapsed(),
                });
            }
        }
    }
}
