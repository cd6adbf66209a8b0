//! The mouse: click, move, drag, scroll. Places are screen pixels, or pixels of a screenshot that `frame` names.

use crate::Host;
use crate::acting::{ButtonName, Done, Hands, place};
use deskhand_core::{Caller, Context, Effect, Group, Lane, Reply, Tool, ToolError};
use deskhand_desktop::Button;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most notches of one scroll: about a hundred pages.
const MOST_NOTCHES: i32 = 1000;

fn one() -> u8 {
    1
}

/// Clicks.
pub struct MouseClick;

/// Arguments of `computer_mouse_click`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct MouseClickArgs {
    /// Pixels from the left edge of the screen, or of the picture that frame names.
    x: i32,
    /// Pixels from the top edge of the screen, or of the picture that frame names.
    y: i32,
    /// left, right or middle.
    #[serde(default)]
    button: ButtonName,
    /// 1 for a click, 2 for a double click, 3 for a triple click.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 3))]
    clicks: u8,
    /// The frame id of a screenshot, when x and y are pixels of that picture.
    #[serde(default)]
    frame: Option<String>,
}

/// Where it was clicked, in screen pixels.
#[derive(Serialize, JsonSchema)]
pub struct MouseClickOutput {
    /// True: pressed and released there.
    ok: bool,
    /// Pixels from the left edge of the screen.
    x: i32,
    /// Pixels from the top edge of the screen.
    y: i32,
}

impl Tool for MouseClick {
    type Host = Host;
    type Args = MouseClickArgs;
    type Output = MouseClickOutput;
    const NAME: &'static str = "computer_mouse_click";
    const TITLE: &'static str = "Click";
    const SUMMARY: &'static str = "Moves the pointer to x,y and clicks there. Coordinates are screen pixels as computer_screen_size reports them, origin at the top left; with frame they are pixels of that screenshot. clicks=2 selects a word or opens, clicks=3 selects a line.";
    const GROUPS: &'static [Group] = &[Group::Mouse];
    const EFFECT: Effect = Effect::Changes;

    fn lane(_: &Host, _: &Caller, _: &MouseClickArgs) -> Lane {
        Lane::Desktop
    }

    async fn run(host: &Host, cx: &Context, args: MouseClickArgs) -> Result<Reply<MouseClickOutput>, ToolError> {
        let hands = Hands::ready(host, cx).await?;
        let at = hands.place(args.frame.as_deref(), (args.x, args.y))?;
        let at = hands.act(move |desktop, cancel| desktop.click(Some(at), args.button.into(), args.clicks, cancel)).await?;
        Ok(Reply::new(MouseClickOutput { ok: true, x: at.x, y: at.y }))
    }
}

/// Moves the pointer.
pub struct MouseMove;

/// Arguments of `computer_mouse_move`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct MouseMoveArgs {
    /// Pixels from the left edge of the screen, or of the picture that frame names.
    x: i32,
    /// Pixels from the top edge of the screen, or of the picture that frame names.
    y: i32,
    /// The frame id of a screenshot, when x and y are pixels of that picture.
    #[serde(default)]
    frame: Option<String>,
}

impl Tool for MouseMove {
    type Host = Host;
    type Args = MouseMoveArgs;
    type Output = Done;
    const NAME: &'static str = "computer_mouse_move";
    const TITLE: &'static str = "Move the pointer";
    const SUMMARY: &'static str = "Moves the pointer to x,y without pressing anything. Coordinates as for computer_mouse_click. A success means that the pointer is there.";
    const GROUPS: &'static [Group] = &[Group::Mouse];
    const EFFECT: Effect = Effect::Changes;
    const IDEMPOTENT: bool = true;

    fn lane(_: &Host, _: &Caller, _: &MouseMoveArgs) -> Lane {
        Lane::Desktop
    }

    async fn run(host: &Host, cx: &Context, args: MouseMoveArgs) -> Result<Reply<Done>, ToolError> {
        let hands = Hands::ready(host, cx).await?;
        let to = hands.place(args.frame.as_deref(), (args.x, args.y))?;
        hands.act(move |desktop, _| desktop.move_to(to)).await?;
        Ok(Reply::new(Done::OK))
    }
}

