//! The scenario file: TOML, with an integer version first.
//!
//! Version 0 carries no promise. Every error names line, column and field.

use super::devices::{build_device, build_disks};
use super::dirty::{build_dirty, span};
use super::fault::build_faults;
pub use super::fields::ScenarioError;
use super::fields::{self, Problem, Span, locate, number};
use super::random::Random;
use super::raw::{self, Raw, RawOp, RawWorld};
use super::shape;
use super::size::beside;
use super::start::{Taken, build_files};
use super::tasks::{build_order, build_pressure, build_tasks, task_of};
use super::variants::build_variants;
use super::{Action, MAX_FILE, MAX_HELD, MAX_OPS, MAX_TEXT, Scenario, ScenarioOp, StartFile};
use super::{array, keys, queue, together, zoned};
use crate::cache::frame_alloc::FramePolicy;
use crate::device::sim::Timing;
use crate::dirty::DirtyConfig;
use crate::engine::{ReadFlags, WriteFlags};
use crate::geometry::{Geometry, GeometryError, MAX_ORDER};
use crate::ops::advise::Advice;
use crate::ops::fallocate::FallocMode;
use crate::ops::readahead::ReadaheadLimits;
use crate::units::{Blocks, Bytes, FileId, FileRange, Order, Pages, Pos};
use core::ops::Range;
use toml::Spanned;
use toml::de::DeTable;

/// Version that is read.
pub const VERSION: i64 = 0;

/// Reads a scenario. `name` stands in front of errors.
pub fn parse_scenario(name: &str, text: &str) -> Result<Scenario, ScenarioError> {
    let read = parse(text).map_err(|problem| locate(name, text, &problem))?;
    Ok(read.0)
}

/// A scenario, and which of its operations each `[[op]]` has become.
pub(super) fn parse(text: &str) -> Result<(Scenario, Vec<Range<usize>>), Problem> {
    if text.len() > MAX_TEXT {
        let message = format!("the file has {} bytes, and at most {MAX_TEXT} are read", text.len());
        return Err((0..0, message));
    }
    let root = fields::parse(text)?;
    build(&raw::read(&root)?, &root)
}

pub(super) fn build(
    raw: &Raw,
    root: &Spanned<DeTable<'_>>,
) -> Result<(Scenario, Vec<Range<usize>>), Problem> {
    let version = *raw.version.get_ref();
    if version != VERSION {
        let message = format!("version is {version}: this program reads version {VERSION}");
        return Err((raw.version.span(), message));
    }
    let geometry = build_geometry(&raw.world)?;
    let variants = build_variants(raw, root)?;
    let array = raw.array.as_ref().map(array::build).transpose()?;
    let array_failed = array::failed(array.as_ref(), raw)?;
    array::check_ops(array.as_ref(), raw)?;
    let files = build_files(geometry, raw)?;
    let mut ops = Vec::new();
    let tasks = build_tasks(&raw.op)?;
    let mut entries = Vec::new();
    for op in &raw.op {
        let first = ops.len();
        let task = task_of(&tasks, op.get_ref());
        push_ops(&files, op, task, &mut ops)?;
        entries.push(first..ops.len());
    }
    let order = build_order(&tasks, raw)?;
    let faults = build_faults(raw, &files, &entries)?;
    let free_blocks = raw.world.get_ref().free_blocks.as_ref();
    let free_blocks = free_blocks.map(|n| number("free_blocks", n, 0, 1 << 40)).transpose()?;
    let readahead = raw.world.get_ref().readahead.as_ref();
    let readahead = readahead.map_or(ReadaheadLimits::DEFAULT_WINDOW, |window| *window.get_ref());
    check_held(raw, geometry, &files, &ops, readahead)?;
    let disks = build_disks(raw)?;
    let zones = raw.zones.as_ref().map(|zones| zoned::build(geometry, zones)).transpose()?;
    let is_zone = |name: &str| {
        files.iter().any(|file| file.name == name && matches!(file.fs, super::FileSystem::Zone(_)))
    };
    zoned::check_ops(raw, is_zone)?;
    let dirty = raw.dirty.as_ref().map(|dirty| build_dirty(geometry, dirty)).transpose()?;
    let devices = disks.len() as u32 + 1;
    let dirty = dirty.map(|dirty| DirtyConfig { devices, ..dirty });
    let scenario = Scenario {
        title: raw.title.clone(),
        geometry,
        readahead,
        keep_going: raw.world.get_ref().keep_going,
        frames: frames(raw.world.get_ref().scattered),
        variants,
        files,
        device: raw.device.as_ref().map_or(Ok(Timing::Ram), build_device)?,
        disks,
        zones,
        queue: raw.queue.as_ref().map(queue::build).transpose()?,
        partition: raw.partition.as_ref().map_or(Ok(Bytes::ZERO), queue::partition)?,
        tasks,
        dirty,
        kswapd: raw.kswapd.as_ref().map(build_pressure).transpose()?,
        array,
        array_failed,
        ops,
        faults,
        free_blocks: free_blocks.map(Blocks::new),
        order,
    };
    together::check(raw, &scenario)?;
    Ok((scenario, entries))
}

