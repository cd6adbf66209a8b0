//! From the pixels of an X visual to four bytes of blue, green, red and nothing.
//!
//! What a pixel is, its visual says, not its size: a 30-bit screen has 32 bits a pixel too, and read as bytes its reds
//! and greys are wrong. So the masks decide; only for the usual masks may the pixels stay as they came.

/// How one visual packs a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// 8, 16, 24 or 32.
    pub(super) bits: u8,
    /// Every row begins at a multiple of this many bits.
    pub(super) pad: u8,
    /// Lowest byte last.
    pub(super) big_endian: bool,
    /// Red, green, blue.
    pub(super) masks: [u32; 3],
}

/// The masks nearly every server has: a byte each, blue lowest.
const USUAL: [u32; 3] = [0x00ff_0000, 0x0000_ff00, 0x0000_00ff];

impl Layout {
    /// Bytes from one row to the next.
    pub(super) const fn stride(&self, width: u32) -> usize {
        let pad = self.pad as usize;
        (width as usize * self.bits as usize).div_ceil(pad) * pad / 8
    }

    /// Whether the bytes can be read as they are: blue, green, red, unused.
    pub(super) fn is_bgrx(&self) -> bool {
        self.bits == 32 && !self.big_endian && self.masks == USUAL
    }

    /// Whether every pixel of it can be understood.
    pub(super) fn is_known(&self) -> bool {
        matches!(self.bits, 16 | 24 | 32) && self.masks.iter().all(|m| *m != 0)
    }

    /// Repacks rows of this layout as blue, green, red, 255, without gaps.
    pub(super) fn to_bgrx(self, data: &[u8], width: u32, height: u32) -> Vec<u8> {
        let tables = self.masks.map(Channel::new);
        let bytes = usize::from(self.bits / 8);
        let mut out = Vec::with_capacity(width as usize * height as usize * 4);
        for row in data.chunks(self.stride(width)).take(height as usize) {
            for pixel in row.chunks_exact(bytes).take(width as usize) {
                let fold = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
                let value = if self.big_endian { pixel.iter().fold(0, fold) } else { pixel.iter().rev().fold(0, fold) };
                let [red, green, blue] = [0, 1, 2].map(|i: usize| tables[i].level(value));
                out.extend_from_slice(&[blue, green, red, 255]);
            }
        }
        out.resize(width as usize * height as usize * 4, 255);
        out
    }
}

/// One colour's bits, and what each value of them is in 0 to 255.
struct Channel {
    shift: u32,
    mask: u32,
    levels: Vec<u8>,
}

impl Channel {
    fn new(mask: u32) -> Self {
        let shift = mask.trailing_zeros() % 32;
        let top = mask >> shift;
        // More than ten bits a colour has no server; the table stays small all the same.
        let levels = (0..=top.min(0xffff)).map(|v| ((u64::from(v) * 255 + u64::from(top) / 2) / u64::from(top.max(1))) as u8);
        Self { shift, mask, levels: levels.collect() }
    }

    fn level(&self, pixel: u32) -> u8 {
        self.levels.get(((pixel & self.mask) >> self.shift) as usize).copied().unwrap_or(255)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THIRTY: Layout = Layout { bits: 32, pad: 32, big_endian: false, masks: [0x3ff0_0000, 0x000f_fc00, 0x0000_03ff] };

    #[test]
    fn thirty_bits_are_not_read_as_bytes() {
        assert!(!THIRTY.is_bgrx());
        let grey = (514_u32 << 20 | 514 << 10 | 514).to_le_bytes();
        let orange = (1023_u32 << 20 | 562 << 10 | 160).to_le_bytes();
        let out = THIRTY.to_bgrx(&[grey, orange].concat(), 2, 1);
        assert_eq!(out, [128, 128, 128, 255, 40, 140, 255, 255]);
    }

    #[test]
    fn sixteen_bits_reach_full_white_and_rows_are_padded() {
        let layout = Layout { bits: 16, pad: 32, big_endian: false, masks: [0xf800, 0x07e0, 0x001f] };
        assert_eq!(layout.stride(3), 8);
        let row = [0xff, 0xff, 0x00, 0xf8, 0x1f, 0x00, 9, 9];
        let out = layout.to_bgrx(&row, 3, 1);
        assert_eq!(out, [255, 255, 255, 255, 0, 0, 255, 255, 255, 0, 0, 255]);
    }

    #[test]
    fn big_endian_and_packed_pixels() {
        let layout = Layout { bits: 24, pad: 8, big_endian: true, masks: USUAL };
        assert_eq!(layout.to_bgrx(&[1, 2, 3, 4, 5, 6], 2, 1), [3, 2, 1, 255, 6, 5, 4, 255]);
        let swapped = Layout { bits: 32, pad: 32, big_endian: false, masks: [0xff, 0xff00, 0x00ff_0000] };
        assert_eq!(swapped.to_bgrx(&[1, 2, 3, 0], 1, 1), [3, 2, 1, 255]);
    }

    #[test]
    fn short_data_gives_a_whole_picture() {
        assert_eq!(THIRTY.to_bgrx(&[], 2, 2).len(), 16);
    }
}
