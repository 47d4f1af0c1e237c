//! The flusher of a device: a background task that writes dirty files, oldest first, a chunk of
//! each in turn (`wb_workfn`, `wb_writeback`, `writeback_sb_inodes`).
//!
//! It wakes because too much is dirty, because some of it may be old, or because a `syncfs` asks for
//! everything, and rests while nothing is dirty.

use super::{Dirt, HZ, tick, ticks};
use crate::engine::{Cx, Engine};
use crate::gauges::Gauge;
use crate::ops::sync::write_files;
use crate::trace::rule::Rule;
use crate::trace::step::Context;
use crate::units::{BdiId, Bytes, FileId, FileRange, OpId, Pages, Pos, TaskId, Time};
use crate::world::{Caller, Env, World};
use crate::writeback::{self, SyncMode, Walk};
use std::collections::VecDeque;

/// Least that is written of a file in one go (`MIN_WRITEBACK_PAGES`).
const LEAST_CHUNK: Bytes = Bytes::new(4 << 20);
/// Part of the limit that a chunk may be (`DIRTY_SCOPE`).
const SCOPE: u64 = 8;
/// Flushers are the tasks from here on.
const FIRST_TASK: u32 = 1000;

/// The task that a device's flusher is.
pub const fn flusher_task(bdi: BdiId) -> TaskId {
    TaskId::new(FIRST_TASK + bdi.get())
}

/// The device whose flusher a task is.
pub const fn flusher_of(task: TaskId) -> Option<BdiId> {
    match task.get().checked_sub(FIRST_TASK) {
        Some(n) => Some(BdiId::new(n)),
        None => None,
    }
}

/// Files on their way through the flusher, and when it wakes.
#[derive(Clone, Default, Debug)]
pub(super) struct Queues {
    /// Taken up in this round (`b_io`).
    io: VecDeque<FileId>,
    /// Not finished, for the next round (`b_more_io`).
    more_io: VecDeque<FileId>,
    /// What operations that sync asked for and wait for, oldest first (`work_list`).
    syncs: VecDeque<(OpId, SyncMode)>,
    /// Somebody woke it.
    woken: bool,
    /// When it wakes by itself.
    wake_at: Option<Time>,
    /// It is at work.
    running: bool,
    /// When it last looked for old data, in ticks.
    last_old: u64,
}

impl Queues {
    /// Nothing is taken up, and nothing was looked for before this moment, in ticks.
    pub(super) fn new(now: u64) -> Self {
        Self { last_old: now, ..Self::default() }
    }
}

/// Why the flusher writes (`enum wb_reason`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Too much is dirty.
    Background,
    /// It may be old.
    Periodic,
}

/// Why, and how many pages at most.
struct Work {
    reason: Reason,
    pages: i64,
}

/// What became of a file after its chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum After {
    /// Nothing of it is dirty.
    Clean,
    /// The chunk was used up: it goes on in the next round.
    Requeued,
    /// Part of it could not be written now: it is as if dirtied now.
    Redirtied,
}

impl After {
    /// Every outcome, in the order of its code.
    pub const ALL: [Self; 3] = [Self::Clean, Self::Requeued, Self::Redirtied];
    /// The outcome with this code.
    pub fn from_code(code: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
    /// What it means.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Clean => "nothing of it is dirty any more",
            Self::Requeued => "the chunk is used up, it goes on in the next round (b_more_io)",
            Self::Redirtied => "the rest cannot be written now, it goes to the end (b_dirty)",
        }
    }
}

