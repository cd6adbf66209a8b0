//! Letters so large that their strokes are as wide as a button: clocks, headlines, presentations.
//!
//! In their own size such strokes are grounds, not ink. So the picture is looked at a second time, reduced, where they
//! are letters like any others; that costs a sixteenth of the first look. Only what is huge counts there.

use super::Line;
use super::image::{Image, Order, Rect};

/// Pixels of the screen for one of the reduced picture, each way.
pub(super) const REDUCTION: u32 = 4;
/// Rows of the reduced picture that a line must have to be huge.
pub(super) const LOWEST: i32 = 14;
/// Large pictures look like letters, so a huge line has to be sure.
const SURE: f32 = 0.85;

/// A picture at a quarter of its width and height.
pub(super) struct Reduced {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl Reduced {
    /// It, unless nothing is left of it.
    pub(super) fn image(&self) -> Option<Image<'_>> {
        Image::new(self.width, self.height, self.width as usize * 4, &self.pixels, Order::Rgbx)
    }
}

/// Reduces a picture; each pixel becomes the mean of what it covers. Colours keep their places.
pub(super) fn reduced(image: &Image<'_>) -> Reduced {
    let (width, height) = (image.width / REDUCTION, image.height / REDUCTION);
    let side = REDUCTION as usize;
    let mut pixels = Vec::with_capacity(width as usize * height as usize * 4);
    let mut sums = vec![0_u16; width as usize * 4];
    for top in (0..height as usize).map(|y| y * side) {
        sums.fill(0);
        for y in top..top + side {
            for (sum, block) in sums.chunks_exact_mut(4).zip(image.row(y).chunks_exact(4 * side)) {
                for pixel in block.chunks_exact(4) {
                    sum.iter_mut().zip(pixel).for_each(|(sum, byte)| *sum += u16::from(*byte));
                }
            }
        }
        pixels.extend(sums.iter().map(|sum| (sum / (side * side) as u16) as u8));
    }
    Reduced { width, height, pixels }
}

/// Puts huge lines (in pixels of the reduced picture) in the place of the fragments that their strokes were taken for.
/// What is readable text inside one says that it was a picture.
pub(super) fn place(lines: &mut Vec<Line>, huge: impl Iterator<Item = Line>) {
    let times = |rect: Rect| {
        let factor = REDUCTION.cast_signed();
        Rect::new(rect.x * factor, rect.y * factor, rect.width * REDUCTION, rect.height * REDUCTION)
    };
    for mut line in huge.filter(|line| line.confidence >= SURE) {
        line.rect = times(line.rect);
        line.words.iter_mut().for_each(|word| word.rect = times(word.rect));
        let inside = |other: &Line| {
            other.rect.intersection(&line.rect).is_some_and(|part| part.width * part.height * 2 > other.rect.width * other.rect.height)
        };
        let known = |other: &Line| other.rect.height * 2 >= line.rect.height && other.text.chars().count() >= line.text.chars().count();
        let text = |other: &Line| other.confidence >= SURE && other.text.chars().count() >= 4;
        if lines.iter().filter(|other| inside(other)).any(|other| known(other) || text(other)) {
            continue;
        }
        lines.retain(|other| !inside(other));
        lines.push(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pixel_is_the_mean_of_what_it_covers() {
        let mut pixels = vec![0_u8; 9 * 8 * 4];
        for (at, byte) in pixels.iter_mut().enumerate() {
            *byte = if at % 4 == 0 { 16 } else { 200 };
        }
        pixels[..16].fill(0);
        let reduced = reduced(&Image::new(9, 8, 36, &pixels, Order::Bgrx).unwrap());
        assert_eq!((reduced.width, reduced.height), (2, 2), "what does not fill a pixel is left out");
        assert_eq!(reduced.pixels[..8], [12, 150, 150, 150, 16, 200, 200, 200]);
    }

    #[test]
    fn fragments_give_way_and_text_inside_a_picture_stays() {
        let line = |text: &str, rect: Rect| Line { text: text.into(), confidence: 0.95, rect, words: Vec::new() };
        let mut lines = vec![line("2", Rect::new(40, 40, 20, 30)), line("Menu", Rect::new(400, 400, 60, 14))];
        let huge = [line("12:47", Rect::new(5, 5, 100, 20)), line("O", Rect::new(90, 90, 40, 40))];
        place(&mut lines, huge.into_iter());
        let texts: Vec<&str> = lines.iter().map(|l| l.text.as_str()).collect();
        assert_eq!(texts, ["Menu", "12:47"]);
        assert_eq!(lines[1].rect, Rect::new(20, 20, 400, 80));
    }
}
