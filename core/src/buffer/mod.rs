//! Buffer heads: the older way to keep the blocks of a folio (`fs/buffer.c`, `fs/mpage.c`), which
//! block devices, ext2 and ext4 use where others use iomap.
//!
//! A folio's private data is a ring of buffers, one a block: where the block lies on the device and
//! what is known of it. Uptodate and dirty bits stand where iomap's stand
//! ([`crate::cache::ifs::Ifs`]), so that whoever looks at blocks need not know which way a file
//! goes. Each buffer is one I/O of its own, unless a loop over whole folios gathers them; what is
//! adjacent is then merged in the block layer.
//!
//! Not here: the cache of the device's own blocks (indirect blocks are the provider's), the journal
//! of ext4, and `buffer_head` lists of an inode.

mod complete;
pub(crate) mod gather;
mod get_block;
mod mpage;
pub(crate) mod read;
pub mod state;
pub(crate) mod write;
pub(crate) mod writeback;

/// Whose functions serve a file that keeps its blocks in buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Driver {
    /// A block device read and written as a file (`block/fops.c`).
    BlockDevice,
    /// The ext2 driver: `mpage_readahead` and `mpage_writepages`.
    Ext2,
    /// The ext4 driver, also for layouts of ext2: loops of its own.
    Ext4,
}

impl Driver {
    /// Every driver.
    pub const ALL: [Self; 3] = [Self::BlockDevice, Self::Ext2, Self::Ext4];
    /// The code in deltas; 0 is a file of iomap.
    pub const fn code(self) -> u64 {
        self as u64 + 1
    }
    /// The driver with this code.
    pub fn from_code(code: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(code.checked_sub(1)?).ok()?).copied()
    }
    /// Words for a picture.
    pub const fn words(self) -> &'static str {
        match self {
            Self::BlockDevice => "block device",
            Self::Ext2 => "ext2",
            Self::Ext4 => "ext4",
        }
    }
}

/// What the end of a bio that carries buffers does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BufferIo {
    /// One block that a write covers in part; the writer waits (`bh_read_nowait`).
    Begin,
    /// One block of a folio that is read (`end_buffer_async_read`).
    Read,
    /// Whole folios that are read (`mpage_end_io`).
    ReadFolios,
    /// Blocks of folios under writeback (`end_buffer_async_write`, `ext4_finish_bio`).
    Write,
    /// Whole folios that are written (`mpage_write_end_io`).
    WriteFolios,
}
