//! Members: one cell a chunk, the disks from top to bottom and stripes from left to right, filled
//! by what was written; what was read for it has dots, and hatch over them where no read was
//! needed. What a power cut or a failure left wrong says so in solid colour; a line lies over what
//! a disk does not hold, and a flag stands where filling it has come to.

use crate::scene::canvas::{Canvas, id};
use crate::scene::draw::{Anchor, Pattern, Style};
use crate::scene::fixed::{Fx, plural, px, whole};
use crate::scene::layout::{Frame, Row, band};
use crate::scene::members::{ArrayView, ChunkView, Part, StripeView};
use crate::scene::view::Lane;

/// Height of a cell, and from one to the next.
const CELL: i32 = 14;
const STEP: i32 = 16;
/// Over the cells: the numbers of stripes. Under them: what they cost, as a bar and in words, and
/// why.
const HEAD: i32 = 14;
const BAR: i32 = 6;
const FOOT: i32 = BAR + 34;
/// Narrowest and widest stripe.
const NARROWEST: i32 = 64;
const WIDEST: i32 = 276;

pub(in crate::scene) fn draw(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) -> Fx {
    let full = frame.full(Lane::Members);
    let members = whole(frame.limits.members);
    let height = if full { HEAD + STEP * members + FOOT } else { 12 };
    let center = if full { HEAD + CELL / 2 } else { 6 };
    let row = Row { height, gap: 8, center };
    // Two grids also where they are equal: that nothing differs is best seen in both.
    if frame.compares() && frame.runs.windows(2).all(|two| two[0].array == two[1].array) {
        frame.agreement(canvas, Lane::Members, top, top + px(height + row.gap / 2));
    }
    frame.stack(canvas, Lane::Members, top, &row, false, |canvas, run, y| {
        let Some(array) = &frame.runs[run].array else { return };
        let columns = columns(frame, array.stripes.len());
        for (stripe, (x0, x1)) in array.stripes.iter().zip(&columns) {
            if full {
                column(frame, canvas, run, (array, stripe), (px(*x0), px(*x1), y));
            } else {
                let most = (run, frame.limits.transfers);
                bar(canvas, most, stripe, (px(*x0), px(*x1)), (y, y + px(10)));
            }
        }
        if full {
            names(frame, canvas, run, array, y);
            let more = array.stripes.len() - columns.len();
            if more > 0 {
                let text = format!("and {}", plural(more as u64, "more stripe"));
                let at = y + px(HEAD + STEP * members + BAR + 29);
                let place = [(px(frame.x1), at, Anchor::End)];
                canvas.label(id(run, "mmore", 0, 0), Style::Tick, frame.edges(), &place, &[&text]);
            }
        }
    })
}

/// Where the stripes stand: as many as have room.
fn columns(frame: &Frame<'_>, stripes: usize) -> Vec<(i32, i32)> {
    let room = frame.x1 - frame.x0;
    let most = (room / NARROWEST).max(1);
    let count = whole(stripes).clamp(1, most);
    let wide = (room / count).min(WIDEST);
    (0..count.min(whole(stripes)))
        .map(|nth| (frame.x0 + nth * wide, frame.x0 + (nth + 1) * wide - 4))
        .collect()
}

/// The names of the disks, where there is room.
fn names(frame: &Frame<'_>, canvas: &mut Canvas, run: usize, array: &ArrayView, y: Fx) {
    if frame.narrow {
        return;
    }
    let right = frame.x0 - 9 - if frame.compares() { 22 } else { 0 };
    for (nth, disk) in array.disks.iter().enumerate() {
        let at = (px(right), y + px(HEAD + STEP * whole(nth) + 11));
        let words = disk.words();
        let mut texts: Vec<String> =
            words.iter().map(|words| format!("disk {nth} {words}")).collect();
        if texts.is_empty() {
            texts.push(format!("disk {nth}"));
        }
        texts.push(nth.to_string());
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mark = id(run, "disk", nth as u64, 0);
        let place = [(at.0, at.1, Anchor::End)];
        let edges = (px(frame.margin), px(frame.x0));
        canvas.label(mark, Style::Tick, edges, &place, &texts);
    }
}

/// A bar of what was written and what was read, with hatch over reads that no row needed; the
/// longest is that of the stripe that costs most in the end.
fn bar(
    canvas: &mut Canvas,
    (run, most): (usize, u64),
    stripe: &StripeView,
    (x0, x1): (Fx, Fx),
    (top, bottom): (Fx, Fx),
) {
    if stripe.written + stripe.read == 0 {
        return;
    }
    let upto = |part: u64| x0 + (x1 - x0).scale(part.min(most), most);
    let (middle, end) = (upto(stripe.written), upto(stripe.written + stripe.read));
    canvas.fill(id(run, "mbar", stripe.number, 0), Style::Asked, band(x0, middle, top, bottom));
    if middle < end {
        let pattern = if stripe.whole { Pattern::Hatch } else { Pattern::Dots };
        canvas.pattern(id(run, "mbar", stripe.number, 1), pattern, band(middle, end, top, bottom));
    }
}

