//! Seed 004: data, then the block of pointers for what follows, then data. Whether the first data
//! is sent before or behind the question for the next mapping decides what merges.

mod common;

use common::events::block_events;
use common::{Host, TASK};
use folioscope_core::behaviour::{Behaviours, ReadPending, ReadSubmission};
use folioscope_core::block::limits::QueueLimits;
use folioscope_core::cache::frame_alloc::FramePolicy;
use folioscope_core::counters::{Counter, Counters};
use folioscope_core::device::sim::{Sim, Timing};
use folioscope_core::engine::{Engine, Host as _, drive, settle};
use folioscope_core::frames::HeapFrames;
use folioscope_core::fs::indirect::Indirect;
use folioscope_core::fs::{Provider, SpaceAllocator};
use folioscope_core::geometry::Geometry;
use folioscope_core::ops::readahead::ReadaheadLimits;
use folioscope_core::scenario::Scenario;
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::run_and_read;
use folioscope_core::scene::table::rows;
use folioscope_core::scene::view::{Lane, Lanes, View};
use folioscope_core::scene::{Side, render};
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::units::{Bytes, DevAddr, FileId, FileRange, Order, Pos};
use folioscope_core::world::{Config, World};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

const SMALL: &str = include_str!("../../assets/scenarios/data-before-map.toml");
const LARGE: &str = include_str!("../../assets/scenarios/data-before-map-large.toml");

fn scenario(text: &str) -> Scenario {
    parse_scenario("scenario", text).unwrap_or_else(|error| panic!("{error}"))
}

/// A run of the scenario with these two switches.
struct Ran {
    events: Vec<String>,
    counters: Counters,
    /// Numbers of the invariants that were broken, in order.
    broken: Vec<u64>,
}

impl Ran {
    fn new(text: &str, submission: ReadSubmission, pending: ReadPending) -> Self {
        let scenario = scenario(text);
        let mut variant = scenario.variants[0].clone();
        let (read_submission, read_pending) = (submission, pending);
        variant.behaviours = Behaviours { read_submission, read_pending, ..variant.behaviours };
        let ran = run_and_read(&scenario, &variant, Recording::default());
        let (run, contents) = ran.expect("nothing hangs");
        assert_eq!(run.results.len(), 1);
        assert_eq!(run.results[0].0.map(Bytes::get), Ok(16 << 10), "the read succeeds");
        assert!(contents.seen[0].iter().all(|byte| *byte == 1), "whatever was broken, not bytes");
        let steps = run.sink.steps().iter();
        let broken =
            steps.filter(|step| step.rule == Rule::InvariantBroken).map(|step| step.args[0]);
        let broken = broken.collect();
        Self { events: block_events(scenario.geometry, &run.sink), counters: run.counters, broken }
    }
}

/// The events of these kinds.
fn only<'a>(events: &'a [String], kinds: &[&str]) -> Vec<&'a str> {
    let wanted = |event: &&str| kinds.iter().any(|kind| event.starts_with(kind));
    events.iter().map(String::as_str).filter(wanted).collect()
}

const BLOCK_LAYER: [&str; 8] =
    ["map", "bio_", "getrq", "plug", "unplug", "rq_insert", "rq_issue", "rq_complete"];

#[test]
fn without_the_patch_the_metadata_goes_first_and_alone() {
    let ran = Ran::new(SMALL, ReadSubmission::AtEnd, ReadPending::Additive);
    assert_eq!(
        only(&ran.events, &BLOCK_LAYER),
        [
            "map 98384 + 16",
            "bio_queue R 98400 + 8",
            "getrq R 98400 + 8",
            "plug",
            "unplug 1",
            "rq_insert R 98400 + 8",
            "rq_issue R 98400 + 8",
            "rq_complete R 98400 + 8",
            "map 98408 + 16",
            "bio_queue RA 98384 + 16",
            "getrq RA 98384 + 16",
            "plug",
            "bio_queue RA 98408 + 16",
            "getrq RA 98408 + 16",
            "rq_issue RA 98408 + 16",
            "rq_issue RA 98384 + 16",
            "rq_complete RA 98408 + 16",
            "rq_complete RA 98384 + 16",
        ]
    );
}

#[test]
fn with_the_patch_the_metadata_joins_the_data_before_it() {
    let ran = Ran::new(SMALL, ReadSubmission::BeforeNextMapping, ReadPending::FolioSize);
    assert_eq!(
        only(&ran.events, &BLOCK_LAYER),
        [
            "map 98384 + 16",
            "bio_queue RA 98384 + 16",
            "getrq RA 98384 + 16",
            "plug",
            "bio_queue R 98400 + 8",
            "bio_backmerge R 98400 + 8",
            "unplug 1",
            "rq_insert RA 98384 + 24",
            "rq_issue RA 98384 + 24",
            "rq_complete RA 98384 + 24",
            "map 98408 + 16",
            "bio_queue RA 98408 + 16",
            "getrq RA 98408 + 16",
            "plug",
            "rq_issue RA 98408 + 16",
            "rq_complete RA 98408 + 16",
        ]
    );
}

