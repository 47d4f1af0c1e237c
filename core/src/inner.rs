//! Entry points that no application has: parts of the kernel that call each other, called by
//! themselves, and what a host sets up before a run. For cases that check one mechanism.

use crate::cache::folio::FolioFlags;
use crate::cache::policy::FolioPolicy;
use crate::engine::{Engine, finish};
use crate::fault::Fault;
use crate::ops::OpKind;
use crate::ops::OpResult;
use crate::stops::{Hold, Stop};
use crate::trace::rule::Rule;
use crate::trace::step::Context;
use crate::units::{Bytes, FileId, FileRange, Order, PageIndex, Pages, Pos, TaskId};
use crate::world::{AtSubmit, Caller, Env};
use crate::writeback::{self, SyncMode, Walk};

/// What a writeback is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WritebackArgs {
    /// Everything that was dirty when it began, going on after errors; else as much as goes without
    /// waiting.
    pub all: bool,
    /// Pages that may be written, where not everything must be; none = no limit.
    pub budget: Option<i64>,
    /// Goes on where the last cyclic one ended.
    pub cyclic: bool,
}

impl<E: Env> Engine<E> {
    /// Says how orders of folios are chosen.
    pub fn set_folio_policy(&self, policy: FolioPolicy) {
        self.world().folio_policy = policy;
    }
    /// Goes on when an invariant is broken, also in a debug build: for runs that show how it
    /// breaks.
    pub fn keep_going(&self) {
        self.world().keep_going = true;
    }
    /// Puts a device inside submission.
    pub fn set_at_submit(&self, device: AtSubmit<E::Frames>) {
        self.world().at_submit = Some(device);
    }
    /// Arms these faults and gives back those that were armed, with how often they fired.
    pub fn replace_faults(&self, faults: Vec<Fault>) -> Vec<Fault> {
        self.world().faults.replace(faults)
    }
    /// The device tells what it does wrong, as a step.
    pub(crate) fn device_says(&self, rule: Rule, args: [u64; 4]) {
        let mut world = self.world();
        let before = world.caller;
        world.caller = Caller { op: None, context: Context::Softirq, ..before };
        world.step(rule, args);
        world.caller = before;
    }
    /// From now on so many bytes of the device are free.
    pub fn limit_space(&self, free: Bytes) {
        self.world().limit_space(free);
    }
    /// So many writes have completed on the device, for what orders records after data.
    pub(crate) fn writes_completed(&self, all: u64) {
        self.world().writes_completed = all;
    }
    /// Arms a stop in place of the last one, or none.
    pub fn hold_at(&self, stop: Option<Stop>) {
        self.stops.arm(stop);
    }
    /// Lets a task that is held go on.
    pub fn release(&self, task: TaskId) {
        self.stops.release(task);
    }
    /// Whether a task is held.
    pub fn is_held(&self, task: TaskId) -> bool {
        self.stops.hold_of(task).is_some()
    }
    /// Where a task is held, if it is.
    pub fn hold_of(&self, task: TaskId) -> Option<Hold> {
        self.stops.hold_of(task)
    }
    /// Holds every task at every point that it comes to, or no longer.
    pub fn hold_everywhere(&self, on: bool) {
        self.stops.everywhere(on);
    }
    /// What completed bios leave to the workers waits until [`Self::work`], or no longer: else the
    /// workers run whenever an operation begins or waits.
    pub fn hold_workers(&self, on: bool) {
        self.world().workers_wait = on;
    }
    /// Whether the workers have anything to do.
    pub fn has_work(&self) -> bool {
        !self.world().deferred.is_empty()
    }
    /// Lets the workers do what there is, also if they are held.
    pub fn work(&self) {
        self.world().work();
    }
    /// Sets the size that the device has recorded.
    pub fn set_disk_size(&self, file: FileId, size: Pos) {
        self.world().set_disk_size(file, size);
    }
    /// Puts a folio into the cache, as if it had been there before: a pair (uptodate, dirty) for
    /// each block, and its bytes. False if a page of it is cached or there is no memory.
    pub fn seed(
        &self,
        file: FileId,
        index: PageIndex,
        order: Order,
        bits: &[(bool, bool)],
        bytes: &[u8],
    ) -> bool {
        self.world().seed_folio(file, index, order, bits, bytes)
    }
    /// Where cyclic writeback goes on.
    pub fn writeback_index(&self, file: FileId) -> PageIndex {
        self.world().file(file).writeback_index
    }
    /// Says where cyclic writeback goes on.
    pub fn set_writeback_index(&self, file: FileId, index: PageIndex) {
        self.world().file_mut(file).writeback_index = index;
    }

