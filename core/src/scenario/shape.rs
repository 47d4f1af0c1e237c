//! Operations of a scenario file that are no plain reads, writes and syncs: accesses through a
//! mapping, syncs of a range, changes of size and extents, seeks.

use super::fields::{Problem, number};
use super::file::{given, missing, needed, within};
use super::raw::RawOp;
use super::{Action, MAX_FILE};
use crate::device::array::ArrayAct;
use crate::ops::advise::Advice;
use crate::ops::fallocate::FallocMode;
use crate::ops::readahead::Pattern;
use crate::ops::sync::RangeSync;
use crate::power::Kept;
use crate::units::{Bytes, FileRange, MemberId, Pos};
use toml::Spanned;

/// Modes of `fallocate` by name.
pub(super) const MODES: [(&str, FallocMode); 8] = [
    ("alloc", FallocMode::Allocate),
    ("keep", FallocMode::AllocateKeepSize),
    ("punch", FallocMode::Punch),
    ("zero", FallocMode::Zero),
    ("zero_keep", FallocMode::ZeroKeepSize),
    ("collapse", FallocMode::Collapse),
    ("insert", FallocMode::Insert),
    ("unshare", FallocMode::Unshare),
];

/// Advice by name.
pub(super) const ADVICE: [(&str, Advice); 5] = [
    ("normal", Advice::Pattern(Pattern::Normal)),
    ("sequential", Advice::Pattern(Pattern::Sequential)),
    ("random", Advice::Pattern(Pattern::Random)),
    ("willneed", Advice::WillNeed),
    ("dontneed", Advice::DontNeed),
];

/// The action of an entry; none: it is no such operation.
pub(super) fn action(entry: &Spanned<RawOp>, byte: u8) -> Result<Option<Action>, Problem> {
    let raw = entry.get_ref();
    let at = Pos::ZERO + given(raw.at.as_ref());
    let from = |len: Option<Bytes>| -> Result<FileRange, Problem> {
        let end = len.map_or(at.max(Pos::ZERO + MAX_FILE), |len| at + len);
        within(entry.span(), end)?;
        Ok(FileRange::between(at, end))
    };
    let range = || from(Some(needed(entry, "len", raw.len.as_ref())?));
    let rest = || from(raw.len.as_ref().map(|len| *len.get_ref()));
    Ok(Some(match raw.what.get_ref().as_str() {
        "mmap_load" => Action::MmapLoad(range()?),
        "mmap_store" => Action::MmapStore { range: range()?, byte },
        "msync" => Action::Msync(rest()?),
        "sync_range" => {
            let flags = RangeSync { wait_before: true, write: true, wait_after: true };
            Action::SyncRange(rest()?, flags)
        }
        "sync_range_write" => {
            Action::SyncRange(rest()?, RangeSync { write: true, ..RangeSync::default() })
        }
        "truncate" => Action::Truncate(Pos::ZERO + needed(entry, "size", raw.size.as_ref())?),
        "fallocate" => Action::Fallocate(mode(raw)?, range()?),
        "fadvise" => Action::Fadvise(rest()?, advice(entry)?),
        what @ ("seek_data" | "seek_hole") => Action::Seek { pos: at, data: what == "seek_data" },
        "power_cut" => Action::PowerCut(kept(raw)?),
        "check_array" => Action::Array(ArrayAct::Check),
        "repair_array" => Action::Array(ArrayAct::Repair),
        "rebuild_array" => Action::Array(ArrayAct::Rebuild(rows(raw)?)),
        what @ ("fail_member" | "replace_member") => {
            let member = raw.member.as_ref().ok_or_else(|| missing(entry, "member"))?;
            let member = MemberId::new(number("member", member, 0, 63)? as u32);
            Action::Array(match what {
                "fail_member" => ArrayAct::Fail(member),
                _ => ArrayAct::Replace(member, rows(raw)?),
            })
        }
        _ => return Ok(None),
    }))
}

/// How many rows of members are filled; none: all.
fn rows(raw: &RawOp) -> Result<Option<u64>, Problem> {
    raw.rows.as_ref().map(|rows| number("rows", rows, 0, 1 << 30)).transpose()
}

/// What of all that is not durable for sure a power cut leaves.
fn kept(raw: &RawOp) -> Result<Kept, Problem> {
    let seed = raw.seed.as_ref();
    if let Some(members) = &raw.members {
        if raw.mode.is_some() || seed.is_some() {
            let message = "`members` says all of it: leave out `mode` and `seed`";
            return Err((members.span(), message.to_owned()));
        }
        return Ok(Kept::Members(super::array::some("members", members, 64)?));
    }
    let named = raw.mode.as_ref().map(|mode| (mode.get_ref().as_str(), mode.span()));
    if let (Some(seed), None | Some(("none" | "all", _))) = (seed, &named) {
        let message = "`seed` is for a cut with mode \"some\"";
        return Err((seed.span(), message.to_owned()));
    }
    match named {
        None | Some(("none", _)) => Ok(Kept::Nothing),
        Some(("all", _)) => Ok(Kept::Everything),
        Some(("some", _)) => {
            let seed = seed.map_or(Ok(1), |n| number("seed", n, 0, i64::MAX as u64))?;
            Ok(Kept::Some(seed))
        }
        Some((other, place)) => {
            Err((place, format!("no mode `{other}` of a power cut: expected none, some, all")))
        }
    }
}

fn mode(raw: &RawOp) -> Result<FallocMode, Problem> {
    let Some(named) = &raw.mode else { return Ok(FallocMode::Allocate) };
    let found = MODES.iter().find(|(name, _)| name == named.get_ref());
    found.map(|(_, mode)| *mode).ok_or_else(|| {
        let known: Vec<&str> = MODES.iter().map(|(name, _)| *name).collect();
        let message = format!("no mode `{}`: expected {}", named.get_ref(), known.join(", "));
        (named.span(), message)
    })
}

fn advice(entry: &Spanned<RawOp>) -> Result<Advice, Problem> {
    let named = entry.get_ref().advice.as_ref().ok_or_else(|| missing(entry, "advice"))?;
    let found = ADVICE.iter().find(|(name, _)| name == named.get_ref());
    found.map(|(_, advice)| *advice).ok_or_else(|| {
        let known: Vec<&str> = ADVICE.iter().map(|(name, _)| *name).collect();
        let message = format!("no advice `{}`: expected {}", named.get_ref(), known.join(", "));
        (named.span(), message)
    })
}
