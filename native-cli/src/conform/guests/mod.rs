//! The golden format `guests`: one file holds the cases of one group of captures on one kernel.
//!
//! State carries over from operation to operation within a case. An operation that the engine does
//! not have ends what can be said about its file: the rest is left out, by name.

mod array;
mod buffers;
mod command;
mod execute;
mod format;
mod limits;
mod md;
mod members;
mod observe;
mod place;
mod queue;
mod stable;

use super::compare::{Kind, Verdict};
use super::known::Known;
use super::report::Case;
use command::Line;
use folioscope_core::buffer::Driver;
use format::{Common, GuestCase};
use observe::Lists;
use serde_json::Value;
pub(super) use stable::Stable;
use std::collections::BTreeSet;

/// Whether a JSON document has this format.
pub(super) fn is_file(value: &Value) -> bool {
    value.get("common").is_some() && value.get("cases").is_some_and(Value::is_array)
}

/// The part of the kernel that a case needs and the engine has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stack {
    Xfs,
    /// Maps without large folios, by indirect blocks that must be read. User memory that was
    /// touched is not in these goldens.
    Gfs2,
    /// The same where the data goes through the journal: blocks in buffers, read by the common loop
    /// over whole folios.
    Gfs2Journaled,
    /// The page cache of a block device: blocks in buffers.
    BlockDevice,
    /// An array, whatever is above it: its bios are given.
    Array,
    /// The ext4 driver on a layout of ext2, without a journal: blocks in buffers, behind arrays of
    /// pointers. User memory that was touched is not in these goldens.
    Ext2,
    /// The ext4 driver on its own layout, with delayed allocation.
    Ext4,
}

impl Stack {
    /// Who keeps the blocks in buffers.
    const fn driver(self) -> Option<Driver> {
        match self {
            Self::Xfs | Self::Gfs2 | Self::Array => None,
            Self::BlockDevice => Some(Driver::BlockDevice),
            Self::Gfs2Journaled => Some(Driver::Ext2),
            Self::Ext2 | Self::Ext4 => Some(Driver::Ext4),
        }
    }
    /// Whether the flush behind a sync is a bio of its own, and not the journal's.
    const fn flushes(self) -> bool {
        matches!(self, Self::BlockDevice | Self::Ext2)
    }
}

/// Executes every case of a file.
pub(super) fn run(value: &Value, known: &Known, stable: &Stable) -> Result<Vec<Case>, String> {
    let common: Common = serde_json::from_value(value["common"].clone())
        .map_err(|error| format!("`common` of a golden of guests: {error}"))?;
    let tag = tag(&common.kernel)?;
    let cases = value["cases"].as_array().map_or(&[][..], Vec::as_slice);
    let mut schedulers = members::Schedulers::new();
    let mut run = |case| run_case(&common, &tag, case, (known, stable), &mut schedulers);
    cases.iter().map(&mut run).collect()
}

/// `6.12.117` is `k612`.
fn tag(kernel: &str) -> Result<String, String> {
    let (major, minor) = version(kernel)?;
    Ok(format!("k{major}{minor}"))
}

/// Major and minor version of a kernel.
fn version(kernel: &str) -> Result<(u32, u32), String> {
    let mut parts = kernel.split('.').map(str::parse);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Ok((major, minor)),
        _ => Err(format!("the kernel `{kernel}` is not a version such as 6.12.1")),
    }
}

