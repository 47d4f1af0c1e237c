//! A file that is a zone of a zoned device (`fs/zonefs/file.c`): as long as the zone was written.

use crate::errno::Errno;
use crate::iomap::{Iomap, MapType};
use crate::units::{Bytes, DevAddr, FileRange, Pos};

/// A zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Zone {
    start: DevAddr,
    capacity: Bytes,
    sequential: bool,
}

impl Zone {
    /// A zone that must be written in order, from its start to its capacity.
    pub const fn sequential(start: DevAddr, capacity: Bytes) -> Self {
        Self { start, capacity, sequential: true }
    }
    /// A zone whose blocks can be written in any order; its file is as long as the zone.
    pub const fn conventional(start: DevAddr, capacity: Bytes) -> Self {
        Self { start, capacity, sequential: false }
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
