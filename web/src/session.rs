//! What is on the stage: one run or two, their common way, and where on it the viewer stands.
//!
//! It knows nothing about the browser: everything here runs, and is tested, natively as well.

use crate::compare::Origin;
use folioscope_core::counters::{Counter, Counters};
use folioscope_core::link::{Place, Seen};
use folioscope_core::ops::OpKind;
use folioscope_core::scene::Side;
use folioscope_core::scene::fixed::size;
use folioscope_core::scene::limits::{Limits, Needs};
use folioscope_core::trace::address::{Address, Ops};
use folioscope_core::trace::align::{Alignment, Difference, Moment};
use folioscope_core::trace::header::Header;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::step::{Grain, Step};
use folioscope_core::trace::survey::{FileFate, Surveys};
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::units::{FileId, FileRange};
use std::cell::OnceCell;

/// Views whose limits are kept.
const VIEWS: usize = 8;
/// Letters of the runs.
const LABELS: [&str; 2] = ["A", "B"];

/// What an operation of a run is.
struct What {
    kind: Option<OpKind>,
    name: String,
}

/// A broken invariant.
pub struct Broken {
    /// After how many steps it was noticed.
    pub position: usize,
    /// Its number.
    pub number: u8,
    /// Where in the file.
    pub at: u64,
}

/// One run.
pub struct Run {
    name: String,
    timeline: Timeline,
    surveys: Surveys,
    total: Counters,
    ops: Ops,
    /// What each of them is.
    whats: Vec<What>,
    broken: Vec<Broken>,
    seen: OnceCell<Seen>,
}

impl Run {
    fn new(name: String, header: Header, recording: Recording) -> Result<Self, String> {
        let mut timeline = Timeline::new(header, recording).map_err(|(at, mismatch)| {
            format!(
                "step {at} of the trace does not fit what came before ({mismatch}): record it again"
            )
        })?;
        timeline.seek(usize::MAX);
        let total = timeline.model().counters().clone();
        timeline.seek(0);
        timeline.keep_previous();
        let surveys = Surveys::new(timeline.header().geometry);
        let ops = Ops::of(timeline.recording());
        let (mut whats, mut broken) = (Vec::with_capacity(ops.len()), Vec::new());
        for (at, step) in timeline.recording().steps().iter().enumerate() {
            if step.rule.starts_op() {
                let sentence = step.rule.sentence(step.args);
                let name = sentence.split(' ').next().unwrap_or_default().to_owned();
                let kind = OpKind::from_code(step.args[0]);
                whats.push(What { kind, name });
            } else if step.rule == Rule::InvariantBroken {
                let [number, at_pos, ..] = step.args;
                broken.push(Broken { position: at + 1, number: number as u8, at: at_pos });
            }
        }
        Ok(Self { name, timeline, surveys, total, ops, whats, broken, seen: OnceCell::new() })
    }
    /// The setting it ran with.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The run, at the step that is shown.
    pub const fn timeline(&self) -> &Timeline {
        &self.timeline
    }
    /// Counters of the whole run.
    pub const fn total(&self) -> &Counters {
        &self.total
    }
    /// Counters up to now.
    pub const fn now(&self) -> &Counters {
        self.timeline.model().counters()
    }
    /// Invariants that break in it, in order.
    pub fn broken(&self) -> &[Broken] {
        &self.broken
    }
    /// Where its operations start.
    pub(crate) const fn ops(&self) -> &Ops {
        &self.ops
    }
    /// What the last operation that has started does.
    pub fn op_kind(&self) -> Option<OpKind> {
        self.op().0.checked_sub(1).and_then(|at| self.whats[at].kind)
    }
    /// How many operations have started.
    pub fn started(&self) -> usize {
        self.op().0
    }
    /// What a link says of it.
    pub fn seen(&self) -> &Seen {
        self.seen.get_or_init(|| Seen::of(self.timeline.recording()))
    }
    /// How many operations have started, and the name of the last one.
    fn op(&self) -> (usize, &str) {
        let started = self.ops.started(self.timeline.position());
        (started, started.checked_sub(1).map_or("start", |at| &self.whats[at].name))
    }
}

