//! Answers a request.

use super::{Checked, Contents, Entry, MAX_OPS, MAX_TOUCHED, Opened, Reply, Request, Wrong};
use crate::behaviour::Profile;
use crate::lesson::{Lesson, MAX_RUNS, Told, parse_lesson};
use crate::link::Shared;
use crate::scenario::file::parse_scenario;
use crate::scenario::filefrag;
use crate::scenario::fio::{self, FioError, FioFile};
use crate::scenario::form;
use crate::scenario::run::run;
use crate::scenario::{Scenario, Variant};
use crate::scene::view::{Lanes, View};
use crate::scene::{Side, render, svg};
use crate::trace::align::Alignment;
use crate::trace::timeline::{Recording, Timeline};
use crate::trace::wire;
use crate::units::Pos;

/// Width of the picture of a lesson, in its own units.
const PICTURE: u32 = 480;
/// Letters of the runs.
const LABELS: [&str; MAX_RUNS] = ["A", "B"];

/// What the host has: file names without their ending, and texts.
#[derive(Clone, Copy, Debug)]
pub struct Library<'a> {
    /// Lessons, in the order of their numbers.
    pub lessons: &'a [(&'a str, &'a str)],
    /// Scenarios.
    pub scenarios: &'a [(&'a str, &'a str)],
}

/// The reply to a request, both as bytes.
pub fn answer(library: Library<'_>, request: &[u8]) -> Vec<u8> {
    let reply = Request::decode(request).map_err(|error| format!("the request: {error}"));
    let reply = reply.and_then(|request| library.answer(request));
    reply.unwrap_or_else(Reply::Refused).encode()
}

/// What can be asked and answered beforehand, by file names: contents and lessons. Each lesson runs
/// once for both.
pub fn beforehand(library: Library<'_>) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut all = Vec::new();
    let contents = library.each_lesson(|number, opened| {
        let name = Request::Lesson(number).file_name();
        all.extend(name.map(|name| (name, Reply::Opened(Box::new(opened)).encode())));
    })?;
    all.extend(
        Request::Contents.file_name().map(|name| (name, Reply::Contents(contents).encode())),
    );
    Ok(all)
}

impl Library<'_> {
    fn answer(self, request: Request) -> Result<Reply, String> {
        let opened = match request {
            Request::Contents => return self.contents().map(Reply::Contents),
            Request::Lesson(number) => self.lesson(number)?,
            Request::Example(name) => open(self.scenario(&name)?)?.0,
            Request::Scenario(text) => open(&made(text)?)?.0,
            Request::Check(text) => return Ok(Reply::Checked(Box::new(check(&text)))),
            Request::Settings(text, names) => open_with(&text, &names)?.0,
            Request::Link(packed) => {
                let shared = Shared::unpack(&packed).map_err(|error| error.to_string())?;
                let opened = open_with(&shared.scenario, &shared.moment.runs)?.0;
                Opened { moment: Some(shared.moment), ..opened }
            }
            Request::Pack(text) => {
                let fragment = Shared::pack(&text).map_err(|error| error.to_string())?;
                return Ok(Reply::Packed(fragment));
            }
        };
        Ok(Reply::Opened(Box::new(opened)))
    }
    fn contents(self) -> Result<Contents, String> {
        self.each_lesson(|_, _| ())
    }
    /// The contents; each lesson goes through `take` with its runs.
    fn each_lesson(self, mut take: impl FnMut(u32, Opened)) -> Result<Contents, String> {
        let mut contents = Contents::default();
        let mut taught = Vec::new();
        for (name, text) in self.lessons {
            let lesson = read_lesson(name, text)?;
            let (mut opened, mut timelines) = open(self.scenario(&lesson.scenario)?)?;
            let told = lesson.tell(&timelines)?;
            let picture = proof(&told, &mut timelines);
            let (number, title, point) = (told.number, told.title.clone(), told.point.clone());
            contents.lessons.push(Entry { number, title, point, picture });
            taught.push(lesson.scenario);
            opened.lesson = Some(told);
            take(number, opened);
        }
        for (name, text) in self.scenarios {
            if !taught.iter().any(|taught| taught == name) {
                contents.examples.push(((*name).to_owned(), read_scenario(text)?.title));
            }
        }
        Ok(contents)
    }
    fn lesson(self, number: u32) -> Result<Opened, String> {
        for (name, text) in self.lessons {
            let lesson = read_lesson(name, text)?;
            if lesson.number == number {
                let (mut opened, timelines) = open(self.scenario(&lesson.scenario)?)?;
                opened.lesson = Some(lesson.tell(&timelines)?);
                return Ok(opened);
            }
        }
        Err(format!("there is no lesson {number}"))
    }
    fn scenario(&self, name: &str) -> Result<&str, String> {
        let found = self.scenarios.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| *text).ok_or_else(|| format!("there is no scenario \"{name}\""))
    }
}

