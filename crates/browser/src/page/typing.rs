//! Giving a field a new value. What is typed is typed with keys (or inserted, where no key says it or the text is long),
//! never written; drop-downs, sliders, dates and colours, in which there is nothing to type, are set and told to the page
//! by the events that a person's choice fires. In every case the field is read back.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::locate::Found;
use super::{PATIENCE, Page};
use crate::error::BrowserError;

/// Longer texts are inserted at once: thousands of key events would outlast every deadline.
const KEYS_MAX: usize = 120;
/// Texts of more lines than this are not inserted in one piece.
const LINES_MAX: usize = 60;

/// What typing did.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Typed {
    /// The field, such as `input#name`.
    pub element: String,
    /// What it shows now where that differs from the text, because the page rewrote it; for a drop-down the chosen option.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether another document came because of it.
    pub navigated: bool,
}

impl Page {
    /// Replaces what a field holds by `text`.
    ///
    /// # Errors
    /// `Element` when it takes no text, or not this one (its value is unchanged then), or not all of it.
    pub async fn type_text(&self, selector: &str, text: &str) -> Result<Typed, BrowserError> {
        let found = self.ask("field", selector, json!({"text": text}), PATIENCE).await?;
        let element = found.verdict.name.clone();
        let before = self.tab.look(|s| s.moment.clone());
        let value = match found.text("kind").as_str() {
            "file" => Some(self.upload(&found, text).await?),
            "text" => {
                self.type_into(&found, text).await?;
                self.read_back(&found, text).await?
            }
            // Set and read back in one go by the script.
            _ => Some(found.text("value")).filter(|v| v != text),
        };
        let navigated = self.settle(&before, &found.frame).await?;
        Ok(Typed { element, value, navigated })
    }

    async fn type_into(&self, found: &Found, text: &str) -> Result<(), BrowserError> {
        if text.is_empty() {
            return if found.flag("empty") { Ok(()) } else { self.delete_selection().await };
        }
        let short = text.chars().count() <= KEYS_MAX;
        if short || found.flag("rich") && text.contains('\n') && text.len() < 20_000 {
            return self.type_keys(text).await;
        }
        // Chrome's time for inserting grows with the square of the lines: their head is put in, only the end typed.
        let tail = if found.flag("rich") || text.matches('\n').count() <= LINES_MAX { text } else { self.prefill(found, text).await? };
        self.send("Input.insertText", json!({"text": tail})).await.map(drop)
    }

    /// Puts all but the last character into the field; answers that one.
    async fn prefill<'a>(&self, found: &Found, text: &'a str) -> Result<&'a str, BrowserError> {
        let at = text.char_indices().next_back().map_or(0, |(at, _)| at);
        let (head, tail) = text.split_at(at);
        let _: serde_json::Value = self.tab.run(&found.frame, "prefill", &json!({"head": head})).await?;
        Ok(tail)
    }

    /// Compares what the field holds with what was typed.
    async fn read_back(&self, found: &Found, text: &str) -> Result<Option<String>, BrowserError> {
        let read = self.tab.run::<serde_json::Value>(&found.frame, "reading", &json!({})).await;
        let held = match read {
            Ok(held) if held["gone"] == false => held["value"].as_str().unwrap_or_default().to_owned(),
            Ok(_) => {
                self.tab.change(|s| {
                    s.notices.note("the page took the field away while it was typed into, so its value could not be read back")
                });
                return Ok(None);
            }
            Err(error) if error.is_navigation() => return Ok(None),
            Err(error) => return Err(error),
        };
        let (want, have) = if found.flag("rich") { (plain(text), plain(&held)) } else { (lines(text), lines(&held)) };
        if want == have {
            return Ok(None);
        }
        let arrived = want.chars().zip(have.chars()).take_while(|(a, b)| a == b).count();
        let total = want.chars().count();
        if have.is_empty() || want.starts_with(&have) {
            let at = want.chars().nth(arrived).map(|c| format!(", up to {c:?}")).unwrap_or_default();
            return Err(BrowserError::Element {
                element: found.verdict.name.clone(),
                reason: format!(
                    "the page let only {arrived} of {total} characters stay{at}; the field holds {} characters now",
                    have.chars().count()
                ),
            });
        }
        if found.flag("secret") {
            self.tab.change(|s| s.notices.note("the field holds something else than what was typed, because the page rewrote it"));
            return Ok(None);
        }
        Ok(Some(held.chars().take(2000).collect()))
    }
}

fn lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Rich text is shown with its own idea of spaces and blank lines.
fn plain(text: &str) -> String {
    let text = lines(text).replace('\u{a0}', " ");
    text.split('\n').map(str::trim_end).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_the_spaces_of_rich_text_do_not_count() {
        assert_eq!(lines("a\r\nb\rc"), "a\nb\nc");
        assert_eq!(plain("a\u{a0}b \n\n\nc\n"), "a b\nc");
    }
}
