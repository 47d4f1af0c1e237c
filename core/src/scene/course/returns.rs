//! Who wrote the bytes of a file: the application, a store through a mapping, the kernel with
//! zeros, or nobody since the run began.

use super::{Seen, keep};
use crate::block::bio::BioOp;
use crate::sort::sort_by_key;
use crate::trace::model::{ExtentState, FileState, Model};
use crate::trace::rule::Rule;
use crate::units::FileId;

/// Who wrote bytes last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::scene) enum Writer {
    /// Nobody in this run: they are as on the device.
    Device,
    /// A write, or a store through a mapping.
    App,
    /// The kernel: zeros.
    Zeroed,
    /// Nobody: there is nothing, which reads as zeros.
    Nothing,
}

/// A change of who wrote some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::scene) struct Change {
    /// From this position on it is there.
    pub(in crate::scene) at: usize,
    start: u64,
    end: u64,
    writer: Writer,
}

pub(super) fn step(all: &mut Vec<Change>, seen: &Seen<'_>) {
    let step = seen.recording.step(seen.at);
    let at = seen.position();
    let [first, second, ..] = step.args;
    let mine = |model: &Model| {
        let op = step.op.and_then(|op| model.ops().find(|(id, _)| *id == op.get()));
        op.is_none_or(|(_, op)| op.file() == seen.file)
    };
    let mut add = |start: u64, end: u64, writer| {
        if start < end {
            keep(all, Change { at, start, end, writer });
        }
    };
    #[allow(clippy::wildcard_enum_match_arm, reason = "no other step writes bytes of a file")]
    match step.rule {
        Rule::FileOpened if first == u64::from(seen.file.get()) => {
            opened(seen.model, seen.file, &mut add);
        }
        Rule::BioSubmitted => {
            let bio = seen.model.bios().find(|(id, _)| u64::from(*id) == first);
            let direct = bio.map(|(_, bio)| bio).filter(|bio| {
                bio.head().direct && bio.head().op == BioOp::Write && bio.head().file == seen.file
            });
            if let Some(bio) = direct {
                let start = bio.pos().get();
                add(start, start.saturating_add(bio.len().get()), Writer::App);
            }
        }
        _ if !mine(seen.model) => {}
        Rule::Stored => add(first, first.saturating_add(second), Writer::App),
        Rule::Copied => add(first, first.saturating_add(step.args[2]), Writer::App),
        Rule::RunZeroed | Rule::ReadZeroed | Rule::Zeroed | Rule::TailCut => {
            add(first, first.saturating_add(second), Writer::Zeroed);
        }
        Rule::TailZeroed => add(second, folio_end(seen, first), Writer::Zeroed),
        Rule::SpaceFreed => add(first, second, Writer::Nothing),
        Rule::SizeMoved | Rule::SizeRecorded if second < first => {
            let page = seen.model.geometry().page_size().get();
            add(second.div_ceil(page).saturating_mul(page), u64::MAX, Writer::Nothing);
        }
        _ => {}
    }
}

/// What the file has when it is opened.
fn opened(model: &Model, file: FileId, add: &mut impl FnMut(u64, u64, Writer)) {
    let block = model.geometry().block_size().get();
    let extents = model.file(file).into_iter().flat_map(FileState::extents);
    for (at, len, state, _) in extents {
        if matches!(state, ExtentState::Mapped | ExtentState::Inline) {
            let start = u64::from(at).saturating_mul(block);
            add(start, start.saturating_add(len.get()), Writer::Device);
        }
    }
}

/// Where the folio that begins here ends.
fn folio_end(seen: &Seen<'_>, start: u64) -> u64 {
    let geometry = seen.model.geometry();
    let mut folios = seen.model.folios().map(|(_, folio)| folio.place());
    let here = folios
        .find(|place| place.file == seen.file && geometry.page_pos(place.index).get() == start);
    let size = here.map_or(geometry.page_size(), |place| geometry.folio_size(place.order));
    start.saturating_add(size.get())
}

/// Who wrote the bytes of a range, after these changes: ascending, neighbours alike as one.
pub(in crate::scene) fn writers(
    changes: &[Change],
    (start, end): (u64, u64),
) -> Vec<(u64, u64, Writer)> {
    let mut found = vec![(start, end, Writer::Nothing)];
    for change in changes.iter().filter(|change| change.start < end && start < change.end) {
        let (from, to) = (change.start.max(start), change.end.min(end));
        let mut next = Vec::with_capacity(found.len() + 2);
        for (a, b, writer) in found {
            next.extend([(a, b.min(from), writer), (a.max(to), b, writer)]);
        }
        next.push((from, to, change.writer));
        next.retain(|(a, b, _)| a < b);
        sort_by_key(&mut next, |stretch| stretch.0);
        next.dedup_by(|right, left| {
            let joins = left.1 == right.0 && left.2 == right.2;
            if joins {
                left.1 = right.1;
            }
            joins
        });
        found = next;
    }
    found
}
