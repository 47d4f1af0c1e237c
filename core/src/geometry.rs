//! Sizes of one world, and every conversion and rounding between its units.
//!
//! Page, block and largest folio are parameters, so that exhaustive tests can run with 16-byte
//! blocks and a page can show 64 KiB pages.

use crate::units::{
    BlockNo, Blocks, Bytes, FileRange, Offset, Order, PageIndex, Pages, Pos, SECTOR_SIZE,
};
use thiserror::Error;

/// Largest page-cache order (`MAX_PAGECACHE_ORDER` with the tree's split limit).
pub const MAX_ORDER: u8 = 11;
/// Smallest page or block size that a world may have.
pub const MIN_SIZE: u64 = 16;
/// Largest page size that a world may have.
pub const MAX_PAGE_SIZE: u64 = 64 * 1024;

/// Bits of the number of a block in its file.
pub const BLOCK_BITS: u8 = 32;
/// Bits of the index of a page in its file.
pub const INDEX_BITS: u8 = 44;

/// Why sizes do not fit together.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum GeometryError {
    /// Not a power of two, or outside the limits.
    #[error("{what} is {value}: expected a power of two from {min} to {max}")]
    Size {
        /// Which size.
        what: &'static str,
        /// What was given.
        value: u64,
        /// Smallest that is accepted.
        min: u64,
        /// Largest that is accepted.
        max: u64,
    },
    /// The order limit is too large.
    #[error("max_folio_order is {0}: expected 0 to {MAX_ORDER}")]
    Order(u8),
    /// A folio must hold a block at least.
    #[error(
        "block_size is {block} but the largest folio has {folio} bytes: raise max_folio_order to {order} or make the block smaller"
    )]
    BlockOverFolio {
        /// Block size.
        block: u64,
        /// Largest folio.
        folio: u64,
        /// Order that would do.
        order: u32,
    },
}

/// Page size, block size and the orders that folios may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    page_shift: u8,
    block_shift: u8,
    min_order: Order,
    max_order: Order,
}

impl Geometry {
    /// Checks the sizes and derives the smallest folio order (a folio holds a block at least).
    pub fn new(page: Bytes, block: Bytes, max_order: Order) -> Result<Self, GeometryError> {
        let shift = |what, value: u64, max| {
            if value.is_power_of_two() && (MIN_SIZE..=max).contains(&value) {
                Ok(value.trailing_zeros() as u8)
            } else {
                Err(GeometryError::Size { what, value, min: MIN_SIZE, max })
            }
        };
        let page_shift = shift("page_size", page.get(), MAX_PAGE_SIZE)?;
        let block_shift = shift("block_size", block.get(), MAX_PAGE_SIZE)?;
        if max_order.get() > MAX_ORDER {
            return Err(GeometryError::Order(max_order.get()));
        }
        let min_order = Order::new(block_shift.saturating_sub(page_shift));
        if min_order > max_order {
            return Err(GeometryError::BlockOverFolio {
                block: block.get(),
                folio: page.get() << max_order.get(),
                order: u32::from(min_order.get()),
            });
        }
        Ok(Self { page_shift, block_shift, min_order, max_order })
    }

    /// Largest size of a file (`s_maxbytes`): as in ext4, 2^32 blocks, and what a trace can name.
    pub const fn max_file(self) -> Pos {
        let (blocks, pages) = (BLOCK_BITS + self.block_shift, INDEX_BITS + self.page_shift);
        Pos::new(1 << if blocks < pages { blocks } else { pages })
    }
    /// Bytes of a page.
    pub const fn page_size(self) -> Bytes {
        Bytes::new(1 << self.page_shift)
    }
    /// Bytes of a block.
    pub const fn block_size(self) -> Bytes {
        Bytes::new(1 << self.block_shift)
    }
    /// Bytes of a sector of the device (`bdev_logical_block_size`): 512, or a block where that is
    /// smaller, as only tests have it.
    pub const fn sector_size(self) -> Bytes {
        let block = self.block_size().get();
        Bytes::new(if block < SECTOR_SIZE { block } else { SECTOR_SIZE })
    }
    /// Smallest folio order: above zero only where a block is larger than a page.
    pub const fn min_order(self) -> Order {
        self.min_order
    }
    /// Largest folio order of the mapping; equal to the smallest if it supports no large folios.
    pub const fn max_order(self) -> Order {
        self.max_order
    }
    /// Bytes of a folio.
    pub const fn folio_size(self, order: Order) -> Bytes {
        Bytes::new(1 << (self.page_shift + order.get()))
    }
    /// Bytes of the largest folio (`mapping_max_folio_size`).
    pub const fn max_folio_size(self) -> Bytes {
        self.folio_size(self.max_order)
    }
    /// Bytes that a page table of one page maps, at most a folio of the largest order that a page
    /// cache has: 2 MiB with pages of 4 KiB (`PAGE_SIZE << MAX_PAGECACHE_ORDER` of 6.6).
    pub const fn huge_page_size(self) -> Bytes {
        /// An entry of a page table has 8 bytes.
        const ENTRY_SHIFT: u8 = 3;
        let order = self.page_shift - ENTRY_SHIFT;
        self.folio_size(Order::new(if order < MAX_ORDER { order } else { MAX_ORDER }))
    }
    /// Blocks of a folio; one where a block is as large as the folio.
    pub const fn blocks_per_folio(self, order: Order) -> Blocks {
        Blocks::new(1 << (self.page_shift + order.get()).saturating_sub(self.block_shift))
    }

