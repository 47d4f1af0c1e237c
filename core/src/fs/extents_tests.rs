//! Mappings that Linux 6.18 gave for buffered writes on XFS, with what the list of extents says.

use super::cow::CowFork;
use super::extents::Extents;
use super::prealloc::Prealloc;
use super::*;
use crate::iomap::MapType;
use crate::iomap::MapType::{Delalloc, Hole, Mapped, Unwritten};
use crate::units::{DevAddr, Order};

const KIB: u64 = 1024;

fn file(extents: &[(u64, u64, u64)]) -> Extents {
    let page = Bytes::new(4096);
    let geometry = Geometry::new(page, page, Order::ZERO).expect("sizes fit");
    let mut fs = Extents::new(geometry);
    for (start, len, addr) in extents {
        fs.map_mut().set(range(*start, *len), MapType::Mapped, Some(DevAddr::new(*addr)));
    }
    fs
}

fn range(start: u64, len: u64) -> FileRange {
    FileRange::between(Pos::new(start), Pos::new(start + len))
}

/// Position and bytes, type, new, shared; and the source's position and bytes.
type Row = ((u64, u64), MapType, bool, bool, Option<(u64, u64)>);

fn write(fs: &mut Extents, start: u64, len: u64, size: u64) -> Row {
    let mapping = fs.begin(range(start, len), Intent::Write, Pos::new(size));
    let place = |map: &Iomap| (map.range.start().get(), map.range.len().get());
    let map = mapping.iomap;
    (place(&map), map.kind, map.new, map.shared, mapping.srcmap.as_ref().map(place))
}

#[test]
fn a_write_behind_eof_reserves_more() {
    // `w_random_4k_new`: nothing adjacent, so 64 KiB from the last multiple of 64 KiB on.
    let mut fs = file(&[]);
    fs.set_prealloc(Prealloc::Dynamic);
    assert_eq!(write(&mut fs, 532_480, 4096, 0), ((532_480, 4096), Delalloc, true, false, None));
    let at = |start, len| ((start, len), Delalloc, true, false, None);
    assert_eq!(write(&mut fs, 749_568, 4096, 536_576), at(749_568, 36_864));
    // Something follows: only what is asked for.
    assert_eq!(write(&mut fs, 57_344, 4096, 753_664), at(57_344, 4096));
    fs.map_mut().set(range(749_568, 36_864), Unwritten, Some(DevAddr::new(98_304)));
    assert_eq!(write(&mut fs, 974_848, 4096, 753_664), at(974_848, 8192));
    // Twice the stretch that ends where the write begins, as a power of two.
    let mut fs = file(&[(0, 300 * KIB, 1 << 20), (300 * KIB, 100 * KIB, (1 << 20) + 300 * KIB)]);
    fs.set_prealloc(Prealloc::Dynamic);
    let end = 400 * KIB / (64 * KIB) * 64 * KIB + 512 * KIB;
    assert_eq!(write(&mut fs, 400 * KIB, 4096, 400 * KIB), at(400 * KIB, end - 400 * KIB));
    let mut fs = file(&[]);
    fs.set_prealloc(Prealloc::Fixed(Bytes::kib(1024)));
    assert_eq!(write(&mut fs, 4096, 4096, 0), at(4096, (1024 - 4) * KIB));
    // 1024 pages at a time, whatever is asked.
    let mut fs = file(&[]);
    assert_eq!(write(&mut fs, 0, 9 << 20, 0), at(0, 4 << 20));
}

#[test]
fn a_write_to_shared_blocks_goes_to_the_cow_fork() {
    // `r_cow_mid`: 128 KiB are reserved, the source is the part that is asked for.
    let mut fs = file(&[(0, 1 << 20, 98_304)]);
    fs.set_shared(range(0, 1 << 20), true);
    let new = |at, source| ((at, 128 * KIB), Delalloc, true, true, Some(source));
    let source = (256 * KIB, 64 * KIB);
    assert_eq!(write(&mut fs, 256 * KIB, 64 * KIB, 1 << 20), new(256 * KIB, source));
    // `r_cow_scatter`: found again, it is not new, and the source is the whole extent.
    let mut fs = file(&[(0, 1 << 20, 98_304)]);
    fs.set_shared(range(0, 1 << 20), true);
    assert_eq!(write(&mut fs, 0, 4096, 1 << 20), new(0, (0, 4096)));
    let found = ((0, 128 * KIB), Delalloc, false, true, Some((0, 1 << 20)));
    assert_eq!(write(&mut fs, 12_288, 4096, 1 << 20), found);
    assert_eq!(write(&mut fs, 102_400, 4096, 1 << 20), found);
    assert_eq!(write(&mut fs, 512 * KIB, 4096, 1 << 20), new(512 * KIB, (512 * KIB, 4096)));
    assert_eq!(write(&mut fs, 1_044_480, 4096, 1 << 20), new(896 * KIB, (1_044_480, 4096)));
    // `r_part_shared`: what is not shared is cut where sharing begins.
    let mut fs = file(&[(0, 1 << 20, 98_304)]);
    fs.set_shared(range(256 * KIB, 256 * KIB), true);
    let own = ((128 * KIB, 128 * KIB), Mapped, false, false, None);
    assert_eq!(write(&mut fs, 128 * KIB, 512 * KIB, 1 << 20), own);
    let part = (256 * KIB, 256 * KIB);
    let row = (part, Delalloc, true, true, Some(part));
    assert_eq!(write(&mut fs, 256 * KIB, 384 * KIB, 1 << 20), row);
}

