//! A scenario as the text of a scenario file, which reads back as the same scenario.

use super::fault::{FaultKind, ScenarioFault};
use super::shape::{ADVICE, MODES};
use super::{Action, FileSystem, Order, Scenario, ScenarioOp, StartFile, Variant, array};
use crate::behaviour::{Behaviours, Profile};
use crate::block::bio::BioOp;
use crate::device::array::ArrayAct;
use crate::device::fault::{DeviceOp, Misdeed};
use crate::device::sim::Timing;
use crate::device::zoned::Zones;
use crate::fault::{FaultEffect, FaultPoint};
use crate::fs::prealloc::Prealloc;
use crate::iomap::MapType;
use crate::ops::sync::RangeSync;
use crate::power::Kept;
use crate::units::{Bytes, FileRange};
use core::fmt::{self, Write};

/// The text. What a file cannot say is left out: that two files share blocks is said where both
/// have the same extents, and a sync of a range that waits once only becomes a whole one.
pub fn write_scenario(scenario: &Scenario) -> String {
    let mut out = String::new();
    put(scenario, &mut out).expect("a string takes everything");
    out
}

fn put(scenario: &Scenario, out: &mut String) -> fmt::Result {
    let geometry = scenario.geometry;
    writeln!(out, "version = {}", super::file::VERSION)?;
    writeln!(out, "title = {:?}", scenario.title)?;
    writeln!(out, "\n[world]")?;
    writeln!(out, "page_size = {}", geometry.page_size().get())?;
    writeln!(out, "block_size = {}", geometry.block_size().get())?;
    writeln!(out, "max_folio_order = {}", geometry.max_order().get())?;
    writeln!(out, "readahead = {}", scenario.readahead.get())?;
    if let Some(free) = scenario.free_blocks {
        writeln!(out, "free_blocks = {}", free.get())?;
    }
    if scenario.keep_going {
        writeln!(out, "keep_going = true")?;
    }
    put_tables(scenario, None, out)?;
    for variant in &scenario.variants {
        put_variant(variant, out)?;
        if let Some(own) = &variant.own {
            put_tables(own, Some(scenario), out)?;
        }
    }
    for (at, file) in scenario.files.iter().enumerate() {
        let same = |other: &&StartFile| {
            file.shared && other.shared && other.extents == file.extents && !other.extents_empty()
        };
        put_file(file, scenario.files[..at].iter().find(same), scenario.zones, out)?;
    }
    for op in &scenario.ops {
        let file = &scenario.files[op.file.get() as usize];
        writeln!(out, "\n[[op]]")?;
        put_op(op, scenario, out)?;
        if op.file.get() > 0 {
            writeln!(out, "file = {:?}", file.name)?;
        }
        if op.task > 0 {
            writeln!(out, "task = {:?}", scenario.tasks[op.task as usize])?;
        }
    }
    match &scenario.order {
        Order::InTurn => {}
        Order::Schedule(steps) => {
            steps.iter().try_for_each(|step| write!(out, "\n{}", step.toml()))?;
        }
        Order::Seed(seed) => writeln!(out, "\n[run]\nseed = {seed}")?,
    }
    scenario.faults.iter().try_for_each(|fault| put_fault(fault, scenario, out))
}

/// The tables that a setting may have for itself: of a setting those that differ from the
/// scenario's, behind its name.
fn put_tables(scenario: &Scenario, base: Option<&Scenario>, out: &mut String) -> fmt::Result {
    for put in [put_device, put_queue, put_partition, put_array] {
        let mut table = String::new();
        put(scenario, &mut table)?;
        let mut other = String::new();
        base.map_or(Ok(()), |base| put(base, &mut other))?;
        if base.is_some() && table != other {
            table = table.replacen("\n[", "\n[variant.", 1);
        }
        if table != other {
            out.push_str(&table);
        }
    }
    Ok(())
}

