//! Times written: how often each block reached the device so far, and how often for nothing.

use crate::scene::canvas::{Canvas, id};
use crate::scene::draw::{Anchor, Pattern, Style};
use crate::scene::fixed::{Fx, grouped, plural, px};
use crate::scene::layout::{Frame, Row, band};
use crate::scene::view::Lane;
use crate::trace::model::{Tallies, Tally};

const WORDS: i32 = 15;
const BARS: i32 = 22;
/// Narrowest bar.
const NARROWEST: i32 = 6;

pub(in crate::scene) fn draw(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) -> Fx {
    let full = frame.full(Lane::Tally);
    let (words, bars) = if full { (WORDS, BARS) } else { (0, 14) };
    let row = Row { height: words + bars, gap: 6, center: words + bars / 2 };
    let agree = frame.agree(|a, b| a.cache.block == b.cache.block && a.tallies == b.tallies);
    frame.stack(canvas, Lane::Tally, top, &row, agree, |canvas, run, y| {
        if full {
            total(frame, canvas, run, y + px(11));
        }
        draw_bars(frame, canvas, run, y + px(words), bars);
    })
}

fn total(frame: &Frame<'_>, canvas: &mut Canvas, run: usize, y: Fx) {
    let now = &frame.runs[run].now;
    let segments = frame.file.segments();
    let shown = |block: u64| {
        let pos = block * now.cache.block;
        segments.iter().any(|segment| segment.start <= pos && pos < segment.end)
    };
    let inside = now.tallies.iter().filter(|(block, _)| shown(*block));
    let (written, wasted) = inside.fold((0, 0), |(written, wasted), (_, tally)| {
        (written + u64::from(tally.written), wasted + u64::from(tally.wasted))
    });
    let edges = frame.edges();
    let place = [(px(frame.x0), y, Anchor::Start)];
    if wasted == 0 {
        let text = plural(written, "block write");
        canvas.label(id(run, "tallyname", 0, 0), Style::Tick, edges, &place, &[&text]);
        return;
    }
    let text = format!("{}, {} of clean blocks", plural(written, "block write"), grouped(wasted));
    canvas.label(id(run, "tallyname", 0, 0), Style::WasteWords, edges, &place, &[&text]);
}

fn draw_bars(frame: &Frame<'_>, canvas: &mut Canvas, run: usize, top: Fx, height: i32) {
    let now = &frame.runs[run].now;
    let bottom = top + px(height);
    for (at, segment) in frame.file.segments().iter().enumerate() {
        let (from, to) = ((px(segment.x0), bottom), (px(segment.x1), bottom));
        canvas.line(id(run, "tbase", at as u64, 0), Style::Hair, from, to);
        let first = segment.start / now.cache.block;
        let last = segment.end.div_ceil(now.cache.block);
        let most = u64::from(((segment.x1 - segment.x0) / NARROWEST).max(1).unsigned_abs());
        let per = (last - first).div_ceil(most).max(1);
        for block in (first..last).step_by(per as usize) {
            let end = (block + per).min(last);
            let x0 = segment.x(block * now.cache.block);
            let x1 = segment.x(end * now.cache.block);
            let gap = if x1 - x0 >= px(14) { 2 } else { 1 };
            let highest = highest(&now.tallies, block, end);
            let up = |n: u32| {
                let part = px(height).scale(u64::from(n), u64::from(frame.limits.tally)).floor();
                px(part.max(i32::from(n > 0) * 2))
            };
            let asked = highest.written - highest.wasted.min(highest.written);
            let solid = up(asked);
            let waste =
                (up(highest.written) - solid).max(if highest.wasted > 0 { px(3) } else { px(0) });
            let (left, right) = (x0 + px(gap), x1 - px(gap));
            let area = band(left, right, bottom - solid, bottom);
            canvas.fill(id(run, "asked", block, 0), Style::Asked, area);
            if waste > px(0) {
                let area = band(left, right, bottom - solid - waste, bottom - solid);
                canvas.pattern(id(run, "waste", block, 0), Pattern::Hatch, area);
            }
        }
    }
}

/// The highest tally of some blocks.
fn highest(tallies: &Tallies, first: u64, last: u64) -> Tally {
    let some = tallies.range(first..last).map(|(_, tally)| *tally);
    some.max_by_key(|tally| (tally.written, tally.wasted)).unwrap_or_default()
}