fn column(
    frame: &Frame<'_>,
    canvas: &mut Canvas,
    run: usize,
    (array, stripe): (&ArrayView, &StripeView),
    (x0, x1, y): (Fx, Fx, Fx),
) {
    let n = stripe.number;
    let edges = (x0, x1 + px(2));
    let name = [format!("stripe {n}"), n.to_string()];
    let texts: Vec<&str> = name.iter().map(String::as_str).collect();
    let place = [(x0, y + px(10), Anchor::Start)];
    canvas.label(id(run, "stripe", n, 0), Style::SectorTick, edges, &place, &texts);
    let before = frame.runs[run].array_before.as_ref();
    let old = before.and_then(|array| array.stripes.iter().find(|other| other.number == n));
    for (nth, chunk) in stripe.chunks.iter().enumerate() {
        let top = y + px(HEAD + STEP * whole(nth));
        let area = (x0, x1, top);
        let held = array.held(nth, n);
        cell(canvas, (run, n, nth as u16), (array.rows, stripe.whole, held), chunk, area);
        let changed = before.is_some() && old.is_none_or(|old| old.chunks.get(nth) != Some(chunk));
        let idle = chunk.written + chunk.read == 0;
        if changed && !idle {
            let out = band(x0 - px(1), x1 + px(1), top - px(1), top + px(CELL + 1));
            canvas.fill(id(run, "mchg", n, nth as u16), Style::Changed, out);
        }
    }
    let foot = y + px(HEAD + STEP * whole(stripe.chunks.len()));
    let band = (foot + px(1), foot + px(1 + BAR));
    bar(canvas, (run, frame.limits.transfers), stripe, (x0, x1), band);
    let cost = stripe.cost(array.rows);
    let texts: Vec<&str> = cost.iter().map(String::as_str).collect();
    let vain = stripe.whole && stripe.read > 0;
    let style = if vain { Style::WasteWords } else { Style::Tick };
    if stripe.written + stripe.read > 0 {
        let place = [(x0, foot + px(BAR + 15), Anchor::Start)];
        canvas.label(id(run, "mcost", n, 0), style, edges, &place, &texts);
    }
    let mut why = stripe.why();
    if stripe.held > 0 {
        let held = plural(stripe.held, "row");
        let more: Vec<String> = why.iter().map(|words| format!("{words}; {held} held")).collect();
        why.splice(0..0, more);
    }
    let texts: Vec<&str> = why.iter().map(String::as_str).collect();
    let place = [(x0, foot + px(BAR + 29), Anchor::Start)];
    canvas.label(id(run, "mwhy", n, 0), Style::Tick, edges, &place, &texts);
}

/// A chunk.
fn cell(
    canvas: &mut Canvas,
    (run, n, k): (usize, u64, u16),
    (rows, whole, (held, here)): (u64, bool, (u64, bool)),
    chunk: &ChunkView,
    (x0, x1, top): (Fx, Fx, Fx),
) {
    let bottom = top + px(CELL);
    canvas.framed(id(run, "mcell", n, k), Style::Hole, band(x0, x1, top, bottom), 0);
    let upto = |part: u64| x0 + (x1 - x0).scale(part.min(rows), rows.max(1));
    let written = upto(chunk.written);
    match chunk.part {
        Part::Data => {
            canvas.fill(id(run, "mw", n, k), Style::Asked, band(x0, written, top, bottom));
        }
        Part::P | Part::Q => {
            let area = band(x0, written, top + px(2), bottom - px(2));
            canvas.framed(id(run, "mw", n, k), Style::Parity, area, 0);
        }
    }
    if chunk.read > 0 {
        let middle = top + px(CELL / 2);
        let dots = band(x0, upto(chunk.read), middle, bottom);
        canvas.pattern(id(run, "mr", n, k), Pattern::Dots, dots);
        if whole {
            let hatch = band(x0, upto(chunk.read), top, middle);
            canvas.pattern(id(run, "my", n, k), Pattern::Hatch, hatch);
        }
    }
    if chunk.wrong > 0 {
        let area = band(x0, upto(chunk.wrong), top, bottom);
        canvas.fill(id(run, "mwrong", n, k), Style::Failed, area);
    }
    if held < rows {
        let middle = top + px(CELL / 2);
        let line = band(upto(held), x1, middle - px(1), middle + px(1));
        canvas.fill(id(run, "mfail", n, k), Style::ErrorTick, line);
    }
    if here {
        let at = upto(held);
        canvas.line(
            id(run, "mheld", n, k),
            Style::Changed,
            (at, top - px(1)),
            (at, bottom + px(1)),
        );
    }
    // So high that the tail of a Q is clear of the edge.
    let place = [((x0 + x1) / 2, top + px(10), Anchor::Middle)];
    if chunk.wrong > 0 {
        let texts = chunk.wrong_words();
        canvas.label(id(run, "mp", n, k), Style::LetterFailed, (x0, x1), &place, &texts);
        return;
    }
    let letter = match chunk.part {
        Part::Data => return,
        Part::P => "P",
        Part::Q => "Q",
    };
    let times = format!("{letter} \u{d7}{}", chunk.most);
    let texts: Vec<&str> = if chunk.most > 1 { vec![&times, letter] } else { vec![letter] };
    if chunk.read == 0 || chunk.written > 0 {
        canvas.label(id(run, "mp", n, k), Style::ParityWords, (x0, x1), &place, &texts);
    }
}
