//! Which folios were used lately (`mm/swap.c`): the two-touch rule, the batches that folios wait in
//! before they reach a list, and the lists.
//!
//! A task has a CPU of its own. The marks are folio flags, and so in the trace; the order of a list
//! is not. Nothing here decides anything until somebody reclaims ([`super::reclaim`]).

use super::folio::FolioFlags;
use crate::counters::Counter;
use crate::trace::rule::Rule;
use crate::units::{FolioId, Order, Pages, TaskId};
use crate::world::{Env, World};

/// Folios of a batch (`PAGEVEC_SIZE`; 14 or 15 before 6.9).
const BATCH: usize = 31;

/// The end of a list.
const NONE: u32 = u32::MAX;

/// A list of folios.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    /// Files, not used twice lately.
    Inactive,
    /// Files, used twice.
    Active,
    /// Without a device behind them: nothing scans it without swap.
    Anon,
    /// Not to be reclaimed.
    Unevictable,
}

#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
    pages: Pages,
}

/// Neighbours of a folio in its list, and the pages that it counts for there.
#[derive(Clone, Copy, Debug)]
struct Link {
    prev: u32,
    next: u32,
    pages: u16,
    list: Which,
}

/// What one CPU has not brought to the lists yet.
#[derive(Clone, Debug)]
struct Cpu {
    task: TaskId,
    adds: Vec<FolioId>,
    activations: Vec<FolioId>,
}

/// The lists, the batches, and the clock of evictions (`nonresident_age`).
#[derive(Clone, Debug)]
pub(crate) struct Lru {
    lists: [List; 4],
    links: Vec<Link>,
    cpus: Vec<Cpu>,
    pub(super) age: Pages,
}

impl Default for Lru {
    fn default() -> Self {
        let empty = List { head: NONE, tail: NONE, pages: Pages::ZERO };
        Self { lists: [empty; 4], links: Vec::new(), cpus: Vec::new(), age: Pages::ZERO }
    }
}

impl Lru {
    fn cpu(&mut self, task: TaskId) -> &mut Cpu {
        let at = self.cpus.iter().position(|cpu| cpu.task == task).unwrap_or_else(|| {
            self.cpus.push(Cpu { task, adds: Vec::new(), activations: Vec::new() });
            self.cpus.len() - 1
        });
        &mut self.cpus[at]
    }
    /// The folio that was in a list longest.
    pub(super) fn tail(&self, list: Which) -> Option<FolioId> {
        let tail = self.lists[list as usize].tail;
        (tail != NONE).then(|| FolioId::new(tail))
    }
    /// Pages of the folios of a list.
    pub(super) const fn pages(&self, list: Which) -> Pages {
        self.lists[list as usize].pages
    }
    /// Puts a folio at the head of a list, or at its tail.
    fn link(&mut self, id: FolioId, list: Which, order: Order, at_tail: bool) {
        let (row, pages) = (id.get(), order.pages());
        let empty = Link { prev: NONE, next: NONE, pages: pages.get() as u16, list };
        if self.links.len() <= row as usize {
            self.links.resize(row as usize + 1, empty);
        }
        let ends = &mut self.lists[list as usize];
        ends.pages += pages;
        let neighbour =
            core::mem::replace(if at_tail { &mut ends.tail } else { &mut ends.head }, row);
        if neighbour == NONE {
            (ends.head, ends.tail) = (row, row);
        } else {
            let other = &mut self.links[neighbour as usize];
            *(if at_tail { &mut other.next } else { &mut other.prev }) = row;
        }
        let (prev, next) = if at_tail { (neighbour, NONE) } else { (NONE, neighbour) };
        self.links[row as usize] = Link { prev, next, ..empty };
    }
    /// A folio of a list is smaller now: the rest of it stands before it (`lru_add_split_folio`).
    fn split(&mut self, id: FolioId, order: Order, rest: &[(FolioId, Order)]) {
        let row = id.get();
        self.links[row as usize].pages = order.pages().get() as u16;
        for (piece, order) in rest {
            let Link { prev, list, .. } = self.links[row as usize];
            let new = piece.get();
            let link = Link { prev, next: row, pages: order.pages().get() as u16, list };
            if self.links.len() <= new as usize {
                self.links.resize(new as usize + 1, link);
            }
            self.links[new as usize] = link;
            self.links[row as usize].prev = new;
            match prev {
                NONE => self.lists[list as usize].head = new,
                prev => self.links[prev as usize].next = new,
            }
        }
    }
    fn unlink(&mut self, id: FolioId) {
        let Link { prev, next, pages, list } = self.links[id.get() as usize];
        let ends = &mut self.lists[list as usize];
        ends.pages -= Pages::new(u64::from(pages));
        match prev {
            NONE => ends.head = next,
            prev => self.links[prev as usize].next = next,
        }
        match next {
            NONE => self.lists[list as usize].tail = prev,
            next => self.links[next as usize].prev = prev,
        }
    }
}

