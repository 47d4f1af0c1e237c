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
mod lanes;
mod layout;
pub mod limits;
mod members;
pub mod plot;
mod snapshot;
pub mod svg;
pub mod table;
pub mod text;
mod text_course;
pub mod tokens;
pub mod view;

use crate::trace::timeline::Timeline;
use canvas::{Area, Canvas, id};
pub use caption::{evidence, swatch};
use cells::Cell;
use draw::{Mark, Shape, Style};
use fixed::{Fx, px};
use layout::Frame;
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

/// A picture.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// Which colours.
    pub theme: Theme,
    /// Goes before every id.
    pub prefix: String,
}

/// Draws these runs, one over another.
pub fn render(sides: &[Side<'_>], view: &View) -> Scene {
    let limits = &*view.limits_of(sides);
    let frame = Frame::new(sides, view, limits);
    let mut canvas = Canvas::default();
    let mut y = frame.claim(&mut canvas, px(12));
    y = frame.lanes(&mut canvas, y);
    if view.caption {
        y = caption::draw(sides, &frame, &mut canvas, y);
    }
    let (width, height) = (frame.x1 + frame.margin, (y + px(12)).floor());
    let mut marks = Vec::with_capacity(canvas.marks.len() + 1);
    let area = Area::new(Fx::ZERO, Fx::ZERO, px(width), px(height));
    let shape = Shape::Rect { x: area.x0, y: area.y0, w: area.x1, h: area.y1, r: Fx::ZERO };
    marks.push(Mark { id: id(0, "ground", 0, 0), shape, style: Style::Ground, pattern: None });
    marks.append(&mut canvas.marks);
    let title =
        || sides.first().map_or_else(String::new, |side| side.timeline.header().title.clone());
    Scene {
        marks,
        width: width.unsigned_abs(),
        height: height.unsigned_abs(),
        title: view.title.clone().unwrap_or_else(title),
        alt: caption::alt(sides, &frame),
        legend: caption::legend(&frame),
        theme: view.theme,
        prefix: view.prefix.clone(),
    }
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
