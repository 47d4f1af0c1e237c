//! Scenarios on arrays whose members hold the bytes.

use folioscope_core::scenario::Scenario;
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::{Contents, Run, run_and_read};
use folioscope_core::scenario::write::write_scenario;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::timeline::Recording;

/// A file of 16 rows of four members, filled with one byte.
pub fn scenario(array: &str, ops: &str) -> Scenario {
    let text = format!(
        "version = 0\ntitle = \"Members\"\n[world]\npage_size = 4096\nblock_size = 4096\n\
         max_folio_order = 0\n[array]\n{array}\n[[file]]\nname = \"f\"\nsize = \"192k\"\n\
         sector = 0\nfill = 7\n{ops}"
    );
    parse_scenario("s", &text).unwrap_or_else(|error| panic!("{error}"))
}

pub fn ran(scenario: &Scenario) -> (Run<Recording>, Contents) {
    run_and_read(scenario, &scenario.variants[0], Recording::default()).expect("nothing hangs")
}

pub const RAID5: &str = "level = \"raid5\"\nmembers = 4\nchunk = \"4k\"";

pub fn with(consistency: &str) -> String {
    format!("{RAID5}\nconsistency = \"{consistency}\"")
}

pub const ALL: [(&str, u32, u32); 7] = [
    ("level = \"raid1\"\nmembers = 3", 2, 3),
    ("level = \"raid10\"\nmembers = 4\nchunk = \"8k\"", 1, 4),
    ("level = \"raid10\"\nmembers = 5\nchunk = \"8k\"\nlayout = \"f2\"", 1, 5),
    ("level = \"raid4\"\nmembers = 4\nchunk = \"8k\"", 1, 4),
    ("level = \"raid5\"\nmembers = 5\nchunk = \"8k\"\nlayout = \"right-asymmetric\"", 1, 5),
    ("level = \"raid6\"\nmembers = 5\nchunk = \"8k\"", 2, 5),
    ("level = \"raid6\"\nmembers = 6\nchunk = \"16k\"\nlayout = \"left-asymmetric\"", 2, 6),
];

/// An operation on a member.
pub fn act(what: &str, member: u32) -> String {
    format!("[[op]]\ndo = {what:?}\nmember = {member}\n")
}

/// Writes here and there, and a sync.
pub fn writes(repeat: u32, seed: u32) -> String {
    format!(
        "[[op]]\ndo = \"randwrite\"\nlen = 4096\nrepeat = {repeat}\nseed = {seed}\n\
         [[op]]\ndo = \"fsync\"\n"
    )
}

/// What these operations leave on a device that is no array.
pub fn without_array(ops: &str) -> Contents {
    ran(&Scenario { array: None, ..scenario(RAID5, ops) }).1
}

/// A run did all that it was asked for, left the bytes that a plain device has, and its rows fit;
/// a file says its scenario.
pub fn serves_as(plain: &Contents, scenario: &Scenario, array: &str) -> Run<Recording> {
    let (run, contents) = ran(scenario);
    let wrong = run.results.iter().position(|result| result.0.is_err());
    assert_eq!(wrong, None, "{array}");
    assert!(contents.durable == plain.durable, "{array}");
    assert!(contents.seen == plain.seen, "{array}");
    let checked = run.sink.steps().iter().find(|step| step.rule == Rule::ArrayChecked);
    assert_eq!(checked.map(|step| step.args[1]), Some(0), "{array}");
    let text = write_scenario(scenario).expect("a file can say it");
    let again = parse_scenario("s", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!((again.array, again.ops), (scenario.array, scenario.ops.clone()), "{array}");
    run
}
