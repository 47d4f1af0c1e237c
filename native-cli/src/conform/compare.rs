//! Which fields of a golden the engine agrees with. A field is one list of one step, and counts
//! only when expected or got is not empty.

use super::execute::Outcome;
use super::golden::{BioRow, Golden, PerRun, Queue, Unstable};
use super::observe::Lists;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a field is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    Content,
    IoendAdds,
    Bios,
    FoliosAdded,
    FoliosDeleted,
    Cache,
    Readahead,
    ReadsBeforeModify,
    Splits,
    Merges,
    Requests,
    GuestBios,
    GuestFoliosAdded,
    GuestIomap,
    GuestFaultIn,
    GuestMembers,
    GuestRows,
    GuestMemberBios,
    GuestMemberRequests,
    GuestMemberCounts,
    GuestRemaps,
    GuestBlocks,
    GuestRequests,
    GuestMerges,
    GuestSplits,
    GuestLimits,
    /// A thing that a bug case expects.
    Bug(&'static str),
}

impl Kind {
    pub(super) const ALL: [Self; 26] = [
        Self::Content,
        Self::IoendAdds,
        Self::Bios,
        Self::FoliosAdded,
        Self::FoliosDeleted,
        Self::Cache,
        Self::Readahead,
        Self::ReadsBeforeModify,
        Self::Splits,
        Self::Merges,
        Self::Requests,
        Self::GuestBios,
        Self::GuestFoliosAdded,
        Self::GuestIomap,
        Self::GuestFaultIn,
        Self::GuestMembers,
        Self::GuestRows,
        Self::GuestMemberBios,
        Self::GuestMemberRequests,
        Self::GuestMemberCounts,
        Self::GuestRemaps,
        Self::GuestBlocks,
        Self::GuestRequests,
        Self::GuestMerges,
        Self::GuestSplits,
        Self::GuestLimits,
    ];

    /// The name in output and in the list of known differences.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::IoendAdds => "ioend_adds",
            Self::Bios => "bios_by_file_offset",
            Self::FoliosAdded => "folios_added",
            Self::FoliosDeleted => "folios_deleted",
            Self::Cache => "cache",
            Self::Readahead => "readahead",
            Self::ReadsBeforeModify => "reads_before_modify",
            Self::Splits => "splits",
            Self::Merges => "merges",
            Self::Requests => "requests",
            Self::GuestBios => "guest_bios",
            Self::GuestFoliosAdded => "guest_folios_added",
            Self::GuestIomap => "guest_iomap",
            Self::GuestFaultIn => "guest_faultin",
            Self::GuestMembers => "guest_member_sums",
            Self::GuestRows => "guest_rmw_rcw",
            Self::GuestMemberBios => "guest_member_bios",
            Self::GuestMemberRequests => "guest_member_requests",
            Self::GuestMemberCounts => "guest_member_counts",
            Self::GuestRemaps => "guest_remaps",
            Self::GuestBlocks => "guest_blocks",
            Self::GuestRequests => "guest_requests",
            Self::GuestMerges => "guest_merges",
            Self::GuestSplits => "guest_splits",
            Self::GuestLimits => "guest_limits",
            Self::Bug(name) => name,
        }
    }
    /// Whether it depends on which pages follow each other in memory.
    const fn depends_on_memory(self) -> bool {
        matches!(self, Self::Bios | Self::Splits | Self::Merges | Self::Requests)
    }
    /// The golden's names for what may be unstable about it.
    const fn unstable_names(self) -> &'static [&'static str] {
        match self {
            Self::Content => &["content"],
            Self::IoendAdds => &["ioend_adds"],
            Self::Bios | Self::ReadsBeforeModify => &["bios", "bios_by_file_offset"],
            Self::FoliosAdded => &["folios_added"],
            Self::FoliosDeleted => &["folios_deleted"],
            Self::Cache => &["cache"],
            Self::Readahead => &["readahead"],
            Self::Splits => &["splits"],
            Self::Merges => &["merges"],
            Self::Requests => &["requests"],
            Self::GuestBios
            | Self::GuestFoliosAdded
            | Self::GuestIomap
            | Self::GuestFaultIn
            | Self::GuestMembers
            | Self::GuestRows
            | Self::GuestMemberBios
            | Self::GuestMemberRequests
            | Self::GuestMemberCounts
            | Self::GuestRemaps
            | Self::GuestBlocks
            | Self::GuestRequests
            | Self::GuestMerges
            | Self::GuestSplits
            | Self::GuestLimits
            | Self::Bug(_) => &[],
        }
    }
}

