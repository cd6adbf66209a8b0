//! What has changed between two looks.
//!
//! Of each look only a fingerprint of every tile is kept, no pixel and no text.

use super::image::{Image, Rect};
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Pixels of a tile's side.
const TILE: u32 = 32;
/// Looks that are kept.
const KEPT: usize = 16;

/// The fingerprints of the last looks.
#[derive(Default)]
pub(super) struct Looks {
    /// Seeds the fingerprints, so that nobody can prepare two tiles that look alike to it.
    hasher: RandomState,
    looks: VecDeque<(String, Look)>,
}

#[derive(PartialEq, Eq)]
struct Look {
    area: Rect,
    tiles: Vec<u64>,
}

impl Looks {
    /// Keeps a look under `id`; `area` is what `image` shows.
    pub(super) fn keep(&mut self, id: &str, image: &Image<'_>, area: Rect) {
        let look = Look { area, tiles: self.tiles(image) };
        self.looks.push_back((id.to_owned(), look));
        if self.looks.len() > KEPT {
            self.looks.pop_front();
        }
    }

    /// Where `image` of `area` differs from the look `id`; `None` when that is not known or was of another area.
    pub(super) fn changed(&self, id: &str, image: &Image<'_>, area: Rect) -> Option<Vec<Rect>> {
        let (_, look) = self.looks.iter().find(|(known, look)| known == id && look.area == area)?;
        let across = image.width.div_ceil(TILE);
        let differ = self.tiles(image).into_iter().zip(&look.tiles).zip(0_u32..).filter(|((now, then), _)| now != *then);
        let place =
            |at: u32| Rect::new(area.x + (at % across * TILE).cast_signed(), area.y + (at / across * TILE).cast_signed(), TILE, TILE);
        Some(differ.map(|(_, at)| place(at)).collect())
    }

    fn tiles(&self, image: &Image<'_>) -> Vec<u64> {
        let mut tiles = Vec::new();
        for top in (0..image.height).step_by(TILE as usize) {
            let mut hashers: Vec<_> = (0..image.width.div_ceil(TILE)).map(|_| self.hasher.build_hasher()).collect();
            for y in top..(top + TILE).min(image.height) {
                for (hasher, part) in hashers.iter_mut().zip(image.row(y as usize).chunks(TILE as usize * 4)) {
                    hasher.write(part);
                }
            }
            tiles.extend(hashers.iter().map(Hasher::finish));
        }
        tiles
    }
}

#[cfg(test)]
mod tests {
    use super::super::image::Order;
    use super::*;

    #[test]
    fn names_the_tiles_that_differ() {
        let mut pixels = vec![7_u8; 100 * 70 * 4];
        let area = Rect::new(200, 100, 100, 70);
        let mut looks = Looks::default();
        looks.keep("f1", &Image::new(100, 70, 400, &pixels, Order::Bgrx).unwrap(), area);
        let same = looks.changed("f1", &Image::new(100, 70, 400, &pixels, Order::Bgrx).unwrap(), area);
        assert_eq!(same, Some(Vec::new()));
        pixels[(40 * 100 + 99) * 4] = 8;
        let image = Image::new(100, 70, 400, &pixels, Order::Bgrx).unwrap();
        assert_eq!(looks.changed("f1", &image, area), Some(vec![Rect::new(296, 132, 32, 32)]));
        assert_eq!(looks.changed("f2", &image, area), None);
        assert_eq!(looks.changed("f1", &image, Rect::new(0, 0, 100, 70)), None, "another place on the screen");
    }
}
