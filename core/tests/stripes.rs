//! Bios that end where a stripe of the device ends: cut by writeback as proposed, or by the queue.

mod common;

use common::folding::Folding;
use common::{Host, TASK};
use folioscope_core::behaviour::{Behaviours, Profile, StripeAlignment};
use folioscope_core::block::bio::BioEnd;
use folioscope_core::block::limits::QueueLimits;
use folioscope_core::cache::frame_alloc::FramePolicy;
use folioscope_core::cache::policy::FolioPolicy;
use folioscope_core::counters::Counter;
use folioscope_core::device::sim::{Sim, Timing, peek_bytes};
use folioscope_core::engine::{Engine, WriteFlags, drive};
use folioscope_core::frames::{Fill, HeapFrames};
use folioscope_core::fs::extents::Extents;
use folioscope_core::fs::{Provider, SpaceAllocator};
use folioscope_core::iomap::MapType;
use folioscope_core::ops::readahead::ReadaheadLimits;
use folioscope_core::scenario::Variant;
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::{run as run_scenario, run_and_read};
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::units::{Bytes, DevAddr, FileRange, Order, Pos};
use folioscope_core::world::Config;
use proptest::prelude::*;

/// 8 disks of RAID6 with chunks of 512 KiB.
const STRIPE: u64 = 6144;

/// One file on a device with stripes: sectors are 512 bytes.
#[derive(Clone)]
struct Setup {
    /// First sector and sectors of each extent.
    extents: Vec<(u64, u64)>,
    order: u8,
    stripe: u64,
    expensive: bool,
    align: StripeAlignment,
    partition: u64,
}

impl Setup {
    fn new(start: u64, sectors: u64, order: u8) -> Self {
        let align = StripeAlignment::Iomap;
        let extents = vec![(start, sectors)];
        Self { extents, order, stripe: STRIPE, expensive: true, align, partition: 0 }
    }
}

/// What was sent, and what the world looked like then.
struct Done {
    /// Sector, sectors, why it ended.
    bios: Vec<(u64, u64, BioEnd)>,
    /// Sectors where the queue cut.
    cuts: Vec<u64>,
    broken: Vec<u64>,
    good_bytes: bool,
    requests: u64,
}

impl Done {
    fn sectors(&self) -> Vec<(u64, u64)> {
        self.bios.iter().map(|(at, len, _)| (*at, *len)).collect()
    }
}

fn run(setup: &Setup) -> Done {
    let geometry = common::geometry(4096, 4096, setup.order);
    let limits = QueueLimits {
        io_opt: Bytes::new(setup.stripe * 512),
        partial_stripes_expensive: setup.expensive,
        ..QueueLimits::NONE
    };
    let chunk = limits.stripe().filter(|_| setup.align == StripeAlignment::BlockSplit);
    let config = Config {
        geometry,
        behaviours: Behaviours { stripe_alignment: setup.align, ..Behaviours::default() },
        stable_writes: false,
        frames: FramePolicy::Scattered,
        space: SpaceAllocator::new(DevAddr::new(1 << 40), None),
        readahead: ReadaheadLimits::default(),
        queue: Some(QueueLimits { chunk: chunk.unwrap_or(Bytes::ZERO), ..limits }),
        partition: Bytes::new(setup.partition * 512),
    };
    let engine: Engine<Host<Recording>> =
        Engine::new(config, HeapFrames::new(geometry.page_size()), Recording::default());
    engine.keep_going();
    engine.set_folio_policy(FolioPolicy::Fixed(Order::new(setup.order)));
    let mut sim = Sim::new(Timing::Ram);
    let mut extents = Extents::new(geometry);
    let mut pos = Pos::ZERO;
    for (sector, sectors) in &setup.extents {
        let range = FileRange::between(pos, pos + Bytes::new(sectors * 512));
        extents.map_mut().set(range, MapType::Mapped, Some(DevAddr::new(sector * 512)));
        pos = range.end();
    }
    let file = engine.open(pos, Provider::Extents(extents));
    let page = 4096;
    for at in (0..pos.get()).step_by(page) {
        let mut source =
            Fill { byte: (at / page as u64 % 251) as u8, len: Bytes::new(page as u64) };
        let op = engine.pwrite(TASK, file, Pos::new(at), &mut source, WriteFlags::default());
        drive(&engine, &mut sim, op).expect("nothing hangs").0.expect("it succeeds");
    }
    let op = engine.fsync(TASK, file, false);
    drive(&engine, &mut sim, op).expect("nothing hangs").0.expect("it succeeds");
    let good_bytes = sim.durable_bytes(&engine, file) == peek_bytes(&engine, &sim, file);
    let requests = engine.counters().get(Counter::Requests);
    let trace = engine.into_sink();
    let mut done = Done { bios: vec![], cuts: vec![], broken: vec![], good_bytes, requests };
    for at in 0..trace.len() {
        let step = trace.step(at);
        let [first, addr, other, code] = step.args;
        if step.rule == Rule::BioSubmitted {
            let why = BioEnd::from_code(code).expect("a reason");
            done.bios.push((addr / 512, other / 512, why));
        } else if step.rule == Rule::BioSplit {
            done.cuts.push(other / 512);
        } else if step.rule == Rule::InvariantBroken {
            done.broken.push(first);
        }
    }
    done
}

