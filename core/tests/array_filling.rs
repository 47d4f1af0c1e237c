//! Members of arrays that are filled row by row: how far each may be read, what is written
//! meanwhile, and what a power cut or another failure leaves.

mod common;

use common::folding::Folding;
use common::members::{ALL, RAID5, act, ran, scenario, serves_as, with, without_array, writes};
use folioscope_core::counters::Counter;
use folioscope_core::scenario::crash::{Failed, Thoroughness, sweep};
use folioscope_core::scenario::run::{Run, run};
use folioscope_core::scene::view::{Lane, Lanes, View};
use folioscope_core::scene::{Side, render, table, text};
use folioscope_core::trace::array::MemberState;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::units::{MemberId, Sector};

/// Member 1 of four holds block 1 of row 0 and block 25, of row 8.
const BLOCK_1: &str = "[[op]]\ndo = \"pread\"\nat = 4096\nlen = 4096\ndirect = true\n";
const BLOCK_25: &str = "[[op]]\ndo = \"pread\"\nat = 102400\nlen = 4096\ndirect = true\n";

/// An empty disk takes the place of member 1, and some rows of it are filled.
fn half(rows: u64) -> String {
    format!("{}rows = {rows}\n", act("replace_member", 1))
}

/// Up to where member 1 is filled, by sector, and its state at the end of a run.
fn filled(run: Run<Recording>) -> (Option<u64>, MemberState) {
    let timeline = Timeline::new(run.header, run.sink).expect("a trace fits itself");
    let model = timeline.model_at(usize::MAX);
    let (array, member) = (model.array(), MemberId::new(1));
    (array.filled(member).map(Sector::get), array.member(member))
}

#[test]
fn a_member_is_read_as_far_as_it_is_filled() {
    let start = format!("{}{}", act("fail_member", 1), half(4));
    let cut = "[[op]]\ndo = \"power_cut\"\n";
    let read = |ops: String| {
        let (run, contents) = ran(&scenario(RAID5, &ops));
        assert!(contents.seen[0] == vec![7; 192 << 10]);
        (run.counters.get(Counter::MemberRead) >> 10, run)
    };
    let (filling, run) = read(start.clone());
    assert_eq!(filling, 4 * 3 * 4, "three members of four rows");
    assert_eq!(filled(run), (Some(32), MemberState::Filling));
    // A power cut takes the cache away, and nothing of what was made.
    let (below, run) = read(format!("{start}{cut}{BLOCK_1}"));
    assert_eq!(filled(run), (Some(32), MemberState::Filling));
    let (above, _) = read(format!("{start}{cut}{BLOCK_25}"));
    assert_eq!((below - filling, above - filling), (4, 12));
    // It goes on where it was, and with the last row it is done.
    let go_on = |rows: u64| format!("[[op]]\ndo = \"rebuild_array\"\nrows = {rows}\n");
    let (more, run) = read(format!("{start}{cut}{}", go_on(2)));
    assert_eq!((more - filling, filled(run)), (2 * 12, (Some(48), MemberState::Filling)));
    for rest in [go_on(12), "[[op]]\ndo = \"rebuild_array\"\n".to_owned()] {
        let (all, run) = read(format!("{start}{cut}{rest}"));
        assert_eq!((all - filling, filled(run)), (12 * 12, (None, MemberState::Working)));
    }
    let (_, run) = read(format!("{start}{}", go_on(12).repeat(2)));
    assert!(run.results.last().is_some_and(|last| last.0.is_err()), "there is nothing to fill");
}

#[test]
fn what_is_written_while_a_member_is_filled_is_on_it() {
    let write = |at: u64, byte: u8| {
        format!("[[op]]\ndo = \"pwrite\"\nat = {at}\nlen = 4096\nbyte = {byte}\ndirect = true\n")
    };
    // Before and behind the row to which it is filled: its own blocks, and those of others.
    let writes: String = [(4096, 1), (102_400, 2), (8192, 3), (106_496, 4)]
        .map(|(at, byte)| write(at, byte))
        .concat();
    let check = "[[op]]\ndo = \"check_array\"\n";
    let end = format!("[[op]]\ndo = \"rebuild_array\"\n{check}{}", act("fail_member", 0));
    let ops = format!("{}{}{writes}{end}", act("fail_member", 1), half(4));
    let (run, contents) = ran(&scenario(RAID5, &ops));
    let checked = run.sink.steps().iter().find(|step| step.rule == Rule::ArrayChecked);
    assert_eq!(checked.map(|step| step.args[1]), Some(0), "parity is right in all rows");
    let found = [4096, 102_400, 8192, 106_496].map(|at| contents.seen[0][at]);
    assert_eq!(found, [1, 2, 3, 4]);
}

