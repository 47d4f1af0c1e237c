//! One case on the engine: its start state, and what is seen while it runs.

use super::device::{self, Port, Shared};
use super::format::{Cached, Completion, FaultWords, Fills, Fs, ReadSubmit, Scenario};
use super::run::Got;
use super::start::{EngineFault, faults_of, fine, indirect, place};
use super::watch::{Seen, Watch};
use super::words::{ALLOC, ExtentKind};
use folioscope_core::behaviour::{Behaviours, Profile, ReadSubmission, StripeAlignment};
use folioscope_core::block::limits::QueueLimits;
use folioscope_core::cache::folio::FolioFlags;
use folioscope_core::cache::frame_alloc::FramePolicy;
use folioscope_core::cache::policy::FolioPolicy;
use folioscope_core::counters::{Counter, Counters};
use folioscope_core::device::store::Store;
use folioscope_core::engine::{Appended, Engine};
use folioscope_core::errno::Errno;
use folioscope_core::fault::FaultPoint;
use folioscope_core::frames::{FrameStore, HeapFrames};
use folioscope_core::fs::cow::CowFork;
use folioscope_core::fs::extents::Extents;
use folioscope_core::fs::zonefs::Zone;
use folioscope_core::fs::{Fork, Manner, Provider, SpaceAllocator};
use folioscope_core::geometry::Geometry;
use folioscope_core::iomap::MapType;
use folioscope_core::ops::readahead::ReadaheadLimits;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::{
    Blocks, Bytes, DevAddr, FileId, FileRange, MAX_POS, Offset, Order, PageIndex, Pos,
};
use folioscope_core::world::{Config, Env};
use std::cell::RefCell;
use std::rc::Rc;

pub(super) struct Traced;

impl Env for Traced {
    type Sink = Recording;
    type Frames = HeapFrames;
}

/// The file that a case is about.
pub(super) const FILE: FileId = FileId::new(0);
/// The file that it links blocks from, if it does.
pub(super) const SOURCE: FileId = FileId::new(1);

/// Appends that nobody waited for yet, and those that have ended since, by operation.
#[derive(Default)]
pub(super) struct Appending {
    pub(super) begun: Vec<(usize, Appended)>,
    pub(super) ended: Vec<(usize, Got)>,
}

/// Shared with the operations that run.
pub(super) type Appends = Rc<RefCell<Appending>>;

/// An extent: offset, length, type, address, whether it is shared.
pub(super) type ExtentSeen = (u64, u64, MapType, Option<u64>, bool);

/// Largest file whose bytes are looked at.
pub(super) const MAX_FILE: u64 = 256 << 20;

/// An engine with its device, and what was seen of both.
pub(super) struct Machine {
    /// Shared with the operations that run.
    pub(super) engine: Rc<Engine<Traced>>,
    pub(super) geometry: Geometry,
    pub(super) port: Shared,
    pub(super) watch: Watch,
    pub(super) seen: Seen,
    pub(super) appends: Appends,
    /// The bytes of the file that blocks are linked from.
    pub(super) source: Vec<u8>,
    faults: Vec<EngineFault>,
    config: Config,
    policy: FolioPolicy,
    /// Counters of engines before a crash, and what setting up counted.
    before: Vec<Counters>,
    seeded: u64,
}

pub(super) fn errno_of(name: &str) -> Option<Errno> {
    Errno::ALL.into_iter().find(|errno| errno.name() == name)
}

pub(super) const fn map_type(kind: ExtentKind) -> MapType {
    match kind {
        ExtentKind::Mapped => MapType::Mapped,
        ExtentKind::Unwritten => MapType::Unwritten,
        ExtentKind::Hole => MapType::Hole,
        ExtentKind::Delalloc => MapType::Delalloc,
        ExtentKind::Inline => MapType::Inline,
    }
}

/// `[off, off + len)` of a file.
pub(super) fn range_of(off: u64, len: u64) -> FileRange {
    let end = off.saturating_add(len).min(MAX_POS);
    FileRange::between(Pos::new(off.min(end)), Pos::new(end))
}

