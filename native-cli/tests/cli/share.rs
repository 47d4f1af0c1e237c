//! What `render` makes for others: a picture that moves, and a link.

use crate::world::World;
use folioscope_core::link::Link;

const LESSON: &str = include_str!("../../../assets/scenarios/sub-page-dirty-tracking.toml");
/// A scenario of one run.
const ONE: &str = include_str!("../../../assets/scenarios/dirty-bit.toml");

fn world() -> World {
    let world = World::new();
    world.write("lesson.toml", LESSON);
    world
}

#[test]
fn a_range_becomes_one_picture_that_moves() {
    let world = world();
    let both = world.run("render lesson.toml --animate 40..50").out;
    assert!(both.contains(">A</text>") && both.contains(">B</text>"));
    world.write("one.toml", ONE);
    let svg = world.run("render one.toml --animate 4..14").out;
    let still = world.run("render one.toml --step 14 --format svg").out;
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<g class=").count(), svg.matches("</g>").count());
    assert!(svg.matches("step-end infinite").count() > 5);
    // The last picture is what is seen without motion, with its evidence.
    let of = |class: &str| svg.contains(&format!(".{class}{{visibility:hidden}}"));
    let mut hidden = false;
    let body = svg.split_once("</defs>\n").expect("patterns").1;
    let shown = body.lines().filter(|line| {
        let group = line.strip_prefix("<g class=\"").map(|class| class.trim_end_matches("\">"));
        hidden = group.map_or(hidden && *line != "</g>", of);
        !hidden && group.is_none() && *line != "</g>"
    });
    let shown: Vec<&str> = shown.skip(1).collect();
    let wanted: Vec<&str> = still.split_once("</defs>\n").expect("patterns").1.lines().collect();
    assert!(wanted.iter().any(|line| line.contains("rules of linux-")));
    assert_eq!(shown, wanted[1..]);
}

#[test]
fn a_link_holds_the_scenario_and_the_moment() {
    let world = world();
    let fragment = world.run("render lesson.toml --format link --step 44 --lanes file,cache").out;
    let Ok(Link::Scenario(shared)) = Link::from_fragment(fragment.trim_end()) else {
        panic!("{fragment}")
    };
    assert_eq!(shared.scenario, LESSON);
    assert_eq!(shared.moment.place.address.op, 3);
    assert_eq!((shared.moment.view.lanes.len(), shared.moment.seen.len()), (2, 2));
    assert!(fragment.len() < 1200, "{fragment}");
}

#[test]
fn what_cannot_be_shared_is_one_sentence() {
    let world = world();
    world.write("one.toml", ONE);
    assert_eq!(world.run("run one.toml --trace one.trace").code, 0);
    for (words, said) in [
        ("render lesson.toml --animate 9..4", "expected two steps in ascending order"),
        ("render lesson.toml --animate 0..900", "an animated picture shows 1 to 240"),
        ("render lesson.toml --range 9k..4k", "expected two places in ascending order"),
        ("render lesson.toml --step 1,2,3", "--step names 3 steps"),
        ("render one.trace --format link", "a recorded run fits no link"),
        ("render lesson.toml --format link --step 44,2", "the runs stand side by side"),
        ("render lesson.toml lesson.toml --format link --step 1", "a picture shows 2 at most"),
    ] {
        let ended = world.run(words);
        assert!(ended.code == 2 && ended.err.contains(said), "{words}: {}", ended.err);
        assert_eq!(ended.out, "", "{words}");
    }
}
