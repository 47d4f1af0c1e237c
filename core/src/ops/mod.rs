//! Operations: what an application asks of the engine, each as a straight line like in the kernel.

pub mod advise;
pub(crate) mod direct;
pub mod fallocate;
mod fill;
mod fill_window;
pub(crate) mod inline;
mod invalidate;
pub(crate) mod iter;
pub(crate) mod life;
mod memory;
pub mod mmap;
mod ondemand;
pub(crate) mod read;
pub mod readahead;
pub(crate) mod reflink;
pub mod sync;
mod throttle;
mod touch;
pub(crate) mod truncate;
mod unshare;
pub(crate) mod write;
mod write_edges;
mod write_round;
pub(crate) mod zero;
mod zone;

use crate::errno::Errno;
use crate::units::Bytes;
use core::fmt;

/// Kinds of operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpKind {
    /// Read through the cache.
    Pread,
    /// Write through the cache.
    Pwrite,
    /// Write, then wait until it is durable (`RWF_DSYNC`).
    PwriteDsync,
    /// Make a file durable.
    Fsync,
    /// Make a file's data, and what is needed to read it, durable.
    Fdatasync,
    /// Make every file durable.
    Syncfs,
    /// Say how a file will be used.
    Fadvise,
    /// Read through a shared mapping of the file.
    MmapLoad,
    /// Write through a shared mapping of the file.
    MmapStore,
    /// Make the stores of a range durable.
    Msync,
    /// Write a range back (`sync_file_range`).
    SyncRange,
    /// Write dirty folios back, as the flusher does.
    Writeback,
    /// Fill the folios of a range.
    Readahead,
    /// Fill one folio.
    ReadFolio,
    /// Zero a range through the cache.
    ZeroRange,
    /// A write fault by itself.
    Mkwrite,
    /// Take back memory of folios that were not used lately.
    Reclaim,
    /// Give a file another size.
    Truncate,
    /// Allocate space ahead.
    Allocate,
    /// Allocate space ahead without growing.
    AllocateKeepSize,
    /// Make a hole.
    Punch,
    /// Replace by unwritten blocks.
    Zero,
    /// Replace by unwritten blocks without growing.
    ZeroKeepSize,
    /// Take a range out.
    Collapse,
    /// Put a hole in.
    Insert,
    /// Find data.
    SeekData,
    /// Find a hole.
    SeekHole,
    /// Give shared blocks own copies.
    Unshare,
    /// Read past the cache (`O_DIRECT`).
    PreadDirect,
    /// Write past the cache (`O_DIRECT`).
    PwriteDirect,
    /// Write past the cache behind all that was written, and do not wait.
    AppendDirect,
    /// Give a range the blocks of another file (`FICLONERANGE`).
    Reflink,
}

impl OpKind {
    /// Every kind, in the order of its code.
    pub const ALL: [Self; 32] = [
        Self::Pread,
        Self::Pwrite,
        Self::PwriteDsync,
        Self::Fsync,
        Self::Fdatasync,
        Self::Syncfs,
        Self::Fadvise,
        Self::MmapLoad,
        Self::MmapStore,
        Self::Msync,
        Self::SyncRange,
        Self::Writeback,
        Self::Readahead,
        Self::ReadFolio,
        Self::ZeroRange,
        Self::Mkwrite,
        Self::Reclaim,
        Self::Truncate,
        Self::Allocate,
        Self::AllocateKeepSize,
        Self::Punch,
        Self::Zero,
        Self::ZeroKeepSize,
        Self::Collapse,
        Self::Insert,
        Self::SeekData,
        Self::SeekHole,
        Self::Unshare,
        Self::PreadDirect,
        Self::PwriteDirect,
        Self::AppendDirect,
        Self::Reflink,
    ];
    /// The code in deltas; never 0.
    pub const fn code(self) -> u64 {
        self as u64 + 1
    }
    /// The kind with this code.
    pub fn from_code(code: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(code.checked_sub(1)?).ok()?).copied()
    }
    /// Whether it is about a range of bytes, and not a whole file.
    pub const fn has_range(self) -> bool {
        match self {
            Self::Pread
            | Self::Pwrite
            | Self::PwriteDsync
            | Self::Fadvise
            | Self::MmapLoad
            | Self::MmapStore
            | Self::Msync
            | Self::SyncRange
            | Self::Readahead
            | Self::ReadFolio
            | Self::ZeroRange
            | Self::Mkwrite
            | Self::Truncate
            | Self::Allocate
            | Self::AllocateKeepSize
            | Self::Punch
            | Self::Zero
            | Self::ZeroKeepSize
            | Self::Collapse
            | Self::Insert
            | Self::SeekData
            | Self::SeekHole
            | Self::Unshare
            | Self::PreadDirect
            | Self::PwriteDirect
            | Self::AppendDirect
            | Self::Reflink => true,
            Self::Fsync | Self::Fdatasync | Self::Syncfs | Self::Writeback | Self::Reclaim => false,
        }
    }
    /// The name of the call.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pread => "pread",
            Self::Pwrite => "pwrite",
            Self::PwriteDsync => "pwrite (dsync)",
            Self::Fsync => "fsync",
            Self::Fdatasync => "fdatasync",
            Self::Syncfs => "syncfs",
            Self::Fadvise => "fadvise",
            Self::MmapLoad => "mmap load",
            Self::MmapStore => "mmap store",
            Self::Msync => "msync",
            Self::SyncRange => "sync_file_range",
            Self::Writeback => "writeback",
            Self::Readahead => "readahead",
            Self::ReadFolio => "read_folio",
            Self::ZeroRange => "zero_range",
            Self::Mkwrite => "mkwrite",
            Self::Reclaim => "reclaim",
            Self::Truncate => "truncate",
            Self::Allocate => "fallocate",
            Self::AllocateKeepSize => "fallocate (keep size)",
            Self::Punch => "fallocate (punch)",
            Self::Zero => "fallocate (zero)",
            Self::ZeroKeepSize => "fallocate (zero, keep size)",
            Self::Collapse => "fallocate (collapse)",
            Self::Insert => "fallocate (insert)",
            Self::SeekData => "lseek (SEEK_DATA)",
            Self::SeekHole => "lseek (SEEK_HOLE)",
            Self::Unshare => "fallocate (unshare)",
            Self::PreadDirect => "pread (direct)",
            Self::PwriteDirect => "pwrite (direct)",
            Self::AppendDirect => "append (direct)",
            Self::Reflink => "reflink",
        }
    }
}

/// Result of an operation: bytes (0 where a call returns none), or an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpResult(pub Result<Bytes, Errno>);

const ERROR: u64 = 1 << 63;

impl OpResult {
    /// As one word, never 0.
    pub const fn pack(self) -> u64 {
        match self.0 {
            Ok(bytes) => bytes.get() + 1,
            Err(errno) => ERROR | errno.number() as u64,
        }
    }
    /// From a word.
    pub fn unpack(word: u64) -> Self {
        if word & ERROR == 0 {
            return Self(Ok(Bytes::new(word.saturating_sub(1))));
        }
        Self(Err(Errno::from_number((word & 0xff) as u8).unwrap_or(Errno::Io)))
    }
}

impl fmt::Display for OpResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(bytes) => write!(f, "{}", bytes.get()),
            Err(errno) => write!(f, "{errno}"),
        }
    }
}
