//! What tables of a scenario say that does not go together, each of them being right by itself.

use super::fields::Problem;
use super::raw::Raw;
use super::{FileSystem, MAIN, Scenario, StartFile};
use crate::units::{Bytes, DevAddr, SECTOR_SIZE};
use toml::Spanned;

/// Refuses what does not go together.
pub(super) fn check(raw: &Raw, scenario: &Scenario) -> Result<(), Problem> {
    check_blocks(raw, scenario)?;
    check_zones(raw, scenario)?;
    check_places(raw, scenario)?;
    check_alone(raw)
}

/// An array counts in sectors, and no file system has blocks that are smaller than those of its
/// device (`sb_set_blocksize`). Worlds of smaller blocks than a sector are no kernel's: there a
/// queue is taken that says nothing of it.
fn check_blocks(raw: &Raw, scenario: &Scenario) -> Result<(), Problem> {
    let block = scenario.geometry.block_size();
    if block < Bytes::new(SECTOR_SIZE) && scenario.array.is_some() {
        let message = format!(
            "block_size is {} bytes, and an [array] counts in sectors: expected 512 bytes or more, \
             or no [array]",
            block.get()
        );
        return Err((raw.world.get_ref().block_size.span(), message));
    }
    let queue = raw.queue.as_ref().and_then(|queue| queue.get_ref().size("logical_block_size"));
    let Some(field) = queue.filter(|unit| *unit.get_ref() > block) else { return Ok(()) };
    let (unit, most) = (field.get_ref().get(), block.get());
    let message =
        format!("logical_block_size is {unit} bytes: expected {most} at most, the block size");
    Err((field.span(), message))
}

/// A partition has whole zones, as the kernel takes no other (`blk_add_partition`), and an array of
/// disks has none.
fn check_zones(raw: &Raw, scenario: &Scenario) -> Result<(), Problem> {
    let Some(zones) = scenario.zones else { return Ok(()) };
    if let Some(array) = &raw.array {
        let message = "an array has no zones: leave out [array], or `zone_size` in [device]";
        return Err((array.span(), message.to_owned()));
    }
    match &raw.partition {
        Some(partition) if !scenario.partition.get().is_multiple_of(zones.size.get()) => {
            let (start, zone) = (scenario.partition.get(), zones.size.get());
            let message =
                format!("start is {start} bytes: expected whole zones, a multiple of {zone}");
            Err((partition.start.span(), message))
        }
        _ => Ok(()),
    }
}

/// Whatever lies on a disk of a known size lies before its end, and begins at a whole block of the
/// queue's.
fn check_places(raw: &Raw, scenario: &Scenario) -> Result<(), Problem> {
    let queue = raw.queue.as_ref().and_then(|queue| queue.get_ref().size("logical_block_size"));
    let unit = queue.map_or(1, |unit| unit.get_ref().get());
    let whole = |bytes: u64| bytes.is_multiple_of(unit);
    if let Some(partition) = raw.partition.as_ref().filter(|one| !whole(one.start.get_ref().get()))
    {
        let start = partition.start.get_ref().get();
        let message = format!("start is {start} bytes: expected whole logical blocks of {unit}");
        return Err((partition.start.span(), message));
    }
    for (entry, file) in raw.file.iter().zip(&scenario.files) {
        let nth = file.on.get() as usize;
        let timing = nth.checked_sub(1).map_or(scenario.device, |nth| scenario.disks[nth]);
        let size = timing.size();
        for (at, (start, end)) in stretches(file).into_iter().enumerate() {
            let end = (end + scenario.partition).get().div_ceil(SECTOR_SIZE);
            let most = size.map_or(u64::MAX, |size| size.get() / SECTOR_SIZE);
            let message = if end > most {
                format!(
                    "it ends at sector {end} of the device, and the disk has {most}: choose an \
                     earlier `sector`, or a larger `size` of the disk"
                )
            } else if !whole(start.get()) {
                let (first, unit) = (start.sector_floor().get(), unit / SECTOR_SIZE);
                format!(
                    "sector is {first}: expected a multiple of {unit}, the sectors of a logical \
                     block"
                )
            } else {
                continue;
            };
            let raw = entry.get_ref();
            let place = raw.extent.get(at).map(Spanned::span);
            let place = place.or_else(|| raw.sector.as_ref().map(Spanned::span));
            return Err((place.unwrap_or_else(|| entry.span()), message));
        }
    }
    Ok(())
}

/// Where each part of a file begins and ends on its device.
fn stretches(file: &StartFile) -> Vec<(DevAddr, DevAddr)> {
    let stretch = |at: DevAddr, len: Bytes| (at, at + len);
    if let FileSystem::Zone(zone) = file.fs {
        let whole = zone.whole();
        return whole.addr.map(|at| stretch(at, whole.range.len())).into_iter().collect();
    }
    let Some(extents) = &file.extents else {
        return vec![stretch(DevAddr::ZERO, Bytes::new(file.size.get()))];
    };
    extents.iter().map(|extent| stretch(extent.addr, extent.range.len())).collect()
}

/// The power goes, and members of an array fail, while nobody is at anything: between operations of
/// main that no schedule turns around.
fn check_alone(raw: &Raw) -> Result<(), Problem> {
    let alone = |word: &str| {
        ["power_cut", "fail_member", "replace_member", "check_array", "repair_array"]
            .contains(&word)
    };
    let scheduled = raw.schedule.iter().any(|step| step.get_ref().task.get_ref() == MAIN);
    for op in raw.op.iter().map(Spanned::get_ref).filter(|op| alone(op.what.get_ref())) {
        let task = op.task.as_ref().filter(|task| task.get_ref() != MAIN);
        if task.is_none() && !scheduled {
            continue;
        }
        let what = op.what.get_ref();
        let message = format!(
            "{what} happens while no task is at anything: leave out `task`, and name {MAIN} in no \
             step of the schedule"
        );
        return Err((task.map_or_else(|| op.what.span(), Spanned::span), message));
    }
    Ok(())
}