/// The three ways that were proposed, and those of counting.
fn pairs() -> impl Iterator<Item = (ReadSubmission, ReadPending)> {
    let ways = ReadSubmission::ALL.iter().filter(|way| **way != ReadSubmission::Immediate);
    ways.flat_map(|way| ReadPending::ALL.iter().map(move |pending| (*way, *pending)))
}

#[test]
fn one_request_less_however_folios_of_one_block_are_counted() {
    for (way, pending) in pairs() {
        let ran = Ran::new(SMALL, way, pending);
        let count = |counter| ran.counters.get(counter);
        assert_eq!(count(Counter::ReadBios), 3, "{way}, {pending}");
        let requests = if way == ReadSubmission::AtEnd { (3, 0) } else { (2, 1) };
        assert_eq!((count(Counter::Requests), count(Counter::BackMerges)), requests);
        assert_eq!(ran.broken, [], "{way}, {pending}");
        let ends = only(&ran.events, &["read of"]);
        assert_eq!(ends.len(), 4, "{ends:?}");
        assert!(ends.iter().all(|end| end.ends_with("softirq, uptodate 1")), "{ends:?}");
    }
}

#[test]
fn in_one_large_folio_a_read_that_is_sent_early_must_not_be_all_that_is_counted() {
    for (way, pending) in pairs() {
        let ran = Ran::new(LARGE, way, pending);
        let told = only(&ran.events, &["bio_queue", "rq_complete", "read of"]);
        let requests = ran.counters.get(Counter::Requests);
        if way == ReadSubmission::AtEnd {
            assert_eq!(requests, 3);
            assert_eq!(ran.broken, [], "{pending}: nothing can end before all is counted");
            assert_eq!(told[..2], ["bio_queue R 98400 + 8", "rq_complete R 98400 + 8"]);
            assert_eq!(told[6..], ["read of 0x0 ends in softirq, uptodate 1"]);
        } else if pending == ReadPending::FolioSize {
            assert_eq!(requests, 2);
            assert_eq!(ran.broken, [], "{way}: all was counted before the first part was sent");
            let want = [
                "bio_queue RA 98304 + 96",
                "bio_queue R 98400 + 8",
                "rq_complete RA 98304 + 104",
                "bio_queue RA 98408 + 32",
                "rq_complete RA 98408 + 32",
                "read of 0x0 ends in softirq, uptodate 1",
            ];
            assert_eq!(told, want);
        } else {
            // The end of the first part ends the read, the second goes into a folio that nobody
            // locks, and the reader, who finds it free and incomplete, reads that part once more.
            assert_eq!(requests, 3);
            assert_eq!(ran.broken, [34], "{way}, {pending}");
            let want = [
                "bio_queue RA 98304 + 96",
                "bio_queue R 98400 + 8",
                "rq_complete RA 98304 + 104",
                "read of 0x0 ends in softirq, uptodate 0",
                "bio_queue RA 98408 + 32",
                "bio_queue R 98408 + 32",
                "rq_complete RA 98408 + 32",
                "rq_complete R 98408 + 32",
                "read of 0x0 ends in softirq, uptodate 1",
            ];
            assert_eq!(told, want);
        }
    }
}

/// A file of one folio of 64 KiB, of which the first `blocks` of 4 KiB are there, to be read
/// with the reviewer's flag.
fn one_folio(blocks: u64, pending: ReadPending) -> (Engine<Host<Recording>>, FileId) {
    let folio = Bytes::kib(64);
    let geometry = Geometry::new(folio, Bytes::kib(4), Order::ZERO).expect("sizes fit");
    let behaviours = Behaviours {
        read_submission: ReadSubmission::BoundaryFlag,
        read_pending: pending,
        ..Behaviours::default()
    };
    let config = Config {
        geometry,
        behaviours,
        stable_writes: false,
        frames: FramePolicy::Packed,
        space: SpaceAllocator::new(DevAddr::new(1 << 30), None),
        readahead: ReadaheadLimits::default(),
        queue: Some(QueueLimits::USUAL),
        partition: Bytes::ZERO,
    };
    let engine: Engine<Host<Recording>> =
        Engine::new(config, HeapFrames::new(folio), Recording::default());
    engine.keep_going();
    let first = DevAddr::new(12288 * 4096);
    let (fs, _) = Indirect::written(geometry, Bytes::kib(4 * blocks), first).expect("it fits");
    let size = Pos::ZERO + folio;
    let file = engine.open(size, Provider::Indirect(fs));
    (engine, file)
}

fn whole() -> FileRange {
    FileRange::between(Pos::ZERO, Pos::new(64 << 10))
}

