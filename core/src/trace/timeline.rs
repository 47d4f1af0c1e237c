//! A recorded run that can be stepped both ways and sought.
//!
//! Steps and deltas lie in two flat lists. Every [`KEYFRAME_EVERY`] steps the whole state is kept,
//! so that seeking costs at most half that many steps from the nearest one.

use super::delta::Delta;
use super::header::Header;
use super::model::{Mismatch, Model};
use super::step::{Grain, Step};
use std::borrow::Cow;

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
    /// The state before the step that was applied last, where somebody wants it kept.
    previous: Option<Model>,
}

/// Up to this many steps the state before the last step goes along with the state.
const NEAR: usize = 64;

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
        Ok(Self { header, recording, keyframes, position: 0, model, previous: None })
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
    /// Keeps the state before the last step from now on, for who looks at it after every step.
    pub fn keep_previous(&mut self) {
        self.previous = Some(self.undone());
    }
    /// The state before the step that was applied last; none at the start.
    pub fn previous(&self) -> Option<Cow<'_, Model>> {
        self.position.checked_sub(1)?;
        Some(self.previous.as_ref().map_or_else(|| Cow::Owned(self.undone()), Cow::Borrowed))
    }
    /// The state without the step that was applied last; at the start the state itself.
    fn undone(&self) -> Model {
        let mut model = self.model.clone();
        take_back(&mut model, self.changes());
        model
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
        if let (Some(previous), Some(at)) = (&mut self.previous, self.position.checked_sub(1)) {
            apply(previous, self.recording.deltas(at));
        }
        apply(&mut self.model, self.recording.deltas(self.position));
        self.position += 1;
        true
    }
    /// Takes the last step back; false at the start.
    pub fn back(&mut self) -> bool {
        let Some(at) = self.position.checked_sub(1) else { return false };
        take_back(&mut self.model, self.recording.deltas(at));
        if let (Some(previous), Some(before)) = (&mut self.previous, at.checked_sub(1)) {
            take_back(previous, self.recording.deltas(before));
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
        for at in *from..target {
            apply(&mut model, self.recording.deltas(at));
        }
        for at in (target..*from).rev() {
            take_back(&mut model, self.recording.deltas(at));
        }
        model
    }
    /// Goes to the state after `position` steps, or to the end.
    pub fn seek(&mut self, position: usize) {
        let target = position.min(self.len());
        let far = self.position.abs_diff(target) > NEAR;
        let kept = self.previous.is_some();
        if far {
            self.previous = None;
        }
        let (from, model) = self.nearest_keyframe(target);
        if far && from.abs_diff(target) < self.position.abs_diff(target) {
            (self.position, self.model) = (*from, model.clone());
        }
        while self.position < target {
            self.forward();
        }
        while self.position > target {
            self.back();
        }
        if far && kept {
            self.keep_previous();
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

fn apply(model: &mut Model, deltas: &[Delta]) {
    for delta in deltas {
        model.apply(delta).expect("the whole trace was checked when it was opened");
    }
}

fn take_back(model: &mut Model, deltas: &[Delta]) {
    for delta in deltas.iter().rev() {
        model.apply(&delta.inverse()).expect("what was applied can be taken back");
    }
}
