//! Runs the operations of a case, one after another.

use super::device::{Hangs, complete_one, drive, settle};
use super::format::{Act, FallocateMode, FaultAt, FaultWords, Iov, Mode, Op, Scenario};
use super::machine::{FILE, Machine, range_of};
use super::snapshot::{Snapshot, snapshot};
use folioscope_core::engine::{ReadFlags, WriteFlags};
use folioscope_core::frames::UserSource;
use folioscope_core::inner::{BitChange, WritebackArgs};
use folioscope_core::ops::OpResult;
use folioscope_core::units::{Bytes, Offset, Pos, TaskId};
use folioscope_core::writeback::merge::{CompletedIoend, sort_and_merge};
use std::collections::BTreeMap;

const TASK: TaskId = TaskId::new(1);

/// What an operation gave.
#[derive(Clone, Default)]
pub(super) struct Got {
    /// A number, or the name of an error; `hangs` if it never ended.
    pub(super) ret: Option<Result<i64, String>>,
    pub(super) bytes: Option<(u64, Vec<u8>)>,
    pub(super) did_zero: Option<bool>,
    pub(super) nr_to_write: Option<i64>,
}

/// Everything that a case showed.
pub(super) struct Shown {
    pub(super) machine: Machine,
    pub(super) got: Vec<Got>,
    pub(super) after: Vec<Snapshot>,
    pub(super) crashes: BTreeMap<String, (u64, Vec<u8>)>,
    pub(super) hangs: bool,
    /// Sentences about what a read returned, what a load saw behind EOF, or a sync left.
    pub(super) wrong_reads: Vec<String>,
    pub(super) behind_eof: Vec<String>,
    pub(super) lost_bytes: Vec<String>,
    /// Bytes of blocks that were taken at the start.
    pub(super) taken: u64,
    pub(super) merged: Option<Vec<CompletedIoend>>,
}

/// A buffer of the application in pieces, some of which cannot be read.
struct Buffer<'a> {
    pieces: Vec<(u64, Option<u8>)>,
    faults: Vec<(&'a FaultWords, Option<u32>)>,
}

impl Buffer<'_> {
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

