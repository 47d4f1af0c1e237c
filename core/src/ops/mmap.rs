//! A shared mapping of a whole file: what a page fault brings in (`filemap_fault`,
//! `filemap_map_pages`), and what the first store to a page makes dirty (`iomap_page_mkwrite`).

use super::fill_window::{async_readahead, fault_readahead};
use super::read::{create_and_read, make_readable};
use super::write::{lock_folio, wait_if_stable};
use super::{inline, iter};
use crate::behaviour::MkwriteDirt;
use crate::cache::folio::FolioFlags;
use crate::cache::ifs::Half;
use crate::check::mutant::Mutant;
use crate::counters::Counter;
use crate::dirty;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::iomap::Intent;
use crate::locks::{Lock, Mode};
use crate::ordered::OrderedSet;
use crate::stops::StopPoint;
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, FolioId, Offset, PageIndex, Pages, Pos};
use crate::world::{Env, World};

/// Pages that a fault maps around itself where they are cached (`fault_around_bytes`: 64 KiB).
const AROUND: u64 = 16;

/// What an application says about its mapping (`madvise`).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum MemAdvice {
    /// Nothing: a fault reads around itself.
    #[default]
    Normal,
    /// A fault reads its own page only.
    Random,
    /// A fault reads ahead.
    Sequential,
    /// A fault reads the largest folios.
    Huge,
}

/// The mapping of a file, as far as its page table and its advice go.
#[derive(Clone, Default, Debug)]
pub(crate) struct MemoryMap {
    pages: OrderedSet<PageIndex>,
    writable: OrderedSet<PageIndex>,
    /// Mapped pages that were not used since reclaim looked at them.
    old: OrderedSet<PageIndex>,
    pub(crate) advice: MemAdvice,
}

impl MemoryMap {
    /// The pages of a folio are no longer mapped.
    pub(crate) fn unmap(&mut self, first: PageIndex, end: PageIndex) {
        while let Some(page) = self.pages.range(first..end).next() {
            self.pages.remove(&page);
            self.old.remove(&page);
        }
        self.protect(first, end);
    }
    /// How many mapped pages were used since the last look (`folio_referenced`).
    pub(crate) fn clear_young(&mut self, first: PageIndex, end: PageIndex) -> usize {
        let before = self.old.len();
        self.old.extend(self.pages.range(first..end));
        self.old.len() - before
    }
    /// Whether a page of a folio can be stored into without a fault.
    pub(crate) fn is_writable(&self, first: PageIndex, end: PageIndex) -> bool {
        self.writable.range(first..end).next().is_some()
    }
    /// The next store to a page of a folio faults again; whether any page was writable
    /// (`folio_mkclean`).
    pub(crate) fn protect(&mut self, first: PageIndex, end: PageIndex) -> bool {
        let mut any = false;
        while let Some(page) = self.writable.range(first..end).next() {
            self.writable.remove(&page);
            any = true;
        }
        any
    }
}

/// Touches every page of a range for reading. A page wholly beyond EOF cannot be touched
/// (`SIGBUS`).
pub(crate) async fn load<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
) -> Result<Bytes, Errno> {
    let (mut index, end) = cx.with(|world| world.pages_of(range));
    while index < end {
        if cx.with(|world| world.is_beyond(file, index)) {
            return Err(Errno::Fault);
        }
        if !cx.with(|world| world.is_mapped(file, index)) {
            let around = cx.with(|world| world.map_around(file, index));
            if !around {
                fault(cx, file, index).await?;
            }
        }
        cx.with(|world| world.file_mut(file).memory_map.old.remove(&index));
        index += Pages::new(1);
    }
    Ok(range.len())
}

