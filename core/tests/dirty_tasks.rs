//! Who pauses because too much is dirty, besides those who write, and who writes what a sync asks
//! for.

mod common;

use common::folding::Folding;
use folioscope_core::dirty::flusher::flusher_task;
use folioscope_core::scenario::explore::{Limits, explore};
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::{Contents, run_and_read};
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::step::{Context, Step};
use folioscope_core::units::{BdiId, TaskId};

const FLUSHER: TaskId = flusher_task(BdiId::new(0));
const MAIN: TaskId = TaskId::new(1);

/// A world of 4 KiB pages in which 12 may be dirty; the device writes 256 of them a second.
const WORLD: &str = r#"
version = 0
title = "Little may be dirty"
[world]
page_size = "4k"
block_size = "4k"
max_folio_order = 0
readahead = 0
[device]
depth = 1
latency_us = 0
mib_per_second = 1
flush_us = 0
"#;
const DIRTY: &str = "[dirty]\nmemory = \"1m\"\nbackground_bytes = \"16k\"\nbytes = \"48k\"\n";

/// Runs operations, with limits on dirty pages or without; the steps, and what is in the files.
fn steps_of(limits: bool, rest: &str) -> (Vec<Step>, Contents) {
    let dirty = if limits { DIRTY } else { "" };
    let text = format!("{WORLD}{dirty}{rest}");
    let scenario = parse_scenario("tasks", &text).unwrap_or_else(|error| panic!("{error}"));
    let sink = Folding::new(scenario.geometry);
    let (ran, files) = run_and_read(&scenario, &scenario.variants[0], sink).expect("nothing hangs");
    assert!(ran.results.iter().all(|result| result.0.is_ok()), "{:?}", ran.results);
    (ran.sink.recording.steps().to_vec(), files)
}

/// How often a task pauses after the first step of a rule.
fn pauses_after(steps: &[Step], rule: Rule) -> usize {
    let from = steps.iter().position(|step| step.rule == rule).expect("it happens");
    let pauses = steps[from..].iter().filter(|step| step.rule == Rule::Paused);
    pauses.filter(|step| step.task == MAIN).count()
}

#[test]
fn stores_through_a_mapping_pause_as_writes_do() {
    let file = "[[file]]\nname = \"f0\"\nsize = \"400k\"\nfill = 3\n";
    let stores = format!("{file}[[op]]\ndo = \"mmap_store\"\nlen = \"400k\"\nbyte = 7\n");
    let (steps, files) = steps_of(true, &stores);
    assert_eq!(files.seen, [vec![7; 400 << 10]]);
    assert!(pauses_after(&steps, Rule::MadeWritable) > 2);
    let (steps, same) = steps_of(false, &stores);
    assert_eq!(pauses_after(&steps, Rule::MadeWritable), 0);
    assert_eq!(same.seen, files.seen);
    assert_eq!(steps.last().map(|step| step.time.get() < 1_000_000_000), Some(true));
}

#[test]
fn unsharing_pauses_as_writes_do() {
    let file = "[[file]]\nname = \"f0\"\nsize = \"400k\"\nfill = 3\n\
                [[file]]\nname = \"f1\"\nshares = \"f0\"\n";
    let unshare = format!(
        "{file}[[op]]\ndo = \"fallocate\"\nmode = \"unshare\"\nlen = \"400k\"\nfile = \"f1\"\n"
    );
    let (steps, files) = steps_of(true, &unshare);
    assert_eq!(files.seen, [vec![3; 400 << 10], vec![3; 400 << 10]]);
    assert!(pauses_after(&steps, Rule::Unshared) > 2);
    let (steps, _) = steps_of(false, &unshare);
    assert_eq!(pauses_after(&steps, Rule::Unshared), 0);
    assert_eq!(steps.iter().filter(|step| step.rule == Rule::Unshared).count(), 100);
}

const SYNC: &str = "[[file]]\nname = \"f0\"\n[[file]]\nname = \"f1\"\n\
                    [[op]]\ndo = \"pwrite\"\nlen = \"8k\"\nbyte = 1\n\
                    [[op]]\ndo = \"pwrite\"\nfile = \"f1\"\nlen = \"8k\"\nbyte = 2\n\
                    [[op]]\ndo = \"syncfs\"\n";

/// Task, context and file position of every folio that is taken for writeback.
fn written_by(steps: &[Step]) -> Vec<(TaskId, Context, u64)> {
    let taken = steps.iter().filter(|step| step.rule == Rule::WritebackFolio);
    taken.map(|step| (step.task, step.context, step.args[0])).collect()
}

#[test]
fn a_flusher_writes_what_a_sync_asks_for() {
    let (steps, files) = steps_of(true, SYNC);
    assert_eq!(files.seen, files.durable);
    let by = |task| [0, 4096, 0, 4096].map(|pos| (task, Context::Worker, pos));
    assert_eq!(written_by(&steps), by(FLUSHER));
    let asked: Vec<_> = steps
        .iter()
        .filter(|step| matches!(step.rule, Rule::SyncAsked | Rule::SyncWriteback))
        .map(|step| (step.task, step.rule, step.args[0]))
        .collect();
    // First what goes without waiting, of two files; then what is left, which is nothing.
    let want = [
        (MAIN, Rule::SyncAsked, 0),
        (FLUSHER, Rule::SyncWriteback, 2),
        (MAIN, Rule::SyncAsked, 1),
        (FLUSHER, Rule::SyncWriteback, 0),
    ];
    assert_eq!(asked, want);
    // Nobody else is there to do it.
    let (steps, same) = steps_of(false, SYNC);
    assert_eq!(written_by(&steps), by(MAIN));
    assert_eq!(same.durable, files.durable);
}

#[test]
fn every_order_of_a_sync_and_a_write_leaves_what_was_written() {
    let race = SYNC.replace("do = \"syncfs\"", "task = \"sync\"\ndo = \"syncfs\"");
    let race = race.replace("len = \"8k\"", "len = \"4k\"");
    let text = format!(
        "{WORLD}{DIRTY}{race}[[op]]\ntask = \"write\"\ndo = \"pwrite\"\nlen = 10\nbyte = 9\n"
    );
    let scenario = parse_scenario("race", &text).unwrap_or_else(|error| panic!("{error}"));
    let limits = Limits { choices: None, bound: 0, most: 1_000_000, seed: None };
    let found = explore(&scenario, &scenario.variants[0], limits);
    assert_eq!(found.failure, None);
    assert!(found.complete && found.compared);
    assert_eq!((found.schedules, found.ends, found.deepest), (1104, 1, 39));
}
