//! Operations of a case as futures of the engine.

use super::format::{Act, FaultAt, FaultWords, Iov, Mode, Op, Scenario};
use super::machine::{Appends, FILE, Machine, SOURCE, Traced, range_of};
use super::run::Got;
use folioscope_core::engine::{Engine, ReadFlags, WriteFlags};
use folioscope_core::frames::{BadFrom, UserFault, UserSource};
use folioscope_core::inner::{BitChange, WritebackArgs};
use folioscope_core::ops::OpResult;
use folioscope_core::units::{Bytes, MAX_POS, Offset, Pos, TaskId};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// An operation that runs.
pub(super) type Running<'a> = Pin<Box<dyn Future<Output = Got> + 'a>>;

/// A buffer of the application in pieces, some of which cannot be read.
struct Buffer {
    pieces: Vec<(u64, Option<u8>)>,
}

impl Buffer {
    fn piece_at(&self, at: u64) -> Option<(u64, Option<u8>)> {
        let mut end = 0;
        for (len, byte) in &self.pieces {
            end += len;
            if at < end {
                return Some((end - at, *byte));
            }
        }
        None
    }
    /// How many bytes from `at` can be read.
    fn good(&self, at: u64, len: u64) -> u64 {
        let mut done = 0;
        while done < len {
            match self.piece_at(at + done) {
                Some((left, Some(_))) => done += left,
                Some((_, None)) | None => break,
            }
        }
        done.min(len)
    }
}

impl UserSource for Buffer {
    fn len(&self) -> Bytes {
        Bytes::new(self.pieces.iter().map(|piece| piece.0).sum())
    }
    fn fault_in(&mut self, at: Offset, len: Bytes) -> Bytes {
        Bytes::new(self.good(at.get(), len.get()))
    }
    fn copy_in(&mut self, at: Offset, to: &mut [u8]) -> Bytes {
        let at = at.get();
        let good = self.good(at, to.len() as u64);
        let mut done = 0;
        while done < good {
            let Some((left, Some(byte))) = self.piece_at(at + done) else { break };
            let end = (done + left).min(good);
            to[done as usize..end as usize].fill(byte);
            done = end;
        }
        Bytes::new(done)
    }
}

fn number(result: OpResult) -> Result<i64, String> {
    match result.0 {
        Ok(bytes) => Ok(bytes.get().cast_signed()),
        Err(errno) => Err(errno.name().to_owned()),
    }
}

fn plain(result: OpResult) -> Got {
    Got { ret: Some(number(result)), ..Got::default() }
}

/// Operation `at` of a case, done by `task`; none if the engine alone cannot do it.
#[allow(clippy::wildcard_enum_match_arm, reason = "all others never wait")]
pub(super) fn perform<'a>(
    machine: &Machine,
    scenario: &'a Scenario,
    at: usize,
    task: TaskId,
) -> Option<Running<'a>> {
    let op = scenario.ops.get(at)?;
    let engine = Rc::clone(&machine.engine);
    Some(match &op.act {
        Act::Pread { off, len } | Act::DioRead { off, len } => Box::pin(async move {
            let mut buffer = vec![0; *len as usize];
            let mut dest = buffer.as_mut_slice();
            let direct = matches!(op.act, Act::DioRead { .. });
            let flags = ReadFlags { direct, ..ReadFlags::default() };
            let result = engine.pread(task, FILE, Pos::new(*off), &mut dest, flags).await;
            buffer.truncate(result.0.map_or(0, |read| read.get() as usize));
            Got { bytes: Some((*off, buffer)), ..plain(result) }
        }),
        Act::Pwrite { off, len, byte, nowait } => {
            let pieces = vec![(*len, Some(byte.0))];
            let flags = WriteFlags { nowait: *nowait, ..WriteFlags::default() };
            write(engine, scenario, at, (*off, flags, task), pieces)
        }
        Act::DioWrite { off, len, byte } => {
            let pieces = vec![(*len, Some(byte.0))];
            let flags = WriteFlags { direct: true, ..WriteFlags::default() };
            write(engine, scenario, at, (*off, flags, task), pieces)
        }
        Act::DioAppendAsync { len, byte } => {
            let pieces = vec![(*len, Some(byte.0))];
            let faults = user_faults(scenario, at);
            let mut buffer = BadFrom { good: Buffer { pieces }, faults };
            let appends = Rc::clone(&machine.appends);
            Box::pin(async move {
                let begun = engine.append_direct(task, FILE, &mut buffer).await;
                let pos = Some(begun.pos.get());
                if let Some(result) = begun.result {
                    return Got { pos, ..plain(result) };
                }
                appends.borrow_mut().begun.push((at, begun));
                Got { pos, ..Got::default() }
            })
        }
        Act::WaitAll {} => wait_all(engine, Rc::clone(&machine.appends), task),
        Act::ReflinkRange { src_off, dst_off, len } => Box::pin(async move {
            let (from, to) = ((SOURCE, Pos::new(*src_off)), (FILE, Pos::new(*dst_off)));
            let done = engine.reflink(task, from, to, Bytes::new(*len)).await;
            plain(OpResult(done.0.map(|_| Bytes::ZERO)))
        }),
        Act::Pwritev { off, iov } => {
            let pieces = iov.iter().map(Iov::piece).collect();
            write(engine, scenario, at, (*off, WriteFlags::default(), task), pieces)
        }
        Act::Fsync {} => Box::pin(async move { plain(engine.fsync(task, FILE, false).await) }),
        Act::Writeback { mode, nr_to_write, cyclic, .. } => Box::pin(async move {
            let all = *mode == Mode::All;
            let args = WritebackArgs { all, budget: *nr_to_write, cyclic: *cyclic };
            let (result, left) = engine.writeback(task, FILE, args).await;
            Got { nr_to_write: nr_to_write.map(|_| left), ..plain(result) }
        }),
        Act::Readahead { off, len } => {
            Box::pin(async move { plain(engine.readahead(task, FILE, range_of(*off, *len)).await) })
        }
        Act::ReadFolio { off } => {
            Box::pin(async move { plain(engine.read_folio(task, FILE, Pos::new(*off)).await) })
        }
        Act::ZeroRangeCore { off, len } => Box::pin(async move {
            let (result, zeroed) = engine.zero_range(task, FILE, range_of(*off, *len)).await;
            Got { did_zero: Some(zeroed), ..plain(result) }
        }),
        Act::Truncate { size } => {
            Box::pin(async move { plain(engine.truncate(task, FILE, Pos::new(*size)).await) })
        }
        Act::Fallocate { mode, off, len } => {
            let (mode, range) = (mode.mode(), range_of(*off, *len));
            Box::pin(async move { plain(engine.fallocate(task, FILE, mode, range).await) })
        }
        Act::MmapLoad { off, len } => {
            Box::pin(
                async move { signal(engine.mmap_load(task, FILE, range_of(*off, *len)).await) },
            )
        }
        Act::MmapStore { off, len, byte } => Box::pin(async move {
            signal(engine.mmap_store(task, FILE, range_of(*off, *len), byte.0).await)
        }),
        Act::Mkwrite { off } => {
            Box::pin(async move { signal(engine.mkwrite(task, FILE, Pos::new(*off)).await) })
        }
        _ => return at_once(engine, op, task),
    })
}