/// Stores `byte` throughout a range. The first store to a page that is not writable reserves space
/// for its whole folio, up to EOF, and makes the whole folio dirty.
pub(crate) async fn store<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
    byte: u8,
) -> Result<Bytes, Errno> {
    let (mut index, end) = cx.with(|world| world.pages_of(range));
    // The page was written back, and protected again, while the task paused in its fault.
    let mut again = false;
    while index < end {
        if cx.with(|world| world.is_beyond(file, index)) {
            return Err(Errno::Fault);
        }
        let faults = !cx.with(|world| world.file(file).memory_map.writable.contains(&index));
        if faults {
            make_writable(cx, file, index).await?;
            if !again {
                throttle(cx, file, index).await?;
                again = true;
                continue;
            }
        }
        cx.with(|world| {
            world.file_mut(file).memory_map.old.remove(&index);
            world.store_in_page(file, index, range, byte);
        });
        // A processor faults as often as it takes. Where hardly anything may be dirty that would be
        // for ever, as every pause is longer than a writeback: of a second fault the pause follows
        // the store.
        if faults {
            throttle(cx, file, index).await?;
        }
        again = false;
        index += Pages::new(1);
    }
    Ok(range.len())
}

/// The write fault of one page, whether or not it is writable already: bytes of its folio inside
/// EOF.
pub(crate) async fn mkwrite<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    index: PageIndex,
) -> Result<Bytes, Errno> {
    if cx.with(|world| world.is_beyond(file, index)) {
        return Err(Errno::Fault);
    }
    make_writable(cx, file, index).await?;
    throttle(cx, file, index).await?;
    Ok(cx.with(|world| {
        let folio = world.file(file).mapping.find(index);
        folio.map_or(Bytes::ZERO, |folio| {
            world.folio_range(folio).intersect(world.whole(file)).len()
        })
    }))
}

/// A task that made a page dirty by a fault pauses if too much is (`fault_dirty_shared_page`).
async fn throttle<E: Env>(cx: &Cx<'_, E>, file: FileId, index: PageIndex) -> Result<(), Errno> {
    let pos = cx.with(|world| world.geometry().page_pos(index));
    dirty::balance(cx, file, pos, false).await
}

/// Follows `iomap_page_mkwrite`.
async fn make_writable<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    index: PageIndex,
) -> Result<(), Errno> {
    inline::unstuff(cx, file, Pos::new(crate::units::MAX_POS)).await?;
    // A page that was mapped before becomes writable alone; a new one brings its whole folio.
    let mut alone = true;
    loop {
        let folio = cx.with(|world| {
            let mapped = world.is_mapped(file, index);
            world.file(file).mapping.find(index).filter(|_| mapped)
        });
        let Some(folio) = folio else {
            alone = false;
            fault(cx, file, index).await?;
            continue;
        };
        let at = cx.with(|world| world.folios.at(folio).index);
        let _held = cx.lock(file, Lock::Invalidate, Mode::Shared).await;
        if !lock_folio(cx, file, at, folio).await {
            continue;
        }
        // Another folio may have taken the place, and the number, of the one that was mapped: it
        // is faulted in first (`page_mkwrite` finds no mapping at the old one).
        if !cx.with(|world| world.is_mapped(file, index)) {
            cx.with(|world| world.unlock(folio));
            continue;
        }
        // The file may have been truncated meanwhile (`folio_mkwrite_check_truncate`).
        if cx.with(|world| world.is_beyond(file, index)) {
            cx.with(|world| world.unlock(folio));
            return Err(Errno::Fault);
        }
        cx.reach(StopPoint::FolioLocked, |world| world.folio_range(folio)).await;
        wait_if_stable(cx, folio).await;
        cx.with(|world| {
            let whole = world.has(folio, FolioFlags::UPTODATE)
                || world.is_in_memory_only(folio)
                || world.driver(file).is_some();
            let pos = world.folio_pos(folio);
            world.require(whole, 18, pos);
        });
        let buffers = cx.with(|world| world.driver(file).is_some());
        let result = if buffers {
            crate::buffer::write::make_writable(cx, file, folio).await
        } else {
            reserve_folio(cx, file, folio).await
        };
        return cx.with(|world| {
            if result.is_ok() {
                world.dirty_mapped_folio(file, folio);
            }
            world.unlock(folio);
            let (mut page, end) = (at, world.folios.at(folio).end_index());
            while result.is_ok() && page < end {
                if page == index || !alone {
                    world.file_mut(file).memory_map.writable.insert(page);
                }
                page += Pages::new(1);
            }
            result
        });
    }
}

