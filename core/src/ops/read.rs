//! Buffered read (`filemap_read`): from the cache, with readahead for what is missing.

use super::fill::read_batch;
use super::fill_window::{async_readahead, sync_readahead};
use super::write::lock_folio;
use crate::cache::folio::FolioFlags;
use crate::cache::life::Insert;
use crate::cache::policy::FolioPolicy;
use crate::counters::Counter;
use crate::engine::{Cx, ReadFlags};
use crate::errno::Errno;
use crate::frames::{FrameStore, UserDest};
use crate::locks::{Lock, Mode};
use crate::stops::StopPoint;
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, FolioId, Offset, PageIndex, Pos};
use crate::world::{Env, World};

/// Most folios that are looked at together (`PAGEVEC_SIZE`).
const BATCH: usize = 31;

/// Reads into `dest` from `pos`, up to EOF.
pub(crate) async fn pread<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    pos: Pos,
    dest: &mut dyn UserDest,
    flags: ReadFlags,
) -> Result<Bytes, Errno> {
    let asked = FileRange::new(pos, dest.len()).ok_or(Errno::Inval)?;
    let held = if cx.with(|world| world.file(file).provider.locks_reads()) {
        Some(cx.lock_or_fail(file, (Lock::Io, Mode::Shared), flags.nowait).await?)
    } else {
        None
    };
    let read = read_locked(cx, file, asked, dest, flags).await;
    drop(held);
    read
}

/// The same while nobody writes where reads are locked out of that.
async fn read_locked<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    asked: FileRange,
    dest: &mut dyn UserDest,
    flags: ReadFlags,
) -> Result<Bytes, Errno> {
    let pos = asked.start();
    let mut at = pos;
    let mut result = Ok(());
    let mut last = cx.with(|world| world.file(file).window.previous);
    while result.is_ok() && at < cx.with(|world| asked.intersect(world.whole(file))).end() {
        let rest = FileRange::between(at, asked.end());
        if let Some(zero) = cx.with(|world| world.absent_in_memory(file, rest)) {
            let copied = dest.copy_out(Offset::ZERO + at.since(pos), &vec![0; zero.get() as usize]);
            at += copied;
            if copied < zero {
                result = Err(Errno::Fault);
            }
            continue;
        }
        cx.with(|world| world.file_mut(file).window.dropbehind = flags.dontcache);
        let batch = match folios_for_read(cx, file, rest, flags.nowait).await {
            Ok(batch) => batch,
            Err(errno) => {
                result = Err(errno);
                break;
            }
        };
        for folio in batch {
            let part = cx.with(|world| rest.intersect(world.whole(file)));
            let part = FileRange::between(at, part.end());
            let (len, copied) = cx.with(|world| {
                world.mark_read(folio, last);
                world.copy_out(folio, part, at.since(pos), dest)
            });
            at += copied;
            last = Some(at);
            cx.with(|world| {
                if flags.dontcache {
                    world.drop_behind(folio);
                }
            });
            if copied < len {
                result = Err(Errno::Fault);
                break;
            }
        }
    }
    let read = at.since(pos);
    cx.with(|world| {
        world.count(Counter::AppRead, read.get());
        if !read.is_zero() {
            world.file_mut(file).window.previous = Some(at);
        }
    });
    // What was read counts; the error is lost for this call.
    if read.is_zero() { result.map(|()| read) } else { Ok(read) }
}

/// The cached folios from the start of `rest` on, up to one that carries the readahead mark or had
/// to be waited for; all of them readable (`filemap_get_pages`).
async fn folios_for_read<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    rest: FileRange,
    nowait: bool,
) -> Result<Vec<FolioId>, Errno> {
    let (index, end) = cx.with(|world| {
        let geometry = world.geometry();
        let end = geometry.page_ceil(rest.end());
        (geometry.page_floor(rest.start()), geometry.align_index_up(end))
    });
    let mut tried = false;
    loop {
        let mut batch = cx.with(|world| world.read_batch_at(file, index, end));
        let Some(last) = batch.last().copied() else {
            if tried || cx.with(|world| world.reads_alone()) {
                if nowait {
                    return Err(Errno::Again);
                }
                create_and_read(cx, file, rest.start()).await?;
            } else {
                sync_readahead(cx, file, index, end.since(index)).await;
            }
            tried = true;
            continue;
        };
        let at = cx.with(|world| world.folios.at(last).index);
        if cx.with(|world| world.has(last, FolioFlags::READAHEAD)) {
            async_readahead(cx, file, last, at, end.since(at)).await;
            // It waits where a mapping takes a read, and nobody holds the folios meanwhile.
            if !cx.with(|world| world.is_still_cached(file, index, &batch)) {
                continue;
            }
        }
        let part = FileRange::between(
            rest.start(),
            cx.with(|world| rest.intersect(world.whole(file))).end(),
        );
        let ready = cx.with(|world| world.is_readable(last, part));
        if nowait {
            // What is not uptodate is looked at under its lock, which somebody may hold.
            let now = ready && !cx.with(|world| world.is_busy(file, last));
            batch.truncate(if now { batch.len() } else { batch.len() - 1 });
            return if batch.is_empty() { Err(Errno::Again) } else { Ok(batch) };
        }
        // Who had to wait looks again: the folios before it may be gone.
        if ready || (make_readable(cx, file, at, last, part).await? && batch.len() == 1) {
            return Ok(batch);
        }
    }
}

