//! A scenario as the text of a scenario file, which reads back as the same scenario.

use super::fault::{FaultKind, ScenarioFault};
use super::file::parse_scenario;
use super::shape::{ADVICE, MODES};
use super::write_tables::{disk_name, put_disks, put_tables};
use super::{Action, FileSystem, MAX_TEXT, Order, Scenario, ScenarioOp, StartFile, Variant, array};
use crate::behaviour::{Behaviours, Profile};
use crate::block::bio::BioOp;
use crate::buffer::Driver;
use crate::device::array::ArrayAct;
use crate::device::fault::{DeviceOp, Misdeed};
use crate::device::zoned::Zones;
use crate::fault::{FaultEffect, FaultPoint};
use crate::fs::prealloc::Prealloc;
use crate::iomap::MapType;
use crate::ops::sync::RangeSync;
use crate::power::Kept;
use crate::units::{Bytes, FileRange};
use core::fmt::{self, Write};

/// The text. What no scenario file says is refused with a sentence: what was written is read back
/// and compared.
pub fn write_scenario(scenario: &Scenario) -> Result<String, String> {
    let mut out = String::new();
    put(scenario, &mut out).expect("a string takes everything");
    if out.len() > MAX_TEXT {
        let len = out.len();
        return Err(format!("written out it has {len} bytes, and a file has at most {MAX_TEXT}"));
    }
    match parse_scenario("what was written", &out) {
        Ok(again) if again == *scenario => Ok(out),
        Ok(again) => {
            Err(format!("no scenario file says {} like this", difference(scenario, &again)))
        }
        Err(error) => Err(format!("this is no scenario of a file: {error}")),
    }
}

/// Which part of a scenario is not as in another one.
fn difference(one: &Scenario, other: &Scenario) -> String {
    let parts = [
        ("its title", one.title == other.title),
        ("its sizes", one.geometry == other.geometry && one.readahead == other.readahead),
        ("its device", one.device == other.device && one.zones == other.zones),
        ("its disks", one.disks == other.disks),
        ("its queue", one.queue == other.queue && one.partition == other.partition),
        ("its array", one.array == other.array && one.array_failed == other.array_failed),
        ("its limits on dirty pages", one.dirty == other.dirty),
        ("its memory", one.kswapd == other.kswapd && one.frames == other.frames),
        ("its tasks", one.tasks == other.tasks && one.order == other.order),
        ("its settings", one.variants == other.variants),
    ];
    let whole = parts.iter().find(|(_, same)| !same).map(|(name, _)| (*name).to_owned());
    let nth = |what: &str, at: Option<usize>| at.map(|at| format!("{what} {at}"));
    let (files, ops, faults) = (&one.files, &one.ops, &one.faults);
    whole
        .or_else(|| nth("file", first_other(files, &other.files)))
        .or_else(|| nth("operation", first_other(ops, &other.ops)))
        .or_else(|| nth("fault", first_other(faults, &other.faults)))
        .unwrap_or_else(|| "its world".to_owned())
}

/// The first of a list that is not in its place of another, counted from 0.
fn first_other<T: PartialEq>(all: &[T], other: &[T]) -> Option<usize> {
    let most = all.len().max(other.len());
    (0..most).find(|at| all.get(*at) != other.get(*at))
}

/// A text as a string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            _ if letter.is_control() => {
                write!(out, "\\u{:04X}", u32::from(letter)).expect("a string takes everything");
            }
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}

fn put(scenario: &Scenario, out: &mut String) -> fmt::Result {
    writeln!(out, "version = {}", super::file::VERSION)?;
    writeln!(out, "title = {}", quoted(&scenario.title))?;
    put_tables(scenario, None, out)?;
    put_disks(scenario, out)?;
    for variant in &scenario.variants {
        put_variant(variant, out)?;
        if let Some(own) = &variant.own {
            let before = out.len();
            put_tables(own, Some(scenario), out)?;
            // It has a table of its own, which says nothing else.
            if out.len() == before {
                writeln!(out, "\n[variant.world]\nkeep_going = {}", own.keep_going)?;
            }
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
            writeln!(out, "file = {}", quoted(&file.name))?;
        }
        if op.task > 0 {
            writeln!(out, "task = {}", quoted(&scenario.tasks[op.task as usize]))?;
        }
    }
    if let Order::Schedule(steps) = &scenario.order {
        steps.iter().try_for_each(|step| write!(out, "\n{}", step.toml()))?;
    }
    scenario.faults.iter().try_for_each(|fault| put_fault(fault, scenario, out))
}

/// A setting as its profile and the switches that differ from it.
fn put_variant(variant: &Variant, out: &mut String) -> fmt::Result {
    let name = quoted(&variant.name);
    writeln!(out, "\n[[variant]]\nname = {name}\nprofile = {:?}", variant.profile)?;
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
    writeln!(out, "\n[[file]]\nname = {}", quoted(&file.name))?;
    if file.on.get() > 0 {
        writeln!(out, "disk = {:?}", disk_name(file.on.get()))?;
    }
    match file.driver {
        None => {}
        Some(Driver::Ext4) => writeln!(out, "path = \"buffer_head_ext4\"")?,
        Some(Driver::BlockDevice | Driver::Ext2) => writeln!(out, "path = \"buffer_head\"")?,
    }
    match file.prealloc {
        Prealloc::Off => {}
        Prealloc::Fixed(len) => writeln!(out, "prealloc = {}", len.get())?,
        Prealloc::Dynamic => writeln!(out, "prealloc = \"dynamic\"")?,
    }
    if let Some(other) = shares {
        return writeln!(out, "shares = {}", quoted(&other.name));
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
            writeln!(out, "source = {}\nsource_at = {}", quoted(source), from.get())
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
            ArrayAct::Replace(member, rows) => {
                writeln!(out, "do = \"replace_member\"\nmember = {}", member.get())?;
                rows.map_or(Ok(()), |rows| writeln!(out, "rows = {rows}"))
            }
            ArrayAct::Rebuild(rows) => {
                writeln!(out, "do = \"rebuild_array\"")?;
                rows.map_or(Ok(()), |rows| writeln!(out, "rows = {rows}"))
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

/// A fault with the operations that it is for, where a name of a file says it.
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
                let name = &scenario.files[file.get() as usize].name;
                lines.push(format!("file = {}", quoted(name)));
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
            lines.push(format!("nth = {}", one.after + 1));
            if one.what != Misdeed::Dies {
                lines.push(format!("times = {}", times(one.times)));
            }
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
