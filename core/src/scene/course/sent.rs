//! What went to the device, in its order: requests, or bios where there are none.

use super::{Seen, keep};
use crate::block::bio::BioOp;
use crate::trace::rule::Rule;

/// Something that went to the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::scene) struct Sent {
    /// From this position on it is there.
    pub(in crate::scene) at: usize,
    /// From this one on it is done.
    pub(in crate::scene) done: Option<usize>,
    /// First byte of the device, and the first behind it.
    pub(in crate::scene) start: u64,
    pub(in crate::scene) end: u64,
    pub(in crate::scene) op: BioOp,
    /// How much of it is the file system's own, such as a block that says where others lie.
    pub(in crate::scene) own: Own,
    /// Bios in it.
    pub(in crate::scene) bios: u64,
    request: bool,
    id: u64,
}

/// How much of something is the file system's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::scene) enum Own {
    Nothing,
    Part,
    All,
}

/// Most steps that are looked through for reads of the file system's own.
const BACK: usize = 256;

/// What of these bytes the operation read for the file system itself.
fn own(seen: &Seen<'_>, (start, end): (u64, u64), meta: bool) -> Own {
    let steps = seen.recording.steps();
    let op = steps[seen.at].op;
    let before = steps[..seen.at]
        .iter()
        .rev()
        .take(BACK)
        .take_while(|step| op.is_none() || step.op != op || !step.rule.starts_op());
    let mut reads = before.filter(|step| step.rule == Rule::MetadataRead).map(|step| step.args);
    match reads.find(|[addr, ..]| start <= *addr && *addr < end) {
        Some([_, len, ..]) if len >= end - start => Own::All,
        Some(_) => Own::Part,
        None if meta => Own::All,
        None => Own::Nothing,
    }
}

pub(super) fn step(all: &mut Vec<Sent>, seen: &Seen<'_>) {
    let step = seen.recording.step(seen.at);
    let [id, ..] = step.args;
    let at = seen.position();
    #[allow(clippy::wildcard_enum_match_arm, reason = "nothing else goes to the device")]
    match step.rule {
        Rule::RequestIssued => {
            let request = seen.model.requests().find(|(other, _)| u64::from(*other) == id);
            let Some((_, request)) = request else { return };
            if request.head().file != seen.file {
                return;
            }
            let (start, end) = (request.addr().get(), request.addr().get());
            let end = end.saturating_add(request.len().get());
            let mine = |of: crate::units::RequestId| u64::from(of.get()) == id;
            let mut bios = seen.model.bios().map(|(_, bio)| bio);
            let meta = bios.all(|bio| !bio.request().is_some_and(mine) || bio.head().meta);
            let (op, bios, own) = (request.head().op, step.args[3], own(seen, (start, end), meta));
            keep(all, Sent { at, done: None, start, end, op, own, bios, request: true, id });
        }
        Rule::BioSubmitted => {
            let bio = seen.model.bios().find(|(other, _)| u64::from(*other) == id);
            let Some((_, bio)) = bio.filter(|(_, bio)| bio.head().file == seen.file) else {
                return;
            };
            let (start, op, meta) = (bio.addr().get(), bio.head().op, bio.head().meta);
            let end = start.saturating_add(bio.len().get());
            let own = own(seen, (start, end), meta);
            keep(all, Sent { at, done: None, start, end, op, own, bios: 1, request: false, id });
        }
        Rule::RequestCompleted | Rule::BioCompleted => {
            let request = step.rule == Rule::RequestCompleted;
            let open =
                |sent: &&mut Sent| sent.request == request && sent.id == id && sent.done.is_none();
            if let Some(sent) = all.iter_mut().rev().find(open) {
                sent.done = Some(at);
            }
        }
        _ => {}
    }
}

/// Where there are requests, bios go to the device as parts of them.
pub(super) fn finish(all: &mut Vec<Sent>) {
    if all.iter().any(|sent| sent.request) {
        all.retain(|sent| sent.request);
    }
}
