//! How folios come and go, and how they get block state.

use super::folio::{Folio, FolioFlags, NO_IFS};
use super::ifs::{Half, Ifs};
use super::mapping::Tag;
use crate::behaviour::BufferFolios;
use crate::buffer::Driver;
use crate::check::mutant::Mutant;
use crate::counters::Counter;
use crate::errno::Errno;
use crate::fault::{FaultEffect, FaultPoint};
use crate::frames::FrameStore;
use crate::geometry::Geometry;
use crate::trace::delta::{ABSENT, DeltaKind};
use crate::trace::model::Place;
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, FolioId, Offset, Order, PageIndex, Pos};
use crate::world::{Env, World};

/// Why a folio is put into the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Insert {
    /// To be read: if it was reclaimed not long ago it is active at once.
    Read,
    /// To be written, or as a start state.
    Write,
    /// To be written, which counts as a use before anybody can see it.
    Accessed,
}

impl<E: Env> World<E> {
    /// Where a folio starts in its file.
    pub(crate) fn folio_pos(&self, id: FolioId) -> Pos {
        self.geometry().page_pos(self.folios.at(id).index)
    }
    /// Bytes of a folio.
    pub(crate) fn folio_size(&self, id: FolioId) -> Bytes {
        self.geometry().folio_size(self.folios.at(id).order)
    }
    /// The file bytes of a folio.
    pub(crate) fn folio_range(&self, id: FolioId) -> FileRange {
        let start = self.folio_pos(id);
        FileRange::between(start, start + self.folio_size(id))
    }
    /// Blocks of a folio.
    pub(crate) fn folio_blocks(&self, id: FolioId) -> u32 {
        self.geometry().blocks_per_folio(self.folios.at(id).order).get() as u32
    }
    /// The blocks that hold any byte of `[offset, offset + len)`: rounds outward.
    pub(crate) fn blocks_touched(&self, offset: Offset, len: Bytes) -> (u32, u32) {
        let geometry = self.geometry();
        let start = geometry.block_floor(offset).get() as u32;
        (start, (geometry.block_ceil(offset + len).get() as u32).max(start))
    }
    /// The memory of part of a folio.
    pub(crate) fn folio_bytes_mut(&mut self, id: FolioId, at: Offset, len: Bytes) -> &mut [u8] {
        let pfn = self.folios.at(id).pfn();
        self.memory.bytes_mut(pfn, at, len)
    }

