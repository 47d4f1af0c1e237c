//! What the engine did in a step, read from its trace alone, in the golden's terms.

use super::queue::QueueRows;
use folioscope_core::block::bio::BioOp;
use folioscope_core::cache::folio::FolioFlags;
use folioscope_core::geometry::Geometry;
use folioscope_core::trace::delta::{ABSENT, DeltaKind};
use folioscope_core::trace::model::{Model, Place};
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::Offset;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The lists of one step; each row is one record, as JSON, so that a difference prints itself.
#[derive(Default)]
pub(super) struct Lists {
    pub(super) folios_added: Vec<Value>,
    pub(super) folios_deleted: Vec<Value>,
    pub(super) cache: Vec<Value>,
    pub(super) ioend_adds: Vec<Value>,
    pub(super) bios: Vec<Value>,
    pub(super) reads: Vec<Value>,
    pub(super) readahead: Vec<Value>,
    pub(super) queue: QueueRows,
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
    let mut before: BTreeMap<&str, (u64, u64, u64)> =
        files.iter().map(|name| (name.as_str(), (0, 0, 0))).collect();
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
                } else if let Some(row) = readahead_row(step.rule, step.args) {
                    lists.readahead.push(row);
                } else if step.rule == Rule::BioSubmitted {
                    push_bio(&model, files, step.args[0], &mut lists);
                }
                lists.queue.observe(&model, recording, at);
                at += 1;
            }
            for (file, name) in files.iter().enumerate() {
                let now = cached(&model, file);
                if before.insert(name, now) != Some(now) {
                    lists.cache.push(json!([name, now]));
                }
            }
            lists.cache.sort_by_key(Value::to_string);
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
    let row = |place: Place| {
        let name = files.get(place.file.get() as usize).map_or("?", String::as_str);
        json!([name, geometry.page_pos(place.index).get(), place.order.get()])
    };
    let places = || recording.deltas(at).iter().filter(|d| d.kind == DeltaKind::FolioPlace);
    let gone = places().filter(|delta| delta.new == ABSENT);
    lists.folios_deleted.extend(gone.filter_map(|delta| Place::unpack(delta.old)).map(row));
    // The pieces of a folio that is split are not new to the cache.
    if recording.step(at).rule == Rule::FolioSplit {
        return;
    }
    let added = places().filter(|delta| delta.old == ABSENT);
    lists.folios_added.extend(added.filter_map(|delta| Place::unpack(delta.new)).map(row));
}

/// Pages cached of a file, of its dirty folios, and of those under writeback.
fn cached(model: &Model, file: usize) -> (u64, u64, u64) {
    let mut sums = (0, 0, 0);
    let mine = model.folios().filter(|(_, folio)| folio.place().file.get() as usize == file);
    for (_, folio) in mine {
        let pages = folio.place().order.pages().get();
        let of = |flag| if folio.flags().has(flag) { pages } else { 0 };
        sums.0 += pages;
        sums.1 += of(FolioFlags::DIRTY);
        sums.2 += of(FolioFlags::WRITEBACK);
    }
    sums
}

/// A decision of readahead in the golden's terms.
fn readahead_row(rule: Rule, args: [u64; 4]) -> Option<Value> {
    let low = |word: u64| word & u64::from(u32::MAX);
    let high = |word: u64| word >> 32;
    if matches!(rule, Rule::ReadaheadMiss | Rule::ReadaheadHit) {
        let name = if rule == Rule::ReadaheadMiss { "sync_ra" } else { "async_ra" };
        let previous = if args[3] == u64::MAX { json!(-1) } else { json!(args[3]) };
        let (asked, order) = (low(args[1]), high(args[1]));
        let (size, lookahead) = (low(args[2]), high(args[2]));
        return Some(json!([name, args[0], asked, order, size, lookahead, previous]));
    }
    if rule == Rule::ReadaheadWindow {
        return Some(json!(["ra_order", args[0], high(args[1]), low(args[1]), args[2]]));
    }
    if rule == Rule::ReadaheadPages {
        return Some(json!(["ra_unbounded", args[0], args[1], args[2]]));
    }
    None
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
