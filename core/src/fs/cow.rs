//! The CoW fork of a file with shared blocks: where their new copies go until writeback has put
//! them there (`xfs_reflink.c`).

use super::SpaceAllocator;
use super::extent_map::ExtentMap;
use crate::errno::Errno;
use crate::geometry::Geometry;
use crate::iomap::{Iomap, MapType, Mapping};
use crate::units::{Blocks, Bytes, DevAddr, FileRange, Pos};

/// Space that a file gave up: whoever shared it may own it alone now.
pub type GivenUp = Vec<(DevAddr, Bytes)>;

/// The CoW fork, and which blocks of the data fork are shared.
#[derive(Clone, Debug)]
pub struct CowFork {
    geometry: Geometry,
    fork: ExtentMap,
    /// Ranges of the file whose blocks another file has too.
    shared: ExtentMap,
    /// Reservations are made in aligned pieces of this size (`cowextsize`).
    hint: Bytes,
}

impl CowFork {
    /// What `xfs_get_cowextsz_hint` gives by default.
    pub const DEFAULT_HINT: Blocks = Blocks::new(32);

    /// A fork without extents, of a file that shares nothing yet.
    pub const fn new(geometry: Geometry, hint: Bytes) -> Self {
        Self { geometry, fork: ExtentMap::new(geometry), shared: ExtentMap::new(geometry), hint }
    }
    /// Whether anything is shared, or has a new place in the fork.
    pub fn is_in_use(&self) -> bool {
        self.shared.iter().next().is_some() || self.fork.iter().next().is_some()
    }
    /// Says how large the aligned pieces are.
    pub const fn set_hint(&mut self, hint: Bytes) {
        self.hint = hint;
    }
    /// The extents of the fork.
    pub const fn fork(&self) -> &ExtentMap {
        &self.fork
    }
    /// The extents of the fork, to be changed.
    pub const fn fork_mut(&mut self) -> &mut ExtentMap {
        &mut self.fork
    }
    /// The shared ranges, as extents without a place.
    pub const fn shared(&self) -> &ExtentMap {
        &self.shared
    }
    /// The shared ranges, to be changed.
    pub const fn shared_mut(&mut self) -> &mut ExtentMap {
        &mut self.shared
    }
    /// The blocks of `range` are shared from now on, or no longer.
    pub fn set_shared(&mut self, range: FileRange, on: bool) {
        if on {
            self.shared.set(range, MapType::Mapped, None);
        } else {
            self.shared.clear(range);
        }
    }
    /// The range of the extent that covers `pos`; empty if none does.
    pub(super) fn around(&self, pos: Pos) -> FileRange {
        self.covering(pos).map_or(FileRange::between(pos, pos), |found| found.range)
    }
    /// The extent that covers `pos`.
    fn covering(&self, pos: Pos) -> Option<Iomap> {
        let found = self.fork.lookup(pos, pos);
        (found.kind != MapType::Hole).then_some(found)
    }
    /// The mapping for a write at the start of `range`, where the data fork has `data`; none if the
    /// data fork's own is to be used. `zero`: it is only to be zeroed
    /// (`xfs_buffered_write_iomap_begin`).
    pub fn begin(&mut self, range: FileRange, data: &Iomap, zero: bool) -> Option<Mapping> {
        let pos = range.start();
        if let Some(found) = self.covering(pos) {
            return Some(Self::found(found, data, pos));
        }
        if data.kind == MapType::Hole || zero && data.kind != MapType::Mapped {
            return None;
        }
        let asked = self.geometry.block_range(range).intersect(data.range);
        let part = self.shared.lookup(asked.start(), asked.end());
        let data = data.cut_to(asked.intersect(part.range));
        if part.kind == MapType::Hole {
            return Some(Mapping { iomap: data, srcmap: None });
        }
        let reserved = self.reserve(data.range);
        let found = self.covering(pos).expect("reserved just now");
        let iomap = Iomap { new: true, ..found.cut_to(reserved) };
        Some(Self::found(iomap, &data, pos))
    }
    /// The mapping for a direct write of the blocks `asked`, where the data fork has `data`: shared
    /// ones have a place in the fork, which counts as written from now on
    /// (`xfs_reflink_allocate_cow`).
    pub fn begin_direct(
        &mut self,
        asked: FileRange,
        data: &Iomap,
        space: &mut SpaceAllocator,
    ) -> Result<Mapping, Errno> {
        let pos = asked.start();
        if self.covering(pos).is_none() {
            let part = self.shared.lookup(pos, asked.end());
            let data = data.cut_to(asked.intersect(part.range));
            if part.kind == MapType::Hole {
                return Ok(Mapping { iomap: data, srcmap: None });
            }
            self.reserve(data.range);
        }
        let found = self.covering(pos).expect("reserved just now, or there");
        if found.kind == MapType::Delalloc {
            let addr = space.allocate(found.range.len()).inspect_err(|_| {
                self.fork.clear(found.range);
            })?;
            self.fork.set(found.range, MapType::Unwritten, Some(addr));
        }
        let found = self.covering(pos).expect("it has a place now");
        let part = asked.intersect(found.range);
        self.fork.convert(part);
        let iomap = Iomap { kind: MapType::Mapped, shared: true, ..found.cut_to(part) };
        Ok(Mapping { iomap, srcmap: Some(data.cut_to(part)) })
    }
    /// The pair of a new place and the old bytes; beside a hole the new place ends where data
    /// begin.
    fn found(new: Iomap, data: &Iomap, pos: Pos) -> Mapping {
        if data.kind == MapType::Hole {
            let until = FileRange::between(new.range.start(), data.range.end().max(pos));
            let iomap = Iomap { shared: true, ..new.cut_to(new.range.intersect(until)) };
            return Mapping { iomap, srcmap: Some(*data) };
        }
        Mapping { iomap: Iomap { shared: true, ..new }, srcmap: Some(*data) }
    }
    /// Reserves the aligned pieces that hold a range, as far as the fork is free there
    /// (`xfs_bmap_extsize_align`); the free stretch around it.
    pub(super) fn reserve(&mut self, range: FileRange) -> FileRange {
        let (start, end) = (range.start().get(), range.end().get());
        let hint = self.hint.get().max(1);
        let wide = (start / hint * hint, end.div_ceil(hint).saturating_mul(hint));
        let wide = FileRange::between(Pos::new(wide.0), Pos::new(wide.1));
        let free = self.fork.lookup(range.start(), wide.end()).range;
        let before = self.fork.last_end_before(range.start());
        let from = wide.start().max(before.unwrap_or(Pos::ZERO));
        let part = FileRange::between(from, wide.end().min(free.end()));
        self.fork.set(part, MapType::Delalloc, None);
        part
    }
    /// Writeback's mapping, if the fork covers `pos`, and where its next extent begins if not.
    pub fn for_writeback(&self, pos: Pos, end: Pos) -> Result<Iomap, Pos> {
        let found = self.fork.lookup(pos, end);
        match found.kind {
            MapType::Hole => Err(found.range.end()),
            MapType::Delalloc | MapType::Mapped | MapType::Unwritten | MapType::Inline => {
                Ok(Iomap { shared: true, ..found })
            }
        }
    }
    /// An ioend of `range` is sent: its blocks count as written from now on
    /// (`xfs_reflink_convert_cow`).
    pub fn send(&mut self, range: FileRange) {
        self.fork.convert(range);
    }
    /// An ioend is complete: its new blocks take the place of the old ones
    /// (`xfs_reflink_end_cow`).
    pub fn remap(&mut self, range: FileRange, data: &mut ExtentMap) -> GivenUp {
        let whole = self.geometry.block_range(range);
        let mut given_up = GivenUp::new();
        let mut at = whole.start();
        while at < whole.end() {
            let new = self.fork.lookup(at, whole.end());
            let part = new.range.intersect(FileRange::between(at, whole.end()));
            at = part.end();
            if let (MapType::Mapped, Some(addr)) = (new.kind, new.addr_of(part.start())) {
                drop_places(data, part, &mut given_up);
                data.set(part, MapType::Mapped, Some(addr));
                self.fork.clear(part);
                self.shared.clear(part);
            }
        }
        given_up
    }
}

/// Notes the places that a range has in a fork.
pub(super) fn drop_places(fork: &ExtentMap, range: FileRange, given_up: &mut GivenUp) {
    let mut at = range.start();
    while at < range.end() {
        let old = fork.lookup(at, range.end());
        let part = old.range.intersect(FileRange::between(at, range.end()));
        if let Some(addr) = old.addr_of(part.start()) {
            given_up.push((addr, part.len()));
        }
        at = part.end();
    }
}
