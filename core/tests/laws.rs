//! The laws of the trace and of the engine, as property tests.

mod common;

use common::folding::Folding;
use common::{Kind, Rig, TASK, geometries, header, queue, scripts, shaping_scripts};
use folioscope_core::behaviour::{Behaviours, DirtyTracking, PROFILES, ZeroFlush};
use folioscope_core::counters::Counter;
use folioscope_core::engine::{WriteFlags, drive};
use folioscope_core::frames::{BadAfter, Fill};
use folioscope_core::stops::{Stop, StopPoint};
use folioscope_core::trace::model::Model;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::trace::wire;
use folioscope_core::units::{Bytes, Pos, TaskId};
use proptest::prelude::*;

fn behaviours(at: usize) -> Behaviours {
    let mut all: Vec<Behaviours> = PROFILES.iter().map(|profile| profile.behaviours).collect();
    all.push(Behaviours { dirty_tracking: DirtyTracking::PerBlockRfc2, ..Behaviours::default() });
    all[at % all.len()]
}

fn limit_of(at: usize) -> u64 {
    if at == 4 { 40_000 } else { 700 }
}

fn record(at: usize, with: usize, kind: Kind, script: &[common::Op]) -> (Recording, Vec<u8>) {
    let mut rig = Rig::new(geometries()[at], behaviours(with), kind, Recording::default());
    let mut model = rig.start();
    rig.run(script, &mut model);
    rig.fsync();
    let durable = rig.durable();
    assert_eq!(durable, model);
    (rig.engine.into_sink(), durable)
}

/// A stop that nobody reaches: a write passes every point at which it could be held.
const NOBODY: Stop =
    Stop { task: TaskId::new(99), point: StopPoint::AfterCopy, at: None, passes: 0 };

fn cases() -> impl Strategy<Value = (usize, usize, Kind, Vec<common::Op>)> {
    let kinds = [
        Kind::Extents,
        Kind::BlockDev,
        Kind::Shared,
        Kind::Queued,
        Kind::Stuffed,
        Kind::Indirect,
        Kind::DeviceBuffers,
        Kind::Ext2,
        Kind::Ext4,
        Kind::Ext4Delayed,
    ];
    let kind = prop::sample::select(kinds.to_vec());
    (0usize..5, 0usize..10, kind).prop_flat_map(|(at, with, kind)| {
        scripts(limit_of(at), 12).prop_map(move |script| (at, with, kind, script))
    })
}

