//! Bits of byte ranges, rounded to blocks as the kernel does, and what is cached of a range.

use super::folio::FolioFlags;
use super::ifs::Half;
use crate::behaviour::ClearRounding;
use crate::errno::Errno;
use crate::inner::BitChange;
use crate::iomap::MapType;
use crate::trace::rule::Rule;
use crate::units::{BlockNo, Bytes, FileId, FileRange, FolioId, Offset, Pos};
use crate::world::{Env, World};

impl<E: Env> World<E> {
    /// See [`crate::engine::Engine::change_bits`].
    pub(crate) fn change_bits(
        &mut self,
        file: FileId,
        pos: Pos,
        (at, len): (u64, u64),
        change: BitChange,
    ) {
        let index = self.geometry().page_floor(pos);
        let Some(id) = self.file(file).mapping.find(index) else { return };
        let whole = self.folio_size(id).get();
        let (at, len) = (at.min(whole), len.min(whole.saturating_sub(at)));
        let (offset, len) = (Offset::new(at), Bytes::new(len));
        let inward = self.behaviours().clear_rounding == ClearRounding::Inward;
        if inward && len.is_zero() {
            return;
        }
        self.ensure_state(id);
        match change {
            BitChange::SetUptodate => self.set_range_uptodate(id, offset, len),
            BitChange::SetDirty => {
                let blocks = self.blocks_touched(offset, len);
                self.set_dirty_blocks(id, blocks);
            }
            BitChange::ClearDirty => {
                let blocks = if inward {
                    self.blocks_within(offset, len)
                } else {
                    self.blocks_touched(offset, len)
                };
                self.set_blocks(id, Half::Dirty, blocks, false);
                self.set_blocks(id, Half::Asked, blocks, false);
            }
        }
        self.step(Rule::BitsChanged, [self.folio_pos(id).get(), at, len.get(), 0]);
    }
    /// The blocks that lie wholly in `[offset, offset + len)`: rounds inward.
    pub(crate) fn blocks_within(&self, offset: Offset, len: Bytes) -> (u32, u32) {
        let geometry = self.geometry();
        let start = geometry.block_ceil(offset).get() as u32;
        (start, (geometry.block_floor(offset + len).get() as u32).max(start))
    }
    fn set_dirty_blocks(&mut self, id: FolioId, blocks: (u32, u32)) {
        let tracked = self.tracks_blocks();
        self.set_blocks(id, Half::Dirty, blocks, tracked);
        self.set_blocks(id, Half::Asked, blocks, true);
    }
    /// See [`crate::engine::Engine::mark_dirty`].
    pub(crate) fn mark_dirty(&mut self, file: FileId, range: FileRange) {
        let all: Vec<FolioId> = self.file(file).mapping.folios().collect();
        for id in all {
            let part = range.intersect(self.folio_range(id));
            if part.is_empty() {
                continue;
            }
            self.ensure_state(id);
            let offset = Offset::ZERO + part.start().since(self.folio_pos(id));
            let blocks = self.blocks_touched(offset, part.len());
            self.set_dirty_blocks(id, blocks);
            self.dirty_folio(id);
        }
    }
    /// Whether the bytes at `pos` are valid in the cache.
    pub(crate) fn is_cached_valid(&self, file: FileId, pos: Pos) -> bool {
        let geometry = self.geometry();
        let Some(id) = self.file(file).mapping.find(geometry.page_floor(pos)) else { return false };
        let block: BlockNo = geometry.block_floor(Offset::ZERO + pos.since(self.folio_pos(id)));
        self.has(id, FolioFlags::UPTODATE)
            || self.state(id).is_some_and(|state| state.uptodate.get(block.get() as u32))
    }
    /// Where a search of the cache goes on that found nothing valid at `pos`: at the next block of
    /// its folio, or at the next folio.
    fn next_to_look_at(&self, file: FileId, pos: Pos, end: Pos) -> Pos {
        let geometry = self.geometry();
        let next = geometry.round_down_block(pos) + geometry.block_size();
        let (page, last) = (geometry.page_floor(pos), geometry.page_ceil(end));
        let mapping = &self.file(file).mapping;
        if mapping.find(page).is_some() || next >= end {
            return next;
        }
        let start = mapping.next_start(page, last).map_or(end, |start| geometry.page_pos(start));
        start.max(next)
    }
    /// The next data, or hole, from `pos` on (`iomap_seek_data`, `iomap_seek_hole`): unwritten
    /// blocks are data where the cache is valid, holes never are. In memory alone, data is what the
    /// cache holds (`shmem_file_llseek`).
    pub(crate) fn seek(&mut self, file: FileId, pos: Pos, data: bool) -> Result<Pos, Errno> {
        let size = self.file(file).size;
        if pos >= size {
            return Err(Errno::NxIo);
        }
        let block = self.geometry().block_size();
        let memory = self.has_memory_only(file);
        let mut at = pos;
        while at < size {
            let map = self.file(file).provider.seek_map(at, size);
            let next = self.geometry().round_down_block(at) + block;
            let cached = memory || map.kind == MapType::Unwritten;
            let is_data = match map.kind {
                MapType::Hole | MapType::Unwritten => cached && self.is_cached_valid(file, at),
                MapType::Mapped | MapType::Delalloc | MapType::Inline => true,
            };
            if is_data == data {
                self.step(Rule::SeekAnswers, [pos.get(), at.get(), map.kind.code(), 0]);
                return Ok(at);
            }
            let end = map.range.end();
            at = match (cached, is_data) {
                (true, true) => next,
                (true, false) => self.next_to_look_at(file, at, end.min(size)),
                (false, _) => end.max(next),
            };
        }
        if data { Err(Errno::NxIo) } else { Ok(size) }
    }
}
