//! The engine: puts operations, completions and the time in, takes effects out.
//!
//! The contract. `pread`, `pwrite`, `fsync` and their like return futures that borrow the engine;
//! the host polls them with any waker. When none can go on, the host takes every effect
//! ([`Engine::poll_effect`]), carries it out, and reports its end with
//! [`Engine::handle_bio_end`], [`Engine::handle_request_end`] or [`Engine::handle_flush_end`], in
//! any order; [`Engine::handle_time`] moves the clock and never moves it back. One mutation, then
//! drain: after each report poll again. [`drive`] does all this for a host that can wait.

use crate::block::queue::Scheduler;
use crate::buffer::Driver;
use crate::cache::frame_alloc::FramePolicy;
use crate::counters::Counters;
use crate::dirty::DirtyConfig;
use crate::errno::Errno;
use crate::frames::{UserDest, UserSource};
use crate::fs::Provider;
use crate::locks::Lock;
use crate::ops::advise::Advice;
use crate::ops::fallocate::FallocMode;
use crate::ops::mmap::{MemAdvice, MemoryMap};
use crate::ops::readahead::Window;
use crate::ops::sync::RangeSync;
use crate::ops::{OpKind, OpResult};
use crate::stops::Stops;
use crate::trace::rule::Rule;
use crate::trace::step::Context;
use crate::units::{
    BdiId, BioId, Bytes, FileId, FileRange, Nanos, OpId, Pos, RequestId, TaskId, Time,
};
use crate::world::{Caller, Config, Effect, Env, FlushId, World};
use core::cell::{Cell, RefCell};
use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::{Context as PollContext, Poll, Waker};

/// How a write is to be done.
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own in the kernel")]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WriteFlags {
    /// Return only when the bytes are durable (`RWF_DSYNC`).
    pub dsync: bool,
    /// Write the bytes back at once and drop the folios made for them (`RWF_DONTCACHE`).
    pub dontcache: bool,
    /// Fail rather than wait or read (`RWF_NOWAIT`).
    pub nowait: bool,
    /// From the application's memory to the device, past the cache (`O_DIRECT`).
    pub direct: bool,
}

/// How a read is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ReadFlags {
    /// Drop the folios made for it once they were copied (`RWF_DONTCACHE`).
    pub dontcache: bool,
    /// Fail rather than wait; what is missing is sent for all the same (`RWF_NOWAIT`).
    pub nowait: bool,
    /// From the device to the application's memory, past the cache (`O_DIRECT`).
    pub direct: bool,
}

/// A direct write that nobody waits for yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Appended {
    op: OpId,
    /// Where it goes.
    pub pos: Pos,
    /// What became of it, if that is known.
    pub result: Option<OpResult>,
}

/// The engine.
pub struct Engine<E: Env> {
    world: RefCell<World<E>>,
    pub(crate) stops: Stops,
    /// Waits and operations that have ended: where it grew, another one may go on.
    progress: Cell<u64>,
}

/// One operation's access to the world.
pub(crate) struct Cx<'a, E: Env> {
    pub(crate) engine: &'a Engine<E>,
    pub(crate) caller: Caller,
}

impl<E: Env> Cx<'_, E> {
    /// Works on the world on behalf of this operation.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut World<E>) -> T) -> T {
        let mut world = self.engine.world.borrow_mut();
        world.caller = self.caller;
        work(&mut world)
    }
    /// Sleeps until `ready` gives something. A task that must sleep lets go what its plug holds.
    pub(crate) async fn wait<T>(&self, mut ready: impl FnMut(&mut World<E>) -> Option<T>) -> T {
        poll_fn(|_| {
            self.with(|world| {
                world.run_workers();
                let got = ready(world);
                match got {
                    Some(_) => self.engine.advance(),
                    None => world.sleep(),
                }
                got.map_or(Poll::Pending, Poll::Ready)
            })
        })
        .await
    }
    /// Sleeps until `until`.
    pub(crate) async fn sleep_until(&self, until: Time) {
        self.with(|world| world.add_timer(until));
        self.wait(|world| (until <= world.now).then_some(())).await;
    }
    /// Begins to hold requests back, as [`World::start_plug`]; whether they are.
    pub(crate) fn plug(&self) -> bool {
        self.with(World::start_plug)
    }
    /// Ends what [`Self::plug`] began.
    pub(crate) fn unplug(&self, plugged: bool) {
        if plugged {
            self.with(World::finish_plug);
        }
    }
}

