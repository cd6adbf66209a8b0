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

/// The crop of `line`, and the contrast of its ink (0 to 255: mean difference of the colour channels).
pub(super) fn crop(regions: &Regions, line: &Found) -> (Crop, u32) {
    let rect = line.rect;
    let paper = paper(regions, line);
    let own: HashSet<u32> = line.blobs.iter().copied().collect();
    let (width, height) = (rect.width as usize, rect.height as usize);
    let mut distance = vec![0_u16; width * height];
    let mut peaks: HashMap<u32, u16> = HashMap::new();
    let mut owner = vec![u32::MAX; width * height];
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
            let at = y * width + x;
            distance[at] = away;
            owner[at] = blob;
            let peak = peaks.entry(blob).or_default();
            *peak = (*peak).max(away);
        }
    }
    let strongest = peaks.values().copied().max().unwrap_or(0);
    let ink = distance
        .iter()
        .zip(&owner)
        .map(|(away, blob)| {
            if *away == 0 {
                return 0;
            }
            let peak = peaks.get(blob).copied().unwrap_or(strongest).max(strongest * 2 / 5).max(1);
            (u32::from(*away) * 255 / u32::from(peak)).min(255) as u8
        })
        .collect();
    (Crop { width, height, ink }, u32::from(strongest) / 3)
}

fn away(a: u32, b: u32) -> u16 {
    let channel = |shift: u32| ((a >> shift) & 0xff).abs_diff((b >> shift) & 0xff);
    (channel(0) + channel(8) + channel(16)) as u16
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
