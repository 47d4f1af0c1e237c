//! What goes wrong, and several tasks at once.

mod common;

use common::{Host, Kind, Rig, TASK, geometry, queue};
use folioscope_core::behaviour::{Behaviours, DirtyTracking};
use folioscope_core::block::bio::BioOp;
use folioscope_core::cache::folio::FolioFlags;
use folioscope_core::counters::Counter;
use folioscope_core::device::fault::DeviceFault;
use folioscope_core::engine::{BoxedOp, Engine, ReadFlags, WriteFlags, drive, drive_all};
use folioscope_core::errno::Errno;
use folioscope_core::fault::{Fault, FaultEffect, FaultPoint};
use folioscope_core::frames::{BadAfter, Fill};
use folioscope_core::fs::Provider;
use folioscope_core::fs::indirect::Indirect;
use folioscope_core::ops::OpResult;
use folioscope_core::ops::fallocate::FallocMode;
use folioscope_core::ops::sync::RangeSync;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::units::{Bytes, DevAddr, FileId, FileRange, Pos, TaskId};

fn rig(kind: Kind) -> Rig<NoTrace> {
    Rig::with_timing(geometry(64, 16, 2), Behaviours::default(), kind, NoTrace, queue())
}

fn fsync(rig: &mut Rig<NoTrace>) -> OpResult {
    let op = rig.engine.fsync(TASK, rig.file, false);
    drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs")
}

#[test]
fn a_failed_write_is_told_to_fsync_once_and_the_cache_stays_clean() {
    let mut rig = rig(Kind::Extents);
    rig.write(0, 100, 7, false);
    rig.sim.add_fault(DeviceFault::eio(BioOp::Write, 0, 1));
    assert_eq!(fsync(&mut rig), OpResult(Err(Errno::Io)));
    assert_eq!(fsync(&mut rig), OpResult(Ok(Bytes::ZERO)));
    // Clean and still readable: the bytes are lost for the device, as with the kernel.
    assert_eq!(rig.read(0, 100), vec![7; 100]);
    assert_eq!(rig.durable(), Vec::<u8>::new());
    assert_eq!(rig.engine.counters().get(Counter::FailedBios), 1);
    // Written again, it gets there.
    rig.write(0, 100, 8, false);
    assert_eq!(fsync(&mut rig), OpResult(Ok(Bytes::ZERO)));
    assert_eq!(rig.durable(), vec![8; 100]);
}

#[test]
fn one_failed_bio_of_several_loses_only_its_own_blocks() {
    let mut rig = rig(Kind::Extents);
    rig.write(0, 640, 1, true);
    rig.write(0, 16, 2, false);
    rig.write(320, 16, 3, false);
    rig.sim.add_fault(DeviceFault::eio(BioOp::Write, 0, 1));
    assert_eq!(fsync(&mut rig), OpResult(Err(Errno::Io)));
    let mut want = vec![1; 640];
    want[320..336].fill(3);
    assert_eq!(rig.durable(), want);
}

#[test]
fn a_walk_that_failed_completes_its_open_ioend_with_the_error() {
    let mut rig = rig(Kind::Extents);
    rig.write(0, 512, 1, true);
    // Two folios, two ioends: the mapping of the second one's part fails.
    for pos in [0, 320, 480] {
        rig.write(pos, 16, 2, false);
    }
    let fault = Fault {
        at: Some(Pos::new(480)),
        ..Fault::once(FaultPoint::MapBlocks, FaultEffect::Fails(Errno::Io))
    };
    rig.engine.replace_faults(vec![fault]);
    let sent = rig.engine.counters().get(Counter::WriteBios);
    assert_eq!(fsync(&mut rig), OpResult(Err(Errno::Io)));
    // The first ioend was sent when the second began; the second was not sent.
    assert_eq!(rig.engine.counters().get(Counter::WriteBios) - sent, 1);
    let mut want = vec![1; 512];
    want[..16].fill(2);
    assert_eq!(rig.durable(), want);
    // No folio is left under writeback.
    rig.write(320, 16, 3, false);
    assert_eq!(fsync(&mut rig), OpResult(Ok(Bytes::ZERO)));
    want[320..336].fill(3);
    assert_eq!(rig.durable(), want);
}

