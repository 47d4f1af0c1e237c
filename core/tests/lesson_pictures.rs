//! Every stop of every lesson as it is drawn: labels keep apart, ids are unique, heights stay, and
//! text and tables keep their limits.

use folioscope_core::lesson::{Told, parse_lesson};
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::run;
use folioscope_core::scene::draw::{Anchor, Id, Shape};
use folioscope_core::scene::fixed::{Fx, px, text_width};
use folioscope_core::scene::limits::Limits;
use folioscope_core::scene::view::{Lanes, View};
use folioscope_core::scene::{Scene, Side, render, table, text};
use folioscope_core::trace::align::Alignment;
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::units::FileId;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

const ASSETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets");

fn open(path: &std::path::Path) -> (Told, Vec<Timeline>) {
    let text = fs::read_to_string(path).expect("the lesson can be read");
    let lesson = parse_lesson("lesson", &text).unwrap_or_else(|error| panic!("{error}"));
    let scenario = format!("{ASSETS}/scenarios/{}.toml", lesson.scenario);
    let text = fs::read_to_string(scenario).expect("its scenario can be read");
    let scenario = parse_scenario("scenario", &text).unwrap_or_else(|error| panic!("{error}"));
    let runs = scenario.variants.iter().take(2).map(|variant| {
        let done = run(&scenario, variant, Recording::default()).expect("it comes to its end");
        Timeline::new(done.header, done.sink).expect("its trace fits together")
    });
    let runs: Vec<Timeline> = runs.collect();
    (lesson.tell(&runs).unwrap_or_else(|error| panic!("{error}")), runs)
}

/// Left, top, right, bottom.
type Box4 = (Fx, Fx, Fx, Fx);

/// The box of a text.
fn text_box(x: Fx, y: Fx, anchor: Anchor, text: &str, size: i32) -> Box4 {
    let width = text_width(text, size);
    let left = match anchor {
        Anchor::Start => x,
        Anchor::Middle => x - width / 2,
        Anchor::End => x - width,
    };
    (left, y - px(size) * 4 / 5, left + width, y + px(size) / 5)
}

fn check(scene: &Scene, place: &str) {
    let mut ids: BTreeSet<Id> = BTreeSet::new();
    let mut boxes: Vec<(Box4, &str)> = Vec::new();
    for mark in &scene.marks {
        assert!(ids.insert(mark.id), "{place}: {} twice", mark.id);
        let Shape::Text { x, y, anchor, text } = &mark.shape else { continue };
        let area = text_box(*x, *y, *anchor, text, mark.style.size());
        let right = px(i32::try_from(scene.width).expect("small"));
        assert!(Fx::ZERO <= area.0 && area.2 <= right, "{place}: {text:?} leaves the picture");
        for (other, said) in &boxes {
            let meets =
                area.0 < other.2 && other.0 < area.2 && area.1 < other.3 && other.1 < area.3;
            assert!(!meets, "{place}: {text:?} over {said:?}");
        }
        boxes.push((area, text));
    }
    assert!(scene.marks.len() <= 4000, "{place}: {} marks", scene.marks.len());
}

#[test]
fn every_stop_of_every_lesson_is_drawn_well() {
    let mut files: Vec<_> = fs::read_dir(format!("{ASSETS}/lessons"))
        .expect("there are lessons")
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    files.sort();
    for path in files {
        let (told, mut runs) = open(&path);
        let recordings: Vec<&Recording> = runs.iter().map(Timeline::recording).collect();
        let way = Alignment::of(&recordings);
        let several = runs.len() > 1;
        let sides = |runs: &'_ [Timeline]| -> Vec<(&'static str, Timeline)> {
            let letters = if several { ["A", "B"] } else { [""; 2] };
            letters.into_iter().zip(runs.iter().cloned()).collect()
        };
        let mut kept: BTreeMap<bool, Limits> = BTreeMap::new();
        let mut heights: BTreeMap<(Vec<&str>, u32, bool), u32> = BTreeMap::new();
        for (number, stop) in told.stops.iter().enumerate() {
            let moment = way.moment(way.reach(0, stop.at));
            for (side, run) in runs.iter_mut().enumerate() {
                run.seek(moment.position(side));
            }
            let held = sides(&runs);
            let sides: Vec<Side<'_>> = held
                .iter()
                .map(|(label, timeline)| Side { label, name: "a setting of it", timeline })
                .collect();
            let range = if stop.whole { None } else { told.focus };
            let limits = kept
                .entry(stop.whole)
                .or_insert_with(|| Limits::of(&sides, FileId::new(0), range))
                .clone();
            for width in [360, 480, 720, 1040, 1440] {
                let view = View {
                    width,
                    lanes: Lanes::only(&stop.lanes),
                    caption: false,
                    range,
                    limits: Some(limits.clone()),
                    ..View::default()
                };
                let scene = render(&sides, &view);
                let place = format!("lesson {}, {}, {width}", told.number, stop.title);
                check(&scene, &place);
                let words: Vec<&str> = stop.lanes.iter().map(|lane| lane.word()).collect();
                let key = (words, width, stop.whole);
                let height = *heights.entry(key).or_insert(scene.height);
                assert_eq!(scene.height, height, "{place}");
                if width != 1040 {
                    continue;
                }
                let words = text::render_text(&sides, &view);
                if number == 1 {
                    // The point: what a thumbnail shows.
                    let name = path.file_stem().expect("it has a name").to_string_lossy();
                    insta::assert_snapshot!(format!("point-{name}"), words);
                }
                for line in words.lines() {
                    assert!(line.chars().count() <= text::COLUMNS, "{place}: {line:?}");
                }
                for table in table::rows(&sides, &view) {
                    assert!(table.rows.len() <= table::MAX_ROWS, "{place}: {:?}", table.lane);
                }
            }
        }
    }
}

