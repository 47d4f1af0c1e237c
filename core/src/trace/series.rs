//! How gauges went over a run: a value for every moment, told by few points.
//!
//! One pass over the changes, which looks at a step only where a gauge changed, gives all gauges
//! that are asked for.

use super::delta::DeltaKind;
use super::timeline::Recording;
use crate::gauges::GaugeKey;
use crate::sort::sort;
use crate::units::Time;

/// What a gauge was in a stretch of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// Where the stretch begins.
    pub start: Time,
    /// The least value in it.
    pub min: u64,
    /// The greatest value in it.
    pub max: u64,
    /// The value at its end.
    pub last: u64,
}

/// How one gauge went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Series {
    /// Which gauge, and which device or task it is of.
    pub key: GaugeKey,
    /// Stretches of equal length, from the start of the run to its end.
    pub points: Vec<Point>,
}

impl Series {
    /// The greatest value.
    pub fn max(&self) -> u64 {
        self.points.iter().map(|point| point.max).max().unwrap_or(0)
    }
    /// The value at the end of the run.
    pub fn last(&self) -> u64 {
        self.points.last().map_or(0, |point| point.last)
    }
}

/// Gauges that ever changed in a run, ascending.
pub fn gauges_of(recording: &Recording) -> Vec<GaugeKey> {
    let mut found = Vec::new();
    each_change(recording, |_, key, _| {
        if !found.contains(&key) {
            found.push(key);
        }
    });
    sort(&mut found);
    found
}

/// How these gauges went, each in `count` stretches of equal length (fewer in a run that is shorter
/// than so many nanoseconds).
pub fn series(recording: &Recording, keys: &[GaugeKey], count: usize) -> Vec<Series> {
    let end = recording.steps().last().map_or(0, |step| step.time.get());
    let count = (count.max(1) as u64).min(end.max(1));
    let bucket = |time: u64| (u128::from(time) * u128::from(count) / u128::from(end + 1)) as usize;
    let start = |at: u64| {
        // The first moment that falls into the stretch.
        Time::new((u128::from(at) * u128::from(end + 1)).div_ceil(u128::from(count)) as u64)
    };
    let nothing = |at| Point { start: start(at), min: 0, max: 0, last: 0 };
    let mut all: Vec<Series> = keys
        .iter()
        .map(|key| Series { key: *key, points: (0..count).map(nothing).collect() })
        .collect();
    // Stretches before this one are told.
    let mut told = vec![0; keys.len()];
    each_change(recording, |time, key, value| {
        let Some(which) = keys.iter().position(|wanted| *wanted == key) else { return };
        let points = &mut all[which].points;
        let at = bucket(time.get());
        carry(points, &mut told[which], at);
        let point = &mut points[at];
        point.min = point.min.min(value);
        point.max = point.max.max(value);
        point.last = value;
    });
    for (series, told) in all.iter_mut().zip(&mut told) {
        let last = series.points.len() - 1;
        carry(&mut series.points, told, last);
    }
    all
}

/// Where nothing changed the value stays: from the last stretch that is told up to `to`.
fn carry(points: &mut [Point], told: &mut usize, to: usize) {
    let value = points[*told].last;
    for point in &mut points[(*told + 1).min(to + 1)..=to] {
        *point = Point { min: value, max: value, last: value, ..*point };
    }
    *told = to;
}

/// Every change of a gauge: when, which, and its value then.
fn each_change(recording: &Recording, mut tell: impl FnMut(Time, GaugeKey, u64)) {
    for at in 0..recording.len() {
        for delta in recording.deltas(at) {
            if delta.kind == DeltaKind::Gauge
                && let Some(gauge) = crate::gauges::Gauge::from_code(delta.object)
            {
                tell(recording.step(at).time, (gauge, delta.aux), delta.new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gauges::Gauge;
    use crate::trace::delta::Delta;
    use crate::trace::rule::Rule;
    use crate::trace::step::{Context, Step};
    use crate::units::TaskId;
    use proptest::prelude::*;

    /// A run in which a gauge gets these values at these times.
    fn recording(changes: &[(u64, u64)], end: u64) -> Recording {
        let mut out = Recording::default();
        let mut old = 0;
        let step = |time| Step {
            time: Time::new(time),
            task: TaskId::new(0),
            op: None,
            context: Context::Task,
            rule: Rule::Retired,
            args: [0; 4],
        };
        for (time, value) in changes {
            let kind = DeltaKind::Gauge;
            let object = Gauge::Dirty.code();
            out.push(step(*time), &[Delta { kind, object, aux: 0, old, new: *value }]);
            old = *value;
        }
        out.push(step(end), &[]);
        out
    }

    #[test]
    fn a_stretch_knows_least_greatest_and_last() {
        let run = recording(&[(0, 5), (10, 9), (12, 1), (35, 7)], 39);
        let all = series(&run, &[(Gauge::Dirty, 0), (Gauge::Writeback, 0)], 4);
        let found: Vec<[u64; 4]> =
            all[0].points.iter().map(|p| [p.start.get(), p.min, p.max, p.last]).collect();
        assert_eq!(found, [[0, 0, 5, 5], [10, 1, 9, 1], [20, 1, 1, 1], [30, 1, 7, 7]]);
        assert!(all[1].points.iter().all(|point| point.max == 0));
        assert_eq!((all[0].max(), all[0].last()), (9, 7));
        assert_eq!(gauges_of(&run), [(Gauge::Dirty, 0)]);
        assert_eq!(series(&Recording::default(), &[(Gauge::Dirty, 0)], 4)[0].points.len(), 1);
    }

    proptest! {
        #[test]
        fn every_value_lies_between_the_bounds_of_its_stretch(
            mut changes in prop::collection::vec((0u64..1000, 0u64..50), 0..40),
            count in 1usize..80,
        ) {
            changes.sort_unstable_by_key(|change| change.0);
            let run = recording(&changes, 1000);
            let points = &series(&run, &[(Gauge::Dirty, 0)], count)[0].points;
            let value = |time: u64| {
                changes.iter().take_while(|change| change.0 <= time).last().map_or(0, |c| c.1)
            };
            for time in 0..=1000 {
                let at = points.iter().rposition(|p| p.start.get() <= time).expect("from 0 on");
                prop_assert!((points[at].min..=points[at].max).contains(&value(time)));
            }
            prop_assert_eq!(points[points.len() - 1].last, value(1000));
        }
    }
}