/// What an operation is about to drop from the cache must be on the device first.
#[test]
fn space_is_not_changed_under_data_that_could_not_be_written() {
    for mode in [FallocMode::Punch, FallocMode::Collapse, FallocMode::Insert, FallocMode::Zero] {
        let mut rig = rig(Kind::Extents);
        rig.write(0, 640, 1, true);
        rig.write(320, 64, 2, false);
        rig.sim.add_fault(DeviceFault::eio(BioOp::Write, 0, 1));
        let range = FileRange::between(Pos::new(64), Pos::new(352));
        let op = rig.engine.fallocate(TASK, rig.file, mode, range);
        let done = drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs");
        assert_eq!(done.0, Err(Errno::Io), "{mode:?}");
        // Told once there, and once by fsync; the next time it works.
        assert_eq!(fsync(&mut rig), OpResult(Err(Errno::Io)), "{mode:?}");
        let op = rig.engine.fallocate(TASK, rig.file, mode, range);
        let done = drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs");
        assert!(done.0.is_ok(), "{mode:?}");
    }
}

#[test]
fn a_failed_dsync_write_says_so_itself() {
    let mut rig = rig(Kind::BlockDev);
    rig.sim.add_fault(DeviceFault::eio(BioOp::Write, 0, 1));
    let mut source = Fill { byte: 1, len: Bytes::new(64) };
    let op = rig.engine.pwrite(
        TASK,
        rig.file,
        Pos::ZERO,
        &mut source,
        WriteFlags { dsync: true, ..WriteFlags::default() },
    );
    assert_eq!(drive(&rig.engine, &mut rig.sim, op), Ok(OpResult(Err(Errno::Io))));
    assert_eq!(fsync(&mut rig), OpResult(Ok(Bytes::ZERO)));
}

/// A file of 256 bytes on the device and nothing in the cache.
fn cold() -> Rig<NoTrace> {
    let mut warm = rig(Kind::BlockDev);
    warm.write(0, 256, 5, true);
    let bytes = warm.durable();
    let mut cold = rig(Kind::BlockDev);
    cold.sim.store_mut().write(folioscope_core::units::DevAddr::ZERO, &bytes);
    let device = folioscope_core::fs::blockdev::BlockDev::new(Bytes::new(1 << 20));
    let provider = folioscope_core::fs::Provider::BlockDev(device);
    cold.file = cold.engine.open(Pos::new(256), provider);
    cold
}

#[test]
fn a_failed_read_is_an_error_and_the_next_one_tries_again() {
    let mut rig = cold();
    // The first try is readahead, whose errors nobody sees; the second is the reader's own.
    rig.sim.add_fault(DeviceFault::eio(BioOp::Read, 0, 2));
    let mut buffer = [0; 10];
    let mut dest = buffer.as_mut_slice();
    let op = rig.engine.pread(TASK, rig.file, Pos::ZERO, &mut dest, ReadFlags::default());
    assert_eq!(drive(&rig.engine, &mut rig.sim, op), Ok(OpResult(Err(Errno::Io))));
    assert_eq!(rig.read(0, 10), vec![5; 10]);
}

#[test]
fn a_failed_read_before_modify_fails_the_write_and_changes_nothing() {
    let mut rig = cold();
    rig.sim.add_fault(DeviceFault::eio(BioOp::Read, 0, 1));
    let mut source = Fill { byte: 9, len: Bytes::new(3) };
    let op = rig.engine.pwrite(TASK, rig.file, Pos::new(5), &mut source, WriteFlags::default());
    assert_eq!(drive(&rig.engine, &mut rig.sim, op), Ok(OpResult(Err(Errno::Io))));
    assert_eq!(rig.read(0, 256), vec![5; 256]);
    rig.write(5, 3, 9, false);
    let mut want = vec![5; 256];
    want[5..8].fill(9);
    assert_eq!(rig.read(0, 256), want);
}