fn aligned(setup: &Setup) -> Vec<(u64, u64)> {
    let done = run(setup);
    assert!(done.broken.is_empty() && done.good_bytes, "{:?}", done.broken);
    done.sectors()
}

/// Folios of 2 MiB.
const LARGE: u8 = 9;

#[test]
fn example_1_a_stream_of_large_folios_goes_out_in_whole_stripes() {
    assert_eq!(aligned(&Setup::new(0, 12288, LARGE)), [(0, 6144), (6144, 6144)]);
}

#[test]
fn example_2_a_stream_that_starts_off_a_stripe_is_short_once() {
    let all = aligned(&Setup::new(1000, 16384, LARGE));
    assert_eq!(all, [(1000, 5144), (6144, 6144), (12288, 5096)]);
}

#[test]
fn example_3_one_range_over_three_boundaries_is_four_bios() {
    let all = aligned(&Setup::new(6000, 16384, 11));
    assert_eq!(all, [(6000, 144), (6144, 6144), (12288, 6144), (18432, 3952)]);
}

#[test]
fn example_4_a_bio_that_ends_on_a_boundary_is_closed() {
    let done = run(&Setup::new(2048, 8192, LARGE));
    assert_eq!(done.bios[0], (2048, 4096, BioEnd::Stripe));
    assert_eq!(done.sectors()[1..], [(6144, 4096)]);
}

#[test]
fn example_5_an_extent_that_ends_on_a_boundary_ends_the_bio_by_itself() {
    let extents = vec![(2048, 4096), (100_000, 4096)];
    let done = run(&Setup { extents, ..Setup::new(0, 0, LARGE) });
    assert_eq!(done.bios[0], (2048, 4096, BioEnd::SectorGap));
}

#[test]
fn example_6_without_a_size_or_the_flag_nothing_changes() {
    for setup in [
        Setup { stripe: 0, ..Setup::new(1000, 16384, LARGE) },
        Setup { expensive: false, ..Setup::new(1000, 16384, LARGE) },
    ] {
        assert_eq!(aligned(&setup), [(1000, 16384)]);
    }
}

#[test]
fn odd_sizes_of_a_stripe_stop_nothing_and_lose_nothing() {
    // None; no whole block; larger than the device; what a stacked limit of almost 4 GiB is.
    for stripe in [0, 1, 7, 12, 1 << 33, 8_387_584] {
        assert_eq!(aligned(&Setup { stripe, ..Setup::new(1000, 16384, LARGE) }), [(1000, 16384)]);
    }
    // No power of two: 56 sectors, and a block.
    for stripe in [56, 8] {
        let all = aligned(&Setup { stripe, ..Setup::new(1000, 1024, 3) });
        assert_eq!(all.iter().map(|(_, len)| len).sum::<u64>(), 1024);
        for (at, len) in all {
            assert_eq!(at / stripe, (at + len - 1) / stripe, "{len} sectors at {at}");
        }
    }
}

#[test]
fn example_7_scattered_pages_end_a_bio_by_their_number_and_by_stripes() {
    let all = aligned(&Setup::new(0, 8192, 0));
    assert_eq!(all, [(0, 2048), (2048, 2048), (4096, 2048), (6144, 2048)]);
    let all = aligned(&Setup::new(1000, 8192, 0));
    assert_eq!(all, [(1000, 2048), (3048, 2048), (5096, 1048), (6144, 2048), (8192, 1000)]);
}

#[test]
fn example_8_a_partition_moves_every_boundary() {
    let setup = Setup { partition: 2048, ..Setup::new(0, 12288, LARGE) };
    let done = run(&setup);
    assert_eq!(done.sectors(), [(0, 6144), (6144, 6144)], "aligned to the partition");
    assert_eq!(done.broken, [203, 203], "and every bio crosses a stripe of the disk");
    let setup = Setup { align: StripeAlignment::IomapDevice, ..setup };
    assert_eq!(aligned(&setup), [(0, 4096), (4096, 6144), (10240, 2048)]);
}

