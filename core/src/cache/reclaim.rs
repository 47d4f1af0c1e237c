//! Reclaim (`mm/vmscan.c`, the part that takes cached folios of files): looks at the folios that
//! were used least lately and takes the clean ones. It never writes.

use super::folio::FolioFlags;
use super::lru::Which;
use crate::counters::Counter;
use crate::trace::rule::Rule;
use crate::units::{FolioId, Pages};
use crate::world::{Env, World};

/// Folios that leave the active list at once (`SWAP_CLUSTER_MAX`).
const CLUSTER: u32 = 32;

/// What a look at a folio decides.
enum Fate {
    Activate,
    Keep,
    /// Clean: taken. Dirty: kept, and marked.
    Reclaim,
}

impl<E: Env> World<E> {
    /// Takes folios until `wanted` pages are free or as many pages were looked at as the lists
    /// held (`shrink_lruvec`); the pages that are free now.
    pub(crate) fn reclaim(&mut self, wanted: Pages) -> Pages {
        self.lru_drain();
        let mut freed = Pages::ZERO;
        let listed = self.lru.pages(Which::Inactive) + self.lru.pages(Which::Active);
        let mut looked = Pages::ZERO;
        while freed < wanted && looked < listed {
            if self.lru.pages(Which::Inactive) < self.lru.pages(Which::Active) {
                self.shrink_active();
            }
            let Some(id) = self.lru.tail(Which::Inactive) else { break };
            let pages = self.folios.at(id).order.pages();
            looked += pages;
            if self.look_at(id) {
                freed += pages;
            }
        }
        freed
    }
    /// The inactive list is too short: the folios that were active longest go to its head
    /// (`shrink_active_list`).
    fn shrink_active(&mut self) {
        for _ in 0..CLUSTER {
            let Some(id) = self.lru.tail(Which::Active) else { break };
            self.lru_unlink(id);
            let flags = self.folios.at(id).flags.without(FolioFlags::ACTIVE);
            self.set_flags(id, flags.with(FolioFlags::WORKINGSET));
            self.lru_link(id, false);
            self.step(Rule::Deactivated, [self.folio_pos(id).get(), 0, 0, 0]);
        }
    }
    /// Looks at one folio of the inactive list's tail; whether it was taken
    /// (`shrink_folio_list`).
    fn look_at(&mut self, id: FolioId) -> bool {
        let args = [self.folio_pos(id).get(), 0, 0, 0];
        self.lru_unlink(id);
        let flags = self.folios.at(id).flags;
        // Somebody holds it: nothing is known.
        let fate = if flags.has(FolioFlags::LOCKED) { Fate::Keep } else { self.fate_of(id) };
        let rule = match fate {
            Fate::Activate => {
                self.raise(id, FolioFlags::ACTIVE);
                Rule::ScanActivates
            }
            Fate::Keep => Rule::ScanKeeps,
            Fate::Reclaim if self.is_idle(id) => {
                self.lru_link(id, true);
                self.step(Rule::ScanTakes, args);
                self.leave_shadow(id);
                self.remove_folio(id);
                return true;
            }
            Fate::Reclaim => {
                self.raise(id, FolioFlags::RECLAIM);
                Rule::ScanMarks
            }
        };
        self.lru_link(id, false);
        self.step(rule, args);
        false
    }
    /// What the marks and the page table say of a folio (`folio_check_references`); both are
    /// cleared by the look.
    fn fate_of(&mut self, id: FolioId) -> Fate {
        let folio = self.folios.at(id);
        let (file, first, end) = (folio.file(), folio.index, folio.end_index());
        let referenced = folio.flags.has(FolioFlags::REFERENCED);
        let mapped = self.file_mut(file).memory_map.clear_young(first, end);
        if referenced {
            self.count(Counter::ScansWithR, 1);
            self.lower(id, FolioFlags::REFERENCED);
        }
        if mapped == 0 {
            return Fate::Reclaim;
        }
        self.raise(id, FolioFlags::REFERENCED);
        if referenced || mapped > 1 { Fate::Activate } else { Fate::Keep }
    }
}
