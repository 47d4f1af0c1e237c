//! The tables of a scenario file as they are written, each value with its place; what they mean is
//! decided in [`super::file`].
//!
//! Read by hand and not by serde: the page carries this code, and derived readers of values with
//! places are a third of its size.

use super::fields::{
    Fields, Problem, Span, Switches, boolean, integer, integers, label, size, times,
};
use super::keys::{self, Key, names};
use super::start::prealloc;
use super::variants::OWN;
use crate::fs::prealloc::Prealloc;
use crate::units::Bytes;
use toml::Spanned;
use toml::de::DeTable;

pub(super) struct Raw {
    pub(super) version: Spanned<i64>,
    pub(super) title: String,
    pub(super) profile: Option<Spanned<String>>,
    pub(super) switches: Switches,
    pub(super) world: Spanned<RawWorld>,
    pub(super) device: Option<RawDevice>,
    pub(super) disk: Vec<Spanned<RawDisk>>,
    pub(super) zones: Option<RawZones>,
    pub(super) queue: Option<Spanned<RawQueue>>,
    pub(super) partition: Option<RawPartition>,
    pub(super) dirty: Option<RawDirty>,
    pub(super) kswapd: Option<RawKswapd>,
    pub(super) array: Option<Spanned<RawArray>>,
    pub(super) variant: Vec<RawVariant>,
    pub(super) file: Vec<Spanned<RawFile>>,
    pub(super) op: Vec<Spanned<RawOp>>,
    pub(super) fault: Vec<Spanned<RawFault>>,
    pub(super) run: Option<RawRun>,
    pub(super) schedule: Vec<Spanned<RawStep>>,
}

pub(super) struct RawRun {
    pub(super) seed: Spanned<i64>,
}

pub(super) struct RawStep {
    pub(super) task: Spanned<String>,
    pub(super) until: Spanned<String>,
    pub(super) at: Option<Spanned<Bytes>>,
    pub(super) n: Option<Spanned<i64>>,
}

pub(super) struct RawWorld {
    pub(super) page_size: Spanned<Bytes>,
    pub(super) block_size: Spanned<Bytes>,
    pub(super) max_folio_order: Spanned<i64>,
    pub(super) readahead: Option<Spanned<Bytes>>,
    pub(super) keep_going: bool,
    pub(super) scattered: bool,
    pub(super) free_blocks: Option<Spanned<i64>>,
}

/// The zones of the device, which stand in its table.
pub(super) struct RawZones {
    pub(super) size: Spanned<Bytes>,
    pub(super) capacity: Option<Spanned<Bytes>>,
    pub(super) conventional: Option<Spanned<i64>>,
}

pub(super) enum RawDevice {
    Queue {
        depth: Spanned<i64>,
        latency_us: Spanned<i64>,
        mib_per_second: Spanned<i64>,
        flush_us: Spanned<i64>,
    },
    /// A disk that turns.
    Disk {
        rpm: Spanned<i64>,
        size: Spanned<Bytes>,
        track: Spanned<Bytes>,
        settle_us: Spanned<i64>,
        seek_us: Spanned<i64>,
        flush_us: Spanned<i64>,
    },
}

/// A device beside the first.
pub(super) struct RawDisk {
    pub(super) name: Spanned<String>,
    pub(super) device: RawDevice,
}

pub(super) struct RawQueue {
    /// By the names of [`QUEUE_SIZES`], in their order.
    pub(super) sizes: Vec<Option<Spanned<Bytes>>>,
    pub(super) max_segments: Option<Spanned<i64>>,
    pub(super) partial_stripes_expensive: bool,
    pub(super) requests: bool,
}

impl RawQueue {
    /// The size that it says by a name of [`QUEUE_SIZES`].
    pub(super) fn size(&self, name: &str) -> Option<&Spanned<Bytes>> {
        let nth = QUEUE_SIZES.iter().position(|known| *known == name)?;
        self.sizes[nth].as_ref()
    }
}

/// The limits of a queue that are sizes.
pub(super) const QUEUE_SIZES: [&str; 9] = [
    "max_size",
    "max_segment_size",
    "segment_boundary",
    "virt_boundary",
    "chunk",
    "logical_block_size",
    "physical_block_size",
    "io_min",
    "io_opt",
];

