//! File: the ruler of bytes, the operation that runs, and the ends of the file.

use crate::scene::canvas::{Canvas, id};
use crate::scene::draw::{Anchor, Style};
use crate::scene::fixed::{Fx, HALF, grouped, position, px, size, whole};
use crate::scene::layout::{Frame, band, breaks};
use crate::scene::view::Lane;
use crate::sort::sort_by_key;
use crate::trace::model::OpRecord;

const FULL: i32 = 42;
const STRIP: i32 = 24;
/// From this width of a block on, bytes are told apart.
const LENS: i32 = 256;

pub(in crate::scene) fn draw(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) -> Fx {
    ruler(frame, canvas, top);
    if !frame.full(Lane::File) {
        return px(STRIP);
    }
    operations(frame, canvas, top + px(23));
    ends(frame, canvas, top);
    px(FULL)
}

fn ruler(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) {
    let y = top + px(18) + HALF;
    for (at, segment) in frame.file.segments().iter().enumerate() {
        let (from, to) = ((px(segment.x0), y), (px(segment.x1), y));
        canvas.line(id(0, "axis", at as u64, 0), Style::Axis, from, to);
    }
    breaks(canvas, "fbreak", &frame.file, (y - px(4), y + px(4)), 0);
    let unit = frame.runs.iter().map(|run| run.now.cache.block).min().unwrap_or(1);
    let mut ticks = frame.file.ticks(unit.max(1), 58);
    let last = frame.file.segments().last().map(|last| (last.end, px(last.x1)));
    ticks.extend(last.filter(|last| !ticks.contains(last)));
    // The outer ends first: they say what is shown.
    let (left, right) = frame.edges();
    sort_by_key(&mut ticks, |(pos, x)| (*x != left && *x != right, *x, *pos));
    for (pos, x) in ticks {
        canvas.line(
            id(0, "tick", pos, 0),
            Style::Axis,
            (x.min(right - px(1)) + HALF, y - px(4)),
            (x.min(right - px(1)) + HALF, y + px(4)),
        );
        let anchor = if x == left {
            Anchor::Start
        } else if x == right {
            Anchor::End
        } else {
            Anchor::Middle
        };
        let place = [(x, top + px(10), anchor)];
        let text = position(pos);
        canvas.label(id(0, "at", pos, 0), Style::Tick, frame.edges(), &place, &[&text]);
    }
}

fn words(op: &OpRecord) -> String {
    let what = if op.is_empty() {
        String::new()
    } else {
        format!(" {} at {}", size(op.len().get()), position(op.pos().get()))
    };
    let end = op.result().map_or_else(String::new, |result| format!(" returned {result}"));
    format!("{}{what}{end}", op.kind().name())
}

fn operations(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) {
    let agree = frame.agree(|a, b| a.op.map(|op| op.1) == b.op.map(|op| op.1));
    let rows = if agree { 1 } else { frame.runs.len() };
    let height = 8 / whole(rows);
    let mut said = Vec::new();
    let mut after = None;
    for (at, run) in frame.runs.iter().take(rows).enumerate() {
        let Some((_, op)) = run.now.op else { continue };
        let y = top + px(height * whole(at));
        let end = op.pos().get().saturating_add(op.len().get());
        for (k, piece) in frame.file.pieces(op.pos().get(), end).into_iter().enumerate() {
            let area = band(piece.x0, piece.x1.max(piece.x0 + px(2)), y, y + px(height - 1));
            canvas.fill(id(at, "op", 0, k as u16), Style::Op, area);
            canvas.reserve(area);
            after = Some((piece.x0, area.x1));
        }
        let who = if agree { String::new() } else { format!("{} ", run.label) };
        said.push(who + &words(&op));
    }
    let all = said.join(" \u{b7} ");
    let (left, right) = frame.edges();
    let (from, to) = after.unwrap_or((left, left - px(6)));
    let y = top + px(8);
    let below = top + px(17);
    let places = [
        (to + px(6), y, Anchor::Start),
        (from - px(6), y, Anchor::End),
        (from, below, Anchor::Start),
        (right, below, Anchor::End),
    ];
    let first = said.first().map_or("", String::as_str);
    if !all.is_empty() {
        let texts = [all.as_str(), first];
        canvas.label(id(0, "opname", 0, 0), Style::Stage, frame.edges(), &places, &texts);
    }
}

/// The end of the file in memory, and on the device where that lies elsewhere; of each run where
/// they differ.
fn ends(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) {
    let end = frame.file.segments().last().map_or(0, |last| last.end);
    let agree = frame.agree(|a, b| (a.size, a.disk_size) == (b.size, b.disk_size));
    let mut marks = Vec::new();
    for (at, run) in frame.runs.iter().enumerate().take(if agree { 1 } else { frame.runs.len() }) {
        let of = if agree { String::new() } else { format!(" of {}", run.label) };
        let (size, disk) = (run.now.size, run.now.disk_size);
        marks.push((at, size, format!("EOF{of}"), 0));
        if disk != size {
            marks.push((at, disk, format!("EOF on disk{of}"), 1));
        }
    }
    for (run, pos, name, k) in &marks {
        let (run, pos, k) = (*run, *pos, *k);
        let Some(x) = frame.file.x(pos).filter(|_| pos < end && pos > 0) else { continue };
        canvas.line(
            id(run, "eof", 0, k),
            Style::Eof,
            (x + HALF, top + px(14)),
            (x + HALF, top + px(FULL)),
        );
        let y = top + px(39);
        let places = [(x + px(4), y, Anchor::Start), (x - px(4), y, Anchor::End)];
        // Where a block is wide enough to tell bytes apart.
        let block = frame.runs.iter().map(|run| run.now.cache.block).min().unwrap_or(1);
        let long = format!("{name} at {}", grouped(pos));
        let texts: &[&str] = if frame.file.unit(block) >= LENS {
            &[&long, name.as_str(), "EOF"]
        } else {
            &[name.as_str(), "EOF"]
        };
        canvas.label(id(run, "eofname", 0, k), Style::Tick, frame.edges(), &places, texts);
    }
}
