//! Scenarios on arrays whose members hold the bytes.

use folioscope_core::scenario::Scenario;
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::{Contents, Run, run_and_read};
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
