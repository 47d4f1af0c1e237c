//! Scenario files: what the lessons show, asserted, and what bad files are told.

use folioscope_core::counters::Counter;
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::run;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::trace::timeline::{Recording, Timeline};

const LESSON: &str = include_str!("../../assets/scenarios/sub-page-dirty-tracking.toml");

#[test]
fn the_lesson_writes_sixteen_times_less() {
    let scenario = parse_scenario("lesson", LESSON).expect("a good file");
    let runs: Vec<_> = scenario
        .variants
        .iter()
        .map(|variant| run(&scenario, variant, NoTrace).expect("nothing hangs"))
        .collect();
    let count = |at: usize, counter| runs[at].counters.get(counter);
    for at in [0, 1] {
        assert_eq!(count(at, Counter::AppWritten), 24 * 4096);
        assert_eq!(count(at, Counter::WriteBios), 24);
        assert_eq!(count(at, Counter::BrokenInvariants), 0);
        assert_eq!(runs[at].seen, runs[at].durable);
    }
    assert_eq!(count(0, Counter::DeviceWritten), 24 * 65536);
    assert_eq!(count(0, Counter::CleanWritten), 24 * 15 * 4096);
    assert_eq!(count(1, Counter::DeviceWritten), 24 * 4096);
    assert_eq!(count(1, Counter::CleanWritten), 0);
    assert_eq!(runs[0].durable, runs[1].durable);
}

#[test]
fn with_pages_as_small_as_blocks_there_is_nothing_to_win() {
    let text = LESSON.replace("page_size = \"64k\"", "page_size = \"4k\"");
    let scenario = parse_scenario("lesson", &text).expect("a good file");
    for variant in &scenario.variants {
        let run = run(&scenario, variant, NoTrace).expect("nothing hangs");
        assert_eq!(run.counters.get(Counter::DeviceWritten), 24 * 4096);
    }
}

#[test]
fn the_trace_of_the_lesson_ends_where_the_run_ends() {
    let scenario = parse_scenario("lesson", LESSON).expect("a good file");
    for variant in &scenario.variants {
        let traced = run(&scenario, variant, Recording::default()).expect("nothing hangs");
        let mut timeline = Timeline::new(traced.header, traced.sink).expect("a trace fits itself");
        timeline.seek(usize::MAX);
        assert_eq!(timeline.model().counters(), &traced.counters);
    }
}

#[test]
fn bad_files_are_told_where_and_what() {
    let cases = [
        ("version = 0", "version = 3", "scenario:2:11: version is 3: this program reads version 0"),
        ("title", "titel", "scenario:3:1: unknown field `titel`"),
        ("block_size = \"4k\"", "block_size = \"128k\"", "scenario:5:1: block_size is 131072"),
        ("page_size = \"64k\"", "page_size = \"-4k\"", "scenario:6:13: `-4k` is negative"),
        ("max_folio_order = 0", "max_folio_order = 12", "max_folio_order is 12: expected 0 to 11"),
        ("do = \"pread\"", "do = \"preed\"", "no operation `preed`: expected pread, pwrite"),
        ("\"linux-6.1\"", "\"linux-2.4\"", "no profile `linux-2.4`: expected one of linux-5.15"),
        ("\"per-block\"", "\"per-byte\"", "dirty_tracking cannot be `per-byte`: expected one of"),
        ("size = \"128k\"", "size = \"99999g\"", "is more than 16 GiB"),
        ("repeat = 23", "repeat = 0", "repeat is 0: expected 1 to 1000000"),
        ("then = \"fdatasync\"", "then = \"sleep\"", "`sleep` cannot follow: expected fsync"),
        ("byte = 2", "byte = 256", "byte is 256: expected 0 to 255"),
        ("[[op]]\ndo = \"pread\"", "[[op]]\nfile = \"g\"\ndo = \"pread\"", "no file is called `g`"),
    ];
    for (good, bad, want) in cases {
        let text = LESSON.replacen(good, bad, 1);
        assert_ne!(text, LESSON, "{good} is in the file");
        let error = parse_scenario("scenario", &text).expect_err(bad).to_string();
        assert!(error.contains(want), "{bad}: {error}");
    }
    let long = "#".repeat(2 * 1024 * 1024);
    assert!(parse_scenario("scenario", &long).is_err());
}
