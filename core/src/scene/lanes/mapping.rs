//! Mapping: the extents behind the file, each by its type, with where it lies.

use super::{MANY, joined};
use crate::scene::canvas::{Canvas, id};
use crate::scene::draw::{Anchor, Style};
use crate::scene::fixed::{Fx, grouped, px};
use crate::scene::layout::{Frame, Row, band};
use crate::scene::snapshot::ExtentView;
use crate::scene::view::Lane;
use crate::trace::model::ExtentState;
use crate::units::SECTOR_SIZE;

pub(in crate::scene) fn draw(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) -> Fx {
    let height = if frame.full(Lane::Mapping) { 18 } else { 14 };
    let row = Row { height, gap: 4, center: height / 2 };
    let agree =
        frame.agree(|a, b| a.extents == b.extents && a.cow == b.cow && a.shared == b.shared);
    if frame.compares() && frame.limits.mapping_fixed {
        // Both runs end up with the same extents: one row, of the run that has more of them now.
        let most = |at: &usize| (frame.runs[*at].now.extents.len(), usize::MAX - at);
        let run = (0..frame.runs.len()).max_by_key(most).unwrap_or(0);
        frame.agreement(canvas, Lane::Mapping, top, top + px(row.center));
        extents(frame, canvas, (0, run), top, height);
        return px(height);
    }
    frame.stack(canvas, Lane::Mapping, top, &row, agree, |canvas, run, y| {
        extents(frame, canvas, (run, run), y, height);
    })
}

fn extents(frame: &Frame<'_>, canvas: &mut Canvas, runs: (usize, usize), top: Fx, height: i32) {
    let (as_run, run) = (runs.0, &frame.runs[runs.1]);
    let (bottom, full) = (top + px(height), frame.full(Lane::Mapping));
    if run.now.extents.len() > MANY {
        crowd(frame, canvas, runs, (top, bottom));
        return;
    }
    let mut covered = 0;
    let mut holes = Vec::new();
    for extent in &run.now.extents {
        holes.push((covered, extent.start));
        covered = covered.max(extent.end);
    }
    holes.push((covered, run.now.size.max(covered)));
    for (start, end) in holes {
        for piece in frame.file.pieces(start, end) {
            let area = band(piece.x0, piece.x1, top, bottom);
            canvas.framed(id(as_run, "hole", piece.start, 0), Style::Hole, area, 0);
            let place = [(piece.x0 + px(8), top + px(height - 5), Anchor::Start)];
            let edges = (piece.x0, if full { piece.x1 } else { piece.x0 });
            canvas.label(
                id(as_run, "hname", piece.start, 0),
                Style::Tick,
                edges,
                &place,
                &["HOLE"],
            );
        }
    }
    for extent in &run.now.extents {
        let shared =
            run.now.shared.iter().any(|(from, to)| extent.start < *to && *from < extent.end);
        let extra = if shared { ", shared" } else { "" };
        let changed = run.before.as_ref().is_some_and(|old| is_new(&old.extents, extent));
        one(
            frame,
            canvas,
            as_run,
            extent,
            (top, bottom),
            &["ext", "ename", "echg", extra],
            changed,
        );
    }
    // New copies of shared blocks lie over the old ones, half as high.
    for extent in &run.now.cow {
        let changed = run.before.as_ref().is_some_and(|old| is_new(&old.cow, extent));
        let edges = (top + px(height / 2), bottom);
        one(frame, canvas, as_run, extent, edges, &["cow", "cname", "cchg", ", new copy"], changed);
    }
}

/// More extents than eyes can tell apart: stretches of one kind.
fn crowd(frame: &Frame<'_>, canvas: &mut Canvas, runs: (usize, usize), (top, bottom): (Fx, Fx)) {
    let mut parts = Vec::new();
    for extent in &frame.runs[runs.1].now.extents {
        let shown = frame.file.pieces(extent.start, extent.end).into_iter();
        parts.extend(shown.map(|piece| (piece.x0, piece.x1, extent.kind)));
    }
    for (k, (x0, x1, kind)) in joined(parts).into_iter().enumerate() {
        let mark = id(runs.0, "extrun", 0, k as u16);
        canvas.framed(mark, style(kind), band(x0, x1, top, bottom), 0);
    }
}

/// An extent: its body, its name with an addition, and whether it is new or moved.
fn one(
    frame: &Frame<'_>,
    canvas: &mut Canvas,
    run: usize,
    extent: &ExtentView,
    (top, bottom): (Fx, Fx),
    [body, name, mark, extra]: &[&'static str; 4],
    changed: bool,
) {
    let full = frame.full(Lane::Mapping);
    for piece in frame.file.pieces(extent.start, extent.end) {
        let area = band(piece.x0, piece.x1, top, bottom);
        canvas.framed(id(run, body, piece.start, 0), style(extent.kind), area, 0);
        let (long, short) = names(extent, piece.start);
        let place = [(piece.x0 + px(8), bottom - px(5), Anchor::Start)];
        let texts: &[&str] = &[&format!("{long}{extra}"), &format!("{short}{extra}"), short];
        let edges = (piece.x0, if full { piece.x1 } else { piece.x0 });
        canvas.label(id(run, name, piece.start, 0), Style::Stage, edges, &place, texts);
        if changed {
            canvas.fill(id(run, mark, piece.start, 0), Style::Changed, area);
        }
    }
}

/// Whether these ascending extents lack one.
fn is_new(old: &[ExtentView], extent: &ExtentView) -> bool {
    let same = old.binary_search_by_key(&extent.start, |other| other.start);
    same.map_or(true, |at| old[at] != *extent)
}

const fn style(kind: ExtentState) -> Style {
    match kind {
        ExtentState::Hole => Style::Hole,
        ExtentState::Delalloc => Style::Delalloc,
        ExtentState::Mapped | ExtentState::Inline => Style::Mapped,
        ExtentState::Unwritten => Style::Unwritten,
    }
}

fn names(extent: &ExtentView, start: u64) -> (String, &'static str) {
    let short = extent.kind.name();
    let long = extent.addr.map_or_else(
        || short.to_owned(),
        |addr| {
            let sector = addr.saturating_add(start - extent.start) / SECTOR_SIZE;
            format!("{short} from sector {}", grouped(sector))
        },
    );
    (long, short)
}
