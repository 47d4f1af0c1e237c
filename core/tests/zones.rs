//! A device with zones in a scenario: files that are zones, and what it refuses.

use folioscope_core::device::sim::Timing;
use folioscope_core::errno::Errno;
use folioscope_core::scenario::Scenario;
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::{Contents, Run, run_and_read};
use folioscope_core::scenario::write::write_scenario;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::units::{Bytes, FileId};

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
            "[[file]]\nname = \"z\"\nfs = \"zonefs\"\nzone = 3\n[[op]]\ndo = \"power_cut\"\n",
            "power_cut: what a power cut leaves of write pointers is not modelled",
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
