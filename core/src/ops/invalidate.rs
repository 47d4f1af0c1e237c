//! Dropping a range of the cache (`truncate_inode_pages_range`): folios wholly inside leave it, of
//! those that reach out of it the part inside is zeroed.

use super::write::lock_folio;
use crate::behaviour::ClearRounding;
use crate::cache::folio::FolioFlags;
use crate::cache::ifs::Half;
use crate::check::mutant::Mutant;
use crate::engine::Cx;
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, FolioId, Offset, PageIndex, Pages};
use crate::world::{Env, World};
use crate::writeback::wait_writeback;

/// A folio that reached out of the range.
struct Cut {
    /// Its pages before it was cut.
    index: PageIndex,
    end: PageIndex,
    /// It stays whole, dirty, also with its pages inside the range.
    kept: bool,
}

/// Takes the range's whole pages out of the page table, then the range out of the cache
/// (`truncate_pagecache_range`).
pub(crate) async fn drop_range<E: Env>(cx: &Cx<'_, E>, file: FileId, range: FileRange) {
    if range.is_empty() {
        return;
    }
    let last = range.end() - Bytes::new(1);
    let (first_page, last_page, mut start, mut end) = cx.with(|world| {
        let geometry = world.geometry();
        let (start, end) = (geometry.page_ceil(range.start()), geometry.page_floor(range.end()));
        if start < end {
            world.file_mut(file).memory_map.unmap(start, end);
        }
        world.drop_free_folios(file, start, end);
        (geometry.page_floor(range.start()), geometry.page_floor(last), start, end)
    });
    let mut same = first_page == last_page;
    if let Some(cut) = cut_at(cx, file, first_page, range).await {
        same = last_page < cut.end;
        if cut.kept {
            start = cut.end;
            end = if same { cut.index } else { end };
        }
    }
    if !same
        && let Some(cut) = cut_at(cx, file, last_page, range).await
        && cut.kept
    {
        end = cut.index;
    }
    while let Some(folio) = cx.with(|world| world.folios_within(file, start, end).first().copied())
    {
        let index = cx.with(|world| world.folios.at(folio).index);
        if lock_idle(cx, file, index, folio).await {
            cx.with(|world| world.remove_folio(folio));
        }
    }
}

/// Locks a folio and waits for its writeback; false if it left its place meanwhile.
async fn lock_idle<E: Env>(cx: &Cx<'_, E>, file: FileId, index: PageIndex, folio: FolioId) -> bool {
    if !lock_folio(cx, file, index, folio).await {
        return false;
    }
    if !cx.mutant(Mutant::DropsUnderWriteback) {
        wait_writeback(cx, folio).await;
    }
    true
}

/// Cuts the folio that holds a page.
async fn cut_at<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    page: PageIndex,
    range: FileRange,
) -> Option<Cut> {
    loop {
        let folio = cx.with(|world| world.file(file).mapping.find(page))?;
        let (index, end) = cx.with(|world| {
            let folio = world.folios.at(folio);
            (folio.index, folio.end_index())
        });
        if lock_idle(cx, file, index, folio).await {
            return Some(cx.with(|world| Cut { index, end, kept: world.cut_folio(folio, range) }));
        }
    }
}

