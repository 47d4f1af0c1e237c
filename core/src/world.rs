//! The world: every file, folio, bio and counter of one engine, as plain data.
//!
//! All changes go through methods that also note the old and the new value for the trace. Where the
//! sink records nothing (`Sink::ON` is false) these notes are not compiled at all.

use crate::behaviour::Behaviours;
use crate::block::bio::{Bio, BioEnd, BioState};
use crate::block::limits::QueueLimits;
use crate::block::queue::Queue;
use crate::block::request::Request;
use crate::buffer::{BufferIo, Driver};
use crate::cache::folio::{Folio, FolioFlags, NO_IFS, Slab};
use crate::cache::frame_alloc::{FrameAllocator, FramePolicy};
use crate::cache::ifs::{Half, Ifs};
use crate::cache::lru::Lru;
use crate::cache::mapping::Mapping;
use crate::cache::policy::FolioPolicy;
use crate::cache::workingset::Shadows;
use crate::check::Written;
use crate::check::invariants::{holds_in, name};
use crate::check::mutant::Mutant;
use crate::counters::{Counter, Counters};
use crate::dirty::Dirt;
use crate::errno::Errno;
use crate::fault::Faults;
use crate::frames::FrameStore;
use crate::fs::zonefs::ZoneOp;
use crate::fs::{Fork, Provider, SpaceAllocator};
use crate::geometry::Geometry;
use crate::iomap::Iomap;
use crate::journal::Journal;
use crate::locks::RwSem;
use crate::ops::direct::Dio;
use crate::ops::mmap::MemoryMap;
use crate::ops::readahead::{ReadaheadLimits, Window};
use crate::ops::{OpKind, OpResult};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::trace::array::ArrayState;
use crate::trace::delta::{Delta, DeltaKind};
use crate::trace::model::FileState;
use crate::trace::rule::Rule;
use crate::trace::sink::Sink;
use crate::trace::step::{Context, Step};
use crate::units::{
    BdiId, BioId, BlockNo, Bytes, DevAddr, FileId, FileRange, FolioId, OpId, PageIndex, Pos,
    RequestId, TaskId, Time,
};
use std::collections::VecDeque;

/// What a host chooses: where steps go, and who owns the memory of the cache.
pub trait Env {
    /// Where steps go.
    type Sink: Sink;
    /// Memory of the cache.
    type Frames: FrameStore;
}

/// Sizes and rules of a world.
#[derive(Clone, Debug)]
pub struct Config {
    /// Page, block and folio sizes.
    pub geometry: Geometry,
    /// Every switch.
    pub behaviours: Behaviours,
    /// A folio under writeback is not written into. On where the device reads the memory later.
    pub stable_writes: bool,
    /// Which page frames folios get.
    pub frames: FramePolicy,
    /// Where new blocks lie.
    pub space: SpaceAllocator,
    /// How far reads look ahead.
    pub readahead: ReadaheadLimits,
    /// The request queue that bios go through; none: they go straight to the device.
    pub queue: Option<QueueLimits>,
    /// Where the partition that holds the files begins on its disk.
    pub partition: Bytes,
}

/// A device inside submission: takes the data of a bio at once, and may end it there. None: it goes
/// to the host as an effect.
pub type AtSubmit<F> = Box<dyn FnMut(&Bio, &mut F) -> Option<Result<(), Errno>>>;

/// What the host must do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Carry out a bio, then call `handle_bio_end`.
    Submit(Bio),
    /// Carry out a request, then call `handle_request_end`, or `handle_bio_end` for each of its
    /// bios.
    Issue(Request),
    /// Make everything that completed before durable, then call `handle_flush_end`.
    Flush(FlushId),
    /// Set the size of the file that stands for the device, then call `handle_flush_end`.
    SetSize(FlushId, FileId, Bytes),
    /// Do this to the zone that begins there, then call `handle_flush_end`.
    Zone(FlushId, DevAddr, ZoneOp),
}

