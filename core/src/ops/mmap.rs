//! Reading through a shared mapping of a whole file: what a page fault brings in
//! (`filemap_fault`, `filemap_map_pages`).

use super::read::make_readable;
use crate::cache::folio::FolioFlags;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, FolioId, PageIndex, Pages};
use crate::world::{Env, World};
use std::collections::BTreeSet;

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
    pages: BTreeSet<PageIndex>,
    pub(crate) advice: MemAdvice,
}

impl MemoryMap {
    /// The pages of a folio are no longer mapped.
    pub(crate) fn unmap(&mut self, first: PageIndex, end: PageIndex) {
        while let Some(page) = self.pages.range(first..end).next().copied() {
            self.pages.remove(&page);
        }
    }
}

/// Touches every page of a range for reading. A page wholly beyond EOF cannot be touched (`SIGBUS`).
pub(crate) async fn load<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
) -> Result<Bytes, Errno> {
    let (mut index, end) = cx.with(|world| {
        let geometry = world.geometry();
        (geometry.page_floor(range.start()), geometry.page_ceil(range.end()))
    });
    while index < end {
        let beyond = |world: &World<E>| world.geometry().page_pos(index) >= world.file(file).size;
        if cx.with(|world| beyond(world)) {
            return Err(Errno::Fault);
        }
        if !cx.with(|world| world.file(file).memory_map.pages.contains(&index)) {
            fault(cx, file, index).await?;
        }
        index += Pages::new(1);
    }
    Ok(range.len())
}

/// Brings one page in.
async fn fault<E: Env>(cx: &Cx<'_, E>, file: FileId, index: PageIndex) -> Result<(), Errno> {
    if cx.with(|world| world.map_around(file, index)) {
        return Ok(());
    }
    let mut missed = false;
    loop {
        let Some(folio) = cx.with(|world| world.file(file).mapping.find(index)) else {
            cx.with(|world| {
                if missed {
                    let pos = world.geometry().page_pos(index);
                    return world.create_and_read(file, pos);
                }
                world.readahead_for_fault(file, index);
                Ok(())
            })?;
            missed = true;
            continue;
        };
        if !missed {
            cx.with(|world| world.readahead_on_fault(file, folio, index));
        }
        let (at, whole) = cx.with(|world| (world.folios.at(folio).index, world.folio_range(folio)));
        if make_readable(cx, file, at, folio, whole).await? {
            cx.with(|world| {
                world.file_mut(file).memory_map.pages.insert(index);
                world.step(Rule::PageMapped, [index.get(), 1, 0, 0]);
            });
            return Ok(());
        }
    }
}

impl<E: Env> World<E> {
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
        self.file(file).memory_map.pages.contains(&index)
    }
    /// A fault found its folio cached (`do_async_mmap_readahead`).
    fn readahead_on_fault(&mut self, file: FileId, folio: FolioId, index: PageIndex) {
        let window = self.config.readahead.window;
        let random = self.file(file).memory_map.advice == MemAdvice::Random;
        if !random && !window.is_zero() && self.has(folio, FolioFlags::READAHEAD) {
            self.async_readahead(file, folio, index, window);
        }
    }
}
