//! Making data durable: fsync, fdatasync, `RWF_DSYNC`, syncfs.

use crate::cache::folio::FolioFlags;
use crate::cache::mapping::Tag;
use crate::counters::Counter;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::trace::rule::Rule;
use crate::trace::step::Context;
use crate::units::{Bytes, FileId, FileRange, PageIndex, Pos};
use crate::world::{Caller, Effect, Env, FlushId, World};
use crate::writeback::{self, SyncMode, Walk};

/// Writes what is dirty in a range, waits for all of it, and flushes the device (`xfs_file_fsync`).
pub(crate) async fn sync_file<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
) -> Result<(), Errno> {
    // Without a device there is nothing to do (`noop_fsync`).
    if cx.with(|world| world.has_memory_only(file)) {
        return Ok(());
    }
    let written = write_and_wait(cx, file, range).await;
    // The error is told once, by the flush that follows or not.
    let flushed = if written.is_ok() { flush(cx, &[file]).await } else { Ok(()) };
    let told = cx.with(|world| world.report_error(file));
    told.and(written).and(flushed)
}

/// Writes what is dirty in a range and waits for all of it, before something is done to the file
/// that needs it on the device: also told of what failed before that nobody was told of
/// (`filemap_write_and_wait_range`).
pub(crate) async fn write_before<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
) -> Result<(), Errno> {
    let written = write_and_wait(cx, file, range).await;
    let told = cx.with(|world| world.check_errors(file));
    written.and(told)
}

/// Writes what is dirty in a range and waits for all of it (`file_write_and_wait_range`, but for
/// its report of errors).
pub(super) async fn write_and_wait<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
) -> Result<(), Errno> {
    let walk = Walk { file, range, mode: SyncMode::All, worker: false };
    let written = writeback::write_pages(cx, walk).await;
    wait_for_writeback(cx, file, range).await;
    written
}

/// Starts writing what is dirty in a range, without waiting (`filemap_fdatawrite_range_kick`).
/// Errors show at the next fsync.
pub(crate) async fn kick<E: Env>(cx: &Cx<'_, E>, file: FileId, range: FileRange) {
    let walk = Walk { file, range, mode: SyncMode::None, worker: false };
    let _told_at_the_next_fsync = writeback::write_pages(cx, walk).await;
}

/// What `sync_file_range` does, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RangeSync {
    /// Wait for what is already under way.
    pub wait_before: bool,
    /// Start writing what is dirty.
    pub write: bool,
    /// Wait for it; what is written then is written thoroughly.
    pub wait_after: bool,
}

/// Follows `sync_file_range`: folios are chosen by range, no flush follows.
pub(crate) async fn sync_range<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
    flags: RangeSync,
) -> Result<(), Errno> {
    let thorough = flags.wait_before && flags.write && flags.wait_after;
    if flags.wait_before {
        wait_for_writeback(cx, file, range).await;
        cx.with(|world| world.report_error(file))?;
    }
    if flags.write {
        let mode = if thorough { SyncMode::All } else { SyncMode::None };
        writeback::write_pages(cx, Walk { file, range, mode, worker: false }).await?;
    }
    if flags.wait_after {
        wait_for_writeback(cx, file, range).await;
        cx.with(|world| world.report_error(file))?;
    }
    Ok(())
}

/// Every dirty file, oldest first, by the flusher of its device; then waits for all and flushes
/// once. Where there is no flusher the task that asks writes as one would (`sync_filesystem`).
pub(crate) async fn sync_all<E: Env>(cx: &Cx<'_, E>) -> Result<(), Errno> {
    let all = FileRange::between(Pos::ZERO, Pos::new(crate::units::MAX_POS));
    let files = cx.with(|world| world.files_by_dirt());
    let mut result = Ok(());
    let worker = Cx { engine: cx.engine, caller: Caller { context: Context::Worker, ..cx.caller } };
    for mode in [SyncMode::None, SyncMode::All] {
        if cx.with(|world| world.ask_flushers(mode)) {
            // What fails is told below.
            cx.wait(|world| world.flushers_synced().then_some(())).await;
        } else {
            result = result.and(write_files(&worker, &files, mode).await);
        }
    }
    let files = cx.with(|world| world.unsettled_files(&files));
    for file in &files {
        wait_for_writeback(cx, *file, all).await;
    }
    cx.with(World::commit_inodes);
    let flushed = flush(cx, &files).await;
    for file in &files {
        result = result.and(cx.with(|world| world.report_error(*file)));
    }
    result.and(flushed)
}

/// Writes these files one after the other, as a flusher does for a sync: under one plug, which
/// fsync has not (`wb_writeback`).
pub(crate) async fn write_files<E: Env>(
    worker: &Cx<'_, E>,
    files: &[FileId],
    mode: SyncMode,
) -> Result<(), Errno> {
    let range = FileRange::between(Pos::ZERO, Pos::new(crate::units::MAX_POS));
    let plugged = worker.plug();
    let mut result = Ok(());
    for file in files {
        let walk = Walk { file: *file, range, mode, worker: mode == SyncMode::None };
        result = result.and(writeback::write_pages(worker, walk).await);
    }
    worker.unplug(plugged);
    result
}

