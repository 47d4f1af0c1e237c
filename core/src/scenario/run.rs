//! A scenario as a run on a simulated device.

use super::armed::Armed;
use super::{Action, FileSystem, Scenario, ScenarioOp, StartFile, Variant};
use crate::counters::Counters;
use crate::device::array::Array;
use crate::device::sim::{Sim, peek_bytes};
use crate::device::store::Store;
use crate::engine::{Engine, ReadFlags, Stuck, WriteFlags, drive};
use crate::frames::{BadFrom, Discard, Fill, HeapFrames, UserFault};
use crate::fs::blockdev::BlockDev;
use crate::fs::extents::Extents;
use crate::fs::indirect::Indirect;
use crate::fs::{Provider, SpaceAllocator};
use crate::geometry::Geometry;
use crate::ops::OpResult;
use crate::ops::readahead::ReadaheadLimits;
use crate::trace::header::{Header, Source};
use crate::trace::sink::Sink;
use crate::units::{Bytes, DevAddr, FileId, FileRange, Pos, TaskId};
use crate::world::{Config, Env};
use core::marker::PhantomData;

/// Heap memory and a sink.
struct Simulated<S>(PhantomData<S>);

impl<S: Sink> Env for Simulated<S> {
    type Sink = S;
    type Frames = HeapFrames;
}

/// What a run gave.
pub struct Run<S> {
    /// What the trace says about it.
    pub header: Header,
    /// The trace.
    pub sink: S,
    /// Totals.
    pub counters: Counters,
    /// The result of every operation.
    pub results: Vec<OpResult>,
}

/// The bytes of every file at the end of a run, whole.
pub struct Contents {
    /// What a reader would see.
    pub seen: Vec<Vec<u8>>,
    /// What the device holds.
    pub durable: Vec<Vec<u8>>,
}

/// Runs a scenario with one of its settings.
pub fn run<S: Sink>(scenario: &Scenario, variant: &Variant, sink: S) -> Result<Run<S>, Stuck> {
    run_and_look(scenario, variant, sink, |_, _| ()).map(|(run, ())| run)
}

/// The same, and what is in the files afterwards: as many bytes as they are long.
pub fn run_and_read<S: Sink>(
    scenario: &Scenario,
    variant: &Variant,
    sink: S,
) -> Result<(Run<S>, Contents), Stuck> {
    run_and_look(scenario, variant, sink, |engine, sim| {
        let files = || (0..scenario.files.len()).map(|at| FileId::new(at as u32));
        Contents {
            seen: files().map(|file| peek_bytes(engine, sim, file)).collect(),
            durable: files().map(|file| sim.durable_bytes(engine, file)).collect(),
        }
    })
}

fn run_and_look<S: Sink, T>(
    scenario: &Scenario,
    variant: &Variant,
    sink: S,
    look: impl FnOnce(&Engine<Simulated<S>>, &Sim) -> T,
) -> Result<(Run<S>, T), Stuck> {
    let geometry = scenario.geometry;
    let mut sim = Sim::new(scenario.device);
    if let Some(kind) = scenario.array {
        let array = Array::new(kind, variant.behaviours.array_thread);
        sim.set_array(array.expect("checked when it was read"));
    }
    let mut space = SpaceAllocator::new(DevAddr::new(1 << 30), None);
    for extent in scenario.files.iter().flat_map(|file| file.extents.iter().flatten()) {
        space.skip_to(extent.addr + extent.range.len());
    }
    let config = Config {
        geometry,
        behaviours: variant.behaviours,
        stable_writes: false,
        frames: scenario.frames.clone(),
        space,
        readahead: ReadaheadLimits::new(geometry, scenario.readahead, ReadaheadLimits::DEFAULT_IO),
        queue: scenario.queue_of(variant),
        partition: scenario.partition,
    };
    let engine: Engine<Simulated<S>> =
        Engine::new(config, HeapFrames::new(geometry.page_size()), sink);
    if scenario.keep_going {
        engine.keep_going();
    }
    for file in &scenario.files {
        let provider = start_file(geometry, file, sim.store_mut(), scenario.partition);
        engine.open(file.size, provider);
    }
    let mut results = Vec::with_capacity(scenario.ops.len());
    if let Some(free) = scenario.free_blocks {
        engine.limit_space(geometry.blocks_bytes(free));
    }
    let mut armed = Armed::new(scenario);
    for (at, op) in scenario.ops.iter().enumerate() {
        armed.arm(at, &engine, &mut sim);
        results.push(run_op(&engine, &mut sim, *op, armed.user(at))?);
    }
    let looked = look(&engine, &sim);
    let header = Header {
        engine: crate::ENGINE_VERSION.to_owned(),
        title: scenario.title.clone(),
        profile: variant.profile.clone(),
        behaviours: variant.behaviours,
        geometry,
        source: Source::Simulated,
    };
    let counters = engine.counters();
    Ok((Run { header, sink: engine.into_sink(), counters, results }, looked))
}

