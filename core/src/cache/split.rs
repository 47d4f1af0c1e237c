//! Splitting a large folio (`folio_split`): its pages stay where they are in memory and in the
//! file, in smaller folios.

use super::folio::{Folio, FolioFlags, NO_IFS};
use super::mapping::Tag;
use crate::behaviour::FolioSplit;
use crate::trace::delta::{ABSENT, DeltaKind};
use crate::trace::model::Place;
use crate::trace::rule::Rule;
use crate::units::{FolioId, Order, PageIndex};
use crate::world::{Env, World};

/// A piece: index of its first page, and order.
type Piece = (PageIndex, Order);

/// The pieces of the naturally aligned range `whole`, ascending: halves of halves down to `least`
/// around `page`, or all of order `least`.
fn pieces(whole: Piece, page: PageIndex, least: Order, how: FolioSplit) -> Vec<Piece> {
    let (mut start, mut order) = whole;
    let mut out = Vec::new();
    if how == FolioSplit::Uniform {
        let end = start + order.pages();
        while start < end {
            out.push((start, least));
            start += least.pages();
        }
        return out;
    }
    while order > least {
        order = order.smaller().expect("above the smallest order");
        let middle = start + order.pages();
        if page < middle {
            out.push((middle, order));
        } else {
            out.push((start, order));
            start = middle;
        }
    }
    out.push((start, least));
    out.sort_unstable();
    out
}

impl<E: Env> World<E> {
    /// Splits a locked folio that is not under writeback around one of its pages; false if it stays
    /// whole: dirty block state is not given up (`iomap_release_folio`). The piece with the page
    /// stays locked. Pieces have no block state; what the folio said of itself each says of itself.
    pub(crate) fn split_folio(&mut self, id: FolioId, page: PageIndex) -> bool {
        let least = self.geometry().min_order();
        let old = self.folios.at(id).clone();
        let pos = self.folio_pos(id).get();
        let refused = old.ifs != NO_IFS && old.flags.has(FolioFlags::DIRTY);
        if refused {
            self.step(Rule::SplitRefused, [pos, u64::from(old.order.get()), 0, 0]);
        }
        if refused || old.order <= least {
            return false;
        }
        self.free_state(id);
        let file = old.file();
        let how = self.behaviours().folio_split;
        let pieces = pieces((old.index, old.order), page, least, how);
        let inode = self.file_mut(file);
        inode.memory_map.unmap(old.index, old.end_index());
        let tags =
            [Tag::Dirty, Tag::ToWrite].map(|tag| (tag, inode.mapping.has_tag(tag, old.index)));
        inode.mapping.remove(old.index);
        let mut rest = Vec::new();
        let kept = old.flags.without(FolioFlags::LOCKED.with(FolioFlags::BLOCK_STATE));
        for (index, order) in &pieces {
            let (index, order) = (*index, *order);
            let place = Place { file, index, order }.pack();
            let piece = if index == old.index {
                let whole = Place { file, index, order: old.order }.pack();
                self.folios.at_mut(id).order = order;
                self.note(DeltaKind::FolioPlace, id.get(), 0, whole, place);
                id
            } else {
                let frame = old.frame + index.since(old.index).get() as u32;
                let flags = FolioFlags::NONE;
                let row = Folio { index, frame, ifs: NO_IFS, flags, order, ..old };
                let piece = FolioId::new(self.folios.insert(row));
                self.note(DeltaKind::FolioPlace, piece.get(), 0, ABSENT, place);
                self.note(DeltaKind::FolioPfn, piece.get(), 0, 0, u64::from(frame));
                self.set_flags(piece, kept.without(FolioFlags::READAHEAD));
                rest.push((piece, order));
                piece
            };
            let mapping = &mut self.file_mut(file).mapping;
            mapping.insert(index, order, piece);
            for (tag, on) in tags {
                mapping.set_tag(tag, index, on);
            }
            let holds_page = index <= page && page < index + order.pages();
            if holds_page {
                self.raise(piece, FolioFlags::LOCKED);
            } else {
                self.lower(piece, FolioFlags::LOCKED);
            }
        }
        self.lru_split(id, &rest);
        let args = [pos, u64::from(old.order.get()), page.get(), pieces.len() as u64];
        self.step(Rule::FolioSplit, args);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Pages;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pieces_cover_the_folio_once_and_are_aligned(
            start in 0u64..8, order in 0u8..7, at in 0u64..64, least in 0u8..3, uniform: bool,
        ) {
            let least = Order::new(least.min(order));
            let whole = (PageIndex::new(start << order), Order::new(order));
            let page = whole.0 + Pages::new(at % (1 << order));
            let how = if uniform { FolioSplit::Uniform } else { FolioSplit::NonUniform };
            let all = pieces(whole, page, least, how);
            let mut next = whole.0;
            for (index, order) in &all {
                prop_assert_eq!(*index, next);
                prop_assert_eq!(index.get() % order.pages().get(), 0);
                prop_assert!(*order >= least);
                next = *index + order.pages();
            }
            prop_assert_eq!(next, whole.0 + whole.1.pages());
            let holder = all.iter().rfind(|(index, _)| *index <= page);
            prop_assert_eq!(holder.map(|piece| piece.1), Some(least));
        }
    }

    #[test]
    fn a_split_around_a_page_leaves_the_largest_neighbours() {
        let whole = (PageIndex::new(0), Order::new(8));
        let all = pieces(whole, PageIndex::new(64), Order::ZERO, FolioSplit::NonUniform);
        let orders: Vec<(u64, u8)> =
            all.iter().map(|(at, order)| (at.get(), order.get())).collect();
        assert_eq!(
            orders,
            [(0, 6), (64, 0), (65, 0), (66, 1), (68, 2), (72, 3), (80, 4), (96, 5), (128, 7)]
        );
    }
}