fn put_device(scenario: &Scenario, out: &mut String) -> fmt::Result {
    if let Timing::Queue { depth, latency, per_kib, flush } = scenario.device {
        let per_second = 1_000_000_000 / (1024 * per_kib.get().max(1));
        writeln!(out, "\n[device]\ndepth = {depth}")?;
        writeln!(out, "latency_us = {}", latency.get() / 1000)?;
        writeln!(out, "mib_per_second = {}", per_second.max(1))?;
        writeln!(out, "flush_us = {}", flush.get() / 1000)?;
    } else if scenario.zones.is_some() {
        writeln!(out, "\n[device]")?;
    }
    if let Some(Zones { size, capacity, conventional }) = scenario.zones {
        writeln!(out, "zone_size = {}\nzone_capacity = {}", size.get(), capacity.get())?;
        writeln!(out, "conventional_zones = {conventional}")?;
    }
    Ok(())
}

fn put_queue(scenario: &Scenario, out: &mut String) -> fmt::Result {
    match scenario.queue {
        Some(queue) => writeln!(out, "\n[queue]\nmax_size = {}", queue.bytes.get()),
        None => Ok(()),
    }
}

fn put_partition(scenario: &Scenario, out: &mut String) -> fmt::Result {
    if scenario.partition.is_zero() {
        return Ok(());
    }
    writeln!(out, "\n[partition]\nstart = {}", scenario.partition.get())
}

fn put_array(scenario: &Scenario, out: &mut String) -> fmt::Result {
    match &scenario.array {
        Some(kind) => array::put(kind, scenario.array_failed, out),
        None => Ok(()),
    }
}

/// A setting as its profile and the switches that differ from it.
fn put_variant(variant: &Variant, out: &mut String) -> fmt::Result {
    writeln!(out, "\n[[variant]]\nname = {:?}\nprofile = {:?}", variant.name, variant.profile)?;
    let base = Profile::named(&variant.profile).map_or(Behaviours::default(), |p| p.behaviours);
    let mut changed = variant.behaviours.switches().zip(base.switches()).filter(|(a, b)| a != b);
    if let Some(((name, value), _)) = changed.next() {
        write!(out, "switches = {{ {name} = {value:?}")?;
        for ((name, value), _) in changed {
            write!(out, ", {name} = {value:?}")?;
        }
        writeln!(out, " }}")?;
    }
    Ok(())
}

impl StartFile {
    fn extents_empty(&self) -> bool {
        self.extents.as_ref().is_none_or(Vec::is_empty)
    }
}

fn put_file(
    file: &StartFile,
    shares: Option<&StartFile>,
    zones: Option<Zones>,
    out: &mut String,
) -> fmt::Result {
    writeln!(out, "\n[[file]]\nname = {:?}", file.name)?;
    match file.prealloc {
        Prealloc::Off => {}
        Prealloc::Fixed(len) => writeln!(out, "prealloc = {}", len.get())?,
        Prealloc::Dynamic => writeln!(out, "prealloc = \"dynamic\"")?,
    }
    if let Some(other) = shares {
        return writeln!(out, "shares = {:?}", other.name);
    }
    writeln!(out, "size = {}", file.size.get())?;
    if file.fs == FileSystem::Memory {
        return writeln!(out, "memory = true");
    }
    if file.fill > 0 {
        writeln!(out, "fill = {}", file.fill)?;
    }
    if let FileSystem::Zone(zone) = file.fs {
        let size = zones.map_or(1, |zones| zones.size.get());
        let nth = zone.whole().addr.map_or(0, |at| at.get() / size);
        return writeln!(out, "fs = \"zonefs\"\nzone = {nth}");
    }
    let Some(extents) = &file.extents else { return writeln!(out, "device = true") };
    if file.fs == FileSystem::Ext2 {
        writeln!(out, "fs = \"ext2\"")?;
        return match extents.first() {
            Some(first) => writeln!(out, "sector = {}", first.addr.sector_floor().get()),
            None => Ok(()),
        };
    }
    for extent in extents {
        let kind = if extent.state == MapType::Mapped { "mapped" } else { "unwritten" };
        let (start, len) = (extent.range.start().get(), extent.range.len().get());
        let sector = extent.addr.sector_floor().get();
        writeln!(out, "[[file.extent]]\nat = {start}\nlen = {len}")?;
        writeln!(out, "type = {kind:?}\nsector = {sector}")?;
    }
    Ok(())
}

