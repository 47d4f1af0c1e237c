//! Runs a golden's operations through the engine with the mappings that the kernel had.

use super::compare::{self, Verdict};
use super::golden::{Extent, Golden, IoendAdd, Map, PerRun, PhysRuns};
use super::observe::{Lists, observe};
use super::script::{self, Act, Step};
use super::setup;
use folioscope_core::behaviour::Profile;
use folioscope_core::block::limits::QueueLimits;
use folioscope_core::cache::frame_alloc::FramePolicy;
use folioscope_core::device::sim::{Sim, Timing};
use folioscope_core::engine::{Engine, drive, settle};
use folioscope_core::frames::{Discard, Fill, HeapFrames};
use folioscope_core::fs::scripted::{Answer, Scripted};
use folioscope_core::fs::{Provider, SpaceAllocator};
use folioscope_core::geometry::Geometry;
use folioscope_core::iomap::{Intent, Iomap, MapType, Mapping};
use folioscope_core::ops::readahead::ReadaheadLimits;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::{
    Bytes, DevAddr, FileId, FileRange, Order, PageIndex, Pages, Pos, Sector, TaskId,
};
use folioscope_core::world::{Config, Env};
use std::collections::{BTreeMap, VecDeque};

/// Largest folio of the captured kernels: 2 MiB.
pub(super) const MAX_ORDER: Order = Order::new(9);
pub(super) const TASK: TaskId = TaskId::new(1);

/// An engine that records every step.
pub(super) struct Traced;

impl Env for Traced {
    type Sink = Recording;
    type Frames = HeapFrames;
}

/// What the engine did.
pub(super) struct Outcome {
    /// A step's lists, each.
    pub(super) lists: Vec<Lists>,
    /// What every file holds on the device at the end.
    pub(super) content: BTreeMap<String, Vec<u8>>,
}

/// Executes a case, once for each of its runs if their memory layouts are known, and compares.
pub(super) fn run(golden: &Golden) -> Result<Verdict, String> {
    let steps = script::steps(golden)?;
    let plain = execute(golden, &steps, None)?;
    let mut runs = Vec::new();
    for per_run in &golden.per_run {
        runs.push(execute(golden, &steps, Some(per_run))?);
    }
    Ok(compare::verdict(golden, &plain, &runs, steps.len()))
}

