//! A device with zones in a scenario: files that are zones, and what it refuses.

mod common;

use common::folding::Folding;
use folioscope_core::device::sim::Timing;
use folioscope_core::errno::Errno;
use folioscope_core::scenario::Scenario;
use folioscope_core::scenario::crash::{Thoroughness, sweep};
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::{Contents, Run, run, run_and_read};
use folioscope_core::scenario::write::write_scenario;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::units::{Bytes, FileId};
use std::collections::BTreeSet;

fn text(device: &str, rest: &str) -> String {
    format!(
        "version = 0\ntitle = \"Zones\"\n[world]\npage_size = 4096\nblock_size = 4096\n\
         max_folio_order = 0\n[device]\n{device}\n{rest}"
    )
}

const DEVICE: &str = "zone_size = \"64k\"\nzone_capacity = \"48k\"\nconventional_zones = 1";
const ZONES: &str = "
    [[file]]
    name = \"log\"
    fs = \"zonefs\"
    zone = 2
    size = \"8k\"
    fill = 3
    [[file]]
    name = \"random\"
    fs = \"zonefs\"
    zone = 0
    fill = 5
";

fn ran(text: &str) -> (Scenario, Run<Recording>, Contents) {
    let scenario = parse_scenario("s", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let variant = scenario.variants[0].clone();
    let (run, read) =
        run_and_read(&scenario, &variant, Recording::default()).expect("nothing hangs");
    (scenario, run, read)
}

fn op(what: &str, file: &str, at: u64, len: u64, more: &str) -> String {
    format!("[[op]]\ndo = {what:?}\nfile = {file:?}\nat = {at}\nlen = {len}\n{more}\n")
}

#[test]
fn a_file_that_is_a_zone_grows_at_its_write_pointer_only() {
    let ops = [
        op("pwrite", "log", 8192, 8192, "byte = 4\ndirect = true"),
        // Not at the pointer: zonefs refuses it.
        op("pwrite", "log", 0, 4096, "byte = 9\ndirect = true"),
        // Through the cache: no sequential zone takes it.
        op("pwrite", "log", 16384, 4096, "byte = 9"),
        op("pwrite", "log", 16384, 32768, "byte = 6\ndirect = true"),
        // The zone is full.
        op("pwrite", "log", 49152, 4096, "byte = 9\ndirect = true"),
        op("pread", "log", 0, 49152, ""),
        op("pwrite", "random", 8192, 4096, "byte = 7\nthen = \"fsync\""),
    ];
    let (_, run, read) = ran(&text(DEVICE, &format!("{ZONES}{}", ops.concat())));
    let results: Vec<_> = run.results.iter().map(|result| result.0).collect();
    assert_eq!(
        results,
        [
            Ok(Bytes::kib(8)),
            Err(Errno::Inval),
            Err(Errno::Io),
            Ok(Bytes::kib(32)),
            Err(Errno::FBig),
            Ok(Bytes::kib(48)),
            Ok(Bytes::kib(4)),
            Ok(Bytes::ZERO),
        ]
    );
    let log: Vec<u8> = [(3, 8192), (4, 8192), (6, 32768)]
        .into_iter()
        .flat_map(|(byte, len)| vec![byte; len])
        .collect();
    assert!(read.seen[0] == log && read.durable[0] == log);
    assert_eq!((read.durable[1][8191], read.durable[1][8192], read.durable[1][12288]), (5, 7, 5));
    assert!(run.sink.steps().iter().all(|step| step.rule != Rule::ZoneRefuses));
    let mut timeline = Timeline::new(run.header, run.sink).expect("a trace fits itself");
    timeline.seek(usize::MAX);
    let file = timeline.model().file(FileId::new(0)).expect("it is open");
    assert_eq!(file.zone_pointer().get(), 49152);
}

fn truncate(file: &str, size: u64) -> String {
    format!("[[op]]\ndo = \"truncate\"\nfile = {file:?}\nsize = {size}\n")
}

fn fsync(file: &str) -> String {
    format!("[[op]]\ndo = \"fsync\"\nfile = {file:?}\n")
}

#[test]
fn a_zone_is_reset_and_finished_where_its_file_is_truncated() {
    let ops = [
        op("pread", "log", 0, 8192, ""),
        truncate("log", 4096),
        truncate("log", 8192),
        truncate("random", 0),
        truncate("log", 0),
        truncate("log", 0),
        op("pread", "log", 0, 8192, ""),
        // Where the zone is written from now on, and no longer where it was.
        op("pwrite", "log", 8192, 4096, "byte = 9\ndirect = true"),
        op("pwrite", "log", 0, 4096, "byte = 4\ndirect = true"),
        truncate("log", 49152),
        op("pwrite", "log", 49152, 4096, "byte = 9\ndirect = true"),
        op("pwrite", "log", 4096, 4096, "byte = 9\ndirect = true"),
        op("pread", "log", 0, 49152, ""),
    ];
    let text = text(DEVICE, &format!("{ZONES}{}", ops.concat()));
    let (scenario, done, read) = ran(&text);
    let results: Vec<_> = done.results.iter().map(|result| result.0).collect();
    let none = Ok(Bytes::ZERO);
    assert_eq!(
        results,
        [
            Ok(Bytes::kib(8)),
            Err(Errno::Perm),
            // Neither of the two sizes, also where it is the size that it has.
            Err(Errno::Perm),
            Err(Errno::Perm),
            none,
            none,
            none,
            Err(Errno::Inval),
            Ok(Bytes::kib(4)),
            none,
            Err(Errno::FBig),
            Err(Errno::Inval),
            Ok(Bytes::kib(48)),
        ]
    );
    let log = [vec![4; 4096], vec![0; 45056]].concat();
    assert!(read.seen[0] == log && read.durable[0] == log);
    let rules = |rule| done.sink.steps().iter().filter(|step| step.rule == rule).count();
    assert_eq!((rules(Rule::ZoneReset), rules(Rule::ZoneFinished)), (1, 1));
    // The model is the engine's state after every step, and going back leaves nothing.
    run(&scenario, &scenario.variants[0], Folding::new(scenario.geometry)).expect("it ends");
    let mut timeline = Timeline::new(done.header, done.sink).expect("a trace fits itself");
    let fresh = timeline.model().clone();
    timeline.seek(usize::MAX);
    let file = timeline.model().file(FileId::new(0)).expect("it is open");
    assert_eq!((file.zone_pointer().get(), file.size().get()), (49152, 49152));
    timeline.seek(0);
    assert_eq!(*timeline.model(), fresh);
}

#[test]
fn a_zone_stays_as_it_is_where_the_device_fails_it() {
    let fault = "[[fault]]\nat = \"device_gone\"\nop = 0\n";
    let ops = [op("pwrite", "log", 8192, 4096, "byte = 4\ndirect = true"), truncate("log", 0)];
    let (_, run, _) = ran(&text(DEVICE, &format!("{ZONES}{}{fault}", ops.concat())));
    assert!(run.results.iter().all(|result| result.0 == Err(Errno::Io)), "{:?}", run.results);
    let timeline = Timeline::new(run.header, run.sink).expect("a trace fits itself");
    let model = timeline.model_at(usize::MAX);
    let file = model.file(FileId::new(0)).expect("it is open");
    assert_eq!((file.zone_pointer().get(), file.size().get()), (8192, 8192));
}

#[test]
fn a_power_cut_leaves_a_zone_up_to_where_it_was_written() {
    let write =
        |at: u64, byte: u8| op("pwrite", "log", at, 8192, &format!("byte = {byte}\ndirect = true"));
    let cut = |mode: &str| format!("[[op]]\ndo = \"power_cut\"\n{mode}\n");
    for partition in ["", "[partition]\nstart = \"64k\"\n"] {
        let left = |ops: &[String]| {
            let text = text(DEVICE, &format!("{partition}{ZONES}{}", ops.concat()));
            let (scenario, done, read) = ran(&text);
            run(&scenario, &scenario.variants[0], Folding::new(scenario.geometry))
                .expect("it ends");
            let timeline = Timeline::new(done.header, done.sink).expect("a trace fits itself");
            let model = timeline.model_at(usize::MAX);
            let file = model.file(FileId::new(0)).expect("it is open");
            assert_eq!(file.zone_pointer(), file.size());
            let seen = read.seen[0].clone();
            assert!(seen == read.durable[0] && seen.len() as u64 == file.size().get());
            (seen, done.results.last().expect("some").0)
        };
        let two = [write(8192, 4), write(16384, 5)].concat();
        let bytes = |all: &[(u8, usize)]| -> Vec<u8> {
            all.iter().flat_map(|(byte, len)| vec![*byte; *len]).collect()
        };
        let all = bytes(&[(3, 8192), (4, 8192), (5, 8192)]);
        assert_eq!(left(&[two.clone(), cut("")]).0, bytes(&[(3, 8192)]));
        assert_eq!(left(&[two.clone(), cut("mode = \"all\"")]).0, all);
        assert_eq!(left(&[two.clone(), fsync("log"), cut("")]).0, all);
        assert_eq!(left(&[write(8192, 4), fsync("log"), write(16384, 5), cut("")]).0, all[..16384]);
        let mut sizes = BTreeSet::new();
        for seed in 0..40 {
            let (seen, _) = left(&[two.clone(), cut(&format!("mode = \"some\"\nseed = {seed}"))]);
            assert!(all.starts_with(&seen) && seen.len().is_multiple_of(4096));
            sizes.insert(seen.len());
        }
        assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [8192, 12288, 16384, 20480, 24576]);
        // Writing goes on where the file now ends, and nowhere else.
        let (seen, result) = left(&[two.clone(), cut(""), write(8192, 6)]);
        assert_eq!((seen, result), (bytes(&[(3, 8192), (6, 8192)]), Ok(Bytes::kib(8))));
        assert_eq!(left(&[two.clone(), cut(""), write(24576, 6)]).1, Err(Errno::Inval));
        // What was done to a zone as a whole stays done.
        assert_eq!(left(&[two.clone(), truncate("log", 0), cut("")]).0, []);
        let full = left(&[two, truncate("log", 49152), cut("")]).0;
        assert_eq!(full, [all, vec![0; 24576]].concat());
    }
}

