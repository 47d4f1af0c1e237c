//! Dropping the cache of a range for a direct write (`invalidate_inode_pages2_range`): every folio
//! that has a page of it goes as a whole, unless it is dirty again.
//!
//! It stops where a folio is locked or under writeback and goes on when looked at again, so that a
//! task that waits and a worker do the same.

use crate::cache::folio::FolioFlags;
use crate::cache::mapping::Tag;
use crate::check::mutant::Mutant;
use crate::fault::{FaultEffect, FaultPoint};
use crate::geometry::Geometry;
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, FolioId, PageIndex, Pages};
use crate::world::{Env, World};

/// How far the cache of a range has been dropped.
#[derive(Debug)]
pub(super) struct Sweep {
    at: PageIndex,
    end: PageIndex,
    /// The folio whose lock it holds while that is written.
    held: Option<FolioId>,
    failed: bool,
    /// A step says already that it waits.
    told: bool,
    /// It waited, and folios may have been read again behind it.
    waited: bool,
}

impl Sweep {
    /// Nothing of a range has been dropped.
    pub(super) fn over(geometry: Geometry, range: FileRange) -> Self {
        let at = geometry.page_floor(range.start());
        let last = range.start().max(range.end() - Bytes::new(u64::from(!range.is_empty())));
        let end = geometry.page_floor(last) + Pages::new(1);
        Self { at, end, held: None, failed: false, told: false, waited: false }
    }
    /// Whether it waited anywhere.
    pub(super) const fn waited(&self) -> bool {
        self.waited
    }
    /// Whether a folio could not be dropped.
    pub(super) const fn failed(&self) -> bool {
        self.failed
    }
}

impl<E: Env> World<E> {
    /// Whether any page of a range is cached (`filemap_range_has_page`).
    pub(super) fn has_cache(&self, file: FileId, sweep: &Sweep) -> bool {
        self.next_cached(file, sweep).is_some()
    }
    fn next_cached(&self, file: FileId, sweep: &Sweep) -> Option<FolioId> {
        let mapping = &self.file(file).mapping;
        if sweep.at >= sweep.end {
            return None;
        }
        mapping.find(sweep.at).or_else(|| mapping.find(mapping.next_start(sweep.at, sweep.end)?))
    }
    /// A direct write is about to begin, once the cache of its range was dropped: nothing of it is
    /// cached. Where dropping it waited, others may have read and stored meanwhile: all is clean
    /// but what was stored. (A device is written without the inode lock: nothing can be said then.)
    pub(super) fn require_dropped(&mut self, file: FileId, range: FileRange, waited: bool) {
        let all = Sweep::over(self.geometry(), range);
        let holds = if waited {
            !self.file(file).provider.locks_writes() || self.is_clean_or_stored(file, &all)
        } else {
            !self.has_cache(file, &all)
        };
        self.require(holds, 41, range.start());
    }
    /// Whether a page of every dirty folio of a range is writable.
    fn is_clean_or_stored(&self, file: FileId, sweep: &Sweep) -> bool {
        let inode = self.file(file);
        let mut at = sweep.at;
        while let Some(folio) = inode.mapping.next_tagged(Tag::Dirty, at, sweep.end) {
            let row = self.folios.at(folio);
            if !inode.memory_map.is_writable(row.index, row.end_index()) {
                return false;
            }
            at = row.end_index();
        }
        true
    }
    /// Drops as much as goes without waiting; whether it is through.
    pub(super) fn sweep(&mut self, file: FileId, range: FileRange, sweep: &mut Sweep) -> bool {
        if self.mutant(Mutant::DropsNothing) {
            return true;
        }
        loop {
            let next = sweep.held.or_else(|| self.next_cached(file, sweep));
            let Some(folio) = next else { return true };
            let pos = self.folio_pos(folio).get();
            if sweep.held.is_none() {
                if self.has(folio, FolioFlags::LOCKED) {
                    self.tell_once(sweep, Rule::WaitsForLock, pos);
                    return false;
                }
                self.raise(folio, FolioFlags::LOCKED);
                sweep.held = Some(folio);
            }
            if self.has(folio, FolioFlags::WRITEBACK) {
                self.tell_once(sweep, Rule::WaitsForWriteback, pos);
                return false;
            }
            let (first, end) = (self.folios.at(folio).index, self.folios.at(folio).end_index());
            (sweep.at, sweep.held, sweep.told) = (end, None, false);
            self.file_mut(file).memory_map.unmap(first, end);
            sweep.failed |= !self.drop_for_direct(folio, range);
        }
    }
    fn tell_once(&mut self, sweep: &mut Sweep, rule: Rule, pos: u64) {
        sweep.waited = true;
        if !core::mem::replace(&mut sweep.told, true) {
            self.step(rule, [pos, 0, 0, 0]);
        }
    }
    /// Takes a locked folio out of the cache; false: it stays, unlocked.
    fn drop_for_direct(&mut self, folio: FolioId, range: FileRange) -> bool {
        let whole = self.folio_range(folio);
        let dirty = self.has(folio, FolioFlags::DIRTY);
        let file = self.folios.at(folio).file();
        let point = FaultPoint::InvalidateFolio;
        let fault = if dirty { None } else { self.fault(point, file, whole) };
        let error = match fault {
            Some((_, FaultEffect::Fails(errno))) => u64::from(errno.number()),
            Some((_, FaultEffect::Gives(_))) | None => {
                u64::from(crate::errno::Errno::Busy.number())
            }
        };
        if dirty || fault.is_some() {
            self.unlock(folio);
            self.step(Rule::DirectKeeps, [whole.start().get(), error, 0, 0]);
            return false;
        }
        let part = whole.intersect(range).len().get();
        self.step(Rule::DirectDrops, [whole.start().get(), part, 0, 0]);
        self.remove_folio(folio);
        true
    }
}
