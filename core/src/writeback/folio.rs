//! Writeback of one folio: EOF, which of its blocks to write, and the end of its writeback
//! (`iomap_writeback_folio`).

use super::ioend::write_piece;
use super::{Ctx, send_ioend};
use crate::behaviour::{DirtyTracking, WritePending};
use crate::cache::folio::FolioFlags;
use crate::cache::ifs::Half;
use crate::cache::mapping::Tag;
use crate::check::invariants::END_BEHIND_START;
use crate::check::mutant::Mutant;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::stops::StopPoint;
use crate::trace::rule::Rule;
use crate::units::{BlockNo, Blocks, Bytes, FileId, FileRange, FolioId, Offset, Pos};
use crate::world::{Env, World};

/// Where a folio ends for writeback.
pub(crate) enum Eof {
    /// Wholly beyond EOF: skipped.
    Beyond,
    /// The part that counts ends here.
    At(Pos),
}

/// Sends the dirty blocks of a locked dirty folio on their way and unlocks it.
pub(super) async fn writeback_folio<E: Env>(
    cx: &Cx<'_, E>,
    ctx: &mut Ctx,
    id: FolioId,
) -> Result<(), Errno> {
    let whole = cx.with(|world| world.take_folio(id));
    cx.reach(StopPoint::WbFolioLocked, |_| whole).await;
    let Eof::At(end) = cx.with(|world| world.handle_eof(id)) else {
        cx.with(|world| world.unlock(id));
        return Ok(());
    };
    cx.reach(StopPoint::WbEofChecked, |_| whole).await;
    cx.with(|world| {
        world.require(end > whole.start(), END_BEHIND_START, whole.start());
        world.start_writeback(id, end);
    });
    let mut submitted = Bytes::ZERO;
    let result = write_runs(cx, ctx, id, end, &mut submitted).await;
    if !submitted.is_zero() {
        ctx.folios += 1;
    }
    cx.with(|world| world.finish_mapping(id, end, submitted, result));
    for (bio, why) in core::mem::take(&mut ctx.queued) {
        send_ioend(cx, bio, why, result).await;
    }
    cx.reach(StopPoint::WbFolioDone, |_| whole).await;
    result
}

/// Adds every run that must be written, and counts the bytes that were added.
async fn write_runs<E: Env>(
    cx: &Cx<'_, E>,
    ctx: &mut Ctx,
    id: FolioId,
    end: Pos,
    submitted: &mut Bytes,
) -> Result<(), Errno> {
    let mut block = 0;
    while let Some((run, stop)) = cx.with(|world| world.take_run(id, block, end)) {
        block = stop;
        let mut at = run.start();
        while at < run.end() {
            let rest = FileRange::between(at, run.end());
            let n = write_piece(cx, ctx, id, rest, end).await?;
            cx.with(|world| world.require(!n.len.is_zero() && n.len <= rest.len(), 26, at));
            if n.added {
                *submitted += n.len;
            }
            at += n.len;
        }
    }
    Ok(())
}