#[test]
fn the_cut_sweep_finds_every_zone_written_in_order() {
    let ops = [
        op("pwrite", "log", 8192, 12288, "byte = 1\ndirect = true"),
        op("pwrite", "random", 4096, 8192, "byte = 2"),
        op("pwrite", "log", 20480, 4096, "byte = 3\ndirect = true"),
        fsync("log"),
        op("pwrite", "log", 24576, 16384, "byte = 4\ndirect = true"),
        truncate("log", 0),
        op("pwrite", "log", 0, 16384, "byte = 5\ndirect = true"),
        op("pwrite", "log", 16384, 8192, "byte = 6\ndirect = true\nthen = \"fsync\""),
        op("pwrite", "log", 24576, 8192, "byte = 7\ndirect = true"),
        truncate("log", 49152),
        fsync("random"),
    ];
    let queue = "depth = 4\nlatency_us = 10\nmib_per_second = 100\nflush_us = 50";
    let text = text(&format!("{DEVICE}\n{queue}"), &format!("{ZONES}{}", ops.concat()));
    let scenario = parse_scenario("s", &text).unwrap_or_else(|error| panic!("{error}"));
    let how = Thoroughness { every: 1, states: 16, mount_every: 2, seed: 0, data_first: true };
    let looked =
        sweep(&scenario, &scenario.variants[0], how).unwrap_or_else(|failed| panic!("{failed}"));
    assert!(looked.states > 300 && looked.sectors > 200, "{looked:?}");
}

