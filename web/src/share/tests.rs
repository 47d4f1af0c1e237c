//! Links lead back to the same picture, and say so where they cannot.

use super::*;
use crate::export::{Paper, svg};
use crate::lesson;
use crate::open;
use folioscope_core::link::{Fragment, LinkError};
use folioscope_core::scene::view::Theme;
use folioscope_core::service::{Reply, Request};

const SCENARIO: &str = include_str!("../../../assets/scenarios/append-race.toml");

fn ask(request: &Request) -> Reply {
    Reply::decode(&folioscope_web_engine::answer(&request.encode())).expect("a reply")
}

/// What the page shows for a fragment, and what it says to it.
fn opened(fragment: &str) -> Result<(State, Option<String>), String> {
    let (request, mut target) = wanted(fragment).map_err(|error| error.to_string())?;
    let mut opened = match ask(&request) {
        Reply::Opened(opened) => *opened,
        Reply::Refused(why) => return Err(why),
        other @ (Reply::Contents(_) | Reply::Checked(_) | Reply::Packed(_)) => panic!("{other:?}"),
    };
    target.moment = target.moment.or_else(|| opened.moment.take().map(Box::new));
    let (session, lesson) = open::opened(opened)?;
    let mut state = match lesson {
        Some(lesson) => State::lesson(session, lesson),
        None => State::file("a link".to_owned(), session),
    };
    state.source =
        if let Request::Example(name) = request { Source::Example(name) } else { Source::Own };
    let said = arrive(&mut state, target);
    Ok((state, said))
}

/// The fragment of what is on the stage.
fn fragment(state: &State) -> String {
    match link(state) {
        Made::Fragment(fragment) => fragment,
        Made::Pack(text) => {
            let Reply::Packed(fragment) = ask(&Request::Pack(text)) else { panic!("not packed") };
            fragment
        }
        Made::Nothing(why) => panic!("{why}"),
    }
}

fn picture(state: &mut State) -> String {
    svg(state, Paper { width: 1040, theme: Theme::Auto })
}

/// The stage comes back as it was.
fn returns(mut state: State) -> String {
    let fragment = fragment(&state);
    let (mut again, said) = opened(&fragment).unwrap_or_else(|why| panic!("{fragment}: {why}"));
    assert_eq!(said, None, "{fragment}");
    assert_eq!(again.session.at(), state.session.at(), "{fragment}");
    assert_eq!((again.form, again.why, again.asks()), (state.form, state.why, state.asks()));
    assert!(picture(&mut again) == picture(&mut state), "{fragment}");
    fragment
}

fn lesson_state() -> State {
    let (session, lesson) = lesson::open(lesson::FIRST);
    State::lesson(session, lesson)
}

fn scenario(text: &str) -> State {
    let Reply::Opened(opened) = ask(&Request::Scenario(text.to_owned())) else { panic!() };
    let (session, _) = open::opened(*opened).expect("it opens");
    State::file("mine".to_owned(), session)
}

#[test]
fn a_lesson_comes_back_at_its_stops_and_between_them() {
    assert_eq!(returns(lesson_state()), "1/L7/1");
    for stop in 1..5 {
        let mut state = lesson_state();
        state.go_to_stop(stop);
        assert_eq!(returns(state), format!("1/L7/{}", stop + 1));
    }
    for at in [0, 3, 40, 100] {
        let mut state = lesson_state();
        state.go_to_stop(2);
        state.step_to(at);
        state.form = Form::Both;
        assert!(returns(state).starts_with("1/L7/3/engine-"));
    }
    let mut back = lesson_state();
    back.go_to_stop(1);
    back.go_to_stop(0);
    assert!(returns(back).contains("/told"), "the answer stays shown");
}

#[test]
fn every_moment_of_a_scenario_comes_back() {
    let text = format!("# of one's own\n{SCENARIO}");
    let last = scenario(&text).session.way().last();
    for at in (0..=last).step_by(last / 12) {
        let mut state = scenario(&text);
        state.step_to(at);
        state.toggle_lanes();
        assert!(returns(state).starts_with("1/S/"));
    }
}

#[test]
fn stops_and_marks_come_back() {
    use crate::find::Ask;
    let mut state = lesson_state();
    for text in ["dirty > 64k", "any bio crosses a stripe"] {
        for ask in [Ask::Type(text.to_owned()), Ask::Stop] {
            state.find.ask(&state.session, ask);
        }
    }
    for at in [9, 40, 100] {
        state.session.go(at);
        state.find.ask(&state.session, Ask::Mark);
    }
    state.go_to_stop(1);
    let marks = state.find.marks.clone();
    let fragment = returns(state);
    assert!(fragment.starts_with("2/L7/2/"), "{fragment}");
    let (again, _) = opened(&fragment).expect("it opens");
    let stops: Vec<&str> = again.find.stops.iter().map(|job| job.text.as_str()).collect();
    assert_eq!(stops, ["dirty > 64k", "any bio crosses a stripe"]);
    assert_eq!(again.find.marks, marks);
    assert!(again.find.works(), "they are looked for");
    // Of another run that lacks them nothing is taken.
    let lost = format!("{fragment}/mark-3-21-999");
    assert_eq!(opened(&lost).expect("it opens").0.find.marks, marks);
}