/// A flush, a change of the target's size or something done to a zone that the host was asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FlushId(pub(crate) u32);

/// A file: its sizes, its cache, where its bytes lie, and its errors.
#[derive(Clone, Debug)]
pub struct Inode {
    pub(crate) size: Pos,
    pub(crate) disk_size: Pos,
    pub(crate) mapping: Mapping,
    pub(crate) provider: Provider,
    /// The file of the host is as long as its last block: set to `i_size` before a flush.
    pub(crate) sized_target: bool,
    /// Errors recorded so far, the last one, and how many were reported to this file.
    pub(crate) errors: u32,
    pub(crate) last_error: Errno,
    /// One that nobody was told of (`AS_EIO`, `AS_ENOSPC`).
    pub(crate) sticky: Option<Errno>,
    pub(crate) reported: u32,
    /// Direct reads and writes in flight (`i_dio_count`).
    pub(crate) direct: u32,
    /// When it last went from clean to dirty: the order of it, and the time.
    pub(crate) dirtied: Option<u64>,
    pub(crate) dirtied_when: Time,
    /// The device that its dirty pages are counted for.
    pub(crate) bdi: BdiId,
    pub(crate) window: Window,
    pub(crate) memory_map: MemoryMap,
    /// Where cyclic writeback goes on (`writeback_index`).
    pub(crate) writeback_index: PageIndex,
    /// What reclaimed folios left behind.
    pub(crate) shadows: Shadows,
    /// Its folios are not to be reclaimed (`mapping_set_unevictable`).
    pub(crate) unevictable: bool,
    /// The inode lock and the invalidate lock, by [`crate::locks::Lock`].
    pub(crate) locks: [RwSem; 2],
    /// Who keeps its blocks in buffers; none: iomap.
    pub(crate) driver: Option<Driver>,
}

/// Why a bio exists: decides what its completion does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// Fills folios that are locked until it ends.
    ReadFolio,
    /// Somebody waits for it.
    SyncRead,
    /// Writes dirty ranges of folios.
    Ioend,
    /// A piece of the direct read or write that this operation is.
    Direct(OpId),
    /// Carries buffers.
    Buffer(BufferIo),
}

impl Purpose {
    /// Whether a task waits for this bio by itself, and takes its result.
    pub(crate) const fn is_waited_for(self) -> bool {
        matches!(self, Self::SyncRead | Self::Buffer(BufferIo::Begin))
    }
}

/// A bio with what the engine knows of it.
#[derive(Clone, Debug)]
pub(crate) struct BioEntry {
    pub(crate) bio: Bio,
    pub(crate) purpose: Purpose,
    pub(crate) state: BioState,
    pub(crate) end: BioEnd,
    /// Its completion is a worker's, which was decided when it was sent.
    pub(crate) deferred: bool,
    pub(crate) error: Option<Errno>,
    /// Its last request.
    pub(crate) request: Option<RequestId>,
    /// Where the queue cut it: device address, with the code of the reason in the low bits.
    pub(crate) cuts: Vec<u64>,
    /// Parts of it that have not ended.
    pub(crate) parts: u32,
    /// The requests that hold them.
    pub(crate) requests: Vec<RequestId>,
}

impl BioEntry {
    /// Whether the device has it.
    pub(crate) fn is_in_flight(&self) -> bool {
        self.state == BioState::InFlight
    }
}

/// An operation that runs, or ended a moment ago.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpEntry {
    pub(crate) kind: OpKind,
    pub(crate) task: TaskId,
    pub(crate) file: FileId,
    pub(crate) pos: Pos,
    pub(crate) len: Bytes,
    pub(crate) result: Option<OpResult>,
}

/// On whose behalf the engine works right now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) task: TaskId,
    pub(crate) op: Option<OpId>,
    pub(crate) context: Context,
}