#[test]
fn the_device_refuses_what_is_not_at_the_pointer_of_a_zone() {
    // A file system that knows nothing of zones: its blocks are overwritten where they are.
    let plain = "[[file]]\nname = \"f\"\nsize = \"8k\"\nsector = 256\nfill = 1\n";
    let over = op("pwrite", "f", 0, 4096, "byte = 2\nthen = \"fsync\"");
    let (_, run, read) = ran(&text(DEVICE, &format!("{plain}{over}")));
    assert_eq!(run.results[1].0, Err(Errno::Io));
    let refused = run.sink.steps().iter().find(|step| step.rule == Rule::ZoneRefuses);
    assert_eq!(refused.map(|step| step.args[1..3].to_vec()), Some(vec![131_072, 139_264]));
    assert!(read.durable[0] == vec![1; 8192], "nothing of it reached the medium");
    // In a zone that takes writes anywhere it goes well.
    let plain = plain.replace("sector = 256", "sector = 0");
    let (_, run, _) = ran(&text(DEVICE, &format!("{plain}{over}")));
    assert_eq!(run.results[1].0, Ok(Bytes::ZERO));
}

#[test]
fn zones_are_said_beside_times_and_are_written_as_they_were_read() {
    let queue = "depth = 4\nlatency_us = 10\nmib_per_second = 100\nflush_us = 50";
    let both = text(&format!("{DEVICE}\n{queue}"), ZONES);
    let (scenario, ..) = ran(&both);
    assert!(matches!(scenario.device, Timing::Queue { depth: 4, .. }));
    let again = write_scenario(&scenario)
        .and_then(|text| parse_scenario("s", &text).map_err(|error| error.to_string()))
        .expect("it reads back");
    assert_eq!((again.zones, again.files), (scenario.zones, scenario.files));
}

#[test]
fn zones_that_make_no_sense_are_told_where_and_why() {
    for (device, rest, part) in [
        ("zone_size = 1000", "", "zone_size is 1000 bytes: expected a multiple of the block size"),
        ("zone_size = 8192\nzone_capacity = 12288", "", "zone_capacity is 12288 bytes: expected"),
        ("zone_capacity = 4096", "", "missing field `zone_size`"),
        (DEVICE, "[[file]]\nname = \"z\"\nfs = \"zonefs\"\n", "`zone`, the number of the zone"),
        (
            DEVICE,
            "[[file]]\nname = \"z\"\nfs = \"zonefs\"\nzone = 3\nsize = \"52k\"\n",
            "size is 53248 bytes: expected whole blocks, up to 49152",
        ),
        (
            DEVICE,
            "[[file]]\nname = \"z\"\nfs = \"zonefs\"\nzone = 3\n[[op]]\ndo = \"fallocate\"\nlen = 1\n",
            "fallocate: a file that is a zone cannot do it",
        ),
        (
            "rpm = 1\nzone = 3",
            "[[file]]\nname = \"z\"\nfs = \"zonefs\"\nzone = 3\n",
            "unknown field `zone`",
        ),
    ] {
        let told = parse_scenario("s", &text(device, rest)).expect_err("a bad file").to_string();
        assert!(told.starts_with("s:") && told.contains(part), "{told}\nexpected {part}");
    }
}
