//! Finds the lines of text among the blobs of ink.
//!
//! The blobs of one ground are cut apart at empty rows and at wide empty columns, in turn, until nothing can be cut
//! (XY-cut). What lies on different grounds is never joined, so cells, buttons and their neighbours stay apart. All
//! lengths are relative to the letters at hand; nothing assumes a font size.

use super::image::Rect;
use super::pitch::pitch;
use super::regions::{Blob, Part, Regions};
use std::collections::HashMap;

/// Taller blobs are frames and pictures unless they look like a huge letter.
const TALL: i32 = 72;
const HUGE: i32 = 400;
/// Thinner and longer blobs are rules: underlines, separators, cursors.
const RULE_THICKNESS: i32 = 3;
const RULE_LENGTH: i32 = 48;
/// Ink lower than this cannot be read by anyone, wider or higher than this is no line.
pub(super) const LOWEST_LINE: i32 = 5;

/// A line: where its ink is, on which ground, and which blobs it is made of.
pub(super) struct Found {
    pub(super) rect: Rect,
    pub(super) ground: u32,
    pub(super) blobs: Vec<u32>,
}

/// All lines, in no particular order.
pub(super) fn find(regions: &Regions) -> Vec<Found> {
    let mut grounds: HashMap<u32, Vec<u32>> = HashMap::new();
    let frames = frames(regions);
    for (id, blob) in regions.blobs.iter().enumerate() {
        if let Some(ground) = blob.ground
            && !frames[id]
            && !is_rule(blob)
        {
            grounds.entry(ground).or_default().push(id as u32);
        }
    }
    let mut found = Vec::new();
    for (ground, ids) in grounds {
        Cutter { blobs: &regions.blobs, ground, found: &mut found }.cut(ids, 0);
    }
    found
}

fn is_rule(blob: &Blob) -> bool {
    let (thin, long) = (blob.width().min(blob.height()), blob.width().max(blob.height()));
    thin <= RULE_THICKNESS && long >= RULE_LENGTH
}

/// Which blobs are outlines of buttons, fields and windows, or pictures: too large for a letter, or drawn around others.
fn frames(regions: &Regions) -> Vec<bool> {
    regions.blobs.iter().map(|blob| is_frame(regions, blob)).collect()
}

fn is_frame(regions: &Regions, blob: &Blob) -> bool {
    let (width, height) = (blob.width(), blob.height());
    if height <= 10 {
        return false;
    }
    if height > HUGE || (height > TALL && width * 2 > height * 3) {
        return true;
    }
    let inside = |b: &&Blob| b.left > blob.left && b.right < blob.right && b.top > blob.top && b.bottom < blob.bottom && b.area >= 6;
    let contents: Vec<&Blob> = regions.blobs.iter().filter(inside).collect();
    if height > TALL {
        return contents.len() > 5;
    }
    if contents.is_empty() {
        return width > height * 5 / 2 && outlined(regions, blob) >= 80;
    }
    // The strokes of a huge 0 or B are grounds of their own, and what is inside them is on those.
    if contents.len() <= 2 && height >= 28 && width * 10 <= height * 13 {
        return false;
    }
    let top = contents.iter().map(|b| b.top).min().unwrap_or(0);
    let bottom = contents.iter().map(|b| b.bottom).max().unwrap_or(0);
    (bottom - top) * 100 <= height * 70 && outlined(regions, blob) >= 75
}

/// How much of a blob, in per cent, is near the border of its box.
fn outlined(regions: &Regions, blob: &Blob) -> u32 {
    let band = (blob.width().min(blob.height()) * 18 / 100).max(2);
    let (mut near, mut all) = (0_u32, 0_u32);
    for y in blob.top..blob.bottom {
        for x in blob.left..blob.right {
            if let Part::Blob(id) = regions.part(x as usize, y as usize)
                && std::ptr::eq(&raw const regions.blobs[id as usize], blob)
            {
                let depth = (x - blob.left).min(blob.right - 1 - x).min(y - blob.top).min(blob.bottom - 1 - y);
                near += u32::from(depth < band);
                all += 1;
            }
        }
    }
    near * 100 / all.max(1)
}

struct Cutter<'a> {
    blobs: &'a [Blob],
    ground: u32,
    found: &'a mut Vec<Found>,
}

