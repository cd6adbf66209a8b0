//! Clicking a text: finds it, makes sure that it is still there, clicks its middle, and says where that was.

use super::{Element, Page, area, query};
use crate::Host;
use crate::acting::{ButtonName, Hands};
use deskhand_core::{Caller, Context, Effect, Group, Lane, Reply, Text, Tool, ToolError};
use deskhand_desktop::input::Point;
use deskhand_desktop::ocr::Match;
use deskhand_desktop::screen::{Area, Rect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Matches that an error lists.
const LISTED: usize = 12;

fn one() -> u8 {
    1
}

/// Clicks a text.
pub struct ClickText;

/// Arguments of `computer_click_text`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct ClickTextArgs {
    /// The text to click. Letter case and spaces are forgiven; a whole line is preferred to a part of one. /…/ or /…/i is a regular expression.
    text: Text,
    /// Which one, from 1 in reading order, when it is there several times.
    #[serde(default)]
    #[schemars(range(min = 1))]
    nth: Option<u32>,
    /// Only look in this rectangle: x,y,w,h in screen pixels.
    #[serde(default)]
    region: Option<String>,
    /// left, right or middle.
    #[serde(default)]
    button: ButtonName,
    /// 1 for a click, 2 for a double click, 3 for a triple click.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 3))]
    clicks: u8,
}

/// What was clicked, and where.
#[derive(Serialize, JsonSchema)]
pub struct ClickTextOutput {
    /// True: pressed and released there.
    ok: bool,
    /// Screen x that was clicked.
    x: i32,
    /// Screen y that was clicked.
    y: i32,
    /// The line that was clicked.
    element: Element,
    /// How many matches there were.
    matches: usize,
}

impl Tool for ClickText {
    type Host = Host;
    type Args = ClickTextArgs;
    type Output = ClickTextOutput;
    const NAME: &'static str = "computer_click_text";
    const TITLE: &'static str = "Click a text";
    const SUMMARY: &'static str = "Finds a text on the screen and clicks its middle. When it is there several times, nothing is clicked and the error lists where; call again with nth or region.";
    const GROUPS: &'static [Group] = &[Group::Mouse, Group::Screen];
    const EFFECT: Effect = Effect::Changes;
    const LOOKS: bool = true;

    fn lane(_: &Host, _: &Caller, _: &ClickTextArgs) -> Lane {
        Lane::Desktop
    }

    async fn run(host: &Host, cx: &Context, args: ClickTextArgs) -> Result<Reply<ClickTextOutput>, ToolError> {
        let (area, query) = (area(args.region.as_deref())?, query(args.text.as_str())?);
        let page = Page::read(host, cx, area).await?;
        host.frames.looked(&cx.caller, &page.screen);
        let matches = page.best(&query);
        let chosen = choose(&page, &matches, args.nth, args.region.is_some())?;
        let line = page.lines.get(chosen.line).ok_or_else(|| ToolError::failed("the line that matched is gone"))?;
        unmoved(host, &page, chosen.rect).await?;
        let (x, y) = chosen.rect.center();
        let hands = Hands::ready(host, cx).await?;
        let at = hands.act(move |desktop, cancel| desktop.click(Some(Point::new(x, y)), args.button.into(), args.clicks, cancel)).await?;
        Ok(Reply::new(ClickTextOutput {
            ok: true,
            x: at.x,
            y: at.y,
            element: Element::of(line, chosen.rect, false),
            matches: matches.len(),
        }))
    }
}

fn choose<'a>(page: &Page, matches: &'a [Match], nth: Option<u32>, region: bool) -> Result<&'a Match, ToolError> {
    let place = if region { "in that region" } else { "on the screen" };
    match (matches, nth) {
        ([], _) => Err(ToolError::not_found(format!(
            "the text is not {place}, where {} lines were read; nothing was clicked. Read computer_screen_text to see what is there",
            page.lines.len()
        ))),
        ([only], None) => Ok(only),
        (_, None) => {
            let found = list(page, matches);
            let text = format!("the text is {place} {} times; nothing was clicked. Choose one with nth: {found}", matches.len());
            Err(ToolError::invalid(text).with("matches", matches.len()))
        }
        (_, Some(nth)) => matches.get((nth as usize).wrapping_sub(1)).ok_or_else(|| {
            ToolError::not_found(format!(
                "there is no match number {nth} {place}, only {}; nothing was clicked: {}",
                matches.len(),
                list(page, matches)
            ))
        }),
    }
}

fn list(page: &Page, matches: &[Match]) -> String {
    let entry = |(at, m): (usize, &Match)| {
        let text = page.lines.get(m.line).map_or("", |line| line.text.as_str());
        let short: String = text.chars().take(60).collect();
        let (x, y) = m.rect.center();
        format!("{}: {short:?} at {x},{y}", at + 1)
    };
    let mut found: Vec<String> = matches.iter().enumerate().take(LISTED).map(entry).collect();
    if matches.len() > LISTED {
        found.push(format!("and {} more", matches.len() - LISTED));
    }
    found.join("; ")
}

/// Sees that the text's pixels are still those that were read: windows move while a screen is read.
async fn unmoved(host: &Host, page: &Page, rect: Rect) -> Result<(), ToolError> {
    let display = Arc::clone(&host.display);
    let before = page.capture.crop(rect);
    let looking = tokio::task::spawn_blocking(move || display.capture(&Area::Region(rect)));
    let now = looking.await.map_err(|e| ToolError::failed(format!("looking at the screen broke off: {e}")))?;
    let now = now.map_err(crate::engine_errors::desktop)?;
    let same = before.is_some_and(|before| {
        let (before, now) = (before.image(), now.image());
        let rows = || (0..before.height as usize).zip(0..now.height as usize);
        before.width == now.width && before.height == now.height && rows().all(|(a, b)| visible(before.row(a), now.row(b)))
    });
    if same {
        return Ok(());
    }
    Err(ToolError::look_again("the screen changed where the text was while it was being read; nothing was clicked. Call again"))
}

/// Whether two rows of pixels look the same; the fourth byte of a pixel is not seen.
fn visible(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.chunks_exact(4).zip(b.chunks_exact(4)).all(|(a, b)| a[..3] == b[..3])
}
