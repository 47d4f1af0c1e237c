//! Files that share blocks.

mod common;

use common::{Kind, Rig, TASK, geometry};
use folioscope_core::behaviour::Behaviours;
use folioscope_core::block::bio::BioOp;
use folioscope_core::device::fault::DeviceFault;
use folioscope_core::engine::drive;
use folioscope_core::errno::Errno;
use folioscope_core::fs::{Fork, Provider};
use folioscope_core::ops::fallocate::FallocMode;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::units::{Bytes, FileRange, Pos};

fn range(start: u64, end: u64) -> FileRange {
    FileRange::between(Pos::new(start), Pos::new(end))
}

/// The ranges of the CoW fork.
fn cow(rig: &Rig<NoTrace>) -> Vec<FileRange> {
    let forks = rig.engine.with_provider(rig.file, |fs| fs.forks(geometry(64, 16, 2)));
    let of_cow = forks.into_iter().filter(|(fork, _)| *fork == Fork::Cow);
    of_cow.map(|(_, iomap)| iomap.range).collect()
}

fn shares(rig: &Rig<NoTrace>) -> bool {
    let file = rig.other.expect("another file");
    rig.engine.look(|world| world.shares_blocks(file))
}

#[test]
fn what_one_file_alone_still_has_is_shared_no_longer() {
    let mut rig = Rig::new(geometry(64, 16, 2), Behaviours::default(), Kind::Shared, NoTrace);
    rig.write(0, 160, 1, true);
    assert!(shares(&rig));
    rig.write(160, 160, 2, true);
    assert!(!shares(&rig));
    assert_eq!(rig.durable()[..160], [1; 160]);
}

#[test]
fn what_is_reserved_beyond_the_shared_blocks_stays_for_the_rest_of_the_write() {
    let mut rig = Rig::new(geometry(64, 16, 2), Behaviours::default(), Kind::Shared, NoTrace);
    rig.engine.with_provider(rig.file, |provider| {
        let Provider::Extents(fs) = provider else { return };
        fs.set_shared(range(32, 304), false);
        fs.set_cow_hint(Bytes::new(64));
    });
    rig.write(0, 64, 1, false);
    assert_eq!(cow(&rig), [range(0, 64)]);
    rig.fsync();
    assert_eq!(rig.durable()[..64], [1; 64]);
}

#[test]
fn unsharing_that_cannot_read_gives_its_reservation_back() {
    let mut rig = Rig::new(geometry(64, 16, 2), Behaviours::default(), Kind::Shared, NoTrace);
    rig.sim.add_fault(DeviceFault::eio(BioOp::Read, 0, 1));
    let op = rig.engine.fallocate(TASK, rig.file, FallocMode::Unshare, range(0, 300));
    let done = drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs");
    assert_eq!((done.0, cow(&rig)), (Err(Errno::Io), Vec::new()));
}
