//! What a case expects: every key of the format.

use super::format::DevSpan;
use super::words::{Addr, BioWords, BitString, Dir, ExtentRow, Fill, IoendFlag, Limits, Run, Span};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// What must hold; a thing not named is free.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(dead_code, reason = "keys of kinds that are not executed yet are read all the same")]
pub(super) struct Expected {
    pub(super) ret: Option<Vec<Ret>>,
    pub(super) after: Option<BTreeMap<String, State>>,
    pub(super) at_step: Option<BTreeMap<String, State>>,
    pub(super) bios: Option<Vec<BioWords>>,
    pub(super) bios_op: Option<BTreeMap<String, Vec<BioWords>>>,
    pub(super) bios_task: Option<BTreeMap<String, Vec<BioWords>>>,
    pub(super) all_bios: Option<Vec<(Layer, Dir, Addr, u64)>>,
    pub(super) requests: Option<Vec<BioWords>>,
    pub(super) split_bios: Option<Vec<BioWords>>,
    pub(super) ioends: Option<Vec<Ioend>>,
    pub(super) writeback_end: Option<Vec<WritebackEnd>>,
    pub(super) read_ranges: Option<Vec<Span>>,
    pub(super) zeroed_ranges: Option<Vec<Span>>,
    pub(super) must_write: Option<Vec<DevSpan>>,
    pub(super) must_not_write: Option<Vec<DevSpan>>,
    pub(super) must_not_read: Option<Vec<DevSpan>>,
    pub(super) read_dev_max: Option<u64>,
    pub(super) must_allocate: Option<Vec<Span>>,
    pub(super) bytes: Option<Vec<Run>>,
    pub(super) bytes_after: Option<BTreeMap<String, Vec<Run>>>,
    pub(super) cache_bytes: Option<Vec<Run>>,
    pub(super) disk: Option<Vec<DiskRun>>,
    pub(super) disk_after: Option<BTreeMap<String, Vec<DiskRun>>>,
    pub(super) allowed_bytes: Option<Vec<(u64, u64, Vec<Fill>)>>,
    pub(super) snapshots: Option<BTreeMap<String, DiskSnapshot>>,
    pub(super) sha256: Option<String>,
    pub(super) counters: Option<BTreeMap<CounterName, Limits>>,
    pub(super) counters_task: Option<BTreeMap<String, BTreeMap<CounterName, Limits>>>,
    pub(super) derived: Option<Derived>,
    pub(super) invariants: Option<Vec<Invariant>>,
    pub(super) any_of: Option<Vec<Expected>>,
    pub(super) merged_ioends: Option<Vec<Merged>>,
    offsets: Option<Vec<u64>>,
    offsets_allowed: Option<Vec<u64>>,
    offset_end_max: Option<u64>,
    ios: Option<Limits>,
    run_len: Option<u64>,
    run_step: Option<u64>,
    runs: Option<u64>,
    verify_errors: Option<u64>,
    verify_seeds: Option<BTreeMap<String, Option<String>>>,
    fio_runs: Option<Vec<FioRun>>,
    events: Option<Vec<Event>>,
    writes: Option<Vec<BioWords>>,
    bytes_total: Option<u64>,
    counts: Option<BTreeMap<String, u64>>,
    latency_us: Option<BTreeMap<String, u64>>,
}

/// Data or metadata.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Layer {
    Data,
    Meta,
}

impl Layer {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Meta => "meta",
        }
    }
}

/// `[address, len, fill]`.
pub(super) type DiskRun = (Addr, u64, Fill);

/// The result of an operation.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::struct_field_names, reason = "the format's words")]
pub(super) struct Ret {
    pub(super) op: usize,
    pub(super) ret: Option<i64>,
    pub(super) err: Option<String>,
    pub(super) bytes: Option<Vec<Run>>,
    pub(super) did_zero: Option<bool>,
    pub(super) pos: Option<u64>,
    pub(super) nr_to_write: Option<i64>,
    pub(super) any_of: Option<Vec<Value>>,
}

/// A state.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct State {
    pub(super) i_size: Option<Limits>,
    pub(super) disk_size: Option<Limits>,
    pub(super) folios: Option<BTreeMap<String, FolioWords>>,
    pub(super) dirty_folios: Option<Vec<u64>>,
    pub(super) no_folio_from: Option<u64>,
    pub(super) extents: Option<Vec<ExtentRow>>,
    pub(super) extents_include: Option<Vec<ExtentRow>>,
    pub(super) cow_extents: Option<Vec<ExtentRow>>,
    pub(super) holes: Option<Vec<Span>>,
    pub(super) no_unwritten_in: Option<Vec<Span>>,
    pub(super) no_written_from: Option<u64>,
    pub(super) delalloc: Option<Vec<Span>>,
    pub(super) delalloc_bytes: Option<u64>,
    pub(super) reserved_blocks: Option<u64>,
    pub(super) allocated_bytes: Option<u64>,
    pub(super) writeback_index: Option<u64>,
    pub(super) zone_write_pointer: Option<u64>,
    pub(super) dirty_nodes: Option<u64>,
    pub(super) dirty_data: Option<u64>,
    pub(super) checkpoint_written: Option<bool>,
}

/// A folio of a state.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FolioWords {
    pub(super) cached: Option<bool>,
    pub(super) order: Option<u8>,
    pub(super) uptodate: Option<BitString>,
    pub(super) dirty: Option<BitString>,
    pub(super) folio_uptodate: Option<bool>,
    pub(super) folio_dirty: Option<bool>,
    pub(super) locked: Option<bool>,
    pub(super) writeback: Option<bool>,
    pub(super) read_pending: Option<Limits>,
    pub(super) write_pending: Option<Limits>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ioend {
    pub(super) off: u64,
    pub(super) io_size: u64,
    pub(super) bio_len: u64,
    pub(super) flags: Vec<IoendFlag>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WritebackEnd {
    pub(super) folio: u64,
    pub(super) bios: u64,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DiskSnapshot {
    pub(super) disk_size: u64,
    pub(super) bytes: Vec<Run>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Derived {
    pub(super) io_opt_sectors: Option<u64>,
    pub(super) ra_kib_uncapped: Option<u64>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Merged {
    pub(super) off: u64,
    pub(super) len: u64,
    pub(super) private: String,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "not executed yet")]
struct FioRun {
    op: u64,
    writes: u64,
    reads: u64,
    verify_errors: u64,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "not executed yet")]
struct Event {
    op: String,
    preflush: Option<bool>,
    fua: Option<bool>,
    sync: Option<bool>,
    sector: Option<u64>,
    nr_sector: u64,
    bytes: Option<u64>,
}

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CounterName {
    BeginCalls,
    CopyAttempts,
    CopySteps,
    FaultInBytes,
    FoliosCreated,
    EndReadCalls,
    FolioUnlocks,
    MkwriteCalls,
    MapBlocksFaults,
    RedirtiedFolios,
    WritePendingPeak,
    DioCollisions,
    DioFallbacks,
    NodeBlocksWritten,
    PagesSkipped,
    WriteAttemptsPerBlock,
}

/// What must never happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Invariant {
    NoHang,
    NoPanic,
    StateBitsInRange,
    EndedOnce,
    FolioLockedUntilLastCompletion,
    NoAccessAfterEnd,
    NoReadOfFreedBlocks,
    NoBytesOnlyInCleanCache,
    EachBlockReleasedOnce,
    FreeBlocksRestored,
    NoStaleDeviceBytes,
    ReadsMatchModel,
    PostEofZero,
}