/// Reserves space for every block of a locked folio inside EOF.
async fn reserve_folio<E: Env>(cx: &Cx<'_, E>, file: FileId, folio: FolioId) -> Result<(), Errno> {
    let inside = cx.with(|world| world.folio_range(folio).intersect(world.whole(file)));
    let mut at = inside.start();
    while at < inside.end() {
        let rest = FileRange::between(at, inside.end());
        let got = iter::begin(cx, file, rest, Intent::Write, false).await?;
        at += got.left(at, rest.len());
    }
    Ok(())
}

/// Brings one page in.
async fn fault<E: Env>(cx: &Cx<'_, E>, file: FileId, index: PageIndex) -> Result<(), Errno> {
    let mut missed = false;
    loop {
        let Some(folio) = cx.with(|world| world.file(file).mapping.find(index)) else {
            if cx.with(|world| world.is_beyond(file, index)) {
                return Err(Errno::Fault);
            }
            if cx.with(|world| world.has_memory_only(file)) {
                cx.with(|world| world.memory_fault(file, index))?;
            } else if missed || cx.with(|world| world.reads_alone()) {
                let pos = cx.with(|world| world.geometry().page_pos(index));
                create_and_read(cx, file, pos).await?;
            } else {
                fault_readahead(cx, file, index).await;
            }
            missed = true;
            continue;
        };
        if !missed {
            let wanted = cx.with(|world| world.wants_readahead_on_fault(file, folio));
            if let Some(window) = wanted {
                async_readahead(cx, file, folio, index, window).await;
                // It waits where a mapping takes a read, and nobody holds the folio meanwhile.
                if cx.with(|world| world.file(file).mapping.find(index) != Some(folio)) {
                    continue;
                }
            }
        }
        let (at, whole) = cx.with(|world| (world.folios.at(folio).index, world.folio_range(folio)));
        let skips = cx.with(|world| world.mutant(Mutant::MapsBeforeReading));
        if skips || make_readable(cx, file, at, folio, whole).await? {
            // The file may have been truncated meanwhile.
            return cx.with(|world| {
                if world.is_beyond(file, index) {
                    return Err(Errno::Fault);
                }
                world.map_folio(file, folio);
                Ok(())
            });
        }
    }
}