#[test]
fn the_stale_offset_of_the_helper_writes_bytes_from_the_wrong_place() {
    let align = StripeAlignment::IomapStaleOffset;
    let done = run(&Setup { align, ..Setup::new(0, 12288, LARGE) });
    assert!(done.broken.contains(&37) && !done.good_bytes);
    assert_eq!(done.sectors(), [(0, 6144), (6144, 6144)], "sizes alone do not show it");
    assert!(run(&Setup::new(0, 12288, LARGE)).good_bytes);
}

#[test]
fn the_queue_cuts_what_writeback_left_whole() {
    let align = StripeAlignment::BlockSplit;
    let done = run(&Setup { align, ..Setup::new(1000, 16384, LARGE) });
    assert_eq!(done.sectors(), [(1000, 16384)]);
    assert_eq!((done.cuts.as_slice(), done.requests), ([6144, 12288].as_slice(), 3));
    assert!(done.good_bytes);
    // The queue knows the disk, so a partition does not mislead it.
    let done = run(&Setup { align, partition: 2048, ..Setup::new(0, 12288, LARGE) });
    assert_eq!(done.cuts, [6144, 12288]);
}

#[test]
fn kernels_differ_in_who_cuts() {
    let of = |name| Profile::named(name).expect("a profile").behaviours.stripe_alignment;
    assert_eq!(of("linux-6.18"), StripeAlignment::None);
    assert_eq!(of("linux-7.3"), StripeAlignment::BlockSplit);
}

const SCENARIO: &str = r#"
version = 0
title = "A partition of an array"
[world]
page_size = 4096
block_size = 4096
max_folio_order = 0
keep_going = true
[queue]
io_opt = "384k"
raid_partial_stripes_expensive = true
[partition]
start = "1m"
[[variant]]
name = "proposed"
switches = { stripe_alignment = "iomap" }
[[variant]]
name = "of the disk"
switches = { stripe_alignment = "iomap-device" }
[[variant]]
name = "queue"
profile = "linux-7.3"
[[file]]
name = "f"
size = "768k"
sector = 0
[[op]]
do = "pwrite"
len = "768k"
[[op]]
do = "fsync"
"#;

#[test]
fn a_scenario_says_limits_and_partition() {
    let scenario = parse_scenario("s", SCENARIO).expect("a good file");
    let counts = scenario.variants.iter().map(|variant| {
        let (run, read) = run_and_read(&scenario, variant, NoTrace).expect("nothing hangs");
        assert_eq!(read.seen, read.durable);
        let count = |counter| run.counters.get(counter);
        (count(Counter::WriteBios), count(Counter::SplitBios), count(Counter::BrokenInvariants))
    });
    // 1 MiB is 256 KiB into a stripe.
    assert_eq!(counts.collect::<Vec<_>>(), [(2, 0, 2), (3, 0, 0), (1, 2, 0)]);
}

#[test]
fn bad_limits_are_told_where_and_what() {
    let told = |from: &str, to: &str| {
        let error = parse_scenario("s", &SCENARIO.replace(from, to)).expect_err("a bad file");
        error.to_string()
    };
    for (from, to, start) in [
        ("\"384k\"", "1000", "s:10:10: io_opt is 1000 bytes: expected whole sectors"),
        ("\"1m\"", "100", "s:13:9: start is 100 bytes: expected whole sectors"),
        ("io_opt = \"384k\"", "max_size = 512", "s:10:12: max_size is 512 bytes: expected a page"),
        ("io_opt", "io_best", "s:10:1: unknown field `io_best`, expected one of `max_size`"),
        ("io_opt = \"384k\"", "max_segments = 0", "s:10:16: max_segments is 0"),
        (
            "io_opt = \"384k\"",
            "virt_boundary = 1536",
            "s:10:17: virt_boundary is 1536 bytes: expected a power",
        ),
    ] {
        let told = told(from, to);
        assert!(told.starts_with(start), "{told}\nexpected {start}");
    }
}

