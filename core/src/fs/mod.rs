//! Mapping providers: where the bytes of a file lie. They answer; they never do I/O themselves.

use crate::errno::Errno;
use crate::geometry::Geometry;
use crate::iomap::{Intent, Iomap, MapType, Mapping};
use crate::journal::Image;
use crate::units::{BlockNo, Bytes, DevAddr, FileRange, Pos};

pub mod blockdev;
pub mod cow;
pub mod extent_map;
pub mod extents;
#[cfg(test)]
mod extents_tests;
pub mod indirect;
pub mod inline;
pub mod prealloc;
pub mod scripted;
pub mod space;
pub mod zonefs;

use blockdev::BlockDev;
use cow::{CowFork, GivenUp};
use extent_map::{Extent, ExtentChange, ExtentMap};
use extents::Extents;
use indirect::Indirect;
use inline::InlineData;
use scripted::Scripted;
use zonefs::Zone;

/// Gives out device space: ascending, never the same twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpaceAllocator {
    next: DevAddr,
    left: Option<Bytes>,
    end: Option<DevAddr>,
}

impl SpaceAllocator {
    /// From `first` on, `limit` bytes in all, or without a limit.
    pub const fn new(first: DevAddr, limit: Option<Bytes>) -> Self {
        Self { next: first, left: limit, end: None }
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
    /// Space for `len` bytes that were promised: it is there.
    pub(crate) fn allocate_promised(&mut self, len: Bytes) -> DevAddr {
        let at = self.next;
        self.next += len;
        at
    }
    /// How much is left, where there is a limit.
    pub(crate) const fn left(&self) -> Option<Bytes> {
        self.left
    }
    /// So much is left, or there is no limit.
    pub(crate) const fn set_left(&mut self, left: Option<Bytes>) {
        self.left = left;
    }
    /// Space up to `end` is taken.
    pub fn skip_to(&mut self, end: DevAddr) {
        self.next = self.next.max(end);
    }
    /// Nothing is given out behind `end`: the device ends there.
    pub const fn end_at(&mut self, end: DevAddr) {
        self.end = Some(end);
    }
    /// How much lies before the end of the device, if it has one.
    pub(crate) fn ahead(&self) -> Option<Bytes> {
        self.end.map(|end| end.max(self.next).since(self.next))
    }
}

/// Lists of extents of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fork {
    /// Where its bytes are.
    Data,
    /// Where new copies of shared blocks go.
    Cow,
    /// Which ranges are shared.
    Shared,
}

/// Space that a reservation got during writeback.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allocated {
    /// The reservation.
    pub range: FileRange,
    /// Where it lies now.
    pub addr: DevAddr,
}

/// A block of the file system's own that must be read before it can answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metadata {
    /// First device byte.
    pub addr: DevAddr,
    /// Bytes.
    pub len: Bytes,
    /// The read is marked as metadata (`REQ_META`).
    pub meta: bool,
}

/// How a file system goes about changes of a file's size and extents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manner {
    /// What must not be lost is written back first, as in XFS.
    Xfs,
    /// Nothing is written back for it.
    Generic,
}

/// A mapping provider.
#[derive(Clone, Debug)]
pub enum Provider {
    /// The file is a device.
    BlockDev(BlockDev),
    /// A list of extents with delayed allocation, in the manner of XFS.
    Extents(Extents),
    /// Blocks behind arrays of pointers, in the manner of ext2.
    Indirect(Indirect),
    /// A zone of a zoned device.
    Zone(Zone),
    /// Replays mappings that a kernel gave.
    Scripted(Scripted),
    /// Memory alone, as tmpfs: no blocks, no writeback. What was never written reads as zero.
    Memory,
}

/// Nothing stands behind a range.
const fn hole(range: FileRange) -> Iomap {
    Iomap::plain(range, MapType::Hole, None, 0)
}

