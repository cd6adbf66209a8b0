//! Splits a picture into its flat grounds and the blobs of ink on them.
//!
//! A ground is a connected region of (nearly) one colour that is large enough to lie behind text: a page, a button, a
//! selected row. Everything else is ink; connected ink is a blob, most often a letter or a part of one. Nothing here
//! depends on the theme: a blob is ink because it differs from what surrounds it, however little. Gradients count as
//! flat, since only neighbouring pixels are compared.

use super::image::{Image, Order};

/// Largest difference of a colour channel between neighbours of one ground. Text that is fainter than that is invisible.
const TOLERANCE: u32 = 5;
/// Pixels of the smallest ground. A smaller flat patch is read as part of what surrounds it.
const SMALLEST_GROUND: u32 = 300;
/// Pixels in a row that only a ground, a rule or a huge letter has, and how many such rows a ground has.
const LONG_RUN: u32 = 12;
const LONG_RUNS: u32 = 3;
/// Set in a label that names a blob, not a ground.
const INK: u32 = 1 << 31;
const NONE: u32 = u32::MAX;

/// Connected ink.
#[derive(Clone, Copy)]
pub(super) struct Blob {
    pub(super) left: i32,
    pub(super) top: i32,
    /// One past the last column and row.
    pub(super) right: i32,
    pub(super) bottom: i32,
    /// Pixels of ink.
    pub(super) area: u32,
    /// The ground it lies on; `None` between several.
    pub(super) ground: Option<u32>,
}

impl Blob {
    pub(super) fn width(&self) -> i32 {
        self.right - self.left
    }
    pub(super) fn height(&self) -> i32 {
        self.bottom - self.top
    }
    pub(super) fn center_y(&self) -> i32 {
        i32::midpoint(self.top, self.bottom)
    }
}

/// What a pixel belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Ground(u32),
    Blob(u32),
}

/// The grounds and blobs of a picture.
pub(super) struct Regions {
    pub(super) width: usize,
    pub(super) height: usize,
    /// `0x00RRGGBB` for each pixel.
    pub(super) colors: Vec<u32>,
    labels: Vec<u32>,
    pub(super) blobs: Vec<Blob>,
}

impl Regions {
    /// Splits `image`; takes a few passes over its pixels.
    pub(super) fn of(image: &Image<'_>) -> Self {
        let (width, height) = (image.width as usize, image.height as usize);
        let colors = colors(image);
        let (mut labels, runs) = flat_runs(&colors, width, height);
        mark_grounds(&mut labels, &runs);
        let blobs = ink_blobs(&mut labels, width, height);
        Self { width, height, colors, labels, blobs }
    }

    /// What the pixel at `x`, `y` belongs to.
    pub(super) fn part(&self, x: usize, y: usize) -> Part {
        let label = self.labels[y * self.width + x];
        if label & INK == 0 { Part::Ground(label) } else { Part::Blob(label & !INK) }
    }
}

fn colors(image: &Image<'_>) -> Vec<u32> {
    let mut colors = Vec::with_capacity(image.width as usize * image.height as usize);
    for y in 0..image.height as usize {
        let row = image.row(y).chunks_exact(4);
        match image.order {
            Order::Bgrx => colors.extend(row.map(|p| u32::from_le_bytes([p[0], p[1], p[2], 0]))),
            Order::Rgbx => colors.extend(row.map(|p| u32::from_le_bytes([p[2], p[1], p[0], 0]))),
        }
    }
    colors
}

fn near(a: u32, b: u32) -> bool {
    a == b || {
        let close = |shift: u32| ((a >> shift) & 0xff).abs_diff((b >> shift) & 0xff) <= TOLERANCE;
        close(0) && close(8) && close(16)
    }
}

/// A horizontal run of one region, in a union-find forest.
struct Run {
    parent: u32,
    length: u32,
}

fn root(runs: &mut [Run], mut at: u32) -> u32 {
    while runs[at as usize].parent != at {
        let grandparent = runs[runs[at as usize].parent as usize].parent;
        runs[at as usize].parent = grandparent;
        at = grandparent;
    }
    at
}

fn join(runs: &mut [Run], a: u32, b: u32) {
    let (a, b) = (root(runs, a), root(runs, b));
    // The earlier run stays the root, so that roots come in reading order.
    if a < b {
        runs[b as usize].parent = a;
    } else {
        runs[a as usize].parent = b;
    }
}

/// The run of each pixel, joined with the runs above it that have its colour.
fn flat_runs(colors: &[u32], width: usize, height: usize) -> (Vec<u32>, Vec<Run>) {
    let mut labels = vec![0_u32; colors.len()];
    let mut runs: Vec<Run> = Vec::with_capacity(colors.len() / 8);
    for y in 0..height {
        let row = &colors[y * width..(y + 1) * width];
        let (above, below) = labels.split_at_mut(y * width);
        let here = &mut below[..width];
        let mut start = 0;
        for x in 1..=width {
            if x == width || !near(row[x], row[x - 1]) {
                let id = runs.len() as u32;
                runs.push(Run { parent: id, length: (x - start) as u32 });
                here[start..x].fill(id);
                start = x;
            }
        }
        if y > 0 {
            let colors_above = &colors[(y - 1) * width..y * width];
            join_rows(&mut runs, row, here, colors_above, &above[(y - 1) * width..]);
        }
    }
    (labels, runs)
}

