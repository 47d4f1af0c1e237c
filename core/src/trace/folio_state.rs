//! A cached folio as a trace describes it.

use super::buffers::Buffers;
use super::place::Place;
use crate::bits::Bits;
use crate::cache::folio::FolioFlags;
use crate::units::{Bytes, Pfn};

/// A cached folio.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FolioState {
    pub(super) place: u64,
    pub(super) pfn: u64,
    pub(super) flags: u64,
    pub(super) uptodate: Bits,
    pub(super) dirty: Bits,
    pub(super) asked: Bits,
    pub(super) waste: Bits,
    pub(super) read_pending: u64,
    pub(super) write_pending: u64,
    pub(super) buffers: Buffers,
}

impl FolioState {
    pub(super) fn new(place: u64, blocks: u32) -> Self {
        let bits = Bits::new(blocks);
        Self {
            place,
            pfn: 0,
            flags: 0,
            uptodate: bits.clone(),
            dirty: bits.clone(),
            asked: bits.clone(),
            waste: bits,
            read_pending: 0,
            write_pending: 0,
            buffers: Buffers::default(),
        }
    }
    /// The same folio with another size; only one without block state can have another.
    pub(super) fn with_blocks(&self, place: u64, blocks: u32) -> Option<Self> {
        let (pfn, flags) = (self.pfn, self.flags);
        let bare = |place, blocks| Self { pfn, flags, ..Self::new(place, blocks) };
        (*self == bare(self.place, self.blocks())).then(|| bare(place, blocks))
    }
    /// File, index and order.
    pub fn place(&self) -> Place {
        Place::unpack(self.place).expect("only cached folios are kept")
    }
    /// State bits.
    pub const fn flags(&self) -> FolioFlags {
        FolioFlags::from_word(self.flags)
    }
    /// First page frame.
    pub const fn pfn(&self) -> Pfn {
        Pfn::new(self.pfn)
    }
    /// Number of blocks.
    pub const fn blocks(&self) -> u32 {
        self.uptodate.len()
    }
    /// `read_bytes_pending`.
    pub const fn read_pending(&self) -> Bytes {
        Bytes::new(self.read_pending)
    }
    /// `write_bytes_pending`.
    pub const fn write_pending(&self) -> Bytes {
        Bytes::new(self.write_pending)
    }
    pub(super) fn has_state(&self) -> bool {
        self.flags().has(FolioFlags::BLOCK_STATE)
    }
    /// Whether block `at` is uptodate.
    pub fn is_uptodate(&self, at: u32) -> bool {
        if self.has_state() {
            self.uptodate.get(at)
        } else {
            self.flags().has(FolioFlags::UPTODATE)
        }
    }
    /// Whether block `at` has changes of the application that are not on their way to the device.
    pub fn is_asked(&self, at: u32) -> bool {
        if self.has_state() { self.asked.get(at) } else { self.flags().has(FolioFlags::DIRTY) }
    }
    /// Whether the kernel of this run would call block `at` dirty.
    pub fn is_dirty(&self, at: u32) -> bool {
        if self.has_state() && self.dirty.any() {
            self.dirty.get(at)
        } else {
            self.flags().has(FolioFlags::DIRTY) && self.is_asked(at)
        }
    }
    /// How many blocks [`Self::is_dirty`] is true of.
    pub fn dirty_blocks(&self) -> u32 {
        let blocks = self.blocks();
        match (self.has_state(), self.flags().has(FolioFlags::DIRTY)) {
            (true, _) if self.dirty.any() => self.dirty.count(0, blocks),
            (true, true) => self.asked.count(0, blocks),
            (false, true) => blocks,
            (_, false) => 0,
        }
    }
    /// The dirty bit of block `at`, whatever the folio's own flag says.
    pub fn dirty_bit(&self, at: u32) -> bool {
        self.dirty.get(at)
    }
    /// Its buffers.
    pub const fn buffers(&self) -> &Buffers {
        &self.buffers
    }
    /// Whether block `at` is being written though nobody changed it.
    pub fn is_waste(&self, at: u32) -> bool {
        self.waste.get(at)
    }
}
