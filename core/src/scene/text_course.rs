//! The lanes of a whole run in text: rows of letters over the blocks, or a line each.

use super::cells::{Cargo, Cell};
use super::course::{What, Writer};
use super::lanes::{history as past, marks as used, order, returns as bytes};
use super::layout::Run;
use super::text::{Grid, fold};
use super::view::Lane;
use crate::units::SECTOR_SIZE;

/// Most rows of a lane.
const MOST: usize = 12;

/// Every so many things one, so that no more than [`MOST`] are left, the last one among them.
fn some<T>(all: &[T]) -> impl Iterator<Item = &T> {
    let each = all.len().div_ceil(MOST).max(1);
    let first = (all.len() + each - 1) % each;
    all.iter().skip(first).step_by(each)
}

/// A row a bio or check, the reader before it as `v`.
pub(super) fn history(run: &Run, lane: Lane, grid: &Grid) -> Vec<String> {
    let all = past::so_far_of(run, lane);
    let mut rows: Vec<String> = fold(&past::words_of(run, lane).0[0]);
    for one in some(all) {
        let copied = one.copied(run.position);
        let letter = |at: u64, end: u64| {
            if one.reader.is_some_and(|reader| at <= reader && reader < end) {
                return 'v';
            }
            if end <= one.start || one.end <= at {
                return ' ';
            }
            match &one.what {
                What::Check { .. } if at < copied => Cell::InFlight.letter(),
                What::Check { .. } => 'Y',
                What::Bio { vain, .. } if vain.0 <= at && end <= vain.1 => 'Y',
                What::Bio { parts, .. } => {
                    let here = parts.iter().filter(|part| part.0 < end && at < part.1);
                    here.map(|part| part.2).max().map_or(' ', Cargo::letter)
                }
            }
        };
        rows.push(grid.row(letter).trim_end().to_owned());
    }
    if all.len() > MOST {
        rows.push(format!("one row in {}", all.len().div_ceil(MOST)));
    }
    if lane == Lane::Checks {
        rows.push("W copied, Y checked in vain".to_owned());
    }
    rows
}

/// Atomic operations a folio; `p` where a plain store marked it before.
pub(super) fn marks(run: &Run, grid: &Grid) -> Vec<String> {
    let folios = used::folios(used::so_far_of(run));
    let here = |at: u64, end: u64| {
        let mut some = folios.iter().filter(|(start, _)| at <= *start && *start < end);
        some.next().map(|(_, column)| *column)
    };
    let plain = |at, end| if here(at, end).is_some_and(|one| one.plain > 0) { 'p' } else { ' ' };
    let atomic = |at, end| match here(at, end).map(|one| one.atomic) {
        None => ' ',
        Some(n @ 0..=9) => char::from(b'0' + n as u8),
        Some(_) => '+',
    };
    let mut rows = fold(&used::words_of(run).0[0]);
    rows.extend([grid.row(plain), grid.row(atomic)]);
    rows.push("p marked before others see it; atomic operations after".to_owned());
    rows
}

/// A line each, the first ones.
pub(super) fn sent(run: &Run) -> Vec<String> {
    let all = order::so_far_of(run);
    let mut rows = fold(&order::words_of(run).0[0]);
    for (nth, one) in all.iter().enumerate().take(MOST) {
        let says = order::says(nth, one).into_iter().next().unwrap_or_default();
        rows.push(format!("{says} from sector {}", one.start / SECTOR_SIZE));
    }
    if all.len() > MOST {
        rows.push(format!("and {} more", all.len() - MOST));
    }
    rows
}

/// Who wrote what a read returns, then each stretch in words.
pub(super) fn returns(run: &Run, grid: &Grid) -> Vec<String> {
    let spans = grid.spans.iter();
    let all: Vec<_> = spans.flat_map(|span| bytes::stretches(run, *span)).collect();
    let mut rows = Vec::new();
    for stretch in all.iter().filter(|stretch| stretch.3 || stretch.2 != Writer::Nothing).take(MOST)
    {
        let (what, state) = bytes::says(stretch);
        rows.extend(fold(&format!("{what}: {state}")));
    }
    if rows.is_empty() {
        rows.push("nothing".to_owned());
    }
    rows
}
