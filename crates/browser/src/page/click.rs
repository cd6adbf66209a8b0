//! A click: aim, press, and be told by the page's own events that it arrived where it was aimed at. One evaluation, one
//! burst of mouse events, one fence.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use tokio::time::Instant;

use super::place::Point;
use super::{PATIENCE, Page};
use crate::error::BrowserError;
use crate::tab::{Moment, Signal};

/// How long the news of an event may lag behind the event.
const NEWS: Duration = Duration::from_millis(500);
/// How long a navigation that is already under way is waited for before pressing on the page that is still there.
const LEAVING: Duration = Duration::from_secs(1);

/// What a click did.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Clicked {
    /// The element that got it, such as `button#save`.
    pub element: String,
    /// How many elements matched; the first visible one was clicked.
    pub matches: u64,
    /// Whether another document came because of it.
    pub navigated: bool,
    /// The tab's address afterwards.
    pub url: String,
}

/// How a press ended.
enum Press {
    Arrived,
    OnlyDown,
    Missed(String),
    Nowhere,
}

/// What follows from that.
enum Next {
    Done,
    Again,
}

impl Page {
    /// Clicks the element of `selector` with the left button, as a person would.
    ///
    /// # Errors
    /// `Element` naming what is in the way when it is covered, disabled, moving or hidden; nothing was clicked then.
    pub async fn click(&self, selector: &str) -> Result<Clicked, BrowserError> {
        let end = self.until(PATIENCE);
        loop {
            let token = self.tab.new_token();
            let found = self.ask("aim", selector, json!({"token": token}), end.saturating_duration_since(Instant::now())).await?;
            if self.tab.look(|s| s.moment.started.is_some())
                && self.tab.wait_for(LEAVING, |s| s.moment.started.is_none().then_some(())).await.is_some()
                && Instant::now() < end
            {
                continue;
            }
            let name = found.verdict.name.clone();
            let inner = Point { x: found.number("x"), y: found.number("y") };
            let at = match self.to_window(&found.frame, inner, &name).await {
                Err(error) if error.is_navigation() && Instant::now() < end => continue,
                other => other?,
            };
            let before = self.tab.look(|s| s.moment.clone());
            let pressed = self.press(token, at).await?;
            self.tab.change(|s| {
                s.signals.remove(&token);
            });
            let over = Instant::now() >= end;
            match self.judge(pressed, &name, &before, over)? {
                Next::Done => {}
                Next::Again => continue,
            }
            let navigated = self.settle(&before, &found.frame).await?;
            return Ok(Clicked { element: name, matches: found.verdict.matches, navigated, url: self.tab.url() });
        }
    }

    /// What the news of a press means; `over` when there is no time for another.
    fn judge(&self, pressed: Press, name: &str, before: &Moment, over: bool) -> Result<Next, BrowserError> {
        match pressed {
            Press::Arrived => Ok(Next::Done),
            Press::OnlyDown => {
                let note = "the press arrived but the page gave no click event for it (it changed the element meanwhile)";
                self.tab.change(|s| s.notices.note(note));
                Ok(Next::Done)
            }
            Press::Missed(by) if over => {
                let reason = format!("it moved away, and {by} would have got the click; nothing was clicked");
                Err(BrowserError::Element { element: name.to_owned(), reason })
            }
            Press::Nowhere if self.tab.look(|s| s.moment.commits != before.commits) => {
                let url = self.tab.url();
                Err(BrowserError::Navigated(format!("the page navigated to {url} before the click arrived; look again")))
            }
            Press::Nowhere if over => Err(BrowserError::Failed(format!(
                "{name} did not get the click: no event arrived in its frame; look at the page with browser_screenshot"
            ))),
            // Swallowed by us, or dropped by the browser (a page that is not drawn yet): the page knows nothing of it.
            Press::Missed(_) | Press::Nowhere => Ok(Next::Again),
        }
    }

    /// Moves there, presses and releases; returns when the page's events have told how it went.
    async fn press(&self, token: u64, at: Point) -> Result<Press, BrowserError> {
        let event = |kind: &str, buttons: u8, button: &str| {
            self.send("Input.dispatchMouseEvent", json!({"type": kind, "x": at.x, "y": at.y, "button": button, "buttons": buttons, "clickCount": u8::from(button != "none"), "pointerType": "mouse"}))
        };
        let burst = async {
            let all = [event("mouseMoved", 0, "none"), event("mousePressed", 1, "left"), event("mouseReleased", 0, "left")];
            futures_util::future::try_join_all(all).await.map(drop)
        };
        let told = self.tab.wait(|s| s.signals.get(&token).and_then(|all| verdict(all)));
        tokio::pin!(told);
        let sent = tokio::select! {
            biased;
            press = &mut told => return Ok(press),
            sent = burst => sent,
        };
        match tokio::time::timeout(NEWS, told).await {
            Ok(press) => Ok(press),
            Err(_) if self.tab.look(|s| s.signals.get(&token).is_some_and(|all| all.iter().any(|x| x.event == "down"))) => {
                Ok(Press::OnlyDown)
            }
            Err(_) => sent.map(|()| Press::Nowhere),
        }
    }
}

fn verdict(signals: &[Signal]) -> Option<Press> {
    signals.iter().find_map(|s| match s.event.as_str() {
        "click" => Some(Press::Arrived),
        "elsewhere" => Some(Press::OnlyDown),
        "blocked" => Some(Press::Missed(s.by.clone())),
        _ => None,
    })
}