/// Everything.
pub struct World<E: Env> {
    pub(crate) config: Config,
    pub(crate) memory: E::Frames,
    pub(crate) pfns: FrameAllocator,
    pub(crate) folios: Slab<Folio>,
    pub(crate) states: Slab<Ifs>,
    pub(crate) files: Vec<Inode>,
    pub(crate) bios: OrderedMap<BioId, BioEntry>,
    pub(crate) queue: Queue,
    pub(crate) ops: OrderedMap<OpId, OpEntry>,
    pub(crate) effects: VecDeque<Effect>,
    pub(crate) flushes: Vec<(FlushId, Option<Result<(), Errno>>)>,
    pub(crate) counters: Counters,
    /// The array behind the device, where a trace wants to know.
    pub(crate) array: ArrayState,
    pub(crate) now: Time,
    /// Moments at which somebody may go on though nothing happens.
    pub(crate) timers: OrderedSet<Time>,
    /// Limits on dirty pages; none: there are no limits.
    pub(crate) dirt: Option<Box<Dirt>>,
    pub(crate) caller: Caller,
    pub(crate) next_bio: u32,
    pub(crate) next_op: u32,
    pub(crate) next_flush: u32,
    pub(crate) dirty_clock: u64,
    pub(crate) faults: Faults,
    pub(crate) journal: Journal,
    /// Writes that completed on the device, where it tells.
    pub(crate) writes_completed: u64,
    /// Bytes that files may take in all; none = no limit.
    pub(crate) space_total: Option<Bytes>,
    pub(crate) folio_policy: FolioPolicy,
    pub(crate) lru: Lru,
    /// Bios whose completion waits for the worker of their file.
    pub(crate) deferred: Vec<BioId>,
    /// Direct reads and writes under way.
    pub(crate) dios: OrderedMap<OpId, Dio>,
    /// That worker runs only when the host says so.
    pub(crate) workers_wait: bool,
    pub(crate) at_submit: Option<AtSubmit<E::Frames>>,
    /// A broken invariant is counted and shown and stops nothing, whatever the build.
    pub(crate) keep_going: bool,
    /// The invariant that broke last on the way, and where.
    broken: Option<(u8, Pos)>,
    /// A rule that is left out.
    pub(crate) mutant: Option<Mutant>,
    /// What of the device holds what files have, where a trace is.
    pub(crate) written: Written,
    sink: E::Sink,
    pending: Vec<Delta>,
}

impl<E: Env> World<E> {
    /// A world without files.
    pub(crate) fn new(config: Config, memory: E::Frames, sink: E::Sink) -> Self {
        let pfns = FrameAllocator::new(config.frames.clone());
        Self {
            config,
            memory,
            pfns,
            folios: Slab::default(),
            states: Slab::default(),
            files: Vec::new(),
            bios: OrderedMap::new(),
            queue: Queue::default(),
            ops: OrderedMap::new(),
            effects: VecDeque::new(),
            flushes: Vec::new(),
            counters: Counters::default(),
            array: ArrayState::default(),
            now: Time::ZERO,
            timers: OrderedSet::default(),
            dirt: None,
            caller: Caller { task: TaskId::new(0), op: None, context: Context::Task },
            next_bio: 0,
            next_op: 0,
            next_flush: 0,
            dirty_clock: 0,
            faults: Faults::default(),
            journal: Journal::default(),
            writes_completed: 0,
            space_total: None,
            folio_policy: FolioPolicy::Kernel,
            lru: Lru::default(),
            deferred: Vec::new(),
            dios: OrderedMap::default(),
            workers_wait: false,
            at_submit: None,
            keep_going: false,
            broken: None,
            mutant: None,
            written: Written::default(),
            sink,
            pending: Vec::new(),
        }
    }
    pub(crate) const fn geometry(&self) -> Geometry {
        self.config.geometry
    }
    pub(crate) const fn behaviours(&self) -> Behaviours {
        self.config.behaviours
    }
    /// Where the partition that holds the files begins on its disk.
    pub const fn partition(&self) -> Bytes {
        self.config.partition
    }
    pub(crate) fn file(&self, id: FileId) -> &Inode {
        &self.files[id.get() as usize]
    }
    pub(crate) fn file_mut(&mut self, id: FileId) -> &mut Inode {
        &mut self.files[id.get() as usize]
    }
    /// The invariant that broke first where the code relies on it, and where.
    pub const fn first_broken(&self) -> Option<(u8, Pos)> {
        self.broken
    }
    /// What the sink has taken so far.
    pub const fn sink(&self) -> &E::Sink {
        &self.sink
    }
    pub(crate) fn into_sink(self) -> E::Sink {
        self.sink
    }

