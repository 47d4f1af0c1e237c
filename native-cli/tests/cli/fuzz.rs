//! `fuzz`: what it says of streams that agree, and of one that does not.

use crate::world::World;

/// The second RFC of dirty bits per block left bits beyond EOF behind.
const WRONG: &str = r#"
version = 0
title = "bits beyond EOF"
switches = { dirty_tracking = "per-block-rfc2" }
[world]
page_size = 4096
block_size = 1024
max_folio_order = 0
[[file]]
name = "file"
[[op]]
do = "pwrite"
len = 100
[[op]]
do = "mmap_store"
len = 10
[[op]]
do = "fsync"
"#;

#[test]
fn streams_agree_and_the_sum_says_how_many() {
    let world = World::new();
    let ended = world.run("fuzz --ops 4000 --seed 7 --jobs 2");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.starts_with("4000 operations in 8 streams without faults agree"));
    // Never more than were asked for: the last stream is shorter.
    for (ops, streams) in [(1, 1), (501, 2)] {
        let ended = world.run(&format!("fuzz --ops {ops} --geometry tiny"));
        let says = format!("{ops} operations in {streams} streams without faults agree");
        assert_eq!((ended.code, ended.out.starts_with(&says)), (0, true), "{}", ended.out);
    }
    let ended = world.run("fuzz --ops 1000 --geometry tiny --faults on");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.contains("with faults agree (tiny)"), "{}", ended.out);
}

#[test]
fn a_scenario_that_goes_wrong_fails_the_check_and_says_how() {
    let world = World::new();
    world.write("wrong.toml", WRONG);
    let ended = world.run("fuzz --replay wrong.toml");
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("wrong.toml: operation 3: I5 is broken at 0x0"), "{}", ended.err);
    world.write("right.toml", WRONG.replace("per-block-rfc2", "per-block"));
    let ended = world.run("fuzz --replay right.toml");
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let says = "right.toml: 3 operations, one after another, agree with plain arrays";
    assert!(ended.out.starts_with(says), "{}", ended.out);
    // What cannot be judged is no difference.
    world.write("full.toml", WRONG.replace("[world]", "[world]\nfree_blocks = 1"));
    let ended = world.run("fuzz --replay full.toml");
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("full.toml: it cannot be judged: "), "{}", ended.err);
}

#[test]
fn what_makes_no_sense_is_refused_with_what_was_expected() {
    let world = World::new();
    world.write("job.fio", "[job]\nrw=read\nsize=4k\n");
    world.write("none.toml", WRONG.split("[[file]]").next().expect("a part"));
    for (words, says) in [
        ("fuzz --geometry 5k", "expected all, tiny, 4k"),
        ("fuzz --ops 0", "--ops"),
        ("fuzz --replay job.fio", "is no scenario"),
        ("fuzz --replay none.toml", "has no file"),
        ("fuzz --replay missing.toml", "check the name"),
    ] {
        let ended = world.run(words);
        assert_eq!(ended.code, 2, "{words}: {}", ended.err);
        assert!(ended.err.contains(says), "{words}: {}", ended.err);
    }
}