fn execute(golden: &Golden, steps: &[Step], layout: Option<&PerRun>) -> Result<Outcome, String> {
    let geometry =
        Geometry::new(Bytes::new(golden.page_size), Bytes::new(golden.fs.block_size), MAX_ORDER)
            .map_err(|error| error.to_string())?;
    let profile = profile_of(&golden.kernel)?;
    let config = Config {
        geometry,
        behaviours: profile.behaviours,
        stable_writes: false,
        frames: FramePolicy::Packed,
        space: SpaceAllocator::new(DevAddr::ZERO, None),
        readahead: ReadaheadLimits::new(
            geometry,
            Bytes::kib(golden.device.limits.read_ahead_kb),
            Bytes::kib(golden.device.limits.max_sectors_kb),
        ),
        queue: Some(QueueLimits {
            bytes: Bytes::kib(golden.device.limits.max_sectors_kb),
            segments: golden.device.limits.max_segments,
            segment: Bytes::new(golden.device.limits.max_segment_size),
            ..QueueLimits::USUAL
        }),
        partition: Bytes::ZERO,
    };
    let engine: Engine<Traced> =
        Engine::new(config, HeapFrames::new(geometry.page_size()), Recording::default());
    let mut sim = Sim::new(Timing::Ram);
    let held = setup::contents(golden)?;
    let mut extents: Vec<Vec<Extent>> = Vec::new();
    for name in &golden.files {
        let state = golden.before.get(name).ok_or_else(|| format!("`before` lacks {name}"))?;
        let mut provider = Scripted::new(geometry);
        if let Some(inline) = state.extents.iter().find(|extent| extent.state == "inline") {
            let start = (inline.off as usize).min(held[name].len());
            provider.set_inline(Pos::new(inline.off), held[name][start..].to_vec());
        }
        engine.open(Pos::new(state.size), Provider::Scripted(provider));
        store(&mut sim, &held[name], &state.extents);
        extents.push(state.extents.clone());
    }
    let mut ends = Vec::new();
    let mut followed = None;
    for (at, step) in steps.iter().enumerate() {
        let now = layout.and_then(|layout| layout_at(layout, at));
        if let Some((nth, runs)) = now.filter(|now| followed != Some(now.0)) {
            engine.set_frames(frames(golden, runs));
            followed = Some(nth);
        }
        for (file, name) in golden.files.iter().enumerate() {
            let after = golden
                .extent_changes
                .iter()
                .rfind(|change| change.step == at && change.file == *name)
                .map_or_else(|| extents[file].clone(), |change| change.extents.clone());
            let answers = answers(golden, at, file, name, step, (&extents[file], &after));
            if step.act.reshapes() && file == step.file {
                prepare_reshape(
                    &engine,
                    file,
                    &extents[file],
                    &written_by(golden, at, name),
                    answers,
                );
            } else {
                prepare(&engine, file, (&extents[file], &after), answers);
            }
            extents[file] = after;
        }
        act(&engine, &mut sim, FileId::new(step.file as u32), &step.act)?;
        ends.push(engine.look(|world| world.sink().len()));
    }
    for (file, name) in golden.files.iter().enumerate() {
        let after = golden.after.get(name).map_or(&extents[file], |state| &state.extents);
        prepare(&engine, file, (&extents[file], after), Vec::new());
    }
    act(&engine, &mut sim, FileId::new(0), &Act::Syncfs)?;
    for file in 0..golden.files.len() {
        setup::within(engine.size(FileId::new(file as u32)).get())?;
    }
    let content =
        golden.files.iter().enumerate().map(|(file, name)| {
            (name.clone(), sim.durable_bytes(&engine, FileId::new(file as u32)))
        });
    let content = content.collect();
    let recording = engine.into_sink();
    Ok(Outcome { lists: observe(geometry, &golden.files, &recording, &ends), content })
}

/// The newest profile that is no newer than the kernel of a golden.
pub(super) fn profile_of(kernel: &str) -> Result<Profile, String> {
    let mut parts = kernel.split('.');
    let (major, minor) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let name = format!("linux-{major}.{minor}");
    Profile::named(&name).ok_or_else(|| format!("no profile for the kernel {kernel}"))
}

/// The layout of memory that is valid at a step, and which one of its run it is.
fn layout_at(layout: &PerRun, step: usize) -> Option<(usize, &PhysRuns)> {
    layout.phys_runs.iter().enumerate().find(|(_, runs)| runs.to.is_none_or(|to| step < to))
}

fn frames(golden: &Golden, layout: &PhysRuns) -> FramePolicy {
    let page = golden.page_size;
    let runs = layout.runs.iter().filter_map(|(name, pos, len)| {
        let file = golden.files.iter().position(|file| file == name)?;
        Some((FileId::new(file as u32), PageIndex::new(pos / page), Pages::new(len.div_ceil(page))))
    });
    FramePolicy::Scripted(runs.collect())
}

fn store(sim: &mut Sim, bytes: &[u8], extents: &[Extent]) {
    for extent in extents.iter().filter(|extent| extent.state == "written") {
        let Some(sector) = extent.sector else { continue };
        let start = (extent.off as usize).min(bytes.len());
        let end = ((extent.off + extent.len) as usize).min(bytes.len());
        sim.store_mut().write(Sector::new(sector).addr(), &bytes[start..end]);
    }
}

pub(super) fn range_of(off: u64, len: u64) -> FileRange {
    FileRange::between(Pos::new(off), Pos::new(off.saturating_add(len)))
}

