//! What the engine did, read from its trace: pieces of the read path, ends of writeback, and
//! whether each folio's read ended once.

use super::words::Dir;
use folioscope_core::block::bio::BioOp;
use folioscope_core::cache::folio::FolioFlags;
use folioscope_core::geometry::Geometry;
use folioscope_core::iomap::MapType;
use folioscope_core::trace::model::Model;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::step::Step;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::{Bytes, FolioId, Pos};
use std::collections::BTreeMap;

/// Counted from the trace.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) read_ranges: Vec<(u64, u64)>,
    pub(super) zeroed_ranges: Vec<(u64, u64)>,
    /// A folio's offset, and how many write bios had completed when its writeback ended.
    pub(super) writeback_ends: Vec<(u64, u64)>,
    pub(super) copy_steps: u64,
    pub(super) mkwrite_calls: u64,
    pub(super) reads_ended: u64,
    pub(super) write_peak: u64,
    /// Sentences about what must not happen.
    pub(super) ended_twice: Vec<String>,
    pub(super) ended_early: Vec<String>,
    pub(super) touched_late: Vec<String>,
    pub(super) read_freed: Vec<String>,
    /// Requests in the order of their issue.
    pub(super) requests: Vec<(Dir, u64, u64)>,
    write_bios_done: u64,
}

/// The state after the last step that was read.
pub(super) struct Watch {
    pub(super) model: Model,
    at: usize,
    /// Folios of the read bios that are in flight.
    reading: BTreeMap<u64, Vec<FolioId>>,
    /// Bytes of each folio that are being written.
    writing: BTreeMap<FolioId, u64>,
}

impl Watch {
    pub(super) fn new(geometry: Geometry) -> Self {
        let (reading, writing) = (BTreeMap::new(), BTreeMap::new());
        Self { model: Model::new(geometry), at: 0, reading, writing }
    }
    /// Reads on to the end of the recording.
    pub(super) fn follow(&mut self, recording: &Recording, seen: &mut Seen) {
        while self.at < recording.len() {
            let step = recording.step(self.at);
            self.before(step, seen);
            for delta in recording.deltas(self.at) {
                self.model.apply(delta).expect("the engine's own trace fits itself");
            }
            self.after(step, seen);
            self.at += 1;
        }
    }
    fn folio_at(&self, pos: u64) -> Option<FolioId> {
        let geometry = self.model.geometry();
        let index = geometry.page_floor(Pos::new(pos));
        self.model.folios().find_map(|(id, folio)| {
            let place = folio.place();
            let inside = place.index <= index && index < place.index + place.order.pages();
            inside.then_some(id)
        })
    }
    /// Whether a bio reads where no file has blocks.
    fn look_for_freed(&self, addr: u64, len: u64, seen: &mut Seen) {
        let files = self.model.files();
        let held: u64 = files
            .flat_map(|(_, file)| file.extents())
            .filter(|(_, _, kind, _)| matches!(kind, MapType::Mapped | MapType::Unwritten))
            .map(|(_, bytes, _, at)| {
                let end = (at.get() + bytes.get()).min(addr + len);
                end.saturating_sub(at.get().max(addr))
            })
            .sum();
        if held < len {
            seen.read_freed.push(format!("a bio reads {len} bytes at {addr}, which no file has"));
        }
    }
    fn locked(&self, id: FolioId) -> bool {
        self.model.folio(id).is_some_and(|folio| folio.flags().has(FolioFlags::LOCKED))
    }
    fn before(&mut self, step: &Step, seen: &mut Seen) {
        let pos = step.args[0];
        if step.rule == Rule::ReadEnds {
            seen.reads_ended += 1;
            let Some(id) = self.folio_at(pos) else { return };
            if !self.locked(id) {
                seen.ended_twice.push(format!("the read of the folio at {pos} ends again"));
            }
            if self.reading.values().flatten().any(|folio| *folio == id) {
                seen.ended_early
                    .push(format!("the folio at {pos} ends while a bio of it is in flight"));
            }
        }
        if matches!(step.rule, Rule::ReadAdded | Rule::ReadZeroed)
            && self.folio_at(pos).is_none_or(|id| !self.locked(id))
        {
            seen.touched_late.push(format!("the reader touches {pos} after its read ended"));
        }
    }
    fn after(&mut self, step: &Step, seen: &mut Seen) {
        let [first, second, ..] = step.args;
        let bio_of = |model: &Model| {
            model.bios().find(|(id, _)| u64::from(*id) == first).map(|(_, bio)| {
                let folios: Vec<(FolioId, Bytes)> =
                    bio.segs().map(|seg| (seg.folio, seg.len)).collect();
                (bio.head().op, folios)
            })
        };
        let rule = step.rule;
        if rule == Rule::ReadAdded {
            seen.read_ranges.push((first, second));
        } else if rule == Rule::ReadZeroed {
            seen.zeroed_ranges.push((first, second));
        } else if rule == Rule::Copied && step.args[2] > 0 {
            seen.copy_steps += 1;
        } else if rule == Rule::MadeWritable {
            seen.mkwrite_calls += 1;
        } else if rule == Rule::WritebackEnds {
            seen.writeback_ends.push((first, seen.write_bios_done));
        } else if matches!(rule, Rule::IoendNew | Rule::IoendJoins) {
            if let Some(id) = self.folio_at(first) {
                let now = self.writing.entry(id).or_default();
                *now += second;
                seen.write_peak = seen.write_peak.max(*now);
            }
        } else if rule == Rule::BioSubmitted {
            if let Some((BioOp::Read, folios)) = bio_of(&self.model) {
                self.look_for_freed(second, step.args[2], seen);
                self.reading.insert(first, folios.into_iter().map(|(id, _)| id).collect());
            }
        } else if rule == Rule::RequestIssued {
            let mut all = self.model.requests();
            if let Some((_, request)) = all.find(|(id, _)| u64::from(*id) == first) {
                let read = request.head().op == BioOp::Read;
                let dir = if read { Dir::Read } else { Dir::Write };
                seen.requests.push((dir, request.addr().get(), request.len().get()));
            }
        } else if rule == Rule::BioCompleted {
            self.reading.remove(&first);
            if let Some((BioOp::Write, folios)) = bio_of(&self.model) {
                seen.write_bios_done += 1;
                for (id, len) in folios {
                    let now = self.writing.entry(id).or_default();
                    *now = now.saturating_sub(len.get());
                }
            }
        }
    }
}
