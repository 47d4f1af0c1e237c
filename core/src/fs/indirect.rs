//! Files whose blocks are found through arrays of pointers, in the manner of ext2
//! (`ext2_get_blocks`): twelve pointers in the inode, then one, two and three levels of blocks that
//! hold nothing but pointers. Such a block must be read before it can answer, and stays known.

use super::extent_map::ExtentMap;
use super::{Metadata, SpaceAllocator};
use crate::errno::Errno;
use crate::geometry::Geometry;
use crate::iomap::{Intent, Iomap, MapType};
use crate::journal::Image;
use crate::ordered::{self, OrderedMap};
use crate::units::{BlockNo, Blocks, Bytes, DevAddr, FileRange, Offset, Pos};

/// Pointers in the inode (`EXT2_NDIR_BLOCKS`).
const DIRECT: u64 = 12;
/// Bytes of a pointer.
const POINTER: u64 = 4;
/// Levels of arrays.
const LEVELS: u8 = 3;

/// An array by its level, 1 = it points to data, and the first block of the file behind it.
type Key = (u8, BlockNo);

/// The level above the block, of which no file has 2^48.
const LEVEL_SHIFT: u32 = 48;

impl ordered::Key for Key {
    fn word(self) -> u64 {
        u64::from(self.0) << LEVEL_SHIFT | self.1.get()
    }
    fn of_word(word: u64) -> Self {
        ((word >> LEVEL_SHIFT) as u8, BlockNo::new(word & ((1 << LEVEL_SHIFT) - 1)))
    }
}

/// A block of pointers.
#[derive(Clone, Copy, Debug)]
struct Array {
    addr: DevAddr,
    /// In memory, since it was read or made.
    known: bool,
    /// Its reads are marked as metadata.
    meta: bool,
}

/// The arrays on the way to a block, from the inode down, and the blocks that the last one, or the
/// inode, points to.
struct Path {
    keys: Vec<Key>,
    first: u64,
    end: u64,
}

/// Blocks of one file.
#[derive(Clone, Debug)]
pub struct Indirect {
    geometry: Geometry,
    map: ExtentMap,
    arrays: OrderedMap<Key, Array>,
}

