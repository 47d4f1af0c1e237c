//! The power is cut at every step: what is left must be what files were, and what was synced.

use folioscope_core::behaviour::IoSizeClamp;
use folioscope_core::scenario::Scenario;
use folioscope_core::scenario::crash::{Failed, Looked, Thoroughness, Wrong, generate, sweep};
use folioscope_core::scenario::file::parse_scenario;

fn parse(text: &str) -> Scenario {
    parse_scenario("generated", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn look(scenario: &Scenario, how: Thoroughness) -> Result<Looked, Failed> {
    sweep(scenario, &scenario.variants[0], how)
}

const HOW: Thoroughness =
    Thoroughness { every: 1, states: 16, mount_every: 16, seed: 0, data_first: true };

/// What the look finds in random scenarios, each with these lines behind it.
fn findings(seeds: u64, more: &str, how: Thoroughness) -> Vec<Option<Wrong>> {
    let each = (0..seeds).filter_map(|seed| {
        let scenario = parse(&(generate(seed) + more));
        match look(&scenario, Thoroughness { seed, ..how }) {
            Ok(_) => None,
            Err(Failed::Found(found)) => Some(found.wrong),
            Err(stuck @ (Failed::Stuck(..) | Failed::Gone)) => panic!("seed {seed}: {stuck}"),
        }
    });
    each.collect()
}

#[test]
fn nothing_is_lost_that_was_synced_and_nothing_shows_that_was_never_written() {
    let mut all = Looked::default();
    for seed in 0..20 {
        let text = generate(seed);
        let looked = look(&parse(&text), Thoroughness { seed, ..HOW });
        all += looked.unwrap_or_else(|failed| panic!("seed {seed}: {failed}\n{text}"));
    }
    assert!(all.moments > 400 && all.mounted > 400 && all.sectors > 5_000, "{all:?}");
}

#[test]
fn the_look_finds_a_device_that_lies_about_flushes() {
    let lies = "\n[[fault]]\nat = \"flush\"\ntimes = \"all\"\n";
    let found = findings(10, lies, HOW);
    assert!(found.len() >= 5, "{found:?}");
}

#[test]
fn the_look_finds_records_that_do_not_wait_for_data() {
    let found = findings(20, "", Thoroughness { data_first: false, ..HOW });
    let stale = found.iter().filter(|wrong| matches!(wrong, Some(Wrong::Stale(_))));
    assert!(stale.count() >= 3, "{found:?}");
}

/// Writes that fail, space that ends and a device that goes lose what a failed sync spoke of, and
/// never show what nobody wrote.
#[test]
fn faults_lose_no_more_than_they_say() {
    let faults = [
        "at = \"write_bio\"\nnth = 2\nreaches = 1536",
        "at = \"write_bio\"\nnth = 3\ntimes = \"all\"",
        "at = \"write_bio\"\nwaits = 3\ntimes = \"all\"",
        "at = \"map_blocks\"\nnth = 2",
        "at = \"convert_unwritten\"\nnth = 2",
        "at = \"reserve_block\"\nnth = 2\ntimes = 3",
        "at = \"flush\"\nnth = 2\nerr = \"EIO\"",
        "at = \"device_gone\"\nnth = 5",
    ];
    for (n, fault) in faults.iter().enumerate() {
        for seed in 0..6 {
            let seed = 1000 + seed * 10 + n as u64;
            let text = format!("{}\n[[fault]]\n{fault}\n", generate(seed));
            let looked = look(&parse(&text), Thoroughness { seed, ..HOW });
            looked.unwrap_or_else(|failed| panic!("seed {seed}: {failed}\n{text}"));
        }
    }
}

/// The clamp of `io_size` is not what keeps stale bytes away: without it a file may show zeros that
/// nobody wrote, and that is all.
#[test]
fn without_the_clamp_there_are_zeros_at_most() {
    for seed in 0..10 {
        let mut scenario = parse(&generate(seed));
        scenario.variants[0].behaviours.io_size_clamp = IoSizeClamp::Off;
        assert!(look(&scenario, Thoroughness { seed, ..HOW }).is_ok());
    }
}
