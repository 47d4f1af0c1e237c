//! Golden folders: a scenario, the text of its trace, and its picture in 72 columns.
//!
//! `UPDATE_GOLDENS=1 cargo test` writes them anew; the diff is the review.

use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::run_and_read;
use folioscope_core::scene::Side;
use folioscope_core::scene::text::render_text;
use folioscope_core::scene::view::View;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::text::render_recording;
use folioscope_core::trace::timeline::{Recording, Timeline};
use std::path::{Path, PathBuf};

#[test]
fn every_case_tells_the_same_story() {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cases");
    let mut cases: Vec<PathBuf> = std::fs::read_dir(&all)
        .expect("the folder is there")
        .map(|entry| entry.expect("readable").path())
        .collect();
    cases.sort();
    assert!(cases.len() >= 5, "the cases are found");
    for case in cases {
        check(&case);
    }
}

fn check(case: &Path) {
    let name = case.file_name().expect("a folder").to_string_lossy();
    let text = std::fs::read_to_string(case.join("scenario.toml")).expect("a scenario");
    let scenario = parse_scenario(&name, &text).unwrap_or_else(|error| panic!("{error}"));
    let mut trace = String::new();
    let mut timelines = Vec::new();
    for variant in &scenario.variants {
        let ran = run_and_read(&scenario, variant, Recording::default());
        let (run, files) = ran.expect("nothing hangs");
        assert_eq!(files.seen, files.durable, "{name}: what was synced is on the device");
        for part in ["== ", &variant.name, " (", &variant.profile, ")\n"] {
            trace += part;
        }
        trace += &render_recording(&run.sink);
        timelines.push(Timeline::new(run.header, run.sink).expect("a trace fits itself"));
    }
    // The moment at which the last bio is in flight.
    for timeline in &mut timelines {
        let steps = timeline.recording().steps();
        let last = steps.iter().rposition(|step| step.rule == Rule::BioSubmitted);
        timeline.seek(last.expect("every case sends a bio") + 1);
    }
    let labels = ["A", "B", "C"];
    let sides: Vec<Side<'_>> = timelines
        .iter()
        .zip(&scenario.variants)
        .zip(labels)
        .map(|((timeline, variant), label)| Side { label, name: &variant.name, timeline })
        .collect();
    let picture = render_text(&sides, &View::default());
    assert!(picture.lines().all(|line| line.chars().count() <= 72), "{name}: {picture}");
    compare(&case.join("trace.txt"), &trace);
    compare(&case.join("picture.txt"), &picture);
}

fn compare(path: &Path, found: &str) {
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(path, found).expect("writable");
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(kept == found, "{} differs; UPDATE_GOLDENS=1 writes it anew", path.display());
}
