//! The cached folios of one file by page index, with the tags that writeback searches by
//! (`address_space`).

use super::index::{Entry, Index};
use crate::ordered::OrderedSet;
use crate::units::{FolioId, Order, PageIndex};

/// What a folio can be searched by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tag {
    /// It is dirty.
    Dirty,
    /// It was dirty when a data-integrity writeback began.
    ToWrite,
    /// It is being written.
    Writeback,
}

/// The cached folios of one file. A folio stands once, under the index of its first page.
#[derive(Clone, Default, Debug)]
pub struct Mapping {
    folios: Index,
    tags: [OrderedSet<PageIndex>; 3],
}

impl Mapping {
    /// The folio that holds a page.
    pub fn find(&self, index: PageIndex) -> Option<FolioId> {
        self.folios.holder(index).map(|(_, id, _)| id)
    }
    /// Whether any page of the aligned range of this order is cached.
    pub fn occupied(&self, index: PageIndex, order: Order) -> bool {
        let last = index + order.pages();
        self.find(index).is_some() || self.folios.next_start(index, last).is_some()
    }
    /// The first page of `[from, end)` at which a folio starts.
    pub fn next_start(&self, from: PageIndex, end: PageIndex) -> Option<PageIndex> {
        self.folios.next_start(from, end)
    }
    /// Adds a folio. Its pages were free.
    pub fn insert(&mut self, index: PageIndex, order: Order, id: FolioId) {
        debug_assert!(!self.occupied(index, order), "page {index:?} is cached already");
        self.folios.insert((index, id, order));
    }
    /// Takes a folio out with its tags.
    pub fn remove(&mut self, index: PageIndex) {
        self.folios.remove(index);
        for tag in &mut self.tags {
            tag.remove(&index);
        }
    }
    /// Whether nothing is cached.
    pub fn is_empty(&self) -> bool {
        self.folios.is_empty()
    }
    /// Every folio, ascending.
    pub fn folios(&self) -> impl Iterator<Item = FolioId> {
        self.folios.iter().map(|(_, id, _)| id)
    }
    /// Sets or clears a tag of the folio at `index`.
    pub fn set_tag(&mut self, tag: Tag, index: PageIndex, on: bool) {
        let set = &mut self.tags[tag as usize];
        if on {
            set.insert(index);
        } else {
            set.remove(&index);
        }
    }
    /// Whether the folio at `index` has the tag.
    pub fn has_tag(&self, tag: Tag, index: PageIndex) -> bool {
        self.tags[tag as usize].contains(&index)
    }
    /// Whether any folio has the tag.
    pub fn tagged(&self, tag: Tag) -> bool {
        !self.tags[tag as usize].is_empty()
    }
    fn next_tagged_entry(&self, tag: Tag, from: PageIndex, end: PageIndex) -> Option<Entry> {
        if from >= end {
            return None;
        }
        let set = &self.tags[tag as usize];
        if let Some(entry) = self.folios.holder(from).filter(|(start, ..)| set.contains(start)) {
            return Some(entry);
        }
        let start = set.range(from..end).next()?;
        self.folios.holder(start)
    }
    /// The first folio with the tag that reaches beyond `from` and starts before `end`.
    pub fn next_tagged(&self, tag: Tag, from: PageIndex, end: PageIndex) -> Option<FolioId> {
        self.next_tagged_entry(tag, from, end).map(|(_, id, _)| id)
    }
    /// Copies the dirty tag to the to-write tag in `[from, end)` (`tag_pages_for_writeback`), so
    /// that what is dirtied later is not chased.
    pub fn tag_for_writeback(&mut self, from: PageIndex, end: PageIndex) {
        let mut at = from;
        while let Some((start, _, order)) = self.next_tagged_entry(Tag::Dirty, at, end) {
            self.tags[Tag::ToWrite as usize].insert(start);
            at = start + order.pages();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_folio_answers_for_each_of_its_pages() {
        let mut mapping = Mapping::default();
        let page = PageIndex::new;
        mapping.insert(page(4), Order::new(2), FolioId::new(7));
        for at in 4..8 {
            assert_eq!(mapping.find(page(at)), Some(FolioId::new(7)));
        }
        assert_eq!(mapping.find(page(3)), None);
        assert_eq!(mapping.find(page(8)), None);
        assert!(mapping.occupied(page(0), Order::new(3)));
        assert!(!mapping.occupied(page(0), Order::new(2)));
        mapping.set_tag(Tag::Dirty, page(4), true);
        assert_eq!(mapping.next_tagged(Tag::Dirty, page(6), page(9)), Some(FolioId::new(7)));
        assert_eq!(mapping.next_tagged(Tag::Dirty, page(8), page(9)), None);
        mapping.tag_for_writeback(page(5), page(6));
        assert_eq!(mapping.next_tagged(Tag::ToWrite, page(0), page(9)), Some(FolioId::new(7)));
        mapping.remove(page(4));
        assert!(!mapping.tagged(Tag::Dirty));
    }
}
