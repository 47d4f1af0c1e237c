//! Each rule of direct I/O and of reflink by itself: which way a write goes, what bios hold, and
//! what stores meanwhile mean.

mod common;

use common::{Kind, Rig, TASK, geometry};
use folioscope_core::behaviour::Behaviours;
use folioscope_core::block::bio::BioOp;
use folioscope_core::buffer::Driver;
use folioscope_core::counters::Counter;
use folioscope_core::device::fault::DeviceFault;
use folioscope_core::device::sim::{Timing, peek_bytes};
use folioscope_core::engine::{BoxedOp, Engine, WriteFlags, drive, settle};
use folioscope_core::errno::Errno;
use folioscope_core::fault::{Fault, FaultEffect, FaultPoint};
use folioscope_core::frames::{BadAfter, Fill};
use folioscope_core::fs::extents::Extents;
use folioscope_core::fs::zonefs::Zone;
use folioscope_core::fs::{Fork, Provider};
use folioscope_core::ops::fallocate::FallocMode;
use folioscope_core::stops::{Stop, StopPoint};
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::{BdiId, Bytes, DevAddr, FileId, FileRange, Pos, TaskId};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

fn range(start: u64, end: u64) -> FileRange {
    FileRange::between(Pos::new(start), Pos::new(end))
}

fn rig(kind: Kind) -> Rig<Recording> {
    let recording = Recording::default();
    Rig::new(geometry(4096, 1024, 2), Behaviours::default(), kind, recording)
}

/// Direction, place in the file and bytes of every bio past the cache.
fn direct_bios(rig: &Rig<Recording>) -> Vec<(u64, u64)> {
    rig.engine.look(|world| {
        let all = world.sink();
        let pads = [Rule::DirectMapped, Rule::DirectPads];
        let mine = (0..all.len()).map(|at| *all.step(at)).filter(|step| pads.contains(&step.rule));
        mine.map(|step| (step.args[0], step.args[1])).collect()
    })
}

fn seen(rig: &Rig<Recording>) -> Vec<u8> {
    peek_bytes(&rig.engine, &rig.sim, rig.file)
}

#[test]
fn a_direct_read_sees_dirty_bytes_and_leaves_them_cached_and_clean() {
    let mut rig = rig(Kind::Extents);
    rig.write(0, 16384, 7, false);
    assert_eq!(rig.read_direct(4096, 1024).expect("it reads"), [7; 1024]);
    let model = rig.engine.look(folioscope_core::world::World::snapshot);
    assert_eq!(model.folios().count(), 1, "the folio stays");
    assert_eq!(rig.sim.store().bytes(DevAddr::new(1 << 20), Bytes::new(16384)), [7; 16384]);
    assert!(rig.read_direct(1 << 20, 512).expect("behind EOF").is_empty());
    assert_eq!(rig.read_direct(0, 100), Err(Errno::Inval), "no whole sector");
}

#[test]
fn parts_of_a_new_block_are_zeroed_on_the_device() {
    let mut rig = rig(Kind::Extents);
    // What was there before must not show.
    rig.sim.store_mut().write(DevAddr::new(1 << 20), &[0xcd; 8192]);
    assert_eq!(rig.write_direct(512, 1024, 5), Ok(1024));
    assert_eq!(direct_bios(&rig), [(512, 1024), (0, 512), (1536, 512)]);
    assert_eq!(rig.durable(), [&[0; 512][..], &[5; 1024]].concat());
    // Inside written blocks nothing is zeroed, and nobody else is kept out.
    let before = direct_bios(&rig).len();
    assert_eq!(rig.write_direct(512, 512, 6), Ok(512));
    assert_eq!(direct_bios(&rig)[before..], [(512, 512)]);
    assert_eq!(rig.durable(), [&[0; 512][..], &[6; 512], &[5; 512]].concat());
}

#[test]
fn size_moves_when_the_last_bio_ends_and_not_after_an_error() {
    let mut rig = rig(Kind::Extents);
    rig.sim.add_fault(DeviceFault::eio(BioOp::Write, 0, 1));
    assert_eq!(rig.write_direct(0, 4096, 1), Err(Errno::Io));
    assert_eq!(rig.engine.size(rig.file), Pos::ZERO);
    assert_eq!(rig.write_direct(0, 4096, 1), Ok(4096));
    assert_eq!(rig.engine.size(rig.file), Pos::new(4096));
}

