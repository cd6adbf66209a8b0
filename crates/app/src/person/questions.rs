//! Questions to the person: one on the screen, the others wait behind it in the order in which they came.

use async_trait::async_trait;
use deskhand_core::{Answer, Consent, Grant, Prompt, PromptKind};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::{oneshot, watch};

/// After this time the gate takes a question back.
const LIFE: Duration = Duration::from_secs(120);

struct Asked {
    prompt: Prompt,
    expires: SystemTime,
    answer: oneshot::Sender<Answer>,
}

/// The question on the screen.
#[derive(Clone, Debug)]
pub struct Front {
    /// What is asked.
    pub prompt: Prompt,
    /// When it is taken back.
    pub expires: SystemTime,
    /// How many wait behind it.
    pub waiting: usize,
}

/// A handle: clones are the same queue.
#[derive(Clone)]
pub struct Questions {
    queue: Arc<Mutex<VecDeque<Asked>>>,
    changed: watch::Sender<u64>,
}

impl Default for Questions {
    fn default() -> Self {
        Self { queue: Arc::default(), changed: watch::Sender::new(0) }
    }
}

impl Questions {
    /// Wakes when another question is in front, or another one waits.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// The one on the screen.
    #[must_use]
    pub fn front(&self) -> Option<Front> {
        let queue = self.queue.lock();
        let first = queue.front()?;
        Some(Front { prompt: first.prompt.clone(), expires: first.expires, waiting: queue.len() - 1 })
    }

    /// Answers the question on the screen. No other one can be answered: the person has not seen it.
    ///
    /// # Errors
    /// A sentence for the person when it is no longer there, or is no question of that kind.
    pub fn answer(&self, id: u64, answer: Answer) -> Result<(), &'static str> {
        let mut queue = self.queue.lock();
        let front = queue.front().filter(|asked| asked.prompt.id == id).ok_or("That question was taken back; nothing was changed.")?;
        let authorises = front.prompt.kind == PromptKind::Authorize;
        match (&answer, authorises) {
            (Answer::Authorize(_) | Answer::Refuse, true) | (Answer::Once | Answer::Session | Answer::Always | Answer::Refuse, false) => {}
            _ => return Err("That is no answer to this question; nothing was changed."),
        }
        if let Some(asked) = queue.pop_front() {
            let grant = if let Answer::Authorize(grant) = &answer { Some(grant.clone()) } else { None };
            let _ = asked.answer.send(answer);
            drop(queue);
            match grant {
                Some(grant) => self.authorised(&grant),
                None => self.notify(),
            }
        }
        Ok(())
    }

    /// AI control is on: whoever waited to have it switched on is let go on, to be asked for its group if need be.
    pub fn authorised(&self, grant: &Grant) {
        let mut queue = self.queue.lock();
        let (moot, left): (VecDeque<_>, VecDeque<_>) = queue.drain(..).partition(|asked| asked.prompt.kind == PromptKind::Authorize);
        *queue = left;
        drop(queue);
        for asked in moot {
            let _ = asked.answer.send(Answer::Authorize(grant.clone()));
        }
        self.notify();
    }

    fn notify(&self) {
        self.changed.send_modify(|n| *n += 1);
    }
}

/// Takes a question off the screen when the gate no longer waits for it.
struct OffTheScreen<'a>(&'a Questions, u64);

impl Drop for OffTheScreen<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock();
        let before = queue.len();
        queue.retain(|asked| asked.prompt.id != self.1);
        let gone = queue.len() != before;
        drop(queue);
        if gone {
            self.0.notify();
        }
    }
}

#[async_trait]
impl Consent for Questions {
    async fn ask(&self, prompt: Prompt) -> Option<Answer> {
        let (answer, answered) = oneshot::channel();
        let off = OffTheScreen(self, prompt.id);
        self.queue.lock().push_back(Asked { prompt, expires: SystemTime::now() + LIFE, answer });
        self.notify();
        let answer = answered.await.ok();
        drop(off);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deskhand_core::{Caller, Callers, Group, GroupSet};

    fn prompt(id: u64, kind: PromptKind) -> Prompt {
        Prompt { id, kind, caller: Caller::client("a"), tool: "t".into(), arguments: serde_json::Value::Null }
    }

    #[tokio::test]
    async fn one_is_on_the_screen_and_the_others_wait_their_turn() {
        let questions = Questions::default();
        let ask = |id| {
            tokio::spawn({
                let q = questions.clone();
                async move { q.ask(prompt(id, PromptKind::Group(Group::Mouse))).await }
            })
        };
        let mut changes = questions.changes();
        let first = ask(1);
        changes.changed().await.unwrap();
        let second = ask(2);
        changes.changed().await.unwrap();
        let front = questions.front().unwrap();
        assert_eq!((front.prompt.id, front.waiting), (1, 1));
        assert!(questions.answer(2, Answer::Always).is_err(), "it is not on the screen yet");
        assert!(questions.answer(1, Answer::Authorize(Grant::lasting(GroupSet::ALL, Callers::Everyone))).is_err());
        questions.answer(1, Answer::Once).unwrap();
        assert!(matches!(first.await.unwrap(), Some(Answer::Once)));
        assert_eq!(questions.front().unwrap().prompt.id, 2);
        second.abort();
        let _ = second.await;
        assert!(questions.front().is_none(), "a question that nobody waits for is taken off the screen");
        assert!(questions.answer(2, Answer::Always).is_err());
    }

    #[tokio::test]
    async fn authorising_once_answers_everybody_who_asked_for_it() {
        let questions = Questions::default();
        let mut changes = questions.changes();
        let mut asked = Vec::new();
        for (id, kind) in [(1, PromptKind::Authorize), (2, PromptKind::Authorize), (3, PromptKind::Group(Group::Mouse))] {
            let q = questions.clone();
            asked.push(tokio::spawn(async move { q.ask(prompt(id, kind)).await }));
            changes.changed().await.unwrap();
        }
        questions.answer(1, Answer::Authorize(Grant::lasting(GroupSet::ALL, Callers::Everyone))).unwrap();
        for _ in 0..2 {
            assert!(matches!(asked.remove(0).await.unwrap(), Some(Answer::Authorize(_))));
        }
        assert_eq!(questions.front().unwrap().prompt.id, 3);
        asked[0].abort();
    }
}