impl<E: Env> Engine<E> {
    /// An engine without files.
    pub fn new(config: Config, memory: E::Frames, sink: E::Sink) -> Self {
        Self {
            world: RefCell::new(World::new(config, memory, sink)),
            stops: Stops::default(),
            progress: Cell::new(0),
        }
    }
    /// Opens a file of `size` bytes whose bytes lie where `provider` says.
    pub fn open(&self, size: Pos, provider: Provider) -> FileId {
        self.world.borrow_mut().open(size, provider, false)
    }
    /// The same for a file that keeps its blocks in buffers, as `driver` does.
    pub fn open_buffered(&self, size: Pos, provider: Provider, driver: Driver) -> FileId {
        let mut world = self.world.borrow_mut();
        let file = world.open(size, provider, false);
        world.set_driver(file, Some(driver));
        file
    }
    /// Opens a file of the host that stands for the device of this file: bios may leave it as long
    /// as its last block, and it is set to `i_size` before each flush.
    pub fn open_target(&self, size: Pos, provider: Provider) -> FileId {
        self.world.borrow_mut().open(size, provider, true)
    }
    /// How page frames are given out from now on; folios keep those that they have.
    pub fn set_frames(&self, policy: FramePolicy) {
        self.world.borrow_mut().pfns.follow(policy);
    }
    /// Who decides in which order a plug's requests reach the device.
    pub fn set_scheduler(&self, scheduler: Scheduler) {
        self.world.borrow_mut().queue.scheduler = scheduler;
    }
    /// Opens a file anew: nothing is known any more of how it was read.
    pub fn reopen(&self, file: FileId) {
        self.world.borrow_mut().file_mut(file).window = Window::default();
    }
    /// Works on the memory of the cache, to carry out a bio.
    pub fn with_frames<T>(&self, work: impl FnOnce(&mut E::Frames) -> T) -> T {
        work(&mut self.world.borrow_mut().memory)
    }
    /// Works on the provider of a file, such as to give a script its next answers.
    pub fn with_provider<T>(&self, file: FileId, work: impl FnOnce(&mut Provider) -> T) -> T {
        let mut world = self.world.borrow_mut();
        let out = work(&mut world.file_mut(file).provider);
        world.note_extents(file);
        out
    }
    /// Looks at the world.
    pub fn look<T>(&self, look: impl FnOnce(&World<E>) -> T) -> T {
        look(&self.world.borrow())
    }
    /// Running totals.
    pub fn counters(&self) -> Counters {
        self.world.borrow().counters.clone()
    }
    /// `i_size` of a file.
    pub fn size(&self, file: FileId) -> Pos {
        self.world.borrow().file(file).size
    }
    /// Ends the engine and gives the trace.
    pub fn into_sink(self) -> E::Sink {
        self.world.into_inner().into_sink()
    }