/// Makes one folio for `pos` and fills it (`filemap_create_folio`).
pub(crate) async fn create_and_read<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    pos: Pos,
) -> Result<(), Errno> {
    let held = cx.lock(file, Lock::Invalidate, Mode::Shared).await;
    let filled = create_and_fill(cx, file, pos).await;
    drop(held);
    filled
}

async fn create_and_fill<E: Env>(cx: &Cx<'_, E>, file: FileId, pos: Pos) -> Result<(), Errno> {
    let cached = |world: &World<E>| world.file(file).mapping.find(world.geometry().page_floor(pos));
    // Somebody else made it while the lock was waited for: who looks again finds it.
    if cx.with(|world| cached(world)).is_some() {
        return Ok(());
    }
    let folio = cx.with(|world| world.create_for_read(file, pos))?;
    cx.reach(StopPoint::FolioLocked, |world| world.folio_range(folio)).await;
    fill_one(cx, file, folio).await
}

/// Fills a locked folio and waits for it; an error is the caller's (`filemap_read_folio`). A
/// mapping that is refused is told as it is.
async fn fill_one<E: Env>(cx: &Cx<'_, E>, file: FileId, folio: FolioId) -> Result<(), Errno> {
    let index = cx.with(|world| world.folios.at(folio).index);
    let refused = read_batch(cx, file, &[folio], false).await;
    cx.wait(|world| (!world.is_locked_at(file, index, folio)).then_some(())).await;
    cx.with(|world| {
        match world.file(file).mapping.find(index) {
            _ if refused => Err(Errno::Inval),
            Some(here) if here == folio && !world.has(folio, FolioFlags::UPTODATE) => {
                Err(Errno::Io)
            }
            // Where it was dropped once it was read, who needs it looks again.
            Some(_) | None => Ok(()),
        }
    })
}

/// Makes the folio at `pos` uptodate, reading it if it is not.
pub(crate) async fn read_one<E: Env>(cx: &Cx<'_, E>, file: FileId, pos: Pos) -> Result<(), Errno> {
    let held = cx.lock(file, Lock::Invalidate, Mode::Shared).await;
    let read = read_one_locked(cx, file, pos).await;
    drop(held);
    read
}

async fn read_one_locked<E: Env>(cx: &Cx<'_, E>, file: FileId, pos: Pos) -> Result<(), Errno> {
    let at = cx.with(|world| world.geometry().page_floor(pos));
    loop {
        let Some(folio) = cx.with(|world| world.file(file).mapping.find(at)) else {
            return create_and_fill(cx, file, pos).await;
        };
        if !lock_folio(cx, file, at, folio).await {
            continue;
        }
        if cx.with(|world| world.has(folio, FolioFlags::UPTODATE)) {
            cx.with(|world| world.unlock(folio));
            return Ok(());
        }
        return fill_one(cx, file, folio).await;
    }
}

/// Fills the folios of pages `[index, end)` in one batch, up to EOF. Cached ones are gone around,
/// and each stretch between them is read by itself (`page_cache_ra_unbounded`).
pub(crate) async fn read_range<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    index: PageIndex,
    end: PageIndex,
) {
    let held = cx.lock(file, Lock::Invalidate, Mode::Shared).await;
    let end = cx.with(|world| end.min(world.geometry().page_ceil(world.file(file).size)));
    let mut batch: Vec<FolioId> = Vec::new();
    let mut at = index;
    while at < end {
        let cached = |world: &mut World<E>| {
            world.file(file).mapping.find(at).map(|folio| world.folios.at(folio).end_index())
        };
        if let Some(behind) = cx.with(cached) {
            read_batch(cx, file, &batch, true).await;
            batch.clear();
            at = behind;
            continue;
        }
        let pos = cx.with(|world| world.geometry().page_pos(at));
        let Ok(folio) = cx.with(|world| world.create_for_read(file, pos)) else { break };
        batch.push(folio);
        at = cx.with(|world| world.folios.at(folio).end_index());
    }
    read_batch(cx, file, &batch, true).await;
    drop(held);
}

