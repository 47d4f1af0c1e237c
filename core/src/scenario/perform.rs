//! An operation of a scenario as a future of the engine.

use super::{Action, Scenario, ScenarioOp};
use crate::engine::{BoxedOp, Engine};
use crate::errno::Errno;
use crate::frames::{BadFrom, Discard, Fill, UserFault};
use crate::ops::OpResult;
use crate::ordered::OrderedMap;
use crate::units::{Bytes, FileRange, Pos};
use crate::world::Env;
use std::cell::RefCell;

/// What operations read, by their number: kept only where somebody wants to look at it.
pub(super) type Reads = RefCell<OrderedMap<usize, Vec<u8>>>;

/// An operation that has not begun; `faults` are those of its user memory, and what it reads is
/// kept under its number if somebody wants it.
pub(super) fn perform<'a, E: Env>(
    engine: &'a Engine<E>,
    op: ScenarioOp,
    faults: Vec<UserFault>,
    kept: Option<(&'a Reads, usize)>,
) -> BoxedOp<'a> {
    let ScenarioOp { file, action, .. } = op;
    let task = Scenario::task_id(op.task);
    match action {
        Action::Pread { range, flags } => Box::pin(async move {
            let Some((reads, nth)) = kept else {
                let mut dest = Discard(range.len());
                return engine.pread(task, file, range.start(), &mut dest, flags).await;
            };
            let mut buffer = vec![0; range.len().get() as usize];
            let mut dest = buffer.as_mut_slice();
            let done = engine.pread(task, file, range.start(), &mut dest, flags).await;
            buffer.truncate(done.0.map_or(0, |read| read.get() as usize));
            reads.borrow_mut().insert(nth, buffer);
            done
        }),
        Action::Pwrite { range, byte, flags } => Box::pin(async move {
            let mut source = BadFrom { good: Fill { byte, len: range.len() }, faults };
            engine.pwrite(task, file, range.start(), &mut source, flags).await
        }),
        Action::Fadvise(range, advice) => Box::pin(engine.fadvise(task, file, range, advice)),
        Action::Reflink { source, from, range } => Box::pin(async move {
            engine.reflink(task, (source, from), (file, range.start()), range.len()).await
        }),
        Action::Fsync => Box::pin(engine.fsync(task, file, false)),
        Action::Fdatasync => Box::pin(engine.fsync(task, file, true)),
        Action::Syncfs => Box::pin(engine.syncfs(task)),
        Action::Reclaim(pages) => Box::pin(async move { engine.reclaim(task, pages) }),
        Action::MmapLoad(range) => Box::pin(async move {
            let done = engine.mmap_load(task, file, range).await;
            if let (Some((reads, nth)), Ok(_)) = (kept, done.0)
                && let Some(bytes) = cached(engine, op, range)
            {
                reads.borrow_mut().insert(nth, bytes);
            }
            done
        }),
        Action::MmapStore { range, byte } => Box::pin(engine.mmap_store(task, file, range, byte)),
        Action::Msync(range) => Box::pin(engine.msync(task, file, range)),
        Action::SyncRange(range, flags) => {
            Box::pin(engine.sync_file_range(task, file, range, flags))
        }
        Action::Truncate(size) => Box::pin(engine.truncate(task, file, size)),
        Action::Fallocate(mode, range) => Box::pin(engine.fallocate(task, file, mode, range)),
        Action::Sleep(span) => Box::pin(async move {
            engine.sleep(task, span).await;
            OpResult(Ok(Bytes::ZERO))
        }),
        // The host of a run does it, as it has the device, where nothing else is under way.
        Action::PowerCut(_) => Box::pin(async { OpResult(Err(Errno::Inval)) }),
        Action::Seek { pos, data } => Box::pin(async move { engine.seek(task, file, pos, data) }),
    }
}

/// The bytes of a range inside EOF as a mapping shows them, if all of it is cached.
fn cached<E: Env>(engine: &Engine<E>, op: ScenarioOp, range: FileRange) -> Option<Vec<u8>> {
    engine.look(|world| {
        let range = range.intersect(world.whole(op.file));
        let block = world.geometry().block_size();
        let mut out = vec![0; range.len().get() as usize];
        let mut at = range.start();
        while at < range.end() {
            let end = world.geometry().round_down_block(at) + block;
            let end: Pos = end.min(range.end());
            let from = at.since(range.start()).get() as usize;
            let to = end.since(range.start()).get() as usize;
            if !world.peek_cached(op.file, at, &mut out[from..to]) {
                return None;
            }
            at = end;
        }
        Some(out)
    })
}
