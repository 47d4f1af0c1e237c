//! The limits that an array's queue had, against those that follow from its shape and its members.

use super::format::{Common, GuestCase, Md, Queue, SchedulerName};
use crate::conform::compare::{Kind, Verdict};
use crate::conform::execute::profile_of;
use folioscope_core::behaviour::StripeAlignment;
use folioscope_core::block::limits::{LimitRules, QueueLimits};
use folioscope_core::device::md::limits::{Kind as Shape, of_array};
use folioscope_core::device::md::mirrors::Copies;
use folioscope_core::device::md::parity::Parity;
use folioscope_core::units::{Bytes, Sectors};
use serde_json::{Value, json};

/// Compares the limits of the array, if the case says them.
pub(super) fn compare(
    verdict: &mut Verdict,
    common: &Common,
    case: &GuestCase,
    md: &Md,
) -> Result<(), String> {
    let all = if case.limits.is_empty() { &common.limits } else { &case.limits };
    let Some((_, array)) = all.iter().find(|(name, _)| name.starts_with("md")) else {
        return Ok(());
    };
    let Some((_, member)) = all.iter().find(|(name, _)| !name.starts_with("md")) else {
        return Ok(());
    };
    let profile = profile_of(&common.kernel)?;
    let rules = LimitRules::of_profile(profile.name);
    let cut = profile.behaviours.stripe_alignment == StripeAlignment::BlockSplit;
    let member = limits_of(member);
    let made = of_array(shape(md)?, &member, Bytes::kib(2048), (rules, cut)).limits;
    let row = |limits: &QueueLimits, ahead: Bytes| -> Value {
        json!({
            "minimum_io_size": limits.io_min.get(),
            "optimal_io_size": limits.io_opt.get(),
            "chunk_sectors": limits.chunk.get() / 512,
            "max_sectors_kb": limits.bytes.get() / 1024,
            "max_hw_sectors_kb": limits.hardware.get() / 1024,
            "max_segments": limits.segments,
            "read_ahead_kb": ahead.get() / 1024,
        })
    };
    let want = row(&limits_of(array), Bytes::kib(array.read_ahead_kb));
    verdict.value(Kind::GuestLimits, 0, want, row(&made, made.read_ahead(rules)));
    Ok(())
}

/// The limits of a member of the array, and whether a scheduler orders its requests.
pub(super) fn of_member(common: &Common, case: &GuestCase) -> (QueueLimits, bool) {
    let all = if case.limits.is_empty() { &common.limits } else { &case.limits };
    let member = all.iter().find(|(name, _)| !name.starts_with("md"));
    member.map_or((QueueLimits::USUAL, true), |(_, queue)| {
        (limits_of(queue), queue.scheduler == SchedulerName::MqDeadline)
    })
}

fn limits_of(queue: &Queue) -> QueueLimits {
    QueueLimits {
        bytes: Bytes::kib(queue.max_sectors_kb),
        hardware: Bytes::kib(queue.max_hw_sectors_kb),
        segments: queue.max_segments,
        segment: Bytes::new(queue.max_segment_size),
        chunk: Bytes::new(queue.chunk_sectors * 512),
        io_min: Bytes::new(queue.minimum_io_size),
        io_opt: Bytes::new(queue.optimal_io_size),
        ..QueueLimits::USUAL
    }
}

fn shape(md: &Md) -> Result<Shape, String> {
    let (chunk, members) = (Sectors::new(md.chunk_size / 512), md.raid_disks);
    Ok(match md.level.as_str() {
        "raid0" => Shape::Raid0 { chunk, members },
        "raid1" => Shape::Raid1,
        "raid10" => {
            let copies = Copies::from_word(md.layout_number()?);
            Shape::Raid10 { chunk, members, copies }
        }
        _ => Shape::Parity(parity(md)?),
    })
}

/// The array, if it has parity.
pub(super) fn parity(md: &Md) -> Result<Parity, String> {
    use folioscope_core::device::md::parity::{ParityLayout, ParityLevel};
    let level = match md.level.as_str() {
        "raid4" => ParityLevel::Raid4,
        "raid5" => ParityLevel::Raid5,
        "raid6" => ParityLevel::Raid6,
        other => return Err(format!("the level {other} has no parity")),
    };
    let layout = md.layout_number()?;
    let layout = usize::try_from(layout).ok().and_then(|at| ParityLayout::ALL.get(at));
    let layout = *layout.ok_or_else(|| format!("no layout {}", md.layout))?;
    Parity::new(level, layout, md.raid_disks, Sectors::new(md.chunk_size / 512))
        .ok_or_else(|| "an array of these members and chunks cannot be".to_owned())
}
