//! Tasks that dirty too much pause (`balance_dirty_pages_ratelimited_flags`,
//! `balance_dirty_pages`). Times are in ticks of a millisecond.

use super::limits::{Position, poll_interval, scaled};
use super::{Dirt, HZ, POLL, Rates, tick};
use crate::counters::Counter;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::gauges::Gauge;
use crate::trace::rule::Rule;
use crate::units::{BdiId, Bytes, FileId, Pages, Pos, TaskId, Time};
use crate::world::{Env, World};

/// The longest pause, in ticks (`MAX_PAUSE`).
const MAX_PAUSE: u64 = HZ / 5;
/// How much a task dirties between two looks where a device is over its limits.
const POLL_EXCEEDED: Bytes = Bytes::kib(32);

/// How far off the counts of a device may be in a kernel with one CPU (`wb_stat_error`).
const STAT_ERROR: Pages = Pages::new(8);

/// A pause of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pause {
    /// When it ends.
    until: Time,
    /// From when on the next period counts, in ticks.
    paused_when: u64,
    /// How long it is.
    ticks: u64,
    /// After how many pages the task asks again.
    next: u64,
    /// It is one of several: nothing may be dirtied yet.
    again: bool,
}

/// What a look at the limits says to a task.
enum Answer {
    /// It may dirty more.
    Go,
    /// It may after a pause.
    Pause(Pause),
}

/// The pauses that are worth while: between these, aiming at `next` pages each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bounds {
    /// Shorter ones are put off.
    pub(super) least: u64,
    /// Longer ones are cut.
    pub(super) most: u64,
    /// After how many pages the task asks again.
    pub(super) next: u64,
}

/// How long pauses should be: short where the device could run dry, longer with many dirtiers
/// (`wb_max_pause`, `wb_min_pause`). `poll`: pages that a task may dirty before it asks at all.
pub(super) fn bounds(wb_dirty: Pages, rates: Rates, task_ratelimit: u64, poll: u64) -> Bounds {
    let eighth = (1 + HZ / 8).next_power_of_two();
    let second = HZ.next_power_of_two();
    let most = (wb_dirty.get() / (1 + rates.average / eighth) + 1).min(MAX_PAUSE);
    let log = |n: u64| u64::from(n.max(1).ilog2());
    let dirtiers = log(rates.average).saturating_sub(log(rates.ratelimit));
    let mut aim = (HZ / 100).max(1) + dirtiers * (10 * HZ) / 1024;
    aim = aim.min(1 + most / 2);
    let mut pages = rates.ratelimit * aim / second;
    if pages < poll {
        aim = most;
        pages = rates.ratelimit * aim / second;
        if pages > poll {
            pages = poll;
            aim = HZ * poll / rates.ratelimit.max(1);
        }
    }
    if HZ * pages / (task_ratelimit + 1) > most {
        aim = most;
        pages = task_ratelimit * aim / second;
    }
    let least = if pages >= poll { 1 + aim / 2 } else { aim };
    Bounds { least, most, next: pages }
}

/// Lets a task that is about to dirty more of a file pause if too much is dirty already; one that
/// may not wait fails instead. Nothing where dirty pages are not limited.
pub(crate) async fn balance<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    pos: Pos,
    nowait: bool,
) -> Result<(), Errno> {
    let Some(dirtied) = cx.with(|world| world.dirtied_too_much(file)) else { return Ok(()) };
    loop {
        match cx.with(|world| world.look_at_limits(file, pos, dirtied, nowait))? {
            Answer::Go => return Ok(()),
            Answer::Pause(pause) => {
                cx.sleep_until(pause.until).await;
                cx.with(|world| world.end_pause(&pause));
                if !pause.again {
                    return Ok(());
                }
            }
        }
    }
}

impl Dirt {
    /// Whether a task has to look at the limits before it dirties more of a device.
    fn must_look(&self, task: TaskId, bdi: BdiId) -> bool {
        let poll = self.in_pages(POLL);
        let (dirtied, pause_after) =
            self.tasks.get(&task).map_or((0, poll), |task| (task.dirtied, task.pause_after));
        dirtied >= self.pause_after(bdi, pause_after) || self.cpu_dirtied >= self.cpu_pause_after
    }
    fn pause_after(&self, bdi: BdiId, pause_after: u64) -> u64 {
        if self.device(bdi).exceeded {
            pause_after.min(self.in_pages(POLL_EXCEEDED))
        } else {
            pause_after
        }
    }
}

