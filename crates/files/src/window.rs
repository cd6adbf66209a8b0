//! A view of at most so many bytes onto a text that is produced piece by piece.
//!
//! A document is turned into text from its start each time (there is no way into the middle of a compressed sheet);
//! what lies before `offset` and after the window is counted, not kept, so memory does not grow with the document.

/// Text is counted this far beyond the window so that `total_bytes` can be told; then the work ends.
const COUNTED_BEYOND: u64 = 32 << 20;

/// Collects the part of a stream of text that the caller asked for.
pub(crate) struct Window {
    offset: u64,
    limit: usize,
    text: String,
    seen: u64,
    full: bool,
    ended_early: bool,
}

/// What was collected.
pub(crate) struct View {
    pub(crate) text: String,
    /// Bytes of the whole text, or the least it can be.
    pub(crate) total: u64,
    /// `total` is only the least it can be.
    pub(crate) total_is_minimum: bool,
    /// Where to go on, when there is more.
    pub(crate) next: Option<u64>,
}

impl Window {
    /// At most `limit` bytes beginning at `offset`.
    pub(crate) fn new(offset: u64, limit: usize) -> Self {
        Self { offset, limit, text: String::new(), seen: 0, full: false, ended_early: false }
    }

    /// Adds text. Answers whether more is of any use.
    pub(crate) fn push(&mut self, piece: &str) -> bool {
        let mut start = 0;
        if self.seen < self.offset {
            let skip = usize::try_from(self.offset - self.seen).unwrap_or(usize::MAX).min(piece.len());
            start = (skip..=piece.len()).find(|at| piece.is_char_boundary(*at)).unwrap_or(piece.len());
        }
        if !self.full && start < piece.len() {
            let room = self.limit - self.text.len();
            let most = (start + room).min(piece.len());
            let end = (start..=most).rev().find(|at| piece.is_char_boundary(*at)).unwrap_or(start);
            self.text.push_str(&piece[start..end]);
            self.full = end < piece.len();
        }
        self.seen += piece.len() as u64;
        let useful = self.seen < self.offset + self.limit as u64 + COUNTED_BEYOND;
        self.ended_early |= !useful;
        useful
    }

    /// The work ended before the text did (a limit was met).
    pub(crate) fn end_early(&mut self) {
        self.ended_early = true;
    }

    /// Bytes produced so far.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    pub(crate) fn view(self) -> View {
        let end = self.offset.min(self.seen) + self.text.len() as u64;
        let more = self.full || self.ended_early;
        View { total: self.seen, total_is_minimum: self.ended_early, next: more.then_some(end), text: self.text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(text: &str, piece: usize, offset: u64, limit: usize) -> View {
        let mut window = Window::new(offset, limit);
        let mut rest = text;
        while !rest.is_empty() {
            let (now, later) = rest.split_at((piece.min(rest.len())..).find(|at| rest.is_char_boundary(*at)).unwrap());
            window.push(now);
            rest = later;
        }
        window.view()
    }

    #[test]
    fn windows_put_together_are_the_text() {
        let text = "aé漢😀b\n".repeat(50);
        for piece in [1, 3, 7, 1000] {
            for limit in [4, 5, 9, 10_000] {
                let (mut all, mut offset) = (String::new(), 0);
                loop {
                    let view = through(&text, piece, offset, limit);
                    assert!(view.text.len() <= limit);
                    assert_eq!((view.total, view.total_is_minimum), (text.len() as u64, false));
                    all.push_str(&view.text);
                    let Some(next) = view.next else { break };
                    assert!(next > offset);
                    offset = next;
                }
                assert_eq!(all, text, "pieces of {piece}, windows of {limit}");
            }
        }
    }
}