impl UserSource for Buffer<'_> {
    fn len(&self) -> Bytes {
        Bytes::new(self.pieces.iter().map(|piece| piece.0).sum())
    }
    fn fault_in(&mut self, at: Offset, len: Bytes) -> Bytes {
        let at = at.get();
        for (fault, left) in self.faults.iter_mut().filter(|(fault, _)| at >= fault.copied) {
            let spared = fault.at == FaultAt::CopyFromUser && *left != Some(0);
            if !spared {
                return Bytes::ZERO;
            }
            *left = left.map(|left| left - 1);
        }
        Bytes::new(self.good(at, len.get()))
    }
    fn copy_in(&mut self, at: Offset, to: &mut [u8]) -> Bytes {
        let at = at.get();
        let limit = self.faults.iter().map(|(fault, _)| fault.copied.saturating_sub(at)).min();
        let good = self.good(at, to.len() as u64).min(limit.unwrap_or(u64::MAX));
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

/// What `fallocate` does to a plain array of bytes.
fn reshape(model: &mut Vec<u8>, mode: FallocateMode, off: usize, len: usize) {
    let end = off.saturating_add(len);
    match mode {
        FallocateMode::Alloc | FallocateMode::Zero if model.len() < end => model.resize(end, 0),
        FallocateMode::Insert => {
            let at = off.min(model.len());
            model.splice(at..at, std::iter::repeat_n(0, len));
        }
        FallocateMode::Alloc
        | FallocateMode::AllocKeepSize
        | FallocateMode::Unshare
        | FallocateMode::Punch
        | FallocateMode::Zero
        | FallocateMode::ZeroKeepSize => {}
    }
    if matches!(mode, FallocateMode::Punch | FallocateMode::Zero | FallocateMode::ZeroKeepSize) {
        let end = end.min(model.len());
        model[off.min(end)..end].fill(0);
    }
}

impl Shown {
    pub(super) fn new(machine: Machine) -> Self {
        Self {
            taken: machine.taken(),
            machine,
            got: Vec::new(),
            after: Vec::new(),
            crashes: BTreeMap::new(),
            hangs: false,
            wrong_reads: Vec::new(),
            behind_eof: Vec::new(),
            lost_bytes: Vec::new(),
            merged: None,
        }
    }
    /// Runs every operation up to one that never ends.
    pub(super) fn run(&mut self, scenario: &Scenario) {
        let mut model = self.machine.file_bytes();
        for (at, op) in scenario.ops.iter().enumerate() {
            self.machine.port.borrow_mut().op = at;
            self.machine.arm(at, true);
            let done = self.act(scenario, at, op);
            self.machine.arm(at, false);
            self.machine.follow();
            let Ok(got) = done else {
                self.hangs = true;
                self.got.push(Got { ret: Some(Err("hangs".to_owned())), ..Got::default() });
                return;
            };
            self.compare_with_model(&mut model, op, &got);
            self.got.push(got);
            self.after.push(snapshot(&self.machine));
        }
    }
    #[allow(clippy::wildcard_enum_match_arm, reason = "all others change no byte")]
    /// A plain array of bytes that does what the operations say.
    fn compare_with_model(&mut self, model: &mut Vec<u8>, op: &Op, got: &Got) {
        let Some(Ok(ret)) = got.ret else { return };
        let done = ret.cast_unsigned();
        let mut put = |off: u64, pieces: &[(u64, Option<u8>)]| {
            let end = off.saturating_add(done);
            if model.len() < end as usize && done > 0 {
                model.resize(end as usize, 0);
            }
            let mut at = off;
            for (len, byte) in pieces {
                let stop = (at + len).min(end);
                if at < stop {
                    model[at as usize..stop as usize].fill(byte.unwrap_or(0));
                }
                at += len;
            }
        };
        match &op.act {
            Act::Pwrite { off, len, byte, .. } => put(*off, &[(*len, Some(byte.0))]),
            Act::Pwritev { off, iov } => {
                let pieces: Vec<_> = iov.iter().map(Iov::piece).collect();
                put(*off, &pieces);
            }
            Act::Pread { off, .. } | Act::MmapLoad { off, .. } => {
                let Some((_, bytes)) = &got.bytes else { return };
                let start = (*off as usize).min(model.len());
                let end = (start + bytes.len()).min(model.len());
                let (inside, behind) = bytes.split_at(end - start);
                if model[start..end] != *inside {
                    self.wrong_reads.push(format!("the read at {off} returns other bytes"));
                }
                if behind.iter().any(|byte| *byte != 0) {
                    self.behind_eof.push(format!("the load at {off} sees bytes behind EOF"));
                }
            }
            Act::Truncate { size } => model.resize(*size as usize, 0),
            Act::Fallocate { mode, off, len } => {
                reshape(model, *mode, *off as usize, *len as usize);
            }
            Act::MmapStore { off, len, byte } => {
                let end = (off.saturating_add(*len) as usize).min(model.len());
                model[(*off as usize).min(end)..end].fill(byte.0);
            }
            Act::ZeroRangeCore { off, len } => {
                let end = (off.saturating_add(*len) as usize).min(model.len());
                model[(*off as usize).min(end)..end].fill(0);
            }
            Act::CrashRemount { .. } => *model = self.machine.file_bytes(),
            Act::Fsync {} => self.look_for_lost_bytes(),
            _ => {}
        }
    }
    /// After a sync that succeeded, clean cached bytes are those of the device.
    fn look_for_lost_bytes(&mut self) {
        let size = self.machine.sizes().0;
        let device = self.machine.device_bytes(size);
        for (off, dirty, bytes) in self.machine.cached_blocks() {
            let end = (off + bytes.len() as u64).min(size);
            if dirty || off >= end {
                continue;
            }
            let (start, stop) = (off as usize, end as usize);
            if device[start..stop] != bytes[..stop - start] {
                self.lost_bytes
                    .push(format!("bytes of the block at {off} are in clean cache only"));
            }
        }
    }
    fn write(
        &self,
        scenario: &Scenario,
        (at, off, nowait): (usize, u64, bool),
        pieces: Vec<(u64, Option<u8>)>,
    ) -> Result<Got, Hangs> {
        let user = |fault: &&FaultWords| {
            matches!(fault.at, FaultAt::CopyFromUser | FaultAt::FaultIn) && fault.op == Some(at)
        };
        let faults: Vec<_> = scenario.faults.iter().filter(user).collect();
        let faults = faults.into_iter().map(|fault| (fault, fault.times.0)).collect();
        let mut buffer = Buffer { pieces, faults };
        let (engine, port) = (&self.machine.engine, &self.machine.port);
        let flags = WriteFlags { nowait, ..WriteFlags::default() };
        let op = engine.pwrite(TASK, FILE, Pos::new(off), &mut buffer, flags);
        let ret = Some(number(drive(engine, port, op)?));
        Ok(Got { ret, ..Got::default() })
    }
    /// A change of size or space.
    fn reshape(&self, act: &Act) -> Result<Got, Hangs> {
        let (engine, port) = (&self.machine.engine, &self.machine.port);
        let result = if let Act::Fallocate { mode, off, len } = act {
            let range = range_of(*off, *len);
            drive(engine, port, engine.fallocate(TASK, FILE, mode.mode(), range))?
        } else if let Act::Truncate { size } = act {
            drive(engine, port, engine.truncate(TASK, FILE, Pos::new(*size)))?
        } else {
            return Err(Hangs);
        };
        Ok(Got { ret: Some(number(result)), ..Got::default() })
    }
    /// An access through a mapping of the file: whatever goes wrong is a signal.
    #[allow(clippy::wildcard_enum_match_arm, reason = "all others are no such access")]
    fn through_mapping(&mut self, act: &Act) -> Result<Got, Hangs> {
        let (engine, port) = (&self.machine.engine, &self.machine.port);
        let result = match act {
            Act::MmapLoad { off, len } => {
                drive(engine, port, engine.mmap_load(TASK, FILE, range_of(*off, *len)))?
            }
            Act::MmapStore { off, len, byte } => {
                drive(engine, port, engine.mmap_store(TASK, FILE, range_of(*off, *len), byte.0))?
            }
            Act::Mkwrite { off } => {
                drive(engine, port, engine.mkwrite(TASK, FILE, Pos::new(*off)))?
            }
            _ => return Err(Hangs),
        };
        let ret = number(result).map_err(|_| "SIGBUS".to_owned());
        let mut got = Got { ret: Some(ret), ..Got::default() };
        if let (Act::MmapLoad { off, len }, Some(Ok(_))) = (act, &got.ret) {
            self.machine.follow();
            got.bytes = Some((*off, self.machine.cached_bytes(*off, *len)));
        }
        Ok(got)
    }
    #[allow(clippy::wildcard_enum_match_arm, reason = "all others are missing")]
    fn act(&mut self, scenario: &Scenario, at: usize, op: &Op) -> Result<Got, Hangs> {
        let zero = Got { ret: Some(Ok(0)), ..Got::default() };
        let engine = &self.machine.engine;
        let port = &self.machine.port;
        let plain = |result| Got { ret: Some(number(result)), ..Got::default() };
        match &op.act {
            Act::Pread { off, len } => {
                let mut buffer = vec![0; *len as usize];
                let mut dest = buffer.as_mut_slice();
                let flags = ReadFlags::default();
                let op = engine.pread(TASK, FILE, Pos::new(*off), &mut dest, flags);
                let result = drive(engine, port, op)?;
                buffer.truncate(result.0.map_or(0, |read| read.get() as usize));
                return Ok(Got { bytes: Some((*off, buffer)), ..plain(result) });
            }
            Act::Pwrite { off, len, byte, nowait } => {
                let pieces = vec![(*len, Some(byte.0))];
                return self.write(scenario, (at, *off, *nowait), pieces);
            }
            Act::Pwritev { off, iov } => {
                let pieces = iov.iter().map(Iov::piece).collect();
                return self.write(scenario, (at, *off, false), pieces);
            }
            Act::Fsync {} => {
                return Ok(plain(drive(engine, port, engine.fsync(TASK, FILE, false))?));
            }
            Act::Writeback { mode, nr_to_write, cyclic, hold_completion } => {
                let all = *mode == Mode::All;
                let args = WritebackArgs { all, budget: *nr_to_write, cyclic: *cyclic };
                port.borrow_mut().hold.clone_from(hold_completion);
                let done = drive(engine, port, engine.writeback(TASK, FILE, args));
                port.borrow_mut().hold = None;
                let (result, left) = done?;
                let nr_to_write = nr_to_write.map(|_| left);
                return Ok(Got { nr_to_write, ..plain(result) });
            }
            Act::Complete { label } => {
                while complete_one(engine, port, Some(label)) {}
                settle(engine, port);
            }
            Act::Evict { off, len } => {
                let whole = range_of(0, folioscope_core::units::MAX_POS);
                engine.evict(FILE, off.zip(*len).map_or(whole, |(off, len)| range_of(off, len)));
            }
            Act::CrashRemount { clean } => {
                if *clean {
                    drive(engine, port, engine.fsync(TASK, FILE, false))?;
                }
                self.machine.crash();
            }
            Act::SnapshotDisk { label } => {
                self.machine.follow();
                let size = self.machine.sizes().1;
                let bytes = self.machine.device_bytes(size);
                self.crashes.insert(label.clone(), (size, bytes));
            }
            Act::SeekData { off } | Act::SeekHole { off } => {
                let data = matches!(op.act, Act::SeekData { .. });
                return Ok(plain(engine.seek(TASK, FILE, Pos::new(*off), data)));
            }
            Act::Readahead { off, len } => {
                let op = engine.readahead(TASK, FILE, range_of(*off, *len));
                return Ok(plain(drive(engine, port, op)?));
            }
            Act::ReadFolio { off } => {
                return Ok(plain(drive(
                    engine,
                    port,
                    engine.read_folio(TASK, FILE, Pos::new(*off)),
                )?));
            }
            Act::ZeroRangeCore { off, len } => {
                let op = engine.zero_range(TASK, FILE, range_of(*off, *len));
                let (result, zeroed) = drive(engine, port, op)?;
                return Ok(Got { did_zero: Some(zeroed), ..plain(result) });
            }
            Act::MmapLoad { .. } | Act::MmapStore { .. } | Act::Mkwrite { .. } => {
                return self.through_mapping(&op.act);
            }
            Act::Truncate { .. } | Act::Fallocate { .. } => return self.reshape(&op.act),
            Act::MarkDirty { off, len } => engine.mark_dirty(FILE, range_of(*off, *len)),
            Act::SetDirtyRange { folio_off, off, len } => {
                engine.change_bits(FILE, Pos::new(*folio_off), (*off, *len), BitChange::SetDirty);
            }
            Act::ClearDirtyRange { folio_off, off, len } => {
                engine.change_bits(FILE, Pos::new(*folio_off), (*off, *len), BitChange::ClearDirty);
            }
            Act::SetUptodateRange { folio_off, off, len } => {
                let change = BitChange::SetUptodate;
                engine.change_bits(FILE, Pos::new(*folio_off), (*off, *len), change);
            }
            Act::SortAndMergeIoends {} => self.merged = Some(merge(scenario, &self.machine)),
            // Cases with others are skipped.
            _ => return Err(Hangs),
        }
        Ok(zero)
    }
}

fn merge(scenario: &Scenario, machine: &Machine) -> Vec<CompletedIoend> {
    use super::words::IoendFlag;
    let all = scenario.completed_ioends.iter().map(|done| CompletedIoend {
        pos: Pos::new(done.off),
        len: Bytes::new(done.len),
        addr: folioscope_core::units::DevAddr::new(done.dev_off),
        unwritten: done.flags.contains(&IoendFlag::Unwritten),
        shared: done.flags.contains(&IoendFlag::Shared),
        boundary: done.flags.contains(&IoendFlag::Boundary),
        private: done.private.clone(),
    });
    sort_and_merge(all.collect(), machine.behaviours())
}