/// Members read and written in KiB; rows whole, and in part; broken invariants; good bytes.
fn costs(text: &str) -> Vec<(u64, u64, u64, u64, u64, bool)> {
    let scenario = parse_scenario("s", text).expect("a good file");
    let of = |variant| {
        let (run, read) = run_and_read(&scenario, variant, NoTrace).expect("nothing hangs");
        let count = |counter| run.counters.get(counter);
        (
            count(Counter::MemberRead) / 1024,
            count(Counter::MemberWritten) / 1024,
            count(Counter::RowsFull),
            count(Counter::RowsRmw) + count(Counter::RowsRcw),
            count(Counter::BrokenInvariants),
            read.seen == read.durable,
        )
    };
    scenario.variants.iter().map(of).collect()
}

#[test]
fn the_lesson_on_stripes_costs_what_is_handled_by_itself() {
    let text = include_str!("../../assets/scenarios/stripe-alignment.toml");
    let all = 3072 * 8 / 6;
    // 8 stripes of 16 rows; two are cut: their first part needs two or four chunks of each, the
    // second finds them in the cache, and parity of both goes out twice.
    let [each, iomap, absorbed, queue] = costs(text)[..] else { panic!("four variants") };
    assert_eq!(absorbed, (0, all, 128, 0, 0, true));
    assert_eq!(iomap, (0, all, 128, 0, 0, true));
    assert_eq!(each, (384, all + 2 * 128, 96, 64, 0, true));
    // The queue cuts bios that ended elsewhere already.
    assert_eq!(queue, each);
}

#[test]
fn the_lesson_on_partitions_shows_that_aligned_is_not_aligned() {
    let text = include_str!("../../assets/scenarios/stripe-alignment-partition.toml");
    let [partition, disk, stale] = costs(text)[..] else { panic!("three variants") };
    assert!(partition.4 > 0 && partition.5 && partition.2 == 0, "{partition:?}");
    assert!(disk.4 == 0 && disk.5 && disk.2 == 112, "{disk:?}");
    assert!(stale.4 > 0 && stale.5, "one-page folios are never cut: {stale:?}");
}

#[test]
fn the_stale_offset_is_seen_by_its_lamp_and_by_a_reader() {
    let text = include_str!("../../assets/scenarios/stripe-stale-offset.toml");
    let [helper, loops] = costs(text)[..] else { panic!("two variants") };
    assert!(helper.4 > 0 && !helper.5, "{helper:?}");
    assert!(loops.4 == 0 && loops.5, "{loops:?}");
    assert_eq!((helper.0, helper.1, helper.2), (loops.0, loops.1, loops.2), "counts show nothing");
}

#[test]
fn a_stripe_cache_that_waits_has_nothing_to_gain_from_a_cut() {
    let text = include_str!("../../assets/scenarios/stripe-absorbed.toml");
    let [plain, cut] = costs(text)[..] else { panic!("two variants") };
    assert_eq!(plain, cut);
    assert_eq!(plain, (0, 3072 * 8 / 6, 128, 0, 0, true));
}

#[test]
fn the_trace_of_an_array_folds_and_goes_back() {
    let text = include_str!("../../assets/scenarios/stripe-alignment.toml");
    let scenario = parse_scenario("s", &text.replace("3m", "1m")).expect("a good file");
    let traced =
        run_scenario(&scenario, &scenario.variants[0], Recording::default()).expect("it ends");
    let counters = traced.counters.clone();
    let mut timeline = Timeline::new(traced.header, traced.sink).expect("a trace fits itself");
    timeline.seek(usize::MAX);
    let array = timeline.model().array();
    assert_eq!(array.shape().map(|shape| (shape.members, shape.data)), Some((8, 6)));
    let blocks: u64 = array.blocks().map(|(_, _, read, written)| read + written).sum();
    let moved = counters.get(Counter::MemberRead) + counters.get(Counter::MemberWritten);
    assert_eq!(blocks, moved / 4096);
    assert_eq!(array.rows().count() as u64 * 4096 * 6, 1152 * 1024);
    timeline.seek(0);
    assert!(timeline.model().array().shape().is_none());
}

#[test]
fn what_an_array_and_a_cut_do_is_the_engines_own_state() {
    let text = include_str!("../../assets/scenarios/stripe-alignment-partition.toml");
    let text = text.replace("3m", "600k").replace("max_folio_order = 0", "max_folio_order = 5");
    let scenario = parse_scenario("s", &text).expect("a good file");
    for name in ["linux-6.18", "linux-7.3"] {
        let profile = Profile::named(name).expect("there is one");
        let variant = Variant {
            name: name.to_owned(),
            profile: name.to_owned(),
            behaviours: profile.behaviours,
            own: None,
        };
        let sink = Folding::new(scenario.geometry);
        let run = run_scenario(&scenario, &variant, sink).expect("it ends");
        assert_eq!(run.counters.get(Counter::SplitBios) > 0, name == "linux-7.3");
    }
}