impl Provider {
    /// A mapping that covers the start of `range`, in a file of `size` bytes (`iomap_begin`).
    pub fn begin(
        &mut self,
        range: FileRange,
        intent: Intent,
        size: Pos,
        space: &mut SpaceAllocator,
    ) -> Result<Mapping, Errno> {
        let own = |iomap| Mapping { iomap, srcmap: None };
        match self {
            Self::BlockDev(fs) => fs.begin(range).map(own),
            Self::Extents(fs) if intent == Intent::DirectWrite => {
                fs.begin_direct(range, size, space)
            }
            Self::Extents(fs) => {
                if intent == Intent::Zero {
                    fs.settle_behind_eof(range, size, space);
                }
                space::begin_within(fs, range, intent, size, space.left())
            }
            Self::Indirect(fs) => {
                // Holes inside EOF are not filled past the cache (`ext2_iomap_begin`).
                let inside = intent == Intent::DirectWrite && range.start() < size;
                let intent = match intent {
                    Intent::DirectWrite if inside => Intent::Read,
                    Intent::DirectWrite => Intent::Write,
                    Intent::Read | Intent::Write | Intent::Zero | Intent::Unshare => intent,
                };
                fs.begin(range, intent, space).map(own)
            }
            Self::Zone(fs) if intent == Intent::DirectWrite => {
                Ok(own(fs.begin_direct(range, size)))
            }
            Self::Zone(fs) => Ok(own(fs.begin(range, size))),
            Self::Scripted(fs) => fs.begin(range, intent),
            Self::Memory => Ok(own(hole(range))),
        }
    }
    /// A mapping for writeback that covers the start of `range`; a reservation gets space first.
    pub fn writeback_map(
        &mut self,
        range: FileRange,
        size: Pos,
        space: &mut SpaceAllocator,
    ) -> Result<(Iomap, Option<Allocated>), Errno> {
        match self {
            Self::BlockDev(fs) => fs.begin(range).map(|iomap| (iomap, None)),
            Self::Extents(fs) => fs.writeback_map(range, space),
            Self::Indirect(fs) => fs.begin(range, Intent::Read, space).map(|iomap| (iomap, None)),
            Self::Zone(fs) => fs.writeback_map(range, size).map(|iomap| (iomap, None)),
            Self::Scripted(fs) => fs.writeback_map(range).map(|iomap| (iomap, None)),
            Self::Memory => Ok((hole(range), None)),
        }
    }
    /// What stands behind a byte, to look only.
    pub fn peek(&self, pos: Pos, end: Pos) -> Iomap {
        match self {
            Self::BlockDev(fs) => fs.whole(),
            Self::Extents(fs) => fs.peek(pos, end),
            Self::Indirect(fs) => fs.map().lookup(pos, end),
            Self::Zone(fs) => fs.whole(),
            Self::Scripted(fs) => fs.map().lookup(pos, end),
            Self::Memory => hole(FileRange::between(pos, end)),
        }
    }
    /// What stands behind a byte for one who seeks data: the CoW fork counts over a hole, as far as
    /// the cache is valid (`xfs_seek_iomap_begin`).
    pub fn seek_map(&self, pos: Pos, end: Pos) -> Iomap {
        let data = self.peek(pos, end);
        let cow = self.of_extents().and_then(Extents::cow);
        let Some(cow) = cow.filter(|_| data.kind == MapType::Hole) else { return data };
        let found = cow.fork().lookup(pos, data.range.end());
        let range = found.range.intersect(data.range);
        let kind = if found.kind == MapType::Hole { MapType::Hole } else { MapType::Unwritten };
        Iomap::plain(range, kind, None, data.cookie)
    }
    /// The extents of the file's data: range, state, address.
    pub fn extents(&self, geometry: Geometry) -> Vec<Iomap> {
        match self {
            Self::BlockDev(fs) => vec![fs.whole()],
            Self::Extents(fs) => list(fs.map(), geometry),
            Self::Indirect(fs) => list(fs.map(), geometry),
            Self::Zone(fs) => vec![fs.whole()],
            Self::Scripted(fs) => list(fs.map(), geometry),
            Self::Memory => Vec::new(),
        }
    }
    const fn of_extents(&self) -> Option<&Extents> {
        if let Self::Extents(fs) = self { Some(fs) } else { None }
    }
    const fn of_extents_mut(&mut self) -> Option<&mut Extents> {
        if let Self::Extents(fs) = self { Some(fs) } else { None }
    }
    /// Where its arrays of pointers lie.
    pub fn arrays(&self) -> Vec<DevAddr> {
        if let Self::Indirect(fs) = self { fs.arrays().collect() } else { Vec::new() }
    }
    /// What must be read before [`Self::begin`] can answer, the next of it.
    pub fn metadata_for(&self, range: FileRange, intent: Intent) -> Option<Metadata> {
        match self {
            Self::Indirect(fs) => fs.metadata_for(range),
            Self::Scripted(fs) => fs.metadata_for(range, intent),
            Self::BlockDev(_) | Self::Extents(_) | Self::Zone(_) | Self::Memory => None,
        }
    }
    /// What [`Self::metadata_for`] named was read.
    pub fn metadata_known(&mut self, range: FileRange, intent: Intent, addr: DevAddr) {
        match self {
            Self::Indirect(fs) => fs.metadata_known(addr),
            Self::Scripted(fs) => fs.metadata_known(range, intent),
            Self::BlockDev(_) | Self::Extents(_) | Self::Zone(_) | Self::Memory => {}
        }
    }
    /// The part of a buffered write that the file system takes.
    pub fn writable(&self, range: FileRange) -> Result<FileRange, Errno> {
        if let Self::Zone(fs) = self { fs.writable(range) } else { Ok(range) }
    }
    /// Where the next write to its zone goes; the start of a file that is no sequential zone.
    pub fn zone_pointer(&self) -> Pos {
        if let Self::Zone(fs) = self { fs.pointer().unwrap_or(Pos::ZERO) } else { Pos::ZERO }
    }
    /// Whether what a direct write cannot do goes through the cache and is written at once
    /// (`direct_write_fallback`).
    pub const fn writes_fallback_back(&self) -> bool {
        matches!(self, Self::BlockDev(_) | Self::Indirect(_))
    }
    /// Whether bytes of the file live with the inode.
    pub fn has_inline(&self) -> bool {
        self.of_extents().and_then(Extents::inline).is_some()
    }
    /// Whether a direct write over a hole goes through the cache.
    pub const fn falls_back_over_holes(&self) -> bool {
        matches!(self, Self::Indirect(_))
    }
    /// Whether its blocks can be those of another file, too.
    pub fn can_share(&self) -> bool {
        self.of_extents().is_some_and(|fs| fs.inline().is_none())
    }
    /// Blocks are shared from now on; those of a range without any lie at `addr`.
    pub fn share(&mut self, range: FileRange, addr: Option<DevAddr>) {
        let Some(fs) = self.of_extents_mut() else { return };
        if addr.is_some() {
            fs.map_mut().set(range, MapType::Mapped, addr);
        }
        fs.set_shared(range, true);
    }
    /// Blocks are the file's own again.
    pub fn share_no_longer(&mut self, range: FileRange) {
        if let Some(fs) = self.of_extents_mut() {
            fs.set_shared(range, false);
        }
    }
    /// Whether any block of the file has a copy elsewhere, or is to get one (`xfs_is_cow_inode`).
    pub fn is_shared(&self) -> bool {
        self.of_extents().and_then(Extents::cow).is_some_and(CowFork::is_in_use)
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
        self.of_extents_mut()?.end(mapping, asked, used, dirty)
    }
    /// The first block that such a write reserved and did not fill, and that is reserved still
    /// though no dirty cache lies over it.
    pub fn reserved_in_vain(
        &self,
        mapping: &Mapping,
        asked: FileRange,
        used: Pos,
        dirty: impl Fn(Pos) -> bool,
    ) -> Option<Pos> {
        self.of_extents()?.reserved_in_vain(mapping, asked, used, dirty)
    }
    /// The bytes are on the device: unwritten becomes written. Whether anything was unwritten.
    pub fn convert(&mut self, range: FileRange) -> bool {
        match self {
            Self::Extents(fs) => fs.map_mut().convert(range),
            Self::Scripted(fs) => fs.map_mut().convert(range),
            Self::BlockDev(_) | Self::Indirect(_) | Self::Zone(_) | Self::Memory => false,
        }
    }
    /// An ioend over shared blocks is sent.
    pub fn send_shared(&mut self, range: FileRange) {
        if let Some(fs) = self.of_extents_mut() {
            fs.send(range);
        }
    }
    /// An ioend over shared blocks is on the device: its new blocks replace them; what was given
    /// up.
    pub fn remap(&mut self, range: FileRange) -> GivenUp {
        if let Some(fs) = self.of_extents_mut() {
            return fs.remap(range);
        }
        self.convert(range);
        GivenUp::new()
    }
    /// An ioend over shared blocks failed: its new blocks are given back.
    pub fn cancel_shared(&mut self, range: FileRange, busy: &[FileRange]) {
        if let Some(fs) = self.of_extents_mut() {
            fs.cancel(range, busy);
        }
    }
    /// Writeback gave up on a range: what was only promised to it is given back. Whether anything
    /// was.
    pub fn discard(&mut self, range: FileRange) -> bool {
        self.of_extents_mut().is_some_and(|fs| fs.discard(range))
    }
    /// Whether a write up to `end` needs no block for what lives with the inode.
    pub fn has_room(&self, end: Pos) -> bool {
        self.of_extents().and_then(Extents::inline).is_none_or(|inline| inline.holds(end))
    }
    /// Gives the bytes that live with the inode a block; where it lies, if any do.
    pub fn unstuff(&mut self, space: &mut SpaceAllocator) -> Result<Option<DevAddr>, Errno> {
        self.of_extents_mut().map_or(Ok(None), |fs| fs.unstuff(space))
    }
    /// How sizes and extents change; none: they cannot, as with bytes that live with the inode.
    pub const fn manner(&self) -> Option<Manner> {
        match self {
            Self::BlockDev(_) | Self::Memory | Self::Indirect(_) | Self::Zone(_) => None,
            Self::Extents(fs) if fs.inline().is_some() => None,
            Self::Extents(fs) => Some(fs.manner()),
            Self::Scripted(_) => Some(Manner::Xfs),
        }
    }
    /// Makes the blocks of a range a hole, `eof`: because the file ends there; whether any was not,
    /// and what was shared of it.
    pub fn free(&mut self, range: FileRange, eof: bool) -> (bool, GivenUp) {
        match self {
            Self::BlockDev(_) | Self::Memory | Self::Zone(_) => (false, GivenUp::new()),
            // Its arrays stay: the next write there finds them.
            Self::Indirect(fs) => (fs.map_mut().clear(range), GivenUp::new()),
            Self::Extents(fs) => fs.free(range, eof),
            Self::Scripted(fs) => (fs.map_mut().clear(range), GivenUp::new()),
        }
    }
    /// Fills the holes of a range with unwritten blocks. A script says by itself where they lie.
    pub fn preallocate(
        &mut self,
        range: FileRange,
        space: &mut SpaceAllocator,
    ) -> Result<(), Errno> {
        match self {
            Self::BlockDev(_)
            | Self::Memory
            | Self::Indirect(_)
            | Self::Zone(_)
            | Self::Scripted(_) => Ok(()),
            Self::Extents(fs) => fs.preallocate(range, space),
        }
    }
    /// Takes a range out: extents behind it move down.
    pub fn shift_down(&mut self, range: FileRange) {
        match self {
            Self::BlockDev(_) | Self::Memory | Self::Indirect(_) | Self::Zone(_) => {}
            Self::Extents(fs) => fs.shift_down(range),
            Self::Scripted(fs) => fs.map_mut().shift_down(range),
        }
    }
    /// Puts a hole in: extents from its start on move up.
    pub fn shift_up(&mut self, range: FileRange) {
        match self {
            Self::BlockDev(_) | Self::Memory | Self::Indirect(_) | Self::Zone(_) => {}
            Self::Extents(fs) => fs.shift_up(range),
            Self::Scripted(fs) => fs.map_mut().shift_up(range),
        }
    }
    /// The bytes that live with the inode.
    pub fn inline_bytes(&self) -> &[u8] {
        if let Self::Scripted(fs) = self {
            return fs.inline().1;
        }
        self.of_extents().and_then(Extents::inline).map_or(&[], InlineData::bytes)
    }
    /// The same as the device has them, from [`Self::inline_start`] on.
    pub fn durable_inline_bytes(&self) -> &[u8] {
        let mine = self.of_extents().and_then(Extents::inline);
        mine.map_or(self.inline_bytes(), InlineData::durable)
    }
    /// The position of the first of them.
    pub fn inline_start(&self) -> Pos {
        if let Self::Scripted(fs) = self { fs.inline().0 } else { Pos::ZERO }
    }
    /// Takes bytes over that live with the inode.
    pub fn put_inline(&mut self, pos: Pos, bytes: &[u8]) {
        if let Some(inline) = self.of_extents_mut().and_then(Extents::inline_mut) {
            inline.put(pos, bytes);
        }
    }
    /// The inode is on the device, with the bytes that live there; whether any do.
    pub fn commit_inline(&mut self) -> bool {
        let inline = self.of_extents_mut().and_then(Extents::inline_mut);
        inline.map(InlineData::commit).is_some()
    }
    /// Whether a buffered write has the inode lock alone: not of a device (`blkdev_write_iter`).
    pub const fn locks_writes(&self) -> bool {
        !matches!(self, Self::BlockDev(_))
    }
    /// Whether direct writes of whole blocks share the inode lock, as in XFS.
    pub const fn shares_direct(&self) -> bool {
        matches!(self, Self::Extents(_) | Self::Scripted(_))
    }
    /// Whether a buffered read shares the inode lock, as in XFS and zonefs.
    pub const fn locks_reads(&self) -> bool {
        matches!(self, Self::Extents(_) | Self::Zone(_) | Self::Scripted(_))
    }
    /// Whether a mapping still says the truth (`iomap_valid`).
    pub fn is_valid(&self, iomap: &Iomap) -> bool {
        self.of_extents().is_none_or(|fs| fs.is_valid(iomap))
    }
    /// The file as the device knows it: promises and the CoW fork are gone, what lives with the
    /// inode is as it was last written.
    pub fn mount(&mut self, image: &Image) {
        match self {
            Self::Extents(fs) => fs.mount(image),
            Self::Indirect(fs) => fs.mount(image),
            Self::Scripted(fs) => fs.map_mut().replace(&image.data),
            Self::BlockDev(_) | Self::Zone(_) | Self::Memory => {}
        }
    }
    /// Whether it has extent lists that change.
    pub const fn changes(&self) -> bool {
        match self {
            Self::BlockDev(_) | Self::Zone(_) | Self::Memory => false,
            Self::Extents(_) | Self::Indirect(_) | Self::Scripted(_) => true,
        }
    }
    /// Changes of the extent lists since this was last asked.
    pub fn take_changes(&mut self) -> Vec<(Fork, ExtentChange)> {
        let mut all = Vec::new();
        let mut take = |fork, map: &mut ExtentMap| {
            all.extend(map.take_changes().into_iter().map(|change| (fork, change)));
        };
        match self {
            Self::Extents(fs) => {
                take(Fork::Data, fs.map_mut());
                if let Some(cow) = fs.cow_mut() {
                    take(Fork::Cow, cow.fork_mut());
                    take(Fork::Shared, cow.shared_mut());
                }
            }
            Self::Indirect(fs) => take(Fork::Data, fs.map_mut()),
            Self::Scripted(fs) => take(Fork::Data, fs.map_mut()),
            Self::BlockDev(_) | Self::Zone(_) | Self::Memory => {}
        }
        all
    }
    /// The extents of every fork.
    pub fn forks(&self, geometry: Geometry) -> Vec<(Fork, Iomap)> {
        let of = |fork| move |iomap| (fork, iomap);
        let mut all: Vec<_> = self.extents(geometry).into_iter().map(of(Fork::Data)).collect();
        if let Some(cow) = self.of_extents().and_then(Extents::cow) {
            all.extend(list(cow.fork(), geometry).into_iter().map(of(Fork::Cow)));
            all.extend(list(cow.shared(), geometry).into_iter().map(of(Fork::Shared)));
        }
        all
    }
}

fn list(map: &ExtentMap, geometry: Geometry) -> Vec<Iomap> {
    let iomap = |(block, extent): (BlockNo, Extent)| {
        let start = Pos::new(geometry.block_offset(block).get());
        let range = FileRange::between(start, start + geometry.blocks_bytes(extent.len));
        Iomap::plain(range, extent.state, extent.addr, 0)
    };
    map.iter().map(iomap).collect()
}
