//! A power cut as an operation: the cache is empty afterwards, files are what the device has.

use folioscope_core::geometry::Geometry;
use folioscope_core::scenario::Scenario;
use folioscope_core::scenario::crash::generate;
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::{run, run_and_read};
use folioscope_core::trace::delta::Delta;
use folioscope_core::trace::model::Model;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::sink::{NoTrace, Sink};
use folioscope_core::trace::step::Step;
use folioscope_core::trace::timeline::{Recording, Timeline};

/// Folds the trace as it is made, and compares with the engine after every step.
struct Folding {
    model: Model,
    cuts: u32,
}

impl Sink for Folding {
    const ON: bool = true;
    const MIRROR: bool = true;
    fn take(&mut self, step: Step, deltas: &[Delta]) {
        for delta in deltas {
            self.model.apply(delta).expect("the trace fits the state it changes");
        }
        if step.rule == Rule::PowerCut {
            self.cuts += 1;
            assert_eq!(self.model.folios().count(), 0);
            assert_eq!((self.model.bios().count(), self.model.ops().count()), (0, 0));
            assert!(self.model.files().all(|(_, file)| file.size() == file.disk_size()));
        }
    }
    fn mirror(&mut self, state: &Model) {
        assert_eq!(self.model.without_tallies(), *state);
    }
}

fn parse(text: &str) -> Scenario {
    parse_scenario("scenario", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn folding(geometry: Geometry) -> Folding {
    Folding { model: Model::new(geometry), cuts: 0 }
}

#[test]
fn a_trace_goes_through_power_cuts_and_back() {
    for seed in 0..40 {
        // A cut after every fourth operation.
        let mut text = String::new();
        for (n, part) in generate(seed).split("\n[[op]]").enumerate() {
            if n > 0 && n % 4 == 0 {
                let mode = ["none", "some", "all"][n / 4 % 3];
                text = [&text, "\n[[op]]\ndo = \"power_cut\"\nmode = \"", mode, "\"\n"].concat();
            }
            let op = if n > 0 { "\n[[op]]" } else { "" };
            text = [&text, op, part].concat();
        }
        let scenario = parse(&text);
        let variant = &scenario.variants[0];
        let ran = run(&scenario, variant, folding(scenario.geometry)).expect("nothing hangs");
        assert!(ran.sink.cuts >= 1, "seed {seed}");
        let ran = run(&scenario, variant, Recording::default()).expect("nothing hangs");
        let mut timeline = Timeline::new(ran.header, ran.sink).expect("a trace fits itself");
        timeline.seek(usize::MAX);
        timeline.seek(0);
        assert_eq!(timeline.model(), &Model::new(scenario.geometry));
    }
}

const WORLD: &str = "version = 0\ntitle = \"t\"\n[world]\npage_size = 4096\nblock_size = 4096\n\
                     max_folio_order = 2\n[[file]]\nname = \"a\"\nsize = 8192\nfill = 7\n";

/// The bytes of the file after these operations.
fn bytes(lines: &str) -> Vec<u8> {
    let scenario = parse(&(WORLD.to_owned() + lines));
    let (_, files) = run_and_read(&scenario, &scenario.variants[0], NoTrace).expect("it ends");
    assert_eq!(files.seen, files.durable);
    files.seen[0].clone()
}

fn op(what: &str, more: &str) -> String {
    format!("[[op]]\ndo = \"{what}\"\n{more}\n")
}

#[test]
fn what_was_not_synced_is_gone_and_what_was_is_not() {
    let cut = op("power_cut", "");
    let write = op("pwrite", "at = 4096\nlen = 8192\nbyte = 9");
    let old = [[7; 4096], [7; 4096]].concat();
    let new = [[7; 4096], [9; 4096], [9; 4096]].concat();
    assert_eq!(bytes(&(write.clone() + &cut)), old);
    for sync in ["fsync", "fdatasync", "syncfs", "msync"] {
        assert_eq!(bytes(&(write.clone() + &op(sync, "") + &cut)), new, "{sync}");
    }
    // Written, and neither flushed nor recorded.
    let ranged = write.clone() + &op("sync_range", "");
    assert_eq!(bytes(&(ranged.clone() + &cut)), old);
    assert_eq!(bytes(&(ranged + &op("power_cut", "mode = \"all\""))), new);
    // What comes after a cut is as durable as ever, and space that was lost is not used twice.
    let after = write.clone() + &cut + &write + &op("fsync", "") + &cut;
    assert_eq!(bytes(&after), new);
    // A flush that lies loses all the same.
    let lie = "[[fault]]\nat = \"flush\"\n";
    assert_eq!(bytes(&(write + &op("fsync", "") + &cut + lie))[4096..8192], [7; 4096]);
}

#[test]
fn a_cut_that_keeps_some_tears_writes_at_sectors() {
    let write = op("pwrite", "len = 8192\nbyte = 9") + &op("sync_range", "");
    let mut torn = 0;
    for seed in 0..20 {
        let cut = op("power_cut", &format!("mode = \"some\"\nseed = {seed}"));
        let found = bytes(&(write.clone() + &cut));
        for sector in found.chunks(512) {
            assert!(sector.iter().all(|byte| *byte == 7) || sector.iter().all(|byte| *byte == 9));
        }
        torn += u32::from(found.contains(&7) && found.contains(&9));
    }
    assert!(torn >= 5, "{torn}");
    for (lines, want) in [
        ("mode = \"half\"", "no mode `half` of a power cut: expected none, some, all"),
        ("seed = 1", "`seed` is for a cut with mode \"some\""),
    ] {
        let text = WORLD.to_owned() + &op("power_cut", lines);
        let error = parse_scenario("s", &text).expect_err(lines).to_string();
        assert!(error.contains(want), "{error}");
    }
}
