//! A list of extents with delayed allocation, in the manner of XFS without its shared blocks.
//!
//! A write over a hole reserves (DELALLOC) exactly the blocks it asks for, cut at the next extent.
//! Writeback gives the whole reservation space as *unwritten* blocks; completion converts what was
//! written. No speculative preallocation.

use super::extent_map::ExtentMap;
use super::{Allocated, SpaceAllocator};
use crate::errno::Errno;
use crate::geometry::Geometry;
use crate::iomap::{Intent, Iomap, MapType, Mapping};
use crate::units::{FileRange, Pos};

/// Extents of one file.
#[derive(Clone, Debug)]
pub struct Extents {
    geometry: Geometry,
    map: ExtentMap,
}

impl Extents {
    /// A file without blocks.
    pub const fn new(geometry: Geometry) -> Self {
        Self { geometry, map: ExtentMap::new(geometry) }
    }
    /// The extents.
    pub const fn map(&self) -> &ExtentMap {
        &self.map
    }
    /// The extents, to be changed.
    pub const fn map_mut(&mut self) -> &mut ExtentMap {
        &mut self.map
    }
    /// A mapping that covers the start of `range`; a write over a hole reserves space
    /// (`xfs_buffered_write_iomap_begin`).
    pub fn begin(&mut self, range: FileRange, intent: Intent) -> Iomap {
        let found = self.map.lookup(range.start(), range.end());
        if found.kind != MapType::Hole || intent != Intent::Write {
            return found;
        }
        // The extent list joins neighbouring reservations; the mapping is the new part alone.
        let part = self.geometry.block_range(range).intersect(found.range);
        self.map.set(part, MapType::Delalloc, None);
        let cookie = self.map.cookie();
        Iomap { new: true, ..Iomap::plain(part, MapType::Delalloc, None, cookie) }
    }
    /// Gives back what a write reserved and did not fill (`xfs_buffered_write_delalloc_punch`).
    pub fn end(
        &mut self,
        mapping: &Mapping,
        asked: FileRange,
        used: Pos,
        dirty: impl Fn(Pos) -> bool,
    ) -> Option<FileRange> {
        let iomap = &mapping.iomap;
        if iomap.kind != MapType::Delalloc
            || !iomap.new
            || used >= asked.end().min(iomap.range.end())
        {
            return None;
        }
        let start = if used > asked.start() {
            self.geometry.round_up_block(used)
        } else {
            self.geometry.round_down_block(used)
        };
        let rest = FileRange::between(start, iomap.range.end());
        let block = self.geometry.block_size();
        let mut at = rest.start();
        while at < rest.end() {
            if !dirty(at) && self.map.lookup(at, at + block).kind == MapType::Delalloc {
                self.map.clear(FileRange::between(at, at + block));
            }
            at += block;
        }
        (!rest.is_empty()).then_some(rest)
    }
    /// A mapping for writeback; the whole reservation gets space first, as unwritten blocks
    /// (`xfs_map_blocks`).
    pub fn writeback_map(
        &mut self,
        range: FileRange,
        space: &mut SpaceAllocator,
    ) -> Result<(Iomap, Option<Allocated>), Errno> {
        let found = self.map.lookup(range.start(), range.end());
        if found.kind != MapType::Delalloc {
            return Ok((found, None));
        }
        let addr = space.allocate(found.range.len())?;
        self.map.set(found.range, MapType::Unwritten, Some(addr));
        let got = self.map.lookup(range.start(), range.end());
        Ok((got, Some(Allocated { range: found.range, addr })))
    }
}