pub(super) struct RawArray {
    pub(super) level: Spanned<String>,
    pub(super) members: Spanned<i64>,
    pub(super) chunk: Option<Spanned<Bytes>>,
    pub(super) layout: Option<Spanned<String>>,
    pub(super) rows: Option<Spanned<i64>>,
    pub(super) rmw_level: Option<Spanned<i64>>,
    pub(super) consistency: Option<Spanned<String>>,
    pub(super) failed: Option<Spanned<Vec<Spanned<i64>>>>,
}

pub(super) struct RawPartition {
    pub(super) start: Spanned<Bytes>,
}

pub(super) struct RawDirty {
    pub(super) memory: Spanned<Bytes>,
    pub(super) background_ratio: Option<Spanned<i64>>,
    pub(super) background_bytes: Option<Spanned<Bytes>>,
    pub(super) ratio: Option<Spanned<i64>>,
    pub(super) bytes: Option<Spanned<Bytes>>,
    pub(super) writeback_centisecs: Option<Spanned<i64>>,
    pub(super) expire_centisecs: Option<Spanned<i64>>,
}

pub(super) struct RawKswapd {
    pub(super) pages: Spanned<i64>,
    pub(super) times: Option<Spanned<i64>>,
}

pub(super) struct RawVariant {
    pub(super) name: Spanned<String>,
    pub(super) profile: Option<Spanned<String>>,
    pub(super) switches: Switches,
    /// Where the first of its own tables stands.
    pub(super) own: Option<Span>,
}

pub(super) struct RawFile {
    pub(super) name: Spanned<String>,
    pub(super) size: Option<Spanned<Bytes>>,
    pub(super) device: bool,
    pub(super) memory: bool,
    pub(super) fill: Option<Spanned<i64>>,
    pub(super) fs: Option<Spanned<String>>,
    pub(super) path: Option<Spanned<String>>,
    pub(super) sector: Option<Spanned<i64>>,
    pub(super) extent: Vec<Spanned<RawExtent>>,
    pub(super) shares: Option<Spanned<String>>,
    pub(super) prealloc: Option<Spanned<Prealloc>>,
    pub(super) disk: Option<Spanned<String>>,
    pub(super) zone: Option<Spanned<i64>>,
}

pub(super) struct RawExtent {
    pub(super) at: Spanned<Bytes>,
    pub(super) len: Spanned<Bytes>,
    pub(super) kind: Spanned<String>,
    pub(super) sector: Spanned<i64>,
}

pub(super) struct RawOp {
    pub(super) what: Spanned<String>,
    pub(super) task: Option<Spanned<String>>,
    pub(super) file: Option<Spanned<String>>,
    pub(super) at: Option<Spanned<Bytes>>,
    pub(super) len: Option<Spanned<Bytes>>,
    pub(super) byte: Option<Spanned<i64>>,
    pub(super) nowait: bool,
    pub(super) direct: bool,
    pub(super) source: Option<Spanned<String>>,
    pub(super) source_at: Option<Spanned<Bytes>>,
    pub(super) pages: Option<Spanned<i64>>,
    pub(super) repeat: Option<Spanned<i64>>,
    pub(super) seed: Option<Spanned<i64>>,
    pub(super) then: Option<Spanned<String>>,
    pub(super) size: Option<Spanned<Bytes>>,
    pub(super) mode: Option<Spanned<String>>,
    pub(super) dontcache: bool,
    pub(super) advice: Option<Spanned<String>>,
    pub(super) ms: Option<Spanned<i64>>,
    pub(super) member: Option<Spanned<i64>>,
    pub(super) members: Option<Spanned<Vec<Spanned<i64>>>>,
    pub(super) rows: Option<Spanned<i64>>,
}

pub(super) struct RawFault {
    pub(super) at: Spanned<String>,
    pub(super) op: Option<Spanned<i64>>,
    pub(super) until_op: Option<Spanned<i64>>,
    pub(super) nth: Option<Spanned<i64>>,
    pub(super) times: Option<Spanned<Option<u32>>>,
    pub(super) file: Option<Spanned<String>>,
    pub(super) file_off: Option<Spanned<Bytes>>,
    pub(super) sector: Option<Spanned<i64>>,
    pub(super) sectors: Option<Spanned<i64>>,
    pub(super) copied: Option<Spanned<Bytes>>,
    pub(super) err: Option<Spanned<String>>,
    pub(super) returns: Option<Spanned<String>>,
    pub(super) reaches: Option<Spanned<Bytes>>,
    pub(super) waits: Option<Spanned<i64>>,
}

