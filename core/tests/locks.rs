//! The locks of a file: tasks that write, read, store and change the size and the extents of one
//! file at the same time, and what must hold of it whatever goes first.

mod common;

use common::folding::Folding;
use common::shaping_scripts;
use common::{Host, Kind, Op, Rig, Shape, direct_scripts, geometries, header, queue};
use folioscope_core::behaviour::{Behaviours, InvalidateLock, PROFILES, ZeroFlush};
use folioscope_core::counters::Counter;
use folioscope_core::device::sim::peek_bytes;
use folioscope_core::engine::{BoxedOp, Engine, ReadFlags, WriteFlags, drive_all};
use folioscope_core::errno::Errno;
use folioscope_core::frames::{Discard, Fill};
use folioscope_core::locks::{Lock, Mode};
use folioscope_core::ops::OpResult;
use folioscope_core::ops::advise::Advice;
use folioscope_core::ops::fallocate::FallocMode;
use folioscope_core::stops::{Stop, StopPoint};
use folioscope_core::trace::model::Model;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::sink::{NoTrace, Sink};
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::units::{Bytes, FileId, FileRange, Pages, Pos, TaskId};
use folioscope_core::world::World;
use proptest::prelude::*;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

const TASKS: [TaskId; 3] = [TaskId::new(1), TaskId::new(2), TaskId::new(3)];

fn range(pos: u64, len: u64) -> FileRange {
    FileRange::between(Pos::new(pos), Pos::new(pos + len))
}

/// Blocks move in whole ones only.
fn aligned(engine: &Engine<Host<impl Sink>>, pos: u64, len: u64) -> FileRange {
    let block = engine.look(|world| world.snapshot().geometry().block_size().get());
    range(pos / block * block, len.next_multiple_of(block).max(block))
}

/// Direct I/O is in whole sectors only.
fn sectors(engine: &Engine<Host<impl Sink>>, pos: u64, len: u64) -> FileRange {
    let sector = engine.look(|world| world.snapshot().geometry().sector_size().get());
    range(pos / sector * sector, len.next_multiple_of(sector))
}

/// Does an operation of a script as a task, whatever it returns.
async fn act<S: Sink>(engine: &Engine<Host<S>>, task: TaskId, file: FileId, op: Op) -> OpResult {
    match op {
        Op::Write(pos, len, dsync) => {
            let flags = WriteFlags { dsync, ..WriteFlags::default() };
            let mut source = Fill { byte: task.get() as u8, len: Bytes::new(len) };
            engine.pwrite(task, file, Pos::new(pos), &mut source, flags).await
        }
        Op::Read(pos, len) => {
            let mut dest = Discard(Bytes::new(len));
            engine.pread(task, file, Pos::new(pos), &mut dest, ReadFlags::default()).await
        }
        Op::WriteDirect(pos, len) => {
            let range = sectors(engine, pos, len);
            let flags = WriteFlags { direct: true, ..WriteFlags::default() };
            let mut source = Fill { byte: task.get() as u8, len: range.len() };
            engine.pwrite(task, file, range.start(), &mut source, flags).await
        }
        Op::ReadDirect(pos, len) => {
            let range = sectors(engine, pos, len);
            let flags = ReadFlags { direct: true, ..ReadFlags::default() };
            engine.pread(task, file, range.start(), &mut Discard(range.len()), flags).await
        }
        Op::Store(pos, len) => engine.mmap_store(task, file, range(pos, len), 9).await,
        Op::Drop(pos, len) => engine.fadvise(task, file, range(pos, len), Advice::DontNeed).await,
        Op::Reclaim(pages) => engine.reclaim(task, Pages::new(pages)),
        Op::Shape(Shape::Truncate(size)) => engine.truncate(task, file, Pos::new(size)).await,
        Op::Shape(Shape::Falloc(mode, pos, len)) => {
            let moves = matches!(mode, FallocMode::Collapse | FallocMode::Insert);
            let range = if moves { aligned(engine, pos, len) } else { range(pos, len) };
            engine.fallocate(task, file, mode, range).await
        }
        Op::Fsync => engine.fsync(task, file, false).await,
        Op::Syncfs => engine.syncfs(task).await,
    }
}

