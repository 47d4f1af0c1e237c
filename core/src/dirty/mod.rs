//! How much may be dirty: limits, the tasks that pause for them, and the flusher that writes.
//!
//! Off unless the host asks for it ([`crate::engine::Engine::limit_dirty`]). Time is counted in
//! ticks of a millisecond, as by a kernel with `HZ=1000`; the world has one CPU.

mod account;
mod bandwidth;
pub mod flusher;
pub mod limits;
mod rates;
mod throttle;

pub(crate) use throttle::balance;

use crate::gauges::{Gauge, Gauges};
use crate::ordered::OrderedMap;
use crate::trace::delta::DeltaKind;
use crate::trace::rule::Rule;
use crate::units::{BdiId, Bytes, Nanos, Pages, TaskId, Time};
use crate::world::{Env, World};
use flusher::Queues;
use limits::{Limits, Share};

/// Ticks of a second.
const HZ: u64 = 1000;
/// Nanoseconds of a tick.
const TICK: u64 = 1_000_000_000 / HZ;
/// What a device is believed to write in a second before it was seen (`INIT_BW`).
const FIRST_BANDWIDTH: Bytes = Bytes::new(100 << 20);
/// How much a task dirties before it first asks (`DIRTY_POLL_THRESH`).
const POLL: Bytes = Bytes::kib(128);

/// The tick that a moment lies in.
const fn ticks(time: Time) -> u64 {
    time.get() / TICK
}

/// When a tick begins.
const fn tick(n: u64) -> Time {
    Time::new(n.saturating_mul(TICK))
}

/// What the limits on dirty pages are, named as in `/proc/sys/vm`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirtyConfig {
    /// Pages that can be dirty at all: free ones and those of files.
    pub available: Pages,
    /// From where on the flusher writes (`dirty_background_ratio`, `dirty_background_bytes`).
    pub background: Share,
    /// From where on nobody may dirty more (`dirty_ratio`, `dirty_bytes`).
    pub hard: Share,
    /// How often the flusher looks for old data; zero = never (`dirty_writeback_centisecs`).
    pub interval: Nanos,
    /// How old data is then written (`dirty_expire_centisecs`).
    pub expire: Nanos,
    /// Devices, each with limits and a flusher of its own.
    pub devices: u32,
}

impl DirtyConfig {
    /// What a kernel is started with, for so many pages of memory and one device.
    pub const fn usual(available: Pages) -> Self {
        Self {
            available,
            background: Share::Percent(10),
            hard: Share::Percent(20),
            interval: Nanos::new(5_000_000_000),
            expire: Nanos::new(30_000_000_000),
            devices: 1,
        }
    }
}

/// The rates of a device, in pages a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Rates {
    bandwidth: u64,
    average: u64,
    ratelimit: u64,
    balanced: u64,
}

/// What is kept of a backing device besides its gauges.
#[derive(Clone, Debug)]
struct Device {
    /// When its rates were last looked at, in ticks, and what was dirtied and written by then.
    stamp: u64,
    dirtied_stamp: u64,
    written_stamp: u64,
    /// When they are looked at again though nobody asks, in ticks.
    update_at: Option<u64>,
    /// Pages whose writeback ended lately: what its share of the limit is by.
    completions: u64,
    /// It and the world are over their limits (`dirty_exceeded`).
    exceeded: bool,
    queues: Queues,
}

/// What is kept of a task that dirties.
#[derive(Clone, Copy, Debug)]
struct Dirtier {
    /// Pages that it dirtied since it last paused (`nr_dirtied`).
    dirtied: u64,
    /// How many it may before it asks (`nr_dirtied_pause`).
    pause_after: u64,
    /// When its last pause ended, in ticks (`dirty_paused_when`).
    paused_when: Option<u64>,
}

/// Everything about dirty pages and their limits.
#[derive(Clone, Debug)]
pub(crate) struct Dirt {
    config: DirtyConfig,
    page: Bytes,
    limits: Limits,
    gauges: Gauges,
    devices: Vec<Device>,
    tasks: OrderedMap<TaskId, Dirtier>,
    /// Pages dirtied on the CPU since somebody asked (`bdp_ratelimits`), and how many may be.
    cpu_dirtied: u64,
    cpu_pause_after: u64,
    /// When the smoothed limit was last looked at, in ticks.
    limit_stamp: u64,
    /// When completions were last halved, in ticks; none while there are none.
    period: Option<u64>,
    /// Completions of all devices.
    completions: u64,
}

