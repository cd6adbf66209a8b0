//! Asking the person. The gate decides when; something with a window (or a test's script) puts the question.

use crate::{Caller, Grant, Group};
use async_trait::async_trait;
use serde::Serialize;

/// What the person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptKind {
    /// AI control is off: "Authorize AI control?"
    Authorize,
    /// AI control is on, and this group is outside of what was granted to this caller.
    Group(Group),
}

/// One question, as it is shown.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// Tells prompts apart; counts up.
    pub id: u64,
    /// What is asked.
    pub kind: PromptKind,
    /// Who asks.
    pub caller: Caller,
    /// The tool whose call made the question necessary.
    pub tool: String,
    /// Its arguments as the audit log writes them (private text as its length).
    pub arguments: serde_json::Value,
}

/// What the person said.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Arms one call of the same caller with the same arguments for 60 s.
    Once,
    /// Allows the group to this caller until AI control ends.
    Session,
    /// Allows the group to this caller whenever AI control is on; listed, revocable.
    Always,
    /// Authorises AI control (the answer to [`PromptKind::Authorize`]).
    Authorize(Grant),
    /// Refuses the group to this caller until the person changes it.
    Refuse,
}

/// Puts questions to the person.
#[async_trait]
pub trait Consent: Send + Sync {
    /// Shows the question and waits for the answer, however long. The gate drops the future after 2 minutes, which must
    /// take the question off the screen. `None` when it could not be shown.
    async fn ask(&self, prompt: Prompt) -> Option<Answer>;
}