#[test]
fn memory_that_cannot_be_read_ends_a_write_early_or_fails_it() {
    for tracking in DirtyTracking::ALL {
        let behaviours = Behaviours { dirty_tracking: *tracking, ..Behaviours::default() };
        for good in 0..200u64 {
            let geometry = geometry(64, 16, 2);
            let mut rig = Rig::new(geometry, behaviours, Kind::Extents, NoTrace);
            rig.write(0, 50, 1, false);
            let mut source =
                BadAfter { good: Fill { byte: 2, len: Bytes::new(good) }, len: Bytes::new(200) };
            let op =
                rig.engine.pwrite(TASK, rig.file, Pos::new(30), &mut source, WriteFlags::default());
            let done = drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs");
            let want = if good == 0 { Err(Errno::Fault) } else { Ok(Bytes::new(good)) };
            assert_eq!(done, OpResult(want), "{good} good bytes");
            let mut bytes = vec![1; 50];
            let end = (30 + good as usize).max(50);
            bytes.resize(end, 0);
            bytes[30..30 + good as usize].fill(2);
            assert_eq!(rig.read(0, 300), bytes);
            rig.fsync();
            assert_eq!(rig.durable(), bytes);
        }
    }
}

#[test]
fn syncfs_waits_for_what_somebody_else_began_to_write() {
    let mut rig = rig(Kind::Extents);
    rig.write(0, 300, 7, false);
    let range = FileRange::between(Pos::ZERO, Pos::new(300));
    let only_write = RangeSync { write: true, ..RangeSync::default() };
    let op = rig.engine.sync_file_range(TASK, rig.file, range, only_write);
    assert_eq!(drive(&rig.engine, &mut rig.sim, op), Ok(OpResult(Ok(Bytes::ZERO))));
    assert_eq!(rig.durable(), Vec::<u8>::new(), "it did not wait");
    rig.syncfs();
    assert_eq!(rig.durable(), vec![7; 300]);
}

#[test]
fn two_tasks_interleave_and_neither_loses_a_byte() {
    let mut rig = rig(Kind::Extents);
    let (a, b) = (TaskId::new(1), TaskId::new(2));
    let engine = &rig.engine;
    let file = rig.file;
    let write = |task, pos, byte| -> BoxedOp<'_> {
        Box::pin(async move {
            let mut source = Fill { byte, len: Bytes::new(40) };
            for turn in 0..5u64 {
                let at = Pos::new(pos + turn * 80);
                engine.pwrite(task, file, at, &mut source, WriteFlags::default()).await;
                let synced = engine.fsync(task, file, false).await;
                assert_eq!(synced, OpResult(Ok(Bytes::ZERO)));
            }
            OpResult(Ok(Bytes::ZERO))
        })
    };
    let ops = vec![write(a, 0, 1), write(b, 40, 2)];
    drive_all::<Host<NoTrace>>(engine, &mut rig.sim, ops).expect("nothing hangs");
    let want: Vec<u8> = (0..400).map(|at| if at / 40 % 2 == 0 { 1 } else { 2 }).collect();
    assert_eq!(rig.durable(), want);
}