fn put_op(op: &ScenarioOp, scenario: &Scenario, out: &mut String) -> fmt::Result {
    let range = |out: &mut String, name: &str, range: FileRange| {
        let (start, len) = (range.start().get(), range.len().get());
        writeln!(out, "do = {name:?}\nat = {start}\nlen = {len}")
    };
    let flag = |out: &mut String, name: &str, on: bool| {
        if on { writeln!(out, "{name} = true") } else { Ok(()) }
    };
    match op.action {
        Action::Pread { range: part, flags } => {
            range(out, "pread", part)?;
            flag(out, "nowait", flags.nowait)?;
            flag(out, "direct", flags.direct)?;
            flag(out, "dontcache", flags.dontcache)
        }
        Action::Pwrite { range: part, byte, flags } => {
            range(out, if flags.dsync { "pwrite_dsync" } else { "pwrite" }, part)?;
            writeln!(out, "byte = {byte}")?;
            flag(out, "direct", flags.direct)?;
            flag(out, "nowait", flags.nowait)?;
            flag(out, "dontcache", flags.dontcache)
        }
        Action::Reflink { source, from, range: part } => {
            range(out, "reflink", part)?;
            let source = &scenario.files[source.get() as usize].name;
            writeln!(out, "source = {source:?}\nsource_at = {}", from.get())
        }
        Action::Fadvise(part, advice) => {
            range(out, "fadvise", part)?;
            let name = ADVICE.iter().find(|(_, known)| *known == advice);
            writeln!(out, "advice = {:?}", name.map_or("normal", |(name, _)| name))
        }
        Action::Fsync => writeln!(out, "do = \"fsync\""),
        Action::Fdatasync => writeln!(out, "do = \"fdatasync\""),
        Action::Syncfs => writeln!(out, "do = \"syncfs\""),
        Action::Reclaim(pages) => writeln!(out, "do = \"reclaim\"\npages = {}", pages.get()),
        Action::MmapLoad(part) => range(out, "mmap_load", part),
        Action::MmapStore { range: part, byte } => {
            range(out, "mmap_store", part)?;
            writeln!(out, "byte = {byte}")
        }
        Action::Msync(part) => range(out, "msync", part),
        Action::SyncRange(part, RangeSync { wait_after, .. }) => {
            range(out, if wait_after { "sync_range" } else { "sync_range_write" }, part)
        }
        Action::Truncate(size) => writeln!(out, "do = \"truncate\"\nsize = {}", size.get()),
        Action::Fallocate(mode, part) => {
            range(out, "fallocate", part)?;
            let name = MODES.iter().find(|(_, known)| *known == mode);
            writeln!(out, "mode = {:?}", name.map_or("alloc", |(name, _)| name))
        }
        Action::Sleep(span) => {
            writeln!(out, "do = \"sleep\"\nms = {}", span.get().div_ceil(1_000_000))
        }
        Action::PowerCut(kept) => {
            writeln!(out, "do = \"power_cut\"")?;
            match kept {
                Kept::Nothing => Ok(()),
                Kept::Everything => writeln!(out, "mode = \"all\""),
                Kept::Some(seed) => writeln!(out, "mode = \"some\"\nseed = {seed}"),
                Kept::Members(members) => writeln!(out, "members = {}", array::list(members)),
            }
        }
        Action::Array(act) => match act {
            ArrayAct::Fail(member) => {
                writeln!(out, "do = \"fail_member\"\nmember = {}", member.get())
            }
            ArrayAct::Replace(member) => {
                writeln!(out, "do = \"replace_member\"\nmember = {}", member.get())
            }
            ArrayAct::Check => writeln!(out, "do = \"check_array\""),
            ArrayAct::Repair => writeln!(out, "do = \"repair_array\""),
        },
        Action::Seek { pos, data } => {
            let name = if data { "seek_data" } else { "seek_hole" };
            writeln!(out, "do = {name:?}\nat = {}", pos.get())
        }
    }
}

