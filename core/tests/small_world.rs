//! The small world, exhaustively: every script of three operations on a file of eight blocks.
//!
//! An operation is one of 136 writes (every range on a grid of half blocks, so that most cover a
//! block in part), 36 reads (every range of blocks), a writeback that nobody waits for, an fsync,
//! or the end of one bio or flush. After each, the engine is compared with a plain array: what a
//! read returned, what a look at the file shows, and after fsync what the device holds; and no
//! invariant may be broken. Each script ends with an fsync of its own.
//!
//! `cargo test` runs a sample. All of them, a matter of minutes:
//! `cargo test --release --package folioscope-core --test small_world -- --ignored --nocapture`

mod common;

use common::{Host, TASK, geometry};
use folioscope_core::behaviour::{Behaviours, DirtyTracking, Profile};
use folioscope_core::cache::frame_alloc::FramePolicy;
use folioscope_core::counters::Counter;
use folioscope_core::device::sim::{Sim, Timing, peek_bytes};
use folioscope_core::engine::{BoxedOp, Engine, Host as _, ReadFlags, WriteFlags};
use folioscope_core::frames::HeapFrames;
use folioscope_core::fs::extents::Extents;
use folioscope_core::fs::{Provider, SpaceAllocator};
use folioscope_core::geometry::Geometry;
use folioscope_core::iomap::MapType;
use folioscope_core::ops::OpResult;
use folioscope_core::ops::readahead::ReadaheadLimits;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::units::{Bytes, DevAddr, FileId, FileRange, Nanos, Pages, Pos, TaskId};
use folioscope_core::world::Config;
use std::fmt::Write as _;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

/// Blocks of the file, and half blocks.
const BLOCKS: u64 = 8;
const HALVES: u64 = 2 * BLOCKS;
/// Operations of a script.
const LENGTH: usize = 3;
const FLUSHER: TaskId = TaskId::new(2);
/// Where the bytes of a filled file lie on the device.
const FIRST: DevAddr = DevAddr::new(4096);

/// One operation, in half blocks: from where, and to where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Write(u64, u64),
    Read(u64, u64),
    /// A flusher starts to write everything; nobody waits for it.
    Writeback,
    Fsync,
    /// The bio or flush that is due next ends.
    CompleteNext,
}

fn ops() -> Vec<Op> {
    let ranges = |step: u64| {
        (0..HALVES).step_by(step as usize).flat_map(move |start| {
            (start + step..=HALVES).step_by(step as usize).map(move |end| (start, end))
        })
    };
    let mut all = vec![Op::CompleteNext, Op::Writeback, Op::Fsync];
    all.extend(ranges(1).map(|(start, end)| Op::Write(start, end)));
    all.extend(ranges(2).map(|(start, end)| Op::Read(start, end)));
    all
}

/// What the file holds before a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Content {
    Empty,
    /// Data, a hole, an unwritten block, data up to half a block before the end.
    Filled,
}

/// A kind of world, built anew for each script.
#[derive(Clone, Debug)]
struct Setting {
    geometry: Geometry,
    behaviours: Behaviours,
    content: Content,
    /// What the model holds before a script.
    model: Model,
    /// What each operation would write at each position.
    patterns: Vec<Vec<u8>>,
}

/// The file as a plain array.
#[derive(Clone, Debug)]
struct Model(Vec<u8>);

impl Model {
    fn write(&mut self, start: usize, bytes: &[u8]) {
        let end = start + bytes.len();
        if self.0.len() < end {
            self.0.resize(end, 0);
        }
        self.0[start..end].copy_from_slice(bytes);
    }
}

