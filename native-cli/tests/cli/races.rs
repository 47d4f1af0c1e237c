//! `folioscope explore`: races of a scenario's tasks.

use crate::world::World;

const APPEND: &str = include_str!("../../../assets/scenarios/races/append-while-writing-back.toml");

#[test]
fn a_race_is_found_printed_and_run_again() {
    let world = World::new();
    let bare = APPEND.split("\n# The first course").next().expect("text");
    world.write("race.toml", bare);
    let ended = world.run("explore race.toml --bound 1");
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert!(ended.err.contains("a course goes wrong: variant \"whole blocks\""), "{}", ended.err);
    assert!(
        ended.out.contains("up to EOF: 133 schedules (all with up to 1 departures), 1 different"),
        "{}",
        ended.out
    );
    let start = ended.out.find("[[schedule]]").expect("a schedule");
    let end = ended.out.find("\nup to EOF").expect("the other variant");
    world.write("again.toml", format!("{bare}\n{}", &ended.out[start..end]));
    let again = world.run("explore again.toml --replay");
    assert_eq!(again.code, 1, "{}", again.err);
    assert!(again.out.contains("whole blocks: after a power cut now file 0 would have 0x00"));
    assert!(again.out.contains("up to EOF: nothing is wrong"), "{}", again.out);
    let ran = world.run("run again.toml");
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn what_cannot_be_explored_is_told_why() {
    let world = World::new();
    let text = "version = 0\ntitle = \"t\"\n[world]\npage_size = 4096\nblock_size = 4096\n\
                max_folio_order = 0\n[[file]]\nname = \"a\"\n[[op]]\ndo = \"fsync\"\n";
    world.write("alone.toml", text);
    world.write("two.toml", format!("{text}[[op]]\ntask = \"b\"\ndo = \"fsync\"\n"));
    for (words, says) in [
        ("explore alone.toml", "no operation names a task, so that there is one course only"),
        ("explore two.toml --replay", "--replay needs a file with [[schedule]] steps"),
        ("explore two.toml --variant other", "--variant \"other\" is not in the scenario"),
    ] {
        let ended = world.run(words);
        assert_eq!(ended.code, 2, "{words}: {}", ended.err);
        assert!(ended.err.contains(says), "{words}: {}", ended.err);
    }
    assert_eq!(world.run("explore two.toml").code, 0);
}
