//! The picture: from the state of one or several timelines to a draw list, and from there to SVG;
//! to text and tables straight from the same state.
//!
//! It sees the trace and nothing else: no engine, no operation, no device. Coordinates are fixed
//! point and order is fixed, so that the same state gives the same bytes on every machine.

mod axis;
mod canvas;
mod caption;
pub mod cells;
pub mod chart;
mod course;
pub mod draw;
pub mod fixed;
pub mod flip;
pub mod inspect;
mod inspect_course;
mod lanes;
mod layout;
pub mod limits;
mod members;
mod pack;
pub mod plot;
pub mod signs;
mod snapshot;
pub mod spots;
pub mod svg;
pub mod table;
pub mod text;
mod text_course;
pub mod tokens;
pub mod view;

use crate::trace::timeline::Timeline;
use axis::Segment;
use canvas::{Area, Canvas};
pub use caption::{evidence, swatch};
use cells::Cell;
use draw::{Id, Mark, Shape, Style};
use fixed::{Fx, px};
use layout::Frame;
use signs::Sign;
use spots::{Spot, Thing};
use table::Table;
use view::{Theme, View};

/// A run to show.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Its letter, such as `A`.
    pub label: &'a str,
    /// Its profile, or the switch that tells it from the other run.
    pub name: &'a str,
    /// The run, at the step to show.
    pub timeline: &'a Timeline,
}

/// A span of the file and where it is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// First byte.
    pub start: u64,
    /// First byte behind it.
    pub end: u64,
    /// Left edge.
    pub x0: Fx,
    /// Right edge.
    pub x1: Fx,
}

/// What every picture begins with.
const GROUND: Id = Id { run: 0, part: "ground", n: 0, k: 0 };

/// A picture.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Scene {
    /// What to paint, in this order.
    pub marks: Vec<Mark>,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The claim.
    pub title: String,
    /// What the picture shows, in a sentence.
    pub alt: String,
    /// The states that are on screen, the most notable first.
    pub legend: Vec<Cell>,
    /// What shapes mean in lanes of a whole run.
    pub signs: Vec<Sign>,
    /// The spans of the file that are shown, each with its place.
    pub axis: Vec<Stretch>,
    /// Bytes of a block; of several sizes the smallest.
    pub block: u64,
    /// Which colours.
    pub theme: Theme,
    /// Goes before every id.
    pub prefix: String,
}

/// Draws these runs, one over another.
pub fn render(sides: &[Side<'_>], view: &View) -> Scene {
    let limits = &*view.limits_of(sides);
    draw(sides, &Frame::new(sides, view, limits))
}

/// The same, and the tables of its lanes: the state is looked at once.
pub fn render_with_rows(sides: &[Side<'_>], view: &View) -> (Scene, Vec<Table>) {
    let limits = &*view.limits_of(sides);
    let frame = Frame::new(sides, view, limits);
    (draw(sides, &frame), table::of_runs(&frame.runs, view, limits))
}

fn draw(sides: &[Side<'_>], frame: &Frame<'_>) -> Scene {
    let view = frame.view;
    let mut canvas = Canvas::default();
    let mut y = frame.claim(&mut canvas, px(12));
    y = frame.lanes(&mut canvas, y);
    if view.caption {
        y = caption::draw(sides, frame, &mut canvas, y);
    }
    let (width, height) = (frame.x1 + frame.margin, (y + px(12)).floor());
    let mut marks = Vec::with_capacity(canvas.marks.len() + 1);
    let area = Area::new(Fx::ZERO, Fx::ZERO, px(width), px(height));
    let shape = Shape::Rect { x: area.x0, y: area.y0, w: area.x1, h: area.y1, r: Fx::ZERO };
    marks.push(Mark { id: GROUND, shape, style: Style::Ground, pattern: None });
    marks.append(&mut canvas.marks);
    let title =
        || sides.first().map_or_else(String::new, |side| side.timeline.header().title.clone());
    Scene {
        marks,
        width: width.unsigned_abs(),
        height: height.unsigned_abs(),
        title: view.title.clone().unwrap_or_else(title),
        alt: caption::alt(sides, frame),
        legend: caption::legend(frame),
        signs: signs::signs(frame),
        axis: frame.file.segments().iter().map(stretch).collect(),
        block: frame.runs.iter().map(|run| run.now.cache.block).min().unwrap_or(1),
        theme: view.theme,
        prefix: view.prefix.clone(),
    }
}

const fn stretch(segment: &Segment) -> Stretch {
    let Segment { start, end, x0, x1 } = *segment;
    Stretch { start, end, x0: px(x0), x1: px(x1) }
}

impl Scene {
    /// The byte of the file at a place of its axis; the nearest one that is shown.
    pub fn byte_at(&self, x: Fx) -> u64 {
        let away = |span: &&Stretch| (span.x0 - x).max(x - span.x1).max(Fx::ZERO);
        let Some(span) = self.axis.iter().min_by_key(away) else { return 0 };
        let (wide, at) = (span.x1 - span.x0, x.clamp(span.x0, span.x1) - span.x0);
        let len = u128::from(span.end - span.start);
        let pixels = |x: Fx| u128::from(x.get().unsigned_abs());
        let part = len * pixels(at) / pixels(wide).max(1);
        span.start + part as u64
    }
    /// The place of a byte on that axis; of one that is not shown the nearest edge.
    pub fn x_of(&self, byte: u64) -> Fx {
        let away = |span: &&Stretch| {
            let before = span.start.saturating_sub(byte);
            before.max(byte.saturating_sub(span.end))
        };
        let Some(span) = self.axis.iter().min_by_key(away) else { return Fx::ZERO };
        let at = byte.clamp(span.start, span.end) - span.start;
        span.x0 + (span.x1 - span.x0).scale(at, span.end - span.start)
    }
    /// The bytes of the file that a box covers: whole blocks, one at least.
    pub fn bytes_of(&self, spot: &Spot) -> (u64, u64) {
        let block = self.block.max(1);
        let near = |x: Fx| (self.byte_at(x) + block / 2) / block * block;
        let (start, end) = match spot.key.thing {
            Thing::Blocks(first) => (first * block, near(spot.x1)),
            Thing::Folio(start) | Thing::Extent(start) | Thing::NewCopy(start) => {
                (start, near(spot.x1))
            }
            Thing::Op
            | Thing::End(_)
            | Thing::Hole(_)
            | Thing::Bio(_)
            | Thing::Request(_)
            | Thing::Chunk { .. }
            | Thing::Left(_)
            | Thing::Part(_) => (near(spot.x0), near(spot.x1)),
        };
        (start, end.max(start + block))
    }
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
