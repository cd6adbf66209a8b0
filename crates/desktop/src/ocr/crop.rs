//! Cuts a line out of the picture as black ink on white paper.
//!
//! The ink of a pixel is how far it is from the line's own ground, compared with the strongest pixel of its blob. So
//! grey on white, white on blue, syntax colours and text under a dimming layer all become the same full contrast, and
//! what belongs to another line or ground is left out.

use super::image::Rect;
use super::lines::Found;
use super::regions::{Part, Regions};
use std::collections::{HashMap, HashSet};

/// Ink from 0 (paper) to 255, trimmed to the ink, at the size it has on the screen.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Crop {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) ink: Vec<u8>,
}

impl Crop {
    /// The columns from `left` to `right`, in full height.
    pub(super) fn columns(&self, left: usize, right: usize) -> Self {
        let ink = self.ink.chunks_exact(self.width).flat_map(|row| &row[left..right]).copied().collect();
        Self { width: right - left, height: self.height, ink }
    }

    /// Stretches of columns around `places` that begin and end between words, joined where they meet. They take a few
    /// words along, for a letter is read better among others.
    pub(super) fn stretches(&self, places: &[(f32, f32)]) -> Vec<(usize, usize)> {
        let around = self.height * 4;
        let column = |x: f32| (x.max(0.0) as usize).min(self.width);
        let breaks = self.word_breaks();
        let mut stretches: Vec<(usize, usize)> = Vec::new();
        for (left, right) in places {
            let (left, right) = (column(*left).saturating_sub(around), (column(*right) + around).min(self.width));
            let left = breaks.iter().rev().copied().find(|at| *at <= left).unwrap_or(0);
            let right = breaks.iter().copied().find(|at| *at >= right).unwrap_or(self.width);
            match stretches.last_mut() {
                Some(last) if left <= last.1 => last.1 = last.1.max(right),
                _ => stretches.push((left, right)),
            }
        }
        stretches.retain(|(left, right)| left < right);
        stretches
    }

    /// The middles of the empty stretches that are as wide as a space.
    fn word_breaks(&self) -> Vec<usize> {
        let empty = |x: usize| self.ink.iter().skip(x).step_by(self.width).all(|ink| *ink < VISIBLE);
        let (mut breaks, mut start) = (Vec::new(), None);
        for x in 0..self.width {
            match (empty(x), start) {
                (true, None) => start = Some(x),
                (false, Some(from)) => {
                    if (x - from) * 10 >= self.height * 3 {
                        breaks.push(usize::midpoint(from, x));
                    }
                    start = None;
                }
                _ => {}
            }
        }
        breaks
    }
}

/// Weaker ink, as a share of 255, does not count for where a line ends: shadows, glows.
const VISIBLE: u8 = 60;

/// The crop of `line` and where it is; `None` when nothing of it can be seen.
pub(super) fn crop(regions: &Regions, line: &Found) -> Option<(Rect, Crop)> {
    let rect = line.rect;
    let paper = paper(regions, line);
    let own: HashSet<u32> = line.blobs.iter().copied().collect();
    let (width, height) = (rect.width as usize, rect.height as usize);
    let mut pixels: Vec<Option<(u32, i32)>> = vec![None; width * height];
    let mut peaks: HashMap<u32, Peak> = HashMap::new();
    for y in 0..height {
        for x in 0..width {
            let (px, py) = (rect.x as usize + x, rect.y as usize + y);
            let blob = match regions.part(px, py) {
                Part::Ground(ground) if ground == line.ground => continue,
                Part::Blob(blob) if !own.contains(&blob) => continue,
                Part::Blob(blob) => blob,
                Part::Ground(_) => u32::MAX,
            };
            let away = away(regions.colors[py * regions.width + px], paper);
            pixels[y * width + x] = Some((blob, away));
            peaks.entry(blob).or_default().add(away);
        }
    }
    let strongest = peaks.values().map(Peak::strength).max()?;
    let ink =
        pixels.iter().map(|pixel| pixel.map_or(0, |(blob, away)| peaks.get(&blob).map_or(0, |peak| peak.ink(away, strongest)))).collect();
    trimmed(&Crop { width, height, ink }, rect)
}

/// The strongest pixels of a blob: lighter (above 0) and darker (below 0) than the paper.
#[derive(Clone, Copy, Default)]
struct Peak {
    lightest: i32,
    darkest: i32,
}

impl Peak {
    fn add(&mut self, away: i32) {
        self.lightest = self.lightest.max(away);
        self.darkest = self.darkest.min(away);
    }

    fn strength(&self) -> i32 {
        self.lightest.max(-self.darkest)
    }

