//! Reads and writes that may not wait, and the faults that they meet.

mod common;

use common::{Kind, Rig, TASK, geometry, queue};
use folioscope_core::behaviour::Behaviours;
use folioscope_core::counters::Counter;
use folioscope_core::device::sim::Timing;
use folioscope_core::engine::{BoxedOp, ReadFlags, WriteFlags, drive, drive_all};
use folioscope_core::errno::Errno;
use folioscope_core::fault::{Fault, FaultEffect, FaultPoint};
use folioscope_core::frames::Fill;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::units::{Bytes, FileRange, Order, Pos, TaskId};

const PAGE: u64 = 64;

fn rig(timing: Timing) -> Rig<NoTrace> {
    let sizes = geometry(PAGE, 16, 2);
    Rig::with_timing(sizes, Behaviours::default(), Kind::Extents, NoTrace, timing)
}

fn fault(point: FaultPoint, at: u64, times: u32) -> Fault {
    let effect = FaultEffect::Fails(Errno::NoMem);
    Fault { at: Some(Pos::new(at)), times: Some(times), ..Fault::once(point, effect) }
}

fn write(rig: &mut Rig<NoTrace>, pos: u64, len: u64, nowait: bool) -> Result<u64, Errno> {
    let mut source = Fill { byte: 5, len: Bytes::new(len) };
    let flags = WriteFlags { nowait, ..WriteFlags::default() };
    let op = rig.engine.pwrite(TASK, rig.file, Pos::new(pos), &mut source, flags);
    drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs").0.map(Bytes::get)
}

fn read(rig: &mut Rig<NoTrace>, pos: u64, len: u64, nowait: bool) -> Result<u64, Errno> {
    let mut buffer = vec![0; len as usize];
    let mut dest = buffer.as_mut_slice();
    let flags = ReadFlags { nowait, ..ReadFlags::default() };
    let op = rig.engine.pread(TASK, rig.file, Pos::new(pos), &mut dest, flags);
    drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs").0.map(Bytes::get)
}

fn evict(rig: &Rig<NoTrace>, from: u64, to: u64) {
    rig.engine.evict(rig.file, FileRange::between(Pos::new(from), Pos::new(to)));
}

#[test]
fn a_write_that_would_read_fails_with_what_it_wrote_before() {
    let mut rig = rig(Timing::Ram);
    rig.write(0, 4 * PAGE, 1, false);
    rig.fsync();
    evict(&rig, 0, 4 * PAGE);
    assert_eq!(write(&mut rig, 5, 10, true), Err(Errno::Again));
    // Whole blocks need no read; the folio that the next bytes lie in does.
    assert_eq!(write(&mut rig, 0, 16, true), Ok(16));
    rig.fsync();
    evict(&rig, 0, 4 * PAGE);
    rig.write(0, 2 * PAGE, 2, false);
    assert_eq!(write(&mut rig, PAGE, PAGE + 5, true), Ok(PAGE), "and no read");
    assert_eq!(write(&mut rig, PAGE, PAGE + 5, false), Ok(PAGE + 5));
}

#[test]
fn a_write_beyond_eof_would_have_to_zero() {
    let mut rig = rig(Timing::Ram);
    assert_eq!(write(&mut rig, 100, 10, true), Err(Errno::Again));
    assert_eq!(write(&mut rig, 0, 10, true), Ok(10));
}

