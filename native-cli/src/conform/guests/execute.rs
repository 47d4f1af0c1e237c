//! Runs the operations of a case through the engine, with the mappings that the kernel had.

use super::Stack;
use super::buffers::{answered, ext4_allocations, extents_of, flushed_by_worker, indirect_answers};
use super::command::Line;
use super::format::{
    Common, GuestCase, GuestOp, MapText, Queue, SchedulerName, is_mapping, name, text,
};
use super::observe::{Lists, View, observe};
use super::place::{WritebackMap, file_of, metadata};
use super::version;
use crate::conform::execute::{MAX_ORDER, Traced, act, profile_of, range_of};
use crate::conform::script::Act;
use folioscope_core::block::limits::QueueLimits;
use folioscope_core::block::queue::Scheduler;
use folioscope_core::cache::frame_alloc::FramePolicy;
use folioscope_core::device::sim::{Sim, Timing};
use folioscope_core::engine::Engine;
use folioscope_core::frames::HeapFrames;
use folioscope_core::fs::blockdev::BlockDev;
use folioscope_core::fs::scripted::{Answer, Scripted};
use folioscope_core::fs::{Metadata, Provider, SpaceAllocator};
use folioscope_core::geometry::Geometry;
use folioscope_core::iomap::{Iomap, MapType, Mapping};
use folioscope_core::ops::readahead::ReadaheadLimits;
use folioscope_core::ops::sync::RangeSync;
use folioscope_core::scenario::size::parse_size;
use folioscope_core::trace::model::Model;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::{Bytes, DevAddr, FileId, Order, Pos};
use folioscope_core::world::Config;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Pages of the guests.
const PAGE: Bytes = Bytes::kib(4);
/// The disks of the guests that were used raw.
const DISK: Bytes = Bytes::kib(1 << 20);
/// The first kernel that prints the range that writeback maps.
const PRINTS_DIRTY_RANGE: (u32, u32) = (6, 9);

/// What the engine did in each executed operation.
pub(super) fn execute(
    common: &Common,
    case: &GuestCase,
    stack: Stack,
    lines: &[Line],
    executed: &[usize],
) -> Result<Vec<(usize, Lists)>, String> {
    let version = version(&common.kernel)?;
    // The profile knows whether drivers of buffers have large folios.
    let large = !matches!(stack, Stack::Gfs2 | Stack::Array);
    let limits = limits(common, case)?;
    let max_order = if large { MAX_ORDER } else { Order::ZERO };
    let geometry =
        Geometry::new(PAGE, block_size(case)?, max_order).map_err(|error| error.to_string())?;
    let config = Config {
        geometry,
        behaviours: profile_of(&common.kernel)?.behaviours,
        stable_writes: false,
        frames: FramePolicy::Packed,
        space: SpaceAllocator::new(DevAddr::ZERO, None),
        readahead: ReadaheadLimits::new(
            geometry,
            Bytes::kib(limits.read_ahead_kb),
            Bytes::kib(limits.max_sectors_kb),
        ),
        queue: (stack != Stack::Array).then(|| QueueLimits {
            bytes: Bytes::kib(limits.max_sectors_kb),
            segments: limits.max_segments,
            segment: Bytes::new(limits.max_segment_size),
            ..QueueLimits::USUAL
        }),
        partition: Bytes::ZERO,
    };
    let engine: Engine<Traced> = Engine::new(config, HeapFrames::new(PAGE), Recording::default());
    if limits.scheduler == SchedulerName::MqDeadline {
        engine.set_scheduler(Scheduler::MqDeadline);
    }
    let mut sim = Sim::new(Timing::Ram);
    let files = files(lines, executed);
    for file in &files {
        let (size, provider) = start(case, stack, lines, file, geometry);
        match stack.driver() {
            None => engine.open(size, provider),
            Some(driver) => engine.open_buffered(size, provider, driver),
        };
    }
    let mut parts = Vec::new();
    for at in executed {
        let (line, op) = (&lines[*at], &case.ops[*at]);
        let start = engine.look(|world| world.sink().len());
        for (file, name) in files.iter().enumerate() {
            prepare(&engine, FileId::new(file as u32), (case, stack), op, name);
        }
        let own = line.file.as_ref().and_then(|name| files.iter().position(|file| file == name));
        let own = FileId::new(own.unwrap_or(0) as u32);
        engine.reopen(own);
        for call in &line.calls {
            act(&engine, &mut sim, own, call)?;
        }
        let end = engine.look(|world| world.sink().len());
        let blocks = answered(&engine, &files, op, geometry);
        parts.push((*at, start..end, unanswered(&engine, files.len()), blocks));
        for range in flushed_by_worker(case, op, stack, line.file.as_deref().unwrap_or("")) {
            let write = RangeSync { write: true, wait_after: true, ..RangeSync::default() };
            act(&engine, &mut sim, own, &Act::SyncRange(range, write))?;
        }
    }
    let recording = engine.into_sink();
    let mut model = Model::new(geometry);
    let opened = parts.first().map_or(0, |part| part.1.start);
    let nothing =
        View { files: &files, file: "", blocks_only: false, flushes: false, buffers: false };
    observe(&nothing, &mut model, &recording, 0..opened);
    let mut read_to = opened;
    let mut all = Vec::new();
    for (at, steps, unanswered, blocks) in parts {
        let file = lines[at].file.as_deref().unwrap_or("");
        let blocks_only = version < PRINTS_DIRTY_RANGE;
        // What a worker did in between is nobody's.
        observe(&nothing, &mut model, &recording, read_to..steps.start);
        read_to = steps.end;
        let view = View {
            files: &files,
            file,
            blocks_only,
            flushes: stack.flushes(),
            buffers: stack.driver().is_some(),
        };
        let mut lists = observe(&view, &mut model, &recording, steps);
        lists.maps.extend(unanswered);
        lists.blocks = blocks;
        all.push((at, lists));
    }
    Ok(all)
}