    /// The next thing that the host must do.
    pub fn poll_effect(&self) -> Option<Effect> {
        self.world.borrow_mut().effects.pop_front()
    }
    /// A bio ended.
    pub fn handle_bio_end(&self, bio: BioId, result: Result<(), Errno>) {
        let mut world = self.world.borrow_mut();
        let task = world.caller.task;
        world.caller = Caller { task, op: None, context: Context::Softirq };
        world.end_part(bio, None, result);
    }
    /// A request ended, and so did all its bios.
    pub fn handle_request_end(&self, request: RequestId, result: Result<(), Errno>) {
        let mut world = self.world.borrow_mut();
        let task = world.caller.task;
        world.caller = Caller { task, op: None, context: Context::Softirq };
        world.end_request(request, result);
    }
    /// Lets the workers do what completed bios left to them. They also run whenever an operation
    /// begins or waits, so that only a host that looks at the world in between needs it.
    pub fn run_workers(&self) {
        self.world.borrow_mut().run_workers();
    }
    /// A flush or a change of the target's size ended.
    pub fn handle_flush_end(&self, flush: FlushId, result: Result<(), Errno>) {
        let mut world = self.world.borrow_mut();
        let sent = world.flushes.iter_mut().find(|(known, _)| *known == flush);
        if let Some((_, answer)) = sent {
            *answer = Some(result);
        }
    }
    /// It is `now`.
    pub fn handle_time(&self, now: Time) {
        self.world.borrow_mut().set_time(now);
    }
    /// The time that the host told last.
    pub fn now(&self) -> Time {
        self.world.borrow().now
    }
    /// When somebody may go on though nothing is reported: by then the host must tell the time.
    pub fn next_timer(&self) -> Option<Time> {
        self.world.borrow().timers.iter().next()
    }
    /// Limits how much may be dirty: tasks pause, and flushers write ([`Self::flusher`], which the
    /// host must poll). To be said before anything is dirty.
    pub fn limit_dirty(&self, config: DirtyConfig) {
        self.world.borrow_mut().limit_dirty(config);
    }
    /// Says which device the dirty pages of a file are counted for; the first one if nobody says.
    pub fn set_bdi(&self, file: FileId, bdi: BdiId) {
        self.world.borrow_mut().file_mut(file).bdi = bdi;
    }
    /// The task thinks for a while.
    pub async fn sleep(&self, task: TaskId, span: Nanos) {
        let cx = Cx { engine: self, caller: Caller { task, op: None, context: Context::Task } };
        let until = cx.with(|world| {
            world.step(Rule::Thinks, [span.get() / 1_000_000, 0, 0, 0]);
            world.now + span
        });
        cx.sleep_until(until).await;
    }

