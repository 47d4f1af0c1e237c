//! Races with tasks that no operation names: the flusher, which wakes by itself, `kswapd`, which
//! takes memory back at any point, and the time that both wait for.

mod common;

use common::folding::Folding;
use folioscope_core::dirty::flusher::flusher_task;
use folioscope_core::engine::{BoxedOp, WriteFlags};
use folioscope_core::frames::Fill;
use folioscope_core::ops::OpResult;
use folioscope_core::scenario::explore::{Explored, Limits, explore, replay};
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::{Simulation, run, run_and_read};
use folioscope_core::scenario::{Order, Scenario};
use folioscope_core::tasks::{KSWAPD_TASK, Kind, Point, Room, Step, Task, follow};
use folioscope_core::trace::model::Model;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::units::{BdiId, Bytes, FileId, Pos, TaskId, Time};
use std::collections::BTreeSet;

const FLUSH: &str = include_str!("../../assets/scenarios/races/append-while-flushing.toml");
const PRESSURE: &str = include_str!("../../assets/scenarios/races/write-under-pressure.toml");
const THROTTLED: &str = include_str!("../../assets/scenarios/races/two-writers-throttled.toml");
const ALL: [&str; 3] = [FLUSH, PRESSURE, THROTTLED];
const FLUSHER: TaskId = flusher_task(BdiId::new(0));

/// The scenario without its schedule.
fn bare(text: &str) -> String {
    text.split("\n# The first course").next().unwrap_or(text).to_owned()
}

fn parsed(text: &str) -> Scenario {
    parse_scenario("race", text).unwrap_or_else(|error| panic!("{error}"))
}

fn all(scenario: &Scenario, variant: usize, bound: u32) -> Explored {
    let limits = Limits { choices: None, bound, most: 1_000_000, seed: None };
    explore(scenario, &scenario.variants[variant], limits)
}

/// The scenario by dice.
fn seeded(text: &str, seed: u32) -> Scenario {
    parsed(&format!("{}\n[run]\nseed = {seed}\n", bare(text)))
}

/// With the rule off the search finds it, and the schedule that it prints is the one of the file;
/// with the rule on that leads nowhere, and nothing is found: schedules, different ends, longest
/// course.
fn race(text: &str, says: &str, bound: u32) -> (u64, usize, usize) {
    let scenario = parsed(text);
    let Order::Schedule(steps) = &scenario.order else { panic!("it has a schedule") };
    let failure = all(&parsed(&bare(text)), 0, 1).failure.expect("the search finds it");
    assert!(failure.message.contains(says), "{}", failure.message);
    let printed: Vec<String> = failure.schedule.iter().map(Step::toml).collect();
    assert_eq!(failure.schedule, *steps, "{}", printed.join("\n"));
    assert_eq!(all(&scenario, 0, 0).failure, None, "it takes a departure");
    for (variant, wrong) in scenario.variants.iter().zip([Some(failure.message), None]) {
        assert_eq!(replay(&scenario, variant, steps), wrong);
        let ran = run(&scenario, variant, Recording::default()).expect("nothing hangs");
        assert_eq!(ran.idle_steps, [0; 0], "every step finds something to do");
        Timeline::new(ran.header, ran.sink).expect("a trace fits itself");
    }
    let found = all(&scenario, 1, bound);
    assert_eq!(found.failure, None);
    assert!(found.complete && found.compared);
    (found.schedules, found.ends, found.deepest)
}

#[test]
fn an_append_while_the_flusher_writes_is_found() {
    let says = "after a power cut now file 0 would have 0x00 from byte 100 on (50 bytes)";
    assert_eq!(race(FLUSH, says, 2), (893, 1, 30));
}

#[test]
fn a_write_whose_folio_is_flushed_and_taken_away_is_found() {
    let says = "at the end file 0 has 0x00 from byte 0 on (1000 bytes)";
    assert_eq!(race(PRESSURE, says, 2), (990, 1, 23));
}

#[test]
fn writers_that_pause_leave_what_some_order_leaves() {
    let scenario = parsed(THROTTLED);
    let found = all(&scenario, 0, 0);
    assert!(found.failure.is_none() && found.complete && found.compared);
    assert_eq!((found.schedules, found.ends, found.deepest), (438, 1, 71));
    let limits = Limits { choices: None, bound: 0, most: 60, seed: Some(1) };
    let thrown = explore(&scenario, &scenario.variants[0], limits);
    assert_eq!((thrown.schedules, thrown.failure), (60, None));
}