/// The block size that a geometry such as `mkfs.xfs -b size=1024` names.
pub(super) fn block_size(case: &GuestCase) -> Result<Bytes, String> {
    let mut words = case.geometry.split(' ').skip_while(|word| *word != "-b").skip(1);
    let Some(word) = words.next() else { return Ok(PAGE) };
    parse_size(word.trim_start_matches("size="))
        .map_err(|_| format!("the geometry `{}` names no block size behind -b", case.geometry))
}

fn limits(common: &Common, case: &GuestCase) -> Result<Queue, String> {
    let mut queues = case.limits.values().chain(common.limits.values());
    queues.next().copied().ok_or_else(|| "the case names no limits of its device".to_owned())
}

/// The files that the operations name, in order of their first use.
fn files(lines: &[Line], executed: &[usize]) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for name in executed.iter().filter_map(|at| lines[*at].file.as_ref()) {
        if !files.contains(name) {
            files.push(name.clone());
        }
    }
    files
}

/// Size and mappings of a file before the first operation.
fn start(
    case: &GuestCase,
    stack: Stack,
    lines: &[Line],
    file: &str,
    geometry: Geometry,
) -> (Pos, Provider) {
    if stack == Stack::BlockDevice {
        return (Pos::new(DISK.get()), Provider::BlockDev(BlockDev::new(DISK)));
    }
    let first = lines.iter().find(|line| line.file.as_deref() == Some(file));
    let made = first.is_some_and(|line| line.creates);
    let snapshot = case.extents.get(file).and_then(|all| all.first());
    let size = snapshot.filter(|_| !made).map_or(0, |snapshot| snapshot.size);
    let mut script = Scripted::new(geometry);
    if stack.driver().is_some() {
        let last = case.extents.get(file).and_then(|all| all.last());
        let extents = last.map_or_else(Vec::new, |last| extents_of(&last.ext));
        let before = if made { &[][..] } else { &extents };
        for map in before {
            script.map_mut().set(map.range, map.kind, map.addr);
        }
        script.allocate_from(ext4_allocations(&extents, last.map_or(0, |last| last.size)));
    } else if !case.ops.iter().any(|op| op.ev.iter().any(|row| is_mapping(row))) {
        // Long cases were captured without what the file system maps.
        let extents = snapshot.map_or_else(Vec::new, |last| extents_of(&last.ext));
        for map in extents.iter().filter(|_| !made) {
            script.map_mut().set(map.range, map.kind, map.addr);
        }
        script.allocate_from(extents);
    }
    (Pos::new(size), Provider::Scripted(script))
}

