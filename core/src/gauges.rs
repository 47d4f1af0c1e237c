//! Values that go up and down: pages that are dirty, limits, rates. They are part of the world
//! where dirty pages are limited, and of its trace, so that a run can be drawn over time.

use crate::ordered::{Key, OrderedMap};

/// What a gauge is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// The whole world.
    World,
    /// A backing device, by its number.
    Device,
    /// A task, by its number.
    Task,
}

/// What a gauge counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Pages.
    Pages,
    /// Pages a second.
    PagesPerSecond,
    /// Milliseconds.
    Millis,
    /// 1024ths of one.
    Of1024,
}

macro_rules! gauges {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $of:ident, $unit:ident;)*) => {
        /// A value that goes up and down.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum Gauge { $($(#[$doc])* $name,)* }

        impl Gauge {
            /// Every gauge, in the order of its code.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// The name in plots, as the kernel's trace events call it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
            /// What it is about.
            pub const fn of(self) -> Of {
                match self { $(Self::$name => Of::$of,)* }
            }
            /// What it counts.
            pub const fn unit(self) -> Unit {
                match self { $(Self::$name => Unit::$unit,)* }
            }
            /// The code in deltas.
            pub const fn code(self) -> u32 {
                self as u32
            }
            /// The gauge with this code.
            pub fn from_code(code: u32) -> Option<Self> {
                Self::ALL.get(usize::try_from(code).ok()?).copied()
            }
        }
    };
}

gauges! {
    /// Pages of dirty folios (`NR_FILE_DIRTY`).
    Dirty = "dirty", World, Pages;
    /// Pages of folios under writeback (`NR_WRITEBACK`).
    Writeback = "writeback", World, Pages;
    /// From here on the flusher writes.
    BackgroundThresh = "bg_thresh", World, Pages;
    /// From here on nobody may dirty more.
    Thresh = "thresh", World, Pages;
    /// The same, smoothed: it goes down slowly.
    DirtyLimit = "limit", World, Pages;
    /// Up to here nobody pauses.
    Freerun = "freerun", World, Pages;
    /// Where throttling keeps the dirty pages.
    Setpoint = "setpoint", World, Pages;
    /// Dirty pages of a device (`WB_RECLAIMABLE`).
    WbDirty = "wb_dirty", Device, Pages;
    /// Pages of a device under writeback (`WB_WRITEBACK`).
    WbWriteback = "wb_writeback", Device, Pages;
    /// Pages of a device that were dirtied so far (`WB_DIRTIED`).
    WbDirtied = "wb_dirtied", Device, Pages;
    /// Pages of a device that were written so far (`WB_WRITTEN`).
    WbWritten = "wb_written", Device, Pages;
    /// A device's share of the hard limit.
    WbThresh = "wb_thresh", Device, Pages;
    /// What a device writes, estimated.
    WriteBandwidth = "write_bw", Device, PagesPerSecond;
    /// The same, smoothed.
    AvgWriteBandwidth = "awrite_bw", Device, PagesPerSecond;
    /// What each task may dirty where dirty pages are at the setpoint.
    DirtyRatelimit = "dirty_ratelimit", Device, PagesPerSecond;
    /// What it should be, going by the last interval alone.
    BalancedRatelimit = "balanced_dirty_ratelimit", Device, PagesPerSecond;
    /// How much more, or less, tasks may dirty because of where dirty pages stand.
    PosRatio = "pos_ratio", Device, Of1024;
    /// Pages that a task dirtied so far.
    TaskDirtied = "task_dirtied", Task, Pages;
    /// How long a task has paused so far.
    TaskPaused = "task_paused", Task, Millis;
    /// What a task was allowed when it last asked.
    TaskRatelimit = "task_ratelimit", Task, PagesPerSecond;
}

/// A gauge, and which device or task it is of; 0 for those of the world.
pub type GaugeKey = (Gauge, u32);

impl Key for GaugeKey {
    fn word(self) -> u64 {
        u64::from(self.0.code()) << 32 | u64::from(self.1)
    }
    fn of_word(word: u64) -> Self {
        let gauge = Gauge::from_code((word >> 32) as u32);
        (gauge.expect("the code of a gauge"), word as u32)
    }
}

/// The value of every gauge; those that are not kept are 0.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Gauges(OrderedMap<GaugeKey, u64>);

impl Gauges {
    /// The value of one.
    pub fn get(&self, gauge: Gauge, of: u32) -> u64 {
        self.0.get(&(gauge, of)).copied().unwrap_or(0)
    }
    /// Gives one another value; the one before.
    pub fn set(&mut self, gauge: Gauge, of: u32, value: u64) -> u64 {
        let old = if value == 0 {
            self.0.remove(&(gauge, of))
        } else {
            self.0.insert((gauge, of), value)
        };
        old.unwrap_or(0)
    }
    /// All that are not 0.
    pub fn iter(&self) -> impl Iterator<Item = (GaugeKey, u64)> {
        self.0.iter().map(|(key, value)| (key, *value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_go_both_ways_and_zero_is_not_kept() {
        for gauge in Gauge::ALL {
            assert_eq!(Gauge::from_code(gauge.code()), Some(*gauge));
        }
        assert_eq!(Gauge::from_code(Gauge::ALL.len() as u32), None);
        let mut all = Gauges::default();
        assert_eq!(all.set(Gauge::Dirty, 0, 5), 0);
        assert_eq!(all.set(Gauge::Dirty, 0, 0), 5);
        assert_eq!(all, Gauges::default());
    }
}
