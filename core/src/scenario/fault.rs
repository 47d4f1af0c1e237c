//! What goes wrong in a scenario: faults by name, each with where and how often.

use super::fields::{Problem, number};
use super::file::{given, named_file};
use super::keys::FAULTS;
use super::raw::{Raw, RawFault, RawOp};
use super::{MAX_FILE, MAX_OPS, StartFile};
use crate::block::bio::BioOp;
use crate::device::fault::{DeviceFault, DeviceOp, Misdeed};
use crate::errno::Errno;
use crate::fault::{Fault, FaultEffect, FaultPoint};
use crate::frames::UserFault;
use crate::iomap::MapType;
use crate::units::{Bytes, Pos, Sector};
use core::ops::Range;
use toml::Spanned;

/// Whose fault it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// Memory of the application is bad.
    User(UserFault),
    /// A step of the engine fails.
    Engine(Fault),
    /// The device does something wrong.
    Device(DeviceFault),
}

/// A fault of a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioFault {
    /// What.
    pub kind: FaultKind,
    /// During which operations, by their place in [`super::Scenario::ops`].
    pub ops: Range<usize>,
}

/// Reads the faults. `entries` says which operations each `[[op]]` became.
pub(super) fn build_faults(
    raw: &Raw,
    files: &[StartFile],
    entries: &[Range<usize>],
) -> Result<Vec<ScenarioFault>, Problem> {
    raw.fault.iter().map(|entry| build(entry, &raw.op, files, entries)).collect()
}

fn build(
    entry: &Spanned<RawFault>,
    ops: &[Spanned<RawOp>],
    files: &[StartFile],
    entries: &[Range<usize>],
) -> Result<ScenarioFault, Problem> {
    let raw = entry.get_ref();
    let word = raw.at.get_ref().as_str();
    if !FAULTS.iter().any(|(name, _)| *name == word) {
        let known: Vec<&str> = FAULTS.iter().map(|(name, _)| *name).collect();
        let message = format!("no fault at `{word}`: expected one of {}", known.join(", "));
        return Err((raw.at.span(), message));
    }
    let nth = raw.nth.as_ref().map_or(Ok(1), |n| number("nth", n, 1, u64::from(u32::MAX)))?;
    let times = raw.times.as_ref().map_or(Some(1), |times| *times.get_ref());
    let often = Often { after: (nth - 1) as u32, times };
    let during = during(raw, entries)?;
    let kind = match word {
        "copy_from_user" | "fault_in" => FaultKind::User(user(entry, ops, &often)?),
        "submit" | "read_bio" | "write_bio" | "flush" | "device_gone" => {
            FaultKind::Device(device(raw, &often)?)
        }
        _ => FaultKind::Engine(engine(raw, files, &often)?),
    };
    Ok(ScenarioFault { kind, ops: during })
}

/// How many pass before, and how many fail; none = all.
struct Often {
    after: u32,
    times: Option<u32>,
}

/// The operations during which it may fire.
fn during(raw: &RawFault, entries: &[Range<usize>]) -> Result<Range<usize>, Problem> {
    let find = |name: &str, field: &Spanned<i64>| -> Result<Range<usize>, Problem> {
        let n = *field.get_ref();
        let found = usize::try_from(n).ok().and_then(|n| entries.get(n).cloned());
        found.ok_or_else(|| {
            let expected = match entries.len() {
                0 => "no number, as there is no [[op]]".to_owned(),
                count => format!("the number of an [[op]], 0 to {}", count - 1),
            };
            (field.span(), format!("{name} is {n}: expected {expected}"))
        })
    };
    let only = raw.op.as_ref().map(|op| find("op", op)).transpose()?;
    let until = raw.until_op.as_ref().map(|op| find("until_op", op)).transpose()?;
    if let (Some(_), Some(until)) = (&only, &raw.until_op) {
        let message = "`op` says already during which [[op]]: leave out `until_op`";
        return Err((until.span(), message.to_owned()));
    }
    let end = until.or_else(|| entries.last().cloned()).map_or(0, |last| last.end);
    Ok(only.unwrap_or(0..end))
}

fn user(
    entry: &Spanned<RawFault>,
    ops: &[Spanned<RawOp>],
    often: &Often,
) -> Result<UserFault, Problem> {
    let raw = entry.get_ref();
    let missing = |name: &str, what: &str| (entry.span(), format!("`{name}` is missing: {what}"));
    let Some(of) = &raw.op else {
        return Err(missing("op", "the number of the [[op]] whose buffer it is, from 0"));
    };
    let nth = *of.get_ref();
    let what = usize::try_from(nth).ok().and_then(|nth| ops.get(nth));
    let what = what.map_or("", |op| op.get_ref().what.get_ref());
    if !["pwrite", "pwrite_dsync", "randwrite"].contains(&what) {
        let message = format!(
            "op is {nth}: this [[op]] is {what}, and only pwrite, pwrite_dsync and randwrite copy \
             from the application"
        );
        return Err((of.span(), message));
    }
    let none = || missing("copied", "the first byte that is bad");
    let copied = *raw.copied.as_ref().ok_or_else(none)?.get_ref();
    let in_time = raw.at.get_ref() == "fault_in";
    Ok(UserFault { copied, spared: if in_time { Some(0) } else { often.times } })
}