#[test]
fn writeback_takes_the_cow_fork_first_and_completion_puts_it_in_place() {
    let mut fs = file(&[(0, 64 * KIB, 98_304)]);
    fs.set_shared(range(0, 64 * KIB), true);
    fs.set_cow_hint(Bytes::new(16 * KIB));
    write(&mut fs, 20 * KIB, 4096, 64 * KIB);
    let mut space = SpaceAllocator::new(DevAddr::new(1 << 20), None);
    // Before the reservation the data fork's mapping ends where the CoW fork begins.
    let (map, _) = fs.writeback_map(range(0, 64 * KIB), &mut space).expect("there is space");
    assert_eq!((map.kind, map.shared, map.range), (Mapped, false, range(0, 16 * KIB)));
    let (map, got) = fs.writeback_map(range(20 * KIB, 4096), &mut space).expect("there is space");
    assert_eq!((map.kind, map.shared, map.range), (Unwritten, true, range(16 * KIB, 16 * KIB)));
    assert_eq!(got.map(|got| got.range), Some(range(16 * KIB, 16 * KIB)));
    // Only what is sent is put in place.
    fs.send(range(20 * KIB, 4096));
    let given_up = fs.remap(range(20 * KIB, 4096));
    assert_eq!(given_up, vec![(DevAddr::new(98_304 + 20 * KIB), Bytes::new(4096))]);
    let now = fs.map().lookup(Pos::new(20 * KIB), Pos::new(24 * KIB));
    assert_eq!((now.kind, now.addr), (Mapped, Some(DevAddr::new((1 << 20) + 4096))));
    let cow = fs.cow().map(CowFork::shared).expect("it shares");
    assert_eq!(cow.lookup(Pos::new(20 * KIB), Pos::new(24 * KIB)).kind, Hole);
    assert_eq!(cow.lookup(Pos::new(16 * KIB), Pos::new(20 * KIB)).kind, Mapped);
    // A failed one is given back.
    write(&mut fs, 32 * KIB, 4096, 64 * KIB);
    fs.cancel(range(32 * KIB, 16 * KIB), &[range(0, 1024 * KIB)]);
    let (map, _) = fs.writeback_map(range(32 * KIB, 4096), &mut space).expect("there is space");
    assert_eq!(
        (map.shared, map.addr_of(Pos::new(32 * KIB))),
        (false, Some(DevAddr::new(98_304 + 32 * KIB)))
    );
}

#[test]
fn a_mapping_of_the_cow_fork_is_stale_after_a_change_of_either_fork() {
    let mut fs = file(&[(0, 64 * KIB, 98_304)]);
    fs.set_shared(range(0, 32 * KIB), true);
    fs.set_cow_hint(Bytes::new(16 * KIB));
    let size = Pos::new(64 * KIB);
    let shared = fs.begin(range(0, 4096), Intent::Write, size).iomap;
    let own = fs.begin(range(48 * KIB, 4096), Intent::Write, size).iomap;
    assert!(fs.is_valid(&shared) && fs.is_valid(&own));
    fs.send(range(0, 4096));
    fs.cow_mut().expect("it shares").fork_mut().clear(range(64 * KIB, 4096));
    assert!(!fs.is_valid(&shared) && fs.is_valid(&own));
}

#[test]
fn a_failed_write_gives_back_what_it_asked_for_and_no_more() {
    let mut fs = file(&[]);
    fs.set_prealloc(Prealloc::Fixed(Bytes::kib(64)));
    let asked = range(0, 10_000);
    let mapping = fs.begin(asked, Intent::Write, Pos::ZERO);
    assert_eq!(mapping.iomap.range, range(0, 64 * KIB));
    // The first block was filled: two more were asked for, and the rest is there for later.
    let released = fs.end(&mapping, asked, Pos::new(100), |_| false);
    assert_eq!(released, Some(range(4096, 8192)));
    let kind = |fs: &Extents, at| fs.map().lookup(Pos::new(at), Pos::new(at + 1)).kind;
    assert_eq!([0, 4096, 8192, 12_288].map(|at| kind(&fs, at)), [Delalloc, Hole, Hole, Delalloc]);
    // The same in the CoW fork, whose reservations are aligned pieces.
    let mut fs = file(&[(0, 64 * KIB, 98_304)]);
    fs.set_shared(range(0, 64 * KIB), true);
    fs.set_cow_hint(Bytes::new(16 * KIB));
    let asked = range(4096, 4096);
    let mapping = fs.begin(asked, Intent::Write, Pos::new(64 * KIB));
    assert_eq!(mapping.iomap.range, range(0, 16 * KIB));
    assert_eq!(fs.end(&mapping, asked, asked.start(), |_| false), Some(asked));
    let cow = fs.cow().map(CowFork::fork).expect("it shares");
    let held: Vec<u64> = cow.iter().map(|(at, extent)| at.get() + extent.len.get()).collect();
    assert_eq!(held, [1, 4]);
}
