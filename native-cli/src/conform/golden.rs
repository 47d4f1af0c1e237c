//! The golden format `xfs-6.18`: geometry, operations, and what a kernel then did.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A case. Fields that nothing reads are left out.
#[derive(Deserialize)]
pub(super) struct Golden {
    pub(super) id: String,
    pub(super) kernel: String,
    pub(super) page_size: u64,
    pub(super) fs: Fs,
    pub(super) device: Device,
    pub(super) files: Vec<String>,
    #[serde(default)]
    pub(super) setup: Vec<Op>,
    #[serde(default)]
    pub(super) ops: Vec<Op>,
    pub(super) before: BTreeMap<String, FileState>,
    pub(super) after: BTreeMap<String, FileState>,
    #[serde(default)]
    pub(super) extent_changes: Vec<ExtentChange>,
    #[serde(default)]
    pub(super) steps: Vec<StepInfo>,
    #[serde(default)]
    pub(super) iters: Vec<Iter>,
    #[serde(default)]
    pub(super) maps: Vec<Map>,
    #[serde(default)]
    pub(super) folios_added: Vec<FolioAdded>,
    #[serde(default)]
    pub(super) folios_deleted: Vec<FolioAdded>,
    #[serde(default)]
    pub(super) readahead: Vec<Readahead>,
    #[serde(default)]
    pub(super) ioend_adds: Vec<IoendAdd>,
    #[serde(default)]
    pub(super) bios_by_file_offset: Vec<BioRow>,
    #[serde(flatten)]
    pub(super) queue: Queue,
    #[serde(default)]
    pub(super) content: BTreeMap<String, Vec<(u64, u64, u8)>>,
    #[serde(default)]
    pub(super) unstable: Vec<Unstable>,
    #[serde(default)]
    pub(super) per_run: Vec<PerRun>,
    #[serde(default)]
    pub(super) lite: bool,
}

#[derive(Deserialize)]
pub(super) struct Fs {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) block_size: u64,
}

#[derive(Deserialize)]
pub(super) struct Device {
    pub(super) limits: Limits,
}

#[derive(Deserialize)]
pub(super) struct Limits {
    pub(super) read_ahead_kb: u64,
    pub(super) max_sectors_kb: u64,
    pub(super) max_segments: u64,
    pub(super) max_segment_size: u64,
}

/// An operation of `setup` or `ops`.
#[derive(Clone, Deserialize)]
pub(super) struct Op {
    #[serde(rename = "op")]
    pub(super) name: String,
    #[serde(default)]
    pub(super) file: Option<String>,
    #[serde(default)]
    pub(super) off: u64,
    #[serde(default)]
    pub(super) len: u64,
    #[serde(default)]
    pub(super) size: u64,
    #[serde(default)]
    pub(super) fill: u64,
    #[serde(default = "one")]
    pub(super) repeat: u64,
    #[serde(default)]
    pub(super) stride: Option<u64>,
    #[serde(default)]
    pub(super) flags: Option<Value>,
    #[serde(default)]
    pub(super) mode: Option<String>,
    #[serde(default, flatten)]
    pub(super) rest: BTreeMap<String, Value>,
}

const fn one() -> u64 {
    1
}

impl Op {
    /// Whether the flags, a word or a list of words, name this one only, any, or none.
    pub(super) fn flag_words(&self) -> Vec<String> {
        match &self.flags {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(all)) => all.iter().map(word).collect(),
            Some(other) => word(other).split(['|', ',', ' ']).map(str::to_owned).collect(),
        }
    }
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[derive(Deserialize)]
pub(super) struct FileState {
    pub(super) size: u64,
    pub(super) extents: Vec<Extent>,
}

#[derive(Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Extent {
    pub(super) off: u64,
    pub(super) len: u64,
    pub(super) sector: Option<u64>,
    pub(super) state: String,
}