#[test]
fn bios_of_the_wrong_memory_lie_over_one_another() {
    let path = format!("{ASSETS}/lessons/18-bytes-from-the-wrong-place.toml");
    let (told, mut runs) = open(std::path::Path::new(&path));
    runs[0].seek(told.stops[1].at);
    let sides = [Side { label: "", name: "", timeline: &runs[0] }];
    let view = View { lanes: Lanes::only(&told.stops[1].lanes), caption: false, ..View::default() };
    let scene = render(&sides, &view);
    let lines = scene.marks.iter().filter(|mark| mark.id.part == "bioline");
    let tops: BTreeSet<Fx> = lines
        .filter_map(|mark| match mark.shape {
            Shape::Rect { y, .. } => Some(y),
            Shape::Line { .. } | Shape::Path(_) | Shape::Text { .. } => None,
        })
        .collect();
    assert_eq!(tops.len(), 3, "each in a row of its own");
}

/// The second stop of a lesson as it is drawn, whole.
fn proof(lesson: &str) -> Scene {
    let (told, mut runs) = open(std::path::Path::new(&format!("{ASSETS}/lessons/{lesson}.toml")));
    let recordings: Vec<&Recording> = runs.iter().map(Timeline::recording).collect();
    let way = Alignment::of(&recordings);
    let moment = way.moment(way.reach(0, told.stops[1].at));
    for (side, run) in runs.iter_mut().enumerate() {
        run.seek(moment.position(side));
    }
    let sides: Vec<Side<'_>> = ["A", "B"]
        .into_iter()
        .zip(&runs)
        .map(|(label, timeline)| Side { label, name: label, timeline })
        .collect();
    let view = View { lanes: Lanes::only(&told.stops[1].lanes), ..View::default() };
    render(&sides, &view)
}

fn count(scene: &Scene, part: &str, run: u8) -> usize {
    scene.marks.iter().filter(|mark| mark.id.part == part && mark.id.run == run).count()
}

#[test]
fn bios_of_the_partition_cross_stripes_and_those_of_the_disk_do_not() {
    let scene = proof("09-the-partition-that-spoils-it");
    assert_eq!((count(&scene, "cross", 0), count(&scene, "cross", 1)), (8, 0));
    // Eight stripes begin in the file, by the disk's count and by the partition's.
    assert_eq!((count(&scene, "comb", 0), count(&scene, "comb", 1)), (8, 8));
    // Three bios of 1 MiB over stripes of 384 KiB; where one begins with a stripe none crosses.
    let scene = proof("08-stripe-alignment");
    assert_eq!((count(&scene, "cross", 0), count(&scene, "cross", 1)), (7, 0));
    assert_eq!((count(&scene, "comb", 0), count(&scene, "comb", 1)), (8, 0));
}

#[test]
fn a_read_of_what_is_overwritten_at_once_is_hatched() {
    let scene = proof("02-read-before-you-write");
    let wide = |part: &str| {
        let marks = scene.marks.iter().filter(|mark| mark.id.part == part);
        let widths = marks.filter_map(|mark| match mark.shape {
            Shape::Rect { w, .. } => Some(w.get()),
            Shape::Line { .. } | Shape::Path(_) | Shape::Text { .. } => None,
        });
        widths.max().expect("there is one")
    };
    // 127 of 128 blocks of the longest read.
    let (read, vain) = (wide("hist"), wide("histvainly"));
    assert!(vain < read && vain * 128 / read >= 126, "{vain} of {read}");
    assert_eq!(count(&scene, "histvainly", 0), 1);
}
