//! Arrays in scenarios whose members hold the bytes: degraded, rebuilt, cut off from power between
//! data and parity, with a log that closes the hole and without.

mod common;

use common::folding::Folding;
use common::members::{ALL, RAID5, act, ran, scenario, serves_as, with, without_array, writes};
use folioscope_core::counters::Counter;
use folioscope_core::ops::OpResult;
use folioscope_core::scenario::crash::{Failed, Thoroughness, sweep};
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::{Run, run, run_and_read};
use folioscope_core::trace::array::MemberState;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::trace::survey::Survey;
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::units::{Bytes, FileId, MemberId, Sector};

/// Block 0 is written, the power goes when it is on its member and parity is not, and another
/// member fails.
const CUT: &str = "
    [[op]]
    do = \"pwrite\"
    len = 4096
    byte = 9
    direct = true
    [[op]]
    do = \"power_cut\"
    members = [0]
";
const FAIL: &str = "
    [[op]]
    do = \"fail_member\"
    member = 1
    [[op]]
    do = \"pread\"
    at = 4096
    len = 4096
";

#[test]
fn a_power_cut_between_data_and_parity_is_a_hole_unless_a_log_closes_it() {
    for (consistency, right, rule) in [
        ("none", false, Rule::ArrayUnclean),
        ("bitmap", false, Rule::ArrayUnclean),
        ("journal", true, Rule::JournalReplayed),
        ("ppl", true, Rule::ParityMended),
    ] {
        let (run, contents) = ran(&scenario(&with(consistency), &format!("{CUT}{FAIL}")));
        assert!(run.sink.steps().iter().any(|step| step.rule == rule), "{consistency}");
        let seen = &contents.seen[0];
        assert_eq!(seen[4096..8192] == [7; 4096], right, "{consistency}: {}", seen[4096]);
        // What was written is there, and what has nothing to do with it.
        assert_eq!(seen[0], 9);
        assert_eq!(seen[8192], 7);
    }
}

#[test]
fn the_scenario_of_the_hole_reads_bytes_that_nobody_wrote() {
    let text = include_str!("../../assets/scenarios/write-hole.toml");
    for (consistency, right) in [("none", false), ("journal", true), ("ppl", true)] {
        let text = text.replace("\"none\"", &format!("{consistency:?}"));
        let scenario = parse_scenario("hole", &text).expect("a good file");
        let (run, contents) = ran(&scenario);
        assert!(run.results.iter().all(|result| result.0.is_ok()));
        assert_eq!(contents.seen[0][4096..8192] == [7; 4096], right, "{consistency}");
    }
}

/// Rows whose parity does not fit, and damaged blocks, at the end and in the order of the steps.
#[test]
fn what_does_not_fit_and_what_is_damaged_is_told() {
    let write = |at: u64| {
        format!("[[op]]\ndo = \"pwrite\"\nat = {at}\nlen = 4096\nbyte = 7\ndirect = true\n")
    };
    let repair = "[[op]]\ndo = \"repair_array\"\n";
    for (array, ops, unfit, damaged, lost) in [
        (with("none"), CUT.to_owned(), 1, 0, 0),
        (with("none"), format!("{CUT}{FAIL}"), 1, 1, 4096),
        // The block is written anew: it is what it should be.
        (with("none"), format!("{CUT}{FAIL}{}", write(4096)), 1, 0, 4096),
        (with("none"), format!("{CUT}{FAIL}{}", write(8192)), 1, 1, 4096),
        (with("none"), format!("{CUT}{repair}{FAIL}"), 0, 0, 0),
        (with("none"), format!("{CUT}{}{FAIL}", write(8192)), 0, 0, 0),
        (with("ppl"), format!("{CUT}{FAIL}"), 0, 0, 0),
        (with("journal"), format!("{CUT}{FAIL}"), 0, 0, 0),
    ] {
        let scenario = scenario(&array, &ops);
        let sink = Folding::new(scenario.geometry);
        let run = run(&scenario, &scenario.variants[0], sink).expect("nothing hangs");
        let state = run.sink.model.array();
        let found = (state.unfit().count(), state.damaged().count());
        assert_eq!(found, (unfit, damaged), "{array}: {ops}");
        assert_eq!(run.counters.get(Counter::Damaged), lost, "{array}: {ops}");
        for (at, place) in state.damaged() {
            assert_eq!((at.get(), place.member.get(), place.row.get()), (4096, 1, 0));
        }
    }
}

