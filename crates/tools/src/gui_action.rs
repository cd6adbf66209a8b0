//! `browser_gui_execute_action`: sixteen actions in one tool, as agents trained on them send them.
//!
//! It is a second door to the same engine, with its own words: its `dy` counts the other way round, and what it needs in
//! permissions depends on the action.

mod action;

use crate::acting::{Hands, place};
use crate::{Host, engine_errors};
use action::{Action, Place, What};
use deskhand_core::{Caller, Context, Effect, Group, GroupSet, Lane, Listing, Reply, Tool, ToolError};
use deskhand_desktop::input::{Point, chord};
use deskhand_desktop::{Button, Key};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Carries out one action.
pub struct ExecuteAction;

/// Arguments of `browser_gui_execute_action`.
#[derive(Deserialize, Serialize, JsonSchema)]
pub struct ExecuteActionArgs {
    /// One action: an object with action_type and its parameters.
    action: Action,
}

/// What was done.
#[derive(Serialize, JsonSchema)]
pub struct ExecuteActionOutput {
    /// success.
    status: &'static str,
    /// The action_type that was carried out.
    action_performed: &'static str,
    /// Where the pointer is after it, for actions of the mouse: pixels from the left.
    #[serde(skip_serializing_if = "Option::is_none")]
    x: Option<i32>,
    /// Where the pointer is after it, for actions of the mouse: pixels from the top.
    #[serde(skip_serializing_if = "Option::is_none")]
    y: Option<i32>,
    /// Characters typed, for TYPING.
    #[serde(skip_serializing_if = "Option::is_none")]
    characters: Option<usize>,
}

impl Tool for ExecuteAction {
    type Host = Host;
    type Args = ExecuteActionArgs;
    type Output = ExecuteActionOutput;
    const NAME: &'static str = "browser_gui_execute_action";
    const TITLE: &'static str = "Mouse or keyboard action";
    const SUMMARY: &'static str = "Carries out one action on the desktop, whose picture browser_gui_screenshot gives. action is an object with action_type: CLICK {x?, y?, button?, num_clicks?}, DOUBLE_CLICK {x?, y?}, RIGHT_CLICK {x?, y?}, MOVE_TO {x, y}, MOVE_REL {x_offset, y_offset}, MOUSE_DOWN {button?}, MOUSE_UP {button?}, DRAG_TO {x, y}, DRAG_REL {x_offset, y_offset}, SCROLL {dx?, dy?} in wheel notches (positive dy is UP, positive dx right), TYPING {text}, PRESS {key}, KEY_DOWN {key}, KEY_UP {key}, HOTKEY {keys}, WAIT {duration} in seconds up to 10. Coordinates are screen pixels, or pixels of the screenshot that an optional frame names. What KEY_DOWN and MOUSE_DOWN hold comes up after 10 idle seconds.";
    const GROUPS: &'static [Group] = &[Group::Mouse, Group::Keyboard, Group::Screen];
    const EFFECT: Effect = Effect::Changes;
    const LISTING: Listing = Listing::Any;

    fn groups(args: &ExecuteActionArgs) -> GroupSet {
        args.action.group().into()
    }

    fn lane(_: &Host, _: &Caller, args: &ExecuteActionArgs) -> Lane {
        if args.action.group() == Group::Screen { Lane::None } else { Lane::Desktop }
    }

    async fn run(host: &Host, cx: &Context, args: ExecuteActionArgs) -> Result<Reply<ExecuteActionOutput>, ToolError> {
        let action_performed = args.action.name;
        let mut output = ExecuteActionOutput { status: "success", action_performed, x: None, y: None, characters: None };
        match args.action.group() {
            Group::Mouse => {
                let at = mouse(Hands::ready(host, cx).await?, args.action).await?;
                (output.x, output.y) = (Some(at.x), Some(at.y));
            }
            Group::Keyboard => output.characters = keyboard(Hands::ready(host, cx).await?, args.action).await?,
            _ => wait(cx, args.action).await?,
        }
        Ok(Reply::new(output))
    }
}

async fn mouse(hands: Hands<'_>, action: Action) -> Result<Point, ToolError> {
    let at = |given: &Place| -> Result<Option<Point>, ToolError> {
        place(given.x, given.y)?.map(|at| hands.place(given.frame.as_deref(), at)).transpose()
    };
    let there = |given: &Place| at(given)?.ok_or_else(|| ToolError::invalid("x and y are missing"));
    match action.what {
        What::Click { at: given, button, clicks } => {
            let at = at(&given)?;
            hands.act(move |desktop, cancel| desktop.click(at, button.into(), clicks, cancel)).await
        }
        What::MoveTo { to } => {
            let to = there(&to)?;
            hands.act(move |desktop, _| desktop.move_to(to).map(|()| to)).await
        }
        What::MoveRel { dx, dy } => hands.act(move |desktop, _| desktop.move_by(dx, dy)).await,
        What::MouseDown { button } => {
            hands.act(move |desktop, _| desktop.button_down(button.into()).and_then(|()| desktop.pointer())).await
        }
        What::MouseUp { released: button } => {
            hands.act(move |desktop, _| desktop.button_up(button.into()).and_then(|()| desktop.pointer())).await
        }
        What::DragTo { target: to } => {
            let to = there(&to)?;
            hands.act(move |desktop, cancel| desktop.drag(None, to, Button::Left, cancel).map(|()| to)).await
        }
        What::DragRel { right: dx, below: dy } => {
            hands
                .act(move |desktop, cancel| {
                    let at = desktop.pointer()?;
                    let to = Point::new(at.x.saturating_add(dx), at.y.saturating_add(dy));
                    desktop.drag(None, to, Button::Left, cancel).map(|()| to)
                })
                .await
        }
        // The engine's wheel counts down as positive.
        What::Scroll { notches_right: right, notches_up: up } => {
            hands.act(move |desktop, cancel| desktop.scroll(None, right, -up, cancel).and_then(|()| desktop.pointer())).await
        }
        _ => Err(ToolError::failed(format!("{} is no action of the mouse", action.name))),
    }
}

async fn keyboard(hands: Hands<'_>, action: Action) -> Result<Option<usize>, ToolError> {
    match action.what {
        What::Typing { text } => {
            let typed = hands.act(move |desktop, cancel| desktop.type_text(text.as_str(), cancel)).await?;
            return Ok(Some(typed.characters));
        }
        What::Press { keys } => {
            let keys = chord(&keys).map_err(engine_errors::desktop)?;
            hands.act(move |desktop, cancel| desktop.press(&keys, cancel)).await?;
        }
        What::KeyDown { key } => {
            let key = Key::parse(&key).map_err(engine_errors::desktop)?;
            hands.act(move |desktop, _| desktop.key_down(key)).await?;
        }
        What::KeyUp { key_up: key } => {
            let key = Key::parse(&key).map_err(engine_errors::desktop)?;
            hands.act(move |desktop, _| desktop.key_up(key)).await?;
        }
        _ => return Err(ToolError::failed(format!("{} is no action of the keyboard", action.name))),
    }
    Ok(None)
}

async fn wait(cx: &Context, action: Action) -> Result<(), ToolError> {
    let What::Wait { seconds } = action.what else { return Err(ToolError::failed("only WAIT waits")) };
    let wait = Duration::from_secs_f64(seconds);
    if wait > cx.remaining() {
        return Err(ToolError::invalid(format!("{seconds} seconds are more than are left for this call; wait shorter")));
    }
    tokio::select! {
        () = tokio::time::sleep(wait) => Ok(()),
        () = cx.cancel.cancelled() => Err(ToolError::cancelled("the wait was cancelled")),
    }
}
