//! Runs the operations of a case, one after another.

use super::device::{Hangs, LATER, Pick, complete_one, drive, settle};
use super::format::{Act, FallocateMode, Iov, Op, Scenario};
use super::machine::{FILE, Machine};
use super::perform::perform;
use super::snapshot::{Snapshot, snapshot};
use folioscope_core::counters::Counters;
use folioscope_core::units::{Bytes, Pos, TaskId};
use folioscope_core::writeback::merge::{CompletedIoend, sort_and_merge};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The task of operations that name none.
pub(super) const MAIN: TaskId = TaskId::new(1);

/// What an operation gave.
#[derive(Clone, Default)]
pub(super) struct Got {
    /// A number, or the name of an error; `hangs` if it never ended.
    pub(super) ret: Option<Result<i64, String>>,
    pub(super) bytes: Option<(u64, Vec<u8>)>,
    pub(super) did_zero: Option<bool>,
    pub(super) nr_to_write: Option<i64>,
    /// Where an append went.
    pub(super) pos: Option<u64>,
}

/// Everything that a case showed.
pub(super) struct Shown {
    pub(super) machine: Machine,
    pub(super) got: Vec<Got>,
    /// State when each operation had ended, and the last one once more.
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
    /// State after each step of the schedule.
    pub(super) at_step: Vec<Snapshot>,
    /// By task, the counters before and after each time it ran.
    pub(super) task_counts: BTreeMap<String, Vec<(Counters, Counters)>>,
}