fn read_lesson(name: &str, text: &str) -> Result<Lesson, String> {
    parse_lesson(name, text).map_err(|error| error.to_string())
}

fn read_scenario(text: &str) -> Result<Scenario, String> {
    parse_scenario("scenario", text)
        .map_err(|error| format!("line {}, column {}: {}", error.line, error.column, error.message))
}

/// The scenario that a text is, or that is made of it: a listing of a file's extents becomes one,
/// and a job of fio.
fn made(text: String) -> Result<String, String> {
    if fio::is_job(&text) {
        let job = FioFile::parse("job", text.as_bytes()).map_err(
            |FioError { place, what, .. }| {
                format!("line {}, column {}: {what}", place.line, place.column)
            },
        )?;
        return job.scenario();
    }
    if !filefrag::is_listing(&text) {
        return Ok(text);
    }
    filefrag::scenario_of("listing", &text)
        .map_err(|error| format!("line {}, column {}: {}", error.line, error.column, error.message))
}

/// A text as a form; also what is too large for a host that waits is wrong.
fn check(text: &str) -> Checked {
    let (mut checked, scenario) = form::check(text);
    if let Some(Err(message)) = scenario.as_ref().map(fits) {
        checked.wrong = Some(Wrong { line: 0, column: 0, place: 0..0, message });
    }
    checked
}

/// Runs a scenario with its first settings.
fn open(text: &str) -> Result<(Opened, Vec<Timeline>), String> {
    open_with(text, &[])
}

/// Runs a scenario with these settings: its variants, or profiles as they are; the first of its
/// variants if none is named.
fn open_with(text: &str, names: &[String]) -> Result<(Opened, Vec<Timeline>), String> {
    let scenario = read_scenario(text)?;
    fits(&scenario)?;
    let setting = |name: &String| {
        let own = scenario.variants.iter().find(|variant| variant.name == *name).cloned();
        let profile = || {
            let Profile { name, behaviours, .. } = Profile::named(name)?;
            let (name, own) = (name.to_owned(), None);
            Some(Variant { profile: name.clone(), name, behaviours, own })
        };
        own.or_else(profile).ok_or_else(|| {
            format!("there is no variant and no profile `{name}`: choose one of its variants")
        })
    };
    let chosen: Vec<Variant> = if names.is_empty() {
        scenario.variants.clone()
    } else {
        names.iter().map(setting).collect::<Result<_, _>>()?
    };
    let (mut runs, mut timelines) = (Vec::new(), Vec::new());
    for variant in chosen.iter().take(MAX_RUNS) {
        let done = run(&scenario, variant, Recording::default())
            .map_err(|stuck| format!("the run does not come to its end: {stuck}"))?;
        runs.push((variant.name.clone(), wire::encode(&done.header, &done.sink)));
        let timeline = Timeline::new(done.header, done.sink).map_err(|(at, mismatch)| {
            format!("step {at} of the run does not fit what came before: {mismatch}")
        })?;
        timelines.push(timeline);
    }
    let variants = scenario.variants.into_iter().map(|variant| variant.name).collect();
    let (title, scenario) = (scenario.title, text.to_owned());
    Ok((Opened { title, scenario, runs, variants, lesson: None, moment: None }, timelines))
}