#[derive(Deserialize)]
pub(super) struct ExtentChange {
    pub(super) step: usize,
    pub(super) file: String,
    pub(super) extents: Vec<Extent>,
}

#[derive(Deserialize)]
pub(super) struct StepInfo {
    #[serde(default)]
    pub(super) step: usize,
    #[serde(default)]
    pub(super) ret: Value,
    /// Per file, where it changed: pages cached, of dirty folios, under writeback.
    #[serde(default)]
    pub(super) cache: BTreeMap<String, (u64, u64, u64)>,
}

#[derive(Deserialize)]
pub(super) struct Iter {
    pub(super) flags: String,
}

#[derive(Deserialize)]
pub(super) struct Map {
    pub(super) step: usize,
    pub(super) which: String,
    pub(super) off: u64,
    pub(super) len: u64,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) flags: String,
    pub(super) sector: Option<u64>,
    #[serde(default)]
    pub(super) file: Option<String>,
    #[serde(default)]
    pub(super) iter: Option<usize>,
}

/// A folio that came into the cache, or left it.
#[derive(Deserialize)]
pub(super) struct FolioAdded {
    pub(super) step: usize,
    pub(super) pos: u64,
    pub(super) order: u64,
    #[serde(default)]
    pub(super) file: Option<String>,
}

