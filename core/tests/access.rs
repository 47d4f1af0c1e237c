//! How uses of folios are marked, and what reclaim makes of the marks.

mod common;

use common::{Host, TASK, geometry};
use folioscope_core::behaviour::{Behaviours, FirstAccess, PROFILES, Profile};
use folioscope_core::cache::folio::FolioFlags;
use folioscope_core::cache::frame_alloc::FramePolicy;
use folioscope_core::counters::Counter;
use folioscope_core::device::sim::{Sim, Timing};
use folioscope_core::engine::{BoxedOp, Engine, ReadFlags, WriteFlags, drive, drive_all};
use folioscope_core::frames::{Fill, HeapFrames};
use folioscope_core::fs::blockdev::BlockDev;
use folioscope_core::fs::{Provider, SpaceAllocator};
use folioscope_core::ops::advise::Advice;
use folioscope_core::ops::readahead::ReadaheadLimits;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::units::{Bytes, DevAddr, FileId, FileRange, Nanos, Pages, Pos, TaskId};
use folioscope_core::world::Config;
use proptest::prelude::*;

const PAGE: u64 = 64;
const OTHER: TaskId = TaskId::new(2);
/// Folios of a batch.
const BATCH: u64 = 31;

const R: FolioFlags = FolioFlags::REFERENCED;
const A: FolioFlags = FolioFlags::ACTIVE;
const L: FolioFlags = FolioFlags::LRU;
const U: FolioFlags = FolioFlags::UNEVICTABLE;

/// One-page folios on a device; what is read is read page by page.
struct Rig {
    engine: Engine<Host<NoTrace>>,
    sim: Sim,
    file: FileId,
}

impl Rig {
    fn new(first_access: FirstAccess) -> Self {
        let size = Bytes::new(1 << 20);
        Self::with(first_access, Provider::BlockDev(BlockDev::new(size)), size)
    }
    fn with(first_access: FirstAccess, provider: Provider, size: Bytes) -> Self {
        let geometry = geometry(PAGE, PAGE, 0);
        let config = Config {
            geometry,
            behaviours: Behaviours { first_access, ..Behaviours::default() },
            stable_writes: true,
            frames: FramePolicy::Packed,
            space: SpaceAllocator::new(DevAddr::ZERO, None),
            readahead: ReadaheadLimits { window: Pages::ZERO, io: Pages::ZERO },
            queue: None,
            partition: Bytes::ZERO,
        };
        let engine = Engine::new(config, HeapFrames::new(geometry.page_size()), NoTrace);
        let file = engine.open(Pos::ZERO + size, provider);
        let latency = Nanos::new(1000);
        let timing = Timing::Queue { depth: 8, latency, per_kib: latency, flush: latency };
        Self { engine, sim: Sim::new(timing), file }
    }
    fn write_as(&mut self, task: TaskId, page: u64, flags: WriteFlags) {
        let mut source = Fill { byte: 1, len: Bytes::new(PAGE) };
        let op = self.engine.pwrite(task, self.file, Pos::new(page * PAGE), &mut source, flags);
        drive(&self.engine, &mut self.sim, op).expect("nothing hangs").0.expect("written");
    }
    fn write(&mut self, page: u64) {
        self.write_as(TASK, page, WriteFlags::default());
    }
    fn read(&mut self, at: u64, len: u64) -> Vec<u8> {
        let mut buffer = vec![9; len as usize];
        let mut dest = buffer.as_mut_slice();
        let op = self.engine.pread(TASK, self.file, Pos::new(at), &mut dest, ReadFlags::default());
        let read = drive(&self.engine, &mut self.sim, op).expect("nothing hangs");
        buffer.truncate(read.0.expect("read").get() as usize);
        buffer
    }
    fn fsync(&mut self) {
        let op = self.engine.fsync(TASK, self.file, false);
        drive(&self.engine, &mut self.sim, op).expect("nothing hangs").0.expect("synced");
    }
    fn mark_as(&self, task: TaskId, page: u64) {
        self.engine.mark_accessed(task, self.file, Pos::new(page * PAGE));
    }
    fn mark(&self, page: u64) {
        self.mark_as(TASK, page);
    }
    fn flags(&self, page: u64) -> Option<FolioFlags> {
        let lru = R | A | L | U;
        let flags = self.engine.folio_flags(self.file, Pos::new(page * PAGE))?;
        let others = FolioFlags::from_word(flags.get() & !lru.get());
        Some(flags.without(others))
    }
    fn count(&self, counter: Counter) -> u64 {
        self.engine.counters().get(counter)
    }
    fn reclaim(&self, pages: u64) -> u64 {
        self.engine.reclaim(TASK, Pages::new(pages)).0.expect("freed").get() / PAGE
    }
    /// New folios far out, until this CPU's batch has reached the lists.
    fn fill_batch(&mut self, used: u64) {
        for page in 1000..1000 + BATCH - used {
            self.write(page);
        }
    }
}

