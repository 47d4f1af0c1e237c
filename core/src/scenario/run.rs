//! A scenario as a run on a simulated device.

use super::fault::FaultKind;
use super::perform::act;
use super::{Action, FileSystem, Scenario, ScenarioOp, StartFile, Variant, order};
use crate::counters::Counters;
use crate::device::array::Array;
use crate::device::sim::{Sim, peek_bytes};
use crate::device::store::Store;
use crate::device::zoned::Zoned;
use crate::engine::{BackgroundTask, Engine, Stuck, beside, drive};
use crate::frames::{BadFrom, HeapFrames, UserDest, UserSource};
use crate::fs::blockdev::BlockDev;
use crate::fs::extents::Extents;
use crate::fs::indirect::Indirect;
use crate::fs::{Provider, SpaceAllocator};
use crate::geometry::Geometry;
use crate::ops::OpResult;
use crate::ops::readahead::ReadaheadLimits;
use crate::tasks::Hangs;
use crate::trace::header::{Header, Source};
use crate::trace::sink::Sink;
use crate::units::{Bytes, DevAddr, FileId, FileRange, Offset, Pos};
use crate::world::{Config, Env, World};
use core::marker::PhantomData;

/// Heap memory and a sink.
pub struct Simulated<S>(PhantomData<S>);

impl<S: Sink> Env for Simulated<S> {
    type Sink = S;
    type Frames = HeapFrames;
}

/// Why a run did not come to its end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunError {
    /// An operation hangs.
    #[error(transparent)]
    Stuck(#[from] Stuck),
    /// Tasks hang.
    #[error(transparent)]
    Hangs(#[from] Hangs),
}

/// An engine with the files of a scenario, and its device.
pub struct Simulation<S: Sink> {
    /// The engine.
    pub engine: Engine<Simulated<S>>,
    /// The device.
    pub sim: Sim,
}

/// What a run gave.
pub struct Run<S> {
    /// What the trace says about it.
    pub header: Header,
    /// The trace.
    pub sink: S,
    /// Totals.
    pub counters: Counters,
    /// The invariant that broke first, and where.
    pub broken: Option<(u8, Pos)>,
    /// The result of every operation.
    pub results: Vec<OpResult>,
    /// Steps of the schedule, from 1, that found nothing to do.
    pub idle_steps: Vec<usize>,
}

/// The bytes of every file at the end of a run, whole.
pub struct Contents {
    /// What a reader would see.
    pub seen: Vec<Vec<u8>>,
    /// What the device holds.
    pub durable: Vec<Vec<u8>>,
}

/// Runs a scenario with one of its settings.
pub fn run<S: Sink>(scenario: &Scenario, variant: &Variant, sink: S) -> Result<Run<S>, RunError> {
    run_and_look(scenario, variant, sink, |_, _| ()).map(|(run, ())| run)
}

/// The same, and what is in the files afterwards: as many bytes as they are long.
pub fn run_and_read<S: Sink>(
    scenario: &Scenario,
    variant: &Variant,
    sink: S,
) -> Result<(Run<S>, Contents), RunError> {
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
) -> Result<(Run<S>, T), RunError> {
    let Simulation { engine, mut sim } = Simulation::new(scenario, variant, sink);
    let (results, idle_steps) = order::run_ops(scenario.of(variant), &engine, &mut sim)?;
    let looked = look(&engine, &sim);
    let header = header_of(scenario, variant);
    let counters = engine.counters();
    let broken = engine.look(World::first_broken);
    Ok((Run { header, sink: engine.into_sink(), counters, broken, results, idle_steps }, looked))
}

/// What the trace of a scenario says about its run.
pub(crate) fn header_of(scenario: &Scenario, variant: &Variant) -> Header {
    let several = scenario.tasks.len() > 1;
    Header {
        engine: crate::ENGINE_VERSION.to_owned(),
        title: scenario.title.clone(),
        profile: variant.profile.clone(),
        behaviours: variant.behaviours,
        geometry: scenario.geometry,
        source: Source::Simulated,
        tasks: if several { scenario.tasks.clone() } else { Vec::new() },
    }
}

impl<S: Sink> Simulation<S> {
    /// Before the first operation.
    pub fn new(scenario: &Scenario, variant: &Variant, sink: S) -> Self {
        let held = Store::default();
        let mut new = Self::with_store(scenario, variant, sink, held);
        if scenario.ops.iter().any(|op| matches!(op.action, Action::PowerCut(_))) {
            new.sim.track_power();
            new.engine.track_records();
        }
        new
    }
    /// The same on a device that holds something already.
    pub fn with_store(scenario: &Scenario, variant: &Variant, sink: S, held: Store) -> Self {
        let scenario = scenario.of(variant);
        let geometry = scenario.geometry;
        let mut sim = Sim::new(scenario.device);
        scenario.disks.iter().for_each(|disk| sim.add_device(*disk));
        *sim.store_mut() = held;
        let io = ReadaheadLimits::DEFAULT_IO;
        let config = Config {
            geometry,
            behaviours: variant.behaviours,
            stable_writes: false,
            frames: scenario.frames.clone(),
            space: free_space(scenario),
            readahead: ReadaheadLimits::new(geometry, scenario.readahead, io),
            queue: scenario.queue_of(variant),
            partition: scenario.partition,
        };
        let engine = Engine::new(config, HeapFrames::new(geometry.page_size()), sink);
        if scenario.keep_going {
            engine.keep_going();
        }
        if let Some(dirty) = scenario.dirty {
            engine.limit_dirty(dirty);
        }
        for file in &scenario.files {
            let provider = start_file(geometry, file, sim.store_mut(), scenario.partition);
            let id = match file.driver {
                None => engine.open(file.size, provider),
                Some(driver) => engine.open_buffered(file.size, provider, driver),
            };
            engine.set_bdi(id, file.on);
        }
        if let Some(free) = scenario.free_blocks {
            engine.limit_space(geometry.blocks_bytes(free));
        }
        if let Some(zones) = scenario.zones {
            let mut zoned = Zoned::new(zones, geometry.block_size());
            for extent in scenario.files.iter().flat_map(|file| file.extents.iter().flatten()) {
                if extent.state == crate::iomap::MapType::Mapped {
                    zoned.hold(extent.addr + scenario.partition, extent.range.len());
                }
            }
            sim.set_zones(zoned);
        }
        if let Some(kind) = scenario.array {
            let array = Array::new(kind, variant.behaviours.array_thread);
            let mut array = array.expect("checked when it was read");
            array.start_without(scenario.array_failed);
            sim.set_array(array);
        }
        Self { engine, sim }
    }
    /// Runs one operation with the memory of the application that it reads to, or writes from;
    /// these faults are for it alone.
    pub fn perform(
        &mut self,
        op: &ScenarioOp,
        dest: &mut dyn UserDest,
        source: &mut dyn UserSource,
        faults: &[FaultKind],
    ) -> Result<OpResult, Stuck> {
        let Self { engine, sim } = self;
        let (engine, background) = (&*engine, &mut [][..]);
        Runner { engine, sim, background }.perform(op, dest, source, faults)
    }
}

/// Where space is given out that nobody had before: behind all files, and from 1 GiB on unless a
/// disk is small.
fn free_space(scenario: &Scenario) -> SpaceAllocator {
    let first = if scenario.small_disk().is_some() { 0 } else { 1 << 30 };
    let extents = scenario.files.iter().flat_map(|file| file.extents.iter().flatten());
    let mut space = SpaceAllocator::new(DevAddr::new(first), None);
    extents.for_each(|extent| space.skip_to(extent.addr + extent.range.len()));
    scenario.small_disk().into_iter().for_each(|end| space.end_at(end));
    space
}

/// What an operation needs to run: the engine, the device, and the tasks of the background that go
/// on meanwhile.
pub struct Runner<'r, 'a, E: Env> {
    /// The engine.
    pub engine: &'r Engine<E>,
    /// The device.
    pub sim: &'r mut Sim,
    /// The flushers, if dirty pages are limited.
    pub background: &'r mut [BackgroundTask<'a>],
}

