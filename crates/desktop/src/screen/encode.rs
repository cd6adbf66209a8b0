//! PNG and JPEG of pixels as the screen gives them, blue first.
//!
//! A PNG is a few chunks around a zlib stream, so it is written here, row by row out of the captured pixels: no copy of
//! the whole picture as red, green, blue is made, and a picture that will be too large is given up as soon as that
//! shows, not after it was compressed to the end.

use std::io::{self, Write};

use jpeg_encoder::{ColorType, Encoder};

use super::{Image, Order};

/// How a picture is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Exact.
    Png,
    /// Smaller for photos, with loss.
    Jpeg,
}

impl Format {
    /// Its media type.
    #[must_use]
    pub const fn mime(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
        }
    }

    /// `png` or `jpeg`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
        }
    }
}

/// How hard a PNG is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// Runs of equal bytes and a fixed code: a few milliseconds.
    Least,
    /// Repeats are found: a third of the size for windows and text, at several times the time.
    Some,
}

/// A PNG at the least effort.
#[must_use]
pub fn png(image: &Image<'_>) -> Vec<u8> {
    png_within(image, usize::MAX, Effort::Least).unwrap_or_default()
}

/// A JPEG of `quality` 1 to 100; `None` for a picture of more than 65,535 pixels a side.
#[must_use]
pub fn jpeg(image: &Image<'_>, quality: u8) -> Option<Vec<u8>> {
    let (width, height) = (u16::try_from(image.width).ok()?, u16::try_from(image.height).ok()?);
    let order = match image.order {
        Order::Bgrx => ColorType::Bgra,
        Order::Rgbx => ColorType::Rgba,
    };
    let packed = packed(image);
    let mut out = Vec::with_capacity(image.width as usize * image.height as usize / 4);
    Encoder::new(&mut out, quality.clamp(1, 100)).encode(&packed, width, height, order).ok()?;
    Some(out)
}

/// The pixels without gaps between rows.
pub(super) fn packed<'a>(image: &Image<'a>) -> std::borrow::Cow<'a, [u8]> {
    let row = image.width as usize * 4;
    if image.stride == row {
        return image.pixels.get(..row * image.height as usize).unwrap_or_default().into();
    }
    image.pixels.chunks(image.stride).take(image.height as usize).flat_map(|r| &r[..row.min(r.len())]).copied().collect()
}

/// A PNG of at most `limit` bytes, or the number of rows that were done when it became larger.
pub(super) fn png_within(image: &Image<'_>, limit: usize, effort: Effort) -> Result<Vec<u8>, u32> {
    const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
    let mut rows = Rows::new(image, effort);
    // The compressor writes its first bytes unasked and takes no refusal there.
    let sink = Within { bytes: Vec::with_capacity(limit.min(1 << 20)), limit: limit.max(4096) };
    let compressed = match effort {
        Effort::Least => least(&mut rows, sink),
        Effort::Some => some(&mut rows, sink),
    };
    let data = compressed.map_err(|_| rows.done)?.bytes;
    let mut header = Vec::with_capacity(13);
    header.extend_from_slice(&image.width.to_be_bytes());
    header.extend_from_slice(&image.height.to_be_bytes());
    header.extend_from_slice(&[8, 2, 0, 0, 0]);
    let mut out = Vec::with_capacity(data.len() + 64);
    out.extend_from_slice(SIGNATURE);
    chunk(&mut out, *b"IHDR", &header);
    chunk(&mut out, *b"IDAT", &data);
    chunk(&mut out, *b"IEND", &[]);
    if out.len() > limit { Err(rows.done) } else { Ok(out) }
}

fn least(rows: &mut Rows<'_>, sink: Within) -> io::Result<Within> {
    let mut zlib = fdeflate::Compressor::new(sink)?;
    while let Some(row) = rows.next() {
        zlib.write_data(row)?;
    }
    zlib.finish()
}

fn some(rows: &mut Rows<'_>, sink: Within) -> io::Result<Within> {
    let mut zlib = flate2::write::ZlibEncoder::new(sink, flate2::Compression::new(1));
    while let Some(row) = rows.next() {
        zlib.write_all(row)?;
    }
    zlib.finish()
}

fn chunk(out: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    // A chunk has at most 2^31 - 1 bytes; a screen has not.
    out.extend_from_slice(&u32::try_from(data.len()).unwrap_or(0).to_be_bytes());
    let start = out.len();
    out.extend_from_slice(&kind);
    out.extend_from_slice(data);
    let sum = crc32fast::hash(&out[start..]);
    out.extend_from_slice(&sum.to_be_bytes());
}

/// A buffer that refuses to grow past a limit.
struct Within {
    bytes: Vec<u8>,
    limit: usize,
}

impl Write for Within {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + data.len() > self.limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Filtered rows of a PNG: one byte naming the filter, then red, green, blue.
struct Rows<'a> {
    image: &'a Image<'a>,
    /// Differences to the row above suit the fixed code; repeats are found better in the plain values.
    differences: bool,
    done: u32,
    above: Vec<u8>,
    row: Vec<u8>,
    out: Vec<u8>,
    /// `out` already says "as above".
    same: bool,
}

