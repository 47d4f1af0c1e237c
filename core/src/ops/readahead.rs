//! Readahead: which window of pages is read before it is asked for, and in folios of which order
//! (`mm/readahead.c` as of 6.17).

use super::mmap::MemAdvice;
use crate::cache::folio::FolioFlags;
use crate::geometry::Geometry;
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FolioId, Order, PageIndex, Pages, Pos};
use crate::world::{Env, World};

/// Pages that one forced read asks for at once: 2 MiB.
const FORCED_CHUNK_BYTES: u64 = 2 << 20;

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
    start: PageIndex,
    size: Pages,
    lookahead: Pages,
    order: Order,
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

/// First window for a read of `asked` pages (`get_init_ra_size`).
fn first_size(asked: Pages, max: Pages) -> Pages {
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
fn next_size(size: Pages, max: Pages) -> Pages {
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
fn pair(low: u64, high: u64) -> u64 {
    low & u64::from(u32::MAX) | high << 32
}

impl<E: Env> World<E> {
    fn window(&mut self, file: FileId) -> &mut Window {
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
    fn largest_window(&self, file: FileId) -> Pages {
        let usual = self.config.readahead.window;
        match self.file(file).window.pattern {
            Pattern::Sequential => usual + usual,
            Pattern::Normal | Pattern::Random => usual,
        }
    }
    fn most_pages(&self, file: FileId, asked: Pages) -> Pages {
        let (window, io) = (self.largest_window(file), self.config.readahead.io);
        if asked > window && io > window { asked.min(io) } else { window }
    }
    /// A read of `asked` pages found nothing at `index` (`page_cache_sync_ra`).
    pub(crate) fn sync_readahead(&mut self, file: FileId, index: PageIndex, asked: Pages) {
        self.note_window(Rule::ReadaheadMiss, file, index, asked);
        if self.config.readahead.window.is_zero() {
            self.force_readahead(file, index, Pages::new(1));
            return;
        }
        if self.file(file).window.pattern == Pattern::Random {
            self.force_readahead(file, index, asked);
            return;
        }
        let max = self.most_pages(file, asked);
        let geometry = self.geometry();
        let previous =
            self.window(file).previous.map_or(u64::MAX, |pos| geometry.page_floor(pos).get());
        let follows = index.get().wrapping_sub(previous) <= 1;
        if index == PageIndex::ZERO || asked > max || follows {
            let size = first_size(asked, max);
            let lookahead = if size > asked { size - asked } else { Pages::new(size.get() / 2) };
            *self.window(file) = Window { start: index, size, lookahead, ..*self.window(file) };
        } else {
            let cached = self.cached_before(file, index, max);
            if cached <= asked {
                self.read_pages_unbounded(file, index, asked, Pages::ZERO);
                return;
            }
            let counted = if cached.get() == index.get() { cached + cached } else { cached };
            let size = (counted + asked).min(max);
            let lookahead = Pages::new(1);
            *self.window(file) = Window { start: index, size, lookahead, ..*self.window(file) };
        }
        self.window(file).order = Order::ZERO;
        self.read_window(file);
    }
    /// A read reached the marked folio (`page_cache_async_ra`).
    pub(crate) fn async_readahead(
        &mut self,
        file: FileId,
        folio: FolioId,
        index: PageIndex,
        asked: Pages,
    ) {
        let pages = self.folios.at(folio).order.pages();
        self.note_window(Rule::ReadaheadHit, file, index, asked);
        if self.config.readahead.window.is_zero() || self.has(folio, FolioFlags::WRITEBACK) {
            return;
        }
        self.lower(folio, FolioFlags::READAHEAD);
        let max = self.most_pages(file, asked);
        let window = *self.window(file);
        let mark = (window.start + window.size).get().saturating_sub(window.lookahead.get());
        let expected = mark / pages.get() * pages.get();
        let (start, size) = if index.get() == expected {
            (window.start + window.size, window.size.max(next_size(window.size, max)))
        } else {
            let Some(hole) = self.next_hole(file, index + Pages::new(1), max) else { return };
            if hole.since(index) > max {
                return;
            }
            (hole, next_size(hole.since(index) + asked, max))
        };
        let order = Order::new(window.order.get() + 2);
        let align = 1u64 << u32::from(order.get()).min(max.get().trailing_zeros());
        let end = (start + size).get();
        let aligned = end / align * align;
        let size = if aligned > start.get() { Pages::new(aligned - start.get()) } else { size };
        *self.window(file) = Window { start, size, lookahead: size, order, ..window };
        self.read_window(file);
    }
    /// A fault found nothing at `index` (`do_sync_mmap_readahead`): it reads around itself, ahead,
    /// in the largest folios, or not at all, as the mapping's advice says.
    pub(crate) fn readahead_for_fault(&mut self, file: FileId, index: PageIndex) {
        let window = self.config.readahead.window;
        let old = *self.window(file);
        let new = match self.file(file).memory_map.advice {
            MemAdvice::Huge => {
                let order = self.geometry().max_order();
                let size = order.pages();
                let start = Geometry::align_index(index, order);
                Window { start, size: size + size, lookahead: size, order, ..old }
            }
            MemAdvice::Random => return,
            MemAdvice::Sequential => {
                self.sync_readahead(file, index, window);
                return;
            }
            MemAdvice::Normal if window.is_zero() => return,
            MemAdvice::Normal => {
                let back = index.get().saturating_sub(window.get() / 2);
                let lookahead = Pages::new(window.get() / 4);
                let (start, order) = (PageIndex::new(back), Order::ZERO);
                Window { start, size: window, lookahead, order, ..old }
            }
        };
        *self.window(file) = new;
        self.read_window(file);
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
    fn last_page(&self, file: FileId) -> Option<PageIndex> {
        let size = self.file(file).size;
        let last = size.get().checked_sub(1)?;
        Some(self.geometry().page_floor(Pos::new(last)))
    }
    /// Fills the window with folios of its order and reads them (`page_cache_ra_order`).
    fn read_window(&mut self, file: FileId) {
        let geometry = self.geometry();
        let window = *self.window(file);
        let args = [
            window.start.get(),
            pair(window.size.get(), u64::from(window.order.get())),
            window.lookahead.get(),
            self.largest_window(file).get(),
        ];
        self.step(Rule::ReadaheadWindow, args);
        let Some(last) = self.last_page(file) else { return };
        if geometry.max_order() == Order::ZERO {
            self.window(file).order = Order::ZERO;
            self.read_pages_bounded(file, window.start, window.size, window.lookahead);
            return;
        }
        let limit = PageIndex::new(last.get().min((window.start + window.size).get() - 1));
        let by_size = Order::new(window.size.get().ilog2() as u8);
        let order = window.order.min(geometry.max_order()).min(by_size).max(geometry.min_order());
        self.window(file).order = order;
        let mark = (window.start + window.size).get().saturating_sub(window.lookahead.get());
        let mut index = Geometry::align_index(window.start, geometry.min_order());
        let mut batch = Vec::new();
        let mut blocked = false;
        while index <= limit {
            let mut fits = order.min(Geometry::order_of_alignment(index).max(geometry.min_order()));
            while fits > geometry.min_order() && index + fits.pages() > limit + Pages::new(1) {
                fits = fits.smaller().expect("above the smallest order");
            }
            if self.file(file).mapping.occupied(index, fits) {
                blocked = true;
                break;
            }
            let Some(folio) = self.add_for_readahead(file, index, fits) else { break };
            if Geometry::align_index(PageIndex::new(mark), fits) == index {
                self.raise(folio, FolioFlags::READAHEAD);
            }
            batch.push(folio);
            index += fits.pages();
        }
        self.read_batch(file, &batch, true);
        if blocked {
            let end = window.start + window.size;
            let left = Pages::new(end.get().saturating_sub(index.get()));
            self.read_pages_bounded(file, index, left, window.lookahead);
        }
    }
    fn add_for_readahead(
        &mut self,
        file: FileId,
        index: PageIndex,
        order: Order,
    ) -> Option<FolioId> {
        let folio = self.add_folio(file, index, order).ok()?;
        if self.file(file).window.dropbehind {
            self.raise(folio, FolioFlags::DROPBEHIND);
        }
        self.step(Rule::FolioMadeForRead, [u64::from(order.get()), index.get(), 0, 0]);
        Some(folio)
    }
    /// Reads exactly what is asked, in pieces (`force_page_cache_ra`).
    pub(crate) fn force_readahead(&mut self, file: FileId, index: PageIndex, asked: Pages) {
        let ReadaheadLimits { window, io } = self.config.readahead;
        let mut left = asked.min(window.max(io).max(Pages::new(1)));
        let chunk = Pages::new((FORCED_CHUNK_BYTES / self.geometry().page_size().get()).max(1));
        let mut at = index;
        while !left.is_zero() {
            let now = left.min(chunk);
            self.read_pages_bounded(file, at, now, Pages::ZERO);
            at += now;
            left -= now;
        }
    }
    /// As [`Self::read_pages_unbounded`], but not beyond the page that holds EOF
    /// (`do_page_cache_ra`).
    fn read_pages_bounded(&mut self, file: FileId, index: PageIndex, n: Pages, lookahead: Pages) {
        let Some(last) = self.last_page(file).filter(|last| index <= *last) else { return };
        let n = n.min(last.since(index) + Pages::new(1));
        self.read_pages_unbounded(file, index, n, lookahead);
    }
    /// Reads `n` pages from `index` in the smallest folios, around those that are cached
    /// (`page_cache_ra_unbounded`).
    fn read_pages_unbounded(&mut self, file: FileId, index: PageIndex, n: Pages, lookahead: Pages) {
        let Some(last) = self.last_page(file).filter(|last| index <= *last) else { return };
        let n = n.min(last.since(index) + Pages::new(1));
        self.step(Rule::ReadaheadPages, [index.get(), n.get(), lookahead.get(), 0]);
        let order = self.geometry().min_order();
        let step = order.pages();
        let end = index + n;
        let mark = (!lookahead.is_zero()).then(|| {
            PageIndex::new((end.get().saturating_sub(lookahead.get())).next_multiple_of(step.get()))
        });
        let mut at = Geometry::align_index(index, order);
        let mut batch = Vec::new();
        while at < end {
            let added = if self.file(file).mapping.occupied(at, order) {
                None
            } else {
                self.add_for_readahead(file, at, order)
            };
            if let Some(folio) = added {
                if mark == Some(at) {
                    self.raise(folio, FolioFlags::READAHEAD);
                }
                batch.push(folio);
            } else {
                self.read_batch(file, &batch, true);
                batch.clear();
            }
            at += step;
        }
        self.read_batch(file, &batch, true);
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