    /// Writes dirty folios without waiting for their end (`iomap_writepages`); its result, and what
    /// is left of the budget.
    pub async fn writeback(
        &self,
        task: TaskId,
        file: FileId,
        args: WritebackArgs,
    ) -> (OpResult, i64) {
        let cx = self.begin(OpKind::Writeback, task, file, Pos::ZERO, Bytes::ZERO);
        let mode = if args.all { SyncMode::All } else { SyncMode::None };
        let range = FileRange::between(Pos::ZERO, Pos::new(crate::units::MAX_POS));
        let walk = Walk { file, range, mode, worker: false };
        let mut left = args.budget.unwrap_or(i64::MAX);
        let cyclic = args.cyclic;
        let result = writeback::write_some(&cx, walk, &mut left, cyclic).await;
        (finish(&cx, result.map(|()| Bytes::ZERO)), left)
    }
    /// Fills the missing folios of a range in one batch (`iomap_readahead`).
    pub async fn readahead(&self, task: TaskId, file: FileId, range: FileRange) -> OpResult {
        let cx = self.begin(OpKind::Readahead, task, file, range.start(), range.len());
        let (first, end) = cx.with(|world| {
            let geometry = world.geometry();
            (geometry.page_floor(range.start()), geometry.page_ceil(range.end()))
        });
        crate::ops::read::read_range(&cx, file, first, end).await;
        finish(&cx, Ok(Bytes::ZERO))
    }
    /// Makes the folio at `pos` uptodate by a read of its own (`iomap_read_folio`).
    pub async fn read_folio(&self, task: TaskId, file: FileId, pos: Pos) -> OpResult {
        let cx = self.begin(OpKind::ReadFolio, task, file, pos, Bytes::ZERO);
        let result = crate::ops::read::read_one(&cx, file, pos).await;
        finish(&cx, result.map(|()| Bytes::ZERO))
    }
    /// Zeroes a range through the cache (`iomap_zero_range`); also whether anything was zeroed.
    pub async fn zero_range(
        &self,
        task: TaskId,
        file: FileId,
        range: FileRange,
    ) -> (OpResult, bool) {
        let cx = self.begin(OpKind::ZeroRange, task, file, range.start(), range.len());
        let result = crate::ops::zero::zero_range(&cx, file, range).await;
        let zeroed = result.unwrap_or(false);
        (finish(&cx, result.map(|_| Bytes::ZERO)), zeroed)
    }
    /// The write fault of the page at `pos` (`iomap_page_mkwrite`): bytes of its folio inside EOF.
    pub async fn mkwrite(&self, task: TaskId, file: FileId, pos: Pos) -> OpResult {
        let cx = self.begin(OpKind::Mkwrite, task, file, pos, Bytes::ZERO);
        let index = cx.with(|world| world.geometry().page_floor(pos));
        finish(&cx, crate::ops::mmap::mkwrite(&cx, file, index).await)
    }
    /// Takes memory back from files: up to so many pages of clean folios that were not used lately
    /// (`try_to_free_pages`); the bytes that are free now.
    pub fn reclaim(&self, task: TaskId, wanted: Pages) -> OpResult {
        let len = self.world().geometry().pages_bytes(wanted);
        let cx = self.begin(OpKind::Reclaim, task, FileId::new(0), Pos::ZERO, len);
        let freed = cx.with(|world| {
            let freed = world.reclaim(wanted);
            world.geometry().pages_bytes(freed)
        });
        finish(&cx, Ok(freed))
    }
    /// Says that the folios of a file are not to be reclaimed.
    pub fn set_unevictable(&self, file: FileId) {
        self.world().file_mut(file).unevictable = true;
    }
    /// A use of the cached folio at `pos`, by itself (`folio_mark_accessed`).
    pub fn mark_accessed(&self, task: TaskId, file: FileId, pos: Pos) {
        let mut world = self.world();
        world.caller.task = task;
        let index = world.geometry().page_floor(pos);
        if let Some(folio) = world.file(file).mapping.find(index) {
            world.mark_accessed(folio);
        }
    }
    /// State bits of the cached folio at `pos`.
    pub fn folio_flags(&self, file: FileId, pos: Pos) -> Option<FolioFlags> {
        let world = self.world();
        let folio = world.file(file).mapping.find(world.geometry().page_floor(pos))?;
        Some(world.folios.at(folio).flags)
    }
    /// Drops the clean, unused folios that lie wholly in a range.
    pub fn evict(&self, file: FileId, range: FileRange) {
        self.world().evict_range(file, range);
    }
    /// Marks the cached blocks of a range and their folios dirty, without a reservation.
    pub fn mark_dirty(&self, file: FileId, range: FileRange) {
        self.world().mark_dirty(file, range);
    }
    /// Sets or clears bits of one cached folio: of the blocks that bytes `[at, at + len)` of the
    /// folio at `pos` make, rounded as the kernel does.
    pub fn change_bits(&self, file: FileId, pos: Pos, part: (u64, u64), change: BitChange) {
        self.world().change_bits(file, pos, part, change);
    }
}

/// A change of block bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BitChange {
    /// Set dirty (`iomap_set_range_dirty`).
    SetDirty,
    /// Clear dirty (`iomap_clear_range_dirty`).
    ClearDirty,
    /// Set uptodate (`iomap_set_range_uptodate`).
    SetUptodate,
}
