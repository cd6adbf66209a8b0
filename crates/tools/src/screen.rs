//! Looking at the screen: pictures, its size, the active window.
//!
//! Nothing of a locked session is shown. Whoever got a picture gets its place on the screen and a `frame` with it, so that
//! a pixel of the picture can be clicked whatever was scaled or cut.

use crate::Host;
use crate::engine_errors::desktop;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deskhand_core::{Context, Effect, Group, Reply, Text, Tool, ToolError};
use deskhand_desktop::Result;
use deskhand_desktop::screen::{self, Area, Capture, Display, Fit, Picture, Rect, Screen};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

mod facts;

pub use facts::{ActiveWindow, ScreenSize};

/// Asks the display on a blocking thread, for its answers come from another program.
async fn on_display<T: Send + 'static>(
    host: &Host,
    locked_too: bool,
    ask: impl FnOnce(&Display) -> Result<T> + Send + 'static,
) -> std::result::Result<T, ToolError> {
    let (display, session) = (Arc::clone(&host.display), host.session.clone());
    let asking = tokio::task::spawn_blocking(move || {
        if !locked_too {
            session.state().open()?;
        }
        ask(&display)
    });
    let answer = asking.await.map_err(|e| ToolError::failed(format!("looking at the screen broke off: {e}")))?;
    answer.map_err(desktop)
}

/// A picture that can be sent, and what it is of.
struct Taken {
    capture: Capture,
    picture: Picture,
    base64: String,
    screen: Screen,
}

async fn take(host: &Host, area: Area, fit: Fit) -> std::result::Result<Taken, ToolError> {
    let take = move |display: &Display| {
        let screen = display.screen()?;
        let capture = display.capture(&area)?;
        let picture = screen::fit(&capture.image(), &fit)?;
        let base64 = STANDARD.encode(&picture.bytes);
        Ok(Taken { capture, picture, base64, screen })
    };
    on_display(host, false, take).await
}

/// A rectangle as the tools take it: `x,y,w,h`.
///
/// # Errors
/// `invalid_arguments` with the form that is right.
pub(crate) fn rectangle(text: &str) -> std::result::Result<Rect, ToolError> {
    let parts: Vec<_> = text.split([',', ' ']).filter(|p| !p.is_empty()).map(str::parse::<i64>).collect();
    let right = || {
        ToolError::invalid(format!("region {text:?} is not x,y,w,h in screen pixels with w and h of at least 1, such as 300,200,640,480"))
    };
    let [Ok(x), Ok(y), Ok(width), Ok(height)] = parts.as_slice() else { return Err(right()) };
    let corner = |n: i64| i32::try_from(n).ok().filter(|n| n.abs() <= 1 << 24);
    let side = |n: i64| u32::try_from(n).ok().filter(|n| (1..=1 << 24).contains(n));
    match (corner(*x), corner(*y), side(*width), side(*height)) {
        (Some(x), Some(y), Some(width), Some(height)) => Ok(Rect::new(x, y, width, height)),
        _ => Err(right()),
    }
}

/// Takes a picture of the screen.
pub struct Screenshot;

/// How the picture is stored.
#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum PictureFormat {
    /// Exact.
    Png,
    /// Smaller, with loss.
    Jpeg,
}

impl From<PictureFormat> for screen::Format {
    fn from(format: PictureFormat) -> Self {
        match format {
            PictureFormat::Png => Self::Png,
            PictureFormat::Jpeg => Self::Jpeg,
        }
    }
}

/// Arguments of `computer_screenshot`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct ScreenshotArgs {
    /// png or jpeg. Absent: PNG when it is small enough, else JPEG.
    #[serde(default)]
    format: Option<PictureFormat>,
    /// Longest side of the picture in pixels. Absent: native size unless that would be too large.
    #[serde(default)]
    #[schemars(range(min = 16, max = 32767))]
    max_edge: Option<u32>,
    /// Quality of a JPEG, 1 to 100. Absent: the best that is small enough.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100))]
    quality: Option<u8>,
    /// Only this rectangle: x,y,w,h in screen pixels.
    #[serde(default)]
    region: Option<String>,
    /// Only this monitor: its number from 0 or its name, as computer_screen_size lists them, or primary.
    #[serde(default)]
    monitor: Option<String>,
    /// Only what the screen shows where this window is: active, or a part of its title.
    #[serde(default)]
    window: Option<Text>,
}

impl ScreenshotArgs {
    fn area(&self) -> std::result::Result<Area, ToolError> {
        match (&self.region, &self.monitor, &self.window) {
            (None, None, None) => Ok(Area::All),
            (Some(region), None, None) => rectangle(region).map(Area::Region),
            (None, Some(monitor), None) => Ok(Area::Monitor(monitor.clone())),
            (None, None, Some(window)) => Ok(Area::Window(window.as_str().to_owned())),
            _ => Err(ToolError::invalid("region, monitor and window exclude each other; give one of them")),
        }
    }

    fn fit(&self) -> Fit {
        Fit { max_edge: self.max_edge, format: self.format.map(Into::into), quality: self.quality, ..Fit::default() }
    }
}

/// What the picture is of.
#[derive(Serialize, JsonSchema)]
pub struct ScreenshotOutput {
    /// Pixels of the picture from left to right.
    width: u32,
    /// Pixels of the picture from top to bottom.
    height: u32,
    /// Width of the whole screen in pixels.
    screen_width: u32,
    /// Height of the whole screen in pixels.
    screen_height: u32,
    /// Screen x of the picture's left edge.
    origin_x: i32,
    /// Screen y of the picture's upper edge.
    origin_y: i32,
    /// Picture pixels for one screen pixel: 1 at native size. Screen x = origin_x + picture x / scale.
    scale: f64,
    /// Id of this picture. Give it to the mouse tools as frame to name places in the picture's own pixels.
    frame: String,
    /// png or jpeg.
    format: &'static str,
}

