//! From a parsed call to its outcome: gate, lane, run, and every way in which a running call can be ended.

use super::{Call, Dispatcher, Found, deadline_of};
use crate::gate::Request;
use crate::lane::{HOLD, Place};
use crate::registry::Prepared;
use crate::{Context, ErrorKind, Halt, Outcome, Permit, ToolError};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use tokio::time::Instant;

/// How long a handler whose call was ended may take to notice and say how far it came. Stop promises 100 ms; what is
/// held down is released before this wait.
const GRACE: Duration = Duration::from_millis(90);

/// What ended a call from outside.
enum Cause {
    Caller,
    Person(Halt),
    Deadline,
}

impl Cause {
    fn error(&self) -> ToolError {
        match self {
            Self::Caller => ToolError::cancelled("the caller cancelled the call"),
            Self::Person(halt) => halt.error(),
            Self::Deadline => ToolError::timed_out("the call did not finish before its deadline and was ended"),
        }
    }

    /// The outcome of a handler that noticed: what was done stays done, and how far it came is told.
    fn of(&self, outcome: Outcome) -> Outcome {
        outcome.map_err(|own| {
            let mut error = self.error();
            if matches!(own.kind, ErrorKind::Cancelled | ErrorKind::TimedOut | ErrorKind::Failed) && !own.message.is_empty() {
                error.message = format!("{}; {}", error.message, own.message);
            }
            error.details = own.details;
            error
        })
    }
}

async fn ended(call: &Call, permit: Option<&Permit>, deadline: Instant) -> Cause {
    let halted = async {
        match permit {
            Some(permit) => permit.ended().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = halted => Cause::Person(permit.and_then(Permit::halted).cloned().unwrap_or_else(|| Halt::Stopped("it ended".into()))),
        () = call.cancel.cancelled() => Cause::Caller,
        () = tokio::time::sleep_until(deadline) => Cause::Deadline,
    }
}

impl Dispatcher {
    /// Gate, lane, run.
    pub(super) async fn allowed(&self, call: &Call, found: &Found<'_>, prepared: Prepared) -> Outcome {
        let deadline = deadline_of(call, prepared.timeout)?;
        let looks = matches!(found, Found::Ours(h) if h.info.looks);
        let request = Request {
            caller: &call.caller,
            tool: &call.tool,
            groups: prepared.groups,
            looks,
            shown: &prepared.shown,
            digest: prepared.digest,
        };
        let permit = tokio::select! {
            biased;
            permit = self.gate().admit(&request, deadline) => permit?,
            cause = ended(call, None, deadline) => return Err(cause.error()),
        };
        let scope = call.caller.scope();
        let place = tokio::select! {
            biased;
            cause = ended(call, Some(&permit), deadline) => return Err(in_queue(&cause)),
            place = self.inner.lanes.enter(prepared.lane.clone(), &scope) => place,
        };
        let outcome = self.guarded(call, found, prepared, permit, deadline, place.as_ref()).await;
        if looks && outcome.is_ok() {
            self.gate().looked(&call.caller);
        }
        if let Some(place) = place.filter(Place::is_desktop) {
            self.leave_desktop(place, &scope);
        }
        outcome
    }

    /// Runs the handler until it ends or is ended. What is held down comes up on every way out but success.
    async fn guarded(
        &self,
        call: &Call,
        found: &Found<'_>,
        prepared: Prepared,
        permit: Permit,
        deadline: Instant,
        place: Option<&Place>,
    ) -> Outcome {
        let token = call.cancel.child_token();
        let cx = Context::new(permit.clone(), call.caller.clone(), token.clone(), deadline.into_std(), call.progress.clone());
        let running = async {
            match found {
                Found::Ours(handler) => handler.run(cx, prepared).await,
                Found::Foreign => self.inner.parts.extras.call(&cx, &call.tool, prepared.into_foreign()).await,
            }
        };
        let mut running = Box::pin(AssertUnwindSafe(running).catch_unwind());
        let release = || {
            if place.is_some_and(Place::is_desktop) {
                self.inner.parts.held.release();
            }
        };
        let finished = tokio::select! {
            biased;
            cause = ended(call, Some(&permit), deadline) => Err(cause),
            outcome = &mut running => Ok(outcome),
        };
        match finished {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_panic)) => {
                release();
                Err(ToolError::failed(format!(
                    "{} broke down inside Deskhand; nothing is held down any more. This is a fault of Deskhand, please report it",
                    call.tool
                )))
            }
            Err(cause) => {
                token.cancel();
                release();
                let outcome = tokio::time::timeout(GRACE, running).await;
                // Once more: the handler may have pressed something before it noticed.
                release();
                match outcome {
                    Ok(Ok(outcome)) => cause.of(outcome),
                    _ => Err(cause.error()),
                }
            }
        }
    }

    /// Input that stays down keeps the lane for its conversation, for a while.
    fn leave_desktop(&self, place: Place, scope: &str) {
        if !self.inner.parts.held.any() {
            place.keep(false);
            return;
        }
        let renewal = place.keep(true);
        drop(place);
        let (dispatcher, scope) = (self.clone(), scope.to_owned());
        tokio::spawn(async move {
            tokio::time::sleep(HOLD).await;
            dispatcher.let_go(&scope, Some(renewal)).await;
        });
    }
}

fn in_queue(cause: &Cause) -> ToolError {
    let mut error = cause.error();
    if matches!(cause, Cause::Deadline) {
        error.message = "other calls kept this one waiting until its deadline; nothing was done. Try again".into();
    }
    error
}
