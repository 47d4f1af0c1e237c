//! What the engine did in an operation, read from its trace alone, in the terms of a guest's trace.

use crate::conform::queue::QueueRows;
use folioscope_core::geometry::Geometry;
use folioscope_core::trace::delta::{ABSENT, DeltaKind};
use folioscope_core::trace::model::{FolioState, Model, Place};
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::Offset;
use serde_json::{Value, json};
use std::ops::Range;

/// The lists of one operation; each row is one record, as JSON, so that a difference prints itself.
#[derive(Default)]
pub(super) struct Lists {
    pub(super) bios: Vec<Value>,
    pub(super) folios_added: Vec<Value>,
    pub(super) faultin: Vec<Value>,
    pub(super) read_calls: Vec<Value>,
    pub(super) maps: Vec<Value>,
    pub(super) writeback_folios: Vec<Value>,
    pub(super) writeback_maps: Vec<Value>,
    pub(super) queue: QueueRows,
    /// Questions where blocks lie: file, position, bytes asked for, whether they are to be made.
    pub(super) blocks: Vec<Value>,
    /// Blocks that writeback mapped, where the kernel prints no more of it.
    pub(super) mapped_blocks: u64,
}

impl Lists {
    /// All rows of iomap. Their golden folds rows of two kinds that alternate, so the order is kept
    /// within a kind only.
    pub(super) fn iomap(&self) -> Vec<Value> {
        let kinds = [&self.read_calls, &self.maps, &self.writeback_folios, &self.writeback_maps];
        let blocks = (self.mapped_blocks > 0).then(|| json!(["mapped blocks", self.mapped_blocks]));
        kinds.into_iter().flatten().cloned().chain(blocks).collect()
    }
}

/// How the trace of one operation is read.
pub(super) struct View<'a> {
    /// The name of each file of the engine.
    pub(super) files: &'a [String],
    /// The file that the operation is about.
    pub(super) file: &'a str,
    /// Writeback's mappings are known by their number only, in blocks.
    pub(super) blocks_only: bool,
    /// Flushes of the device are told.
    pub(super) flushes: bool,
    /// Blocks are kept in buffers: the kernel tells nothing of each folio that it writes.
    pub(super) buffers: bool,
}

/// Reads the steps of one operation, and brings `model` to its end.
pub(super) fn observe(
    view: &View<'_>,
    model: &mut Model,
    recording: &Recording,
    steps: Range<usize>,
) -> Lists {
    let mut lists = Lists::default();
    let mut asked = (0, 0);
    for at in steps {
        for delta in recording.deltas(at) {
            model.apply(delta).expect("the engine's own trace fits itself");
            let added = delta.old == ABSENT && delta.new != ABSENT;
            let split = recording.step(at).rule == Rule::FolioSplit;
            if delta.kind == DeltaKind::FolioPlace && added && !split {
                push_folio(view, model.geometry(), delta.new, &mut lists);
            }
        }
        let (file, step) = (view.file, recording.step(at));
        let args = step.args;
        let rule = step.rule;
        if rule == Rule::FaultedIn {
            lists.faultin.push(json!(args[1]));
        } else if rule == Rule::FoliosToRead {
            let call = if args[1] == 0 { "iomap_readpage" } else { "iomap_readahead" };
            lists.read_calls.push(json!([call, args[0]]));
        } else if rule == Rule::Mapped {
            lists.maps.push(json!(["iomap_iter_dstmap", file, args[0], args[1]]));
        } else if rule == Rule::WritebackFolio && !view.buffers {
            lists.writeback_folios.push(json!(["writeback_folio", file, args[0], args[1]]));
        } else if rule == Rule::MappedForWriteback {
            asked = (args[0], args[1]);
        } else if matches!(rule, Rule::IoendNew | Rule::IoendJoins) {
            if view.blocks_only {
                lists.mapped_blocks += args[1] / model.geometry().block_size().get();
            } else {
                lists.writeback_maps.push(json!(["mapped", file, asked.0, asked.1]));
            }
        } else if rule == Rule::BioSubmitted {
            push_bio(view, model, args[0], &mut lists);
        } else if rule == Rule::FlushSent && view.flushes {
            lists.bios.push(json!(["FWS", "flush"]));
        }
        lists.queue.observe(model, recording, at);
    }
    lists
}

fn push_folio(view: &View<'_>, geometry: Geometry, place: u64, lists: &mut Lists) {
    let Some(place) = Place::unpack(place) else { return };
    let file = view.files.get(place.file.get() as usize).map_or("?", String::as_str);
    let pos = geometry.page_pos(place.index).get();
    lists.folios_added.push(json!([file, pos, place.order.get()]));
}

fn push_bio(view: &View<'_>, model: &Model, id: u64, lists: &mut Lists) {
    let Some((_, bio)) = model.bios().find(|(n, _)| u64::from(*n) == id) else { return };
    if bio.head().direct {
        let file = view.files.get(bio.head().file.get() as usize).map_or("?", String::as_str);
        lists.bios.push(json!([bio.head().rwbs(), file, bio.pos().get(), bio.len().get()]));
        return;
    }
    if bio.head().meta || bio.segs().next().is_none() {
        lists.bios.push(json!([bio.head().rwbs(), "metadata", bio.len().get()]));
        return;
    }
    let Some(first) = bio.segs().next() else { return };
    let Some(place) = model.folio(first.folio).map(FolioState::place) else { return };
    let file = view.files.get(place.file.get() as usize).map_or("?", String::as_str);
    let start = model.geometry().page_pos(place.index) + first.offset.since(Offset::ZERO);
    let len: u64 = bio.segs().map(|seg| seg.len.get()).sum();
    lists.bios.push(json!([bio.head().rwbs(), file, start.get(), len]));
}
