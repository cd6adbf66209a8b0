//! What is known of the screen without a picture of it: its size, its monitors, the active window.

use super::{Nothing, on_display};
use crate::Host;
use deskhand_core::{Context, Effect, Group, Reply, Tool, ToolError};
use deskhand_desktop::screen::{Display, Monitor};
use schemars::JsonSchema;
use serde::Serialize;

/// Tells the size of the screen.
pub struct ScreenSize;

/// The screen and its monitors.
#[derive(Serialize, JsonSchema)]
pub struct ScreenSizeOutput {
    /// Width of the whole screen, all monitors together, in pixels.
    width: u32,
    /// Its height in pixels.
    height: u32,
    /// linux, windows or macos.
    platform: &'static str,
    /// How much larger than usual things are drawn. Information only: all coordinates are pixels.
    scale: f64,
    /// Each monitor.
    monitors: Vec<MonitorOutput>,
}

/// One monitor.
#[derive(Serialize, JsonSchema)]
pub struct MonitorOutput {
    /// Its name.
    name: String,
    /// Screen x of its left edge.
    x: i32,
    /// Screen y of its upper edge.
    y: i32,
    /// Its width in pixels.
    width: u32,
    /// Its height in pixels.
    height: u32,
    /// How much larger than usual things are drawn on it.
    scale: f64,
    /// Whether it is the main one.
    primary: bool,
    /// Degrees it is turned by; width and height are those after turning.
    rotation: u16,
}

impl Tool for ScreenSize {
    type Host = Host;
    type Args = Nothing;
    type Output = ScreenSizeOutput;
    const NAME: &'static str = "computer_screen_size";
    const TITLE: &'static str = "Get the screen size";
    const SUMMARY: &'static str = "Tells the size of the whole screen in pixels, the platform, and each monitor's place, scale and rotation. Coordinates of all computer_ tools are these pixels, 0,0 at the top left.";
    const GROUPS: &'static [Group] = &[Group::Screen];
    const EFFECT: Effect = Effect::Reads;
    const IDEMPOTENT: bool = true;

    async fn run(host: &Host, _: &Context, _: Nothing) -> Result<Reply<ScreenSizeOutput>, ToolError> {
        let screen = on_display(host, true, Display::screen).await?;
        let monitor = |m: &Monitor| MonitorOutput {
            name: m.name.clone(),
            x: m.rect.x,
            y: m.rect.y,
            width: m.rect.width,
            height: m.rect.height,
            scale: m.scale,
            primary: m.primary,
            rotation: m.rotation,
        };
        let monitors = screen.monitors.iter().map(monitor).collect();
        Ok(Reply::new(ScreenSizeOutput {
            width: screen.width,
            height: screen.height,
            platform: screen.platform(),
            scale: screen.scale,
            monitors,
        }))
    }
}

/// Tells which window has the keyboard.
pub struct ActiveWindow;

/// The active window.
#[derive(Serialize, JsonSchema)]
pub struct ActiveWindowOutput {
    /// Its title; empty when no window is active or it has none.
    title: String,
    /// linux, windows or macos.
    platform: &'static str,
    /// Whether there is one at all.
    active: bool,
    /// Present when there is none, and says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
    /// Its place, frame included, and owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<WindowOutput>,
}

/// A window's place and owner.
#[derive(Serialize, JsonSchema)]
pub struct WindowOutput {
    /// Screen x of its left edge.
    x: i32,
    /// Screen y of its upper edge.
    y: i32,
    /// Its width in pixels.
    width: u32,
    /// Its height in pixels.
    height: u32,
    /// What kind of program it belongs to; empty when unknown.
    class: String,
    /// The process it says it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
}

impl Tool for ActiveWindow {
    type Host = Host;
    type Args = Nothing;
    type Output = ActiveWindowOutput;
    const NAME: &'static str = "computer_active_window";
    const TITLE: &'static str = "Get the active window";
    const SUMMARY: &'static str =
        "Tells the title, place and program of the window that has the keyboard. When none has it, title is empty and active is false.";
    const GROUPS: &'static [Group] = &[Group::Screen];
    const EFFECT: Effect = Effect::Reads;
    const IDEMPOTENT: bool = true;

    async fn run(host: &Host, _: &Context, _: Nothing) -> Result<Reply<ActiveWindowOutput>, ToolError> {
        let found = on_display(host, false, Display::active_window).await?;
        let platform = std::env::consts::OS;
        Ok(Reply::new(match found {
            None => ActiveWindowOutput {
                title: String::new(),
                platform,
                active: false,
                note: Some("no active window: nothing has the keyboard"),
                window: None,
            },
            Some(w) => {
                let place =
                    WindowOutput { x: w.rect.x, y: w.rect.y, width: w.rect.width, height: w.rect.height, class: w.class, pid: w.pid };
                ActiveWindowOutput { title: w.title, platform, active: true, note: None, window: Some(place) }
            }
        }))
    }
}
