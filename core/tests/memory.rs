//! Files without a device: what the cache holds is all there is.

mod common;

use common::{Host, TASK, geometry, queue};
use folioscope_core::behaviour::{Behaviours, PROFILES};
use folioscope_core::cache::folio::FolioFlags;
use folioscope_core::engine::{WriteFlags, drive};
use folioscope_core::errno::Errno;
use folioscope_core::frames::Fill;
use folioscope_core::fs::Provider;
use folioscope_core::ops::advise::Advice;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::units::{Bytes, FileRange, Pos};

fn rig(behaviours: Behaviours, size: u64) -> common::Rig<NoTrace> {
    let sizes = geometry(64, 16, 2);
    let mut rig =
        common::Rig::with_timing(sizes, behaviours, common::Kind::Extents, NoTrace, queue());
    rig.file = rig.engine.open(Pos::new(size), Provider::Memory);
    rig
}

fn range(start: u64, end: u64) -> FileRange {
    FileRange::between(Pos::new(start), Pos::new(end))
}

#[test]
fn a_seek_finds_as_data_what_the_cache_holds() {
    let rig = &mut rig(Behaviours::default(), 1000);
    let mut source = Fill { byte: 1, len: Bytes::new(10) };
    let write =
        rig.engine.pwrite(TASK, rig.file, Pos::new(330), &mut source, WriteFlags::default());
    drive::<Host<NoTrace>, _>(&rig.engine, &mut rig.sim, write).expect("nothing hangs");
    let seek = |pos, data| rig.engine.seek(TASK, rig.file, Pos::new(pos), data).0.map(Bytes::get);
    assert_eq!(seek(0, true), Ok(320));
    assert_eq!(seek(330, true), Ok(330));
    assert_eq!(seek(330, false), Ok(384));
    assert_eq!(seek(384, true), Err(Errno::NxIo));
    assert_eq!(seek(384, false), Ok(384));
}

#[test]
fn a_fault_brings_one_page_without_block_state() {
    for profile in PROFILES {
        let mut rig = rig(profile.behaviours, 1000);
        let op = rig.engine.mmap_store(TASK, rig.file, range(320, 330), 5);
        drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs").0.expect("inside EOF");
        let op = rig.engine.fadvise(TASK, rig.file, range(0, 1000), Advice::WillNeed);
        drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs").0.expect("it is advice");
        rig.write(330, 100, 6, false);
        let flags = |pos| rig.engine.folio_flags(rig.file, Pos::new(pos));
        let page = flags(320).expect("it is cached");
        assert!(page.has(FolioFlags::DIRTY) && !page.has(FolioFlags::BLOCK_STATE));
        assert_eq!(flags(256), None, "no readahead");
        assert_eq!(rig.engine.look(folioscope_core::world::World::broken_invariants), []);
        let want = [vec![0; 20], vec![5; 10], vec![6; 100], vec![0; 70]].concat();
        assert_eq!(rig.read(300, 200), want);
    }
}