/// The picture of a lesson: the stop where its proof is.
fn proof(told: &Told, timelines: &mut [Timeline]) -> String {
    let stop = &told.stops[1];
    let recordings: Vec<&Recording> = timelines.iter().map(Timeline::recording).collect();
    let way = Alignment::of(&recordings);
    let moment = way.moment(way.reach(0, stop.at));
    for (side, timeline) in timelines.iter_mut().enumerate() {
        timeline.seek(moment.position(side));
    }
    let several = timelines.len() > 1;
    let sides: Vec<Side<'_>> = (timelines.iter().zip(LABELS))
        .map(|(timeline, label)| Side {
            label: if several { label } else { "" },
            name: "",
            timeline,
        })
        .collect();
    let prefix = format!("g{}", told.number);
    let view = View {
        width: PICTURE,
        lanes: Lanes::only(&stop.lanes),
        caption: false,
        range: if stop.whole { None } else { told.focus },
        prefix: prefix.clone(),
        ..View::default()
    };
    let scene = render(&sides, &view);
    svg::render_inner(scene.width, scene.height, &prefix, &scene.marks)
}

/// Whether a host may wait for it.
fn fits(scenario: &Scenario) -> Result<(), String> {
    let ops = scenario.ops.len();
    let held: u64 = scenario.files.iter().map(|file| file.size.get()).sum();
    let touched = scenario.ops.iter().map(|op| op.action.touched().len().get());
    let largest = scenario.files.iter().map(|file| file.size).max().unwrap_or(Pos::ZERO);
    let end = scenario.ops.iter().fold(largest, |size, op| op.action.grows_to(size));
    let most = held.max(end.get()).max(touched.sum());
    if ops > MAX_OPS || most > MAX_TOUCHED {
        return Err(format!(
            "the page runs scenarios of up to {MAX_OPS} operations on {} MiB, and this one has {ops} on {} MiB: \
             make it smaller, or run it in the terminal",
            MAX_TOUCHED >> 20,
            most >> 20
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = include_str!("../../../assets/scenarios/sub-page-dirty-tracking.toml");
    const LESSON: &str = include_str!("../../../assets/lessons/07-sub-page-dirty-tracking.toml");
    const LIBRARY: Library<'_> = Library {
        lessons: &[("07", LESSON)],
        scenarios: &[("other", SCENARIO), ("sub-page-dirty-tracking", SCENARIO)],
    };

    fn ask(request: &Request) -> Reply {
        Reply::decode(&answer(LIBRARY, &request.encode())).expect("a reply")
    }
    fn refused(request: &Request) -> String {
        let reply = ask(request);
        let Reply::Refused(why) = reply else { panic!("{reply:?}") };
        why
    }

    #[test]
    fn a_lesson_comes_with_its_runs_and_words() {
        let Reply::Opened(opened) = ask(&Request::Lesson(7)) else { panic!() };
        let told = opened.lesson.expect("it is a lesson");
        assert_eq!(told.ask, "The app changed 4 KiB. How much goes to the disk?");
        assert_eq!(told.figure.as_deref(), Some("16 \u{d7}"));
        assert_eq!(told.focus.map(|focus| focus.start().get()), Some(65_536));
        assert_eq!(opened.runs.len(), 2);
        for (_, trace) in &opened.runs {
            assert!(wire::decode(trace).is_ok());
        }
        let Reply::Opened(same) = ask(&Request::Scenario(opened.scenario)) else { panic!() };
        assert_eq!((same.runs, same.lesson), (opened.runs, None));
    }

    #[test]
    fn the_contents_have_what_no_lesson_teaches_as_examples() {
        let Reply::Contents(contents) = ask(&Request::Contents) else { panic!() };
        assert_eq!(contents.lessons.len(), 1);
        assert!(contents.lessons[0].point.contains("16 \u{d7} less"), "{contents:?}");
        assert_eq!(contents.examples[0].0, "other");
    }

    #[test]
    fn what_is_answered_beforehand_is_what_would_be_answered() {
        let all = beforehand(LIBRARY).expect("its lessons run");
        let asked = [Request::Lesson(7), Request::Contents];
        assert_eq!(all.len(), asked.len());
        for ((name, reply), request) in all.iter().zip(asked) {
            assert_eq!(Some(name), request.file_name().as_ref());
            assert_eq!(reply, &answer(LIBRARY, &request.encode()));
        }
    }

    #[test]
    fn a_listing_of_extents_is_opened_as_the_scenario_that_it_makes() {
        let listing = include_str!("../../tests/data/filefrag-ext4.txt");
        let Reply::Opened(opened) = ask(&Request::Scenario(listing.to_owned())) else { panic!() };
        assert_eq!(opened.title, "The mapping of frag.bin");
        assert!(opened.scenario.contains("[[file.extent]]"), "the editor gets what was run");
        let why = refused(&Request::Scenario(listing.replace("unwritten", "inline")));
        assert!(
            why.starts_with("line 7, column ") && why.contains("lives with the inode"),
            "{why}"
        );
    }

    #[test]
    fn what_cannot_be_opened_is_one_sentence() {
        assert_eq!(refused(&Request::Lesson(8)), "there is no lesson 8");
        assert_eq!(refused(&Request::Example("x".to_owned())), "there is no scenario \"x\"");
        let why = refused(&Request::Scenario("version = 0\nfoo = 1\n".to_owned()));
        assert!(why.starts_with("line 2, column 1: "), "{why}");
        let Reply::Refused(why) = Reply::decode(&answer(LIBRARY, &[9])).expect("a reply") else {
            panic!()
        };
        assert!(why.starts_with("the request: "), "{why}");
    }

    #[test]
    fn a_scenario_is_run_with_the_settings_that_are_named() {
        let named = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            Request::Settings(SCENARIO.to_owned(), names)
        };
        let Reply::Opened(opened) = ask(&named(&["per block", "linux-6.6"])) else { panic!() };
        let names: Vec<&str> = opened.runs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["per block", "linux-6.6"]);
        assert_eq!(opened.variants, ["per folio", "per block"]);
        let (header, _) = wire::decode(&opened.runs[1].1).expect("a trace");
        assert_eq!(header.profile, "linux-6.6");
        let Reply::Opened(usual) = ask(&named(&[])) else { panic!() };
        assert_eq!(usual.runs[0].0, "per folio");
        assert!(refused(&named(&["linux-2.4"])).contains("no variant and no profile `linux-2.4`"));
    }

    #[test]
    fn a_link_is_packed_and_opened_and_a_bad_one_is_refused() {
        let text = format!("engine 0.1.0\nplace 1 0 0\nlanes file\n\n{SCENARIO}");
        let Reply::Packed(fragment) = ask(&Request::Pack(text)) else { panic!() };
        let packed = fragment.strip_prefix("1/S/").expect("a scenario").to_owned();
        let Reply::Opened(opened) = ask(&Request::Link(packed.clone())) else { panic!() };
        assert_eq!(opened.scenario, SCENARIO);
        assert_eq!(opened.moment.expect("it has one").place.address.op, 1);
        assert!(
            refused(&Request::Link(packed[..40].to_owned())).starts_with("the link is damaged")
        );
        assert!(refused(&Request::Pack("x".repeat(2 << 20))).contains("share the scenario"));
    }

    #[test]
    fn what_would_take_too_long_is_not_run() {
        let large = SCENARIO.replace("size = \"128k\"", "size = \"100m\"");
        let many = SCENARIO.replace("repeat = 23", &format!("repeat = {MAX_OPS}"));
        for (text, limit) in [(large, "64 MiB"), (many, "10000 operations")] {
            assert_ne!(text, SCENARIO);
            let why = refused(&Request::Scenario(text));
            assert!(why.contains(limit) && why.contains("make it smaller"), "{why}");
        }
    }
}
