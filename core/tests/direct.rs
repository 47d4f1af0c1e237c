//! Direct reads and writes beside cached data: laws over random mixes, and each rule by itself.

mod common;

use common::folding::Folding;
use common::{
    Kind, Op, Rig, TASK, direct_scripts, geometries, geometry, header, queue, shaping_scripts,
};
use folioscope_core::behaviour::{PROFILES, ZeroFlush};
use folioscope_core::counters::Counter;
use folioscope_core::engine::drive;
use folioscope_core::geometry::Geometry;
use folioscope_core::trace::model::Model;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::trace::timeline::Timeline;
use folioscope_core::units::{FileRange, Pos};
use proptest::prelude::*;

/// Worlds for direct I/O: also blocks of several sectors, smaller and larger than a page.
fn worlds() -> Vec<Geometry> {
    let mut all = geometries().to_vec();
    all.extend([geometry(4096, 1024, 2), geometry(512, 2048, 4)]);
    all
}

fn limit_of(at: usize) -> u64 {
    if at >= 4 { 20_000 } else { 700 }
}

fn cases() -> impl Strategy<Value = (usize, usize, Kind, Vec<Op>)> {
    let kinds = [
        Kind::Extents,
        Kind::BlockDev,
        Kind::Shared,
        Kind::Queued,
        Kind::Stuffed,
        Kind::Indirect,
        Kind::Generic,
    ];
    let kind = prop::sample::select(kinds.to_vec());
    (0..worlds().len(), 0..PROFILES.len(), kind).prop_flat_map(|(at, with, kind)| {
        let reshapes = matches!(kind, Kind::Extents | Kind::Shared | Kind::Queued | Kind::Generic);
        let direct = direct_scripts(limit_of(at), 14);
        let script = if reshapes {
            prop_oneof![direct, mixed(limit_of(at))].boxed()
        } else {
            direct.boxed()
        };
        // A device does not grow, and has whole blocks.
        let device = (limit_of(at) * 2).next_multiple_of(2048);
        let first = (kind == Kind::BlockDev).then_some(Op::Write(0, device, false));
        script.prop_map(move |script| {
            (at, with, kind, first.into_iter().chain(script).collect::<Vec<_>>())
        })
    })
}

/// Direct I/O between changes of size and extents.
fn mixed(limit: u64) -> impl Strategy<Value = Vec<Op>> {
    let part = prop_oneof![shaping_scripts(limit, 3), direct_scripts(limit, 3)];
    prop::collection::vec(part, 1..6).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn a_mix_of_direct_and_cached_agrees_with_a_plain_array((at, with, kind, script) in cases()) {
        let behaviours = PROFILES[with].behaviours;
        // Old zeroing skips dirty cache over unwritten blocks: file systems must write it before.
        let old = behaviours.zero_flush == ZeroFlush::Never;
        let kind = if old && kind == Kind::Generic { Kind::Extents } else { kind };
        let geometry = worlds()[at];
        let sink = Folding::new(geometry);
        let mut rig = Rig::with_timing(geometry, behaviours, kind, sink, queue());
        let mut model = rig.start();
        rig.run(&script, &mut model);
        rig.fsync();
        prop_assert_eq!(rig.durable(), model);
        let counters = rig.engine.counters();
        prop_assert_eq!(counters.get(Counter::BrokenInvariants), 0);
        prop_assert_eq!(counters.get(Counter::DirectCollisions), 0);
        rig.engine.look(|world| {
            let files = world.snapshot();
            assert!(files.files().all(|(_, file)| file.direct() == 0));
        });
        let recording = rig.engine.into_sink().recording;
        let timeline = Timeline::new(header(geometry, behaviours), recording);
        let mut timeline = timeline.expect("a trace fits itself");
        timeline.seek(usize::MAX);
        while timeline.back() {}
        prop_assert_eq!(timeline.model(), &Model::new(geometry));
    }
}

/// What is stored where a direct write left a writable page without space is lost, and nothing else
/// is; where kernels write what is dirty over holes first, nothing is.
#[test]
fn a_store_into_the_page_that_a_direct_write_left_is_lost_where_nobody_wrote_it() {
    for profile in PROFILES {
        let behaviours = profile.behaviours;
        let sink = NoTrace;
        let mut rig = Rig::with_timing(worlds()[2], behaviours, Kind::Queued, sink, queue());
        let mut model = rig.start();
        // EOF is at 385, so that the blocks from 400 to the end of the page at 448 have no space.
        let before = [Op::Write(377, 8, false), Op::Store(158, 227), Op::WriteDirect(448, 1)];
        rig.run(&before, &mut model);
        let range = FileRange::between(Pos::new(186), Pos::new(401));
        let store = rig.engine.mmap_store(TASK, rig.file, range, 9);
        let done = drive(&rig.engine, &mut rig.sim, store).expect("nothing hangs");
        assert_eq!(done.0, Ok(range.len()));
        model[186..401].fill(9);
        let flush = behaviours.zero_flush;
        if matches!(flush, ZeroFlush::Never | ZeroFlush::Unwritten) {
            model[400] = 0;
        }
        rig.fsync();
        assert_eq!(rig.durable(), model, "{}", profile.name);
    }
}
