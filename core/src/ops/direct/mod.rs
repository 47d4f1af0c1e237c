//! Direct I/O (`iomap_dio_rw`): between the device and the application's memory, past the cache.
//! Here: which way a read or write goes, and in which order its parts happen.
//!
//! The application's memory is page frames of the host for as long as bios refer to it: filled from
//! the source when a bio is built, copied out when a read is complete.

mod bios;
mod drop;
mod end;
mod routes;

pub(crate) use routes::{append, pwrite};

use super::iter;
use super::sync::write_before;
use crate::cache::mapping::Tag;
use crate::counters::Counter;
use crate::engine::{Cx, ReadFlags};
use crate::errno::Errno;
use crate::frames::{FrameStore, UserDest, UserSource};
use crate::fs::Provider;
use crate::iomap::{Intent, Iomap, MapType, Mapping};
use crate::locks::{Lock, Mode};
use crate::ordered::OrderedMap;
use crate::stops::StopPoint;
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, Offset, OpId, Pages, Pfn, Pos};
use crate::world::{Env, World};
use drop::Sweep;

/// Which memory a direct read or write is over.
pub(super) enum Memory<'a> {
    /// A write takes its bytes from here.
    From(&'a mut dyn UserSource),
    /// A read puts its bytes here: those of bios at the end.
    To(&'a mut dyn UserDest),
}

/// A piece of the application's memory that a bio fills.
#[derive(Clone, Copy, Debug)]
struct Landing {
    /// Where in the application's memory.
    at: Offset,
    frame: Pfn,
    offset: Offset,
    len: Bytes,
}

/// How far the end of a direct read or write has come.
#[derive(Debug)]
enum Stage {
    /// Bios are sent, or have not ended.
    InFlight,
    /// The records are right; the cache is dropped once more.
    Dropping(Sweep),
}

/// A direct read or write under way (`struct iomap_dio`).
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own in the kernel")]
#[derive(Debug)]
pub(crate) struct Dio {
    file: FileId,
    /// All of it.
    range: FileRange,
    write: bool,
    /// Nobody waits for it: a worker ends it.
    queued: bool,
    /// `i_size` when it began.
    eof: Pos,
    /// Bytes that were sent, zeroed or copied.
    size: Bytes,
    /// Bios that have not ended.
    in_flight: u32,
    /// More bios may come.
    building: bool,
    error: Option<Errno>,
    /// Some of it went to unwritten blocks, or to new copies of shared ones.
    unwritten: bool,
    shared: bool,
    /// Frames that stand for pages of the application's memory.
    pages: OrderedMap<u64, Pfn>,
    landings: Vec<Landing>,
    stage: Stage,
    /// What became of it, once it has ended and nobody has asked yet.
    result: Option<Result<Bytes, Errno>>,
}

/// Why no more of a write is sent.
pub(super) enum Halt {
    /// It fails.
    Error(Errno),
    /// The rest goes through the cache (`-ENOTBLK`).
    NotBlock,
    /// It has failed already: a bio of it ended with an error.
    Failed,
}

/// How a direct write is done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct How {
    pub(super) nowait: bool,
    /// No block may be given, and all must be written ones (`IOMAP_DIO_OVERWRITE_ONLY`).
    pub(super) overwrites: bool,
    /// Nobody waits.
    pub(super) queued: bool,
}

/// Reads into `dest` from `pos`, up to EOF.
pub(crate) async fn pread<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    pos: Pos,
    dest: &mut dyn UserDest,
    flags: ReadFlags,
) -> Result<Bytes, Errno> {
    let range = FileRange::new(pos, dest.len()).ok_or(Errno::Inval)?;
    if cx.with(|world| world.has_memory_only(file)) {
        return super::read::pread(cx, file, pos, dest, flags).await;
    }
    if range.is_empty() {
        return Ok(Bytes::ZERO);
    }
    // Every file system but that of block devices shares the lock with a direct read.
    let held = if cx.with(|world| world.file(file).provider.locks_writes()) {
        Some(cx.lock_or_fail(file, (Lock::Io, Mode::Shared), flags.nowait).await?)
    } else {
        None
    };
    let done = read(cx, file, range, dest, flags).await;
    drop(held);
    done
}

