//! What all browser tools share: the caller's tab, the deadline, and what a result says besides its own matter.

use crate::Host;
use deskhand_browser::{BrowserError, Happened, Naming, Page};
use deskhand_core::{Caller, Context, ErrorKind, Lane, ToolError};
use std::time::Duration;
use tokio::time::Instant;

/// Left before the call's own deadline, so that the engine's words are heard and not only that time is over.
const MARGIN: Duration = Duration::from_millis(800);

/// An error of the browser engine, sorted by who can act. The texts are the engine's own.
pub(crate) fn sorted(error: BrowserError) -> ToolError {
    let kind = match error {
        BrowserError::Argument(_) | BrowserError::Selector { .. } => ErrorKind::InvalidArguments,
        BrowserError::NoElement { .. } | BrowserError::NoTab { .. } => ErrorKind::NotFound,
        BrowserError::Refused(_) => ErrorKind::Denied,
        BrowserError::TimedOut { .. } => ErrorKind::TimedOut,
        BrowserError::Unavailable(_) => ErrorKind::Unavailable,
        _ => ErrorKind::Failed,
    };
    ToolError::new(kind, error.to_string())
}

/// When the engine has to be done.
pub(crate) fn deadline(cx: &Context) -> Instant {
    let end = Instant::from_std(cx.deadline);
    end.checked_sub(MARGIN).unwrap_or(end)
}

/// Runs work of the engine until it is done or the call is cancelled.
pub(crate) async fn unless_cancelled<T>(cx: &Context, work: impl Future<Output = Result<T, BrowserError>>) -> Result<T, ToolError> {
    tokio::select! {
        biased;
        done = work => done.map_err(sorted),
        () = cx.cancel.cancelled() => {
            if cx.remaining().is_zero() { Err(ToolError::timed_out("the browser was not done in the time left for this call")) } else { Err(ToolError::cancelled("the call was ended while the browser worked; what it had done by then is done")) }
        }
    }
}

/// Runs work on the caller's current tab, and tells what happened in it besides.
pub(crate) async fn on_page<T>(
    host: &Host,
    cx: &Context,
    naming: Naming,
    work: impl AsyncFnOnce(&Page) -> Result<T, BrowserError>,
) -> Result<(T, Happened), ToolError> {
    let (scope, shown) = (cx.caller.scope(), cx.caller.to_string());
    let work = async {
        let page = host.browsers.page_of(&scope, naming, deadline(cx), &shown).await?;
        told(&page, work(&page).await).map_err(|e| host.browsers.after_loss(&scope, e))
    };
    unless_cancelled(cx, work).await
}

/// Joins a result, or an error's text, with what happened in the tab.
pub(crate) fn told<T>(page: &Page, done: Result<T, BrowserError>) -> Result<(T, Happened), BrowserError> {
    let happened = page.happened();
    match done {
        Ok(done) => Ok((done, happened)),
        Err(error) => Err(error.with_note(&happened.sentence())),
    }
}

/// The lane of the caller's current tab.
pub(crate) fn tab_lane(host: &Host, caller: &Caller) -> Lane {
    Lane::Tab(host.browsers.lane(&caller.scope()))
}
