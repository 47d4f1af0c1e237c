//! Where a folio lies in the page cache, as deltas carry it.

use super::delta::ABSENT;
use crate::geometry::INDEX_BITS;
use crate::units::{FileId, Order, PageIndex};

/// Where a folio lies: file, index and order in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Whose it is.
    pub file: FileId,
    /// Index of its first page.
    pub index: PageIndex,
    /// Its order.
    pub order: Order,
}

impl Place {
    /// As one word: order in the low 4 bits, index above, the file in the top 16.
    pub const fn pack(self) -> u64 {
        self.order.get() as u64 | self.index.get() << 4 | (self.file.get() as u64) << 48
    }
    /// From a word; none for [`ABSENT`].
    pub const fn unpack(word: u64) -> Option<Self> {
        if word == ABSENT {
            return None;
        }
        Some(Self {
            file: FileId::new((word >> 48) as u32),
            index: PageIndex::new(word >> 4 & ((1 << INDEX_BITS) - 1)),
            order: Order::new((word & 15) as u8),
        })
    }
}
