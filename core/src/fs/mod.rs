//! Mapping providers: where the bytes of a file lie. They answer; they never do I/O themselves.

use crate::errno::Errno;
use crate::geometry::Geometry;
use crate::iomap::{Intent, Iomap, MapType, Mapping};
use crate::units::{Bytes, DevAddr, FileRange, Pos};

pub mod blockdev;
pub mod extent_map;
pub mod extents;
pub mod scripted;

use blockdev::BlockDev;
use extent_map::ExtentChange;
use extents::Extents;
use scripted::Scripted;

/// Gives out device space: ascending, never the same twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpaceAllocator {
    next: DevAddr,
    left: Option<Bytes>,
}

impl SpaceAllocator {
    /// From `first` on, `limit` bytes in all, or without a limit.
    pub const fn new(first: DevAddr, limit: Option<Bytes>) -> Self {
        Self { next: first, left: limit }
    }
    /// Space for `len` bytes in one piece.
    pub fn allocate(&mut self, len: Bytes) -> Result<DevAddr, Errno> {
        if let Some(left) = &mut self.left {
            if *left < len {
                return Err(Errno::NoSpc);
            }
            *left -= len;
        }
        let at = self.next;
        self.next += len;
        Ok(at)
    }
    /// Space up to `end` is taken.
    pub fn skip_to(&mut self, end: DevAddr) {
        self.next = self.next.max(end);
    }
}

/// Space that a reservation got during writeback.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allocated {
    /// The reservation.
    pub range: FileRange,
    /// Where it lies now.
    pub addr: DevAddr,
}

/// A mapping provider.
#[derive(Clone, Debug)]
pub enum Provider {
    /// The file is a device.
    BlockDev(BlockDev),
    /// A list of extents with delayed allocation, in the manner of XFS.
    Extents(Extents),
    /// Replays mappings that a kernel gave.
    Scripted(Scripted),
}

impl Provider {
    /// A mapping that covers `pos` (`iomap_begin`).
    pub fn begin(&mut self, range: FileRange, intent: Intent) -> Result<Mapping, Errno> {
        match self {
            Self::BlockDev(fs) => fs.begin(range).map(|iomap| Mapping { iomap, srcmap: None }),
            Self::Extents(fs) => Ok(Mapping { iomap: fs.begin(range, intent), srcmap: None }),
            Self::Scripted(fs) => fs.begin(range, intent),
        }
    }
    /// A block of the file system's own that must be read before it can answer; each is named once.
    pub fn metadata_for(&mut self, range: FileRange, intent: Intent) -> Option<(DevAddr, Bytes)> {
        match self {
            Self::BlockDev(_) | Self::Extents(_) => None,
            Self::Scripted(fs) => fs.metadata_for(range, intent),
        }
    }
    /// The caller is done with a mapping of which it used `[start, used)`; gives back what a write
    /// reserved in vain (`iomap_end`). `dirty` tells whether a block has dirty cache.
    pub fn end(
        &mut self,
        mapping: &Mapping,
        asked: FileRange,
        used: Pos,
        dirty: impl Fn(Pos) -> bool,
    ) -> Option<FileRange> {
        match self {
            Self::BlockDev(_) | Self::Scripted(_) => None,
            Self::Extents(fs) => fs.end(mapping, asked, used, dirty),
        }
    }
    /// A mapping for writeback that covers the start of `range`; a reservation gets space first.
    pub fn writeback_map(
        &mut self,
        range: FileRange,
        space: &mut SpaceAllocator,
    ) -> Result<(Iomap, Option<Allocated>), Errno> {
        match self {
            Self::BlockDev(fs) => fs.begin(range).map(|iomap| (iomap, None)),
            Self::Extents(fs) => fs.writeback_map(range, space),
            Self::Scripted(fs) => fs.writeback_map(range).map(|iomap| (iomap, None)),
        }
    }
    /// The bytes are on the device: unwritten becomes written. Whether anything was unwritten.
    pub fn convert(&mut self, range: FileRange) -> bool {
        match self {
            Self::BlockDev(_) => false,
            Self::Extents(fs) => fs.map_mut().convert(range),
            Self::Scripted(fs) => fs.map_mut().convert(range),
        }
    }
    /// Writeback gave up on a range: what was only promised to it is given back. Whether anything
    /// was.
    pub fn discard(&mut self, range: FileRange) -> bool {
        match self {
            Self::BlockDev(_) | Self::Scripted(_) => false,
            Self::Extents(fs) => fs.discard(range),
        }
    }
    /// The bytes that live with the inode.
    pub fn inline_bytes(&self) -> &[u8] {
        match self {
            Self::BlockDev(_) | Self::Extents(_) => &[],
            Self::Scripted(fs) => fs.inline().1,
        }
    }
    /// The position of the first of them.
    pub fn inline_start(&self) -> Pos {
        match self {
            Self::BlockDev(_) | Self::Extents(_) => Pos::ZERO,
            Self::Scripted(fs) => fs.inline().0,
        }
    }
    /// Whether a mapping still says the truth (`iomap_valid`).
    pub fn is_valid(&self, iomap: &Iomap) -> bool {
        match self {
            Self::BlockDev(_) | Self::Scripted(_) => true,
            Self::Extents(fs) => fs.map().cookie() == iomap.cookie,
        }
    }
    /// Changes of the extent list since this was last asked.
    pub fn take_changes(&mut self) -> Vec<ExtentChange> {
        match self {
            Self::BlockDev(_) => Vec::new(),
            Self::Extents(fs) => fs.map_mut().take_changes(),
            Self::Scripted(fs) => fs.map_mut().take_changes(),
        }
    }
    /// What stands behind a byte, to look only.
    pub fn peek(&self, pos: Pos, end: Pos) -> Iomap {
        match self {
            Self::BlockDev(fs) => fs.whole(),
            Self::Extents(fs) => fs.map().lookup(pos, end),
            Self::Scripted(fs) => fs.map().lookup(pos, end),
        }
    }
    /// The extents as the picture shows them: range, state, address.
    pub fn extents(&self, geometry: Geometry) -> Vec<Iomap> {
        let mut all = Vec::new();
        let map = match self {
            Self::BlockDev(fs) => return vec![fs.whole()],
            Self::Extents(fs) => fs.map(),
            Self::Scripted(fs) => fs.map(),
        };
        for (block, extent) in map.iter() {
            let start = Pos::new(geometry.block_offset(block).get());
            let end = start + geometry.blocks_bytes(extent.len);
            debug_assert!(extent.state != MapType::Hole, "holes are not kept");
            all.push(Iomap::plain(FileRange::between(start, end), extent.state, extent.addr, 0));
        }
        all
    }
}