    /// Notes a change for the step that comes next.
    pub(crate) fn note(&mut self, kind: DeltaKind, object: u32, aux: u32, old: u64, new: u64) {
        if E::Sink::ON && old != new {
            self.pending.push(Delta { kind, object, aux, old, new });
        }
    }
    /// Ends a step: `rule` fired with these inputs, and made the changes noted since the last one.
    pub(crate) fn step(&mut self, rule: Rule, args: [u64; 4]) {
        if E::Sink::ON {
            let Caller { task, op, context } = self.caller;
            let step = Step { time: self.now, task, op, context, rule, args };
            self.sink.take(step, &self.pending);
            self.pending.clear();
            if E::Sink::MIRROR {
                let state = self.snapshot();
                self.sink.mirror(&state);
            }
        }
    }
    /// Somebody may go on at `at` though nothing else happens.
    pub(crate) fn add_timer(&mut self, at: Time) {
        if at > self.now {
            self.timers.insert(at);
        }
    }
    /// It is `now`; time never goes back.
    pub(crate) fn set_time(&mut self, now: Time) {
        self.now = self.now.max(now);
        if self.timers.is_empty() {
            return;
        }
        while let Some(due) = self.timers.iter().next().filter(|due| *due <= self.now) {
            self.timers.remove(&due);
        }
        self.run_dirty_timers();
    }
    /// Runs `work` as if in another context.
    pub(crate) fn in_context<T>(
        &mut self,
        context: Context,
        work: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = core::mem::replace(&mut self.caller.context, context);
        let out = work(self);
        self.caller.context = before;
        out
    }
    /// A numbered invariant (ARCHITECTURE) that must hold at `pos`, in kernels where it does. A
    /// broken one is counted and becomes a step; tests and debug builds stop there, unless the host
    /// asked to go on.
    pub(crate) fn require(&mut self, holds: bool, number: u8, pos: Pos) {
        if !holds && holds_in(number, &self.config.behaviours) {
            self.broken = self.broken.or(Some((number, pos)));
            self.count(Counter::BrokenInvariants, 1);
            self.step(Rule::InvariantBroken, [u64::from(number), pos.get(), 0, 0]);
            debug_assert!(self.keep_going, "invariant {} is broken at {pos}", name(number));
        }
    }