/// Gives the provider of a file what writeback may see in a step: the extents after it, as
/// unwritten blocks where there was nothing written before.
fn prepare(
    engine: &Engine<Traced>,
    file: usize,
    (before, after): (&[Extent], &[Extent]),
    answers: Vec<Answer>,
) {
    engine.with_provider(FileId::new(file as u32), |provider| {
        let Provider::Scripted(fs) = provider else { return };
        fs.map_mut().clear(range_of(0, 1 << 50));
        for extent in after {
            let range = range_of(extent.off, extent.len);
            let addr = extent.sector.map(|sector| Sector::new(sector).addr());
            let state = match (addr, extent.state.as_str()) {
                (None, "inline") => MapType::Inline,
                (None, _) => MapType::Delalloc,
                (Some(_), _) => MapType::Unwritten,
            };
            fs.map_mut().set(range, state, addr);
            for old in before.iter().filter(|old| old.state == "written") {
                let same = range.intersect(range_of(old.off, old.len));
                if let (Some(addr), false) = (addr, same.is_empty()) {
                    let at = addr + same.start().since(range.start());
                    fs.map_mut().set(same, MapType::Mapped, Some(at));
                }
            }
        }
        fs.expect(answers);
    });
}

/// Gives the provider of a file what writeback may see in a step that changes its extents: those
/// before it, and under what is written the mappings by which the kernel wrote.
fn prepare_reshape(
    engine: &Engine<Traced>,
    file: usize,
    before: &[Extent],
    written: &[Iomap],
    answers: Vec<Answer>,
) {
    engine.with_provider(FileId::new(file as u32), |provider| {
        let Provider::Scripted(fs) = provider else { return };
        fs.map_mut().clear(range_of(0, 1 << 50));
        for extent in before {
            let addr = extent.sector.map(|sector| Sector::new(sector).addr());
            let state = match (addr, extent.state.as_str()) {
                (None, _) => MapType::Delalloc,
                (Some(_), "unwritten") => MapType::Unwritten,
                (Some(_), _) => MapType::Mapped,
            };
            fs.map_mut().set(range_of(extent.off, extent.len), state, addr);
        }
        for map in written {
            fs.map_mut().set(map.range, map.kind, map.addr);
        }
        fs.expect(answers);
    });
}

/// The mappings by which a file was written in a step.
fn written_by(golden: &Golden, at: usize, name: &str) -> Vec<Iomap> {
    let first = golden.files.first().map_or("", String::as_str);
    let mine = |add: &&IoendAdd| add.step == at && add.file.as_deref().unwrap_or(first) == name;
    let map = |add: &IoendAdd| {
        let kind = MapType::ALL.into_iter().find(|kind| kind.name() == add.kind)?;
        let (off, len) = add.map_off.zip(add.map_len).unwrap_or((add.pos, add.added));
        let addr = Sector::new(add.sector?).addr().get().checked_sub(add.pos.checked_sub(off)?)?;
        Some(Iomap::plain(range_of(off, len), kind, Some(DevAddr::new(addr)), 0))
    };
    golden.ioend_adds.iter().filter(mine).filter_map(map).collect()
}

/// The mappings that the kernel gave in a step.
fn answers(
    golden: &Golden,
    at: usize,
    file: usize,
    name: &str,
    step: &Step,
    (before, after): (&[Extent], &[Extent]),
) -> Vec<Answer> {
    if golden.lite {
        return if file == step.file { derived(step, before, after) } else { Vec::new() };
    }
    let first = golden.files.first().map_or("", String::as_str);
    let mine = |map: &&Map| map.step == at && map.file.as_deref().unwrap_or(first) == name;
    let maps: Vec<&Map> = golden.maps.iter().filter(mine).collect();
    maps.iter()
        .filter(|map| map.which == "dst")
        .map(|map| {
            let source = maps.iter().find(|src| src.which == "src" && src.iter == map.iter);
            let flags = map.iter.and_then(|iter| golden.iters.get(iter)).map_or("", |it| &it.flags);
            let intent = if flags.contains("UNSHARE") {
                Intent::Unshare
            } else if flags.contains("ZERO") {
                Intent::Zero
            } else if flags.contains("WRITE") {
                Intent::Write
            } else {
                Intent::Read
            };
            let mapping = Mapping { iomap: iomap(map), srcmap: source.map(|map| iomap(map)) };
            Answer { intent: Some(intent), metadata: VecDeque::new(), mapping }
        })
        .collect()
}

fn iomap(map: &Map) -> Iomap {
    let kind =
        MapType::ALL.into_iter().find(|kind| kind.name() == map.kind).unwrap_or(MapType::Hole);
    let addr = map.sector.map(|sector| Sector::new(sector).addr());
    Iomap {
        new: map.flags.contains("NEW"),
        shared: map.flags.contains("SHARED"),
        ..Iomap::plain(range_of(map.off, map.len), kind, addr, 0)
    }
}

