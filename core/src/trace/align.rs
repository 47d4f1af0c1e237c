//! Two runs side by side: which step of one answers which step of the other.
//!
//! Steps belong together by cause: the operation they serve, then the kind of their rule and how
//! often it fired before in that operation. A step without a counterpart is a gap in the other
//! run. It knows nothing about why a run was recorded; a single run is the case without a partner.

use super::rule::Rule;
use super::step::{Grain, Step};
use super::timeline::Recording;
use crate::sort::sort;
use crate::units::{OpId, SECTOR_SIZE};

/// How much a difference between two runs means, the most first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Difference {
    /// An application is told something else, or bytes are lost.
    Content,
    /// What must hold is broken in one of them.
    Invariant,
    /// The device gets or gives other bytes, or makes them durable at another time.
    Bytes,
    /// It gets the same bytes in other bios or requests.
    Bio,
    /// The kernel takes another way.
    Function,
}

impl Difference {
    /// Every rank, the first means most.
    pub const ALL: [Self; 5] =
        [Self::Content, Self::Invariant, Self::Bytes, Self::Bio, Self::Function];
    /// The least one that reaches the device.
    pub const DEVICE: Self = Self::Bio;
    /// Whether it reaches the device, or means more than that.
    pub fn reaches_device(self) -> bool {
        self <= Self::DEVICE
    }
    /// What differs, in a word or two.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Invariant => "invariant",
            Self::Bytes => "device bytes",
            Self::Bio => "bios",
            Self::Function => "functions",
        }
    }
}

/// A stop on the common way: how many steps of each run have been applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    positions: [u32; 2],
    /// Which runs moved to get here.
    pub moved: [bool; 2],
    /// The coarsest grain of the steps that led here.
    pub grain: Grain,
    /// How the steps that led here differ.
    pub difference: Option<Difference>,
}

impl Moment {
    const START: Self =
        Self { positions: [0, 0], moved: [false, false], grain: Grain::Op, difference: None };
    /// Steps applied of run `side`: 0 for A, 1 for B.
    pub const fn position(&self, side: usize) -> usize {
        self.positions[side] as usize
    }
    /// Whether only one of two runs moved.
    pub const fn is_gap(&self) -> bool {
        self.moved[0] != self.moved[1]
    }
}

/// The common way of one or two runs. There is always a first moment, where nothing happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alignment(Vec<Moment>);

