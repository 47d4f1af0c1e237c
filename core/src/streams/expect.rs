//! What each operation must give, and what it makes of the bytes.
//!
//! Total: every operation has an expectation, also one that is refused, so that a stream that lost
//! operations is still a stream.

use super::Step;
use super::faults::Permits;
use super::model::Model;
use crate::device::sim::Landed;
use crate::engine::{ReadFlags, WriteFlags};
use crate::errno::Errno;
use crate::geometry::Geometry;
use crate::ops::OpResult;
use crate::scenario::Action;
use crate::units::{Bytes, FileRange, Pos};

/// What can change of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Shapes {
    /// Nothing.
    Fixed,
    /// Its size.
    Size,
    /// Its space, too, but for copies of what it shares (ext4).
    Space,
    /// All of it.
    All,
}

/// What the file can do.
#[allow(clippy::struct_excessive_bools, reason = "each is an ability of its own")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Abilities {
    /// Sizes.
    pub geometry: Geometry,
    /// What changes of its size and its space.
    pub shapes: Shapes,
    /// It is a device of so many bytes.
    pub fixed: Option<Pos>,
    /// What the start and the length of direct I/O must be whole multiples of.
    pub sector: Bytes,
    /// That is looked at before anything is written; else only when it is about a mapping, so that
    /// those before it are written though the whole write is refused.
    pub sector_first: bool,
    /// Its blocks can be those of another file, too.
    pub links: bool,
    /// Which file system it is on, as only files of one share blocks.
    pub volume: u32,
    /// What was stored behind EOF through a mapping is zero once the file grows over it. Kernels
    /// before 6.12 skip dirty cache over unwritten blocks when they zero, so that it may show.
    pub hides_tail: bool,
    /// The same where a direct write makes it grow: what is dirty over holes is written first (6.12
    /// to 2026).
    pub hides_tail_of_direct: bool,
    /// A block that could not be written is not valid any more, and is read from the device before
    /// part of it is written (`end_buffer_async_write`).
    pub forgets: bool,
    /// Writing a folio writes all that is uptodate in it, also blocks that nobody changed (before
    /// 6.6): in place, whoever shares them.
    pub writes_clean: bool,
}

/// What an operation did, as the one who performed it saw it.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// What it returned.
    pub result: OpResult,
    /// The bytes that it read.
    pub read: &'a [u8],
    /// The bytes that it was given to write.
    pub written: &'a [u8],
    /// The size of the file now.
    pub size: Pos,
}

/// Whether somebody is still to be told that writeback failed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Owed {
    /// Nobody.
    #[default]
    No,
    /// An error that was told may have been another one.
    Maybe,
    /// Whoever asks next.
    Yes,
}

/// The file as it must be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expectation {
    /// Its bytes.
    pub model: Model,
    /// Whether writeback failed and nobody was told yet.
    pub owed: Owed,
    /// What happened after which nobody can say what the bytes must be.
    pub blind: Option<&'static str>,
    pub(super) abilities: Abilities,
    /// The blocks behind that of an EOF, in its page, that a direct write moved away. Kernels that
    /// do not write what is dirty there first leave the page writable, so that a store gets no
    /// blocks until it was written once.
    pub(super) exposed: Option<(u64, u64)>,
    /// Where what was stored behind EOF, in its page, may end; nothing is left of it once the file
    /// reaches that far, or was made shorter.
    tail: u64,
    /// Something failed that may have left space promised where nothing is dirty.
    pub(super) promises: bool,
}

pub(super) type Checked = Result<(), String>;