impl<E: Env> Engine<E> {
    /// The flusher of a device: a task that never ends, to be polled beside the others. Dirty pages
    /// must be limited ([`Self::limit_dirty`]).
    pub async fn flusher(&self, bdi: BdiId) {
        let caller = Caller { task: flusher_task(bdi), op: None, context: Context::Worker };
        let cx = Cx { engine: self, caller };
        loop {
            cx.wait(|world| world.flusher_wakes(bdi)).await;
            while let Some((files, mode)) = cx.with(|world| world.next_sync(bdi)) {
                // An error is kept for who asked.
                let _told_later = write_files(&cx, &files, mode).await;
                cx.with(|world| world.end_sync(bdi));
            }
            for reason in [Reason::Periodic, Reason::Background] {
                if let Some(work) = cx.with(|world| world.flusher_work(bdi, reason)) {
                    write_back(&cx, bdi, work).await;
                }
            }
            cx.with(|world| world.flusher_rests(bdi));
        }
    }
}

/// Writes rounds of files until there is no reason left, or nothing can be written
/// (`wb_writeback`).
async fn write_back<E: Env>(cx: &Cx<'_, E>, bdi: BdiId, mut work: Work) {
    let plugged = cx.plug();
    let mut queued = false;
    while work.pages > 0 {
        // A sync must not wait for what never ends.
        if cx.with(|world| !world.dirt().device(bdi).queues.syncs.is_empty()) {
            break;
        }
        if work.reason == Reason::Background && !cx.with(|world| world.over_background(bdi)) {
            break;
        }
        queued |= cx.with(|world| world.queue_files(bdi, work.reason));
        let progress = write_round(cx, bdi, &mut work).await;
        if !progress && queued {
            break;
        }
    }
    cx.unplug(plugged);
}

/// A chunk of each file that is taken up; whether anything was written.
async fn write_round<E: Env>(cx: &Cx<'_, E>, bdi: BdiId, work: &mut Work) -> bool {
    let began = cx.with(|world| world.now_ticks());
    let mut total = 0;
    while let Some(file) = cx.with(|world| world.next_file(bdi)) {
        let chunk = cx.with(|world| world.begin_chunk(bdi, file, work));
        let range = FileRange::between(Pos::ZERO, Pos::new(crate::units::MAX_POS));
        let walk = Walk { file, range, mode: SyncMode::None, worker: true };
        let mut left = chunk;
        // An error is kept for the next fsync.
        let _told_later = writeback::write_some(cx, walk, &mut left, true).await;
        work.pages -= chunk - left;
        total += chunk - left;
        let late = cx.with(|world| {
            world.end_chunk(bdi, file, (chunk - left, left), work.reason);
            world.now_ticks() > began + HZ / 10
        });
        if total > 0 && (late || work.pages <= 0) {
            break;
        }
    }
    total > 0
}

