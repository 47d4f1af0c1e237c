//! Readahead: which window of pages is read before it is asked for, and in folios of which order
//! (`mm/readahead.c` as of 6.17).

use super::mmap::MemAdvice;
use crate::behaviour::ReadaheadRules;
use crate::cache::folio::FolioFlags;
use crate::geometry::Geometry;
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FolioId, Order, PageIndex, Pages, Pos};
use crate::world::{Env, World};

/// By how much the order of readahead grows from window to window.
const ORDER_STEP: Order = Order::new(2);

/// How far a device wants to be read ahead.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ReadaheadLimits {
    /// Largest window (`ra_pages`); none = a miss reads one page.
    pub window: Pages,
    /// Largest I/O (`io_pages`): lets one large read exceed the window.
    pub io: Pages,
}

impl ReadaheadLimits {
    /// Largest window of a device that says nothing (`VM_READAHEAD_PAGES`).
    pub const DEFAULT_WINDOW: Bytes = Bytes::kib(128);
    /// Largest I/O of a device that says nothing (`BLK_DEF_MAX_SECTORS_CAP` before 6.17).
    pub const DEFAULT_IO: Bytes = Bytes::kib(1280);

    /// In whole pages.
    pub fn new(geometry: Geometry, window: Bytes, io: Bytes) -> Self {
        Self { window: geometry.pages_floor(window), io: geometry.pages_floor(io) }
    }
    /// Those of a device that says nothing.
    pub fn usual(geometry: Geometry) -> Self {
        Self::new(geometry, Self::DEFAULT_WINDOW, Self::DEFAULT_IO)
    }
}

/// How an application says that it will read a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// It does not say.
    Normal,
    /// In order: windows may be twice as large.
    Sequential,
    /// Out of order: exactly what is asked is read.
    Random,
}

/// Where the readahead of an open file stands (`file_ra_state`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    pub(super) start: PageIndex,
    pub(super) size: Pages,
    pub(super) lookahead: Pages,
    pub(super) order: Order,
    /// Where the last read ended; none before the first.
    pub(crate) previous: Option<Pos>,
    /// How the application said that it will read.
    pub(crate) pattern: Pattern,
    /// The read that is under way wants its folios dropped behind it.
    pub(crate) dropbehind: bool,
}

impl Default for Window {
    fn default() -> Self {
        let none = Pages::ZERO;
        let (start, order, pattern) = (PageIndex::ZERO, Order::ZERO, Pattern::Normal);
        Self {
            start,
            size: none,
            lookahead: none,
            order,
            previous: None,
            pattern,
            dropbehind: false,
        }
    }
}

/// What a decision asks to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ask {
    /// Nothing now.
    Nothing,
    /// The window, in folios of at most this order.
    Window(Order),
    /// Exactly these pages, one by one.
    Pages(PageIndex, Pages),
    /// The same, but no more than the device takes at once.
    Forced(PageIndex, Pages),
}

/// First window for a read of `asked` pages (`get_init_ra_size`).
pub(super) fn first_size(asked: Pages, max: Pages) -> Pages {
    let (n, max) = (asked.get().next_power_of_two(), max.get());
    Pages::new(if n <= max / 32 {
        n * 4
    } else if n <= max / 4 {
        n * 2
    } else {
        max
    })
}

/// The window after one of `size` pages (`get_next_ra_size`).
pub(super) fn next_size(size: Pages, max: Pages) -> Pages {
    let (n, max) = (size.get(), max.get());
    Pages::new(if n < max / 16 {
        n * 4
    } else if n <= max / 2 {
        n * 2
    } else {
        max
    })
}

/// Two 32-bit numbers in one word of a step.
pub(super) const fn pair(low: u64, high: u64) -> u64 {
    low & u32::MAX as u64 | high << 32
}