/// Waits until nothing of a range is under writeback (`filemap_fdatawait_range`).
async fn wait_for_writeback<E: Env>(cx: &Cx<'_, E>, file: FileId, range: FileRange) {
    let (first, end) = cx.with(|world| {
        let geometry = world.geometry();
        (geometry.page_floor(range.start()), geometry.page_ceil(range.end()))
    });
    let next = |world: &World<E>| world.next_in_writeback(file, first, end);
    if let Some(pos) = cx.with(|world| next(world)) {
        cx.with(|world| world.step(Rule::WaitsForWriteback, [pos.get(), 0, 0, 0]));
        cx.wait(|world| next(world).is_none().then_some(())).await;
    }
}

/// Makes what completed durable; files that stand for the device first get their size.
async fn flush<E: Env>(cx: &Cx<'_, E>, files: &[FileId]) -> Result<(), Errno> {
    for file in files {
        if let Some(id) = cx.with(|world| world.ask_for_size(*file)) {
            cx.wait(|world| world.flush_result(id)).await?;
        }
    }
    let (id, records) = cx.with(|world| {
        for file in files {
            world.commit_inode(*file);
        }
        let id = world.new_flush();
        world.count(Counter::Flushes, 1);
        world.step(Rule::FlushSent, [0; 4]);
        world.effects.push_back(Effect::Flush(id));
        (id, world.journal().all())
    });
    let result = cx.wait(|world| world.flush_result(id)).await;
    cx.with(|world| {
        let error = result.err().map_or(0, |errno| u64::from(errno.number()));
        if result.is_ok() {
            world.journal_forced(records);
        }
        world.step(Rule::FlushDone, [error, 0, 0, 0]);
    });
    result
}

impl<E: Env> World<E> {
    pub(super) fn new_flush(&mut self) -> FlushId {
        let id = FlushId(self.next_flush);
        self.next_flush += 1;
        self.flushes.push((id, None));
        id
    }
    pub(super) fn flush_result(&mut self, id: FlushId) -> Option<Result<(), Errno>> {
        let at = self.flushes.iter().position(|(known, _)| *known == id)?;
        let result = self.flushes[at].1?;
        self.flushes.remove(at);
        Some(result)
    }
    fn ask_for_size(&mut self, file: FileId) -> Option<FlushId> {
        let inode = self.file(file);
        if !inode.sized_target {
            return None;
        }
        let size = Bytes::new(inode.size.get());
        let id = self.new_flush();
        self.step(Rule::TargetSized, [size.get(), 0, 0, 0]);
        self.effects.push_back(Effect::SetSize(id, file, size));
        Some(id)
    }
    fn next_in_writeback(&self, file: FileId, first: PageIndex, end: PageIndex) -> Option<Pos> {
        let folio = self.file(file).mapping.next_tagged(Tag::Writeback, first, end)?;
        debug_assert!(self.has(folio, FolioFlags::WRITEBACK), "the tag follows the flag");
        Some(self.folio_pos(folio))
    }
    /// Files with dirty folios, the one that became dirty first in front.
    pub(crate) fn files_by_dirt(&self) -> Vec<FileId> {
        let mut dirty: Vec<(u64, FileId)> = self
            .files
            .iter()
            .enumerate()
            .filter_map(|(at, inode)| Some((inode.dirtied?, FileId::new(at as u32))))
            .collect();
        dirty.sort_unstable();
        dirty.into_iter().map(|(_, file)| file).collect()
    }
    /// The files just written, and those whose writes others began or whose errors nobody told.
    fn unsettled_files(&self, written: &[FileId]) -> Vec<FileId> {
        let unsettled = |id: &FileId| {
            let inode = self.file(*id);
            let told = inode.errors == inode.reported;
            written.contains(id) || inode.mapping.tagged(Tag::Writeback) || !told
        };
        (0..self.files.len()).map(|at| FileId::new(at as u32)).filter(unsettled).collect()
    }
    /// Whether writeback of any file ever failed.
    pub(crate) fn any_write_failed(&self) -> bool {
        self.files.iter().any(|inode| inode.errors > 0)
    }
    /// Tells somebody within the file system of an error that nobody was told of
    /// (`filemap_check_errors`). The next fsync is told of it all the same.
    pub(super) fn check_errors(&mut self, file: FileId) -> Result<(), Errno> {
        let Some(errno) = self.file_mut(file).sticky.take() else { return Ok(()) };
        self.step(Rule::ErrorChecked, [u64::from(errno.number()), 0, 0, 0]);
        Err(errno)
    }
    /// Tells an open file once of an error that writeback met (`file_check_and_advance_wb_err`).
    fn report_error(&mut self, file: FileId) -> Result<(), Errno> {
        let inode = self.file_mut(file);
        inode.sticky = None;
        if inode.errors == inode.reported {
            return Ok(());
        }
        inode.reported = inode.errors;
        let errno = inode.last_error;
        self.step(Rule::ErrorReported, [u64::from(errno.number()), 0, 0, 0]);
        Err(errno)
    }
}