    /// The ink of a pixel. Where a blob has both, the weaker one is the shadow or outline of the other.
    fn ink(&self, away: i32, strongest: i32) -> u8 {
        let (weak, strong) = (self.lightest.min(-self.darkest), self.strength());
        let shadowed = weak * 10 >= strong * 3;
        if shadowed && (away > 0) != (self.lightest == strong) {
            return 0;
        }
        let full = strong.max(strongest * 2 / 5).max(1);
        (away.abs() * 255 / full).min(255) as u8
    }
}

/// Cuts off what is too weak to be seen.
fn trimmed(crop: &Crop, rect: Rect) -> Option<(Rect, Crop)> {
    let rows = || (0..crop.height).filter(|y| crop.ink[y * crop.width..(y + 1) * crop.width].iter().any(|i| *i >= VISIBLE));
    let columns = || (0..crop.width).filter(|x| crop.ink.iter().skip(*x).step_by(crop.width).any(|i| *i >= VISIBLE));
    let (top, bottom, left, right) = (rows().next()?, rows().next_back()? + 1, columns().next()?, columns().next_back()? + 1);
    let ink = (top..bottom).flat_map(|y| &crop.ink[y * crop.width + left..y * crop.width + right]).copied().collect();
    let rect = Rect::new(rect.x + left as i32, rect.y + top as i32, (right - left) as u32, (bottom - top) as u32);
    Some((rect, Crop { width: right - left, height: bottom - top, ink }))
}

/// How far a colour is from the paper: the sum over the channels of the difference, below 0 when it is darker.
fn away(color: u32, paper: u32) -> i32 {
    let channel = |shift: u32| ((color >> shift) & 0xff).cast_signed() - ((paper >> shift) & 0xff).cast_signed();
    let (blue, green, red) = (channel(0), channel(8), channel(16));
    let distance = blue.abs() + green.abs() + red.abs();
    if red * 3 + green * 6 + blue < 0 { -distance } else { distance }
}

/// The mean colour of the ground around and between the letters.
fn paper(regions: &Regions, line: &Found) -> u32 {
    let area = line.rect;
    let grown = Rect::new(area.x - 2, area.y - 2, area.width + 4, area.height + 4);
    let bounds = Rect::new(0, 0, regions.width as u32, regions.height as u32);
    let Some(grown) = grown.intersection(&bounds) else { return 0 };
    let (mut sum, mut count) = ([0_u64; 3], 0_u64);
    for y in grown.y..grown.bottom() {
        for x in grown.x..grown.right() {
            let (x, y) = (x as usize, y as usize);
            if regions.part(x, y) == Part::Ground(line.ground) {
                let color = regions.colors[y * regions.width + x];
                for (channel, sum) in sum.iter_mut().enumerate() {
                    *sum += u64::from((color >> (8 * channel)) & 0xff);
                }
                count += 1;
            }
        }
    }
    sum.iter().enumerate().fold(0, |color, (channel, sum)| color | ((sum / count.max(1)) as u32) << (8 * channel))
}

/// The ink of `crop` at another size: width, height and rows. Enlarged linearly, reduced by the mean of what is covered.
pub(super) fn scaled(crop: &Crop, scale: f32) -> (usize, usize, Vec<u8>) {
    let size = |length: usize| ((length as f32 * scale).round() as usize).max(1);
    let (width, height) = (size(crop.width), size(crop.height));
    let columns = weights(crop.width, width);
    let rows = weights(crop.height, height);
    let mut narrow = vec![0.0_f32; width * crop.height];
    for y in 0..crop.height {
        let row = &crop.ink[y * crop.width..(y + 1) * crop.width];
        for (x, taps) in columns.iter().enumerate() {
            narrow[y * width + x] = taps.iter().map(|(at, weight)| f32::from(row[*at]) * weight).sum();
        }
    }
    let mut ink = Vec::with_capacity(width * height);
    for taps in &rows {
        ink.extend((0..width).map(|x| taps.iter().map(|(at, weight)| narrow[at * width + x] * weight).sum::<f32>().round() as u8));
    }
    (width, height, ink)
}

/// For each of `to` samples, which of `from` samples it is made of. A triangle as wide as the larger pixel of both.
fn weights(from: usize, to: usize) -> Vec<Vec<(usize, f32)>> {
    let step = from as f32 / to as f32;
    let reach = step.max(1.0);
    (0..to)
        .map(|at| {
            let center = (at as f32 + 0.5) * step - 0.5;
            let first = (center - reach).ceil().max(0.0) as usize;
            let last = ((center + reach).floor().max(0.0) as usize).min(from - 1);
            let taps: Vec<(usize, f32)> =
                (first.min(last)..=last).map(|i| (i, (1.0 - (i as f32 - center).abs() / reach).max(0.0))).collect();
            let total: f32 = taps.iter().map(|t| t.1).sum();
            if total > 0.0 { taps.iter().map(|(i, w)| (*i, w / total)).collect() } else { vec![(last, 1.0)] }
        })
        .collect()
}
