//! What a run did in the block layer, in the words of the kernel's trace events.

use folioscope_core::geometry::Geometry;
use folioscope_core::trace::model::Model;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::{Bytes, DevAddr};

/// The events of a recording. The kernel prints `block_unplug` only where the task sleeps; the end
/// of a plug is left out as well.
#[allow(clippy::wildcard_enum_match_arm, reason = "all others are no events of this kind")]
pub fn block_events(geometry: Geometry, recording: &Recording) -> Vec<String> {
    let mut model = Model::new(geometry);
    let mut events = Vec::new();
    for at in 0..recording.len() {
        for delta in recording.deltas(at) {
            model.apply(delta).expect("the engine's own trace fits itself");
        }
        let step = recording.step(at);
        let [first, second, ..] = step.args;
        let place = |addr: DevAddr, len: Bytes| {
            format!("{} + {}", addr.sector_floor().get(), len.sectors_floor().get())
        };
        let bio = |id: u64| {
            let (_, bio) = model.bios().find(|(bio, _)| u64::from(*bio) == id).expect("it exists");
            format!("{} {}", bio.head().rwbs(), place(bio.addr(), bio.len()))
        };
        let request = |id: u64| {
            let mut all = model.requests();
            let (_, found) = all.find(|(other, _)| u64::from(*other) == id).expect("it exists");
            format!("{} {}", found.head().rwbs(), place(found.addr(), found.len()))
        };
        events.push(match step.rule {
            Rule::Mapped => {
                format!("map {}", place(DevAddr::new(step.args[3]), Bytes::new(second)))
            }
            Rule::BioSubmitted => format!("bio_queue {}", bio(first)),
            Rule::RequestAllocated => format!("getrq {}", bio(second)),
            Rule::BackMerged => format!("bio_backmerge {}", bio(first)),
            Rule::FrontMerged => format!("bio_frontmerge {}", bio(first)),
            Rule::RequestPlugged if second == 1 => "plug".to_owned(),
            Rule::UnpluggedToSleep | Rule::UnpluggedFull => format!("unplug {first}"),
            Rule::RequestInserted => format!("rq_insert {}", request(first)),
            Rule::RequestIssued => format!("rq_issue {}", request(first)),
            Rule::RequestCompleted => format!("rq_complete {}", request(first)),
            Rule::ReadEnds => {
                let who = step.context.name();
                format!("read of {first:#x} ends in {who}, uptodate {second}")
            }
            _ => continue,
        });
    }
    events
}
