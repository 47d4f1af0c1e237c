//! The stage: which part of the runs is drawn, and the words that go with it.

use crate::session::Session;
use folioscope_core::scene::cells::Cell;
use folioscope_core::scene::draw::{Anchor, Id, Mark, Shape, Style};
use folioscope_core::scene::fixed::px;
use folioscope_core::scene::table::{Table, rows};
use folioscope_core::scene::view::{Lane, Lanes, View};
use folioscope_core::scene::{render, svg};
use folioscope_core::units::{FileId, FileRange};

/// Goes before the ids of the picture's patterns.
const PREFIX: &str = "s";
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
}

/// The stage at one moment.
#[derive(Clone, PartialEq, Default)]
pub(crate) struct Picture {
    /// The SVG.
    pub(crate) svg: String,
    /// What it shows, in a sentence.
    pub(crate) alt: String,
    /// The states on it.
    pub(crate) legend: Vec<Cell>,
    /// The same as tables.
    pub(crate) tables: Vec<Table>,
}

/// Draws the moment that the session stands at; `twin` adds the tables.
pub(crate) fn draw(session: &mut Session, look: &Look, twin: bool) -> Picture {
    let limits = session.limits(look.file, look.range, look.only);
    let view = View {
        width: look.width,
        lanes: Lanes::only(&look.lanes),
        caption: false,
        range: look.range,
        file: look.file,
        prefix: PREFIX.to_owned(),
        limits: Some(limits),
        ..View::default()
    };
    let sides = session.shown(look.only);
    let mut scene = render(&sides, &view);
    if look.covered {
        let cover = cover(&scene.marks);
        scene.marks.extend(cover);
    }
    Picture {
        svg: svg::render_inner(scene.width, scene.height, PREFIX, &scene.marks),
        alt: scene.alt,
        legend: scene.legend,
        tables: if twin { rows(&sides, &view) } else { Vec::new() },
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

/// A state's shape for the legend.
pub(crate) fn swatch(cell: Cell) -> String {
    let marks = folioscope_core::scene::swatch(cell);
    let whole = svg::render_inner(16, 16, SHARED, &marks);
    // The definitions stand once on the page.
    match (whole.find("<defs>"), whole.find("</defs>")) {
        (Some(from), Some(to)) => format!("{}{}", &whole[..from], &whole[to + 7..]),
        _ => whole,
    }
}

/// The patterns that legend and strip use.
pub(crate) fn shared_patterns() -> String {
    let patterns = svg::definitions(SHARED);
    format!(
        "<svg class=\"fs patterns\" width=\"0\" height=\"0\" aria-hidden=\"true\">{patterns}</svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson;

    #[test]
    fn the_question_covers_the_device_and_the_answer_shows_the_waste() {
        let (mut session, lesson) = lesson::open(lesson::FIRST);
        session.go(lesson.told.stops[0].at);
        let mut look = Look {
            width: 1040,
            lanes: lesson.told.stops[0].lanes.clone(),
            range: lesson.told.focus,
            file: FileId::new(0),
            only: None,
            covered: true,
        };
        let ask = draw(&mut session, &look, true);
        assert!(ask.svg.contains(">?</text>") && !ask.svg.contains("s-hatch)"), "{}", ask.svg);
        assert_eq!(ask.legend, [Cell::Dirty, Cell::Clean]);
        session.go(lesson.told.stops[1].at);
        look.covered = false;
        let answer = draw(&mut session, &look, true);
        assert!(answer.svg.contains("s-hatch)") && !answer.svg.contains("style"));
        assert!(answer.legend.contains(&Cell::Wasted));
        let said: Vec<&str> = answer
            .tables
            .iter()
            .flat_map(|table| &table.rows)
            .map(|row| row.state.as_str())
            .collect();
        assert!(said.contains(&"being written though clean"), "{said:?}");
        assert!(!swatch(Cell::Wasted).contains("defs"));
    }
}
