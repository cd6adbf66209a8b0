//! How far documents have come, by their loader. Kept beside the frames because Chrome tells of a document's progress
//! before it is known which frame it belongs to, when a session begins on a page that is there already.

use std::collections::VecDeque;

/// How many documents are remembered; a page with more frames than this only forgets old ones.
const DOCUMENTS: usize = 64;

/// The documents whose progress was told of last.
#[derive(Debug, Default)]
pub(crate) struct Progress(VecDeque<(String, bool)>);

impl Progress {
    /// A document is parsed, and `loaded` too or not yet.
    pub(crate) fn came(&mut self, loader: &str, loaded: bool) {
        if let Some(known) = self.0.iter_mut().find(|p| p.0 == loader) {
            known.1 |= loaded;
            return;
        }
        if self.0.len() == DOCUMENTS {
            self.0.pop_front();
        }
        self.0.push_back((loader.to_owned(), loaded));
    }

    /// Whether a document is parsed, and whether it has fired `load`.
    pub(crate) fn of(&self, loader: &str) -> (bool, bool) {
        self.0.iter().find(|p| p.0 == loader).map_or((false, false), |p| (true, p.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loading_only_goes_forward_and_old_documents_are_forgotten() {
        let mut progress = Progress::default();
        progress.came("a", true);
        progress.came("a", false);
        assert_eq!((progress.of("a"), progress.of("b")), ((true, true), (false, false)));
        (0..DOCUMENTS).for_each(|n| progress.came(&n.to_string(), false));
        assert_eq!(progress.of("a"), (false, false));
    }
}