fn geometry_of(scenario: &Scenario) -> Result<(Geometry, Order), String> {
    let page = scenario.page.unwrap_or(4096);
    let block = scenario.bs.ok_or("the scenario lacks bs")?;
    let cached = scenario.cache.first().map_or(0, |cached| cached.order);
    let wanted = scenario.folio_order.unwrap_or(cached);
    let large = scenario.large_folios.unwrap_or(wanted > 0);
    let least = (block / page.max(1)).max(1).ilog2() as u8;
    let largest = scenario.cache.iter().map(|cached| cached.order).max().unwrap_or(0);
    let max = if large { wanted.max(least) } else { least };
    let order = Order::new(max);
    Geometry::new(Bytes::new(page), Bytes::new(block), Order::new(max.max(largest)))
        .map(|geometry| (geometry, order))
        .map_err(|error| error.to_string())
}

/// The queue of the case's device: no limit but that of a bio, and its stripes.
fn queue_of(scenario: &Scenario, stripes: StripeAlignment) -> Result<QueueLimits, String> {
    let Some(dev) = &scenario.dev else { return Ok(QueueLimits::NONE) };
    let width = dev.chunk.unwrap_or(0).checked_mul(dev.data_disks.unwrap_or(1));
    let width = width.ok_or("chunk x data_disks of `dev` does not fit 64 bits")?;
    let io_opt = Bytes::new(dev.io_opt.unwrap_or(width));
    let partial_stripes_expensive = dev.raid_partial_stripes_expensive.unwrap_or(false);
    let limits = QueueLimits { io_opt, partial_stripes_expensive, ..QueueLimits::NONE };
    let chunk = limits.stripe().filter(|_| stripes == StripeAlignment::BlockSplit);
    Ok(QueueLimits { chunk: chunk.unwrap_or(Bytes::ZERO), ..limits })
}

