//! The tables of a scenario file that stand for the whole run, or for one of its settings: sizes,
//! devices, limits.

use super::raw::QUEUE_SIZES;
use super::variants::OWN;
use super::{Order, Scenario, array};
use crate::block::limits::QueueLimits;
use crate::cache::frame_alloc::FramePolicy;
use crate::device::disk::Disk;
use crate::device::sim::Timing;
use crate::device::zoned::Zones;
use crate::dirty::DirtyConfig;
use crate::dirty::limits::Share;
use crate::units::{Bytes, Nanos};
use core::fmt::{self, Write};

/// Nanoseconds of a second, of a hundredth of it, and of a microsecond.
const SECOND: u64 = 1_000_000_000;
const CENTISEC: u64 = 10_000_000;
const MICRO: u64 = 1000;

/// Writes the fields of a table, one a line: all of them, or those that are not as usual.
type Put = fn(&Scenario, Which, &mut String) -> fmt::Result;

/// Which fields of a table are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    Unusual,
}

/// In the order of [`OWN`].
const TABLES: [Put; OWN.len()] =
    [put_world, put_device, put_queue, put_partition, put_array, put_dirty, put_kswapd, put_run];

/// The tables of a scenario; of a setting, with its scenario as `base`, what differs.
pub(super) fn put_tables(
    scenario: &Scenario,
    base: Option<&Scenario>,
    out: &mut String,
) -> fmt::Result {
    for (name, put) in OWN.iter().zip(TABLES) {
        let fields = |of: &Scenario, which: Which| {
            let mut fields = String::new();
            put(of, which, &mut fields).map(|()| fields)
        };
        let Some(base) = base else {
            let fields = fields(scenario, Which::Unusual)?;
            if !fields.is_empty() {
                write!(out, "\n[{name}]\n{fields}")?;
            }
            continue;
        };
        let (mine, other) = (fields(scenario, Which::All)?, fields(base, Which::All)?);
        let mut rest = mine.lines().filter(|line| !other.lines().any(|other| other == *line));
        if let Some(first) = rest.next() {
            writeln!(out, "\n[variant.{name}]\n{first}")?;
            rest.try_for_each(|line| writeln!(out, "{line}"))?;
        }
    }
    Ok(())
}

fn put_world(scenario: &Scenario, _: Which, out: &mut String) -> fmt::Result {
    let geometry = scenario.geometry;
    writeln!(out, "page_size = {}", geometry.page_size().get())?;
    writeln!(out, "block_size = {}", geometry.block_size().get())?;
    writeln!(out, "max_folio_order = {}", geometry.max_order().get())?;
    writeln!(out, "readahead = {}", scenario.readahead.get())?;
    if let Some(free) = scenario.free_blocks {
        writeln!(out, "free_blocks = {}", free.get())?;
    }
    // A setting may differ from its scenario in either direction.
    writeln!(out, "keep_going = {}", scenario.keep_going)?;
    writeln!(out, "scattered = {}", scenario.frames == FramePolicy::Scattered)
}

fn put_device(scenario: &Scenario, _: Which, out: &mut String) -> fmt::Result {
    put_timing(scenario.device, out)?;
    if let Some(Zones { size, capacity, conventional }) = scenario.zones {
        writeln!(out, "zone_size = {}\nzone_capacity = {}", size.get(), capacity.get())?;
        writeln!(out, "conventional_zones = {conventional}")?;
    }
    Ok(())
}

/// How long a device takes; nothing of one that takes no time.
fn put_timing(timing: Timing, out: &mut String) -> fmt::Result {
    let micros = |time: Nanos| time.get() / MICRO;
    // A rate of which reading makes the same time again.
    let rate =
        |whole: u64, time: u64, most: u64| whole.checked_div(time).map_or(most, |n| n.max(1));
    match timing {
        Timing::Queue { depth, latency, per_kib, flush } => {
            let rate = rate(SECOND, 1024 * per_kib.get(), 1_000_000);
            writeln!(out, "depth = {depth}\nlatency_us = {}", micros(latency))?;
            writeln!(out, "mib_per_second = {rate}\nflush_us = {}", micros(flush))
        }
        Timing::Disk { disk: Disk { size, track, turn, settle, stroke }, flush } => {
            let rpm = rate(60 * SECOND, turn.get(), 1_000_000);
            writeln!(out, "rpm = {rpm}\nsize = {}\ntrack = {}", size.get(), track.get())?;
            writeln!(out, "settle_us = {}\nseek_us = {}", micros(settle), micros(stroke))?;
            writeln!(out, "flush_us = {}", micros(flush))
        }
        Timing::Ram => Ok(()),
    }
}

