//! The answer to a question of ours, whole or in parts.

use x11rb::protocol::xproto::Atom;

use crate::{Error, Result};

/// How far the answer is.
#[derive(Debug, Default)]
pub(super) enum Incoming {
    /// Nothing was asked.
    #[default]
    Idle,
    /// The owner has not answered.
    Waiting,
    /// It sends part after part.
    Growing(Vec<u8>),
    /// That was all; `None`: it has no such form.
    Done(Option<Vec<u8>>),
    /// More than we take.
    TooMuch,
}

impl Incoming {
    /// The owner's first answer: the type and bytes of the property, or nothing.
    pub(super) fn begin(&mut self, answer: Option<(Atom, Vec<u8>)>, incr: Atom) {
        if !matches!(self, Self::Waiting) {
            return;
        }
        *self = match answer {
            Some((kind, _)) if kind == incr => Self::Growing(Vec::new()),
            Some((_, bytes)) => Self::Done(Some(bytes)),
            None => Self::Done(None),
        };
    }

    /// One more part; an empty one is the end.
    pub(super) fn add(&mut self, part: &[u8], most: usize) {
        if let Self::Growing(bytes) = self {
            if part.is_empty() {
                *self = Self::Done(Some(std::mem::take(bytes)));
            } else if bytes.len() + part.len() > most {
                *self = Self::TooMuch;
            } else {
                bytes.extend_from_slice(part);
            }
        }
    }

    pub(super) const fn is_growing(&self) -> bool {
        matches!(self, Self::Growing(_))
    }

    /// A number that changes while the owner is at work.
    pub(super) fn progress(&self) -> usize {
        match self {
            Self::Growing(bytes) => bytes.len() + 1,
            _ => 0,
        }
    }

    /// The whole answer, once.
    pub(super) fn finished(&mut self, most: usize) -> Option<Result<Option<Vec<u8>>>> {
        match std::mem::take(self) {
            Self::Done(answer) => Some(Ok(answer)),
            Self::TooMuch => Some(Err(Error::failed("reading the clipboard", format!("it is more than {} MB", most >> 20)))),
            other => {
                *self = other;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_whole_in_parts_or_not_at_all() {
        let mut one = Incoming::Waiting;
        one.begin(Some((1, b"abc".to_vec())), 9);
        assert_eq!(one.finished(10).unwrap().unwrap(), Some(b"abc".to_vec()));
        assert!(one.finished(10).is_none());
        let mut parts = Incoming::Waiting;
        parts.begin(Some((9, vec![0; 4])), 9);
        parts.add(b"ab", 10);
        parts.add(b"cd", 10);
        assert!(parts.finished(10).is_none());
        parts.add(b"", 10);
        assert_eq!(parts.finished(10).unwrap().unwrap(), Some(b"abcd".to_vec()));
        let mut none = Incoming::Waiting;
        none.begin(None, 9);
        assert_eq!(none.finished(10).unwrap().unwrap(), None);
        let mut much = Incoming::Growing(Vec::new());
        much.add(&[0; 11], 10);
        assert!(much.finished(10).unwrap().is_err());
    }
}