const NONE: u8 = 0;
const UP: u8 = 2;

impl<'a> Rows<'a> {
    fn new(image: &'a Image<'a>, effort: Effort) -> Self {
        let len = image.width as usize * 3;
        let differences = effort == Effort::Least;
        Self { image, differences, done: 0, above: vec![0; len], row: vec![0; len], out: vec![0; len + 1], same: false }
    }

    fn next(&mut self) -> Option<&[u8]> {
        let pixels = self.source(self.done)?;
        let repeats = self.done > 0 && self.source(self.done - 1) == Some(pixels);
        self.done += 1;
        if self.differences && repeats {
            if !self.same {
                self.out.fill(0);
                self.out[0] = UP;
                self.same = true;
            }
            return Some(&self.out);
        }
        self.same = false;
        if !self.differences {
            self.out[0] = NONE;
            rgb(pixels, self.image.order, &mut self.out[1..]);
            return Some(&self.out);
        }
        std::mem::swap(&mut self.above, &mut self.row);
        rgb(pixels, self.image.order, &mut self.row);
        self.out[0] = UP;
        for ((out, row), above) in self.out[1..].iter_mut().zip(&self.row).zip(&self.above) {
            *out = row.wrapping_sub(*above);
        }
        Some(&self.out)
    }

    fn source(&self, y: u32) -> Option<&'a [u8]> {
        let at = y as usize * self.image.stride;
        (y < self.image.height).then(|| self.image.pixels.get(at..at + self.image.width as usize * 4)).flatten()
    }
}

/// Four bytes a pixel to red, green, blue.
fn rgb(pixels: &[u8], order: Order, out: &mut [u8]) {
    let [red, blue] = match order {
        Order::Bgrx => [2, 0],
        Order::Rgbx => [0, 2],
    };
    for (out, pixel) in out.as_chunks_mut::<3>().0.iter_mut().zip(pixels.as_chunks::<4>().0) {
        *out = [pixel[red], pixel[1], pixel[blue]];
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A picture with flat parts, equal rows, and noise below `noisy`.
    pub(in crate::screen) fn sample(width: u32, height: u32, noisy: u32) -> Vec<u8> {
        let mut state = 7_u32;
        let mut pixels = Vec::new();
        for y in 0..height {
            for x in 0..width {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let [a, b, c, d] = state.to_le_bytes();
                let flat = [((x / 50) as u8).wrapping_mul(20), ((y / 30) as u8).wrapping_mul(20), 200, d];
                pixels.extend_from_slice(&if y < noisy { [a, b, c, d] } else { flat });
            }
        }
        pixels
    }

    fn decoded(bytes: &[u8]) -> image::RgbImage {
        let image = image::load_from_memory(bytes).unwrap();
        assert_eq!(image.color(), image::ColorType::Rgb8, "there is no alpha to be wrong");
        image.to_rgb8()
    }

    #[test]
    fn a_png_is_exact_in_both_orders_and_efforts_and_with_gaps_between_rows() {
        let (width, height) = (61, 40);
        let pixels = sample(width, height, 9);
        for order in [Order::Bgrx, Order::Rgbx] {
            for (stride, width) in [(width as usize * 4, width), (width as usize * 4, width - 7)] {
                let image = Image::new(width, height, stride, &pixels, order).unwrap();
                for effort in [Effort::Least, Effort::Some] {
                    let shown = decoded(&png_within(&image, usize::MAX, effort).unwrap());
                    assert_eq!(shown.dimensions(), (width, height));
                    for (x, y, got) in shown.enumerate_pixels() {
                        let at = y as usize * stride + x as usize * 4;
                        let [a, b, c] = [pixels[at], pixels[at + 1], pixels[at + 2]];
                        assert_eq!(got.0, if order == Order::Bgrx { [c, b, a] } else { [a, b, c] }, "at {x},{y}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_png_too_large_is_given_up_early() {
        let pixels = sample(300, 300, 300);
        let image = Image::new(300, 300, 1200, &pixels, Order::Bgrx).unwrap();
        for effort in [Effort::Least, Effort::Some] {
            let rows = png_within(&image, 20_000, effort).unwrap_err();
            assert!(rows < 200, "{rows} rows were compressed for nothing");
        }
    }

    #[test]
    fn a_jpeg_has_its_colours_in_place() {
        let pixels = [30, 140, 250, 0].repeat(64 * 64);
        let image = Image::new(64, 64, 256, &pixels, Order::Bgrx).unwrap();
        let shown = decoded(&jpeg(&image, 90).unwrap());
        for (got, want) in shown.get_pixel(32, 32).0.iter().zip([250, 140, 30]) {
            assert!(got.abs_diff(want) <= 4, "{got} for {want}");
        }
    }
}
