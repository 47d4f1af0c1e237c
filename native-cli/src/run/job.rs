//! One copy of a job: its engine, its operations, its measurements.

use super::content::{ByteModel, LAYOUT, fill};
use super::host::JobHost;
use super::report::{Report, Unfinished};
use super::setup::World;
use super::sink::JobSink;
use crate::error::{Failure, Outcome};
use crate::target::memory::Arena;
use folioscope_core::cache::frame_alloc::FramePolicy;
use folioscope_core::check::invariants::sentence;
use folioscope_core::counters::{Counter, Counters};
use folioscope_core::engine::{Engine, ReadFlags, WriteFlags, drive, settle};
use folioscope_core::frames::Discard;
use folioscope_core::fs::blockdev::BlockDev;
use folioscope_core::fs::{Provider, SpaceAllocator};
use folioscope_core::ops::OpResult;
use folioscope_core::ops::readahead::ReadaheadLimits;
use folioscope_core::scenario::fio::{FioJob, JobOp};
use folioscope_core::trace::sink::Sink;
use folioscope_core::units::{Bytes, DevAddr, FileId, Nanos, Pos, TaskId, Time};
use folioscope_core::world::{Config, Env};
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The task of the job.
const TASK: TaskId = TaskId::new(1);
/// Bytes that `pre_read` and the comparison ask for at once.
const CHUNK: u64 = 1024 * 1024;

/// Native memory and some sink.
pub(super) struct Native<S>(PhantomData<S>);

impl<S: Sink> Env for Native<S> {
    type Sink = S;
    type Frames = Arena;
}

/// What the copies of a run share.
pub(super) struct Shared {
    /// All begin together.
    pub(super) start: Barrier,
    /// One of them could not begin.
    pub(super) failed: AtomicBool,
    /// Blocks that were written or read, by all.
    pub(super) blocks: AtomicU64,
    /// Ctrl-C.
    pub(super) interrupted: &'static AtomicBool,
}

/// Waits at the barrier once, even when unwinding: nobody else may wait for ever.
struct Gate<'a>(Option<&'a Shared>);

impl Gate<'_> {
    fn pass(&mut self, failed: bool) {
        if let Some(shared) = self.0.take() {
            shared.failed.fetch_or(failed, Ordering::SeqCst);
            shared.start.wait();
        }
    }
}

impl Drop for Gate<'_> {
    fn drop(&mut self) {
        self.pass(true);
    }
}

/// One copy.
pub(super) struct Copy<'a> {
    pub(super) job: &'a FioJob,
    pub(super) number: u32,
    pub(super) world: &'a World,
    pub(super) verify: bool,
    pub(super) shared: &'a Shared,
}

impl Copy<'_> {
    /// Runs it. No report where another copy could not begin.
    pub(super) fn run<S: JobSink, H: JobHost<Native<S>>>(
        &self,
        host: Outcome<H>,
        sink: S,
    ) -> Outcome<Option<(Report, S)>> {
        let mut gate = Gate(Some(self.shared));
        let began = host.and_then(|host| Running::begin(self, host, sink));
        gate.pass(began.is_err());
        let mut running = began?;
        if self.shared.failed.load(Ordering::SeqCst) {
            return Ok(None);
        }
        running.run()?;
        running.end().map(Some)
    }
}

/// The expected content of a copy's file after all its operations.
pub(super) fn expected_content(job: &FioJob, copy: u32) -> ByteModel {
    let mut model = laid_out(job);
    let mut data = vec![0; job.block_size.get() as usize];
    let mut writer = LAYOUT;
    for op in job.ops(copy) {
        match op {
            JobOp::Pwrite { pos, .. } => {
                writer += 1;
                fill(&mut data, pos, writer);
                model.write(pos, &data, writer);
            }
            JobOp::PreRead { .. } | JobOp::Pread { .. } | JobOp::Fsync | JobOp::Fdatasync => {}
        }
    }
    model
}

fn laid_out(job: &FioJob) -> ByteModel {
    let mut model = ByteModel::new(job.block_size);
    if job.needs_layout() {
        let mut data = vec![0; job.size.get() as usize];
        fill(&mut data, Pos::ZERO, LAYOUT);
        model.write(Pos::ZERO, &data, LAYOUT);
    }
    model
}

/// A copy that runs.
struct Running<'a, S: JobSink, H> {
    copy: &'a Copy<'a>,
    engine: Engine<Native<S>>,
    file: FileId,
    host: H,
    model: Option<ByteModel>,
    report: Report,
    before: Counters,
    data: Vec<u8>,
    writer: u64,
}