    /// Reads into `dest` from `pos`; how many bytes were read.
    pub async fn pread(
        &self,
        task: TaskId,
        file: FileId,
        pos: Pos,
        dest: &mut dyn UserDest,
        flags: ReadFlags,
    ) -> OpResult {
        let len = dest.len();
        if flags.direct {
            let cx = self.begin(OpKind::PreadDirect, task, file, pos, len);
            let result = crate::ops::direct::pread(&cx, file, pos, dest, flags).await;
            return finish(&cx, result);
        }
        let cx = self.begin(OpKind::Pread, task, file, pos, len);
        let result = crate::ops::read::pread(&cx, file, pos, dest, flags).await;
        finish(&cx, result)
    }
    /// Writes `source` at `pos`; how many bytes were written.
    pub async fn pwrite(
        &self,
        task: TaskId,
        file: FileId,
        pos: Pos,
        source: &mut dyn UserSource,
        flags: WriteFlags,
    ) -> OpResult {
        let kind = match (flags.direct, flags.dsync) {
            (true, _) => OpKind::PwriteDirect,
            (false, true) => OpKind::PwriteDsync,
            (false, false) => OpKind::Pwrite,
        };
        let cx = self.begin(kind, task, file, pos, source.len());
        let mut result = if flags.direct {
            crate::ops::direct::pwrite(&cx, file, pos, source, flags).await
        } else {
            crate::ops::write::pwrite(&cx, file, pos, source, flags).await
        };
        if let (true, Ok(written)) = (flags.dsync, result)
            && !written.is_zero()
        {
            let range = FileRange::between(pos, pos + written);
            result = crate::ops::sync::sync_file(&cx, file, range).await.map(|()| written);
        }
        if let (true, Ok(written)) = (flags.dontcache, result) {
            let range = FileRange::between(pos, pos + written);
            crate::ops::sync::kick(&cx, file, range).await;
        }
        finish(&cx, result)
    }
    /// Begins to write `source` past the cache, behind the end of the file and, in a zone, behind
    /// what is in flight; does not wait for it (`io_submit` of an `O_APPEND` write).
    pub async fn append_direct(
        &self,
        task: TaskId,
        file: FileId,
        source: &mut dyn UserSource,
    ) -> Appended {
        let pos = self.size(file);
        let cx = self.begin(OpKind::AppendDirect, task, file, pos, source.len());
        let op = cx.caller.op.expect("operations have a number");
        let (pos, done) = crate::ops::direct::append(&cx, file, source).await;
        Appended { op, pos, result: done.map(|result| finish(&cx, result)) }
    }
    /// Waits for what [`Self::append_direct`] began (`io_getevents`); its result.
    pub async fn wait_direct(&self, task: TaskId, appended: Appended) -> OpResult {
        let Appended { op, result, .. } = appended;
        if let Some(result) = result {
            return result;
        }
        let caller = Caller { task, op: None, context: Context::Task };
        let cx = Cx { engine: self, caller };
        OpResult(cx.wait(|world| world.take_queued(op)).await)
    }
    /// Gives `len` bytes at `to` of `dst` the blocks of those at `from` of `src`, of another file
    /// or the same (`FICLONERANGE`); up to EOF of the source if `len` is zero. Writes to either get
    /// new blocks from then on.
    pub async fn reflink(
        &self,
        task: TaskId,
        (src, from): (FileId, Pos),
        (dst, to): (FileId, Pos),
        len: Bytes,
    ) -> OpResult {
        let cx = self.begin(OpKind::Reflink, task, dst, to, len);
        let result = crate::ops::reflink::reflink(&cx, (src, from), (dst, to), len).await;
        finish(&cx, result)
    }
    /// Takes advice about a range of a file.
    pub async fn fadvise(
        &self,
        task: TaskId,
        file: FileId,
        range: FileRange,
        advice: Advice,
    ) -> OpResult {
        let cx = self.begin(OpKind::Fadvise, task, file, range.start(), range.len());
        let result = crate::ops::advise::fadvise(&cx, file, range, advice).await;
        finish(&cx, result.map(|()| Bytes::ZERO))
    }
    /// Reads a range through a shared mapping of the file, page by page.
    pub async fn mmap_load(&self, task: TaskId, file: FileId, range: FileRange) -> OpResult {
        let cx = self.begin(OpKind::MmapLoad, task, file, range.start(), range.len());
        finish(&cx, crate::ops::mmap::load(&cx, file, range).await)
    }
    /// Stores `byte` throughout a range through a shared mapping of the file.
    pub async fn mmap_store(
        &self,
        task: TaskId,
        file: FileId,
        range: FileRange,
        byte: u8,
    ) -> OpResult {
        let cx = self.begin(OpKind::MmapStore, task, file, range.start(), range.len());
        finish(&cx, crate::ops::mmap::store(&cx, file, range, byte).await)
    }
    /// Makes the stores of a range durable (`msync` with `MS_SYNC`).
    pub async fn msync(&self, task: TaskId, file: FileId, range: FileRange) -> OpResult {
        let cx = self.begin(OpKind::Msync, task, file, range.start(), range.len());
        let result = crate::ops::sync::sync_file(&cx, file, range).await;
        finish(&cx, result.map(|()| Bytes::ZERO))
    }
    /// Writes a range back: see [`RangeSync`]. Neither sizes nor extents become durable by it.
    pub async fn sync_file_range(
        &self,
        task: TaskId,
        file: FileId,
        range: FileRange,
        flags: RangeSync,
    ) -> OpResult {
        let cx = self.begin(OpKind::SyncRange, task, file, range.start(), range.len());
        let result = crate::ops::sync::sync_range(&cx, file, range, flags).await;
        finish(&cx, result.map(|()| Bytes::ZERO))
    }
    /// Takes advice about the mapping of a file (`madvise` over all of it).
    pub fn madvise(&self, file: FileId, advice: MemAdvice) {
        self.world.borrow_mut().file_mut(file).memory_map.advice = advice;
    }
    /// Unmaps the file.
    pub fn munmap(&self, file: FileId) {
        self.world.borrow_mut().file_mut(file).memory_map = MemoryMap::default();
    }
    /// Finds the next data (`SEEK_DATA`), or the next hole (`SEEK_HOLE`), from `pos` on; its
    /// position.
    pub fn seek(&self, task: TaskId, file: FileId, pos: Pos, data: bool) -> OpResult {
        let kind = if data { OpKind::SeekData } else { OpKind::SeekHole };
        let cx = self.begin(kind, task, file, pos, Bytes::ZERO);
        let found = cx.with(|world| world.seek(file, pos, data));
        finish(&cx, found.map(|pos| pos.since(Pos::ZERO)))
    }
    /// Gives a file another size.
    pub async fn truncate(&self, task: TaskId, file: FileId, size: Pos) -> OpResult {
        let len = size.since(Pos::ZERO);
        let cx = self.begin(OpKind::Truncate, task, file, Pos::ZERO, len);
        let result = crate::ops::truncate::truncate(&cx, file, size).await;
        finish(&cx, result.map(|()| Bytes::ZERO))
    }
    /// Changes the space of a range of a file.
    pub async fn fallocate(
        &self,
        task: TaskId,
        file: FileId,
        mode: FallocMode,
        range: FileRange,
    ) -> OpResult {
        let cx = self.begin(mode.op(), task, file, range.start(), range.len());
        let result = crate::ops::fallocate::fallocate(&cx, file, mode, range).await;
        finish(&cx, result.map(|()| Bytes::ZERO))
    }
    /// Makes the file durable; with `data_only`, its data and what is needed to read it.
    pub async fn fsync(&self, task: TaskId, file: FileId, data_only: bool) -> OpResult {
        let kind = if data_only { OpKind::Fdatasync } else { OpKind::Fsync };
        let cx = self.begin(kind, task, file, Pos::ZERO, Bytes::ZERO);
        let whole = FileRange::between(Pos::ZERO, Pos::new(crate::units::MAX_POS));
        let result = crate::ops::sync::sync_file(&cx, file, whole).await;
        finish(&cx, result.map(|()| Bytes::ZERO))
    }
    /// Makes every file durable, as the flusher does it.
    pub async fn syncfs(&self, task: TaskId) -> OpResult {
        let cx = self.begin(OpKind::Syncfs, task, FileId::new(0), Pos::ZERO, Bytes::ZERO);
        let result = crate::ops::sync::sync_all(&cx).await;
        finish(&cx, result.map(|()| Bytes::ZERO))
    }

