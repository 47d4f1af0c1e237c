//! The picture of the lesson on sub-page dirty tracking, at the moments that carry its point.

use folioscope_core::block::bio::{BioOp, BioState};
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::run;
use folioscope_core::scene::limits::Limits;
use folioscope_core::scene::view::{Lane, LaneMode, Lanes, View};
use folioscope_core::scene::{Side, render, svg, table, text};
use folioscope_core::trace::model::BioRecord;
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::trace::wire;
use folioscope_core::units::FileId;
use std::path::PathBuf;

const LESSON: &str = include_str!("../../assets/scenarios/sub-page-dirty-tracking.toml");

fn timelines() -> (Timeline, Timeline) {
    let scenario = parse_scenario("lesson", LESSON).expect("a good file");
    let mut all = scenario.variants.iter().map(|variant| {
        let run = run(&scenario, variant, Recording::default()).expect("nothing hangs");
        Timeline::new(run.header, run.sink).expect("a trace fits itself")
    });
    (all.next().expect("before"), all.next().expect("after"))
}

fn sides<'a>(a: &'a Timeline, b: &'a Timeline) -> [Side<'a>; 2] {
    [
        Side { label: "A", name: "per folio", timeline: a },
        Side { label: "B", name: "per block", timeline: b },
    ]
}

/// Goes to the first step at which a write is in flight.
fn seek_first_write(timeline: &mut Timeline) {
    let written = |timeline: &Timeline| {
        let flying =
            |bio: &BioRecord| bio.head().op == BioOp::Write && bio.state() == BioState::InFlight;
        timeline.model().bios().any(|(_, bio)| flying(bio))
    };
    while !written(timeline) && timeline.forward() {}
}

fn golden(name: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/scene").join(name);
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(&path, found).expect("can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == found, "{} differs; UPDATE_GOLDENS=1 writes it anew", path.display());
}

#[test]
fn the_first_write_of_the_lesson_looks_as_kept() {
    let (mut a, mut b) = timelines();
    seek_first_write(&mut a);
    seek_first_write(&mut b);
    let title = "The app changed 4 KiB. How much goes to the disk?".to_owned();
    let view = View { title: Some(title), ..View::default() };
    golden("lesson.svg", &svg::render_svg(&render(&sides(&a, &b), &view)));
    golden("lesson.txt", &text::render_text(&sides(&a, &b), &view));
    a.seek(usize::MAX);
    b.seek(usize::MAX);
    golden("lesson-end.svg", &svg::render_svg(&render(&sides(&a, &b), &view)));
}

#[test]
fn every_step_of_the_lesson_can_be_drawn_at_one_height_and_72_columns() {
    let (mut a, mut b) = timelines();
    let limits = Limits::of(&sides(&a, &b), FileId::new(0), None);
    let view = View { limits: Some(limits), caption: false, ..View::default() };
    let height = render(&sides(&a, &b), &view).height;
    for at in 0..a.len() {
        a.seek(at);
        b.seek(at);
        assert_eq!(render(&sides(&a, &b), &view).height, height, "at step {at}");
        for line in text::render_text(&sides(&a, &b), &view).lines() {
            assert!(line.chars().count() <= text::COLUMNS, "at step {at}: {line:?}");
        }
    }
}

/// The bytes of the lesson's traces, by length and hash: wasm is held against the same file.
#[test]
fn the_traces_of_the_lesson_have_the_bytes_that_are_kept() {
    let (a, b) = timelines();
    let all = [a, b].map(|run| wire::encode(run.header(), run.recording()));
    golden("lesson.trace.txt", &all.map(|bytes| fingerprint(&bytes)).concat());
}

/// FNV-1a.
fn fingerprint(bytes: &[u8]) -> String {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, step);
    format!("{} bytes, {hash:016x}\n", bytes.len())
}

fn stripes(text: &str) -> Vec<Timeline> {
    let scenario = parse_scenario("stripes", text).expect("a good file");
    let each = scenario.variants.iter().take(2).map(|variant| {
        let run = run(&scenario, variant, Recording::default()).expect("nothing hangs");
        Timeline::new(run.header, run.sink).expect("a trace fits itself")
    });
    each.collect()
}

#[test]
fn the_members_of_an_array_look_as_kept() {
    let text = include_str!("../../assets/scenarios/stripe-alignment.toml");
    let text = text.replace("size = \"3m\"", "size = \"1536k\"").replace("\"3m\"", "\"1536k\"");
    let mut all = stripes(&text);
    for timeline in &mut all {
        timeline.seek(usize::MAX);
    }
    let sides = [
        Side { label: "A", name: "each end by itself", timeline: &all[0] },
        Side { label: "B", name: "cut at the stripe", timeline: &all[1] },
    ];
    let view = View { lanes: Lanes::only(&[Lane::Members]), ..View::default() };
    golden("members.svg", &svg::render_svg(&render(&sides, &view)));
    golden("members.txt", &text::render_text(&sides, &view));
    let words: Vec<String> = table::rows(&sides, &view)
        .iter()
        .flat_map(|table| &table.rows)
        .map(|row| format!("{}: {}", row.what, row.state))
        .collect();
    assert_eq!(
        words[1],
        "stripe 2: 10 chunks written, 2 read; anew: 2 reads, from what changes 6; 16 rows in the \
         cache; in the end all of it is written, so that no read was needed"
    );
    let strip = Lanes::only(&[]).with(Lane::Members, LaneMode::Strip);
    let small = View { width: 360, lanes: strip, ..View::default() };
    assert!(render(&sides, &small).marks.iter().any(|mark| mark.id.part == "mbar"));
}

#[test]
fn every_step_of_a_degraded_array_can_be_drawn_at_one_height() {
    let mut all = stripes(include_str!("../../assets/scenarios/write-hole.toml"));
    let timeline = &mut all[0];
    let limits = {
        let side = [Side { label: "A", name: "run", timeline }];
        Limits::of(&side, FileId::new(0), None)
    };
    for width in [360, 1040] {
        let view = View { width, limits: Some(limits.clone()), caption: false, ..View::default() };
        let mut heights = Vec::new();
        for at in 0..=timeline.len() {
            timeline.seek(at);
            let side = [Side { label: "A", name: "run", timeline }];
            heights.push(render(&side, &view).height);
            for line in text::render_text(&side, &view).lines() {
                assert!(line.chars().count() <= text::COLUMNS, "at step {at}: {line:?}");
            }
        }
        heights.dedup();
        assert_eq!(heights.len(), 1);
    }
}