    /// The largest folios of a file (`mapping_max_folio_order`): those of the world, or where
    /// drivers of buffers have no large ones, pages.
    pub(crate) fn largest_order(&self, file: FileId) -> Order {
        let geometry = self.geometry();
        let small = match self.driver(file) {
            None => false,
            Some(Driver::Ext2) => true,
            Some(Driver::BlockDevice | Driver::Ext4) => {
                self.behaviours().buffer_folios == BufferFolios::Smallest
            }
        };
        if small { geometry.min_order() } else { geometry.max_order() }
    }
    /// The largest order that a new folio at `index` may have, no larger than `wanted`: index
    /// alignment, the limits of the mapping, and cached neighbours (`__filemap_get_folio`).
    pub(crate) fn order_that_fits(&self, file: FileId, index: PageIndex, wanted: Order) -> Order {
        let geometry = self.geometry();
        let aligned = Geometry::order_of_alignment(index);
        let mut order = wanted
            .max(geometry.min_order())
            .min(self.largest_order(file))
            .min(aligned.max(geometry.min_order()));
        while order > geometry.min_order() && self.file(file).mapping.occupied(index, order) {
            order = order.smaller().expect("above the smallest order");
        }
        order
    }
    /// Puts a new folio into the cache, locked and not uptodate.
    pub(crate) fn add_folio(
        &mut self,
        file: FileId,
        index: PageIndex,
        order: Order,
        insert: Insert,
    ) -> Result<FolioId, Errno> {
        let start = self.geometry().page_pos(index);
        let range = FileRange::between(start, start + self.geometry().folio_size(order));
        if let Some((_, FaultEffect::Fails(errno))) =
            self.fault(FaultPoint::AllocFolio, file, range)
        {
            return Err(errno);
        }
        let pfn = self.pfns.allocate(file, index, order);
        if let Err(errno) = self.memory.allocate(pfn, order.pages()) {
            self.pfns.release(pfn, order);
            return Err(errno);
        }
        let row = self.folios.insert(Folio {
            index,
            frame: pfn.get() as u32,
            ifs: NO_IFS,
            file: file.get() as u16,
            flags: FolioFlags::NONE,
            order,
        });
        let id = FolioId::new(row);
        self.file_mut(file).mapping.insert(index, order, id);
        self.note(DeltaKind::FolioPlace, row, 0, ABSENT, Place { file, index, order }.pack());
        self.note(DeltaKind::FolioPfn, row, 0, 0, pfn.get());
        self.raise(id, FolioFlags::LOCKED);
        self.count(Counter::FoliosCreated, 1);
        let shadow = self.take_shadows(file, index, order);
        match (insert, shadow) {
            (Insert::Accessed, _) => self.init_accessed(id),
            (Insert::Read, Some(shadow)) => self.refault(id, shadow),
            (Insert::Read | Insert::Write, _) => {}
        }
        self.lru_add(id);
        Ok(id)
    }
    /// Takes a clean folio that nobody uses out of the cache.
    pub(crate) fn remove_folio(&mut self, id: FolioId) {
        self.free_state(id);
        self.lru_remove(id);
        let pos = self.folio_pos(id);
        if self.has(id, FolioFlags::DIRTY) && !self.is_in_memory_only(id) {
            self.account_cleaned(id);
        }
        let folio = self.folios.at(id).clone();
        self.set_flags(id, FolioFlags::NONE);
        self.note(DeltaKind::FolioPfn, id.get(), 0, folio.pfn().get(), 0);
        let place = Place { file: folio.file(), index: folio.index, order: folio.order };
        self.note(DeltaKind::FolioPlace, id.get(), 0, place.pack(), ABSENT);
        let inode = self.file_mut(folio.file());
        inode.mapping.remove(folio.index);
        inode.memory_map.unmap(folio.index, folio.end_index());
        self.folios.remove(id.get());
        self.pfns.release(folio.pfn(), folio.order);
        self.memory.release(folio.pfn(), folio.order.pages());
        self.step(Rule::FolioRemoved, [pos.get(), 0, 0, 0]);
    }

