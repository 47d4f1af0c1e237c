//! How long the engine takes, beside what the machine takes for the same bytes: a copy, and the
//! kernel's own `pwrite` into memory. `cargo bench --package folioscope-core`; never run as a test.
//!
//! Ratios count, not numbers: both sides stand in one run.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use folioscope_core::behaviour::Behaviours;
use folioscope_core::cache::frame_alloc::FramePolicy;
use folioscope_core::device::sim::{Sim, Timing};
use folioscope_core::engine::{Engine, ReadFlags, WriteFlags, drive};
use folioscope_core::frames::HeapFrames;
use folioscope_core::fs::blockdev::BlockDev;
use folioscope_core::fs::extents::Extents;
use folioscope_core::fs::{Provider, SpaceAllocator};
use folioscope_core::geometry::Geometry;
use folioscope_core::ops::readahead::ReadaheadLimits;
use folioscope_core::trace::header::{Header, Source};
use folioscope_core::trace::sink::{NoTrace, Sink};
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::units::{Bytes, DevAddr, FileId, Order, Pos, TaskId};
use folioscope_core::world::{Config, Env};
use std::fs::File;
use std::hint::black_box;
use std::marker::PhantomData;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

/// Larger than the caches of the processor.
const FILE: u64 = 64 << 20;
const PAGE: u64 = 4096;
const TASK: TaskId = TaskId::new(1);

struct Host<S>(PhantomData<S>);

impl<S: Sink> Env for Host<S> {
    type Sink = S;
    type Frames = HeapFrames;
}

/// An engine with one file on a device that takes no time.
struct Rig<S: Sink> {
    engine: Engine<Host<S>>,
    sim: Sim,
    file: FileId,
}

fn geometry(order: u8) -> Geometry {
    Geometry::new(Bytes::new(PAGE), Bytes::new(PAGE), Order::new(order)).expect("sizes fit")
}

impl<S: Sink> Rig<S> {
    fn new(order: u8, size: u64, provider: Provider, sink: S) -> Self {
        let geometry = geometry(order);
        let config = Config {
            geometry,
            behaviours: Behaviours::default(),
            stable_writes: false,
            frames: FramePolicy::Packed,
            space: SpaceAllocator::new(DevAddr::ZERO, None),
            readahead: ReadaheadLimits::usual(geometry),
            queue: None,
            partition: Bytes::ZERO,
        };
        let engine = Engine::new(config, HeapFrames::new(geometry.page_size()), sink);
        let file = engine.open(Pos::new(size), provider);
        Self { engine, sim: Sim::new(Timing::Ram), file }
    }
    /// A file on a device of `size` bytes, all of it cached and dirty.
    fn cached(order: u8, size: u64, sink: S) -> Self {
        let device = Provider::BlockDev(BlockDev::new(Bytes::new(size)));
        let mut rig = Self::new(order, 0, device, sink);
        let chunk = vec![1; 1 << 20];
        for at in (0..size).step_by(1 << 20) {
            rig.write(at, &chunk);
        }
        rig
    }
    fn write(&mut self, pos: u64, mut bytes: &[u8]) {
        let flags = WriteFlags::default();
        let op = self.engine.pwrite(TASK, self.file, Pos::new(pos), &mut bytes, flags);
        drive(&self.engine, &mut self.sim, op).expect("nothing hangs").0.expect("writes succeed");
    }
    fn read(&mut self, pos: u64, mut bytes: &mut [u8]) {
        let flags = ReadFlags::default();
        let op = self.engine.pread(TASK, self.file, Pos::new(pos), &mut bytes, flags);
        drive(&self.engine, &mut self.sim, op).expect("nothing hangs").0.expect("reads succeed");
    }
    fn fsync(&mut self) {
        let op = self.engine.fsync(TASK, self.file, true);
        drive(&self.engine, &mut self.sim, op).expect("nothing hangs").0.expect("fsync succeeds");
    }
}

/// Positions in random order, aligned to `unit`.
struct Places {
    state: u64,
    unit: u64,
}

impl Places {
    const fn new(unit: u64) -> Self {
        Self { state: 1, unit }
    }
    fn next(&mut self) -> u64 {
        let Self { state, unit } = self;
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % (FILE / *unit) * *unit
    }
}

