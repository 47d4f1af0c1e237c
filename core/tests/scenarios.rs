//! Scenario files: what the lessons show, asserted, and what bad files are told.

use folioscope_core::counters::Counter;
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::{run, run_and_read};
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::trace::timeline::{Recording, Timeline};

const LESSON: &str = include_str!("../../assets/scenarios/sub-page-dirty-tracking.toml");

#[test]
fn the_lesson_writes_sixteen_times_less() {
    let scenario = parse_scenario("lesson", LESSON).expect("a good file");
    let runs: Vec<_> = scenario
        .variants
        .iter()
        .map(|variant| run_and_read(&scenario, variant, NoTrace).expect("nothing hangs"))
        .collect();
    let count = |at: usize, counter| runs[at].0.counters.get(counter);
    for at in [0, 1] {
        assert_eq!(count(at, Counter::AppWritten), 24 * 4096);
        assert_eq!(count(at, Counter::WriteBios), 24);
        assert_eq!(count(at, Counter::BrokenInvariants), 0);
        assert_eq!(runs[at].1.seen, runs[at].1.durable);
    }
    assert_eq!(count(0, Counter::DeviceWritten), 24 * 65536);
    assert_eq!(count(0, Counter::CleanWritten), 24 * 15 * 4096);
    assert_eq!(count(1, Counter::DeviceWritten), 24 * 4096);
    assert_eq!(count(1, Counter::CleanWritten), 0);
    assert_eq!(runs[0].1.durable, runs[1].1.durable);
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

/// A world, and a file whose lines are these.
fn with_file(lines: &str) -> String {
    format!(
        "version = 0\ntitle = \"t\"\n[world]\npage_size = 4096\nblock_size = 4096\n\
         max_folio_order = 9\n[[file]]\nname = \"a\"\n{lines}"
    )
}

#[test]
fn files_that_no_device_could_hold_are_refused() {
    let extent = |at: u64, sector: u64| {
        format!("[[file.extent]]\nat = {at}\nlen = 8192\ntype = \"mapped\"\nsector = {sector}\n")
    };
    let write =
        |at: &str, len: &str| format!("[[op]]\ndo = \"pwrite\"\nat = \"{at}\"\nlen = \"{len}\"\n");
    // A byte here and there: a page each.
    let scattered = "size = \"16g\"\n".to_owned()
        + &extent(0, 100)
        + "[[op]]\ndo = \"randwrite\"\nlen = 1\nrepeat = 300000\n";
    for (lines, want) in [
        ("size = 1.5\n".to_owned(), "9:8: size is 1.5: expected a size"),
        ("size = \"16g\"\n".to_owned(), "7:1: with this file the run would hold 16 GiB in memory"),
        ("size = \"2g\"\ndevice = true\n".to_owned(), "would hold 2 GiB in memory"),
        (write("0", "3g"), "would hold 3 GiB in memory"),
        (scattered, "would hold 1.1 GiB in memory"),
        (
            "memory = true\nprealloc = 1\n".to_owned(),
            "10:1: a file in memory takes no `prealloc`: leave it out",
        ),
        (
            "[[file]]\nname = \"b\"\nshares = \"a\"\nmemory = true\n".to_owned(),
            "11:1: a file in memory takes no `shares`: leave it out",
        ),
        (
            "size = 1000\ndevice = true\n".to_owned(),
            "9:8: size is 1000 bytes: expected a multiple of the block size 4096",
        ),
        (extent(0, 100) + &extent(4096, 1000), "these blocks of the file are in use"),
        (extent(0, 100) + &extent(8192, 100), "these sectors of the device are in use"),
        (
            "size = 4096\ndevice = true\n[[file]]\nname = \"b\"\nsize = 4096\ndevice = true\n"
                .to_owned(),
            "these sectors of the device are in use",
        ),
        ("[[variant]]\nname = \"v\"\n".repeat(2), "two variants are called `v`"),
    ] {
        let error = parse_scenario("scenario", &with_file(&lines)).expect_err(&lines).to_string();
        assert!(error.contains(want), "{lines}: {error}");
    }
    // Far out in a file with nothing before it is fine, and a trace of it is small.
    let text = with_file(&write("15g", "1")) + "then = \"fsync\"\n";
    let scenario = parse_scenario("scenario", &text).expect("a good file");
    let run = run(&scenario, &scenario.variants[0], Recording::default()).expect("nothing hangs");
    let mut timeline = Timeline::new(run.header, run.sink).expect("a trace fits itself");
    timeline.seek(usize::MAX);
    let file = folioscope_core::units::FileId::new(0);
    assert_eq!(timeline.model().tallies(file).len(), 1);
}

#[test]
fn bad_files_are_told_where_and_what() {
    let cases = [
        ("version = 0", "version = 3", "scenario:2:11: version is 3: this program reads version 0"),
        ("title", "titel", "scenario:3:1: unknown field `titel`"),
        ("block_size = \"4k\"", "block_size = \"128k\"", "block_size is 131072"),
        (
            "page_size = \"64k\"",
            "page_size = \"-4k\"",
            "scenario:6:13: page_size is \"-4k\": expected a size such as",
        ),
        ("max_folio_order = 0", "max_folio_order = 12", "max_folio_order is 12: expected 0 to 11"),
        ("do = \"pread\"", "do = \"preed\"", "no operation `preed`: expected pread, pwrite"),
        ("\"linux-6.1\"", "\"linux-2.4\"", "no profile `linux-2.4`: expected one of linux-3.15"),
        ("\"per-block\"", "\"per-byte\"", "dirty_tracking cannot be `per-byte`: expected one of"),
        ("size = \"128k\"", "size = \"99999g\"", "size is \"99999g\": expected a size such as"),
        ("repeat = 23", "repeat = 0", "repeat is 0: expected 1 to 1000000"),
        ("then = \"fdatasync\"", "then = \"sleep\"", "`sleep` cannot follow: expected fsync"),
        ("byte = 2", "byte = 256", "byte is 256: expected 0 to 255"),
        ("fill = 1", "fs = \"ext3\"", "no file system `ext3`: expected extents, ext2 or zonefs"),
        ("fill = 1", "fs = \"ext2\"\ndevice = true", "a file that is a device takes no `fs`"),
        ("fill = 1", "device = true\nsector = 8", "a file that is a device takes no `sector`"),
        (
            "[[op]]\ndo = \"pread\"",
            "[queue]\ndepth = 3\n[[op]]\ndo = \"pread\"",
            "unknown field `depth`",
        ),
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

/// A file of 1 MiB in one folio that loses its shape: what each operation leaves.
#[test]
fn sizes_and_space_change_as_the_file_says() {
    let world = "version = 0\ntitle = \"t\"\n[world]\npage_size = \"4k\"\nblock_size = \"4k\"\n\
                 max_folio_order = 9\n[[file]]\nname = \"f\"\n";
    let op = |words: &str| format!("[[op]]\n{}\n", words.replace("; ", "\n"));
    let text = |ops: &[&str]| world.to_owned() + &ops.iter().map(|one| op(one)).collect::<String>();
    let ops = text(&[
        "do = \"pwrite\"; len = \"1m\"; byte = 7",
        "do = \"fsync\"",
        "do = \"fallocate\"; mode = \"punch\"; at = \"256k\"; len = \"256k\"",
        "do = \"seek_hole\"; at = 5000",
        "do = \"seek_data\"; at = \"256k\"",
        "do = \"fallocate\"; mode = \"collapse\"; at = 0; len = \"128k\"",
        "do = \"mmap_store\"; at = 100; len = 3; byte = 9",
        "do = \"mmap_load\"; at = \"512k\"; len = \"8k\"",
        "do = \"msync\"",
        "do = \"sync_range_write\"; len = \"4k\"",
        "do = \"sync_range\"",
        "do = \"fallocate\"; mode = \"insert\"; at = \"4k\"; len = \"4k\"",
        "do = \"fallocate\"; at = \"2m\"; len = 5000",
        "do = \"truncate\"; size = 10000",
        "do = \"fallocate\"; mode = \"zero_keep\"; at = 50; len = 5",
    ]);
    let scenario = parse_scenario("scenario", &ops).expect("a good file");
    let (run, contents) =
        run_and_read(&scenario, &scenario.variants[0], Recording::default()).expect("it ends");
    let results: Vec<String> = run.results.iter().map(ToString::to_string).collect();
    let zero = "0".to_owned();
    let said = |at: usize| results.get(at).unwrap_or(&zero).as_str();
    assert_eq!((said(3), said(4)), ("262144", "524288"));
    assert!(results.iter().all(|result| !result.starts_with('E')), "{results:?}");
    let mut want = vec![7; 10000];
    want[100..103].fill(9);
    want[4096..8192].fill(0);
    want[50..55].fill(0);
    assert_eq!(contents.seen, [want]);
    for (bad, says) in [
        ("do = \"truncate\"", "scenario:9:1: `size` is missing"),
        ("do = \"fallocate\"; mode = \"punsh\"; len = 1", "11:8: no mode `punsh`: expected alloc"),
        ("do = \"fallocate\"; mode = \"punch\"", "scenario:9:1: `len` is missing"),
        (
            "do = \"mmap_store\"; at = \"16g\"; len = 1",
            "it ends at byte 17179869185: a file may have 17179869184 at most (16 GiB)",
        ),
        ("do = \"truncate\"; size = \"17g\"", "size is \"17g\": expected a size such as"),
        ("do = \"trunc\"", "syncfs, reclaim, reflink, sleep, mmap_load"),
    ] {
        let error = parse_scenario("scenario", &text(&[bad])).expect_err(bad).to_string();
        assert!(error.contains(says), "{bad}: {error}");
    }
}

#[test]
fn the_lesson_on_chunks_touches_a_triangle_and_then_a_line() {
    let text = include_str!("../../assets/scenarios/fault-in-chunks.toml");
    let scenario = parse_scenario("lesson", text).expect("a good file");
    let touches = scenario.variants.iter().map(|variant| {
        let run = run(&scenario, variant, NoTrace).expect("nothing hangs");
        assert_eq!(run.counters.get(Counter::AppWritten), 4 << 20);
        run.counters.get(Counter::UserTouches)
    });
    assert_eq!(touches.collect::<Vec<_>>(), [2 * 131_328, 2 * 512]);
}

#[test]
fn the_lesson_on_first_touch_saves_one_atomic_operation_a_page() {
    let text = include_str!("../../assets/scenarios/first-touch.toml");
    let scenario = parse_scenario("lesson", text).expect("a good file");
    let runs: Vec<_> = scenario
        .variants
        .iter()
        .map(|variant| run(&scenario, variant, NoTrace).expect("nothing hangs"))
        .collect();
    let count = |at: usize, counter| runs[at].counters.get(counter);
    assert_eq!(count(0, Counter::AtomicFlagOps), 8 + 8 * 3);
    assert_eq!(count(1, Counter::AtomicFlagOps), 8 * 2);
    assert_eq!((count(0, Counter::PlainFlagOps), count(1, Counter::PlainFlagOps)), (0, 16));
    for (at, ran) in runs.iter().enumerate() {
        assert_eq!(count(at, Counter::Activations), 8);
        let freed = |op: usize| ran.results[op].0.expect("freed").get();
        let last = ran.results.len() - 1;
        assert_eq!((freed(last - 2), freed(last)), (0, 12 * 4096));
        assert!(count(at, Counter::ScansWithR) >= 8);
    }
}

#[test]
fn operations_of_a_scenario_may_not_wait() {
    let op = |what: &str, nowait: bool| {
        format!("[[op]]\ndo = \"{what}\"\nlen = 4000\nnowait = {nowait}\n")
    };
    let ops = [("pread", true), ("pread", false), ("pread", true), ("pwrite", true)];
    let ops: String = ops.into_iter().map(|(what, nowait)| op(what, nowait)).collect();
    let text = with_file("size = 8192\n") + &ops;
    let scenario = parse_scenario("scenario", &text).expect("a good file");
    let ran = run(&scenario, &scenario.variants[0], NoTrace).expect("nothing hangs");
    let results: Vec<String> = ran.results.iter().map(ToString::to_string).collect();
    assert_eq!(results, ["EAGAIN", "4000", "4000", "4000"]);
}

#[test]
fn a_file_in_memory_is_never_written_back() {
    let write = "[[op]]\ndo = \"pwrite\"\nat = 5000\nlen = 100\nthen = \"fsync\"\n";
    let text = with_file("memory = true\n") + write;
    let scenario = parse_scenario("scenario", &text).expect("a good file");
    let variant = &scenario.variants[0];
    let (ran, files) = run_and_read(&scenario, variant, Recording::default()).expect("runs");
    assert_eq!(ran.counters.get(Counter::WriteBios), 0);
    assert_eq!(ran.counters.get(Counter::BalanceDirtyCalls), 0);
    assert_eq!((files.seen[0].len(), files.seen[0][5099]), (5100, 1));
    let error = parse_scenario("scenario", &with_file("memory = true\nfill = 1\n"));
    assert!(error.expect_err("no fill").to_string().contains("a file in memory takes no `fill`"));
}
