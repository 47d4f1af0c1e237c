//! The extents of one file by block, with a log of changes for the trace.

use crate::geometry::Geometry;
use crate::iomap::{Iomap, MapType};
use crate::ordered::OrderedMap;
use crate::units::{BlockNo, Blocks, DevAddr, FileRange, Offset, Pos};

/// A run of blocks in one state. Holes are not kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// How many blocks.
    pub len: Blocks,
    /// `Delalloc`, `Mapped` or `Unwritten`.
    pub state: MapType,
    /// Device address of the first block; none for a reservation.
    pub addr: Option<DevAddr>,
}

/// A change of the extent that starts at a block: before and after, none = no extent starts there.
pub type ExtentChange = (BlockNo, Option<Extent>, Option<Extent>);

/// The extents of a file.
#[derive(Clone, Debug)]
pub struct ExtentMap {
    geometry: Geometry,
    extents: OrderedMap<BlockNo, Extent>,
    cookie: u64,
    changes: Vec<ExtentChange>,
}

impl ExtentMap {
    /// No extents.
    pub const fn new(geometry: Geometry) -> Self {
        Self { geometry, extents: OrderedMap::new(), cookie: 0, changes: Vec::new() }
    }
    /// Changes with every change of the list.
    pub const fn cookie(&self) -> u64 {
        self.cookie
    }
    /// The changes since this was last asked.
    pub fn take_changes(&mut self) -> Vec<ExtentChange> {
        core::mem::take(&mut self.changes)
    }
    /// Every extent, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (BlockNo, Extent)> {
        self.extents.iter().map(|(at, extent)| (at, *extent))
    }
    fn block(&self, pos: Pos) -> BlockNo {
        self.geometry.file_block_floor(pos)
    }
    fn pos(&self, block: BlockNo) -> Pos {
        Pos::ZERO + self.geometry.block_offset(block).since(Offset::ZERO)
    }
    fn blocks(&self, range: FileRange) -> (BlockNo, BlockNo) {
        let whole = self.geometry.block_range(range);
        (self.block(whole.start()), self.block(whole.end()))
    }
    /// What stands behind a byte: the whole extent, or the hole up to the next one (or `end`).
    pub fn lookup(&self, pos: Pos, end: Pos) -> Iomap {
        let block = self.block(pos);
        if let Some((start, extent)) = self.extents.range(..=block).next_back()
            && block < start + extent.len
        {
            let range = FileRange::between(self.pos(start), self.pos(start + extent.len));
            return Iomap::plain(range, extent.state, extent.addr, self.cookie);
        }
        let start = self.geometry.round_down_block(pos);
        let next =
            self.extents.range(block..).next().map_or(Pos::new(u64::MAX), |(at, _)| self.pos(at));
        let end = self.geometry.round_up_block(end.max(pos)).min(next);
        Iomap::plain(FileRange::between(start, end), MapType::Hole, None, self.cookie)
    }
    /// The extent that ends at a block boundary.
    pub fn ending_at(&self, pos: Pos) -> Option<Iomap> {
        let (at, extent) = self.extents.range(..self.block(pos)).next_back()?;
        let range = FileRange::between(self.pos(at), self.pos(at + extent.len));
        (range.end() == pos).then(|| Iomap::plain(range, extent.state, extent.addr, self.cookie))
    }
    /// Where the last extent before a hole ends.
    pub fn last_end_before(&self, pos: Pos) -> Option<Pos> {
        let (at, extent) = self.extents.range(..self.block(pos)).next_back()?;
        Some(self.pos(at + extent.len))
    }
    /// Whether nothing begins at or behind a byte, and nothing covers it.
    pub fn ends_before(&self, pos: Pos) -> bool {
        let last = self.extents.iter().next_back();
        last.is_none_or(|(at, extent)| self.pos(at + extent.len) <= pos)
    }
    fn put(&mut self, at: BlockNo, extent: Option<Extent>) {
        let old = match extent {
            Some(extent) => self.extents.insert(at, extent),
            None => self.extents.remove(&at),
        };
        if old != extent {
            self.changes.push((at, old, extent));
        }
    }
    /// Makes the blocks of `range` a hole; whether any was not.
    pub fn clear(&mut self, range: FileRange) -> bool {
        self.cookie += 1;
        let (start, end) = self.blocks(range);
        let first = self.extents.range(..start).next_back().map_or(start, |(at, _)| at);
        let touched: Vec<(BlockNo, Extent)> =
            self.extents.range(first..end).map(|(at, extent)| (at, *extent)).collect();
        let mut any = false;
        for (at, extent) in touched {
            let stop = at + extent.len;
            if stop <= start {
                continue;
            }
            any = true;
            let head = (at < start).then(|| Extent { len: start.since(at), ..extent });
            self.put(at, head);
            if stop > end {
                let skipped = self.geometry.blocks_bytes(end.since(at));
                let addr = extent.addr.map(|addr| addr + skipped);
                self.put(end, Some(Extent { len: stop.since(end), addr, ..extent }));
            }
        }
        any
    }
    /// These extents, and no others.
    pub fn replace(&mut self, all: &OrderedMap<BlockNo, Extent>) {
        self.cookie += 1;
        let gone: Vec<BlockNo> =
            self.extents.iter().map(|(at, _)| at).filter(|at| !all.contains_key(at)).collect();
        for at in gone {
            self.put(at, None);
        }
        for (at, extent) in all {
            self.put(at, Some(*extent));
        }
    }
    fn place(&mut self, at: BlockNo, extent: Extent) {
        let range = FileRange::between(self.pos(at), self.pos(at + extent.len));
        self.set(range, extent.state, extent.addr);
    }
    /// Takes the blocks of `range` out: what lies behind moves down (`xfs_bmap_collapse_extents`).
    pub fn shift_down(&mut self, range: FileRange) {
        self.clear(range);
        let (start, end) = self.blocks(range);
        let behind: Vec<_> = self.extents.range(end..).map(|(at, e)| (at, *e)).collect();
        for (at, extent) in behind {
            self.put(at, None);
            self.place(at - end.since(start), extent);
        }
    }
    /// Puts a hole of the length of `range` in at its start: what lies behind moves up
    /// (`xfs_bmap_split_extent`, `xfs_bmap_insert_extents`).
    pub fn shift_up(&mut self, range: FileRange) {
        let (start, end) = self.blocks(range);
        let first = self.extents.range(..=start).next_back().map_or(start, |(at, _)| at);
        let all: Vec<_> = self.extents.range(first..).map(|(at, e)| (at, *e)).collect();
        for (at, extent) in all.into_iter().rev() {
            let stop = at + extent.len;
            if stop <= start {
                continue;
            }
            let from = at.max(start);
            let skipped = self.geometry.blocks_bytes(from.since(at));
            let kept = Extent { len: from.since(at), ..extent };
            self.put(at, (at < start).then_some(kept));
            let addr = extent.addr.map(|addr| addr + skipped);
            self.place(from + end.since(start), Extent { len: stop.since(from), addr, ..extent });
        }
        self.cookie += 1;
    }
    /// Gives back what is only promised in a range; whether anything was.
    pub fn punch_promises(&mut self, range: FileRange) -> bool {
        let whole = self.geometry.block_range(range);
        let mut at = whole.start();
        let mut any = false;
        while at < whole.end() {
            let found = self.lookup(at, whole.end());
            let part = found.range.intersect(FileRange::between(at, whole.end()));
            if found.kind == MapType::Delalloc {
                self.clear(part);
                any = true;
            }
            at = part.end();
        }
        any
    }
    /// Gives the blocks of `range` a state, joining neighbours that continue it.
    pub fn set(&mut self, range: FileRange, state: MapType, addr: Option<DevAddr>) {
        self.clear(range);
        let (mut start, end) = self.blocks(range);
        let mut extent = Extent { len: end.since(start), state, addr };
        if let Some((at, before)) = self.extents.range(..start).next_back().map(|(a, e)| (a, *e))
            && at + before.len == start
            && self.continues(&before, &extent)
        {
            extent = Extent { len: before.len + extent.len, ..before };
            start = at;
        }
        if let Some(after) = self.extents.get(&end).copied()
            && self.continues(&extent, &after)
        {
            extent.len += after.len;
            self.put(end, None);
        }
        self.put(start, Some(extent));
    }
    fn continues(&self, first: &Extent, second: &Extent) -> bool {
        let follows = match (first.addr, second.addr) {
            (Some(a), Some(b)) => a + self.geometry.blocks_bytes(first.len) == b,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        first.state == second.state && follows
    }
    /// Turns what is unwritten in `range` into written blocks; whether anything was.
    pub fn convert(&mut self, range: FileRange) -> bool {
        let whole = self.geometry.block_range(range);
        let mut pos = whole.start();
        let mut any = false;
        while pos < whole.end() {
            let found = self.lookup(pos, whole.end());
            let part = found.range.intersect(whole);
            if found.kind == MapType::Unwritten {
                self.set(part, MapType::Mapped, found.addr_of(part.start()));
                any = true;
            }
            pos = part.end();
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, Order};
    use proptest::prelude::*;

    fn map() -> ExtentMap {
        let size = Bytes::new(16);
        ExtentMap::new(Geometry::new(size, size, Order::ZERO).expect("sizes fit"))
    }

    proptest! {
        #[test]
        fn agrees_with_one_entry_a_block(
            edits in prop::collection::vec((0u64..30, 1u64..12, 0u8..4), 1..20),
        ) {
            let mut map = map();
            let mut plain = [(MapType::Hole, None); 48];
            for (start, len, what) in edits {
                let range = FileRange::between(Pos::new(start * 16), Pos::new((start + len) * 16));
                let state = [MapType::Hole, MapType::Delalloc, MapType::Unwritten, MapType::Mapped]
                    [what as usize];
                let addr = (what >= 2).then(|| DevAddr::new(start * 16 + 4096));
                if state == MapType::Hole { map.clear(range); } else { map.set(range, state, addr) }
                for block in start..start + len {
                    let addr = addr.map(|addr| addr + Bytes::new((block - start) * 16));
                    plain[block as usize] = (state, addr);
                }
            }
            for (block, (state, addr)) in plain.iter().enumerate() {
                let pos = Pos::new(block as u64 * 16);
                let found = map.lookup(pos, pos + Bytes::new(16));
                prop_assert_eq!(found.kind, *state);
                prop_assert_eq!(found.addr_of(pos), *addr);
            }
            // Neighbours that continue each other are one extent.
            let all: Vec<_> = map.iter().collect();
            for pair in all.windows(2) {
                let touch = pair[0].0 + pair[0].1.len == pair[1].0;
                prop_assert!(!(touch && map.continues(&pair[0].1, &pair[1].1)));
            }
        }
    }
}
