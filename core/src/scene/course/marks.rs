//! How folios got their marks of use: by a plain store before anybody could see them, or by atomic
//! operations after.

use super::{Seen, keep};
use crate::counters::Counter;
use crate::trace::delta::DeltaKind;
use crate::trace::rule::Rule;
use crate::units::PageIndex;

/// What happened to a folio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::scene) enum MarkKind {
    /// It was put into the cache: from here on others can see it.
    Published,
    /// A plain store.
    Plain,
    /// An atomic operation: the first on a folio that this operation made, which a plain store
    /// before would have saved.
    Avoidable,
    /// An atomic operation.
    Atomic,
}

/// Something that happened to the marks of a folio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::scene) struct Mark {
    /// From this position on it is there.
    pub(in crate::scene) at: usize,
    /// First byte of the folio.
    pub(in crate::scene) start: u64,
    pub(in crate::scene) kind: MarkKind,
    op: Option<crate::units::OpId>,
}

pub(super) fn step(all: &mut Vec<Mark>, seen: &Seen<'_>) {
    let step = seen.recording.step(seen.at);
    let geometry = seen.model.geometry();
    let mut add = |start, kind| keep(all, Mark { at: seen.position(), start, kind, op: step.op });
    #[allow(clippy::wildcard_enum_match_arm, reason = "no other step is about marks")]
    match step.rule {
        Rule::FolioMade => {
            let start = geometry.page_pos(PageIndex::new(step.args[1])).get();
            add(start, MarkKind::Published);
        }
        Rule::InitReferenced
        | Rule::Referenced
        | Rule::ActivationQueued
        | Rule::ActivationWaits
        | Rule::ActivatedInBatch
        | Rule::NotActivated => {
            let start = step.args[0];
            let count = |counter: Counter| -> u64 {
                let deltas = seen.recording.deltas(seen.at).iter();
                let mine = deltas.filter(|delta| {
                    delta.kind == DeltaKind::Counter && delta.object == counter.code()
                });
                mine.map(|delta| delta.new.saturating_sub(delta.old)).sum()
            };
            let (plain, atomic) = (count(Counter::PlainFlagOps), count(Counter::AtomicFlagOps));
            if plain > 0 {
                add(start, MarkKind::Plain);
            }
            for nth in 0..atomic.min(4) {
                let before = all.iter().rev().find(|mark| mark.start == start);
                let fresh = before.is_some_and(|mark| {
                    mark.kind == MarkKind::Published && mark.op == step.op && nth == 0
                });
                // A mark before it was published would stand before it.
                let plain = all.iter().rev().filter(|mark| mark.start == start).nth(1);
                let marked = plain.is_some_and(|mark| mark.kind == MarkKind::Plain);
                let kind = if fresh && !marked { MarkKind::Avoidable } else { MarkKind::Atomic };
                keep(all, Mark { at: seen.position(), start, kind, op: step.op });
            }
        }
        _ => {}
    }
}