impl Setting {
    fn new(geometry: Geometry, dirty_tracking: DirtyTracking, content: Content) -> Self {
        let old = dirty_tracking == DirtyTracking::PerFolio;
        let profile = Profile::named(if old { "linux-6.1" } else { "linux-6.18" });
        let base = profile.expect("there is one").behaviours;
        let behaviours = Behaviours { dirty_tracking, ..base };
        let half = geometry.block_size().get() / 2;
        let len = (HALVES * half) as usize;
        // Two bits say who wrote a byte, six bits where it belongs; none is zero.
        let byte = |writer: usize, at: usize| (((writer << 6) | (at * 64 / len)) as u8).max(1);
        let pattern = |writer| (0..len).map(|at| byte(writer, at)).collect();
        let patterns: Vec<Vec<u8>> = (0..=LENGTH).map(pattern).collect();
        let mut setting =
            Self { geometry, behaviours, content, model: Model(Vec::new()), patterns };
        for (range, kind) in setting.extents() {
            let (start, end) = (range.start().get() as usize, range.end().get() as usize);
            if kind == MapType::Mapped {
                setting.model.write(start, &setting.patterns[0][start..end]);
            }
        }
        if content != Content::Empty {
            setting.model.0.truncate(len - half as usize);
        }
        setting
    }
    fn extents(&self) -> Vec<(FileRange, MapType)> {
        let blocks = |start: u64, end: u64, kind| {
            let pos = |block| Pos::new(block * self.geometry.block_size().get());
            (FileRange::between(pos(start), pos(end)), kind)
        };
        match self.content {
            Content::Empty => Vec::new(),
            Content::Filled => vec![
                blocks(0, 4, MapType::Mapped),
                blocks(5, 6, MapType::Unwritten),
                blocks(6, BLOCKS, MapType::Mapped),
            ],
        }
    }
    fn world(&self) -> (Engine<Host<NoTrace>>, Sim, FileId) {
        let config = Config {
            geometry: self.geometry,
            behaviours: self.behaviours,
            stable_writes: self.content == Content::Filled,
            frames: FramePolicy::Packed,
            space: SpaceAllocator::new(DevAddr::ZERO, None),
            readahead: ReadaheadLimits { window: Pages::new(2), io: Pages::new(2) },
            queue: None,
            partition: Bytes::ZERO,
        };
        let engine = Engine::new(config, HeapFrames::new(self.geometry.page_size()), NoTrace);
        // Short bios overtake long ones.
        let timing = Timing::Queue {
            depth: 4,
            latency: Nanos::new(1),
            per_kib: Nanos::new(1 << 20),
            flush: Nanos::new(1),
        };
        let mut sim = Sim::new(timing);
        let mut extents = Extents::new(self.geometry);
        for (range, kind) in self.extents() {
            let addr = FIRST + range.start().since(Pos::ZERO);
            extents.map_mut().set(range, kind, Some(addr));
            // Unwritten blocks hold old bytes that nobody may see.
            let part = range.start().get() as usize..range.end().get() as usize;
            sim.store_mut().write(addr, &self.patterns[0][part]);
        }
        let size = Pos::new(self.model.0.len() as u64);
        let file = engine.open(size, Provider::Extents(extents));
        (engine, sim, file)
    }
    /// Runs a script; says what differs. The state is compared from the `checked`th operation on.
    fn run(&self, script: &[Op], checked: usize) -> Result<(), String> {
        let (engine, sim, file) = self.world();
        let model = self.model.clone();
        let mut run = Run { engine: &engine, sim, file, model, flushers: Vec::new() };
        for (at, op) in script.iter().enumerate() {
            let place = |what: String| format!("after operation {}, {op:?}: {what}", at + 1);
            run.step(*op, &self.patterns[at + 1], self.geometry).map_err(place)?;
            if at >= checked {
                run.check().map_err(place)?;
            }
        }
        run.step(Op::Fsync, &[], self.geometry)?;
        run.settle()?;
        run.check().map_err(|what| format!("at the end: {what}"))
    }
}

/// A script that runs.
struct Run<'a> {
    engine: &'a Engine<Host<NoTrace>>,
    sim: Sim,
    file: FileId,
    model: Model,
    flushers: Vec<BoxedOp<'a>>,
}

impl Run<'_> {
    fn step(&mut self, op: Op, pattern: &[u8], geometry: Geometry) -> Result<(), String> {
        let half = geometry.block_size().get() / 2;
        let bytes = |halves: u64| (halves * half) as usize;
        match op {
            Op::Write(start, end) => {
                let source = &pattern[bytes(start)..bytes(end)];
                let pos = Pos::new(start * half);
                let mut from = source;
                let flags = WriteFlags::default();
                let op = self.engine.pwrite(TASK, self.file, pos, &mut from, flags);
                expect(self.drive(op)?, source.len())?;
                self.model.write(bytes(start), source);
            }
            Op::Read(start, end) => {
                let size = self.model.0.len();
                let want = bytes(start).min(size)..bytes(end).min(size);
                let mut buffer = [0xee; (HALVES * 32) as usize];
                let mut dest = &mut buffer[..bytes(end - start)];
                let pos = Pos::new(start * half);
                let op = self.engine.pread(TASK, self.file, pos, &mut dest, ReadFlags::default());
                expect(self.drive(op)?, want.len())?;
                same("the read", &buffer[..want.len()], &self.model.0[want.clone()])?;
            }
            Op::Writeback => {
                self.flushers.push(Box::pin(self.engine.syncfs(FLUSHER)));
                self.poll_flushers()?;
            }
            Op::Fsync => {
                let op = self.engine.fsync(TASK, self.file, false);
                expect(self.drive(op)?, 0)?;
                let durable = self.sim.durable_bytes(self.engine, self.file);
                same("the device", &durable, &self.model.0)?;
            }
            Op::CompleteNext => {
                self.sim.wait(self.engine);
                self.poll_flushers()?;
            }
        }
        Ok(())
    }
    /// Every flusher goes on as far as it can; what they ask for is started.
    fn poll_flushers(&mut self) -> Result<(), String> {
        let mut cx = Context::from_waker(Waker::noop());
        let mut failed = None;
        self.flushers.retain_mut(|flusher| match flusher.as_mut().poll(&mut cx) {
            Poll::Pending => true,
            Poll::Ready(result) => {
                failed = failed.take().or(expect(result, 0).err());
                false
            }
        });
        while let Some(effect) = self.engine.poll_effect() {
            self.sim.start(self.engine, effect);
        }
        failed.map_or(Ok(()), Err)
    }
    /// Runs an operation to its end, with the flushers beside it.
    fn drive(&mut self, op: impl Future<Output = OpResult>) -> Result<OpResult, String> {
        let mut op = pin!(op);
        let mut cx = Context::from_waker(Waker::noop());
        let mut idle = 0;
        loop {
            if let Poll::Ready(result) = op.as_mut().poll(&mut cx) {
                self.poll_flushers()?;
                return Ok(result);
            }
            self.poll_flushers()?;
            idle = if self.sim.wait(self.engine) { 0 } else { idle + 1 };
            if idle > LENGTH {
                return Err("it hangs".to_owned());
            }
        }
    }
    /// Lets everything that runs come to its end.
    fn settle(&mut self) -> Result<(), String> {
        while self.sim.wait(self.engine) {
            self.poll_flushers()?;
        }
        for _ in 0..LENGTH {
            self.poll_flushers()?;
        }
        if self.flushers.is_empty() { Ok(()) } else { Err("a flusher hangs".to_owned()) }
    }
    fn check(&self) -> Result<(), String> {
        let seen = peek_bytes(self.engine, &self.sim, self.file);
        same("a look at the file", &seen, &self.model.0)?;
        let broken = self.engine.look(folioscope_core::world::World::broken_invariants);
        if !broken.is_empty() {
            return Err(format!("broken invariants {broken:?}"));
        }
        match self.engine.counters().get(Counter::BrokenInvariants) {
            0 => Ok(()),
            n => Err(format!("invariants were broken {n} times on the way")),
        }
    }
}