#[test]
fn memory_that_cannot_be_read_fails_the_whole_write() {
    let mut rig = rig(Kind::Extents);
    let good = Fill { byte: 3, len: Bytes::new(5000) };
    let mut source = BadAfter { good, len: Bytes::new(8192) };
    let flags = WriteFlags { direct: true, ..WriteFlags::default() };
    let op = rig.engine.pwrite(TASK, rig.file, Pos::ZERO, &mut source, flags);
    let done = drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs");
    assert_eq!(done.0, Err(Errno::Fault));
    // The whole sectors before it were sent, and the rest of their block is zero.
    assert_eq!(direct_bios(&rig), [(0, 8192), (4608, 512)]);
    assert_eq!(rig.engine.size(rig.file), Pos::ZERO);
}

#[test]
fn what_may_not_wait_fails_where_pages_are_cached_or_blocks_are_missing() {
    let mut rig = rig(Kind::Extents);
    let nowait = |rig: &mut Rig<Recording>| {
        let mut source = Fill { byte: 4, len: Bytes::new(4096) };
        let flags = WriteFlags { direct: true, nowait: true, ..WriteFlags::default() };
        let op = rig.engine.pwrite(TASK, rig.file, Pos::ZERO, &mut source, flags);
        drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs").0
    };
    assert_eq!(nowait(&mut rig), Err(Errno::Again), "no blocks");
    rig.write(0, 4096, 1, true);
    assert_eq!(nowait(&mut rig), Err(Errno::Again), "a page is cached");
    rig.engine.evict(rig.file, range(0, 4096));
    assert_eq!(nowait(&mut rig), Ok(Bytes::new(4096)));
}

#[test]
fn a_store_into_the_range_meanwhile_is_told_by_the_next_fsync() {
    let mut rig = rig(Kind::Extents);
    rig.write(0, 4096, 1, true);
    let (engine, file) = (&rig.engine, rig.file);
    let task = TaskId::new(9);
    engine.hold_at(Some(Stop { task, point: StopPoint::DirectSubmitted, at: None, passes: 0 }));
    let mut source = Fill { byte: 2, len: Bytes::new(4096) };
    let flags = WriteFlags { direct: true, ..WriteFlags::default() };
    let mut write: BoxedOp<'_> = Box::pin(engine.pwrite(task, file, Pos::ZERO, &mut source, flags));
    assert!(polls(&mut write).is_pending());
    // The fault reads what is there, old or new; the store makes it dirty.
    let store = engine.mmap_store(TASK, file, range(0, 10), 3);
    drive(engine, &mut rig.sim, store).expect("nothing hangs").0.expect("inside EOF");
    engine.release(task);
    let done = drive(engine, &mut rig.sim, write).expect("nothing hangs");
    assert_eq!(done.0, Ok(Bytes::new(4096)));
    assert_eq!(engine.counters().get(Counter::DirectCollisions), 1);
    let fsync = |rig: &mut Rig<Recording>| {
        let op = rig.engine.fsync(TASK, rig.file, false);
        drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs").0
    };
    assert_eq!(fsync(&mut rig), Err(Errno::Io));
    assert_eq!(fsync(&mut rig), Ok(Bytes::ZERO), "once");
}

#[test]
fn a_clean_folio_that_came_back_meanwhile_goes() {
    let mut rig = rig(Kind::Extents);
    rig.write(0, 4096, 1, true);
    let (engine, file) = (&rig.engine, rig.file);
    let task = TaskId::new(9);
    engine.hold_at(Some(Stop { task, point: StopPoint::DirectSubmitted, at: None, passes: 0 }));
    let mut source = Fill { byte: 2, len: Bytes::new(4096) };
    let flags = WriteFlags { direct: true, ..WriteFlags::default() };
    let mut write: BoxedOp<'_> = Box::pin(engine.pwrite(task, file, Pos::ZERO, &mut source, flags));
    assert!(polls(&mut write).is_pending());
    let load = engine.mmap_load(TASK, file, range(0, 10));
    drive(engine, &mut rig.sim, load).expect("nothing hangs").0.expect("inside EOF");
    engine.release(task);
    drive(engine, &mut rig.sim, write).expect("nothing hangs").0.expect("it is written");
    assert_eq!(engine.look(folioscope_core::world::World::snapshot).folios().count(), 0);
    assert_eq!(seen(&rig), [2; 4096]);
    assert_eq!(rig.engine.counters().get(Counter::DirectCollisions), 0);
}

#[test]
fn a_folio_that_cannot_go_sends_the_write_through_the_cache() {
    let mut rig = rig(Kind::Extents);
    rig.write(0, 4096, 1, true);
    let effect = FaultEffect::Fails(Errno::Busy);
    rig.engine.replace_faults(vec![Fault::once(FaultPoint::InvalidateFolio, effect)]);
    assert_eq!(rig.write_direct(0, 4096, 2), Ok(4096));
    assert_eq!(rig.engine.counters().get(Counter::DirectFallbacks), 1);
    assert_eq!(seen(&rig), [2; 4096]);
    assert!(direct_bios(&rig).is_empty());
}