const fn frames(scattered: bool) -> FramePolicy {
    if scattered { FramePolicy::Scattered } else { FramePolicy::Packed }
}

fn build_geometry(world: &Spanned<RawWorld>) -> Result<Geometry, Problem> {
    let RawWorld { page_size, block_size, max_folio_order, .. } = world.get_ref();
    let order = number("max_folio_order", max_folio_order, 0, u64::from(MAX_ORDER))?;
    let made = Geometry::new(*page_size.get_ref(), *block_size.get_ref(), Order::new(order as u8));
    made.map_err(|error| {
        let of_page = matches!(error, GeometryError::Size { what: "page_size", .. });
        let place = if of_page { page_size } else { block_size }.span();
        (place, error.to_string())
    })
}

/// Refuses a scenario whose files would need more memory than a run may have: what they hold at
/// the start, and what is read and written of them.
fn check_held(
    raw: &Raw,
    geometry: Geometry,
    files: &[StartFile],
    ops: &[ScenarioOp],
    readahead: Bytes,
) -> Result<(), Problem> {
    let start = |file: &StartFile| (file.size, file.filled(), Taken::default());
    let mut held: Vec<(Pos, u64, Taken)> = files.iter().map(start).collect();
    // Memory is held in whole pages, or blocks where these are larger.
    let unit = geometry.page_size().max(geometry.block_size()).get();
    for op in ops {
        let (size, bytes, pages) = &mut held[op.file.get() as usize];
        *size = op.action.grows_to(*size);
        let range = if let Action::Fadvise(range, Advice::WillNeed)
        | Action::Fallocate(FallocMode::Unshare, range) = op.action
        {
            range
        } else {
            op.action.touched()
        };
        if range.is_empty() {
            continue;
        }
        let around = matches!(op.action, Action::MmapLoad(_) | Action::MmapStore { .. });
        let ahead = around || matches!(op.action, Action::Pread { .. });
        let window = |on: bool| if on { readahead.get() } else { 0 };
        let first = range.start().get().saturating_sub(window(around)) / unit * unit;
        let end = range.end().get() + window(ahead);
        let end = end.min(size.get()).next_multiple_of(unit);
        if first < end {
            *bytes += pages.cover(first, end);
        }
    }
    let mut all = 0;
    for (entry, (size, bytes, _)) in raw.file.iter().zip(held) {
        all += bytes.min(size.get().next_multiple_of(unit));
        if all > MAX_HELD.get() {
            let [all, most] = beside(Bytes::new(all), MAX_HELD);
            let message = format!(
                "with this file the run would hold {all} in memory, and {most} is the most: make \
                 it, or what is read and written of it, smaller"
            );
            return Err((entry.span(), message));
        }
    }
    Ok(())
}

fn push_ops(
    files: &[StartFile],
    entry: &Spanned<RawOp>,
    task: u32,
    ops: &mut Vec<ScenarioOp>,
) -> Result<(), Problem> {
    let raw = entry.get_ref();
    let file = find_file(files, entry)?;
    let repeat = raw.repeat.as_ref().map_or(Ok(1), |n| number("repeat", n, 1, MAX_OPS as u64))?;
    let byte = raw.byte.as_ref().map(|byte| number("byte", byte, 0, 255)).transpose()?;
    let range = || -> Result<FileRange, Problem> {
        let start = Pos::ZERO + given(raw.at.as_ref());
        Ok(FileRange::between(start, start + needed(entry, "len", raw.len.as_ref())?))
    };
    let then = match &raw.then {
        Some(then) => Some(sync_action(then.get_ref()).ok_or_else(|| {
            let message =
                format!("`{}` cannot follow: expected fsync, fdatasync or syncfs", then.get_ref());
            (then.span(), message)
        })?),
        None => None,
    };
    let mut push = |action| {
        if ops.len() + 1 + usize::from(then.is_some()) > MAX_OPS {
            let message = format!(
                "with this [[op]] there are more than {MAX_OPS} operations: make `repeat` smaller"
            );
            return Err((entry.span(), message));
        }
        ops.push(ScenarioOp { task, file, action });
        ops.extend(then.map(|action| ScenarioOp { task, file, action }));
        Ok(())
    };
    let written = |n: u64| byte.unwrap_or(1 + n % 251) as u8;
    match raw.what.get_ref().as_str() {
        what @ ("pread" | "pwrite" | "pwrite_dsync") => {
            let first = range()?;
            let RawOp { nowait, dontcache, direct, .. } = *raw;
            for n in 0..repeat {
                let start = first.start() + Bytes::new(n * first.len().get());
                let range = FileRange::between(start, start + first.len());
                within(entry.span(), range.end())?;
                let dsync = what == "pwrite_dsync";
                push(if what == "pread" {
                    Action::Pread { range, flags: ReadFlags { dontcache, nowait, direct } }
                } else {
                    let flags = WriteFlags { dsync, dontcache, nowait, direct };
                    Action::Pwrite { range, byte: written(n), flags }
                })?;
            }
        }
        "randwrite" => {
            let whole = FileRange::between(Pos::ZERO, files[file.get() as usize].size);
            let len = range()?.len();
            let blocks = whole.len().get().checked_div(len.get()).unwrap_or(0);
            if blocks == 0 {
                let (len, size) = (len.get(), whole.len().get());
                let message = format!(
                    "len is {len} bytes: expected 1 to {size}, the size of the file at the start"
                );
                return Err((
                    raw.len.as_ref().map_or_else(|| entry.span(), Spanned::span),
                    message,
                ));
            }
            let seed =
                raw.seed.as_ref().map_or(Ok(1), |n| number("seed", n, 0, i64::MAX as u64))?;
            let mut random = Random::new(seed);
            for n in 0..repeat {
                let start = Pos::new(random.below(blocks) * len.get());
                let range = FileRange::between(start, start + len);
                let RawOp { nowait, dontcache, direct, .. } = *raw;
                let flags = WriteFlags { dontcache, nowait, direct, ..WriteFlags::default() };
                push(Action::Pwrite { range, byte: written(n), flags })?;
            }
        }
        _ => {
            let action = plain_action(files, entry, written(0))?;
            for _ in 0..repeat {
                push(action)?;
            }
        }
    }
    Ok(())
}

