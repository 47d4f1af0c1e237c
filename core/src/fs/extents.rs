//! A list of extents with delayed allocation, in the manner of XFS.
//!
//! A write over a hole reserves (DELALLOC) the blocks it asks for, cut at the next extent and at
//! 1024 pages, and behind EOF more if it is to preallocate. Writeback gives the whole reservation
//! space as *unwritten* blocks; completion converts what was written. A write to shared blocks goes
//! through the CoW fork.

use super::cow::{CowFork, GivenUp, drop_places};
use super::extent_map::ExtentMap;
use super::inline::InlineData;
use super::prealloc::Prealloc;
use super::{Allocated, Manner, SpaceAllocator};
use crate::errno::Errno;
use crate::geometry::Geometry;
use crate::iomap::{Intent, Iomap, MapType, Mapping};
use crate::journal::Image;
use crate::ordered::OrderedSet;
use crate::units::{Bytes, DevAddr, FileRange, MAX_POS, Pages, Pos};

/// Most pages that one mapping of a write over a hole reserves (`MAX_WRITEBACK_PAGES`).
const MAX_RESERVED: Pages = Pages::new(1024);

/// Extents of one file.
#[derive(Clone, Debug)]
pub struct Extents {
    geometry: Geometry,
    map: ExtentMap,
    /// None: the file never shared a block.
    cow: Option<Box<CowFork>>,
    prealloc: Prealloc,
    /// The bytes of a file that is still small enough to live with its inode.
    inline: Option<InlineData>,
    /// Where an ioend must not go on.
    boundaries: OrderedSet<Pos>,
    manner: Manner,
}