/// A block is called damaged exactly where a reader gets other bytes than were there.
#[test]
fn blocks_are_damaged_where_bytes_are_wrong() {
    let disk = "[[op]]\ndo = \"replace_member\"\nmember = 1\n";
    for level in ["raid4", "raid5", "raid6"] {
        let array = format!("level = \"{level}\"\nmembers = 5\nchunk = \"8k\"");
        for kept in ["[0]", "[1]", "[2, 3]", "[3]", "[4]", "[0, 1, 2, 3, 4]"] {
            let ops = format!(
                "[[op]]\ndo = \"pwrite\"\nlen = \"20k\"\nbyte = 9\ndirect = true\n\
                 [[op]]\ndo = \"power_cut\"\nmembers = {kept}\n"
            );
            let fail = "[[op]]\ndo = \"fail_member\"\nmember = 1\n";
            let (_, before) = ran(&scenario(&array, &ops));
            for end in ["", disk] {
                let (run, after) = ran(&scenario(&array, &format!("{ops}{fail}{end}")));
                let model = Timeline::new(run.header, run.sink).expect("it fits");
                let model = model.model_at(usize::MAX);
                let told: Vec<u64> = model.array().damaged().map(|(at, _)| at.get()).collect();
                let (old, new) = (before.seen[0].chunks(4096), after.seen[0].chunks(4096));
                let wrong: Vec<u64> = (0..)
                    .zip(old.zip(new))
                    .filter(|(_, (old, new))| old != new)
                    .map(|(block, _)| block * 4096)
                    .collect();
                assert_eq!(told, wrong, "{level} {kept} {end}");
            }
        }
    }
}

#[test]
fn a_repair_before_the_member_fails_closes_the_hole_too() {
    let repair = "[[op]]\ndo = \"repair_array\"\n";
    let (run, contents) = ran(&scenario(RAID5, &format!("{CUT}{repair}{FAIL}")));
    let mended = run.sink.steps().iter().find(|step| step.rule == Rule::ArrayRepaired);
    assert_eq!(mended.map(|step| step.args[1]), Some(1), "one row of all was wrong");
    assert!(contents.seen[0][4096..8192] == [7; 4096]);
}

#[test]
fn a_write_to_a_row_in_doubt_makes_its_parity_anew() {
    let write = "[[op]]\ndo = \"pwrite\"\nat = 8192\nlen = 4096\nbyte = 5\ndirect = true\n";
    let (_, contents) = ran(&scenario(RAID5, &format!("{CUT}{write}{FAIL}")));
    assert!(contents.seen[0][4096..8192] == [7; 4096]);
}

#[test]
fn a_degraded_array_reads_the_others_and_computes() {
    let read = "[[op]]\ndo = \"pread\"\nlen = \"192k\"\n";
    let (whole, _) = ran(&scenario(RAID5, read));
    let (degraded, contents) = ran(&scenario(&format!("{RAID5}\nfailed = [1]"), read));
    assert!(contents.seen[0] == vec![7; 192 << 10]);
    let read = |run: &Run<Recording>| run.counters.get(Counter::MemberRead) >> 10;
    // Each of 16 rows is read as a whole, but for the member that is lost, where a block of it is
    // data, which is so in three of four.
    assert_eq!((read(&whole), read(&degraded)), (192, 192));
    let (one, _) = ran(&scenario(
        &format!("{RAID5}\nfailed = [1]"),
        "[[op]]\ndo = \"pread\"\nat = 4096\nlen = 4096\ndirect = true\n",
    ));
    assert_eq!(read(&one), 12, "three blocks for one");
}

