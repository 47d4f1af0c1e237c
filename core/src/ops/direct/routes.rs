//! The ways of a direct write (`xfs_file_dio_write`, `zonefs_file_dio_write`): by its alignment,
//! and through the cache where it cannot be direct.

use super::{How, Written, begin_write, send, wait, wait_for_all, write};
use crate::counters::Counter;
use crate::engine::{Cx, WriteFlags};
use crate::errno::Errno;
use crate::frames::UserSource;
use crate::fs::Provider;
use crate::locks::{Lock, Mode};
use crate::ops::sync::write_before;
use crate::ops::{write as buffered, zero};
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, Offset, Pos};
use crate::world::{Env, World};

/// Where a write begins.
#[derive(Clone, Copy)]
enum Place {
    At(Pos),
    /// Behind all that was written, and in a zone all that is in flight.
    End,
}

/// What a file says of a direct write before it begins.
enum Route {
    /// Memory alone, or bytes that live with the inode.
    Cache,
    Zone,
    File(FileRange),
}

/// Writes `source` at `pos` past the cache: how many bytes were written.
pub(crate) async fn pwrite<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    pos: Pos,
    source: &mut dyn UserSource,
    flags: WriteFlags,
) -> Result<Bytes, Errno> {
    let how = How { nowait: flags.nowait, overwrites: false, queued: false };
    go(cx, file, Place::At(pos), source, (flags, how)).await.1
}

/// Begins to write `source` behind the end of the file, without waiting: where, and the result if
/// it is known already.
pub(crate) async fn append<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    source: &mut dyn UserSource,
) -> (Pos, Option<Result<Bytes, Errno>>) {
    let how = How { nowait: false, overwrites: false, queued: true };
    let flags = WriteFlags::default();
    let (pos, done) = go(cx, file, Place::End, source, (flags, how)).await;
    let op = cx.caller.op.expect("operations have a number");
    let queued = cx.with(|world| world.dios.contains_key(&op));
    (pos, (!queued).then_some(done))
}

/// Where it went, and what came of it.
async fn go<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    place: Place,
    source: &mut dyn UserSource,
    (flags, how): (WriteFlags, How),
) -> (Pos, Result<Bytes, Errno>) {
    let pos = cx.with(|world| world.place(file, place));
    let done = match cx.with(|world| world.route(file, pos, source.len())) {
        Err(errno) => Err(errno),
        Ok(Route::Cache) => buffered::pwrite(cx, file, pos, source, flags).await,
        Ok(Route::Zone) => return zone_write(cx, file, place, source, how).await,
        Ok(Route::File(range)) if range.is_empty() => Ok(Bytes::ZERO),
        Ok(Route::File(range)) => match file_write(cx, file, range, source, how).await {
            Ok(written) if written.rest => {
                through_cache(cx, file, (range, written.len), source, flags).await
            }
            done => done.map(|written| written.len),
        },
    };
    (pos, done)
}

/// A direct write of a file with blocks. Whole blocks need not keep other direct I/O out; parts of
/// blocks first try as they are: if all of it lies in written blocks inside EOF, nothing else need
/// be kept out either (`xfs_file_dio_write_aligned`, `xfs_file_dio_write_unaligned`).
async fn file_write<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
    source: &mut dyn UserSource,
    how: How,
) -> Result<Written, Errno> {
    let (locks, shares, whole, inside) = cx.with(|world| {
        let inode = world.file(file);
        let whole = world.geometry().block_range(range) == range;
        let provider = &inode.provider;
        (provider.locks_writes(), provider.shares_direct(), whole, range.end() < inode.size)
    });
    if !locks {
        return write(cx, file, range, source, how).await;
    }
    let mut mode = if shares && (whole || inside) { Mode::Shared } else { Mode::Exclusive };
    if shares && mode == Mode::Exclusive && how.nowait {
        return Err(Errno::Again);
    }
    let mut held = cx.lock_or_fail(file, (Lock::Io, mode), how.nowait).await?;
    if !whole && cx.with(|world| world.file(file).provider.is_shared()) {
        return Ok(Written { len: Bytes::ZERO, rest: true });
    }
    if range.start() > cx.with(|world| world.file(file).size) {
        if how.nowait {
            return Err(Errno::Again);
        }
        if mode == Mode::Shared {
            drop(held);
            mode = Mode::Exclusive;
            held = cx.lock(file, Lock::Io, mode).await;
        }
        wait_for_all(cx, file).await;
        zero::zero_gap(cx, file, range.start()).await?;
    }
    if whole && shares && mode == Mode::Exclusive {
        held.downgrade();
    }
    let how = How { queued: how.queued && whole && shares, ..how };
    if whole {
        return write(cx, file, range, source, how).await;
    }
    if mode == Mode::Shared {
        let first = write(cx, file, range, source, How { overwrites: true, ..how }).await;
        if !matches!(first, Err(Errno::Again)) || how.nowait {
            return first;
        }
        let args = [range.start().get(), range.len().get(), 0, 0];
        cx.with(|world| world.step(Rule::DirectRetries, args));
        drop(held);
        held = cx.lock(file, Lock::Io, Mode::Exclusive).await;
    }
    wait_for_all(cx, file).await;
    let written = write(cx, file, range, source, how).await;
    drop(held);
    written
}

