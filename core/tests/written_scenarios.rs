//! What is written of a scenario reads back as the same scenario, whatever tables it has; what a
//! file cannot say is refused.

use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::write::write_scenario;
use folioscope_core::scenario::{Action, Scenario};
use folioscope_core::units::Nanos;
use proptest::prelude::*;
use std::path::Path;

/// Writes a scenario and reads it again.
fn again(scenario: &Scenario) -> (String, Scenario) {
    let text = write_scenario(scenario).expect("a file can say it");
    let read = parse_scenario("again", &text).expect("it reads back");
    (text, read)
}

#[test]
fn every_scenario_of_the_project_reads_back() {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/scenarios");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/streams");
    let mut count = 0;
    for folder in [assets.clone(), assets.join("races"), tests] {
        for entry in std::fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("it lists").path();
            if path.extension().is_none_or(|kind| kind != "toml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("it reads");
            let scenario = parse_scenario("first", &text).expect("it is a scenario");
            count += 1;
            // Operations that a file says with `repeat` are written one by one.
            if scenario.ops.len() > 10_000 {
                let why = write_scenario(&scenario).expect_err("too long");
                assert!(why.starts_with("written out it has "), "{why}");
                continue;
            }
            let (text, read) = again(&scenario);
            assert_eq!(read, scenario, "{} as\n{text}", path.display());
        }
    }
    assert!(count > 30, "{count} scenarios");
}

/// Some lines, or none.
fn maybe(lines: impl Strategy<Value = String> + 'static) -> BoxedStrategy<String> {
    prop_oneof![1 => Just(String::new()), 2 => lines].boxed()
}

fn one_of(words: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(words)
}

fn timing() -> BoxedStrategy<String> {
    let queued = (1u32..=1024, 0u32..100_000, 1u32..=1_000_000, 0u32..100_000).prop_map(
        |(depth, latency, rate, flush)| {
            format!(
                "depth = {depth}\nlatency_us = {latency}\nmib_per_second = {rate}\n\
                 flush_us = {flush}\n"
            )
        },
    );
    let turning = (1u32..=1_000_000, 1u32..100, 0u32..1000, 0u32..10_000).prop_map(
        |(rpm, track, settle, seek)| {
            format!(
                "rpm = {rpm}\nsize = \"1g\"\ntrack = \"{track}m\"\nsettle_us = {settle}\n\
                 seek_us = {seek}\nflush_us = {}\n",
                settle * 3
            )
        },
    );
    prop_oneof![queued, turning].boxed()
}

/// What a run or a setting may have one of: name of the table and its lines.
fn table() -> BoxedStrategy<(&'static str, String)> {
    let queue = (
        maybe((1u64..64).prop_map(|n| format!("max_size = \"{}k\"\n", n * 64))),
        maybe((0u32..4).prop_map(|n| format!("io_min = \"{}k\"\nio_opt = \"256k\"\n", 4 << n))),
        maybe((1u32..200).prop_map(|n| format!("max_segments = {n}\n"))),
        maybe(Just("raid_partial_stripes_expensive = true\nrequests = false\n".to_owned())),
        maybe(Just("logical_block_size = 4096\nphysical_block_size = 4096\n".to_owned())),
        maybe((12u32..20).prop_map(|n| format!("segment_boundary = {}\n", 1u64 << n))),
        maybe((12u32..17).prop_map(|n| format!("virt_boundary = {}\n", 1u64 << n))),
        maybe((7u32..10).prop_map(|n| format!("chunk = \"{}k\"\n", 1 << n))),
    )
        .prop_map(|(a, b, c, d, e, f, g, h)| [a, b, c, d, e, f, g, h].concat());
    let share = |name: &'static str| {
        prop_oneof![
            (0u32..=100).prop_map(move |n| format!("{name}ratio = {n}\n")),
            (0u64..1 << 30).prop_map(move |n| format!("{name}bytes = {n}\n")),
        ]
    };
    let dirty = (
        1u64..1000,
        maybe(share("background_")),
        maybe(share("")),
        maybe((0u32..=360_000).prop_map(|n| format!("writeback_centisecs = {n}\n"))),
        maybe((0u32..=360_000).prop_map(|n| format!("expire_centisecs = {n}\n"))),
    )
        .prop_map(|(memory, a, b, c, d)| format!("memory = \"{memory}m\"\n{a}{b}{c}{d}"));
    let array = (one_of(&["raid0", "raid1", "raid4", "raid5", "raid6", "raid10"]), 4u32..9)
        .prop_map(|(level, members)| {
            let chunk = if level == "raid1" { "" } else { "chunk = \"64k\"\n" };
            let more = if level == "raid5" { "stripe_cache_size = 64\n" } else { "" };
            format!("level = \"{level}\"\nmembers = {members}\n{chunk}{more}")
        });
    let world = (any::<bool>(), any::<bool>(), 0u32..1000).prop_map(|(goes, apart, free)| {
        format!("keep_going = {goes}\nscattered = {apart}\nfree_blocks = {free}\nreadahead = 0\n")
    });
    let kswapd =
        (1u32..100, 1u32..=1000).prop_map(|(n, times)| format!("pages = {n}\ntimes = {times}\n"));
    prop_oneof![
        timing().prop_map(|lines| ("device", lines)),
        queue.prop_map(|lines| ("queue", lines)),
        (0u64..1000).prop_map(|n| ("partition", format!("start = {}\n", n * 512))),
        array.prop_map(|lines| ("array", lines)),
        dirty.prop_map(|lines| ("dirty", lines)),
        kswapd.prop_map(|lines| ("kswapd", lines)),
        world.prop_map(|lines| ("world", lines)),
        (0u32..1000).prop_map(|seed| ("run", format!("seed = {seed}\n"))),
    ]
    .boxed()
}