#[test]
fn holes_of_arrays_of_pointers_are_filled_through_the_cache_and_written_at_once() {
    let mut rig = rig(Kind::Indirect);
    rig.write(8192, 1024, 1, true);
    rig.engine.evict(rig.file, range(0, 16384));
    assert_eq!(rig.write_direct(0, 4096, 2), Ok(4096));
    assert_eq!(rig.engine.counters().get(Counter::DirectFallbacks), 1);
    assert_eq!(rig.durable()[..4096], [2; 4096]);
    assert_eq!(rig.engine.look(folioscope_core::world::World::snapshot).folios().count(), 0);
}

#[test]
fn a_file_in_memory_takes_a_direct_write_as_any_other() {
    let mut rig = rig(Kind::Extents);
    rig.file = rig.engine.open(Pos::ZERO, Provider::Memory);
    assert_eq!(rig.write_direct(100, 50, 2), Ok(50));
    assert_eq!(rig.read_direct(100, 50).expect("it reads"), [2; 50]);
    assert_eq!(rig.engine.counters().get(Counter::DirectFallbacks), 0);
}

#[test]
fn appends_to_a_zone_take_place_one_behind_the_other() {
    let mut rig = rig(Kind::Extents);
    let start = DevAddr::new(1 << 28);
    let zone = Zone::sequential(start, Bytes::new(1 << 20)).written_to(Pos::new(8192));
    rig.file = rig.engine.open(Pos::new(8192), Provider::Zone(zone));
    let (engine, file) = (&rig.engine, rig.file);
    let append = |byte, len| {
        let mut source = Fill { byte, len: Bytes::new(len) };
        let mut begun = Box::pin(engine.append_direct(TASK, file, &mut source));
        match begun.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(appended) => appended,
            Poll::Pending => panic!("an append does not wait"),
        }
    };
    let (a, b) = (append(1, 4096), append(2, 2048));
    assert_eq!((a.pos, b.pos), (Pos::new(8192), Pos::new(12288)));
    assert_eq!(engine.size(file), Pos::new(8192), "nothing has ended");
    assert_eq!(append(3, 1000).result.map(|done| done.0), Some(Err(Errno::Inval)));
    for (appended, len) in [(b, 2048), (a, 4096)] {
        let done = drive(engine, &mut rig.sim, engine.wait_direct(TASK, appended));
        assert_eq!(done.expect("nothing hangs").0, Ok(Bytes::new(len)));
    }
    settle(engine, &mut rig.sim);
    assert_eq!(engine.size(file), Pos::new(14336));
    assert_eq!(rig.write_direct(0, 1024, 4), Err(Errno::Inval), "not at the write pointer");
}

fn polls(op: &mut Pin<Box<dyn Future<Output = folioscope_core::ops::OpResult> + '_>>) -> Poll<()> {
    op.as_mut().poll(&mut Context::from_waker(Waker::noop())).map(|_| ())
}

fn reflink(
    rig: &mut Rig<NoTrace>,
    from: (FileId, u64),
    to: (FileId, u64),
    len: u64,
) -> Result<Bytes, Errno> {
    let (from, to) = ((from.0, Pos::new(from.1)), (to.0, Pos::new(to.1)));
    let op = rig.engine.reflink(TASK, from, to, Bytes::new(len));
    drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs").0
}

fn shared_bytes(engine: &Engine<common::Host<NoTrace>>, file: FileId) -> u64 {
    let all = engine.with_provider(file, |fs| fs.forks(geometry(4096, 1024, 2)));
    let shared = all.iter().filter(|(fork, _)| *fork == Fork::Shared);
    shared.map(|(_, map)| map.range.len().get()).sum()
}