/// The tables of a file.
pub(super) fn read(root: &Spanned<DeTable<'_>>) -> Result<Raw, Problem> {
    if root.get_ref().is_empty() {
        let message = "the file says nothing: a scenario has `version = 0`, a `title` and a table \
                       [world] with `page_size`, `block_size` and `max_folio_order`, and as a \
                       rule a [[file]] and some [[op]]";
        return Err((0..0, message.to_owned()));
    }
    let fields = Fields::new(root.span(), root.get_ref(), &names(keys::ROOT))?;
    let (world_span, world) = fields.table("world")?.ok_or_else(|| fields.missing("world"))?;
    let device = fields.table("device")?;
    let queue = fields.table("queue")?;
    let partition = fields.table("partition")?;
    let run = fields.table("run")?;
    let dirty = fields.table("dirty")?;
    let kswapd = fields.table("kswapd")?;
    let array = fields.table("array")?;
    Ok(Raw {
        version: fields.need("version", integer)?,
        title: fields.need("title", label)?.into_inner(),
        profile: fields.may("profile", label)?,
        switches: fields.switches()?,
        world: Spanned::new(world_span.clone(), world_of(world_span, world)?),
        disk: fields.list("disk", disk_of)?,
        zones: device.as_ref().map_or(Ok(None), |(span, table)| zones_of(span.clone(), table))?,
        device: device.map_or(Ok(None), |(span, table)| device_of(span, table))?,
        queue: queue
            .map(|(span, table)| Ok(Spanned::new(span.clone(), queue_of(span, table)?)))
            .transpose()?,
        partition: partition.map(|(span, table)| partition_of(span, table)).transpose()?,
        dirty: dirty.map(|(span, table)| dirty_of(span, table)).transpose()?,
        kswapd: kswapd.map(|(span, table)| kswapd_of(span, table)).transpose()?,
        array: array
            .map(|(span, table)| Ok(Spanned::new(span.clone(), array_of(span, table)?)))
            .transpose()?,
        variant: fields.list("variant", variant_of)?.into_iter().map(Spanned::into_inner).collect(),
        file: fields.list("file", file_of)?,
        op: fields.list("op", op_of)?,
        fault: fields.list("fault", fault_of)?,
        run: run.map(|(span, table)| run_of(span, table)).transpose()?,
        schedule: fields.list("schedule", step_of)?,
    })
}

fn world_of(span: Span, table: &DeTable<'_>) -> Result<RawWorld, Problem> {
    let fields = Fields::new(span, table, &names(keys::WORLD))?;
    Ok(RawWorld {
        page_size: fields.need("page_size", size)?,
        block_size: fields.need("block_size", size)?,
        max_folio_order: fields.need("max_folio_order", integer)?,
        readahead: fields.may("readahead", size)?,
        keep_going: fields.may("keep_going", boolean)?.is_some_and(Spanned::into_inner),
        scattered: fields.may("scattered", boolean)?.is_some_and(Spanned::into_inner),
        free_blocks: fields.may("free_blocks", integer)?,
    })
}

fn zones_of(span: Span, table: &DeTable<'_>) -> Result<Option<RawZones>, Problem> {
    if !zoned(table) {
        return Ok(None);
    }
    let known = [keys::QUEUED, keys::DISK, keys::ZONES].concat();
    let fields = Fields::new(span, table, &names(&known))?;
    Ok(Some(RawZones {
        size: fields.need("zone_size", size)?,
        capacity: fields.may("zone_capacity", size)?,
        conventional: fields.may("conventional_zones", integer)?,
    }))
}

/// Whether a table says how zones lie.
fn zoned(table: &DeTable<'_>) -> bool {
    keys::ZONES.iter().any(|key| table.get(key.name).is_some())
}

fn disk_of(span: Span, table: &DeTable<'_>) -> Result<RawDisk, Problem> {
    let known: Vec<&str> = table.keys().map(|key| key.get_ref().as_ref()).collect();
    let name = Fields::new(span.clone(), table, &known)?.need("name", label)?;
    Ok(RawDisk {
        name,
        device: timing_of(span, table, &[Key { name: "name", kind: keys::Kind::Text }])?,
    })
}