/// Tables of different names, each behind `prefix`.
fn tables(prefix: &'static str) -> BoxedStrategy<String> {
    let all = prop::collection::vec(table(), 0..4);
    all.prop_map(move |mut all| {
        all.sort();
        all.dedup_by_key(|one| one.0);
        let text = |(name, lines): &(&str, String)| {
            let sizes = "page_size = 4096\nblock_size = 1024\nmax_folio_order = 2\n";
            let sizes = if prefix.is_empty() && *name == "world" { sizes } else { "" };
            format!("[{prefix}{name}]\n{sizes}{lines}")
        };
        let mut out: String = all.iter().map(text).collect();
        if prefix.is_empty() && !all.iter().any(|one| one.0 == "world") {
            out += "[world]\npage_size = 4096\nblock_size = 1024\nmax_folio_order = 2\n";
        }
        out
    })
    .boxed()
}

fn op() -> BoxedStrategy<String> {
    let at = || (0u32..16).prop_map(|n| format!("at = {}\nlen = 1024\n", n * 512));
    let flag = |name: &'static str| maybe(Just(format!("{name} = true\n")));
    let transfer = (one_of(&["pread", "pwrite", "pwrite_dsync"]), at(), flag("nowait"))
        .prop_flat_map(move |(what, at, nowait)| {
            let more = prop_oneof![flag("direct"), flag("dontcache")];
            more.prop_map(move |more| format!("do = \"{what}\"\n{at}{nowait}{more}"))
        });
    let ranged = &["mmap_load", "mmap_store", "msync", "sync_range", "sync_range_write"];
    let modes = &["alloc", "keep", "punch", "zero", "zero_keep", "collapse", "insert", "unshare"];
    let advice = &["normal", "sequential", "random", "willneed", "dontneed"];
    let what = prop_oneof![
        transfer,
        (one_of(ranged), at()).prop_map(|(what, at)| format!("do = \"{what}\"\n{at}")),
        (one_of(modes), at())
            .prop_map(|(mode, at)| { format!("do = \"fallocate\"\nmode = \"{mode}\"\n{at}") }),
        (one_of(advice), at())
            .prop_map(|(advice, at)| { format!("do = \"fadvise\"\nadvice = \"{advice}\"\n{at}") }),
        (0u32..9000).prop_map(|n| format!("do = \"truncate\"\nsize = {n}\n")),
        (1u32..9000).prop_map(|n| format!("do = \"sleep\"\nms = {n}\n")),
        (1u32..90).prop_map(|n| format!("do = \"reclaim\"\npages = {n}\n")),
        (0u32..9000).prop_map(|n| format!("do = \"seek_hole\"\nat = {n}\n")),
        (0u32..9000).prop_map(|n| format!("do = \"power_cut\"\nmode = \"some\"\nseed = {n}\n")),
        one_of(&["fsync", "fdatasync", "syncfs"]).prop_map(|what| format!("do = \"{what}\"\n")),
    ];
    let who =
        maybe(one_of(&["task = \"a \\\"b\\\"\"\n", "task = \"c\"\n"]).prop_map(str::to_owned));
    let whose = maybe(Just("file = \"second \\\\ é\"\n".to_owned()));
    (what, who, whose).prop_map(|(what, who, whose)| format!("[[op]]\n{what}{who}{whose}")).boxed()
}

fn fault() -> BoxedStrategy<String> {
    let points = &["reserve_block", "map_blocks", "alloc_folio", "alloc_bio", "invalidate_folio"];
    let often = (1u32..5, one_of(&["1", "3", "\"all\""]))
        .prop_map(|(nth, times)| format!("nth = {nth}\ntimes = {times}\n"));
    let device = &[
        "at = \"submit\"\nerr = \"EIO\"\n",
        "at = \"read_bio\"\nsector = 9\nsectors = 3\n",
        "at = \"write_bio\"\nreaches = 512\nerr = \"ENOSPC\"\n",
        "at = \"write_bio\"\nwaits = 2\n",
        "at = \"flush\"\n",
        "at = \"flush\"\nerr = \"EIO\"\n",
    ];
    let gone = (1u32..5).prop_map(|nth| format!("[[fault]]\nat = \"device_gone\"\nnth = {nth}\n"));
    let what = prop_oneof![
        (one_of(points), 0u32..9000)
            .prop_map(|(at, place)| format!("at = \"{at}\"\nfile_off = {place}\n")),
        one_of(device).prop_map(str::to_owned),
    ];
    let when = maybe(one_of(&["op = 0\n", "until_op = 1\n"]).prop_map(str::to_owned));
    let user = (one_of(&["copy_from_user", "fault_in"]), 0u32..900)
        .prop_map(|(at, n)| format!("[[fault]]\nat = \"{at}\"\nop = 0\ncopied = {n}\n"));
    let other = (what, often, when)
        .prop_map(|(what, often, when)| format!("[[fault]]\n{what}{often}{when}"));
    prop_oneof![3 => user, 2 => gone, 12 => other].boxed()
}

