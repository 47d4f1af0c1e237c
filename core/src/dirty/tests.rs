//! Limits, ratios and pauses against their closed formulas.

use super::limits::{Limits, ONE, Position, Share, poll_interval, scaled};
use super::throttle::bounds;
use super::{DirtyConfig, Rates};
use crate::units::{Bytes, Pages};
use proptest::prelude::*;

fn config(available: u64, background: Share, hard: Share) -> DirtyConfig {
    DirtyConfig { background, hard, ..DirtyConfig::usual(Pages::new(available)) }
}

fn limits(background: u64, thresh: u64) -> Limits {
    Limits { background: Pages::new(background), thresh: Pages::new(thresh) }
}

#[test]
fn limits_are_what_the_formulas_say() {
    use Share::{Bytes as B, Percent as P};
    let bytes = |n| B(Bytes::new(n));
    let mib = |n: u64| bytes(n << 20);
    // Memory in pages, background, hard; background, hard, freerun, setpoint in pages of 4 KiB.
    for (memory, background, hard, want) in [
        // 1 GiB: 10 and 20 hundredths, where a hundredth is 40 of 4096.
        (262_144, P(10), P(20), [26_176, 52_416, 39_296, 45_856]),
        (1 << 20, P(10), P(20), [104_704, 209_664, 157_184, 183_424]),
        (262_144, mib(16), mib(64), [4096, 16_384, 10_240, 13_312]),
        (262_144, mib(64), P(20), [16_384, 52_416, 34_400, 43_408]),
        // No lower than the hard limit: half of it.
        (262_144, P(20), P(20), [26_208, 52_416, 39_312, 45_864]),
        (262_144, mib(512), mib(64), [8192, 16_384, 12_288, 14_336]),
        (262_144, P(0), P(20), [0, 52_416, 26_208, 39_312]),
        // Bytes are rounded up to pages.
        (262_144, bytes(1), bytes(8193), [1, 3, 2, 2]),
        (0, P(10), P(20), [0, 0, 0, 0]),
    ] {
        let found = Limits::new(&config(memory, background, hard), Bytes::kib(4));
        let all = [found.background, found.thresh, found.freerun(), found.setpoint(found.thresh)];
        assert_eq!(all.map(Pages::get), want, "{memory} {background:?} {hard:?}");
    }
}

#[test]
fn a_task_asks_again_after_the_root_of_the_room() {
    for (dirty, thresh, want) in
        [(0, 65_536, 256), (0, 65_535, 128), (100, 101, 1), (101, 101, 1), (500, 101, 1)]
    {
        assert_eq!(poll_interval(Pages::new(dirty), Pages::new(thresh)).get(), want);
    }
}

fn at(dirty: u64, wb_dirty: u64, wb_thresh: u64) -> Position {
    Position {
        limits: limits(1000, 3000),
        limit: Pages::new(3000),
        dirty: Pages::new(dirty),
        wb_dirty: Pages::new(wb_dirty),
        wb_thresh: Pages::new(wb_thresh),
        wb_bandwidth: 1000,
    }
}

#[test]
fn the_rate_is_two_at_freerun_one_at_the_setpoint_and_none_at_the_limit() {
    // Freerun 2000, setpoint 2500, limit 3000: 1 + ((2500 - dirty) / 500)^3.
    for (dirty, want) in [(2000, 2.0), (2250, 1.125), (2500, 1.0), (2750, 0.875), (2900, 0.488)] {
        let found = at(dirty, 0, 0).of_world() as f64 / ONE as f64;
        assert!((found - want).abs() < 0.01, "{dirty}: {found}");
    }
    assert_eq!(at(3000, 0, 0).of_world(), 0);
    assert_eq!(at(9000, 0, 0).of_device(), 0);
}

#[test]
fn a_device_over_its_share_is_slowed_and_one_that_runs_dry_is_fed() {
    // Alone on the machine, at the setpoint: its own line says about one as well.
    let alone = at(2500, 2500, 3000).of_device();
    assert!(alone.abs_diff(ONE) <= 8, "{alone}");
    // Half of the limit is its share.
    let fair = at(2500, 1250, 1500).of_device();
    assert!(fair.abs_diff(ONE) <= 16, "{fair}");
    let greedy = at(2500, 2400, 1500).of_device();
    assert!(greedy < fair && greedy >= ONE / 4, "{greedy}");
    assert_eq!(at(2500, 2500, 100).of_device(), ONE / 4);
    let hungry = at(2500, 10, 1500).of_device();
    assert!(hungry > 4 * ONE, "{hungry}");
}

proptest! {
    #[test]
    fn more_dirt_never_means_a_higher_rate(
        background in 0u64..5000, room in 2u64..5000, a in 0u64..20_000, b in 0u64..20_000,
    ) {
        let position = |dirty: u64| Position {
            limits: limits(background, background + room),
            limit: Pages::new(background + room),
            ..at(dirty, 0, 0)
        };
        let (low, high) = (a.min(b), a.max(b));
        prop_assert!(position(low).of_world() >= position(high).of_world());
        prop_assert!(position(low).of_world() <= 2 * ONE);
    }

    #[test]
    fn pauses_stay_within_their_bounds(
        wb_dirty in 0u64..1_000_000, average in 1u64..1_000_000, ratelimit in 1u64..1_000_000,
        allowed in 0u64..1_000_000, poll in 1u64..100,
    ) {
        let rates = Rates { bandwidth: average, average, ratelimit, balanced: ratelimit };
        let found = bounds(Pages::new(wb_dirty), rates, allowed, poll);
        prop_assert!((1..=200).contains(&found.most), "{:?}", found);
        prop_assert!(found.least <= found.most + 1, "{:?}", found);
        prop_assert!(1000 * found.next / (allowed + 1) <= found.most.max(1) || allowed == 0);
    }
}

#[test]
fn a_lone_writer_pauses_for_about_ten_milliseconds() {
    let rates = Rates { bandwidth: 25_600, average: 25_600, ratelimit: 25_600, balanced: 25_600 };
    let found = bounds(Pages::new(10_000), rates, 25_600, 32);
    assert_eq!((found.most, found.next), (50, 250));
    assert_eq!(found.least, 6);
    assert_eq!(scaled(25_600, ONE / 2), 12_800);
}