/// Runs on a stage.
pub struct Session {
    title: String,
    runs: Vec<Run>,
    way: Alignment,
    at: usize,
    files: u32,
    needs: Vec<(FileId, Option<usize>, Needs)>,
    limits: Vec<(Part, Limits)>,
    /// Moments where two runs differ.
    differences: Vec<u32>,
    origin: Option<Origin>,
    /// The run that words about a place are of.
    spoken: usize,
}

/// What is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Which file.
    pub file: FileId,
    /// Which part of it; none = all that the runs touch.
    pub range: Option<FileRange>,
    /// One run alone.
    pub only: Option<usize>,
    /// What the runs do not touch in the range is left out.
    pub within: bool,
}

impl Session {
    /// Shows runs: the setting of each, and its trace.
    pub fn of_runs(title: String, runs: Vec<(String, Header, Recording)>) -> Result<Self, String> {
        let runs = runs.into_iter().take(LABELS.len());
        let runs = runs.map(|(name, header, recording)| Run::new(name, header, recording));
        Ok(Self::new(title, runs.collect::<Result<_, _>>()?))
    }
    /// Shows a recorded run.
    pub fn of_trace(header: Header, recording: Recording) -> Result<Self, String> {
        let (title, profile) = (header.title.clone(), header.profile.clone());
        Ok(Self::new(title, vec![Run::new(profile, header, recording)?]))
    }
    fn new(title: String, runs: Vec<Run>) -> Self {
        let recordings: Vec<&Recording> = runs.iter().map(|run| run.timeline.recording()).collect();
        let way = Alignment::of(&recordings);
        let opened = |run: &Run| {
            let steps = run.timeline.recording().steps().iter();
            steps.filter(|step| step.rule == Rule::FileOpened).count() as u32
        };
        let files = runs.iter().map(opened).max().unwrap_or(1).max(1);
        let differences = way.differences().map(|at| at as u32).collect();
        let (needs, limits) = (Vec::new(), Vec::new());
        let (at, origin, spoken) = (0, None, 0);
        Self { title, runs, way, at, files, needs, limits, differences, origin, spoken }
    }

