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
    pub(super) ioend_adds: Vec<IoendAdd>,
    #[serde(default)]
    pub(super) bios_by_file_offset: Vec<BioRow>,
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
    pub(super) ret: Value,
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

#[derive(Deserialize)]
pub(super) struct FolioAdded {
    pub(super) step: usize,
    pub(super) pos: u64,
    pub(super) order: u64,
    #[serde(default)]
    pub(super) file: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct IoendAdd {
    pub(super) step: usize,
    pub(super) pos: u64,
    pub(super) len: u64,
    pub(super) added: u64,
    #[serde(default)]
    pub(super) file: Option<String>,
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
    if has("common") && has("cases") {
        return Some("goldens of guests: this format is not read yet");
    }
    if !has("ops") || !has("id") {
        return Some("neither an operation list nor an id: not a golden");
    }
    None
}