/// What `fallocate` does to a plain array of bytes.
fn reshape(model: &mut Vec<u8>, mode: FallocateMode, off: usize, len: usize) {
    let end = off.saturating_add(len);
    match mode {
        FallocateMode::Alloc | FallocateMode::Unshare | FallocateMode::Zero
            if model.len() < end =>
        {
            model.resize(end, 0);
        }
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

/// Puts bytes into a plain array, which grows for them.
fn overwrite(model: &mut Vec<u8>, at: u64, len: u64, byte: u8) {
    let (start, end) = (at as usize, at.saturating_add(len) as usize);
    if model.len() < end {
        model.resize(end, 0);
    }
    model[start..end].fill(byte);
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
            at_step: Vec::new(),
            task_counts: BTreeMap::new(),
        }
    }
    /// Runs every operation up to one that never ends.
    pub(super) fn run(&mut self, scenario: &Scenario) {
        let mut model = self.machine.file_bytes();
        self.got = vec![Got::default(); scenario.ops.len()];
        self.after = vec![snapshot(&self.machine); scenario.ops.len() + 1];
        if !scenario.schedule.is_empty() {
            return super::schedule::run(self, scenario, &mut model);
        }
        for at in 0..scenario.ops.len() {
            self.run_op(scenario, at, &mut model);
            if self.hangs {
                return;
            }
        }
    }
    /// Runs one operation to its end.
    pub(super) fn run_op(&mut self, scenario: &Scenario, at: usize, model: &mut Vec<u8>) {
        let op = &scenario.ops[at];
        self.machine.port.borrow_mut().op = at;
        self.machine.arm(at, true);
        let done = self.act(scenario, at, op);
        self.machine.arm(at, false);
        self.machine.follow();
        match done {
            Ok(got) => self.ended(at, &scenario.ops, got, model),
            Err(Hangs) => self.hang(at),
        }
    }
    /// Keeps what an operation gave, and the state after it.
    pub(super) fn ended(&mut self, at: usize, ops: &[Op], got: Got, model: &mut Vec<u8>) {
        let op = &ops[at];
        self.compare_with_model(model, op, &got);
        self.got[at] = got;
        let ended = core::mem::take(&mut self.machine.appends.borrow_mut().ended);
        for (of, got) in ended {
            if let (Act::DioAppendAsync { len, byte }, Some(Ok(_)), Some(pos)) =
                (&ops[of].act, &got.ret, got.pos)
            {
                overwrite(model, pos, *len, byte.0);
            }
            self.got[of] = got;
        }
        let now = snapshot(&self.machine);
        let Self { after, got, .. } = self;
        for (of, after) in after.iter_mut().enumerate().skip(at) {
            // Of several tasks a later operation may have ended before.
            if of == at || got.get(of).is_none_or(|got| got.ret.is_none()) {
                after.clone_from(&now);
            }
        }
    }
    /// An operation never ends.
    pub(super) fn hang(&mut self, at: usize) {
        self.hangs = true;
        self.got[at] = Got { ret: Some(Err("hangs".to_owned())), ..Got::default() };
        self.after.truncate(at);
    }
    /// A plain array of bytes that does what the operations say.
    #[allow(clippy::wildcard_enum_match_arm, reason = "all others change no byte")]
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
            Act::Pwrite { off, len, byte, .. } | Act::DioWrite { off, len, byte } => {
                put(*off, &[(*len, Some(byte.0))]);
            }
            Act::Pwritev { off, iov } => {
                let pieces: Vec<_> = iov.iter().map(Iov::piece).collect();
                put(*off, &pieces);
            }
            Act::Pread { off, .. } | Act::DioRead { off, .. } | Act::MmapLoad { off, .. } => {
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
            Act::ReflinkRange { src_off, dst_off, len } => {
                let source = &self.machine.source;
                let end = (src_off.saturating_add(*len) as usize).min(source.len());
                for (at, byte) in source[(*src_off as usize).min(end)..end].iter().enumerate() {
                    overwrite(model, dst_off + at as u64, 1, *byte);
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
    /// What an operation gave, with the bytes that a load saw.
    pub(super) fn finished(&mut self, op: &Op, mut got: Got) -> Got {
        self.machine.follow();
        if let (Act::MmapLoad { off, len }, Some(Ok(_))) = (&op.act, &got.ret) {
            got.bytes = Some((*off, self.machine.cached_bytes(*off, *len)));
        }
        got
    }
    #[allow(clippy::wildcard_enum_match_arm, reason = "all others are futures, or missing")]
    fn act(&mut self, scenario: &Scenario, at: usize, op: &Op) -> Result<Got, Hangs> {
        let engine = Rc::clone(&self.machine.engine);
        let port = &self.machine.port;
        if let Some(future) = perform(&self.machine, scenario, at, MAIN) {
            port.borrow_mut().hold = held(op);
            let done = drive(&engine, port, future);
            port.borrow_mut().hold = None;
            return done.map(|got| self.finished(op, got));
        }
        match &op.act {
            Act::Complete { label } => {
                while complete_one(&engine, port, Pick::Label(label)) {}
                settle(&engine, port);
            }
            Act::CrashRemount { clean } => {
                if *clean {
                    drive(&engine, port, engine.fsync(MAIN, FILE, false))?;
                }
                self.machine.crash();
            }
            Act::SnapshotDisk { label } => {
                self.machine.follow();
                let size = self.machine.sizes().1;
                let bytes = self.machine.device_bytes(size);
                self.crashes.insert(label.clone(), (size, bytes));
            }
            Act::SortAndMergeIoends {} => self.merged = Some(merge(scenario, &self.machine)),
            // Cases with others are skipped.
            _ => return Err(Hangs),
        }
        Ok(Got { ret: Some(Ok(0)), ..Got::default() })
    }
}

/// Under which label the bios of an operation are held.
#[allow(clippy::wildcard_enum_match_arm, reason = "all others hold nothing")]
pub(super) fn held(op: &Op) -> Option<String> {
    match &op.act {
        Act::Writeback { hold_completion, .. } => hold_completion.clone(),
        Act::DioAppendAsync { .. } => Some(LATER.to_owned()),
        _ => None,
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
        dontcache: false,
        error: None,
        bios: Vec::new(),
        private: done.private.clone(),
    });
    sort_and_merge(all.collect(), machine.behaviours())
}
