//! The table `[array]` of a scenario.

use super::Variant;
use super::fields::{Problem, number};
use super::raw::{Raw, RawArray};
use crate::behaviour::{ArrayThread, StripeAlignment};
use crate::block::limits::{LimitRules, QueueLimits};
use crate::device::array::{Array, ArrayKind};
use crate::device::md::Members;
use crate::device::md::limits::{Kind, of_array};
use crate::device::md::mirrors::{Copies, Mirrors};
use crate::device::md::parity::{Parity, ParityLayout, ParityLevel};
use crate::device::md::stripes::{Consistency, RmwLevel};
use crate::trace::array::ArrayShape;
use crate::units::{Bytes, MemberId, SECTOR_SIZE, Sector, Sectors};
use core::fmt::{self, Write as _};
use toml::Spanned;

/// An array, as the table says it.
pub(super) fn build(raw: &Spanned<RawArray>) -> Result<ArrayKind, Problem> {
    let table = raw.get_ref();
    let members = number("members", &table.members, 1, 64)? as u32;
    let chunk = table.chunk.as_ref().map(|chunk| {
        let bytes = *chunk.get_ref();
        if bytes.get().is_multiple_of(4096) && !bytes.is_zero() {
            return Ok(Sectors::new(bytes.get() / SECTOR_SIZE));
        }
        let message = format!("chunk is {} bytes: expected a multiple of 4096", bytes.get());
        Err((chunk.span(), message))
    });
    let chunk = chunk.transpose()?;
    let need = || chunk.ok_or_else(|| (raw.span(), "missing field `chunk`".to_owned()));
    let kind = match table.level.get_ref().as_str() {
        "raid0" => ArrayKind::Chunks { members, chunk: need()? },
        "raid1" => {
            let copies = Copies { near: members, far: 1, offset: false };
            ArrayKind::Copies { members, chunk: None, copies }
        }
        "raid10" => {
            let copies = copies(table)?;
            ArrayKind::Copies { members, chunk: Some(need()?), copies }
        }
        "raid4" => parity(table, ParityLevel::Raid4, need()?)?,
        "raid5" => parity(table, ParityLevel::Raid5, need()?)?,
        "raid6" => parity(table, ParityLevel::Raid6, need()?)?,
        other => {
            let message =
                format!("no level `{other}`: expected raid0, raid1, raid4, raid5, raid6 or raid10");
            return Err((table.level.span(), message));
        }
    };
    if Array::new(kind, ArrayThread::SubmitterSleeps).is_none() {
        let layout = table.layout.as_ref();
        let copies = layout.map_or("n2", |layout| layout.get_ref().as_str());
        let message = format!(
            "{members} members cannot hold the copies of layout {copies}, each on another one: \
             expected as many members as copies at least"
        );
        return Err((layout.map_or_else(|| table.members.span(), Spanned::span), message));
    }
    Ok(kind)
}

fn parity(table: &RawArray, level: ParityLevel, chunk: Sectors) -> Result<ArrayKind, Problem> {
    let layout = match &table.layout {
        None => ParityLayout::LeftSymmetric,
        Some(text) if level == ParityLevel::Raid4 && text.get_ref() != LAST.name() => {
            let (name, last) = (text.get_ref(), LAST.name());
            let message = format!("layout is `{name}`: raid4 has {last} only, leave it out");
            return Err((text.span(), message));
        }
        Some(text) => ParityLayout::from_name(text.get_ref()).ok_or_else(|| {
            let known: Vec<&str> = ParityLayout::ALL.iter().map(|layout| layout.name()).collect();
            let name = text.get_ref();
            (text.span(), format!("no layout `{name}`: expected one of {}", known.join(", ")))
        })?,
    };
    let members = number("members", &table.members, 1, 64)? as u32;
    let parity = Parity::new(level, layout, members, chunk).ok_or_else(|| {
        let (least, name) = (level.parities() + 2, level.name());
        (table.members.span(), format!("{name} has {least} members at least, not {members}"))
    })?;
    let rows = table.rows.as_ref();
    let rows =
        rows.map_or(Ok(u64::from(ROWS)), |rows| number("stripe_cache_size", rows, 17, 32768))?;
    let rmw = table.rmw_level.as_ref();
    let rmw = match rmw.map_or(Ok(1), |level| number("rmw_level", level, 0, 2))? {
        0 => RmwLevel::Never,
        1 => RmwLevel::Fewer,
        _ => RmwLevel::NotMore,
    };
    let consistency = match &table.consistency {
        None => Consistency::Resync,
        Some(text) => {
            let named = CONSISTENCIES.iter().find(|(name, _)| name == text.get_ref());
            let (_, found) = named.ok_or_else(|| {
                let name = text.get_ref();
                let known = CONSISTENCIES.map(|(name, _)| name).join(", ");
                (text.span(), format!("no consistency `{name}`: expected one of {known}"))
            })?;
            if *found == Consistency::PartialParity && level != ParityLevel::Raid5 {
                let message =
                    "consistency is ppl, which raid5 has: expected none, bitmap or journal";
                return Err((text.span(), message.to_owned()));
            }
            *found
        }
    };
    Ok(ArrayKind::Parity { parity, rows: rows as u32, rmw, consistency })
}

