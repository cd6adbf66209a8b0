//! Looking for an element through all frames of a tab, and asking something of it there. The main document first, in
//! one round trip; only when nothing matches there, the other frames.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Page;
use crate::error::BrowserError;
use crate::tab::{FrameId, Tab};

/// How long one look lasts when nothing matched, before the other frames are looked at again.
const LINGER: Duration = Duration::from_millis(100);

/// What a function of the injected script says of the element it was to find.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Verdict {
    pub(crate) state: String,
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) why: String,
    #[serde(default)]
    rest: String,
    #[serde(default)]
    pub(crate) matches: u64,
    #[serde(flatten)]
    pub(crate) more: serde_json::Map<String, Value>,
}

/// An element that was found and answered for.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) frame: FrameId,
    pub(crate) verdict: Verdict,
}

impl Found {
    pub(crate) fn number(&self, key: &str) -> f64 {
        self.verdict.more.get(key).and_then(Value::as_f64).unwrap_or_default()
    }

    pub(crate) fn text(&self, key: &str) -> String {
        self.verdict.more.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        self.verdict.more.get(key).and_then(Value::as_bool).unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct Count {
    state: String,
    #[serde(default)]
    matches: u64,
    #[serde(default)]
    visible: u64,
}

impl Page {
    /// Runs `function` of the injected script on the element of `selector`, in whichever frame it is, and waits for it
    /// up to `patience`.
    ///
    /// # Errors
    /// `Selector`, `NoElement`, `Element` with the script's reason, `Navigated` when the page never stood still.
    pub(crate) async fn ask(&self, function: &str, selector: &str, args: Value, patience: Duration) -> Result<Found, BrowserError> {
        self.tab.ensure_ready().await?;
        let end = self.until(patience);
        let mut linger = Duration::ZERO;
        loop {
            let looked = self
                .in_time("the page does not answer; its own scripts may be busy", self.sweep(function, selector, &args, end, linger))
                .await;
            match looked {
                Ok(Some(found)) => return judged(found, selector),
                Ok(None) if Instant::now() >= end => return Err(self.nothing(selector)),
                Ok(None) => {}
                Err(error) if error.is_navigation() => {
                    if Instant::now() >= end {
                        return Err(BrowserError::Navigated(format!(
                            "the page was navigating all the time, so nothing could be done with {selector:?}; try again"
                        )));
                    }
                    tokio::task::yield_now().await;
                }
                Err(error) => return Err(error),
            }
            linger = LINGER;
        }
    }

    fn nothing(&self, selector: &str) -> BrowserError {
        let frames = self.tab.frames().len().saturating_sub(1);
        let looked = if frames == 0 {
            "the page and its open shadow roots".to_owned()
        } else {
            format!("the page, its open shadow roots and {frames} frame{}", if frames == 1 { "" } else { "s" })
        };
        BrowserError::NoElement {
            selector: selector.to_owned(),
            hint: format!(
                "{looked} hold none (closed shadow roots cannot be seen; `frame >>> element` and `host >>> element` name one inside another); look with browser_get_content or browser_screenshot"
            ),
        }
    }

    /// One look through all frames.
    async fn sweep(
        &self,
        function: &str,
        selector: &str,
        args: &Value,
        end: Instant,
        linger: Duration,
    ) -> Result<Option<Found>, BrowserError> {
        let main = self.tab.main();
        if let Some(found) = self.look(&main, function, selector, args, end, linger).await? {
            return Ok(Some(found));
        }
        let others: Vec<FrameId> = self.tab.frames().into_iter().skip(1).collect();
        let Some(frame) = self.first_with(&others, selector).await? else { return Ok(None) };
        self.look(&frame, function, selector, args, end, Duration::ZERO).await
    }

    /// The first frame in which something matches, one with a visible match before others.
    async fn first_with(&self, frames: &[FrameId], selector: &str) -> Result<Option<FrameId>, BrowserError> {
        let counts = futures_util::future::join_all(
            frames.iter().map(|f| self.tab.run_if_ready::<Count>(f, "count", json!({"selector": selector}))),
        )
        .await;
        let matching: Vec<(&FrameId, Count)> =
            frames.iter().zip(counts).filter_map(|(f, c)| c.filter(|c| c.state == "ok" && c.matches > 0).map(|c| (f, c))).collect();
        Ok(matching.iter().find(|(_, c)| c.visible > 0).or(matching.first()).map(|(f, _)| (*f).clone()))
    }

    /// Asks in one frame, and follows `>>>` into the frames within.
    async fn look(
        &self,
        frame: &FrameId,
        function: &str,
        selector: &str,
        args: &Value,
        end: Instant,
        linger: Duration,
    ) -> Result<Option<Found>, BrowserError> {
        let (mut frame, mut selector) = (frame.clone(), selector.to_owned());
        loop {
            let mut args = args.clone();
            args["selector"] = selector.clone().into();
            args["wait"] = millis(Tab::left(end));
            args["linger"] = millis(linger.min(Tab::left(end)));
            let verdict: Verdict = self.tab.run(&frame, function, &args).await?;
            match verdict.state.as_str() {
                "none" => return Ok(None),
                "frame" => {
                    let Some(inner) = self.frame_of_held(&frame).await? else { return Ok(None) };
                    selector = verdict.rest;
                    frame = inner;
                }
                _ => return Ok(Some(Found { frame, verdict })),
            }
        }
    }

    /// The frame that the frame element shows which the script holds.
    async fn frame_of_held(&self, frame: &FrameId) -> Result<Option<FrameId>, BrowserError> {
        let object = self.held(frame).await?;
        let (session, _) = self.tab.world(frame).await?;
        let node = self.tab.send_to(session, "DOM.describeNode", json!({"objectId": object})).await?;
        let id = node["node"]["frameId"].as_str().or(node["node"]["contentDocument"]["frameId"].as_str());
        Ok(id.map(str::to_owned).filter(|id| self.tab.frames().contains(id)))
    }

    /// A handle to the element that the script in `frame` holds.
    pub(crate) async fn held(&self, frame: &FrameId) -> Result<String, BrowserError> {
        let (session, world) = self.tab.world(frame).await?;
        let params = json!({"expression": "__deskhand.held", "uniqueContextId": world.unique, "objectGroup": "deskhand"});
        let answer = self.tab.send_to(session, "Runtime.evaluate", params).await?;
        answer["result"]["objectId"].as_str().map(str::to_owned).ok_or_else(|| BrowserError::Navigated("the element went away".to_owned()))
    }
}

fn millis(time: Duration) -> Value {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).into()
}

fn judged(found: Found, selector: &str) -> Result<Found, BrowserError> {
    match found.verdict.state.as_str() {
        "ok" => Ok(found),
        "wrong" => Err(BrowserError::Selector { selector: selector.to_owned(), why: found.verdict.why }),
        _ => Err(BrowserError::Element { element: found.verdict.name, reason: found.verdict.why }),
    }
}
