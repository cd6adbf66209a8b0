//! Looking for text among the lines that were read.

use super::{Line, Rect};
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;

/// Why a query cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Nothing to look for.
    #[error("there is no text to look for; give at least one character that is not a space")]
    Empty,
    /// The regular expression cannot be read.
    #[error("the regular expression cannot be used: {0}")]
    Pattern(String),
}

/// What to look for.
pub enum Query {
    /// Text: letter case and spaces are forgiven, exact and whole matches come first.
    Text(String),
    /// A regular expression over each line.
    Pattern(regex::Regex),
}

/// How much of a line a match is; the better the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchKind {
    /// A part of a word.
    Part,
    /// Whole words.
    Words,
    /// The whole line.
    Line,
}

/// A place where it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// Index of the line among those searched.
    pub line: usize,
    /// The words it covers, in pixels of the screen.
    pub rect: Rect,
    /// How much of the line it is.
    pub kind: MatchKind,
    /// 1 for the whole line exactly as asked for, less for a part or another case; times the line's confidence.
    pub score: f32,
}

impl Query {
    /// A query for `text`; `/…/` and `/…/i` is a regular expression.
    ///
    /// # Errors
    /// [`FindError`] when nothing can be looked for.
    pub fn parse(text: &str) -> Result<Self, FindError> {
        let pattern = |body: &str, insensitive: bool| {
            let built = regex::RegexBuilder::new(body).case_insensitive(insensitive).size_limit(1 << 20).build();
            built.map(Self::Pattern).map_err(|e| FindError::Pattern(e.to_string()))
        };
        if let Some(body) = text.strip_prefix('/') {
            if let Some(body) = body.strip_suffix("/i").filter(|b| !b.is_empty()) {
                return pattern(body, true);
            }
            if let Some(body) = body.strip_suffix('/').filter(|b| !b.is_empty()) {
                return pattern(body, false);
            }
        }
        if folded(text).is_empty() { Err(FindError::Empty) } else { Ok(Self::Text(text.into())) }
    }

    /// All matches in `lines`, best first.
    #[must_use]
    pub fn run(&self, lines: &[Line]) -> Vec<Match> {
        let mut matches: Vec<Match> = lines.iter().enumerate().flat_map(|(at, line)| self.in_line(at, line)).collect();
        matches.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.line.cmp(&b.line)).then(a.rect.x.cmp(&b.rect.x)));
        matches
    }

    fn in_line(&self, at: usize, line: &Line) -> Vec<Match> {
        match self {
            Self::Pattern(pattern) => {
                let found = pattern.find_iter(&line.text).filter(|m| !m.is_empty());
                found.map(|m| a_match(at, line, m.start()..m.end(), true)).collect()
            }
            Self::Text(text) => text_matches(text, at, line),
        }
    }
}

/// Normal form for comparing: compatible forms made one, small letters, no white space.
fn folded(text: &str) -> Vec<char> {
    text.nfkc().flat_map(char::to_lowercase).filter(|c| !c.is_whitespace()).collect()
}

fn text_matches(text: &str, at: usize, line: &Line) -> Vec<Match> {
    let wanted = folded(text);
    // Each folded character with where it comes from in the line's text.
    let mut here: Vec<(char, usize, usize)> = Vec::new();
    for (start, c) in line.text.char_indices() {
        let source = line.text[start..start + c.len_utf8()].to_owned();
        here.extend(folded(&source).into_iter().map(|f| (f, start, start + c.len_utf8())));
    }
    let mut matches = Vec::new();
    let mut from = 0;
    while from + wanted.len() <= here.len() {
        if here[from..from + wanted.len()].iter().map(|h| h.0).eq(wanted.iter().copied()) {
            let span = here[from].1..here[from + wanted.len() - 1].2;
            let exact = line.text[span.clone()].split_whitespace().eq(text.split_whitespace());
            matches.push(a_match(at, line, span, exact));
            from += wanted.len();
        } else {
            from += 1;
        }
    }
    matches
}

