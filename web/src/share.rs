//! A moment that leaves the page and comes back: what a link says of what is on the stage, and how
//! the stage is set up as a link says.
//!
//! It knows no browser; `hand` has the clipboard and the files, `address` the address of the page.

use crate::lesson;
use crate::session::{Run, Session};
use crate::state::{Open, Source, State};
use folioscope_core::ENGINE_VERSION;
use folioscope_core::behaviour::Profile;
use folioscope_core::link::{BuiltIn, Form, Fragment, LinkError, Moment, Seen, Shared, View};
use folioscope_core::service::Request;
use folioscope_core::units::FileId;
use std::fmt::Write as _;

/// What becomes of a moment.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Made {
    /// A fragment.
    Fragment(String),
    /// A text that is to be packed.
    Pack(String),
    /// No link, and why.
    Nothing(String),
}

/// Where a link leads, beside what it opens.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Target {
    /// The stop of a lesson, from 1.
    pub(crate) stop: Option<u32>,
    /// The moment.
    pub(crate) moment: Option<Box<Moment>>,
}

/// The link to what is on the stage.
pub(crate) fn link(state: &State) -> Made {
    if let Some(fragment) = address(state) {
        return Made::Fragment(fragment);
    }
    let Some(text) = scenario(state) else {
        let name = state.title();
        let name: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
        return Made::Nothing(format!(
            "{name} is a recorded run, and no link can hold one: send the file itself, or save a picture."
        ));
    };
    let scenario = text.to_owned();
    Made::Pack(Shared { moment: moment(state), scenario }.to_text())
}

/// The scenario that was run.
pub(crate) fn scenario(state: &State) -> Option<&str> {
    state.session.origin().map(|origin| origin.scenario.as_str())
}

/// The settings of the runs, none where they are the first variants of the scenario in order; and
/// the one run that a link can hold, where what was edited stands beside what it was.
fn settings(session: &Session) -> (Vec<String>, Option<usize>) {
    let names = || session.runs().iter().map(Run::name);
    let variants = session.origin().map(|origin| origin.variants.as_slice()).unwrap_or_default();
    if variants.iter().map(String::as_str).take(session.runs().len()).eq(names()) {
        return (Vec::new(), None);
    }
    let known = |name: &str| {
        variants.iter().any(|variant| variant == name) || Profile::named(name).is_some()
    };
    if names().all(known) {
        return (names().map(str::to_owned).collect(), None);
    }
    let edited = session.runs().last().map(|run| run.name().trim_end_matches(", edited"));
    let edited = edited.filter(|name| known(name)).map(str::to_owned);
    (edited.into_iter().collect(), session.runs().len().checked_sub(1))
}

/// Whether a link leads to one run of the two that are shown.
pub(crate) fn is_alone(state: &State) -> bool {
    settings(&state.session).1.is_some_and(|side| side > 0)
}

/// The fragment of what comes with the page.
pub(crate) fn address(state: &State) -> Option<String> {
    if state.session.origin().is_none() || settings(&state.session) != (Vec::new(), None) {
        return None;
    }
    let (built_in, usual) = match (&state.open, &state.source) {
        (Open::Lesson { lesson, stop, .. }, _) => {
            let here = &lesson.told.stops[*stop];
            let usual = state.session.at() == here.at
                && (&state.lanes, state.why, state.whole) == (&here.lanes, here.why, here.whole)
                && state.asks() == (*stop == 0);
            let number = lesson.told.number;
            (BuiltIn::Lesson { number, stop: *stop as u32 + 1 }, usual)
        }
        (Open::File { .. }, Source::Example(name)) => {
            let usual = state.session.at() == state.session.first_write()
                && state.lanes == State::lanes_of_file(&state.session)
                && state.why
                && state.whole;
            (BuiltIn::Example(name.clone()), usual)
        }
        (Open::File { .. }, _) => return None,
    };
    let whole = state.looking.range.is_none() && state.compare.only.is_none();
    let plain = state.find.stops.is_empty() && state.find.marks.is_empty();
    let usual = usual && whole && plain && state.form == Form::Picture && state.file == 0;
    Some(if usual {
        built_in.to_fragment(None)
    } else {
        built_in.to_fragment(Some(&moment(state)))
    })
}

