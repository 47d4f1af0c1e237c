//! A case: scenario and operations. Every key that the format has is read; an unknown one is an
//! error that names it.

use super::words::{Addr, BitString, ExtentKind, Fill, IoendFlag, Run, Span};
use folioscope_core::behaviour;
use folioscope_core::ops::fallocate::FallocMode;
use folioscope_core::tasks::Point;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// A case as it stands in the file.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "some keys are for people; reading checks that they are there")]
pub(super) struct RawCase {
    pub(super) id: String,
    source: String,
    area: String,
    pub(super) kind: CaseKind,
    pub(super) profile: String,
    pub(super) fs: Fs,
    title: String,
    mechanism: String,
    pub(super) scenario: Value,
    pub(super) expected: Value,
    #[serde(default)]
    pub(super) variants: Vec<Variant>,
    notes: String,
    hold: Option<bool>,
}

/// One more run of a case.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) set: BTreeMap<String, Value>,
    pub(super) expected: Option<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CaseKind {
    Engine,
    Unit,
    Node,
    Fio,
    Import,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Fs {
    Generic,
    Xfs,
    Ext2,
    F2fs,
    Gfs2,
    Zonefs,
    Blockdev,
    None,
}

/// The start state and what happens, of every kind of case.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "keys of kinds that are not executed yet are read all the same")]
pub(super) struct Scenario {
    pub(super) page: Option<u64>,
    pub(super) bs: Option<u64>,
    pub(super) folio_order: Option<u8>,
    pub(super) large_folios: Option<bool>,
    pub(super) i_size: Option<u64>,
    pub(super) disk_size: Option<u64>,
    #[serde(default)]
    pub(super) extents: Vec<Extent>,
    #[serde(default)]
    pub(super) sub_block_extents: bool,
    pub(super) source_file: Option<SourceFile>,
    #[serde(default)]
    pub(super) cow_extsize: u64,
    #[serde(default)]
    pub(super) cow_reservation: Vec<Span>,
    #[serde(default)]
    pub(super) preallocation: u64,
    pub(super) free_blocks: Option<u64>,
    pub(super) zone: Option<Zone>,
    pub(super) f2fs_mode: Option<F2fsMode>,
    #[serde(default)]
    pub(super) cache: Vec<Cached>,
    #[serde(default)]
    pub(super) writeback_index: u64,
    #[serde(default)]
    pub(super) metadata: Vec<Metadata>,
    pub(super) dev: Option<Dev>,
    pub(super) behaviours: Option<Switches>,
    #[serde(default)]
    pub(super) ra_bytes: u64,
    #[serde(default)]
    pub(super) read_submit: ReadSubmit,
    #[serde(default)]
    pub(super) completion: Completion,
    pub(super) tail_fill: Option<Fill>,
    pub(super) dev_stale_fill: Option<Fill>,
    #[serde(default)]
    pub(super) faults: Vec<FaultWords>,
    pub(super) ops: Vec<Op>,
    #[serde(default)]
    pub(super) schedule: Vec<ScheduleStep>,
    #[serde(default)]
    pub(super) completed_ioends: Vec<Completed>,
    max_bio_bytes: Option<u64>,
    skip_threshold_blocks: Option<u64>,
    dirty_nodes: Option<DirtyNodes>,
    dirty_data: Option<Vec<Span>>,
    job: Option<Job>,
    issued: Option<Vec<(u64, String)>>,
    lines: Option<Vec<String>>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Extent {
    pub(super) file_off: u64,
    pub(super) len: u64,
    #[serde(rename = "type")]
    pub(super) kind: ExtentKind,
    pub(super) dev_off: Option<u64>,
    pub(super) fill: Option<Fill>,
    #[serde(default)]
    pub(super) shared: bool,
    #[serde(default)]
    pub(super) boundary: bool,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SourceFile {
    pub(super) i_size: u64,
    pub(super) extents: Vec<Extent>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Zone {
    pub(super) dev_off: u64,
    pub(super) capacity: u64,
    pub(super) write_pointer: u64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum F2fsMode {
    InPlace,
    Log,
}

/// A folio that is cached at the start.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cached {
    pub(super) off: u64,
    pub(super) order: u8,
    pub(super) uptodate: BitString,
    pub(super) dirty: BitString,
    pub(super) fill: Option<Fills>,
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Fills {
    One(Fill),
    Runs(Vec<Run>),
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Metadata {
    pub(super) needed_for_file_off: u64,
    pub(super) dev_off: u64,
    pub(super) len: u64,
    pub(super) op_flags: Vec<MetaFlag>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MetaFlag {
    Meta,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Dev {
    pub(super) io_opt: Option<u64>,
    pub(super) raid_partial_stripes_expensive: Option<bool>,
    pub(super) chunk: Option<u64>,
    pub(super) data_disks: Option<u64>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Switches {
    pub(super) stripe_alignment: Option<StripeAlignment>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StripeAlignment {
    None,
    Iomap,
    BlockSplit,
}

impl StripeAlignment {
    /// The switch of the engine.
    pub(super) const fn switch(self) -> behaviour::StripeAlignment {
        match self {
            Self::None => behaviour::StripeAlignment::None,
            Self::Iomap => behaviour::StripeAlignment::Iomap,
            Self::BlockSplit => behaviour::StripeAlignment::BlockSplit,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ReadSubmit {
    #[default]
    Default,
    Immediate,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Completion {
    #[default]
    Async,
    AtSubmit,
}

/// Where a fault fires.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FaultAt {
    CopyFromUser,
    FaultIn,
    ReserveBlock,
    MapBlocks,
    AllocIoend,
    Submit,
    WriteBio,
    ConvertUnwritten,
    InvalidateFolio,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FaultWords {
    pub(super) at: FaultAt,
    pub(super) op: Option<usize>,
    pub(super) until_op: Option<usize>,
    pub(super) file_off: Option<u64>,
    pub(super) dev_off: Option<u64>,
    #[serde(default)]
    pub(super) copied: u64,
    pub(super) err: Option<String>,
    pub(super) returns: Option<ExtentKind>,
    #[serde(default)]
    pub(super) times: Times,
}

/// How often a fault fires; none = always.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Times(pub(super) Option<u32>);

impl Default for Times {
    fn default() -> Self {
        Self(Some(1))
    }
}

impl TryFrom<Value> for Times {
    type Error = String;
    fn try_from(value: Value) -> Result<Self, String> {
        if value == "all" {
            return Ok(Self(None));
        }
        let times = value.as_u64().and_then(|n| u32::try_from(n).ok());
        times.map(|n| Self(Some(n))).ok_or_else(|| format!("times: {value} is no count, nor `all`"))
    }
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScheduleStep {
    pub(super) task: String,
    #[serde(deserialize_with = "point")]
    pub(super) run_until: Point,
    pub(super) arg: Option<PointArg>,
}

/// Points that scenario files have, and cases not.
const NOT_IN_CASES: [Point; 3] = [Point::AfterCut, Point::FlushComplete, Point::OpEnd];

fn point<'de, D: Deserializer<'de>>(words: D) -> Result<Point, D::Error> {
    let word = String::deserialize(words)?;
    let found = Point::from_name(&word).filter(|point| !NOT_IN_CASES.contains(point));
    found.ok_or_else(|| D::Error::custom(format!("no point is called `{word}`")))
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PointArg {
    pub(super) off: Option<u64>,
    pub(super) n: Option<u64>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Completed {
    pub(super) off: u64,
    pub(super) len: u64,
    pub(super) dev_off: u64,
    pub(super) flags: Vec<IoendFlag>,
    pub(super) private: String,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "not executed yet")]
struct DirtyNodes {
    indirect: Option<Vec<Span>>,
    dentry_dnode: Option<Vec<Span>>,
    file_dnode: Option<Vec<Span>>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "not executed yet")]
struct Job {
    rw: String,
    bs: u64,
    size: u64,
    norandommap: Option<bool>,
    rw_sequencer: Option<String>,
    verify: Option<String>,
}

/// An operation with the task that does it.
#[derive(Clone, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Op {
    pub(super) task: String,
    pub(super) name: String,
    pub(super) act: Act,
}

impl TryFrom<Value> for Op {
    type Error = String;
    fn try_from(mut value: Value) -> Result<Self, String> {
        let name = value.get("op").and_then(Value::as_str).unwrap_or("?").to_owned();
        let task = value.as_object_mut().and_then(|map| map.remove("task"));
        let task = match task {
            None => "main".to_owned(),
            Some(Value::String(task)) => task,
            Some(other) => return Err(format!("operation {name}: task {other} is no name")),
        };
        let act =
            serde_json::from_value(value).map_err(|error| format!("operation {name}: {error}"))?;
        Ok(Self { task, name, act })
    }
}

/// What an operation does.
#[derive(Clone, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
#[allow(dead_code, reason = "operations that are not executed yet are read all the same")]
pub(super) enum Act {
    Pread {
        off: u64,
        len: u64,
    },
    DioRead {
        off: u64,
        len: u64,
    },
    Pwrite {
        off: u64,
        len: u64,
        byte: Fill,
        #[serde(default)]
        nowait: bool,
    },
    Pwritev {
        off: u64,
        iov: Vec<Iov>,
    },
    DioWrite {
        off: u64,
        len: u64,
        byte: Fill,
    },
    DioAppendAsync {
        len: u64,
        byte: Fill,
    },
    WaitAll {},
    MmapLoad {
        off: u64,
        len: u64,
    },
    MmapStore {
        off: u64,
        len: u64,
        byte: Fill,
    },
    Mkwrite {
        off: u64,
    },
    Truncate {
        size: u64,
    },
    Fallocate {
        mode: FallocateMode,
        off: u64,
        len: u64,
    },
    ZeroRangeCore {
        off: u64,
        len: u64,
    },
    Fsync {},
    Writeback {
        mode: Mode,
        nr_to_write: Option<i64>,
        #[serde(default)]
        cyclic: bool,
        hold_completion: Option<String>,
    },
    Complete {
        label: String,
    },
    Evict {
        off: Option<u64>,
        len: Option<u64>,
    },
    CrashRemount {
        #[serde(default)]
        clean: bool,
    },
    SnapshotDisk {
        label: String,
    },
    SeekData {
        off: u64,
    },
    SeekHole {
        off: u64,
    },
    Readahead {
        off: u64,
        len: u64,
    },
    ReadFolio {
        off: u64,
    },
    MarkDirty {
        off: u64,
        len: u64,
    },
    ReflinkRange {
        src_off: u64,
        dst_off: u64,
        len: u64,
    },
    SetDirtyRange {
        folio_off: u64,
        off: u64,
        len: u64,
    },
    ClearDirtyRange {
        folio_off: u64,
        off: u64,
        len: u64,
    },
    SetUptodateRange {
        folio_off: u64,
        off: u64,
        len: u64,
    },
    SortAndMergeIoends {},
    WriteNodePages {
        mode: Mode,
        nr_to_write: Option<i64>,
    },
    WriteDataPages {
        mode: Mode,
    },
    WriteCheckpoint {},
    FioExpand {
        count: u64,
    },
    FioRun {
        #[serde(default)]
        verify_only: bool,
    },
    FioVerify {},
    ImportBlkparse {},
    ImportFtrace {},
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mode {
    None,
    All,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FallocateMode {
    Alloc,
    AllocKeepSize,
    Punch,
    Zero,
    ZeroKeepSize,
    Insert,
    Unshare,
}

impl FallocateMode {
    /// What the engine does for it.
    pub(super) const fn mode(self) -> FallocMode {
        match self {
            Self::Alloc => FallocMode::Allocate,
            Self::AllocKeepSize => FallocMode::AllocateKeepSize,
            Self::Punch => FallocMode::Punch,
            Self::Zero => FallocMode::Zero,
            Self::ZeroKeepSize => FallocMode::ZeroKeepSize,
            Self::Insert => FallocMode::Insert,
            Self::Unshare => FallocMode::Unshare,
        }
    }
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Iov {
    pub(super) len: u64,
    pub(super) byte: Option<Fill>,
    #[serde(default)]
    pub(super) bad: bool,
}

impl Iov {
    /// Its length, and its byte unless it cannot be read.
    pub(super) fn piece(&self) -> (u64, Option<u8>) {
        (self.len, self.byte.filter(|_| !self.bad).map(|fill| fill.0))
    }
}

/// A device range `[address, len]`.
pub(super) type DevSpan = (Addr, u64);
