//! What the kernel did, in file offsets: sectors are looked up in the mappings and extents of the
//! case, so that the allocator's choices are not compared.

use super::Stack;
use super::command::Line;
use super::format::{GuestCase, GuestOp, MapText, Mapping, folded, name, number, text};
use super::observe::Lists;
use super::queue::{self, Covered};
use folioscope_core::units::Bytes;
use serde_json::{Value, json};

const SECTOR: u64 = 512;
/// The program of every command.
const PROGRAM: &str = "xfs_io";

/// Bytes of a file that lie at a place on the device.
struct Place {
    addr: u64,
    len: u64,
    file: String,
    off: u64,
}

/// The lists of every operation.
pub(super) fn expected(
    case: &GuestCase,
    stack: Stack,
    lines: &[Line],
    version: (u32, u32),
    block: Bytes,
) -> Vec<Lists> {
    let elsewhere: Vec<Place> = case.ops.iter().flat_map(|op| places_of(case, op)).collect();
    let mut after: Vec<Place> = Vec::new();
    for (file, snapshots) in &case.extents {
        for (logical, physical, sectors, _) in snapshots.iter().flat_map(|one| &one.ext) {
            after.push(Place {
                addr: physical * SECTOR,
                len: sectors * SECTOR,
                file: file.clone(),
                off: logical * SECTOR,
            });
        }
    }
    case.ops
        .iter()
        .zip(lines)
        .map(|(op, line)| {
            let file = |ino| match stack {
                Stack::BlockDevice => line.file.as_deref(),
                Stack::Xfs
                | Stack::Gfs2
                | Stack::Gfs2Journaled
                | Stack::Array
                | Stack::Ext2
                | Stack::Ext4 => file_of(case, ino),
            };
            let here = places_of(case, op);
            let device = whole_device(line, stack);
            let places = [&here, &elsewhere, &after, &device];
            let mut lists = Lists::default();
            let mut mapping = false;
            let mut covered = Covered::new();
            for row in &op.ev {
                match Mapping::parse(row, block) {
                    Some(Mapping::Begins(map)) => {
                        mapping = true;
                        if let Some(map) = map
                            && let Some(file) = file(map.ino)
                        {
                            lists.blocks.push(json!([file, map.block, map.len, map.creates]));
                        }
                    }
                    Some(Mapping::Ends(_)) => mapping = false,
                    None if mapping && name(row) == "Q" => {
                        let read = metadata(row, stack);
                        covered.extend(read.map(|(addr, len)| sectors(addr, len)));
                        let told = read.map(|block| json!([text(row, 2), "metadata", block.1]));
                        lists.bios.extend(told);
                        continue;
                    }
                    None => {}
                }
                push_row(&mut lists, row, &file, (&places, stack), version, &mut covered);
            }
            for row in &op.ev {
                queue::push(&mut lists.queue, row, &covered);
            }
            for (ino, off, order, count) in &op.folios_added {
                let Some(file) = file(*ino) else { continue };
                let size = 4096 << order;
                lists
                    .folios_added
                    .extend((0..*count).map(|nth| json!([file, off + nth * size, order])));
            }
            for (bytes, count) in &op.faultin {
                lists.faultin.extend((0..*count).map(|_| json!(bytes)));
            }
            lists
        })
        .collect()
}

/// The file with an inode number.
pub(super) fn file_of(case: &GuestCase, ino: u64) -> Option<&str> {
    let mut files = case.extents.iter();
    let found = files.find(|(_, snapshots)| snapshots.iter().any(|one| one.ino == ino))?;
    Some(found.0)
}

/// The places that an operation's mappings name.
fn places_of(case: &GuestCase, op: &GuestOp) -> Vec<Place> {
    let place = |ino, addr, len, off| {
        let file = file_of(case, ino)?.to_owned();
        Some(Place { addr, len, file, off })
    };
    let row = |row: &Vec<Value>| match name(row) {
        "iomap_iter_dstmap" | "iomap_iter_srcmap" => {
            let map = MapText::parse(text(row, 1))?;
            place(map.ino, map.addr?, map.len, map.off)
        }
        "iomap_writepage_map" | "iomap_add_to_ioend" => {
            let map = WritebackMap::parse(row)?;
            place(map.ino, map.addr, map.len, map.off)
        }
        _ => None,
    };
    op.ev.iter().filter_map(row).collect()
}

/// A mapping that writeback used.
pub(super) struct WritebackMap<'a> {
    pub(super) ino: u64,
    /// The dirty range that was to be mapped; 6.1 does not print it.
    pub(super) dirty: Option<(u64, u64)>,
    pub(super) addr: u64,
    pub(super) off: u64,
    pub(super) len: u64,
    pub(super) kind: &'a str,
}

