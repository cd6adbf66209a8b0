//! The text on the screen: reading it, clicking it, waiting for it.
//!
//! What was read is an answer to the caller and nothing else: no log line, no audit record and no file holds it.

mod click;
mod wait;

pub use click::ClickText;
pub use wait::WaitFor;

use crate::Host;
use crate::engine_errors::desktop;
use crate::screen::rectangle;
use deskhand_core::{Context, Effect, Group, Reply, Text, Tool, ToolError};
use deskhand_desktop::ocr::{Line, Match, OcrError, Query, Word};
use deskhand_desktop::screen::{Area, Capture, Rect, Screen};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Bytes of JSON that one answer may have.
const MOST_BYTES: usize = 300_000;

/// Reads the screen.
pub struct ScreenText;

/// Arguments of `computer_screen_text`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct ScreenTextArgs {
    /// Only this rectangle: x,y,w,h in screen pixels. Absent: the whole screen.
    #[serde(default)]
    region: Option<String>,
    /// Only lines with this text, best match first. Letter case and spaces are forgiven. /…/ or /…/i is a regular expression.
    #[serde(default)]
    find: Option<Text>,
    /// Whether to list the words of each line too.
    #[serde(default)]
    words: bool,
    /// The frame of an earlier answer of this tool for the same region: only lines where the screen has changed since.
    #[serde(default)]
    changed_since: Option<String>,
    /// How many elements to skip, to go on after an answer that was truncated.
    #[serde(default)]
    offset: u32,
}

/// What the screen says.
#[derive(Serialize, JsonSchema)]
pub struct ScreenTextOutput {
    /// The lines in reading order; with find, the matches, best first.
    elements: Vec<Element>,
    /// How many elements this answer has.
    count: usize,
    /// How many there are in all.
    total: usize,
    /// Whether more follow: call again with offset.
    truncated: bool,
    /// Id of this look, for changed_since.
    frame: String,
}

/// A line of text on the screen.
#[derive(Serialize, JsonSchema)]
pub struct Element {
    /// What it says: the whole line, also when only a part of it matches.
    text: String,
    /// Mean probability of its characters, 0 to 1.
    confidence: f64,
    /// Screen x of its left edge; of the part that matches, with find.
    x: i32,
    /// Screen y of its upper edge.
    y: i32,
    /// Width in pixels.
    width: u32,
    /// Height in pixels.
    height: u32,
    /// Screen x of its middle: where to click.
    center_x: i32,
    /// Screen y of its middle: where to click.
    center_y: i32,
    /// Its words, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<Vec<WordElement>>,
}

/// A word of a line.
#[derive(Serialize, JsonSchema)]
pub struct WordElement {
    /// What it says.
    text: String,
    /// Mean probability of its characters, 0 to 1.
    confidence: f64,
    /// Screen x of its left edge.
    x: i32,
    /// Screen y of its upper edge.
    y: i32,
    /// Width in pixels.
    width: u32,
    /// Height in pixels.
    height: u32,
}

impl Tool for ScreenText {
    type Host = Host;
    type Args = ScreenTextArgs;
    type Output = ScreenTextOutput;
    const NAME: &'static str = "computer_screen_text";
    const TITLE: &'static str = "Read the screen";
    const SUMMARY: &'static str = "Reads the text on the screen, or in a region: each line with its place in screen pixels and center_x, center_y to click. Reads English, Chinese, Japanese, Korean, Russian, German and French, on light and dark. find returns only matches, best first; changed_since only what is new. To click a text in one step use computer_click_text.";
    const GROUPS: &'static [Group] = &[Group::Screen];
    const EFFECT: Effect = Effect::Reads;
    const LOOKS: bool = true;

    async fn run(host: &Host, cx: &Context, args: ScreenTextArgs) -> Result<Reply<ScreenTextOutput>, ToolError> {
        let area = area(args.region.as_deref())?;
        let query = args.find.as_ref().map(|find| query(find.as_str())).transpose()?;
        let page = Page::read(host, cx, area).await?;
        let changed = args.changed_since.as_deref().map(|id| page.changed_since(host, id)).transpose()?;
        let shown = |rect: &Rect| changed.as_ref().is_none_or(|tiles| tiles.iter().any(|tile| tile.intersection(rect).is_some()));
        let elements: Vec<Element> = match &query {
            None => page.lines.iter().filter(|line| shown(&line.rect)).map(|line| Element::of(line, line.rect, args.words)).collect(),
            Some(query) => {
                let found = query.run(&page.lines).into_iter().filter(|m| shown(&m.rect));
                found.filter_map(|m| page.lines.get(m.line).map(|line| Element::of(line, m.rect, args.words))).collect()
            }
        };
        let frame = host.frames.note(&cx.caller, &page.capture, (page.capture.width(), page.capture.height()), &page.screen);
        host.reader.keep_look(&frame, &page.capture.image(), page.capture.rect());
        Ok(Reply::new(cut(elements, args.offset, frame)))
    }
}

