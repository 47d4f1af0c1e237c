//! The stage: which part of the runs is drawn, and the words that go with it.

use crate::looking;
use crate::session::{Part, Session};
use folioscope_core::scene::draw::{Anchor, Id, Mark, Shape, Style};
use folioscope_core::scene::fixed::px;
use folioscope_core::scene::inspect::{Depth, Details, inspect, related};
use folioscope_core::scene::spots::{Key, Spot, find, spots};
use folioscope_core::scene::table::Table;
use folioscope_core::scene::view::{Lane, Lanes, View};
use folioscope_core::scene::{Scene, render, render_with_rows, svg};
use folioscope_core::units::{FileId, FileRange};

/// Goes before the ids of the picture's patterns.
pub(crate) const PREFIX: &str = "s";
/// Goes before those of legend and bars, which stay when the picture is hidden.
pub(crate) const SHARED: &str = "k";

/// What the viewer looks at.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Look {
    /// Pixels that the stage has.
    pub(crate) width: u32,
    /// Which lanes.
    pub(crate) lanes: Vec<Lane>,
    /// The part of the file; none = all that the runs touch.
    pub(crate) range: Option<FileRange>,
    /// Which file.
    pub(crate) file: FileId,
    /// One run alone.
    pub(crate) only: Option<usize>,
    /// What goes to the device is still the question.
    pub(crate) covered: bool,
    /// The range is a part that the viewer chose.
    pub(crate) within: bool,
    /// The thing under the cursor.
    pub(crate) cursor: Option<Key>,
    /// Whether its details are shown.
    pub(crate) inspects: bool,
}

/// What is under the cursor.
#[derive(Clone, PartialEq)]
pub(crate) struct Found {
    /// Which run: 0 for A.
    pub(crate) run: usize,
    /// Its letter, or those of all where they are equal.
    pub(crate) label: String,
    /// Where it is, its name and its state, in a line.
    pub(crate) words: String,
    /// What is known of it.
    pub(crate) details: Details,
}

/// The stage at one moment.
#[derive(Clone, PartialEq, Default)]
pub(crate) struct Picture {
    /// What is painted.
    pub(crate) scene: Scene,
    /// The things on it.
    pub(crate) spots: Vec<Spot>,
    /// What stands around those that the viewer looks at, over all else.
    pub(crate) rings: Vec<Mark>,
    /// What is under the cursor.
    pub(crate) found: Option<Found>,
    /// Where the view stands in the file, in thousandths; none where all of it is in view.
    pub(crate) part: Option<u32>,
    /// The same as tables.
    pub(crate) tables: Vec<Table>,
}

/// Draws the moment that the session stands at; `twin` adds the tables.
pub(crate) fn draw(session: &mut Session, look: &Look, twin: bool) -> Picture {
    let (file, range) = (look.file, look.range);
    let part = Part { file, range, only: look.only, within: look.within };
    let limits = session.limits(part);
    let spans = session.spans(look.file, look.only);
    let remount = look.lanes.contains(&Lane::Left);
    let left = if remount { session.left(look.file, look.only) } else { Vec::new() };
    let view = View {
        width: look.width,
        lanes: Lanes::only(&look.lanes),
        caption: false,
        range: look.range,
        file: look.file,
        prefix: PREFIX.to_owned(),
        limits: Some(limits),
        left,
        ..View::default()
    };
    let sides = session.shown(look.only);
    let (mut scene, tables) =
        if twin { render_with_rows(&sides, &view) } else { (render(&sides, &view), Vec::new()) };
    if look.covered {
        let cover = cover(&scene.marks);
        scene.marks.extend(cover);
    }
    let spots = spots(&scene);
    let under = look.cursor.and_then(|key| find(&spots, key));
    let side = under.and_then(|spot| sides.get(usize::from(spot.key.run)));
    let (mut rings, mut found) = (Vec::new(), None);
    if let (Some(spot), Some(side)) = (under, side) {
        let others = related(side, &view, &scene, &spots, spot);
        rings.extend((0..).zip(&others).map(|(k, spot)| ring("echo", k, spot)));
        rings.push(ring("ring", 0, spot));
        let depth = if look.inspects { Depth::Causes } else { Depth::State };
        let details = inspect(side, &view, spot.key, scene.bytes_of(spot), depth);
        found = details.map(|details| {
            let alike = !spots.iter().any(|one| one.key.lane == spot.key.lane && one.key.run > 0);
            let labels: Vec<&str> = sides.iter().map(|side| side.label).collect();
            let label = if alike { labels.join(" = ") } else { side.label.to_owned() };
            let place = format!("{} {label}", spot.key.lane.name());
            let words = format!("{}, {}: {}", place.trim(), details.name, details.state);
            let run = look.only.unwrap_or(usize::from(spot.key.run));
            Found { run, label, words, details }
        });
    }
    Picture { part: looking::part(&scene, &spans), tables, scene, spots, rings, found }
}

/// A ring around a thing: it leaves a gap of one pixel.
fn ring(part: &'static str, k: u16, spot: &Spot) -> Mark {
    let out = px(2);
    let shape = Shape::Rect {
        x: spot.x0 - out,
        y: spot.y0 - out,
        w: spot.x1 - spot.x0 + out * 2,
        h: spot.y1 - spot.y0 + out * 2,
        r: px(2),
    };
    Mark {
        id: Id { run: spot.key.run, part, n: 0, k },
        shape,
        style: Style::Changed,
        pattern: None,
    }
}

/// A box with a question mark over the axis of the device.
fn cover(marks: &[Mark]) -> Vec<Mark> {
    let axes = marks.iter().filter(|mark| mark.id.part == "saxis");
    let ends = axes.filter_map(|mark| match mark.shape {
        Shape::Line { from, to } => Some((from.0, to.0, from.1)),
        Shape::Rect { .. } | Shape::Path(_) | Shape::Text { .. } => None,
    });
    let Some((x0, x1, y)) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1), a.2.min(b.2))) else {
        return Vec::new();
    };
    let id = |k| Id { run: 0, part: "cover", n: 0, k };
    let (top, tall) = (y - px(19), px(26));
    let plain = |shape, style, k| Mark { id: id(k), shape, style, pattern: None };
    let bar = |style, k| {
        let shape = Shape::Rect { x: x0, y: top, w: x1 - x0, h: tall, r: px(4) };
        plain(shape, style, k)
    };
    let text = "?".to_owned();
    let middle = x0 + (x1 - x0) / 2;
    let words = Shape::Text { x: middle, y: top + px(19), anchor: Anchor::Middle, text };
    vec![bar(Style::Ground, 0), bar(Style::Empty, 1), plain(words, Style::Claim, 2)]
}

/// A shape for the legend.
pub(crate) fn swatch(marks: &[Mark]) -> String {
    svg::render_bare(16, 16, SHARED, marks)
}

/// The patterns that legend and strip use.
pub(crate) fn shared_patterns() -> String {
    let patterns = svg::definitions(SHARED);
    format!(
        "<svg class=\"fs patterns\" width=\"0\" height=\"0\" aria-hidden=\"true\">{patterns}</svg>"
    )
}

#[cfg(test)]
mod tests;