impl<'a> WritebackMap<'a> {
    /// Reads a row of `iomap_writepage_map` or `iomap_add_to_ioend`.
    pub(super) fn parse(row: &'a [Value]) -> Option<Self> {
        // The type is the first word behind the numbers.
        let kind = (2..row.len()).find(|at| row[*at].is_string())?;
        let dirty = (kind == 7).then(|| Some((number(row, 2)?, number(row, 3)?)));
        Some(Self {
            ino: number(row, 1)?,
            dirty: dirty.flatten(),
            addr: number(row, kind.checked_sub(3)?)?,
            off: number(row, kind - 2)?,
            len: number(row, kind - 1)?,
            kind: text(row, kind),
        })
    }
}

fn push_row<'a>(
    lists: &mut Lists,
    row: &[Value],
    file: &impl Fn(u64) -> Option<&'a str>,
    (places, stack): (&[&Vec<Place>], Stack),
    version: (u32, u32),
    covered: &mut Covered,
) {
    match name(row) {
        "Q" => push_bio(lists, row, places, stack, covered),
        "iomap_iter_dstmap" => {
            let Some(map) = MapText::parse(text(row, 1)) else { return };
            if let Some(file) = file(map.ino) {
                lists.maps.push(json!(["iomap_iter_dstmap", file, map.off, map.len]));
            }
        }
        "iomap_readahead" | "iomap_readpage" => {
            let pages = text(row, 1).rsplit(' ').next().and_then(|word| word.parse::<u64>().ok());
            lists.read_calls.push(json!([name(row), pages]));
        }
        "iomap_writepage" | "iomap_writeback_folio" => {
            let (Some(ino), Some(pos), Some(len)) =
                (number(row, 1), number(row, 2), number(row, 3))
            else {
                return;
            };
            let Some(file) = file(ino) else { return };
            lists.writeback_folios.extend(
                (0..folded(row)).map(|nth| json!(["writeback_folio", file, pos + nth * len, len])),
            );
        }
        "iomap_writepage_map" | "iomap_add_to_ioend" => {
            let Some(map) = WritebackMap::parse(row) else { return };
            let Some(file) = file(map.ino) else { return };
            match map.dirty {
                Some((pos, len)) => lists.writeback_maps.extend(
                    (0..folded(row)).map(|nth| json!(["mapped", file, pos + nth * len, len])),
                ),
                None if version < (6, 9) => lists.mapped_blocks += folded(row),
                None => {}
            }
        }
        _ => {}
    }
}

/// Address and bytes of a block of the file system's own that a row reads.
pub(super) fn metadata(row: &[Value], stack: Stack) -> Option<(u64, u64)> {
    // The ext4 driver reads arrays of pointers without a letter that tells them apart.
    let plain = matches!(stack, Stack::Ext2 | Stack::Ext4) && text(row, 5) == PROGRAM;
    let rw = text(row, 2);
    let reads = name(row) == "Q" && rw.starts_with('R') && (plain || rw.contains('M'));
    let block = (number(row, 3)? * SECTOR, number(row, 4)? * SECTOR);
    reads.then_some(block)
}

/// First sector of some bytes of the device, and the one behind the last.
const fn sectors(addr: u64, len: u64) -> (u64, u64) {
    (addr / SECTOR, (addr + len) / SECTOR)
}

/// All of a device that is read and written as a file.
fn whole_device(line: &Line, stack: Stack) -> Vec<Place> {
    let file = line.file.clone().filter(|_| stack == Stack::BlockDevice);
    file.into_iter().map(|file| Place { addr: 0, len: u64::MAX, file, off: 0 }).collect()
}

/// A data bio: one that a program's own work submitted and whose sectors belong to a file.
fn push_bio(
    lists: &mut Lists,
    row: &[Value],
    places: &[&Vec<Place>],
    stack: Stack,
    covered: &mut Covered,
) {
    let (rw, comm) = (text(row, 2), text(row, 5));
    let (Some(sector), Some(count)) = (number(row, 3), number(row, 4)) else { return };
    let buffers = stack.driver().is_some();
    if count == 0 && rw.starts_with('F') && comm == PROGRAM && stack.flushes() {
        lists.bios.push(json!([rw, "flush"]));
        return;
    }
    if count == 0 || rw.contains('M') || comm.starts_with("kworker") {
        return;
    }
    if buffers && comm != PROGRAM {
        return;
    }
    for nth in 0..folded(row) {
        let (addr, len) = ((sector + nth * count) * SECTOR, count * SECTOR);
        let all = places.iter().flat_map(|list| list.iter());
        let mut inside =
            all.filter(|place| (place.addr..place.addr.saturating_add(place.len)).contains(&addr));
        match inside.next() {
            Some(place) => {
                lists.bios.push(json!([rw, place.file, place.off + (addr - place.addr), len]));
                covered.push(sectors(addr, len));
            }
            // The journal of gfs2 is written without a letter that tells it apart.
            None if matches!(stack, Stack::Gfs2 | Stack::Gfs2Journaled) => {}
            None => lists.bios.push(json!([rw, "in no file", sector, len])),
        }
    }
}
