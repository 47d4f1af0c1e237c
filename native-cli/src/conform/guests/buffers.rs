//! What guests whose files keep their blocks in buffers had: mappings behind arrays of pointers,
//! places that ext4 allocated, and what a worker wrote back on its own.

use super::Stack;
use super::format::{GuestCase, GuestOp, Mapping as Row, folded, name, number, text};
use super::place::metadata;
use crate::conform::execute::{Traced, range_of};
use folioscope_core::engine::Engine;
use folioscope_core::fs::scripted::Answer;
use folioscope_core::fs::{Metadata, Provider};
use folioscope_core::geometry::Geometry;
use folioscope_core::iomap::{Intent, Iomap, MapType, Mapping};
use folioscope_core::units::{Bytes, DevAddr, FileId, FileRange, SECTOR_SIZE};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// The mappings that ext4 found behind arrays of pointers in an operation, with the arrays that it
/// read for each.
pub(super) fn indirect_answers(
    engine: &Engine<Traced>,
    op: &GuestOp,
    stack: Stack,
    mine: &impl Fn(u64) -> bool,
) -> Vec<Answer> {
    let size = engine.look(|world| world.snapshot().geometry().block_size());
    let block = size.get();
    let mut answers: Vec<Answer> = Vec::new();
    let mut blocks = VecDeque::new();
    for row in &op.ev {
        if name(row) == "Q" {
            blocks.extend(metadata(row, stack).map(|(addr, len)| Metadata {
                addr: DevAddr::new(addr),
                len: Bytes::new(len),
                meta: text(row, 2).contains('M'),
            }));
        }
        let map = match Row::parse(row, size) {
            Some(Row::Begins(_)) => {
                blocks.clear();
                continue;
            }
            Some(Row::Ends(map)) => map.filter(|map| mine(map.ino)),
            None => continue,
        };
        let Some(map) = map else { continue };
        let range = range_of(map.block * block, map.len.max(1) * block);
        let addr = map.place.map(|place| DevAddr::new(place * block));
        let kind = if addr.is_some() { MapType::Mapped } else { MapType::Hole };
        let plain = Iomap::plain(range, kind, addr, 0);
        let iomap = Iomap { new: map.new, reads_next: map.boundary, ..plain };
        let intent = match (map.creates, kind) {
            (true, _) => Some(Intent::Write),
            (false, MapType::Hole) => Some(Intent::Read),
            (false, _) => None,
        };
        let metadata = std::mem::take(&mut blocks);
        answers.push(Answer { intent, metadata, mapping: Mapping { iomap, srcmap: None } });
    }
    answers
}

/// Extents of a snapshot, in bytes.
pub(super) fn extents_of(rows: &[(u64, u64, u64, String)]) -> Vec<Iomap> {
    let one = |(logical, physical, sectors, _): &(u64, u64, u64, String)| {
        let range = range_of(logical * SECTOR_SIZE, sectors * SECTOR_SIZE);
        let addr = DevAddr::new(physical * SECTOR_SIZE);
        Iomap::plain(range, MapType::Mapped, Some(addr), 0)
    };
    rows.iter().map(one).collect()
}

/// Extents as ext4 allocates them: at once no more than a chunk that depends on the file's size,
/// aligned to itself (`ext4_mb_normalize_request`).
pub(super) fn ext4_allocations(extents: &[Iomap], size: u64) -> Vec<Iomap> {
    const MIB: u64 = 1 << 20;
    let chunk = match size {
        0..=MIB => MIB,
        size if size <= 4 * MIB => 2 * MIB,
        size if size <= 8 * MIB => 4 * MIB,
        _ => 8 * MIB,
    };
    let mut pieces = Vec::new();
    for map in extents {
        let mut at = map.range.start().get();
        while at < map.range.end().get() {
            let end = ((at / chunk + 1) * chunk).min(map.range.end().get());
            pieces.push(map.cut_to(range_of(at, end - at)));
            at = end;
        }
    }
    pieces
}

/// What of a file a worker wrote back in an operation, when the kernel saw fit: of a block device,
/// or of a file on an array.
pub(super) fn flushed_by_worker(
    case: &GuestCase,
    op: &GuestOp,
    stack: Stack,
    file: &str,
) -> Vec<FileRange> {
    let whole_device = stack == Stack::BlockDevice;
    let of_array = |row: &[Value]| text(row, 1).starts_with("md") && !text(row, 2).contains('M');
    let counts = |row: &[Value]| whole_device || stack == Stack::Xfs && of_array(row);
    let writes = op.ev.iter().filter(|row| {
        let by_worker = text(row, 5).starts_with("kworker");
        name(row) == "Q" && text(row, 2).starts_with('W') && by_worker && counts(row)
    });
    let range = |row: &Vec<Value>| {
        let (sector, sectors) = (number(row, 3)?, number(row, 4)?);
        let sector = if whole_device { sector } else { in_file(case, file, sector)? };
        Some(range_of(sector * SECTOR_SIZE, sectors * folded(row) * SECTOR_SIZE))
    };
    writes.filter_map(range).collect()
}

/// The sector of a file that lies at a sector of the device.
pub(super) fn in_file(case: &GuestCase, file: &str, sector: u64) -> Option<u64> {
    let all = case.extents.get(file)?.iter().flat_map(|snapshot| &snapshot.ext);
    let mut holders = all.filter(|(_, at, len, _)| (*at..at + len).contains(&sector));
    holders.next().map(|(logical, at, ..)| logical + (sector - at))
}

/// The questions about blocks that the kernel asked, too: file, block, blocks asked for, whether
/// they are to be made. What was to be made was looked for first.
pub(super) fn answered(
    engine: &Engine<Traced>,
    files: &[String],
    op: &GuestOp,
    geometry: Geometry,
) -> Vec<Value> {
    let block = geometry.block_size().get();
    // Ext4 looks before it makes a block, unless it remembers that nothing lies there.
    let looked = |at: u64| {
        op.ev.iter().any(|row| match Row::parse(row, geometry.block_size()) {
            Some(Row::Begins(Some(map))) => map.block == at && !map.creates,
            Some(Row::Begins(None) | Row::Ends(_)) | None => false,
        })
    };
    let mut all = Vec::new();
    for (file, name) in files.iter().enumerate() {
        engine.with_provider(FileId::new(file as u32), |provider| {
            let Provider::Scripted(fs) = provider else { return };
            for (intent, pos, len) in fs.take_answered() {
                let row = |creates| json!([name, pos.get() / block, len.get() / block, creates]);
                if intent != Intent::Write || looked(pos.get() / block) {
                    all.push(row(false));
                }
                if intent == Intent::Write {
                    all.push(row(true));
                }
            }
        });
    }
    all
}