fn engine(raw: &RawFault, files: &[StartFile], often: &Often) -> Result<Fault, Problem> {
    let (point, usual) = match raw.at.get_ref().as_str() {
        "reserve_block" => (FaultPoint::ReserveBlock, Errno::NoSpc),
        "map_blocks" => (FaultPoint::MapBlocks, Errno::Io),
        "alloc_ioend" => (FaultPoint::AllocIoend, Errno::NoMem),
        "alloc_folio" => (FaultPoint::AllocFolio, Errno::NoMem),
        "alloc_state" => (FaultPoint::AllocState, Errno::NoMem),
        "alloc_bio" => (FaultPoint::AllocBio, Errno::NoMem),
        "invalidate_folio" => (FaultPoint::InvalidateFolio, Errno::Busy),
        _ => (FaultPoint::ConvertUnwritten, Errno::Io),
    };
    let effect = match (&raw.returns, &raw.err) {
        (Some(returns), Some(_)) => {
            let message = "a mapping call either fails or returns: leave out `err` or `returns`";
            return Err((returns.span(), message.to_owned()));
        }
        (Some(returns), None) => FaultEffect::Gives(map_type(returns)?),
        (None, _) => FaultEffect::Fails(errno(raw, usual)?),
    };
    let file = raw.file.as_ref().map(|name| named_file(files, name));
    let at = raw.file_off.as_ref().map(|at| Pos::ZERO + *at.get_ref());
    let Often { after, times } = *often;
    Ok(Fault { point, file: file.transpose()?, at, effect, after, times, fired: 0 })
}

fn map_type(returns: &Spanned<String>) -> Result<MapType, Problem> {
    let found =
        MapType::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(returns.get_ref()));
    found.ok_or_else(|| {
        let message = format!(
            "no mapping of type `{}`: expected hole, delalloc, mapped, unwritten, inline",
            returns.get_ref()
        );
        (returns.span(), message)
    })
}

fn errno(raw: &RawFault, usual: Errno) -> Result<Errno, Problem> {
    let Some(named) = &raw.err else { return Ok(usual) };
    let found = Errno::ALL.into_iter().find(|errno| errno.name() == named.get_ref());
    found.ok_or_else(|| {
        let known: Vec<&str> = Errno::ALL.into_iter().map(Errno::name).collect();
        let message =
            format!("no error `{}`: expected one of {}", named.get_ref(), known.join(", "));
        (named.span(), message)
    })
}

fn device(raw: &RawFault, often: &Often) -> Result<DeviceFault, Problem> {
    let op = match raw.at.get_ref().as_str() {
        "read_bio" => DeviceOp::Bio(BioOp::Read),
        "flush" => DeviceOp::Flush,
        "submit" | "device_gone" => DeviceOp::AnyBio,
        _ => DeviceOp::Bio(BioOp::Write),
    };
    let fails = errno(raw, Errno::Io)?;
    let reaches = given(raw.reaches.as_ref());
    let what = match (raw.at.get_ref().as_str(), &raw.waits) {
        ("submit", _) => Misdeed::Refuses(fails),
        ("device_gone", _) => {
            if let Some(times) = raw.times.as_ref().filter(|times| *times.get_ref() != Some(1)) {
                let message = "a device that is gone stays so: leave out `times`";
                return Err((times.span(), message.to_owned()));
            }
            Misdeed::Dies
        }
        ("flush", _) if raw.err.is_none() => Misdeed::Lies,
        (_, Some(waits)) => {
            let beside = raw.err.as_ref().map(Spanned::span);
            if let Some(place) = beside.or_else(|| raw.reaches.as_ref().map(Spanned::span)) {
                let message = "a bio that waits does not fail: leave this out, or `waits`";
                return Err((place, message.to_owned()));
            }
            Misdeed::Waits(number("waits", waits, 1, MAX_OPS as u64)? as u32)
        }
        (_, None) => Misdeed::Fails(fails, reaches),
    };
    let sectors = raw.sectors.as_ref().map_or(Ok(1), |n| number("sectors", n, 1, 1 << 40))?;
    let place = match (&raw.sector, &raw.sectors) {
        (Some(first), _) => {
            let first = Sector::new(number("sector", first, 0, 1 << 40)?).addr();
            Some((first, first + Bytes::new(sectors * 512)))
        }
        (None, Some(sectors)) => {
            let message = "`sector`, the first of these sectors, is missing".to_owned();
            return Err((sectors.span(), message));
        }
        (None, None) => None,
    };
    debug_assert!(reaches <= MAX_FILE, "a size is at most that");
    let Often { after, times } = *often;
    Ok(DeviceFault { op, place, after, times, what })
}