#[test]
fn a_member_that_was_replaced_holds_what_it_should() {
    let ops = "
        [[op]]
        do = \"randwrite\"
        len = 4096
        repeat = 30
        direct = true
        [[op]]
        do = \"replace_member\"
        member = 1
        [[op]]
        do = \"check_array\"
        [[op]]
        do = \"fail_member\"
        member = 0
        [[op]]
        do = \"pread\"
        len = \"192k\"
    ";
    let (_, healthy) = ran(&scenario(
        RAID5,
        &ops[..ops.find("[[op]]\n        do = \"replace").expect("it is there")],
    ));
    let (run, contents) = ran(&scenario(&format!("{RAID5}\nfailed = [1]"), ops));
    assert!(contents.seen == healthy.seen);
    let checked = run.sink.steps().iter().find(|step| step.rule == Rule::ArrayChecked);
    assert_eq!(checked.map(|step| step.args), Some([16, 0, 0, 0]));
    let mut timeline = Timeline::new(run.header, run.sink).expect("a trace fits itself");
    assert_eq!(timeline.model().array().member(MemberId::new(1)), MemberState::Working);
    timeline.seek(usize::MAX);
    let array = timeline.model().array();
    assert_eq!(array.member(MemberId::new(0)), MemberState::Failed);
    assert_eq!(array.member(MemberId::new(1)), MemberState::Working);
    // Every row is in the cache: a direct write waits for itself, and the cache has 256.
    assert_eq!(array.held().count(), 16);
    timeline.seek(0);
    assert!(timeline.model().array().held().next().is_none());
}

#[test]
fn every_level_serves_right_bytes_with_as_many_members_lost_as_it_can() {
    let write = |seed| writes(20, seed);
    let plain = without_array(&(1..=3).map(write).collect::<String>());
    for (array, most, members) in ALL {
        let mut ops = write(1);
        for member in 0..most {
            ops += &act("fail_member", member);
        }
        ops.push_str(&write(2));
        for member in 0..most {
            ops += &act("replace_member", member);
        }
        ops.push_str(&write(3));
        ops.push_str("[[op]]\ndo = \"check_array\"\n");
        // Others go than went before.
        for member in most..(2 * most).min(members) {
            ops += &act("fail_member", member);
        }
        let scenario = scenario(array, &ops);
        serves_as(&plain, &scenario, array);
    }
}

#[test]
fn damaged_blocks_are_found_behind_the_start_of_a_partition() {
    let lost = |start: &str| {
        let text = format!(
            "version = 0\ntitle = \"Members\"\n[world]\npage_size = 4096\nblock_size = 4096\n\
             max_folio_order = 0\n[partition]\nstart = {start:?}\n[array]\n{RAID5}\n[[file]]\n\
             name = \"f\"\nsize = \"192k\"\nsector = 0\nfill = 7\n{CUT}{FAIL}"
        );
        let scenario = parse_scenario("s", &text).unwrap_or_else(|error| panic!("{error}"));
        let (run, contents) = ran(&scenario);
        let mut survey = Survey::new(scenario.geometry);
        survey.seek(&run.sink, usize::MAX).expect("a trace fits itself");
        let fate = survey.file(FileId::new(0)).expect("it is open");
        let told = (0..).zip(&fate.blocks).filter(|(_, block)| block.damaged);
        let wrong =
            (0..).zip(contents.seen[0].chunks(4096)).skip(1).filter(|(_, bytes)| bytes[0] != 7);
        (told.map(|(block, _)| block).collect(), wrong.map(|(block, _)| block).collect())
    };
    let right: (Vec<u64>, Vec<u64>) = (vec![1], vec![1]);
    // After four stripes of 12 KiB all lies on the same disks again.
    for start in ["48k", "1200k"] {
        assert_eq!(lost(start), right, "{start}");
    }
}

#[test]
fn a_log_is_named_among_what_is_written_to_the_members() {
    let write = "[[op]]\ndo = \"pwrite\"\nlen = 4096\nbyte = 1\ndirect = true\n";
    for (consistency, rule, logged) in [
        ("none", None, 0),
        ("ppl", Some(Rule::MembersLogged), 8192),
        ("journal", Some(Rule::MembersLogged), 12288),
        ("bitmap", Some(Rule::MembersNoted), 16384),
    ] {
        let (run, _) = ran(&scenario(&with(consistency), write));
        assert_eq!(run.counters.get(Counter::MemberLogged), logged, "{consistency}");
        let written = 8192 + logged;
        assert_eq!(run.counters.get(Counter::MemberWritten), written, "{consistency}");
        let named = [Rule::MembersLogged, Rule::MembersNoted];
        let found = run.sink.steps().iter().find(|step| named.contains(&step.rule));
        assert_eq!(found.map(|step| step.rule), rule, "{consistency}");
        assert_eq!(found.map_or(0, |step| step.args[3]), logged, "{consistency}");
    }
}

