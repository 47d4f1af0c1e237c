//! When rates and limits are looked at, and how a device gets its share of the limit.

use super::bandwidth::{INTERVAL, Interval};
use super::flusher::flusher_task;
use super::limits::Position;
use super::{Dirt, HZ, tick};
use crate::gauges::Gauge;
use crate::trace::rule::Rule;
use crate::trace::step::Context;
use crate::units::{BdiId, FileId, Pages};
use crate::world::{Caller, Env, World};

/// How often completions are halved, in ticks (`VM_COMPLETIONS_PERIOD_LEN`).
const PERIOD: u64 = 3 * HZ;

/// Pages whose writeback ended.
pub(super) struct Completed(pub(super) u64);

impl Dirt {
    /// Halves completions for every period that went by, down to the last one, so that what worked
    /// last keeps its share (`fprop_new_period`).
    fn age_completions(&mut self, now: u64) {
        while let Some(began) = self.period
            && now - began >= PERIOD
        {
            if self.completions <= 1 {
                self.period = None;
                return;
            }
            self.completions /= 2;
            for device in &mut self.devices {
                device.completions /= 2;
            }
            self.period = Some(began + PERIOD);
        }
    }
    /// The part of `thresh` that a device gets: by what it completed lately among all. One that did
    /// nothing for long may start with an eighth of what is free (`__wb_calc_thresh`).
    fn share(&self, bdi: BdiId, thresh: Pages) -> Pages {
        let (mine, all) = (self.device(bdi).completions, self.completions);
        let share = u128::from(thresh.get()) * u128::from(mine) / u128::from(all.max(1));
        let start = thresh.saturating_sub(self.dirty()).get() / 8;
        Pages::new((share as u64).max(start).min(thresh.get()))
    }
}

