//! Writeback of one folio: EOF, which of its blocks to write, and the end of its writeback
//! (`iomap_writeback_folio`).

use super::Ctx;
use crate::behaviour::DirtyTracking;
use crate::cache::folio::FolioFlags;
use crate::cache::ifs::Half;
use crate::cache::mapping::Tag;
use crate::errno::Errno;
use crate::trace::rule::Rule;
use crate::units::{BlockNo, Blocks, Bytes, FileId, FileRange, FolioId, Offset, Pos};
use crate::world::{Env, World};

/// Where a folio ends for writeback.
enum Eof {
    /// Wholly beyond EOF: skipped.
    Beyond,
    /// The part that counts ends here.
    At(Pos),
}

impl<E: Env> World<E> {
    /// Sends the dirty blocks of a locked dirty folio on their way and unlocks it.
    pub(super) fn writeback_folio(&mut self, ctx: &mut Ctx, id: FolioId) -> Result<(), Errno> {
        let whole = self.folio_range(id);
        let (start, size) = (whole.start(), whole.len());
        self.require(self.has(id, FolioFlags::LOCKED), 20, start);
        self.clear_dirty_for_io(id);
        self.step(Rule::WritebackFolio, [start.get(), size.get(), 0, 0]);
        let Eof::At(end) = self.handle_eof(id) else {
            self.unlock(id);
            return Ok(());
        };
        let stateful = self.folio_blocks(id) > 1;
        if stateful {
            self.prepare_state(id, end);
        }
        self.set_writeback(id);
        let (submitted, result) = self.write_runs(ctx, id, end);
        if !submitted.is_zero() {
            ctx.folios += 1;
        }
        self.clear_dirty_bits(id, end);
        if let Err(errno) = result {
            self.record_error(self.folios.at(id).file(), start, errno);
        }
        if stateful {
            if submitted < size {
                self.write_bytes_done(id, size - submitted);
            }
        } else if submitted.is_zero() {
            self.end_writeback(id);
        }
        self.unlock(id);
        result
    }
    /// The dirty mark goes before the I/O, so that a write from now on counts again
    /// (`folio_clear_dirty_for_io`).
    fn clear_dirty_for_io(&mut self, id: FolioId) {
        self.protect_folio(id);
        self.lower(id, FolioFlags::DIRTY);
        let folio = self.folios.at(id);
        let (file, index) = (folio.file(), folio.index);
        let mapping = &mut self.file_mut(file).mapping;
        mapping.set_tag(Tag::Dirty, index, false);
        mapping.set_tag(Tag::ToWrite, index, false);
    }
    fn handle_eof(&mut self, id: FolioId) -> Eof {
        let whole = self.folio_range(id);
        let size = self.file(self.folios.at(id).file()).size;
        if whole.end() <= size {
            return Eof::At(whole.end());
        }
        let args = [whole.start().get(), size.get(), 0, 0];
        if whole.start() >= size {
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
        let size = self.folio_size(id);
        let fresh = self.state(id).is_none();
        self.ensure_state(id);
        if fresh {
            let blocks = self.blocks_touched(Offset::ZERO, end.since(start));
            self.set_blocks(id, Half::Asked, blocks, true);
            self.set_blocks(id, Half::Dirty, blocks, self.tracks_blocks());
        }
        let pending = self.state(id).map(|state| state.write_pending);
        self.require(pending == Some(Bytes::ZERO), 24, start);
        self.set_write_pending(id, size);
    }
    fn set_writeback(&mut self, id: FolioId) {
        let start = self.folio_pos(id);
        self.require(!self.has(id, FolioFlags::DIRTY), 21, start);
        self.require(!self.has(id, FolioFlags::WRITEBACK), 22, start);
        self.raise(id, FolioFlags::WRITEBACK);
        let folio = self.folios.at(id);
        let (file, index) = (folio.file(), folio.index);
        self.file_mut(file).mapping.set_tag(Tag::Writeback, index, true);
    }
    /// Adds every run that must be written; how many bytes were added.
    fn write_runs(&mut self, ctx: &mut Ctx, id: FolioId, end: Pos) -> (Bytes, Result<(), Errno>) {
        let start = self.folio_pos(id);
        let mut submitted = Bytes::ZERO;
        let (_, blocks) = self.blocks_touched(Offset::ZERO, end.since(start));
        let mut block = 0;
        while let Some((first, stop)) = self.next_run_to_write(id, block, blocks) {
            block = stop;
            let len = self.geometry().blocks_bytes(Blocks::new(u64::from(stop - first)));
            let offset = self.geometry().block_offset(BlockNo::new(u64::from(first)));
            let rule = if self.tracks_blocks() { Rule::DirtyRun } else { Rule::UptodateRun };
            let asked = self.asked_bytes(id, first, stop);
            self.step(rule, [u64::from(first), u64::from(stop - 1), len.get(), asked.get()]);
            let from = start + offset.since(Offset::ZERO);
            match self.write_run(ctx, id, FileRange::between(from, from + len), end) {
                Ok(added) => submitted += added,
                Err((added, errno)) => return (submitted + added, Err(errno)),
            }
        }
        (submitted, Ok(()))
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
    /// Maps a run piece by piece and adds the pieces (`iomap_writeback_range`).
    fn write_run(
        &mut self,
        ctx: &mut Ctx,
        id: FolioId,
        run: FileRange,
        end: Pos,
    ) -> Result<Bytes, (Bytes, Errno)> {
        let mut added = Bytes::ZERO;
        let mut at = run.start();
        while at < run.end() {
            let rest = FileRange::between(at, run.end());
            let n = self.write_piece(ctx, id, rest, end).map_err(|errno| (added, errno))?;
            self.require(!n.len.is_zero() && n.len <= rest.len(), 26, at);
            if n.added {
                added += n.len;
            }
            at += n.len;
        }
        Ok(added)
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
        self.set_blocks(id, Half::Dirty, (0, stop), false);
        self.set_blocks(id, Half::Asked, (0, blocks), false);
    }
    /// Keeps an error for the next fsync (`mapping_set_error`).
    pub(super) fn record_error(&mut self, file: FileId, pos: Pos, errno: Errno) {
        let inode = self.file_mut(file);
        inode.errors += 1;
        inode.last_error = errno;
        self.step(Rule::ErrorRecorded, [u64::from(errno.number()), pos.get(), 0, 0]);
    }
}
