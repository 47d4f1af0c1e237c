//! How often each block of a file was written, and how often nobody had asked for it: what only a
//! whole trace can know.

use super::model::Model;
use crate::block::bio::{BioOp, MAX_BYTES};
use crate::units::Offset;
use std::collections::BTreeMap;

/// How often a block of a file was written, and how often nobody had asked for it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Times written.
    pub written: u32,
    /// Of these, times written though clean.
    pub wasted: u32,
}

/// Tallies of a file by block; a block without one was never written.
pub type Tallies = BTreeMap<u64, Tally>;

/// Counts a block once more, or takes that back.
fn count(file: &mut Tallies, block: u64, wasted: bool, forward: bool) {
    let step = |n: &mut u32| *n = if forward { *n + 1 } else { n.saturating_sub(1) };
    let tally = file.entry(block).or_default();
    step(&mut tally.written);
    if wasted {
        step(&mut tally.wasted);
    }
    if *tally == Tally::default() {
        file.remove(&block);
    }
}

impl Model {
    /// The blocks that a bio writes are counted, or no longer.
    pub(super) fn tally(&mut self, bio: u32, forward: bool) {
        let Self { geometry, folios, bios, tallies, .. } = self;
        let Some(bio) = bios.get(bio) else { return };
        if bio.head().op != BioOp::Write {
            return;
        }
        if bio.head().direct {
            let id = bio.head().file.get();
            let file = tallies.entry(id, Tallies::new);
            let first = geometry.file_block_floor(bio.pos()).get();
            let len = bio.len().get().min(MAX_BYTES).div_ceil(geometry.block_size().get());
            for block in first..first.saturating_add(len) {
                count(file, block, false, forward);
            }
            if file.is_empty() {
                tallies.remove(id);
            }
            return;
        }
        for seg in bio.segs() {
            let Some(folio) = folios.get(&seg.folio.get()) else { continue };
            let place = folio.place();
            let file = tallies.entry(place.file.get(), Tallies::new);
            let base = geometry.file_block_floor(geometry.page_pos(place.index));
            let first = geometry.block_floor(seg.offset).get();
            // A piece lies in its folio, whatever a trace says.
            let size = geometry.folio_size(place.order).get();
            let end = seg.offset.get().saturating_add(seg.len.get()).min(size);
            for block in first..geometry.block_ceil(Offset::new(end)).get() {
                count(file, base.get() + block, folio.is_waste(block as u32), forward);
            }
            if file.is_empty() {
                tallies.remove(place.file.get());
            }
        }
    }
}