    pub(crate) fn advance(&self) {
        self.progress.set(self.progress.get() + 1);
    }
    /// Grows whenever a wait or an operation ends, or a lock goes to one who waited.
    pub(crate) const fn progress(&self) -> u64 {
        self.progress.get()
    }
    /// An operation lets a lock go, also when its future is dropped; whether another got it.
    pub(crate) fn let_go(&self, caller: Caller, file: FileId, lock: Lock) -> bool {
        // Who panics inside the world drops its locks, too.
        let Ok(mut world) = self.world.try_borrow_mut() else { return false };
        world.caller = caller;
        world.leave_lock(file, lock)
    }
    /// The world, for the host's set-up.
    pub(crate) fn world(&self) -> core::cell::RefMut<'_, World<E>> {
        self.world.borrow_mut()
    }
    pub(crate) fn begin(
        &self,
        kind: OpKind,
        task: TaskId,
        file: FileId,
        pos: Pos,
        len: Bytes,
    ) -> Cx<'_, E> {
        let mut world = self.world.borrow_mut();
        let op = OpId::new(world.next_op);
        world.next_op += 1;
        let caller = Caller { task, op: Some(op), context: Context::Task };
        world.run_workers();
        world.caller = caller;
        world.retire(task);
        world.start_op(op, kind, file, pos, len);
        Cx { engine: self, caller }
    }
}