/// An operation that is no read or write by system call.
fn plain_action(files: &[StartFile], entry: &Spanned<RawOp>, byte: u8) -> Result<Action, Problem> {
    let raw = entry.get_ref();
    match raw.what.get_ref().as_str() {
        "reflink" => {
            let from = Pos::ZERO + given(raw.source_at.as_ref());
            let source = reflink_source(files, entry)?;
            let start = Pos::ZERO + given(raw.at.as_ref());
            let end = start + needed(entry, "len", raw.len.as_ref())?;
            within(entry.span(), end)?;
            Ok(Action::Reflink { source, from, range: FileRange::between(start, end) })
        }
        "reclaim" => {
            let pages = raw.pages.as_ref().ok_or_else(|| missing(entry, "pages"))?;
            Ok(Action::Reclaim(Pages::new(number("pages", pages, 1, MAX_FILE.get())?)))
        }
        "sleep" => Ok(Action::Sleep(span(entry)?)),
        other => {
            let simple = sync_action(other)
                .map_or_else(|| shape::action(entry, byte), |action| Ok(Some(action)))?;
            simple.ok_or_else(|| keys::no_operation(raw.what.span(), other))
        }
    }
}

/// The file whose blocks are linked.
fn reflink_source(files: &[StartFile], entry: &Spanned<RawOp>) -> Result<FileId, Problem> {
    let named = entry.get_ref().source.as_ref();
    let missing =
        || (entry.span(), "`source`, the file to link blocks from, is missing".to_owned());
    let named = named.ok_or_else(missing)?;
    named_file(files, named)
}

/// The file of a name.
pub(super) fn named_file(files: &[StartFile], name: &Spanned<String>) -> Result<FileId, Problem> {
    let at = files.iter().position(|file| file.name == *name.get_ref());
    at.map(|at| FileId::new(at as u32)).ok_or_else(|| {
        let known: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        let (name, known, place) = (name.get_ref(), known.join(", "), name.span());
        (place, format!("no file is called `{name}`: expected one of {known}"))
    })
}

fn sync_action(name: &str) -> Option<Action> {
    match name {
        "fsync" => Some(Action::Fsync),
        "fdatasync" => Some(Action::Fdatasync),
        "syncfs" => Some(Action::Syncfs),
        _ => None,
    }
}

fn find_file(files: &[StartFile], entry: &Spanned<RawOp>) -> Result<FileId, Problem> {
    match &entry.get_ref().file {
        _ if files.is_empty() => {
            Err((entry.span(), "the scenario has no [[file]]: add one".to_owned()))
        }
        None => Ok(FileId::new(0)),
        Some(name) => named_file(files, name),
    }
}

/// An operation lacks a key.
pub(super) fn missing(entry: &Spanned<RawOp>, name: &str) -> Problem {
    let what = entry.get_ref().what.get_ref();
    (entry.span(), format!("`{name}` is missing: `{what}` needs it"))
}

/// A size that an operation must have.
pub(super) fn needed(
    entry: &Spanned<RawOp>,
    name: &str,
    size: Option<&Spanned<Bytes>>,
) -> Result<Bytes, Problem> {
    size.map(|size| *size.get_ref()).ok_or_else(|| missing(entry, name))
}

/// A size, or none of it.
pub(super) fn given(size: Option<&Spanned<Bytes>>) -> Bytes {
    size.map_or(Bytes::ZERO, |size| *size.get_ref())
}

/// Refuses a range that ends where no file may.
pub(super) fn within(place: Span, end: Pos) -> Result<(), Problem> {
    if end <= Pos::ZERO + MAX_FILE {
        return Ok(());
    }
    let (end, most) = (end.get(), MAX_FILE.get());
    let message = format!(
        "it ends at byte {end}: a file may have {most} at most ({MAX_FILE}), end it before"
    );
    Err((place, message))
}
