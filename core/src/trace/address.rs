//! Where a step is, in words that survive corrections of the engine: an operation, a rule, and how
//! often that rule fired in it. Step numbers do not.

use super::rule::Rule;
use super::timeline::Recording;

/// A position of a run: after a step of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Address {
    /// Operations that have started; 0 = before the first.
    pub op: u32,
    /// The rule of the step; none = where nothing of the operation has happened yet.
    pub rule: Option<Rule>,
    /// Which of its steps in the operation, from 1.
    pub nth: u32,
}

/// The positions at which the operations of a run have started, ascending.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Ops(Vec<usize>);

impl Ops {
    /// The operations of a recording.
    pub fn of(recording: &Recording) -> Self {
        let steps = recording.steps().iter().enumerate();
        Self(steps.filter(|(_, step)| step.rule.starts_op()).map(|(at, _)| at + 1).collect())
    }
    /// How many there are.
    pub const fn len(&self) -> usize {
        self.0.len()
    }
    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// How many have started at a position.
    pub fn started(&self, position: usize) -> usize {
        self.0.partition_point(|start| *start <= position)
    }
    /// The positions between which an operation runs: before its first step, and before the first
    /// of the next one. Number 0 is what comes before the first.
    pub fn span(&self, recording: &Recording, op: usize) -> Option<(usize, usize)> {
        let start = match op.checked_sub(1) {
            Some(before) => self.0.get(before)? - 1,
            None => 0,
        };
        Some((start, self.0.get(op).map_or(recording.len(), |next| next - 1)))
    }
    /// The address of a position.
    pub fn address(&self, recording: &Recording, position: usize) -> Address {
        let position = position.min(recording.len());
        let op = self.started(position);
        let start = self.span(recording, op).map_or(0, |span| span.0);
        let steps = &recording.steps()[start..position];
        let rule = steps.last().map(|step| step.rule);
        let nth = steps.iter().filter(|step| Some(step.rule) == rule).count();
        Address { op: op as u32, rule, nth: if rule.is_some() { nth as u32 } else { 0 } }
    }
    /// The position of an address; none where the run has no such step.
    pub fn find(&self, recording: &Recording, address: Address) -> Option<usize> {
        let (start, end) = self.span(recording, address.op as usize)?;
        let Some(rule) = address.rule else { return Some(start) };
        let steps = (start..).zip(&recording.steps()[start..end]);
        let mut fits = steps.filter(|(_, step)| step.rule == rule);
        fits.nth(address.nth.checked_sub(1)? as usize).map(|(at, _)| at + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::step::{Context, Step};
    use crate::units::{TaskId, Time};

    fn recording(rules: &[Rule]) -> Recording {
        let mut recording = Recording::default();
        for rule in rules {
            let step = Step {
                time: Time::ZERO,
                task: TaskId::new(1),
                op: None,
                context: Context::Task,
                rule: *rule,
                args: [0; 4],
            };
            recording.push(step, &[]);
        }
        recording
    }

    #[test]
    fn every_position_has_an_address_that_leads_back() {
        let (starts, bio, ends) = (Rule::OpStarts, Rule::BioSubmitted, Rule::OpEnds);
        let run = recording(&[Rule::FileOpened, starts, bio, bio, ends, starts, bio, ends]);
        let ops = Ops::of(&run);
        assert_eq!(ops.len(), 2);
        for position in 0..=run.len() {
            let address = ops.address(&run, position);
            assert_eq!(ops.find(&run, address), Some(position), "{address:?}");
        }
        let third = Address { op: 1, rule: Some(bio), nth: 3 };
        assert_eq!(ops.find(&run, third), None);
        assert_eq!(ops.find(&run, Address { op: 3, rule: None, nth: 0 }), None);
    }
}