impl Alignment {
    /// The way through some runs, of which the first two count.
    pub fn of(runs: &[&Recording]) -> Self {
        match runs {
            [] => Self::single(&Recording::default()),
            [one] => Self::single(one),
            [a, b, ..] => Self::pair(a, b),
        }
    }
    /// The way of one run: one moment a step.
    fn single(run: &Recording) -> Self {
        let mut way = Way::default();
        for at in 0..run.len() {
            way.take(Some(run.step(at)), None, None);
            way.moments[at + 1].difference = None;
        }
        Self(way.moments)
    }
    /// The common way of two runs.
    fn pair(a: &Recording, b: &Recording) -> Self {
        let mut way = Way::default();
        let (mut at, mut bt) = (0, 0);
        while at < a.len() || bt < b.len() {
            let op = next_op(a, at, b, bt);
            let (a_end, b_end) = (end_of(a, at, op), end_of(b, bt, op));
            way.merge(&a.steps()[at..a_end], &b.steps()[bt..b_end]);
            (at, bt) = (a_end, b_end);
        }
        Self(way.moments)
    }
    /// Every moment; never empty.
    pub fn moments(&self) -> &[Moment] {
        &self.0
    }
    /// Index of the last moment.
    pub fn last(&self) -> usize {
        self.0.len() - 1
    }
    /// The moment with this index, or the last one.
    pub fn moment(&self, at: usize) -> Moment {
        self.0[at.min(self.last())]
    }
    /// The next moment behind `from` that is at least as coarse as `grain`; the last one if there
    /// is none.
    pub fn next_of(&self, from: usize, grain: Grain) -> usize {
        let later = from.saturating_add(1)..self.0.len();
        later.into_iter().find(|at| self.0[*at].grain <= grain).unwrap_or(self.last())
    }
    /// The next moment before `from` that is at least as coarse as `grain`; the first one if there
    /// is none.
    pub fn previous_of(&self, from: usize, grain: Grain) -> usize {
        (1..from.min(self.0.len())).rev().find(|at| self.0[*at].grain <= grain).unwrap_or(0)
    }
    /// The first moment where the runs differ, however little.
    pub fn first_difference(&self) -> Option<usize> {
        self.0.iter().position(|moment| moment.difference.is_some())
    }
    /// The next moment behind `from` with a difference that reaches as far as `difference`.
    pub fn next_difference(&self, from: usize, difference: Difference) -> Option<usize> {
        let reaches = |at: &usize| self.0[*at].difference.is_some_and(|d| d <= difference);
        (from.saturating_add(1)..self.0.len()).find(reaches)
    }
    /// The nearest moment before `from` with a difference that reaches as far as `difference`.
    pub fn previous_difference(&self, from: usize, difference: Difference) -> Option<usize> {
        let reaches = |at: &usize| self.0[*at].difference.is_some_and(|d| d <= difference);
        (0..from.min(self.0.len())).rev().find(reaches)
    }
    /// Every moment where the runs differ, however little.
    pub fn differences(&self) -> impl Iterator<Item = usize> {
        let moments = self.0.iter().enumerate();
        moments.filter(|(_, moment)| moment.difference.is_some()).map(|(at, _)| at)
    }
    /// The same way with the runs in each other's place.
    pub fn swap(&mut self) {
        for moment in &mut self.0 {
            moment.positions.reverse();
            moment.moved.reverse();
        }
    }
    /// The first moment by which run `side` has applied `position` steps.
    pub fn reach(&self, side: usize, position: usize) -> usize {
        self.0.partition_point(|moment| moment.position(side) < position).min(self.last())
    }
}

/// What a step is there for: rules that answer the same question in two kernels are of one kind.
const fn kind(rule: Rule) -> u16 {
    if matches!(rule, Rule::UptodateRun) { Rule::DirtyRun.code() } else { rule.code() }
}

/// What a difference in this rule means; of a bio that its bytes are the same.
const fn rank(rule: Rule) -> Difference {
    if matches!(rule, Rule::OpEnds | Rule::BlocksDamaged | Rule::PowerCut) {
        Difference::Content
    } else if matches!(rule, Rule::InvariantBroken) {
        Difference::Invariant
    } else if matches!(rule, Rule::FlushSent) {
        Difference::Bytes
    } else if matches!(rule, Rule::BioSubmitted | Rule::BioCompleted | Rule::RequestIssued) {
        Difference::Bio
    } else {
        Difference::Function
    }
}

/// Sectors that one run moves more often than the other in an operation: by first sector, how much
/// more often from there on.
struct Uneven(Vec<(u64, i64)>);

impl Uneven {
    fn of(a: &[Step], b: &[Step]) -> Self {
        let mut edges: Vec<(u64, i64)> = Vec::new();
        for (steps, sign) in [(a, 1), (b, -1)] {
            for step in steps.iter().filter(|step| step.rule == Rule::BioSubmitted) {
                let (start, end) = sectors(step);
                edges.extend([(start, sign), (end, -sign)]);
            }
        }
        sort(&mut edges);
        let mut found: Vec<(u64, i64)> = Vec::new();
        let mut more = 0;
        for (at, change) in edges {
            more += change;
            match found.last_mut() {
                Some(last) if last.0 == at => last.1 = more,
                _ => found.push((at, more)),
            }
        }
        Self(found)
    }
    /// Whether a bio moves one of them.
    fn holds(&self, step: &Step) -> bool {
        let (start, end) = sectors(step);
        let first = self.0.partition_point(|edge| edge.0 <= start).saturating_sub(1);
        let within = self.0[first..].iter().take_while(|edge| edge.0 < end);
        within.into_iter().any(|edge| edge.1 != 0)
    }
}

