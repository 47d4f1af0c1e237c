//! Which page frames a folio gets. Physical contiguity is state: neighbours in memory share a vec.

use crate::units::{FileId, Order, PageIndex, Pages, Pfn};

/// How frames are given out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FramePolicy {
    /// One after another, freed ones first: neighbours in a file often follow each other in memory.
    Packed,
    /// Never two folios next to each other: every folio is a vec of its own.
    Scattered,
    /// As was seen: for each stretch of a file whose pages followed each other in memory, its first
    /// page and its pages. Pages in no stretch are scattered.
    Scripted(Vec<(FileId, PageIndex, Pages)>),
}

/// Gives out page frames.
#[derive(Clone, Debug)]
pub struct FrameAllocator {
    policy: FramePolicy,
    next: Pfn,
    /// By order.
    free: Vec<Vec<Pfn>>,
    /// First frame of each scripted stretch.
    bases: Vec<Pfn>,
}

impl FrameAllocator {
    /// No frame is in use.
    pub fn new(policy: FramePolicy) -> Self {
        let mut next = Pfn::ZERO;
        let mut bases = Vec::new();
        if let FramePolicy::Scripted(runs) = &policy {
            for (_, _, pages) in runs {
                bases.push(next);
                next += *pages + Pages::new(1);
            }
        }
        Self { policy, next, free: Vec::new(), bases }
    }
    /// Frames for a folio.
    pub fn allocate(&mut self, file: FileId, index: PageIndex, order: Order) -> Pfn {
        if let FramePolicy::Scripted(runs) = &self.policy {
            let holds = |(of, start, pages): &(FileId, PageIndex, Pages)| {
                *of == file && *start <= index && index + order.pages() <= *start + *pages
            };
            if let Some(at) = runs.iter().position(holds) {
                return self.bases[at] + index.since(runs[at].1);
            }
        }
        if let Some(pfn) = self.free.get_mut(usize::from(order.get())).and_then(Vec::pop) {
            return pfn;
        }
        // Aligned, as the buddy allocator gives them.
        let size = order.pages().get();
        let pfn = Pfn::new(self.next.get().next_multiple_of(size));
        let gap = Pages::new(u64::from(self.policy != FramePolicy::Packed));
        self.next = pfn + order.pages() + gap;
        pfn
    }
    /// A page of the application's memory: in no file's script.
    pub fn allocate_user(&mut self) -> Pfn {
        self.allocate(FileId::new(u32::MAX), PageIndex::ZERO, Order::ZERO)
    }
    /// Takes frames back.
    pub fn release(&mut self, pfn: Pfn, order: Order) {
        let scripted = self.bases.last().is_some_and(|last| pfn <= *last);
        if !scripted {
            let at = usize::from(order.get());
            if self.free.len() <= at {
                self.free.resize_with(at + 1, Vec::new);
            }
            self.free[at].push(pfn);
        }
    }
}
