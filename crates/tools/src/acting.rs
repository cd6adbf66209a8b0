//! How a tool lays hands on the desktop.
//!
//! The engine blocks, so each action runs on a blocking thread and is told to stop through the call's token and deadline.
//! Before it, the session is asked whether it is locked: behind a locker, keys would go into a password field.

use crate::{Host, engine_errors};
use deskhand_core::{Context, ToolError};
use deskhand_desktop::error::Error;
use deskhand_desktop::input::{Desktop, Point};
use deskhand_desktop::screen::Screen;
use deskhand_desktop::{Button, Cancel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Pointer and keyboard for one call, after it was seen that they may be used now.
pub(crate) struct Hands<'a> {
    host: &'a Host,
    cx: &'a Context,
    screen: Screen,
}

impl<'a> Hands<'a> {
    /// Sees that the session is open and that the caller's idea of the screen still holds.
    pub(crate) async fn ready(host: &'a Host, cx: &'a Context) -> Result<Self, ToolError> {
        let (session, display) = (host.session.clone(), Arc::clone(&host.display));
        let screen = blocking(move || {
            session.state().open()?;
            display.screen()
        })
        .await?;
        host.frames.check(&cx.caller, &screen)?;
        Ok(Self { host, cx, screen })
    }

    /// A place on the screen: as given, or out of the picture that `frame` names.
    pub(crate) fn place(&self, frame: Option<&str>, at: (i32, i32)) -> Result<Point, ToolError> {
        let (x, y) = self.host.frames.place(&self.cx.caller, frame, at, &self.screen)?;
        Ok(Point::new(x, y))
    }

    /// Runs an action of pointer or keyboard.
    pub(crate) async fn act<T: Send + 'static>(
        &self,
        action: impl FnOnce(&Desktop, &Cancel) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, ToolError> {
        let (desktop, cancel) = (self.host.desktop.clone(), Cancel::new(self.cx.cancel.clone(), Some(self.cx.deadline)));
        blocking(move || action(&desktop, &cancel)).await
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, ToolError> {
    let working = tokio::task::spawn_blocking(work);
    working.await.map_err(|error| ToolError::failed(format!("the action broke off: {error}")))?.map_err(engine_errors::desktop)
}

/// A mouse button, as callers name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum ButtonName {
    #[default]
    Left,
    Right,
    Middle,
}

impl From<ButtonName> for Button {
    fn from(name: ButtonName) -> Self {
        match name {
            ButtonName::Left => Self::Left,
            ButtonName::Right => Self::Right,
            ButtonName::Middle => Self::Middle,
        }
    }
}

/// A place from two parameters that belong together: both or neither.
pub(crate) fn place(x: Option<i32>, y: Option<i32>) -> Result<Option<(i32, i32)>, ToolError> {
    match (x, y) {
        (Some(x), Some(y)) => Ok(Some((x, y))),
        (None, None) => Ok(None),
        _ => Err(ToolError::invalid("x and y belong together: give both, or neither for where the pointer is")),
    }
}

/// The result of an action that has nothing more to tell.
#[derive(Serialize, JsonSchema)]
pub struct Done {
    /// True: it has been done.
    pub(crate) ok: bool,
}

impl Done {
    pub(crate) const OK: Self = Self { ok: true };
}
