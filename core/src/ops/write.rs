//! Buffered write (`iomap_file_buffered_write`).

use super::write_edges::fill_edges;
use super::write_round::{Progress, write_mapping};
use super::{inline, iter, zero};
use crate::behaviour::{DirtyTracking, FirstAccess, MappingCheck, WriteChunk};
use crate::block::bio::{BioHead, BioState};
use crate::buffer::Driver;
use crate::buffer::write::block_write_begin;
use crate::cache::folio::FolioFlags;
use crate::cache::ifs::Half;
use crate::cache::life::Insert;
use crate::cache::policy::FolioPolicy;
use crate::check::mutant::Mutant;
use crate::engine::{Cx, WriteFlags};
use crate::errno::Errno;
use crate::frames::UserSource;
use crate::fs::Provider;
use crate::iomap::{Intent, Iomap, MapType, Mapping};
use crate::locks::{Lock, Mode};
use crate::stops::StopPoint;
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, FolioId, Offset, Order, PageIndex, Pos};
use crate::world::{Env, World};
use crate::writeback::wait_writeback;

/// Writes `source` at `pos`: how many bytes were written, or the error that kept all from it.
pub(crate) async fn pwrite<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    pos: Pos,
    source: &mut dyn UserSource,
    flags: WriteFlags,
) -> Result<Bytes, Errno> {
    let len = source.len();
    let range = FileRange::new(pos, len).ok_or(Errno::Inval)?;
    if len.is_zero() {
        return Ok(Bytes::ZERO);
    }
    let held = if cx.with(|world| world.file(file).provider.locks_writes()) {
        Some(cx.lock_or_fail(file, (Lock::Io, Mode::Exclusive), flags.nowait).await?)
    } else {
        None
    };
    let written = write_locked(cx, file, range, source, flags).await;
    drop(held);
    written
}

/// The same once nobody else writes, or changes the size.
async fn write_locked<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
    source: &mut dyn UserSource,
    flags: WriteFlags,
) -> Result<Bytes, Errno> {
    let pos = range.start();
    // What ends behind the largest file is written up to there (`generic_write_checks`).
    let (range, size, room) = cx.with(|world| {
        let range = FileRange::between(pos, range.end().min(world.geometry().max_file()));
        if range.is_empty() {
            return Err(Errno::FBig);
        }
        let range = world.inside_device(file, range)?;
        let inode = world.file(file);
        let range = inode.provider.writable(range)?;
        Ok((range, inode.size, inode.provider.has_room(range.end())))
    })?;
    if !room {
        inline::unstuff(cx, file, range.end()).await?;
    }
    let buffers = cx.with(|world| world.driver(file).is_some());
    if pos > size && flags.nowait {
        return Err(Errno::Again);
    }
    if pos > size && !buffers {
        zero::zero_gap(cx, file, pos).await?;
    }
    let mut at = range.start();
    loop {
        let before = at;
        let at_once = (!cx.engine.stops.any())
            .then(|| cx.with(|world| world.write_in_one((file, range), &mut at, flags, source)));
        let status = match at_once.flatten() {
            Some(status) => status,
            None => write_part(cx, (file, range), &mut at, flags, source).await,
        };
        let written = at.since(range.start());
        match status {
            Err(errno) if written.is_zero() => return Err(errno),
            // Bytes were written: the error is lost for this call.
            Err(_) => return Ok(written),
            Ok(Progress::Mapping) if at == range.end() || at == before => return Ok(written),
            Ok(Progress::Stale | Progress::Mapping) => {}
        }
    }
}

/// Writes as much as one mapping allows.
async fn write_part<E: Env>(
    cx: &Cx<'_, E>,
    (file, range): (FileId, FileRange),
    at: &mut Pos,
    flags: WriteFlags,
    source: &mut dyn UserSource,
) -> Result<Progress, Errno> {
    let rest = FileRange::between(*at, range.end());
    let mapping = match cx.with(|world| world.without_map(file, rest)) {
        Some(mapping) => mapping,
        None => iter::begin(cx, file, rest, Intent::Write, flags.nowait).await?,
    };
    cx.reach(StopPoint::AfterBegin, |_| rest.intersect(mapping.iomap.range)).await;
    let mut walk = cx.with(|world| world.walk(&mapping, (file, range), *at, flags));
    let status = write_mapping(cx, &mut walk, source).await;
    *at = walk.at;
    end_write_mapping(cx, file, &mapping, rest, *at).await;
    status
}

