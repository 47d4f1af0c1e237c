//! The devices of a scenario: how long each takes.

use super::fields::{Problem, number};
use super::raw::{Raw, RawDevice};
use super::{MAX_DISKS, MAX_FILE};
use crate::device::disk::Disk;
use crate::device::sim::Timing;
use crate::units::Nanos;
use toml::Spanned;

/// The devices beside the first.
pub(super) fn build_disks(raw: &Raw) -> Result<Vec<Timing>, Problem> {
    let mut all = Vec::new();
    for (nth, entry) in raw.disk.iter().enumerate() {
        let disk = entry.get_ref();
        if nth == MAX_DISKS {
            let message =
                format!("a scenario has at most {MAX_DISKS} [[disk]]: leave this one out");
            return Err((entry.span(), message));
        }
        let others = &raw.disk[..nth];
        if others.iter().any(|other| other.get_ref().name.get_ref() == disk.name.get_ref()) {
            let message =
                format!("two disks are called `{}`: give one another name", disk.name.get_ref());
            return Err((disk.name.span(), message));
        }
        let of_one = [raw.queue.as_ref().map(Spanned::span), raw.array.as_ref().map(Spanned::span)];
        if let Some(place) = of_one.into_iter().flatten().next() {
            let message = "a queue, or an array, is for one device: leave it out, or [[disk]]";
            return Err((place, message.to_owned()));
        }
        all.push(build_device(&disk.device)?);
    }
    Ok(all)
}

pub(super) fn build_device(raw: &RawDevice) -> Result<Timing, Problem> {
    let micros = |name, value| number(name, value, 0, 60_000_000).map(|n| Nanos::new(n * 1000));
    match raw {
        RawDevice::Queue { depth, latency_us, mib_per_second, flush_us } => {
            let per_second = number("mib_per_second", mib_per_second, 1, 1_000_000)?;
            Ok(Timing::Queue {
                depth: number("depth", depth, 1, 1024)? as u32,
                latency: micros("latency_us", latency_us)?,
                per_kib: Nanos::new(1_000_000_000 / (per_second * 1024)),
                flush: micros("flush_us", flush_us)?,
            })
        }
        RawDevice::Disk { rpm, size: whole, track, settle_us, seek_us, flush_us } => {
            let (size, bytes) = (*whole.get_ref(), *track.get_ref());
            for (name, given, most) in [("size", whole, MAX_FILE), ("track", track, size)] {
                if given.get_ref().is_zero() || *given.get_ref() > most {
                    let (is, most) = (given.get_ref().get(), most.get());
                    let message = format!("{name} is {is} bytes: expected 1 to {most}");
                    return Err((given.span(), message));
                }
            }
            let disk = Disk {
                size,
                track: bytes,
                turn: Nanos::new(60_000_000_000 / number("rpm", rpm, 1, 1_000_000)?),
                settle: micros("settle_us", settle_us)?,
                stroke: micros("seek_us", seek_us)?,
            };
            Ok(Timing::Disk { disk, flush: micros("flush_us", flush_us)? })
        }
    }
}