fn join_rows(runs: &mut [Run], row: &[u32], here: &[u32], colors_above: &[u32], above: &[u32]) {
    let mut last = (NONE, NONE);
    for x in 0..row.len() {
        let pair = (here[x], above[x]);
        if pair != last && near(row[x], colors_above[x]) {
            last = pair;
            join(runs, pair.0, pair.1);
        }
    }
}

/// Turns the run numbers in `labels` into ground numbers, or [`INK`].
fn mark_grounds(labels: &mut [u32], runs: &[Run]) {
    let mut roots = vec![NONE; runs.len()];
    let mut size = vec![(0_u32, 0_u32); runs.len()];
    for id in 0..runs.len() {
        // A parent comes before its children, so one step is enough.
        let parent = runs[id].parent as usize;
        roots[id] = if parent == id { id as u32 } else { roots[parent] };
        let (area, long) = &mut size[roots[id] as usize];
        *area += runs[id].length;
        *long += u32::from(runs[id].length >= LONG_RUN);
    }
    for root in &mut roots {
        let (area, long) = size[*root as usize];
        if area < SMALLEST_GROUND || long < LONG_RUNS {
            *root = INK;
        }
    }
    for label in labels {
        *label = roots[*label as usize];
    }
}

/// Numbers the connected ink (also over corners) and writes the blob's number into each of its pixels.
fn ink_blobs(labels: &mut [u32], width: usize, height: usize) -> Vec<Blob> {
    let (spans, mut runs) = ink_spans(labels, width, height);
    let mut number = vec![NONE; spans.len()];
    let mut blobs: Vec<Blob> = Vec::new();
    let mut edges: Vec<[(usize, usize); 4]> = Vec::new();
    for (id, span) in spans.iter().enumerate() {
        let root = root(&mut runs, id as u32) as usize;
        let (left, right, y) = (span.left as i32, span.right as i32, span.y as i32);
        if number[root] == NONE {
            number[root] = blobs.len() as u32;
            blobs.push(Blob { left, top: y, right, bottom: y + 1, area: 0, ground: None });
            let first = (span.left, span.y);
            edges.push([first, (span.right - 1, span.y), first, first]);
        }
        let index = number[root] as usize;
        let (blob, edge) = (&mut blobs[index], &mut edges[index]);
        blob.area += span.right as u32 - span.left as u32;
        if left < blob.left {
            (blob.left, edge[0]) = (left, (span.left, span.y));
        }
        if right > blob.right {
            (blob.right, edge[1]) = (right, (span.right - 1, span.y));
        }
        if y >= blob.bottom {
            (blob.bottom, edge[3]) = (y + 1, (span.left, span.y));
        }
        number[id] = number[root];
    }
    for (blob, edge) in blobs.iter_mut().zip(&edges) {
        blob.ground = ground_around(labels, width, height, edge);
    }
    for (id, span) in spans.iter().enumerate() {
        labels[span.y * width + span.left..span.y * width + span.right].fill(INK | number[id]);
    }
    blobs
}

struct Span {
    y: usize,
    left: usize,
    right: usize,
}

fn ink_spans(labels: &[u32], width: usize, height: usize) -> (Vec<Span>, Vec<Run>) {
    let (mut spans, mut runs): (Vec<Span>, Vec<Run>) = (Vec::new(), Vec::new());
    let mut above = 0..0;
    for y in 0..height {
        let row = &labels[y * width..(y + 1) * width];
        let first = spans.len();
        let mut candidate = above.start;
        let mut x = 0;
        while let Some(left) = row[x..].iter().position(|&l| l == INK).map(|at| x + at) {
            let right = row[left..].iter().position(|&l| l != INK).map_or(width, |at| left + at);
            let id = spans.len() as u32;
            runs.push(Run { parent: id, length: 0 });
            while candidate < above.end && spans[candidate].right < left {
                candidate += 1;
            }
            let mut touching = candidate;
            while touching < above.end && spans[touching].left <= right {
                join(&mut runs, id, touching as u32);
                touching += 1;
            }
            spans.push(Span { y, left, right });
            x = right;
            if x >= width {
                break;
            }
        }
        above = first..spans.len();
    }
    (spans, runs)
}

/// The ground that most of the outermost pixels (left, right, upper, lower) of a blob touch.
fn ground_around(labels: &[u32], width: usize, height: usize, edges: &[(usize, usize); 4]) -> Option<u32> {
    let at = |x: usize, y: usize| (x < width && y < height).then(|| labels[y * width + x]).filter(|l| l & INK == 0);
    let [left, right, top, bottom] = *edges;
    let touched =
        [at(left.0.wrapping_sub(1), left.1), at(right.0 + 1, right.1), at(top.0, top.1.wrapping_sub(1)), at(bottom.0, bottom.1 + 1)];
    let votes = |label: Option<u32>| touched.iter().filter(|t| **t == label).count();
    touched.into_iter().flatten().max_by_key(|label| votes(Some(*label)))
}