/// The same once nobody changes the size or the extents.
async fn read<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
    dest: &mut dyn UserDest,
    flags: ReadFlags,
) -> Result<Bytes, Errno> {
    let pos = range.start();
    let (size, raw) = cx.with(|world| {
        let inode = world.file(file);
        (inode.size, matches!(inode.provider, Provider::BlockDev(_)))
    });
    if pos >= size {
        return Ok(Bytes::ZERO);
    }
    // Behind the end of a device nothing is asked for (`blkdev_read_iter`).
    let range = if raw { FileRange::between(pos, range.end().min(size)) } else { range };
    if flags.nowait && cx.with(|world| world.has_unwritten_cache(file, range)) {
        return Err(Errno::Again);
    }
    cx.with(|world| world.step(Rule::DirectBegins, [pos.get(), range.len().get(), 0, 0]));
    write_before(cx, file, range).await?;
    let op = cx.with(|world| world.begin_direct(file, range, None));
    let how = How { nowait: flags.nowait, overwrites: false, queued: false };
    // What went wrong is kept with the read.
    let _ = send(cx, op, how, &mut Memory::To(dest)).await;
    let dio = wait(cx, op).await;
    cx.with(|world| {
        let read = dio.result.unwrap_or(Err(Errno::Io));
        let landed = read.is_err() || world.land(&dio, dest);
        world.free_pages(&dio);
        let read = read?;
        world.count(Counter::AppRead, read.get());
        if landed { Ok(read) } else { Err(Errno::Fault) }
    })
}

/// Writes a range past the cache, whose checks it has passed; how much of it was written, and
/// whether the rest is to go through the cache.
async fn write<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
    source: &mut dyn UserSource,
    how: How,
) -> Result<Written, Errno> {
    let Some(op) = begin_write(cx, file, range, how).await? else {
        return Ok(Written { len: Bytes::ZERO, rest: true });
    };
    let halt = send(cx, op, how, &mut Memory::From(source)).await;
    let rest = matches!(halt, Some(Halt::NotBlock));
    if how.queued && !rest {
        return Ok(Written { len: range.len(), rest });
    }
    cx.with(|world| world.dio_mut(op).queued = false);
    let dio = wait(cx, op).await;
    let len = dio.result.unwrap_or(Err(Errno::Io))?;
    Ok(Written { len, rest })
}

/// What a direct write did.
struct Written {
    len: Bytes,
    /// The rest goes through the cache.
    rest: bool,
}

/// The cache of the range is written and dropped; none: it cannot be
/// (`kiocb_invalidate_pages`).
async fn begin_write<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
    how: How,
) -> Result<Option<OpId>, Errno> {
    cx.with(|world| {
        world.step(Rule::DirectBegins, [range.start().get(), range.len().get(), 1, 0]);
    });
    let mut sweep = cx.with(|world| Sweep::over(world.geometry(), range));
    if how.nowait {
        if cx.with(|world| world.has_cache(file, &sweep)) {
            return Err(Errno::Again);
        }
    } else {
        let flushed = write_before(cx, file, range).await;
        if flushed.is_ok() {
            cx.wait(|world| world.sweep(file, range, &mut sweep).then_some(())).await;
        }
        if flushed.is_err() || sweep.failed() {
            return Ok(None);
        }
    }
    Ok(Some(cx.with(|world| {
        world.require_dropped(file, range, sweep.waited());
        world.begin_direct(file, range, Some(how.queued))
    })))
}

/// Asks for mapping after mapping and sends their bios, all in one plug.
async fn send<E: Env>(cx: &Cx<'_, E>, op: OpId, how: How, memory: &mut Memory<'_>) -> Option<Halt> {
    let (file, range, write) = cx.with(|world| {
        let dio = &world.dios[&op];
        (dio.file, dio.range, dio.write)
    });
    let plugged = cx.plug();
    let mut at = range.start();
    let mut halt = None;
    // A read asks for nothing behind EOF: it was cut there.
    while at < range.end() && halt.is_none() {
        let rest = FileRange::between(at, range.end());
        match map(cx, file, rest, write, how).await {
            Ok(mapping) => {
                let part = FileRange::between(at, at + mapping.left(at, rest.len()));
                let done = cx.with(|world| world.direct_part(op, &mapping.iomap, part, memory));
                at += done.0;
                halt = done.1;
            }
            Err(errno) => halt = Some(Halt::Error(errno)),
        }
    }
    cx.unplug(plugged);
    cx.with(|world| world.direct_sent(op, halt.as_ref()));
    if write {
        cx.reach(StopPoint::DirectSubmitted, |_| range).await;
    }
    halt
}

