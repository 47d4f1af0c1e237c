//! Zones of the device of a scenario, and files that are zones.

use super::fields::{Problem, number};
use super::file::size;
use super::raw::{Raw, RawFile, RawZones};
use super::{FileSystem, StartExtent};
use crate::device::zoned::Zones;
use crate::fs::zonefs::Zone;
use crate::geometry::Geometry;
use crate::iomap::MapType;
use crate::units::{Bytes, DevAddr, FileRange, Pos};
use toml::Spanned;

/// The zones, as the table says them.
pub(super) fn build(geometry: Geometry, raw: &RawZones) -> Result<Zones, Problem> {
    let zone = size(&raw.size)?;
    let block = geometry.block_size().get();
    if zone.is_zero() || !zone.get().is_multiple_of(block) {
        let message = format!("zone_size is {zone}: expected a multiple of the block size {block}");
        return Err((raw.size.span(), message));
    }
    let capacity = raw.capacity.as_ref().map_or(Ok(zone), size)?;
    let place = raw.capacity.as_ref().map_or_else(|| raw.size.span(), Spanned::span);
    if capacity.is_zero() || capacity > zone || !capacity.get().is_multiple_of(block) {
        let message = format!(
            "zone_capacity is {capacity}: expected a multiple of the block size {block} up to \
             {zone}, the size of a zone"
        );
        return Err((place, message));
    }
    let conventional = raw.conventional.as_ref();
    let conventional =
        conventional.map_or(Ok(0), |n| number("conventional_zones", n, 0, 1 << 20))?;
    Ok(Zones { size: zone, capacity, conventional })
}

/// A file that is a zone: what keeps it, and the bytes that it holds.
pub(super) fn file(
    geometry: Geometry,
    raw: &Raw,
    file: &RawFile,
    len: Bytes,
) -> Result<(FileSystem, Vec<StartExtent>, DevAddr, Bytes), Problem> {
    let fs = file.fs.as_ref().expect("it named its file system");
    let Some(zones) = raw.zones.as_ref() else {
        let message = "a file of zonefs is a zone: say `zone_size` in [device]".to_owned();
        return Err((fs.span(), message));
    };
    let zones = build(geometry, zones)?;
    if let Some(other) = file.sector.as_ref().map(Spanned::span) {
        return Err((other, "a zone has its place: leave out `sector`".to_owned()));
    }
    let Some(nth) = &file.zone else {
        return Err((fs.span(), "`zone`, the number of the zone, is missing".to_owned()));
    };
    let place = nth.span();
    let nth = number("zone", nth, 0, 1 << 20)?;
    let (start, capacity) = (zones.start(nth), zones.capacity);
    let zone = if zones.is_sequential(nth) {
        Zone::sequential(start, capacity)
    } else {
        Zone::conventional(start, capacity)
    };
    let len = if zones.is_sequential(nth) { len } else { capacity };
    if len > capacity || !len.get().is_multiple_of(geometry.block_size().get()) {
        let message = format!("a zone of {capacity} cannot hold {len} in whole blocks");
        return Err((file.size.as_ref().map_or(place, Spanned::span), message));
    }
    let range = FileRange::between(Pos::ZERO, Pos::ZERO + len);
    let extent = StartExtent { range, state: MapType::Mapped, addr: start };
    let extents = if len.is_zero() { Vec::new() } else { vec![extent] };
    let pointer = Pos::ZERO + len;
    Ok((FileSystem::Zone(zone.written_to(pointer)), extents, start, len))
}

/// What is not modelled of zones is refused.
pub(super) fn check_ops(raw: &Raw, is_zone: impl Fn(&str) -> bool) -> Result<(), Problem> {
    if raw.zones.is_none() {
        return Ok(());
    }
    let first = raw.file.first().map_or("", |file| file.get_ref().name.get_ref());
    for op in raw.op.iter().map(Spanned::get_ref) {
        let name = op.what.get_ref().as_str();
        let file = op.file.as_ref().map_or(first, |file| file.get_ref());
        let refused = match name {
            "power_cut" => Some("what a power cut leaves of write pointers is not modelled"),
            "truncate" if is_zone(file) => Some("resetting and finishing a zone is not modelled"),
            "mmap_store" | "fallocate" | "reflink" if is_zone(file) => {
                Some("a file that is a zone cannot do it")
            }
            _ => None,
        };
        if let Some(why) = refused {
            return Err((op.what.span(), format!("{name}: {why}")));
        }
    }
    Ok(())
}
