//! A recorded run that can be stepped both ways and sought.
//!
//! Steps and deltas lie in two flat lists. Every [`KEYFRAME_EVERY`] steps the whole state is kept,
//! so that seeking costs at most half that many steps from the nearest one.

use super::delta::Delta;
use super::header::Header;
use super::model::{Mismatch, Model};
use super::step::{Grain, Step};

/// Steps between two keyframes.
pub const KEYFRAME_EVERY: usize = 4096;

/// The steps of a run with their changes, as a sink collects them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Recording {
    steps: Vec<Step>,
    deltas: Vec<Delta>,
    /// Where the deltas of each step end.
    ends: Vec<usize>,
}

impl Recording {
    /// Adds a step.
    pub fn push(&mut self, step: Step, deltas: &[Delta]) {
        self.steps.push(step);
        self.deltas.extend_from_slice(deltas);
        self.ends.push(self.deltas.len());
    }
    /// Number of steps.
    pub const fn len(&self) -> usize {
        self.steps.len()
    }
    /// Whether there is no step.
    pub const fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
    /// A step; steps are numbered from 0.
    pub fn step(&self, at: usize) -> &Step {
        &self.steps[at]
    }
    /// Every step, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
    /// The changes of a step, in order.
    pub fn deltas(&self, at: usize) -> &[Delta] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.deltas[start..self.ends[at]]
    }
}

/// A recorded run with a position in it: `position` steps have been applied.
#[derive(Clone, Debug)]
pub struct Timeline {
    header: Header,
    recording: Recording,
    keyframes: Vec<(usize, Model)>,
    position: usize,
    model: Model,
}

impl Timeline {
    /// Replays the recording once to check it and to keep keyframes; stands at the start.
    pub fn new(header: Header, recording: Recording) -> Result<Self, (usize, Mismatch)> {
        let mut model = Model::new(header.geometry);
        let mut keyframes = vec![(0, model.clone())];
        for at in 0..recording.len() {
            for delta in recording.deltas(at) {
                model.apply(delta).map_err(|mismatch| (at, mismatch))?;
            }
            if (at + 1) % KEYFRAME_EVERY == 0 {
                keyframes.push((at + 1, model.clone()));
            }
        }
        let model = Model::new(header.geometry);
        Ok(Self { header, recording, keyframes, position: 0, model })
    }
    /// What the trace says about its run.
    pub const fn header(&self) -> &Header {
        &self.header
    }
    /// The steps.
    pub const fn recording(&self) -> &Recording {
        &self.recording
    }
    /// Number of steps.
    pub const fn len(&self) -> usize {
        self.recording.len()
    }
    /// Whether there is no step.
    pub const fn is_empty(&self) -> bool {
        self.recording.is_empty()
    }
    /// How many steps have been applied.
    pub const fn position(&self) -> usize {
        self.position
    }
    /// The state after the applied steps.
    pub const fn model(&self) -> &Model {
        &self.model
    }
    /// The step that was applied last.
    pub fn current(&self) -> Option<&Step> {
        self.position.checked_sub(1).map(|at| self.recording.step(at))
    }
    /// The changes of the step that was applied last.
    pub fn changes(&self) -> &[Delta] {
        self.position.checked_sub(1).map_or(&[], |at| self.recording.deltas(at))
    }
    /// Applies the next step; false at the end.
    pub fn forward(&mut self) -> bool {
        if self.position == self.len() {
            return false;
        }
        for delta in self.recording.deltas(self.position) {
            self.model.apply(delta).expect("the whole trace was checked when it was opened");
        }
        self.position += 1;
        true
    }
    /// Takes the last step back; false at the start.
    pub fn back(&mut self) -> bool {
        let Some(at) = self.position.checked_sub(1) else { return false };
        for delta in self.recording.deltas(at).iter().rev() {
            self.model.apply(&delta.inverse()).expect("what was applied can be taken back");
        }
        self.position = at;
        true
    }
    fn nearest_keyframe(&self, position: usize) -> &(usize, Model) {
        let distance = |(at, _): &&(usize, Model)| at.abs_diff(position);
        self.keyframes.iter().min_by_key(distance).expect("one at the start")
    }
    /// The state after `position` steps, or at the end, wherever the timeline stands.
    pub fn model_at(&self, position: usize) -> Model {
        let target = position.min(self.len());
        if target == self.position {
            return self.model.clone();
        }
        let (from, model) = self.nearest_keyframe(target);
        let mut model = model.clone();
        let fits = "the whole trace was checked when it was opened";
        for at in *from..target {
            let deltas = self.recording.deltas(at).iter();
            deltas.for_each(|delta| model.apply(delta).expect(fits));
        }
        for at in (target..*from).rev() {
            let deltas = self.recording.deltas(at).iter().rev();
            deltas.for_each(|delta| model.apply(&delta.inverse()).expect(fits));
        }
        model
    }
    /// Goes to the state after `position` steps, or to the end.
    pub fn seek(&mut self, position: usize) {
        let target = position.min(self.len());
        let (from, model) = self.nearest_keyframe(target);
        if from.abs_diff(target) < self.position.abs_diff(target) {
            (self.position, self.model) = (*from, model.clone());
        }
        while self.position < target {
            self.forward();
        }
        while self.position > target {
            self.back();
        }
    }
    /// The nearest position behind `from` whose last step is at least as coarse as `grain`; the end
    /// if there is none.
    pub fn next_of(&self, from: usize, grain: Grain) -> usize {
        (from..self.len())
            .find(|at| self.recording.step(*at).rule.grain() <= grain)
            .map_or(self.len(), |at| at + 1)
    }
    /// The nearest position before `from` whose last step is at least as coarse as `grain`; the
    /// start if there is none.
    pub fn previous_of(&self, from: usize, grain: Grain) -> usize {
        (1..from)
            .rev()
            .find(|position| self.recording.step(position - 1).rule.grain() <= grain)
            .unwrap_or(0)
    }
}