/// A mapping for direct I/O.
async fn map<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    rest: FileRange,
    write: bool,
    how: How,
) -> Result<Mapping, Errno> {
    if !write {
        return iter::begin(cx, file, rest, Intent::Read, how.nowait).await;
    }
    if how.nowait || how.overwrites {
        cx.with(|world| world.may_overwrite(file, rest, how))?;
    }
    iter::begin(cx, file, rest, Intent::DirectWrite, how.nowait).await
}

/// Waits for the last bio, and does in this task what is left to do then.
async fn wait<E: Env>(cx: &Cx<'_, E>, op: OpId) -> Dio {
    cx.wait(|world| world.end_direct(op).then_some(())).await;
    cx.with(|world| world.dios.remove(&op).expect("it has ended, and nobody else asks"))
}

/// Waits until no direct I/O of a file is in flight (`inode_dio_wait`).
pub(crate) async fn wait_for_all<E: Env>(cx: &Cx<'_, E>, file: FileId) {
    let left = cx.with(|world| world.file(file).direct);
    if left > 0 {
        cx.with(|world| world.step(Rule::DirectWaits, [u64::from(left), 0, 0, 0]));
        cx.wait(|world| (world.file(file).direct == 0).then_some(())).await;
    }
}

impl<E: Env> World<E> {
    /// Counts one more in flight. `queued`: it is a write, and nobody waits for it.
    fn begin_direct(&mut self, file: FileId, range: FileRange, queued: Option<bool>) -> OpId {
        let op = self.caller.op.expect("direct I/O is an operation");
        let inode = self.file(file);
        let (eof, count) = (inode.size, inode.direct + 1);
        self.set_direct(file, count);
        let dio = Dio {
            file,
            range,
            write: queued.is_some(),
            queued: queued.unwrap_or(false),
            eof,
            size: Bytes::ZERO,
            in_flight: 0,
            building: true,
            error: None,
            unwritten: false,
            shared: false,
            pages: OrderedMap::default(),
            landings: Vec::new(),
            stage: Stage::InFlight,
            result: None,
        };
        self.dios.insert(op, dio);
        op
    }
    /// Size and extents are about to be changed by somebody else: nothing is in flight.
    pub(crate) fn require_no_direct(&mut self, file: FileId, pos: Pos) {
        self.require(self.file(file).direct == 0, 42, pos);
    }
    /// Whether any page of a range is dirty or under writeback (`filemap_range_needs_writeback`).
    fn has_unwritten_cache(&self, file: FileId, range: FileRange) -> bool {
        let geometry = self.geometry();
        let first = geometry.page_floor(range.start());
        let last = geometry.page_floor(range.end() - Bytes::new(1)) + Pages::new(1);
        let mapping = &self.file(file).mapping;
        let tagged = |tag| mapping.next_tagged(tag, first, last).is_some();
        tagged(Tag::Dirty) || tagged(Tag::Writeback)
    }
    /// Whether a write that may not wait, or must not need new blocks, finds what it needs: written
    /// blocks of its own, as far as it reaches.
    fn may_overwrite(&self, file: FileId, rest: FileRange, how: How) -> Result<(), Errno> {
        let provider = &self.file(file).provider;
        let map: Iomap = provider.peek(rest.start(), rest.end());
        let spans = rest.end() <= map.range.end();
        let usable = match map.kind {
            MapType::Mapped => true,
            MapType::Unwritten => !how.overwrites,
            MapType::Hole | MapType::Delalloc | MapType::Inline => false,
        };
        if spans && usable && !provider.is_shared() { Ok(()) } else { Err(Errno::Again) }
    }
    /// Copies what bios of a read brought to the application; false: not all of it could be.
    fn land(&mut self, dio: &Dio, dest: &mut dyn UserDest) -> bool {
        let read = dio.result.and_then(Result::ok).unwrap_or(Bytes::ZERO);
        dio.landings.iter().all(|landing| {
            let start = landing.at.since(Offset::ZERO);
            let len = landing.len.min(read.saturating_sub(start));
            len.is_zero() || {
                let from = self.memory.bytes(landing.frame, landing.offset, len);
                dest.copy_out(landing.at, from) == len
            }
        })
    }
}