    /// The first run of this beside the first of another, under these names.
    #[must_use]
    pub fn beside(self, other: Self, a: String, b: String) -> Self {
        let title = if self.title == other.title {
            self.title
        } else {
            format!("{} against {}", self.title, other.title)
        };
        let runs = self.runs.into_iter().take(1).chain(other.runs.into_iter().take(1));
        let runs = runs.zip([a, b]).map(|(run, name)| {
            let mut run = Run { name, ..run };
            run.timeline.seek(0);
            run
        });
        Self::new(title, runs.collect())
    }
    /// The same, run from this scenario.
    #[must_use]
    pub fn with_origin(self, origin: Origin) -> Self {
        Self { origin: Some(origin), ..self }
    }
    /// The same; words about a place are of this run.
    #[must_use]
    pub(crate) fn spoken_of(self, side: usize) -> Self {
        Self { spoken: side, ..self }
    }
    /// The scenario that it was run from.
    pub const fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }
    /// Runs change places.
    pub fn swap(&mut self) {
        self.runs.reverse();
        self.way.swap();
        self.spoken = self.runs.len() - 1 - self.spoken;
        self.limits.clear();
        self.needs.clear();
    }
    /// Moments where two runs differ, ascending.
    pub fn differences(&self) -> &[u32] {
        &self.differences
    }
    /// What it shows.
    pub fn title(&self) -> &str {
        &self.title
    }
    /// How many files it has.
    pub const fn files(&self) -> u32 {
        self.files
    }
    /// The runs, A first.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }
    /// Their timelines, A first.
    pub fn timelines(&self) -> Vec<&Timeline> {
        self.runs.iter().map(Run::timeline).collect()
    }
    /// The steps that lead to a moment, one a run; none for a run that waits.
    pub fn steps_at(&self, at: usize) -> [Option<&Step>; 2] {
        let moment = self.way.moment(at);
        [0, 1].map(|side| {
            let run = self.runs.get(side).filter(|_| moment.moved[side])?;
            Some(run.timeline.recording().step(moment.position(side) - 1))
        })
    }
    /// Whether there are two.
    pub fn compares(&self) -> bool {
        self.runs.len() > 1
    }
    /// Letter of a run; none where there is only one.
    pub fn label(&self, run: usize) -> &'static str {
        if self.compares() { LABELS[run] } else { "" }
    }
    /// The common way.
    pub const fn way(&self) -> &Alignment {
        &self.way
    }
    /// Index of the moment that is shown.
    pub const fn at(&self) -> usize {
        self.at
    }
    /// The moment that is shown.
    pub fn moment(&self) -> Moment {
        self.way.moment(self.at)
    }
    /// Goes to a moment, or to the last one.
    pub fn go(&mut self, at: usize) {
        self.at = at.min(self.way.last());
        let moment = self.moment();
        for (side, run) in self.runs.iter_mut().enumerate() {
            run.timeline.seek(moment.position(side));
        }
    }
    /// Where a moment is, in words that outlive corrections of the engine: in the run that moved,
    /// or in one that is taken for the only one.
    pub fn place_of(&self, at: usize, alone: Option<usize>) -> Place {
        let moment = self.way.moment(at);
        let moved = usize::from(!moment.moved[0] && moment.moved[1]);
        let side = alone.unwrap_or(moved);
        let address = self.runs.get(side).map_or_else(Address::default, |run| {
            run.ops.address(run.timeline.recording(), moment.position(side))
        });
        Place { side: if alone.is_some() { 0 } else { side as u8 }, address }
    }
    /// The moment of such words, and whether it is the very one: where the run has none, it is the
    /// start of the operation, or the end of the run.
    pub fn find(&self, place: Place) -> (usize, bool) {
        let side = usize::from(place.side);
        let Some(run) = self.runs.get(side) else { return (0, false) };
        let recording = run.timeline.recording();
        if let Some(position) = run.ops.find(recording, place.address) {
            return (self.way.reach(side, position), true);
        }
        let op = run.ops.span(recording, place.address.op as usize);
        (op.map_or(self.way.last(), |(start, _)| self.way.reach(side, start)), false)
    }
    /// The moment one step of this grain further, or back.
    pub fn neighbour(&self, grain: Grain, forward: bool) -> usize {
        if forward {
            self.way.next_of(self.at, grain)
        } else {
            self.way.previous_of(self.at, grain)
        }
    }
    /// The moment at so many percent of the way.
    pub fn percent(&self, percent: usize) -> usize {
        self.way.last() * percent / 100
    }
    /// The next moment where the device is asked for something else; where none follows, the first.
    pub fn next_difference(&self) -> Option<usize> {
        let next = |from| self.way.next_difference(from, Difference::DEVICE);
        next(self.at).or_else(|| next(0))
    }
    /// The moment before where the device is asked for something else; where there is none, the
    /// last such moment.
    pub fn previous_difference(&self) -> Option<usize> {
        let before = |from| self.way.previous_difference(from, Difference::DEVICE);
        before(self.at).or_else(|| before(usize::MAX))
    }
    /// The moment at which run A first sends what writeback took; the start if it never does.
    pub fn first_write(&self) -> usize {
        let Some(run) = self.runs.first() else { return 0 };
        let steps = run.timeline.recording().steps();
        let mut taken = false;
        let sent = steps.iter().position(|step| {
            taken |= step.rule == Rule::WritebackFolio;
            taken && step.rule == Rule::BioSubmitted
        });
        sent.map_or(0, |at| self.way.reach(0, at + 1))
    }

    /// The steps that led here, one a run; none for a run that waits, and at the start.
    pub fn steps(&self) -> Vec<Option<&Step>> {
        let moved = self.moment().moved;
        let runs = self.runs.iter().zip(moved);
        runs.map(|(run, moved)| run.timeline.current().filter(|_| moved)).collect()
    }
    /// Where this is, for a slider: `op 7 of 24, fdatasync, submit_bio`.
    pub fn place(&self) -> String {
        let Some(run) = self.runs.get(self.spoken) else { return String::new() };
        let (op, name) = run.op();
        let steps = self.steps();
        let step = steps.get(self.spoken).copied().flatten();
        let step = step.or_else(|| steps.into_iter().flatten().next());
        let function = step.map_or("before the first step", |step| step.rule.function());
        let place = format!("op {op} of {}, {name}, {function}", run.ops.len());
        if self.spoken == 0 { place } else { format!("{}: {place}", self.label(self.spoken)) }
    }
    /// Where each run is: `A 44 of 1 212`.
    pub fn positions(&self) -> String {
        let one = |(at, run): (usize, &Run)| {
            let (position, len) = (run.timeline.position(), run.timeline.len());
            format!("{} {position} of {len}", self.label(at)).trim().to_owned()
        };
        self.runs.iter().enumerate().map(one).collect::<Vec<_>>().join(" \u{b7} ")
    }
    /// What happened just now, for those who hear it: the result first, 160 characters at most.
    pub fn narration(&self) -> String {
        let said: Vec<Option<String>> = self
            .steps()
            .into_iter()
            .map(|step| step.map(|step| step.rule.sentence(step.args)))
            .collect();
        let words = match said.as_slice() {
            [Some(a), Some(b)] if a == b => a.clone(),
            [Some(a), Some(b)] => format!("A: {a}. B: {b}"),
            [Some(a), None] => format!("A: {a}. B waits"),
            [None, Some(b)] => format!("B: {b}. A waits"),
            [Some(one)] => one.clone(),
            _ => "Before the first step".to_owned(),
        };
        shorten(&format!("{words}. {}", self.place()), 160)
    }

    /// What each run sent to the device in all.
    pub fn summary(&self) -> String {
        let one = |(at, run): (usize, &Run)| {
            let sent = size(run.total.get(Counter::DeviceWritten));
            format!("{} sends {sent} to the device", self.label(at)).trim().to_owned()
        };
        self.runs.iter().enumerate().map(one).collect::<Vec<_>>().join(", ")
    }

    /// The runs as the picture takes them, without the words that their names share.
    pub fn sides(&self) -> Vec<Side<'_>> {
        let shared = match self.runs.as_slice() {
            [a, b] => shared_words(&a.name, &b.name),
            _ => 0,
        };
        let runs = self.runs.iter().enumerate();
        runs.map(|(at, Run { name, timeline, .. })| {
            let name = &name[shared..];
            Side { label: self.label(at), name, timeline }
        })
        .collect()
    }
    /// The runs with their whole names, as a picture takes them that stands alone.
    pub fn full_sides(&self, only: Option<usize>) -> Vec<Side<'_>> {
        let named = LABELS.iter().zip(&self.runs);
        let sides = named
            .map(|(label, Run { name, timeline, .. })| Side { label, name, timeline })
            .enumerate()
            .filter(|(at, _)| only.is_none_or(|only| only == *at));
        sides.map(|(_, side)| side).collect()
    }
    /// The runs that are looked at: both, or one alone.
    pub fn shown(&self, only: Option<usize>) -> Vec<Side<'_>> {
        let mut sides = self.sides();
        if let Some(only) = only.filter(|only| *only < sides.len()) {
            sides.swap(0, only);
            sides.truncate(1);
        }
        sides
    }
    /// What a remount would find of a file now, by run.
    pub fn left(&mut self, file: FileId, only: Option<usize>) -> Vec<Option<FileFate>> {
        let of = |run: &mut Run| {
            let (recording, position) = (run.timeline.recording(), run.timeline.position());
            run.surveys.at(recording, position).ok()?.file(file)
        };
        let shown = |at: &usize| only.is_none_or(|only| only == *at);
        let runs = self.runs.iter_mut().enumerate().filter(|(at, _)| shown(at));
        runs.map(|(_, run)| of(run)).collect()
    }
    /// What the whole of these runs needs of the picture; found once for each of the last few
    /// views.
    pub fn limits(&mut self, part: Part) -> Limits {
        if let Some((_, limits)) = self.limits.iter().find(|(other, _)| *other == part) {
            return limits.clone();
        }
        let Part { file, range, only, within } = part;
        if !self.needs.iter().any(|(of, alone, _)| (*of, *alone) == (file, only)) {
            let needs = Needs::of(&self.shown(only), file);
            self.needs.push((file, only, needs));
        }
        let needs = self.needs.iter().find(|(of, alone, _)| (*of, *alone) == (file, only));
        let (_, _, needs) = needs.expect("it was just found");
        let limits = match range {
            Some(range) if within => needs.within(range),
            range => needs.limits(range),
        };
        if self.limits.len() == VIEWS {
            self.limits.remove(0);
        }
        self.limits.push((part, limits.clone()));
        limits
    }
    /// What there is to see of a file: spans of bytes.
    pub fn spans(&mut self, file: FileId, only: Option<usize>) -> Vec<(u64, u64)> {
        self.limits(Part { file, range: None, only, within: false }).spans().to_vec()
    }
}