impl<E: Env> World<E> {
    /// The folios whose pages all lie in `[start, end)`, ascending.
    pub(crate) fn folios_within(
        &self,
        file: FileId,
        start: PageIndex,
        end: PageIndex,
    ) -> Vec<FolioId> {
        let inside = |id: &FolioId| {
            let folio = self.folios.at(*id);
            start <= folio.index && folio.end_index() <= end
        };
        self.file(file).mapping.folios().filter(inside).collect()
    }
    /// Removes what can be removed without waiting.
    fn drop_free_folios(&mut self, file: FileId, start: PageIndex, end: PageIndex) {
        for folio in self.folios_within(file, start, end) {
            if !self.has(folio, FolioFlags::LOCKED) && !self.has(folio, FolioFlags::WRITEBACK) {
                self.remove_folio(folio);
            }
        }
    }
    /// Zeroes the part of a locked folio that lies in a range, and gives up as much of it as can
    /// be; whether it stays whole though it has pages in the range
    /// (`truncate_inode_partial_folio`).
    fn cut_folio(&mut self, id: FolioId, range: FileRange) -> bool {
        let whole = self.folio_range(id);
        let part = range.intersect(whole);
        if part == whole {
            self.remove_folio(id);
            return false;
        }
        let offset = Offset::ZERO + part.start().since(whole.start());
        self.zero_bytes(id, offset, offset + part.len());
        self.invalidate_part(id, offset, part.len());
        let args = [part.start().get(), part.len().get(), whole.start().get(), 0];
        self.step(Rule::TailCut, args);
        if self.folios.at(id).order.get() == 0 {
            self.unlock(id);
            return false;
        }
        self.split_around(id, part)
    }
    /// Splits a large folio at the start of the part that goes, then at its end; drops it whole if
    /// that cannot be and it is clean.
    fn split_around(&mut self, id: FolioId, part: FileRange) -> bool {
        let geometry = self.geometry();
        let (file, whole) = (self.folios.at(id).file(), self.folio_range(id));
        let page = geometry.page_floor(part.start());
        if !self.split_folio(id, page) {
            let kept = self.has(id, FolioFlags::DIRTY);
            if kept {
                self.unlock(id);
            } else {
                self.remove_folio(id);
            }
            return kept;
        }
        self.unlock_at(file, page);
        let page = geometry.page_floor(part.end());
        let second = self.file(file).mapping.find(page).filter(|_| part.end() < whole.end());
        if let Some(second) = second
            && self.folios.at(second).order.get() > 0
            && !self.has(second, FolioFlags::LOCKED)
        {
            self.raise(second, FolioFlags::LOCKED);
            self.split_folio(second, page);
            self.unlock_at(file, page);
        }
        false
    }
    fn unlock_at(&mut self, file: FileId, page: PageIndex) {
        if let Some(folio) = self.file(file).mapping.find(page) {
            self.unlock(folio);
        }
    }
    /// A write failed: what it put into the cache beyond EOF goes again (`iomap_write_failed`).
    pub(crate) fn write_failed(&mut self, file: FileId, range: FileRange) {
        let size = self.file(file).size;
        if range.end() <= size {
            return;
        }
        let geometry = self.geometry();
        let from = range.start().max(size);
        let mut index = geometry.page_floor(from);
        let end = geometry.page_ceil(range.end());
        while index < end {
            let found = self.file(file).mapping.find(index);
            index += Pages::new(1);
            let Some(folio) = found else { continue };
            let whole = self.folio_range(folio);
            if whole.start() >= from && self.is_idle(folio) {
                self.remove_folio(folio);
            } else if whole.start() < from {
                let offset = Offset::ZERO + from.since(whole.start());
                let stop = Offset::ZERO + range.end().min(whole.end()).since(whole.start());
                self.zero_bytes(folio, offset, stop);
            }
        }
    }
    /// Part of a folio means nothing any more: newer kernels clear the dirty bits of the blocks
    /// wholly in it; older ones leave them, and writeback finds a hole or EOF there; those that
    /// know no dirt per block give up the state of a large folio, so that it can be split
    /// (`iomap_invalidate_folio`).
    fn invalidate_part(&mut self, id: FolioId, offset: Offset, len: Bytes) {
        if self.ring(id).is_some() {
            let blocks = self.blocks_within(offset, len);
            return self.discard_buffers(id, blocks);
        }
        let whole = self.has(id, FolioFlags::UPTODATE) || !self.has(id, FolioFlags::DIRTY);
        if whole && !self.tracks_blocks() && self.folios.at(id).order.get() > 0 {
            self.free_state(id);
        }
        if self.behaviours().clear_rounding == ClearRounding::Inward {
            let blocks = self.blocks_within(offset, len);
            self.set_blocks(id, Half::Dirty, blocks, false);
            self.set_blocks(id, Half::Asked, blocks, false);
        }
    }
}
