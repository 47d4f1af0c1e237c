//! What readahead decided is carried out: folios are made and handed to the file system to be read
//! (`page_cache_ra_order`, `page_cache_ra_unbounded`).

use super::fill::read_batch;
use super::readahead::{Ask, ReadaheadLimits, pair};
use crate::behaviour::ReadaheadRules;
use crate::cache::folio::FolioFlags;
use crate::cache::life::Insert;
use crate::engine::Cx;
use crate::geometry::Geometry;
use crate::locks::{Lock, Mode};
use crate::trace::rule::Rule;
use crate::units::{FileId, FolioId, Order, PageIndex, Pages, Pos};
use crate::world::{Env, World};

/// Pages that one forced read asks for at once: 2 MiB.
const FORCED_CHUNK_BYTES: u64 = 2 << 20;
/// Smallest window that gets large folios, before 6.17.
const SMALLEST_LARGE: Pages = Pages::new(4);

/// A read of `asked` pages found nothing at `index` (`page_cache_sync_ra`).
pub(crate) async fn sync_readahead<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    index: PageIndex,
    asked: Pages,
) {
    let ask = cx.with(|world| world.readahead_for_miss(file, index, asked));
    carry_out(cx, file, ask).await;
}

/// A read reached the marked folio (`page_cache_async_ra`).
pub(crate) async fn async_readahead<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    folio: FolioId,
    index: PageIndex,
    asked: Pages,
) {
    let ask = cx.with(|world| world.readahead_for_hit(file, folio, index, asked));
    carry_out(cx, file, ask).await;
}

/// A fault found nothing at `index` (`do_sync_mmap_readahead`).
pub(crate) async fn fault_readahead<E: Env>(cx: &Cx<'_, E>, file: FileId, index: PageIndex) {
    let ask = cx.with(|world| world.readahead_for_fault(file, index));
    carry_out(cx, file, ask).await;
}

async fn carry_out<E: Env>(cx: &Cx<'_, E>, file: FileId, ask: Ask) {
    match ask {
        Ask::Nothing => {}
        Ask::Window(order) => read_window(cx, file, order).await,
        Ask::Pages(index, n) => read_pages(cx, file, index, n, Pages::ZERO).await,
        Ask::Forced(index, n) => force_readahead(cx, file, index, n).await,
    }
}

/// Reads exactly what is asked, in pieces (`force_page_cache_ra`).
pub(crate) async fn force_readahead<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    index: PageIndex,
    asked: Pages,
) {
    let (most, chunk) = cx.with(|world| {
        let ReadaheadLimits { window, io } = world.config.readahead;
        let chunk = FORCED_CHUNK_BYTES / world.geometry().page_size().get();
        (window.max(io).max(Pages::new(1)), Pages::new(chunk.max(1)))
    });
    let mut left = asked.min(most);
    let mut at = index;
    while !left.is_zero() {
        let now = left.min(chunk);
        read_pages(cx, file, at, now, Pages::ZERO).await;
        at += now;
        left -= now;
    }
}

/// Pages that are still to be read one by one: from where, how many, and how many behind the mark.
type Rest = (PageIndex, Pages, Pages);

/// Fills the window with folios of its order and reads them (`page_cache_ra_order`).
async fn read_window<E: Env>(cx: &Cx<'_, E>, file: FileId, order: Order) {
    let held = cx.lock(file, Lock::Invalidate, Mode::Shared).await;
    let (batch, rest) = cx.with(|world| world.fill_window(file, order));
    read_batch(cx, file, &batch, true).await;
    drop(held);
    if let Some((index, n, lookahead)) = rest {
        read_pages(cx, file, index, n, lookahead).await;
    }
}

/// Reads `n` pages from `index`, but not beyond the page that holds EOF, in the smallest folios,
/// around those that are cached (`page_cache_ra_unbounded`).
async fn read_pages<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    index: PageIndex,
    n: Pages,
    lookahead: Pages,
) {
    let held = cx.lock(file, Lock::Invalidate, Mode::Shared).await;
    let Some(last) = cx.with(|world| world.last_page(file)).filter(|last| index <= *last) else {
        return;
    };
    let n = n.min(last.since(index) + Pages::new(1));
    let order = cx.with(|world| {
        world.step(Rule::ReadaheadPages, [index.get(), n.get(), lookahead.get(), 0]);
        world.geometry().min_order()
    });
    let step = order.pages();
    let end = index + n;
    let mark = (!lookahead.is_zero()).then(|| {
        PageIndex::new((end.get().saturating_sub(lookahead.get())).next_multiple_of(step.get()))
    });
    let mut at = Geometry::align_index(index, order);
    let mut batch = Vec::new();
    while at < end {
        let added = cx.with(|world| world.add_unless_cached(file, at, order, mark == Some(at)));
        if let Some(folio) = added {
            batch.push(folio);
        } else {
            read_batch(cx, file, &batch, true).await;
            batch.clear();
        }
        at += step;
    }
    read_batch(cx, file, &batch, true).await;
    drop(held);
}