impl Indirect {
    /// A file without blocks.
    pub const fn new(geometry: Geometry) -> Self {
        Self { geometry, map: ExtentMap::new(geometry), arrays: OrderedMap::new() }
    }
    /// A file of `len` bytes that was written in order from an empty device at `first` on, and of
    /// which nothing is in memory. Also the first byte behind it.
    pub fn written(
        geometry: Geometry,
        len: Bytes,
        first: DevAddr,
    ) -> Result<(Self, DevAddr), Errno> {
        let mut space = SpaceAllocator::new(first, None);
        let mut file = Self::new(geometry);
        let end = Pos::ZERO + len;
        let mut at = Pos::ZERO;
        while at < end {
            at = file.begin(FileRange::between(at, end), Intent::Write, &mut space)?.range.end();
        }
        file.arrays.values_mut().for_each(|array| array.known = false);
        Ok((file, space.next))
    }
    /// The data blocks.
    pub const fn map(&self) -> &ExtentMap {
        &self.map
    }
    /// The data blocks, to be changed.
    pub const fn map_mut(&mut self) -> &mut ExtentMap {
        &mut self.map
    }
    /// Says where the topmost array lies that is on the way to `pos` and has no place yet; false if
    /// all have. `meta` marks its reads as metadata.
    pub fn place_array(&mut self, pos: Pos, addr: DevAddr, meta: bool) -> bool {
        let path = self.path(self.block(pos));
        let free = |key: &&Key| !self.arrays.contains_key(*key);
        let Some(key) = path.as_ref().and_then(|path| path.keys.iter().find(free)) else {
            return false;
        };
        self.arrays.insert(*key, Array { addr, known: false, meta });
        true
    }
    /// The file as the device knows it: arrays must be read again.
    pub fn mount(&mut self, image: &Image) {
        self.map.replace(&image.data);
        self.arrays.values_mut().for_each(|array| array.known = false);
    }
    /// Where the arrays lie.
    pub fn arrays(&self) -> impl Iterator<Item = DevAddr> {
        self.arrays.values().map(|array| array.addr)
    }
    fn block(&self, pos: Pos) -> u64 {
        self.geometry.file_block_floor(pos).get()
    }
    fn pos(&self, block: u64) -> Pos {
        Pos::ZERO + self.geometry.block_offset(BlockNo::new(block)).since(Offset::ZERO)
    }
    /// The way to a block (`ext2_block_to_path`); none for one that no pointer can reach.
    fn path(&self, block: u64) -> Option<Path> {
        if block < DIRECT {
            return Some(Path { keys: Vec::new(), first: 0, end: DIRECT });
        }
        let pointers = self.geometry.block_size().get() / POINTER;
        let (mut first, mut reach) = (DIRECT, pointers);
        for level in 1..=LEVELS {
            if block < first + reach {
                let mut keys = Vec::new();
                for level in (1..=level).rev() {
                    keys.push((level, BlockNo::new(first)));
                    reach /= pointers;
                    if level > 1 {
                        first += (block - first) / reach * reach;
                    }
                }
                return Some(Path { keys, first, end: first + pointers });
            }
            first += reach;
            reach *= pointers;
        }
        None
    }
    /// The array on the way to the start of `range` that must be read next.
    pub fn metadata_for(&self, range: FileRange) -> Option<Metadata> {
        let path = self.path(self.block(range.start()))?;
        let array =
            path.keys.iter().map_while(|key| self.arrays.get(key)).find(|one| !one.known)?;
        Some(Metadata { addr: array.addr, len: self.geometry.block_size(), meta: array.meta })
    }
    /// The array at `addr` was read.
    pub fn metadata_known(&mut self, addr: DevAddr) {
        let found = self.arrays.values_mut().find(|array| array.addr == addr);
        if let Some(array) = found {
            array.known = true;
        }
    }
    /// The run of blocks on the device that begins with the first block of `range`, no longer than
    /// it and never beyond the end of its array; a hole is told block by block. Writing allocates:
    /// arrays that are missing first, the data right behind them (`ext2_iomap_begin`).
    pub fn begin(
        &mut self,
        range: FileRange,
        intent: Intent,
        space: &mut SpaceAllocator,
    ) -> Result<Iomap, Errno> {
        let block = self.block(range.start());
        let start = self.pos(block);
        let asked = FileRange::between(start, self.geometry.round_up_block(range.end()));
        let Some(path) = self.path(block) else {
            let hole = Iomap::plain(asked, MapType::Hole, None, 0);
            return if intent == Intent::Write { Err(Errno::FBig) } else { Ok(hole) };
        };
        let array = FileRange::between(self.pos(path.first), self.pos(path.end));
        let part = asked.intersect(array);
        let mut found = self.map.lookup(start, part.end());
        let run = part.intersect(found.range);
        let hole = found.kind == MapType::Hole;
        let new = hole && intent == Intent::Write;
        if new {
            self.allocate(&path, run, space)?;
            found = self.map.lookup(start, part.end());
        } else if hole {
            let range = FileRange::between(start, start + self.geometry.block_size());
            return Ok(Iomap::plain(range, MapType::Hole, None, 0));
        }
        let addr = found.addr_of(start);
        let reads_next = run.end() == array.end();
        Ok(Iomap { new, reads_next, ..Iomap::plain(run, found.kind, addr, 0) })
    }
    /// Space in one piece for the arrays that are missing on the way, then for the data.
    fn allocate(
        &mut self,
        path: &Path,
        range: FileRange,
        space: &mut SpaceAllocator,
    ) -> Result<(), Errno> {
        let missing = path.keys.iter().filter(|key| !self.arrays.contains_key(*key));
        let missing: Vec<Key> = missing.copied().collect();
        let arrays = self.geometry.blocks_bytes(Blocks::new(missing.len() as u64));
        let mut addr = space.allocate(arrays + range.len())?;
        for key in missing {
            self.arrays.insert(key, Array { addr, known: true, meta: false });
            addr += self.geometry.block_size();
        }
        self.map.set(range, MapType::Mapped, Some(addr));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Order;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Bytes of a block; four pointers.
    const BLOCK: u64 = 16;
    const REACH: u64 = 12 + 4 + 16 + 64;

    /// The pointers themselves, as they would lie on the device, walked with plain arithmetic.
    struct Naive {
        inode: [Option<u64>; 15],
        arrays: BTreeMap<u64, [Option<u64>; 4]>,
        next: u64,
    }

    /// The pointer in the inode, then the index in each array.
    fn indices(block: u64) -> Vec<u64> {
        match block {
            0..12 => vec![block],
            12..16 => vec![12, block - 12],
            16..32 => vec![13, (block - 16) / 4, (block - 16) % 4],
            _ => {
                let block = block - 32;
                vec![14, block / 16, block / 4 % 4, block % 4]
            }
        }
    }

    impl Naive {
        /// Device blocks of the arrays on the way to a block, as far as there are any.
        fn arrays_to(&self, block: u64) -> Vec<u64> {
            let way = indices(block);
            let mut found: Vec<u64> = Vec::new();
            for index in &way[..way.len() - 1] {
                let next = match found.last() {
                    None => self.inode[*index as usize],
                    Some(array) => self.arrays.get(array).and_then(|all| all[*index as usize]),
                };
                let Some(next) = next else { break };
                found.push(next);
            }
            found
        }
        /// Device blocks on the way to a block, the data last; made where they are missing.
        fn walk(&mut self, block: u64, make: bool) -> Option<Vec<u64>> {
            let mut way: Vec<u64> = Vec::new();
            for index in indices(block) {
                let slot = match way.last() {
                    None => &mut self.inode[index as usize],
                    Some(array) => &mut self.arrays.entry(*array).or_default()[index as usize],
                };
                if slot.is_none() && make {
                    *slot = Some(self.next);
                    self.next += 1;
                }
                way.push((*slot)?);
            }
            Some(way)
        }
    }

    fn file() -> Indirect {
        let size = Bytes::new(BLOCK);
        Indirect::new(Geometry::new(size, size, Order::ZERO).expect("sizes fit"))
    }
    fn blocks(start: u64, end: u64) -> FileRange {
        FileRange::between(Pos::new(start * BLOCK), Pos::new(end * BLOCK))
    }
    fn block_of(addr: DevAddr) -> u64 {
        addr.get() / BLOCK
    }

    #[test]
    fn a_file_written_in_order_has_each_array_right_before_the_data_that_it_is_for() {
        let geometry = file().geometry;
        let (mut file, end) =
            Indirect::written(geometry, Bytes::new(26 * BLOCK), DevAddr::new(100 * BLOCK))
                .expect("room");
        // 12 data, 1 array, 4 data, 2 arrays, 4 data, 1 array, 4 data, 1 array, 2 data.
        assert_eq!(block_of(end), 100 + 12 + 1 + 4 + 2 + 4 + 1 + 4 + 1 + 2);
        let mut space = SpaceAllocator::new(DevAddr::ZERO, None);
        let mut runs = Vec::new();
        let mut at = Pos::ZERO;
        while at < Pos::new(26 * BLOCK) {
            let asked = FileRange::between(at, Pos::new(26 * BLOCK));
            let map = file.begin(asked, Intent::Read, &mut space).expect("inside");
            runs.push((
                block_of(map.addr.expect("mapped")),
                map.range.len().get() / BLOCK,
                map.reads_next,
            ));
            at = map.range.end();
        }
        let want =
            [(100, 12, true), (113, 4, true), (119, 4, true), (124, 4, true), (129, 2, false)];
        assert_eq!(runs, want);
    }

    #[test]
    fn behind_the_last_pointer_nothing_can_be_written_and_all_is_a_hole() {
        let mut file = file();
        let mut space = SpaceAllocator::new(DevAddr::ZERO, None);
        let mut ask = |start, intent| file.begin(blocks(start, start + 1), intent, &mut space);
        assert!(ask(REACH - 1, Intent::Write).is_ok_and(|map| map.new));
        assert_eq!(ask(REACH, Intent::Write), Err(Errno::FBig));
        assert!(ask(REACH, Intent::Read).is_ok_and(|map| map.kind == MapType::Hole));
    }

    proptest! {
        #[test]
        fn agrees_with_pointers_that_are_walked(
            writes in prop::collection::vec((0..REACH, 1u64..30), 1..20),
            reads in prop::collection::vec((0..REACH, 1u64..40), 1..20),
        ) {
            let mut file = file();
            let mut naive = Naive { inode: [None; 15], arrays: BTreeMap::new(), next: 0 };
            let mut space = SpaceAllocator::new(DevAddr::ZERO, None);
            for (start, len) in writes {
                let end = (start + len).min(REACH);
                let mut at = start;
                while at < end {
                    let map = file.begin(blocks(at, end), Intent::Write, &mut space).expect("room");
                    let next = map.range.end().get() / BLOCK;
                    for block in at..next {
                        let old = naive.walk(block, false).is_some();
                        prop_assert_eq!(map.new, !old, "new blocks and old ones are told apart");
                        naive.walk(block, true);
                    }
                    at = next;
                }
            }
            file.arrays.values_mut().for_each(|array| array.known = false);
            let mut known = Vec::new();
            for (start, len) in reads {
                let end = (start + len).min(REACH);
                let mut at = start;
                while at < end {
                    let asked = blocks(at, end);
                    // What must be read: the arrays on the way, as far as it exists, once each.
                    for array in naive.arrays_to(at) {
                        if known.contains(&array) {
                            continue;
                        }
                        let named = file.metadata_for(asked).expect("it is not known");
                        prop_assert_eq!(block_of(named.addr), array);
                        file.metadata_known(named.addr);
                        known.push(array);
                    }
                    prop_assert_eq!(file.metadata_for(asked), None);
                    let map = file.begin(asked, Intent::Read, &mut space).expect("inside");
                    prop_assert_eq!(map.range.start(), asked.start());
                    let next = map.range.end().get() / BLOCK;
                    prop_assert!(at < next && next <= end);
                    for block in at..next {
                        let data = naive.walk(block, false).and_then(|way| way.last().copied());
                        let addr = map.addr_of(Pos::new(block * BLOCK)).map(block_of);
                        prop_assert_eq!(addr, data);
                        let (first, here) = (indices(at), indices(block));
                        let parent = |way: &[u64]| way[..way.len() - 1].to_vec();
                        prop_assert_eq!(parent(&first), parent(&here), "one array a run");
                    }
                    at = next;
                }
            }
        }
    }
}
