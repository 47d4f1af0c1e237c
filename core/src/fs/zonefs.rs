//! A file that is a zone of a zoned device (`fs/zonefs/file.c`): as long as the zone was written.

use crate::errno::Errno;
use crate::iomap::{Iomap, MapType};
use crate::units::{Bytes, DevAddr, FileRange, Pos};

/// What is done to a zone as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ZoneOp {
    /// It is empty, and takes the next write at its start.
    Reset,
    /// It takes no write any more.
    Finish,
}

/// A zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Zone {
    start: DevAddr,
    capacity: Bytes,
    sequential: bool,
    /// Where the next write must begin (`z_wpoffset`): behind all that was written or is in flight.
    pointer: Pos,
}

impl Zone {
    /// A zone that must be written in order, from its start to its capacity.
    pub const fn sequential(start: DevAddr, capacity: Bytes) -> Self {
        Self { start, capacity, sequential: true, pointer: Pos::ZERO }
    }
    /// A zone whose blocks can be written in any order; its file is as long as the zone.
    pub const fn conventional(start: DevAddr, capacity: Bytes) -> Self {
        Self { start, capacity, sequential: false, pointer: Pos::ZERO }
    }
    /// Where it begins on the device.
    pub const fn start(&self) -> DevAddr {
        self.start
    }
    /// How long its file is when so many bytes of it are written: one that is written in any order
    /// is always as long as the zone (`zonefs_update_seq_inode`).
    pub fn size_at(&self, written: Bytes) -> Pos {
        Pos::ZERO + if self.sequential { written.min(self.capacity) } else { self.capacity }
    }
    /// What gives its file another size: it can be emptied or filled, nothing else
    /// (`zonefs_file_truncate`).
    pub fn resize(&self, new: Pos) -> Result<ZoneOp, Errno> {
        if self.sequential && new == Pos::ZERO {
            Ok(ZoneOp::Reset)
        } else if self.sequential && new == Pos::ZERO + self.capacity {
            Ok(ZoneOp::Finish)
        } else {
            Err(Errno::Perm)
        }
    }
    /// The same zone, written up to `pointer`.
    #[must_use]
    pub const fn written_to(self, pointer: Pos) -> Self {
        Self { pointer, ..self }
    }
    /// Where the next write must begin; none in a zone that is written in any order.
    pub const fn pointer(&self) -> Option<Pos> {
        if self.sequential { Some(self.pointer) } else { None }
    }
    /// Moves the write pointer; where it was.
    pub(crate) const fn move_pointer(&mut self, pointer: Pos) -> Pos {
        core::mem::replace(&mut self.pointer, pointer)
    }
    /// The part of a direct write that can be done: what begins at the write pointer, in whole
    /// blocks (`zonefs_write_checks`, `zonefs_file_dio_write`).
    pub fn directly_writable(&self, range: FileRange, block: Bytes) -> Result<FileRange, Errno> {
        let capacity = FileRange::between(Pos::ZERO, Pos::ZERO + self.capacity);
        if range.start() >= capacity.end() {
            return Err(Errno::FBig);
        }
        let range = range.intersect(capacity);
        let whole = |at: u64| at.is_multiple_of(block.get());
        let follows = self.pointer().is_none_or(|pointer| range.start() == pointer);
        if whole(range.start().get()) && whole(range.len().get()) && follows {
            Ok(range)
        } else {
            Err(Errno::Inval)
        }
    }
    /// A mapping for a direct write: what lies behind EOF holds nothing yet
    /// (`zonefs_write_iomap_begin`).
    pub fn begin_direct(&self, range: FileRange, size: Pos) -> Iomap {
        let whole = self.whole();
        if range.start() < size {
            return whole.cut_to(FileRange::between(Pos::ZERO, size));
        }
        let rest = FileRange::between(size, whole.range.end());
        Iomap { kind: MapType::Unwritten, ..whole.cut_to(rest) }
    }
    /// The part of a buffered write that can be done: none in a sequential zone, which takes direct
    /// writes alone, and nothing beyond the capacity (`zonefs_write_checks`).
    pub fn writable(&self, range: FileRange) -> Result<FileRange, Errno> {
        let capacity = FileRange::between(Pos::ZERO, Pos::ZERO + self.capacity);
        if self.sequential {
            Err(Errno::Io)
        } else if range.start() >= capacity.end() {
            Err(Errno::FBig)
        } else {
            Ok(range.intersect(capacity))
        }
    }
    /// A mapping of a file of `size` bytes: what was written, or a hole behind it
    /// (`zonefs_read_iomap_begin`).
    pub fn begin(&self, range: FileRange, size: Pos) -> Iomap {
        if range.start() >= size {
            return Iomap::plain(range, MapType::Hole, None, 0);
        }
        let whole = FileRange::between(Pos::ZERO, size);
        Iomap::plain(whole, MapType::Mapped, Some(self.start), 0)
    }
    /// Writeback's mapping: only of a conventional zone, and only before EOF
    /// (`zonefs_writeback_range`).
    pub fn writeback_map(&self, range: FileRange, size: Pos) -> Result<Iomap, Errno> {
        if self.sequential || range.start() >= size {
            return Err(Errno::Io);
        }
        Ok(self.begin(range, size))
    }
    /// The whole zone as an extent.
    pub fn whole(&self) -> Iomap {
        let range = FileRange::between(Pos::ZERO, Pos::ZERO + self.capacity);
        Iomap::plain(range, MapType::Mapped, Some(self.start), 0)
    }
}