#[test]
fn memory_that_is_short_makes_folios_smaller_and_then_writes_fail() {
    let mut rig = rig(Timing::Ram);
    let order = |rig: &Rig<NoTrace>| {
        rig.engine.look(|world| {
            let state = world.snapshot();
            let orders: Vec<_> = state.folios().map(|(_, folio)| folio.place().order).collect();
            orders
        })
    };
    rig.engine.replace_faults(vec![fault(FaultPoint::AllocFolio, 0, 1)]);
    assert_eq!(write(&mut rig, 0, 4 * PAGE, true), Ok(4 * PAGE));
    assert_eq!(order(&rig), [Order::new(1), Order::new(1)]);
    let at = 8 * PAGE;
    for (nowait, errno) in [(true, Errno::Again), (false, Errno::NoMem)] {
        rig.write(4 * PAGE, 4 * PAGE, 1, false);
        rig.engine.replace_faults(vec![fault(FaultPoint::AllocFolio, at, 3)]);
        assert_eq!(write(&mut rig, at, 4 * PAGE, nowait), Err(errno));
    }
    // Block state: a write that may wait gets it in the end.
    rig.engine.replace_faults(vec![fault(FaultPoint::AllocState, at, 1)]);
    assert_eq!(write(&mut rig, at, 20, true), Err(Errno::Again));
    rig.engine.replace_faults(vec![fault(FaultPoint::AllocState, at, 1)]);
    assert_eq!(write(&mut rig, at, 20, false), Ok(20));
}

#[test]
fn every_round_asks_whether_too_much_is_dirty() {
    let mut rig = rig(Timing::Ram);
    assert_eq!(write(&mut rig, 0, 3 * PAGE, false), Ok(3 * PAGE));
    // A folio of two pages and one of one.
    assert_eq!(rig.engine.counters().get(Counter::BalanceDirtyCalls), 2);
    let touches = rig.engine.counters().get(Counter::FaultInBytes);
    rig.engine.replace_faults(vec![fault(FaultPoint::Throttle, PAGE * 2, 9)]);
    assert_eq!(write(&mut rig, 0, 3 * PAGE, true), Ok(2 * PAGE), "up to where it would sleep");
    assert_eq!(write(&mut rig, 2 * PAGE, PAGE, true), Err(Errno::Again));
    let after = rig.engine.counters().get(Counter::FaultInBytes);
    assert_eq!(after - touches, 3 * PAGE, "asked before the memory is made present");
    assert_eq!(write(&mut rig, 0, 3 * PAGE, false), Ok(3 * PAGE), "others sleep, and go on");
}

#[test]
fn a_folio_that_somebody_holds_is_not_waited_for() {
    let mut rig = rig(queue());
    rig.write(0, 2 * PAGE, 1, false);
    rig.fsync();
    evict(&rig, 0, 2 * PAGE);
    let (engine, file) = (&rig.engine, rig.file);
    let mut buffer = vec![0; PAGE as usize];
    let mut dest = buffer.as_mut_slice();
    let mut source = Fill { byte: 5, len: Bytes::new(PAGE) };
    let flags = WriteFlags { nowait: true, ..WriteFlags::default() };
    let ops: Vec<BoxedOp<'_>> = vec![
        Box::pin(engine.pread(TaskId::new(2), file, Pos::ZERO, &mut dest, ReadFlags::default())),
        Box::pin(engine.pwrite(TASK, file, Pos::ZERO, &mut source, flags)),
    ];
    let done = drive_all(engine, &mut rig.sim, ops).expect("nothing hangs");
    assert_eq!((done[0].0, done[1].0), (Ok(Bytes::new(PAGE)), Err(Errno::Again)));
}

#[test]
fn a_read_that_may_not_wait_sends_what_is_missing_and_fails() {
    let mut rig = rig(queue());
    rig.write(0, 16 * PAGE, 1, false);
    rig.fsync();
    assert_eq!(read(&mut rig, 0, PAGE, true), Ok(PAGE), "cached");
    evict(&rig, 4 * PAGE, 16 * PAGE);
    // What is cached counts; nothing of the rest does.
    assert_eq!(read(&mut rig, 3 * PAGE, 2 * PAGE, true), Ok(PAGE));
    assert_eq!(read(&mut rig, 8 * PAGE, PAGE, true), Err(Errno::Again));
    let sent = rig.engine.counters().get(Counter::ReadBios);
    assert!(sent > 0, "readahead was sent");
    folioscope_core::engine::settle(&rig.engine, &mut rig.sim);
    assert_eq!(read(&mut rig, 8 * PAGE, PAGE, true), Ok(PAGE), "it has come");
    assert_eq!(rig.engine.counters().get(Counter::ReadBios), sent);
}
