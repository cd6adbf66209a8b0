//! Pictures of a page: its window, one element, or all of it. PNG where it fits the limit, else JPEG, else smaller.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::Page;
use crate::error::BrowserError;

/// The most bytes of base64 in one result.
const PICTURE_MAX: usize = 700_000;
/// How long the browser may take to draw a page that nothing holds up.
const DRAWN: std::time::Duration = std::time::Duration::from_secs(6);
/// Taller pages than this are cut, in CSS pixels; Chrome cannot draw them in one piece.
const HEIGHT_MAX: f64 = 16_000.0;

/// What is to be pictured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shot {
    /// One element, brought into view.
    pub selector: Option<String>,
    /// The whole page instead of its window.
    pub full_page: bool,
    /// `png` or `jpeg`; chosen by size when none is named.
    pub format: Option<String>,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Picture {
    /// Base64 of the file.
    #[serde(skip)]
    pub data: String,
    /// `image/png` or `image/jpeg`.
    #[serde(skip)]
    pub mime: &'static str,
    /// `png` or `jpeg`.
    pub format: String,
    /// The page's address.
    pub url: String,
    /// What is on it: `window`, `page` or the element's name.
    pub shows: String,
    /// Factor from CSS pixels to pixels of the picture beyond the display's own, below 1 when it was made smaller to fit.
    pub scale: f64,
    /// Whether the page is longer than what is shown.
    pub cut: bool,
}

/// A tab that is being drawn until this is ended.
struct Drawing<'a>(&'a Page);

impl Drawing<'_> {
    async fn end(self) {
        let asked = self.0.tab.send("Page.stopScreencast", json!({}));
        if !matches!(tokio::time::timeout_at(self.0.until(DRAWN), asked).await, Ok(Ok(_))) {
            tracing::debug!("the browser did not answer that it draws the tab no longer");
        }
    }
}

struct Area {
    clip: Option<Value>,
    beyond: bool,
    shows: String,
    cut: bool,
}

impl Page {
    /// Takes a picture of the tab, whether it is in front or not.
    ///
    /// # Errors
    /// `Argument`, the errors of the element, or `TimedOut` when the browser draws nothing.
    pub async fn screenshot(&self, shot: &Shot) -> Result<Picture, BrowserError> {
        let forced = match shot.format.as_deref() {
            None => None,
            Some("png") => Some("png"),
            Some("jpeg" | "jpg") => Some("jpeg"),
            Some(other) => return Err(BrowserError::Argument(format!("{other:?} is no picture format; give png or jpeg"))),
        };
        self.tab.ensure_ready().await?;
        let area = self.area(shot).await?;
        let drawing = self.draw().await?;
        let taken = self.fitting(area, forced).await;
        drawing.end().await;
        taken
    }