/// Waits until what `part` wants of a folio is valid, reading it if nobody does; false if it left
/// its place meanwhile (`filemap_update_page`).
pub(crate) async fn make_readable<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    index: PageIndex,
    folio: FolioId,
    part: FileRange,
) -> Result<bool, Errno> {
    let mut read_it = false;
    loop {
        if cx.with(|world| world.is_readable(folio, part)) {
            return Ok(true);
        }
        // Who reads it now holds the folio's lock: nobody waits for that with a lock of the file.
        if cx.with(|world| world.is_locked_at(file, index, folio)) {
            if !lock_folio(cx, file, index, folio).await {
                return Ok(false);
            }
            let ready = cx.with(|world| {
                world.unlock(folio);
                world.is_readable(folio, part)
            });
            if ready {
                return Ok(true);
            }
        }
        let _held = cx.lock(file, Lock::Invalidate, Mode::Shared).await;
        if cx.with(|world| world.is_locked_at(file, index, folio)) {
            continue;
        }
        if !lock_folio(cx, file, index, folio).await {
            return Ok(false);
        }
        if cx.with(|world| world.is_readable(folio, part)) {
            cx.with(|world| world.unlock(folio));
            return Ok(true);
        }
        if read_it {
            cx.with(|world| world.unlock(folio));
            return Err(Errno::Io);
        }
        read_it = true;
        read_batch(cx, file, &[folio], false).await;
        cx.wait(|world| (!world.is_locked_at(file, index, folio)).then_some(())).await;
        if cx.with(|world| world.file(file).mapping.find(index) != Some(folio)) {
            return Ok(false);
        }
    }
}

impl<E: Env> World<E> {
    fn is_locked_at(&self, file: FileId, index: PageIndex, folio: FolioId) -> bool {
        self.file(file).mapping.find(index) == Some(folio) && self.has(folio, FolioFlags::LOCKED)
    }
    /// Cached folios that follow each other from `index` on (`filemap_get_read_batch`).
    fn read_batch_at(&self, file: FileId, index: PageIndex, end: PageIndex) -> Vec<FolioId> {
        let mut batch = Vec::new();
        let mut at = index;
        while at < end && batch.len() < BATCH {
            let Some(id) = self.file(file).mapping.find(at) else { break };
            batch.push(id);
            let folio = self.folios.at(id);
            if folio.flags.has(FolioFlags::READAHEAD) || !folio.flags.has(FolioFlags::UPTODATE) {
                break;
            }
            at = folio.end_index();
        }
        batch
    }
    /// Whether these folios still follow each other from `index` on, all but the last uptodate.
    fn is_still_cached(&self, file: FileId, index: PageIndex, batch: &[FolioId]) -> bool {
        let mut at = index;
        batch.iter().all(|id| {
            let here = self.file(file).mapping.find(at) == Some(*id)
                && (Some(id) == batch.last() || self.has(*id, FolioFlags::UPTODATE));
            if here {
                at = self.folios.at(*id).end_index();
            }
            here
        })
    }
    /// Readahead brought nothing: one folio, as small as can be (`filemap_create_folio`).
    pub(crate) fn create_for_read(&mut self, file: FileId, pos: Pos) -> Result<FolioId, Errno> {
        let (index, order) = self.read_place(file, self.geometry().page_floor(pos));
        let folio = self.add_folio(file, index, order, Insert::Read)?;
        self.step(Rule::FolioMadeForRead, [u64::from(order.get()), index.get(), 0, 0]);
        Ok(folio)
    }
    /// Whether what is missing is read a folio at a time, without readahead.
    pub(crate) fn reads_alone(&self) -> bool {
        self.folio_policy != FolioPolicy::Kernel && self.config.readahead.window.is_zero()
    }
    /// Whether the bytes that a read wants of a folio are valid
    /// (`iomap_is_partially_uptodate`).
    fn is_readable(&self, folio: FolioId, part: FileRange) -> bool {
        if self.has(folio, FolioFlags::UPTODATE) {
            return true;
        }
        let Some(state) = self.state(folio) else { return false };
        let wanted = part.intersect(self.folio_range(folio));
        let offset = Offset::ZERO + wanted.start().since(self.folio_pos(folio));
        let (start, end) = self.blocks_touched(offset, wanted.len());
        state.uptodate.next_clear(start, end) == end
    }
    /// Whether who needs a folio that is not uptodate would have to wait for a lock.
    fn is_busy(&self, file: FileId, folio: FolioId) -> bool {
        let free = self.file(file).locks[Lock::Invalidate as usize].may_share();
        !self.has(folio, FolioFlags::UPTODATE) && (self.has(folio, FolioFlags::LOCKED) || !free)
    }
    /// A read counts as a use of each folio, once: not where the read before, or the part before,
    /// ended in the same folio (`filemap_read`).
    fn mark_read(&mut self, folio: FolioId, last: Option<Pos>) {
        let whole = self.folio_range(folio);
        let same = last.is_some_and(|end| whole.start() < end && end <= whole.end());
        if !same {
            self.mark_accessed(folio);
        }
    }
    fn copy_out(
        &mut self,
        folio: FolioId,
        part: FileRange,
        done: Bytes,
        dest: &mut dyn UserDest,
    ) -> (Bytes, Bytes) {
        let wanted = part.intersect(self.folio_range(folio));
        if wanted.is_empty() {
            return (Bytes::ZERO, Bytes::ZERO);
        }
        let offset = Offset::ZERO + wanted.start().since(self.folio_pos(folio));
        let pfn = self.folios.at(folio).pfn();
        let from = self.memory.bytes(pfn, offset, wanted.len());
        let copied = dest.copy_out(Offset::ZERO + done, from);
        self.step(Rule::CopiedOut, [wanted.start().get(), copied.get(), 0, 0]);
        (wanted.len(), copied)
    }
}
