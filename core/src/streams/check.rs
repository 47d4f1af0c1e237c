//! Performing a stream on something and comparing it with what it must do.

use super::Step;
use super::expect::{Abilities, Expectation, Outcome, Owed};
use super::generate::Generator;
use super::model::Model;
use crate::device::sim::Landed;
use crate::ops::OpResult;
use crate::ops::fallocate::FallocMode;
use crate::scenario::Action;
use crate::units::{FileId, Pos};

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
    /// Bytes of a file.
    fn size(&mut self, file: FileId) -> Result<Pos, String>;
    /// What became of writes to the device since this was last asked.
    fn landed(&mut self) -> Vec<Landed> {
        Vec::new()
    }
    /// Whether its state is sound, if that can be known.
    fn check_state(&mut self) -> Result<(), String> {
        Ok(())
    }
    /// What is durable of the first `len` bytes of a file, if that can be known.
    fn durable(&mut self, file: FileId, len: usize) -> Option<Vec<u8>> {
        let _ = (file, len);
        None
    }
    /// What a file must hold at the end.
    fn check_end(&mut self, file: FileId, expectation: &mut Expectation) -> Result<(), String> {
        let _ = (file, expectation);
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

/// From an operation on nobody can say what must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blind {
    /// Which, from 0.
    pub at: usize,
    /// Why.
    pub why: &'static str,
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
        let (have, end) = (self.0.len(), Self::place(action).end);
        if have < end {
            self.0.extend((have..end).map(|at| (at % PERIOD) as u8 + 1));
        }
        self.had(action)
    }
    /// The same again.
    fn had(&self, action: &Action) -> &[u8] {
        &self.0[Self::place(action)]
    }
    fn place(action: &Action) -> core::ops::Range<usize> {
        let Action::Pwrite { range, byte, .. } = action else { return 0..0 };
        let place = (range.start().get() % PERIOD as u64) as usize;
        let first = (usize::from(*byte) * 7 + place) % PERIOD;
        first..first + range.len().get() as usize
    }
}

/// Bytes that another write changed: which file's, where, and what is there now.
type Overwritten<'a> = (usize, usize, &'a [u8]);

/// A stream on its way.
#[derive(Debug)]
pub struct Stream<'a, S> {
    subject: &'a mut S,
    /// One for each file.
    files: Vec<Expectation>,
    /// A write of new copies of shared blocks failed: they were given back, though a store may have
    /// made the folio dirty again meanwhile, which is then written in place (`xfs_end_ioend`).
    lost_copy: bool,
    dest: Vec<u8>,
    pattern: Pattern,
}

