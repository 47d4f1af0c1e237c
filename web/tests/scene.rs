//! The picture on wasm is byte for byte the one on native: both are held against the same files.
#![cfg(target_arch = "wasm32")]

use folioscope_core::block::bio::{BioOp, BioState};
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::run;
use folioscope_core::scene::view::View;
use folioscope_core::scene::{Side, render, svg, text};
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::trace::wire;
use wasm_bindgen_test::wasm_bindgen_test;

const LESSON: &str = include_str!("../../assets/scenarios/sub-page-dirty-tracking.toml");
const SVG: &str = include_str!("../../core/tests/golden/scene/lesson.svg");
const TEXT: &str = include_str!("../../core/tests/golden/scene/lesson.txt");
const TRACES: &str = include_str!("../../core/tests/golden/scene/lesson.trace.txt");

/// FNV-1a, as the native test has it.
fn fingerprint(bytes: &[u8]) -> String {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, step);
    format!("{} bytes, {hash:016x}\n", bytes.len())
}

#[wasm_bindgen_test]
fn the_lesson_has_the_bytes_of_native() {
    let scenario = parse_scenario("lesson", LESSON).unwrap();
    let timelines: Vec<Timeline> = scenario
        .variants
        .iter()
        .map(|variant| {
            let run = run(&scenario, variant, Recording::default()).unwrap();
            let mut timeline = Timeline::new(run.header, run.sink).unwrap();
            let written = |timeline: &Timeline| {
                timeline.model().bios().any(|(_, bio)| {
                    bio.head().op == BioOp::Write && bio.state() == BioState::InFlight
                })
            };
            while !written(&timeline) && timeline.forward() {}
            timeline
        })
        .collect();
    let traces = timelines.iter().map(|run| wire::encode(run.header(), run.recording()));
    let traces: String = traces.map(|bytes| fingerprint(&bytes)).collect();
    assert_eq!(traces, TRACES, "the traces differ from native");
    let sides = [
        Side { label: "A", name: "per folio", timeline: &timelines[0] },
        Side { label: "B", name: "per block", timeline: &timelines[1] },
    ];
    let title = "The app changed 4 KiB. How much goes to the disk?".to_owned();
    let view = View { title: Some(title), ..View::default() };
    assert!(svg::render_svg(&render(&sides, &view)) == SVG, "the SVG differs from native");
    assert!(text::render_text(&sides, &view) == TEXT, "the text differs from native");
}
