//! Making a stream that goes wrong shorter: operations are taken out as long as it still does.

use super::check::Failure;
use super::{Step, put_steps, steps_of};
use crate::engine::{ReadFlags, WriteFlags};
use crate::scenario::{Action, Scenario, ScenarioOp};
use crate::units::{Bytes, FileRange};

/// The shortest scenario that was found, and how it goes wrong. `fails` runs one and says how it
/// went wrong.
pub fn shrink(
    mut scenario: Scenario,
    mut failure: Failure,
    mut fails: impl FnMut(&Scenario) -> Option<Failure>,
) -> (Scenario, Failure) {
    let mut steps = steps_of(&scenario);
    let mut attempt = |steps: &mut Vec<Step>, failure: &mut Failure, fewer: Vec<Step>| {
        put_steps(&mut scenario, &fewer);
        let Some(found) = fails(&scenario) else { return false };
        *steps = fewer;
        // What comes after the failure says nothing.
        steps.truncate(found.at + 1);
        *failure = found;
        true
    };
    let first = steps[..(failure.at + 1).min(steps.len())].to_vec();
    attempt(&mut steps, &mut failure, first);
    loop {
        let before = steps.clone();
        let mut part = steps.len().div_ceil(2);
        while part > 0 {
            let mut at = 0;
            while at < steps.len() {
                let mut fewer = steps.clone();
                fewer.drain(at..(at + part).min(fewer.len()));
                if !attempt(&mut steps, &mut failure, fewer) {
                    at += part;
                }
            }
            part /= 2;
        }
        let mut at = 0;
        while at < steps.len() {
            for one in simpler(&steps[at]) {
                let mut other = steps.clone();
                if let Some(place) = other.get_mut(at) {
                    *place = one;
                    attempt(&mut steps, &mut failure, other);
                }
            }
            at += 1;
        }
        if steps == before {
            put_steps(&mut scenario, &steps);
            return (scenario, failure);
        }
    }
}

/// The same operation, made simpler in one way each.
fn simpler(step: &Step) -> Vec<Step> {
    let mut all = Vec::new();
    if !step.faults.is_empty() {
        all.push(Step { op: step.op, faults: Vec::new() });
    }
    let mut with = |action| {
        let faults = step.faults.clone();
        all.push(Step { op: ScenarioOp { action, ..step.op }, faults });
    };
    match step.op.action {
        Action::Pwrite { range, byte, flags } => {
            if flags != WriteFlags::default() {
                with(Action::Pwrite { range, byte, flags: WriteFlags::default() });
            }
            shorter(range).for_each(|range| with(Action::Pwrite { range, byte, flags }));
        }
        Action::Pread { range, flags } => {
            if flags != ReadFlags::default() {
                with(Action::Pread { range, flags: ReadFlags::default() });
            }
            shorter(range).for_each(|range| with(Action::Pread { range, flags }));
        }
        Action::MmapStore { range, byte } => {
            shorter(range).for_each(|range| with(Action::MmapStore { range, byte }));
        }
        Action::MmapLoad(range) => shorter(range).for_each(|range| with(Action::MmapLoad(range))),
        Action::Syncfs | Action::Fdatasync | Action::Msync(_) | Action::SyncRange(..) => {
            with(Action::Fsync);
        }
        Action::Fsync
        | Action::Fadvise(..)
        | Action::Reclaim(_)
        | Action::Truncate(_)
        | Action::Fallocate(..)
        | Action::Reflink { .. }
        | Action::PowerCut(_)
        | Action::Array(_)
        | Action::Sleep(_)
        | Action::Seek { .. } => {}
    }
    all
}

/// Halves of a range.
fn shorter(range: FileRange) -> impl Iterator<Item = FileRange> {
    let half = Bytes::new(range.len().get() / 2);
    let middle = range.start() + half;
    let halves =
        [FileRange::between(range.start(), middle), FileRange::between(middle, range.end())];
    halves.into_iter().filter(move |_| !half.is_zero())
}