/// Writes into what is cached, by size, and the same bytes copied and by the kernel.
fn overwrite(c: &mut Criterion) {
    let memory_file = || {
        let path = std::path::Path::new("/dev/shm");
        let folder = if path.is_dir() { path.to_owned() } else { std::env::temp_dir() };
        let path = folder.join(format!("folioscope-bench-{}", std::process::id()));
        let file = File::create(&path).expect("the folder takes files");
        std::fs::remove_file(path).expect("made just now");
        file.write_all_at(&vec![1; FILE as usize], 0).expect("the folder has room");
        file
    };
    let kernel = memory_file();
    let mut memory = vec![1_u8; FILE as usize];
    let mut rigs = [0, 9].map(|order| (order, Rig::cached(order, FILE, NoTrace)));
    for (name, len) in [("512 B", 512), ("4 KiB", 4096), ("1 MiB", 1 << 20)] {
        let mut group = c.benchmark_group(format!("overwrite {name}"));
        let bytes = vec![2_u8; len];
        let mut places = Places::new(len as u64);
        for (order, rig) in &mut rigs {
            group.bench_function(format!("order {order}"), |b| {
                b.iter(|| rig.write(places.next(), &bytes));
            });
        }
        group.bench_function("copy", |b| {
            b.iter(|| {
                let at = places.next() as usize;
                memory[at..at + len].copy_from_slice(black_box(&bytes));
            });
        });
        group.bench_function("pwrite", |b| {
            b.iter(|| kernel.write_all_at(&bytes, places.next()).expect("it has room"));
        });
    }
}

/// Reads of what is cached, and of what readahead must bring.
fn read(c: &mut Criterion) {
    let mut group = c.benchmark_group("read 4 KiB");
    let mut buffer = vec![0; PAGE as usize];
    for order in [0, 9] {
        let (mut rig, mut places) = (Rig::cached(order, FILE, NoTrace), Places::new(PAGE));
        group.bench_function(format!("cached, order {order}"), |b| {
            b.iter(|| rig.read(places.next(), &mut buffer));
        });
    }
    let size = 4 << 20;
    group.throughput(Throughput::Elements(size / PAGE));
    group.bench_function("sequential with readahead", |b| {
        let fresh = || {
            let device = Provider::BlockDev(BlockDev::new(Bytes::new(size)));
            Rig::new(9, size, device, NoTrace)
        };
        let through = |mut rig: Rig<NoTrace>| {
            (0..size).step_by(PAGE as usize).for_each(|at| rig.read(at, &mut buffer));
            rig
        };
        b.iter_batched(fresh, through, BatchSize::LargeInput);
    });
}

/// A new file, written from start to end in small pieces and made durable.
fn writeback(c: &mut Criterion) {
    let mut group = c.benchmark_group("write 4 MiB by 4 KiB, then fsync");
    let (size, bytes) = (4 << 20, vec![3; PAGE as usize]);
    group.throughput(Throughput::Elements(size / PAGE));
    for order in [0, 9] {
        group.bench_function(format!("order {order}"), |b| {
            let fresh = || {
                let provider = Provider::Extents(Extents::new(geometry(order)));
                Rig::new(order, 0, provider, NoTrace)
            };
            let through = |mut rig: Rig<NoTrace>| {
                (0..size).step_by(PAGE as usize).for_each(|at| rig.write(at, &bytes));
                rig.fsync();
                rig
            };
            b.iter_batched(fresh, through, BatchSize::LargeInput);
        });
    }
}

const WRITES: u64 = 1000;

fn run<S: Sink>(mut rig: Rig<S>, size: u64, bytes: &[u8]) -> Rig<S> {
    (0..WRITES).for_each(|at| rig.write(at * PAGE % size, bytes));
    rig
}

/// The same overwrites without a trace and with one; then a walk in a long trace.
fn trace(c: &mut Criterion) {
    let size = 1 << 20;
    let bytes = vec![4; PAGE as usize];
    let mut group = c.benchmark_group("1000 overwrites of 4 KiB");
    let recorded = || Rig::cached(0, size, Recording::default());
    let before = recorded().engine.into_sink().len();
    let after = run(recorded(), size, &bytes).engine.into_sink().len();
    group.throughput(Throughput::Elements(WRITES));
    group.bench_function("untraced", |b| {
        let fresh = || Rig::cached(0, size, NoTrace);
        b.iter_batched(fresh, |rig| run(rig, size, &bytes), BatchSize::LargeInput);
    });
    group.throughput(Throughput::Elements((after - before) as u64));
    group.bench_function("traced (elements are steps)", |b| {
        b.iter_batched(recorded, |rig| run(rig, size, &bytes), BatchSize::LargeInput);
    });
    group.finish();

    let mut rig = recorded();
    for _ in 0..100 {
        rig = run(rig, size, &bytes);
    }
    let header = Header {
        engine: "bench".to_owned(),
        title: "a long trace".to_owned(),
        profile: "linux-6.18".to_owned(),
        behaviours: Behaviours::default(),
        geometry: geometry(0),
        source: Source::Simulated,
        tasks: Vec::new(),
    };
    let mut timeline = Timeline::new(header, rig.engine.into_sink()).expect("it fits itself");
    let (steps, mut places) = (timeline.len(), Places::new(1));
    c.bench_function(&format!("seek in {steps} steps"), |b| {
        b.iter(|| timeline.seek(places.next() as usize % steps));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(15)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_millis(1500));
    targets = overwrite, read, writeback, trace
}
criterion_main!(benches);