/// How long the device takes; none where the table speaks of zones only.
fn device_of(span: Span, table: &DeTable<'_>) -> Result<Option<RawDevice>, Problem> {
    let of_zones = names(keys::ZONES);
    if zoned(table) && table.keys().all(|key| of_zones.contains(&key.get_ref().as_ref())) {
        return Ok(None);
    }
    timing_of(span, table, keys::ZONES).map(Some)
}

/// How long a device takes, from a table that may have some more fields.
fn timing_of(span: Span, table: &DeTable<'_>, more: &[Key]) -> Result<RawDevice, Problem> {
    if table.get("rpm").is_some() {
        let fields = Fields::new(span, table, &names(&[keys::DISK, more].concat()))?;
        return Ok(RawDevice::Disk {
            rpm: fields.need("rpm", integer)?,
            size: fields.need("size", size)?,
            track: fields.need("track", size)?,
            settle_us: fields.need("settle_us", integer)?,
            seek_us: fields.need("seek_us", integer)?,
            flush_us: fields.need("flush_us", integer)?,
        });
    }
    let fields = Fields::new(span, table, &names(&[keys::QUEUED, more].concat()))?;
    Ok(RawDevice::Queue {
        depth: fields.need("depth", integer)?,
        latency_us: fields.need("latency_us", integer)?,
        mib_per_second: fields.need("mib_per_second", integer)?,
        flush_us: fields.need("flush_us", integer)?,
    })
}

fn queue_of(span: Span, table: &DeTable<'_>) -> Result<RawQueue, Problem> {
    let fields = Fields::new(span, table, &names(keys::QUEUE))?;
    let flag = |name| Ok(fields.may(name, boolean)?.map(Spanned::into_inner));
    Ok(RawQueue {
        sizes: QUEUE_SIZES.iter().map(|name| fields.may(name, size)).collect::<Result<_, _>>()?,
        max_segments: fields.may("max_segments", integer)?,
        partial_stripes_expensive: flag("raid_partial_stripes_expensive")?.unwrap_or(false),
        requests: flag("requests")?.unwrap_or(true),
    })
}

fn array_of(span: Span, table: &DeTable<'_>) -> Result<RawArray, Problem> {
    let fields = Fields::new(span, table, &names(keys::ARRAY))?;
    keys::check_words("array", table)?;
    Ok(RawArray {
        level: fields.need("level", label)?,
        members: fields.need("members", integer)?,
        chunk: fields.may("chunk", size)?,
        layout: fields.may("layout", label)?,
        rows: fields.may("stripe_cache_size", integer)?,
        rmw_level: fields.may("rmw_level", integer)?,
        consistency: fields.may("consistency", label)?,
        failed: fields.may("failed", integers)?,
    })
}

fn partition_of(span: Span, table: &DeTable<'_>) -> Result<RawPartition, Problem> {
    let fields = Fields::new(span, table, &names(keys::PARTITION))?;
    Ok(RawPartition { start: fields.need("start", size)? })
}

fn run_of(span: Span, table: &DeTable<'_>) -> Result<RawRun, Problem> {
    let fields = Fields::new(span, table, &names(keys::RUN))?;
    Ok(RawRun { seed: fields.need("seed", integer)? })
}

fn step_of(span: Span, table: &DeTable<'_>) -> Result<RawStep, Problem> {
    let fields = Fields::new(span, table, &names(keys::SCHEDULE))?;
    Ok(RawStep {
        task: fields.need("task", label)?,
        until: fields.need("until", label)?,
        at: fields.may("at", size)?,
        n: fields.may("n", integer)?,
    })
}

fn dirty_of(span: Span, table: &DeTable<'_>) -> Result<RawDirty, Problem> {
    let fields = Fields::new(span, table, &names(keys::DIRTY))?;
    Ok(RawDirty {
        memory: fields.need("memory", size)?,
        background_ratio: fields.may("background_ratio", integer)?,
        background_bytes: fields.may("background_bytes", size)?,
        ratio: fields.may("ratio", integer)?,
        bytes: fields.may("bytes", size)?,
        writeback_centisecs: fields.may("writeback_centisecs", integer)?,
        expire_centisecs: fields.may("expire_centisecs", integer)?,
    })
}

