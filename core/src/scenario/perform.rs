//! An operation of a scenario as a future of the engine.

use super::{Action, Scenario, ScenarioOp};
use crate::engine::{BoxedOp, Engine};
use crate::errno::Errno;
use crate::frames::{BadFrom, Discard, Fill, UserDest, UserFault, UserSource};
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
    Box::pin(async move {
        let len = op.action.touched().len();
        let byte = if let Action::Pwrite { byte, .. } = op.action { byte } else { 0 };
        let mut source = BadFrom { good: Fill { byte, len }, faults };
        let Some((reads, nth)) = kept else {
            return act(engine, &op, &mut Discard(len), &mut source).await;
        };
        let reads_out = matches!(op.action, Action::Pread { .. });
        let mut buffer = vec![0; if reads_out { len.get() as usize } else { 0 }];
        let done = act(engine, &op, &mut buffer.as_mut_slice(), &mut source).await;
        if reads_out {
            buffer.truncate(done.0.map_or(0, |read| read.get() as usize));
            reads.borrow_mut().insert(nth, buffer);
        }
        if let (Action::MmapLoad(range), Ok(_)) = (op.action, done.0)
            && let Some(bytes) = cached(engine, op, range)
        {
            reads.borrow_mut().insert(nth, bytes);
        }
        done
    })
}

/// Carries an operation out; a read goes to `dest`, a write comes from `source`.
pub(super) async fn act<E: Env>(
    engine: &Engine<E>,
    op: &ScenarioOp,
    dest: &mut dyn UserDest,
    source: &mut dyn UserSource,
) -> OpResult {
    let (task, file) = (Scenario::task_id(op.task), op.file);
    match op.action {
        Action::Pread { range, flags } => {
            engine.pread(task, file, range.start(), dest, flags).await
        }
        Action::Pwrite { range, flags, .. } => {
            engine.pwrite(task, file, range.start(), source, flags).await
        }
        Action::Fadvise(range, advice) => engine.fadvise(task, file, range, advice).await,
        Action::Reflink { source, from, range } => {
            engine.reflink(task, (source, from), (file, range.start()), range.len()).await
        }
        Action::Fsync => engine.fsync(task, file, false).await,
        Action::Fdatasync => engine.fsync(task, file, true).await,
        Action::Syncfs => engine.syncfs(task).await,
        Action::Reclaim(pages) => engine.reclaim(task, pages),
        Action::MmapLoad(range) => engine.mmap_load(task, file, range).await,
        Action::MmapStore { range, byte } => engine.mmap_store(task, file, range, byte).await,
        Action::Msync(range) => engine.msync(task, file, range).await,
        Action::SyncRange(range, flags) => engine.sync_file_range(task, file, range, flags).await,
        Action::Truncate(size) => engine.truncate(task, file, size).await,
        Action::Fallocate(mode, range) => engine.fallocate(task, file, mode, range).await,
        Action::Sleep(span) => {
            engine.sleep(task, span).await;
            OpResult(Ok(Bytes::ZERO))
        }
        // The host of a run does it, as it has the device, where nothing else is under way.
        Action::PowerCut(_) | Action::Array(_) => OpResult(Err(Errno::Inval)),
        Action::Seek { pos, data } => engine.seek(task, file, pos, data),
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
