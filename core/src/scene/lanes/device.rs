//! Device: the sector axis with what is on its way to it, and the ribbons from file to device.

use super::bios::cargo;
use super::{MANY, joined};
use crate::scene::canvas::{Canvas, id};
use crate::scene::draw::{Anchor, Shape, Style};
use crate::scene::fixed::{Fx, HALF, grouped, px};
use crate::scene::layout::{Frame, Row, band, breaks};
use crate::scene::snapshot::{ExtentView, PieceView};
use crate::scene::view::Lane;
use crate::units::SECTOR_SIZE;

const BAR: i32 = 14;
const RIBBON: i32 = 26;
const TICKS: i32 = 18;

/// Draws the ribbons; returns where they end.
pub(in crate::scene) fn ribbons(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) -> Fx {
    if !frame.full(Lane::Device) {
        return top;
    }
    let agree = frame.agree(|a, b| a.extents == b.extents);
    let once = agree || frame.limits.mapping_fixed;
    let most = |at: &usize| frame.runs[*at].now.extents.len();
    let all: Vec<usize> = (0..frame.runs.len()).collect();
    let shown = if once { all.iter().copied().max_by_key(most).into_iter().collect() } else { all };
    for run in shown {
        let extents = &frame.runs[run].now.extents;
        // So many would be one grey.
        for extent in extents.iter().filter(|_| extents.len() <= MANY) {
            ribbon(frame, canvas, if once { 0 } else { run }, extent, top);
        }
    }
    top + px(RIBBON)
}

fn ribbon(frame: &Frame<'_>, canvas: &mut Canvas, run: usize, extent: &ExtentView, top: Fx) {
    let Some(addr) = extent.addr else { return };
    for above in frame.file.pieces(extent.start, extent.end) {
        let from = addr.saturating_add(above.start - extent.start);
        let below = frame.sectors.pieces(from, from.saturating_add(above.end - above.start));
        let (Some(first), Some(last)) = (below.first(), below.last()) else { continue };
        let bottom = top + px(RIBBON - 4);
        let points = vec![(above.x0, top), (above.x1, top), (last.x1, bottom), (first.x0, bottom)];
        canvas.push(id(run, "ribbon", above.start, 0), Style::Ribbon, Shape::Path(points));
    }
}

pub(in crate::scene) fn draw(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) -> Fx {
    let full = frame.full(Lane::Device);
    let row = if full {
        Row { height: BAR + 4, gap: 6, center: BAR / 2 + 1 }
    } else {
        Row { height: 12, gap: 4, center: 6 }
    };
    let pieces = |run: usize| -> Vec<PieceView> {
        frame.runs[run].now.bios.iter().flat_map(|bio| bio.pieces.clone()).collect()
    };
    let agree = (1..frame.runs.len()).all(|run| pieces(run) == pieces(0));
    let height = frame.stack(canvas, Lane::Device, top, &row, agree, |canvas, run, y| {
        let line = y + px(row.height - 2) + HALF;
        for (at, segment) in frame.sectors.segments().iter().enumerate() {
            let (from, to) = ((px(segment.x0 - 8), line), (px(segment.x1 + 8), line));
            canvas.line(id(run, "saxis", at as u64, 0), Style::SectorAxis, from, to);
        }
        breaks(canvas, "sbreak", &frame.sectors, (line - px(4), line + px(4)), run);
        if frame.runs[run].now.bios.len() > MANY {
            let mut parts = Vec::new();
            for part in frame.runs[run].now.bios.iter().flat_map(|bio| &bio.pieces) {
                let end = part.addr.saturating_add(part.end - part.start);
                let shown = frame.sectors.pieces(part.addr, end).into_iter();
                parts.extend(shown.map(|piece| (piece.x0, piece.x1, part.cargo)));
            }
            for (k, (x0, x1, what)) in joined(parts).into_iter().enumerate() {
                let area = band(x0, x1, y, y + px(row.height - 3));
                cargo(canvas, id(run, "devrun", 0, k as u16), what, area);
            }
            return;
        }
        for bio in &frame.runs[run].now.bios {
            let mut k = 0;
            for part in &bio.pieces {
                let end = part.addr.saturating_add(part.end - part.start);
                for piece in frame.sectors.pieces(part.addr, end) {
                    let x1 = piece.x1.max(piece.x0 + px(4));
                    let area = band(piece.x0, x1, y, y + px(row.height - 3));
                    cargo(canvas, id(run, "dev", u64::from(bio.id), k), part.cargo, area);
                    k += 1;
                }
            }
        }
    });
    if !full {
        return height;
    }
    ticks(frame, canvas, top + height);
    height + px(TICKS)
}

fn ticks(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) {
    let (left, right) = (px(frame.margin.max(frame.x0 - 40)), px(frame.x1));
    for (addr, x) in frame.sectors.ticks(SECTOR_SIZE, 84) {
        let sector = addr / SECTOR_SIZE;
        let x = x.min(right - px(1));
        canvas.line(
            id(0, "stick", sector, 0),
            Style::SectorAxis,
            (x + HALF, top - px(1)),
            (x + HALF, top + px(4)),
        );
        let y = top + px(14);
        let place = [(x, y, Anchor::Middle), (x.min(right), y, Anchor::End)];
        let text = grouped(sector);
        canvas.label(id(0, "sat", sector, 0), Style::SectorTick, (left, right), &place, &[&text]);
    }
    if frame.sectors.segments().is_empty() {
        let place = [(px(frame.x0), top + px(4), Anchor::Start)];
        let text = "no space on the device is known yet";
        canvas.label(id(0, "nosec", 0, 0), Style::Tick, frame.edges(), &place, &[text]);
    }
}