fn expect(result: OpResult, bytes: usize) -> Result<(), String> {
    let want = OpResult(Ok(Bytes::new(bytes as u64)));
    if result == want { Ok(()) } else { Err(format!("it returns {result}, not {want}")) }
}

fn same(what: &str, got: &[u8], want: &[u8]) -> Result<(), String> {
    if got == want {
        return Ok(());
    }
    let mut text = format!("{what} differs;");
    for (name, bytes) in [("got", got), ("expected", want)] {
        write!(text, "\n  {name:8}").expect("a String takes everything");
        for byte in bytes.iter().step_by(4) {
            write!(text, " {byte:02x}").expect("a String takes everything");
        }
    }
    Err(text)
}

/// Six geometries, each with an empty and a filled file; every way to know dirt with both.
fn settings() -> Vec<Setting> {
    use DirtyTracking::{PerBlock, PerBlockRfc2, PerFolio};
    // Page, block, largest order; how dirt is known in the empty file and in the filled one.
    let rows = [
        (geometry(64, 16, 0), PerBlock, PerFolio),
        (geometry(64, 16, 1), PerFolio, PerBlock),
        (geometry(16, 16, 2), PerBlockRfc2, PerBlock),
        (geometry(32, 16, 1), PerBlock, PerBlockRfc2),
        (geometry(16, 64, 2), PerFolio, PerBlock),
        (geometry(16, 64, 4), PerBlock, PerBlockRfc2),
    ];
    let pair = |(geometry, empty, filled): (Geometry, DirtyTracking, DirtyTracking)| {
        [(empty, Content::Empty), (filled, Content::Filled)]
            .map(|(tracking, content)| Setting::new(geometry, tracking, content))
    };
    rows.into_iter().flat_map(pair).collect()
}

/// Runs every `every`th script in every setting, on all cores, and says how many.
fn run_all(every: usize) {
    let (ops, settings) = (ops(), settings());
    let scripts = ops.len().pow(LENGTH as u32);
    let next = AtomicUsize::new(0);
    // A share is what begins with one operation in one setting.
    let shares = settings.len() * ops.len();
    let work = || {
        let mut ran = 0_u64;
        loop {
            let share = next.fetch_add(1, Ordering::Relaxed);
            if share >= shares {
                return ran;
            }
            let (setting, first) = (&settings[share / ops.len()], share % ops.len());
            let from = first * scripts / ops.len();
            let start = from.next_multiple_of(every);
            for number in (start..from + scripts / ops.len()).step_by(every) {
                let digit = |at| number / ops.len().pow((LENGTH - 1 - at) as u32) % ops.len();
                let script: [Op; LENGTH] = std::array::from_fn(|at| ops[digit(at)]);
                // What a script shares with the one before was compared there.
                let fresh = (0..LENGTH).rev().take_while(|at| digit(*at) == 0).count();
                let checked = if every > 1 { 0 } else { LENGTH - 1 - fresh.min(LENGTH - 1) };
                if let Err(what) = setting.run(&script, checked) {
                    let Setting { geometry, behaviours, content, .. } = setting;
                    panic!("{script:?} on {content:?}: {what}\n{geometry:?}\n{behaviours:?}");
                }
                ran += 1;
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let ran: u64 = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("no difference")).sum()
    });
    println!("small world: {ran} scripts in {} worlds, no difference", settings.len());
}

#[test]
fn a_sample_of_the_small_world_agrees_with_a_plain_array() {
    run_all(997);
}

#[test]
#[ignore = "every script, for a release build"]
fn the_whole_small_world_agrees_with_a_plain_array() {
    run_all(1);
}
