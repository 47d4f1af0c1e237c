//! Files whose first bytes live with their inode, and zones.

mod common;

use common::{Host, Kind, Rig, TASK, geometry};
use folioscope_core::behaviour::Behaviours;
use folioscope_core::counters::Counter;
use folioscope_core::device::sim::peek_bytes;
use folioscope_core::engine::{WriteFlags, drive};
use folioscope_core::errno::Errno;
use folioscope_core::frames::Fill;
use folioscope_core::fs::Provider;
use folioscope_core::fs::zonefs::Zone;
use folioscope_core::ops::OpResult;
use folioscope_core::ops::advise::Advice;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::units::{Bytes, DevAddr, FileRange, Pos};

fn stuffed() -> Rig<NoTrace> {
    Rig::new(geometry(64, 64, 2), Behaviours::default(), Kind::Stuffed, NoTrace)
}

fn bios(rig: &Rig<NoTrace>) -> u64 {
    let counters = rig.engine.counters();
    counters.get(Counter::WriteBios) + counters.get(Counter::ReadBios)
}

fn forget(rig: &mut Rig<NoTrace>) {
    let all = FileRange::between(Pos::ZERO, Pos::new(1 << 20));
    let op = rig.engine.fadvise(TASK, rig.file, all, Advice::DontNeed);
    drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs");
}

#[test]
fn a_small_file_needs_no_bio() {
    let mut rig = stuffed();
    rig.write(0, 10, 1, false);
    // A gap reads as zero.
    rig.write(20, 20, 2, false);
    assert_eq!(rig.durable(), Vec::<u8>::new());
    rig.fsync();
    let want = [vec![1; 10], vec![0; 10], vec![2; 20]].concat();
    assert_eq!(rig.durable(), want);
    forget(&mut rig);
    assert_eq!(rig.read(0, 100), want);
    // What is not synced is not on the device.
    rig.write(5, 3, 9, false);
    assert_eq!(rig.durable(), want);
    assert_eq!(bios(&rig), 0);
}

#[test]
fn growing_beyond_the_inode_moves_the_bytes_to_a_block() {
    for warm in [false, true] {
        let mut rig = stuffed();
        rig.write(0, 30, 1, true);
        if !warm {
            forget(&mut rig);
        }
        rig.write(40, 9, 2, false);
        assert_eq!(bios(&rig), 0);
        rig.fsync();
        let want = [vec![1; 30], vec![0; 10], vec![2; 9]].concat();
        assert_eq!(rig.durable(), want, "warm: {warm}");
        assert!(bios(&rig) > 0);
        forget(&mut rig);
        assert_eq!(rig.read(0, 100), want);
    }
}

#[test]
fn a_store_through_a_mapping_needs_a_block() {
    let mut rig = stuffed();
    rig.write(0, 30, 1, true);
    let byte = FileRange::between(Pos::new(4), Pos::new(5));
    let op = rig.engine.mmap_store(TASK, rig.file, byte, 7);
    drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs").0.expect("inside EOF");
    rig.fsync();
    let mut want = vec![1; 30];
    want[4] = 7;
    assert_eq!(rig.durable(), want);
    assert!(bios(&rig) > 0);
}

fn write_to_zone(zone: Zone, size: u64, pos: u64, len: u64) -> OpResult {
    let mut rig = stuffed();
    rig.file = rig.engine.open(Pos::new(size), Provider::Zone(zone));
    let mut source = Fill { byte: 1, len: Bytes::new(len) };
    let flags = WriteFlags::default();
    let op = rig.engine.pwrite(TASK, rig.file, Pos::new(pos), &mut source, flags);
    let done = drive::<Host<NoTrace>, _>(&rig.engine, &mut rig.sim, op).expect("nothing hangs");
    if done.0.is_ok() {
        rig.fsync();
        let mut seen = vec![0; 16];
        rig.sim.store().read(DevAddr::new(4096 + pos), &mut seen);
        assert_eq!(seen, [1; 16]);
    }
    done
}

#[test]
fn a_zone_takes_buffered_writes_only_if_it_is_conventional() {
    let at = DevAddr::new(4096);
    let sequential = Zone::sequential(at, Bytes::new(256));
    assert_eq!(write_to_zone(sequential, 64, 64, 16), OpResult(Err(Errno::Io)));
    let conventional = Zone::conventional(at, Bytes::new(256));
    assert_eq!(write_to_zone(conventional, 256, 64, 32), OpResult(Ok(Bytes::new(32))));
    // Nothing beyond the capacity.
    assert_eq!(write_to_zone(conventional, 256, 240, 32), OpResult(Ok(Bytes::new(16))));
    assert_eq!(write_to_zone(conventional, 256, 256, 1), OpResult(Err(Errno::FBig)));
}

#[test]
fn a_zone_reads_as_far_as_it_was_written() {
    let mut rig = stuffed();
    let zone = Zone::sequential(DevAddr::new(4096), Bytes::new(256));
    rig.sim.store_mut().write(DevAddr::new(4096), &[5; 100]);
    rig.file = rig.engine.open(Pos::new(100), Provider::Zone(zone));
    assert_eq!(rig.read(0, 256), [5; 100]);
}

#[test]
fn bytes_with_the_inode_are_data_and_can_be_looked_at() {
    let mut rig = stuffed();
    rig.write(0, 30, 7, true);
    forget(&mut rig);
    assert_eq!(peek_bytes(&rig.engine, &rig.sim, rig.file), vec![7; 30]);
    let seek = |data| rig.engine.seek(TASK, rig.file, Pos::new(11), data);
    assert_eq!(seek(true), OpResult(Ok(Bytes::new(11))));
    assert_eq!(seek(false), OpResult(Ok(Bytes::new(30))));
}
