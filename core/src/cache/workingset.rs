//! What a folio leaves behind when reclaim takes it (`mm/workingset.c`): a shadow in its place,
//! which says how long ago that was once the place is read again.

use super::folio::FolioFlags;
use super::lru::Which;
use crate::counters::Counter;
use crate::ordered::OrderedMap;
use crate::trace::delta::DeltaKind;
use crate::trace::rule::Rule;
use crate::units::{FileId, FolioId, Order, PageIndex, Pages};
use crate::world::{Env, World};

/// What stands where a folio was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shadow {
    /// Pages that it covers.
    pub pages: Pages,
    /// The clock of evictions when it left.
    pub age: Pages,
    /// It had been active.
    pub workingset: bool,
}

impl Shadow {
    /// As one word, never 0: a folio has at most 2^11 pages.
    pub const fn pack(self) -> u64 {
        self.age.get() << 13 | (self.workingset as u64) << 12 | self.pages.get()
    }
    /// From a word.
    pub const fn unpack(word: u64) -> Self {
        Self {
            pages: Pages::new(word & 0xfff),
            age: Pages::new(word >> 13),
            workingset: word >> 12 & 1 == 1,
        }
    }
}

/// The shadows of one file, by the first page of each.
pub(crate) type Shadows = OrderedMap<PageIndex, Shadow>;

impl<E: Env> World<E> {
    fn set_shadow(&mut self, file: FileId, index: PageIndex, shadow: Option<Shadow>) {
        let shadows = &mut self.file_mut(file).shadows;
        let old = match shadow {
            Some(shadow) => shadows.insert(index, shadow),
            None => shadows.remove(&index),
        };
        // A folio, and what is left of one, starts at a block of its own.
        let geometry = self.geometry();
        let block = geometry.file_block_floor(geometry.page_pos(index)).get() as u32;
        let word = |shadow: Option<Shadow>| shadow.map_or(0, Shadow::pack);
        self.note(DeltaKind::Shadow, file.get(), block, word(old), word(shadow));
    }
    /// Memory is gone, and what was known of reclaimed folios with it.
    pub(crate) fn forget_shadows(&mut self, file: FileId) {
        let all: Vec<PageIndex> = self.file(file).shadows.iter().map(|(index, _)| index).collect();
        for index in all {
            self.set_shadow(file, index, None);
        }
    }
    /// Reclaim takes a folio: its place remembers when (`workingset_eviction`).
    pub(super) fn leave_shadow(&mut self, id: FolioId) {
        let folio = self.folios.at(id);
        let (file, index, pages) = (folio.file(), folio.index, folio.order.pages());
        let workingset = folio.flags.has(FolioFlags::WORKINGSET);
        let shadow = Shadow { pages, age: self.lru.age, workingset };
        self.lru.age += pages;
        self.set_shadow(file, index, Some(shadow));
    }
    /// A folio is put where others were: their shadows go, and the last one is given.
    pub(super) fn take_shadows(
        &mut self,
        file: FileId,
        index: PageIndex,
        order: Order,
    ) -> Option<Shadow> {
        let end = index + order.pages();
        let mut last = None;
        while let Some((start, shadow)) = self.last_shadow_before(file, end) {
            let stop = start + shadow.pages;
            if stop <= index {
                break;
            }
            last = last.or(Some(shadow));
            self.set_shadow(file, start, None);
            if end < stop {
                let pages = stop.since(end);
                self.set_shadow(file, end, Some(Shadow { pages, ..shadow }));
            }
            if start < index {
                let pages = index.since(start);
                self.set_shadow(file, start, Some(Shadow { pages, ..shadow }));
            }
        }
        last
    }
    fn last_shadow_before(&self, file: FileId, end: PageIndex) -> Option<(PageIndex, Shadow)> {
        self.file(file).shadows.range(..end).next_back().map(|(start, shadow)| (start, *shadow))
    }
    /// A folio is read again: if what was evicted and activated since would have fitted beside the
    /// active folios, it should never have gone, and is active at once; one that was active before
    /// belongs to the workingset again (`workingset_refault`).
    pub(super) fn refault(&mut self, id: FolioId, shadow: Shadow) {
        let distance = self.lru.age.saturating_sub(shadow.age);
        let active = self.lru.pages(Which::Active);
        let recent = distance <= active;
        self.count(Counter::Refaults, 1);
        if recent {
            self.raise(id, FolioFlags::ACTIVE);
            self.lru.age += self.folios.at(id).order.pages();
            if shadow.workingset {
                self.raise(id, FolioFlags::WORKINGSET);
            }
        }
        let index = self.folios.at(id).index.get();
        let rule = if recent { Rule::RefaultActivates } else { Rule::RefaultTooLate };
        self.step(rule, [index, distance.get(), active.get(), 0]);
    }
}
