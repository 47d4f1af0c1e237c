//! What a case needs that is not executed yet, by name.

use super::format::{
    Act, CaseKind, Completion, FallocateMode, FaultAt, FaultWords, Fs, Op, RawCase, Scenario,
    ScheduleStep,
};
use super::machine::{MAX_FILE, errno_of};
use super::words::ExtentKind;
use folioscope_core::tasks::Point;

/// The first thing that is missing.
pub(super) fn missing(case: &RawCase, scenario: &Scenario) -> Option<String> {
    let kind = match case.kind {
        CaseKind::Engine | CaseKind::Unit => None,
        CaseKind::Node => Some("f2fs nodes"),
        CaseKind::Fio => Some("fio jobs of the cases"),
        CaseKind::Import => Some("the import of traces"),
    };
    let fs = match case.fs {
        Fs::Generic | Fs::Xfs | Fs::Ext2 | Fs::Zonefs | Fs::None => None,
        Fs::F2fs => Some("the file system f2fs"),
        Fs::Gfs2 => Some("the file system gfs2"),
        Fs::Blockdev => Some("the file system blockdev"),
    };
    if let Some(what) = kind.or(fs) {
        return Some(what.to_owned());
    }
    let bad_op = scenario.ops.iter().find_map(|op| op_missing(op, case));
    bad_op
        .or_else(|| scenario.schedule.iter().find_map(|step| stop_missing(step, scenario)))
        .or_else(|| key_missing(case, scenario).map(str::to_owned))
        .or_else(|| scenario.faults.iter().find_map(|fault| fault_missing(fault, &case.profile)))
}

#[allow(clippy::wildcard_enum_match_arm, reason = "all others are there")]
fn stop_missing(step: &ScheduleStep, scenario: &Scenario) -> Option<String> {
    let at_once = scenario.completion == Completion::AtSubmit;
    let what = match step.run_until {
        Point::BeforeIoComplete | Point::IoComplete if at_once => "a stop inside submission",
        _ => return None,
    };
    Some(what.to_owned())
}

#[allow(clippy::wildcard_enum_match_arm, reason = "all others are missing")]
fn op_missing(op: &Op, case: &RawCase) -> Option<String> {
    let unit = case.kind == CaseKind::Unit;
    let reads = matches!(
        op.act,
        Act::Pread { .. }
            | Act::DioRead { .. }
            | Act::MmapLoad { .. }
            | Act::Readahead { .. }
            | Act::ReadFolio { .. }
            | Act::Evict { .. }
            | Act::Complete { .. }
            | Act::SnapshotDisk { .. }
            | Act::SeekData { .. }
            | Act::SeekHole { .. }
    );
    if case.fs == Fs::Ext2 && !reads {
        return Some(format!("the operation {} on ext2", op.name));
    }
    let reach = match &op.act {
        Act::Truncate { size } => *size,
        Act::Fallocate { off, len, .. }
        | Act::Pread { off, len }
        | Act::DioRead { off, len }
        | Act::DioWrite { off, len, .. }
        | Act::ReflinkRange { dst_off: off, len, .. }
        | Act::MmapLoad { off, len }
        | Act::MmapStore { off, len, .. }
        | Act::ZeroRangeCore { off, len }
        | Act::Pwrite { off, len, .. } => off.saturating_add(*len),
        Act::Pwritev { off, iov } => iov.iter().fold(*off, |end, iov| end.saturating_add(iov.len)),
        Act::DioAppendAsync { len, .. } => *len,
        Act::Fsync {}
        | Act::WaitAll {}
        | Act::Writeback { .. }
        | Act::Complete { .. }
        | Act::Evict { .. }
        | Act::CrashRemount { .. }
        | Act::SnapshotDisk { .. }
        | Act::SeekData { .. }
        | Act::SeekHole { .. }
        | Act::Readahead { .. }
        | Act::ReadFolio { .. }
        | Act::Mkwrite { .. }
        | Act::MarkDirty { .. } => 0,
        Act::SetDirtyRange { .. }
        | Act::ClearDirtyRange { .. }
        | Act::SetUptodateRange { .. }
        | Act::SortAndMergeIoends {}
            if unit =>
        {
            0
        }
        _ => return Some(format!("the operation {}", op.name)),
    };
    (reach > MAX_FILE).then(|| format!("a file of more than {MAX_FILE} bytes"))
}

/// How long the file is at most, if every insertion counts.
fn longest(scenario: &Scenario) -> u64 {
    let inserted = scenario.ops.iter().map(|op| {
        if let Act::Fallocate { mode: FallocateMode::Insert, len, .. } = &op.act { *len } else { 0 }
    });
    inserted.fold(scenario.i_size.unwrap_or(0), u64::saturating_add)
}

fn key_missing(case: &RawCase, scenario: &Scenario) -> Option<&'static str> {
    let extents = &scenario.extents;
    let ext2 = case.fs == Fs::Ext2;
    let at_rest = |kind| matches!(kind, ExtentKind::Mapped | ExtentKind::Hole);
    let list = [
        (
            scenario.sub_block_extents
                && scenario.ops.iter().any(|op| !matches!(op.act, Act::ReadFolio { .. })),
            "extents finer than a block, for more than reading a folio",
        ),
        (scenario.preallocation > 0, "preallocation"),
        (scenario.zone.is_some() != (case.fs == Fs::Zonefs), "a zone of another file system"),
        (scenario.f2fs_mode.is_some(), "f2fs modes"),
        (!ext2 && !scenario.metadata.is_empty(), "metadata reads"),
        (ext2 && extents.iter().any(|extent| !at_rest(extent.kind)), "reservations of ext2"),
        (
            scenario.ra_bytes > 0 && large(scenario),
            "readahead windows with folios of a given order",
        ),
        (extents.iter().any(|extent| extent.kind == ExtentKind::Inline), "inline data"),
        (longest(scenario) > MAX_FILE, "a larger file than is laid out"),
    ];
    list.into_iter().find_map(|(there, what)| there.then_some(what))
}

/// Whether folios may be larger than the smallest.
fn large(scenario: &Scenario) -> bool {
    let order = scenario.folio_order.unwrap_or(0);
    let least = scenario.bs.unwrap_or(0) / scenario.page.unwrap_or(4096).max(1);
    scenario.large_folios.unwrap_or(order > 0) && 1 << order > least.max(1)
}

fn fault_missing(fault: &FaultWords, profile: &str) -> Option<String> {
    if fault.returns == Some(ExtentKind::Delalloc) && !matches!(profile, "linux-7.3" | "next") {
        return Some(format!("what writeback of {profile} does with a delalloc mapping"));
    }
    let err = fault.err.as_deref()?;
    let user = matches!(fault.at, FaultAt::CopyFromUser | FaultAt::FaultIn);
    let known = if user { err == "EFAULT" } else { errno_of(err).is_some() };
    (!known).then(|| format!("the error {err} at this fault"))
}