#[test]
fn a_disk_that_turns_takes_its_time_by_where_things_lie() {
    let text = include_str!("../../assets/scenarios/stripe-alignment.toml");
    let device = "[device]\nrpm = 7200\nsize = \"16g\"\ntrack = \"1m\"\nsettle_us = 1000\n\
                  seek_us = 15000\nflush_us = 5000\n\n[[variant]]\nname = \"plain\"\n";
    let (start, rest) = text.split_once("[array]").expect("it has one");
    let (_, files) = rest.split_once("[[file]]").expect("it has one");
    let text = format!("{start}{device}\n[[file]]{files}");
    let time = |text: &str| {
        let scenario = parse_scenario("s", text).expect("a good file");
        let run = run_scenario(&scenario, &scenario.variants[0], Recording::default());
        let trace = run.expect("it ends").sink;
        trace.step(trace.len() - 1).time.get()
    };
    let near = time(&text);
    let far = time(&text.replace("sector = 0", "sector = 16777216"));
    // Three turns for the bytes at least, and the seek to the middle of the disk.
    assert!(near > 3 * 8_333_333 && far > near + 10_000_000, "{near} {far}");
    let error = parse_scenario("s", &text.replace("rpm = 7200", "rpm = 0")).expect_err("bad");
    assert!(error.to_string().contains("rpm is 0: expected 1 to"), "{error}");
}

#[test]
fn an_array_of_any_level_says_what_its_members_do() {
    let text = include_str!("../../assets/scenarios/stripe-alignment.toml");
    for (level, layout, members, percent) in [
        ("raid0", None, 4, 100),
        ("raid1", None, 2, 200),
        ("raid10", None, 4, 200),
        ("raid10", Some("o3"), 6, 300),
        ("raid4", None, 7, 116),
        ("raid5", Some("right-asymmetric"), 7, 116),
    ] {
        let layout = layout.map_or(String::new(), |name| format!("layout = \"{name}\"\n"));
        let text = text
            .replace("level = \"raid6\"", &format!("{layout}level = \"{level}\""))
            .replace("members = 8", &format!("members = {members}"))
            .replace("chunk = \"64k\"", if level == "raid1" { "" } else { "chunk = \"64k\"" });
        let (read, written, .., good) = costs(&text)[1];
        assert!(good && read == 0, "{level}");
        assert_eq!(written * 100 / 3072, percent, "{level}");
    }
}

#[test]
fn arrays_that_cannot_be_are_told_where_and_what() {
    let text = include_str!("../../assets/scenarios/stripe-alignment.toml");
    for (from, to, part) in [
        ("members = 8", "members = 3", "members = 3: raid6 has 4 members at least, not 3"),
        ("\"raid6\"", "\"raid2\"", "no level `raid2`: expected raid0"),
        ("\"64k\"", "1000", "chunk is 1000 bytes: expected a multiple of 4096"),
        ("members = 8", "members = 8\nlayout = \"round\"", "no layout `round`: expected one of"),
        ("\"raid6\"", "\"raid10\"\nlayout = \"n9\"", "no layout `n9` of raid10"),
    ] {
        let error = parse_scenario("s", &text.replace(from, to)).expect_err("bad").to_string();
        let part = part.split(": ").last().unwrap_or(part);
        assert!(error.starts_with("s:") && error.contains(part), "{error}\n{part}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whoever cuts: every byte arrives once, and no bio or part crosses a stripe of the disk.
    #[test]
    fn no_io_crosses_a_stripe(
        start in 0u64..2000,
        pages in 1u64..400,
        order in 0u8..6,
        stripe in 1u64..50,
        partition in 0u64..300,
        in_queue: bool,
    ) {
        use StripeAlignment::{BlockSplit, IomapDevice};
        let align = if in_queue { BlockSplit } else { IomapDevice };
        let setup = Setup {
            stripe: stripe * 8,
            partition: partition * 8,
            align,
            ..Setup::new(start * 8, pages * 8, order)
        };
        let done = run(&setup);
        prop_assert!(done.good_bytes && done.broken.is_empty());
        let mut ends = done.cuts.clone();
        ends.extend(done.bios.iter().map(|(at, len, _)| at + len + setup.partition));
        ends.sort_unstable();
        let mut at = start * 8 + setup.partition;
        for end in ends {
            prop_assert!(at / setup.stripe == (end - 1) / setup.stripe, "{at}..{end}");
            at = end;
        }
        prop_assert_eq!(at, (start + pages) * 8 + setup.partition);
    }
}