/// Drags.
pub struct MouseDrag;

/// Arguments of `computer_mouse_drag`.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MouseDragArgs {
    /// Where the button goes down: pixels from the left.
    start_x: i32,
    /// Where the button goes down: pixels from the top.
    start_y: i32,
    /// Where the button comes up: pixels from the left.
    end_x: i32,
    /// Where the button comes up: pixels from the top.
    end_y: i32,
    /// left, right or middle.
    #[serde(default)]
    button: ButtonName,
    /// The frame id of a screenshot, when the places are pixels of that picture.
    #[serde(default)]
    frame: Option<String>,
}

impl Tool for MouseDrag {
    type Host = Host;
    type Args = MouseDragArgs;
    type Output = Done;
    const NAME: &'static str = "computer_mouse_drag";
    const TITLE: &'static str = "Drag";
    const SUMMARY: &'static str = "Presses the button at the start, moves in steps that programs recognise as a drag, and releases it at the end. Takes up to 0.4 seconds. Coordinates as for computer_mouse_click.";
    const GROUPS: &'static [Group] = &[Group::Mouse];
    const EFFECT: Effect = Effect::Changes;

    fn lane(_: &Host, _: &Caller, _: &MouseDragArgs) -> Lane {
        Lane::Desktop
    }

    async fn run(host: &Host, cx: &Context, args: MouseDragArgs) -> Result<Reply<Done>, ToolError> {
        let frame = args.frame.as_deref();
        let hands = Hands::ready(host, cx).await?;
        let from = hands.place(frame, (args.start_x, args.start_y))?;
        let to = hands.place(frame, (args.end_x, args.end_y))?;
        let button = Button::from(args.button);
        hands.act(move |desktop, cancel| desktop.drag(Some(from), to, button, cancel)).await?;
        Ok(Reply::new(Done::OK))
    }
}

/// Turns the wheel.
pub struct MouseScroll;

/// Arguments of `computer_mouse_scroll`.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MouseScrollArgs {
    /// Where to scroll: pixels from the left. Without x and y it is where the pointer is.
    #[serde(default)]
    x: Option<i32>,
    /// Where to scroll: pixels from the top.
    #[serde(default)]
    y: Option<i32>,
    /// Wheel notches to the right; negative is left.
    #[serde(default)]
    scroll_x: i32,
    /// Wheel notches down; negative is up.
    scroll_y: i32,
    /// The frame id of a screenshot, when x and y are pixels of that picture.
    #[serde(default)]
    frame: Option<String>,
}

impl Tool for MouseScroll {
    type Host = Host;
    type Args = MouseScrollArgs;
    type Output = Done;
    const NAME: &'static str = "computer_mouse_scroll";
    const TITLE: &'static str = "Scroll";
    const SUMMARY: &'static str = "Turns the mouse wheel by whole notches at x,y, or where the pointer is: positive scrollY scrolls down, positive scrollX right. How far one notch goes is the program's own choice, usually three lines. 0 moves nothing.";
    const GROUPS: &'static [Group] = &[Group::Mouse];
    const EFFECT: Effect = Effect::Changes;

    fn lane(_: &Host, _: &Caller, _: &MouseScrollArgs) -> Lane {
        Lane::Desktop
    }

    async fn run(host: &Host, cx: &Context, args: MouseScrollArgs) -> Result<Reply<Done>, ToolError> {
        for (name, notches) in [("scrollX", args.scroll_x), ("scrollY", args.scroll_y)] {
            if !(-MOST_NOTCHES..=MOST_NOTCHES).contains(&notches) {
                return Err(ToolError::invalid(format!("{name} is in wheel notches, at most {MOST_NOTCHES} either way, not {notches}")));
            }
        }
        let hands = Hands::ready(host, cx).await?;
        let at = place(args.x, args.y)?.map(|at| hands.place(args.frame.as_deref(), at)).transpose()?;
        hands.act(move |desktop, cancel| desktop.scroll(at, args.scroll_x, args.scroll_y, cancel)).await?;
        Ok(Reply::new(Done::OK))
    }
}
