//! What completed bios leave to the worker of their file.

mod common;

use common::{Kind, Rig, TASK, geometry, queue};
use folioscope_core::behaviour::Behaviours;
use folioscope_core::engine::{Host, drive};
use folioscope_core::ops::sync::RangeSync;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::{FileRange, Pos};

/// Two dirty folios are sent by two calls; then as many of the bios end as are told, and the worker
/// runs, before the rest ends and the file is synced.
fn converted(together: u32) -> Vec<[u64; 4]> {
    let rules = Behaviours::default();
    let sink = Recording::default();
    let mut rig = Rig::with_timing(geometry(64, 16, 0), rules, Kind::Extents, sink, queue());
    rig.write(0, 128, 7, false);
    for start in [0, 64] {
        let range = FileRange::between(Pos::new(start), Pos::new(start + 64));
        let flags = RangeSync { write: true, ..RangeSync::default() };
        let op = rig.engine.sync_file_range(TASK, rig.file, range, flags);
        drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs").0.expect("it is sent");
    }
    for _ in 0..together {
        assert!(rig.sim.wait(&rig.engine), "a bio is in flight");
    }
    rig.engine.run_workers();
    rig.fsync();
    assert_eq!(rig.durable(), [7; 128]);
    let recording = rig.engine.into_sink();
    let steps = recording.steps().iter();
    steps.filter(|step| step.rule == Rule::Converted).map(|step| step.args).collect()
}

#[test]
fn neighbours_that_completed_together_are_converted_as_one() {
    assert_eq!(converted(2), [[0, 128, 0, 0]]);
    assert_eq!(converted(1), [[0, 64, 0, 0], [64, 64, 0, 0]]);
}
