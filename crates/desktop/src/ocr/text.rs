//! From the characters of a reading to a line with its words.
//!
//! The recogniser says which characters and roughly where; the ink says where the gaps are. Both together decide on
//! spaces (Han needs none, so a recogniser's guess there is worth little) and on icons: a drawing before or after a
//! label is no letter of it.

use super::crop::Crop;
use super::image::Rect;
use super::pitch::{letters_between, pitch};
use super::{Glyph, Line, Reading, Word};

/// A single character is taken for text only when the recogniser is this sure.
const SURE_OF_ONE: f32 = 0.55;
/// As above for braces, which stand alone in code and which no icon looks like.
const SURE_OF_BRACE: f32 = 0.20;
/// As above for what icons are mistaken for.
const SURE_OF_DRAWING: f32 = 0.93;
/// Ink from here on counts as a mark on the paper.
const MARK: u8 = 48;

impl Reading {
    /// Mean probability of its characters, spaces aside; 0 when there are none.
    pub(super) fn confidence(&self) -> f32 {
        mean(&self.glyphs)
    }

    /// Whether a good part of the ink lies where no character was read: the rest is in letters unknown to the engine.
    pub(super) fn leaves_ink_unread(&self, crop: &Crop) -> bool {
        let reach = crop.height as f32 * 1.1;
        let middles: Vec<f32> = self.glyphs.iter().filter(|g| !g.character.is_whitespace()).map(middle).collect();
        let columns = marked_columns(crop);
        let unread = (0..crop.width).filter(|x| columns[*x] && middles.iter().all(|m| (m - *x as f32).abs() > reach)).count();
        unread > crop.height
    }
}

/// Mean probability of characters, spaces aside; 0 when there are none.
pub(super) fn mean<'a>(glyphs: impl IntoIterator<Item = &'a Glyph>) -> f32 {
    let inked = glyphs.into_iter().filter(|g| !g.character.is_whitespace());
    let (sum, count) = inked.fold((0.0, 0), |(sum, count), g| (sum + g.confidence, count + 1));
    if count == 0 { 0.0 } else { sum / count as f32 }
}

fn middle(glyph: &Glyph) -> f32 {
    f32::midpoint(glyph.left, glyph.right)
}

/// Which columns have a mark.
fn marked_columns(crop: &Crop) -> Vec<bool> {
    let mut marked = vec![false; crop.width];
    for row in crop.ink.chunks_exact(crop.width.max(1)) {
        for (mark, ink) in marked.iter_mut().zip(row) {
            *mark |= *ink >= MARK;
        }
    }
    marked
}

/// A stretch of columns.
#[derive(Clone, Copy)]
struct Span {
    left: usize,
    right: usize,
}

/// The empty stretches between marked columns.
fn gaps(columns: &[bool]) -> Vec<Span> {
    let mut gaps = Vec::new();
    let mut left = None;
    for (x, marked) in columns.iter().enumerate() {
        match (marked, left) {
            (true, Some(start)) => {
                gaps.push(Span { left: start, right: x });
                left = None;
            }
            (false, None) if x > 0 => left = Some(x),
            _ => {}
        }
    }
    gaps
}

/// The line at `rect` whose ink is `crop`, or `None` when the reading is no text.
pub(super) fn line(rect: Rect, crop: &Crop, reading: &Reading, certain: f32) -> Option<Line> {
    let gaps = gaps(&marked_columns(crop));
    let (kept, letters) = without_icons(crop, &gaps, &reading.glyphs);
    let confidence = mean(letters);
    let needed = match letters {
        [] => return None,
        [one] if is_drawing(one.character) || is_ambiguous(one.character) => SURE_OF_DRAWING,
        [one] if "{}".contains(one.character) => SURE_OF_BRACE,
        [_] => SURE_OF_ONE,
        _ => certain,
    };
    if confidence < needed {
        return None;
    }
    let groups = split(crop, &gaps, kept, letters);
    let edges = edges(&gaps, kept, &groups);
    let words: Vec<Word> = groups.iter().zip(edges.windows(2)).map(|(glyphs, edge)| word(rect, crop, edge, glyphs)).collect();
    let text = words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then(|| Line { text, confidence, rect: tight(rect, crop, kept), words })
}

/// The characters of a reading without those that icons beside the text were taken for.
pub(super) fn letters<'a>(crop: &Crop, reading: &'a Reading) -> &'a [Glyph] {
    without_icons(crop, &gaps(&marked_columns(crop)), &reading.glyphs).1
}

/// Takes out of `reading` what lies where the earlier reading of the same line saw an icon at either end.
pub(super) fn without_marginals(crop: &Crop, earlier: &Reading, reading: &mut Reading) {
    let (kept, _) = without_icons(crop, &gaps(&marked_columns(crop)), &earlier.glyphs);
    reading.glyphs.retain(|g| (kept.left as f32..kept.right as f32).contains(&middle(g)));
}

