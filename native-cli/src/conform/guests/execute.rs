//! Runs the operations of a case through the engine, with the mappings that the kernel had.

use super::Stack;
use super::command::Line;
use super::format::{Common, GuestCase, GuestOp, MapText, Queue, name, text};
use super::observe::{Lists, View, observe};
use super::place::{WritebackMap, file_of, metadata};
use super::version;
use crate::conform::execute::{MAX_ORDER, Traced, act, profile_of, range_of};
use folioscope_core::cache::frame_alloc::FramePolicy;
use folioscope_core::device::sim::{Sim, Timing};
use folioscope_core::engine::Engine;
use folioscope_core::frames::HeapFrames;
use folioscope_core::fs::blockdev::BlockDev;
use folioscope_core::fs::scripted::{Answer, Scripted};
use folioscope_core::fs::{Provider, SpaceAllocator};
use folioscope_core::geometry::Geometry;
use folioscope_core::iomap::{Iomap, MapType, Mapping};
use folioscope_core::ops::readahead::ReadaheadLimits;
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
/// The first kernel whose block devices have large folios.
const LARGE_BLOCK_DEVICE: (u32, u32) = (6, 15);
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
    let large = match stack {
        Stack::Xfs => true,
        Stack::Gfs2 | Stack::Array => false,
        Stack::BlockDevice => version >= LARGE_BLOCK_DEVICE,
    };
    let max_order = if large { MAX_ORDER } else { Order::ZERO };
    let geometry =
        Geometry::new(PAGE, block_size(case)?, max_order).map_err(|error| error.to_string())?;
    let config = Config {
        geometry,
        behaviours: profile_of(&common.kernel)?.behaviours,
        stable_writes: false,
        frames: FramePolicy::Packed,
        space: SpaceAllocator::new(DevAddr::ZERO, None),
        readahead: limits(common, case, geometry)?,
        queue: None,
        partition: Bytes::ZERO,
    };
    let engine: Engine<Traced> = Engine::new(config, HeapFrames::new(PAGE), Recording::default());
    let mut sim = Sim::new(Timing::Ram);
    let files = files(lines, executed);
    for file in &files {
        let (size, provider) = start(case, stack, lines, file, geometry);
        engine.open(size, provider);
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
        parts.push((*at, start..end, unanswered(&engine, files.len())));
    }
    let recording = engine.into_sink();
    let mut model = Model::new(geometry);
    let opened = parts.first().map_or(0, |part| part.1.start);
    let nothing = View { files: &files, file: "", blocks_only: false };
    observe(&nothing, &mut model, &recording, 0..opened);
    let read = |(at, steps, unanswered): (usize, std::ops::Range<usize>, Vec<Value>)| {
        let file = lines[at].file.as_deref().unwrap_or("");
        let view = View { files: &files, file, blocks_only: version < PRINTS_DIRTY_RANGE };
        let mut lists = observe(&view, &mut model, &recording, steps);
        lists.maps.extend(unanswered);
        (at, lists)
    };
    Ok(parts.into_iter().map(read).collect())
}

/// The block size that a geometry such as `mkfs.xfs -b size=1024` names.
fn block_size(case: &GuestCase) -> Result<Bytes, String> {
    let mut words = case.geometry.split(' ').skip_while(|word| *word != "-b").skip(1);
    let Some(word) = words.next() else { return Ok(PAGE) };
    parse_size(word.trim_start_matches("size="))
        .map_err(|_| format!("the geometry `{}` names no block size behind -b", case.geometry))
}

fn limits(
    common: &Common,
    case: &GuestCase,
    geometry: Geometry,
) -> Result<ReadaheadLimits, String> {
    let mut queues = case.limits.values().chain(common.limits.values());
    let Queue { read_ahead_kb, max_sectors_kb, .. } =
        *queues.next().ok_or("the case names no limits of its device")?;
    Ok(ReadaheadLimits::new(geometry, Bytes::kib(read_ahead_kb), Bytes::kib(max_sectors_kb)))
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
    (Pos::new(size), Provider::Scripted(Scripted::new(geometry)))
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
    let mut answers: Vec<Answer> = Vec::new();
    let mut writeback = Vec::new();
    let mut blocks = VecDeque::new();
    for row in &op.ev {
        match name(row) {
            "gfs2_iomap_start" => blocks.clear(),
            "Q" => {
                let block = metadata(row);
                blocks.extend(block.map(|(addr, len)| (DevAddr::new(addr), Bytes::new(len))));
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