/// A field that differs.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    pub(super) kind: Kind,
    pub(super) step: usize,
    pub(super) expected: Value,
    pub(super) got: Value,
}

/// How a case came out.
#[derive(Default)]
pub(super) struct Verdict {
    /// Compared and agreeing fields of each kind.
    pub(super) by_kind: BTreeMap<Kind, (u64, u64)>,
    pub(super) differences: Vec<Difference>,
    /// What is told and not scored, as a matter of time decides it.
    pub(super) shown: Vec<String>,
}

impl Verdict {
    /// A number that is told and not scored, unless both sides have nothing.
    pub(super) fn show(&mut self, step: usize, what: &str, kernel: u64, here: u64) {
        if kernel > 0 || here > 0 {
            self.shown.push(format!("{what} in step {step}: kernel {kernel}, here {here}"));
        }
    }
    /// One field that is a value.
    pub(super) fn value(&mut self, kind: Kind, step: usize, expected: Value, got: Value) {
        let counts = self.by_kind.entry(kind).or_default();
        counts.0 += 1;
        if expected == got {
            counts.1 += 1;
        } else {
            self.differences.push(Difference { kind, step, expected, got });
        }
    }
    /// Compares one list of one step.
    pub(super) fn field(&mut self, kind: Kind, step: usize, expected: &[Value], got: &[Value]) {
        if expected.is_empty() && got.is_empty() {
            return;
        }
        let counts = self.by_kind.entry(kind).or_default();
        counts.0 += 1;
        if expected == got {
            counts.1 += 1;
            return;
        }
        let (expected, got) = first_rows(expected, got);
        self.differences.push(Difference { kind, step, expected, got });
    }
}

/// The first row in which two lists differ.
fn first_rows(expected: &[Value], got: &[Value]) -> (Value, Value) {
    let rows = expected.len().max(got.len());
    let at = (0..rows).find(|at| expected.get(*at) != got.get(*at)).unwrap_or(0);
    let row = |list: &[Value]| match list.get(at) {
        Some(row) => json!({ "row": at, "of": list.len(), "is": row }),
        None => json!({ "row": at, "of": list.len(), "is": null }),
    };
    (row(expected), row(got))
}

/// Compares a run, and the runs with each known memory layout, with what the kernel did.
pub(super) fn verdict(golden: &Golden, plain: &Outcome, runs: &[Outcome], steps: usize) -> Verdict {
    let mut verdict = Verdict::default();
    let want = wanted(golden, &golden.bios_by_file_offset, &golden.queue, steps);
    let of_run = |run: &PerRun| wanted(golden, &run.bios, &run.queue, steps);
    let wanted_of_runs: Vec<Vec<Lists>> = golden.per_run.iter().map(of_run).collect();
    let counted = golden.steps.iter().any(|step| !step.cache.is_empty());
    let kinds = Kind::ALL
        .into_iter()
        .filter(|kind| *kind != Kind::Content && (counted || *kind != Kind::Cache));
    for (step, want) in want.iter().enumerate() {
        for kind in kinds.clone() {
            let notes: Vec<&Unstable> = unstable(golden, kind, step).collect();
            if kind.depends_on_memory() && !golden.per_run.is_empty() {
                of_runs(&mut verdict, kind, (&wanted_of_runs, runs), step);
                continue;
            }
            if notes.iter().any(|note| note.what == "records" || note.what == "contiguity") {
                continue;
            }
            let mut expected = list(want, kind).to_vec();
            let mut got = list(&plain.lists[step], kind).to_vec();
            for note in &notes {
                for side in [&mut expected, &mut got] {
                    settle(side, note, kind);
                }
            }
            verdict.field(kind, step, &expected, &got);
        }
    }
    contents(&mut verdict, golden, plain, steps);
    verdict
}