/// Runs a script for each task, all at once.
fn race<S: Sink>(rig: &mut Rig<S>, scripts: &[Vec<Op>]) {
    let (engine, file) = (&rig.engine, rig.file);
    let each = TASKS.iter().zip(scripts).map(|(task, script)| {
        let script = script.clone();
        let all = async move {
            for op in script {
                let done = act(engine, *task, file, op).await;
                assert_ne!(done.0, Err(Errno::Io), "nothing fails");
            }
            OpResult(Ok(Bytes::ZERO))
        };
        Box::pin(all) as BoxedOp<'_>
    });
    drive_all(engine, &mut rig.sim, each.collect()).expect("nothing hangs");
}

/// Nothing is left to do, and the device has what a reader sees.
fn is_whole<S: Sink>(rig: &mut Rig<S>) {
    rig.fsync();
    let file = rig.file;
    let (size, recorded) = rig.engine.look(|world| {
        let model = world.snapshot();
        let file = model.file(file).expect("it is open");
        for lock in Lock::ALL {
            assert_eq!(file.lock_uses(lock).count(), 0, "{}", lock.name());
        }
        (file.size(), file.disk_size())
    });
    assert_eq!(size, recorded, "i_size and the recorded size");
    assert_eq!(rig.durable(), peek_bytes(&rig.engine, &rig.sim, file));
}

fn cases() -> impl Strategy<Value = (usize, usize, Kind, Vec<Vec<Op>>)> {
    let kind = prop::sample::select(vec![Kind::Extents, Kind::Generic, Kind::Queued]);
    (0usize..5, 0usize..PROFILES.len(), kind).prop_flat_map(|(at, with, kind)| {
        let limit = if at == 4 { 40_000 } else { 700 };
        let scripts = prop::collection::vec(shaping_scripts(limit, 6), 2..=3);
        scripts.prop_map(move |scripts| (at, with, kind, scripts))
    })
}

/// The same past the cache, too; nobody stores through a mapping, which collides with that.
fn direct_cases() -> impl Strategy<Value = (usize, usize, Kind, Vec<Vec<Op>>)> {
    let kinds = [Kind::Extents, Kind::Generic, Kind::Shared, Kind::Queued];
    let kind = prop::sample::select(kinds.to_vec());
    (0usize..5, 0usize..PROFILES.len(), kind).prop_flat_map(|(at, with, kind)| {
        let limit = if at == 4 { 40_000 } else { 700 };
        let part = prop_oneof![shaping_scripts(limit, 2), direct_scripts(limit, 3)];
        let script = prop::collection::vec(part, 1..3).prop_map(|parts| {
            let stores = |op: &Op| matches!(op, Op::Store(..));
            parts.concat().into_iter().filter(|op| !stores(op)).collect::<Vec<_>>()
        });
        prop::collection::vec(script, 1..4).prop_map(move |scripts| (at, with, kind, scripts))
    })
}

/// Runs scripts at once, and holds what must hold of the file and of the trace.
fn leave_it_whole(at: usize, with: usize, kind: Kind, scripts: &[Vec<Op>]) {
    let behaviours = PROFILES[with].behaviours;
    let old = behaviours.zero_flush == ZeroFlush::Never;
    let kind = if old && kind == Kind::Generic { Kind::Extents } else { kind };
    let geometry = geometries()[at];
    let sink = Folding::new(geometry);
    let mut rig = Rig::with_timing(geometry, behaviours, kind, sink, queue());
    race(&mut rig, scripts);
    is_whole(&mut rig);
    assert_eq!(rig.engine.counters().get(Counter::BrokenInvariants), 0);
    assert_eq!(rig.engine.counters().get(Counter::DirectCollisions), 0);
    let recording = rig.engine.into_sink().recording;
    let timeline = Timeline::new(header(geometry, behaviours), recording);
    let mut timeline = timeline.expect("a trace fits itself");
    timeline.seek(usize::MAX);
    while timeline.back() {}
    assert_eq!(timeline.model(), &Model::new(geometry));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn tasks_that_change_one_file_leave_it_whole((at, with, kind, scripts) in cases()) {
        leave_it_whole(at, with, kind, &scripts);
    }

    #[test]
    fn tasks_that_go_past_the_cache_too_leave_it_whole(
        (at, with, kind, scripts) in direct_cases(),
    ) {
        leave_it_whole(at, with, kind, &scripts);
    }
}

/// An engine with a file of 300 bytes that are on the device, traced.
fn rig() -> Rig<Recording> {
    let sink = Recording::default();
    let mut rig =
        Rig::with_timing(geometries()[0], Behaviours::default(), Kind::Extents, sink, queue());
    rig.write(0, 300, 1, false);
    rig.fsync();
    rig
}