/// The tasks that do something in a run, and its rules; the trace is folded after each step, and
/// taken back to nothing.
fn folded(scenario: &Scenario, variant: usize) -> (BTreeSet<u32>, BTreeSet<Rule>) {
    let variant = &scenario.variants[variant];
    let sink = Folding::new(scenario.geometry);
    let (ran, files) = run_and_read(scenario, variant, sink).expect("nothing hangs");
    let (plain, same) = run_and_read(scenario, variant, NoTrace).expect("nothing hangs");
    assert_eq!((plain.results, same.seen), (ran.results, files.seen), "a trace changes nothing");
    assert_eq!(same.durable, files.durable);
    let steps = ran.sink.recording.steps();
    let tasks = steps.iter().map(|step| step.task.get()).collect();
    let rules = steps.iter().map(|step| step.rule).collect();
    let geometry = ran.header.geometry;
    let mut timeline = Timeline::new(ran.header, ran.sink.recording).expect("it fits itself");
    timeline.seek(usize::MAX);
    while timeline.back() {}
    assert_eq!(timeline.model(), &Model::new(geometry));
    (tasks, rules)
}

#[test]
fn a_seed_lets_them_take_part_and_the_trace_keeps_its_laws() {
    for text in ALL {
        let (mut tasks, mut rules) = (BTreeSet::new(), BTreeSet::new());
        for seed in 0..12 {
            let scenario = seeded(text, seed);
            let last = scenario.variants.len() - 1;
            let (of_run, seen) = folded(&scenario, last);
            assert_eq!(folded(&scenario, last), (of_run.clone(), seen.clone()), "as before");
            tasks.extend(of_run);
            rules.extend(seen);
        }
        assert!(tasks.contains(&FLUSHER.get()), "{tasks:?}");
        assert_eq!(tasks.contains(&KSWAPD_TASK.get()), parsed(text).kswapd.is_some());
        let pauses = rules.contains(&Rule::Paused) && rules.contains(&Rule::PauseEnded);
        assert_eq!(pauses, text == THROTTLED);
        assert!(rules.contains(&Rule::ChunkEnds));
    }
}

/// The steps of tasks in the order of a run by a schedule: task and rule.
fn by_schedule(text: &str, steps: &str) -> (Vec<(u32, Rule)>, Vec<usize>) {
    let scenario = parsed(&format!("{}\n{steps}", bare(text)));
    let variant = scenario.variants.last().expect("one at least");
    let ran = run(&scenario, variant, Recording::default()).expect("nothing hangs");
    let steps = ran.sink.steps().iter();
    (steps.map(|step| (step.task.get(), step.rule)).collect(), ran.idle_steps)
}

fn steps(all: &[(&str, &str)]) -> String {
    let each = all
        .iter()
        .map(|(task, until)| format!("[[schedule]]\ntask = \"{task}\"\nuntil = \"{until}\"\n"));
    each.collect()
}

#[test]
fn a_schedule_says_when_they_move() {
    // The flusher is held with the folio locked while memory is taken back and the write waits.
    let order = steps(&[
        ("write", "after_begin"),
        ("clock", "timer"),
        ("flusher", "wb_folio_locked"),
        ("kswapd", "end"),
        ("write", "blocked"),
        ("flusher", "blocked"),
        ("device", "io_complete"),
        ("worker", "end"),
        ("write", "end"),
    ]);
    let (seen, idle) = by_schedule(PRESSURE, &order);
    assert_eq!(idle, [0; 0]);
    let at = |task: TaskId, rule: Rule| {
        let found = seen.iter().position(|step| *step == (task.get(), rule));
        found.unwrap_or_else(|| panic!("{rule:?} of task {task:?}"))
    };
    let write = TaskId::new(2);
    let moments = [
        at(write, Rule::Mapped),
        at(FLUSHER, Rule::PeriodicWriteback),
        at(KSWAPD_TASK, Rule::ScanKeeps),
        at(FLUSHER, Rule::ChunkEnds),
        at(write, Rule::Copied),
    ];
    assert!(moments.is_sorted(), "{moments:?}");
    // Nobody says anything: the flusher and the time move by themselves, kswapd does not.
    let (seen, _) = by_schedule(THROTTLED, &steps(&[("two", "end"), ("one", "end")]));
    let of = |task: TaskId| seen.iter().filter(|step| step.0 == task.get()).count();
    assert!(of(FLUSHER) > 0 && of(KSWAPD_TASK) == 0);
    assert!(seen.iter().any(|step| step.1 == Rule::PauseEnded));
    // There is nothing to wait for any more, and nothing to write.
    let late =
        steps(&[("log", "end"), ("clock", "timer"), ("flusher", "blocked"), ("clock", "timer")]);
    let (_, idle) = by_schedule(FLUSH, &late);
    assert_eq!(idle, [0; 0]);
}

