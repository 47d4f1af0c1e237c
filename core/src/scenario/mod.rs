//! Scenarios: a world, files, and what is done to them; as a file people write, and as a run.

mod armed;
mod array;
pub mod fault;
pub(crate) mod fields;
pub mod file;
pub mod fio;
pub mod fit;
mod queue;
mod raw;
pub mod run;
mod shape;
pub mod size;
mod start;

use crate::behaviour::{Behaviours, StripeAlignment};
use crate::block::limits::QueueLimits;
use crate::cache::frame_alloc::FramePolicy;
use crate::device::array::ArrayKind;
use crate::device::sim::Timing;
use crate::fs::prealloc::Prealloc;
use crate::geometry::Geometry;
use crate::iomap::MapType;
use crate::ops::fallocate::FallocMode;
use crate::ops::sync::RangeSync;
use crate::units::{Blocks, Bytes, DevAddr, FileId, FileRange, Pages, Pos};

/// Most operations that a scenario may expand to.
pub const MAX_OPS: usize = 1_000_000;
/// Longest scenario file.
pub const MAX_TEXT: usize = 1024 * 1024;
/// Largest file, and largest offset, of a scenario.
pub const MAX_FILE: Bytes = Bytes::new(1 << 34);
/// Most bytes of its files that a run holds in memory, on the device and once more in the cache.
pub const MAX_HELD: Bytes = Bytes::new(1 << 30);
/// Most files of a scenario.
pub const MAX_FILES: usize = 16;

/// An extent that a file has at the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StartExtent {
    /// Where in the file.
    pub range: FileRange,
    /// `Mapped` or `Unwritten`.
    pub state: MapType,
    /// Where on the device.
    pub addr: DevAddr,
}

/// What keeps the records of a file.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum FileSystem {
    /// A list of extents.
    #[default]
    Extents,
    /// Arrays of pointers, each right before the data that it is for.
    Ext2,
    /// Nothing: no device stands behind it.
    Memory,
}

/// A file at the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StartFile {
    /// Its name.
    pub name: String,
    /// Its size.
    pub size: Pos,
    /// What keeps its records.
    pub fs: FileSystem,
    /// Its extents; none for a file that is a device.
    pub extents: Option<Vec<StartExtent>>,
    /// The byte that its blocks hold.
    pub fill: u8,
    /// Another file has the same blocks.
    pub shared: bool,
    /// How much a write at EOF reserves.
    pub prealloc: Prealloc,
}

impl StartFile {
    /// Bytes that it holds at the start.
    pub fn filled(&self) -> u64 {
        let whole = FileRange::between(Pos::ZERO, self.size);
        let Some(extents) = &self.extents else { return whole.len().get() };
        let mapped = extents.iter().filter(|extent| extent.state == MapType::Mapped);
        mapped.map(|extent| extent.range.intersect(whole).len().get()).sum()
    }
}

/// What one operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Read.
    Pread {
        /// Where.
        range: FileRange,
        /// Fail rather than wait.
        nowait: bool,
    },
    /// Write `byte` throughout `range`.
    Pwrite {
        /// Where.
        range: FileRange,
        /// What.
        byte: u8,
        /// Return only when it is durable.
        dsync: bool,
        /// Fail rather than wait.
        nowait: bool,
    },
    /// Make the file durable.
    Fsync,
    /// Make the file's data durable.
    Fdatasync,
    /// Make every file durable.
    Syncfs,
    /// Take back so many pages of memory.
    Reclaim(Pages),
    /// Read `range` through a shared mapping.
    MmapLoad(FileRange),
    /// Store `byte` throughout `range` through a shared mapping.
    MmapStore {
        /// Where.
        range: FileRange,
        /// What.
        byte: u8,
    },
    /// Make the stores of a range durable.
    Msync(FileRange),
    /// Write a range back.
    SyncRange(FileRange, RangeSync),
    /// Give the file another size.
    Truncate(Pos),
    /// Change the space of a range.
    Fallocate(FallocMode, FileRange),
    /// Find the next data, or the next hole.
    Seek {
        /// From where.
        pos: Pos,
        /// Data, and not a hole.
        data: bool,
    },
}

impl Action {
    /// The bytes of the file that pass through memory for it.
    pub fn touched(&self) -> FileRange {
        match self {
            Self::Pread { range, .. }
            | Self::Pwrite { range, .. }
            | Self::MmapLoad(range)
            | Self::MmapStore { range, .. } => *range,
            Self::Fsync
            | Self::Fdatasync
            | Self::Syncfs
            | Self::Reclaim(_)
            | Self::Msync(_)
            | Self::SyncRange(..)
            | Self::Truncate(_)
            | Self::Fallocate(..)
            | Self::Seek { .. } => FileRange::between(Pos::ZERO, Pos::ZERO),
        }
    }
    /// How long a file of `size` bytes is at most afterwards.
    pub fn grows_to(&self, size: Pos) -> Pos {
        match self {
            Self::Truncate(new) => size.max(*new),
            Self::Fallocate(FallocMode::Insert, range) => size + range.len(),
            Self::Pwrite { range, .. } | Self::Fallocate(_, range) => range.end().max(size),
            Self::Pread { .. }
            | Self::Fsync
            | Self::Fdatasync
            | Self::Syncfs
            | Self::Reclaim(_)
            | Self::MmapLoad(_)
            | Self::MmapStore { .. }
            | Self::Msync(_)
            | Self::SyncRange(..)
            | Self::Seek { .. } => size,
        }
    }
}

/// One operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScenarioOp {
    /// On which file.
    pub file: FileId,
    /// What.
    pub action: Action,
}

/// One setting that the scenario is run with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variant {
    /// Its name, such as `before`.
    pub name: String,
    /// The profile that its switches start from.
    pub profile: String,
    /// Every switch.
    pub behaviours: Behaviours,
}

/// A world, its files, and what is done to them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scenario {
    /// What it shows.
    pub title: String,
    /// Sizes.
    pub geometry: Geometry,
    /// Largest readahead window; none = a miss reads one folio.
    pub readahead: Bytes,
    /// A broken invariant is shown and stops nothing.
    pub keep_going: bool,
    /// Whether folios that follow each other do so in memory.
    pub frames: FramePolicy,
    /// Settings to run it with: one at least, two to compare.
    pub variants: Vec<Variant>,
    /// Files at the start.
    pub files: Vec<StartFile>,
    /// The device.
    pub device: Timing,
    /// The request queue before it, if there is one.
    pub queue: Option<QueueLimits>,
    /// Where the partition that holds the files begins on the device.
    pub partition: Bytes,
    /// The array that the device is.
    pub array: Option<ArrayKind>,
    /// What is done.
    pub ops: Vec<ScenarioOp>,
    /// What goes wrong.
    pub faults: Vec<fault::ScenarioFault>,
    /// Blocks that are free at the start; none = no end of them.
    pub free_blocks: Option<Blocks>,
}

impl Scenario {
    /// The limits of the queue in a run, which an array has by itself: kernels from 7.1 on cut at
    /// the stripes of a device of which parts are expensive.
    pub fn queue_of(&self, variant: &Variant) -> Option<QueueLimits> {
        if let (None, Some(array)) = (self.queue, &self.array) {
            return Some(array::limits(array, variant));
        }
        let limits = self.queue?;
        let cuts = variant.behaviours.stripe_alignment == StripeAlignment::BlockSplit;
        let stripe = limits.stripe().filter(|_| cuts && limits.chunk.is_zero());
        Some(QueueLimits { chunk: stripe.unwrap_or(limits.chunk), ..limits })
    }
}
