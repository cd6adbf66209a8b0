//! What was read before: lines by their exact ink.
//!
//! Scrolling, hovering and opening a dialog leave most lines of a screen as they were, and their trimmed crops repeat
//! byte for byte. A hit compares every pixel, so it is never wrong; the memory is bounded and holds nothing on disk.

use super::Reading;
use super::crop::Crop;
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes of crops that are kept.
const CAPACITY: usize = 16 << 20;

/// Readings by crop, the least recently used half forgotten when full.
#[derive(Default)]
pub(super) struct Cache {
    known: HashMap<Arc<Crop>, Entry>,
    bytes: usize,
    clock: u64,
}

struct Entry {
    reading: Reading,
    used: u64,
}

impl Cache {
    /// What exactly this ink was read as.
    pub(super) fn get(&mut self, crop: &Crop) -> Option<Reading> {
        self.clock += 1;
        let entry = self.known.get_mut(crop)?;
        entry.used = self.clock;
        Some(entry.reading.clone())
    }

    /// Remembers a reading.
    pub(super) fn put(&mut self, crop: Crop, reading: Reading) {
        let size = crop.ink.len() + reading.glyphs.len() * size_of::<super::Glyph>();
        if size > CAPACITY / 8 {
            return;
        }
        if self.bytes + size > CAPACITY {
            self.forget_half();
        }
        self.clock += 1;
        if self.known.insert(Arc::new(crop), Entry { reading, used: self.clock }).is_none() {
            self.bytes += size;
        }
    }

    fn forget_half(&mut self) {
        let mut ages: Vec<u64> = self.known.values().map(|e| e.used).collect();
        ages.sort_unstable();
        let median = ages.get(ages.len() / 2).copied().unwrap_or(0);
        self.known.retain(|_, entry| entry.used > median);
        self.bytes = self.known.iter().map(|(c, e)| c.ink.len() + e.reading.glyphs.len() * size_of::<super::Glyph>()).sum();
    }
}