    pub(crate) fn count(&mut self, counter: Counter, n: u64) {
        let old = self.counters.get(counter);
        *self.counters.slot(counter.code()).expect("a counter of ours") = old + n;
        self.note(DeltaKind::Counter, counter.code(), 0, old, old + n);
    }
    pub(crate) fn set_size(&mut self, id: FileId, size: Pos) {
        let old = core::mem::replace(&mut self.file_mut(id).size, size);
        self.note(DeltaKind::FileSize, id.get(), 0, old.get(), size.get());
    }
    pub(crate) fn set_disk_size(&mut self, id: FileId, size: Pos) {
        let old = core::mem::replace(&mut self.file_mut(id).disk_size, size);
        if old != size {
            self.journal_size(id, size);
        }
        self.note(DeltaKind::FileDiskSize, id.get(), 0, old.get(), size.get());
        self.require_written(id, FileRange::between(old, size));
    }
    pub(crate) fn set_direct(&mut self, id: FileId, count: u32) {
        let old = core::mem::replace(&mut self.file_mut(id).direct, count);
        self.note(DeltaKind::FileDirect, id.get(), 0, u64::from(old), u64::from(count));
    }
    pub(crate) fn set_zone_pointer(&mut self, id: FileId, pointer: Pos) {
        let Provider::Zone(zone) = &mut self.file_mut(id).provider else { return };
        let old = zone.move_pointer(pointer);
        self.note(DeltaKind::ZonePointer, id.get(), 0, old.get(), pointer.get());
    }
    pub(crate) fn set_flags(&mut self, id: FolioId, flags: FolioFlags) {
        let folio = self.folios.at_mut(id);
        // A store that changes nothing would make the next look at the flags wait for it.
        if folio.flags == flags {
            return;
        }
        let old = core::mem::replace(&mut folio.flags, flags);
        self.note(DeltaKind::FolioFlags, id.get(), 0, old.get(), flags.get());
    }
    pub(crate) fn raise(&mut self, id: FolioId, flag: FolioFlags) {
        self.set_flags(id, self.folios.at(id).flags.with(flag));
    }
    pub(crate) fn lower(&mut self, id: FolioId, flag: FolioFlags) {
        self.set_flags(id, self.folios.at(id).flags.without(flag));
    }
    pub(crate) fn has(&self, id: FolioId, flag: FolioFlags) -> bool {
        self.folios.at(id).flags.has(flag)
    }
    /// The block state of a folio, if it has any.
    pub(crate) fn state(&self, id: FolioId) -> Option<&Ifs> {
        let row = self.folios.at(id).ifs;
        (row != NO_IFS).then(|| self.states.get(row))
    }
    pub(crate) fn state_mut(&mut self, id: FolioId) -> Option<&mut Ifs> {
        let row = self.folios.at(id).ifs;
        (row != NO_IFS).then(|| self.states.get_mut(row))
    }
    /// Sets or clears the blocks `[start, end)` of one bitmap of a folio with block state.
    pub(crate) fn set_blocks(&mut self, id: FolioId, half: Half, range: (u32, u32), on: bool) {
        let (start, end) = range;
        let Some(state) = self.state_mut(id) else { return };
        if start >= end {
            return;
        }
        let bits = state.half_mut(half);
        if !E::Sink::ON {
            bits.put(start, end, on);
            return;
        }
        let words = (start / crate::bits::WORD) as usize..=((end - 1) / crate::bits::WORD) as usize;
        let before: Vec<u64> = words.clone().map(|at| bits.word(at)).collect();
        bits.put(start, end, on);
        let after: Vec<u64> = words.clone().map(|at| bits.word(at)).collect();
        for (at, (old, new)) in words.zip(before.into_iter().zip(after)) {
            self.note(kind_of(half), id.get(), at as u32, old, new);
        }
    }
    pub(crate) fn set_read_pending(&mut self, id: FolioId, pending: Bytes) {
        let Some(state) = self.state_mut(id) else { return };
        let old = core::mem::replace(&mut state.read_pending, pending);
        self.note(DeltaKind::FolioReadPending, id.get(), 0, old.get(), pending.get());
    }
    pub(crate) fn set_write_pending(&mut self, id: FolioId, pending: Bytes) {
        let Some(state) = self.state_mut(id) else { return };
        let old = core::mem::replace(&mut state.write_pending, pending);
        self.note(DeltaKind::FolioWritePending, id.get(), 0, old.get(), pending.get());
    }
    /// Notes what a provider changed in the extent list of a file.
    pub(crate) fn note_extents(&mut self, id: FileId) {
        if !self.file(id).provider.changes() {
            return;
        }
        let changes = self.file_mut(id).provider.take_changes();
        self.journal_extents(id, &changes);
        if !E::Sink::ON {
            return;
        }
        let geometry = self.geometry();
        for (fork, (block, old, new)) in changes.iter().copied() {
            let words = |extent: Option<crate::fs::extent_map::Extent>| {
                extent.map_or((0, 0), |extent| {
                    let len = geometry.blocks_bytes(extent.len);
                    (len.get(), FileState::pack_extent(extent.state, extent.addr))
                })
            };
            let ((old_len, old_at), (new_len, new_at)) = (words(old), words(new));
            let (len, at) = fork_kinds(fork);
            self.note(len, id.get(), block.get() as u32, old_len, new_len);
            if let Some(at) = at {
                self.note(at, id.get(), block.get() as u32, old_at, new_at);
            }
        }
        self.require_changes_written(id, &changes);
    }

