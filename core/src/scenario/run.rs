//! A scenario as a run on a simulated device.

use super::{FileSystem, Scenario, StartFile, Variant, order};
use crate::cache::frame_alloc::FramePolicy;
use crate::counters::Counters;
use crate::device::sim::{Sim, peek_bytes};
use crate::device::store::Store;
use crate::engine::{Engine, Stuck};
use crate::frames::HeapFrames;
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
use crate::units::{Bytes, DevAddr, FileId, FileRange, Pos};
use crate::world::{Config, Env};
use core::marker::PhantomData;

/// Heap memory and a sink.
pub(super) struct Simulated<S>(PhantomData<S>);

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
    let (engine, mut sim) = start(scenario, variant, sink);
    let (results, idle_steps) = order::run_ops(scenario, &engine, &mut sim)?;
    let looked = look(&engine, &sim);
    let several = scenario.tasks.len() > 1;
    let header = Header {
        engine: crate::ENGINE_VERSION.to_owned(),
        title: scenario.title.clone(),
        profile: variant.profile.clone(),
        behaviours: variant.behaviours,
        geometry: scenario.geometry,
        source: Source::Simulated,
        tasks: if several { scenario.tasks.clone() } else { Vec::new() },
    };
    let counters = engine.counters();
    Ok((Run { header, sink: engine.into_sink(), counters, results, idle_steps }, looked))
}

/// The engine, its files and its device, before the first operation.
pub(super) fn start<S: Sink>(
    scenario: &Scenario,
    variant: &Variant,
    sink: S,
) -> (Engine<Simulated<S>>, Sim) {
    let geometry = scenario.geometry;
    let mut sim = Sim::new(scenario.device);
    let mut space = SpaceAllocator::new(DevAddr::new(1 << 30), None);
    for extent in scenario.files.iter().flat_map(|file| file.extents.iter().flatten()) {
        space.skip_to(extent.addr + extent.range.len());
    }
    let config = Config {
        geometry,
        behaviours: variant.behaviours,
        stable_writes: false,
        frames: FramePolicy::Packed,
        space,
        readahead: ReadaheadLimits::new(geometry, scenario.readahead, ReadaheadLimits::DEFAULT_IO),
        queue: scenario.queue_of(variant),
        partition: scenario.partition,
    };
    let engine = Engine::new(config, HeapFrames::new(geometry.page_size()), sink);
    if scenario.keep_going {
        engine.keep_going();
    }
    for file in &scenario.files {
        let provider = start_file(geometry, file, sim.store_mut(), scenario.partition);
        engine.open(file.size, provider);
    }
    if let Some(free) = scenario.free_blocks {
        engine.limit_space(geometry.blocks_bytes(free));
    }
    (engine, sim)
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
