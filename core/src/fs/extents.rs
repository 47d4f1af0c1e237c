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
use std::collections::BTreeSet;

/// Extents of one file.
#[derive(Clone, Debug)]
pub struct Extents {
    geometry: Geometry,
    map: ExtentMap,
    /// Where an ioend must not go on.
    boundaries: BTreeSet<Pos>,
}

impl Extents {
    /// A file without blocks.
    pub const fn new(geometry: Geometry) -> Self {
        Self { geometry, map: ExtentMap::new(geometry), boundaries: BTreeSet::new() }
    }
    /// The extents.
    pub const fn map(&self) -> &ExtentMap {
        &self.map
    }
    /// The extents, to be changed.
    pub const fn map_mut(&mut self) -> &mut ExtentMap {
        &mut self.map
    }
    /// Writeback must not continue an ioend into the mapping that starts at `pos`.
    pub fn set_boundary(&mut self, pos: Pos) {
        self.boundaries.insert(pos);
    }
    /// Gives back what is only promised in a range (`xfs_bmap_punch_delalloc_range`); whether
    /// anything was.
    pub fn discard(&mut self, range: FileRange) -> bool {
        let whole = self.geometry.block_range(range);
        let mut at = whole.start();
        let mut any = false;
        while at < whole.end() {
            let found = self.map.lookup(at, whole.end());
            let part = found.range.intersect(FileRange::between(at, whole.end()));
            if found.kind == MapType::Delalloc {
                self.map.clear(part);
                any = true;
            }
            at = part.end();
        }
        any
    }
    /// Cuts a mapping at the boundaries around `pos`.
    fn cut(&self, map: Iomap, pos: Pos) -> Iomap {
        let start = self.boundaries.range(map.range.start()..=pos).next_back().copied();
        let end = self.boundaries.iter().find(|at| **at > pos).copied();
        let from = start.unwrap_or(map.range.start());
        let to = end.unwrap_or(map.range.end()).min(map.range.end());
        let range = FileRange::between(from, to);
        Iomap { range, addr: map.addr_of(from), boundary: start.is_some(), ..map }
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
            return Ok((self.cut(found, range.start()), None));
        }
        let addr = space.allocate(found.range.len())?;
        self.map.set(found.range, MapType::Unwritten, Some(addr));
        let got = self.map.lookup(range.start(), range.end());
        Ok((self.cut(got, range.start()), Some(Allocated { range: found.range, addr })))
    }
}