/// The columns and characters that remain without an icon at either end.
fn without_icons<'a>(crop: &Crop, gaps: &[Span], glyphs: &'a [Glyph]) -> (Span, &'a [Glyph]) {
    let wide: Vec<Span> = gaps.iter().copied().filter(|g| (g.right - g.left) * 100 >= crop.height * 42).collect();
    let mut kept = Span { left: 0, right: crop.width };
    let mut letters = trimmed(glyphs);
    for gap in &wide {
        let edge = (gap.left + gap.right) as f32 / 2.0;
        let inside = letters.iter().take_while(|g| middle(g) < edge).count();
        let small = gap.left - kept.left <= crop.height * 3 / 2;
        if inside == letters.len() || !small || !is_icon(crop, Span { left: kept.left, right: gap.left }, *gap, trimmed(&letters[..inside]))
        {
            break;
        }
        kept.left = gap.right;
        letters = trimmed(&letters[inside..]);
    }
    for gap in wide.iter().rev().filter(|g| g.left > kept.left) {
        let edge = (gap.left + gap.right) as f32 / 2.0;
        let outside = letters.iter().rev().take_while(|g| middle(g) >= edge).count();
        let small = kept.right - gap.right <= crop.height * 3 / 2;
        let tail = &letters[letters.len() - outside..];
        if outside == letters.len() || !small || !is_icon(crop, Span { left: gap.right, right: kept.right }, *gap, trimmed(tail)) {
            break;
        }
        kept.right = gap.left;
        letters = trimmed(&letters[..letters.len() - outside]);
    }
    (kept, letters)
}

/// Whether the marks of a lone group of columns, read as `letters`, are a drawing.
fn is_icon(crop: &Crop, group: Span, gap: Span, letters: &[Glyph]) -> bool {
    match letters {
        [] => true,
        [one] if is_drawing(one.character) => true,
        [one] if is_ambiguous(one.character) => off_the_line(crop, group, gap) || one.confidence < 0.8,
        [one] => one.confidence < 0.5,
        // Two guesses at one square drawing.
        [_, _] if group.right - group.left <= crop.height * 5 / 4 => mean(letters) < 0.6,
        _ => false,
    }
}

/// Whether a group of marks ends well above or below where the letters beside it stand.
fn off_the_line(crop: &Crop, group: Span, gap: Span) -> bool {
    let lowest = |span: Span| (0..crop.height).rev().find(|y| (span.left..span.right).any(|x| crop.ink[y * crop.width + x] >= MARK));
    let beside = if group.left < gap.left {
        Span { left: gap.right, right: (gap.right + crop.height * 2).min(crop.width) }
    } else {
        Span { left: gap.left.saturating_sub(crop.height * 2), right: gap.left }
    };
    // Where most columns of the letters end.
    let mut ends: Vec<usize> = (beside.left..beside.right).filter_map(|x| lowest(Span { left: x, right: x + 1 })).collect();
    ends.sort_unstable();
    let (Some(own), Some(base)) = (lowest(group), ends.get(ends.len() * 3 / 5)) else { return true };
    own.abs_diff(*base) * 100 > crop.height * 9
}

/// Signs that are drawings far more often than text when they stand alone.
fn is_drawing(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '×' | '+' | '°' | '〇' | '\u{1f000}'..='\u{1faff}' | '丶')
}

/// Letters that icons look like.
fn is_ambiguous(c: char) -> bool {
    "OoQ0CXxVvUuDIl|日口回田目三二一工人入八丨彡ロニミハ、区凸合Aa@©®ОоСсХхУуАаЮюЦцㅁㅇㅂ".contains(c)
}

fn trimmed(glyphs: &[Glyph]) -> &[Glyph] {
    let inked = |g: &Glyph| !g.character.is_whitespace();
    let Some(first) = glyphs.iter().position(inked) else { return &[] };
    let last = glyphs.iter().rposition(inked).unwrap_or(first);
    &glyphs[first..=last]
}

/// Splits into words.
fn split<'a>(crop: &Crop, gaps: &[Span], kept: Span, glyphs: &'a [Glyph]) -> Vec<Vec<&'a Glyph>> {
    let spaces = even_spaces(crop, gaps, kept);
    let mut words: Vec<Vec<&Glyph>> = Vec::new();
    let mut before: Option<(&Glyph, bool)> = None;
    for glyph in glyphs {
        if glyph.character.is_whitespace() {
            before = before.map(|(last, _)| (last, true));
            continue;
        }
        let apart = before.is_none_or(|(last, said)| is_space(crop, gaps, spaces.as_deref(), last, glyph, said));
        if apart || words.is_empty() {
            words.push(Vec::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(glyph);
        }
        before = Some((glyph, false));
    }
    words
}

