//! Random streams of operations agree with a plain array of bytes, in every world.

use folioscope_core::behaviour::DirtyTracking;
use folioscope_core::scenario::Scenario;
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::write::write_scenario;
use folioscope_core::streams::put_steps;
use folioscope_core::streams::shrink::shrink;
use folioscope_core::streams::simulated::{Case, replay};
use folioscope_core::streams::worlds::WORLDS;
use folioscope_core::trace::sink::NoTrace;

fn written(scenario: &Scenario) -> String {
    write_scenario(scenario).expect("a file can say it")
}

/// Runs streams of `count` operations in every world; where one goes wrong says how to see it.
fn agree(seeds: std::ops::Range<u64>, count: usize, faults: bool) {
    for world in WORLDS {
        for seed in seeds.clone() {
            let case = Case { world, seed, count, faults };
            let (scenario, result, _) = case.run(NoTrace);
            if let Err(failure) = result {
                let (least, failure) = shrink(scenario, failure, |one| replay(one).err());
                panic!("{case:?}: {failure:?} in\n{}", written(&least));
            }
        }
    }
}

#[test]
fn streams_agree_with_a_plain_array() {
    agree(0..60, 120, false);
}

/// As many as the whole check runs.
#[test]
#[ignore = "takes seconds in release: run by `cargo xtask test`"]
fn a_million_operations_agree() {
    agree(1000..1143, 500, false);
    agree(1000..1143, 500, true);
}

#[test]
fn streams_that_meet_faults_agree_with_what_the_kernel_permits() {
    agree(0..60, 120, true);
}

/// Streams that once went wrong, made as short as they could be.
#[test]
fn what_once_went_wrong_agrees() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/streams");
    let files = std::fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<_> = files.map(|file| file.expect("lists").path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("reads");
        let scenario = parse_scenario("stream", &text).expect("it is a scenario");
        assert_eq!(replay(&scenario), Ok(()), "{}", path.display());
    }
}

/// The second RFC of dirty bits per block left bits beyond EOF behind: streams find that, and what
/// is left of the one that did is what it takes.
#[test]
fn a_known_bug_is_found_and_made_short() {
    let wrong = (0..200).find_map(|seed| {
        let case = Case { world: WORLDS[0], seed, count: 120, faults: false };
        let mut scenario = case.scenario();
        scenario.variants[0].behaviours.dirty_tracking = DirtyTracking::PerBlockRfc2;
        let mut steps = Vec::new();
        let (result, _) = case.run_noting(&scenario, &mut steps, NoTrace);
        put_steps(&mut scenario, &steps);
        result.err().map(|failure| (scenario, failure))
    });
    let (scenario, failure) = wrong.expect("one of 200 streams finds it");
    let (least, failure) = shrink(scenario, failure, |one| replay(one).err());
    assert!(failure.what.starts_with("I5 is broken"), "{failure:?}");
    assert!(least.ops.len() <= 4, "{}", written(&least));
    assert_eq!(replay(&least), Err(failure));
}

#[test]
fn operations_on_two_files_are_checked() {
    let text = "version = 0\ntitle = \"two\"\n[world]\npage_size = 64\nblock_size = 16\n\
                max_folio_order = 0\n[[file]]\nname = \"a\"\n[[file]]\nname = \"b\"\n\
                [[op]]\ndo = \"pwrite\"\nlen = 40\nbyte = 3\n\
                [[op]]\ndo = \"reflink\"\nsource = \"a\"\nfile = \"b\"\nlen = 40\n\
                [[op]]\ndo = \"pread\"\nlen = 40\nfile = \"b\"\n\
                [[op]]\ndo = \"pwrite\"\nlen = 16\nfile = \"b\"\nbyte = 7\ndirect = true\n";
    let scenario = parse_scenario("two", text).expect("it is a scenario");
    assert_eq!(replay(&scenario), Ok(()));
}

#[test]
fn a_stream_as_a_file_is_the_same_scenario() {
    for world in WORLDS {
        for seed in 0..10 {
            let (scenario, _, _) = Case { world, seed, count: 60, faults: true }.run(NoTrace);
            let text = written(&scenario);
            assert_eq!(parse_scenario("stream", &text).as_ref(), Ok(&scenario), "{text}");
        }
    }
}
