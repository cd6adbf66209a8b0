//! A picture of the screen as it was at one moment.

use std::fmt;
use std::sync::Arc;

use super::{Image, Order, Rect};

/// What to take a picture of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Area {
    /// The whole virtual screen.
    #[default]
    All,
    /// A rectangle in desktop coordinates; what lies outside the screen is cut off.
    Region(Rect),
    /// One monitor: its number as `monitors()` lists them, from 0, or its name.
    Monitor(String),
    /// What the screen shows where this window is (so what covers it is seen too): `active`, its id, or a part of its title.
    Window(String),
}

/// Where the pixels are kept.
pub(super) enum Store {
    /// Made here.
    Owned(Vec<u8>),
    /// Shared with the X server, given back when the capture is dropped.
    #[cfg(target_os = "linux")]
    Shared(super::shm::Lease),
}

/// Pixels, four bytes each, with their place on the screen. Cheap to clone.
#[derive(Clone)]
pub struct Capture {
    width: u32,
    height: u32,
    stride: usize,
    order: Order,
    origin: (i32, i32),
    screen: (u32, u32),
    scale: f64,
    store: Arc<Store>,
}

impl Capture {
    pub(super) fn new(store: Store, size: (u32, u32), stride: usize, order: Order) -> Self {
        Self { width: size.0, height: size.1, stride, order, origin: (0, 0), screen: size, scale: 1.0, store: Arc::new(store) }
    }

    /// A picture from pixels that are already here, four bytes each, rows without gaps.
    ///
    /// `None` when the number of bytes does not fit the size.
    #[must_use]
    pub fn from_pixels(width: u32, height: u32, pixels: Vec<u8>, order: Order) -> Option<Self> {
        let stride = width as usize * 4;
        Image::new(width, height, stride, &pixels, order)?;
        Some(Self::new(Store::Owned(pixels), (width, height), stride, order))
    }

    /// Says where on which screen it was taken.
    #[must_use]
    pub(super) fn placed(mut self, origin: (i32, i32), screen: (u32, u32), scale: f64) -> Self {
        (self.origin, self.screen, self.scale) = (origin, screen, scale);
        self
    }

    /// Pixels from left to right.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// Pixels from top to bottom.
    #[must_use]
    pub const fn height(&self) -> u32 {
        self.height
    }

    /// Desktop coordinates of its top left pixel.
    #[must_use]
    pub const fn origin(&self) -> (i32, i32) {
        self.origin
    }

    /// Width and height of the whole virtual screen when it was taken.
    #[must_use]
    pub const fn screen(&self) -> (u32, u32) {
        self.screen
    }

    /// How much larger than at 96 dots an inch things are drawn. Information only: coordinates are pixels all the same.
    #[must_use]
    pub const fn scale(&self) -> f64 {
        self.scale
    }

    /// The rectangle of the screen it shows.
    #[must_use]
    pub const fn rect(&self) -> Rect {
        Rect::new(self.origin.0, self.origin.1, self.width, self.height)
    }