fn polls(op: &mut Pin<Box<dyn Future<Output = OpResult> + '_>>) -> Poll<OpResult> {
    op.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// The uses of a lock as the trace has them: operation, mode, whether it waits.
fn uses(engine: &Engine<Host<Recording>>, file: FileId, lock: Lock) -> Vec<(u32, Mode, bool)> {
    let model = engine.look(World::snapshot);
    let file = model.file(file).expect("it is open");
    file.lock_uses(lock).map(|(op, of)| (op, of.mode, of.ticket.is_some())).collect()
}

fn rules(engine: &Engine<Host<Recording>>) -> Vec<Rule> {
    engine.look(|world| {
        let all = world.sink();
        (0..all.len()).map(|at| all.step(at).rule).collect()
    })
}

#[test]
fn a_truncation_that_waits_for_writeback_does_not_overtake_a_write() {
    let behaviours = PROFILES[0].behaviours;
    let mut rig = Rig::with_timing(geometries()[0], behaviours, Kind::Extents, NoTrace, queue());
    // Without locks the truncation records its size after the write has recorded a larger one.
    let punch = Op::Shape(Shape::Falloc(FallocMode::Punch, 255, 18));
    let cut = Op::Shape(Shape::Truncate(256));
    let grows = vec![Op::Write(273, 128, false)];
    race(&mut rig, &[grows, vec![punch, Op::Write(129, 143, true)], vec![cut]]);
    is_whole(&mut rig);
}

#[test]
fn who_waits_for_a_lock_stands_in_the_trace_and_has_it_in_turn() {
    let rig = rig();
    let (engine, file) = (&rig.engine, rig.file);
    let stop = Stop { task: TASKS[0], point: StopPoint::AfterCopy, at: None, passes: 0 };
    engine.hold_at(Some(stop));
    let mut source = Fill { byte: 2, len: Bytes::new(10) };
    let mut write: BoxedOp<'_> =
        Box::pin(engine.pwrite(TASKS[0], file, Pos::ZERO, &mut source, WriteFlags::default()));
    assert!(polls(&mut write).is_pending());
    let mut cut: BoxedOp<'_> = Box::pin(engine.truncate(TASKS[1], file, Pos::new(5)));
    assert!(polls(&mut cut).is_pending());
    let mut dest = Discard(Bytes::new(10));
    let mut read: BoxedOp<'_> =
        Box::pin(engine.pread(TASKS[2], file, Pos::ZERO, &mut dest, ReadFlags::default()));
    assert!(polls(&mut read).is_pending());
    let [first, second, third] = [2, 3, 4];
    let (shared, alone) = (Mode::Shared, Mode::Exclusive);
    assert_eq!(
        uses(engine, file, Lock::Io),
        [(first, alone, false), (second, alone, true), (third, shared, true)]
    );
    assert!(polls(&mut read).is_pending(), "the truncation came first");
    engine.release(TASKS[0]);
    assert_eq!(polls(&mut write), Poll::Ready(OpResult(Ok(Bytes::new(10)))));
    assert_eq!(uses(engine, file, Lock::Io), [(second, alone, false), (third, shared, true)]);
    drop(cut);
    assert_eq!(uses(engine, file, Lock::Io), [(third, shared, false)], "who gives up lets it go");
    assert_eq!(polls(&mut read), Poll::Ready(OpResult(Ok(Bytes::new(10)))));
    assert_eq!(uses(engine, file, Lock::Io), []);
    let all = rules(engine);
    let count = |rule: Rule| all.iter().filter(|other| **other == rule).count();
    assert_eq!(
        (count(Rule::WaitsToExclude), count(Rule::WaitsToShare), count(Rule::LockTaken)),
        (1, 1, 1)
    );
}

#[test]
fn who_may_not_wait_for_a_lock_is_told_so() {
    let mut rig = rig();
    let (engine, file) = (&rig.engine, rig.file);
    let stop = Stop { task: TASKS[0], point: StopPoint::AfterCopy, at: None, passes: 0 };
    engine.hold_at(Some(stop));
    let mut source = Fill { byte: 2, len: Bytes::new(10) };
    let mut write: BoxedOp<'_> =
        Box::pin(engine.pwrite(TASKS[0], file, Pos::ZERO, &mut source, WriteFlags::default()));
    assert!(polls(&mut write).is_pending());
    let again = Poll::Ready(OpResult(Err(Errno::Again)));
    let mut other = Fill { byte: 3, len: Bytes::new(10) };
    let flags = WriteFlags { nowait: true, ..WriteFlags::default() };
    let mut second: BoxedOp<'_> =
        Box::pin(engine.pwrite(TASKS[1], file, Pos::ZERO, &mut other, flags));
    assert_eq!(polls(&mut second), again);
    let mut dest = Discard(Bytes::new(10));
    let flags = ReadFlags { nowait: true, ..ReadFlags::default() };
    let mut read: BoxedOp<'_> = Box::pin(engine.pread(TASKS[2], file, Pos::ZERO, &mut dest, flags));
    assert_eq!(polls(&mut read), again);
    drop((read, second));
    engine.release(TASKS[0]);
    assert!(polls(&mut write).is_ready());
    drop(write);
    is_whole(&mut rig);
}

#[test]
fn a_device_is_read_and_written_without_the_inode_lock() {
    let mut rig = Rig::new(geometries()[0], Behaviours::default(), Kind::BlockDev, NoTrace);
    rig.write(0, 600, 1, false);
    let (engine, file) = (&rig.engine, rig.file);
    let stop = Stop { task: TASKS[0], point: StopPoint::AfterCopy, at: None, passes: 0 };
    engine.hold_at(Some(stop));
    let mut source = Fill { byte: 2, len: Bytes::new(10) };
    let mut write: BoxedOp<'_> =
        Box::pin(engine.pwrite(TASKS[0], file, Pos::ZERO, &mut source, WriteFlags::default()));
    assert!(polls(&mut write).is_pending());
    let mut other = Fill { byte: 3, len: Bytes::new(10) };
    let second: BoxedOp<'_> =
        Box::pin(engine.pwrite(TASKS[1], file, Pos::new(500), &mut other, WriteFlags::default()));
    let done = drive_all(engine, &mut rig.sim, vec![second]).expect("nothing hangs");
    assert_eq!(done, [OpResult(Ok(Bytes::new(10)))]);
}

/// A write that begins behind EOF zeroes up to there: from 6.12 on while nobody can add folios.
#[test]
fn a_gap_is_zeroed_while_faults_wait_where_the_kernel_has_it_so() {
    for profile in PROFILES {
        let (sink, geometry) = (Recording::default(), geometries()[0]);
        let mut rig = Rig::with_timing(geometry, profile.behaviours, Kind::Extents, sink, queue());
        rig.write(0, 300, 1, false);
        rig.fsync();
        let (engine, file) = (&rig.engine, rig.file);
        let stop = Stop { task: TASKS[0], point: StopPoint::FolioLocked, at: None, passes: 0 };
        engine.hold_at(Some(stop));
        let mut source = Fill { byte: 2, len: Bytes::new(10) };
        let mut write: BoxedOp<'_> = Box::pin(engine.pwrite(
            TASKS[0],
            file,
            Pos::new(320),
            &mut source,
            WriteFlags::default(),
        ));
        assert!(polls(&mut write).is_pending(), "it zeroes the end of the block of EOF");
        let lock = profile.behaviours.invalidate_lock;
        let alone: &[_] =
            if lock == InvalidateLock::OverGaps { &[(2, Mode::Exclusive, false)] } else { &[] };
        assert_eq!(uses(engine, file, Lock::Invalidate), alone, "{}", profile.name);
        engine.release(TASKS[0]);
        assert_eq!(polls(&mut write), Poll::Ready(OpResult(Ok(Bytes::new(10)))));
        drop(write);
        is_whole(&mut rig);
    }
}

/// Cases that once broke what they must hold, made as short as they could be.
#[test]
fn what_once_went_wrong_is_left_whole() {
    let punch = |pos, len| Op::Shape(Shape::Falloc(FallocMode::Punch, pos, len));
    // A folio left the cache under a store that waited for a lock, and a write brought another one.
    let write = vec![Op::Write(173, 68, false), Op::Fsync];
    leave_it_whole(0, 4, Kind::Queued, &[write, vec![Op::Store(0, 193)], vec![punch(192, 1)]]);
    // A read brings the cache in again while a direct write waits for the rest of it to be dropped.
    let first = vec![Op::WriteDirect(320, 1)];
    let scripts = [first, vec![Op::Read(0, 321)], vec![Op::WriteDirect(64, 193)]];
    leave_it_whole(2, 1, Kind::Shared, &scripts);
    // A direct write drops a folio whose read has just ended, before the reader looks at it.
    let first = vec![Op::WriteDirect(8192, 2561), Op::WriteDirect(0, 8193)];
    let scripts = [first, vec![Op::WriteDirect(512, 1)], vec![Op::Read(8192, 1)]];
    leave_it_whole(4, 2, Kind::Extents, &scripts);
}
