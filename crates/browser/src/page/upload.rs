//! File inputs. Which file a path means, and whether it may be read, is decided outside of this crate.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Page;
use super::locate::Found;
use crate::error::BrowserError;

impl Page {
    /// Hands files (one path a line) to the file input that was found; answers their names.
    pub(crate) async fn upload(&self, found: &Found, text: &str) -> Result<String, BrowserError> {
        let element = || found.verdict.name.clone();
        let wanted: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        if wanted.len() > 1 && !found.flag("multiple") {
            return Err(BrowserError::Element {
                element: element(),
                reason: format!("it takes one file, and {} were given; nothing was changed", wanted.len()),
            });
        }
        let files: Vec<PathBuf> = wanted.iter().map(|p| self.tab.policy().upload(p)).collect::<Result<_, _>>()?;
        let object = self.held(&found.frame).await?;
        let session = self.tab.session_of(&found.frame).flatten();
        self.in_time(
            "the browser did not take the file",
            self.tab.send_to(session, "DOM.setFileInputFiles", json!({"objectId": object, "files": files})),
        )
        .await?;
        let read: Value = self.tab.run(&found.frame, "reading", &json!({})).await?;
        let names: Vec<&str> = read["files"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if names.len() == files.len() || read["gone"] == true {
            return Ok(names.join("\n"));
        }
        Err(BrowserError::Element { element: element(), reason: format!("the page kept {} of {} files", names.len(), files.len()) })
    }
}