impl<'a, S: JobSink, H: JobHost<Native<S>>> Running<'a, S, H> {
    fn begin(copy: &'a Copy<'a>, mut host: H, sink: S) -> Outcome<Self> {
        let (job, geometry) = (copy.job, copy.world.geometry);
        let block = geometry.block_size().get();
        let on_disk = Bytes::new(job.size.get().next_multiple_of(block));
        let arena = arena_size(job.size, geometry.max_folio_size());
        let memory = Arena::new(geometry.page_size(), arena).map_err(|error| {
            Failure::environment(format!("no memory for a page cache of {arena}: {error}"))
        })?;
        let config = Config {
            geometry,
            behaviours: copy.world.behaviours,
            stable_writes: true,
            frames: FramePolicy::Packed,
            space: SpaceAllocator::new(DevAddr::ZERO, None),
            readahead: ReadaheadLimits::usual(geometry),
            queue: None,
            partition: Bytes::ZERO,
        };
        let engine = Engine::new(config, memory, sink);
        let mut size = Pos::ZERO;
        if job.needs_layout() {
            host.lay_out(job.size)?;
            size += job.size;
        }
        let file = engine.open_target(size, Provider::BlockDev(BlockDev::new(on_disk)));
        let before = engine.counters();
        let mut running = Self {
            copy,
            engine,
            file,
            host,
            model: copy.verify.then(|| laid_out(job)),
            report: Report { copies: 1, ..Report::default() },
            before,
            data: vec![0; job.block_size.get() as usize],
            writer: LAYOUT,
        };
        if let Some(JobOp::PreRead { len }) = job.ops(copy.number).next() {
            running.pre_read(len)?;
        }
        running.before = running.engine.counters();
        Ok(running)
    }

    fn pre_read(&mut self, len: Bytes) -> Outcome<()> {
        let mut at = 0;
        while at < len.get() {
            let n = Bytes::new(CHUNK.min(len.get() - at));
            let (engine, host) = (&self.engine, &mut self.host);
            let mut nowhere = Discard(n);
            let read =
                engine.pread(TASK, self.file, Pos::new(at), &mut nowhere, ReadFlags::default());
            let done = block_on(engine, host, read)?;
            check("pre_read", Pos::new(at), n, done)?;
            at += n.get();
        }
        Ok(())
    }

    fn run(&mut self) -> Outcome<()> {
        let began = self.host.now();
        for op in self.copy.job.ops(self.copy.number) {
            self.report.unfinished = self.reason_to_stop(began);
            if self.report.unfinished.is_some() {
                break;
            }
            self.step(op)?;
        }
        self.report.elapsed = self.host.now().since(began);
        Ok(())
    }

    fn reason_to_stop(&self, began: Time) -> Option<Unfinished> {
        let over = |limit: Nanos| self.host.now().since(began) >= limit;
        if self.copy.shared.interrupted.load(Ordering::Relaxed) {
            Some(Unfinished::Interrupted)
        } else if S::ON && self.engine.look(|world| world.sink().is_full()) {
            Some(Unfinished::TraceFull)
        } else {
            self.copy.job.runtime.is_some_and(over).then_some(Unfinished::Runtime)
        }
    }

    fn step(&mut self, op: JobOp) -> Outcome<()> {
        match op {
            JobOp::PreRead { .. } => {}
            JobOp::Pwrite { pos, len } => {
                self.writer += 1;
                fill(&mut self.data, pos, self.writer);
                if let Some(model) = &mut self.model {
                    model.write(pos, &self.data, self.writer);
                }
                let (engine, mut data) = (&self.engine, &self.data[..]);
                let flags = WriteFlags::default();
                let write = engine.pwrite(TASK, self.file, pos, &mut data, flags);
                let (done, time) = timed(engine, &mut self.host, write)?;
                check("write", pos, len, done)?;
                self.report.writes.record(time);
                self.copy.shared.blocks.fetch_add(1, Ordering::Relaxed);
            }
            JobOp::Pread { pos, len } => {
                let engine = &self.engine;
                let mut data = &mut self.data[..];
                let read = engine.pread(TASK, self.file, pos, &mut data, ReadFlags::default());
                let (done, time) = timed(engine, &mut self.host, read)?;
                check("read", pos, len, done)?;
                self.report.reads.record(time);
                self.copy.shared.blocks.fetch_add(1, Ordering::Relaxed);
                if let Some(model) = &self.model
                    && model.bytes(pos, self.data.len()) != self.data
                {
                    return Err(Failure::check(format!(
                        "verify: the engine's read of {len} at byte {} gave other bytes than were written",
                        pos.get()
                    )));
                }
            }
            JobOp::Fsync | JobOp::Fdatasync => {
                let time = self.sync(op == JobOp::Fdatasync)?;
                self.report.syncs.record(time);
            }
        }
        Ok(())
    }

