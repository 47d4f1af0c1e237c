//! What was sent to the device, and which user memory was checked before copies.

use super::{Seen, keep};
use crate::block::bio::BioOp;
use crate::scene::cells::Cargo;
use crate::scene::snapshot::bio_view;
use crate::trace::model::{BioRecord, Model};
use crate::trace::rule::Rule;
use crate::units::{FileId, OpId};

/// A part of the file of one kind: from, to, what.
pub(in crate::scene) type Part = (u64, u64, Cargo);

/// Something in the course of a run that has a place in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::scene) struct Past {
    /// From this position on it is there.
    pub(in crate::scene) at: usize,
    pub(in crate::scene) start: u64,
    pub(in crate::scene) end: u64,
    /// Where the reader was that readahead followed.
    pub(in crate::scene) reader: Option<u64>,
    pub(in crate::scene) what: What,
    op: Option<OpId>,
}

/// What it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::scene) enum What {
    /// A bio was sent.
    Bio {
        parts: Vec<Part>,
        /// First bytes of its folios, but for the first one; and their smallest and largest order.
        cuts: Vec<u64>,
        orders: (u8, u8),
        /// Where the mark of its readahead window is: whoever reads there asks for the next.
        mark: Option<u64>,
        /// Whole blocks that the write which reads them overwrites at once: from, to.
        vain: (u64, u64),
    },
    /// User memory was checked before a copy.
    Check {
        /// Pages that were touched for it.
        touches: u64,
        /// Up to here it was copied, and from which position on that is known.
        copied: u64,
        copied_at: usize,
    },
}

impl Past {
    /// Up to where it was copied what was checked.
    pub(in crate::scene) fn copied(&self, position: usize) -> u64 {
        match self.what {
            What::Check { copied, copied_at, .. } if copied_at <= position => copied,
            What::Check { .. } | What::Bio { .. } => self.start,
        }
    }
}

pub(super) fn step((bios, checks): (&mut Vec<Past>, &mut Vec<Past>), seen: &Seen<'_>) {
    let step = seen.recording.step(seen.at);
    #[allow(clippy::wildcard_enum_match_arm, reason = "no other step is shown")]
    match step.rule {
        Rule::BioSubmitted => {
            let found = seen.model.bios().find(|(id, _)| u64::from(*id) == step.args[0]);
            if let Some((id, bio)) = found.filter(|(_, bio)| bio.head().file == seen.file) {
                let past = sent(seen, step.op, (id, bio));
                if let Some(past) = past {
                    keep(bios, past);
                }
            }
        }
        Rule::FaultedIn => {
            let Some(op) = step.op.and_then(|op| position_of(seen.model, op, seen.file)) else {
                return;
            };
            let start = op.saturating_add(step.args[0]);
            let what = What::Check { touches: step.args[3], copied: start, copied_at: usize::MAX };
            let end = start.saturating_add(step.args[1]);
            let past = Past { at: seen.position(), start, end, reader: None, what, op: step.op };
            keep(checks, past);
        }
        Rule::Copied => {
            // The check comes right before its copy, of this operation or of few others.
            let mine = |past: &&mut Past| past.op == step.op;
            if let Some(past) = checks.iter_mut().rev().take(64).find(mine)
                && let What::Check { copied, copied_at, .. } = &mut past.what
            {
                *copied = step.args[0].saturating_add(step.args[2]).min(past.end);
                *copied_at = seen.position();
            }
        }
        _ => {}
    }
}

/// Where an operation on this file begins.
fn position_of(model: &Model, op: OpId, file: FileId) -> Option<u64> {
    let (_, found) = model.ops().find(|(id, _)| *id == op.get())?;
    (found.file() == file).then(|| found.pos().get())
}

fn sent(seen: &Seen<'_>, op: Option<OpId>, (id, bio): (u32, &BioRecord)) -> Option<Past> {
    // A block of the file system's own has no place in the file.
    let view = bio_view(seen.model, seen.file, id, bio).filter(|_| !bio.head().meta)?;
    let parts: Vec<Part> =
        view.pieces.iter().map(|piece| (piece.start, piece.end, piece.cargo)).collect();
    let start = parts.iter().map(|part| part.0).min()?;
    let end = parts.iter().map(|part| part.1).max()?;
    let places = bio.segs().filter_map(|seg| Some(seen.model.folio(seg.folio)?.place()));
    let mut cuts = Vec::new();
    let mut orders: Option<(u8, u8)> = None;
    for place in places {
        let first = seen.model.geometry().page_pos(place.index).get();
        let order = place.order.get();
        let (least, most) = orders.unwrap_or((order, order));
        orders = Some((least.min(order), most.max(order)));
        if first > start {
            cuts.push(first);
        }
    }
    let reads = bio.head().op == BioOp::Read;
    let window = if reads { window(seen, (start, end)) } else { Window::default() };
    let vain = if reads { overwritten(seen, op, (start, end)) } else { (start, start) };
    let (orders, mark) = (orders.unwrap_or((0, 0)), window.mark);
    let what = What::Bio { parts, cuts, orders, mark, vain };
    Some(Past { at: seen.position(), start, end, reader: window.reader, what, op })
}

/// The blocks of a read that the operation which waits for it is about to write as a whole.
fn overwritten(seen: &Seen<'_>, op: Option<OpId>, (start, end): (u64, u64)) -> (u64, u64) {
    let block = seen.model.geometry().block_size().get().max(1);
    let op = op.and_then(|op| seen.model.ops().find(|(id, _)| *id == op.get()));
    let Some((_, op)) = op.filter(|(_, op)| op.writes()) else { return (start, start) };
    let (pos, behind) = (op.pos().get(), op.pos().get().saturating_add(op.len().get()));
    let (from, to) = (pos.div_ceil(block) * block, behind / block * block);
    let from = from.clamp(start, end);
    (from, to.clamp(from, end))
}

/// The readahead that led to a read.
#[derive(Default)]
struct Window {
    reader: Option<u64>,
    mark: Option<u64>,
}

/// Most steps that are looked through for it.
const BACK: usize = 4096;

/// Looks back in the operation for who asked, and for the mark of the window.
fn window(seen: &Seen<'_>, (start, end): (u64, u64)) -> Window {
    let steps = seen.recording.steps();
    let geometry = seen.model.geometry();
    let page = geometry.page_size().get();
    let op = steps[seen.at].op;
    let mut found = Window::default();
    for step in steps[..seen.at].iter().rev().take(BACK).filter(|step| step.op == op) {
        let args = step.args;
        #[allow(clippy::wildcard_enum_match_arm, reason = "no other step tells of readahead")]
        let pages = match step.rule {
            Rule::ReadaheadWindow => args[1] & u64::from(u32::MAX),
            Rule::ReadaheadPages => args[1],
            Rule::ReadaheadMiss | Rule::ReadaheadHit => {
                found.reader = Some(args[0].saturating_mul(page));
                return found;
            }
            Rule::OpStarts => return found,
            _ => continue,
        };
        if let Some(before) = args[0].saturating_add(pages).checked_sub(args[2])
            && args[2] > 0
            && found.mark.is_none()
        {
            found.mark =
                Some(before.saturating_mul(page)).filter(|mark| start <= *mark && *mark < end);
        }
    }
    found
}