fn run_case(
    common: &Common,
    tag: &str,
    value: &Value,
    (known, stable): (&Known, &Stable),
    schedulers: &mut members::Schedulers,
) -> Result<Case, String> {
    let word = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or("");
    let id = format!("{tag}/{}", word("id"));
    let stack = match stack(word("id"), word("stack")) {
        Ok(stack) => stack,
        Err(missing) => return Ok(Case::skipped(id, missing)),
    };
    let mut case: GuestCase =
        serde_json::from_value(value.clone()).map_err(|error| format!("{id}: {error}"))?;
    if stack == Stack::Array {
        let above = if word("stack").starts_with("xfs") { Stack::Xfs } else { Stack::BlockDevice };
        let names = (word("id"), id, above);
        return array::run(common, &mut case, names, (known, stable), schedulers);
    }
    let mut lines: Vec<Line> = case
        .ops
        .iter()
        .map(|op| command::parse(&op.command))
        .collect::<Result<_, _>>()
        .map_err(|why| format!("{id}: {why}"))?;
    for line in &mut lines {
        if stack != Stack::Xfs && line.reshapes() {
            line.missing = Some("changes of size and extents by this file system".to_owned());
        } else if stack == Stack::Gfs2Journaled && line.writes() {
            line.missing = Some("data in a journal".to_owned());
        } else if word("id").contains("_dio") {
            line.go_direct();
        }
    }
    let plan = plan(&lines);
    if plan.executed.is_empty() {
        return Ok(Case::skipped(id, plan.missing.unwrap_or_else(|| "an operation".to_owned())));
    }
    let got = execute::execute(common, &case, stack, &lines, &plan.executed)
        .map_err(|why| format!("{id}: {why}"))?;
    let block = execute::block_size(&case)?;
    let expected = place::expected(&case, stack, &lines, version(&common.kernel)?, block);
    let mut verdict = Verdict::default();
    for (at, got) in &got {
        compare(&mut verdict, stack, *at, &expected[*at], got);
    }
    Ok(Case::compared(id, verdict, known).without(plan.left_out(&lines)))
}

/// What a case needs, or what of it is missing.
fn stack(id: &str, stack: &str) -> Result<Stack, &'static str> {
    if stack.contains("md") && (stack.starts_with("md ") || stack.contains("on md")) {
        return Ok(Stack::Array);
    }
    match stack.split(' ').next().unwrap_or("") {
        "xfs" => Ok(Stack::Xfs),
        "bdev" => Ok(Stack::BlockDevice),
        "gfs2" if id.contains("jdata") => Ok(Stack::Gfs2Journaled),
        "gfs2" => Ok(Stack::Gfs2),
        "ext2" => Ok(Stack::Ext2),
        "ext4" => Ok(Stack::Ext4),
        "f2fs" => Err("f2fs"),
        _ => Err("this kind of file system"),
    }
}

/// Which operations can be executed, and why not the others.
struct Plan {
    executed: Vec<usize>,
    left: Vec<usize>,
    missing: Option<String>,
}

/// An operation that is missing ends what can be executed on its file.
fn plan(lines: &[Line]) -> Plan {
    let mut plan = Plan { executed: Vec::new(), left: Vec::new(), missing: None };
    let mut lost: BTreeSet<&str> = BTreeSet::new();
    let mut all_lost = false;
    for (at, line) in lines.iter().enumerate() {
        if let Some(missing) = &line.missing {
            plan.missing.get_or_insert_with(|| missing.clone());
            lost.extend(line.file.as_deref());
            all_lost |= line.file.is_none();
        }
        let gone = match &line.file {
            Some(file) => lost.contains(file.as_str()),
            None => !lost.is_empty(),
        };
        if gone || all_lost { plan.left.push(at) } else { plan.executed.push(at) }
    }
    plan
}

impl Plan {
    /// Words for what was not executed.
    fn left_out(&self, lines: &[Line]) -> Option<String> {
        let missing = self.missing.as_ref()?;
        let steps: Vec<String> = self.left.iter().map(usize::to_string).collect();
        Some(format!(
            "{} of {} operations ({}): needs {missing}",
            steps.len(),
            lines.len(),
            steps.join(", ")
        ))
    }
}

fn compare(verdict: &mut Verdict, stack: Stack, at: usize, expected: &Lists, got: &Lists) {
    verdict.field(Kind::GuestFoliosAdded, at, &expected.folios_added, &got.folios_added);
    if matches!(stack, Stack::Xfs | Stack::BlockDevice) {
        verdict.field(Kind::GuestFaultIn, at, &expected.faultin, &got.faultin);
    }
    verdict.field(Kind::GuestBios, at, &expected.bios, &got.bios);
    verdict.field(Kind::GuestIomap, at, &expected.iomap(), &got.iomap());
    verdict.field(Kind::GuestRequests, at, &expected.queue.requests, &got.queue.requests);
    verdict.field(Kind::GuestMerges, at, &expected.queue.merges, &got.queue.merges);
    verdict.field(Kind::GuestSplits, at, &expected.queue.splits, &got.queue.splits);
    if stack.driver().is_some() {
        verdict.field(Kind::GuestBlocks, at, &expected.blocks, &got.blocks);
    }
}
