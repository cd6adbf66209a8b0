//! Questions that are on the screen, and what the answers do. One question per caller and kind at a time; a call waits
//! a short while for its answer and then reports `consent_pending`, so that no door hangs on a person who is away.

use super::{Gate, Request};
use crate::{Answer, Consent, Group, Prompt, PromptKind, Standing, ToolError};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a call waits for the person's answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// How long a question stays before it counts as one refusal that is not remembered.
const UNANSWERED: Duration = Duration::from_secs(120);
/// How long an "allow once" waits for its call.
const ARMED: Duration = Duration::from_secs(60);
/// When a client should try again after `consent_pending`.
const RETRY_MS: u64 = 2_000;

/// A call allowed once: the same caller, tool and parsed arguments.
pub(super) struct Armed {
    pub(super) caller: String,
    tool: String,
    digest: [u8; 32],
    until: Instant,
}

/// What came of a question while a call waited for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Waiting,
    Answered,
    Unanswered,
}

/// One question per caller and kind.
pub(super) type Key = (String, Option<Group>);

/// A question on the screen.
pub(super) struct Open {
    verdict: watch::Receiver<Verdict>,
    /// Ends when the question is to be taken off the screen.
    pub(super) withdrawn: CancellationToken,
}

/// What an answer is applied to.
struct Asked {
    key: Key,
    tool: String,
    digest: [u8; 32],
}

impl Gate {
    /// Puts the question unless it already stands, and waits until it is answered or `patience` is over.
    pub(super) async fn question(&self, request: &Request<'_>, kind: PromptKind, patience: Instant) -> Result<Verdict, ToolError> {
        let Some(consent) = &self.inner.consent else {
            return Err(ToolError::denied("nobody can be asked here; the policy given at start decides"));
        };
        let mut verdict = self.standing_question(consent, request, kind);
        match tokio::time::timeout_at(patience, verdict.wait_for(|v| *v != Verdict::Waiting)).await {
            Err(_) => Ok(Verdict::Waiting),
            Ok(Ok(verdict)) => Ok(*verdict),
            Ok(Err(_)) => Ok(Verdict::Unanswered),
        }
    }

    fn standing_question(&self, consent: &Arc<dyn Consent>, request: &Request<'_>, kind: PromptKind) -> watch::Receiver<Verdict> {
        let group = match kind {
            PromptKind::Authorize => None,
            PromptKind::Group(group) => Some(group),
        };
        let key: Key = (request.caller.id(), group);
        let mut open = self.inner.open.lock();
        if let Some(question) = open.get(&key) {
            return question.verdict.clone();
        }
        let id = self.inner.next_prompt.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let prompt = Prompt { id, kind, caller: request.caller.clone(), tool: request.tool.to_owned(), arguments: request.shown.clone() };
        let asked = Asked { key: key.clone(), tool: request.tool.to_owned(), digest: request.digest };
        let (tx, rx) = watch::channel(Verdict::Waiting);
        let withdrawn = CancellationToken::new();
        open.insert(key, Open { verdict: rx.clone(), withdrawn: withdrawn.clone() });
        tokio::spawn(put(self.clone(), Arc::clone(consent), prompt, asked, tx, withdrawn));
        rx
    }

    fn apply(&self, answer: Answer, asked: &Asked) -> Verdict {
        let (caller, group) = &asked.key;
        let mut state = self.inner.state.lock();
        match (answer, group) {
            (Answer::Authorize(grant), _) => {
                drop(state);
                self.authorise(grant);
                return Verdict::Answered;
            }
            (Answer::Once, Some(_)) => {
                let until = Instant::now() + ARMED;
                state.armed.push(Armed { caller: caller.clone(), tool: asked.tool.clone(), digest: asked.digest, until });
            }
            (Answer::Session, Some(group)) => {
                state.session.insert((caller.clone(), *group));
            }
            (Answer::Always, Some(group)) => remember(&mut state.standing, caller, *group, true),
            (Answer::Refuse, Some(group)) => remember(&mut state.standing, caller, *group, false),
            (Answer::Refuse, None) => {
                state.refused_control.insert(caller.clone());
            }
            // Allowing one group does not authorise AI control; the question stays unanswered.
            (Answer::Once | Answer::Session | Answer::Always, None) => return Verdict::Unanswered,
        }
        drop(state);
        self.notify();
        Verdict::Answered
    }
}

/// Shows one question until it is answered, withdrawn or too old, and applies the answer.
async fn put(
    gate: Gate,
    consent: Arc<dyn Consent>,
    prompt: Prompt,
    asked: Asked,
    tx: watch::Sender<Verdict>,
    withdrawn: CancellationToken,
) {
    let answer = tokio::select! {
        answer = tokio::time::timeout(UNANSWERED, consent.ask(prompt)) => answer.ok().flatten(),
        () = withdrawn.cancelled() => None,
    };
    // An answer given to a question that was withdrawn in the same moment must not bring AI control back.
    let verdict = match answer {
        Some(answer) if !withdrawn.is_cancelled() => gate.apply(answer, &asked),
        _ => Verdict::Unanswered,
    };
    if !withdrawn.is_cancelled() {
        gate.inner.open.lock().remove(&asked.key);
    }
    let _ = tx.send(verdict);
}

fn remember(standing: &mut std::collections::BTreeSet<Standing>, caller: &str, group: Group, allowed: bool) {
    standing.remove(&Standing { caller: caller.to_owned(), group, allowed: !allowed });
    standing.insert(Standing { caller: caller.to_owned(), group, allowed });
}

/// Uses up an "allow once" that was given for exactly this call.
pub(super) fn take_armed(armed: &mut Vec<Armed>, id: &str, request: &Request<'_>) -> bool {
    let now = Instant::now();
    armed.retain(|a| a.until > now);
    let found = armed.iter().position(|a| a.caller == id && a.tool == request.tool && a.digest == request.digest);
    found.map(|i| armed.swap_remove(i)).is_some()
}

/// The answer of a call whose question still stands.
pub(super) fn pending(request: &Request<'_>, kind: PromptKind) -> ToolError {
    let what = match kind {
        PromptKind::Authorize => "to authorise AI control".to_owned(),
        PromptKind::Group(group) => format!("to allow {group} to {}", request.caller),
    };
    ToolError::new(
        crate::ErrorKind::ConsentPending,
        format!("the person has been asked {what} and has not answered yet; nothing was done. Try again in a moment"),
    )
    .with("retry_after_ms", RETRY_MS)
}