#[test]
fn every_row_of_the_two_touch_rule() {
    // To be dropped behind its I/O: nothing.
    let rig = Rig::new(FirstAccess::None);
    let flags = WriteFlags { dontcache: true, ..WriteFlags::default() };
    let mut source = Fill { byte: 1, len: Bytes::new(PAGE) };
    let mut op: BoxedOp<'_> =
        Box::pin(rig.engine.pwrite(TASK, rig.file, Pos::ZERO, &mut source, flags));
    let mut cx = core::task::Context::from_waker(core::task::Waker::noop());
    assert!(op.as_mut().poll(&mut cx).is_ready());
    rig.mark(0);
    assert_eq!(rig.flags(0), Some(FolioFlags::NONE));
    drop(op);

    // Not referenced: referenced. In this CPU's batch and referenced: active at once.
    let mut rig = Rig::new(FirstAccess::None);
    rig.write(0);
    assert_eq!(rig.flags(0), Some(FolioFlags::NONE));
    rig.mark(0);
    assert_eq!(rig.flags(0), Some(R));
    rig.mark(0);
    assert_eq!(rig.flags(0), Some(A));
    assert_eq!(rig.count(Counter::Activations), 1);
    // Active: referenced, and then nothing more.
    rig.mark(0);
    assert_eq!(rig.flags(0), Some(R | A));
    let before = rig.count(Counter::AtomicFlagOps);
    rig.mark(0);
    assert_eq!(rig.flags(0), Some(R | A));
    assert_eq!(rig.count(Counter::AtomicFlagOps), before);

    // In the batch of another CPU: the mark goes, and nothing else.
    let mut rig = Rig::new(FirstAccess::None);
    rig.write_as(OTHER, 0, WriteFlags::default());
    rig.mark(0);
    rig.mark(0);
    assert_eq!(rig.flags(0), Some(FolioFlags::NONE));
    assert_eq!(rig.count(Counter::Activations), 0);

    // On a list: waits until as many as a batch holds are to become active.
    let mut rig = Rig::new(FirstAccess::None);
    for page in 0..BATCH {
        assert_eq!(rig.flags(page), None);
        rig.write(page);
    }
    assert_eq!(rig.flags(0), Some(L), "the batch was full");
    for page in 0..BATCH {
        assert!(rig.flags(0).is_some_and(|flags| !flags.has(A)));
        rig.mark(page);
        assert_eq!(rig.flags(page), Some(R | L));
        rig.mark(page);
    }
    assert_eq!(rig.count(Counter::Activations), BATCH);
    assert!((0..BATCH).all(|page| rig.flags(page) == Some(A | L)));

    // Unevictable and referenced: nothing.
    let mut rig = Rig::new(FirstAccess::None);
    rig.engine.set_unevictable(rig.file);
    rig.write(0);
    rig.fill_batch(1);
    for _ in 0..3 {
        rig.mark(0);
        assert_eq!(rig.flags(0), Some(R | U | L));
    }
    assert_eq!(rig.count(Counter::Activations), 0);
}

/// Counts of writing each of `pages` new pages `k` times: atomic, plain, activations.
fn writes(profile: &str, pages: u64, k: u64) -> (u64, u64, u64) {
    let profile = Profile::named(profile).expect("a profile");
    let mut rig = Rig::new(profile.behaviours.first_access);
    for page in 0..pages {
        for _ in 0..k {
            rig.write(page);
        }
    }
    let count = |counter| rig.count(counter);
    (count(Counter::AtomicFlagOps), count(Counter::PlainFlagOps), count(Counter::Activations))
}