impl Extents {
    /// A file without blocks.
    pub const fn new(geometry: Geometry) -> Self {
        Self {
            geometry,
            map: ExtentMap::new(geometry),
            cow: None,
            prealloc: Prealloc::Off,
            inline: None,
            boundaries: OrderedSet::new(),
            manner: Manner::Xfs,
        }
    }
    /// Says how much is reserved behind EOF.
    pub const fn set_prealloc(&mut self, prealloc: Prealloc) {
        self.prealloc = prealloc;
    }
    /// How much is reserved behind EOF.
    pub const fn prealloc(&self) -> Prealloc {
        self.prealloc
    }
    /// Bytes of the blocks that it has or was promised, in all its forks.
    pub fn held(&self) -> Bytes {
        let forks = [Some(&self.map), self.cow().map(CowFork::fork)];
        let all = forks.into_iter().flatten().flat_map(ExtentMap::iter);
        all.map(|(_, extent)| self.geometry.blocks_bytes(extent.len)).sum()
    }
    /// The file as the device knows it.
    pub fn mount(&mut self, image: &Image) {
        self.map.replace(&image.data);
        if let Some(cow) = &mut self.cow {
            cow.fork_mut().clear(FileRange::between(Pos::ZERO, Pos::new(MAX_POS)));
            cow.shared_mut().replace(&image.shared);
        }
        if let Some(inline) = &mut self.inline {
            inline.revert();
        }
    }
    /// The file's bytes live with its inode, as long as they find room there.
    pub fn set_inline(&mut self, inline: InlineData) {
        self.inline = Some(inline);
    }
    /// The bytes that live with the inode.
    pub const fn inline(&self) -> Option<&InlineData> {
        self.inline.as_ref()
    }
    /// The bytes that live with the inode, to be changed.
    pub const fn inline_mut(&mut self) -> Option<&mut InlineData> {
        self.inline.as_mut()
    }
    /// Gives the file a block for the bytes that lived with its inode; where it lies, if any did.
    pub fn unstuff(&mut self, space: &mut SpaceAllocator) -> Result<Option<DevAddr>, Errno> {
        let Some(inline) = &self.inline else { return Ok(None) };
        let held = FileRange::between(Pos::ZERO, Pos::new(inline.bytes().len() as u64));
        let blocks = self.geometry.block_range(held);
        if blocks.is_empty() {
            self.inline = None;
            return Ok(None);
        }
        let addr = space.allocate(blocks.len())?;
        self.map.set(blocks, MapType::Mapped, Some(addr));
        self.inline = None;
        Ok(Some(addr))
    }
    /// The blocks of `range` are shared with another file, or no longer.
    pub fn set_shared(&mut self, range: FileRange, on: bool) {
        if on || self.cow.is_some() {
            self.cow_or_new().set_shared(range, on);
        }
    }
    /// CoW reservations are made in aligned pieces of this size.
    pub fn set_cow_hint(&mut self, hint: Bytes) {
        self.cow_or_new().set_hint(hint);
    }
    /// The CoW fork promises space for a range, rounded out to its pieces.
    pub fn reserve_cow(&mut self, range: FileRange) {
        self.cow_or_new().reserve(range);
    }
    fn cow_or_new(&mut self) -> &mut CowFork {
        let hint = self.geometry.blocks_bytes(CowFork::DEFAULT_HINT);
        self.cow.get_or_insert_with(|| CowFork::new(self.geometry, hint).into())
    }
    /// The CoW fork, if the file ever shared a block.
    pub fn cow(&self) -> Option<&CowFork> {
        self.cow.as_deref()
    }
    /// The CoW fork, to be changed.
    pub fn cow_mut(&mut self) -> Option<&mut CowFork> {
        self.cow.as_deref_mut()
    }
    /// The same, of a file system that changes sizes and extents in this manner.
    #[must_use]
    pub fn in_manner(self, manner: Manner) -> Self {
        Self { manner, ..self }
    }
    /// How it changes sizes and extents.
    pub const fn manner(&self) -> Manner {
        self.manner
    }
    /// Fills the holes of a range with unwritten blocks; XFS gives promises space, too
    /// (`xfs_alloc_file_space`).
    pub fn preallocate(
        &mut self,
        range: FileRange,
        space: &mut SpaceAllocator,
    ) -> Result<(), Errno> {
        let mut at = range.start();
        while at < range.end() {
            let found = self.map.lookup(at, range.end());
            let part = found.range.intersect(FileRange::between(at, range.end()));
            let promised = found.kind == MapType::Delalloc && self.manner == Manner::Xfs;
            if found.kind == MapType::Hole || promised {
                let addr = space.allocate(part.len())?;
                self.map.set(part, MapType::Unwritten, Some(addr));
            }
            at = part.end();
        }
        Ok(())
    }
    /// Makes the blocks of a range a hole; what of it was shared is given up, and behind a new EOF
    /// the reservations of the CoW fork, too (`xfs_itruncate_extents`).
    pub fn free(&mut self, range: FileRange, eof: bool) -> (bool, GivenUp) {
        let Self { cow, map, .. } = self;
        let mut given_up = GivenUp::new();
        if let Some(cow) = cow {
            let end = map.last_end_before(range.end()).unwrap_or(range.start());
            let mut at = range.start();
            while at < end {
                let found = cow.shared().lookup(at, end);
                if found.kind != MapType::Hole {
                    drop_places(map, found.range.intersect(range), &mut given_up);
                }
                at = found.range.end();
            }
            cow.set_shared(range, false);
            if eof {
                cow.fork_mut().clear(range);
            }
        }
        (map.clear(range), given_up)
    }
    /// Takes a range out: extents behind it move down.
    pub fn shift_down(&mut self, range: FileRange) {
        self.map.shift_down(range);
        if let Some(cow) = &mut self.cow {
            cow.fork_mut().clear(FileRange::between(range.start(), Pos::new(MAX_POS)));
            cow.shared_mut().shift_down(range);
        }
    }
    /// Puts a hole in: extents from its start on move up.
    pub fn shift_up(&mut self, range: FileRange) {
        self.map.shift_up(range);
        if let Some(cow) = &mut self.cow {
            cow.fork_mut().clear(FileRange::between(range.start(), Pos::new(MAX_POS)));
            cow.shared_mut().shift_up(range);
        }
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
        self.map.punch_promises(range)
    }
    /// Cuts a mapping at the boundaries around `pos`.
    fn cut(&self, map: Iomap, pos: Pos) -> Iomap {
        let start = self.boundaries.range(map.range.start()..=pos).next_back();
        let end = self.boundaries.iter().find(|at| *at > pos);
        let from = start.unwrap_or(map.range.start());
        let to = end.unwrap_or(map.range.end()).min(map.range.end());
        let range = FileRange::between(from, to);
        Iomap { range, addr: map.addr_of(from), boundary: start.is_some(), ..map }
    }
    /// What stands behind a byte of a file that ends at `end` or later.
    pub fn peek(&self, pos: Pos, end: Pos) -> Iomap {
        let range = FileRange::between(pos, end);
        let inline = self.inline.as_ref().map(|inline| inline.begin(range, Intent::Read, end, 0));
        inline.unwrap_or_else(|| self.map.lookup(pos, end))
    }
    /// What is promised behind the block of EOF becomes unwritten before it is zeroed, all of the
    /// reservation: it reads as zero then (`xfs_bmapi_convert_delalloc`).
    pub fn settle_behind_eof(&mut self, range: FileRange, size: Pos, space: &mut SpaceAllocator) {
        let start = range.start();
        let found = self.map.lookup(start, range.end());
        let covered = |cow: &CowFork| cow.for_writeback(start, range.end()).is_ok();
        let behind = start >= self.geometry.round_up_block(size);
        if behind && found.kind == MapType::Delalloc && !self.cow.as_deref().is_some_and(covered) {
            let addr = space.allocate_promised(found.range.len());
            self.map.set(found.range, MapType::Unwritten, Some(addr));
        }
    }
    /// A mapping that covers the start of `range`; a write over a hole, or over shared blocks,
    /// reserves space (`xfs_buffered_write_iomap_begin`). The file has `size` bytes.
    pub fn begin(&mut self, range: FileRange, intent: Intent, size: Pos) -> Mapping {
        let mut found = self.map.lookup(range.start(), range.end());
        let eof = self.geometry.round_up_block(size);
        // What is promised is zeroed up to the block of EOF only.
        if intent == Intent::Zero && found.kind == MapType::Delalloc && range.start() < eof {
            found = found.cut_to(FileRange::between(found.range.start(), eof));
        }
        let own = |iomap| Mapping { iomap, srcmap: None };
        if let Some(inline) = &self.inline {
            return own(inline.begin(range, intent, size, self.map.cookie()));
        }
        if intent == Intent::Read {
            return own(found);
        }
        if let Some(cow) = &mut self.cow
            && let Some(mapping) = cow.begin(range, &found, intent != Intent::Write)
        {
            return self.with_cookies(mapping);
        }
        if found.kind != MapType::Hole || intent != Intent::Write {
            return own(found);
        }
        let most = range.start() + self.geometry.pages_bytes(MAX_RESERVED);
        let write = FileRange::between(range.start(), range.end().min(most));
        // The extent list joins neighbouring reservations; the mapping is the new part alone.
        let part = if self.map.ends_before(range.start()) {
            let end = self.prealloc.end(self.geometry, &self.map, write, size);
            FileRange::between(self.geometry.round_down_block(range.start()), end)
        } else {
            self.geometry.block_range(write).intersect(found.range)
        };
        self.map.set(part, MapType::Delalloc, None);
        let cookie = self.map.cookie();
        own(Iomap { new: true, ..Iomap::plain(part, MapType::Delalloc, None, cookie) })
    }
    /// As many blocks of `part` as there is space for.
    fn affordable(&self, part: FileRange, space: &SpaceAllocator) -> Result<FileRange, Errno> {
        let Some(left) = space.left().filter(|left| *left < part.len()) else { return Ok(part) };
        let end = self.geometry.round_down_block(part.start() + left);
        let part = FileRange::between(part.start(), end);
        if part.is_empty() { Err(Errno::NoSpc) } else { Ok(part) }
    }
    /// A mapping for a direct write: blocks that it lacks are given at once, as unwritten ones
    /// (`xfs_direct_write_iomap_begin`); shared ones are written in the CoW fork.
    pub fn begin_direct(
        &mut self,
        range: FileRange,
        size: Pos,
        space: &mut SpaceAllocator,
    ) -> Result<Mapping, Errno> {
        let found = self.map.lookup(range.start(), range.end());
        if let Some(inline) = &self.inline {
            let cookie = self.map.cookie();
            return Ok(Mapping {
                iomap: inline.begin(range, Intent::Write, size, cookie),
                srcmap: None,
            });
        }
        let asked = self.geometry.block_range(range).intersect(found.range);
        let lacks = matches!(found.kind, MapType::Hole | MapType::Delalloc);
        if let Some(cow) = &mut self.cow
            && (!lacks || !cow.around(asked.start()).is_empty())
        {
            let mapping = cow.begin_direct(asked, &found, space)?;
            return Ok(self.with_cookies(mapping));
        }
        if !lacks {
            return Ok(Mapping { iomap: found, srcmap: None });
        }
        let most = asked.start() + self.geometry.pages_bytes(MAX_RESERVED);
        let part = FileRange::between(asked.start(), asked.end().min(most));
        let (part, addr) = if found.kind == MapType::Delalloc {
            (part, space.allocate_promised(part.len()))
        } else {
            let part = self.affordable(part, space)?;
            (part, space.allocate(part.len())?)
        };
        self.map.set(part, MapType::Unwritten, Some(addr));
        let cookie = self.map.cookie();
        let iomap = Iomap::plain(part, MapType::Unwritten, Some(addr), cookie);
        Ok(Mapping { iomap: Iomap { new: true, ..iomap }, srcmap: None })
    }
    /// Gives a mapping what says whether it still holds: the CoW fork's changes count only where
    /// the mapping came from it (`xfs_iomap_inode_sequence`).
    fn with_cookies(&self, mapping: Mapping) -> Mapping {
        let cookie = |map: Iomap| Iomap { cookie: self.cookie(map.shared), ..map };
        Mapping { iomap: cookie(mapping.iomap), srcmap: mapping.srcmap.map(cookie) }
    }
    fn cookie(&self, shared: bool) -> u64 {
        let cow = self.cow.as_ref().filter(|_| shared).map_or(0, |cow| cow.fork().cookie());
        cow << 32 | self.map.cookie()
    }
    /// Whether a mapping still says the truth (`xfs_iomap_valid`).
    pub fn is_valid(&self, iomap: &Iomap) -> bool {
        iomap.cookie == self.cookie(iomap.shared)
    }
    /// Gives back what a write reserved for itself and did not fill; what was reserved beyond that
    /// stays (`xfs_buffered_write_iomap_end`).
    pub fn end(
        &mut self,
        mapping: &Mapping,
        asked: FileRange,
        used: Pos,
        dirty: impl Fn(Pos) -> bool,
    ) -> Option<FileRange> {
        let iomap = &mapping.iomap;
        let rest = self.unfilled(iomap, asked, used)?;
        let block = self.geometry.block_size();
        let fork = match &mut self.cow {
            Some(cow) if iomap.shared => cow.fork_mut(),
            Some(_) | None => &mut self.map,
        };
        let mut at = rest.start();
        while at < rest.end() {
            if !dirty(at) {
                fork.punch_promises(FileRange::between(at, at + block));
            }
            at += block;
        }
        (!rest.is_empty()).then_some(rest)
    }
    /// What a write reserved for itself and did not fill.
    fn unfilled(&self, iomap: &Iomap, asked: FileRange, used: Pos) -> Option<FileRange> {
        let asked = asked.intersect(iomap.range);
        if iomap.kind != MapType::Delalloc || !iomap.new || used >= asked.end() {
            return None;
        }
        let start = if used > asked.start() {
            self.geometry.round_up_block(used)
        } else {
            self.geometry.round_down_block(used)
        };
        Some(FileRange::between(start, self.geometry.round_up_block(asked.end())))
    }
    /// The first block of that which is reserved still though it is not dirty (I33).
    pub fn reserved_in_vain(
        &self,
        mapping: &Mapping,
        asked: FileRange,
        used: Pos,
        dirty: impl Fn(Pos) -> bool,
    ) -> Option<Pos> {
        let rest = self.unfilled(&mapping.iomap, asked, used)?;
        let fork = match &self.cow {
            Some(cow) if mapping.iomap.shared => cow.fork(),
            Some(_) | None => &self.map,
        };
        let mut at = rest.start();
        while at < rest.end() {
            if !dirty(at) && fork.lookup(at, rest.end()).kind == MapType::Delalloc {
                return Some(at);
            }
            at += self.geometry.block_size();
        }
        None
    }
    /// A mapping for writeback; the whole reservation gets space first, as unwritten blocks. The
    /// CoW fork comes first, and where it begins the mapping ends (`xfs_map_blocks`).
    pub fn writeback_map(
        &mut self,
        range: FileRange,
        space: &mut SpaceAllocator,
    ) -> Result<(Iomap, Option<Allocated>), Errno> {
        let pos = range.start();
        let from_cow = self.cow.as_ref().map(|cow| cow.for_writeback(pos, range.end()));
        let shared = matches!(from_cow, Some(Ok(_)));
        let found = match from_cow {
            Some(Ok(found)) => found,
            Some(Err(_)) | None => self.map.lookup(pos, range.end()),
        };
        let allocated = if found.kind == MapType::Delalloc {
            let addr = space.allocate(found.range.len())?;
            let fork = match &mut self.cow {
                Some(cow) if shared => cow.fork_mut(),
                Some(_) | None => &mut self.map,
            };
            fork.set(found.range, MapType::Unwritten, Some(addr));
            Some(Allocated { range: found.range, addr })
        } else {
            None
        };
        let got = match &self.cow {
            Some(cow) if shared => cow.fork().lookup(pos, range.end()),
            Some(_) | None => self.map.lookup(pos, range.end()),
        };
        let until = match from_cow {
            Some(Err(next)) => FileRange::between(got.range.start(), next),
            Some(Ok(_)) | None => got.range,
        };
        Ok((self.cut(Iomap { shared, ..got.cut_to(until) }, pos), allocated))
    }
    /// An ioend is sent: blocks of the CoW fork count as written from now on.
    pub fn send(&mut self, range: FileRange) {
        if let Some(cow) = &mut self.cow {
            cow.send(range);
        }
    }
    /// An ioend over shared blocks is complete: the new blocks replace them; what was given up.
    pub fn remap(&mut self, range: FileRange) -> GivenUp {
        let Self { cow, map, .. } = self;
        cow.as_mut().map_or_else(GivenUp::new, |cow| cow.remap(range, map))
    }
    /// An ioend over shared blocks failed: its new blocks are given back, with what lies beside
    /// them in the fork where no cache is `busy`, and what the data fork only promised
    /// (`xfs_reflink_cancel_cow_range`, `xfs_blockgc_free_space`).
    pub fn cancel(&mut self, range: FileRange, busy: &[FileRange]) {
        if let Some(cow) = &mut self.cow {
            let block = self.geometry.block_size();
            // What was sent is an extent by itself: the rest lies beside it.
            let before = Pos::new(range.start().get().saturating_sub(block.get()));
            for whole in [before, range.end()].map(|pos| cow.around(pos)) {
                let mut at = whole.start();
                while at < whole.end() {
                    let one = FileRange::between(at, at + block);
                    if !busy.iter().any(|busy| !busy.intersect(one).is_empty()) {
                        cow.fork_mut().clear(one);
                    }
                    at += block;
                }
            }
            cow.fork_mut().clear(range);
        }
        self.map.punch_promises(range);
    }
}