impl<E: Env> World<E> {
    /// A locked dirty folio is taken to be written; the bytes of the file that it holds.
    pub(crate) fn take_folio(&mut self, id: FolioId) -> FileRange {
        let whole = self.folio_range(id);
        self.require(self.has(id, FolioFlags::LOCKED), 20, whole.start());
        if !self.mutant(Mutant::CleansLate) {
            self.clear_dirty_for_io(id);
        }
        self.step(Rule::WritebackFolio, [whole.start().get(), whole.len().get(), 0, 0]);
        whole
    }
    /// The folio is mapped next: it goes under writeback now, or before 6.9 once it is mapped.
    fn start_writeback(&mut self, id: FolioId, end: Pos) {
        if self.folio_blocks(id) > 1 && !self.mutant(Mutant::MapsAsOneBlock) {
            if !self.mutant(Mutant::WritesWithoutState) {
                self.prepare_state(id, end);
            }
            self.start_pending(id);
        }
        if self.behaviours().write_pending != WritePending::PerBlock {
            self.set_writeback(id);
            self.say_writeback_starts(id);
        }
    }
    /// All that must be written of a folio was added, or mapping failed: it is clean and unlocked.
    fn finish_mapping(
        &mut self,
        id: FolioId,
        end: Pos,
        submitted: Bytes,
        result: Result<(), Errno>,
    ) {
        let late = self.behaviours().write_pending == WritePending::PerBlock;
        // Before 6.9 a folio that nothing could be added of stays as it is, dirty bits and all.
        let untouched = late && submitted.is_zero() && result.is_err();
        if !untouched {
            self.clear_dirty_bits(id, end);
            if late {
                self.set_writeback(id);
                self.unlock(id);
                self.say_writeback_starts(id);
            }
        }
        if let Err(errno) = result {
            let start = self.folio_pos(id);
            self.record_error(self.folios.at(id).file(), start, errno);
        }
        if !untouched {
            self.end_pending(id, submitted);
        }
        if !late || untouched {
            self.unlock(id);
        }
    }
    /// The dirty mark goes before the I/O, so that a write from now on counts again
    /// (`folio_clear_dirty_for_io`).
    fn clear_dirty_for_io(&mut self, id: FolioId) {
        self.protect_folio(id);
        self.lower(id, FolioFlags::DIRTY);
        self.account_cleaned(id);
        let folio = self.folios.at(id);
        let (file, index) = (folio.file(), folio.index);
        let mapping = &mut self.file_mut(file).mapping;
        mapping.set_tag(Tag::Dirty, index, false);
        mapping.set_tag(Tag::ToWrite, index, false);
    }
    pub(crate) fn handle_eof(&mut self, id: FolioId) -> Eof {
        let whole = self.folio_range(id);
        let size = self.file(self.folios.at(id).file()).size;
        if whole.end() <= size {
            return Eof::At(whole.end());
        }
        let args = [whole.start().get(), size.get(), 0, 0];
        let at_eof = whole.start() == size && self.mutant(Mutant::WritesAtEof);
        if whole.start() >= size && !at_eof {
            if let Some(state) = self.state_mut(id) {
                state.skipped = true;
            }
            self.step(Rule::BeyondEof, args);
            return Eof::Beyond;
        }
        let offset = Offset::ZERO + size.since(whole.start());
        self.zero_bytes(id, offset, Offset::ZERO + whole.len());
        self.step(Rule::TailZeroed, args);
        Eof::At(size)
    }
    fn prepare_state(&mut self, id: FolioId, end: Pos) {
        let start = self.folio_pos(id);
        let fresh = self.state(id).is_none();
        self.ensure_state(id);
        if fresh {
            let blocks = self.blocks_touched(Offset::ZERO, end.since(start));
            self.set_blocks(id, Half::Asked, blocks, true);
            self.set_blocks(id, Half::Dirty, blocks, self.tracks_blocks());
        }
    }
    pub(crate) fn set_writeback(&mut self, id: FolioId) {
        let start = self.folio_pos(id);
        self.require(!self.has(id, FolioFlags::DIRTY), 21, start);
        self.require(!self.has(id, FolioFlags::WRITEBACK), 22, start);
        if self.mutant(Mutant::CleansLate) {
            self.clear_dirty_for_io(id);
        }
        self.raise(id, FolioFlags::WRITEBACK);
        self.account_writeback(id);
        let folio = self.folios.at(id);
        let (file, index) = (folio.file(), folio.index);
        self.file_mut(file).mapping.set_tag(Tag::Writeback, index, true);
    }
    fn say_writeback_starts(&mut self, id: FolioId) {
        let pending = self.state(id).map_or(0, |state| state.write_pending.get());
        self.step(Rule::WritebackStarts, [self.folio_pos(id).get(), pending, 0, 0]);
    }
    /// The next run to be written from block `from` on, and the block behind it.
    fn take_run(&mut self, id: FolioId, from: u32, end: Pos) -> Option<(FileRange, u32)> {
        let start = self.folio_pos(id);
        let (_, blocks) = self.blocks_touched(Offset::ZERO, end.since(start));
        let (first, stop) = self.next_run_to_write(id, from, blocks)?;
        let len = self.geometry().blocks_bytes(Blocks::new(u64::from(stop - first)));
        let offset = self.geometry().block_offset(BlockNo::new(u64::from(first)));
        let rule = if self.tracks_blocks() { Rule::DirtyRun } else { Rule::UptodateRun };
        let asked = self.asked_bytes(id, first, stop);
        self.step(rule, [u64::from(first), u64::from(stop - 1), len.get(), asked.get()]);
        let at = start + offset.since(Offset::ZERO);
        Some((FileRange::between(at, at + len), stop))
    }
    /// The next blocks in `[from, end)` to be written: the dirty ones, or before 6.6 all that are
    /// uptodate.
    fn next_run_to_write(&self, id: FolioId, from: u32, end: u32) -> Option<(u32, u32)> {
        let Some(state) = self.state(id) else {
            return (from < end).then_some((from, end));
        };
        let bits = if self.tracks_blocks() { &state.dirty } else { &state.uptodate };
        let first = bits.next_set(from, end);
        (first < end).then(|| (first, bits.next_clear(first, end)))
    }
    /// Clears every dirty bit, also beyond EOF and after an error; the RFC's rules stop at EOF.
    fn clear_dirty_bits(&mut self, id: FolioId, end: Pos) {
        let blocks = self.folio_blocks(id);
        let stop = match self.behaviours().dirty_tracking {
            DirtyTracking::PerBlockRfc2 => {
                self.blocks_touched(Offset::ZERO, end.since(self.folio_pos(id))).1
            }
            DirtyTracking::PerBlock | DirtyTracking::PerFolio => blocks,
        };
        if !self.mutant(Mutant::LeavesBlocksDirty) {
            self.set_blocks(id, Half::Dirty, (0, stop), false);
        }
        self.set_blocks(id, Half::Asked, (0, blocks), false);
        if let Some(state) = self.state_mut(id) {
            state.skipped = false;
        }
    }
    /// Keeps an error for the next fsync (`mapping_set_error`).
    pub(crate) fn record_error(&mut self, file: FileId, pos: Pos, errno: Errno) {
        let inode = self.file_mut(file);
        // No space is one thing, all else another, and the worse of the two.
        if errno != Errno::NoSpc {
            inode.sticky = Some(Errno::Io);
        } else if inode.sticky.is_none() {
            inode.sticky = Some(errno);
        }
        self.keep_error(file, pos, errno);
    }
    /// Keeps an error for the next fsync alone (`errseq_set`).
    pub(crate) fn keep_error(&mut self, file: FileId, pos: Pos, errno: Errno) {
        let inode = self.file_mut(file);
        inode.errors += 1;
        inode.last_error = errno;
        self.step(Rule::ErrorRecorded, [u64::from(errno.number()), pos.get(), 0, 0]);
    }
}