fn unstable(golden: &Golden, kind: Kind, step: usize) -> impl Iterator<Item = &Unstable> {
    golden.unstable.iter().filter(move |note| {
        kind.unstable_names().contains(&note.kind.as_str()) && note.step.is_none_or(|of| of == step)
    })
}

/// Takes out what a note says is not stable.
fn settle(rows: &mut [Value], note: &Unstable, kind: Kind) {
    const IOEND: [&str; 4] = ["file", "pos", "len", "added"];
    const FOLIO: [&str; 3] = ["file", "pos", "order"];
    const BIO: [&str; 3] = ["rw", "flags", "ranges"];
    let names: &[&str] = match kind {
        Kind::IoendAdds => &IOEND,
        Kind::FoliosAdded | Kind::FoliosDeleted => &FOLIO,
        Kind::Bios | Kind::ReadsBeforeModify => &BIO,
        Kind::Content
        | Kind::Cache
        | Kind::Readahead
        | Kind::GuestBios
        | Kind::GuestFoliosAdded
        | Kind::GuestIomap
        | Kind::GuestFaultIn
        | Kind::GuestMembers
        | Kind::GuestRows
        | Kind::GuestMemberBios
        | Kind::GuestMemberRequests
        | Kind::GuestMemberCounts
        | Kind::GuestRemaps
        | Kind::GuestBlocks
        | Kind::GuestRequests
        | Kind::GuestMerges
        | Kind::GuestSplits
        | Kind::GuestLimits
        | Kind::Bug(_) => &[],
        Kind::Splits => &["flags", "sector", "new_sector"],
        Kind::Merges => &["how", "flags", "sector", "sectors"],
        Kind::Requests => &["flags", "sector", "sectors"],
    };
    for field in &note.fields {
        let Some(at) = names.iter().position(|name| name == field) else { continue };
        for row in rows.iter_mut() {
            row[at] = Value::Null;
        }
    }
    if note.what == "order" {
        rows.sort_by_key(Value::to_string);
    }
}

/// The lists that the kernel's records make, step by step.
fn wanted(golden: &Golden, bios: &[BioRow], queue: &Queue, steps: usize) -> Vec<Lists> {
    let mut lists: Vec<Lists> = (0..steps).map(|_| Lists::default()).collect();
    let first = golden.files.first().map_or("", String::as_str);
    let name = |file: &Option<String>| file.clone().unwrap_or_else(|| first.to_owned());
    for row in &golden.folios_added {
        if let Some(list) = lists.get_mut(row.step) {
            list.folios_added.push(json!([name(&row.file), row.pos, row.order]));
        }
    }
    for row in &golden.folios_deleted {
        if let Some(list) = lists.get_mut(row.step) {
            list.folios_deleted.push(json!([name(&row.file), row.pos, row.order]));
        }
    }
    let mut before = BTreeMap::new();
    for step in &golden.steps {
        let Some(list) = lists.get_mut(step.step) else { continue };
        for (name, now) in &step.cache {
            if before.insert(name, *now).unwrap_or_default() != *now {
                list.cache.push(json!([name, now]));
            }
        }
    }
    for row in &golden.readahead {
        if let Some(list) = lists.get_mut(row.step) {
            let fields: &[&str] = match row.ev.as_str() {
                "sync_ra" | "async_ra" => &["req_count", "order", "size", "async_size", "prev_pos"],
                "ra_order" => &["order", "size", "async_size"],
                _ => &["nr_to_read", "lookahead_size"],
            };
            let mut value = vec![json!(row.ev), json!(row.index)];
            value.extend(fields.iter().map(|key| row.rest.get(*key).cloned().unwrap_or_default()));
            list.readahead.push(Value::Array(value));
        }
    }
    for row in &golden.ioend_adds {
        if let Some(list) = lists.get_mut(row.step) {
            list.ioend_adds.push(json!([name(&row.file), row.pos, row.len, row.added]));
        }
    }
    for row in bios {
        let Some(list) = lists.get_mut(row.step) else { continue };
        let value = json!([row.rw, row.flags, row.ranges]);
        if row.rw == "R" && row.flags.contains('S') {
            list.reads.push(value.clone());
        }
        list.bios.push(value);
    }
    for row in &queue.splits {
        if let Some(list) = lists.get_mut(row.step) {
            list.queue.splits.push(json!([row.flags, row.sector, row.new_sector]));
        }
    }
    for row in &queue.merges {
        if let Some(list) = lists.get_mut(row.step) {
            let how = if row.how == "front" { "F" } else { "M" };
            list.queue.merges.push(json!([how, row.flags, row.sector, row.sectors]));
        }
    }
    for row in &queue.requests {
        if let Some(list) = lists.get_mut(row.step) {
            list.queue.requests.push(json!([row.flags, row.sector, row.sectors]));
        }
    }
    lists
}