#[test]
fn other_settings_and_their_order_come_back() {
    let mut state = scenario(SCENARIO);
    state.session.swap();
    state.compare.only = Some(1);
    state.step_to(40);
    assert!(returns(state).starts_with("1/S/"));
    let mut state = lesson_state();
    state.go_to_stop(1);
    state.session.swap();
    assert_eq!(address(&state), None, "a lesson has its own order");
    assert!(fragment(&state).starts_with("1/S/"));
}

#[test]
fn an_edited_run_beside_what_it_was_is_shared_alone() {
    let of = scenario(SCENARIO);
    let origin = of.session.origin().expect("it has one").clone();
    let run = |name: &str| {
        let timeline = of.session.runs()[0].timeline();
        let own = of.session.runs()[0].name();
        (format!("{own}, {name}"), timeline.header().clone(), timeline.recording().clone())
    };
    let runs = vec![run("as it was"), run("edited")];
    let session = Session::of_runs("t".to_owned(), runs).expect("they fit").with_origin(origin);
    let mut state = State::file("Sandbox".to_owned(), session);
    state.step_to(30);
    assert!(is_alone(&state));
    let (again, said) = opened(&fragment(&state)).expect("it opens");
    assert_eq!((again.session.runs().len(), said), (1, None));
    let position = |state: &State| state.session.runs()[0].timeline().position();
    assert_eq!(position(&again), position(&state));
}

#[test]
fn an_example_is_short() {
    let mut state = scenario(SCENARIO);
    state.source = Source::Example("append-race".to_owned());
    assert_eq!(fragment(&state), "1/E/append-race");
    state.step_to(9);
    let fragment = returns(state);
    assert!(fragment.starts_with("1/E/append-race/engine-") && fragment.len() < 250, "{fragment}");
}

#[test]
fn a_trace_fits_no_link_and_the_sentence_names_it() {
    let of = scenario(SCENARIO);
    let timeline = of.session.runs()[0].timeline();
    let (header, recording) = (timeline.header().clone(), timeline.recording().clone());
    let session = Session::of_trace(header, recording).expect("it is one");
    let state = State::file("mine".to_owned(), session);
    let Made::Nothing(why) = link(&state) else { panic!("a link to a trace") };
    assert!(why.starts_with("mine is a recorded run"), "{why}");
    assert_eq!(address(&state), None);
}

#[test]
fn a_link_of_another_build_says_what_changed() {
    let mut state = lesson_state();
    state.go_to_stop(1);
    state.step_to(30);
    let whole = fragment(&state);
    let seen = &state.session.runs()[0].seen();
    let old = whole.replace(&format!("{:08x}", seen.hash), "00000001");
    let said = opened(&old).expect("it opens").1.expect("it differs");
    assert!(said.contains("another build of engine") && said.contains("run A differs"), "{said}");
    assert!(!said.contains("run B"), "{said}");
    let old = whole.replace(&format!("engine-{ENGINE_VERSION}"), "engine-0.0.9");
    assert_eq!(opened(&old).expect("it opens").1, None, "the same run is the same run");
    let (mut lost, said) = opened("1/L7/2/engine-0.0.9/place-3-21-999/lanes-file").expect("opens");
    assert!(said.is_some_and(|said| said.contains("not in the run any more")));
    assert!(!picture(&mut lost).is_empty());
    let (_, said) = opened("1/L7/2/place-999-0-0-1/lanes/file-77").expect("it opens");
    assert!(said.is_some());
}

#[test]
fn what_is_no_link_is_one_sentence() {
    for (fragment, words) in [
        ("1/L99/1", "there is no lesson 99"),
        ("1/E/nothing", "there is no scenario"),
        ("1/S/AAAA", "damaged"),
        ("9/L1/1", "has version 9"),
        ("1/L7/2/why/%3Cscript%3E", "not understood"),
    ] {
        let why = opened(fragment).err().expect("it cannot be opened");
        assert!(why.contains(words), "{fragment}: {why}");
    }
    let long = "1/S/".to_owned() + &"A".repeat(100 << 10);
    assert!(matches!(Fragment::read(&long), Err(LinkError::TooLong(_))));
}

/// Links that were made once, with the checksum of what they showed: `version kind hash link`.
const KEPT: &str = include_str!("../../tests/data/links.txt");

/// FNV-1a.
fn hash(text: &str) -> u64 {
    let mix = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// `UPDATE_GOLDENS=1` takes the pictures of today; links themselves are never made anew: old ones
/// stay, new ones are added below.
#[test]
fn links_that_were_made_once_show_what_they_showed() {
    let mut now = String::new();
    for line in KEPT.lines() {
        let Some((_, fragment)) = line.split_once(' ').filter(|_| !line.starts_with('#')) else {
            now.push_str(line);
            now.push('\n');
            continue;
        };
        let (mut state, said) = opened(fragment).unwrap_or_else(|why| panic!("{fragment}: {why}"));
        let shown = format!("{:016x}", hash(&picture(&mut state)));
        // Where the run is another one the page says so, and the picture may differ.
        assert!(line.starts_with(&shown) || said.is_some() || updates(), "{line}: {shown}");
        let _ = writeln!(now, "{shown} {fragment}");
    }
    if updates() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/links.txt");
        std::fs::write(path, now).expect("writable");
    }
}

fn updates() -> bool {
    std::env::var_os("UPDATE_GOLDENS").is_some()
}