/// The fragment that the address of the page is to have, and whether the one before stays as a
/// place to come back to; none where it may stay as it is.
pub(crate) fn next_address(state: &State, now: &str) -> Option<(String, bool)> {
    let first = lesson::address();
    let wanted = match (address(state), &state.source) {
        (Some(fragment), _) => fragment,
        (None, Source::Linked) => return None,
        (None, Source::Own | Source::Example(_)) => String::new(),
    };
    if wanted == now || (now.is_empty() && wanted == first) {
        return None;
    }
    let before = if now.is_empty() { &first } else { now };
    let fresh = !open(before).eq(open(&wanted));
    Some((wanted, fresh))
}

/// `L7`, or `E` and a name: what a fragment opens, without its version and without where in it.
fn open(fragment: &str) -> impl Iterator<Item = &str> {
    let parts = fragment.split('/').skip(1);
    parts.take(if fragment.contains("/E/") { 2 } else { 1 })
}

/// What is on the stage, as a link says it.
fn moment(state: &State) -> Moment {
    let session = &state.session;
    let (runs, alone) = settings(session);
    let place = session.place_of(session.at(), alone);
    let seen = session.runs().iter().skip(alone.unwrap_or(0));
    Moment {
        engine: ENGINE_VERSION.to_owned(),
        place,
        view: View {
            file: FileId::new(state.file),
            range: state.looking.range,
            lanes: state.lanes.clone(),
            form: state.form,
            why: state.why,
            whole: state.whole,
            told: !state.asks(),
            only: state.compare.only.filter(|_| alone.is_none()),
        },
        runs,
        seen: seen.map(|run| run.seen().clone()).collect(),
        stops: state.find.stops.iter().map(|job| job.text.clone()).collect(),
        marks: state.find.marks.iter().map(|mark| session.place_of(mark.at, alone)).collect(),
    }
}

/// What a fragment asks of the engine, and where it leads then.
pub(crate) fn wanted(fragment: &str) -> Result<(Request, Target), LinkError> {
    Ok(match Fragment::read(fragment)? {
        Fragment::BuiltIn(BuiltIn::Lesson { number, stop }, moment) => {
            (Request::Lesson(number), Target { stop: Some(stop), moment })
        }
        Fragment::BuiltIn(BuiltIn::Example(name), moment) => {
            (Request::Example(name), Target { stop: None, moment })
        }
        Fragment::Packed(packed) => (Request::Link(packed.to_owned()), Target::default()),
    })
}

/// Sets the stage up as a link says; a sentence if it is not as it was.
pub(crate) fn arrive(state: &mut State, target: Target) -> Option<String> {
    if let Some(stop) = target.stop.filter(|stop| *stop > 1) {
        state.go_to_stop(stop as usize - 1);
    }
    let moment = *target.moment?;
    let view = moment.view;
    let (at, exact) = state.session.find(moment.place);
    state.find.arrive(&mut state.session, &moment.stops, &moment.marks);
    if view.told {
        state.tell();
    }
    state.go(at);
    state.lanes = view.lanes;
    state.looking.range = view.range;
    state.compare.only = view.only.filter(|only| *only < state.session.runs().len());
    (state.form, state.why, state.whole) = (view.form, view.why, view.whole);
    state.file = view.file.get().min(state.session.files() - 1);
    let changed = changed(&state.session, &moment.engine, &moment.seen);
    let lost = "The moment it leads to is not in the run any more: this is the start of the operation, or the end of the run.";
    match (changed, exact) {
        (changed, true) => changed,
        (Some(changed), false) => Some(format!("{changed} {lost}")),
        (None, false) => Some(format!("The link leads nowhere. {lost}")),
    }
}

/// A sentence if a run is not what a link says of it.
fn changed(session: &Session, engine: &str, seen: &[Seen]) -> Option<String> {
    let mut out = String::new();
    for (at, (run, seen)) in session.runs().iter().zip(seen).enumerate() {
        let Some(since) = seen.since(run.timeline().recording()) else { continue };
        if out.is_empty() {
            let by = if engine == ENGINE_VERSION { "another build of " } else { "" };
            let _ = write!(
                out,
                "This link was made with {by}engine {engine}, and this page runs {ENGINE_VERSION}."
            );
        }
        let run = format!("run {}", session.label(at));
        let _ = write!(
            out,
            " Now {} differs from a step after {} on: it had {} steps and has {}.",
            run.trim(),
            since.same,
            since.then,
            since.now
        );
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests;
