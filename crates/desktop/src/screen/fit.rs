//! A picture that a caller can take: small enough, and as true as that allows.
//!
//! Exact at native size when that fits; else with loss at native size, for coordinates read from it need no factor;
//! scaled down last. Large screens must not be encoded over and over, so sizes are foretold from a sample of the rows.

use fast_image_resize::images::{Image as Resized, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};

use super::encode::{Effort, jpeg, packed, png_within};
use super::{Format, Image};
use crate::{Error, Result};

/// What the picture may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Most characters of base64 (four for three bytes). Default 700,000.
    pub max_base64_bytes: usize,
    /// Longest side in pixels; none: as long as the screen.
    pub max_edge: Option<u32>,
    /// Only this format; none: PNG when it fits, else JPEG.
    pub format: Option<Format>,
    /// JPEG quality, 1 to 100; none: the best of a few that fits.
    pub quality: Option<u8>,
}

impl Default for Fit {
    fn default() -> Self {
        Self { max_base64_bytes: 700_000, max_edge: None, format: None, quality: None }
    }
}

/// An encoded picture.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    /// The file.
    pub bytes: Vec<u8>,
    /// What kind of file.
    pub format: Format,
    /// Its pixels from left to right, which may be fewer than the screen's.
    pub width: u32,
    /// Its pixels from top to bottom.
    pub height: u32,
}

impl std::fmt::Debug for Picture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Picture({} {}x{}, {} bytes)", self.format.name(), self.width, self.height, self.bytes.len())
    }
}

/// Qualities tried at native size. Below the last one text suffers more than from fewer pixels.
const LADDER: [u8; 4] = [85, 75, 62, 50];
/// Quality of a picture that had to be scaled.
const SCALED_QUALITY: u8 = 72;
/// A sample foretells the size within about a tenth.
const MARGIN: f64 = 0.92;
/// No picture is made smaller than this.
const LEAST_EDGE: u32 = 16;

/// Encodes `image` so that it keeps to `fit`.
///
/// # Errors
/// [`Error::Invalid`] when nothing can be small enough.
pub fn fit(image: &Image<'_>, fit: &Fit) -> Result<Picture> {
    let longest = image.width.max(image.height);
    match fit.max_edge {
        Some(edge) if edge < longest => {
            let smaller = scaled(image, f64::from(edge.max(LEAST_EDGE)) / f64::from(longest))?;
            native(&view(&smaller, image), fit)
        }
        _ => native(image, fit),
    }
}

fn native(image: &Image<'_>, fit: &Fit) -> Result<Picture> {
    let limit = fit.max_base64_bytes / 4 * 3;
    if fit.format != Some(Format::Jpeg) {
        match exact(image, limit) {
            Ok(bytes) => return Ok(picture(bytes, Format::Png, image)),
            Err(foretold) if fit.format == Some(Format::Png) => {
                return shrunk(image, limit, foretold, Format::Png, |i| exact(i, limit).ok());
            }
            Err(_) => {}
        }
    }
    let ladder = fit.quality.map_or_else(|| LADDER.to_vec(), |q| vec![q]);
    let sample = Sample::of(image);
    for quality in &ladder {
        if sample.foretell(*quality) * MARGIN <= limit as f64 {
            match jpeg(image, *quality) {
                Some(bytes) if bytes.len() <= limit => return Ok(picture(bytes, Format::Jpeg, image)),
                _ => {}
            }
        }
    }
    let quality = fit.quality.unwrap_or(SCALED_QUALITY);
    shrunk(image, limit, sample.foretell(quality), Format::Jpeg, |i| jpeg(i, quality).filter(|b| b.len() <= limit))
}

/// A PNG within the limit, or about how large it would be.
fn exact(image: &Image<'_>, limit: usize) -> Result<Vec<u8>, f64> {
    let whole = f64::from(image.height);
    let rows = match png_within(image, limit, Effort::Least) {
        Ok(bytes) => return Ok(bytes),
        Err(rows) => f64::from(rows.max(1)),
    };
    // Looking for repeats saves much in windows and little in photos: not tried when the end is far away.
    if rows * 8.0 < whole {
        return Err(limit as f64 * whole / rows);
    }
    png_within(image, limit, Effort::Some).map_err(|rows| limit as f64 * whole / f64::from(rows.max(1)))
}

/// Scales down until `encode` is content. Bytes go with the area, so the first try is mostly right.
fn shrunk(
    image: &Image<'_>,
    limit: usize,
    foretold: f64,
    format: Format,
    encode: impl Fn(&Image<'_>) -> Option<Vec<u8>>,
) -> Result<Picture> {
    let mut factor = (limit as f64 / foretold * MARGIN).sqrt().min(0.95);
    while f64::from(image.width.max(image.height)) * factor >= f64::from(LEAST_EDGE) {
        let smaller = scaled(image, factor)?;
        let view = view(&smaller, image);
        if let Some(bytes) = encode(&view) {
            return Ok(picture(bytes, format, &view));
        }
        factor *= 0.85;
    }
    Err(Error::Invalid(format!("no picture of this screen has at most {limit} bytes; allow more")))
}

fn picture(bytes: Vec<u8>, format: Format, image: &Image<'_>) -> Picture {
    Picture { bytes, format, width: image.width, height: image.height }
}

fn view<'a>(scaled: &'a Resized<'_>, like: &Image<'_>) -> Image<'a> {
    let stride = scaled.width() as usize * 4;
    Image { width: scaled.width(), height: scaled.height(), stride, pixels: scaled.buffer(), order: like.order }
}