#[test]
fn a_new_page_costs_one_atomic_operation_less_since_3_16() {
    let n = BATCH - 1;
    assert_eq!(writes("linux-3.15", n, 1), (n, 0, 0));
    assert_eq!(writes("linux-3.16", n, 1), (0, n, 0));
    // Set, cleared as it becomes active, set again, and the fourth changes nothing.
    assert_eq!(writes("linux-3.15", n, 4), (3 * n, 0, n));
    assert_eq!(writes("linux-3.16", n, 4), (2 * n, n, n));
    for k in [1, 4] {
        // Also where pages reach the lists meanwhile.
        let (before, after) = (writes("linux-3.15", 200, k), writes("linux-3.16", 200, k));
        assert_eq!(before, (after.0 + 200, 0, after.2));
        assert_eq!(after.1, 200);
        assert_eq!(writes("linux-6.18", n, k), (0, 0, 0), "writes are no use since 4.7");
    }
}

#[test]
fn a_read_counts_once_a_folio_and_not_where_the_last_one_ended() {
    let mut rig = Rig::new(FirstAccess::None);
    for at in 0..PAGE {
        rig.read(at, 1);
    }
    assert_eq!(rig.flags(0), Some(R), "byte by byte is one use");
    rig.read(0, 3 * PAGE);
    assert_eq!((rig.flags(0), rig.flags(1), rig.flags(2)), (Some(R), Some(R), Some(R)));
    rig.read(0, 3 * PAGE);
    assert_eq!((rig.flags(0), rig.flags(1)), (Some(A), Some(A)));
}

/// The slight snag of 3.16. A folio waits in the batch of another CPU and is written again while it
/// is on its way to the device. At the lookup nothing can be activated; after the copy it can.
fn snag(first_access: FirstAccess) -> Option<FolioFlags> {
    let mut rig = Rig::new(first_access);
    rig.write_as(OTHER, 0, WriteFlags::default());
    let (engine, file) = (&rig.engine, rig.file);
    let mut again = Fill { byte: 2, len: Bytes::new(PAGE) };
    let mut others: Vec<Fill> =
        (0..BATCH).map(|_| Fill { byte: 3, len: Bytes::new(PAGE) }).collect();
    let flags = WriteFlags::default();
    let mut ops: Vec<BoxedOp<'_>> = vec![
        Box::pin(engine.fsync(TaskId::new(3), file, false)),
        Box::pin(engine.pwrite(TASK, file, Pos::ZERO, &mut again, flags)),
    ];
    for (at, source) in others.iter_mut().enumerate() {
        let pos = Pos::new((100 + at as u64) * PAGE);
        ops.push(Box::pin(engine.pwrite(OTHER, file, pos, source, flags)));
    }
    let done = drive_all(engine, &mut rig.sim, ops).expect("nothing hangs");
    assert!(done.iter().all(|result| result.0.is_ok()));
    // Reclaim drains what waits and takes nothing that is dirty.
    rig.reclaim(1);
    rig.flags(0)
}

#[test]
fn a_mark_at_the_lookup_may_come_too_early_to_activate() {
    let before = snag(FirstAccess::MarkAfterVisible).expect("dirty folios stay");
    assert!(before.has(A), "{before}");
    let after = snag(FirstAccess::InitBeforeVisible).expect("dirty folios stay");
    assert!(!after.has(A) && !after.has(R), "{after}");
}

#[test]
fn reclaim_takes_clean_folios_marked_or_not_and_never_dirty_ones() {
    let mut rig = Rig::new(FirstAccess::None);
    for page in 0..8 {
        rig.read(page * PAGE, PAGE);
    }
    rig.read(7 * PAGE, 1);
    rig.write(3);
    // The one that was used twice is protected, the dirty one waits.
    assert_eq!(rig.reclaim(4), 4);
    assert_eq!(rig.count(Counter::ScansWithR), 5);
    let cached = |rig: &Rig| (0..8).filter(|page| rig.flags(*page).is_some()).collect::<Vec<_>>();
    assert_eq!(cached(&rig), [3, 5, 6, 7]);
    let reclaimed = |rig: &Rig| {
        let flags = rig.engine.folio_flags(rig.file, Pos::new(3 * PAGE));
        flags.is_some_and(|flags| flags.has(FolioFlags::RECLAIM))
    };
    assert!(reclaimed(&rig));
    let written = rig.count(Counter::WriteBios);
    assert_eq!(rig.reclaim(100), 3, "the active one once it is active no more");
    assert_eq!((cached(&rig), rig.count(Counter::WriteBios)), (vec![3], written));
    // Written back, it is the next to go: before one that was read long before.
    rig.read(9 * PAGE, PAGE);
    rig.fsync();
    assert!(!reclaimed(&rig));
    assert_eq!(rig.reclaim(1), 1);
    assert_eq!((rig.flags(3), rig.flags(9).is_some()), (None, true));
}

