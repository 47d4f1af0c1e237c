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
    /// Frames that stretches have, or had: first, and the one behind the last.
    scripted: Vec<(Pfn, Pfn)>,
}

impl FrameAllocator {
    /// No frame is in use.
    pub fn new(policy: FramePolicy) -> Self {
        let mut new = Self {
            policy: FramePolicy::Packed,
            next: Pfn::ZERO,
            free: Vec::new(),
            bases: Vec::new(),
            scripted: Vec::new(),
        };
        new.follow(policy);
        new
    }
    /// From now on frames are given by `policy`; folios keep those that they have.
    pub fn follow(&mut self, policy: FramePolicy) {
        self.bases.clear();
        if let FramePolicy::Scripted(runs) = &policy {
            let first = self.next;
            for (_, _, pages) in runs {
                self.bases.push(self.next);
                self.next += *pages + Pages::new(1);
            }
            self.scripted.push((first, self.next));
        }
        self.policy = policy;
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
        let scripted = self.scripted.iter().any(|(first, end)| (*first..*end).contains(&pfn));
        if !scripted {
            let at = usize::from(order.get());
            if self.free.len() <= at {
                self.free.resize_with(at + 1, Vec::new);
            }
            self.free[at].push(pfn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(frames: &mut FrameAllocator, index: u64) -> Pfn {
        frames.allocate(FileId::new(0), PageIndex::new(index), Order::ZERO)
    }
    fn runs(all: &[(u64, u64)]) -> FramePolicy {
        let run = |(start, pages): &(u64, u64)| {
            (FileId::new(0), PageIndex::new(*start), Pages::new(*pages))
        };
        FramePolicy::Scripted(all.iter().map(run).collect())
    }

    #[test]
    fn a_new_script_takes_no_frame_of_the_old_one() {
        let mut frames = FrameAllocator::new(runs(&[(0, 2), (2, 1)]));
        let old: Vec<Pfn> = (0..3).map(|index| page(&mut frames, index)).collect();
        assert!(old[0] + Pages::new(1) == old[1] && old[1] + Pages::new(1) != old[2]);
        frames.follow(runs(&[(0, 1), (1, 2)]));
        frames.release(old[1], Order::ZERO);
        let new: Vec<Pfn> = (0..3).map(|index| page(&mut frames, index)).collect();
        assert!(new[0] + Pages::new(1) != new[1] && new[1] + Pages::new(1) == new[2]);
        assert!(new.iter().all(|pfn| !old.contains(pfn)));
        // In no script: neither a released frame of one nor a neighbour.
        let other = page(&mut frames, 9);
        assert!(!old.contains(&other) && !new.contains(&other));
    }
}
