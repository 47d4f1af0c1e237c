//! The mapping record (`struct iomap`): a range of a file and what stands behind it.

use crate::units::{Bytes, DevAddr, FileRange, Pos};

/// What stands behind a range of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MapType {
    /// Nothing.
    Hole,
    /// Space is promised, not chosen.
    Delalloc,
    /// Blocks with data.
    Mapped,
    /// Blocks whose content is undefined until they are converted.
    Unwritten,
    /// The bytes live with the inode.
    Inline,
}

impl MapType {
    /// Every type, in the order of the kernel's number.
    pub const ALL: [Self; 5] =
        [Self::Hole, Self::Delalloc, Self::Mapped, Self::Unwritten, Self::Inline];
    /// The kernel's number.
    pub const fn code(self) -> u64 {
        self as u64
    }
    /// The type with this number.
    pub fn from_code(code: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
    /// As the kernel's trace events print it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hole => "HOLE",
            Self::Delalloc => "DELALLOC",
            Self::Mapped => "MAPPED",
            Self::Unwritten => "UNWRITTEN",
            Self::Inline => "INLINE",
        }
    }
}

/// A mapping: `[offset, offset + length)` of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own in the kernel")]
pub struct Iomap {
    /// First byte of the file, and how many.
    pub range: FileRange,
    /// What stands behind them.
    pub kind: MapType,
    /// Device address of the first byte; none for holes and promises.
    pub addr: Option<DevAddr>,
    /// The blocks were newly allocated: what the write does not cover must be zeroed.
    pub new: bool,
    /// Writing goes to new space, the old blocks are shared.
    pub shared: bool,
    /// Writeback must not continue an ioend into this mapping (`IOMAP_F_BOUNDARY`).
    pub boundary: bool,
    /// The file system must read a block of its own before it can map what lies behind.
    pub reads_next: bool,
    /// Its blocks are kept in buffers: a write begins and ends with them (`IOMAP_F_BUFFER_HEAD`).
    pub buffer_head: bool,
    /// Changes with every change of the extent list: a mapping with an old one is stale.
    pub cookie: u64,
}

impl Iomap {
    /// A mapping of this range with no flag set.
    pub const fn plain(
        range: FileRange,
        kind: MapType,
        addr: Option<DevAddr>,
        cookie: u64,
    ) -> Self {
        let (new, shared, boundary, reads_next) = (false, false, false, false);
        let buffer_head = false;
        Self { range, kind, addr, new, shared, boundary, reads_next, buffer_head, cookie }
    }
    /// The part of the mapping that lies in `range`.
    #[must_use]
    pub fn cut_to(&self, range: FileRange) -> Self {
        let range = self.range.intersect(range);
        Self { range, addr: self.addr_of(range.start()), ..*self }
    }
    /// Device address of a byte of the mapping (`iomap_sector`).
    pub fn addr_of(&self, pos: Pos) -> Option<DevAddr> {
        Some(self.addr? + pos.since(self.range.start()))
    }
    /// The part of the file that lies in a range of the device, if any does.
    pub fn range_at(&self, addr: DevAddr, len: Bytes) -> Option<FileRange> {
        let mine = self.addr?;
        let from = addr.max(mine);
        let to = (addr + len).min(mine + self.range.len());
        let start = self.range.start() + from.since(mine);
        (from < to).then(|| FileRange::between(start, start + to.since(from)))
    }
    /// Bytes of the mapping from `pos` on.
    pub fn left(&self, pos: Pos) -> Bytes {
        FileRange::between(pos, self.range.end()).len()
    }
}

/// What a mapping is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Intent {
    /// To read.
    Read,
    /// To write through the cache.
    Write,
    /// To write past the cache: blocks are given at once.
    DirectWrite,
    /// To zero through the cache.
    Zero,
    /// To write shared blocks anew, with the bytes that they have.
    Unshare,
}

/// A mapping to write to, and where the old bytes are if that is elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// Destination.
    pub iomap: Iomap,
    /// Source of bytes that a write keeps; none = the destination.
    pub srcmap: Option<Iomap>,
}

impl Mapping {
    /// The map that old bytes come from (`iomap_iter_srcmap`).
    pub fn source(&self) -> &Iomap {
        match &self.srcmap {
            Some(src) if src.kind != MapType::Hole => src,
            Some(_) | None => &self.iomap,
        }
    }
    /// Up to where can be worked on.
    pub fn end(&self) -> Pos {
        self.iomap.range.end().min(self.source().range.end())
    }
    /// Bytes that can be worked on from `pos` (`iomap_length_trim`).
    pub fn left(&self, pos: Pos, len: Bytes) -> Bytes {
        len.min(FileRange::between(pos, self.end()).len())
    }
}