#[test]
fn a_page_that_comes_back_soon_is_active_at_once() {
    let mut rig = Rig::new(FirstAccess::None);
    // Four active pages, eight that are used once.
    for page in 0..12 {
        rig.read(page * PAGE, PAGE);
    }
    for page in 0..4 {
        rig.read(100 * PAGE, 1);
        rig.read(page * PAGE, 1);
    }
    assert_eq!(rig.reclaim(3), 3);
    assert_eq!(rig.flags(4), None);
    // Two pages went since: they would have fitted beside the active ones.
    rig.read(5 * PAGE, PAGE);
    assert!(rig.flags(5).expect("read again").has(A));
    assert_eq!(rig.count(Counter::Refaults), 1);
    // Much went since: they would not.
    for page in 200..300 {
        rig.read(page * PAGE, PAGE);
    }
    rig.reclaim(80);
    rig.read(4 * PAGE, PAGE);
    assert!(!rig.flags(4).expect("read again").has(A));
    assert_eq!(rig.count(Counter::Refaults), 2);
    // A write where a page was forgets it.
    rig.write(6);
    rig.fsync();
    rig.engine.evict(rig.file, FileRange::between(Pos::new(6 * PAGE), Pos::new(7 * PAGE)));
    rig.read(6 * PAGE, PAGE);
    assert_eq!(rig.count(Counter::Refaults), 2);
}

#[test]
fn a_mapped_page_that_is_used_stays() {
    let mut rig = Rig::new(FirstAccess::None);
    rig.read(0, 2 * PAGE);
    let range = FileRange::between(Pos::ZERO, Pos::new(1));
    let load = |rig: &mut Rig| {
        let op = rig.engine.mmap_load(TASK, rig.file, range);
        drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs").0.expect("loaded");
    };
    load(&mut rig);
    // Mapped around the fault: both pages. Marked and mapped: active.
    assert_eq!(rig.reclaim(1), 0);
    assert!(rig.flags(0).expect("stays").has(A) && rig.flags(1).expect("stays").has(A));
    load(&mut rig);
    // The one that nobody touched since goes once it is active no more.
    assert_eq!(rig.reclaim(2), 1);
    assert_eq!((rig.flags(0).is_some(), rig.flags(1)), (true, None));
}

#[test]
fn a_file_in_memory_costs_the_processor_only() {
    for (first_access, atomic, plain) in
        [(FirstAccess::MarkAfterVisible, 5, 0), (FirstAccess::InitBeforeVisible, 0, 5)]
    {
        let mut rig = Rig::with(first_access, Provider::Memory, Bytes::ZERO);
        let mut source = Fill { byte: 7, len: Bytes::new(4 * PAGE + 10) };
        let pos = Pos::new(3 * PAGE + 5);
        let op = rig.engine.pwrite(TASK, rig.file, pos, &mut source, WriteFlags::default());
        drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs").0.expect("written");
        let mut want = vec![0; 3 * PAGE as usize + 5];
        want.resize(want.len() + 4 * PAGE as usize + 10, 7);
        assert_eq!(rig.read(0, 20 * PAGE), want);
        assert_eq!(rig.flags(1), None, "reading what was never written makes no folio");
        rig.fsync();
        let still = (rig.reclaim(100), rig.engine.poll_effect());
        assert_eq!(still, (0, None));
        for counter in [Counter::WriteBios, Counter::ReadBios, Counter::Flushes] {
            assert_eq!(rig.count(counter), 0, "{}", counter.name());
        }
        let pages = rig.count(Counter::FoliosCreated);
        assert_eq!(pages, 5);
        // The read used each page once more.
        let uses = rig.count(Counter::AtomicFlagOps);
        assert_eq!((uses - atomic, rig.count(Counter::PlainFlagOps)), (pages, plain));
        assert_eq!(rig.read(0, 20 * PAGE), want);
    }
}

/// What one of three tasks does; each writes only where the others do not.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Read(u64, u64),
    Write(u64, u64),
    Load(u64),
    Store(u64),
    Sync,
    Drop,
    Reclaim(u64),
}

