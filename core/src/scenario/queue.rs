//! The tables `[queue]` and `[partition]` of a scenario.

use super::fields::{Problem, number};
use super::raw::{QUEUE_SIZES, RawPartition, RawQueue};
use crate::block::limits::{DriverLimits, LimitRules, QueueLimits};
use crate::units::{Bytes, SECTOR_SIZE};
use toml::Spanned;

/// No piece of memory has a limit below this (`BLK_MIN_SEGMENT_SIZE`).
const PAGE: Bytes = Bytes::kib(4);

/// Limits as the kernel would make them of what the table says; what it does not say is as of a
/// usual device.
pub(super) fn build(raw: &Spanned<RawQueue>) -> Result<QueueLimits, Problem> {
    let table = raw.get_ref();
    let mut sizes = Vec::with_capacity(QUEUE_SIZES.len());
    for (name, value) in QUEUE_SIZES.iter().zip(&table.sizes) {
        let Some(value) = value else {
            sizes.push(None);
            continue;
        };
        let bytes = *value.get_ref();
        if *name != "max_segment_size" && !bytes.get().is_multiple_of(SECTOR_SIZE) {
            let message =
                format!("{name} is {} bytes: expected whole sectors of 512 bytes", bytes.get());
            return Err((value.span(), message));
        }
        sizes.push(Some(bytes));
    }
    let [max, segment, boundary, gap, chunk, logical, physical, io_min, io_opt] = sizes[..] else {
        unreachable!("as many as there are names");
    };
    for (name, value) in [("segment_boundary", boundary), ("virt_boundary", gap)] {
        let place = table.size(name).map_or_else(|| raw.span(), Spanned::span);
        if value.is_some_and(|value| !value.get().is_power_of_two()) {
            let bytes = value.map_or(0, Bytes::get);
            let message = format!(
                "{name} is {bytes} bytes: expected a power of two, as the kernel keeps it as a mask"
            );
            return Err((place, message));
        }
    }
    // What joins at multiples may be of shorter pieces.
    let pieces =
        [("segment_boundary", boundary), ("max_segment_size", segment.filter(|_| gap.is_none()))];
    for (name, value) in pieces {
        if let (Some(place), Some(bytes)) = (table.size(name), value.filter(|size| *size < PAGE)) {
            let message = format!("{name} is {} bytes: expected 4096 at least", bytes.get());
            return Err((place.span(), message));
        }
    }
    let usual = QueueLimits::USUAL;
    let segments = match &table.max_segments {
        Some(count) => number("max_segments", count, 1, 65535)?,
        None => usual.segments,
    };
    let driver = DriverLimits {
        logical,
        physical,
        io_min: io_min.unwrap_or(Bytes::ZERO),
        io_opt: io_opt.unwrap_or(Bytes::ZERO),
        hardware: Some(max.unwrap_or(usual.bytes)),
        user: Some(max.unwrap_or(usual.bytes)),
        segments: Some(segments),
        segment: Some(segment.unwrap_or(usual.segment)),
        boundary,
        gap: gap.unwrap_or(Bytes::ZERO),
        chunk: chunk.unwrap_or(Bytes::ZERO),
        partial_stripes_expensive: table.partial_stripes_expensive,
        device: None,
    };
    let limits = driver.validate(LimitRules::LINUX_6_18).map_err(|error| {
        let field = if error.field == "max_hw_sectors" { "max_size" } else { error.field };
        let place = table.size(field).map_or_else(|| raw.span(), Spanned::span);
        let bytes = error.value.get();
        (place, format!("{field} is {bytes} bytes: expected {}", error.expected))
    })?;
    Ok(QueueLimits { requests: table.requests, ..limits })
}

/// Where the partition begins.
pub(super) fn partition(raw: &RawPartition) -> Result<Bytes, Problem> {
    let start = *raw.start.get_ref();
    if start.get().is_multiple_of(SECTOR_SIZE) {
        return Ok(start);
    }
    let message = format!("start is {} bytes: expected whole sectors of 512 bytes", start.get());
    Err((raw.start.span(), message))
}
