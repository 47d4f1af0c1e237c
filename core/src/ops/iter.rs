//! Asking the file system for a mapping, and telling it how far that was used (`iomap_iter`).

use crate::cache::folio::FolioFlags;
use crate::counters::Counter;
use crate::errno::Errno;
use crate::fault::{FaultEffect, FaultPoint};
use crate::iomap::{Intent, MapType, Mapping};
use crate::trace::rule::Rule;
use crate::units::{DevAddr, FileId, FileRange, Offset, Pos};
use crate::world::{Env, World};

impl<E: Env> World<E> {
    /// The part of a range that a write can reserve: up to the block at which a fault is armed.
    fn reservable(
        &mut self,
        file: FileId,
        range: FileRange,
        intent: Intent,
    ) -> Result<FileRange, Errno> {
        let geometry = self.geometry();
        let found = self.file(file).provider.peek(range.start(), range.end());
        if intent != Intent::Write || found.kind != MapType::Hole {
            return Ok(range);
        }
        let blocks = geometry.block_range(range).intersect(found.range);
        let Some((at, effect)) = self.faults.fire(FaultPoint::ReserveBlock, blocks) else {
            return Ok(range);
        };
        let block = geometry.round_down_block(at);
        match effect {
            FaultEffect::Fails(errno) if block <= range.start() => Err(errno),
            FaultEffect::Fails(_) => Ok(FileRange::between(range.start(), block)),
            FaultEffect::Gives(_) => Ok(range),
        }
    }
    /// Asks the file system for a mapping.
    pub(crate) fn begin(
        &mut self,
        file: FileId,
        range: FileRange,
        intent: Intent,
    ) -> Result<Mapping, Errno> {
        self.count(Counter::BeginCalls, 1);
        let range = self.reservable(file, range, intent)?;
        let size = self.file(file).size;
        let got = self.file_mut(file).provider.begin(range, intent, size);
        self.note_extents(file);
        if let Ok(mapping) = &got {
            let map = &mapping.iomap;
            self.require(map.range.start() <= range.start(), 10, range.start());
            self.require(!map.range.is_empty(), 11, range.start());
            self.require(map.range.end() > range.start(), 12, range.start());
            let addr = map.addr.map_or(u64::MAX, DevAddr::get);
            let args = [map.range.start().get(), map.range.len().get(), map.kind.code(), addr];
            self.step(Rule::Mapped, args);
        }
        got
    }
    /// Tells the file system how far a mapping was used.
    pub(super) fn end_mapping(
        &mut self,
        file: FileId,
        mapping: &Mapping,
        asked: FileRange,
        used: Pos,
    ) {
        let geometry = self.geometry();
        let by_block = self.tracks_blocks();
        let Self { files, folios, states, .. } = self;
        let inode = &mut files[file.get() as usize];
        let cached = &inode.mapping;
        let size = inode.size;
        let dirty = |pos: Pos| {
            let Some(id) = cached.find(geometry.page_floor(pos)).filter(|_| pos < size) else {
                return false;
            };
            let folio = folios.at(id);
            let block =
                geometry.block_floor(Offset::ZERO + pos.since(geometry.page_pos(folio.index)));
            folio.flags.has(FolioFlags::DIRTY)
                && (!by_block
                    || folio.ifs == crate::cache::folio::NO_IFS
                    || states.get(folio.ifs).dirty.get(block.get() as u32))
        };
        let released = inode.provider.end(mapping, asked, used, dirty);
        self.note_extents(file);
        if let Some(range) = released {
            self.step(Rule::Released, [range.start().get(), range.len().get(), 0, 0]);
        }
    }
}
