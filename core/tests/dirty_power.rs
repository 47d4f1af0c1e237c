//! The power goes while dirty pages are limited: what is counted starts anew, and so do those who
//! wrote and paused.

mod common;

use common::folding::Folding;
use folioscope_core::engine::{BackgroundTask, Host, WriteFlags};
use folioscope_core::frames::Fill;
use folioscope_core::gauges::Gauge;
use folioscope_core::power::{Kept, power_cut};
use folioscope_core::scenario::Scenario;
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::{Simulation, run_and_read};
use folioscope_core::trace::model::Model;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::timeline::Timeline;
use folioscope_core::units::{BdiId, Bytes, FileId, Pos, TaskId, Time};
use std::task::{Context, Waker};

const WORLD: &str = r#"
version = 0
title = "The power goes while much is dirty"
[world]
page_size = "4k"
block_size = "4k"
max_folio_order = 0
[device]
depth = 1
latency_us = 0
mib_per_second = 1
flush_us = 0
[dirty]
memory = "1m"
writeback_centisecs = 100
expire_centisecs = 100
[[file]]
name = "f0"
"#;

fn scenario(ops: &str) -> Scenario {
    parse_scenario("power", &format!("{WORLD}{ops}")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn after_a_power_cut_nothing_counts_and_the_flusher_starts_anew() {
    // Above the background limit the flusher sends; the second time nothing is left of the first.
    for mode in ["none", "some", "all"] {
        let scenario = scenario(&format!(
            "[[op]]\ndo = \"pwrite\"\nlen = \"140k\"\n[[op]]\ndo = \"sleep\"\nms = 3\n\
             [[op]]\ndo = \"power_cut\"\nmode = \"{mode}\"\n\
             [[op]]\ndo = \"pwrite\"\nlen = \"140k\"\nbyte = 9\n[[op]]\ndo = \"sleep\"\nms = 9000\n"
        ));
        let sink = Folding::new(scenario.geometry);
        let (ran, files) =
            run_and_read(&scenario, &scenario.variants[0], sink).expect("nothing hangs");
        assert!(ran.results.iter().all(|result| result.0.is_ok()));
        assert_eq!(files.seen, [vec![9; 140 << 10]]);
        let steps = ran.sink.recording.steps();
        let cut = steps.iter().position(|step| step.rule == Rule::PowerCut).expect("it went");
        let [dirty, in_flight, ..] = steps[cut].args;
        assert!(dirty > 0 || in_flight > 0, "something was lost");
        let writes = |part: &[folioscope_core::trace::step::Step]| {
            part.iter().filter(|step| step.rule == Rule::ChunkEnds).count()
        };
        assert!(writes(&steps[..cut]) > 0 && writes(&steps[cut..]) > 0);
        assert_eq!(steps[cut + 1].rule, Rule::DirtyLimitsSet);
        // All that was written after it is written back, and nothing else counts.
        assert_eq!(files.durable, files.seen);
        let gauges = ran.sink.model.gauges();
        let left = [Gauge::Dirty, Gauge::Writeback, Gauge::WbDirty, Gauge::WbWriteback];
        assert_eq!(left.map(|gauge| gauges.get(gauge, 0)), [0; 4]);
        assert_eq!(gauges.get(Gauge::WbDirtied, 0), 35);
        assert_eq!(gauges.get(Gauge::WbWritten, 0), 35);
        let geometry = ran.header.geometry;
        let mut timeline = Timeline::new(ran.header, ran.sink.recording).expect("it fits itself");
        timeline.seek(usize::MAX);
        while timeline.back() {}
        assert_eq!(timeline.model(), &Model::new(geometry));
    }
}

#[test]
fn a_task_that_paused_and_a_write_past_the_cache_are_gone() {
    let scenario = scenario("[[file]]\nname = \"f1\"\n[[op]]\ndo = \"power_cut\"\n");
    let sink = Folding::new(scenario.geometry);
    let Simulation { engine, mut sim } = Simulation::new(&scenario, &scenario.variants[0], sink);
    let (task, file) = (TaskId::new(1), FileId::new(0));
    let mut polls = Context::from_waker(Waker::noop());
    let mut buffered = Fill { byte: 7, len: Bytes::kib(400) };
    let mut direct = Fill { byte: 8, len: Bytes::kib(64) };
    {
        let flags = WriteFlags::default();
        let mut write = Box::pin(engine.pwrite(task, file, Pos::ZERO, &mut buffered, flags));
        let flags = WriteFlags { direct: true, ..flags };
        let mut flusher: BackgroundTask<'_> = Box::pin(engine.flusher(BdiId::new(0)));
        let (other, its) = (TaskId::new(2), FileId::new(1));
        let mut past = Box::pin(engine.pwrite(other, its, Pos::ZERO, &mut direct, flags));
        assert!(past.as_mut().poll(&mut polls).is_pending());
        while let Some(effect) = engine.poll_effect() {
            sim.start(&engine, effect);
        }
        assert!(write.as_mut().poll(&mut polls).is_pending());
        assert!(flusher.as_mut().poll(&mut polls).is_pending());
    }
    assert!(engine.next_timer().is_some());
    power_cut(&engine, &mut sim, Kept::Nothing);
    assert_eq!(engine.next_timer(), None);
    let state = engine.look(folioscope_core::world::World::snapshot);
    assert_eq!(state.gauges().get(Gauge::Dirty, 0) + state.gauges().get(Gauge::Writeback, 0), 0);
    assert_eq!(state.gauges().get(Gauge::TaskDirtied, 1), 0);
    assert_eq!(state.files().map(|(_, file)| file.direct()).sum::<u64>(), 0);
    assert_eq!(engine.now(), Time::ZERO);
    let steps = engine.into_sink().recording;
    assert!(steps.steps().iter().any(|step| step.rule == Rule::Paused));
}