/// A direct write of a zone: there is no other way (`zonefs_file_dio_write`).
async fn zone_write<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    place: Place,
    source: &mut dyn UserSource,
    how: How,
) -> (Pos, Result<Bytes, Errno>) {
    let held = match cx.lock_or_fail(file, (Lock::Io, Mode::Exclusive), how.nowait).await {
        Ok(held) => held,
        Err(errno) => return (cx.with(|world| world.place(file, place)), Err(errno)),
    };
    let pos = cx.with(|world| world.place(file, place));
    let done = zone_write_locked(cx, file, pos, source, how).await;
    drop(held);
    (pos, done)
}

async fn zone_write_locked<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    pos: Pos,
    source: &mut dyn UserSource,
    how: How,
) -> Result<Bytes, Errno> {
    let range = FileRange::new(pos, source.len()).ok_or(Errno::Inval)?;
    let range = cx.with(|world| {
        let block = world.geometry().block_size();
        let Provider::Zone(zone) = &world.file(file).provider else { return Err(Errno::Inval) };
        zone.directly_writable(range, block)
    })?;
    if range.is_empty() {
        return Ok(Bytes::ZERO);
    }
    let Some(op) = begin_write(cx, file, range, how).await? else { return Err(Errno::Busy) };
    // What follows takes its place behind this one, whether or not this one has ended.
    cx.with(|world| {
        if let Provider::Zone(zone) = &world.file(file).provider
            && let Some(pointer) = zone.pointer()
        {
            world.move_zone_pointer(file, pointer, range.end());
        }
    });
    // What went wrong is kept with the write.
    let _ = send(cx, op, how, &mut super::Memory::From(source)).await;
    if how.queued {
        return Ok(range.len());
    }
    wait(cx, op).await.result.unwrap_or(Err(Errno::Io))
}

/// The rest of a write, behind `done` bytes that were written, goes through the cache
/// (`direct_write_fallback`).
async fn through_cache<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    (range, done): (FileRange, Bytes),
    source: &mut dyn UserSource,
    flags: WriteFlags,
) -> Result<Bytes, Errno> {
    let at = range.start() + done;
    cx.with(|world| world.falls_back(FileRange::between(at, range.end())));
    let mut rest = Rest { source, done, len: range.end().since(at) };
    let more = buffered::pwrite(cx, file, at, &mut rest, flags).await;
    let more = match more {
        Ok(more) => more,
        Err(errno) if done.is_zero() => return Err(errno),
        Err(_) => return Ok(done),
    };
    let here = FileRange::between(at, at + more);
    if cx.with(|world| world.file(file).provider.writes_fallback_back()) {
        if let Err(errno) = write_before(cx, file, here).await {
            // Nobody knows how much of it is on the device: what went past the cache counts.
            return if done.is_zero() { Err(errno) } else { Ok(done) };
        }
        cx.with(|world| {
            let geometry = world.geometry();
            let start = geometry.page_pos(geometry.page_floor(here.start()));
            let end = geometry.page_pos(geometry.page_ceil(here.end()));
            world.evict_range(file, FileRange::between(start, end));
        });
    }
    Ok(done + more)
}

/// The application's memory behind what was written.
struct Rest<'a> {
    source: &'a mut dyn UserSource,
    done: Bytes,
    len: Bytes,
}

impl UserSource for Rest<'_> {
    fn len(&self) -> Bytes {
        self.len
    }
    fn fault_in(&mut self, at: Offset, len: Bytes) -> Bytes {
        self.source.fault_in(at + self.done, len)
    }
    fn copy_in(&mut self, at: Offset, to: &mut [u8]) -> Bytes {
        self.source.copy_in(at + self.done, to)
    }
}

impl<E: Env> World<E> {
    fn place(&self, file: FileId, place: Place) -> Pos {
        let inode = self.file(file);
        match (place, &inode.provider) {
            (Place::At(pos), _) => pos,
            (Place::End, Provider::Zone(zone)) => zone.pointer().unwrap_or(inode.size),
            (Place::End, _) => inode.size,
        }
    }
    /// Checks that need nothing but the numbers, and which way the write goes.
    fn route(&self, file: FileId, pos: Pos, len: Bytes) -> Result<Route, Errno> {
        let geometry = self.geometry();
        let range = FileRange::new(pos, len).ok_or(Errno::Inval)?;
        let provider = &self.file(file).provider;
        if range.is_empty() {
            return Ok(Route::File(range));
        }
        if let Provider::Zone(_) = provider {
            return Ok(Route::Zone);
        }
        if self.has_memory_only(file) || provider.has_inline() {
            return Ok(Route::Cache);
        }
        let range = self.inside_device(file, range)?;
        let sector = geometry.sector_size().get();
        if !pos.get().is_multiple_of(sector) || !range.len().get().is_multiple_of(sector) {
            return Err(Errno::Inval);
        }
        let inside = FileRange::between(pos, range.end().min(geometry.max_file()));
        if inside.is_empty() { Err(Errno::FBig) } else { Ok(Route::File(inside)) }
    }
    fn falls_back(&mut self, range: FileRange) {
        self.count(Counter::DirectFallbacks, 1);
        self.step(Rule::DirectFallsBack, [range.start().get(), range.len().get(), 0, 0]);
    }
}
