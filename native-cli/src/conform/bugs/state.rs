//! An expected state against the one that was seen.

use super::check::Findings;
use super::expect::{FolioWords, State};
use super::machine::ExtentSeen;
use super::snapshot::{FolioSeen, Snapshot};
use super::words::{ExtentKind, ExtentRow, bit_text};
use folioscope_core::cache::folio::FolioFlags;
use folioscope_core::iomap::MapType;
use serde_json::{Value, json};

const KIND: &str = "bug_after";

/// One field a key of the state, and of each folio.
pub(super) fn check(out: &mut Findings, step: usize, block: u64, want: &State, got: &Snapshot) {
    let mut field = |key: &str, want: Value, got: Value| {
        out.field(KIND, step, json!({ key: want }), json!({ key: got }));
    };
    for (key, limits, got) in
        [("i_size", want.i_size, got.i_size), ("disk_size", want.disk_size, got.disk_size)]
    {
        if let Some(limits) = limits {
            let shown = if limits.hold(got) { limits.shown() } else { json!(got) };
            field(key, limits.shown(), shown);
        }
    }
    for (off, words) in want.folios.iter().flatten() {
        let seen = off.parse().ok().and_then(|off: u64| got.folios.get(&off));
        for (key, want, got) in folio(words, seen) {
            field(&format!("folio {off}: {key}"), want, got);
        }
    }
    if let Some(offsets) = &want.dirty_folios {
        let mut offsets = offsets.clone();
        offsets.sort_unstable();
        let dirty = got.folios.iter().filter(|(_, folio)| folio.flags.has(FolioFlags::DIRTY));
        field("dirty_folios", json!(offsets), json!(dirty.map(|(off, _)| off).collect::<Vec<_>>()));
    }
    if let Some(from) = want.no_folio_from {
        let first = got.folios.range(from..).next().map(|(off, _)| off);
        field("no_folio_from", json!(null), json!(first));
    }
    extents(&mut field, want, got);
    let of = |kind: MapType| got.extents.iter().filter(move |row| row.2 == kind);
    let sum = |kind| of(kind).map(|row| row.1).sum::<u64>();
    let promised = got.cow_extents.iter().filter(|row| row.2 == MapType::Delalloc);
    let promised: u64 = promised.map(|row| row.1).sum();
    if let Some(spans) = &want.delalloc {
        let all: Vec<_> = of(MapType::Delalloc).map(|row| (row.0, row.1)).collect();
        field("delalloc", json!(spans), json!(all));
    }
    for (key, want, got) in [
        ("delalloc_bytes", want.delalloc_bytes, sum(MapType::Delalloc)),
        ("reserved_blocks", want.reserved_blocks, (sum(MapType::Delalloc) + promised) / block),
        ("allocated_bytes", want.allocated_bytes, sum(MapType::Mapped) + sum(MapType::Unwritten)),
        ("writeback_index", want.writeback_index, got.writeback_index),
        ("zone_write_pointer", want.zone_write_pointer, got.zone_pointer),
    ] {
        if let Some(want) = want {
            field(key, json!(want), json!(got));
        }
    }
    for (key, there) in [
        ("dirty_nodes", want.dirty_nodes.is_some()),
        ("dirty_data", want.dirty_data.is_some()),
        ("checkpoint_written", want.checkpoint_written.is_some()),
    ] {
        if there {
            out.unchecked(format!("the state `{key}`"));
        }
    }
}