impl Machine {
    pub(super) fn new(scenario: &Scenario, fs: Fs, profile: Profile) -> Result<Self, String> {
        let (geometry, order) = geometry_of(scenario)?;
        let mut behaviours = profile.behaviours;
        if scenario.read_submit == ReadSubmit::Immediate {
            behaviours.read_submission = ReadSubmission::Immediate;
        }
        if let Some(words) = scenario.behaviours.as_ref().and_then(|all| all.stripe_alignment) {
            behaviours.stripe_alignment = words.switch();
        }
        let config = Config {
            geometry,
            behaviours,
            stable_writes: false,
            frames: FramePolicy::Scattered,
            space: SpaceAllocator::new(
                DevAddr::new(ALLOC),
                scenario.free_blocks.map(|n| geometry.blocks_bytes(Blocks::new(n))),
            ),
            readahead: ReadaheadLimits::new(geometry, Bytes::new(scenario.ra_bytes), Bytes::ZERO),
            queue: Some(queue_of(scenario, behaviours.stripe_alignment)?),
            partition: Bytes::ZERO,
        };
        let size = scenario.i_size.unwrap_or(0);
        let mut disk = Store::stale(scenario.dev_stale_fill.map_or(0, |fill| fill.0));
        let manner = if fs == Fs::Xfs { Manner::Xfs } else { Manner::Generic };
        let mut extents = Extents::new(geometry).in_manner(manner);
        let tail = scenario.tail_fill.map_or(0, |fill| fill.0);
        let shares = scenario.extents.iter().any(|extent| extent.shared);
        let links = scenario.source_file.is_some();
        if shares || links || scenario.cow_extsize > 0 || !scenario.cow_reservation.is_empty() {
            let hint = Bytes::new(scenario.cow_extsize).max(geometry.block_size());
            extents.set_cow_hint(hint);
            for (off, len) in &scenario.cow_reservation {
                extents.reserve_cow(range_of(*off, *len));
            }
        }
        for extent in scenario.extents.iter().filter(|_| !scenario.sub_block_extents) {
            place(&mut extents, &mut disk, extent, (size, tail), geometry)?;
        }
        let source = match &scenario.source_file {
            None => None,
            Some(file) => {
                let mut extents = Extents::new(geometry).in_manner(manner);
                extents.set_cow_hint(Bytes::new(scenario.cow_extsize).max(geometry.block_size()));
                for extent in &file.extents {
                    place(&mut extents, &mut disk, extent, (file.i_size, tail), geometry)?;
                }
                Some((file.i_size, Provider::Extents(extents)))
            }
        };
        let (engine_faults, bio_faults) = faults_of(&scenario.faults)?;
        let at_submit = scenario.completion == Completion::AtSubmit;
        let port = Rc::new(RefCell::new(Port::new(disk, bio_faults, at_submit)));
        let policy = FolioPolicy::Fixed(order);
        let mut machine = Self {
            engine: Rc::new(Engine::new(
                config.clone(),
                HeapFrames::new(geometry.page_size()),
                Recording::default(),
            )),
            geometry,
            port,
            watch: Watch::new(geometry),
            seen: Seen::default(),
            appends: Rc::default(),
            source: Vec::new(),
            faults: engine_faults,
            config,
            policy,
            before: Vec::new(),
            seeded: 0,
        };
        let disk_size = scenario.disk_size.unwrap_or(size);
        let provider = match fs {
            _ if scenario.sub_block_extents => fine(scenario, geometry),
            Fs::Ext2 => Provider::Indirect(indirect(&extents, &scenario.metadata, geometry)?),
            Fs::Zonefs => {
                let zone = scenario.zone.as_ref().ok_or("the scenario lacks zone")?;
                let capacity = Bytes::new(zone.capacity);
                let provider = Zone::sequential(DevAddr::new(zone.dev_off), capacity);
                Provider::Zone(provider.written_to(Pos::new(zone.write_pointer)))
            }
            Fs::Generic | Fs::Xfs | Fs::F2fs | Fs::Gfs2 | Fs::Blockdev | Fs::None => {
                Provider::Extents(extents)
            }
        };
        machine.open((size, disk_size), provider, source);
        if let Some(free) = scenario.free_blocks {
            machine.engine.limit_space(geometry.blocks_bytes(Blocks::new(free)));
        }
        machine.source = scenario
            .source_file
            .as_ref()
            .map_or_else(Vec::new, |file| machine.bytes_on_device(SOURCE, file.i_size));
        for cached in &scenario.cache {
            machine.seed(cached)?;
        }
        machine.seeded = machine.engine.counters().get(Counter::FoliosCreated);
        machine.engine.set_writeback_index(FILE, PageIndex::new(scenario.writeback_index));
        machine.follow();
        Ok(machine)
    }
    fn open(
        &mut self,
        (size, disk_size): (u64, u64),
        provider: Provider,
        source: Option<(u64, Provider)>,
    ) {
        self.engine.open(Pos::new(size), provider);
        if let Some((size, provider)) = source {
            self.engine.open(Pos::new(size), provider);
        }
        self.engine.set_disk_size(FILE, Pos::new(disk_size));
        self.engine.set_folio_policy(self.policy);
        self.engine.set_at_submit(device::at_submit(&self.port));
    }
    fn seed(&mut self, cached: &Cached) -> Result<(), String> {
        let geometry = self.geometry;
        let order = Order::new(cached.order);
        let (size, page) = (geometry.folio_size(order).get(), geometry.page_size().get());
        let blocks = size.div_ceil(geometry.block_size().get()) as usize;
        let bits = |bits: &[bool], what: &str| {
            if bits.len() == blocks {
                return Ok(());
            }
            Err(format!(
                "the folio cached at {} has {blocks} blocks, {what} {}",
                cached.off,
                bits.len()
            ))
        };
        bits(&cached.uptodate.0, "uptodate")?;
        bits(&cached.dirty.0, "dirty")?;
        if !cached.off.is_multiple_of(size) {
            return Err(format!("the folio cached at {} is not aligned to its order", cached.off));
        }
        let mut bytes = vec![0; size as usize];
        match &cached.fill {
            None => {}
            Some(Fills::One(fill)) => bytes.fill(fill.0),
            Some(Fills::Runs(runs)) => {
                for (off, len, fill) in runs {
                    let start = off.saturating_sub(cached.off).min(size) as usize;
                    let end =
                        off.saturating_add(*len).saturating_sub(cached.off).min(size) as usize;
                    bytes[start..end.max(start)].fill(fill.0);
                }
            }
        }
        let pairs: Vec<(bool, bool)> =
            cached.uptodate.0.iter().copied().zip(cached.dirty.0.iter().copied()).collect();
        let index = PageIndex::new(cached.off / page);
        if self.engine.seed(FILE, index, order, &pairs, &bytes) {
            return Ok(());
        }
        Err(format!("the folio cached at {} overlaps another one", cached.off))
    }
    /// Reads the trace to its end.
    pub(super) fn follow(&mut self) {
        let Self { engine, watch, seen, .. } = self;
        engine.look(|world| watch.follow(world.sink(), seen));
    }
    /// The switches of this run.
    pub(super) const fn behaviours(&self) -> Behaviours {
        self.config.behaviours
    }
    /// Arms the faults of an operation, or takes back what is left of them.
    pub(super) fn arm(&mut self, op: usize, on: bool) {
        let meant = |words: &FaultWords| {
            words.op.is_none_or(|of| of == op) && words.until_op.is_none_or(|to| op <= to)
        };
        let mine: Vec<usize> =
            (0..self.faults.len()).filter(|at| meant(&self.faults[*at].words)).collect();
        if on {
            self.engine.replace_faults(mine.iter().map(|at| self.faults[*at].fault).collect());
            return;
        }
        let back = self.engine.replace_faults(Vec::new());
        for (at, fault) in mine.into_iter().zip(back) {
            self.faults[at].fault = fault;
        }
    }
    /// How often faults of writeback's mapping call fired.
    pub(super) fn map_faults(&self) -> u64 {
        let of_maps = self.faults.iter().filter(|one| one.fault.point == FaultPoint::MapBlocks);
        of_maps.map(|one| u64::from(one.fault.fired)).sum()
    }
    /// The value of a counter over the whole case.
    pub(super) fn counter(&self, counter: Counter) -> u64 {
        let earlier: u64 = self.before.iter().map(|counters| counters.get(counter)).sum();
        let all = earlier + self.engine.counters().get(counter);
        if counter == Counter::FoliosCreated { all - self.seeded } else { all }
    }
    /// Loses the cache and all that is not on the device, and opens the file again.
    pub(super) fn crash(&mut self) {
        self.follow();
        self.port.borrow_mut().crash();
        let (_, disk_size) = self.sizes();
        let whole = range_of(0, MAX_POS);
        let provider = self.engine.with_provider(FILE, |provider| {
            provider.cancel_shared(whole, &[]);
            provider.discard(whole);
            // A zone is written as far as its file is long.
            if let Provider::Zone(zone) = provider {
                return Provider::Zone(zone.written_to(Pos::new(disk_size)));
            }
            provider.clone()
        });
        let source = self.watch.model.file(SOURCE).map(|file| {
            let provider = self.engine.with_provider(SOURCE, |provider| provider.clone());
            (file.disk_size().get(), provider)
        });
        // Space that was given out stays given out.
        let used = self.extents().iter().filter_map(|row| row.3.map(|addr| addr + row.1)).max();
        if let Some(end) = used {
            self.config.space.skip_to(DevAddr::new(end));
        }
        self.before.push(self.engine.counters());
        let frames = HeapFrames::new(self.geometry.page_size());
        self.engine = Rc::new(Engine::new(self.config.clone(), frames, Recording::default()));
        self.watch = Watch::new(self.geometry);
        self.open((disk_size, disk_size), provider, source);
        self.follow();
    }
    /// `i_size` and the size that the device has recorded.
    pub(super) fn sizes(&self) -> (u64, u64) {
        let file = self.watch.model.file(FILE);
        file.map_or((0, 0), |file| (file.size().get(), file.disk_size().get()))
    }
    /// Every extent of the data fork; one that is shared in part is cut.
    pub(super) fn extents(&self) -> Vec<ExtentSeen> {
        self.extents_of(FILE)
    }
    fn extents_of(&self, file: FileId) -> Vec<ExtentSeen> {
        let mut out = Vec::new();
        self.engine.with_provider(file, |provider| {
            let provider: &Provider = provider;
            let shared = if let Provider::Extents(fs) = provider {
                fs.cow().map(CowFork::shared)
            } else {
                None
            };
            for map in provider.extents(self.geometry) {
                let mut at = map.range.start();
                while at < map.range.end() {
                    let found = shared.map(|shared| shared.lookup(at, map.range.end()));
                    let end = found.map_or(map.range.end(), |found| found.range.end());
                    let end = end.min(map.range.end());
                    let on = found.is_some_and(|found| found.kind != MapType::Hole);
                    let addr = map.addr_of(at).map(DevAddr::get);
                    out.push((at.get(), end.since(at).get(), map.kind, addr, on));
                    at = end;
                }
            }
        });
        out
    }
    /// Every extent of the CoW fork.
    pub(super) fn cow_extents(&self) -> Vec<ExtentSeen> {
        let forks = self.engine.with_provider(FILE, |provider| provider.forks(self.geometry));
        let cow = forks.into_iter().filter(|(fork, _)| *fork == Fork::Cow);
        cow.map(|(_, map)| {
            let addr = map.addr.map(DevAddr::get);
            (map.range.start().get(), map.range.len().get(), map.kind, addr, false)
        })
        .collect()
    }
    /// Bytes of blocks that are allocated or promised.
    pub(super) fn taken(&self) -> u64 {
        self.extents().iter().chain(&self.cow_extents()).map(|row| row.1).sum()
    }
    /// The bytes that the device would give for a file of `size` bytes.
    pub(super) fn device_bytes(&self, size: u64) -> Vec<u8> {
        self.bytes_on_device(FILE, size)
    }
    fn bytes_on_device(&self, file: FileId, size: u64) -> Vec<u8> {
        let mut out = vec![0; size as usize];
        let port = self.port.borrow();
        for (off, len, kind, addr, _) in self.extents_of(file) {
            let (start, end) = (off.min(size) as usize, (off + len).min(size) as usize);
            if let (MapType::Mapped, Some(addr)) = (kind, addr) {
                port.disk.read(DevAddr::new(addr), &mut out[start..end]);
            }
        }
        out
    }
    /// Cached blocks that are valid: offset, whether dirty, bytes.
    pub(super) fn cached_blocks(&self) -> Vec<(u64, bool, Vec<u8>)> {
        let geometry = self.geometry;
        let block = geometry.block_size();
        let mut out = Vec::new();
        let folios = self.watch.model.folios().map(|(_, folio)| folio);
        for folio in folios.filter(|folio| folio.place().file == FILE) {
            let start = geometry.page_pos(folio.place().index).get();
            let all = folio.flags().has(FolioFlags::UPTODATE);
            for at in 0..folio.blocks() {
                if !(all || folio.is_uptodate(at)) {
                    continue;
                }
                let offset = Offset::new(u64::from(at) * block.get());
                let bytes = self
                    .engine
                    .with_frames(|frames| frames.bytes(folio.pfn(), offset, block).to_vec());
                let dirty = folio.flags().has(FolioFlags::DIRTY) && folio.is_dirty(at);
                out.push((start + offset.get(), dirty, bytes));
            }
        }
        out.sort_by_key(|block| block.0);
        out
    }
    /// Bytes `[off, off + len)` as a mapping shows them: what is not cached is zero here.
    pub(super) fn cached_bytes(&self, off: u64, len: u64) -> Vec<u8> {
        let mut out = vec![0; len as usize];
        for (at, _, bytes) in self.cached_blocks() {
            let (start, end) = (at.max(off), (at + bytes.len() as u64).min(off + len));
            if start < end {
                let from = &bytes[(start - at) as usize..(end - at) as usize];
                out[(start - off) as usize..(end - off) as usize].copy_from_slice(from);
            }
        }
        out
    }
    /// The bytes of the file: from the cache where it is valid, else as the mapping says.
    pub(super) fn file_bytes(&self) -> Vec<u8> {
        let size = self.sizes().0;
        let mut out = self.device_bytes(size);
        for (off, _, bytes) in self.cached_blocks() {
            let (start, end) = (off.min(size), (off + bytes.len() as u64).min(size));
            out[start as usize..end as usize].copy_from_slice(&bytes[..(end - start) as usize]);
        }
        out
    }
}