/// The sectors of a bio that is submitted: the first, and the first behind them.
fn sectors(step: &Step) -> (u64, u64) {
    let [_, start, len, _] = step.args;
    let start = start / SECTOR_SIZE;
    (start, start.saturating_add(len.div_ceil(SECTOR_SIZE)))
}

/// The operation whose steps come next: that of the run which is behind.
fn next_op(a: &Recording, at: usize, b: &Recording, bt: usize) -> Option<OpId> {
    let op = |run: &Recording, at: usize| run.steps().get(at).map(|step| step.op);
    match (op(a, at), op(b, bt)) {
        (Some(a), Some(b)) => a.min(b),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => None,
    }
}

/// Where the steps of this operation that begin at `from` end. Background work belongs to the
/// operation before it.
fn end_of(run: &Recording, from: usize, op: Option<OpId>) -> usize {
    let rest = &run.steps()[from..];
    from + rest.iter().take_while(|step| step.op == op || step.op.is_none()).count()
}

type Key = (u16, u32);

fn keys(steps: &[Step]) -> Vec<Key> {
    let mut seen: Vec<Key> = Vec::new();
    let mut key = |step: &Step| {
        let kind = kind(step.rule);
        let at = seen.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
            seen.push((kind, 0));
            seen.len() - 1
        });
        seen[at].1 += 1;
        seen[at]
    };
    steps.iter().map(&mut key).collect()
}

struct Way {
    moments: Vec<Moment>,
}

impl Default for Way {
    fn default() -> Self {
        Self { moments: vec![Moment::START] }
    }
}