#[test]
fn an_array_that_has_lost_too_much_fails_what_it_cannot_serve() {
    for (array, lost) in [
        ("level = \"raid0\"\nmembers = 2\nchunk = \"8k\"", vec![1]),
        (RAID5, vec![0, 1]),
        ("level = \"raid1\"\nmembers = 2", vec![0, 1]),
    ] {
        let mut ops = String::new();
        for member in lost {
            ops += &act("fail_member", member);
        }
        ops.push_str("[[op]]\ndo = \"pread\"\nlen = \"64k\"\n");
        ops.push_str("[[op]]\ndo = \"pwrite\"\nlen = \"64k\"\ndirect = true\n");
        let (run, _) = ran(&scenario(array, &ops));
        let last: Vec<&OpResult> = run.results.iter().rev().take(2).collect();
        assert!(last.iter().all(|result| result.0 != Ok(Bytes::kib(64))), "{array}: {last:?}");
        assert!(run.sink.steps().iter().any(|step| step.rule == Rule::ArrayBioFails), "{array}");
    }
}

/// What is left can be read, and nothing is written, also where enough is left.
#[test]
fn an_array_that_has_lost_too_much_is_written_no_more() {
    let io = |what: &str, at: u64| {
        format!("[[op]]\ndo = {what:?}\nat = {at}\nlen = 4096\ndirect = true\n")
    };
    let four = |level: &str| format!("level = {level:?}\nmembers = 4\nchunk = \"4k\"");
    // A block of a member that works, and one of a member that failed.
    for (level, lost, left, gone) in [
        ("raid0", vec![0], 4096, 0),
        ("raid10", vec![0, 1], 4096, 0),
        ("raid4", vec![0, 1], 8192, 0),
        ("raid5", vec![0, 1], 8192, 0),
        ("raid6", vec![0, 1, 3], 4096, 0),
    ] {
        let array = &four(level);
        let mut ops = String::new();
        for member in &lost {
            ops += &act("fail_member", *member);
        }
        for (what, at) in [("pread", left), ("pread", gone), ("pwrite", left), ("pwrite", gone)] {
            ops += &io(what, at);
        }
        let (run, contents) = ran(&scenario(array, &ops));
        let done: Vec<bool> = run.results.iter().map(|result| result.0.is_ok()).collect();
        assert_eq!(done[lost.len()..], [true, false, false, false], "{array}");
        assert_eq!(contents.durable[0][left as usize], 7, "{array}");
    }
}

#[test]
fn the_cut_sweep_finds_the_hole_of_a_degraded_array_and_none_with_a_log() {
    let ops = "
        [[op]]
        do = \"pwrite\"
        len = \"40k\"
        byte = 1
        then = \"fsync\"
        [[op]]
        do = \"pwrite\"
        at = \"4k\"
        len = \"8k\"
        byte = 2
        then = \"fsync\"
        [[op]]
        do = \"pwrite\"
        at = \"36k\"
        len = \"20k\"
        byte = 3
        [[op]]
        do = \"fsync\"
    ";
    let how = Thoroughness { every: 1, states: 12, mount_every: 6, seed: 1, data_first: true };
    let looks = |array: &str| {
        let scenario = scenario(array, ops);
        sweep(&scenario, &scenario.variants[0], how)
    };
    for healthy in [with("none"), with("journal"), with("ppl")] {
        let looked = looks(&healthy).unwrap_or_else(|failed| panic!("{healthy}: {failed}"));
        assert!(looked.states > 250 && looked.sectors > 100, "{looked:?}");
    }
    let degraded = |consistency| format!("{}\nfailed = [1]", with(consistency));
    assert!(matches!(looks(&degraded("none")), Err(Failed::Found(_))), "there is a hole");
    for closed in ["journal", "ppl"] {
        looks(&degraded(closed)).unwrap_or_else(|failed| panic!("{closed}: {failed}"));
    }
}