/// Operations that never wait.
#[allow(clippy::wildcard_enum_match_arm, reason = "all others are not the engine's")]
fn at_once(engine: Rc<Engine<Traced>>, op: &Op, task: TaskId) -> Option<Running<'_>> {
    let zero = Got { ret: Some(Ok(0)), ..Got::default() };
    let bits = |folio: &u64, part: (u64, u64), change| -> Running<'_> {
        let (engine, zero, at) = (Rc::clone(&engine), zero.clone(), Pos::new(*folio));
        Box::pin(async move {
            engine.change_bits(FILE, at, part, change);
            zero
        })
    };
    Some(match &op.act {
        Act::Evict { off, len } => Box::pin(async move {
            let whole = range_of(0, MAX_POS);
            engine.evict(FILE, off.zip(*len).map_or(whole, |(off, len)| range_of(off, len)));
            zero
        }),
        Act::SeekData { off } | Act::SeekHole { off } => Box::pin(async move {
            let data = matches!(op.act, Act::SeekData { .. });
            plain(engine.seek(task, FILE, Pos::new(*off), data))
        }),
        Act::MarkDirty { off, len } => Box::pin(async move {
            engine.mark_dirty(FILE, range_of(*off, *len));
            zero
        }),
        Act::SetDirtyRange { folio_off, off, len } => {
            bits(folio_off, (*off, *len), BitChange::SetDirty)
        }
        Act::ClearDirtyRange { folio_off, off, len } => {
            bits(folio_off, (*off, *len), BitChange::ClearDirty)
        }
        Act::SetUptodateRange { folio_off, off, len } => {
            bits(folio_off, (*off, *len), BitChange::SetUptodate)
        }
        _ => return None,
    })
}

/// Whatever goes wrong with a mapping of the file is a signal.
fn signal(result: OpResult) -> Got {
    Got { ret: Some(number(result).map_err(|_| "SIGBUS".to_owned())), ..Got::default() }
}

/// Waits for every append that was begun.
fn wait_all<'a>(engine: Rc<Engine<Traced>>, appends: Appends, task: TaskId) -> Running<'a> {
    Box::pin(async move {
        let begun = core::mem::take(&mut appends.borrow_mut().begun);
        for (at, append) in begun {
            let result = engine.wait_direct(task, append).await;
            let got = Got { pos: Some(append.pos.get()), ..plain(result) };
            appends.borrow_mut().ended.push((at, got));
        }
        Got { ret: Some(Ok(0)), ..Got::default() }
    })
}

/// The faults of the application's memory in one operation.
fn user_faults(scenario: &Scenario, at: usize) -> Vec<UserFault> {
    let user = move |fault: &&FaultWords| {
        matches!(fault.at, FaultAt::CopyFromUser | FaultAt::FaultIn) && fault.op == Some(at)
    };
    let fault = |fault: &FaultWords| UserFault {
        copied: Bytes::new(fault.copied),
        spared: if fault.at == FaultAt::FaultIn { Some(0) } else { fault.times.0 },
    };
    scenario.faults.iter().filter(user).map(fault).collect()
}

fn write(
    engine: Rc<Engine<Traced>>,
    scenario: &Scenario,
    at: usize,
    (off, flags, task): (u64, WriteFlags, TaskId),
    pieces: Vec<(u64, Option<u8>)>,
) -> Running<'_> {
    let good = Buffer { pieces };
    let mut buffer = BadFrom { good, faults: user_faults(scenario, at) };
    Box::pin(
        async move { plain(engine.pwrite(task, FILE, Pos::new(off), &mut buffer, flags).await) },
    )
}