/// Bytes of the words that two names begin with, but for the last such word: `dirty per folio`
/// and `dirty per block` are told apart by `per folio` and `per block`.
fn shared_words(a: &str, b: &str) -> usize {
    let (mut shared, mut last) = (0, 0);
    for word in a.split_inclusive(' ').filter(|word| word.ends_with(' ')) {
        if !b[shared..].starts_with(word) {
            break;
        }
        last = shared;
        shared += word.len();
    }
    last
}

/// A text of at most `most` characters.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['\u{2026}']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson;

    #[test]
    fn the_lesson_opens_where_the_bios_leave_sixteen_to_one() {
        let (mut session, lesson) = lesson::open(lesson::FIRST);
        let at = lesson.told.stops[1].at;
        session.go(at);
        let bytes = |run: &Run| run.timeline().model().bios().map(|(_, bio)| bio.len().get()).sum();
        let sent: Vec<u64> = session.runs().iter().map(bytes).collect();
        assert_eq!(sent, [65_536, 4096]);
        assert_eq!(session.next_difference().map(|next| next > at), Some(true));
        assert!(session.place().starts_with("op 3 of 49, fdatasync"), "{}", session.place());
    }

    #[test]
    fn stepping_and_seeking_agree_and_narration_is_short() {
        let mut session = lesson::open(lesson::FIRST).0;
        let mut stepped = Vec::new();
        while session.at() < session.way().last() {
            session.go(session.neighbour(Grain::Delta, true));
            assert!(session.narration().chars().count() <= 160);
            stepped.push(session.runs()[0].now().clone());
        }
        for at in (1..=stepped.len()).rev() {
            session.go(at);
            assert_eq!(session.runs()[0].now(), &stepped[at - 1]);
        }
        session.go(usize::MAX);
        for run in session.runs() {
            assert_eq!(run.now(), run.total());
        }
        assert_eq!(session.runs()[1].now().get(Counter::CleanWritten), 0);
    }

    #[test]
    fn shared_words_are_whole_words() {
        assert_eq!(shared_words("dirty per folio", "dirty per block"), "dirty ".len());
        assert_eq!(shared_words("of a", "of b"), 0);
        assert_eq!(shared_words("linux-6.1", "linux-6.6"), 0);
        assert_eq!(shared_words("same", "same"), 0);
    }
}
