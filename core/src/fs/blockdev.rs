//! A file that is a device: every byte lies at its own address (`blkdev_iomap_begin`).

use crate::errno::Errno;
use crate::iomap::{Iomap, MapType};
use crate::units::{Bytes, DevAddr, FileRange, Pos};

/// A device, or a regular file that stands for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockDev {
    len: Bytes,
}

impl BlockDev {
    /// A device of `len` bytes.
    pub const fn new(len: Bytes) -> Self {
        Self { len }
    }
    /// The one mapping that there is.
    pub fn whole(&self) -> Iomap {
        let range = FileRange::between(Pos::ZERO, Pos::ZERO + self.len);
        Iomap::plain(range, MapType::Mapped, Some(DevAddr::ZERO), 0)
    }
    /// The device's mapping; behind its end there is none.
    pub fn begin(&self, range: FileRange) -> Result<Iomap, Errno> {
        let whole = self.whole();
        if range.start() < whole.range.end() { Ok(whole) } else { Err(Errno::Io) }
    }
}
