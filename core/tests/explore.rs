//! Races: every way in which the tasks of a scenario can follow each other, and what a search finds
//! where a rule of the kernel is switched off.

use folioscope_core::scenario::explore::{Explored, Limits, explore, replay};
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::{run, run_and_read};
use folioscope_core::scenario::{Order, Scenario, Variant};
use folioscope_core::tasks::Step;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::trace::timeline::{Recording, Timeline};

const APPEND: &str = include_str!("../../assets/scenarios/races/append-while-writing-back.toml");
const CONVERT: &str = include_str!("../../assets/scenarios/races/write-while-converting.toml");
const LOAD: &str = include_str!("../../assets/scenarios/races/load-while-punching.toml");
const STORE: &str = include_str!("../../assets/scenarios/races/store-while-punching.toml");
const RACES: [&str; 4] = [APPEND, CONVERT, LOAD, STORE];

/// The scenario without its schedule.
fn bare(text: &str) -> String {
    text.split("\n# The first course").next().unwrap_or(text).to_owned()
}

fn parsed(text: &str) -> Scenario {
    parse_scenario("race", text).unwrap_or_else(|error| panic!("{error}"))
}

/// Every course up to a bound.
fn all(scenario: &Scenario, variant: usize, bound: u32) -> Explored {
    let limits = Limits { choices: None, bound, most: 1_000_000, seed: None };
    explore(scenario, &scenario.variants[variant], limits)
}

/// The scenario with a schedule in its text.
fn with_schedule(text: &str, steps: &[Step]) -> Scenario {
    let steps: Vec<String> = steps.iter().map(Step::toml).collect();
    parsed(&format!("{}\n{}", bare(text), steps.join("\n")))
}

/// With the rule off the search finds it, with the fewest departures; the schedule that it prints
/// leads there again, and to nothing wrong with the rule on.
fn finds(text: &str, bound: u32, says: &str) {
    let scenario = parsed(text);
    let found = all(&scenario, 0, bound);
    let failure = found.failure.expect("the search finds it");
    assert!(failure.message.contains(says), "{}", failure.message);
    let again = with_schedule(text, &failure.schedule);
    assert_eq!(again.order, Order::Schedule(failure.schedule.clone()));
    let wrong = replay(&again, &again.variants[0], &failure.schedule);
    assert_eq!(wrong, Some(failure.message));
    let header = |variant: &Variant| {
        let ran = run(&again, variant, Recording::default()).expect("the schedule can be followed");
        let timeline = Timeline::new(ran.header, ran.sink).expect("a trace fits itself");
        timeline.header().tasks.clone()
    };
    assert_eq!(header(&again.variants[0]), again.tasks);
}

/// With the rule on nothing is found up to the bound: schedules, different ends, longest course.
fn holds(text: &str, bound: u32) -> (u64, usize, usize) {
    let scenario = parsed(text);
    let found = all(&scenario, 1, bound);
    assert_eq!(found.failure, None);
    assert!(found.complete && found.compared);
    (found.schedules, found.ends, found.deepest)
}

#[test]
fn a_size_that_covers_what_was_not_written_is_found() {
    finds(APPEND, 1, "after a power cut now file 0 would have 0x00 from byte 100 on (50 bytes)");
    assert_eq!(holds(APPEND, 2), (1186, 1, 23));
}

#[test]
fn a_write_that_trusts_an_old_mapping_is_found() {
    finds(CONVERT, 1, "at the end file 0 has 0x00 from byte 0 on (1000 bytes)");
    assert_eq!(holds(CONVERT, 1), (1509, 2, 24));
}

#[test]
fn a_load_that_brings_a_freed_block_back_is_found() {
    finds(LOAD, 1, "at the end file 0 has 0x41 from byte 4096 on");
    assert_eq!(holds(LOAD, 4), (116, 3, 15));
}

#[test]
fn a_store_into_a_page_whose_block_is_freed_is_found() {
    finds(STORE, 1, "file 0 has 0x41 from byte 0 on (100 bytes)");
    assert_eq!(holds(STORE, 1), (1398, 2, 24));
}

#[test]
fn dice_find_it_too_and_throw_the_same_again() {
    let scenario = parsed(APPEND);
    let limits = Limits { choices: None, bound: 0, most: 2000, seed: Some(1) };
    let found = explore(&scenario, &scenario.variants[0], limits);
    assert!(found.failure.is_some() && !found.complete);
    assert_eq!(explore(&scenario, &scenario.variants[0], limits), found);
    assert_eq!(explore(&scenario, &scenario.variants[1], limits).failure, None);
}