impl Way {
    /// The steps of one operation in both runs. A step waits in its run until its counterpart
    /// comes, unless both would wait: then the nearer one is let go.
    fn merge(&mut self, a: &[Step], b: &[Step]) {
        let (a_keys, b_keys) = (keys(a), keys(b));
        let index = |keys: &[Key]| -> Vec<(Key, usize)> {
            let mut index: Vec<_> = keys.iter().copied().zip(0..).collect();
            sort(&mut index);
            index
        };
        let (in_a, in_b) = (index(&a_keys), index(&b_keys));
        let uneven = Uneven::of(a, b);
        let uneven = Some(&uneven);
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let (one, two) = (a.get(i), b.get(j));
            if one.is_some() && two.is_some() && a_keys[i] == b_keys[j] {
                self.take(one, two, uneven);
                (i, j) = (i + 1, j + 1);
                continue;
            }
            // How far ahead the counterpart of each lies in the other run; none = there is none.
            let ahead = |index: &[(Key, usize)], key: &Key, from: usize| {
                let at = index.binary_search_by_key(key, |(key, _)| *key).ok()?;
                index[at].1.checked_sub(from)
            };
            let a_waits = one.and_then(|_| ahead(&in_b, &a_keys[i], j));
            let b_waits = two.and_then(|_| ahead(&in_a, &b_keys[j], i));
            let a_goes = match (a_waits, b_waits) {
                (None, _) => one.is_some(),
                (Some(_), None) => two.is_none(),
                (Some(a), Some(b)) => b <= a,
            };
            if a_goes {
                self.take(one, None, uneven);
                i += 1;
            } else {
                self.take(None, two, uneven);
                j += 1;
            }
        }
    }
    fn take(&mut self, a: Option<&Step>, b: Option<&Step>, uneven: Option<&Uneven>) {
        let before = self.moments.last().expect("there is a first one").positions;
        let steps = [a, b];
        let moved = steps.map(|step| step.is_some());
        let grains = steps.into_iter().flatten().map(|step| step.rule.grain());
        let differs = a.map(|step| (step.rule, step.args)) != b.map(|step| (step.rule, step.args));
        let others = |step: &&Step| {
            step.rule == Rule::BioSubmitted && uneven.is_some_and(|uneven| uneven.holds(step))
        };
        let mut how = steps.into_iter().flatten().map(|step| rank(step.rule)).min();
        if steps.into_iter().flatten().any(|step| others(&step)) {
            how = how.min(Some(Difference::Bytes));
        }
        self.moments.push(Moment {
            positions: [0, 1].map(|side: usize| before[side] + u32::from(moved[side])),
            moved,
            grain: grains.min().unwrap_or(Grain::Delta),
            difference: how.filter(|_| differs),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::step::Context;
    use crate::units::{TaskId, Time};
    use proptest::prelude::*;

    fn recording(steps: &[(u32, Rule, u64)]) -> Recording {
        let mut recording = Recording::default();
        for (op, rule, arg) in steps {
            let step = Step {
                time: Time::new(recording.len() as u64),
                task: TaskId::new(1),
                op: Some(OpId::new(*op)),
                context: Context::Task,
                rule: *rule,
                args: [*arg, 0, 0, 0],
            };
            recording.push(step, &[]);
        }
        recording
    }
    fn positions(way: &Alignment) -> Vec<(usize, usize)> {
        way.moments().iter().map(|moment| (moment.position(0), moment.position(1))).collect()
    }

    #[test]
    fn equal_runs_go_in_step_and_never_differ() {
        let a = recording(&[(0, Rule::OpStarts, 1), (0, Rule::Copied, 2), (0, Rule::OpEnds, 3)]);
        let way = Alignment::pair(&a, &a);
        assert_eq!(positions(&way), [(0, 0), (1, 1), (2, 2), (3, 3)]);
        assert_eq!(way.first_difference(), None);
        assert_eq!(way.next_of(0, Grain::Op), 1);
        assert_eq!(way.next_of(1, Grain::Op), 3);
        assert_eq!(way.previous_of(3, Grain::Op), 1);
        assert_eq!(way.previous_of(1, Grain::Op), 0);
    }

    #[test]
    fn a_step_without_counterpart_is_a_gap_and_the_runs_meet_again() {
        let a = recording(&[
            (0, Rule::OpStarts, 1),
            (0, Rule::UptodateRun, 16),
            (0, Rule::BioSubmitted, 16),
            (0, Rule::OpEnds, 0),
            (1, Rule::OpStarts, 1),
        ]);
        let b = recording(&[
            (0, Rule::OpStarts, 1),
            (0, Rule::StateAllocated, 16),
            (0, Rule::DirtyRun, 1),
            (0, Rule::BioSubmitted, 1),
            (0, Rule::OpEnds, 0),
            (1, Rule::OpStarts, 1),
        ]);
        let way = Alignment::pair(&a, &b);
        assert_eq!(positions(&way), [(0, 0), (1, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]);
        assert!(way.moment(2).is_gap() && !way.moment(3).is_gap());
        assert_eq!(way.first_difference(), Some(2));
        assert_eq!(way.next_difference(0, Difference::DEVICE), Some(4));
        assert_eq!(way.next_difference(4, Difference::Function), None);
        assert_eq!(way.reach(1, 2), 2);
        assert_eq!(way.reach(0, 99), way.last());
    }

    #[test]
    fn swapped_runs_differ_where_they_did() {
        let a = recording(&[(0, Rule::OpStarts, 1), (0, Rule::BioSubmitted, 2)]);
        let b =
            recording(&[(0, Rule::OpStarts, 1), (0, Rule::Copied, 2), (0, Rule::BioSubmitted, 3)]);
        let way = Alignment::pair(&a, &b);
        let mut swapped = way.clone();
        swapped.swap();
        for (one, other) in way.moments().iter().zip(swapped.moments()) {
            assert_eq!((one.position(0), one.position(1)), (other.position(1), other.position(0)));
            assert_eq!((one.moved[0], one.difference), (other.moved[1], other.difference));
        }
        let all: Vec<usize> = way.differences().collect();
        assert_eq!(all, [2, 3]);
        assert_eq!(way.previous_difference(usize::MAX, Difference::DEVICE), Some(3));
        assert_eq!(way.previous_difference(3, Difference::Function), Some(2));
        assert_eq!(way.previous_difference(2, Difference::Function), None);
        swapped.swap();
        assert_eq!(swapped, way);
    }

    /// Steps of one operation: a bio with its first sector and how many, or another rule.
    fn sent(steps: &[(Rule, u64, u64)]) -> Recording {
        let mut recording = Recording::default();
        for (rule, start, len) in steps {
            let sent = [0, start * SECTOR_SIZE, len * SECTOR_SIZE, 0];
            let args = if *rule == Rule::BioSubmitted { sent } else { [*start, *len, 0, 0] };
            let mut one = self::recording(&[(0, *rule, 0)]).step(0).to_owned();
            one.args = args;
            recording.push(one, &[]);
        }
        recording
    }

    #[test]
    fn a_difference_has_the_rank_of_what_it_reaches() {
        use Rule::{BioSubmitted, Copied, FlushSent, InvariantBroken, OpEnds};
        let ranks = |a: &[(Rule, u64, u64)], b: &[(Rule, u64, u64)]| {
            let way = Alignment::pair(&sent(a), &sent(b));
            let all: Vec<Difference> =
                way.moments().iter().filter_map(|moment| moment.difference).collect();
            all
        };
        assert_eq!(ranks(&[(Copied, 1, 0)], &[(Copied, 2, 0)]), [Difference::Function]);
        assert_eq!(ranks(&[(OpEnds, 1, 0)], &[(OpEnds, 2, 0)]), [Difference::Content]);
        assert_eq!(ranks(&[(InvariantBroken, 1, 0)], &[]), [Difference::Invariant]);
        assert_eq!(ranks(&[(FlushSent, 0, 0)], &[]), [Difference::Bytes]);
        // The same sectors, cut elsewhere.
        let (one, two) = ([(BioSubmitted, 0, 16)], [(BioSubmitted, 0, 8), (BioSubmitted, 8, 8)]);
        assert_eq!(ranks(&one, &two), [Difference::Bio; 2]);
        // One sector twice; other sectors beside the same.
        let twice = [(BioSubmitted, 0, 9), (BioSubmitted, 8, 8)];
        assert_eq!(ranks(&one, &twice), [Difference::Bytes; 2]);
        let more = [(BioSubmitted, 0, 16), (BioSubmitted, 64, 8)];
        assert_eq!(ranks(&one, &more), [Difference::Bytes]);
        assert!(Difference::Content < Difference::DEVICE && !Difference::Function.reaches_device());
    }

    #[test]
    fn one_run_alone_has_a_moment_a_step() {
        let a = recording(&[(0, Rule::OpStarts, 1), (0, Rule::OpEnds, 3)]);
        let way = Alignment::single(&a);
        assert_eq!(positions(&way), [(0, 0), (1, 0), (2, 0)]);
        assert_eq!(way.first_difference(), None);
        assert_eq!(Alignment::single(&Recording::default()).last(), 0);
    }

    fn scripts() -> impl Strategy<Value = Vec<(u32, Rule, u64)>> {
        let rules = [Rule::OpStarts, Rule::Copied, Rule::DirtyRun, Rule::BioSubmitted];
        let step = (0..2_u32, prop::sample::select(rules.to_vec()), 0..2_u64);
        prop::collection::vec(step, 0..24)
    }

    proptest! {
        #[test]
        fn every_step_of_both_runs_is_met_once_and_in_order(a in scripts(), b in scripts()) {
            let way = Alignment::pair(&recording(&a), &recording(&b));
            for two in way.moments().windows(2) {
                for side in [0, 1] {
                    let taken = two[1].position(side) - two[0].position(side);
                    prop_assert_eq!(taken, usize::from(two[1].moved[side]));
                }
                prop_assert!(two[1].moved != [false, false]);
            }
            let last = way.moment(way.last());
            prop_assert_eq!((last.position(0), last.position(1)), (a.len(), b.len()));
        }
        #[test]
        fn a_run_beside_itself_never_differs(a in scripts()) {
            let run = recording(&a);
            prop_assert_eq!(Alignment::pair(&run, &run).first_difference(), None);
        }
    }
}
