//! Readahead before 6.11: one routine decides for a miss and for a hit of the mark
//! (`ondemand_readahead`).

use super::readahead::{Ask, Window, first_size, next_size};
use crate::units::{FileId, FolioId, Order, PageIndex, Pages};
use crate::world::{Env, World};

impl<E: Env> World<E> {
    /// Chooses a window for a read at `index`, where nothing is cached or `marked` carries the
    /// mark.
    pub(super) fn ondemand_readahead(
        &mut self,
        file: FileId,
        index: PageIndex,
        marked: Option<FolioId>,
        asked: Pages,
    ) -> Ask {
        let max = self.most_pages(file, asked);
        let order = marked.map_or(Order::ZERO, |folio| self.folios.at(folio).order);
        let window = *self.window(file);
        let end = window.start + window.size;
        let mark = end.get().saturating_sub(window.lookahead.get());
        let mark = mark.next_multiple_of(order.pages().get());
        let fresh = |world: &mut Self| {
            let size = first_size(asked, max);
            let lookahead = if size > asked { size - asked } else { size };
            *world.window(file) = Window { start: index, size, lookahead, ..window };
        };
        if index == PageIndex::ZERO {
            fresh(self);
        } else if index.get() == mark || index == end {
            let size = next_size(window.size, max);
            *self.window(file) = Window { start: end, size, lookahead: size, ..window };
        } else if marked.is_some() {
            let Some((start, size)) = self.window_at_hole(file, index, asked, max) else {
                return Ask::Nothing;
            };
            *self.window(file) = Window { start, size, lookahead: size, ..window };
        } else if asked > max || self.follows_last_read(file, index) {
            fresh(self);
        } else if !self.window_by_context(file, index, asked, max) {
            return Ask::Pages(index, asked);
        }
        self.merge_with_next(file, index, max);
        Ask::Window(Order::new(order.get() + 2))
    }
    /// A window that this very read would find the mark of takes in the one after it.
    fn merge_with_next(&mut self, file: FileId, index: PageIndex, max: Pages) {
        let window = *self.window(file);
        if index != window.start || window.size != window.lookahead {
            return;
        }
        let more = next_size(window.size, max);
        let (size, lookahead) = if window.size + more <= max {
            (window.size + more, more)
        } else {
            (max, Pages::new(max.get() / 2))
        };
        *self.window(file) = Window { size, lookahead, ..window };
    }
}