impl<E: Env> World<E> {
    /// The writeback of pages ended. When the last of a device did, its rates are looked at a
    /// little later though nobody asks (`__wb_writeout_add`, `wb_inode_writeback_end`).
    pub(super) fn writeback_completed(&mut self, bdi: BdiId, Completed(pages): Completed) {
        let now = self.now_ticks();
        let dirt = self.dirt_mut();
        dirt.age_completions(now);
        dirt.period = dirt.period.or(Some(now));
        dirt.completions += pages;
        dirt.device_mut(bdi).completions += pages;
        if dirt.of(Gauge::WbWriteback, bdi) == 0 {
            dirt.device_mut(bdi).update_at = Some(now + INTERVAL);
            self.add_timer(tick(now + INTERVAL));
        }
    }
    /// Looks at the rates whose time has come.
    pub(crate) fn run_dirty_timers(&mut self) {
        if self.dirt.is_none() {
            return;
        }
        let now = self.now_ticks();
        let caller = self.caller;
        for bdi in self.dirt().bdis() {
            if self.dirt().device(bdi).update_at.is_some_and(|at| at <= now) {
                self.dirt_mut().device_mut(bdi).update_at = None;
                let task = flusher_task(bdi);
                self.caller = Caller { task, op: None, context: Context::Worker };
                self.update_bandwidth(bdi);
            }
        }
        self.caller = caller;
    }
    /// A walk over a file begins: if its device was idle, what went before says nothing of its
    /// bandwidth (`wb_bandwidth_estimate_start`).
    pub(crate) fn estimate_start(&mut self, file: FileId) {
        if self.dirt.is_none() {
            return;
        }
        let (bdi, now) = (self.bdi_of(file), self.now_ticks());
        let dirt = self.dirt_mut();
        let idle = dirt.of(Gauge::WbWriteback, bdi) == 0;
        if idle && now - dirt.device(bdi).stamp > INTERVAL {
            dirt.stamp(bdi, now);
        }
    }
    /// A walk over a file ends.
    pub(crate) fn estimate_end(&mut self, file: FileId) {
        if self.dirt.is_none() {
            return;
        }
        let bdi = self.bdi_of(file);
        if self.now_ticks() - self.dirt().device(bdi).stamp > INTERVAL {
            self.update_bandwidth(bdi);
        }
    }
    /// Looks at what a device wrote since the last time (`wb_update_write_bandwidth`).
    fn update_bandwidth(&mut self, bdi: BdiId) {
        let now = self.now_ticks();
        let dirt = self.dirt_mut();
        let seen = dirt.since_stamp(bdi, now);
        let mut rates = dirt.rates(bdi);
        rates.follow_writes(seen);
        dirt.stamp(bdi, now);
        self.set_rates(bdi, rates);
        let args = [seen.written, seen.elapsed, rates.bandwidth, rates.average];
        self.step(Rule::BandwidthEstimated, args);
    }
    /// A task that dirties too much looks at everything: the limit, its rate, the bandwidth
    /// (`__wb_update_bandwidth`).
    pub(super) fn update_rates(&mut self, bdi: BdiId, position: &Position, pos_ratio: u64) {
        let now = self.now_ticks();
        if now - self.dirt().device(bdi).stamp <= INTERVAL {
            return;
        }
        self.follow_thresh(position.dirty);
        let limit = Pages::new(self.dirt().get(Gauge::DirtyLimit));
        let below = position.dirty < position.limits.setpoint(limit);
        let dirt = self.dirt_mut();
        let seen = dirt.since_stamp(bdi, now);
        let mut rates = dirt.rates(bdi);
        let before = rates.ratelimit;
        let dirty_rate = rates.follow_dirtiers(seen, pos_ratio, below);
        self.set_rates(bdi, rates);
        let args = [dirty_rate, rates.balanced, before, rates.ratelimit];
        self.step(Rule::RatelimitStepped, args);
        self.update_bandwidth(bdi);
    }
    /// The smoothed limit follows the hard one: up at once, down slowly and never below what is
    /// dirty (`update_dirty_limit`).
    fn follow_thresh(&mut self, dirty: Pages) {
        let now = self.now_ticks();
        let dirt = self.dirt_mut();
        if now - dirt.limit_stamp < INTERVAL {
            return;
        }
        dirt.limit_stamp = now;
        let (thresh, limit) = (dirt.limits.thresh, Pages::new(dirt.get(Gauge::DirtyLimit)));
        let goal = thresh.max(dirty);
        let next = if limit < thresh {
            thresh
        } else {
            Pages::new(limit.get() - (limit.saturating_sub(goal).get() >> 5))
        };
        if next != limit {
            self.set_dirty_limit(next);
            let args = [limit.get(), next.get(), thresh.get(), dirty.get()];
            self.step(Rule::DirtyLimitMoved, args);
        }
    }
    /// Where dirty pages stand, for tasks that dirty those of a device.
    pub(super) fn position(&mut self, bdi: BdiId) -> Position {
        let now = self.now_ticks();
        let dirt = self.dirt_mut();
        dirt.age_completions(now);
        let limits = dirt.limits;
        let wb_thresh = dirt.share(bdi, limits.thresh);
        let position = Position {
            limits,
            limit: limits.thresh.max(Pages::new(dirt.get(Gauge::DirtyLimit))),
            dirty: dirt.dirty(),
            wb_dirty: dirt.wb_dirty(bdi),
            wb_thresh,
            wb_bandwidth: dirt.of(Gauge::AvgWriteBandwidth, bdi),
        };
        self.set_gauge(Gauge::WbThresh, bdi.get(), wb_thresh.get());
        position
    }
    /// Whether the flusher of a device has to write because too much is dirty
    /// (`wb_over_bg_thresh`).
    pub(super) fn over_background(&mut self, bdi: BdiId) -> bool {
        let now = self.now_ticks();
        let dirt = self.dirt_mut();
        dirt.age_completions(now);
        let background = dirt.limits.background;
        dirt.get(Gauge::Dirty) > background.get()
            || dirt.of(Gauge::WbDirty, bdi) > dirt.share(bdi, background).get()
    }
}

impl Dirt {
    /// What happened at a device since its rates were last looked at.
    fn since_stamp(&self, bdi: BdiId, now: u64) -> Interval {
        let device = self.device(bdi);
        Interval {
            elapsed: (now - device.stamp).max(1),
            dirtied: self.of(Gauge::WbDirtied, bdi) - device.dirtied_stamp,
            written: self.of(Gauge::WbWritten, bdi) - device.written_stamp,
        }
    }
    /// Its rates were looked at now.
    fn stamp(&mut self, bdi: BdiId, now: u64) {
        let dirtied = self.of(Gauge::WbDirtied, bdi);
        let written = self.of(Gauge::WbWritten, bdi);
        let device = self.device_mut(bdi);
        device.stamp = now;
        device.dirtied_stamp = dirtied;
        device.written_stamp = written;
    }
}
