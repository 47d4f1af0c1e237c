//! The figures that lessons are about, of the runs that they show.

use folioscope_core::block::bio::BioEnd;
use folioscope_core::counters::{Counter, Counters};
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::run_and_read;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::step::Step;
use folioscope_core::trace::timeline::Recording;

struct Ran {
    counters: Counters,
    recording: Recording,
    durable: Vec<u8>,
}

/// Every variant of a scenario.
fn runs(name: &str) -> Vec<Ran> {
    let path = format!("{}/../assets/scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the scenario can be read");
    let scenario = parse_scenario(name, &text).unwrap_or_else(|error| panic!("{error}"));
    let ran = scenario.variants.iter().map(|variant| {
        let (run, contents) =
            run_and_read(&scenario, variant, Recording::default()).expect("it comes to its end");
        assert_eq!(run.counters.get(Counter::BrokenInvariants), 0);
        assert_eq!(contents.seen, contents.durable, "all of it was synced or read only");
        let durable = contents.durable.into_iter().next().unwrap_or_default();
        Ran { counters: run.counters, recording: run.sink, durable }
    });
    ran.collect()
}

fn steps(ran: &Ran, rule: Rule) -> Vec<&Step> {
    ran.recording.steps().iter().filter(|step| step.rule == rule).collect()
}

#[test]
fn a_bio_ends_for_each_of_the_reasons_of_lesson_3() {
    let ran = runs("how-a-bio-ends").remove(0);
    let sent = steps(&ran, Rule::BioSubmitted);
    let ends: Vec<(u64, Option<BioEnd>)> =
        sent.iter().map(|step| (step.args[2] / 4096, BioEnd::from_code(step.args[3]))).collect();
    let want = [
        (2, BioEnd::FileGap),
        (2, BioEnd::SectorGap),
        (2, BioEnd::FileGap),
        (2, BioEnd::TypeDiffers),
        (2, BioEnd::TypeDiffers),
        (256, BioEnd::VecsFull),
        (44, BioEnd::LastRange),
    ];
    assert_eq!(ends, want.map(|(blocks, end)| (blocks, Some(end))));
    assert_eq!(ran.counters.get(Counter::DeviceWritten), (2 + 4 + 4 + 300) * 4096);
}

#[test]
fn windows_of_lesson_4_are_those_of_a_kernel() {
    let ran = runs("readahead");
    let windows = steps(&ran[0], Rule::ReadaheadWindow).into_iter();
    let windows: Vec<u64> = windows.map(|step| step.args[1] & u64::from(u32::MAX)).collect();
    // As `ra_seq_4k` of the goldens has them.
    assert_eq!(windows, [4, 8, 4, 8, 8, 16, 16, 32, 32, 32, 32]);
    let pages = |ran: &Ran| -> Vec<u64> {
        steps(ran, Rule::BioSubmitted).iter().map(|step| step.args[2] / 4096).collect()
    };
    // Three reads with a stride follow, a page each.
    assert_eq!(pages(&ran[0]), [4, 8, 4, 8, 8, 16, 16, 32, 32, 32, 32, 1, 1, 1]);
    assert_eq!(pages(&ran[1]), [4, 8, 16, 32, 32, 32, 32, 32, 32, 1, 1, 1]);
    // Where all folios have one page each page is one.
    let folios = ran.iter().map(|ran| ran.counters.get(Counter::FoliosCreated));
    assert_eq!(folios.collect::<Vec<_>>(), [18, 223]);
}

#[test]
fn what_was_stored_behind_eof_in_lesson_5_is_nowhere_in_the_file() {
    let ran = runs("where-eof-bites").remove(0);
    let file = &ran.durable;
    assert_eq!(file.len(), 11_000);
    assert!(file[..1000].iter().all(|byte| *byte == 1));
    assert!(file[1000..10_000].iter().all(|byte| *byte == 0), "zeros, not 7 and not 9");
    assert!(file[10_000..].iter().all(|byte| *byte != 0));
    assert_eq!(steps(&ran, Rule::Stored).len(), 2);
}

#[test]
fn data_that_goes_first_in_lesson_15_saves_a_completion() {
    let all = runs("data-before-map");
    let requests = all.iter().map(|ran| ran.counters.get(Counter::Requests));
    assert_eq!(requests.collect::<Vec<_>>(), [3, 2, 2]);
    let order = |ran: &Ran| -> Vec<u64> {
        steps(ran, Rule::RequestIssued).iter().map(|step| step.args[1] / 512).collect()
    };
    assert_eq!(order(&all[0]), [98_400, 98_408, 98_384]);
    assert_eq!(order(&all[1]), [98_384, 98_408]);
}

#[test]
fn what_goes_early_uncounted_in_lesson_20_ends_the_read_of_its_folio_twice() {
    let path = format!("{}/../assets/scenarios/read-ended-twice.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the scenario can be read");
    let scenario = parse_scenario("it", &text).unwrap_or_else(|error| panic!("{error}"));
    let found = scenario.variants.iter().map(|variant| {
        let (run, _) = run_and_read(&scenario, variant, Recording::default()).expect("it ends");
        let ends = run.sink.steps().iter().filter(|step| step.rule == Rule::ReadEnds).count();
        let count = |counter| run.counters.get(counter);
        (count(Counter::BrokenInvariants), ends, count(Counter::DeviceRead) / 4096)
    });
    // By boundary, data first, data last: broken invariants, ends of the read, blocks.
    assert_eq!(found.collect::<Vec<_>>(), [(1, 2, 21), (0, 1, 17), (0, 1, 17)]);
}