impl Expectation {
    /// Of a file at its start.
    pub const fn new(abilities: Abilities, model: Model) -> Self {
        Self {
            model,
            owed: Owed::No,
            blind: None,
            abilities,
            exposed: None,
            tail: 0,
            promises: false,
        }
    }
    /// Takes an operation into account; the error says what it must not have done.
    pub fn take(&mut self, step: &Step, outcome: &Outcome<'_>) -> Checked {
        let mut fault = Permits::of(&step.faults);
        // Who changes size or space is told of writes that failed before (`filemap_check_errors`).
        // So is a write behind EOF, which zeroes up to its start.
        let action = &step.op.action;
        let zeroes =
            matches!(action, Action::Pwrite { range, .. } if range.start().get() > self.size());
        let changes = matches!(action, Action::Truncate(_) | Action::Fallocate(..));
        let (direct, before) = (is_direct(action), self.size());
        fault.write_error |= self.owed != Owed::No && (zeroes || changes || direct);
        self.promises |= !step.faults.is_empty();
        if fault.anything {
            self.blind = Some("it meets a fault of which nobody knows what it may leave");
            return Ok(());
        }
        if self.abilities.forgets && Permits::of(&step.faults).stops_writeback(action) {
            self.blind = Some("a buffer that cannot be written may be read from the device again");
            return Ok(());
        }
        match step.op.action {
            Action::Pread { range, flags } if flags.direct => {
                self.pread_direct(range, flags.nowait, fault, outcome)?;
            }
            Action::Pwrite { range, flags, .. } if flags.direct => {
                self.pwrite_direct(range, flags, fault, outcome)?;
            }
            Action::Pread { range, flags } => self.pread(range, flags.nowait, fault, outcome)?,
            Action::Pwrite { range, flags, .. } => {
                self.pwrite(range, (flags.nowait, flags.dsync), fault, outcome)?;
            }
            Action::Fsync | Action::Fdatasync | Action::Syncfs | Action::Msync(_) => {
                self.told(outcome.result)?;
                if !matches!(action, Action::Msync(_)) {
                    self.exposed = None;
                }
            }
            Action::SyncRange(_, flags) if flags.wait_before || flags.wait_after => {
                self.told(outcome.result)?;
            }
            Action::SyncRange(..) | Action::Fadvise(..) | Action::Sleep(_) => {
                exact(outcome.result, Ok(0))?;
            }
            Action::Reclaim(_) => {
                if let Err(errno) = outcome.result.0 {
                    return Err(format!("reclaim failed with {errno}"));
                }
            }
            Action::MmapLoad(range) => {
                may_fail(fault, outcome.result, Self::reached(self, range))?;
            }
            Action::MmapStore { range, byte } => self.store(range, byte, fault, outcome)?,
            Action::Truncate(size) => self.truncate(size, fault, outcome)?,
            Action::Fallocate(mode, range) => self.fallocate(mode, range, fault, outcome)?,
            // Who knows both files has taken it into account.
            Action::Reflink { .. } => {}
            // No stream loses power, or touches members of an array.
            Action::PowerCut(_) | Action::Array(_) => {
                self.blind = Some("the power is cut, or something is done to an array");
                return Ok(());
            }
            Action::Seek { pos, data } => self.seek(pos, data, outcome.result)?,
        }
        let (size, want) = (outcome.size.get(), self.model.len() as u64);
        // Preallocation behind the old EOF may lie inside the file now.
        self.promises |= before < want;
        if want < before {
            self.tail = 0;
        }
        if size == want {
            Ok(())
        } else {
            Err(format!("the file has {size} bytes, expected {want}"))
        }
    }
    /// Takes into account what became of writes to the device.
    pub fn landed<'a>(&mut self, all: impl Iterator<Item = &'a Landed>) {
        for landed in all {
            let (start, end) = (landed.range.start().get(), landed.range.end().get());
            self.model.landed(start as usize, end as usize, landed.data.as_deref());
        }
    }
    pub(super) fn size(&self) -> u64 {
        self.model.len() as u64
    }
    /// Whether something that was stored behind EOF may be cached still.
    pub(super) fn has_tail(&self) -> bool {
        self.tail > self.size()
    }
    fn pread(
        &mut self,
        range: FileRange,
        nowait: bool,
        fault: Permits,
        outcome: &Outcome<'_>,
    ) -> Checked {
        let start = range.start().get().min(self.size());
        let want = range.end().get().min(self.size()).max(start) - start;
        match outcome.result.0 {
            Ok(n) if n.get() == want => {}
            Ok(n) if n.get() < want && (nowait || fault.shortens()) => {}
            Err(Errno::Again) if nowait => return Ok(()),
            Err(errno) if fault.allows(errno) => return Ok(()),
            result => return Err(format!("read {}, expected {want}", OpResult(result))),
        }
        let look = self.model.look(start as usize, outcome.read);
        look.map_err(|at| self.differs("read", at, outcome.read[at - start as usize]))
    }
    /// Words for a byte that is not what it must be.
    pub(super) fn differs(&self, what: &str, at: usize, got: u8) -> String {
        let want = self.model.bytes()[at];
        format!("{what}: byte {at} ({at:#x}) is {got:#04x}, expected {want:#04x}")
    }
    fn pwrite(
        &mut self,
        range: FileRange,
        (nowait, dsync): (bool, bool),
        fault: Permits,
        outcome: &Outcome<'_>,
    ) -> Checked {
        let inside = if range.is_empty() { Some(range) } else { self.inside(range) };
        let Some(range) = inside else {
            return exact(outcome.result, Err(Errno::NoSpc));
        };
        let len = range.len();
        let good = fault.good.map_or(len, |good| good.min(len));
        let result = outcome.result.0;
        let owed = self.owed != Owed::No;
        let shortens = nowait || fault.shortens();
        if dsync && owed && shortens && result == Err(Errno::Io) {
            return self.partly_written(range, fault, outcome);
        }
        let done = match result {
            Ok(n) if n == good => n,
            Ok(n) if n < good && shortens => n,
            // What was to be zeroed up to its start could not be written before.
            Err(Errno::Io)
                if owed
                    && range.start().get() > self.size()
                    && outcome.size.get() == self.size() =>
            {
                Bytes::ZERO
            }
            // The write is done, only nobody knows how far it is durable.
            Err(Errno::Io) if dsync && owed => good,
            Err(Errno::Fault) if good.is_zero() => Bytes::ZERO,
            Err(Errno::Again) if nowait => Bytes::ZERO,
            Err(errno) if fault.allows(errno) => Bytes::ZERO,
            result => return Err(format!("wrote {}, expected {}", OpResult(result), good.get())),
        };
        if dsync && owed && !done.is_zero() {
            if self.owed == Owed::Yes && result != Err(Errno::Io) {
                return Err(format!("a durable write gave {}, expected EIO", OpResult(result)));
            }
            self.owed = Owed::No;
        }
        let (start, done) = (range.start().get() as usize, done.get() as usize);
        if done > 0 {
            self.model.put(start, &outcome.written[..done]);
        }
        if fault.good.is_some() {
            // A copy that came too short for a folio that is not uptodate counts for nothing; where
            // its blocks were valid its bytes stand all the same, and nobody makes these dirty
            // (`__iomap_write_end`, `block_write_end`).
            self.model.perhaps_copied(start + done, &outcome.written[done..good.get() as usize]);
        }
        Ok(())
    }
    /// A write of which nobody says how far it came, as it could not be made durable.
    fn partly_written(
        &mut self,
        range: FileRange,
        fault: Permits,
        outcome: &Outcome<'_>,
    ) -> Checked {
        // Where the write could fail so itself, the other error may still be told.
        self.owed = if fault.allows(Errno::Io) { Owed::Maybe } else { Owed::No };
        let size = outcome.size.get();
        if size > self.size().max(range.end().get()) || size < self.size() {
            return Err(format!("a failed write gave the file {size} bytes"));
        }
        self.model.resize(size as usize);
        self.model.perhaps_copied(range.start().get() as usize, outcome.written);
        Ok(())
    }
    /// A call that tells once of writes that failed.
    fn told(&mut self, result: OpResult) -> Checked {
        let want = match core::mem::take(&mut self.owed) {
            Owed::No => Ok(0),
            Owed::Maybe => result.0.map(Bytes::get).or(Err(Errno::Io)),
            Owed::Yes => Err(Errno::Io),
        };
        exact(result, want)
    }
    /// What an access through a mapping returns.
    fn reached(&self, range: FileRange) -> Result<u64, Errno> {
        let page = self.abilities.geometry.page_size().get();
        let inside = self.size().next_multiple_of(page);
        if range.end().get() <= inside || range.is_empty() {
            Ok(range.len().get())
        } else {
            Err(Errno::Fault)
        }
    }
    fn store(
        &mut self,
        range: FileRange,
        byte: u8,
        fault: Permits,
        outcome: &Outcome<'_>,
    ) -> Checked {
        let want = self.reached(range);
        may_fail(fault, outcome.result, want)?;
        let (start, end) = (range.start().get(), range.end().get());
        if !self.abilities.hides_tail && end > self.size() {
            self.blind = Some("what it stores behind EOF may show later in this kernel");
        }
        if self.exposed.is_some_and(|(from, to)| start < to && from < end) {
            self.blind = Some("it stores where a direct write moved EOF away without zeroing");
        }
        let page = self.abilities.geometry.page_size().get();
        self.tail = self.tail.max(end.min(self.size().next_multiple_of(page)));
        let start = range.start().get().min(self.size()) as usize;
        let end = (range.end().get().min(self.size()) as usize).max(start);
        if outcome.result.0.map(Bytes::get) == want {
            self.model.fill(start, end, byte);
        } else {
            self.model.maybe(start, core::iter::repeat_n(byte, end - start));
        }
        Ok(())
    }
    /// Nothing but zeroes may be skipped on the way to data, and a hole reads as zero.
    fn seek(&mut self, pos: Pos, data: bool, result: OpResult) -> Checked {
        let (pos, size) = (pos.get(), self.size());
        let found = match result.0 {
            Ok(found) => found.get(),
            Err(Errno::NxIo) if pos >= size => return Ok(()),
            Err(Errno::NxIo) if data => size,
            Err(errno) => return Err(format!("the seek failed with {errno}")),
        };
        if pos >= size || found < pos || found > size {
            return Err(format!("the seek from {pos} gave {found} in a file of {size} bytes"));
        }
        let block = self.abilities.geometry.block_size().get();
        let zero = if data { pos..found } else { found..(found / block * block + block).min(size) };
        let zero = zero.start as usize..(zero.end as usize).max(zero.start as usize);
        let zeroes = vec![0; zero.len()];
        let look = self.model.durable(zero.start, &zeroes);
        look.map_err(|at| self.differs("a place that the seek took for a hole", at, 0))
    }
}

/// Whether an operation reads or writes past the cache.
pub(super) const fn is_direct(action: &Action) -> bool {
    matches!(
        action,
        Action::Pread { flags: ReadFlags { direct: true, .. }, .. }
            | Action::Pwrite { flags: WriteFlags { direct: true, .. }, .. }
    )
}

pub(super) fn exact(result: OpResult, want: Result<u64, Errno>) -> Checked {
    if result.0.map(Bytes::get) == want {
        return Ok(());
    }
    Err(format!("it gave {result}, expected {}", OpResult(want.map(Bytes::new))))
}

pub(super) fn may_fail(fault: Permits, result: OpResult, want: Result<u64, Errno>) -> Checked {
    match result.0 {
        Err(errno) if fault.allows(errno) => Ok(()),
        _ => exact(result, want),
    }
}
