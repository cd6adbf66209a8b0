//! Waiting for a text to appear or go, or for a part of the screen to change.

use super::{Element, Page, area, query};
use crate::Host;
use crate::engine_errors::desktop;
use crate::screen::rectangle;
use deskhand_core::{Context, Effect, Group, Reply, Text, Tool, ToolError};
use deskhand_desktop::ocr::Query;
use deskhand_desktop::screen::{Area, Capture};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks. Looking costs a few milliseconds; reading happens only when something changed.
const PAUSE: Duration = Duration::from_millis(80);

fn ten_seconds() -> u64 {
    10_000
}

/// Waits.
pub struct WaitFor;

/// Arguments of `computer_wait_for`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct WaitForArgs {
    /// Wait until this text is on the screen. As for find of computer_screen_text.
    #[serde(default)]
    text: Option<Text>,
    /// Wait until this text is not on the screen.
    #[serde(default)]
    gone: Option<Text>,
    /// Wait until a pixel changes in this rectangle: x,y,w,h in screen pixels.
    #[serde(default)]
    changed: Option<String>,
    /// Only look for text or gone in this rectangle: x,y,w,h in screen pixels.
    #[serde(default)]
    region: Option<String>,
    /// How long to wait at most, in milliseconds.
    #[serde(default = "ten_seconds")]
    #[schemars(range(min = 0, max = 120_000))]
    timeout: u64,
}

/// That it has happened.
#[derive(Serialize, JsonSchema)]
pub struct WaitForOutput {
    /// True: it has happened.
    ok: bool,
    /// Milliseconds it took.
    waited_ms: u64,
    /// The text that appeared.
    #[serde(skip_serializing_if = "Option::is_none")]
    element: Option<Element>,
}

/// What is waited for.
enum Event {
    Text(Query, Area),
    Gone(Query, Area),
    Change(Area),
}

impl WaitForArgs {
    fn event(&self) -> Result<Event, ToolError> {
        let region = area(self.region.as_deref());
        match (&self.text, &self.gone, &self.changed) {
            (Some(text), None, None) => Ok(Event::Text(query(text.as_str())?, region?)),
            (None, Some(gone), None) => Ok(Event::Gone(query(gone.as_str())?, region?)),
            (None, None, Some(changed)) if self.region.is_none() => rectangle(changed).map(|rect| Event::Change(Area::Region(rect))),
            (None, None, Some(_)) => Err(ToolError::invalid("changed is a region itself; leave region out")),
            _ => Err(ToolError::invalid("give exactly one of text, gone and changed")),
        }
    }
}

impl Tool for WaitFor {
    type Host = Host;
    type Args = WaitForArgs;
    type Output = WaitForOutput;
    const NAME: &'static str = "computer_wait_for";
    const TITLE: &'static str = "Wait for the screen";
    const SUMMARY: &'static str = "Waits until a text is on the screen (text), is not there any more (gone), or a pixel of a rectangle changes (changed), then answers at once. timed_out when that did not happen within timeout milliseconds.";
    const GROUPS: &'static [Group] = &[Group::Screen];
    const EFFECT: Effect = Effect::Reads;
    const LOOKS: bool = true;

    fn timeout(args: &WaitForArgs) -> Option<Duration> {
        // What is read at the end comes on top of the waiting.
        Some(Duration::from_millis(args.timeout) + Duration::from_secs(2))
    }

    async fn run(host: &Host, cx: &Context, args: WaitForArgs) -> Result<Reply<WaitForOutput>, ToolError> {
        let event = args.event()?;
        let start = Instant::now();
        let until = start + Duration::from_millis(args.timeout);
        let element = match event {
            Event::Text(query, area) => Some(until_shown(host, cx, &query, &area, until).await?),
            Event::Gone(query, area) => until_gone(host, cx, &query, &area, until).await.map(|()| None)?,
            Event::Change(area) => until_changed(host, cx, &area, until).await.map(|()| None)?,
        };
        Ok(Reply::new(WaitForOutput { ok: true, waited_ms: start.elapsed().as_millis() as u64, element }))
    }
}

async fn until_shown(host: &Host, cx: &Context, query: &Query, area: &Area, until: Instant) -> Result<Element, ToolError> {
    loop {
        let page = Page::read(host, cx, area.clone()).await?;
        if let Some(found) = page.best(query).first()
            && let Some(line) = page.lines.get(found.line)
        {
            host.frames.looked(&cx.caller, &page.screen);
            return Ok(Element::of(line, found.rect, false));
        }
        let read = page.lines.len();
        let late =
            || format!("the text did not appear in time; {read} lines were read at the last look. Read computer_screen_text to see them");
        next_picture(host, cx, area, &page.capture, until, late).await?;
    }
}

async fn until_gone(host: &Host, cx: &Context, query: &Query, area: &Area, until: Instant) -> Result<(), ToolError> {
    loop {
        let page = Page::read(host, cx, area.clone()).await?;
        let Some(found) = page.best(query).first().cloned() else {
            host.frames.looked(&cx.caller, &page.screen);
            return Ok(());
        };
        let (x, y) = found.rect.center();
        let late = || format!("the text is still there, at {x},{y}");
        next_picture(host, cx, area, &page.capture, until, late).await?;
    }
}

async fn until_changed(host: &Host, cx: &Context, area: &Area, until: Instant) -> Result<(), ToolError> {
    let first = look(host, area).await?;
    next_picture(host, cx, area, &first, until, || "nothing changed there in time".into()).await
}

/// Waits until the picture differs from `last`.
async fn next_picture(
    host: &Host,
    cx: &Context,
    area: &Area,
    last: &Capture,
    until: Instant,
    late: impl Fn() -> String,
) -> Result<(), ToolError> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ToolError::timed_out(late()));
        }
        tokio::select! {
            () = cx.cancel.cancelled() => return Err(ToolError::cancelled(late())),
            () = tokio::time::sleep(PAUSE.min(left)) => {}
        }
        if !same(last, &look(host, area).await?) {
            return Ok(());
        }
    }
}

async fn look(host: &Host, area: &Area) -> Result<Capture, ToolError> {
    let (display, session, area) = (Arc::clone(&host.display), host.session.clone(), area.clone());
    let looking = tokio::task::spawn_blocking(move || {
        session.state().open()?;
        display.capture(&area)
    });
    looking.await.map_err(|e| ToolError::failed(format!("looking at the screen broke off: {e}")))?.map_err(desktop)
}

fn same(a: &Capture, b: &Capture) -> bool {
    let (a, b) = (a.image(), b.image());
    a.width == b.width && a.height == b.height && (0..a.height as usize).all(|y| a.row(y) == b.row(y))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(json: serde_json::Value) -> WaitForArgs {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn exactly_one_thing_is_waited_for() {
        assert!(matches!(args(serde_json::json!({"text": "Save"})).event(), Ok(Event::Text(..))));
        assert!(matches!(args(serde_json::json!({"gone": "Save", "region": "0,0,10,10"})).event(), Ok(Event::Gone(..))));
        assert!(matches!(args(serde_json::json!({"changed": "0,0,10,10"})).event(), Ok(Event::Change(_))));
        for wrong in [
            serde_json::json!({}),
            serde_json::json!({"text": "a", "gone": "b"}),
            serde_json::json!({"changed": "0,0,10"}),
            serde_json::json!({"changed": "0,0,10,10", "region": "0,0,10,10"}),
            serde_json::json!({"text": "  "}),
        ] {
            assert!(args(wrong.clone()).event().is_err(), "{wrong}");
        }
    }
}