/// The match of bytes `span` of a line's text; `exact` when nothing had to be forgiven.
fn a_match(at: usize, line: &Line, span: Range<usize>, exact: bool) -> Match {
    let alone = is_edge(&line.text[..span.start], true) && is_edge(&line.text[span.end..], false);
    let (kind, score) = match (span.len() == line.text.len(), alone) {
        (true, _) => (MatchKind::Line, 1.0),
        (false, true) => (MatchKind::Words, 0.8),
        (false, false) => (MatchKind::Part, 0.6),
    };
    let score = if exact { score } else { score - 0.05 };
    Match { line: at, rect: covered(line, span.start, span.end), kind, score: score * line.confidence }
}

/// Whether a match that touches this rest of the line ends at a word's edge.
fn is_edge(rest: &str, before: bool) -> bool {
    let next = if before { rest.chars().next_back() } else { rest.chars().next() };
    next.is_none_or(|c| !c.is_alphanumeric())
}

/// The part of the line's box that bytes `start..end` of its text cover, by its words and evenly within each of them.
fn covered(line: &Line, start: usize, end: usize) -> Rect {
    let mut at = 0;
    let mut area: Option<Rect> = None;
    for word in &line.words {
        let (first, last) = (at, at + word.text.len());
        at = last + 1;
        let (from, to) = (start.max(first), end.min(last));
        if from >= to {
            continue;
        }
        let count = |bytes: usize| word.text.get(..bytes).map_or(0, |t| t.chars().count()) as u32;
        let all = word.text.chars().count().max(1) as u32;
        let (left, right) = (word.rect.width * count(from - first) / all, word.rect.width * count(to - first) / all);
        let part = Rect::new(word.rect.x + left as i32, word.rect.y, (right - left).max(1), word.rect.height);
        area = Some(area.map_or(part, |a| a.union(&part)));
    }
    area.unwrap_or(line.rect)
}

#[cfg(test)]
mod tests {
    use super::super::Word;
    use super::*;

    fn line(words: &[(&str, i32)]) -> Line {
        let words: Vec<Word> = words
            .iter()
            .map(|(t, x)| Word { text: (*t).into(), confidence: 1.0, rect: Rect::new(*x, 0, 10 * t.chars().count() as u32, 10) })
            .collect();
        let text = words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" ");
        let rect = words.iter().map(|w| w.rect).reduce(|a, b| a.union(&b)).unwrap();
        Line { text, confidence: 1.0, rect, words }
    }

    fn run(query: &str, lines: &[Line]) -> Vec<(usize, MatchKind, Rect)> {
        Query::parse(query).unwrap().run(lines).into_iter().map(|m| (m.line, m.kind, m.rect)).collect()
    }

    #[test]
    fn whole_lines_come_before_words_before_parts() {
        let lines = [line(&[("Bookmark", 0)]), line(&[("OK", 0), ("then", 30)]), line(&[("ok", 0)]), line(&[("OK", 0)])];
        let kinds: Vec<_> = run("OK", &lines).into_iter().map(|m| (m.0, m.1)).collect();
        assert_eq!(kinds, [(3, MatchKind::Line), (2, MatchKind::Line), (1, MatchKind::Words), (0, MatchKind::Part)]);
    }

    #[test]
    fn a_match_covers_its_own_words_only() {
        let lines = [line(&[("Save", 0), ("file", 50), ("as…", 100)])];
        assert_eq!(run("file as", &lines)[0].2, Rect::new(50, 0, 70, 10));
        assert_eq!(run("ile", &lines)[0].2, Rect::new(60, 0, 30, 10));
    }

    #[test]
    fn case_width_and_spaces_are_forgiven() {
        let lines = [line(&[("取消", 0), ("Ｃａｎｃｅｌ", 30)])];
        assert_eq!(run("取 消cancel", &lines).len(), 1);
        assert_eq!(run("取消", &lines)[0].2, Rect::new(0, 0, 20, 10));
    }

    #[test]
    fn patterns_match_within_a_line() {
        let lines = [line(&[("total", 0), ("1,204", 60)])];
        assert_eq!(run(r"/\d,\d+/", &lines)[0].2, Rect::new(60, 0, 50, 10));
        assert_eq!(run("/TOTAL/", &lines).len(), 0);
        assert_eq!(run("/TOTAL/i", &lines).len(), 1);
        assert!(matches!(Query::parse("/(/"), Err(FindError::Pattern(_))));
        assert!(matches!(Query::parse(" \t"), Err(FindError::Empty)));
        assert_eq!(run("/", &[line(&[("a/b", 0)])]).len(), 1, "a lone slash is text");
    }
}
