//! Zones of the device of a scenario, and files that are zones.

use super::fields::{Problem, number};
use super::raw::{Raw, RawFile, RawZones};
use super::{FileSystem, StartExtent, StartFile};
use crate::device::zoned::Zones;
use crate::fs::zonefs::Zone;
use crate::geometry::Geometry;
use crate::iomap::MapType;
use crate::units::{Bytes, DevAddr, FileRange, Pos};
use toml::Spanned;

/// The zones, as the table says them.
pub(super) fn build(geometry: Geometry, raw: &RawZones) -> Result<Zones, Problem> {
    let zone = *raw.size.get_ref();
    let block = geometry.block_size().get();
    if zone.is_zero() || !zone.get().is_multiple_of(block) {
        let bytes = zone.get();
        let message =
            format!("zone_size is {bytes} bytes: expected a multiple of the block size {block}");
        return Err((raw.size.span(), message));
    }
    let capacity = raw.capacity.as_ref().map_or(zone, |size| *size.get_ref());
    let place = raw.capacity.as_ref().map_or_else(|| raw.size.span(), Spanned::span);
    if capacity.is_zero() || capacity > zone || !capacity.get().is_multiple_of(block) {
        let message = format!(
            "zone_capacity is {} bytes: expected a multiple of the block size {block} up to {}, \
             the size of a zone",
            capacity.get(),
            zone.get()
        );
        return Err((place, message));
    }
    let conventional = raw.conventional.as_ref();
    let conventional =
        conventional.map_or(Ok(0), |n| number("conventional_zones", n, 0, 1 << 20))?;
    Ok(Zones { size: zone, capacity, conventional })
}

/// What a zone of a file is, its bytes, where it begins, and how long the file is.
type ZoneFile = (FileSystem, Vec<StartExtent>, (DevAddr, Bytes), Bytes);

/// A file that is a zone, behind other files.
pub(super) fn file(
    geometry: Geometry,
    raw: &Raw,
    others: &[StartFile],
    file: &RawFile,
) -> Result<ZoneFile, Problem> {
    let fs = file.fs.as_ref().expect("it named its file system");
    let Some(zones) = raw.zones.as_ref() else {
        let message = "a file of zonefs is a zone: say `zone_size` in [device]".to_owned();
        return Err((fs.span(), message));
    };
    let zones = build(geometry, zones)?;
    let Some(nth) = &file.zone else {
        return Err((fs.span(), "`zone`, the number of the zone, is missing".to_owned()));
    };
    let place = nth.span();
    let nth = number("zone", nth, 0, 1 << 20)?;
    let (start, capacity) = (zones.start(nth), zones.capacity);
    // A partition of whole zones; the device counts from its own start.
    let before = raw.partition.as_ref().map_or(Bytes::ZERO, |partition| *partition.start.get_ref());
    let sequential = zones.is_sequential(nth + before.get() / zones.size.get());
    let zone = if sequential {
        Zone::sequential(start, capacity)
    } else {
        Zone::conventional(start, capacity)
    };
    let has = |other: &&StartFile| match other.fs {
        FileSystem::Zone(zone) => zone.whole().addr == Some(start),
        FileSystem::Extents | FileSystem::Ext2 | FileSystem::Memory => false,
    };
    if let Some(other) = others.iter().find(has) {
        let message = format!("zone {nth} is file `{}`: choose another zone", other.name);
        return Err((place, message));
    }
    let len = file.size.as_ref().map(|size| *size.get_ref());
    let given = len.unwrap_or_default();
    let whole = given.get().is_multiple_of(geometry.block_size().get());
    let fits =
        if sequential { given <= capacity && whole } else { len.is_none_or(|len| len == capacity) };
    if !fits {
        let (given, most) = (given.get(), capacity.get());
        let expected = if sequential { "whole blocks, up to" } else { "the whole zone," };
        let message = format!("size is {given} bytes: expected {expected} {most}");
        return Err((file.size.as_ref().map_or(place, Spanned::span), message));
    }
    let len = if sequential { given } else { capacity };
    let range = FileRange::between(Pos::ZERO, Pos::ZERO + len);
    let extent = StartExtent { range, state: MapType::Mapped, addr: start };
    let extents = if len.is_zero() { Vec::new() } else { vec![extent] };
    let pointer = Pos::ZERO + len;
    Ok((FileSystem::Zone(zone.written_to(pointer)), extents, (start, capacity), len))
}

/// What a file that is a zone cannot do is refused.
pub(super) fn check_ops(raw: &Raw, is_zone: impl Fn(&str) -> bool) -> Result<(), Problem> {
    if raw.zones.is_none() {
        return Ok(());
    }
    let first = raw.file.first().map_or("", |file| file.get_ref().name.get_ref());
    for op in raw.op.iter().map(Spanned::get_ref) {
        let name = op.what.get_ref().as_str();
        let file = op.file.as_ref().map_or(first, |file| file.get_ref());
        let refused = match name {
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