#[test]
fn what_happens_to_members_is_the_engines_own_state_and_can_be_taken_back() {
    let ops = format!(
        "{CUT}[[op]]\ndo = \"fail_member\"\nmember = 2\n[[op]]\ndo = \"replace_member\"\n\
         member = 2\n[[op]]\ndo = \"repair_array\"\n"
    );
    for consistency in ["none", "journal"] {
        let scenario = scenario(&with(consistency), &ops);
        let variant = &scenario.variants[0];
        run(&scenario, variant, Folding::new(scenario.geometry)).expect("it ends");
        let (run, _) = ran(&scenario);
        let mut timeline = Timeline::new(run.header, run.sink).expect("a trace fits itself");
        let fresh = timeline.model().clone();
        timeline.seek(usize::MAX);
        assert_eq!(timeline.model().array().member(MemberId::new(2)), MemberState::Working);
        timeline.seek(0);
        assert_eq!(*timeline.model(), fresh);
    }
}

#[test]
fn why_a_row_is_made_one_way_or_the_other_is_in_the_trace() {
    let ops = "[[op]]\ndo = \"pwrite\"\nlen = 4096\ndirect = true\n";
    let array = "level = \"raid5\"\nmembers = 8\nchunk = \"4k\"";
    let (run, _) = ran(&scenario(array, ops));
    let weighed = run.sink.steps().iter().find(|step| step.rule == Rule::RowsWeighed);
    assert_eq!(weighed.map(|step| step.args), Some([2, 6, 1, 0]));
    let mut timeline = Timeline::new(run.header, run.sink).expect("a trace fits itself");
    timeline.seek(usize::MAX);
    let costs = timeline.model().array().costs(Sector::ZERO).expect("it was weighed");
    assert_eq!((costs.rmw, costs.rcw), (2, 6));
}

#[test]
fn operations_on_arrays_that_make_no_sense_are_told_where_and_why() {
    let told = |array: &str, op: &str| {
        let text = format!(
            "version = 0\ntitle = \"t\"\n[world]\npage_size = 4096\nblock_size = 4096\n\
             max_folio_order = 0\n{array}\n[[file]]\nname = \"f\"\nsize = 4096\n{op}"
        );
        parse_scenario("s", &text).expect_err("a bad file").to_string()
    };
    let array = format!("[array]\n{RAID5}");
    for (array, op, part) in [
        ("", "[[op]]\ndo = \"check_array\"", "s:12:6: the device is no array"),
        (&array, "[[op]]\ndo = \"fail_member\"", "`member` is missing"),
        (&array, "[[op]]\ndo = \"fail_member\"\nmember = 4", "member is 4: expected 0 to 3"),
        (&array, "[[op]]\ndo = \"rebuild_array\"\nrows = -1", "rows is -1: expected 0 to"),
        ("", "[[op]]\ndo = \"rebuild_array\"", "s:12:6: the device is no array"),
        (&array, "[[op]]\ndo = \"power_cut\"\nmembers = [9]", "members is 9: expected 0 to 3"),
        (
            &array,
            "[[op]]\ndo = \"power_cut\"\nmembers = 1",
            "members is 1: expected whole numbers in brackets",
        ),
        (&format!("{array}\nconsistency = \"raft\""), "", "no consistency `raft`"),
        (&format!("{array}\nfailed = [4]"), "", "failed is 4: expected 0 to 3"),
    ] {
        let told = told(array, op);
        assert!(told.contains(part), "{told}\nexpected {part}");
    }
    let told = told("[array]\nlevel = \"raid1\"\nmembers = 2\nconsistency = \"ppl\"", "");
    assert!(told.contains("`raid1` takes no `consistency`: leave it out"), "{told}");
}

/// Nothing of a run depends on whether somebody looks.
#[test]
fn a_trace_changes_nothing_on_the_members() {
    let scenario = scenario(&with("none"), &format!("{CUT}{FAIL}"));
    let variant = &scenario.variants[0];
    let (_, blind) = run_and_read(&scenario, variant, NoTrace).expect("nothing hangs");
    assert!(blind.seen == ran(&scenario).1.seen);
}
