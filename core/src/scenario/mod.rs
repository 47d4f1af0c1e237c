//! Scenarios: a world, files, and what is done to them; as a file people write, and as a run.

pub(crate) mod armed;
mod array;
mod bounds;
pub mod crash;
mod devices;
mod dirty;
pub mod explore;
pub mod fault;
pub(crate) mod fields;
pub mod file;
pub mod filefrag;
pub mod fio;
pub mod fit;
pub mod form;
mod keys;
mod order;
mod perform;
mod queue;
pub mod random;
mod raw;
pub mod run;
mod serial;
mod shape;
pub mod size;
mod start;
mod tasks;
mod together;
mod variants;
pub mod write;
mod write_tables;
mod zoned;

use crate::behaviour::{Behaviours, StripeAlignment};
use crate::block::limits::QueueLimits;
use crate::buffer::Driver;
use crate::cache::frame_alloc::FramePolicy;
use crate::device::array::{ArrayAct, ArrayKind};
use crate::device::md::Members;
use crate::device::sim::Timing;
use crate::device::zoned::Zones;
use crate::dirty::DirtyConfig;
use crate::engine::{ReadFlags, WriteFlags};
use crate::fs::prealloc::Prealloc;
use crate::fs::zonefs::Zone;
use crate::geometry::Geometry;
use crate::iomap::MapType;
use crate::ops::advise::Advice;
use crate::ops::fallocate::FallocMode;
use crate::ops::sync::RangeSync;
use crate::power::Kept;
use crate::tasks::Step;
use crate::units::{BdiId, Blocks, Bytes, DevAddr, FileId, FileRange, Nanos, Pages, Pos, TaskId};
use std::sync::Arc;

pub(crate) use order::flushers;
pub(crate) use start::start_extent;

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
    /// A zone of the device, as in zonefs.
    Zone(Zone),
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
    /// Who keeps its blocks in buffers; none: iomap.
    pub driver: Option<Driver>,
    /// The device that it is on: the first, or one of [`Scenario::disks`].
    pub on: BdiId,
}

impl StartFile {
    /// Bytes that it holds at the start.
    pub fn filled(&self) -> u64 {
        let whole = FileRange::between(Pos::ZERO, self.size);
        let Some(extents) = &self.extents else { return whole.len().get() };
        let mapped = extents.iter().filter(|extent| extent.state == MapType::Mapped);
        mapped.map(|extent| extent.range.intersect(whole).len().get()).sum()
    }
    /// The bytes that a reader sees at the start: holes and unwritten blocks are zero.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let len = self.size.get() as usize;
        let Some(extents) = &self.extents else { return vec![self.fill; len] };
        let mut bytes = vec![0; len];
        for extent in extents.iter().filter(|extent| extent.state == MapType::Mapped) {
            // An extent may lie behind EOF.
            let end = (extent.range.end().get() as usize).min(len);
            let start = (extent.range.start().get() as usize).min(end);
            bytes[start..end].fill(self.fill);
        }
        bytes
    }
}

/// What one operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Read.
    Pread {
        /// Where.
        range: FileRange,
        /// How.
        flags: ReadFlags,
    },
    /// Write `byte` throughout `range`.
    Pwrite {
        /// Where.
        range: FileRange,
        /// What.
        byte: u8,
        /// How.
        flags: WriteFlags,
    },
    /// Give `range` the blocks of another range.
    Reflink {
        /// Whose.
        source: FileId,
        /// From where on.
        from: Pos,
        /// Where to.
        range: FileRange,
    },
    /// Say how a range will be used.
    Fadvise(FileRange, Advice),
    /// Make the file durable.
    Fsync,
    /// Make the file's data durable.
    Fdatasync,
    /// Make every file durable.
    Syncfs,
    /// Take back so many pages of memory.
    Reclaim(Pages),
    /// Do something else for a while.
    Sleep(Nanos),
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
    /// The power goes and comes back.
    PowerCut(Kept),
    /// Something is done to the array that the device is.
    Array(ArrayAct),
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
            | Self::Fadvise(..)
            | Self::Sleep(_)
            | Self::Msync(_)
            | Self::SyncRange(..)
            | Self::Truncate(_)
            | Self::Fallocate(..)
            | Self::Reflink { .. }
            | Self::PowerCut(_)
            | Self::Array(_)
            | Self::Seek { .. } => FileRange::between(Pos::ZERO, Pos::ZERO),
        }
    }
    /// How long a file of `size` bytes is at most afterwards.
    pub fn grows_to(&self, size: Pos) -> Pos {
        match self {
            Self::Truncate(new) => size.max(*new),
            Self::Fallocate(FallocMode::Insert, range) => size + range.len(),
            Self::Pwrite { range, .. }
            | Self::Reflink { range, .. }
            | Self::Fallocate(_, range) => range.end().max(size),
            Self::Pread { .. }
            | Self::Fsync
            | Self::Fdatasync
            | Self::Syncfs
            | Self::Reclaim(_)
            | Self::Fadvise(..)
            | Self::Sleep(_)
            | Self::MmapLoad(_)
            | Self::MmapStore { .. }
            | Self::Msync(_)
            | Self::SyncRange(..)
            | Self::PowerCut(_)
            | Self::Array(_)
            | Self::Seek { .. } => size,
        }
    }
}