impl<E: Env> World<E> {
    fn pages_of(&self, range: FileRange) -> (PageIndex, PageIndex) {
        let geometry = self.geometry();
        (geometry.page_floor(range.start()), geometry.page_ceil(range.end()))
    }
    fn is_mapped(&self, file: FileId, index: PageIndex) -> bool {
        self.file(file).memory_map.pages.contains(&index)
    }
    fn is_beyond(&self, file: FileId, index: PageIndex) -> bool {
        self.geometry().page_pos(index) >= self.file(file).size
    }
    /// Marks every block of a locked folio dirty.
    fn dirty_mapped_folio(&mut self, file: FileId, folio: FolioId) {
        let inside = self.folio_range(folio).intersect(self.whole(file));
        let blocks = match self.behaviours().mkwrite_dirt {
            MkwriteDirt::WholeFolio => self.folio_blocks(folio),
            MkwriteDirt::UpToEof => self.blocks_touched(Offset::ZERO, inside.len()).1,
        };
        if self.driver(file).is_some() {
            self.dirty_all_buffers(folio);
        } else {
            self.mark_blocks_dirty(folio, blocks);
        }
        self.step(Rule::MadeWritable, [inside.start().get(), inside.len().get(), 0, 0]);
        self.dirty_folio(folio);
    }
    /// The first blocks of a folio become dirty, though nobody says which bytes changed.
    fn mark_blocks_dirty(&mut self, folio: FolioId, blocks: u32) {
        self.ensure_state(folio);
        if self.tracks_blocks() {
            self.set_blocks(folio, Half::Dirty, (0, blocks), true);
        }
    }
    /// Takes the right to store into a folio's pages away. Where a page had it, the folio is dirty
    /// as a whole: nobody knows what was stored (`folio_mkclean`, `iomap_dirty_folio`).
    pub(crate) fn protect_folio(&mut self, folio: FolioId) -> bool {
        let row = self.folios.at(folio);
        let (file, first, end) = (row.file(), row.index, row.end_index());
        let was_writable = self.file_mut(file).memory_map.protect(first, end);
        if was_writable && self.driver(file).is_some() {
            self.dirty_all_buffers(folio);
        } else if was_writable {
            let blocks = self.folio_blocks(folio);
            self.mark_blocks_dirty(folio, blocks);
        }
        was_writable
    }
    /// A fault maps the whole folio that it brought in (`finish_fault`).
    fn map_folio(&mut self, file: FileId, folio: FolioId) {
        let (first, end) = (self.folios.at(folio).index, self.folios.at(folio).end_index());
        let mut page = first;
        while page < end {
            self.file_mut(file).memory_map.pages.insert(page);
            page += Pages::new(1);
        }
        self.step(Rule::PageMapped, [first.get(), end.since(first).get(), 0, 0]);
    }
    fn store_in_page(&mut self, file: FileId, index: PageIndex, range: FileRange, byte: u8) {
        let Some(folio) = self.file(file).mapping.find(index) else { return };
        let geometry = self.geometry();
        let start = geometry.page_pos(index);
        let page = FileRange::between(start, start + geometry.page_size());
        let part = range.intersect(page);
        let offset = Offset::ZERO + part.start().since(self.folio_pos(folio));
        self.folio_bytes_mut(folio, offset, part.len()).fill(byte);
        let blocks = self.blocks_touched(offset, part.len());
        self.set_blocks(folio, Half::Asked, blocks, true);
        self.count(Counter::AppWritten, part.len().get());
        self.step(Rule::Stored, [part.start().get(), part.len().get(), 0, 0]);
    }
    /// Maps what is cached and complete around a page; whether the page itself was. The folio with
    /// the readahead mark is left out, so that touching it faults.
    fn map_around(&mut self, file: FileId, index: PageIndex) -> bool {
        let first = PageIndex::new(index.get() / AROUND * AROUND);
        let mut page = first;
        let mut count = 0;
        while page < first + Pages::new(AROUND) {
            if let Some(folio) = self.file(file).mapping.find(page) {
                let flags = self.folios.at(folio).flags;
                let hidden = flags.has(FolioFlags::LOCKED) || flags.has(FolioFlags::READAHEAD);
                if flags.has(FolioFlags::UPTODATE) && !hidden {
                    self.file_mut(file).memory_map.pages.insert(page);
                    count += 1;
                }
            }
            page += Pages::new(1);
        }
        if count > 0 {
            self.step(Rule::PageMapped, [first.get(), count, 0, 0]);
        }
        self.is_mapped(file, index)
    }
    /// A fault found its folio cached: the window to read on with, if it carries the mark
    /// (`do_async_mmap_readahead`).
    fn wants_readahead_on_fault(&self, file: FileId, folio: FolioId) -> Option<Pages> {
        let window = self.config.readahead.window;
        let random = self.file(file).memory_map.advice == MemAdvice::Random;
        let marked = !random && !window.is_zero() && self.has(folio, FolioFlags::READAHEAD);
        marked.then_some(window)
    }
}