impl<E: Env> Runner<'_, '_, E> {
    /// As [`Simulation::perform`].
    pub fn perform(
        &mut self,
        op: &ScenarioOp,
        dest: &mut dyn UserDest,
        source: &mut dyn UserSource,
        faults: &[FaultKind],
    ) -> Result<OpResult, Stuck> {
        let Self { engine, sim, background } = self;
        if faults.is_empty() {
            return drive(*engine, *sim, beside(act(engine, op, dest, source), background));
        }
        let mut of_engine = Vec::new();
        let mut user = Vec::new();
        for fault in faults {
            match *fault {
                FaultKind::Engine(fault) => of_engine.push(fault),
                FaultKind::Device(fault) => sim.add_fault(fault),
                FaultKind::User(fault) => user.push(fault),
            }
        }
        drop(engine.replace_faults(of_engine));
        let mut source = BadFrom { good: Borrowed(source), faults: user };
        let performed = beside(act(engine, op, dest, &mut source), background);
        let result = drive(*engine, *sim, performed);
        drop(engine.replace_faults(Vec::new()));
        drop(sim.replace_faults(Vec::new()));
        result
    }
}

/// Memory of somebody else.
struct Borrowed<'a>(&'a mut dyn UserSource);

impl UserSource for Borrowed<'_> {
    fn len(&self) -> Bytes {
        self.0.len()
    }
    fn copy_in(&mut self, at: Offset, to: &mut [u8]) -> Bytes {
        self.0.copy_in(at, to)
    }
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
            let at = extent.addr + partition;
            fill(store, at, held.len(), file.fill);
            let tail = geometry.round_up_block(held.end()).since(held.end());
            fill(store, at + held.len(), tail, 0);
        }
    }
    match file.fs {
        FileSystem::Zone(zone) => Provider::Zone(zone),
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
