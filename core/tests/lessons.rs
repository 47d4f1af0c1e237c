//! Every lesson opens: its scenario runs, each of its places is in the run, and each value that its
//! sentences name has a number.

use folioscope_core::counters::Counters;
use folioscope_core::lesson::{Lesson, Moment, Words, parse_lesson};
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::run;
use folioscope_core::trace::address::Ops;
use folioscope_core::trace::align::Alignment;
use folioscope_core::trace::model::Model;
use folioscope_core::trace::timeline::{Recording, Timeline};
use std::fs;
use std::path::Path;

const ASSETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets");

/// A lesson with its runs, and the way through both.
struct Opened {
    lesson: Lesson,
    runs: Vec<(Timeline, Ops)>,
    way: Alignment,
}

fn open(path: &Path) -> Opened {
    let text = fs::read_to_string(path).expect("the lesson can be read");
    let lesson = parse_lesson(&path.display().to_string(), &text).unwrap_or_else(|e| panic!("{e}"));
    let scenario = Path::new(ASSETS).join(format!("scenarios/{}.toml", lesson.scenario));
    let text = fs::read_to_string(&scenario).expect("its scenario can be read");
    let scenario = parse_scenario(&lesson.scenario, &text).unwrap_or_else(|e| panic!("{e}"));
    let runs: Vec<(Timeline, Ops)> = scenario
        .variants
        .iter()
        .take(2)
        .map(|variant| {
            let done = run(&scenario, variant, Recording::default()).expect("it comes to its end");
            let timeline = Timeline::new(done.header, done.sink).expect("its trace fits together");
            let ops = Ops::of(timeline.recording());
            (timeline, ops)
        })
        .collect();
    let recording = |at: usize| runs[at].0.recording();
    let way = match runs.len() {
        1 => Alignment::single(recording(0)),
        _ => Alignment::pair(recording(0), recording(1)),
    };
    Opened { lesson, runs, way }
}

impl Opened {
    /// A sentence at a position of the first run.
    fn fill(&self, words: &Words, position: usize) -> String {
        let moment = self.way.moment(self.way.reach(0, position));
        let states: Vec<(Model, Counters, Counters)> = (0..)
            .zip(&self.runs)
            .map(|(side, (timeline, ops))| {
                let model = timeline.model_at(moment.position(side));
                let op = ops.started(moment.position(side));
                let began = ops.span(timeline.recording(), op).expect("it started").0;
                let at_start = timeline.model_at(began).counters().clone();
                (model, at_start, timeline.model_at(usize::MAX).counters().clone())
            })
            .collect();
        let moments: Vec<Moment<'_>> =
            states.iter().map(|(model, op, total)| Moment { model, op, total }).collect();
        words.fill(&moments)
    }
    /// Every sentence, in the order of the file.
    fn sentences(&self) -> Vec<String> {
        let Lesson { point, question, stops, .. } = &self.lesson;
        let (timeline, ops) = &self.runs[0];
        let places: Vec<usize> = stops
            .iter()
            .map(|stop| {
                let place = stop.at.find(timeline, ops);
                place.unwrap_or_else(|| panic!("`{}`: no such place in the run", stop.title))
            })
            .collect();
        let (ask, proof) = (places[0], places[1]);
        let mut all = vec![self.fill(point, timeline.len()), self.fill(&question.ask, ask)];
        all.extend(question.figure.iter().map(|figure| self.fill(figure, proof)));
        all.push(self.fill(&question.shown, proof));
        for answer in &question.answers {
            all.extend([self.fill(&answer.text, proof), self.fill(&answer.says, proof)]);
        }
        all.extend(stops.iter().zip(places).map(|(stop, place)| self.fill(&stop.says, place)));
        all
    }
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
        let opened = open(&path);
        let sentences = opened.sentences();
        for sentence in &sentences {
            assert!(!sentence.contains(" ?") && !sentence.contains('{'), "{sentence}");
        }
        let name = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
        insta::assert_snapshot!(name, sentences.join("\n"));
    }
}