impl Tool for Screenshot {
    type Host = Host;
    type Args = ScreenshotArgs;
    type Output = ScreenshotOutput;
    const NAME: &'static str = "computer_screenshot";
    const TITLE: &'static str = "Take a screenshot";
    const SUMMARY: &'static str = "Takes a picture of the whole screen, or of one region, monitor or window. Native size and exact when that is at most 700 kB, else JPEG, else smaller; the result states both sizes, the origin and the scale. Pass its frame to mouse tools to click at a pixel of this picture.";
    const GROUPS: &'static [Group] = &[Group::Screen];
    const EFFECT: Effect = Effect::Reads;
    const LOOKS: bool = true;

    async fn run(host: &Host, cx: &Context, args: ScreenshotArgs) -> std::result::Result<Reply<ScreenshotOutput>, ToolError> {
        let taken = take(host, args.area()?, args.fit()).await?;
        let (picture, capture) = (&taken.picture, &taken.capture);
        let frame = host.frames.note(&cx.caller, capture, (picture.width, picture.height), &taken.screen);
        let output = ScreenshotOutput {
            width: picture.width,
            height: picture.height,
            screen_width: capture.screen().0,
            screen_height: capture.screen().1,
            origin_x: capture.origin().0,
            origin_y: capture.origin().1,
            scale: factor(picture.width, capture.width()),
            frame,
            format: picture.format.name(),
        };
        Ok(Reply::image(output, taken.base64, taken.picture.format.mime()))
    }
}

/// Five digits are more than any coordinate needs.
fn factor(picture: u32, part: u32) -> f64 {
    (f64::from(picture) / f64::from(part.max(1)) * 1e5).round() / 1e5
}

/// Takes a picture of the whole display for the browser's family of actions.
pub struct GuiScreenshot;

/// No arguments.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct Nothing {}

/// What the picture is of.
#[derive(Serialize, JsonSchema)]
pub struct GuiScreenshotOutput {
    /// Width of the whole screen in pixels.
    screen_width: u32,
    /// Height of the whole screen in pixels.
    screen_height: u32,
    /// Pixels of the picture from left to right.
    image_width: u32,
    /// Pixels of the picture from top to bottom.
    image_height: u32,
    /// Picture pixels for one screen pixel: 1 at native size.
    scale: f64,
    /// Id of this picture, for the mouse tools' frame.
    frame: String,
    /// png or jpeg.
    format: &'static str,
}

impl Tool for GuiScreenshot {
    type Host = Host;
    type Args = Nothing;
    type Output = GuiScreenshotOutput;
    const NAME: &'static str = "browser_gui_screenshot";
    const TITLE: &'static str = "Take a screenshot for GUI actions";
    const SUMMARY: &'static str = "Takes a picture of the whole display, as browser_gui_execute_action works on it. Native size and exact when that is at most 700 kB, else JPEG, else smaller; the result states both sizes.";
    const GROUPS: &'static [Group] = &[Group::Screen];
    const EFFECT: Effect = Effect::Reads;
    const LOOKS: bool = true;

    async fn run(host: &Host, cx: &Context, _: Nothing) -> std::result::Result<Reply<GuiScreenshotOutput>, ToolError> {
        let taken = take(host, Area::All, Fit::default()).await?;
        let (picture, capture) = (&taken.picture, &taken.capture);
        let output = GuiScreenshotOutput {
            screen_width: capture.screen().0,
            screen_height: capture.screen().1,
            image_width: picture.width,
            image_height: picture.height,
            scale: factor(picture.width, capture.width()),
            frame: host.frames.note(&cx.caller, capture, (picture.width, picture.height), &taken.screen),
            format: picture.format.name(),
        };
        Ok(Reply::image(output, taken.base64, taken.picture.format.mime()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deskhand_core::ErrorKind;

    #[test]
    fn a_region_is_four_whole_numbers_with_a_size() {
        assert_eq!(rectangle("300,200, 640,480").unwrap(), Rect::new(300, 200, 640, 480));
        assert_eq!(rectangle("-5,0,10,10").unwrap(), Rect::new(-5, 0, 10, 10));
        for wrong in ["", "1,2,3", "1,2,3,4,5", "a,b,c,d", "0,0,0,5", "0,0,5,-5", "1.5,0,5,5", "0,0,99999999999,5"] {
            let error = rectangle(wrong).unwrap_err();
            assert!(error.kind == ErrorKind::InvalidArguments && error.message.contains("x,y,w,h"), "{wrong}");
        }
    }

    #[test]
    fn region_monitor_and_window_exclude_each_other() {
        let args = |json: &str| serde_json::from_str::<ScreenshotArgs>(json).unwrap().area();
        assert_eq!(args("{}").unwrap(), Area::All);
        assert_eq!(args(r#"{"monitor":"1"}"#).unwrap(), Area::Monitor("1".into()));
        assert_eq!(args(r#"{"window":"active"}"#).unwrap(), Area::Window("active".into()));
        assert_eq!(args(r#"{"monitor":"1","region":"0,0,1,1"}"#).unwrap_err().kind, ErrorKind::InvalidArguments);
    }

    #[test]
    fn a_window_title_is_not_recorded() {
        let args: ScreenshotArgs = serde_json::from_str(r#"{"window":"Letter to my lawyer"}"#).unwrap();
        assert!(!serde_json::to_string(&args).unwrap().contains("lawyer"));
    }
}