fn list(lists: &Lists, kind: Kind) -> &[Value] {
    match kind {
        Kind::FoliosAdded => &lists.folios_added,
        Kind::FoliosDeleted => &lists.folios_deleted,
        Kind::Cache => &lists.cache,
        Kind::Readahead => &lists.readahead,
        Kind::IoendAdds => &lists.ioend_adds,
        Kind::Bios => &lists.bios,
        Kind::ReadsBeforeModify => &lists.reads,
        Kind::Splits => &lists.queue.splits,
        Kind::Merges => &lists.queue.merges,
        Kind::Requests => &lists.queue.requests,
        Kind::Content
        | Kind::GuestBios
        | Kind::GuestFoliosAdded
        | Kind::GuestIomap
        | Kind::GuestFaultIn
        | Kind::GuestMembers
        | Kind::GuestRows
        | Kind::GuestMemberBios
        | Kind::GuestMemberRequests
        | Kind::GuestMemberCounts
        | Kind::GuestRemaps
        | Kind::GuestBlocks
        | Kind::GuestRequests
        | Kind::GuestMerges
        | Kind::GuestSplits
        | Kind::GuestLimits
        | Kind::Bug(_) => &[],
    }
}

/// A list of a step, with the memory layout of each run against what that run did: one field.
fn of_runs(
    verdict: &mut Verdict,
    kind: Kind,
    (wanted, runs): (&[Vec<Lists>], &[Outcome]),
    step: usize,
) {
    let mut expected = Vec::new();
    let mut got = Vec::new();
    for (at, (wanted, outcome)) in wanted.iter().zip(runs).enumerate() {
        let row = |row| json!({ "run": at, "row": row });
        expected.extend(list(&wanted[step], kind).iter().map(row));
        got.extend(list(&outcome.lists[step], kind).iter().map(row));
    }
    verdict.field(kind, step, &expected, &got);
}

fn contents(verdict: &mut Verdict, golden: &Golden, plain: &Outcome, steps: usize) {
    for (name, runs) in &golden.content {
        let got = plain.content.get(name).map_or_else(Vec::new, |bytes| runs_of(bytes));
        let want: Vec<Value> = runs.iter().map(|run| json!([name, run.0, run.1, run.2])).collect();
        let got: Vec<Value> = got.iter().map(|run| json!([name, run.0, run.1, run.2])).collect();
        verdict.field(Kind::Content, steps, &want, &got);
    }
}

/// Runs of equal bytes.
fn runs_of(bytes: &[u8]) -> Vec<(u64, u64, u8)> {
    let mut start = 0;
    bytes
        .chunk_by(|a, b| a == b)
        .map(|run| {
            let out = (start, run.len() as u64, run[0]);
            start += run.len() as u64;
            out
        })
        .collect()
}