/// A decision of readahead: the fields that its kind has.
#[derive(Deserialize)]
pub(super) struct Readahead {
    pub(super) step: usize,
    pub(super) ev: String,
    pub(super) index: u64,
    #[serde(flatten)]
    pub(super) rest: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
pub(super) struct IoendAdd {
    pub(super) step: usize,
    pub(super) pos: u64,
    pub(super) len: u64,
    pub(super) added: u64,
    #[serde(default)]
    pub(super) file: Option<String>,
    /// The mapping that it was added by: type, sector of `pos`, place; what is not stable is
    /// missing.
    #[serde(default, rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) sector: Option<u64>,
    #[serde(default)]
    pub(super) map_off: Option<u64>,
    #[serde(default)]
    pub(super) map_len: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct BioRow {
    pub(super) step: usize,
    pub(super) rw: String,
    pub(super) flags: String,
    pub(super) ranges: Vec<(String, u64, u64)>,
}

#[derive(Deserialize)]
pub(super) struct Unstable {
    pub(super) kind: String,
    #[serde(default)]
    pub(super) step: Option<usize>,
    pub(super) what: String,
    #[serde(default)]
    pub(super) fields: Vec<String>,
}

/// One run of a case whose bios depend on which pages follow each other in memory.
#[derive(Deserialize)]
pub(super) struct PerRun {
    #[serde(default)]
    pub(super) phys_runs: Vec<PhysRuns>,
    #[serde(default)]
    pub(super) bios: Vec<BioRow>,
    #[serde(flatten)]
    pub(super) queue: Queue,
}

/// What the queue of the device did, of data only.
#[derive(Deserialize)]
pub(super) struct Queue {
    #[serde(default)]
    pub(super) splits: Vec<SplitRow>,
    #[serde(default)]
    pub(super) merges: Vec<MergeRow>,
    #[serde(default)]
    pub(super) requests: Vec<RequestRow>,
}

/// A bio was cut: sectors of its start and of the cut. What is not stable is missing.
#[derive(Deserialize)]
pub(super) struct SplitRow {
    pub(super) step: usize,
    pub(super) flags: String,
    pub(super) sector: Option<u64>,
    pub(super) new_sector: Option<u64>,
}

/// A bio joined a request of the plug.
#[derive(Deserialize)]
pub(super) struct MergeRow {
    pub(super) step: usize,
    /// `back` or `front`.
    pub(super) how: String,
    pub(super) flags: String,
    pub(super) sector: u64,
    pub(super) sectors: u64,
}

/// A request went to the device.
#[derive(Deserialize)]
pub(super) struct RequestRow {
    pub(super) step: usize,
    pub(super) flags: String,
    pub(super) sector: Option<u64>,
    pub(super) sectors: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct PhysRuns {
    pub(super) to: Option<usize>,
    pub(super) runs: Vec<(String, u64, u64)>,
}

/// Which other format a JSON file has, if it is none of a case of `xfs-6.18`.
pub(super) fn other_format(value: &Value) -> Option<&'static str> {
    let has = |key: &str| value.get(key).is_some();
    if value.is_array() {
        return Some("a list of cases: this format is not read yet");
    }
    if !has("ops") || !has("id") {
        return Some("neither an operation list nor an id: not a golden");
    }
    None
}

/// Largest position, length or size that a case may name.
const MAX_BYTES: u64 = 1 << 40;
/// Largest sector.
const MAX_SECTOR: u64 = 1 << 40;
/// Most operations of a case, repeats counted.
const MAX_OPS: u64 = 1_000_000;

/// Refuses numbers that no kernel gives: the engine's own arithmetic is made for less.
pub(super) fn check_limits(golden: &Golden) -> Result<(), String> {
    let check = |what: &str, value: u64, most: u64| {
        if value <= most {
            return Ok(());
        }
        Err(format!("{what} is {value}: expected {most} at most"))
    };
    if golden.files.is_empty() {
        return Err("`files` is empty: expected one name at least".to_owned());
    }
    let mut ops = 0u64;
    for op in golden.setup.iter().chain(&golden.ops) {
        for (what, value) in [("off", op.off), ("len", op.len), ("size", op.size)] {
            check(&format!("`{what}` of the operation {}", op.name), value, MAX_BYTES)?;
        }
        ops = ops.saturating_add(op.repeat);
        check("the number of operations, repeats counted,", ops, MAX_OPS)?;
        check("`stride`", op.stride.unwrap_or(0), MAX_BYTES)?;
    }
    let states = || golden.before.values().chain(golden.after.values());
    states().try_for_each(|state| check("the size of a file", state.size, MAX_BYTES))?;
    let changed = golden.extent_changes.iter().flat_map(|change| &change.extents);
    for extent in states().flat_map(|state| &state.extents).chain(changed) {
        check("`off` of an extent", extent.off, MAX_BYTES)?;
        check("`len` of an extent", extent.len, MAX_BYTES)?;
        check("`sector` of an extent", extent.sector.unwrap_or(0), MAX_SECTOR)?;
        if extent.len == 0 {
            return Err(format!("the extent at {} is empty", extent.off));
        }
    }
    for map in &golden.maps {
        check("`off` of a mapping", map.off, MAX_BYTES)?;
        check("`len` of a mapping", map.len, 1 << 62)?;
        check("`sector` of a mapping", map.sector.unwrap_or(0), MAX_SECTOR)?;
        let block = golden.fs.block_size.max(1);
        if map.sector.is_some() && !map.off.is_multiple_of(block) {
            return Err(format!("a mapping begins at {}, inside a block of {block}", map.off));
        }
    }
    for add in &golden.ioend_adds {
        check("`pos` of an ioend", add.pos, MAX_BYTES)?;
        check("`sector` of an ioend", add.sector.unwrap_or(0), MAX_SECTOR)?;
        check("`map_off` of an ioend", add.map_off.unwrap_or(0), MAX_BYTES)?;
        check("`map_len` of an ioend", add.map_len.unwrap_or(0), 1 << 62)?;
    }
    let limits = &golden.device.limits;
    check("`read_ahead_kb`", limits.read_ahead_kb, MAX_BYTES >> 10)?;
    check("`max_sectors_kb`", limits.max_sectors_kb, MAX_BYTES >> 10)?;
    let runs = golden.per_run.iter().flat_map(|run| &run.phys_runs).flat_map(|runs| &runs.runs);
    for (_, pos, len) in runs {
        check("a position of `phys_runs`", *pos, MAX_BYTES)?;
        check("a length of `phys_runs`", *len, MAX_BYTES)?;
    }
    Ok(())
}
