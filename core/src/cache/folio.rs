//! A folio: `2^order` pages of a file, naturally aligned, cached as one.

use crate::units::{FileId, FolioId, Order, PageIndex, Pfn};
use core::fmt;
use core::ops::{BitOr, BitOrAssign};

/// State bits of a folio, as in `page-flags.h`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FolioFlags(u16);

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $bit:literal, $text:literal;)*) => {
        impl FolioFlags {
            $($(#[$doc])* pub const $name: Self = Self(1 << $bit);)*
            const NAMES: &'static [(Self, &'static str)] = &[$((Self::$name, $text),)*];
        }
    };
}

flags! {
    /// Held exclusively.
    LOCKED = 0, "lock";
    /// Every byte is valid.
    UPTODATE = 1, "uptodate";
    /// Has bytes that the device does not have.
    DIRTY = 2, "dirty";
    /// I/O to the device is in flight.
    WRITEBACK = 3, "writeback";
    /// Touched once since it was last looked at.
    REFERENCED = 4, "ref";
    /// On the active list.
    ACTIVE = 5, "act";
    /// Reading it starts the next readahead window.
    READAHEAD = 6, "ra";
    /// To be dropped when its writeback ends.
    DROPBEHIND = 7, "drop";
    /// Has per-block state (an `iomap_folio_state`).
    BLOCK_STATE = 8, "ifs";
    /// On one of the lists of folios by use.
    LRU = 9, "lru";
    /// Not to be reclaimed.
    UNEVICTABLE = 10, "unev";
    /// Was active before.
    WORKINGSET = 11, "ws";
}

impl FolioFlags {
    /// Reclaim waits for its writeback: the bit of the readahead mark, which means this where the
    /// folio is dirty or being written (`PG_reclaim`).
    pub const RECLAIM: Self = Self::READAHEAD;
    /// No bit set.
    pub const NONE: Self = Self(0);
    /// The raw word.
    pub const fn get(self) -> u64 {
        self.0 as u64
    }
    /// From a raw word; unknown bits are kept.
    pub const fn from_word(word: u64) -> Self {
        Self(word as u16)
    }
    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// With the bits of `other` set.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// With the bits of `other` clear.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for FolioFlags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

impl BitOrAssign for FolioFlags {
    fn bitor_assign(&mut self, other: Self) {
        *self = self.with(other);
    }
}

impl fmt::Display for FolioFlags {
    /// Names joined by `|`, or `-`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> =
            Self::NAMES.iter().filter(|(bit, _)| self.has(*bit)).map(|(_, name)| *name).collect();
        f.write_str(if names.is_empty() { "-" } else { "" })?;
        f.write_str(&names.join("|"))
    }
}

/// Row of the block-state table of a folio that has none.
pub const NO_IFS: u32 = u32::MAX;

/// A cached folio: one row of the folio table, 24 bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folio {
    /// Index of its first page in the file; a multiple of `2^order`.
    pub index: PageIndex,
    /// First page frame, in 32 bits.
    pub frame: u32,
    /// Row of its block state, or [`NO_IFS`].
    pub ifs: u32,
    /// Whose it is.
    pub file: u16,
    /// State bits.
    pub flags: FolioFlags,
    /// Size is `2^order` pages.
    pub order: Order,
}

impl Folio {
    /// First page frame.
    pub fn pfn(&self) -> Pfn {
        Pfn::new(u64::from(self.frame))
    }
    /// Whose it is.
    pub fn file(&self) -> FileId {
        FileId::new(u32::from(self.file))
    }
    /// Index of the first page behind it.
    pub fn end_index(&self) -> PageIndex {
        self.index + self.order.pages()
    }
}

/// Rows of a table that are used again once free.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    rows: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Puts `value` in a free row.
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(row) = self.free.pop() {
            self.rows[row as usize] = Some(value);
            return row;
        }
        self.rows.push(Some(value));
        (self.rows.len() - 1) as u32
    }
    /// Takes the value out of a row.
    pub fn remove(&mut self, row: u32) -> T {
        self.free.push(row);
        self.rows[row as usize].take().expect("row in use")
    }
    /// The value of a row in use.
    pub fn get(&self, row: u32) -> &T {
        self.rows[row as usize].as_ref().expect("row in use")
    }
    /// The value of a row in use.
    pub fn get_mut(&mut self, row: u32) -> &mut T {
        self.rows[row as usize].as_mut().expect("row in use")
    }
    /// All rows in use, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.rows.iter().enumerate().filter_map(|(n, row)| Some((n as u32, row.as_ref()?)))
    }
}

impl Slab<Folio> {
    /// The folio with this number.
    pub fn at(&self, id: FolioId) -> &Folio {
        self.get(id.get())
    }
    /// The folio with this number.
    pub fn at_mut(&mut self, id: FolioId) -> &mut Folio {
        self.get_mut(id.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folio_costs_at_most_24_bytes() {
        assert!(size_of::<Folio>() <= 24, "{}", size_of::<Folio>());
    }

    #[test]
    fn flags_print_their_names() {
        assert_eq!((FolioFlags::LOCKED | FolioFlags::DIRTY).to_string(), "lock|dirty");
        assert_eq!(FolioFlags::NONE.to_string(), "-");
    }
}
