//! Performing a stream on something and comparing it with what it must do.

use super::Step;
use super::expect::{Abilities, Expectation, Outcome, Owed};
use super::generate::Generator;
use super::model::Model;
use crate::device::sim::Landed;
use crate::ops::OpResult;
use crate::ops::fallocate::FallocMode;
use crate::scenario::Action;
use crate::units::Pos;

/// What a stream runs on.
pub trait Subject {
    /// Performs one operation: from `source`, into `dest`, each as long as what the operation
    /// touches. The error says why it could not be performed at all.
    fn perform(&mut self, step: &Step, dest: &mut [u8], source: &[u8]) -> Result<OpResult, String>;
    /// Whether it can perform such an action; a generator then chooses another one.
    fn can(&self, action: &Action) -> bool {
        let _ = action;
        true
    }
    /// Bytes of the file.
    fn size(&mut self) -> Result<Pos, String>;
    /// What became of writes of this file to the device since this was last asked.
    fn landed(&mut self) -> Vec<Landed> {
        Vec::new()
    }
    /// Whether its state is sound, if that can be known.
    fn check_state(&mut self) -> Result<(), String> {
        Ok(())
    }
    /// What is durable of the first `len` bytes of the file, if that can be known.
    fn durable(&mut self, len: usize) -> Option<Vec<u8>> {
        let _ = len;
        None
    }
    /// What must hold at the end.
    fn check_end(&mut self, expectation: &mut Expectation) -> Result<(), String> {
        let _ = expectation;
        Ok(())
    }
}

/// A stream went wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// At which operation, from 0.
    pub at: usize,
    /// How.
    pub what: String,
}

/// After so many bytes the pattern that is written begins anew.
const PERIOD: usize = 251;

/// Bytes to write: what stands at a place depends on the place, so that bytes that went elsewhere
/// are noticed, and on the operation.
#[derive(Default, Debug)]
struct Pattern(Vec<u8>);

impl Pattern {
    /// What an operation writes.
    fn of(&mut self, action: &Action) -> &[u8] {
        let Action::Pwrite { range, byte, .. } = action else { return &[] };
        let place = (range.start().get() % PERIOD as u64) as usize;
        let first = (usize::from(*byte) * 7 + place) % PERIOD;
        let end = first + range.len().get() as usize;
        let have = self.0.len();
        if have < end {
            self.0.extend((have..end).map(|at| (at % PERIOD) as u8 + 1));
        }
        &self.0[first..end]
    }
}

/// A stream on its way.
#[derive(Debug)]
pub struct Stream<'a, S> {
    subject: &'a mut S,
    expectation: Expectation,
    dest: Vec<u8>,
    pattern: Pattern,
}