/// A fault with the operations that it is for. Where no name of a file says it, it is left out.
fn put_fault(fault: &ScenarioFault, scenario: &Scenario, out: &mut String) -> fmt::Result {
    let times = |times: Option<u32>| times.map_or("\"all\"".to_owned(), |n| n.to_string());
    let mut lines = Vec::new();
    let at = match fault.kind {
        FaultKind::User(user) => {
            lines.push(format!("copied = {}", user.copied.get()));
            if user.spared == Some(0) {
                "fault_in"
            } else {
                lines.push(format!("times = {}", times(user.spared)));
                "copy_from_user"
            }
        }
        FaultKind::Engine(one) => {
            let Some(at) = name_of(one.point) else { return Ok(()) };
            if let Some(file) = one.file {
                lines.push(format!("file = {:?}", scenario.files[file.get() as usize].name));
            }
            lines.extend(one.at.map(|at| format!("file_off = {}", at.get())));
            lines.push(format!("nth = {}\ntimes = {}", one.after + 1, times(one.times)));
            lines.push(match one.effect {
                FaultEffect::Fails(errno) => format!("err = {:?}", errno.name()),
                FaultEffect::Gives(kind) => format!("returns = {:?}", kind.name()),
            });
            at
        }
        FaultKind::Device(one) => {
            if let Some((start, end)) = one.place {
                let sectors = Bytes::new(end.get() - start.get()).sectors_floor();
                let first = start.sector_floor();
                lines.push(format!("sector = {}\nsectors = {}", first.get(), sectors.get()));
            }
            lines.push(format!("nth = {}\ntimes = {}", one.after + 1, times(one.times)));
            match (one.op, one.what) {
                (_, Misdeed::Dies) => "device_gone",
                (_, Misdeed::Refuses(errno)) => {
                    lines.push(format!("err = {:?}", errno.name()));
                    "submit"
                }
                (DeviceOp::Flush, what) => {
                    if let Misdeed::Fails(errno, _) = what {
                        lines.push(format!("err = {:?}", errno.name()));
                    }
                    "flush"
                }
                (DeviceOp::Bio(_) | DeviceOp::AnyBio, what) => {
                    lines.extend(match what {
                        Misdeed::Fails(errno, reaches) => {
                            let reaches = (!reaches.is_zero())
                                .then(|| format!("\nreaches = {}", reaches.get()));
                            Some(format!("err = {:?}{}", errno.name(), reaches.unwrap_or_default()))
                        }
                        Misdeed::Waits(others) => Some(format!("waits = {others}")),
                        Misdeed::Refuses(_) | Misdeed::Lies | Misdeed::Dies => None,
                    });
                    if one.op == DeviceOp::Bio(BioOp::Read) { "read_bio" } else { "write_bio" }
                }
            }
        }
    };
    writeln!(out, "\n[[fault]]\nat = {at:?}")?;
    if fault.ops.len() == 1 {
        writeln!(out, "op = {}", fault.ops.start)?;
    } else if fault.ops.end < scenario.ops.len() {
        writeln!(out, "until_op = {}", fault.ops.end.saturating_sub(1))?;
    }
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// The name of a point in a scenario file.
const fn name_of(point: FaultPoint) -> Option<&'static str> {
    Some(match point {
        FaultPoint::ReserveBlock => "reserve_block",
        FaultPoint::MapBlocks => "map_blocks",
        FaultPoint::AllocIoend => "alloc_ioend",
        FaultPoint::AllocFolio => "alloc_folio",
        FaultPoint::AllocState => "alloc_state",
        FaultPoint::AllocBio => "alloc_bio",
        FaultPoint::ConvertUnwritten => "convert_unwritten",
        FaultPoint::InvalidateFolio => "invalidate_folio",
        FaultPoint::Throttle => return None,
    })
}
