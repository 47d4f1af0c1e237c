//! Asking the file system for a mapping, and telling it how far that was used (`iomap_iter`). What
//! it must read to answer, such as an indirect block, is read and waited for first.

use super::write::reserved_in_vain;
use crate::block::bio::{BioEnd, BioHead};
use crate::buffer::Driver;
use crate::cache::folio::FolioFlags;
use crate::check::mutant::Mutant;
use crate::counters::Counter;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::fault::{FaultEffect, FaultPoint};
use crate::fs::Metadata;
use crate::geometry::Geometry;
use crate::iomap::{Intent, MapType, Mapping};
use crate::locks::Lock;
use crate::trace::rule::Rule;
use crate::units::{BioId, DevAddr, FileId, FileRange, MAX_POS, Offset, Pos};
use crate::world::{Env, Purpose, World};

/// A mapping that covers the start of `range` (`iomap_iter`). `nowait`: fails rather than read.
pub(super) async fn begin<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
    intent: Intent,
    nowait: bool,
) -> Result<Mapping, Errno> {
    read_what_maps(cx, file, range, intent, nowait).await?;
    cx.with(|world| world.begin(file, range, intent))
}

/// Reads the file system's own blocks that say where the start of `range` lies.
pub(crate) async fn read_what_maps<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
    intent: Intent,
    nowait: bool,
) -> Result<(), Errno> {
    let next = |world: &mut World<E>| world.file(file).provider.metadata_for(range, intent);
    while let Some(metadata) = cx.with(next) {
        if nowait {
            return Err(Errno::Again);
        }
        let bio = cx.with(|world| world.read_metadata(file, &metadata));
        cx.wait(|world| world.take_sync_result(bio)).await?;
        cx.with(|world| {
            let provider = &mut world.file_mut(file).provider;
            provider.metadata_known(range, intent, metadata.addr);
        });
    }
    Ok(())
}