    fn sync(&mut self, data_only: bool) -> Outcome<Nanos> {
        let sync = self.engine.fsync(TASK, self.file, data_only);
        let (done, time) = timed(&self.engine, &mut self.host, sync)?;
        check("sync", Pos::ZERO, Bytes::ZERO, done)?;
        Ok(time)
    }

    fn end(mut self) -> Outcome<(Report, S)> {
        self.report.final_sync = self.sync(false)?;
        settle(&self.engine, &mut self.host);
        self.count();
        self.engine.look(|world| world.sink().close());
        if let Some(model) = self.model.take() {
            self.host.verify(&self.engine, self.file, &model)?;
            self.verify_reads(&model)?;
            self.report.verified = true;
        }
        let broken = self.engine.counters().get(Counter::BrokenInvariants);
        if broken > 0 {
            let first = self.engine.look(|world| world.first_broken().map(sentence));
            return Err(Failure::broken(format!(
                "{broken} invariants of the engine were broken, first {}: please report this with \
                 the job file",
                first.unwrap_or_default()
            )));
        }
        Ok((self.report, self.engine.into_sink()))
    }

    fn count(&mut self) {
        let after = self.engine.counters();
        let since = |counter| after.get(counter) - self.before.get(counter);
        let report = &mut self.report;
        report.app_written = Bytes::new(since(Counter::AppWritten));
        report.app_read = Bytes::new(since(Counter::AppRead));
        report.device_written = Bytes::new(since(Counter::DeviceWritten));
        report.device_read = Bytes::new(since(Counter::DeviceRead));
        report.clean_written = Bytes::new(since(Counter::CleanWritten));
        report.write_bios = since(Counter::WriteBios);
        report.flushes = since(Counter::Flushes);
        report.folios = after.get(Counter::FoliosCreated);
    }

    /// What the engine itself returns must be the same bytes. It is not part of the measurement.
    fn verify_reads(&mut self, model: &ByteModel) -> Outcome<()> {
        let size = self.engine.size(self.file).get();
        let mut found = Vec::with_capacity(size as usize);
        while (found.len() as u64) < size {
            let at = found.len();
            let n = CHUNK.min(size - at as u64);
            found.resize(at + n as usize, 0);
            let (engine, mut part) = (&self.engine, &mut found[at..]);
            let read =
                engine.pread(TASK, self.file, Pos::new(at as u64), &mut part, ReadFlags::default());
            let done = block_on(engine, &mut self.host, read)?;
            check("read", Pos::new(at as u64), Bytes::new(n), done)?;
        }
        model.compare_bytes(&found).map_or(Ok(()), |difference| {
            Err(difference.failure("the cached file", "through the engine"))
        })
    }
}

/// Memory for every folio of a file, with room for gaps between aligned ones.
fn arena_size(file: Bytes, max_folio: Bytes) -> Bytes {
    Bytes::new(file.get().next_multiple_of(max_folio.get()) * 2 + max_folio.get() * 4)
}

fn block_on<S: JobSink, T>(
    engine: &Engine<Native<S>>,
    host: &mut impl JobHost<Native<S>>,
    op: impl Future<Output = T>,
) -> Outcome<T> {
    engine.handle_time(host.now());
    drive(engine, host, op).map_err(|stuck| {
        host.take_failure().unwrap_or_else(|| Failure::broken(format!("engine: {stuck}")))
    })
}

fn timed<S: JobSink, T>(
    engine: &Engine<Native<S>>,
    host: &mut impl JobHost<Native<S>>,
    op: impl Future<Output = T>,
) -> Outcome<(T, Nanos)> {
    let began = host.now();
    let out = block_on(engine, host, op)?;
    Ok((out, host.now().since(began)))
}

/// A call that did less than it was asked for ends the job.
fn check(what: &str, pos: Pos, len: Bytes, done: OpResult) -> Outcome<()> {
    match done.0 {
        Ok(moved) if moved == len => Ok(()),
        Ok(moved) => Err(Failure::environment(format!(
            "{what} of {len} at byte {} moved {moved} only: look at the free space and the disk",
            pos.get()
        ))),
        Err(errno) => Err(Failure::environment(format!(
            "{what} at byte {} failed with {errno}: look at the free space and the disk",
            pos.get()
        ))),
    }
}
