//! What shapes stand for in lanes of a whole run, and of the disks of an array, where they do not
//! mean the state of a block.

use super::canvas::{Area, Canvas, id};
use super::cells::{Cargo, Cell};
use super::course::{MarkKind, Past, What};
use super::draw::{Id, Mark, Pattern, Style};
use super::fixed::px;
use super::lanes::bios::cargo;
use super::lanes::cache::paint;
use super::lanes::{history, marks, order};
use super::layout::{Frame, Run, band};
use super::members::{ChunkView, Part, StripeView};
use super::view::Lane;
use crate::block::bio::BioOp;

/// What a sign looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// As what a bio carries.
    Cargo(Cargo),
    /// A band in the middle.
    Parity,
    /// Dots below, hatch over them.
    Vain,
}

/// A shape with what it stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sign {
    what: Shape,
    /// The lane, and what it means there.
    pub words: &'static str,
}

impl Sign {
    /// Its shape in a box of 16 pixels.
    pub fn swatch(self) -> Vec<Mark> {
        let mut canvas = Canvas::default();
        let area = band(px(0), px(16), px(0), px(16));
        self.paint(&mut canvas, |k| id(0, "sign", 0, k), area);
        canvas.marks
    }
    /// Paints its shape.
    pub(super) fn paint(self, canvas: &mut Canvas, mark: impl Fn(u16) -> Id, area: Area) {
        let Area { x0, y0, x1, y1 } = area;
        let middle = y0 + (y1 - y0) / 2;
        match self.what {
            Shape::Cargo(Cargo::Done) => paint(canvas, mark, Cell::Clean, area),
            Shape::Cargo(what) => cargo(canvas, mark(0), what, area),
            Shape::Parity => {
                let stripe = band(x0, x1, middle - px(5), middle + px(5));
                canvas.framed(mark(0), Style::Parity, stripe, 0);
            }
            Shape::Vain => {
                canvas.pattern(mark(0), Pattern::Dots, band(x0, x1, middle, y1));
                canvas.pattern(mark(1), Pattern::Hatch, band(x0, x1, y0, middle));
            }
        }
    }
}

fn has(past: &Past, cargo: Cargo) -> bool {
    matches!(&past.what, What::Bio { parts, .. } if parts.iter().any(|part| part.2 == cargo))
}

/// The signs on screen, lane by lane.
pub(super) fn signs(frame: &Frame<'_>) -> Vec<Sign> {
    let mut all = Vec::new();
    let mut put = |lane, what, words, is: &dyn Fn(&Run) -> bool| {
        if frame.view.lanes.shows(lane) && frame.runs.iter().any(is) {
            all.push(Sign { what, words });
        }
    };
    let chunk = |is: fn(&StripeView, &ChunkView) -> bool| {
        move |run: &Run| {
            let stripes = run.array.iter().flat_map(|array| &array.stripes);
            stripes.into_iter().any(|stripe| stripe.chunks.iter().any(|chunk| is(stripe, chunk)))
        }
    };
    let written = chunk(|_, chunk| chunk.written > 0 && chunk.part == Part::Data);
    let parity = chunk(|_, chunk| chunk.written > 0 && chunk.part != Part::Data);
    let read = chunk(|stripe, chunk| chunk.read > 0 && !stripe.whole);
    let vain = chunk(|stripe, chunk| chunk.read > 0 && stripe.whole);
    let wrong = chunk(|_, chunk| chunk.wrong > 0);
    let lane = Lane::Members;
    put(lane, Shape::Cargo(Cargo::Asked), "members: data written", &written);
    put(lane, Shape::Parity, "members: parity written", &parity);
    put(lane, Shape::Cargo(Cargo::Read), "members: read", &read);
    put(lane, Shape::Vain, "members: read in vain", &vain);
    put(lane, Shape::Cargo(Cargo::Failed), "members: wrong", &wrong);
    let mut add = |lane, what, words, is: &dyn Fn(&Run) -> bool| {
        put(lane, Shape::Cargo(what), words, is);
    };
    let marked = |kind: MarkKind| {
        move |run: &Run| marks::so_far_of(run).iter().any(|mark| mark.kind == kind)
    };
    add(Lane::Marks, Cargo::Done, "marks: a plain store", &marked(MarkKind::Plain));
    add(Lane::Marks, Cargo::Asked, "marks: an atomic operation", &marked(MarkKind::Atomic));
    add(Lane::Marks, Cargo::Waste, "marks: an avoidable one", &marked(MarkKind::Avoidable));
    let sent = |op: BioOp| move |run: &Run| order::so_far_of(run).iter().any(|sent| sent.op == op);
    add(Lane::Order, Cargo::Asked, "order: written", &sent(BioOp::Write));
    add(Lane::Order, Cargo::Read, "order: read", &sent(BioOp::Read));
    let carries = |what: Cargo| {
        move |run: &Run| history::so_far_of(run, Lane::History).iter().any(|past| has(past, what))
    };
    add(Lane::History, Cargo::Asked, "history: sent", &carries(Cargo::Asked));
    add(Lane::History, Cargo::Waste, "history: sent though clean", &carries(Cargo::Waste));
    add(Lane::History, Cargo::Read, "history: read", &carries(Cargo::Read));
    let checked = |part: fn(&Past, u64) -> bool| {
        move |run: &Run| {
            let all = history::so_far_of(run, Lane::Checks).iter();
            all.into_iter().any(|past| part(past, past.copied(run.position)))
        }
    };
    let (copied, idle) =
        (checked(|past, copied| copied > past.start), checked(|past, copied| copied < past.end));
    add(Lane::Checks, Cargo::Asked, "checks: then copied", &copied);
    add(Lane::Checks, Cargo::Waste, "checks: not copied then", &idle);
    all
}