/// Where all letters have the same room: how many letters would fit into each gap.
fn even_spaces(crop: &Crop, gaps: &[Span], kept: Span) -> Option<Vec<(Span, f32)>> {
    let inner: Vec<Span> = gaps.iter().copied().filter(|gap| gap.left > kept.left && gap.right < kept.right).collect();
    let mut signs: Vec<(i32, i32)> = Vec::with_capacity(inner.len() + 1);
    let mut left = kept.left;
    for gap in &inner {
        signs.push((left as i32, gap.left as i32));
        left = gap.right;
    }
    signs.push((left as i32, kept.right as i32));
    let pitch = pitch(&signs).filter(|pitch| *pitch <= crop.height as f32 * 0.8)?;
    Some(inner.into_iter().zip(signs.windows(2)).map(|(gap, pair)| (gap, letters_between(pitch, pair[0], pair[1]))).collect())
}

/// Whether a space parts two characters; `said` is the recogniser's opinion.
fn is_space(crop: &Crop, gaps: &[Span], spaces: Option<&[(Span, f32)]>, left: &Glyph, right: &Glyph, said: bool) -> bool {
    let (from, to) = (middle(left), middle(right));
    if let Some(spaces) = spaces.filter(|_| !is_wide(left.character) && !is_wide(right.character)) {
        let here = spaces.iter().filter(|(space, _)| (from..to).contains(&f32::midpoint(space.left as f32, space.right as f32)));
        let room = here.map(|(_, room)| *room).fold(0.0, f32::max);
        return room >= 0.7 || (said && room >= 0.25);
    }
    let between = gaps.iter().filter(|g| g.right as f32 > from && (g.left as f32) < to).map(|g| g.right - g.left);
    let gap = between.max().unwrap_or(0) as f32 / crop.height.max(1) as f32;
    let mark = is_mark(left.character) || is_mark(right.character);
    match (is_wide(left.character), is_wide(right.character)) {
        // Their punctuation stands in the corner of its square.
        (true, true) => gap >= if mark { 1.1 } else { 0.60 },
        (false, false) if is_hangul(left.character) && is_hangul(right.character) => gap >= 0.24,
        // In a font with equal room for all, a narrow letter has half a space on each side.
        (false, false) => gap >= 0.80 || (said && gap >= 0.20),
        _ if mark => said && gap >= 0.30,
        _ => gap >= 0.24 || (said && gap >= 0.15),
    }
}

/// Characters as wide as high, written without spaces between them.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ff60}' | '\u{20000}'..='\u{3ffff}')
}

/// Syllables, which are written with spaces between words.
fn is_hangul(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7a3}')
}

/// Punctuation, which brings its own room.
fn is_mark(c: char) -> bool {
    !c.is_alphanumeric()
}

/// Where words begin and end: in the middle of the widest gap between the last letter of one and the first of the next.
fn edges(gaps: &[Span], kept: Span, words: &[Vec<&Glyph>]) -> Vec<usize> {
    let mut edges = vec![kept.left];
    for pair in words.windows(2) {
        let (from, to) = (pair[0].last().map_or(0.0, |g| middle(g)), pair[1].first().map_or(0.0, |g| middle(g)));
        let between = gaps.iter().filter(|gap| gap.right as f32 > from && (gap.left as f32) < to);
        let edge = between
            .max_by_key(|gap| gap.right - gap.left)
            .map_or(f32::midpoint(from, to) as usize, |gap| usize::midpoint(gap.left, gap.right));
        edges.push(edge.clamp(edges[edges.len() - 1], kept.right));
    }
    edges.push(kept.right);
    edges
}

fn word(line: Rect, crop: &Crop, edge: &[usize], glyphs: &[&Glyph]) -> Word {
    let text = glyphs.iter().map(|g| g.character).collect();
    let confidence = mean(glyphs.iter().copied());
    let left = edge[0].min(crop.width - 1);
    Word { text, confidence, rect: tight(line, crop, Span { left, right: edge[1].max(left + 1) }) }
}

/// The ink of some columns, on the screen.
fn tight(line: Rect, crop: &Crop, span: Span) -> Rect {
    let marked = |x: usize, y: usize| crop.ink[y * crop.width + x] >= MARK;
    let rows = || (0..crop.height).filter(|y| (span.left..span.right).any(|x| marked(x, *y)));
    let columns = || (span.left..span.right).filter(|x| (0..crop.height).any(|y| marked(*x, y)));
    let (x0, x1) = (columns().next().unwrap_or(span.left), columns().next_back().unwrap_or(span.right - 1));
    let (y0, y1) = (rows().next().unwrap_or(0), rows().next_back().unwrap_or(crop.height - 1));
    Rect::new(line.x + x0 as i32, line.y + y0 as i32, (x1 - x0 + 1) as u32, (y1 - y0 + 1) as u32)
}