/// What happens when it is read ahead and nobody waits for it.
fn read_ahead(blocks: u64, pending: ReadPending) -> (Vec<String>, Vec<u64>) {
    let (engine, file) = one_folio(blocks, pending);
    let geometry = engine.look(|world| world.snapshot().geometry());
    let mut sim = Sim::new(Timing::Ram);
    let op = engine.readahead(TASK, file, whole());
    drive(&engine, &mut sim, op).expect("nothing hangs").0.expect("it succeeds");
    settle(&engine, &mut sim);
    let recording = engine.into_sink();
    let steps = recording.steps().iter();
    let broken = steps.filter(|step| step.rule == Rule::InvariantBroken).map(|step| step.args[0]);
    let broken = broken.collect();
    (block_events(geometry, &recording), broken)
}

#[test]
fn a_read_that_nobody_waits_for_ends_twice() {
    let ends = |(events, broken): (Vec<String>, Vec<u64>)| {
        let ends = only(&events, &["read of"]).iter().map(|end| (*end).to_owned()).collect();
        let all: (Vec<String>, Vec<u64>) = (ends, broken);
        all
    };
    let end = |who: &str, ok| format!("read of 0x0 ends in {who}, uptodate {ok}");
    let twice = vec![end("softirq", 0), end("softirq", 1)];
    assert_eq!(ends(read_ahead(16, ReadPending::Additive)), (twice, vec![34, 35]));
    let once = vec![end("softirq", 1)];
    assert_eq!(ends(read_ahead(16, ReadPending::FolioSize)), (once.clone(), vec![]));
    // A hole behind the boundary: whoever fills the folio thinks that it is in no bio, and ends its
    // read while the first part is still on its way. (I8 is asked since 6.19 only.)
    let twice = vec![end("task", 0), end("softirq", 1)];
    assert_eq!(ends(read_ahead(12, ReadPending::Additive)), (twice, vec![35]));
    assert_eq!(ends(read_ahead(12, ReadPending::FolioSize)), (once, vec![]));
}

#[test]
fn the_scenarios_show_what_their_words_say() {
    for (text, requests, broken) in [(SMALL, [3, 2, 2], [0, 0, 0]), (LARGE, [3, 2, 3], [0, 0, 1])] {
        let scenario = scenario(text);
        for (at, variant) in scenario.variants.iter().enumerate() {
            let ran = run_and_read(&scenario, variant, Recording::default());
            let counters = ran.expect("nothing hangs").0.counters;
            assert_eq!(counters.get(Counter::Requests), requests[at], "{}", variant.name);
            assert_eq!(counters.get(Counter::BrokenInvariants), broken[at], "{}", variant.name);
        }
    }
}

#[test]
fn a_merge_is_seen_as_two_bars_becoming_one() {
    let scenario = scenario(SMALL);
    let timelines: Vec<Timeline> = scenario
        .variants
        .iter()
        .take(2)
        .map(|variant| {
            let ran = run_and_read(&scenario, variant, Recording::default());
            let run = ran.expect("nothing hangs").0;
            let mut timeline = Timeline::new(run.header, run.sink).expect("a trace fits itself");
            let steps = timeline.recording().steps();
            let issued = steps.iter().position(|step| step.rule == Rule::RequestIssued);
            timeline.seek(issued.expect("there is one") + 1);
            timeline
        })
        .collect();
    let side = |at: usize| Side { label: "A", name: "a", timeline: &timelines[at] };
    let parts = |at: usize| {
        let scene = render(&[side(at)], &View::default());
        let count = |part| scene.marks.iter().filter(|mark| mark.id.part == part).count();
        (count("reqline"), count("reqcut"))
    };
    assert_eq!([parts(0), parts(1)], [(1, 0), (1, 1)]);
    let tables = rows(&[side(1)], &View::default());
    let table = tables.iter().find(|table| table.lane == Lane::Requests).expect("it is there");
    assert_eq!(table.rows.len(), 1);
    assert_eq!(table.rows[0].state, "RA 12 KiB, 2 bios, issued");
    let lanes = Lanes::only(&[Lane::File]);
    let none = rows(&[side(1)], &View { lanes, ..View::default() });
    assert!(none.iter().all(|table| table.lane == Lane::File));
}

#[test]
fn a_folio_that_left_before_its_read_was_over_is_left_alone() {
    let (engine, file) = one_folio(16, ReadPending::Additive);
    let mut sim = Sim::new(Timing::Ram);
    let mut op = pin!(engine.readahead(TASK, file, whole()));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(op.as_mut().poll(&mut cx).is_pending(), "it waits for the pointers");
    while let Some(effect) = engine.poll_effect() {
        sim.start(&engine, effect);
    }
    assert!(sim.wait(&engine), "pointers and first part are one request");
    // The folio is free, clean and incomplete: whoever wants its memory takes it.
    engine.evict(file, whole());
    assert!(op.as_mut().poll(&mut cx).is_ready());
    settle(&engine, &mut sim);
    assert_eq!(engine.counters().get(Counter::ReadBios), 2, "no second part");
    assert_eq!(engine.look(World::broken_invariants), []);
}