#[test]
fn a_seed_in_the_file_chooses_who_goes_and_always_the_same() {
    for text in RACES {
        let scenario = parsed(&format!("{}\n[run]\nseed = 7\n", bare(text)));
        let variant = &scenario.variants[1];
        let first = run(&scenario, variant, Recording::default()).expect("nothing hangs");
        let again = run(&scenario, variant, Recording::default()).expect("nothing hangs");
        assert!(first.sink == again.sink);
        let untraced = run_and_read(&scenario, variant, NoTrace).expect("nothing hangs");
        assert_eq!(untraced.0.results, first.results);
        let tasks: std::collections::BTreeSet<u32> =
            first.sink.steps().iter().map(|step| step.task.get()).collect();
        assert!(tasks.len() >= 2, "several tasks do something: {tasks:?}");
    }
}

#[test]
fn tasks_without_an_order_run_one_operation_after_another() {
    let scenario = parsed(&bare(STORE));
    assert_eq!(scenario.order, Order::InTurn);
    assert_eq!(scenario.tasks, ["main", "store", "punch", "sync"]);
    let (ran, files) =
        run_and_read(&scenario, &scenario.variants[1], NoTrace).expect("nothing hangs");
    assert!(ran.results.iter().all(|result| result.0.is_ok()));
    assert_eq!(files.seen, [[vec![0; 4096], vec![65; 4096]].concat()]);
    assert_eq!(files.seen, files.durable);
}

#[test]
fn a_bad_schedule_is_told_where_and_what() {
    let append = bare(APPEND);
    let step = |lines: &str| format!("{append}\n[[schedule]]\n{lines}");
    for (text, place, says) in [
        (
            step("task = \"apend\"\nuntil = \"end\""),
            "41:8",
            "no task `apend`: expected one of main, sync, append, device, worker",
        ),
        (
            step("task = \"append\"\nuntil = \"later\""),
            "42:9",
            "`append` has no point `later`: expected after_begin, ",
        ),
        (
            step("task = \"device\"\nuntil = \"after_copy\""),
            "42:9",
            "expected io_complete, flush_complete",
        ),
        (
            step("task = \"append\"\nuntil = \"blocked\"\nat = 5"),
            "43:6",
            "`blocked` is about no byte of a file: leave out `at`",
        ),
        (
            step("task = \"append\"\nuntil = \"after_copy\"\nn = 0"),
            "43:5",
            "n is 0: expected 1 to ",
        ),
        (
            format!("{append}\n[run]\nseed = 1\n[[schedule]]\ntask = \"append\"\nuntil = \"end\""),
            "42:1",
            "leave out one of them",
        ),
        (format!("{append}\n[run]\nseed = -1"), "41:8", "seed is -1: expected 0 to "),
        (append.replace("\"append\"", "\"device\""), "34:8", "no task can be called `device`"),
    ] {
        let error = parse_scenario("bad", &text).expect_err("it is refused").to_string();
        assert!(error.starts_with(&format!("bad:{place}: ")), "{place}: {error}");
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_step_with_nothing_to_do_is_told() {
    let text = format!(
        "{}\n[[schedule]]\ntask = \"sync\"\nuntil = \"blocked\"\n\
         [[schedule]]\ntask = \"device\"\nuntil = \"io_complete\"\nat = 8192\n",
        bare(APPEND)
    );
    let scenario = parsed(&text);
    let ran = run(&scenario, &scenario.variants[1], NoTrace).expect("nothing hangs");
    assert_eq!(ran.idle_steps, [2]);
}

#[test]
fn the_schedules_of_the_races_are_what_the_search_finds_and_both_variants_follow_them() {
    for text in RACES {
        let scenario = parsed(text);
        let Order::Schedule(steps) = &scenario.order else { panic!("it has a schedule") };
        let found = all(&parsed(&bare(text)), 0, 1).failure.expect("the search finds it");
        assert_eq!(found.schedule, *steps, "{}", scenario.title);
        for (variant, wrong) in scenario.variants.iter().zip([Some(found.message), None]) {
            assert_eq!(replay(&scenario, variant, steps), wrong);
            let ran = run(&scenario, variant, Recording::default()).expect("nothing hangs");
            Timeline::new(ran.header, ran.sink).expect("a trace fits itself");
        }
    }
}