/// Scripts that change the shape of the file, which a device cannot do.
fn shaping_cases() -> impl Strategy<Value = (usize, usize, Kind, Vec<common::Op>)> {
    let kinds = [Kind::Extents, Kind::Generic, Kind::Shared, Kind::Queued];
    let kind = prop::sample::select(kinds.to_vec());
    (0usize..5, 0usize..PROFILES.len(), kind).prop_flat_map(|(at, with, kind)| {
        shaping_scripts(limit_of(at), 14).prop_map(move |script| (at, with, kind, script))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn a_write_that_need_not_wait_does_what_one_does_that_may(
        (at, with, kind, script) in cases(),
        (pos, good, bad) in (0u64..600, 0u64..100, 0u64..100),
    ) {
        let run = |stop: Option<Stop>| {
            let sink = Recording::default();
            let mut rig =
                Rig::with_timing(geometries()[at], behaviours(with), kind, sink, queue());
            rig.engine.hold_at(stop);
            let mut model = rig.start();
            rig.run(&script, &mut model);
            rig.syncfs();
            // Into what is being written, from memory that can be read in part.
            for nowait in [false, true] {
                let flags = WriteFlags { nowait, ..WriteFlags::default() };
                let len = Bytes::new(good + bad);
                let mut source = BadAfter { good: Fill { byte: 7, len: Bytes::new(good) }, len };
                let op = rig.engine.pwrite(TASK, rig.file, Pos::new(pos), &mut source, flags);
                drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs");
            }
            rig.fsync();
            (rig.engine.counters(), rig.durable(), rig.engine.into_sink())
        };
        let (quick, slow) = (run(None), run(Some(NOBODY)));
        prop_assert_eq!(quick.0, slow.0);
        prop_assert_eq!(quick.1, slow.1);
        prop_assert!(quick.2 == slow.2, "the steps differ");
    }

    #[test]
    fn reads_and_the_device_agree_with_a_plain_array((at, with, kind, script) in cases()) {
        let mut rig =
            Rig::with_timing(geometries()[at], behaviours(with), kind, NoTrace, queue());
        rig.run(&script, &mut rig.start());
    }

    #[test]
    fn a_file_that_changes_its_shape_agrees_with_a_plain_array(
        (at, with, kind, script) in shaping_cases(),
    ) {
        // Old zeroing skips dirty cache over unwritten blocks: file systems must write it before.
        let old = behaviours(with).zero_flush == ZeroFlush::Never;
        let kind = if old && kind == Kind::Generic { Kind::Extents } else { kind };
        let geometry = geometries()[at];
        let sink = Folding::new(geometry);
        let mut rig = Rig::with_timing(geometry, behaviours(with), kind, sink, queue());
        let mut model = rig.start();
        rig.run(&script, &mut model);
        rig.fsync();
        prop_assert_eq!(rig.durable(), model);
        let counters = rig.engine.counters();
        prop_assert_eq!(counters.get(Counter::BrokenInvariants), 0);
        let recording = rig.engine.into_sink().recording;
        let timeline = Timeline::new(header(geometry, behaviours(with)), recording);
        let mut timeline = timeline.expect("a trace fits itself");
        timeline.seek(usize::MAX);
        while timeline.back() {}
        prop_assert_eq!(timeline.model(), &Model::new(geometry));
    }

    #[test]
    fn tracing_changes_nothing_on_the_device((at, with, kind, script) in cases()) {
        let mut rig = Rig::new(geometries()[at], behaviours(with), kind, NoTrace);
        rig.run(&script, &mut rig.start());
        rig.fsync();
        let counters = rig.engine.counters();
        let (recording, durable) = record(at, with, kind, &script);
        prop_assert_eq!(rig.durable(), durable);
        let timeline = Timeline::new(header(geometries()[at], behaviours(with)), recording);
        let mut timeline = timeline.expect("a trace fits itself");
        timeline.seek(usize::MAX);
        prop_assert_eq!(timeline.model().counters(), &counters);
    }

    #[test]
    fn the_model_of_the_trace_is_the_state_of_the_engine((at, with, kind, script) in cases()) {
        let geometry = geometries()[at];
        let sink = Folding::new(geometry);
        let mut rig = Rig::new(geometry, behaviours(with), kind, sink);
        rig.run(&script, &mut rig.start());
        prop_assert!(!rig.engine.into_sink().recording.is_empty());
    }

    #[test]
    fn stepping_back_takes_back_and_seeking_is_stepping((at, with, kind, script) in cases()) {
        let (recording, _) = record(at, with, kind, &script);
        let header = header(geometries()[at], behaviours(with));
        let fresh = Model::new(header.geometry);
        let mut timeline = Timeline::new(header, recording).expect("a trace fits itself");
        let mut states = vec![timeline.model().clone()];
        while timeline.forward() {
            states.push(timeline.model().clone());
        }
        for state in states.iter().rev().skip(1) {
            prop_assert!(timeline.back());
            prop_assert_eq!(timeline.model(), state);
        }
        prop_assert!(!timeline.back());
        prop_assert_eq!(timeline.model(), &fresh);
        for jump in 0..20usize {
            let target = jump * 7919 % states.len();
            timeline.seek(target);
            prop_assert_eq!(timeline.position(), target);
            prop_assert_eq!(timeline.model(), &states[target]);
        }
    }

    #[test]
    fn bytes_of_a_trace_open_to_the_same_trace((at, with, kind, script) in cases()) {
        let (recording, _) = record(at, with, kind, &script);
        let header = header(geometries()[at], behaviours(with));
        let bytes = wire::encode(&header, &recording);
        let (header_back, recording_back) = wire::decode(&bytes).expect("just written");
        prop_assert_eq!(&header_back, &header);
        prop_assert_eq!(&recording_back, &recording);
        // Cut anywhere, or with any byte changed, it is refused and never a panic.
        for cut in (0..bytes.len()).step_by(1 + bytes.len() / 50) {
            prop_assert!(wire::decode(&bytes[..cut]).is_err());
            let mut damaged = bytes.clone();
            damaged[cut] ^= 0x40;
            prop_assert!(wire::decode(&damaged).is_err());
        }
    }
}