/// Tells the file system how far a mapping was used. While what was reserved in vain is given back,
/// nobody may add folios (`iomap_write_delalloc_release`); who zeroes may see to that himself.
pub(super) async fn end_write_mapping<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    mapping: &Mapping,
    asked: FileRange,
    used: Pos,
) {
    let open = |world: &mut World<E>| !world.has_alone(file, Lock::Invalidate);
    let locks = !cx.mutant(Mutant::ReleasesUnlocked);
    let held = if reserved_in_vain(mapping, asked, used) && locks && cx.with(open) {
        Some(cx.lock(file, Lock::Invalidate, Mode::Exclusive).await)
    } else {
        None
    };
    let found = if held.is_some() && cx.engine.stops.any() {
        cx.with(|world| world.release_finds(file, mapping, asked, used))
    } else {
        None
    };
    if let Some(found) = found {
        cx.reach(StopPoint::ReleaseDataFound, |_| found).await;
    }
    cx.with(|world| world.end_mapping(file, mapping, asked, used));
    drop(held);
}

/// Whether space was promised to a part of a write that did not come about.
pub(super) fn reserved_in_vain(mapping: &Mapping, asked: FileRange, used: Pos) -> bool {
    let promised = mapping.iomap.kind == MapType::Delalloc && mapping.iomap.new;
    promised && used < asked.end().min(mapping.end())
}

/// Finds or makes the folio at `pos`, locked, with every byte valid that the write keeps
/// (`iomap_write_begin`). None: the mapping is stale.
pub(crate) async fn write_begin<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    mapping: &Mapping,
    pos: Pos,
    (bytes, flags): (Bytes, WriteFlags),
) -> Result<Option<FolioId>, Errno> {
    begin(cx, file, mapping, pos, (bytes, flags, false)).await
}

/// The same for bytes that keep their value: all of them are made valid.
pub(crate) async fn unshare_begin<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    mapping: &Mapping,
    pos: Pos,
    bytes: Bytes,
) -> Result<Option<FolioId>, Errno> {
    begin(cx, file, mapping, pos, (bytes, WriteFlags::default(), true)).await
}

async fn begin<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    mapping: &Mapping,
    pos: Pos,
    (bytes, flags, keeps_all): (Bytes, WriteFlags, bool),
) -> Result<Option<FolioId>, Errno> {
    let folio = get_folio(cx, file, pos, bytes, flags).await?;
    cx.reach(StopPoint::FolioLocked, |world| world.folio_range(folio)).await;
    // Buffers ask for each block by themselves.
    let holds =
        |world: &mut World<E>| mapping.iomap.buffer_head || world.still_holds(file, &mapping.iomap);
    if !cx.with(holds) {
        cx.with(|world| world.unlock(folio));
        return Ok(None);
    }
    let ready = if mapping.iomap.buffer_head {
        let write = cx.with(|world| world.folio_range(folio));
        let write = write.intersect(FileRange::between(pos, pos + bytes));
        block_write_begin(cx, file, folio, write, flags.nowait).await
    } else {
        fill_edges(cx, mapping, folio, pos, (bytes, flags.nowait, keeps_all)).await
    };
    match ready {
        Ok(()) => Ok(Some(folio)),
        Err(errno) => {
            cx.with(|world| {
                world.unlock(folio);
                world.write_failed(file, FileRange::between(pos, pos + bytes));
            });
            Err(errno)
        }
    }
}

/// The folio that holds `pos`, locked; a new one is as large as `hint`, the index and the
/// neighbours allow (`__filemap_get_folio`).
pub(crate) async fn get_folio<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    pos: Pos,
    hint: Bytes,
    flags: WriteFlags,
) -> Result<FolioId, Errno> {
    loop {
        let index = cx.with(|world| world.geometry().page_floor(pos));
        let Some((folio, locked)) = cx.with(|world| world.find_and_try_lock(file, index)) else {
            return cx.with(|world| {
                let folio = world.create_folio(file, index, hint).map_err(|errno| {
                    let later = flags.nowait && errno == Errno::NoMem;
                    if later { Errno::Again } else { errno }
                })?;
                if flags.dontcache {
                    world.raise(folio, FolioFlags::DROPBEHIND);
                }
                Ok(folio)
            });
        };
        if !locked && flags.nowait {
            return Err(Errno::Again);
        }
        if !locked && !lock_folio(cx, file, index, folio).await {
            continue;
        }
        cx.with(|world| world.found_used(folio));
        wait_if_stable(cx, folio).await;
        cx.with(|world| world.found(folio, index, flags));
        return Ok(folio);
    }
}