    /// Has the browser draw the tab from now on, also behind others. Without this a tab behind others may answer with an
    /// old picture, or with one of another part of the page, or not at all.
    async fn draw(&self) -> Result<Drawing<'_>, BrowserError> {
        let small = json!({"format": "jpeg", "quality": 1, "maxWidth": 16, "maxHeight": 16, "everyNthFrame": 1000});
        // A call that was cancelled may have left it on, and Chrome refuses to begin twice.
        self.send("Page.stopScreencast", json!({})).await?;
        self.send("Page.startScreencast", small).await?;
        Ok(Drawing(self))
    }

    /// The picture in the first of the formats and sizes in which it fits a result.
    async fn fitting(&self, area: Area, forced: Option<&str>) -> Result<Picture, BrowserError> {
        let tries: &[(&str, f64)] = match forced {
            Some("png") => &[("png", 1.0), ("png", 0.5), ("png", 0.25)],
            Some(_) => &[("jpeg", 1.0), ("jpeg", 0.5), ("jpeg", 0.25)],
            None => &[("png", 1.0), ("jpeg", 1.0), ("jpeg", 0.5), ("jpeg", 0.25)],
        };
        for (format, scale) in tries {
            let data = self.capture(&area, format, *scale).await?;
            if data.len() <= PICTURE_MAX {
                let mime = if *format == "png" { "image/png" } else { "image/jpeg" };
                return Ok(Picture {
                    data,
                    mime,
                    format: (*format).to_owned(),
                    url: self.tab.url(),
                    shows: area.shows,
                    scale: *scale,
                    cut: area.cut,
                });
            }
        }
        Err(BrowserError::Failed(
            "the picture is larger than a result may be even at a quarter of its size; name an element, or leave full_page out".to_owned(),
        ))
    }

    async fn area(&self, shot: &Shot) -> Result<Area, BrowserError> {
        if let Some(selector) = &shot.selector {
            let found = self.ask("box", selector, json!({}), super::PATIENCE).await?;
            let name = found.verdict.name.clone();
            let corner = super::place::Point { x: found.number("x"), y: found.number("y") };
            let at =
                if found.frame == self.tab.main() { corner } else { self.to_window(&found.frame, corner, &name).await.unwrap_or(corner) };
            let (x, y) = self.scrolled().await?;
            let height = found.number("height").clamp(1.0, HEIGHT_MAX);
            let clip = json!({"x": at.x + x, "y": at.y + y, "width": found.number("width").max(1.0), "height": height, "scale": 1.0});
            // Drawing beyond the window makes the page larger for a moment, so it is left to what does not fit into it.
            let window = self.viewport().await?;
            let fits = at.x >= 0.0
                && at.y >= 0.0
                && at.x + found.number("width") <= f64::from(window.width)
                && at.y + height <= f64::from(window.height);
            return Ok(Area { clip: Some(clip), beyond: !fits, shows: name, cut: found.number("height") > height });
        }
        if !shot.full_page {
            return Ok(Area { clip: None, beyond: false, shows: "window".to_owned(), cut: false });
        }
        let metrics = self.send("Page.getLayoutMetrics", json!({})).await?;
        let size = |k: &str| metrics["cssContentSize"][k].as_f64().unwrap_or(1.0).max(1.0);
        let height = size("height").min(HEIGHT_MAX);
        let clip = json!({"x": 0, "y": 0, "width": size("width"), "height": height, "scale": 1.0});
        Ok(Area { clip: Some(clip), beyond: true, shows: "page".to_owned(), cut: size("height") > height })
    }

    /// How far the window is scrolled.
    async fn scrolled(&self) -> Result<(f64, f64), BrowserError> {
        let metrics = self.send("Page.getLayoutMetrics", json!({})).await?;
        let at = |k: &str| metrics["cssVisualViewport"][k].as_f64().unwrap_or(0.0);
        Ok((at("pageX"), at("pageY")))
    }

    async fn capture(&self, area: &Area, format: &str, scale: f64) -> Result<String, BrowserError> {
        let mut params = json!({"format": format, "captureBeyondViewport": area.beyond, "optimizeForSpeed": format == "png"});
        if format == "jpeg" {
            params["quality"] = 80.into();
        }
        let mut clip = area.clip.clone();
        if clip.is_none() && scale < 1.0 {
            let metrics = self.send("Page.getLayoutMetrics", json!({})).await?;
            let at = |k: &str| metrics["cssVisualViewport"][k].clone();
            clip = Some(json!({"x": at("pageX"), "y": at("pageY"), "width": at("clientWidth"), "height": at("clientHeight")}));
        }
        if let Some(mut clip) = clip {
            clip["scale"] = scale.into();
            params["clip"] = clip;
        }
        let what =
            "the browser did not draw the page; a window that is minimised or behind others may be the reason, so bring it to the front";
        let first = tokio::time::timeout_at(self.until(DRAWN), self.tab.send("Page.captureScreenshot", params.clone())).await;
        let answer = match first {
            Ok(answer) => answer?,
            Err(_) => {
                if area.beyond && self.tab.transport().kind() == crate::Kind::Extension {
                    return Err(BrowserError::Failed("of a tab that is behind others the person's browser draws only what is in its window: take a picture without full_page, or ask the person to bring the tab to the front".to_owned()));
                }
                // Only a browser of our own may bring a tab to the front for it; the person's view is left alone.
                if self.tab.transport().kind() == crate::Kind::Managed {
                    self.send("Page.bringToFront", json!({})).await?;
                }
                self.in_time(what, self.tab.send("Page.captureScreenshot", params)).await?
            }
        };
        answer["data"].as_str().map(str::to_owned).ok_or_else(|| BrowserError::Failed("the browser sent no picture".to_owned()))
    }
}