    /// Opens a file of `size` bytes whose bytes lie where `provider` says. `sized_target` is for a
    /// file of the host that stands for the device: it is set to the file's size before a flush.
    pub(crate) fn open(&mut self, size: Pos, provider: Provider, sized_target: bool) -> FileId {
        let id = FileId::new(self.files.len() as u32);
        self.files.push(Inode {
            size: Pos::ZERO,
            disk_size: Pos::ZERO,
            mapping: Mapping::default(),
            provider,
            sized_target,
            errors: 0,
            last_error: Errno::Io,
            sticky: None,
            reported: 0,
            direct: 0,
            dirtied: None,
            dirtied_when: Time::ZERO,
            bdi: BdiId::new(0),
            window: Window::default(),
            memory_map: MemoryMap::default(),
            writeback_index: PageIndex::ZERO,
            shadows: Shadows::new(),
            unevictable: false,
            locks: Default::default(),
            driver: None,
        });
        self.note(DeltaKind::FileOpen, id.get(), 0, 0, 1);
        self.set_size(id, size);
        self.journal_quietly(|world| world.set_disk_size(id, size));
        let pointer = self.file(id).provider.zone_pointer().get();
        self.note(DeltaKind::ZonePointer, id.get(), 0, 0, pointer);
        let geometry = self.geometry();
        drop(self.file_mut(id).provider.take_changes());
        for (fork, extent) in self.file(id).provider.forks(geometry) {
            for (kind, block, word) in extent_words(geometry, fork, &extent) {
                self.note(kind, id.get(), block, 0, word);
            }
        }
        self.journal_open(id);
        self.know_extents(id);
        self.step(Rule::FileOpened, [u64::from(id.get()), size.get(), 0, 0]);
        id
    }
    /// Whether another file has blocks of this one, too.
    pub fn shares_blocks(&self, id: FileId) -> bool {
        let forks = self.file(id).provider.forks(self.geometry());
        forks.iter().any(|(fork, _)| *fork == Fork::Shared)
    }
    /// Bytes `[0, size)` of a file, as a range.
    pub(crate) fn whole(&self, id: FileId) -> FileRange {
        FileRange::between(Pos::ZERO, self.file(id).size)
    }
}

/// The words that describe an extent in the trace: kind, first block, value.
pub(crate) fn extent_words(
    geometry: Geometry,
    fork: Fork,
    extent: &Iomap,
) -> impl Iterator<Item = (DeltaKind, u32, u64)> {
    let block: BlockNo = geometry.file_block_floor(extent.range.start());
    let block = block.get() as u32;
    let place = FileState::pack_extent(extent.kind, extent.addr);
    let (len, at) = fork_kinds(fork);
    [Some((len, block, extent.range.len().get())), at.map(|at| (at, block, place))]
        .into_iter()
        .flatten()
}

const fn fork_kinds(fork: Fork) -> (DeltaKind, Option<DeltaKind>) {
    match fork {
        Fork::Data => (DeltaKind::ExtentLen, Some(DeltaKind::ExtentAt)),
        Fork::Cow => (DeltaKind::CowLen, Some(DeltaKind::CowAt)),
        Fork::Shared => (DeltaKind::SharedLen, None),
    }
}

pub(crate) const fn kind_of(half: Half) -> DeltaKind {
    match half {
        Half::Uptodate => DeltaKind::FolioUptodate,
        Half::Dirty => DeltaKind::FolioDirty,
        Half::Asked => DeltaKind::FolioAsked,
        Half::Waste => DeltaKind::FolioWaste,
    }
}
