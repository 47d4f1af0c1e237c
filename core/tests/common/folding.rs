//! A sink that keeps the steps, folds them into a model, and compares that with the engine's state
//! after each.

use folioscope_core::geometry::Geometry;
use folioscope_core::trace::delta::Delta;
use folioscope_core::trace::model::Model;
use folioscope_core::trace::sink::Sink;
use folioscope_core::trace::step::Step;
use folioscope_core::trace::timeline::Recording;

/// The sink.
pub struct Folding {
    pub recording: Recording,
    pub model: Model,
}

impl Folding {
    pub fn new(geometry: Geometry) -> Self {
        Self { recording: Recording::default(), model: Model::new(geometry) }
    }
}

impl Sink for Folding {
    const ON: bool = true;
    const MIRROR: bool = true;
    fn mirror(&mut self, state: &Model) {
        assert_eq!(self.model.without_tallies(), *state);
    }
    fn take(&mut self, step: Step, deltas: &[Delta]) {
        self.recording.push(step, deltas);
        for delta in deltas {
            self.model.apply(delta).expect("the trace fits the state it changes");
        }
    }
}