    /// The page that holds a byte.
    pub const fn page_floor(self, pos: Pos) -> PageIndex {
        PageIndex::new(pos.get() >> self.page_shift)
    }
    /// The first page that starts at or behind a byte.
    pub const fn page_ceil(self, pos: Pos) -> PageIndex {
        PageIndex::new((pos.get() + self.page_size().get() - 1) >> self.page_shift)
    }
    /// The first byte of a page.
    pub const fn page_pos(self, index: PageIndex) -> Pos {
        Pos::new(index.get() << self.page_shift)
    }
    /// Whole pages in a number of bytes, rounding down.
    pub const fn pages_floor(self, len: Bytes) -> Pages {
        Pages::new(len.get() >> self.page_shift)
    }
    /// Pages that a number of bytes needs, rounding up.
    pub const fn pages_ceil(self, len: Bytes) -> Pages {
        Pages::new((len.get() + self.page_size().get() - 1) >> self.page_shift)
    }
    /// Bytes of a number of pages.
    pub const fn pages_bytes(self, pages: Pages) -> Bytes {
        Bytes::new(pages.get() << self.page_shift)
    }

    /// The block of a folio (or file) that holds a byte.
    pub const fn block_floor(self, at: Offset) -> BlockNo {
        BlockNo::new(at.get() >> self.block_shift)
    }
    /// The first block that starts at or behind a byte.
    pub const fn block_ceil(self, at: Offset) -> BlockNo {
        BlockNo::new((at.get() + self.block_size().get() - 1) >> self.block_shift)
    }
    /// The first byte of a block.
    pub const fn block_offset(self, block: BlockNo) -> Offset {
        Offset::new(block.get() << self.block_shift)
    }
    /// Bytes of a number of blocks.
    pub const fn blocks_bytes(self, blocks: Blocks) -> Bytes {
        Bytes::new(blocks.get() << self.block_shift)
    }
    /// The block of the file that holds a byte.
    pub const fn file_block_floor(self, pos: Pos) -> BlockNo {
        BlockNo::new(pos.get() >> self.block_shift)
    }
    /// A file position rounded down to its block.
    pub const fn round_down_block(self, pos: Pos) -> Pos {
        Pos::new(pos.get() >> self.block_shift << self.block_shift)
    }
    /// A file position rounded up to a block.
    pub const fn round_up_block(self, pos: Pos) -> Pos {
        Pos::new((pos.get() + self.block_size().get() - 1) >> self.block_shift << self.block_shift)
    }
    /// A range grown to whole blocks.
    pub fn block_range(self, range: FileRange) -> FileRange {
        FileRange::between(self.round_down_block(range.start()), self.round_up_block(range.end()))
    }

    /// Where a byte lies in the chunk of `chunk` bytes (a power of two) that holds it.
    pub const fn in_chunk(self, pos: Pos, chunk: Bytes) -> Offset {
        Offset::new(pos.get() & (chunk.get() - 1))
    }

    /// The largest order whose folio is no larger than `len`; a page if `len` is less.
    ///
    /// Follows `filemap_get_order`.
    pub const fn order_floor(self, len: Bytes) -> Order {
        let pages = len.get() >> self.page_shift;
        if pages == 0 { Order::ZERO } else { Order::new(pages.ilog2() as u8) }
    }
    /// The largest order that an index is aligned to.
    pub const fn order_of_alignment(index: PageIndex) -> Order {
        if index.get() == 0 {
            Order::new(63)
        } else {
            Order::new(index.get().trailing_zeros() as u8)
        }
    }
    /// An index rounded up to the smallest folio.
    pub const fn align_index_up(self, index: PageIndex) -> PageIndex {
        PageIndex::new(index.get().next_multiple_of(1 << self.min_order.get()))
    }
    /// An index rounded down to a folio of this order.
    pub const fn align_index(index: PageIndex, order: Order) -> PageIndex {
        PageIndex::new(index.get() >> order.get() << order.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(page: u64, block: u64, order: u8) -> Result<Geometry, GeometryError> {
        Geometry::new(Bytes::new(page), Bytes::new(block), Order::new(order))
    }

    #[test]
    fn a_block_larger_than_a_page_sets_the_smallest_order() {
        let g = geometry(4096, 16384, 9).expect("fits");
        assert_eq!(g.min_order(), Order::new(2));
        assert_eq!(g.blocks_per_folio(Order::new(2)), Blocks::new(1));
        assert_eq!(g.blocks_per_folio(Order::new(4)), Blocks::new(4));
    }

    #[test]
    fn a_huge_page_is_what_one_page_table_maps() {
        let huge = |page| geometry(page, page, 0).expect("fits").huge_page_size().get();
        assert_eq!(huge(4096), 2 << 20);
        assert_eq!(huge(16384), 32 << 20);
        assert_eq!(huge(65536), 128 << 20, "the order is limited to 11");
    }

    #[test]
    fn odd_sizes_are_refused_with_what_was_expected() {
        assert!(geometry(4095, 512, 0).unwrap_err().to_string().contains("page_size is 4095"));
        assert!(geometry(4096, 8, 0).unwrap_err().to_string().contains("from 16 to"));
        let error = geometry(4096, 65536, 0).unwrap_err().to_string();
        assert!(error.contains("raise max_folio_order to 4"), "{error}");
        assert!(geometry(4096, 4096, 12).is_err());
    }
}