/// Waits for the lock and takes it; false if the folio left its place meanwhile.
pub(crate) async fn lock_folio<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    index: PageIndex,
    folio: FolioId,
) -> bool {
    let mut told = false;
    cx.wait(|world| {
        if world.file(file).mapping.find(index) != Some(folio) {
            return Some(false);
        }
        if world.has(folio, FolioFlags::LOCKED) {
            if !core::mem::replace(&mut told, true) {
                let pos = world.folio_pos(folio).get();
                world.step(Rule::WaitsForLock, [pos, 0, 0, 0]);
            }
            return None;
        }
        world.raise(folio, FolioFlags::LOCKED);
        Some(true)
    })
    .await
}

/// Where the device reads folio memory later, a folio under writeback is not written into
/// (`folio_wait_stable`).
pub(crate) async fn wait_if_stable<E: Env>(cx: &Cx<'_, E>, folio: FolioId) {
    if cx.with(|world| world.must_stay_stable(folio)) {
        wait_writeback(cx, folio).await;
    }
}

impl<E: Env> World<E> {
    /// The result of a read that somebody waited for, once it has ended.
    pub(crate) fn take_sync_result(
        &mut self,
        bio: crate::units::BioId,
    ) -> Option<Result<(), Errno>> {
        use crate::trace::sink::Sink;
        let entry = self.bio(bio);
        if !matches!(entry.state, BioState::Done | BioState::Failed) {
            return None;
        }
        let result = entry.error.map_or(Ok(()), Err);
        if !E::Sink::ON {
            self.bios.remove(&bio);
        }
        Some(result)
    }
    /// Head of a read bio for a folio.
    pub(crate) fn read_head(&self, folio: FolioId) -> BioHead {
        BioHead::read(self.folios.at(folio).file())
    }
    /// The part of a write that a block device takes: nothing lies behind its end
    /// (`blkdev_write_iter`).
    pub(super) fn inside_device(&self, file: FileId, range: FileRange) -> Result<FileRange, Errno> {
        let Provider::BlockDev(device) = &self.file(file).provider else { return Ok(range) };
        let inside = range.intersect(device.whole().range);
        if inside.is_empty() { Err(Errno::NoSpc) } else { Ok(inside) }
    }
    /// A file whose writes do not ask for mappings: as if one covered all of the request
    /// (`generic_perform_write`).
    fn without_map(&self, file: FileId, range: FileRange) -> Option<Mapping> {
        self.writes_without_maps(file).then(|| {
            let map = crate::iomap::Iomap::plain(range, MapType::Mapped, None, 0);
            let iomap = crate::iomap::Iomap { buffer_head: true, ..map };
            Mapping { iomap, srcmap: None }
        })
    }
    pub(super) fn must_stay_stable(&self, folio: FolioId) -> bool {
        self.config.stable_writes && self.has(folio, FolioFlags::WRITEBACK)
    }
    /// The folio that holds a page, and whether its lock was free and is taken now.
    fn find_and_try_lock(&mut self, file: FileId, index: PageIndex) -> Option<(FolioId, bool)> {
        let folio = self.file(file).mapping.find(index)?;
        let free = !self.has(folio, FolioFlags::LOCKED);
        if free {
            self.raise(folio, FolioFlags::LOCKED);
        }
        Some((folio, free))
    }
    /// Whether a mapping still says the truth, as far as this kernel looks.
    pub(super) fn still_holds(&self, file: FileId, map: &Iomap) -> bool {
        let looks = self.behaviours().mapping_check == MappingCheck::Cookie;
        !looks || self.file(file).provider.is_valid(map)
    }
    /// A write has the lock of a cached folio: where that counts as a use, it is one now.
    pub(super) fn found_used(&mut self, folio: FolioId) {
        if self.behaviours().first_access == FirstAccess::InitBeforeVisible {
            self.mark_accessed(folio);
        }
    }
    /// A write has the cached folio that holds a page.
    pub(super) fn found(&mut self, folio: FolioId, index: PageIndex, flags: WriteFlags) {
        if !flags.dontcache {
            self.lower(folio, FolioFlags::DROPBEHIND);
        }
        let order = u64::from(self.folios.at(folio).order.get());
        self.step(Rule::FolioFound, [index.get(), order, 0, 0]);
    }
    /// Into how large pieces a write is cut.
    pub(super) fn write_chunk(&self, file: FileId) -> Bytes {
        let geometry = self.geometry();
        let memory = self.has_memory_only(file);
        if self.writes_without_maps(file) {
            return self.generic_chunk(file);
        }
        match self.behaviours().write_chunk {
            _ if memory => geometry.page_size(),
            WriteChunk::Page => geometry.folio_size(geometry.min_order()),
            WriteChunk::MaxOrder => geometry.huge_page_size().max(geometry.max_folio_size()),
            WriteChunk::MappingMax => geometry.folio_size(self.largest_order(file)),
        }
    }
    fn create_folio(
        &mut self,
        file: FileId,
        index: PageIndex,
        hint: Bytes,
    ) -> Result<FolioId, Errno> {
        let geometry = self.geometry();
        let wanted = match self.behaviours().write_chunk {
            // It asks for no size.
            _ if self.driver(file) == Some(Driver::Ext2) => Order::ZERO,
            _ if self.has_memory_only(file) => Order::ZERO,
            WriteChunk::Page => Order::ZERO,
            WriteChunk::MaxOrder | WriteChunk::MappingMax => geometry.order_floor(hint),
        };
        let kernel = self.folio_policy == FolioPolicy::Kernel;
        let (index, mut order) = match self.folio_policy {
            FolioPolicy::Kernel => {
                let index = crate::geometry::Geometry::align_index(index, geometry.min_order());
                (index, self.order_that_fits(file, index, wanted))
            }
            FolioPolicy::Fixed(order) => self.fixed_place(file, index, order, None),
        };
        let insert = match self.behaviours().first_access {
            FirstAccess::InitBeforeVisible => Insert::Accessed,
            FirstAccess::MarkAfterVisible | FirstAccess::None => Insert::Write,
        };
        // 6.6 has no page-cache folios of two pages.
        let no_two = kernel && self.behaviours().write_chunk == WriteChunk::MaxOrder;
        loop {
            if no_two && order == Order::new(1) {
                order = geometry.min_order();
            }
            let smaller = order.smaller().filter(|_| kernel && order > geometry.min_order());
            match (self.add_folio(file, index, order, insert), smaller) {
                (Ok(folio), _) => {
                    let args = [u64::from(order.get()), index.get(), hint.get(), 0];
                    self.step(Rule::FolioMade, args);
                    return Ok(folio);
                }
                // No memory for it: half of it may do.
                (Err(_), Some(less)) => order = less,
                (Err(errno), None) => return Err(errno),
            }
        }
    }
    /// Marks what was copied valid and dirty; false if the copy cannot be used
    /// (`iomap_write_end`).
    pub(crate) fn write_end(
        &mut self,
        folio: FolioId,
        offset: Offset,
        len: Bytes,
        copied: Bytes,
    ) -> bool {
        let pos = self.folio_pos(folio) + offset.since(Offset::ZERO);
        if self.is_in_memory_only(folio) {
            self.memory_write_end(folio, offset, copied);
            return true;
        }
        if copied < len && !self.has(folio, FolioFlags::UPTODATE) {
            self.step(Rule::CopyRejected, [pos.get(), len.get(), copied.get(), 0]);
            return false;
        }
        if !self.mutant(Mutant::CopyIsNotValid) {
            self.set_range_uptodate(folio, offset, len);
        }
        let dirty = match self.behaviours().dirty_tracking {
            DirtyTracking::PerBlockRfc2 => Some(len),
            DirtyTracking::PerBlock => Some(copied),
            DirtyTracking::PerFolio => None,
        };
        if let Some(dirty) = dirty.filter(|_| !self.mutant(Mutant::DirtiesNoBlock)) {
            let blocks = self.blocks_touched(offset, dirty);
            self.set_blocks(folio, Half::Dirty, blocks, true);
        }
        let blocks = self.blocks_touched(offset, copied);
        self.set_blocks(folio, Half::Asked, blocks, true);
        let last = blocks.1.saturating_sub(1).max(blocks.0);
        self.step(Rule::BitsSet, [u64::from(blocks.0), u64::from(last), 0, 0]);
        self.dirty_folio(folio);
        true
    }
    /// `i_size` follows what was written, before the folio is unlocked.
    pub(super) fn grow(&mut self, file: FileId, end: Pos) {
        let size = self.file(file).size;
        if end > size {
            self.set_size(file, end);
            self.step(Rule::SizeMoved, [size.get(), end.get(), 0, 0]);
        }
    }
    /// Releases a folio's lock.
    pub(crate) fn unlock(&mut self, folio: FolioId) {
        self.lower(folio, FolioFlags::LOCKED);
    }
}
