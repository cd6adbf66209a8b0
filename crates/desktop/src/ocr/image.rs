//! A borrowed picture of the screen, and rectangles in it.

use std::fmt;

/// A rectangle in pixels: `x`, `y` is its top left corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rect {
    /// Left edge.
    pub x: i32,
    /// Upper edge.
    pub y: i32,
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
}

impl Rect {
    /// A rectangle from its corner and size.
    #[must_use]
    pub const fn new(x: i32, y: i32, width: u32, height: u32) -> Self {
        Self { x, y, width, height }
    }

    /// One past its last column.
    #[must_use]
    pub const fn right(&self) -> i32 {
        self.x + self.width.cast_signed()
    }

    /// One past its last row.
    #[must_use]
    pub const fn bottom(&self) -> i32 {
        self.y + self.height.cast_signed()
    }

    /// Its middle, rounded down.
    #[must_use]
    pub const fn center(&self) -> (i32, i32) {
        (self.x + self.width.cast_signed() / 2, self.y + self.height.cast_signed() / 2)
    }

    /// What both have in common, if anything.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let (x, y) = (self.x.max(other.x), self.y.max(other.y));
        let (right, bottom) = (self.right().min(other.right()), self.bottom().min(other.bottom()));
        (x < right && y < bottom).then(|| Self::new(x, y, right.abs_diff(x), bottom.abs_diff(y)))
    }

    /// The smallest rectangle around both.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let (x, y) = (self.x.min(other.x), self.y.min(other.y));
        Self::new(x, y, self.right().max(other.right()).abs_diff(x), self.bottom().max(other.bottom()).abs_diff(y))
    }

    /// The same rectangle, moved.
    #[must_use]
    pub const fn moved(&self, dx: i32, dy: i32) -> Self {
        Self::new(self.x + dx, self.y + dy, self.width, self.height)
    }
}

impl fmt::Display for Rect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{},{}", self.x, self.y, self.width, self.height)
    }
}

/// Which byte of a pixel is which colour. Each pixel has four bytes; the fourth is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Blue, green, red: what X11 and Windows give.
    Bgrx,
    /// Red, green, blue.
    Rgbx,
}

/// A borrowed picture, four bytes a pixel.
#[derive(Clone, Copy)]
pub struct Image<'a> {
    /// Pixels from left to right.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
    /// Bytes from one row to the next, at least four times the width.
    pub stride: usize,
    /// The rows, upper one first.
    pub pixels: &'a [u8],
    /// Which byte is which colour.
    pub order: Order,
}

impl<'a> Image<'a> {
    /// A view of `pixels`; `None` when they are too few for the size.
    #[must_use]
    pub fn new(width: u32, height: u32, stride: usize, pixels: &'a [u8], order: Order) -> Option<Self> {
        let row = width as usize * 4;
        let needed = stride.checked_mul((height as usize).saturating_sub(1))?.checked_add(row)?;
        (width > 0 && height > 0 && stride >= row && pixels.len() >= needed).then_some(Self { width, height, stride, pixels, order })
    }

    /// The part of it inside `rect`, which must lie within.
    pub(super) fn view(&self, rect: &Rect) -> Option<Self> {
        let offset = rect.y.unsigned_abs() as usize * self.stride + rect.x.unsigned_abs() as usize * 4;
        Image::new(rect.width, rect.height, self.stride, self.pixels.get(offset..)?, self.order)
    }

    /// The whole of it.
    pub(super) fn bounds(&self) -> Rect {
        Rect::new(0, 0, self.width, self.height)
    }

    /// One row, four bytes a pixel; empty below the last one.
    #[must_use]
    pub fn row(&self, y: usize) -> &'a [u8] {
        self.pixels.get(y * self.stride..y * self.stride + self.width as usize * 4).unwrap_or_default()
    }
}

impl fmt::Debug for Image<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({}x{})", self.width, self.height)
    }
}