fn folio(words: &FolioWords, seen: Option<&FolioSeen>) -> Vec<(&'static str, Value, Value)> {
    let mut out = Vec::new();
    if let Some(cached) = words.cached {
        out.push(("cached", json!(cached), json!(seen.is_some())));
    }
    let flag = |flag| seen.map(|seen| seen.flags.has(flag));
    if let Some(order) = words.order {
        out.push(("order", json!(order), json!(seen.map(|seen| seen.order))));
    }
    if let Some(bits) = &words.uptodate {
        let got = seen.map(|seen| bit_text(seen.uptodate.iter().copied()));
        out.push(("uptodate", json!(bit_text(bits.0.iter().copied())), json!(got)));
    }
    if let Some(bits) = &words.dirty {
        let got = seen.and_then(|seen| seen.dirty.as_ref());
        let got = got.map(|bits| bit_text(bits.iter().copied()));
        out.push(("dirty", json!(bit_text(bits.0.iter().copied())), json!(got)));
    }
    for (key, want, bit) in [
        ("folio_uptodate", words.folio_uptodate, FolioFlags::UPTODATE),
        ("folio_dirty", words.folio_dirty, FolioFlags::DIRTY),
        ("locked", words.locked, FolioFlags::LOCKED),
        ("writeback", words.writeback, FolioFlags::WRITEBACK),
    ] {
        if let Some(want) = want {
            out.push((key, json!(want), json!(flag(bit))));
        }
    }
    for (key, limits, got) in [
        ("read_pending", words.read_pending, seen.map(|seen| seen.read_pending)),
        ("write_pending", words.write_pending, seen.map(|seen| seen.write_pending)),
    ] {
        if let Some(limits) = limits {
            let holds = got.is_some_and(|got| limits.hold(got));
            out.push((key, limits.shown(), if holds { limits.shown() } else { json!(got) }));
        }
    }
    out
}

fn is(row: &ExtentRow, got: &ExtentSeen) -> bool {
    let addr = match (row.addr, got.3) {
        (None, None) => true,
        (Some(addr), Some(at)) => addr.is(at),
        (None, Some(_)) | (Some(_), None) => false,
    };
    let kind = super::machine::map_type(row.kind) == got.2;
    row.shared == got.4 && addr && kind && (row.off, row.len) == (got.0, got.1)
}

fn extents(field: &mut impl FnMut(&str, Value, Value), want: &State, got: &Snapshot) {
    let shown = |rows: &[ExtentRow]| -> Value {
        let row = |row: &ExtentRow| {
            let addr = row.addr.map(super::words::Addr::shown);
            json!([row.off, row.len, row.kind.name(), addr, row.shared])
        };
        rows.iter().map(row).collect()
    };
    let seen = |rows: &[ExtentSeen]| -> Value {
        let row = |(off, len, kind, addr, shared): &ExtentSeen| {
            json!([off, len, kind.name().to_lowercase(), addr, shared])
        };
        rows.iter().map(row).collect()
    };
    let any_in = |off: u64, len: u64, kinds: &dyn Fn(MapType) -> bool| {
        let inside = |row: &&ExtentSeen| {
            row.0 < off.saturating_add(len) && off < row.0 + row.1 && kinds(row.2)
        };
        got.extents.iter().find(inside).map(|row| json!([row.0, row.1]))
    };
    let is_hole = |off, len| any_in(off, len, &|_| true).is_none();
    for (key, rows, whole) in
        [("extents", &want.extents, true), ("extents_include", &want.extents_include, false)]
    {
        let Some(rows) = rows else { continue };
        let (holes, rest): (Vec<_>, Vec<_>) =
            rows.iter().partition(|row| row.kind == ExtentKind::Hole);
        let there = rest.iter().all(|row| got.extents.iter().any(|one| is(row, one)));
        let fits = there
            && holes.iter().all(|row| is_hole(row.off, row.len))
            && (!whole || rest.len() == got.extents.len());
        field(key, shown(rows), if fits { shown(rows) } else { seen(&got.extents) });
    }
    if let Some(rows) = &want.cow_extents {
        let fits = rows.len() == got.cow_extents.len()
            && rows.iter().all(|row| got.cow_extents.iter().any(|one| is(row, one)));
        field("cow_extents", shown(rows), if fits { shown(rows) } else { seen(&got.cow_extents) });
    }
    if let Some(spans) = &want.holes {
        let filled = spans.iter().find_map(|span| any_in(span.0, span.1, &|_| true));
        field("holes", json!(null), json!(filled));
    }
    if let Some(spans) = &want.no_unwritten_in {
        let unwritten = |kind| kind == MapType::Unwritten;
        let found = spans.iter().find_map(|span| any_in(span.0, span.1, &unwritten));
        field("no_unwritten_in", json!(null), json!(found));
    }
    if let Some(from) = want.no_written_from {
        let found = any_in(from, u64::MAX, &|kind| kind == MapType::Mapped);
        field("no_written_from", json!(null), json!(found));
    }
}