/// What keeps parity right over a power cut, by name.
pub(super) const CONSISTENCIES: [(&str, Consistency); 4] = [
    ("none", Consistency::Resync),
    ("bitmap", Consistency::Bitmap),
    ("journal", Consistency::Journal),
    ("ppl", Consistency::PartialParity),
];

/// The only layout of raid4.
const LAST: ParityLayout = ParityLayout::ParityLast;

/// Some members of an array that has so many.
pub(super) fn some(
    name: &str,
    raw: &Spanned<Vec<Spanned<i64>>>,
    count: u64,
) -> Result<Members, Problem> {
    raw.get_ref().iter().try_fold(Members::NONE, |all, one| {
        let member = MemberId::new(number(name, one, 0, count.saturating_sub(1))? as u32);
        if all.has(member) {
            let message = format!("{name} has {} twice: leave one out", member.get());
            return Err((one.span(), message));
        }
        Ok(all.with(member))
    })
}

/// Members that have failed at the start; the array has its data all the same.
pub(super) fn failed(kind: Option<&ArrayKind>, raw: &Raw) -> Result<Members, Problem> {
    let failed = raw.array.as_ref().and_then(|table| table.get_ref().failed.as_ref());
    let (Some(kind), Some(listed)) = (kind, failed) else { return Ok(Members::NONE) };
    let ArrayShape { level, members, .. } = kind.shape();
    let failed = some("failed", listed, u64::from(members))?;
    if survives(kind, failed) {
        return Ok(failed);
    }
    let list = list(failed);
    let message = format!(
        "failed is {list}: a raid{level} of {members} members has lost data without these, name \
         fewer"
    );
    Err((listed.span(), message))
}

/// Whether nothing is lost without some members.
fn survives(kind: &ArrayKind, failed: Members) -> bool {
    match *kind {
        ArrayKind::Parity { parity, .. } => failed.count() <= parity.level().parities(),
        ArrayKind::Chunks { .. } => failed == Members::NONE,
        // The members of the copies of a chunk are those of the chunk so many behind it.
        ArrayKind::Copies { members, copies, .. } => {
            let unit = Sectors::new(1);
            let all = Mirrors::new(members, unit, copies, Sectors::new(1 << 16));
            let lost = |chunk: u32| {
                let copies = all.as_ref().map(|all| all.locate(Sector::new(u64::from(chunk))));
                copies.is_none_or(|copies| copies.iter().all(|(member, _)| failed.has(*member)))
            };
            !(0..members).any(lost)
        }
    }
}

/// Operations on an array.
const ACTS: [&str; 5] =
    ["fail_member", "replace_member", "rebuild_array", "check_array", "repair_array"];

/// Operations on an array need one, and members that it has.
pub(super) fn check_ops(array: Option<&ArrayKind>, raw: &Raw) -> Result<(), Problem> {
    let members = array.map_or(0, |array| u64::from(array.shape().members));
    for entry in &raw.op {
        let op = entry.get_ref();
        let name = op.what.get_ref().as_str();
        let acts = ACTS.contains(&name);
        if members == 0 && (acts || op.members.is_some()) {
            let place = op.members.as_ref().map_or_else(|| op.what.span(), Spanned::span);
            return Err((place, "the device is no array: say which in [array]".to_owned()));
        }
        if acts && name != "fail_member" && matches!(array, Some(ArrayKind::Chunks { .. })) {
            let message = format!(
                "{name}: a raid0 has neither copies nor parity to make anything of, expected \
                 another level"
            );
            return Err((op.what.span(), message));
        }
        if let Some(member) = &op.member {
            number("member", member, 0, members.saturating_sub(1))?;
        }
        if let Some(all) = &op.members {
            some("members", all, members)?;
        }
    }
    Ok(())
}