impl Dirt {
    /// As a kernel starts with it at this moment, in ticks.
    fn new(config: DirtyConfig, page: Bytes, now: u64) -> Self {
        let limits = Limits::new(&config, page);
        let device = Device {
            stamp: now,
            dirtied_stamp: 0,
            written_stamp: 0,
            update_at: None,
            completions: 0,
            exceeded: false,
            queues: Queues::new(now),
        };
        Self {
            config,
            page,
            limits,
            gauges: Gauges::default(),
            devices: vec![device; config.devices.max(1) as usize],
            tasks: OrderedMap::default(),
            cpu_dirtied: 0,
            // One CPU (`writeback_set_ratelimit`).
            cpu_pause_after: (limits.thresh.get() / 32).max(16),
            limit_stamp: now,
            period: None,
            completions: 0,
        }
    }
    /// The value of every gauge.
    pub(crate) const fn gauges(&self) -> &Gauges {
        &self.gauges
    }
    fn get(&self, gauge: Gauge) -> u64 {
        self.gauges.get(gauge, 0)
    }
    fn of(&self, gauge: Gauge, bdi: BdiId) -> u64 {
        self.gauges.get(gauge, bdi.get())
    }
    fn device(&self, bdi: BdiId) -> &Device {
        &self.devices[bdi.get() as usize]
    }
    fn device_mut(&mut self, bdi: BdiId) -> &mut Device {
        &mut self.devices[bdi.get() as usize]
    }
    fn bdis(&self) -> impl Iterator<Item = BdiId> + use<> {
        (0..self.devices.len() as u32).map(BdiId::new)
    }
    /// So many bytes in pages, one at least.
    fn in_pages(&self, bytes: Bytes) -> u64 {
        (bytes.get() / self.page.get()).max(1)
    }
    fn task(&mut self, task: TaskId) -> &mut Dirtier {
        let first = self.in_pages(POLL);
        let fresh = Dirtier { dirtied: 0, pause_after: first, paused_when: None };
        self.tasks.get_or_insert_with(task, || fresh)
    }
    /// Pages that are dirty or being written.
    fn dirty(&self) -> Pages {
        Pages::new(self.get(Gauge::Dirty) + self.get(Gauge::Writeback))
    }
    fn wb_dirty(&self, bdi: BdiId) -> Pages {
        Pages::new(self.of(Gauge::WbDirty, bdi) + self.of(Gauge::WbWriteback, bdi))
    }
    fn rates(&self, bdi: BdiId) -> Rates {
        Rates {
            bandwidth: self.of(Gauge::WriteBandwidth, bdi),
            average: self.of(Gauge::AvgWriteBandwidth, bdi),
            ratelimit: self.of(Gauge::DirtyRatelimit, bdi),
            balanced: self.of(Gauge::BalancedRatelimit, bdi),
        }
    }
}

impl<E: Env> World<E> {
    /// See [`crate::engine::Engine::limit_dirty`].
    pub(crate) fn limit_dirty(&mut self, config: DirtyConfig) {
        let page = self.geometry().page_size();
        self.dirt = Some(Box::new(Dirt::new(config, page, self.now_ticks())));
        let (limits, bdis, first) = {
            let dirt = self.dirt();
            (dirt.limits, dirt.bdis(), dirt.in_pages(FIRST_BANDWIDTH))
        };
        self.set_gauge(Gauge::BackgroundThresh, 0, limits.background.get());
        self.set_gauge(Gauge::Thresh, 0, limits.thresh.get());
        self.set_gauge(Gauge::Freerun, 0, limits.freerun().get());
        self.set_dirty_limit(limits.thresh);
        for bdi in bdis {
            let rates =
                Rates { bandwidth: first, average: first, ratelimit: first, balanced: first };
            self.set_rates(bdi, rates);
        }
        let (background, thresh) = (limits.background.get(), limits.thresh.get());
        let args = [config.available.get(), background, thresh, limits.freerun().get()];
        self.step(Rule::DirtyLimitsSet, args);
    }
    /// The power goes: nothing is dirty or being written any more, no rate is known, and no task
    /// pauses. What the limits were, if there were any: to be set anew.
    pub(crate) fn forget_dirt(&mut self) -> Option<DirtyConfig> {
        let dirt = self.dirt.as_ref()?;
        let (config, kept) = (dirt.config, dirt.gauges.clone());
        for ((gauge, of), _) in kept.iter() {
            self.set_gauge(gauge, of, 0);
        }
        Some(config)
    }
    fn dirt(&self) -> &Dirt {
        self.dirt.as_ref().expect("asked only where dirty pages are limited")
    }
    fn dirt_mut(&mut self) -> &mut Dirt {
        self.dirt.as_mut().expect("asked only where dirty pages are limited")
    }
    fn now_ticks(&self) -> u64 {
        ticks(self.now)
    }
    fn set_gauge(&mut self, gauge: Gauge, of: u32, value: u64) {
        let old = self.dirt_mut().gauges.set(gauge, of, value);
        self.note(DeltaKind::Gauge, gauge.code(), of, old, value);
    }
    fn add_to_gauge(&mut self, gauge: Gauge, of: u32, pages: u64) {
        let old = self.dirt().gauges.get(gauge, of);
        self.set_gauge(gauge, of, old + pages);
    }
    fn take_from_gauge(&mut self, gauge: Gauge, of: u32, pages: u64) {
        let old = self.dirt().gauges.get(gauge, of);
        debug_assert!(old >= pages, "{gauge:?} is {old}, less than {pages}");
        self.set_gauge(gauge, of, old.saturating_sub(pages));
    }
    fn set_rates(&mut self, bdi: BdiId, rates: Rates) {
        for (gauge, value) in [
            (Gauge::WriteBandwidth, rates.bandwidth),
            (Gauge::AvgWriteBandwidth, rates.average),
            (Gauge::DirtyRatelimit, rates.ratelimit),
            (Gauge::BalancedRatelimit, rates.balanced),
        ] {
            self.set_gauge(gauge, bdi.get(), value);
        }
    }
    fn set_dirty_limit(&mut self, limit: Pages) {
        let setpoint = self.dirt().limits.setpoint(limit);
        self.set_gauge(Gauge::DirtyLimit, 0, limit.get());
        self.set_gauge(Gauge::Setpoint, 0, setpoint.get());
    }
}

#[cfg(test)]
mod tests;