/// Positions that a trace cannot name are refused, and what a run does up to there fits its trace.
#[test]
fn a_file_ends_at_its_largest_size() {
    for (page, block, order) in [(4096, 4096, 2), (16, 64, 4), (64, 16, 2), (65536, 16, 0)] {
        let geometry = common::geometry(page, block, order);
        let sink = Recording::default();
        let mut rig = Rig::new(geometry, Behaviours::default(), Kind::Extents, sink);
        let largest = geometry.max_file().get();
        assert_eq!(rig.write(largest - 100, 300, 7, true), 100, "up to the largest size");
        assert_eq!(rig.read(largest - 150, 300), [vec![0; 50], vec![7; 100]].concat());
        let mut source = Fill { byte: 1, len: Bytes::new(1) };
        let (at, flags) = (Pos::new(largest), WriteFlags::default());
        let write = rig.engine.pwrite(TASK, rig.file, at, &mut source, flags);
        let done = drive(&rig.engine, &mut rig.sim, write).expect("nothing hangs");
        assert_eq!(done.0, Err(Errno::FBig));
        let trace = rig.engine.into_sink();
        Timeline::new(common::header(geometry, Behaviours::default()), trace).expect("it fits");
    }
}

/// A file whose marked folio, when it is used, starts a read ahead that must first read an array of
/// pointers; the position of that folio.
fn marked_before_an_array() -> (Rig<NoTrace>, u64) {
    let sizes = geometry(16, 16, 0);
    for first in 0..12 {
        let mut rig =
            Rig::with_timing(sizes, Behaviours::default(), Kind::Extents, NoTrace, queue());
        let mut fs = Indirect::new(sizes);
        fs.place_array(Pos::new(12 * 16), DevAddr::new(1 << 16), false);
        rig.file = rig.engine.open(Pos::new(15 * 16), Provider::Indirect(fs));
        for page in first..12 {
            rig.read(page * 16, 16);
            let flags = |page: u64| rig.engine.folio_flags(rig.file, Pos::new(page * 16));
            let marked = |page: &u64| flags(*page).is_some_and(|f| f.has(FolioFlags::READAHEAD));
            // The window ends where the array is needed.
            if let Some(mark) = (first + 1..12).find(marked)
                && flags(11).is_some()
                && flags(12).is_none()
            {
                return (rig, mark * 16);
            }
        }
    }
    panic!("no window ends before the array");
}

#[test]
fn a_fault_finds_its_folio_gone_after_it_read_ahead() {
    let (mut rig, at) = marked_before_an_array();
    let (engine, file) = (&rig.engine, rig.file);
    let range = FileRange::between(Pos::new(at), Pos::new(at + 16));
    let ops: Vec<BoxedOp<'_>> = vec![
        Box::pin(engine.mmap_store(TaskId::new(1), file, range, 3)),
        evicting(engine, file, range),
    ];
    drive_all::<Host<NoTrace>>(engine, &mut rig.sim, ops).expect("nothing hangs");
    assert_eq!(rig.read(at, 16), vec![3; 16]);
}

#[test]
fn a_read_finds_folios_before_the_marked_one_gone_after_it_read_ahead() {
    let (mut rig, at) = marked_before_an_array();
    let (engine, file) = (&rig.engine, rig.file);
    let before = FileRange::between(Pos::new(at - 16), Pos::new(at));
    let mut buffer = [0xee; 32];
    let mut dest = buffer.as_mut_slice();
    let ops: Vec<BoxedOp<'_>> = vec![
        Box::pin(engine.pread(TASK, file, before.start(), &mut dest, ReadFlags::default())),
        evicting(engine, file, before),
    ];
    drive_all::<Host<NoTrace>>(engine, &mut rig.sim, ops).expect("nothing hangs");
    assert_eq!(buffer, [0; 32]);
}

/// Drops clean folios that are cached at that moment.
fn evicting(engine: &Engine<Host<NoTrace>>, file: FileId, range: FileRange) -> BoxedOp<'_> {
    Box::pin(async move {
        assert!(engine.folio_flags(file, range.start()).is_some());
        engine.evict(file, range);
        assert!(engine.folio_flags(file, range.start()).is_none());
        OpResult(Ok(Bytes::ZERO))
    })
}