fn start_file(
    geometry: Geometry,
    file: &StartFile,
    store: &mut Store,
    partition: Bytes,
) -> Provider {
    if file.fs == FileSystem::Memory {
        return Provider::Memory;
    }
    let Some(extents) = &file.extents else {
        let len = Bytes::new(file.size.get());
        fill(store, DevAddr::ZERO + partition, len, file.fill);
        return Provider::BlockDev(BlockDev::new(len));
    };
    let mut fs = Extents::new(geometry);
    fs.set_prealloc(file.prealloc);
    for extent in extents {
        fs.set_shared(extent.range, file.shared);
        fs.map_mut().set(extent.range, extent.state, Some(extent.addr));
        if extent.state == crate::iomap::MapType::Mapped {
            // Bytes of the last block behind EOF are zero, as every writeback leaves them.
            let held = extent.range.intersect(FileRange::between(Pos::ZERO, file.size));
            fill(store, extent.addr + partition, held.len(), file.fill);
        }
    }
    match file.fs {
        FileSystem::Extents | FileSystem::Memory => Provider::Extents(fs),
        FileSystem::Ext2 => {
            let first = extents.first().map_or(DevAddr::ZERO, |extent| extent.addr);
            let len = file.size.since(Pos::ZERO);
            let (fs, _) = Indirect::written(geometry, len, first).expect("it fitted when read");
            Provider::Indirect(fs)
        }
    }
}

fn fill(store: &mut Store, at: DevAddr, len: Bytes, byte: u8) {
    const PART: u64 = 4096;
    let part = vec![byte; PART as usize];
    for start in (0..len.get()).step_by(PART as usize) {
        let n = PART.min(len.get() - start);
        store.write(at + Bytes::new(start), &part[..n as usize]);
    }
}

fn run_op<E: Env>(
    engine: &Engine<E>,
    sim: &mut Sim,
    op: ScenarioOp,
    faults: Vec<UserFault>,
) -> Result<OpResult, Stuck> {
    let task = TaskId::new(1);
    match op.action {
        Action::Pread { range, nowait } => {
            let mut dest = Discard(range.len());
            let flags = ReadFlags { nowait, ..ReadFlags::default() };
            drive(engine, sim, engine.pread(task, op.file, range.start(), &mut dest, flags))
        }
        Action::Pwrite { range, byte, dsync, nowait } => {
            let mut source = BadFrom { good: Fill { byte, len: range.len() }, faults };
            let flags = WriteFlags { dsync, nowait, ..WriteFlags::default() };
            drive(engine, sim, engine.pwrite(task, op.file, range.start(), &mut source, flags))
        }
        Action::Fsync => drive(engine, sim, engine.fsync(task, op.file, false)),
        Action::Fdatasync => drive(engine, sim, engine.fsync(task, op.file, true)),
        Action::Syncfs => drive(engine, sim, engine.syncfs(task)),
        Action::Reclaim(pages) => Ok(engine.reclaim(task, pages)),
        Action::MmapLoad(range) => drive(engine, sim, engine.mmap_load(task, op.file, range)),
        Action::MmapStore { range, byte } => {
            drive(engine, sim, engine.mmap_store(task, op.file, range, byte))
        }
        Action::Msync(range) => drive(engine, sim, engine.msync(task, op.file, range)),
        Action::SyncRange(range, flags) => {
            drive(engine, sim, engine.sync_file_range(task, op.file, range, flags))
        }
        Action::Truncate(size) => drive(engine, sim, engine.truncate(task, op.file, size)),
        Action::Fallocate(mode, range) => {
            drive(engine, sim, engine.fallocate(task, op.file, mode, range))
        }
        Action::Seek { pos, data } => Ok(engine.seek(task, op.file, pos, data)),
    }
}