/// The devices beside the first; their names are their places.
pub(super) fn put_disks(scenario: &Scenario, out: &mut String) -> fmt::Result {
    for (nth, timing) in scenario.disks.iter().enumerate() {
        writeln!(out, "\n[[disk]]\nname = {:?}", disk_name(nth as u32 + 1))?;
        put_timing(*timing, out)?;
    }
    Ok(())
}

/// The name of a device.
pub(super) fn disk_name(nth: u32) -> String {
    format!("disk {nth}")
}

fn put_queue(scenario: &Scenario, which: Which, out: &mut String) -> fmt::Result {
    let Some(limits) = scenario.queue else { return Ok(()) };
    let sizes = |of: &QueueLimits| -> [Bytes; QUEUE_SIZES.len()] {
        let QueueLimits { hardware, segment, boundary, gap, chunk, .. } = *of;
        let QueueLimits { logical, physical, io_min, io_opt, .. } = *of;
        [hardware, segment, boundary, gap, chunk, logical, physical, io_min, io_opt]
    };
    let usual = QueueLimits::USUAL;
    let all = QUEUE_SIZES.iter().zip(sizes(&limits)).zip(sizes(&usual));
    for (nth, ((name, size), usual)) in all.enumerate() {
        // One field at least, so that there is a table. No boundary is not said.
        let said = which == Which::All && !size.is_zero();
        if said || size != usual || nth == 0 {
            writeln!(out, "{name} = {}", size.get())?;
        }
    }
    if which == Which::All || limits.segments != usual.segments {
        writeln!(out, "max_segments = {}", limits.segments)?;
    }
    let flags = [
        ("raid_partial_stripes_expensive", limits.partial_stripes_expensive, false),
        ("requests", limits.requests, true),
    ];
    for (name, on, usual) in flags {
        if which == Which::All || on != usual {
            writeln!(out, "{name} = {on}")?;
        }
    }
    Ok(())
}

fn put_partition(scenario: &Scenario, _: Which, out: &mut String) -> fmt::Result {
    if scenario.partition.is_zero() {
        return Ok(());
    }
    writeln!(out, "start = {}", scenario.partition.get())
}

fn put_array(scenario: &Scenario, which: Which, out: &mut String) -> fmt::Result {
    let put = |kind| array::put(kind, scenario.array_failed, which == Which::All, out);
    scenario.array.as_ref().map_or(Ok(()), put)
}

fn put_dirty(scenario: &Scenario, which: Which, out: &mut String) -> fmt::Result {
    let Some(limits) = scenario.dirty else { return Ok(()) };
    let page = scenario.geometry.page_size().get();
    writeln!(out, "memory = {}", limits.available.get() * page)?;
    let usual = DirtyConfig::usual(limits.available);
    let shares =
        [("background_", limits.background, usual.background), ("", limits.hard, usual.hard)];
    for (name, share, usual) in shares {
        match share {
            _ if which == Which::Unusual && share == usual => {}
            Share::Percent(n) => writeln!(out, "{name}ratio = {n}")?,
            Share::Bytes(bytes) => writeln!(out, "{name}bytes = {}", bytes.get())?,
        }
    }
    let times =
        [("writeback", limits.interval, usual.interval), ("expire", limits.expire, usual.expire)];
    for (name, time, usual) in times {
        if which == Which::All || time != usual {
            writeln!(out, "{name}_centisecs = {}", time.get() / CENTISEC)?;
        }
    }
    Ok(())
}

fn put_kswapd(scenario: &Scenario, _: Which, out: &mut String) -> fmt::Result {
    let Some(pressure) = scenario.kswapd else { return Ok(()) };
    writeln!(out, "pages = {}\ntimes = {}", pressure.pages.get(), pressure.times)
}

fn put_run(scenario: &Scenario, _: Which, out: &mut String) -> fmt::Result {
    match scenario.order {
        Order::Seed(seed) => writeln!(out, "seed = {seed}"),
        Order::InTurn | Order::Schedule(_) => Ok(()),
    }
}