    /// Gives a folio block state if it has more than one block and none yet (`ifs_alloc`). Without
    /// a device there are no blocks.
    pub(crate) fn ensure_state(&mut self, id: FolioId) {
        let blocks = self.folio_blocks(id);
        if blocks <= 1 || self.folios.at(id).ifs != NO_IFS || self.is_in_memory_only(id) {
            return;
        }
        let flags = self.folios.at(id).flags;
        let (uptodate, dirty) = (flags.has(FolioFlags::UPTODATE), flags.has(FolioFlags::DIRTY));
        let row = self.states.insert(Ifs::new(blocks, false, false));
        self.folios.at_mut(id).ifs = row;
        self.raise(id, FolioFlags::BLOCK_STATE);
        self.set_blocks(id, Half::Uptodate, (0, blocks), uptodate);
        self.set_blocks(id, Half::Asked, (0, blocks), dirty);
        self.set_blocks(id, Half::Dirty, (0, blocks), dirty && self.tracks_blocks());
        let args = [u64::from(blocks), u64::from(uptodate), u64::from(dirty), 0];
        self.step(Rule::StateAllocated, args);
    }
    /// Whether a folio needs block state and a fault keeps it from getting any.
    pub(crate) fn state_fails(&mut self, id: FolioId) -> bool {
        let needed = self.folio_blocks(id) > 1 && self.folios.at(id).ifs == NO_IFS;
        let (file, range) = (self.folios.at(id).file(), self.folio_range(id));
        needed && self.fault(FaultPoint::AllocState, file, range).is_some()
    }
    /// Frees block state (`ifs_free`): nothing may be pending, and the bits must say what the folio
    /// says (I1 to I3).
    pub(crate) fn free_state(&mut self, id: FolioId) {
        let Some(state) = self.state(id) else { return };
        let (reading, writing) = (state.read_pending, state.write_pending);
        let (all, buffers) = (state.uptodate.all(), state.ring.is_some());
        let pos = self.folio_pos(id);
        let uptodate = self.has(id, FolioFlags::UPTODATE);
        self.require(reading.is_zero(), 1, pos);
        self.require(writing.is_zero(), 2, pos);
        // Buffers and folio differ after a write error, and behind EOF.
        self.require(all == uptodate || buffers, 3, pos);
        self.forget_buffers(id);
        let blocks = self.folio_blocks(id);
        for half in [Half::Uptodate, Half::Dirty, Half::Asked, Half::Waste] {
            self.set_blocks(id, half, (0, blocks), false);
        }
        self.lower(id, FolioFlags::BLOCK_STATE);
        let row = core::mem::replace(&mut self.folios.at_mut(id).ifs, NO_IFS);
        self.states.remove(row);
    }
    /// Whether dirt is known per block.
    pub(crate) fn tracks_blocks(&self) -> bool {
        use crate::behaviour::DirtyTracking as Tracking;
        match self.behaviours().dirty_tracking {
            Tracking::PerFolio => false,
            Tracking::PerBlock | Tracking::PerBlockRfc2 => true,
        }
    }

    /// Marks the blocks of a byte range uptodate, and the folio once all are
    /// (`iomap_set_range_uptodate`).
    pub(crate) fn set_range_uptodate(&mut self, id: FolioId, offset: Offset, len: Bytes) {
        let blocks = self.blocks_touched(offset, len);
        self.set_blocks(id, Half::Uptodate, blocks, true);
        let (all, pending) = match self.state(id) {
            Some(state) => (state.uptodate.all(), !state.read_pending.is_zero()),
            None => (len >= self.folio_size(id) || self.folio_blocks(id) == 1, false),
        };
        // While a read is pending its end decides (I4).
        let early = pending && self.mutant(Mutant::UptodateDuringRead);
        if all && (!pending || early) && !self.mutant(Mutant::ForgetsTheFolio) {
            self.require(!pending, 4, self.folio_pos(id));
            self.raise(id, FolioFlags::UPTODATE);
        }
    }
    /// Marks a folio dirty as a whole (`filemap_dirty_folio`).
    pub(crate) fn dirty_folio(&mut self, id: FolioId) {
        if self.has(id, FolioFlags::DIRTY) {
            return;
        }
        self.raise(id, FolioFlags::DIRTY);
        if self.is_in_memory_only(id) {
            return;
        }
        let folio = self.folios.at(id);
        let (file, index) = (folio.file(), folio.index);
        self.file_mut(file).mapping.set_tag(Tag::Dirty, index, true);
        if self.file(file).dirtied.is_none() {
            self.dirty_clock += 1;
            let clock = self.dirty_clock;
            self.file_mut(file).dirtied = Some(clock);
            self.file_dirtied(file);
        }
        self.account_dirtied(id);
        let pos = self.folio_pos(id).get();
        self.step(Rule::FolioDirtied, [pos, 0, 0, 0]);
    }
    /// Zeroes bytes of a folio in memory.
    pub(crate) fn zero_bytes(&mut self, id: FolioId, from: Offset, to: Offset) {
        if from < to {
            self.folio_bytes_mut(id, from, to.since(from)).fill(0);
        }
    }
}