impl<E: Env> World<E> {
    pub(super) fn window(&mut self, file: FileId) -> &mut Window {
        &mut self.file_mut(file).window
    }
    fn note_window(&mut self, rule: Rule, file: FileId, index: PageIndex, asked: Pages) {
        let window = *self.window(file);
        let previous = window.previous.map_or(u64::MAX, Pos::get);
        let args = [
            index.get(),
            pair(asked.get(), u64::from(window.order.get())),
            pair(window.size.get(), window.lookahead.get()),
            previous,
        ];
        self.step(rule, args);
    }
    /// Largest window of a file: twice the device's where reads are announced as sequential.
    pub(super) fn largest_window(&self, file: FileId) -> Pages {
        let usual = self.config.readahead.window;
        match self.file(file).window.pattern {
            Pattern::Sequential => usual + usual,
            Pattern::Normal | Pattern::Random => usual,
        }
    }
    pub(super) fn most_pages(&self, file: FileId, asked: Pages) -> Pages {
        let (window, io) = (self.largest_window(file), self.config.readahead.io);
        if asked > window && io > window { asked.min(io) } else { window }
    }
    /// A read of `asked` pages found nothing at `index` (`page_cache_sync_ra`).
    pub(super) fn readahead_for_miss(
        &mut self,
        file: FileId,
        index: PageIndex,
        asked: Pages,
    ) -> Ask {
        self.note_window(Rule::ReadaheadMiss, file, index, asked);
        let rules = self.behaviours().readahead_rules;
        if self.config.readahead.window.is_zero() {
            return Ask::Forced(index, Pages::new(1));
        }
        if self.file(file).window.pattern == Pattern::Random {
            return Ask::Forced(index, asked);
        }
        if rules == ReadaheadRules::OneRoutine {
            return self.ondemand_readahead(file, index, None, asked);
        }
        let max = self.most_pages(file, asked);
        if index == PageIndex::ZERO || asked > max || self.follows_last_read(file, index) {
            let size = first_size(asked, max);
            let lookahead = if size > asked { size - asked } else { Pages::new(size.get() / 2) };
            *self.window(file) = Window { start: index, size, lookahead, ..*self.window(file) };
        } else if !self.window_by_context(file, index, asked, max) {
            return Ask::Pages(index, asked);
        }
        Ask::Window(self.first_order())
    }
    /// The order of a window that no other went before.
    fn first_order(&self) -> Order {
        match self.behaviours().readahead_rules {
            ReadaheadRules::OneRoutine | ReadaheadRules::FolioOrder => ORDER_STEP,
            ReadaheadRules::WindowOrder => Order::ZERO,
        }
    }
    /// Whether a read at `index` goes on where the last one ended.
    pub(super) fn follows_last_read(&self, file: FileId, index: PageIndex) -> bool {
        let previous = self.file(file).window.previous;
        let previous = previous.map_or(u64::MAX, |pos| self.geometry().page_floor(pos).get());
        index.get().wrapping_sub(previous) <= 1
    }
    /// A window for a read that begins where more pages are cached than it asks for; false if there
    /// are no such traces of an earlier stream (`try_context_readahead`).
    pub(super) fn window_by_context(
        &mut self,
        file: FileId,
        index: PageIndex,
        asked: Pages,
        max: Pages,
    ) -> bool {
        let cached = self.cached_before(file, index, max);
        if cached <= asked {
            return false;
        }
        let counted = if cached.get() == index.get() { cached + cached } else { cached };
        let size = (counted + asked).min(max);
        let lookahead = Pages::new(1);
        *self.window(file) = Window { start: index, size, lookahead, ..*self.window(file) };
        true
    }
    /// A read reached the marked folio (`page_cache_async_ra`).
    pub(super) fn readahead_for_hit(
        &mut self,
        file: FileId,
        folio: FolioId,
        index: PageIndex,
        asked: Pages,
    ) -> Ask {
        let pages = self.folios.at(folio).order.pages();
        self.note_window(Rule::ReadaheadHit, file, index, asked);
        if self.config.readahead.window.is_zero() || self.has(folio, FolioFlags::WRITEBACK) {
            return Ask::Nothing;
        }
        self.lower(folio, FolioFlags::READAHEAD);
        let rules = self.behaviours().readahead_rules;
        if rules == ReadaheadRules::OneRoutine {
            return self.ondemand_readahead(file, index, Some(folio), asked);
        }
        let max = self.most_pages(file, asked);
        let window = *self.window(file);
        let mark = (window.start + window.size).get().saturating_sub(window.lookahead.get());
        let expected = mark / pages.get() * pages.get();
        let (start, size) = if index.get() == expected {
            (window.start + window.size, window.size.max(next_size(window.size, max)))
        } else {
            let Some(found) = self.window_at_hole(file, index, asked, max) else {
                return Ask::Nothing;
            };
            found
        };
        if rules == ReadaheadRules::FolioOrder {
            *self.window(file) = Window { start, size, lookahead: size, ..window };
            let order = self.folios.at(folio).order;
            return Ask::Window(Order::new(order.get() + ORDER_STEP.get()));
        }
        let order = Order::new(window.order.get() + ORDER_STEP.get());
        let align = 1u64 << u32::from(order.get()).min(max.get().trailing_zeros());
        let end = (start + size).get();
        let aligned = end / align * align;
        let size = if aligned > start.get() { Pages::new(aligned - start.get()) } else { size };
        *self.window(file) = Window { start, size, lookahead: size, ..window };
        Ask::Window(order)
    }
    /// The window for a mark whose window is forgotten: from the first page that is not cached.
    pub(super) fn window_at_hole(
        &self,
        file: FileId,
        index: PageIndex,
        asked: Pages,
        max: Pages,
    ) -> Option<(PageIndex, Pages)> {
        let hole = self.next_hole(file, index + Pages::new(1), max)?;
        let far = hole.since(index);
        (far <= max).then(|| (hole, next_size(far + asked, max)))
    }
    /// A fault found nothing at `index` (`do_sync_mmap_readahead`): it reads around itself, ahead,
    /// in the largest folios, or not at all, as the mapping's advice says.
    pub(super) fn readahead_for_fault(&mut self, file: FileId, index: PageIndex) -> Ask {
        let window = self.config.readahead.window;
        let old = *self.window(file);
        let (new, order) = match self.file(file).memory_map.advice {
            MemAdvice::Huge => {
                let order = self.largest_order(file);
                let size = order.pages();
                let start = Geometry::align_index(index, order);
                (Window { start, size: size + size, lookahead: size, ..old }, order)
            }
            MemAdvice::Random => return Ask::Nothing,
            MemAdvice::Sequential => return self.readahead_for_miss(file, index, window),
            MemAdvice::Normal if window.is_zero() => return Ask::Nothing,
            MemAdvice::Normal => {
                let back = index.get().saturating_sub(window.get() / 2);
                let lookahead = Pages::new(window.get() / 4);
                let start = PageIndex::new(back);
                (Window { start, size: window, lookahead, ..old }, self.first_order())
            }
        };
        *self.window(file) = new;
        Ask::Window(order)
    }
    /// Cached pages just before `index`, up to `most`, as the kernel counts them: the folio that
    /// ends there counts as one page whatever its order (`page_cache_prev_miss`).
    fn cached_before(&self, file: FileId, index: PageIndex, most: Pages) -> Pages {
        let mapping = &self.file(file).mapping;
        let before = |at: PageIndex| {
            let last = at.get().checked_sub(1)?;
            Some(self.folios.at(mapping.find(PageIndex::new(last))?).index)
        };
        let Some(nearest) = before(index) else { return Pages::ZERO };
        let mut at = nearest;
        while let Some(start) = before(at).filter(|_| nearest.since(at) < most) {
            at = start;
        }
        (nearest.since(at) + Pages::new(1)).min(most)
    }
    /// The first page from `from` on that is not cached, within `most` pages, as the kernel finds
    /// it: counted from the start of the folio that holds `from`, so that it lies too far by as
    /// much as `from` lies inside (`page_cache_next_miss`).
    fn next_hole(&self, file: FileId, from: PageIndex, most: Pages) -> Option<PageIndex> {
        let mapping = &self.file(file).mapping;
        let Some(first) = mapping.find(from) else { return Some(from) };
        let shift = from.since(self.folios.at(first).index);
        let mut at = self.folios.at(first).end_index();
        while let Some(folio) = mapping.find(at).filter(|_| at.since(from) < most) {
            at = self.folios.at(folio).end_index();
        }
        let hole = at + shift;
        (hole.since(from) < most).then_some(hole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_grow_as_they_were_seen_to() {
        let sizes = |max: u64, first: u64| {
            let mut size = first_size(Pages::new(first), Pages::new(max));
            let mut all = vec![size.get()];
            for _ in 0..4 {
                size = size.max(next_size(size, Pages::new(max)));
                all.push(size.get());
            }
            all
        };
        assert_eq!(sizes(32, 1), [4, 8, 16, 32, 32]);
        assert_eq!(sizes(1536, 1), [4, 16, 64, 256, 512]);
    }
}
