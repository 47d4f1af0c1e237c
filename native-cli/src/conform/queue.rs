//! What happened in the request queue of a device: requests issued, bios merged and bios split, as
//! rows of sectors.

use folioscope_core::trace::delta::DeltaKind;
use folioscope_core::trace::model::Model;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::SECTOR_SIZE;
use serde_json::{Value, json};

/// Rows of one operation, by kind.
#[derive(Default)]
pub(super) struct QueueRows {
    pub(super) requests: Vec<Value>,
    pub(super) merges: Vec<Value>,
    pub(super) splits: Vec<Value>,
}

impl QueueRows {
    /// Adds what step `at` of the engine's trace says, once `model` has it.
    pub(super) fn observe(&mut self, model: &Model, recording: &Recording, at: usize) {
        let step = recording.step(at);
        let args = step.args;
        let bio = || model.bios().find(|(n, _)| u64::from(*n) == args[0]).map(|(_, bio)| bio);
        if step.rule == Rule::RequestIssued {
            let request = model.requests().find(|(n, _)| u64::from(*n) == args[0]);
            let rw = request.map_or_else(String::new, |(_, request)| request.head().rwbs());
            self.requests.push(json!([rw, args[1] / SECTOR_SIZE, args[2] / SECTOR_SIZE]));
        } else if matches!(step.rule, Rule::BackMerged | Rule::FrontMerged) {
            let grown = recording.deltas(at).iter().find(|d| d.kind == DeltaKind::RequestLen);
            let (Some(grown), Some(bio)) = (grown, bio()) else { return };
            let back = step.rule == Rule::BackMerged;
            let start = args[2] + if back { grown.old } else { 0 };
            let (how, len) = (if back { "M" } else { "F" }, grown.new - grown.old);
            let (start, len) = (start / SECTOR_SIZE, len / SECTOR_SIZE);
            self.merges.push(json!([how, bio.head().rwbs(), start, len]));
        } else if step.rule == Rule::BioSplit {
            let rw = bio().map_or_else(String::new, |bio| bio.head().rwbs());
            self.splits.push(json!([rw, args[1] / SECTOR_SIZE, args[2] / SECTOR_SIZE]));
        }
    }
}
