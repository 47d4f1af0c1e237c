//! The tools that judge a run take every legal scenario: what is right is no alarm, what cannot be
//! judged is said, and every run ends.

use folioscope_core::scenario::Scenario;
use folioscope_core::scenario::crash::{Failed, Looked, Thoroughness, check_histories, sweep};
use folioscope_core::scenario::explore::{Limits, explore};
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::run;
use folioscope_core::streams::judge::{Verdict, judge};
use folioscope_core::trace::sink::NoTrace;

/// A scenario of small pages and blocks with these lines.
fn scenario(lines: &str) -> Scenario {
    let text = format!("version = 0\ntitle = \"t\"\n{lines}");
    parse_scenario("legal", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn judged(scenario: &Scenario) -> Verdict {
    judge(scenario, &scenario.variants[0])
}

fn cut(scenario: &Scenario) -> Result<Looked, Failed> {
    let how = Thoroughness { every: 1, states: 12, mount_every: 4, seed: 1, data_first: true };
    sweep(scenario, &scenario.variants[0], how)
}

const WORLD: &str = "[world]\npage_size = 4096\nblock_size = 1024\nmax_folio_order = 2\n";

/// An operation.
fn op(fields: &str) -> String {
    format!("[[op]]\ndo = {}\n", fields.replace("; ", "\n"))
}

fn ops(all: &[&str]) -> String {
    all.iter().map(|one| op(one)).collect()
}

/// Every page that is stored into is too much, and is written back before its pause is over.
#[test]
fn stores_end_where_hardly_anything_may_be_dirty() {
    let small = "[dirty]\nmemory = \"64k\"\nratio = 1\nbackground_ratio = 0\n";
    let file = "[[file]]\nname = \"a\"\nsize = \"256k\"\nfill = 7\n";
    let stores = ops(&["\"mmap_store\"; len = \"256k\"; byte = 4", "\"fsync\""]);
    let scenario = scenario(&format!("{WORLD}{small}{file}{stores}"));
    let ran = run(&scenario, &scenario.variants[0], NoTrace).expect("it ends");
    assert!(ran.results.iter().all(|result| result.0.is_ok()), "{:?}", ran.results);
    assert_eq!(judged(&scenario), Verdict::Agrees);
    let looked = cut(&scenario).expect("nothing is wrong");
    assert!(looked.moments > 100, "{looked:?}");
}

/// Tasks that pause for the flusher need one.
#[test]
fn the_flusher_runs_beside_what_is_judged() {
    let small = "[dirty]\nmemory = \"256k\"\nratio = 20\n[device]\ndepth = 4\nlatency_us = 80\n\
                 mib_per_second = 100\nflush_us = 50\n";
    let file = "[[file]]\nname = \"a\"\n";
    let write = "\"pwrite\"; at = 0; len = \"256k\"; byte = 4";
    let again = write.replace("at = 0", "at = \"128k\"").replace("byte = 4", "byte = 5");
    let all = ops(&[write, &again, "\"syncfs\""]);
    let scenario = scenario(&format!("{WORLD}{small}{file}{all}"));
    assert_eq!(judged(&scenario), Verdict::Agrees);
    cut(&scenario).expect("nothing is wrong");
}

#[test]
fn what_is_right_is_no_alarm() {
    let plain = "[[file]]\nname = \"a\"\nsize = 5000\nfill = 9\n";
    let large = "[[file]]\nname = \"a\"\nsize = \"32k\"\nfill = 215\n[[file]]\nname = \"b\"\n";
    let behind = "[[file]]\nname = \"a\"\nsize = 3000\nfill = 9\n\
                  [[file.extent]]\nat = 0\nlen = 3072\ntype = \"mapped\"\nsector = 90000\n\
                  [[file.extent]]\nat = \"64k\"\nlen = 4096\ntype = \"mapped\"\nsector = 95000\n";
    let memory = "[[file]]\nname = \"m\"\nmemory = true\nsize = 5000\n\
                  [[file]]\nname = \"n\"\nmemory = true\n";
    let ext4 = "[[file]]\nname = \"a\"\nsize = \"32k\"\nfill = 7\npath = \"buffer_head_ext4\"\n";
    let device = "[[file]]\nname = \"a\"\ndevice = true\nsize = \"32k\"\nfill = 7\n";
    let write = "\"pwrite\"; at = 5000; len = 3000; byte = 4";
    let far = "\"pwrite\"; at = 9000; len = 100; byte = 4";
    let cases: [(&str, &str, &[&str]); 9] = [
        (
            "a mapping reaches over EOF",
            plain,
            &["\"mmap_store\"; len = \"16k\"; byte = 3", "\"fsync\"", far, "\"fsync\""],
        ),
        (
            "blocks of another file",
            large,
            &["\"reflink\"; file = \"b\"; source = \"a\"; len = \"32k\"", write, "\"syncfs\""],
        ),
        (
            "blocks twice in one file",
            large,
            &[
                "\"reflink\"; file = \"a\"; source = \"a\"; at = \"64k\"; len = \"32k\"",
                write,
                "\"syncfs\"",
            ],
        ),
        (
            "an extent behind EOF",
            behind,
            &[
                "\"pwrite\"; at = 2000; len = 3000; byte = 4",
                "\"truncate\"; size = \"80k\"",
                "\"fsync\"",
            ],
        ),
        (
            "files in memory",
            memory,
            &[write, "\"pwrite\"; file = \"n\"; len = 3000; byte = 5", "\"fsync\"", "\"syncfs\""],
        ),
        (
            "a driver that reshapes nothing",
            ext4,
            &["\"fallocate\"; mode = \"punch\"; at = 1000; len = 8000", write, "\"fsync\""],
        ),
        (
            "memory that goes bad",
            &format!("{plain}[[fault]]\nat = \"copy_from_user\"\nop = 0\ncopied = 300\n"),
            &[write, "\"fsync\"", "\"pwrite\"; at = 4100; len = 10; byte = 5", "\"fsync\""],
        ),
        (
            "a write over the end of a device",
            device,
            &["\"pwrite\"; at = 30000; len = 9000; byte = 4", "\"pread\"; at = 30000; len = 9000"],
        ),
        (
            "a direct write to shared blocks",
            large,
            &[
                "\"reflink\"; file = \"b\"; source = \"a\"; len = \"32k\"",
                "\"pwrite\"; direct = true; at = \"8k\"; len = \"4k\"; byte = 9",
                "\"fsync\"",
            ],
        ),
    ];
    for (what, files, all) in cases {
        for profile in ["linux-6.1", "linux-6.6", "linux-6.18"] {
            let head = format!("profile = \"{profile}\"\n{WORLD}{files}{}", ops(all));
            let scenario = scenario(&head);
            // What is stored behind EOF may show later before 6.12, which nobody can judge.
            let verdict = judged(&scenario);
            let fine = match &verdict {
                Verdict::Agrees => true,
                Verdict::Unjudged(why) => {
                    let tail = profile != "linux-6.18" && why.contains("behind EOF");
                    tail || what == "memory that goes bad" && why.contains("it meets a fault")
                }
                Verdict::Wrong(_) => false,
            };
            assert!(fine, "{what}, {profile}: {verdict:?}");
            let looked = cut(&scenario);
            assert!(looked.is_ok(), "{what}, {profile}: {looked:?}");
        }
    }
}

/// What arrays of bytes say nothing about is said, and is no difference.
#[test]
fn what_cannot_be_judged_is_said() {
    let file = "[[file]]\nname = \"a\"\nsize = \"32k\"\nfill = 7\n";
    let device = "[[file]]\nname = \"a\"\ndevice = true\nsize = \"32k\"\nfill = 7\n";
    let write = "\"pwrite\"; len = \"16k\"; byte = 4";
    let refuses = "[[fault]]\nat = \"map_blocks\"\n";
    let none = "free_blocks = 2\n";
    for (head, rest, all, says) in [
        (none, "[[file]]\nname = \"a\"\n".to_owned(), vec![write], "free_blocks"),
        ("", file.to_owned(), vec![write, "\"power_cut\""], "operation 2: the power is cut"),
        (
            "",
            "[[file]]\nname = \"a\"\nmemory = true\nsize = 5000\n".to_owned(),
            vec![
                "\"mmap_store\"; at = 5700; len = 100; byte = 4",
                "\"pwrite\"; at = 9000; len = 9",
            ],
            "operation 1: what it stores behind EOF may show later",
        ),
        (
            "",
            format!("{file}[[fault]]\nat = \"copy_from_user\"\nop = 0\ncopied = 100\n"),
            vec!["\"pwrite_dsync\"; len = \"16k\"; byte = 4", "\"fsync\""],
            "operation 1: it meets a fault",
        ),
        ("", format!("{file}{refuses}"), vec![write, "\"fsync\""], "operation 1: it meets a fault"),
        (
            "",
            device.to_owned(),
            vec![
                "\"pread\"; len = 9",
                "\"pwrite\"; direct = true; at = \"28k\"; len = \"8k\"; byte = 4",
            ],
            "operation 2: a direct write over the end of a device may be done in part, 1 before",
        ),
    ] {
        let scenario = scenario(&format!("{WORLD}{head}{rest}{}", ops(&all)));
        let verdict = judged(&scenario);
        let told = matches!(&verdict, Verdict::Unjudged(why) if why.contains(says));
        let ended_well = verdict == Verdict::Agrees && says.contains("end of a device");
        assert!(told || ended_well, "{says}: {verdict:?}");
    }
}

/// An array that lost more members than it can do without has no bytes to compare, and its errors
/// are results.
#[test]
fn an_array_without_its_bytes_is_no_failure() {
    let array = "[array]\nlevel = \"raid4\"\nmembers = 4\nchunk = \"64k\"\nfailed = [0]\n";
    let file = "[[file]]\nname = \"a\"\nsize = \"32k\"\nfill = 7\n";
    let all = ops(&[
        "\"fail_member\"; member = 1",
        "\"pwrite\"; task = \"a\"; len = \"8k\"; byte = 4",
        "\"fsync\"; task = \"a\"",
        "\"pwrite\"; task = \"b\"; at = \"4k\"; len = \"8k\"; byte = 5",
    ]);
    let scenario = scenario(&format!("{WORLD}{array}{file}{all}"));
    let limits = Limits { bound: 1, most: 200, choices: None, seed: None };
    let found = explore(&scenario, &scenario.variants[0], limits);
    assert_eq!(found.failure, None);
    assert!(!found.compared);
    assert_eq!(cut(&scenario), Err(Failed::Gone));
    assert!(matches!(judged(&scenario), Verdict::Unjudged(_)));
}

/// A file that writes in no order on zones fails, as it does there.
#[test]
fn a_write_that_the_zones_refuse_is_no_failure() {
    let zones = "[device]\nzone_size = \"64k\"\n";
    let file = "[[file]]\nname = \"a\"\nsize = \"32k\"\nfill = 7\n";
    let all = ops(&[
        "\"pwrite\"; task = \"a\"; len = \"8k\"; byte = 4",
        "\"fsync\"; task = \"a\"",
        "\"pwrite\"; task = \"b\"; at = \"4k\"; len = \"8k\"; byte = 5",
    ]);
    let scenario = scenario(&format!("{WORLD}{zones}{file}{all}"));
    let ran = run(&scenario, &scenario.variants[0], NoTrace).expect("it ends");
    assert!(ran.results.iter().any(|result| result.0.is_err()), "{:?}", ran.results);
    let limits = Limits { bound: 1, most: 200, choices: None, seed: None };
    assert_eq!(explore(&scenario, &scenario.variants[0], limits).failure, None);
}

/// What does not fit in memory is refused before it is tried.
#[test]
fn histories_that_do_not_fit_are_refused() {
    let many: Vec<&str> = core::iter::repeat_n("\"pwrite\"; len = \"16m\"; byte = 4", 65).collect();
    let long = scenario(&format!("{WORLD}[[file]]\nname = \"a\"\n{}", ops(&many)));
    let why = check_histories(&long).expect_err("it is too much");
    assert!(why.contains("at operation 65"), "{why}");
}
