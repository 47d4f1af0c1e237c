//! The state of buffers: one bitmap a bit of `b_state`, and where each block lies (`b_blocknr`).

use super::Driver;
use crate::bits::{Bits, WORD};
use crate::cache::folio::{FolioFlags, NO_IFS};
use crate::cache::ifs::{Half, Ifs};
use crate::counters::Counter;
use crate::trace::delta::DeltaKind;
use crate::trace::rule::Rule;
use crate::units::{BlockNo, DevAddr, FileId, FileRange, FolioId, Offset};
use crate::world::{Env, World};

/// A bit of a buffer's state, beside uptodate and dirty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferBit {
    /// I/O, or exclusive access.
    Locked,
    /// Its place on the device is known.
    Mapped,
    /// Just allocated: what a write does not cover of it is zeroed.
    New,
    /// Promised, without a place.
    Delay,
    /// It has a place, and nothing was ever written there.
    Unwritten,
    /// The block behind it takes a read of the file system's own to map.
    Boundary,
    /// Part of the read of its folio.
    AsyncRead,
    /// Part of the writeback of its folio.
    AsyncWrite,
}

impl BufferBit {
    /// Every bit, in the order of its delta kinds.
    pub const ALL: [Self; 8] = [
        Self::Locked,
        Self::Mapped,
        Self::New,
        Self::Delay,
        Self::Unwritten,
        Self::Boundary,
        Self::AsyncRead,
        Self::AsyncWrite,
    ];
    /// The kind of delta that changes it.
    pub const fn kind(self) -> DeltaKind {
        match self {
            Self::Locked => DeltaKind::BufferLocked,
            Self::Mapped => DeltaKind::BufferMapped,
            Self::New => DeltaKind::BufferNew,
            Self::Delay => DeltaKind::BufferDelay,
            Self::Unwritten => DeltaKind::BufferUnwritten,
            Self::Boundary => DeltaKind::BufferBoundary,
            Self::AsyncRead => DeltaKind::BufferAsyncRead,
            Self::AsyncWrite => DeltaKind::BufferAsyncWrite,
        }
    }
}

/// The buffers of a folio, as far as they are not in its block state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ring {
    bits: [Bits; BufferBit::ALL.len()],
    addrs: Vec<Option<DevAddr>>,
}

impl Ring {
    /// Buffers of which nothing is known.
    fn new(blocks: u32) -> Self {
        let bits = BufferBit::ALL.map(|_| Bits::new(blocks));
        Self { bits, addrs: vec![None; blocks as usize] }
    }
    /// One bitmap.
    pub const fn bits(&self, bit: BufferBit) -> &Bits {
        &self.bits[bit as usize]
    }
    /// Where the block of buffer `at` lies, if that is known.
    pub fn addr(&self, at: u32) -> Option<DevAddr> {
        self.addrs.get(at as usize).copied().flatten()
    }
}

/// A block's place as the trace packs it: 0 = not known.
pub(crate) fn addr_word(addr: Option<DevAddr>) -> u64 {
    addr.map_or(0, |addr| addr.get() + 1)
}

