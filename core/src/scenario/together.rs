//! What tables of a scenario say that does not go together, each of them being right by itself.

use super::fields::Problem;
use super::raw::Raw;
use super::{FileSystem, Scenario, StartFile};
use crate::device::sim::Timing;
use crate::units::{Bytes, DevAddr, SECTOR_SIZE};
use toml::Spanned;

/// Refuses what does not go together.
pub(super) fn check(raw: &Raw, scenario: &Scenario) -> Result<(), Problem> {
    check_blocks(raw, scenario)?;
    check_zones(raw, scenario)?;
    check_ends(raw, scenario)
}

/// An array counts in sectors, and no file system has blocks that are smaller than those of its
/// device (`sb_set_blocksize`). Worlds of smaller blocks than a sector are no kernel's: there a queue
/// is taken that says nothing of it.
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

/// A partition has whole zones, as the kernel takes no other (`blkpg_do_ioctl`, `blk_add_partition`),
/// and an array of disks has none.
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

/// Whatever lies on a disk of a known size lies before its end.
fn check_ends(raw: &Raw, scenario: &Scenario) -> Result<(), Problem> {
    for (entry, file) in raw.file.iter().zip(&scenario.files) {
        let nth = file.on.get() as usize;
        let timing = nth.checked_sub(1).map_or(scenario.device, |nth| scenario.disks[nth]);
        let Timing::Disk { disk, .. } = timing else { continue };
        let whole = DevAddr::ZERO + disk.size;
        let ends = ends(file).into_iter().map(|end| end + scenario.partition);
        let Some((at, end)) = ends.enumerate().find(|(_, end)| *end > whole) else { continue };
        let raw = entry.get_ref();
        let place = raw.extent.get(at).map(Spanned::span);
        let place = place.or_else(|| raw.sector.as_ref().map(Spanned::span));
        let (end, size) = (end.get().div_ceil(SECTOR_SIZE), disk.size.get() / SECTOR_SIZE);
        let message = format!(
            "it ends at sector {end} of the device, and the disk has {size}: choose an earlier \
             `sector`, or a larger `size` of the disk"
        );
        return Err((place.unwrap_or_else(|| entry.span()), message));
    }
    Ok(())
}

/// Where each part of a file ends on its device.
fn ends(file: &StartFile) -> Vec<DevAddr> {
    if let FileSystem::Zone(zone) = file.fs {
        let whole = zone.whole();
        return whole.addr.map(|at| at + whole.range.len()).into_iter().collect();
    }
    match &file.extents {
        None => vec![DevAddr::ZERO + Bytes::new(file.size.get())],
        Some(extents) => extents.iter().map(|extent| extent.addr + extent.range.len()).collect(),
    }
}