impl<E: Env> World<E> {
    fn list_of(&self, id: FolioId) -> Which {
        let folio = self.folios.at(id);
        if folio.flags.has(FolioFlags::UNEVICTABLE) {
            Which::Unevictable
        } else if self.has_memory_only(folio.file()) {
            Which::Anon
        } else if folio.flags.has(FolioFlags::ACTIVE) {
            Which::Active
        } else {
            Which::Inactive
        }
    }
    pub(super) fn lru_link(&mut self, id: FolioId, at_tail: bool) {
        let (list, order) = (self.list_of(id), self.folios.at(id).order);
        self.lru.link(id, list, order, at_tail);
    }
    pub(super) fn lru_unlink(&mut self, id: FolioId) {
        self.lru.unlink(id);
    }
    /// A new folio waits in this CPU's batch; a large one, or a full batch, goes on at once
    /// (`folio_add_lru`).
    pub(crate) fn lru_add(&mut self, id: FolioId) {
        let large = self.folios.at(id).order > Order::ZERO;
        let task = self.caller.task;
        let adds = &mut self.lru.cpu(task).adds;
        adds.push(id);
        if large || adds.len() == BATCH {
            self.drain_adds(task);
        }
    }
    fn drain_adds(&mut self, task: TaskId) {
        let mut batch = core::mem::take(&mut self.lru.cpu(task).adds);
        for id in batch.drain(..) {
            let folio = self.folios.at(id);
            let mut flags = folio.flags.with(FolioFlags::LRU);
            if self.file(folio.file()).unevictable {
                flags = flags.without(FolioFlags::ACTIVE).with(FolioFlags::UNEVICTABLE);
            }
            self.set_flags(id, flags);
            self.lru_link(id, false);
        }
        self.lru.cpu(task).adds = batch;
    }
    fn drain_activations(&mut self, task: TaskId) {
        let mut batch = core::mem::take(&mut self.lru.cpu(task).activations);
        if batch.is_empty() {
            return;
        }
        let count = batch.len() as u64;
        for id in batch.drain(..) {
            let flags = self.folios.at(id).flags;
            if !flags.has(FolioFlags::ACTIVE) && !flags.has(FolioFlags::UNEVICTABLE) {
                self.lru_unlink(id);
                self.raise(id, FolioFlags::ACTIVE);
                self.lru_link(id, false);
            }
        }
        self.lru.cpu(task).activations = batch;
        self.step(Rule::ActivationsDrained, [count, 0, 0, 0]);
    }
    /// Brings to the lists what the caller's CPU holds back (`lru_add_drain`).
    pub(super) fn lru_drain(&mut self) {
        let task = self.caller.task;
        self.drain_adds(task);
        self.drain_activations(task);
    }
    /// A folio was split: the rest of it is where it is.
    pub(super) fn lru_split(&mut self, id: FolioId, rest: &[(FolioId, Order)]) {
        let order = self.folios.at(id).order;
        if self.has(id, FolioFlags::LRU) {
            self.lru.split(id, order, rest);
        } else {
            for (piece, _) in rest {
                self.lru_add(*piece);
            }
        }
    }
    /// A folio leaves the cache.
    pub(crate) fn lru_remove(&mut self, id: FolioId) {
        let listed = self.has(id, FolioFlags::LRU);
        if listed {
            self.lru_unlink(id);
        }
        for cpu in &mut self.lru.cpus {
            let batch = if listed { &mut cpu.activations } else { &mut cpu.adds };
            batch.retain(|waits| *waits != id);
        }
    }
    /// The folio was used (`folio_mark_accessed`): once makes it referenced, twice active.
    pub(crate) fn mark_accessed(&mut self, id: FolioId) {
        let flags = self.folios.at(id).flags;
        if flags.has(FolioFlags::DROPBEHIND) {
            return;
        }
        let args = [self.folio_pos(id).get(), 0, 0, 0];
        if !flags.has(FolioFlags::REFERENCED) {
            self.count(Counter::AtomicFlagOps, 1);
            self.raise(id, FolioFlags::REFERENCED);
            self.step(Rule::Referenced, args);
            return;
        }
        if flags.has(FolioFlags::UNEVICTABLE) || flags.has(FolioFlags::ACTIVE) {
            return;
        }
        let task = self.caller.task;
        let cpu = self.lru.cpu(task);
        let rule = if flags.has(FolioFlags::LRU) && cpu.activations.contains(&id) {
            Rule::ActivationWaits
        } else if flags.has(FolioFlags::LRU) {
            cpu.activations.push(id);
            Rule::ActivationQueued
        } else if cpu.adds.contains(&id) {
            self.raise(id, FolioFlags::ACTIVE);
            Rule::ActivatedInBatch
        } else {
            Rule::NotActivated
        };
        self.count(Counter::AtomicFlagOps, 1);
        self.lower(id, FolioFlags::REFERENCED);
        if matches!(rule, Rule::ActivationQueued | Rule::ActivatedInBatch) {
            self.count(Counter::Activations, 1);
            self.lru.age += self.folios.at(id).order.pages();
        }
        self.step(rule, args);
        if self.lru.cpu(task).activations.len() == BATCH || self.folios.at(id).order > Order::ZERO {
            self.drain_activations(task);
        }
    }
    /// A new folio that counts as used gets its mark by a plain store, before anybody can see it
    /// (`init_page_accessed`).
    pub(super) fn init_accessed(&mut self, id: FolioId) {
        self.count(Counter::PlainFlagOps, 1);
        self.raise(id, FolioFlags::REFERENCED);
        self.step(Rule::InitReferenced, [self.folio_pos(id).get(), 0, 0, 0]);
    }
    /// Reclaim had wanted a folio whose writeback has ended: it is the next to go
    /// (`folio_rotate_reclaimable`).
    pub(crate) fn rotate_reclaimable(&mut self, id: FolioId) {
        let busy = FolioFlags::LOCKED | FolioFlags::DIRTY | FolioFlags::UNEVICTABLE;
        let flags = self.folios.at(id).flags;
        if flags.get() & busy.get() != 0 || !flags.has(FolioFlags::LRU) {
            return;
        }
        self.lru_unlink(id);
        self.lower(id, FolioFlags::ACTIVE);
        self.lru_link(id, true);
        self.step(Rule::Rotated, [self.folio_pos(id).get(), 0, 0, 0]);
    }
}