pub(crate) fn finish<E: Env>(cx: &Cx<'_, E>, result: Result<Bytes, Errno>) -> OpResult {
    let result = OpResult(result);
    let op = cx.caller.op.expect("operations have a number");
    cx.with(|world| world.end_op(op, result));
    cx.engine.advance();
    result
}

/// Carries out effects for [`drive`].
pub trait Host<E: Env> {
    /// Starts an effect. Its end may be reported at once or from [`Self::wait`].
    fn start(&mut self, engine: &Engine<E>, effect: Effect);
    /// Waits until at least one started effect has ended and reports it, or until the engine's next
    /// timer, and reports the time; false if nothing is running and the clock is not the host's.
    fn wait(&mut self, engine: &Engine<E>) -> bool;
}

/// No effect is running and the operation still cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the operation waits for something that nobody will do")]
pub struct Stuck;

/// Runs one operation to its end.
pub fn drive<E: Env, T>(
    engine: &Engine<E>,
    host: &mut impl Host<E>,
    op: impl Future<Output = T>,
) -> Result<T, Stuck> {
    let mut op = pin!(op);
    let mut cx = PollContext::from_waker(Waker::noop());
    loop {
        let before = engine.progress.get();
        let polled = op.as_mut().poll(&mut cx);
        // Of several operations a later one may have let an earlier one go on.
        let moved = engine.progress.get() != before;
        // An effect that ended as it was started leaves nothing to wait for, and the operation free
        // to go on.
        let mut started = false;
        while let Some(effect) = engine.poll_effect() {
            host.start(engine, effect);
            started = true;
        }
        match polled {
            Poll::Ready(out) => return Ok(out),
            // Time stands still while anybody can go on: who waits for a time must not oversleep.
            Poll::Pending if moved && engine.next_timer().is_some() => {}
            Poll::Pending if host.wait(engine) || started || moved => {}
            Poll::Pending => match engine.next_timer() {
                Some(at) => engine.handle_time(at),
                None => return Err(Stuck),
            },
        }
    }
}

/// An operation of one of several tasks.
pub type BoxedOp<'a> = Pin<Box<dyn Future<Output = OpResult> + 'a>>;

/// Runs several operations at once, each as far as it can go in turn; their results in order. They
/// interleave at every point where one must wait.
pub fn drive_all<E: Env>(
    engine: &Engine<E>,
    host: &mut impl Host<E>,
    mut ops: Vec<BoxedOp<'_>>,
) -> Result<Vec<OpResult>, Stuck> {
    let mut results = vec![None; ops.len()];
    let all = poll_fn(|cx| {
        for (op, result) in ops.iter_mut().zip(&mut results) {
            if result.is_none()
                && let Poll::Ready(done) = op.as_mut().poll(cx)
            {
                *result = Some(done);
            }
        }
        match results.iter().copied().collect::<Option<Vec<_>>>() {
            Some(done) => Poll::Ready(done),
            None => Poll::Pending,
        }
    });
    drive(engine, host, all)
}

/// An operation with tasks of the background that never end: they go on as long as it does.
pub async fn beside<T>(op: impl Future<Output = T>, background: &mut [BackgroundTask<'_>]) -> T {
    let mut op = pin!(op);
    poll_fn(|cx| {
        let polled = op.as_mut().poll(cx);
        for task in &mut *background {
            // None of them ends.
            let _pending = task.as_mut().poll(cx);
        }
        polled
    })
    .await
}

/// A task of the background, such as [`Engine::flusher`].
pub type BackgroundTask<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Waits until nothing is running: what a finished operation left behind, such as the writes of a
/// `syncfs`.
pub fn settle<E: Env>(engine: &Engine<E>, host: &mut impl Host<E>) {
    loop {
        while let Some(effect) = engine.poll_effect() {
            host.start(engine, effect);
        }
        if !host.wait(engine) {
            engine.run_workers();
            return;
        }
    }
}
