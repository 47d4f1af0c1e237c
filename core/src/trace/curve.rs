//! How amounts go over the common way of runs: the least and the greatest value of each of a fixed
//! number of stretches. One fold of each run gives all of them, in slices for a host that must not
//! wait; from then on a drawing, however wide, looks at no step.

use super::align::Alignment;
use super::amount::Amount;
use super::delta::{Delta, DeltaKind};
use super::model::Model;
use super::sum::Sum;
use super::timeline::Timeline;
use crate::counters::Counter;
use crate::gauges::Gauge;

/// Most stretches of a way.
const STRETCHES: usize = 2048;

/// An amount that can be drawn over the steps of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Bytes that the kernel of the run would call dirty.
    Dirty,
    /// Bytes of folios under writeback.
    Writeback,
    /// Bytes of folios in the cache.
    Cached,
    /// Bios on their way.
    Bios,
    /// Bytes sent though clean, so far.
    Wasted,
    /// Bytes that writes sent and that arrived, so far.
    Written,
    /// Bytes that reads brought, so far.
    Read,
    /// How long tasks have paused, so far.
    Paused,
}

impl Measure {
    /// Every measure.
    pub const ALL: [Self; 8] = [
        Self::Dirty,
        Self::Writeback,
        Self::Cached,
        Self::Bios,
        Self::Wasted,
        Self::Written,
        Self::Read,
        Self::Paused,
    ];
    /// The word in options.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Dirty => "dirty",
            Self::Writeback => "writeback",
            Self::Cached => "cached",
            Self::Bios => "bios",
            Self::Wasted => "wasted",
            Self::Written => "written",
            Self::Read => "read",
            Self::Paused => "pauses",
        }
    }
    /// The measure with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.word() == word)
    }
    /// What it is, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Dirty => "dirty",
            Self::Writeback => "in writeback",
            Self::Cached => "cached",
            Self::Bios => "bios in flight",
            Self::Wasted => "written though clean",
            Self::Written => "written to the device",
            Self::Read => "read from the device",
            Self::Paused => "tasks paused",
        }
    }
    /// The sum over folios that it is.
    const fn summed(self) -> Option<Amount> {
        match self {
            Self::Dirty => Some(Amount::Dirty),
            Self::Writeback => Some(Amount::Writeback),
            Self::Cached => Some(Amount::Cached),
            Self::Bios | Self::Wasted | Self::Written | Self::Read | Self::Paused => None,
        }
    }
    const fn counter(self) -> Option<Counter> {
        match self {
            Self::Wasted => Some(Counter::CleanWritten),
            Self::Written => Some(Counter::DeviceWritten),
            Self::Read => Some(Counter::DeviceRead),
            Self::Dirty | Self::Writeback | Self::Cached | Self::Bios | Self::Paused => None,
        }
    }
    /// Its value in a state.
    pub fn of(self, model: &Model) -> u64 {
        if let Some(amount) = self.summed() {
            return sum(model, amount).get();
        }
        match self.counter() {
            Some(counter) => model.counters().get(counter),
            None if self == Self::Bios => Amount::Bios.of(model),
            None => {
                let all = model.gauges().iter();
                all.filter(|((gauge, _), _)| *gauge == Gauge::TaskPaused).map(|(_, ms)| ms).sum()
            }
        }
    }
}

fn sum(model: &Model, amount: Amount) -> Sum {
    Sum::new(model, |folio| amount.of_folio(model, folio).unwrap_or(0))
}

/// What a measure was in a stretch of moments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// The least value.
    pub min: u64,
    /// The greatest value.
    pub max: u64,
    /// The value at its end.
    pub last: u64,
}

/// One run, up to where it was looked at.
#[derive(Debug)]
struct Course {
    model: Model,
    position: usize,
    sums: [(Amount, Sum); 3],
    now: [u64; Measure::ALL.len()],
    stretches: [Vec<Stretch>; Measure::ALL.len()],
}