impl<E: Env> World<E> {
    /// Sends a read of a block that belongs to the file system itself.
    fn read_metadata(&mut self, file: FileId, metadata: &Metadata) -> BioId {
        let Metadata { addr, len, meta } = *metadata;
        let head = BioHead { meta, ..BioHead::read(file) };
        let bio = self.new_bio(head, addr, Purpose::SyncRead);
        self.set_bio_len(bio, len);
        self.step(Rule::MetadataRead, [addr.get(), len.get(), 0, 0]);
        self.submit_bio(bio, BioEnd::SyncRead);
        bio
    }
    /// The part of a range that a write can reserve: up to the block at which a fault is armed.
    fn reservable(
        &mut self,
        file: FileId,
        range: FileRange,
        intent: Intent,
    ) -> Result<FileRange, Errno> {
        if intent != Intent::Write || self.faults.is_empty() {
            return Ok(range);
        }
        let geometry = self.geometry();
        let found = self.file(file).provider.peek(range.start(), range.end());
        if found.kind != MapType::Hole {
            return Ok(range);
        }
        let blocks = geometry.block_range(range).intersect(found.range);
        let Some((at, effect)) = self.fault(FaultPoint::ReserveBlock, file, blocks) else {
            return Ok(range);
        };
        let block = geometry.round_down_block(at);
        match effect {
            FaultEffect::Fails(errno)
                if block <= range.start() && !self.mutant(Mutant::ReservesNothing) =>
            {
                Err(errno)
            }
            FaultEffect::Fails(_) => Ok(FileRange::between(range.start(), block)),
            FaultEffect::Gives(_) => Ok(range),
        }
    }
    /// Asks the file system for a mapping.
    pub(super) fn begin(
        &mut self,
        file: FileId,
        range: FileRange,
        intent: Intent,
    ) -> Result<Mapping, Errno> {
        let got = self.ask(file, range, intent);
        if let Ok(mapping) = &got {
            let map = &mapping.iomap;
            let addr = map.addr.map_or(u64::MAX, DevAddr::get);
            let args = [map.range.start().get(), map.range.len().get(), map.kind.code(), addr];
            self.step(Rule::Mapped, args);
        }
        got
    }
    /// The same, without a step of its own.
    pub(crate) fn ask(
        &mut self,
        file: FileId,
        range: FileRange,
        intent: Intent,
    ) -> Result<Mapping, Errno> {
        self.count(Counter::BeginCalls, 1);
        let range = self.reservable(file, range, intent)?;
        self.look_for_space(false);
        let behind = intent == Intent::Zero && self.zeroes_behind_eof();
        let World { files, config, mutant, .. } = self;
        let inode = &mut files[file.get() as usize];
        let eof = if behind { Pos::new(MAX_POS) } else { inode.size };
        let place = mutated(*mutant, config.geometry, range);
        let mut got = inode.provider.begin(place, intent, eof, &mut config.space);
        let driver = inode.driver;
        self.note_extents(file);
        // Once, or whoever asks would ask for ever.
        if self.mutant(Mutant::OldMapping)
            && let Ok(mapping) = &mut got
        {
            mapping.iomap.cookie = mapping.iomap.cookie.wrapping_sub(1);
            self.mutant = None;
        }
        if let Ok(mapping) = &mut got {
            if driver == Some(Driver::BlockDevice) {
                // A device's mapping begins with the sector asked for (`blkdev_iomap_begin`).
                let start = Pos::new(range.start().get() & !(crate::units::SECTOR_SIZE - 1));
                let rest = FileRange::between(start, mapping.iomap.range.end());
                mapping.iomap = mapping.iomap.cut_to(rest);
            }
            mapping.iomap.buffer_head = driver.is_some();
            let map = mapping.iomap;
            let fresh = self.file(file).provider.is_valid(&map);
            self.require(fresh, 13, range.start());
            self.require(map.range.start() <= range.start(), 10, range.start());
            self.require(!map.range.is_empty(), 11, range.start());
            self.require(map.range.end() > range.start(), 12, range.start());
        }
        got
    }
    /// The first block with valid cache in what a failed write gives back, if there is one
    /// (`iomap_write_delalloc_release`).
    pub(super) fn release_finds(
        &self,
        file: FileId,
        mapping: &Mapping,
        asked: FileRange,
        used: Pos,
    ) -> Option<FileRange> {
        let (geometry, iomap) = (self.geometry(), &mapping.iomap);
        let block = geometry.block_size();
        let end = asked.start() + mapping.left(asked.start(), asked.len());
        let fresh = iomap.kind == MapType::Delalloc && iomap.new && used < end;
        let mut at = geometry.round_down_block(used);
        while fresh && at < end {
            if self.is_cached_valid(file, at) {
                return Some(FileRange::between(at, at + block));
            }
            at += block;
        }
        None
    }
    /// Tells the file system how far a mapping was used, of what it could be used for
    /// (`iomap_iter`, which calls `iomap_end`).
    pub(super) fn end_mapping(
        &mut self,
        file: FileId,
        mapping: &Mapping,
        asked: FileRange,
        used: Pos,
    ) {
        let start = asked.start();
        let asked = FileRange::between(start, start + mapping.left(start, asked.len()));
        self.require(used <= asked.end().max(start), 14, used);
        if reserved_in_vain(mapping, asked, used) {
            let alone = self.has_alone(file, Lock::Invalidate);
            self.require(alone, 31, used);
        }
        let from = if self.mutant(Mutant::ReleasesFromTheStart) { start } else { used };
        let keeps = self.mutant(Mutant::KeepsReservation);
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
        let released = if keeps { None } else { inode.provider.end(mapping, asked, from, dirty) };
        let left = inode.provider.reserved_in_vain(mapping, asked, used, dirty);
        self.note_extents(file);
        if let Some(at) = left {
            self.require(false, 33, at);
        }
        if let Some(range) = released {
            let (first, end) =
                (geometry.round_down_block(used), geometry.round_up_block(asked.end()));
            let inside = first <= range.start() && range.end() <= end;
            self.require(inside, 32, range.start());
            self.step(Rule::Released, [range.start().get(), range.len().get(), 0, 0]);
        }
    }
}

/// What the file system is asked for where a test leaves a rule of it out.
fn mutated(mutant: Option<Mutant>, geometry: Geometry, range: FileRange) -> FileRange {
    let start = match mutant.filter(|_| cfg!(debug_assertions)) {
        Some(Mutant::ReservesFromTheNext) => geometry.round_up_block(range.start()),
        Some(Mutant::AnswersForTheBlockBefore) => range.start() - geometry.block_size(),
        Some(_) | None => return range,
    };
    FileRange::between(start, range.end())
}
