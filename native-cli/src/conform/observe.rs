//! What the engine did in a step, read from its trace alone, in the golden's terms.

use folioscope_core::block::bio::BioOp;
use folioscope_core::geometry::Geometry;
use folioscope_core::trace::delta::{ABSENT, DeltaKind};
use folioscope_core::trace::model::{Model, Place};
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::Offset;
use serde_json::{Value, json};

/// The lists of one step; each row is one record, as JSON, so that a difference prints itself.
#[derive(Default)]
pub(super) struct Lists {
    pub(super) folios_added: Vec<Value>,
    pub(super) ioend_adds: Vec<Value>,
    pub(super) bios: Vec<Value>,
    pub(super) reads: Vec<Value>,
}

/// Reads `recording` up to `ends[n]` for each step n.
pub(super) fn observe(
    geometry: Geometry,
    files: &[String],
    recording: &Recording,
    ends: &[usize],
) -> Vec<Lists> {
    let mut model = Model::new(geometry);
    let mut at = 0;
    ends.iter()
        .map(|end| {
            let mut lists = Lists::default();
            let mut map = (0, 0);
            let mut ioend_file = 0;
            while at < *end {
                read_step(geometry, files, recording, at, &mut lists);
                for delta in recording.deltas(at) {
                    model.apply(delta).expect("the engine's own trace fits itself");
                    if delta.kind == DeltaKind::BioHead && delta.new != 0 {
                        ioend_file = (delta.new >> 32) as usize;
                    }
                }
                let step = recording.step(at);
                if step.rule == Rule::MappedForWriteback {
                    map = (step.args[0], step.args[1]);
                } else if matches!(step.rule, Rule::IoendNew | Rule::IoendJoins) {
                    let name = files.get(ioend_file).map_or("?", String::as_str);
                    lists.ioend_adds.push(json!([name, map.0, map.1, step.args[1]]));
                } else if step.rule == Rule::BioSubmitted {
                    push_bio(&model, files, step.args[0], &mut lists);
                }
                at += 1;
            }
            lists
        })
        .collect()
}

fn read_step(
    geometry: Geometry,
    files: &[String],
    recording: &Recording,
    at: usize,
    lists: &mut Lists,
) {
    let added = recording.deltas(at).iter().filter(|delta| {
        delta.kind == DeltaKind::FolioPlace && delta.old == ABSENT && delta.new != ABSENT
    });
    for place in added.filter_map(|delta| Place::unpack(delta.new)) {
        let name = files.get(place.file.get() as usize).map_or("?", String::as_str);
        let pos = geometry.page_pos(place.index).get();
        lists.folios_added.push(json!([name, pos, place.order.get()]));
    }
}

fn push_bio(model: &Model, files: &[String], id: u64, lists: &mut Lists) {
    let Some((_, bio)) = model.bios().find(|(n, _)| u64::from(*n) == id) else { return };
    let mut ranges: Vec<(String, u64, u64)> = Vec::new();
    for seg in bio.segs() {
        let Some(folio) = model.folio(seg.folio) else { continue };
        let place = folio.place();
        let name = files.get(place.file.get() as usize).map_or("?", String::as_str);
        let start = model.geometry().page_pos(place.index) + seg.offset.since(Offset::ZERO);
        match ranges.last_mut() {
            Some(last) if last.0 == name && last.1 + last.2 == start.get() => {
                last.2 += seg.len.get();
            }
            Some(_) | None => ranges.push((name.to_owned(), start.get(), seg.len.get())),
        }
    }
    let head = bio.head();
    let rw = if head.op == BioOp::Read { "R" } else { "W" };
    let row = json!([rw, head.rwbs(), ranges]);
    if head.op == BioOp::Read && head.sync {
        lists.reads.push(row.clone());
    }
    lists.bios.push(row);
}
