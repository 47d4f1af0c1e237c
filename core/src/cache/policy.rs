//! Which order a new folio gets.

use crate::cache::folio::FolioFlags;
use crate::cache::life::Insert;
use crate::geometry::Geometry;
use crate::trace::rule::Rule;
use crate::units::{FileId, Order, PageIndex};
use crate::world::{Env, World};

/// How orders are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum FolioPolicy {
    /// As the kernel does: a write's hint, a read's window.
    #[default]
    Kernel,
    /// Every folio has this order, aligned down, made smaller only where a cached folio is in the
    /// way or where a read would make it reach beyond the page of EOF. A read that misses fills one
    /// such folio by itself, without readahead.
    Fixed(Order),
}

impl<E: Env> World<E> {
    /// Where a folio that holds `index` starts and its order, if every folio has `wanted`; `limit`
    /// is the first page that it must not hold.
    pub(crate) fn fixed_place(
        &self,
        file: FileId,
        index: PageIndex,
        wanted: Order,
        limit: Option<PageIndex>,
    ) -> (PageIndex, Order) {
        let geometry = self.geometry();
        let least = geometry.min_order();
        let mut order = wanted.max(least).min(self.largest_order(file));
        loop {
            let start = Geometry::align_index(index, order);
            let beyond = limit.is_some_and(|limit| start + order.pages() > limit);
            let blocked = self.file(file).mapping.occupied(start, order);
            match order.smaller() {
                Some(smaller) if order > least && (beyond || blocked) => order = smaller,
                Some(_) | None => return (start, order),
            }
        }
    }
    /// Where a read puts a folio that holds `index`.
    pub(crate) fn read_place(&self, file: FileId, index: PageIndex) -> (PageIndex, Order) {
        let geometry = self.geometry();
        match self.folio_policy {
            FolioPolicy::Kernel => {
                let order = geometry.min_order();
                (Geometry::align_index(index, order), order)
            }
            FolioPolicy::Fixed(order) => {
                let limit = geometry.page_ceil(self.file(file).size);
                self.fixed_place(file, index, order, Some(limit))
            }
        }
    }
    /// Puts a folio with valid and dirty blocks into the cache, as if it had been there before.
    /// `bits` holds a pair (uptodate, dirty) for each block. False if a page of it is cached or the
    /// memory is not there.
    pub(crate) fn seed_folio(
        &mut self,
        file: FileId,
        index: PageIndex,
        order: Order,
        bits: &[(bool, bool)],
        bytes: &[u8],
    ) -> bool {
        use crate::cache::ifs::Half;
        if self.file(file).mapping.occupied(index, order) {
            return false;
        }
        let Ok(id) = self.add_folio(file, index, order, Insert::Write) else { return false };
        let buffers = self.driver(file).is_some();
        if buffers {
            self.ensure_buffers(id);
        }
        self.ensure_state(id);
        let whole = self.folio_size(id);
        let len = whole.get().min(bytes.len() as u64) as usize;
        self.folio_bytes_mut(id, crate::units::Offset::ZERO, whole)[..len]
            .copy_from_slice(&bytes[..len]);
        for (block, (uptodate, dirty)) in bits.iter().enumerate() {
            let range = (block as u32, block as u32 + 1);
            self.set_blocks(id, Half::Uptodate, range, *uptodate);
            self.set_blocks(id, Half::Dirty, range, *dirty && (buffers || self.tracks_blocks()));
            self.set_blocks(id, Half::Asked, range, *dirty);
        }
        if bits.iter().all(|bit| bit.0) {
            self.raise(id, FolioFlags::UPTODATE);
        }
        if bits.iter().any(|bit| bit.1) {
            self.dirty_folio(id);
        }
        self.unlock(id);
        self.step(Rule::FolioSeeded, [u64::from(order.get()), index.get(), 0, 0]);
        true
    }
}
