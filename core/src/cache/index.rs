//! Which folio holds a page (the part of `struct xarray` that the page cache uses).
//!
//! Folios stand under the index of their first page, in chunks of [`CHUNK`] pages with one bit for
//! each page at which a folio starts. A lookup is one short search for the chunk, then one word:
//! folios are naturally aligned, so one of a chunk or more starts its first chunk.

use crate::units::{FolioId, Order, PageIndex, Pages};

/// Pages of a chunk.
const CHUNK: u64 = 64;

/// The folios that start in one chunk.
#[derive(Clone, Debug)]
struct Chunk {
    /// Pages at which a folio starts.
    starts: u64,
    /// Their folios; the other slots mean nothing.
    slots: [(FolioId, Order); CHUNK as usize],
}

/// A folio with the index of its first page.
pub(super) type Entry = (PageIndex, FolioId, Order);

/// The folios of one file by page index.
#[derive(Clone, Default, Debug)]
pub(super) struct Index {
    /// Ascending, with their numbers.
    chunks: Vec<(u64, Box<Chunk>)>,
}

impl Chunk {
    const EMPTY: Self = Self { starts: 0, slots: [(FolioId::new(0), Order::ZERO); CHUNK as usize] };

    fn entry(&self, number: u64, slot: u32) -> Entry {
        let (id, order) = self.slots[slot as usize];
        (PageIndex::new(number * CHUNK + u64::from(slot)), id, order)
    }
    fn entries(&self, number: u64) -> impl Iterator<Item = Entry> {
        let slots = (0..CHUNK as u32).filter(|slot| self.starts >> slot & 1 == 1);
        slots.map(move |slot| self.entry(number, slot))
    }
}

/// Number and slot of the chunk that a page lies in.
const fn place(index: PageIndex) -> (u64, u32) {
    (index.get() / CHUNK, (index.get() % CHUNK) as u32)
}

impl Index {
    /// Where a chunk stands, or would. Of a file that is cached from its start on, each stands at
    /// its number.
    fn find(&self, number: u64) -> Result<usize, usize> {
        let guess = number as usize;
        if self.chunks.get(guess).is_some_and(|(at, _)| *at == number) {
            return Ok(guess);
        }
        self.chunks.binary_search_by_key(&number, |(at, _)| *at)
    }
    /// How many chunks there are up to one.
    fn count_to(&self, number: u64) -> usize {
        self.find(number).map_or_else(|at| at, |at| at + 1)
    }
    /// The folio that holds a page.
    pub(super) fn holder(&self, index: PageIndex) -> Option<Entry> {
        let (number, slot) = place(index);
        let mut at = self.count_to(number).checked_sub(1)?;
        let (found, chunk) = &self.chunks[at];
        let up_to = if *found == number { u64::MAX >> (CHUNK as u32 - 1 - slot) } else { u64::MAX };
        let last = (chunk.starts & up_to).checked_ilog2();
        if last.is_none() {
            // Nothing starts here before this page: a large folio may reach into the chunk.
            at = at.checked_sub(1)?;
        }
        let (found, chunk) = &self.chunks[at];
        let entry = chunk.entry(*found, last.unwrap_or_else(|| chunk.starts.ilog2()));
        (index < entry.0 + entry.2.pages()).then_some(entry)
    }
    /// The first page of `[from, end)` at which a folio starts.
    pub(super) fn next_start(&self, from: PageIndex, end: PageIndex) -> Option<PageIndex> {
        let (first, _) = place(from);
        let (last, _) = place(end - Pages::new(1));
        let from_chunk = self.find(first).unwrap_or_else(|at| at);
        let chunks = &self.chunks[from_chunk..self.count_to(last)];
        let starts = chunks.iter().flat_map(|(number, chunk)| chunk.entries(*number));
        starts.map(|(start, ..)| start).find(|start| (from..end).contains(start))
    }
    /// Adds a folio.
    pub(super) fn insert(&mut self, (index, id, order): Entry) {
        let (number, slot) = place(index);
        let at = self.find(number).unwrap_or_else(|at| {
            self.chunks.insert(at, (number, Box::new(Chunk::EMPTY)));
            at
        });
        let chunk = &mut self.chunks[at].1;
        chunk.starts |= 1 << slot;
        chunk.slots[slot as usize] = (id, order);
    }
    /// Takes out the folio that starts at a page.
    pub(super) fn remove(&mut self, index: PageIndex) {
        let (number, slot) = place(index);
        let Ok(at) = self.find(number) else { return };
        let chunk = &mut self.chunks[at].1;
        chunk.starts &= !(1 << slot);
        if chunk.starts == 0 {
            self.chunks.remove(at);
        }
    }
    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }
    /// Every folio, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = Entry> {
        self.chunks.iter().flat_map(|(number, chunk)| chunk.entries(*number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_one_entry_a_page(
            edits in prop::collection::vec((any::<bool>(), 0u64..512, 0u8..9), 0..40),
        ) {
            let (mut index, mut plain) = (Index::default(), vec![None; 600]);
            for (at, (add, page, order)) in edits.into_iter().enumerate() {
                let order = Order::new(order);
                let start = page >> order.get() << order.get();
                let pages = start as usize..(start + order.pages().get()) as usize;
                let (start, end) = (PageIndex::new(start), PageIndex::new(pages.end as u64));
                let free = plain[pages.clone()].iter().all(Option::is_none);
                let starts = plain[pages.clone()].iter().zip(pages.clone()).find(|(entry, at)| {
                    entry.is_some_and(|(start, ..): Entry| start.get() == *at as u64)
                });
                let next = starts.map(|(_, at)| PageIndex::new(at as u64));
                prop_assert_eq!(index.next_start(start, end), next);
                if add && free {
                    let entry = (start, FolioId::new(at as u32), order);
                    index.insert(entry);
                    plain[pages].fill(Some(entry));
                } else if let (false, Some((start, _, order))) = (add, plain[page as usize]) {
                    let start = start.get() as usize;
                    plain[start..start + order.pages().get() as usize].fill(None);
                    index.remove(PageIndex::new(start as u64));
                }
            }
            for (page, entry) in plain.iter().enumerate() {
                prop_assert_eq!(index.holder(PageIndex::new(page as u64)), *entry);
            }
            let mut all: Vec<Entry> = plain.into_iter().flatten().collect();
            all.dedup();
            prop_assert!(index.iter().eq(all.iter().copied()));
            prop_assert_eq!(index.is_empty(), all.is_empty());
        }
    }
}