impl<'a, S: Subject> Stream<'a, S> {
    /// At its start: the file holds `bytes`.
    pub fn new(subject: &'a mut S, abilities: Abilities, model: Model) -> Self {
        let expectation = Expectation::new(abilities, model);
        Self { subject, expectation, dest: Vec::new(), pattern: Pattern::default() }
    }
    /// Bytes that the file must have.
    pub fn size(&self) -> Pos {
        Pos::new(self.expectation.model.len() as u64)
    }
    /// Performs one operation and checks it.
    pub fn step(&mut self, step: &Step) -> Result<(), String> {
        if self.expectation.blind {
            return Ok(());
        }
        let op = &step.op;
        let source = self.pattern.of(&op.action);
        let reads = matches!(op.action, Action::Pread { .. });
        let len = if reads { op.action.touched().len().get() as usize } else { 0 };
        if self.dest.len() < len {
            self.dest.resize(len, 0);
        }
        let result = self.subject.perform(step, &mut self.dest[..len], source)?;
        let mut landed = self.subject.landed();
        if landed.iter().any(|landed| landed.data.is_none()) {
            self.expectation.owed = Owed::Yes;
        }
        // What failed may have been written before or after the operation changed the bytes; one
        // that moves bytes writes before it does so, and moves none if that fails.
        let changes = match op.action {
            Action::Fallocate(FallocMode::Insert, _) => result.0.is_err(),
            Action::Fallocate(mode, _) => mode != FallocMode::Collapse,
            Action::Pwrite { .. }
            | Action::MmapStore { .. }
            | Action::Truncate(_)
            | Action::Reflink { .. }
            | Action::PowerCut(_)
            | Action::Array(_) => true,
            Action::Pread { .. }
            | Action::Fadvise(..)
            | Action::Sleep(_)
            | Action::Fsync
            | Action::Fdatasync
            | Action::Syncfs
            | Action::Reclaim(_)
            | Action::MmapLoad(_)
            | Action::Msync(_)
            | Action::SyncRange(..)
            | Action::Seek { .. } => false,
        };
        self.expectation.landed(&landed);
        let read = result.0.map_or(0, |n| n.get() as usize).min(len);
        let size = self.subject.size()?;
        let outcome = Outcome { result, read: &self.dest[..read], written: source, size };
        self.expectation.take(step, &outcome)?;
        if changes {
            landed.retain(|landed| landed.data.is_none());
            self.expectation.landed(&landed);
        }
        self.subject.check_state()?;
        match result.0 {
            Ok(done) => self.check_durable(&op.action, done.get() as usize),
            Err(_) => Ok(()),
        }
    }
    /// What a sync promised is on the device; a write gave `done`.
    fn check_durable(&mut self, action: &Action, done: usize) -> Result<(), String> {
        let size = self.expectation.model.len();
        let (start, end) = match action {
            Action::Fsync | Action::Fdatasync | Action::Syncfs => (0, size),
            Action::Msync(range) => (range.start().get() as usize, range.end().get() as usize),
            Action::Pwrite { range, flags, .. } if flags.dsync => {
                (range.start().get() as usize, range.start().get() as usize + done)
            }
            Action::Pread { .. }
            | Action::Pwrite { .. }
            | Action::Fadvise(..)
            | Action::Reclaim(_)
            | Action::MmapLoad(_)
            | Action::MmapStore { .. }
            | Action::SyncRange(..)
            | Action::Truncate(_)
            | Action::Fallocate(..)
            | Action::Reflink { .. }
            | Action::PowerCut(_)
            | Action::Array(_)
            | Action::Sleep(_)
            | Action::Seek { .. } => return Ok(()),
        };
        let (start, end) = (start.min(size), end.min(size));
        let Some(durable) = self.subject.durable(end) else { return Ok(()) };
        let model = &self.expectation.model;
        let whole = matches!(action, Action::Fsync | Action::Fdatasync | Action::Syncfs);
        if whole && durable.len() != end && !model.lost() {
            return Err(format!("{} bytes are durable, expected {end}", durable.len()));
        }
        let got = &durable[start.min(durable.len())..];
        model.durable(start, got).map_err(|at| {
            let (got, want) = (durable[at], model.bytes()[at]);
            format!("byte {at} ({at:#x}) is {got:#04x} on the device, expected {want:#04x}")
        })
    }
    /// Looks at all of the file at the end.
    pub fn end(&mut self) -> Result<(), String> {
        if self.expectation.blind {
            return Ok(());
        }
        self.subject.check_end(&mut self.expectation)
    }
}

/// Performs operations that are known; how many, or where it went wrong.
pub fn replay<S: Subject>(
    subject: &mut S,
    abilities: Abilities,
    model: Model,
    steps: &[Step],
) -> Result<(), Failure> {
    let mut stream = Stream::new(subject, abilities, model);
    for (at, step) in steps.iter().enumerate() {
        stream.step(step).map_err(|what| Failure { at, what })?;
    }
    stream.end().map_err(|what| Failure { at: steps.len(), what })
}

/// Performs `count` operations that a generator chooses, ending with a sync, and notes them before
/// it does.
pub fn run<S: Subject>(
    subject: &mut S,
    abilities: Abilities,
    model: Model,
    generator: &mut Generator,
    count: usize,
    steps: &mut Vec<Step>,
) -> Result<(), Failure> {
    steps.reserve(count);
    let mut stream = Stream::new(subject, abilities, model);
    for at in 0..count {
        let mut step = generator.next(stream.size());
        while !stream.subject.can(&step.op.action) {
            step = generator.next(stream.size());
        }
        if at + 1 == count {
            step.op.action = Action::Fsync;
            step.faults.clear();
        }
        steps.push(step);
        stream.step(&steps[at]).map_err(|what| Failure { at, what })?;
    }
    stream.end().map_err(|what| Failure { at: count, what })
}
