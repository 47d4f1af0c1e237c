//! Devices with a timing of their own share one limit on dirty pages by what they write.

use folioscope_core::dirty::flusher::flusher_task;
use folioscope_core::gauges::Gauge;
use folioscope_core::scenario::Scenario;
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::run_and_read;
use folioscope_core::trace::delta::{Delta, DeltaKind};
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::sink::Sink;
use folioscope_core::trace::step::Step;
use folioscope_core::units::BdiId;
use std::collections::{BTreeMap, BTreeSet};

const TWO: &str = include_str!("../../assets/scenarios/races/two-devices.toml");
const TENTH: u64 = 100_000_000;

/// Keeps the gauges, as they are at the end of each tenth of a second, and who did what.
#[derive(Default)]
struct Watching {
    now: BTreeMap<(u32, u32), u64>,
    tenths: Vec<BTreeMap<(u32, u32), u64>>,
    pauses: BTreeSet<u32>,
    writers: BTreeSet<u32>,
}

impl Sink for Watching {
    const ON: bool = true;
    const MIRROR: bool = false;
    fn take(&mut self, step: Step, deltas: &[Delta]) {
        while self.tenths.len() < (step.time.get() / TENTH) as usize {
            self.tenths.push(self.now.clone());
        }
        for delta in deltas.iter().filter(|delta| delta.kind == DeltaKind::Gauge) {
            self.now.insert((delta.object, delta.aux), delta.new);
        }
        if step.rule == Rule::Paused {
            self.pauses.insert(step.task.get());
        }
        if step.rule == Rule::ChunkEnds {
            self.writers.insert(step.task.get());
        }
    }
}

impl Watching {
    fn at(&self, tenth: usize, gauge: Gauge, of: u32) -> u64 {
        self.tenths[tenth].get(&(gauge.code(), of)).copied().unwrap_or(0)
    }
    /// How fast a gauge of a device grows between two tenths, a second.
    fn rate(&self, gauge: Gauge, of: u32, (from, to): (usize, usize)) -> u64 {
        10 * (self.at(to, gauge, of) - self.at(from, gauge, of)) / (to - from) as u64
    }
}

fn parsed(text: &str) -> Scenario {
    parse_scenario("two", text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_fast_and_a_slow_device_get_their_parts() {
    let scenario = parsed(TWO);
    let (ran, files) =
        run_and_read(&scenario, &scenario.variants[0], Watching::default()).expect("no hang");
    assert!(ran.results.iter().all(|result| result.0.is_ok()));
    assert_eq!(files.seen.iter().map(Vec::len).collect::<Vec<_>>(), [64 << 20; 2]);
    let seen = ran.sink;
    // Both tasks pause, and each device has a flusher of its own.
    assert_eq!(seen.pauses, [2, 3].into());
    assert_eq!(seen.writers, [0, 1].map(|bdi| flusher_task(BdiId::new(bdi)).get()).into());
    let span = (250, 300);
    for (bdi, pages) in [(0, 512), (1, 128)] {
        for gauge in [Gauge::WbDirtied, Gauge::WbWritten] {
            let rate = seen.rate(gauge, bdi, span);
            assert!(rate.abs_diff(pages) * 5 <= pages, "{gauge:?} of {bdi}: {rate} of {pages}");
        }
    }
    // The shares of the limit stand as the bandwidths do.
    let share = |bdi| seen.at(span.1, Gauge::WbThresh, bdi);
    let (fast, slow) = (share(0), share(1));
    assert!(fast > 2 * slow && fast < 8 * slow, "{fast} and {slow}");
    for tenth in span.0..span.1 {
        let dirty = seen.at(tenth, Gauge::Dirty, 0) + seen.at(tenth, Gauge::Writeback, 0);
        assert!(dirty <= seen.at(tenth, Gauge::DirtyLimit, 0), "{dirty} at {tenth}");
        for (all, each) in [(Gauge::Dirty, Gauge::WbDirty), (Gauge::Writeback, Gauge::WbWriteback)]
        {
            let sum = seen.at(tenth, each, 0) + seen.at(tenth, each, 1);
            assert_eq!(seen.at(tenth, all, 0), sum);
        }
    }
}

#[test]
fn bad_disks_are_told_where_and_what() {
    let disk = "\n[[disk]]\nname = \"slow\"\ndepth = 1\nlatency_us = 0\nmib_per_second = 8\nflush_us = 0\n";
    for (good, bad, want) in [
        ("disk = \"slow\"", "disk = \"slaw\"", "no [[disk]] is called `slaw`"),
        ("name = \"slow\"\n", "", "missing field `name`"),
        ("name = \"slow\"\ndepth = 1", "name = \"slow\"\ndepth = 0", "depth is 0: expected 1"),
        ("name = \"slow\"\ndepth", "name = \"slow\"\ndeep", "unknown field `deep`"),
        ("\n[dirty]", &format!("{disk}\n[dirty]"), "two disks are called `slow`"),
        ("\n[dirty]", "\n[queue]\n\n[dirty]", "is for one device: leave it out, or [[disk]]"),
        ("[[disk]]\nname = \"slow\"", "[disk]\nname = \"slow\"", "disk"),
    ] {
        let text = TWO.replacen(good, bad, 1);
        assert_ne!(text, TWO, "{good} is in the file");
        let error = parse_scenario("two", &text).expect_err(bad).to_string();
        assert!(error.starts_with("two:") && error.contains(want), "{bad}: {error}");
    }
}