/// The elements from `offset` on that fit into one answer.
fn cut(elements: Vec<Element>, offset: u32, frame: String) -> ScreenTextOutput {
    let total = elements.len();
    let mut bytes = 0;
    let mut kept = Vec::new();
    let mut truncated = false;
    for element in elements.into_iter().skip(offset as usize) {
        bytes += serde_json::to_string(&element).map_or(0, |json| json.len() + 1);
        if bytes > MOST_BYTES {
            truncated = true;
            break;
        }
        kept.push(element);
    }
    ScreenTextOutput { count: kept.len(), elements: kept, total, truncated, frame }
}

impl Element {
    fn of(line: &Line, rect: Rect, words: bool) -> Self {
        let (center_x, center_y) = rect.center();
        Self {
            text: line.text.clone(),
            confidence: rounded(line.confidence),
            x: rect.x,
            y: rect.y,
            width: rect.width,
            height: rect.height,
            center_x,
            center_y,
            words: words.then(|| line.words.iter().map(WordElement::of).collect()),
        }
    }
}

impl WordElement {
    fn of(word: &Word) -> Self {
        let Rect { x, y, width, height } = word.rect;
        Self { text: word.text.clone(), confidence: rounded(word.confidence), x, y, width, height }
    }
}

/// Three digits are more than the recogniser knows.
fn rounded(confidence: f32) -> f64 {
    (f64::from(confidence) * 1000.0).round() / 1000.0
}

fn area(region: Option<&str>) -> Result<Area, ToolError> {
    region.map_or(Ok(Area::All), |region| rectangle(region).map(Area::Region))
}

fn query(text: &str) -> Result<Query, ToolError> {
    Query::parse(text).map_err(|error| ToolError::invalid(error.to_string()))
}

/// What was read, in screen pixels, and the picture it was read from.
struct Page {
    lines: Vec<Line>,
    capture: Capture,
    screen: Screen,
}

impl Page {
    /// Takes a picture and reads it, on a blocking thread that notices when the call ends.
    async fn read(host: &Host, cx: &Context, area: Area) -> Result<Self, ToolError> {
        let (display, session, reader, cancel) = (Arc::clone(&host.display), host.session.clone(), host.reader.clone(), cx.cancel.clone());
        let deadline = cx.deadline;
        let reading = tokio::task::spawn_blocking(move || {
            session.state().open().map_err(desktop)?;
            let screen = display.screen().map_err(desktop)?;
            let capture = display.capture(&area).map_err(desktop)?;
            let ended = || cancel.is_cancelled() || std::time::Instant::now() >= deadline;
            let mut lines = reader.read_unless(&capture.image(), None, &ended).map_err(ocr)?;
            let (x, y) = capture.origin();
            lines.iter_mut().for_each(|line| line.shift(x, y));
            Ok(Self { lines, capture, screen })
        });
        reading.await.map_err(|e| ToolError::failed(format!("reading the screen broke off: {e}")))?
    }

    fn changed_since(&self, host: &Host, id: &str) -> Result<Vec<Rect>, ToolError> {
        host.reader.changed_since(id, &self.capture.image(), self.capture.rect()).ok_or_else(|| {
            ToolError::look_again(format!(
                "what {id:?} showed is not known: it is not one of the last 16 answers of computer_screen_text for this region; \
                 call without changed_since and use the frame of that answer"
            ))
        })
    }

    /// The matches of the best kind there is: whole lines before words, words before parts of words; in reading order.
    fn best(&self, query: &Query) -> Vec<Match> {
        let mut matches = query.run(&self.lines);
        let best = matches.iter().map(|m| m.kind).max();
        matches.retain(|m| Some(m.kind) == best);
        matches.sort_by_key(|m| (m.line, m.rect.x));
        matches
    }
}

/// An error of the reader.
fn ocr(error: OcrError) -> ToolError {
    let text = error.to_string();
    match error {
        OcrError::Unavailable { .. } | OcrError::MissingLanguage { .. } | OcrError::Model { .. } => ToolError::unavailable(text),
        OcrError::Region { .. } => ToolError::invalid(text),
        OcrError::Cancelled => ToolError::cancelled(text),
        _ => ToolError::failed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, y: i32) -> Line {
        let rect = Rect::new(10, y, 100, 12);
        Line { text: text.into(), confidence: 0.98765, rect, words: vec![Word { text: text.into(), confidence: 0.9, rect }] }
    }

    #[test]
    fn long_answers_are_cut_and_go_on() {
        let text = "x".repeat(1000);
        let elements = || (0..500).map(|at| Element::of(&line(&text, at), Rect::new(0, at, 1, 1), false)).collect::<Vec<_>>();
        let first = cut(elements(), 0, "f1".into());
        assert!(first.truncated && first.total == 500 && first.count < 300);
        let rest = cut(elements(), first.count as u32, "f2".into());
        assert_eq!(rest.elements[0].y, first.elements.last().unwrap().y + 1);
    }

    #[test]
    fn an_element_says_where_to_click() {
        let element = Element::of(&line("Save", 20), Rect::new(10, 20, 100, 12), true);
        let json = serde_json::to_value(&element).unwrap();
        assert_eq!((json["center_x"].as_i64(), json["center_y"].as_i64()), (Some(60), Some(26)));
        assert_eq!(json["confidence"], 0.988);
        assert_eq!(json["words"][0]["text"], "Save");
        assert!(serde_json::to_value(Element::of(&line("a", 0), Rect::new(0, 0, 1, 1), false)).unwrap().get("words").is_none());
    }
}