impl<E: Env> World<E> {
    /// A file went from clean to dirty: the flusher of a device without dirty files wakes in a
    /// while (`__mark_inode_dirty`).
    pub(crate) fn file_dirtied(&mut self, file: FileId) {
        let now = self.now;
        self.file_mut(file).dirtied_when = now;
        if self.dirt.is_none() {
            return;
        }
        let bdi = self.bdi_of(file);
        if self.dirty_files(bdi).len() == 1 {
            self.wake_flusher_later(bdi);
        }
    }
    /// The flusher wakes after its interval, unless it does so anyway (`wb_wakeup_delayed`).
    fn wake_flusher_later(&mut self, bdi: BdiId) {
        let (now, interval) = (self.now, self.dirt().config.interval);
        let queues = &mut self.dirt_mut().device_mut(bdi).queues;
        if interval.is_zero() || queues.wake_at.is_some() {
            return;
        }
        queues.wake_at = Some(now + interval);
        self.add_timer(now + interval);
    }
    /// Too much is dirty (`wb_start_background_writeback`).
    pub(super) fn start_background(&mut self, bdi: BdiId) {
        let queues = &mut self.dirt_mut().device_mut(bdi).queues;
        queues.woken |= !queues.running;
    }
    /// An operation asks every flusher for a sync; false where there is none
    /// (`writeback_inodes_sb`, `sync_inodes_sb`).
    pub(crate) fn ask_flushers(&mut self, mode: SyncMode) -> bool {
        let (true, Some(op)) = (self.dirt.is_some(), self.caller.op) else { return false };
        for device in &mut self.dirt_mut().devices {
            device.queues.syncs.push_back((op, mode));
        }
        self.step(Rule::SyncAsked, [u64::from(mode == SyncMode::All), 0, 0, 0]);
        true
    }
    /// Whether they have done what the operation asked for (`wb_wait_for_completion`).
    pub(crate) fn flushers_synced(&self) -> bool {
        let mine = |one: &(OpId, SyncMode)| Some(one.0) == self.caller.op;
        let Some(dirt) = &self.dirt else { return true };
        !dirt.devices.iter().any(|device| device.queues.syncs.iter().any(mine))
    }
    /// What a flusher writes for the oldest sync that asks.
    fn next_sync(&mut self, bdi: BdiId) -> Option<(Vec<FileId>, SyncMode)> {
        let (_, mode) = *self.dirt().device(bdi).queues.syncs.front()?;
        let files = self.dirty_files(bdi);
        let thorough = u64::from(mode == SyncMode::All);
        self.step(Rule::SyncWriteback, [files.len() as u64, thorough, 0, 0]);
        Some((files, mode))
    }
    fn end_sync(&mut self, bdi: BdiId) {
        self.dirt_mut().device_mut(bdi).queues.syncs.pop_front();
    }
    fn flusher_wakes(&mut self, bdi: BdiId) -> Option<()> {
        let now = self.now;
        let queues = &mut self.dirt.as_mut()?.device_mut(bdi).queues;
        let due = queues.wake_at.is_some_and(|at| at <= now);
        if !due && !queues.woken && queues.syncs.is_empty() {
            return None;
        }
        if due {
            queues.wake_at = None;
        }
        queues.woken = false;
        queues.running = true;
        self.retire(flusher_task(bdi));
        Some(())
    }
    /// What there is to do for a reason (`wb_check_old_data_flush`, `wb_check_background_flush`).
    fn flusher_work(&mut self, bdi: BdiId, reason: Reason) -> Option<Work> {
        let now = self.now;
        let pages = match reason {
            Reason::Background => self.over_background(bdi).then_some(i64::MAX)?,
            Reason::Periodic => {
                let interval = self.dirt().config.interval;
                let dirty = self.dirt().get(Gauge::Dirty);
                let queues = &mut self.dirt_mut().device_mut(bdi).queues;
                if interval.is_zero() || now < tick(queues.last_old) + interval {
                    return None;
                }
                queues.last_old = ticks(now);
                (dirty > 0).then_some(dirty.cast_signed())?
            }
        };
        let dirt = self.dirt();
        let dirty = dirt.of(Gauge::WbDirty, bdi);
        let args = match reason {
            Reason::Background => [dirty, dirt.get(Gauge::Dirty), dirt.limits.background.get(), 0],
            Reason::Periodic => [dirty, dirt.config.expire.get() / 1_000_000, 0, 0],
        };
        let rule = match reason {
            Reason::Background => Rule::BackgroundWriteback,
            Reason::Periodic => Rule::PeriodicWriteback,
        };
        self.step(rule, args);
        Some(Work { reason, pages })
    }
    /// Nothing more to do: it wakes again in a while if anything is dirty.
    fn flusher_rests(&mut self, bdi: BdiId) {
        self.dirt_mut().device_mut(bdi).queues.running = false;
        if !self.dirty_files(bdi).is_empty() {
            self.wake_flusher_later(bdi);
        }
    }
    /// Dirty files of a device, the one that became dirty first in front.
    fn dirty_files(&self, bdi: BdiId) -> Vec<FileId> {
        let mut all = self.files_by_dirt();
        all.retain(|file| self.bdi_of(*file) == bdi);
        all
    }
    /// When nothing is taken up: what was not finished, then what is old enough, oldest first
    /// (`queue_io`). Whether it was done.
    fn queue_files(&mut self, bdi: BdiId, reason: Reason) -> bool {
        if !self.dirt().device(bdi).queues.io.is_empty() {
            return false;
        }
        let now = self.now;
        let expire = self.dirt().config.expire;
        let newest = match reason {
            Reason::Background => Some(now),
            // None: nothing can be so old yet.
            Reason::Periodic => now.get().checked_sub(expire.get()).map(Time::new),
        };
        let more = core::mem::take(&mut self.dirt_mut().device_mut(bdi).queues.more_io);
        let requeued = more.len();
        let old: Vec<FileId> = self
            .dirty_files(bdi)
            .into_iter()
            .filter(|file| !more.contains(file))
            .take_while(|file| newest.is_some_and(|at| self.file(*file).dirtied_when <= at))
            .collect();
        let args =
            [requeued as u64, old.len() as u64, newest.map_or(0, |at| at.get() / 1_000_000), 0];
        let io = &mut self.dirt_mut().device_mut(bdi).queues.io;
        *io = more;
        io.extend(old);
        self.step(Rule::FilesQueued, args);
        true
    }
    fn next_file(&mut self, bdi: BdiId) -> Option<FileId> {
        self.dirt_mut().device_mut(bdi).queues.io.pop_front()
    }
    /// How much of a file is written before the next one's turn (`writeback_chunk_size`).
    fn begin_chunk(&mut self, bdi: BdiId, file: FileId, work: &Work) -> i64 {
        let chunk = self.dirt().chunk(bdi, work.pages);
        let inode = self.file(file);
        let age = self.now.since(inode.dirtied_when.min(self.now)).get() / 1_000_000;
        let args = [u64::from(file.get()), chunk, inode.writeback_index.get(), age];
        self.step(Rule::ChunkBegins, args);
        chunk.cast_signed()
    }
    /// What becomes of a file of which so many pages were written, and so many more might have been
    /// (`requeue_inode`).
    fn end_chunk(&mut self, bdi: BdiId, file: FileId, (written, left): (i64, i64), reason: Reason) {
        let inode = self.file(file);
        let expire = self.dirt().config.expire.get();
        let young =
            reason == Reason::Periodic && inode.dirtied_when.get() + expire > self.now.get();
        let after = match inode.dirtied {
            None => After::Clean,
            Some(_) if left <= 0 && !young => After::Requeued,
            Some(_) => After::Redirtied,
        };
        match after {
            After::Clean => {}
            After::Requeued => self.dirt_mut().device_mut(bdi).queues.more_io.push_back(file),
            After::Redirtied => self.redirty(bdi, file),
        }
        let written = written.max(0).unsigned_abs();
        let args = [u64::from(file.get()), written, after as u64, 0];
        self.step(Rule::ChunkEnds, args);
    }
    /// A file goes to the end of the dirty ones (`redirty_tail`).
    fn redirty(&mut self, bdi: BdiId, file: FileId) {
        let newest = self.dirty_files(bdi).last().map(|last| self.file(*last).dirtied_when);
        let now = self.now;
        self.dirty_clock += 1;
        let clock = self.dirty_clock;
        let inode = self.file_mut(file);
        inode.dirtied = Some(clock);
        if newest.is_some_and(|newest| inode.dirtied_when < newest) {
            inode.dirtied_when = now;
        }
    }
}

impl Dirt {
    fn chunk(&self, bdi: BdiId, wanted: i64) -> u64 {
        let half = self.of(Gauge::AvgWriteBandwidth, bdi) / 2;
        let scope = self.get(Gauge::DirtyLimit) / SCOPE;
        let pages = half.min(scope).min(wanted.max(0).unsigned_abs());
        let least = self.in_pages(LEAST_CHUNK);
        (pages + least) / least * least
    }
}

/// Least pages that are written of a file in one go, with pages of this size.
pub fn least_chunk(page: Bytes) -> Pages {
    Pages::new((LEAST_CHUNK.get() / page.get()).max(1))
}
