//! Zeroing through the cache (`iomap_zero_range`): what a write beyond EOF leaves behind it must
//! read as zero.

use super::iter;
use super::write::{end_write_mapping, write_begin};
use crate::behaviour::{InvalidateLock, ZeroFlush};
use crate::buffer::state::BufferBit;
use crate::cache::mapping::Tag;
use crate::check::mutant::Mutant;
use crate::engine::{Cx, WriteFlags};
use crate::errno::Errno;
use crate::fs::Manner;
use crate::iomap::{Intent, Iomap, MapType};
use crate::locks::{Lock, Mode};
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, FolioId, Offset, Pages, Pos};
use crate::world::{Env, World};

/// Zeroes `range` where it has data; holes and unwritten blocks read as zero already, unless the
/// cache over them is dirty: what is done then is a matter of the version. Tells whether anything
/// was zeroed.
pub(crate) async fn zero_range<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
) -> Result<bool, Errno> {
    let how = cx.with(|world| world.behaviours().zero_flush);
    let first = cx.with(|world| world.rest_of_block(range));
    let by_itself =
        how == ZeroFlush::AfterFirstBlock && cx.with(|world| world.range_is_dirty(file, first));
    if !by_itself {
        return zero_mappings(cx, file, range, Skips::Clean).await;
    }
    let zeroed = zero_mappings(cx, file, first, Skips::Nothing).await?;
    let rest = FileRange::between(first.end(), range.end());
    Ok(zero_mappings(cx, file, rest, Skips::Clean).await? | zeroed)
}

/// A write begins at `pos`: what lies between EOF and there must read as zero
/// (`xfs_file_write_zero_eof`).
pub(super) async fn zero_gap<E: Env>(cx: &Cx<'_, E>, file: FileId, pos: Pos) -> Result<(), Errno> {
    let (size, alone) = cx.with(|world| {
        let inode = world.file(file);
        let locks = world.behaviours().invalidate_lock == InvalidateLock::OverGaps;
        (inode.size, locks && inode.provider.manner() == Some(Manner::Xfs))
    });
    if pos <= size {
        return Ok(());
    }
    cx.with(|world| world.step(Rule::GapZeroed, [size.get(), pos.get(), 0, 0]));
    let held =
        if alone { Some(cx.lock(file, Lock::Invalidate, Mode::Exclusive).await) } else { None };
    let zeroed = zero_range(cx, file, FileRange::between(size, pos)).await;
    drop(held);
    zeroed.map(|_| ())
}

/// What zeroing may leave out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Skips {
    /// Nothing: the cache is there and dirty.
    Nothing,
    /// What reads as zero from the device, once the cache over it is clean.
    Clean,
}

async fn zero_mappings<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
    skips: Skips,
) -> Result<bool, Errno> {
    let mut zeroed = false;
    let how = cx.with(|world| world.behaviours().zero_flush);
    let mut flush = how != ZeroFlush::Never && cx.with(|world| world.range_is_dirty(file, range));
    let mut at = range.start();
    while at < range.end() {
        let rest = FileRange::between(at, range.end());
        let mapping = iter::begin(cx, file, rest, Intent::Zero, false).await?;
        let part = FileRange::between(at, at + mapping.left(at, rest.len()));
        let source = mapping.source().kind;
        let skipped = matches!(source, MapType::Hole | MapType::Unwritten)
            && !cx.with(|world| world.buffer_maps(file, at));
        if skipped && skips == Skips::Clean {
            let flushes = how != ZeroFlush::Unwritten || source == MapType::Unwritten;
            if flushes && core::mem::take(&mut flush) {
                cx.with(|world| {
                    let args = [at.get(), rest.len().get(), source.code(), 0];
                    world.step(Rule::ZeroFlushes, args);
                });
                super::sync::write_before(cx, file, rest).await?;
                continue;
            }
            cx.with(|world| {
                let args = [part.start().get(), part.len().get(), source.code(), 0];
                world.step(Rule::ZeroSkipped, args);
            });
            at = part.end();
            continue;
        }
        let mut begun = Ok(None);
        while at < part.end() {
            let left = part.end().since(at);
            begun = write_begin(cx, file, &mapping, at, (left, WriteFlags::default())).await;
            // None: the mapping is stale.
            let Ok(Some(folio)) = begun else { break };
            let left = FileRange::between(at, part.end());
            at += cx.with(|world| world.zero_in_folio(folio, left, &mapping.iomap));
            zeroed = true;
            if cx.with(|world| world.mutant(Mutant::ZeroSkipsABlock)) {
                at += cx.with(|world| world.geometry().block_size());
            }
        }
        end_write_mapping(cx, file, &mapping, rest, at).await;
        begun?;
    }
    Ok(zeroed)
}

impl<E: Env> World<E> {
    /// Zeroes what a locked folio holds of a range and unlocks it; how many bytes.
    fn zero_in_folio(&mut self, folio: FolioId, range: FileRange, map: &Iomap) -> Bytes {
        let part = range.intersect(self.folio_range(folio));
        let start = self.folio_pos(folio);
        let size = self.file(self.folios.at(folio).file()).size;
        let old = self.behaviours().zero_flush == ZeroFlush::Never;
        // Of a device that grows, or of new places for shared blocks, more may be mapped.
        let promised = map.kind == MapType::Delalloc && !map.shared;
        self.require(start <= size || old || !promised, 19, start);
        let offset = Offset::ZERO + part.start().since(start);
        self.zero_bytes(folio, offset, offset + part.len());
        self.mark_accessed(folio);
        if map.buffer_head {
            self.commit_buffers(folio, offset, part.len(), true);
        } else {
            self.write_end(folio, offset, part.len(), part.len());
        }
        self.unlock(folio);
        self.step(Rule::Zeroed, [part.start().get(), part.len().get(), 0, 0]);
        part.len()
    }
    /// Whether a buffer in the cache has a place for the block at `at`, or a promise of one: what
    /// it holds is zeroed, whatever the extents say by now (`ext4_block_zero_page_range`).
    fn buffer_maps(&self, file: FileId, at: Pos) -> bool {
        let geometry = self.geometry();
        let Some(folio) = self.file(file).mapping.find(geometry.page_floor(at)) else {
            return false;
        };
        let (block, _) =
            self.blocks_touched(Offset::ZERO + at.since(self.folio_pos(folio)), Bytes::new(1));
        self.buffer_is(folio, BufferBit::Mapped, block)
    }
    /// Whether zeroing also goes through what is reserved behind EOF: before 6.12.
    pub(super) fn zeroes_behind_eof(&self) -> bool {
        let old = self.behaviours().zero_flush == ZeroFlush::Never;
        old || self.mutant(Mutant::ZeroesBehindEof)
    }
    /// The part of a range up to the end of the block that it begins inside; nothing if it begins
    /// with a block.
    fn rest_of_block(&self, range: FileRange) -> FileRange {
        let end = self.geometry().round_up_block(range.start()).min(range.end());
        FileRange::between(range.start(), end)
    }
    /// Whether any page of a range is dirty or under writeback (`filemap_range_needs_writeback`).
    fn range_is_dirty(&self, file: FileId, range: FileRange) -> bool {
        if range.is_empty() {
            return false;
        }
        let geometry = self.geometry();
        let first = geometry.page_floor(range.start());
        let last = geometry.page_floor(range.end() - Bytes::new(1)) + Pages::new(1);
        let mapping = &self.file(file).mapping;
        [Tag::Dirty, Tag::Writeback]
            .into_iter()
            .any(|tag| mapping.next_tagged(tag, first, last).is_some())
    }
}
