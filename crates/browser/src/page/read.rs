//! Reading a page: its text in pieces of a stated size, attributes and properties, links, the window.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Page;
use super::locate::Found;
use crate::error::BrowserError;

/// How long a reader waits for an element that may still come.
const GRACE: Duration = Duration::from_millis(500);
/// How long a document that is still being received is waited for before its text so far is told.
const ARRIVING: Duration = Duration::from_secs(8);
/// The most bytes of text in one result.
pub const TEXT_MAX: u64 = 300_000;

/// A piece of text.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Content {
    /// The text.
    pub content: String,
    /// Bytes of the whole text (UTF-8).
    pub total_bytes: u64,
    /// Whether there is more than this piece.
    pub truncated: bool,
    /// Where to go on: the `offset` of the next call; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// How many elements matched; the first in document order was read.
    pub matches: u64,
}

/// An attribute as written, and the property of the same name as it is now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attribute {
    /// The name asked for.
    pub name: String,
    /// For `value` of a form field what it holds now; else the attribute as written; null when absent.
    pub value: Option<String>,
    /// Whether the attribute is written in the element.
    pub present: bool,
    /// As written in the element; empty text for one without a value, null when absent.
    pub attribute_value: Option<String>,
    /// The live property of that name; null when there is none.
    pub property_value: Value,
    /// Its JavaScript type.
    pub property_type: String,
}

/// A link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// What it shows.
    pub text: String,
    /// Its full address.
    pub href: String,
    /// Its title; empty when it has none.
    pub title: String,
    /// Where it opens; empty when it does not say.
    pub target: String,
}

/// Links of a page.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Links {
    /// In document order.
    pub links: Vec<Link>,
    /// How many there are in all.
    pub total: u64,
}

/// The window that a page has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Viewport {
    /// CSS pixels.
    pub width: u32,
    /// CSS pixels.
    pub height: u32,
    /// What the browser calls itself.
    #[serde(rename = "agent", skip_serializing)]
    pub user_agent: String,
}

impl Page {
    /// The text of an element as it is shown, from `offset` bytes on; a form field's value. For `body` the text of the
    /// frames follows, each under its address.
    ///
    /// # Errors
    /// `NoElement` when nothing matches.
    pub async fn content(&self, selector: &str, offset: u64, limit: u64) -> Result<Content, BrowserError> {
        let limit = limit.clamp(1, TEXT_MAX);
        let patience = self.until(ARRIVING).saturating_duration_since(tokio::time::Instant::now());
        let args = json!({"offset": offset, "limit": limit, "patience": u64::try_from(patience.as_millis()).unwrap_or_default()});
        let found = self.ask("content", selector, args, GRACE).await?;
        if found.flag("arriving") {
            self.tab.change(|s| s.notices.note("the page is still being received: this is its text so far, and the total may grow"));
        }
        let mut piece = Piece { text: found.text("text"), total: number(&found, "total"), offset, limit };
        if selector.trim().eq_ignore_ascii_case("body") && found.frame == self.tab.main() {
            for frame in self.tab.frames().into_iter().skip(1) {
                self.append_frame(&frame, &mut piece).await;
            }
        }
        let end = offset.min(piece.total) + piece.text.len() as u64;
        let truncated = end < piece.total;
        Ok(Content {
            content: piece.text,
            total_bytes: piece.total,
            truncated,
            next_offset: truncated.then_some(end),
            matches: found.verdict.matches,
        })
    }

    async fn append_frame(&self, frame: &crate::tab::FrameId, piece: &mut Piece) {
        let Some(url) = self.tab.look(|s| s.frames.get(frame).map(|f| f.url.clone())) else { return };
        let head = format!("\n[frame {url}]\n");
        let from = piece.offset.saturating_sub(piece.total + head.len() as u64);
        let room = piece.limit.saturating_sub(piece.text.len() as u64 + head.len() as u64);
        let args = json!({"selector": "body", "offset": from, "limit": room.max(1)});
        let Some(read) = self.tab.run_if_ready::<Value>(frame, "content", args).await else { return };
        let (text, total) = (read["text"].as_str().unwrap_or_default(), read["total"].as_u64().unwrap_or(0));
        if total == 0 {
            return;
        }
        let before = piece.total;
        piece.total += head.len() as u64 + total;
        if room == 0 || piece.offset >= piece.total || piece.offset + (piece.text.len() as u64) < before {
            return;
        }
        // A piece that begins within a frame's heading begins with its text.
        if piece.offset <= before {
            piece.text.push_str(&head);
        }
        piece.text.push_str(text);
    }

    /// An attribute and the property of the same name.
    ///
    /// # Errors
    /// `NoElement` when nothing matches.
    pub async fn attribute(&self, selector: &str, name: &str) -> Result<Attribute, BrowserError> {
        if name.trim().is_empty() {
            return Err(BrowserError::Argument("the attribute's name is empty".to_owned()));
        }
        let found = self.ask("attribute", selector, json!({"name": name}), GRACE).await?;
        read(found)
    }

    /// The links within an element, at most `limit`.
    ///
    /// # Errors
    /// `NoElement` when nothing matches.
    pub async fn links(&self, selector: Option<&str>, limit: u32) -> Result<Links, BrowserError> {
        let found = self.ask("links", selector.unwrap_or("body"), json!({"limit": limit}), GRACE).await?;
        let total = number(&found, "total");
        let links = found.verdict.more.get("links").cloned().unwrap_or_default();
        let links = serde_json::from_value(links).map_err(|e| BrowserError::Failed(format!("the page's links cannot be read: {e}")))?;
        Ok(Links { links, total })
    }

    /// The window of the page.
    ///
    /// # Errors
    /// When the page does not answer.
    pub async fn viewport(&self) -> Result<Viewport, BrowserError> {
        self.tab.ensure_ready().await?;
        let main = self.tab.main();
        self.in_time("the page does not answer; its own scripts may be busy", self.tab.run(&main, "window", &json!({}))).await
    }
}

struct Piece {
    text: String,
    total: u64,
    offset: u64,
    limit: u64,
}

fn number(found: &Found, key: &str) -> u64 {
    found.verdict.more.get(key).and_then(Value::as_u64).unwrap_or_default()
}

fn read<T: serde::de::DeserializeOwned>(found: Found) -> Result<T, BrowserError> {
    let mut told = found.verdict.more;
    // `name` is the element's for other answers, the attribute's here.
    told.insert("name".to_owned(), found.verdict.name.into());
    serde_json::from_value(Value::Object(told)).map_err(|e| BrowserError::Failed(format!("the page's answer cannot be read: {e}")))
}
