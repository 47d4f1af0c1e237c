//! The picture of the lesson on sub-page dirty tracking, at the moments that carry its point.

use folioscope_core::block::bio::{BioOp, BioState};
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::run;
use folioscope_core::scene::limits::Limits;
use folioscope_core::scene::view::View;
use folioscope_core::scene::{Side, render, svg, text};
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
