//! What a device writes in a second, and what tasks may dirty in one, both tracked every 200 ms
//! (`wb_update_bandwidth`). Rates are pages a second, times are ticks of a millisecond.

use super::limits::scaled;
use super::{HZ, Rates};

/// How often rates are looked at, in ticks (`BANDWIDTH_INTERVAL`).
pub(super) const INTERVAL: u64 = HZ / 5;
/// Over how long the bandwidth is averaged, in ticks: three seconds, as a power of two.
const PERIOD: u64 = (3 * HZ).next_power_of_two();

/// What happened at a device in an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Interval {
    /// How long it was, in ticks; one at least.
    pub(super) elapsed: u64,
    /// Pages that were dirtied in it.
    pub(super) dirtied: u64,
    /// Pages whose writeback ended in it.
    pub(super) written: u64,
}

impl Rates {
    /// Follows what the device wrote: an average over about three seconds, and a slower one of that
    /// (`wb_update_write_bandwidth`).
    pub(super) fn follow_writes(&mut self, seen: Interval) {
        let Interval { elapsed, written, .. } = seen;
        let pages = written * HZ;
        if elapsed > PERIOD {
            self.bandwidth = pages / elapsed;
            self.average = self.bandwidth.max(1);
            return;
        }
        let bandwidth = (pages + self.bandwidth * (PERIOD - elapsed)) / PERIOD;
        let (old, average) = (self.bandwidth, self.average);
        if average > old && old >= bandwidth {
            self.average -= (average - old) >> 3;
        }
        if average < old && old <= bandwidth {
            self.average += (old - average) >> 3;
        }
        self.average = self.average.max(1);
        self.bandwidth = bandwidth;
    }
    /// Moves what tasks may dirty towards what keeps the dirty pages where they are: by a part of
    /// the difference, and only if both this interval and the one before point that way
    /// (`wb_update_dirty_ratelimit`). `below`: less is dirty than the setpoint says.
    pub(super) fn follow_dirtiers(&mut self, seen: Interval, pos_ratio: u64, below: bool) -> u64 {
        let dirty_rate = seen.dirtied * HZ / seen.elapsed;
        let task = scaled(self.ratelimit, pos_ratio) + 1;
        let writes = self.average;
        let balanced = u128::from(task) * u128::from(writes) / u128::from(dirty_rate | 1);
        let balanced = u64::try_from(balanced).unwrap_or(u64::MAX).min(writes);
        let step = if below {
            self.balanced.min(balanced).min(task).saturating_sub(self.ratelimit)
        } else {
            self.ratelimit.saturating_sub(self.balanced.max(balanced).max(task))
        };
        // Near the goal the steps become small.
        let shift = self.ratelimit / (2 * step + 1);
        let step = if shift < u64::from(u64::BITS) { (step >> shift).div_ceil(8) } else { 0 };
        if self.ratelimit < balanced {
            self.ratelimit += step;
        } else {
            self.ratelimit -= step;
        }
        self.ratelimit = self.ratelimit.max(1);
        self.balanced = balanced;
        dirty_rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(all: u64) -> Rates {
        Rates { bandwidth: all, average: all, ratelimit: all, balanced: all }
    }

    #[test]
    fn bandwidth_follows_the_device_without_ever_passing_it() {
        let mut rates = rates(25_600);
        for _ in 0..400 {
            rates.follow_writes(Interval { elapsed: 200, dirtied: 0, written: 500 });
            assert!(rates.bandwidth >= 2500 && rates.average >= 2500);
        }
        assert!(rates.bandwidth <= 2520 && rates.average <= 2560, "{rates:?}");
        // After a long pause the last interval alone counts.
        rates.follow_writes(Interval { elapsed: 10_000, dirtied: 0, written: 70_000 });
        assert_eq!((rates.bandwidth, rates.average), (7000, 7000));
        rates.follow_writes(Interval { elapsed: 10_000, dirtied: 0, written: 0 });
        assert_eq!((rates.bandwidth, rates.average), (0, 1));
    }

    #[test]
    fn the_rate_of_n_dirtiers_becomes_an_nth_of_the_bandwidth() {
        for n in [1, 2, 5] {
            let mut rates = Rates { average: 10_000, ..rates(25_600) };
            for _ in 0..300 {
                // Each dirties as much as it may; what is dirty swings around the setpoint.
                let below = rates.ratelimit * n < 10_000;
                let ratio = if below { 2048 } else { 512 };
                let dirtied = n * scaled(rates.ratelimit, ratio) / 5;
                let seen = Interval { elapsed: 200, dirtied, written: 2000 };
                rates.follow_dirtiers(seen, ratio, below);
            }
            let all = rates.ratelimit * n;
            assert!((9000..=11_000).contains(&all), "{n}: {rates:?}");
        }
    }

    #[test]
    fn a_step_is_an_eighth_of_the_way_at_most() {
        for (from, balanced, below) in [(1000, 9000, true), (9000, 1000, false)] {
            let mut rates = Rates { average: balanced, balanced, ..rates(from) };
            // Dirtied exactly so that the balanced rate comes out.
            let dirtied = if below { 0 } else { from / 5 };
            let ratio = if below { 9000 } else { 1 };
            rates.follow_dirtiers(Interval { elapsed: 200, dirtied, written: 0 }, ratio, below);
            assert!(rates.ratelimit.abs_diff(from) <= 8000 / 8 + 1, "{rates:?}");
            assert_ne!(rates.ratelimit, from);
        }
    }
}
