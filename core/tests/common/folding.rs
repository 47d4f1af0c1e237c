//! A sink that keeps the steps, folds them into a model, and compares that with the engine's state
//! after each; where dirty pages are limited, also their counts with the folios.

use folioscope_core::cache::folio::FolioFlags;
use folioscope_core::gauges::Gauge;
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
        let gauges = state.gauges();
        if gauges.get(Gauge::Thresh, 0) == 0 {
            return;
        }
        // Dirty pages are counted.
        let pages = |flag: FolioFlags| -> u64 {
            let has = state.folios().filter(|(_, folio)| folio.flags().has(flag));
            has.map(|(_, folio)| folio.place().order.pages().get()).sum()
        };
        assert_eq!(gauges.get(Gauge::Dirty, 0), pages(FolioFlags::DIRTY));
        assert_eq!(gauges.get(Gauge::Writeback, 0), pages(FolioFlags::WRITEBACK));
    }
    fn take(&mut self, step: Step, deltas: &[Delta]) {
        self.recording.push(step, deltas);
        for delta in deltas {
            self.model.apply(delta).expect("the trace fits the state it changes");
        }
    }
}
