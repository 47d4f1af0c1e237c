//! Every lesson opens: its scenario runs, each of its places is in the run, and each value that its
//! sentences name has a number.

use folioscope_core::lesson::{Told, parse_lesson};
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::run;
use folioscope_core::trace::timeline::{Recording, Timeline};
use std::fs;
use std::path::Path;

const ASSETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets");

fn tell(path: &Path) -> Told {
    let text = fs::read_to_string(path).expect("the lesson can be read");
    let lesson = parse_lesson(&path.display().to_string(), &text).unwrap_or_else(|e| panic!("{e}"));
    let scenario = Path::new(ASSETS).join(format!("scenarios/{}.toml", lesson.scenario));
    let text = fs::read_to_string(&scenario).expect("its scenario can be read");
    let scenario = parse_scenario(&lesson.scenario, &text).unwrap_or_else(|e| panic!("{e}"));
    let runs: Vec<Timeline> = scenario
        .variants
        .iter()
        .map(|variant| {
            let done = run(&scenario, variant, Recording::default()).expect("it comes to its end");
            Timeline::new(done.header, done.sink).expect("its trace fits together")
        })
        .collect();
    lesson.tell(&runs).unwrap_or_else(|error| panic!("{error}"))
}

/// Every sentence, in the order of the file.
fn sentences(told: Told) -> Vec<String> {
    let mut all = vec![told.point, told.ask];
    all.extend(told.figure);
    all.push(told.shown);
    all.extend(told.answers.into_iter().flat_map(|answer| [answer.text, answer.says]));
    all.extend(told.stops.into_iter().map(|stop| stop.says));
    all
}

#[test]
fn every_lesson_opens_and_says_numbers_of_its_runs() {
    let mut files: Vec<_> = fs::read_dir(format!("{ASSETS}/lessons"))
        .expect("there are lessons")
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    files.sort();
    assert!(!files.is_empty());
    for path in files {
        let sentences = sentences(tell(&path));
        for sentence in &sentences {
            assert!(!sentence.contains(" ?") && !sentence.contains('{'), "{sentence}");
        }
        let name = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
        insta::assert_snapshot!(name, sentences.join("\n"));
    }
}