#[test]
fn every_level_is_filled_in_parts_while_it_is_written() {
    let write = |seed| writes(12, seed);
    let plain = without_array(&(1..=4).map(write).collect::<String>());
    for (array, most, members) in ALL {
        let mut ops = write(1);
        for member in 0..most {
            ops += &act("fail_member", member);
        }
        ops.push_str(&write(2));
        for member in 0..most {
            ops += &act("replace_member", member);
            ops.push_str("rows = 3\n");
        }
        ops.push_str(&write(3));
        ops.push_str("[[op]]\ndo = \"rebuild_array\"\nrows = 2\n");
        ops.push_str("[[op]]\ndo = \"power_cut\"\nmode = \"all\"\n");
        ops.push_str(&write(4));
        ops.push_str("[[op]]\ndo = \"rebuild_array\"\n[[op]]\ndo = \"check_array\"\n");
        for member in most..(2 * most).min(members) {
            ops += &act("fail_member", member);
        }
        let scenario = scenario(array, &ops);
        let done = serves_as(&plain, &scenario, array);
        // The model is the engine's state after every step, and going back leaves nothing.
        run(&scenario, &scenario.variants[0], Folding::new(scenario.geometry)).expect("it ends");
        let mut timeline = Timeline::new(done.header, done.sink).expect("a trace fits itself");
        let fresh = timeline.model().clone();
        timeline.seek(usize::MAX);
        timeline.seek(0);
        assert_eq!(*timeline.model(), fresh, "{array}");
    }
}

#[test]
fn another_member_that_fails_takes_the_rows_that_are_not_filled() {
    let ops = format!(
        "{}{}{}[[op]]\ndo = \"rebuild_array\"\n{BLOCK_1}{BLOCK_25}{}",
        act("fail_member", 1),
        half(4),
        act("fail_member", 0),
        BLOCK_1.replace("pread", "pwrite"),
    );
    let (run, contents) = ran(&scenario(RAID5, &ops));
    let results: Vec<bool> = run.results.iter().map(|result| result.0.is_ok()).collect();
    assert_eq!(results, [true, true, true, false, true, false, false]);
    let stops = run.sink.steps().iter().find(|step| step.rule == Rule::FillingStops);
    assert_eq!(stops.map(|step| step.args[0]), Some(4 * 4096));
    assert!(contents.seen[0][..4 * 12288].iter().all(|byte| *byte == 7));
    assert_eq!(filled(run), (Some(32), MemberState::Filling));
}

#[test]
fn the_cut_sweep_looks_at_arrays_that_are_filled() {
    let write = |at: &str, len: &str, byte: u8| {
        format!("[[op]]\ndo = \"pwrite\"\nat = {at:?}\nlen = {len:?}\nbyte = {byte}\n")
    };
    let fsync = "[[op]]\ndo = \"fsync\"\n";
    let ops = [
        write("0", "40k", 1),
        fsync.to_owned(),
        act("fail_member", 1),
        write("4k", "8k", 2),
        half(2),
        write("4k", "12k", 3),
        write("36k", "20k", 4),
        fsync.to_owned(),
        "[[op]]\ndo = \"rebuild_array\"\nrows = 1\n".to_owned(),
        write("24k", "24k", 5),
        fsync.to_owned(),
        "[[op]]\ndo = \"rebuild_array\"\n".to_owned(),
        write("0", "60k", 6),
    ]
    .concat();
    let how = Thoroughness { every: 1, states: 12, mount_every: 6, seed: 1, data_first: true };
    let looks = |consistency: &str| {
        let scenario = scenario(&with(consistency), &ops);
        sweep(&scenario, &scenario.variants[0], how)
    };
    for closed in ["journal", "ppl"] {
        looks(closed).unwrap_or_else(|failed| panic!("{closed}: {failed}"));
    }
    assert!(matches!(looks("none"), Err(Failed::Found(_))), "a row that is not filled has a hole");
}

#[test]
fn how_far_a_member_is_filled_is_shown() {
    // Of stripe 7, of which nothing is filled, disk 2 is read.
    let read = "[[op]]\ndo = \"pread\"\nat = \"176k\"\nlen = \"8k\"\ndirect = true\n";
    let ops = format!("{}{}{read}", act("fail_member", 1), half(5));
    let (run, _) = ran(&scenario("level = \"raid5\"\nmembers = 4\nchunk = \"8k\"", &ops));
    let mut timeline = Timeline::new(run.header, run.sink).expect("a trace fits itself");
    timeline.seek(usize::MAX);
    let sides = [Side { label: "A", name: "", timeline: &timeline }];
    let view = View { lanes: Lanes::only(&[Lane::Members]), ..View::default() };
    let words = text::render_text(&sides, &view);
    // Two rows a chunk: row 4 is the first of stripe 2.
    assert!(words.contains(" 1 WWW- is filled up to sector 40"), "{words}");
    assert!(words.contains("- not filled yet"), "{words}");
    let picture = render(&sides, &view);
    let marks = |part: &str| picture.marks.iter().filter(|mark| mark.id.part == part).count();
    assert_eq!((marks("mheld"), marks("mfail")), (1, 2), "a flag; half a chunk, and one");
    let told = table::rows(&sides, &view);
    let told = told.iter().flat_map(|table| &table.rows).find(|row| row.what == "disk 1");
    assert_eq!(told.map(|row| row.state.as_str()), Some("is filled up to sector 40"));
}
