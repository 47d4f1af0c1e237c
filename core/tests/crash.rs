//! The power is cut at every step: what is left must be what files were, and what was synced.

use folioscope_core::scenario::crash::{Looked, Thoroughness, generate, sweep};
use folioscope_core::scenario::file::parse_scenario;

fn run(seed: u64, states: u32) -> Looked {
    let text = generate(seed);
    let scenario = parse_scenario("generated", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let how = Thoroughness { states, mount_every: 16, seed };
    sweep(&scenario, &scenario.variants[0], how)
        .unwrap_or_else(|failed| panic!("seed {seed}: {failed}\n{text}"))
}

#[test]
fn nothing_is_lost_that_was_synced_and_nothing_shows_that_was_never_written() {
    let mut all = Looked::default();
    for seed in 0..20 {
        let looked = run(seed, 16);
        all += looked;
    }
    assert!(all.moments > 400 && all.mounted > 400 && all.sectors > 10_000, "{all:?}");
}
