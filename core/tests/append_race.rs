//! The append race: what a file holds after a power cut, with the clamp of `io_size` and without.

use folioscope_core::scenario::Order;
use folioscope_core::scenario::explore::{Limits, explore, replay};
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::run_and_read;
use folioscope_core::scene::Side;
use folioscope_core::scene::text::render_text;
use folioscope_core::scene::view::View;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::survey::{BlockFate, Fate, Survey};
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::units::{FileId, Pos};

const RACE: &str = include_str!("../../assets/scenarios/append-race.toml");
const LOG: FileId = FileId::new(0);

#[test]
fn without_the_clamp_the_file_ends_in_zeros_that_nobody_wrote() {
    let scenario = parse_scenario("append-race", RACE).expect("a good file");
    let left = [[vec![1; 1000], vec![0; 500]].concat(), vec![1; 1000]];
    let mut timelines = Vec::new();
    for (variant, left) in scenario.variants.iter().zip(left) {
        let (run, files) = run_and_read(&scenario, variant, Recording::default()).expect("it ends");
        assert_eq!(files.seen[0], left, "{}", variant.name);
        assert_eq!(files.durable[0], left, "{}", variant.name);
        let geometry = run.header.geometry;
        let after = |rule: Rule, nth: usize| -> (Pos, Vec<BlockFate>) {
            let steps = run.sink.steps().iter().enumerate();
            let at = steps.filter(|(_, step)| step.rule == rule).nth(nth).expect("it happens").0;
            let mut survey = Survey::new(geometry);
            survey.seek(&run.sink, at + 1).expect("a trace fits itself");
            let fate = survey.file(LOG).expect("it is open");
            (fate.size, fate.blocks)
        };
        let block = |fate, padding| vec![BlockFate { fate, padding, damaged: false }];
        let nothing = Pos::ZERO;
        assert_eq!(after(Rule::FolioDirtied, 0), (nothing, Vec::new()));
        assert_eq!(after(Rule::SizeMoved, 0), (nothing, block(Fate::Memory, None)));
        assert_eq!(after(Rule::BioSubmitted, 0), (nothing, block(Fate::InFlight, None)));
        // The append; then the bio ends, and the record says more than it may.
        assert_eq!(after(Rule::SizeMoved, 1), (nothing, block(Fate::Memory, None)));
        let size = Pos::new(left.len() as u64);
        let padding = (left.len() > 1000).then(|| Pos::new(1000));
        assert_eq!(after(Rule::FlushDone, 0), (size, block(Fate::Memory, padding)));
        assert_eq!(after(Rule::PowerCut, 0), (size, block(Fate::Durable, padding)));
        timelines.push(Timeline::new(run.header, run.sink).expect("a trace fits itself"));
    }
    for timeline in &mut timelines {
        timeline.seek(usize::MAX);
    }
    let sides: Vec<Side<'_>> = timelines
        .iter()
        .zip(&scenario.variants)
        .zip(["A", "B"])
        .map(|((timeline, variant), label)| Side { label, name: &variant.name, timeline })
        .collect();
    insta::assert_snapshot!("append-race", render_text(&sides, &View::default()));
}

#[test]
fn every_order_of_its_tasks_is_gone_through() {
    let scenario = parse_scenario("append-race", RACE).expect("a good file");
    let Order::Schedule(steps) = &scenario.order else { panic!("it has a schedule") };
    let [off, on] = scenario.variants.as_slice() else { panic!("two variants") };
    let says = "after a power cut now file 0 would have 0x00 from byte 1000 on (500 bytes)";
    assert!(replay(&scenario, off, steps).is_some_and(|wrong| wrong.starts_with(says)));
    assert_eq!(replay(&scenario, on, steps), None);
    let limits = Limits { choices: None, bound: 1, most: 1_000_000, seed: None };
    let failure = explore(&scenario, off, limits).failure.expect("the search finds it");
    assert!(failure.message.starts_with(says), "{}", failure.message);
    let wrong = replay(&scenario, off, &failure.schedule);
    assert_eq!(wrong, Some(failure.message));
    let found = explore(&scenario, on, limits);
    assert_eq!(found.failure, None);
    assert!(found.complete && found.compared);
    // Nothing durable, the first writer's bytes, or those of both.
    assert_eq!((found.schedules, found.ends, found.deepest), (3014, 3, 21));
}