#[test]
fn linked_files_share_blocks_until_one_is_written_or_unshared() {
    let sizes = geometry(4096, 1024, 2);
    let mut rig =
        Rig::with_timing(sizes, Behaviours::default(), Kind::Extents, NoTrace, Timing::Ram);
    let (a, b) = (
        rig.file,
        rig.engine
            .open(Pos::ZERO, Provider::Extents(folioscope_core::fs::extents::Extents::new(sizes))),
    );
    rig.write(0, 10_000, 1, false);
    assert_eq!(reflink(&mut rig, (a, 0), (b, 4096), 0), Ok(Bytes::new(10_000)));
    let bytes = |rig: &Rig<NoTrace>, file| peek_bytes(&rig.engine, &rig.sim, file);
    assert_eq!(bytes(&rig, b), [&[0; 4096][..], &[1; 10_000]].concat());
    assert_eq!((shared_bytes(&rig.engine, a), shared_bytes(&rig.engine, b)), (10_240, 10_240));
    // A direct write of whole blocks gets new ones; the other file keeps its bytes.
    assert_eq!(rig.write_direct(0, 2048, 2), Ok(2048));
    assert_eq!(bytes(&rig, b)[4096..], [1; 10_000]);
    assert_eq!((shared_bytes(&rig.engine, a), shared_bytes(&rig.engine, b)), (8192, 8192));
    // Part of a block goes through the cache.
    assert_eq!(rig.write_direct(2560, 512, 3), Ok(512));
    assert_eq!(rig.engine.counters().get(Counter::DirectFallbacks), 1);
    rig.fsync();
    assert_eq!(bytes(&rig, b)[4096..], [1; 10_000]);
    assert_eq!(rig.durable()[2048..4096], [&[1; 512][..], &[3; 512], &[1; 1024]].concat());
    let op = rig.engine.fallocate(TASK, a, FallocMode::Unshare, range(0, 10_000));
    drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs").0.expect("unshared");
    assert_eq!((shared_bytes(&rig.engine, a), shared_bytes(&rig.engine, b)), (0, 0));
}

#[test]
fn a_file_links_to_itself_and_three_places_share_until_two_are_left() {
    let sizes = geometry(4096, 1024, 2);
    let mut rig =
        Rig::with_timing(sizes, Behaviours::default(), Kind::Extents, NoTrace, Timing::Ram);
    let a = rig.file;
    rig.write(0, 2048, 1, false);
    assert_eq!(reflink(&mut rig, (a, 0), (a, 4096), 2048), Ok(Bytes::new(2048)));
    assert_eq!(reflink(&mut rig, (a, 0), (a, 8192), 2048), Ok(Bytes::new(2048)));
    assert_eq!(shared_bytes(&rig.engine, a), 6144);
    rig.write(0, 2048, 2, true);
    assert_eq!(shared_bytes(&rig.engine, a), 4096, "two places share still");
    rig.write(4096, 2048, 3, true);
    assert_eq!(shared_bytes(&rig.engine, a), 0);
    assert_eq!(rig.durable()[8192..], [1; 2048]);
}

#[test]
fn ranges_that_cannot_be_linked_are_refused() {
    let sizes = geometry(4096, 1024, 2);
    let mut rig =
        Rig::with_timing(sizes, Behaviours::default(), Kind::Extents, NoTrace, Timing::Ram);
    let a = rig.file;
    let memory = rig.engine.open(Pos::new(4096), Provider::Memory);
    rig.write(0, 5000, 1, false);
    let far = sizes.max_file().get();
    for ((from, to, len), errno) in [
        ((512, 8192, 1024), Errno::Inval),
        ((0, 8000, 1024), Errno::Inval),
        ((0, 8192, 1000), Errno::Inval),
        ((0, 1024, 2048), Errno::Inval),
        ((4096, 0, 2048), Errno::Inval),
        ((8192, 0, 1024), Errno::Inval),
        ((4096, 0, 904), Errno::Inval),
        ((0, far, 1024), Errno::FBig),
    ] {
        assert_eq!(reflink(&mut rig, (a, from), (a, to), len), Err(errno), "{from} {to} {len}");
    }
    let ext4 = |rig: &mut Rig<NoTrace>| {
        let blocks = Provider::Extents(Extents::new(sizes));
        rig.engine.open_buffered(Pos::new(8192), blocks, Driver::Ext4)
    };
    let (one, other) = (ext4(&mut rig), ext4(&mut rig));
    for (from, to, errno) in [
        (a, memory, Errno::XDev),
        (a, one, Errno::XDev),
        (one, other, Errno::OpNotSupp),
        (memory, memory, Errno::OpNotSupp),
    ] {
        assert_eq!(reflink(&mut rig, (from, 0), (to, 0), 1024), Err(errno), "{from:?} {to:?}");
    }
    rig.engine.set_bdi(memory, BdiId::new(1));
    assert_eq!(reflink(&mut rig, (memory, 0), (a, 0), 1024), Err(Errno::XDev), "two devices");
    assert_eq!(reflink(&mut rig, (a, 4096), (a, 8192), 904), Ok(Bytes::new(904)));
    assert_eq!(reflink(&mut rig, (a, 9096), (a, 0), 0), Ok(Bytes::ZERO), "nothing is there");
}
