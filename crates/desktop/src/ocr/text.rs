//! From the characters of a reading to a line with its words.

use super::crop::Crop;
use super::image::Rect;
use super::{Glyph, Line, Reading, Word};

/// A single character is taken for text only when the recogniser is this sure: icons look like letters.
const SURE_OF_ONE: f32 = 0.75;

impl Reading {
    /// Mean probability of its characters, spaces aside; 0 when there are none.
    pub(super) fn confidence(&self) -> f32 {
        mean(&self.glyphs)
    }
}

fn mean(glyphs: &[Glyph]) -> f32 {
    let inked = || glyphs.iter().filter(|g| !g.character.is_whitespace());
    let count = inked().count();
    if count == 0 { 0.0 } else { inked().map(|g| g.confidence).sum::<f32>() / count as f32 }
}

/// The line at `rect` whose ink is `crop`, or `None` when the reading is no text.
pub(super) fn line(rect: Rect, crop: &Crop, reading: &Reading, certain: f32) -> Option<Line> {
    let glyphs = trimmed(&reading.glyphs);
    let confidence = mean(glyphs);
    let needed = if glyphs.len() == 1 { SURE_OF_ONE.max(certain) } else { certain };
    if confidence < needed {
        return None;
    }
    let words: Vec<Word> = split(crop, glyphs).into_iter().map(|glyphs| word(rect, crop, glyphs)).collect();
    let text = words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(Line { text, confidence, rect, words })
}

fn trimmed(glyphs: &[Glyph]) -> &[Glyph] {
    let inked = |g: &Glyph| !g.character.is_whitespace();
    let Some(first) = glyphs.iter().position(inked) else { return &[] };
    let last = glyphs.iter().rposition(inked).unwrap_or(first);
    &glyphs[first..=last]
}

/// Splits at spaces; a space between two Han or kana counts only where the ink has a gap of a character's width.
fn split<'a>(crop: &Crop, glyphs: &'a [Glyph]) -> Vec<Vec<&'a Glyph>> {
    let mut words: Vec<Vec<&Glyph>> = vec![Vec::new()];
    for (at, glyph) in glyphs.iter().enumerate() {
        let last = words.last_mut();
        if !glyph.character.is_whitespace() {
            last.into_iter().for_each(|word| word.push(glyph));
            continue;
        }
        let before = glyphs[..at].iter().rev().find(|g| !g.character.is_whitespace());
        let after = glyphs[at..].iter().find(|g| !g.character.is_whitespace());
        let joined = before.zip(after).is_some_and(|(a, b)| {
            unspaced(a.character) && unspaced(b.character) && (b.left - a.right) < crop.height as f32 * 0.6
        });
        if !joined && last.is_some_and(|word| !word.is_empty()) {
            words.push(Vec::new());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Characters that are written without spaces between them.
fn unspaced(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ff60}' | '\u{20000}'..='\u{3ffff}')
}

fn word(line: Rect, crop: &Crop, glyphs: Vec<&Glyph>) -> Word {
    let text = glyphs.iter().map(|g| g.character).collect();
    let confidence = glyphs.iter().map(|g| g.confidence).sum::<f32>() / glyphs.len().max(1) as f32;
    let column = |x: f32| (x.round().max(0.0) as usize).min(crop.width);
    let left = glyphs.iter().map(|g| g.left).fold(f32::MAX, f32::min);
    let right = glyphs.iter().map(|g| g.right).fold(f32::MIN, f32::max);
    let (left, right) = (column(left).min(crop.width.saturating_sub(1)), column(right));
    Word { text, confidence, rect: tight(line, crop, left, right.max(left + 1)) }
}

/// The ink of the columns from `left` to `right`.
fn tight(line: Rect, crop: &Crop, left: usize, right: usize) -> Rect {
    let inked = |x: usize, y: usize| crop.ink[y * crop.width + x] > 40;
    let rows = || (0..crop.height).filter(|y| (left..right).any(|x| inked(x, *y)));
    let columns = || (left..right).filter(|x| (0..crop.height).any(|y| inked(*x, y)));
    let (x0, x1) = (columns().next().unwrap_or(left), columns().next_back().unwrap_or(right - 1));
    let (y0, y1) = (rows().next().unwrap_or(0), rows().next_back().unwrap_or(crop.height - 1));
    Rect::new(line.x + x0 as i32, line.y + y0 as i32, (x1 - x0 + 1) as u32, (y1 - y0 + 1) as u32)
}