/// One operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScenarioOp {
    /// By which task: its place in [`Scenario::tasks`].
    pub task: u32,
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
    /// The scenario as it sees it, if it has tables of its own ([`Scenario::of`]).
    pub own: Option<Arc<Scenario>>,
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
    /// Devices beside it, each with the files that name it.
    pub disks: Vec<Timing>,
    /// The zones of the device, if it has any.
    pub zones: Option<Zones>,
    /// The request queue before it, if there is one.
    pub queue: Option<QueueLimits>,
    /// Where the partition that holds the files begins on the device.
    pub partition: Bytes,
    /// The tasks that do something, by name; the first is `main`.
    pub tasks: Vec<String>,
    /// Limits on dirty pages, and with them a flusher; none: there are none.
    pub dirty: Option<DirtyConfig>,
    /// Memory runs short while tasks interleave; none: there is enough.
    pub kswapd: Option<Pressure>,
    /// The array that the device is.
    pub array: Option<ArrayKind>,
    /// Members of it that have failed at the start.
    pub array_failed: Members,
    /// What is done.
    pub ops: Vec<ScenarioOp>,
    /// What goes wrong.
    pub faults: Vec<fault::ScenarioFault>,
    /// Blocks that are free at the start; none = no end of them.
    pub free_blocks: Option<Blocks>,
    /// Who goes when, where operations of several tasks run at once.
    pub order: Order,
}

/// Memory that `kswapd` takes back, or does not, at any point of a schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pressure {
    /// How much each time.
    pub pages: Pages,
    /// How often at most.
    pub times: u32,
}

/// Who goes when.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Order {
    /// One operation after another, in the order of the file.
    #[default]
    InTurn,
    /// As the steps say.
    Schedule(Vec<Step>),
    /// By dice with this seed.
    Seed(u64),
}

/// Most steps of a schedule.
pub const MAX_STEPS: usize = 10_000;
/// Most devices beside the first.
pub const MAX_DISKS: usize = 7;
/// Most tasks of a scenario.
pub const MAX_TASKS: usize = 64;
/// The task of operations that name none.
pub const MAIN: &str = "main";
/// How often `kswapd` takes memory back at most.
pub const MAX_PRESSURE: u32 = 1000;

impl Scenario {
    /// Where the smallest of its disks ends, counted from the partition's start, if that is below 2
    /// GiB: space is given out up to there.
    pub(crate) fn small_disk(&self) -> Option<DevAddr> {
        let disks = core::iter::once(&self.device).chain(&self.disks);
        let size = disks
            .filter_map(Timing::size)
            .min()
            .filter(|size| size.get() < 2 << 30 && self.array.is_none())?;
        Some(DevAddr::ZERO + size.saturating_sub(Bytes::new(self.partition.get())))
    }
    /// Whether an operation may meet the end of the space.
    pub(crate) fn may_fill(&self) -> bool {
        self.free_blocks.is_some() || self.small_disk().is_some()
    }
    /// The number of a task in the engine.
    pub const fn task_id(task: u32) -> TaskId {
        TaskId::new(task + 1)
    }
    /// The operations that main does before the others begin, those that run at once, and those
    /// that main does after them. Where the schedule names main, its operations are like any.
    pub fn parts(&self) -> (&[ScenarioOp], Vec<usize>, Vec<usize>) {
        let first = self.ops.iter().position(|op| op.task != 0);
        let Some(first) = first else { return (&self.ops, Vec::new(), Vec::new()) };
        let named = matches!(&self.order, Order::Schedule(steps)
            if steps.iter().any(|step| step.task == MAIN));
        let first = if named { 0 } else { first };
        let rest = first..self.ops.len();
        let (late, at_once) = rest.partition(|at| !named && self.ops[*at].task == 0);
        (&self.ops[..first], at_once, late)
    }
}

impl Scenario {
    /// The limits of the queue in a run, which an array has by itself: kernels from 7.1 on cut at
    /// the stripes of a device of which parts are expensive.
    pub fn queue_of(&self, variant: &Variant) -> Option<QueueLimits> {
        let scenario = self.of(variant);
        if let (None, Some(array)) = (scenario.queue, &scenario.array) {
            return Some(array::limits(array, variant));
        }
        let limits = scenario.queue?;
        let cuts = variant.behaviours.stripe_alignment == StripeAlignment::BlockSplit;
        let stripe = limits.stripe().filter(|_| cuts && limits.chunk.is_zero());
        Some(QueueLimits { chunk: stripe.unwrap_or(limits.chunk), ..limits })
    }
}