/// Gives a file the mappings that the kernel had in an operation.
fn prepare(
    engine: &Engine<Traced>,
    file: FileId,
    (case, stack): (&GuestCase, Stack),
    op: &GuestOp,
    path: &str,
) {
    let mine = |ino| file_of(case, ino) == Some(path);
    if stack.driver().is_some() {
        let answers = indirect_answers(engine, op, stack, &mine);
        engine.with_provider(file, |provider| {
            let Provider::Scripted(fs) = provider else { return };
            fs.expect(answers);
        });
        return;
    }
    let mut answers: Vec<Answer> = Vec::new();
    let mut writeback = Vec::new();
    let mut blocks = VecDeque::new();
    for row in &op.ev {
        match name(row) {
            "gfs2_iomap_start" => blocks.clear(),
            "Q" => {
                blocks.extend(metadata(row, stack).map(|(addr, len)| Metadata {
                    addr: DevAddr::new(addr),
                    len: Bytes::new(len),
                    meta: true,
                }));
            }
            "iomap_iter_dstmap" => {
                let Some(map) = MapText::parse(text(row, 1)).filter(|map| mine(map.ino)) else {
                    continue;
                };
                let mapping = Mapping { iomap: iomap(&map), srcmap: None };
                // Only gfs2 says in which of its calls it reads; XFS has its extents in memory.
                let metadata = std::mem::take(&mut blocks);
                let metadata = if stack == Stack::Gfs2 { metadata } else { VecDeque::new() };
                answers.push(Answer { intent: None, metadata, mapping });
            }
            "iomap_iter_srcmap" => {
                let map = MapText::parse(text(row, 1)).filter(|map| mine(map.ino));
                if let (Some(map), Some(last)) = (map, answers.last_mut()) {
                    last.mapping.srcmap = Some(iomap(&map));
                }
            }
            "iomap_writepage_map" | "iomap_add_to_ioend" => {
                writeback.extend(WritebackMap::parse(row).filter(|map| mine(map.ino)));
            }
            _ => {}
        }
    }
    engine.with_provider(file, |provider| {
        let Provider::Scripted(fs) = provider else { return };
        for map in writeback {
            let range = range_of(map.off, map.len);
            let kind = kind(map.kind);
            if kind == MapType::Hole {
                fs.map_mut().clear(range);
            } else {
                fs.map_mut().set(range, kind, Some(DevAddr::new(map.addr)));
            }
        }
        fs.expect(answers);
    });
}

fn kind(name: &str) -> MapType {
    MapType::ALL.into_iter().find(|kind| kind.name() == name).unwrap_or(MapType::Hole)
}

fn iomap(map: &MapText<'_>) -> Iomap {
    Iomap {
        new: map.flags.contains("NEW"),
        shared: map.flags.contains("SHARED"),
        ..Iomap::plain(range_of(map.off, map.len), kind(map.kind), map.addr.map(DevAddr::new), 0)
    }
}

/// Questions that the kernel did not ask in this operation, as rows that it does not have.
fn unanswered(engine: &Engine<Traced>, files: usize) -> Vec<Value> {
    let mut all = Vec::new();
    for file in 0..files {
        engine.with_provider(FileId::new(file as u32), |provider| {
            let Provider::Scripted(fs) = provider else { return };
            let asked = fs.take_unanswered();
            all.extend(asked.into_iter().map(|(_, pos)| json!(["not asked", pos.get()])));
        });
    }
    all
}