impl<E: Env> World<E> {
    /// Whether the task that works would look at the limits before it dirties more of a file. Cheap
    /// where dirty pages are not limited.
    #[inline]
    pub(crate) fn must_balance(&self, file: FileId) -> bool {
        let Some(dirt) = &self.dirt else { return false };
        !self.has_memory_only(file) && dirt.must_look(self.caller.task, self.bdi_of(file))
    }
    /// The same, as it is asked once a round; how many pages the task has dirtied if it must look.
    fn dirtied_too_much(&mut self, file: FileId) -> Option<u64> {
        if !self.must_balance(file) {
            return None;
        }
        let task = self.caller.task;
        let dirt = self.dirt_mut();
        dirt.cpu_dirtied = 0;
        Some(dirt.task(task).dirtied)
    }
    /// One look at the limits for a task that dirtied so many pages.
    fn look_at_limits(
        &mut self,
        file: FileId,
        pos: Pos,
        dirtied: u64,
        nowait: bool,
    ) -> Result<Answer, Errno> {
        let (bdi, task, now) = (self.bdi_of(file), self.caller.task, self.now_ticks());
        let position = self.position(bdi);
        let Position { limits, dirty, .. } = position;
        if self.dirt().get(Gauge::Dirty) > limits.background.get() {
            self.start_background(bdi);
        }
        let freerun = limits.freerun();
        if dirty <= freerun {
            let next = poll_interval(dirty, limits.thresh).get();
            let state = self.dirt_mut().task(task);
            state.paused_when = Some(now);
            state.dirtied = 0;
            state.pause_after = next;
            self.step(Rule::BelowFreerun, [dirty.get(), freerun.get(), next, 0]);
            return Ok(Answer::Go);
        }
        self.start_background(bdi);
        let ratio = self.take_position(bdi, &position);
        self.update_rates(bdi, &position, ratio);
        let rates = self.dirt().rates(bdi);
        let allowed = scaled(rates.ratelimit, ratio);
        self.set_gauge(Gauge::TaskRatelimit, task.get(), allowed);
        let poll = self.dirt().in_pages(POLL);
        let bounds = bounds(position.wb_dirty, rates, allowed, poll);
        let state = *self.dirt_mut().task(task);
        // What was put off makes it negative.
        let since = |when: u64| now.cast_signed() - when.cast_signed();
        let spent = state.paused_when.map_or(0, since);
        // Where nothing is allowed the pause is the longest, whatever counts already.
        let period = (HZ * dirtied).checked_div(allowed);
        let left = period.map_or(bounds.most.cast_signed(), |period| period.cast_signed() - spent);
        if let Some(period) = period
            && left < bounds.least.cast_signed()
        {
            self.put_off(period, left, dirtied, bounds);
            return Ok(Answer::Go);
        }
        let pause = left.unsigned_abs();
        let over = pause.saturating_sub(bounds.most).min(bounds.most);
        let pause = pause.min(bounds.most);
        self.step(Rule::Paused, [dirtied, allowed, pause, spent.max(0).unsigned_abs()]);
        if nowait {
            self.count(Counter::BalanceDirtyCalls, 1);
            self.step(Rule::MayNotSleep, [pos.get(), 0, 0, 0]);
            return Err(Errno::Again);
        }
        Ok(Answer::Pause(Pause {
            until: tick(now + pause),
            paused_when: now + over + pause,
            ticks: pause,
            next: bounds.next,
            // One that has next to nothing dirty itself may go on.
            again: allowed == 0 && position.wb_dirty > STAT_ERROR,
        }))
    }
    /// Where the dirty pages of a device stand, and how much of their rate tasks get for it.
    fn take_position(&mut self, bdi: BdiId, position: &Position) -> u64 {
        let Position { limits, limit, dirty, wb_dirty, wb_thresh, .. } = *position;
        let (of_world, ratio) = (position.of_world(), position.of_device());
        self.set_gauge(Gauge::PosRatio, bdi.get(), ratio);
        let setpoint = limits.setpoint(limit);
        let pair = |low: u64, high: u64| low | high << 32;
        let args = [
            pair(dirty.get(), setpoint.get()),
            pair(limit.get(), of_world),
            pair(wb_dirty.get(), wb_thresh.get()),
            ratio,
        ];
        self.step(Rule::DirtyPosition, args);
        let exceeded = wb_dirty > wb_thresh && dirty > limits.thresh;
        self.dirt_mut().device_mut(bdi).exceeded = exceeded;
        ratio
    }
    /// A pause would be too short: the next one makes up for it, unless the task dirties so little
    /// that it starts anew.
    fn put_off(&mut self, period: u64, left: i64, dirtied: u64, bounds: Bounds) {
        let (task, now) = (self.caller.task, self.now_ticks());
        let state = self.dirt_mut().task(task);
        if left < -HZ.cast_signed() {
            state.paused_when = Some(now);
            state.dirtied = 0;
        } else if period > 0 {
            state.paused_when = Some(state.paused_when.unwrap_or(now) + period);
            state.dirtied = 0;
        } else if state.pause_after <= dirtied {
            state.pause_after += dirtied;
        }
        let spent = (period.cast_signed() - left).max(0).unsigned_abs();
        self.step(Rule::PausePutOff, [dirtied, period, spent, bounds.least]);
    }
    fn end_pause(&mut self, pause: &Pause) {
        let task = self.caller.task;
        self.add_to_gauge(Gauge::TaskPaused, task.get(), pause.ticks);
        let state = self.dirt_mut().task(task);
        state.paused_when = Some(pause.paused_when);
        state.dirtied = 0;
        state.pause_after = pause.next;
        self.step(Rule::PauseEnded, [pause.ticks, pause.next, 0, 0]);
    }
}
