//! What else becomes of moments: one SVG that moves through them, and a link to the page.

use super::{MAX_SIDES, RenderArgs, Shown, sides};
use crate::error::{Failure, Outcome};
use folioscope_core::ENGINE_VERSION;
use folioscope_core::link::{self, Form, Moment, Place, Seen, Shared};
use folioscope_core::scenario::size::parse_size;
use folioscope_core::scene::flip::{Flip, FlipError, MAX_FRAMES};
use folioscope_core::scene::limits::Limits;
use folioscope_core::scene::render as draw;
use folioscope_core::scene::view::{Lane, View};
use folioscope_core::trace::address::Ops;
use folioscope_core::trace::align::Alignment;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::{FileId, FileRange, Pos};

/// `40..60`.
pub(super) fn range_of_steps(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once("..").and_then(|(from, to)| Some((from, to.parse().ok()?)));
    let range = parts.and_then(|(from, to)| Some((from.parse().ok()?, to)));
    let range = range.filter(|(from, to)| from <= to);
    range.ok_or_else(|| "expected two steps in ascending order, such as 40..60".to_owned())
}

/// `64k..128k`.
pub(super) fn range_of_bytes(text: &str) -> Result<FileRange, String> {
    let size = |text: &str| parse_size(text).map(|bytes| Pos::new(bytes.get()));
    let parts = text.split_once("..").and_then(|(from, to)| size(from).ok().zip(size(to).ok()));
    let range = parts.filter(|(from, to)| from < to);
    let range = range.map(|(from, to)| FileRange::between(from, to));
    range.ok_or_else(|| "expected two places in ascending order, such as 64k..128k".to_owned())
}

/// The way through the runs.
fn way(shown: &[Shown]) -> Alignment {
    let recordings: Vec<&Recording> = shown.iter().map(|run| run.timeline.recording()).collect();
    Alignment::of(&recordings)
}

/// Every moment between two steps of the first run, as one SVG.
pub(super) fn animated(
    shown: &mut [Shown],
    (from, to): (usize, usize),
    view: &mut View,
) -> Outcome<String> {
    let fail = |error: FlipError| Failure::usage(format!("--animate {from}..{to}: {error}"));
    let way = way(shown);
    let (first, last) = (way.reach(0, from), way.reach(0, to));
    let count = last + 1 - first;
    if count > MAX_FRAMES {
        return Err(fail(FlipError::Frames(count)));
    }
    view.limits = Some(Limits::of(&sides(shown), view.file, view.range));
    let mut flip = Flip::default();
    for at in first..=last {
        let moment = way.moment(at);
        for (side, run) in shown.iter_mut().enumerate() {
            run.timeline.seek(moment.position(side));
        }
        flip.push(draw(&sides(shown), view)).map_err(fail)?;
    }
    flip.render().map_err(fail)
}

/// The fragment that opens a scenario at the step that the first run stands at.
pub(super) fn link(shown: &[Shown], args: &RenderArgs) -> Outcome<String> {
    let [path] = &args.files[..] else {
        return Err(Failure::usage("a link leads to one scenario: name one file"));
    };
    let name = path.display();
    if path.extension().is_none_or(|ending| ending != "toml") {
        return Err(Failure::usage(format!(
            "{name}: a recorded run fits no link: send the file itself, or make a picture with --format svg"
        )));
    }
    if args.variant.is_some() {
        return Err(Failure::usage(format!(
            "a link shows the first {MAX_SIDES} variants of its scenario: leave out --variant"
        )));
    }
    let scenario = std::fs::read_to_string(path);
    let scenario = scenario.map_err(|error| Failure::file("read", path, &error))?;
    let Some(Shown { timeline, .. }) = shown.first() else {
        return Err(Failure::usage(format!("{name} has no run")));
    };
    let way = way(shown);
    let moment = way.moment(way.reach(0, timeline.position()));
    for (side, run) in shown.iter().enumerate().skip(1).take(args.step.len().saturating_sub(1)) {
        let (found, wanted) = (moment.position(side), run.timeline.position());
        if found != wanted {
            return Err(Failure::usage(format!(
                "in a link the runs stand side by side: where the first is at step {}, the other is at step {found}, not {wanted}",
                timeline.position()
            )));
        }
    }
    let recording = timeline.recording();
    let address = Ops::of(recording).address(recording, timeline.position());
    let lanes = if args.lanes.is_empty() { Lane::usual().collect() } else { args.lanes.clone() };
    let moment = Moment {
        engine: ENGINE_VERSION.to_owned(),
        place: Place { side: 0, address },
        view: link::View {
            file: FileId::new(args.file),
            range: args.range,
            lanes,
            form: Form::Picture,
            why: true,
            whole: true,
            told: true,
            only: None,
        },
        runs: Vec::new(),
        seen: shown.iter().map(|run| Seen::of(run.timeline.recording())).collect(),
        stops: Vec::new(),
        marks: Vec::new(),
    };
    let fragment = Shared::pack(&Shared { moment, scenario }.to_text());
    let fragment = fragment.map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    Ok(format!("#{fragment}\n"))
}
