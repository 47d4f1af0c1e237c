//! Where steps go. A world without a sink has no trace code at all: `ON` is a constant.

use super::delta::Delta;
use super::model::Model;
use super::step::Step;
use super::timeline::Recording;

/// Takes the steps of a run.
pub trait Sink {
    /// Whether anything is recorded. Where it is false the compiler drops every trace call.
    const ON: bool;
    /// Whether the sink wants to see the engine's own state after every step, to compare. Costly.
    const MIRROR: bool = false;
    /// Takes one step with its changes.
    fn take(&mut self, step: Step, deltas: &[Delta]);
    /// Takes the engine's own state after the step just taken.
    fn mirror(&mut self, _state: &Model) {}
}

/// No trace.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoTrace;

impl Sink for NoTrace {
    const ON: bool = false;
    fn take(&mut self, _step: Step, _deltas: &[Delta]) {}
}

impl Sink for Recording {
    const ON: bool = true;
    fn take(&mut self, step: Step, deltas: &[Delta]) {
        self.push(step, deltas);
    }
}