#[test]
fn time_passes_by_itself_up_to_the_end_of_a_sleep() {
    let text = bare(FLUSH).replace("\n[dirty]\nmemory = \"1m\"\nwriteback_centisecs = 100\n", "\n");
    let text = text.replace("expire_centisecs = 100\n", "");
    let scenario = parsed(&text);
    assert!(scenario.dirty.is_none());
    let found = all(&scenario, 1, 2);
    assert_eq!((found.schedules, found.failure), (1, None), "there is nobody else");
    let (seen, _) = by_schedule(&text, &steps(&[("log", "end")]));
    assert!(seen.iter().any(|step| step.1 == Rule::Thinks));
}

#[test]
fn who_is_not_there_cannot_be_named() {
    let step = |task: &str, until: &str| steps(&[(task, until)]);
    for (text, more, says) in [
        (
            FLUSH,
            step("kswapd", "end"),
            "no task `kswapd`: expected one of main, log, device, worker, clock, flusher",
        ),
        (
            FLUSH,
            step("flusher", "after_copy"),
            "`flusher` has no point `after_copy`: expected wb_folio_locked, ",
        ),
        (FLUSH, step("clock", "end"), "`clock` has no point `end`: expected timer"),
        (FLUSH, step("log", "timer"), "`log` has no point `timer`: expected after_begin, "),
        (
            PRESSURE,
            step("kswapd", "blocked"),
            "`kswapd` has no point `blocked`: expected op_end, end",
        ),
        (FLUSH, "[kswapd]\npages = 0\n".to_owned(), "pages is 0: expected 1 to "),
        (
            FLUSH,
            "[kswapd]\npages = 1\ntimes = 1001\n".to_owned(),
            "times is 1001: expected 1 to 1000",
        ),
        (FLUSH, "[kswapd]\ntimes = 1\n".to_owned(), "missing field `pages`"),
        (
            FLUSH,
            "[[op]]\ntask = \"flusher 1\"\ndo = \"fsync\"\n".to_owned(),
            "no task can be called `flusher 1`",
        ),
        (
            FLUSH,
            "[[op]]\ntask = \"clock\"\ndo = \"fsync\"\n".to_owned(),
            "no task can be called `clock`",
        ),
    ] {
        let text = format!("{}\n{more}", bare(text));
        let error = parse_scenario("bad", &text).expect_err("it is refused").to_string();
        assert!(error.starts_with("bad:") && error.contains(says), "{error}");
    }
    assert!(Point::from_name("timer").is_some());
}

#[test]
fn a_flusher_that_wakes_for_ever_does_not_hide_a_task_that_hangs() {
    let text = bare(FLUSH).replace("writeback_centisecs = 100\n", "writeback_centisecs = 1\n");
    let text = text.replace("expire_centisecs = 100\n", "expire_centisecs = 360000\n");
    let scenario = parsed(&text);
    let Simulation { engine, mut sim } = Simulation::new(&scenario, &scenario.variants[0], NoTrace);
    let log = Scenario::task_id(1);
    let write: BoxedOp<'_> = Box::pin(async {
        let mut source = Fill { byte: 1, len: Bytes::new(10) };
        engine.pwrite(log, FileId::new(0), Pos::ZERO, &mut source, WriteFlags::default()).await
    });
    let never: BoxedOp<'_> = Box::pin(std::future::pending());
    let flusher: BoxedOp<'_> = Box::pin(async {
        engine.flusher(BdiId::new(0)).await;
        OpResult(Ok(Bytes::ZERO))
    });
    let tasks = vec![
        Task::new("log".to_owned(), log, [(0, write), (1, never)]),
        Task::of_background(("flusher".to_owned(), FLUSHER, Kind::Flusher), [flusher]),
    ];
    let mut room = Room::new(&engine, &mut sim, tasks);
    let ended = follow(&mut room, &[], |_| true);
    let says = "these tasks wait for something that nobody will do: log";
    assert_eq!(ended.expect_err("it hangs").to_string(), says);
    assert!(engine.now() > Time::new(900_000_000_000), "the flusher looked around for a while");
}