impl<'a, S: Subject> Stream<'a, S> {
    /// At its start: what the files are and hold.
    pub fn new(subject: &'a mut S, files: Vec<(Abilities, Model)>) -> Self {
        let files = files.into_iter().map(|(able, model)| Expectation::new(able, model)).collect();
        Self { subject, files, lost_copy: false, dest: Vec::new(), pattern: Pattern::default() }
    }
    /// Bytes that each file must have.
    pub fn sizes(&self) -> Vec<Pos> {
        self.files.iter().map(|one| Pos::new(one.model.len() as u64)).collect()
    }
    fn is_blind(&self) -> bool {
        self.why_blind().is_some()
    }
    /// Why nobody can say what must be any more.
    fn why_blind(&self) -> Option<&'static str> {
        self.files.iter().find_map(|one| one.blind)
    }
    /// Takes into account what became of writes to the device.
    fn landed(&mut self, all: &[Landed]) -> Result<(), String> {
        for landed in all {
            let lost = self.changes_other_files(landed)?;
            let file = &mut self.files[landed.file.get() as usize];
            // Whether the file has what was written past the cache is known at the end only.
            if !landed.direct {
                file.landed(core::iter::once(landed));
            }
            let failed = landed.data.is_none();
            if failed && !landed.direct {
                file.owed = Owed::Yes;
            }
            self.lost_copy |= failed && landed.copy;
            for (other, at, data) in lost {
                self.files[other].model.overwritten(at, data);
            }
        }
        Ok(())
    }
    /// Which bytes of other places were overwritten by a write in place; the error names one that
    /// may not be.
    fn changes_other_files<'d>(&self, landed: &'d Landed) -> Result<Vec<Overwritten<'d>>, String> {
        let data = landed.data.as_deref().unwrap_or(&[]);
        let mine = &self.files[landed.file.get() as usize];
        let mut all = Vec::new();
        for (other, range, from) in &landed.also {
            let (at, from) = (range.start().get() as usize, from.get() as usize);
            let data = &data[from..from + range.len().get() as usize];
            let other = other.get() as usize;
            let model = &self.files[other].model;
            // Before 6.6 what is uptodate is written, too: unchanged, unless a write was lost.
            let start = landed.range.start().get() as usize + from;
            let mut changed = model.stores_other(at, data).peekable();
            if changed.peek().is_none() {
                continue;
            }
            let is_lost = |nth| mine.abilities.writes_clean && mine.model.may_differ(start + nth);
            if !self.lost_copy && !changed.all(is_lost) {
                return Err(format!("bytes of file {other} at {at:#x} were overwritten"));
            }
            all.push((other, at, data));
        }
        Ok(all)
    }
    /// Takes into account that blocks of one file became those of another.
    fn linked(&mut self, step: &Step, outcome: &Outcome<'_>) -> Result<(), String> {
        let Action::Reflink { source, from, range } = step.op.action else { return Ok(()) };
        let from_file = self.files[source.get() as usize].clone();
        let to = &mut self.files[step.op.file.get() as usize];
        let place = (from.get(), range, source == step.op.file);
        to.linked(&from_file, place, &step.faults, outcome)
    }
    /// Performs one operation and checks it.
    pub fn step(&mut self, step: &Step) -> Result<(), String> {
        if self.is_blind() {
            return Ok(());
        }
        let op = &step.op;
        let file = op.file.get() as usize;
        let reads = matches!(op.action, Action::Pread { .. });
        let len = if reads { op.action.touched().len().get() as usize } else { 0 };
        let mut dest = core::mem::take(&mut self.dest);
        if dest.len() < len {
            dest.resize(len, 0);
        }
        let source = self.pattern.of(&op.action);
        let result = self.subject.perform(step, &mut dest[..len], source)?;
        let mut landed = self.subject.landed();
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
        self.landed(&landed)?;
        let read = result.0.map_or(0, |n| n.get() as usize).min(len);
        let size = self.subject.size(op.file)?;
        let pattern = core::mem::take(&mut self.pattern);
        let written = pattern.had(&op.action);
        let outcome = Outcome { result, read: &dest[..read], written, size };
        self.linked(step, &outcome)?;
        if op.action == Action::Syncfs {
            self.one_owes_all(file);
        }
        self.files[file].take(step, &outcome)?;
        (self.dest, self.pattern) = (dest, pattern);
        if self.is_blind() {
            // Of the bytes nothing can be said any more, of the state everything.
            return self.subject.check_state();
        }
        let whole = result.0 == Ok(op.action.touched().len());
        landed.retain(|landed| match landed.data {
            Some(_) => landed.direct && whole,
            None => !landed.direct,
        });
        if changes {
            for landed in &landed {
                self.files[landed.file.get() as usize].landed(core::iter::once(landed));
            }
        }
        self.subject.check_state()?;
        match result.0 {
            Ok(done) => self.check_durable(op.file, &op.action, done.get() as usize),
            Err(_) => Ok(()),
        }
    }
    /// A sync of all files tells of errors of any, in the name of one.
    fn one_owes_all(&mut self, file: usize) {
        let owed = self.files.iter_mut().map(|one| core::mem::take(&mut one.owed));
        let owed = owed.fold(Owed::No, Owed::max);
        self.files[file].owed = owed;
    }
    /// What a sync promised is on the device; a write gave `done`.
    fn check_durable(&mut self, file: FileId, action: &Action, done: usize) -> Result<(), String> {
        let size = self.files[file.get() as usize].model.len();
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
        let Some(durable) = self.subject.durable(file, end) else { return Ok(()) };
        let model = &self.files[file.get() as usize].model;
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
        if self.is_blind() {
            return Ok(());
        }
        for (at, expectation) in self.files.iter_mut().enumerate() {
            let end = self.subject.check_end(FileId::new(at as u32), expectation);
            end.map_err(|what| if at > 0 { format!("file {at}: {what}") } else { what })?;
        }
        Ok(())
    }
}

/// Performs operations that are known: from where on they could not be judged, or where it went
/// wrong.
pub fn replay<S: Subject>(
    subject: &mut S,
    files: Vec<(Abilities, Model)>,
    steps: &[Step],
) -> Result<Option<Blind>, Failure> {
    let mut stream = Stream::new(subject, files);
    for (at, step) in steps.iter().enumerate() {
        stream.step(step).map_err(|what| Failure { at, what })?;
        if let Some(why) = stream.why_blind() {
            return Ok(Some(Blind { at, why }));
        }
    }
    stream.end().map(|()| None).map_err(|what| Failure { at: steps.len(), what })
}

/// Performs `count` operations that a generator chooses, ending with a sync, and notes them before
/// it does.
pub fn run<S: Subject>(
    subject: &mut S,
    files: Vec<(Abilities, Model)>,
    generator: &mut Generator,
    count: usize,
    steps: &mut Vec<Step>,
) -> Result<(), Failure> {
    steps.reserve(count);
    let mut stream = Stream::new(subject, files);
    for at in 0..count {
        let mut step = generator.next(&stream.sizes());
        while !stream.subject.can(&step.op.action) {
            step = generator.next(&stream.sizes());
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