/// Mappings of a golden that kept none: the extents after the step, as a promise where there was
/// nothing before.
fn derived(step: &Step, before: &[Extent], after: &[Extent]) -> Vec<Answer> {
    let (range, intent) = match &step.act {
        Act::Write { range, .. } => (*range, Intent::Write),
        Act::Read(range, _) => (*range, Intent::Read),
        Act::Fsync { .. }
        | Act::Syncfs
        | Act::Fadvise(..)
        | Act::MmapLoad(_)
        | Act::MmapStore(..)
        | Act::Msync(_)
        | Act::SyncRange(..)
        | Act::Madvise(_)
        | Act::Munmap
        | Act::Truncate(_)
        | Act::Fallocate(..)
        | Act::Calls(_) => return Vec::new(),
    };
    let held = |pos: Pos| {
        before
            .iter()
            .find(|old| !range_of(old.off, old.len).intersect(range_of(pos.get(), 1)).is_empty())
    };
    let touched = after
        .iter()
        .map(|extent| (extent, range_of(extent.off, extent.len)))
        .filter(|(_, whole)| !whole.intersect(range).is_empty());
    touched
        .map(|(extent, whole)| {
            let start = whole.start().max(range.start());
            let old = held(start);
            let kind = match old.map(|old| old.state.as_str()) {
                Some("written") => MapType::Mapped,
                Some("unwritten") => MapType::Unwritten,
                Some(_) | None => MapType::Delalloc,
            };
            let addr = extent.sector.map(|sector| Sector::new(sector).addr());
            let addr = addr.filter(|_| kind != MapType::Delalloc);
            let iomap = Iomap { new: old.is_none(), ..Iomap::plain(whole, kind, addr, 0) };
            Answer {
                intent: Some(intent),
                metadata: VecDeque::new(),
                mapping: Mapping { iomap, srcmap: None },
            }
        })
        .collect()
}

/// Carries out a call, and waits until nothing is in flight.
pub(super) fn act(
    engine: &Engine<Traced>,
    sim: &mut Sim,
    file: FileId,
    act: &Act,
) -> Result<(), String> {
    let done = match act {
        Act::Write { range, byte, flags } => {
            let mut source = Fill { byte: *byte, len: range.len() };
            drive(engine, sim, engine.pwrite(TASK, file, range.start(), &mut source, *flags))
        }
        Act::Read(range, flags) => {
            let mut dest = Discard(range.len());
            drive(engine, sim, engine.pread(TASK, file, range.start(), &mut dest, *flags))
        }
        Act::Fsync { data_only } => drive(engine, sim, engine.fsync(TASK, file, *data_only)),
        Act::Syncfs => drive(engine, sim, engine.syncfs(TASK)),
        Act::Fadvise(range, advice) => {
            drive(engine, sim, engine.fadvise(TASK, file, *range, *advice))
        }
        Act::MmapStore(range, byte) => {
            drive(engine, sim, engine.mmap_store(TASK, file, *range, *byte))
        }
        Act::Msync(range) => drive(engine, sim, engine.msync(TASK, file, *range)),
        Act::SyncRange(range, flags) => {
            drive(engine, sim, engine.sync_file_range(TASK, file, *range, *flags))
        }
        Act::MmapLoad(range) => drive(engine, sim, engine.mmap_load(TASK, file, *range)),
        Act::Truncate(size) => drive(engine, sim, engine.truncate(TASK, file, *size)),
        Act::Fallocate(mode, range) => {
            drive(engine, sim, engine.fallocate(TASK, file, *mode, *range))
        }
        Act::Madvise(advice) => {
            engine.madvise(file, *advice);
            return Ok(());
        }
        Act::Munmap => {
            engine.munmap(file);
            return Ok(());
        }
        Act::Calls(calls) => {
            return calls.iter().try_for_each(|call| self::act(engine, sim, file, call));
        }
    };
    // The capture waited until nothing was in flight. An error of the operation itself shows as a
    // difference in what it did.
    settle(engine, sim);
    done.map(drop).map_err(|stuck| stuck.to_string())
}