fn kswapd_of(span: Span, table: &DeTable<'_>) -> Result<RawKswapd, Problem> {
    let fields = Fields::new(span, table, &names(keys::KSWAPD))?;
    Ok(RawKswapd { pages: fields.need("pages", integer)?, times: fields.may("times", integer)? })
}

fn variant_of(span: Span, table: &DeTable<'_>) -> Result<RawVariant, Problem> {
    let known = names(keys::VARIANT);
    let fields = Fields::new(span, table, &known)?;
    let mut own = None;
    for name in OWN {
        let (place, _) = fields.table(name)?.unzip();
        own = own.or(place);
    }
    Ok(RawVariant {
        name: fields.need("name", label)?,
        profile: fields.may("profile", label)?,
        switches: fields.switches()?,
        own,
    })
}

fn file_of(span: Span, table: &DeTable<'_>) -> Result<RawFile, Problem> {
    let fields = Fields::new(span, table, &names(keys::FILE))?;
    keys::check_file(table)?;
    Ok(RawFile {
        name: fields.need("name", label)?,
        size: fields.may("size", size)?,
        device: fields.may("device", boolean)?.is_some_and(Spanned::into_inner),
        memory: fields.may("memory", boolean)?.is_some_and(Spanned::into_inner),
        fill: fields.may("fill", integer)?,
        fs: fields.may("fs", label)?,
        path: fields.may("path", label)?,
        sector: fields.may("sector", integer)?,
        extent: fields.list("extent", extent_of)?,
        shares: fields.may("shares", label)?,
        prealloc: fields.may("prealloc", prealloc)?,
        disk: fields.may("disk", label)?,
        zone: fields.may("zone", integer)?,
    })
}

fn extent_of(span: Span, table: &DeTable<'_>) -> Result<RawExtent, Problem> {
    let fields = Fields::new(span, table, &names(keys::EXTENT))?;
    Ok(RawExtent {
        at: fields.need("at", size)?,
        len: fields.need("len", size)?,
        kind: fields.need("type", label)?,
        sector: fields.need("sector", integer)?,
    })
}

fn op_of(span: Span, table: &DeTable<'_>) -> Result<RawOp, Problem> {
    let fields = Fields::new(span, table, &names(keys::OP))?;
    keys::check_words("op", table)?;
    Ok(RawOp {
        what: fields.need("do", label)?,
        task: fields.may("task", label)?,
        file: fields.may("file", label)?,
        at: fields.may("at", size)?,
        len: fields.may("len", size)?,
        byte: fields.may("byte", integer)?,
        nowait: fields.may("nowait", boolean)?.is_some_and(Spanned::into_inner),
        direct: fields.may("direct", boolean)?.is_some_and(Spanned::into_inner),
        source: fields.may("source", label)?,
        source_at: fields.may("source_at", size)?,
        pages: fields.may("pages", integer)?,
        repeat: fields.may("repeat", integer)?,
        seed: fields.may("seed", integer)?,
        then: fields.may("then", label)?,
        size: fields.may("size", size)?,
        mode: fields.may("mode", label)?,
        dontcache: fields.may("dontcache", boolean)?.is_some_and(Spanned::into_inner),
        advice: fields.may("advice", label)?,
        ms: fields.may("ms", integer)?,
        member: fields.may("member", integer)?,
        members: fields.may("members", integers)?,
        rows: fields.may("rows", integer)?,
    })
}

fn fault_of(span: Span, table: &DeTable<'_>) -> Result<RawFault, Problem> {
    let fields = Fields::new(span, table, &names(keys::FAULT))?;
    keys::check_words("fault", table)?;
    Ok(RawFault {
        at: fields.need("at", label)?,
        op: fields.may("op", integer)?,
        until_op: fields.may("until_op", integer)?,
        nth: fields.may("nth", integer)?,
        times: fields.may("times", times)?,
        file: fields.may("file", label)?,
        file_off: fields.may("file_off", size)?,
        sector: fields.may("sector", integer)?,
        sectors: fields.may("sectors", integer)?,
        copied: fields.may("copied", size)?,
        err: fields.may("err", label)?,
        returns: fields.may("returns", label)?,
        reaches: fields.may("reaches", size)?,
        waits: fields.may("waits", integer)?,
    })
}