fn turns() -> impl Strategy<Value = Vec<[Turn; 3]>> {
    let turn = prop_oneof![
        3 => (0..900u64, 1..400u64).prop_map(|(at, len)| Turn::Read(at, len)),
        3 => (0..250u64, 1..150u64).prop_map(|(at, len)| Turn::Write(at, len)),
        1 => (0..300u64).prop_map(Turn::Load),
        1 => (0..300u64).prop_map(Turn::Store),
        1 => Just(Turn::Sync),
        1 => Just(Turn::Drop),
        2 => (1..12u64).prop_map(Turn::Reclaim),
    ];
    prop::collection::vec([turn.clone(), turn.clone(), turn], 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Folios leave while others wait for them: nothing is lost, and nobody uses what is gone.
    #[test]
    fn tasks_that_reclaim_and_tasks_that_wait_get_along(
        rounds in turns(),
        at in 0usize..5,
        with in 0..PROFILES.len(),
    ) {
        const REGION: u64 = 300;
        let mut rig = common::Rig::with_timing(
            common::geometries()[at],
            PROFILES[with].behaviours,
            common::Kind::Extents,
            NoTrace,
            common::queue(),
        );
        let mut model = vec![1u8; 3 * REGION as usize];
        rig.write(0, 3 * REGION, 1, true);
        rig.engine.evict(rig.file, FileRange::between(Pos::ZERO, Pos::new(1 << 20)));
        let (engine, file) = (&rig.engine, rig.file);
        for (n, round) in rounds.iter().enumerate() {
            let mut buffers = vec![vec![0u8; 400]; 3];
            let byte = 2 + 3 * n as u8;
            let mut sources =
                [0, 1, 2].map(|who| Fill { byte: byte + who, len: Bytes::ZERO });
            let mut dests: Vec<&mut [u8]> = Vec::new();
            for (turn, buffer) in round.iter().zip(&mut buffers) {
                let len = if let Turn::Read(_, len) = turn { *len } else { 0 };
                dests.push(&mut buffer[..len as usize]);
            }
            let mut ops: Vec<BoxedOp<'_>> = Vec::new();
            let each = round.iter().zip(&mut sources).zip(&mut dests).enumerate();
            for (who, ((turn, source), dest)) in each {
                let (task, base) = (TaskId::new(1 + who as u32), who as u64 * REGION);
                let one = FileRange::between(Pos::new(base), Pos::new(base + 1));
                let range = |at: u64| {
                    let end = (at + 9).min(REGION);
                    FileRange::between(Pos::new(base + at), Pos::new(base + end))
                };
                let whole = FileRange::between(Pos::ZERO, Pos::new(1 << 20));
                let byte = source.byte;
                let mut change = |at: u64, len: u64| {
                    let end = (at + len).min(REGION);
                    model[(base + at) as usize..(base + end) as usize].fill(byte);
                    end - at
                };
                ops.push(match *turn {
                    Turn::Read(at, _) => {
                        Box::pin(engine.pread(task, file, Pos::new(at), dest, ReadFlags::default()))
                    }
                    Turn::Write(at, len) => {
                        source.len = Bytes::new(change(at, len));
                        let pos = Pos::new(base + at);
                        Box::pin(engine.pwrite(task, file, pos, source, WriteFlags::default()))
                    }
                    Turn::Load(at) => Box::pin(engine.mmap_load(task, file, range(at))),
                    Turn::Store(at) => {
                        change(at, 9);
                        Box::pin(engine.mmap_store(task, file, range(at), byte))
                    }
                    Turn::Sync => Box::pin(engine.fsync(task, file, false)),
                    Turn::Drop => Box::pin(engine.fadvise(task, file, whole, Advice::DontNeed)),
                    Turn::Reclaim(pages) => Box::pin(async move {
                        // After a wait of its own, so that others are under way.
                        engine.mmap_load(task, file, one).await;
                        engine.reclaim(task, Pages::new(pages))
                    }),
                });
            }
            let done = drive_all(engine, &mut rig.sim, ops).expect("nothing hangs");
            prop_assert!(done.iter().all(|result| result.0.is_ok()), "{:?}: {:?}", round, done);
            folioscope_core::engine::settle(engine, &mut rig.sim);
            engine.look(|world| assert_eq!(world.broken_invariants(), []));
        }
        prop_assert_eq!(rig.read(0, 3 * REGION), &model[..]);
        rig.fsync();
        prop_assert_eq!(rig.durable(), model);
    }
}
