//! Where the steps of a job go: nowhere, or into a recording with an end.

use folioscope_core::trace::delta::Delta;
use folioscope_core::trace::sink::{NoTrace, Sink};
use folioscope_core::trace::step::Step;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::trace::wire::MAX_STEPS;
use std::cell::Cell;

/// Sinks of a job.
pub(super) trait JobSink: Sink {
    /// Whether nothing more can be taken.
    fn is_full(&self) -> bool;
    /// Takes nothing from now on: what follows is not part of the run.
    fn close(&self);
}

impl JobSink for NoTrace {
    fn is_full(&self) -> bool {
        false
    }
    fn close(&self) {}
}

/// A recording that stops at the limit of a trace.
#[derive(Default)]
pub(super) struct Limited {
    pub(super) recording: Recording,
    closed: Cell<bool>,
}

impl Sink for Limited {
    const ON: bool = true;
    fn take(&mut self, step: Step, deltas: &[Delta]) {
        if !self.closed.get() && !self.is_full() {
            self.recording.push(step, deltas);
        }
    }
}

impl JobSink for Limited {
    fn is_full(&self) -> bool {
        self.recording.len() >= MAX_STEPS
    }
    fn close(&self) {
        self.closed.set(true);
    }
}