impl<E: Env> World<E> {
    /// Who serves a file in buffers; none: iomap.
    pub(crate) fn driver(&self, file: FileId) -> Option<Driver> {
        self.file(file).driver
    }
    pub(crate) fn set_driver(&mut self, file: FileId, driver: Option<Driver>) {
        let old = core::mem::replace(&mut self.file_mut(file).driver, driver);
        let word = |driver: Option<Driver>| driver.map_or(0, Driver::code);
        self.note(DeltaKind::FileDriver, file.get(), 0, word(old), word(driver));
    }
    /// The buffers of a folio, if it has any.
    pub(crate) fn ring(&self, id: FolioId) -> Option<&Ring> {
        self.state(id)?.ring.as_deref()
    }
    /// A bit of buffer `at`; clear where there are no buffers.
    pub(crate) fn buffer_is(&self, id: FolioId, bit: BufferBit, at: u32) -> bool {
        self.ring(id).is_some_and(|ring| ring.bits(bit).get(at))
    }
    pub(crate) fn buffer_uptodate(&self, id: FolioId, at: u32) -> bool {
        self.state(id).is_some_and(|state| state.uptodate.get(at))
    }
    pub(crate) fn buffer_dirty(&self, id: FolioId, at: u32) -> bool {
        self.state(id).is_some_and(|state| state.dirty.get(at))
    }
    pub(crate) fn buffer_addr(&self, id: FolioId, at: u32) -> Option<DevAddr> {
        self.ring(id)?.addr(at)
    }
    /// The bytes of the file behind buffer `at`.
    pub(crate) fn buffer_range(&self, id: FolioId, at: u32) -> FileRange {
        let geometry = self.geometry();
        let offset = geometry.block_offset(BlockNo::new(u64::from(at))).since(Offset::ZERO);
        let start = self.folio_pos(id) + offset;
        FileRange::between(start, start + geometry.block_size())
    }
    /// Where buffer `at` begins in its folio.
    pub(crate) fn buffer_offset(&self, at: u32) -> Offset {
        self.geometry().block_offset(BlockNo::new(u64::from(at)))
    }
    /// Sets or clears one bit of buffers `[start, end)`.
    pub(crate) fn set_buffers(
        &mut self,
        id: FolioId,
        bit: BufferBit,
        (start, end): (u32, u32),
        on: bool,
    ) {
        let Some(ring) = self.state_mut(id).and_then(|state| state.ring.as_deref_mut()) else {
            return;
        };
        if start >= end {
            return;
        }
        let bits = &mut ring.bits[bit as usize];
        let words = (start / WORD) as usize..=((end - 1) / WORD) as usize;
        let before: Vec<u64> = words.clone().map(|at| bits.word(at)).collect();
        bits.put(start, end, on);
        let after: Vec<u64> = words.clone().map(|at| bits.word(at)).collect();
        for (at, (old, new)) in words.zip(before.into_iter().zip(after)) {
            self.note(bit.kind(), id.get(), at as u32, old, new);
        }
    }
    /// Says where a block lies, or that it is not known any more.
    pub(crate) fn set_buffer_addr(&mut self, id: FolioId, at: u32, addr: Option<DevAddr>) {
        let ring = self.state_mut(id).and_then(|state| state.ring.as_deref_mut());
        let Some(slot) = ring.and_then(|ring| ring.addrs.get_mut(at as usize)) else { return };
        let old = core::mem::replace(slot, addr);
        self.note(DeltaKind::BufferAddr, id.get(), at, addr_word(old), addr_word(addr));
    }
    /// Gives a folio buffers if it has none: what the folio knows as a whole becomes true of each
    /// (`create_empty_buffers`). How many there are.
    pub(crate) fn ensure_buffers(&mut self, id: FolioId) -> u32 {
        let blocks = self.folio_blocks(id);
        if self.ring(id).is_some() {
            return blocks;
        }
        let flags = self.folios.at(id).flags;
        let (uptodate, dirty) = (flags.has(FolioFlags::UPTODATE), flags.has(FolioFlags::DIRTY));
        if self.folios.at(id).ifs == NO_IFS {
            let row = self.states.insert(Ifs::new(blocks, false, false));
            self.folios.at_mut(id).ifs = row;
            self.raise(id, FolioFlags::BLOCK_STATE);
        }
        if let Some(state) = self.state_mut(id) {
            state.ring = Some(Box::new(Ring::new(blocks)));
        }
        self.set_blocks(id, Half::Uptodate, (0, blocks), uptodate);
        self.set_blocks(id, Half::Asked, (0, blocks), dirty);
        self.set_blocks(id, Half::Dirty, (0, blocks), dirty);
        let args = [u64::from(blocks), u64::from(uptodate), u64::from(dirty), 0];
        self.step(Rule::BuffersCreated, args);
        blocks
    }
    /// The buffers of a folio go with its block state (`try_to_free_buffers`).
    pub(crate) fn forget_buffers(&mut self, id: FolioId) {
        let Some(ring) = self.ring(id) else { return };
        let blocks = ring.addrs.len() as u32;
        self.clear_buffers(id, &BufferBit::ALL, (0, blocks));
    }
    /// Buffers lose these bits and their places.
    fn clear_buffers(&mut self, id: FolioId, bits: &[BufferBit], blocks: (u32, u32)) {
        for bit in bits {
            self.set_buffers(id, *bit, blocks, false);
        }
        for at in blocks.0..blocks.1 {
            self.set_buffer_addr(id, at, None);
        }
    }
    /// Blocks are the file's no more: their buffers forget what they knew
    /// (`block_invalidate_folio`).
    pub(crate) fn discard_buffers(&mut self, id: FolioId, blocks: (u32, u32)) {
        self.set_blocks(id, Half::Dirty, blocks, false);
        self.set_blocks(id, Half::Asked, blocks, false);
        let bits = [BufferBit::Mapped, BufferBit::New, BufferBit::Delay, BufferBit::Unwritten];
        self.clear_buffers(id, &bits, blocks);
    }
    /// Buffers were looked at one by one.
    pub(crate) fn visit_buffers(&mut self, n: u32) {
        self.count(Counter::BufferVisits, u64::from(n));
    }
}
