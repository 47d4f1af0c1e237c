//! What shapes stand for in lanes of a whole run, where they do not mean the state of a block.

use super::canvas::{Canvas, id};
use super::cells::{Cargo, Cell};
use super::course::{MarkKind, Past, What};
use super::draw::Mark;
use super::fixed::px;
use super::lanes::bios::cargo;
use super::lanes::cache::paint;
use super::lanes::{history, marks, order};
use super::layout::{Frame, Run, band};
use super::view::Lane;
use crate::block::bio::BioOp;

/// A shape with what it stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sign {
    what: Cargo,
    /// The lane, and what it means there.
    pub words: &'static str,
}

impl Sign {
    /// Its shape in a box of 16 pixels.
    pub fn swatch(self) -> Vec<Mark> {
        let mut canvas = Canvas::default();
        let area = band(px(0), px(16), px(0), px(16));
        match self.what {
            Cargo::Done => paint(&mut canvas, |k| id(0, "sign", 0, k), Cell::Clean, area),
            what @ (Cargo::Asked | Cargo::Waste | Cargo::Read | Cargo::Failed) => {
                cargo(&mut canvas, id(0, "sign", 0, 0), what, area);
            }
        }
        canvas.marks
    }
}

fn has(past: &Past, cargo: Cargo) -> bool {
    matches!(&past.what, What::Bio { parts, .. } if parts.iter().any(|part| part.2 == cargo))
}

/// The signs on screen, lane by lane.
pub(super) fn signs(frame: &Frame<'_>) -> Vec<Sign> {
    let mut all = Vec::new();
    let mut add = |lane, what, words, is: &dyn Fn(&Run) -> bool| {
        if frame.view.lanes.shows(lane) && frame.runs.iter().any(is) {
            all.push(Sign { what, words });
        }
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
    let (copied, vain) =
        (checked(|past, copied| copied > past.start), checked(|past, copied| copied < past.end));
    add(Lane::Checks, Cargo::Asked, "checks: then copied", &copied);
    add(Lane::Checks, Cargo::Waste, "checks: not copied then", &vain);
    all
}