fn scaled(image: &Image<'_>, factor: f64) -> Result<Resized<'static>> {
    let side = |length: u32| ((f64::from(length) * factor).round() as u32).max(1);
    let pixels = packed(image);
    let source = ImageRef::new(image.width, image.height, &pixels, PixelType::U8x4);
    let source = source.map_err(|e| Error::failed("scaling the picture", e))?;
    let mut target = Resized::new(side(image.width), side(image.height), PixelType::U8x4);
    // The fourth byte means nothing, so the others must not be weighed by it.
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Hamming)).use_alpha(false);
    Resizer::new().resize(&source, &mut target, &options).map_err(|e| Error::failed("scaling the picture", e))?;
    Ok(target)
}

/// Every eighth band of 16 rows: enough to tell how large a JPEG will be, at an eighth of the work.
struct Sample {
    pixels: Vec<u8>,
    width: u32,
    order: super::Order,
    share: f64,
}

impl Sample {
    const BAND: usize = 16;
    const EVERY: usize = 8;

    fn of(image: &Image<'_>) -> Self {
        let row = image.width as usize * 4;
        let bands = packed_bands(image, row);
        let taken = bands.len() / row.max(1);
        Self { pixels: bands, width: image.width, order: image.order, share: taken as f64 / f64::from(image.height) }
    }

    /// About how many bytes the whole picture has at this quality.
    fn foretell(&self, quality: u8) -> f64 {
        let row = self.width as usize * 4;
        let height = (self.pixels.len() / row.max(1)) as u32;
        let sampled = Image::new(self.width, height, row, &self.pixels, self.order).and_then(|i| jpeg(&i, quality));
        sampled.map_or(f64::INFINITY, |bytes| bytes.len() as f64 / self.share)
    }
}

fn packed_bands(image: &Image<'_>, row: usize) -> Vec<u8> {
    let bands = image.pixels.chunks(image.stride).take(image.height as usize).enumerate();
    // Starting in the middle of the first eight: the upper edge of a screen is a flat panel.
    let first = if image.height as usize >= Sample::BAND * Sample::EVERY { Sample::EVERY / 2 } else { 0 };
    let taken = bands.filter(|(y, _)| y / Sample::BAND % Sample::EVERY == first);
    taken.flat_map(|(_, r)| &r[..row.min(r.len())]).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::super::Order;
    use super::super::encode::tests::sample;
    use super::*;

    fn image(pixels: &[u8], width: u32, height: u32) -> Image<'_> {
        Image::new(width, height, width as usize * 4, pixels, Order::Bgrx).unwrap()
    }

    #[test]
    fn a_screen_of_windows_stays_exact_and_native() {
        let pixels = sample(800, 600, 10);
        let got = fit(&image(&pixels, 800, 600), &Fit::default()).unwrap();
        assert_eq!((got.format, got.width, got.height), (Format::Png, 800, 600));
    }

    #[test]
    fn noise_becomes_a_jpeg_and_then_fewer_pixels_within_the_limit() {
        let pixels = sample(800, 600, 600);
        for max in [700_000, 100_000, 20_000] {
            let got = fit(&image(&pixels, 800, 600), &Fit { max_base64_bytes: max, ..Fit::default() }).unwrap();
            assert_eq!(got.format, Format::Jpeg);
            assert!(got.bytes.len().div_ceil(3) * 4 <= max, "{got:?}");
            assert!(got.bytes.len() * 4 >= max / 3, "much smaller than allowed: {got:?} of {max}");
            let shown = image::load_from_memory(&got.bytes).unwrap();
            assert_eq!((shown.width(), shown.height()), (got.width, got.height));
            assert!((f64::from(got.width) / f64::from(got.height) - 4.0 / 3.0).abs() < 0.03);
        }
    }

    #[test]
    fn the_asked_edge_format_and_quality_are_kept() {
        let pixels = sample(800, 600, 300);
        let small = Fit { max_edge: Some(400), ..Fit::default() };
        let got = fit(&image(&pixels, 800, 600), &small).unwrap();
        assert_eq!((got.width, got.height), (400, 300));
        let exact = Fit { max_base64_bytes: 90_000, format: Some(Format::Png), ..Fit::default() };
        let got = fit(&image(&pixels, 800, 600), &exact).unwrap();
        assert!(got.format == Format::Png && got.width < 800 && got.bytes.len() <= 67_500, "{got:?}");
        let lossy = |quality| Fit { format: Some(Format::Jpeg), quality: Some(quality), ..Fit::default() };
        let [low, high] = [20, 90].map(|q| fit(&image(&pixels, 800, 600), &lossy(q)).unwrap());
        assert!(low.bytes.len() * 2 < high.bytes.len());
        assert_eq!((low.width, high.width), (800, 800));
    }

    #[test]
    fn what_cannot_be_is_said() {
        let pixels = sample(300, 300, 300);
        let none = Fit { max_base64_bytes: 40, ..Fit::default() };
        assert!(matches!(fit(&image(&pixels, 300, 300), &none), Err(Error::Invalid(_))));
    }

    #[test]
    fn one_pixel_is_a_picture() {
        let got = fit(&image(&[1, 2, 3, 4], 1, 1), &Fit { max_edge: Some(1), ..Fit::default() }).unwrap();
        assert_eq!((got.width, got.height, got.format), (1, 1, Format::Png));
    }
}
