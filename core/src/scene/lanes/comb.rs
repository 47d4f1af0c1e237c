//! Combs over the bios of an array: where its stripes begin, with their numbers, and below, dashed,
//! where they would begin if they were counted from the start of the partition. Like the scales of
//! a vernier, the two meet where a bio that is aligned to one is aligned to the other.

use super::MANY;
use crate::scene::canvas::{Canvas, id};
use crate::scene::draw::{Anchor, Style};
use crate::scene::fixed::{Fx, px};
use crate::scene::layout::{Frame, band};
use crate::scene::view::Lane;

/// Height of a comb.
const COMB: i32 = 16;

/// Height of all that stands over the bios.
pub(super) fn height(frame: &Frame<'_>) -> i32 {
    if !frame.full(Lane::Bios) || frame.limits.stripe == 0 {
        return 0;
    }
    if is_shifted(frame) { 2 * COMB } else { COMB }
}

/// Whether the stripes of the partition are not those of the array.
const fn is_shifted(frame: &Frame<'_>) -> bool {
    !frame.limits.partition.is_multiple_of(frame.limits.stripe)
}

/// Numbers of stripes with the bytes of the file where they begin, if the device's first byte is
/// the array's byte `shift`.
fn edges(frame: &Frame<'_>, shift: u64) -> Vec<(u64, u64)> {
    let stripe = frame.limits.stripe;
    let mut found = Vec::new();
    let extents = frame.runs.first().map_or(&[][..], |run| &run.now.extents);
    for extent in extents {
        let Some(addr) = extent.addr else { continue };
        let from = addr.saturating_add(shift);
        let behind = from.saturating_add(extent.end - extent.start);
        for number in from.div_ceil(stripe)..behind.div_ceil(stripe).min(u64::MAX / stripe) {
            found.push((number, extent.start + (number * stripe - from)));
            if found.len() > MANY {
                return Vec::new();
            }
        }
    }
    found
}

/// Draws the combs.
pub(super) fn draw(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) {
    if height(frame) == 0 {
        return;
    }
    let array = edges(frame, frame.limits.partition);
    comb(frame, canvas, (0, Style::SectorAxis), top, &array, |number| {
        vec![format!("stripe {number}"), number.to_string()]
    });
    // The one that began before the file did.
    if let Some(before) =
        array.first().filter(|edge| edge.1 > 0).and_then(|edge| edge.0.checked_sub(1))
    {
        let at = (px(frame.x0 + 4), top + px(10), Anchor::Start);
        let words = format!("stripe {before}");
        let place = (px(frame.x0), frame.file.x(array[0].1).unwrap_or(px(frame.x1)));
        canvas.label(id(0, "combsays", before, 0), Style::SectorTick, place, &[at], &[&words]);
    }
    if is_shifted(frame) {
        let own = edges(frame, 0);
        let first = own.first().map(|edge| edge.0);
        comb(frame, canvas, (1, Style::Stripe), top + px(COMB), &own, |number| {
            let words = ["by partition", "partition"].map(str::to_owned).into_iter();
            words.filter(|_| Some(number) == first).collect()
        });
    }
}

fn comb(
    frame: &Frame<'_>,
    canvas: &mut Canvas,
    (nth, style): (usize, Style),
    top: Fx,
    edges: &[(u64, u64)],
    words: impl Fn(u64) -> Vec<String>,
) {
    let bottom = top + px(COMB - 3);
    for (nth_edge, (number, at)) in edges.iter().enumerate() {
        let Some(x) = frame.file.x(*at) else { continue };
        let next = edges.get(nth_edge + 1).and_then(|next| frame.file.x(next.1));
        canvas.line(id(nth, "comb", *number, 0), style, (x, top), (x, bottom));
        let texts = words(*number);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let place = [(x + px(4), top + px(10), Anchor::Start)];
        let mark = id(nth, "combsays", *number, 0);
        let room = (x, next.unwrap_or(px(frame.x1)) - px(2));
        canvas.label(mark, Style::SectorTick, room, &place, &texts);
    }
}

/// The bar of a bio: which, its bytes, and its row from top to bottom.
pub(super) type Bar = (u32, (u64, u64), (Fx, Fx));

/// Marks where bios of a run cross the start of a stripe.
pub(super) fn crossings(frame: &Frame<'_>, canvas: &mut Canvas, run: usize, bars: &[Bar]) {
    if height(frame) == 0 {
        return;
    }
    for (number, at) in edges(frame, frame.limits.partition) {
        let Some(x) = frame.file.x(at) else { continue };
        for (bio, _, (top, bottom)) in bars.iter().filter(|bar| bar.1.0 < at && at < bar.1.1) {
            let k = *bio as u16;
            let gap = band(x - px(2), x + px(2), *top, *bottom);
            canvas.fill(id(run, "crossgap", number, k), Style::Ground, gap);
            let ends = ((x, *top - px(4)), (x, *bottom + px(4)));
            canvas.line(id(run, "cross", number, k), Style::Stripe, ends.0, ends.1);
        }
    }
}