impl Cutter<'_> {
    fn blob(&self, id: u32) -> &Blob {
        &self.blobs[id as usize]
    }

    fn bounds(&self, ids: &[u32]) -> (i32, i32, i32, i32) {
        ids.iter()
            .map(|id| self.blob(*id))
            .fold((i32::MAX, i32::MAX, i32::MIN, i32::MIN), |b, o| (b.0.min(o.left), b.1.min(o.top), b.2.max(o.right), b.3.max(o.bottom)))
    }

    /// The height that letters have here: most blobs are not higher, so that dots and accents do not count.
    fn letter_height(&self, ids: &[u32]) -> i32 {
        let mut heights: Vec<i32> = ids.iter().map(|id| self.blob(*id).height()).collect();
        heights.sort_unstable();
        heights[(heights.len() - 1) * 4 / 5]
    }

    fn cut(&mut self, ids: Vec<u32>, depth: u32) {
        if ids.is_empty() || depth > 40 {
            return;
        }
        let bands = self.bands(ids);
        let several = bands.len() > 1;
        let gaps: Vec<Vec<(i32, i32)>> = bands.iter().map(|band| self.gaps(band)).collect();
        for (at, band) in bands.into_iter().enumerate() {
            let near: Vec<&[(i32, i32)]> =
                (at.saturating_sub(2)..(at + 3).min(gaps.len())).filter(|n| *n != at).map(|n| gaps[n].as_slice()).collect();
            let cells = self.cells(band, &near);
            if cells.len() > 1 || several {
                for cell in cells {
                    self.cut(cell, depth + 1);
                }
            } else {
                for cell in cells {
                    self.finish(cell, depth);
                }
            }
        }
    }

    /// The empty columns between the blobs of a band.
    fn gaps(&self, band: &[u32]) -> Vec<(i32, i32)> {
        let mut spans: Vec<(i32, i32)> = band.iter().map(|id| (self.blob(*id).left, self.blob(*id).right)).collect();
        spans.sort_unstable();
        let mut gaps = Vec::new();
        let mut end = i32::MAX;
        for (left, right) in spans {
            if left > end.saturating_add(2) {
                gaps.push((end, left));
            }
            end = if end == i32::MAX { right } else { end.max(right) };
        }
        gaps
    }

    /// Cuts at empty rows; dots, accents and the strokes of one letter stay together.
    fn bands(&self, mut ids: Vec<u32>) -> Vec<Vec<u32>> {
        ids.sort_unstable_by_key(|id| self.blob(*id).top);
        let mut bands: Vec<(i32, i32, Vec<u32>)> = Vec::new();
        for id in ids {
            let blob = self.blob(id);
            match bands.last_mut() {
                Some((_, bottom, band)) if blob.top < *bottom => {
                    *bottom = (*bottom).max(blob.bottom);
                    band.push(id);
                }
                _ => bands.push((blob.top, blob.bottom, vec![id])),
            }
        }
        self.merge_fragments(bands).into_iter().map(|b| b.2).collect()
    }

    fn merge_fragments(&self, bands: Vec<(i32, i32, Vec<u32>)>) -> Vec<(i32, i32, Vec<u32>)> {
        let mut merged: Vec<(i32, i32, Vec<u32>)> = Vec::with_capacity(bands.len());
        for band in bands {
            match merged.last_mut() {
                Some(last) if self.one_line(last, &band) => {
                    last.1 = band.1;
                    last.2.extend(band.2);
                }
                _ => merged.push(band),
            }
        }
        merged
    }

    /// Whether the lower band belongs to the line of the upper one: an i and its dot, the strokes of 二.
    fn one_line(&self, upper: &(i32, i32, Vec<u32>), lower: &(i32, i32, Vec<u32>)) -> bool {
        let (a, b) = (self.bounds(&upper.2), self.bounds(&lower.2));
        if a.0.max(b.0) >= a.2.min(b.2) {
            return false;
        }
        let (high, low) = ((upper.1 - upper.0).max(lower.1 - lower.0), (upper.1 - upper.0).min(lower.1 - lower.0));
        let gap = lower.0 - upper.1;
        let together = lower.1 - upper.0;
        let fragment = low * 20 <= high * 9 && gap * 10 <= high * 3 + 10 && together * 10 <= high * 16;
        let width = (a.2 - a.0).max(b.2 - b.0);
        let thin = high <= 3 || high * 4 <= together;
        let strokes =
            thin && high * 3 <= width && gap <= width && together <= width * 5 / 4 && width <= TALL && upper.2.len() + lower.2.len() <= 4;
        fragment || strokes
    }

    /// Cuts at empty columns that are wider than a space, and at narrower ones that the rows above and below share.
    fn cells(&self, mut ids: Vec<u32>, near: &[&[(i32, i32)]]) -> Vec<Vec<u32>> {
        ids.sort_unstable_by_key(|id| self.blob(*id).left);
        let (_, top, _, bottom) = self.bounds(&ids);
        let letter = self.letter_height(&ids);
        let line = if (bottom - top) * 10 <= letter * 16 { bottom - top } else { letter };
        let widest = self.widest_space(&ids, line);
        let shared = |left: i32, right: i32| {
            let width = letter * 5 / 4;
            right - left >= width && near.iter().filter(|gaps| gaps.iter().any(|g| g.1.min(right) - g.0.max(left) >= width)).count() >= 3
        };
        let mut cells: Vec<(i32, Vec<u32>)> = Vec::new();
        for id in ids {
            let blob = self.blob(id);
            match cells.last_mut() {
                Some((right, cell)) if blob.left - *right <= widest && !shared(*right, blob.left) => {
                    *right = (*right).max(blob.right);
                    cell.push(id);
                }
                _ => cells.push((blob.right, vec![id])),
            }
        }
        cells.into_iter().map(|c| c.1).collect()
    }

    /// The widest gap that is still a space in a line whose letters are `line` high. `ids` come from left to right.
    fn widest_space(&self, ids: &[u32], line: i32) -> i32 {
        let signs = self.signs(ids);
        let mut heights: Vec<i32> = signs.iter().map(|sign| sign.height()).collect();
        heights.sort_unstable();
        if let Some(pitch) =
            pitch(&signs.iter().map(|sign| (sign.left, sign.right)).collect::<Vec<_>>()).filter(|pitch| *pitch * 10.0 <= line as f32 * 8.0)
        {
            return (pitch * 1.9) as i32;
        }
        // Han and kana are as wide as high and have no spaces between them; whatever is wider parts two labels.
        let mut widths: Vec<i32> = signs.iter().map(Blob::width).collect();
        widths.sort_unstable();
        let square = heights[heights.len() / 2] * 100 > line * 75 && widths[widths.len() / 2] * 100 > line * 76;
        if square { line * 3 / 4 } else { line * 95 / 100 }.max(4)
    }

    /// The blobs of a line, those above each other as one.
    fn signs(&self, ids: &[u32]) -> Vec<Blob> {
        let mut signs: Vec<Blob> = Vec::new();
        for id in ids {
            let blob = *self.blob(*id);
            match signs.last_mut() {
                Some(last) if blob.left < last.right => {
                    (last.top, last.bottom) = (last.top.min(blob.top), last.bottom.max(blob.bottom));
                    last.right = last.right.max(blob.right);
                }
                _ => signs.push(blob),
            }
        }
        signs
    }

    /// A cell that cannot be cut at empty rows or columns: a line, or several whose letters touch.
    fn finish(&mut self, ids: Vec<u32>, depth: u32) {
        let (left, top, right, bottom) = self.bounds(&ids);
        let letter = self.letter_height(&ids);
        if (bottom - top) * 10 > letter * 17
            && ids.len() > 4
            && let Some(row) = self.valley(&ids, letter)
        {
            let (upper, lower): (Vec<u32>, Vec<u32>) = ids.into_iter().partition(|id| self.blob(*id).center_y() < row);
            if !upper.is_empty() && !lower.is_empty() {
                self.cut(upper, depth + 1);
                self.cut(lower, depth + 1);
                return;
            }
            self.push(left, top, right, bottom, if upper.is_empty() { lower } else { upper });
            return;
        }
        self.push(left, top, right, bottom, ids);
    }

    fn push(&mut self, left: i32, top: i32, right: i32, bottom: i32, blobs: Vec<u32>) {
        // A lone stroke is a cursor or a border.
        let stroke = (right - left) * 7 < bottom - top;
        if bottom - top >= LOWEST_LINE && !stroke {
            let rect = Rect::new(left, top, (right - left).cast_unsigned(), (bottom - top).cast_unsigned());
            self.found.push(Found { rect, ground: self.ground, blobs });
        }
    }

    /// The row between two lines that hardly any letter crosses.
    fn valley(&self, ids: &[u32], letter: i32) -> Option<i32> {
        let (_, top, _, bottom) = self.bounds(ids);
        let mut crossed = vec![0_i32; (bottom - top).cast_unsigned() as usize];
        for id in ids {
            let blob = self.blob(*id);
            for row in &mut crossed[(blob.top - top) as usize..(blob.bottom - top) as usize] {
                *row += blob.width();
            }
        }
        let peak = crossed.iter().copied().max()?;
        let margin = (letter * 6 / 10).max(3) as usize;
        let inner = crossed.get(margin..crossed.len().checked_sub(margin)?)?;
        let (at, least) = inner.iter().enumerate().min_by_key(|(_, v)| **v)?;
        (*least * 3 <= peak).then(|| top + (margin + at) as i32)
    }
}
