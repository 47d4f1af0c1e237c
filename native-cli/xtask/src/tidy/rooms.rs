//! The order of the rooms of `core`: imports point to lower rooms only.
//!
//! The lowest rooms name what they may use, the picture what it must not: it is drawn from the
//! trace alone, so that a simulated, a real and an imported run look the same. Code reaches other
//! rooms as `crate::room`; a path through `super` would not be noticed.

use super::{Finding, Source};

enum Rule {
    MayUse(&'static [&'static str]),
    MustNotUse(&'static [&'static str]),
}
use Rule::{MayUse, MustNotUse};

const RULES: [(&str, Rule); 9] = [
    ("ordered", MayUse(&[])),
    ("sort", MayUse(&[])),
    ("units", MayUse(&["ordered"])),
    ("bits", MayUse(&[])),
    ("errno", MayUse(&[])),
    ("behaviour", MayUse(&[])),
    ("geometry", MayUse(&["units"])),
    ("trace", MustNotUse(&["device", "engine", "fs", "scenario", "scene", "world", "writeback"])),
    ("scene", MustNotUse(&["device", "engine", "fs", "ops", "scenario", "world", "writeback"])),
];

/// Checks one file, if it lies in a room that has a rule.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let Source { path, text } = source;
    let name = path.strip_prefix("core/src/").and_then(|path| path.split(['/', '.']).next());
    let Some((room, rule)) = RULES.iter().find(|(room, _)| Some(*room) == name) else {
        return Vec::new();
    };
    let breaks = |used: &&str| match rule {
        MayUse(allowed) => used != room && !allowed.contains(used),
        MustNotUse(forbidden) => forbidden.contains(used),
    };
    let say = |used| format!("{path}: the room `{room}` must not use `{used}`");
    uses(text).filter(breaks).map(say).collect()
}

/// Rooms that the code names; comments may name any.
fn uses(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let names = code.flat_map(|line| line.split("crate::").skip(1));
    names.filter_map(|path| path.split(|c: char| !c.is_alphanumeric() && c != '_').next())
}

#[cfg(test)]
mod tests {
    use super::{Source, check};

    fn findings(path: &str, text: &str) -> usize {
        check(&Source { path: path.to_owned(), text: text.to_owned() }).len()
    }

    #[test]
    fn a_lower_room_must_not_reach_up() {
        assert_eq!(findings("core/src/geometry.rs", "use crate::units::Pos;\n"), 0);
        assert_eq!(findings("core/src/units.rs", "use crate::geometry::Geometry;\n"), 1);
        assert_eq!(findings("core/src/scene/mod.rs", "fn f(world: &crate::world::World) {}\n"), 1);
    }

    #[test]
    fn comments_may_name_any_room() {
        assert_eq!(findings("core/src/units.rs", "/// See [`crate::geometry::Geometry`].\n"), 0);
    }
}