impl Course {
    fn new(timeline: &Timeline) -> Self {
        let model = Model::new(timeline.header().geometry);
        let sums = [Amount::Dirty, Amount::Writeback, Amount::Cached]
            .map(|amount| (amount, sum(&model, amount)));
        let none = [const { Vec::new() }; Measure::ALL.len()];
        Self { model, position: 0, sums, now: [0; Measure::ALL.len()], stretches: none }
    }
    fn step(&mut self, timeline: &Timeline) {
        let deltas = timeline.recording().deltas(self.position);
        self.position += 1;
        if deltas.is_empty() {
            return;
        }
        let Self { model, sums, .. } = self;
        for (amount, sum) in sums.iter_mut() {
            sum.before(model, deltas, |folio| amount.of_folio(model, folio).unwrap_or(0));
        }
        for delta in deltas {
            model.apply(delta).expect("the trace was checked as a whole");
        }
        for (amount, sum) in sums.iter_mut() {
            sum.after(model, |folio| amount.of_folio(model, folio).unwrap_or(0));
        }
        self.measure(deltas);
    }
    fn measure(&mut self, deltas: &[Delta]) {
        let moved = |kind: &[DeltaKind]| deltas.iter().any(|delta| kind.contains(&delta.kind));
        let bios = moved(&[DeltaKind::BioState, DeltaKind::BioHead]);
        for (measure, now) in Measure::ALL.into_iter().zip(&mut self.now) {
            if let Some(amount) = measure.summed() {
                let kept = self.sums.iter().find(|(kept, _)| *kept == amount);
                *now = kept.map_or(0, |(_, sum)| sum.get());
            } else if measure.counter().is_some() || (measure == Measure::Bios && bios) {
                *now = measure.of(&self.model);
            }
        }
        if moved(&[DeltaKind::Gauge]) {
            let last = Measure::ALL.len() - 1;
            self.now[last] = Measure::ALL[last].of(&self.model);
        }
    }
    fn note(&mut self, column: usize) {
        for (stretches, now) in self.stretches.iter_mut().zip(self.now) {
            match stretches.get_mut(column) {
                Some(one) => {
                    *one = Stretch { min: one.min.min(now), max: one.max.max(now), last: now };
                }
                None => stretches.push(Stretch { min: now, max: now, last: now }),
            }
        }
    }
}

/// How every measure went in each run.
#[derive(Debug)]
pub struct Curves {
    courses: Vec<Course>,
    /// Moments that were looked at, the first among them.
    looked: usize,
    moments: usize,
    columns: usize,
}

impl Curves {
    /// Stands at the start of these runs.
    pub fn new(way: &Alignment, runs: &[&Timeline]) -> Self {
        let moments = way.moments().len();
        let courses = runs.iter().take(2).map(|timeline| Course::new(timeline)).collect();
        Self { courses, looked: 0, moments, columns: moments.min(STRETCHES) }
    }
    /// Goes on for so many moments; whether it has come to the end. The runs are those that it
    /// began with.
    pub fn advance(&mut self, way: &Alignment, runs: &[&Timeline], moments: usize) -> bool {
        let end = (self.looked + moments).min(self.moments);
        for at in self.looked..end {
            let (moved, column) = (way.moment(at).moved, self.column(at));
            for (side, (course, timeline)) in self.courses.iter_mut().zip(runs).enumerate() {
                if moved[side] {
                    course.step(timeline);
                }
                course.note(column);
            }
        }
        self.looked = end;
        self.done()
    }
    /// Whether every moment was looked at.
    pub const fn done(&self) -> bool {
        self.looked == self.moments
    }
    /// The stretch that a moment lies in.
    pub const fn column(&self, at: usize) -> usize {
        (at as u64 * self.columns as u64 / self.moments as u64) as usize
    }
    /// How many stretches there are.
    pub const fn columns(&self) -> usize {
        self.columns
    }
    /// Moments of all runs together.
    pub const fn moments(&self) -> usize {
        self.moments
    }
    /// How many runs there are.
    pub const fn runs(&self) -> usize {
        self.courses.len()
    }
    /// How a measure went in a run, as far as it was looked at; every stretch is as long, but for
    /// rounding.
    pub fn of(&self, run: usize, measure: Measure) -> &[Stretch] {
        &self.courses[run].stretches[measure as usize]
    }
    /// Runs change places.
    pub fn swap(&mut self) {
        self.courses.reverse();
    }
}