/// Members as a list.
pub(super) fn list(members: Members) -> String {
    let each: Vec<String> = members.iter().map(|member| member.get().to_string()).collect();
    format!("[{}]", each.join(", "))
}

/// The fields of an array's table: all of them, or those that are not as usual.
pub(super) fn put(kind: &ArrayKind, failed: Members, all: bool, out: &mut String) -> fmt::Result {
    let ArrayShape { level, members, .. } = kind.shape();
    writeln!(out, "level = \"raid{level}\"\nmembers = {members}")?;
    let chunk = match kind {
        ArrayKind::Parity { parity, .. } => Some(parity.chunk()),
        ArrayKind::Chunks { chunk, .. } => Some(*chunk),
        ArrayKind::Copies { chunk, .. } => *chunk,
    };
    if let Some(chunk) = chunk {
        writeln!(out, "chunk = {}", chunk.get() * SECTOR_SIZE)?;
    }
    match kind {
        ArrayKind::Parity { parity, rows, rmw, consistency } => {
            if all || parity.layout() != ParityLayout::LeftSymmetric {
                writeln!(out, "layout = {:?}", parity.layout().name())?;
            }
            if all || *rows != ROWS {
                writeln!(out, "stripe_cache_size = {rows}")?;
            }
            if all || *rmw != RmwLevel::Fewer {
                writeln!(out, "rmw_level = {}", *rmw as u8)?;
            }
            if all || *consistency != Consistency::Resync {
                let name = CONSISTENCIES.iter().find(|(_, known)| known == consistency);
                writeln!(out, "consistency = {:?}", name.map_or("none", |(name, _)| name))?;
            }
        }
        ArrayKind::Copies { chunk: Some(_), copies, .. } if all || *copies != NEAR => {
            let (letter, count) = match copies {
                Copies { near: 2.., .. } => ('n', copies.near),
                Copies { offset: true, .. } => ('o', copies.far),
                Copies { .. } => ('f', copies.far),
            };
            writeln!(out, "layout = \"{letter}{count}\"")?;
        }
        ArrayKind::Chunks { .. } | ArrayKind::Copies { .. } => {}
    }
    if all || failed != Members::NONE { writeln!(out, "failed = {}", list(failed)) } else { Ok(()) }
}

/// Two copies beside each other, as raid10 has them where nothing is said.
const NEAR: Copies = Copies { near: 2, far: 1, offset: false };
/// Rows of the cache of stripes where nothing is said.
const ROWS: u32 = 256;

/// A layout of mdadm's, such as `n2`: near, far or offset, and how many.
fn copies(table: &RawArray) -> Result<Copies, Problem> {
    let Some(text) = &table.layout else {
        return Ok(NEAR);
    };
    let parts = text.get_ref().split_at_checked(1);
    let digits = parts.filter(|(_, count)| count.chars().all(|digit| digit.is_ascii_digit()));
    let count = digits.and_then(|(_, count)| count.parse().ok());
    match (parts, count.filter(|count| (2..=8).contains(count))) {
        (Some(("n", _)), Some(near)) => Ok(Copies { near, far: 1, offset: false }),
        (Some(("f", _)), Some(far)) => Ok(Copies { near: 1, far, offset: false }),
        (Some(("o", _)), Some(far)) => Ok(Copies { near: 1, far, offset: true }),
        _ => {
            let name = text.get_ref();
            let message =
                format!("no layout `{name}` of raid10: expected n, f or o and 2 to 8, such as n2");
            Err((text.span(), message))
        }
    }
}

/// The limits of the array's queue, over members as usual.
pub(super) fn limits(array: &ArrayKind, variant: &Variant) -> QueueLimits {
    let kind = match *array {
        ArrayKind::Parity { parity, .. } => Kind::Parity(parity),
        ArrayKind::Chunks { members, chunk } => Kind::Raid0 { chunk, members },
        ArrayKind::Copies { chunk: None, .. } => Kind::Raid1,
        ArrayKind::Copies { members, chunk: Some(chunk), copies } => {
            Kind::Raid10 { chunk, members, copies }
        }
    };
    let rules = LimitRules::of_profile(&variant.profile);
    let cut = variant.behaviours.stripe_alignment == StripeAlignment::BlockSplit;
    let hardware = QueueLimits::NONE.hardware;
    let member = QueueLimits { bytes: rules.cap, hardware, ..QueueLimits::USUAL };
    of_array(kind, &member, Bytes::kib(2048), (rules, cut)).limits
}