impl<E: Env> World<E> {
    fn last_page(&self, file: FileId) -> Option<PageIndex> {
        let size = self.file(file).size;
        let last = size.get().checked_sub(1)?;
        Some(self.geometry().page_floor(Pos::new(last)))
    }
    /// Makes the folios of a window. What is left behind one that is in the way is to be read page
    /// by page; so is all of it where the mapping has no large folios.
    fn fill_window(&mut self, file: FileId, order: Order) -> (Vec<FolioId>, Option<Rest>) {
        let geometry = self.geometry();
        let rules = self.behaviours().readahead_rules;
        self.window(file).order = order;
        let window = *self.window(file);
        let args = [
            window.start.get(),
            pair(window.size.get(), u64::from(window.order.get())),
            window.lookahead.get(),
            self.largest_window(file).get(),
        ];
        self.step(Rule::ReadaheadWindow, args);
        // A mark that reclaim set, on the first folio of a file that was never read: no window.
        let last = self.last_page(file).filter(|_| !window.size.is_zero());
        let Some(last) = last else { return (Vec::new(), None) };
        let small = rules != ReadaheadRules::WindowOrder && window.size < SMALLEST_LARGE;
        let largest = self.largest_order(file);
        if largest == Order::ZERO || small {
            self.window(file).order = Order::ZERO;
            return (Vec::new(), Some((window.start, window.size, window.lookahead)));
        }
        let limit = PageIndex::new(last.get().min((window.start + window.size).get() - 1));
        let by_size = Order::new(window.size.get().ilog2() as u8);
        let order = window.order.min(largest).min(by_size).max(geometry.min_order());
        self.window(file).order = order;
        let mark = (window.start + window.size).get().saturating_sub(window.lookahead.get());
        let mut index = Geometry::align_index(window.start, geometry.min_order());
        let mut batch = Vec::new();
        let mut blocked = false;
        let first = rules == ReadaheadRules::OneRoutine;
        while index <= limit {
            let mut fits = order.min(Geometry::order_of_alignment(index).max(geometry.min_order()));
            while fits > geometry.min_order() && index + fits.pages() > limit + Pages::new(1) {
                fits = fits.smaller().expect("above the smallest order");
            }
            // No folio of two pages before 6.9, unless a block is that large.
            if first && fits == Order::new(1) {
                fits = geometry.min_order();
            }
            if self.file(file).mapping.occupied(index, fits) {
                blocked = true;
                break;
            }
            let Some(folio) = self.add_for_readahead(file, index, fits) else { break };
            let mark = if first { mark.next_multiple_of(fits.pages().get()) } else { mark };
            if Geometry::align_index(PageIndex::new(mark), fits) == index {
                self.raise(folio, FolioFlags::READAHEAD);
            }
            batch.push(folio);
            index += fits.pages();
        }
        let end = window.start + window.size;
        let left = Pages::new(end.get().saturating_sub(index.get()));
        (batch, blocked.then_some((index, left, window.lookahead)))
    }
    fn add_for_readahead(
        &mut self,
        file: FileId,
        index: PageIndex,
        order: Order,
    ) -> Option<FolioId> {
        let folio = self.add_folio(file, index, order, Insert::Read).ok()?;
        if self.file(file).window.dropbehind {
            self.raise(folio, FolioFlags::DROPBEHIND);
        }
        self.step(Rule::FolioMadeForRead, [u64::from(order.get()), index.get(), 0, 0]);
        Some(folio)
    }
    fn add_unless_cached(
        &mut self,
        file: FileId,
        at: PageIndex,
        order: Order,
        marked: bool,
    ) -> Option<FolioId> {
        if self.file(file).mapping.occupied(at, order) {
            return None;
        }
        let folio = self.add_for_readahead(file, at, order)?;
        if marked {
            self.raise(folio, FolioFlags::READAHEAD);
        }
        Some(folio)
    }
}