/// A scenario file with some of all that there is. Of half of them some does not go together.
fn texts() -> BoxedStrategy<String> {
    let title = one_of(&["plain", "with \\\"quotes\\\"", "a \\\\ back", "\\u200B"]);
    let switches = maybe(Just("switches = { zero_flush = \"never\" }\n".to_owned()));
    let variants = prop::collection::vec((switches, tables("variant.")), 0..3).prop_map(|all| {
        let text = |(nth, (switches, own)): (usize, &(String, String))| {
            format!("[[variant]]\nname = \"v{nth}\"\n{switches}{own}")
        };
        all.iter().enumerate().map(text).collect::<String>()
    });
    let disks =
        maybe((timing(), timing()).prop_map(|(a, b)| {
            format!("[[disk]]\nname = \"log\"\n{a}[[disk]]\nname = \"data\"\n{b}")
        }));
    let first = one_of(&[
        "size = 4096\nfill = 7\n",
        "size = 4096\ndevice = true\npath = \"buffer_head\"\n",
        "size = 5000\nfs = \"ext2\"\npath = \"buffer_head\"\n",
        "size = 5000\npath = \"buffer_head_ext4\"\nsector = 5000\n",
        "size = 4096\nmemory = true\n",
        "prealloc = \"64k\"\n",
        "size = 9000\nprealloc = \"dynamic\"\n[[file.extent]]\nat = 0\nlen = 2048\n\
         type = \"mapped\"\nsector = 8\n[[file.extent]]\nat = 4096\nlen = 1024\n\
         type = \"unwritten\"\nsector = 80\n",
    ]);
    let second = one_of(&["size = 8192\n", "size = 2048\ndisk = \"data\"\n", "disk = \"log\"\n"]);
    let files = (first, second).prop_map(|(first, second)| {
        format!("[[file]]\nname = \"first\"\n{first}[[file]]\nname = \"second \\\\ é\"\n{second}")
    });
    let ops = prop::collection::vec(op(), 1..6).prop_map(|all| all.concat());
    let faults = prop::collection::vec(fault(), 0..3).prop_map(|all| all.concat());
    // Faults of memory are for the first operation.
    let ops = (ops, faults).prop_map(|(ops, faults)| {
        let write = "[[op]]\ndo = \"pwrite\"\nlen = 1024\n";
        let write = if faults.contains("copied") { write } else { "" };
        [write, &ops, &faults].concat()
    });
    (title, tables(""), disks, variants, files, ops)
        .prop_map(|(title, tables, disks, variants, files, ops)| {
            let (run, kswapd) = ("run]\n", "kswapd]\n");
            let needs = |text: &String| text.contains(run) || text.contains(kswapd);
            let alone = !ops.contains("task =") && [&tables, &variants].into_iter().any(needs);
            let other = "[[op]]\ndo = \"fsync\"\ntask = \"c\"\n";
            let other = if alone { other } else { "" };
            format!(
                "version = 0\ntitle = \"{title}\"\n{tables}{disks}{variants}{files}{ops}{other}"
            )
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        max_global_rejects: 8192,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_can_be_read_can_be_written_and_read_again(text in texts()) {
        let read = parse_scenario("first", &text);
        prop_assume!(read.is_ok());
        let scenario = read.expect("looked at");
        let (written, read) = again(&scenario);
        prop_assert_eq!(read, scenario, "{}", written);
    }
}

#[test]
fn what_no_file_says_is_refused_with_a_sentence() {
    let text = "version = 0\ntitle = \"t\"\n[world]\npage_size = 64\nblock_size = 16\n\
                max_folio_order = 0\n[[file]]\nname = \"f\"\n[[op]]\ndo = \"fsync\"\n\
                [[op]]\ndo = \"sleep\"\nms = 3\n";
    let mut scenario = parse_scenario("s", text).expect("a good file");
    scenario.ops[1].action = Action::Sleep(Nanos::new(1_500_000));
    let why = "no scenario file says operation 1 like this";
    assert_eq!(write_scenario(&scenario), Err(why.to_owned()));
    scenario.ops.pop();
    scenario.tasks.push("idle".to_owned());
    let why = "no scenario file says its tasks like this";
    assert_eq!(write_scenario(&scenario), Err(why.to_owned()));
}