    /// The pixels, without copying them.
    #[must_use]
    pub fn image(&self) -> Image<'_> {
        Image { width: self.width, height: self.height, stride: self.stride, pixels: self.bytes(), order: self.order }
    }

    /// Red, green and blue of a pixel of the picture; `None` outside it.
    #[must_use]
    pub fn pixel(&self, x: u32, y: u32) -> Option<[u8; 3]> {
        if x >= self.width || y >= self.height {
            return None;
        }
        let at = y as usize * self.stride + x as usize * 4;
        let [a, b, c] = self.bytes().get(at..at + 3)?.try_into().ok()?;
        Some(match self.order {
            Order::Bgrx => [c, b, a],
            Order::Rgbx => [a, b, c],
        })
    }

    /// The part inside `rect` (desktop coordinates), copied; `None` when it lies outside.
    #[must_use]
    pub fn crop(&self, rect: Rect) -> Option<Self> {
        let part = self.rect().intersection(&rect)?;
        let (x, y) = (part.x.abs_diff(self.origin.0) as usize, part.y.abs_diff(self.origin.1) as usize);
        let row = part.width as usize * 4;
        let mut pixels = Vec::with_capacity(row * part.height as usize);
        for line in 0..part.height as usize {
            let at = (y + line) * self.stride + x * 4;
            pixels.extend_from_slice(self.bytes().get(at..at + row)?);
        }
        let cut = Self::from_pixels(part.width, part.height, pixels, self.order)?;
        Some(cut.placed((part.x, part.y), self.screen, self.scale))
    }

    /// Paints a rectangle of the screen grey. Only before the picture is given out.
    #[cfg(target_os = "linux")]
    pub(super) fn grey(&mut self, rect: Rect) {
        const GREY: u8 = 0x80;
        let Some(part) = self.rect().intersection(&rect) else { return };
        let (x, y) = (part.x.abs_diff(self.origin.0) as usize, part.y.abs_diff(self.origin.1) as usize);
        let (stride, row) = (self.stride, part.width as usize * 4);
        let pixels = match Arc::get_mut(&mut self.store) {
            Some(Store::Owned(pixels)) => pixels.as_mut_slice(),
            Some(Store::Shared(lease)) => lease.bytes_mut(),
            None => return,
        };
        for line in y..y + part.height as usize {
            if let Some(bytes) = pixels.get_mut(line * stride + x * 4..line * stride + x * 4 + row) {
                bytes.fill(GREY);
            }
        }
    }

    fn bytes(&self) -> &[u8] {
        match &*self.store {
            Store::Owned(pixels) => pixels,
            #[cfg(target_os = "linux")]
            Store::Shared(lease) => lease.bytes(),
        }
    }
}

/// What was on the screen is nobody's log line.
impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Capture({} of {}x{})", self.rect(), self.screen.0, self.screen.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checker() -> Capture {
        let pixels = (0..4 * 3).flat_map(|i: u8| [i, 100 + i, 200 + i, 0]).collect();
        Capture::from_pixels(4, 3, pixels, Order::Bgrx).unwrap().placed((10, 20), (100, 100), 1.5)
    }

    #[test]
    fn a_pixel_is_red_green_blue_whatever_the_order() {
        let c = checker();
        assert_eq!(c.pixel(1, 2), Some([209, 109, 9]));
        assert_eq!(c.pixel(4, 0), None);
        let rgb = Capture::from_pixels(1, 1, vec![1, 2, 3, 4], Order::Rgbx).unwrap();
        assert_eq!(rgb.pixel(0, 0), Some([1, 2, 3]));
    }

    #[test]
    fn a_crop_keeps_its_place_and_is_cut_at_the_edge() {
        let c = checker().crop(Rect::new(12, 21, 50, 50)).unwrap();
        assert_eq!(c.rect(), Rect::new(12, 21, 2, 2));
        assert_eq!(c.screen(), (100, 100));
        assert_eq!(c.pixel(0, 0), checker().pixel(2, 1));
        assert!(checker().crop(Rect::new(0, 0, 5, 5)).is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_ours_is_grey_and_nothing_beside_it() {
        let mut c = checker();
        let before = c.pixel(0, 0);
        c.grey(Rect::new(11, 21, 2, 100));
        assert_eq!((c.pixel(1, 1), c.pixel(2, 2)), (Some([0x80; 3]), Some([0x80; 3])));
        assert_eq!((c.pixel(0, 0), c.pixel(3, 1)), (before, checker().pixel(3, 1)));
    }

    #[test]
    fn too_few_bytes_are_no_picture() {
        assert!(Capture::from_pixels(2, 2, vec![0; 15], Order::Bgrx).is_none());
        assert!(Capture::from_pixels(0, 2, vec![], Order::Bgrx).is_none());
    }
}
