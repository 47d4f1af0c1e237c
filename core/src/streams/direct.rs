//! What direct reads and writes must give: past the cache, whole sectors, and after an error a part
//! that nobody knows.

use super::expect::{Checked, Expectation, Outcome, Owed, Shapes, exact};
use super::faults::Permits;
use crate::engine::WriteFlags;
use crate::errno::Errno;
use crate::ops::OpResult;
use crate::scenario::fault::FaultKind;
use crate::units::FileRange;

impl Expectation {
    /// Whether a range is whole sectors.
    fn is_sectors(&self, range: FileRange) -> bool {
        let sector = self.abilities.sector.get();
        range.start().get().is_multiple_of(sector) && range.len().get().is_multiple_of(sector)
    }
    /// A hole is read whatever the alignment; the device gives whole sectors only
    /// (`iomap_dio_iter`).
    pub(super) fn pread_direct(
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
            Err(Errno::Again) if nowait => return Ok(()),
            Err(Errno::Inval) if !self.is_sectors(range) && want > 0 => return Ok(()),
            Err(errno) if fault.allows(errno) => return Ok(()),
            // What is only promised is nothing that direct I/O can use, even behind EOF.
            Err(Errno::Io) if self.meets_promises(range) => return Ok(()),
            result => {
                return Err(format!("the direct read gave {}, expected {want}", OpResult(result)));
            }
        }
        let look = self.model.look_at_device(start as usize, outcome.read);
        look.map_err(|at| self.differs("direct read", at, outcome.read[at - start as usize]))
    }
    /// Whether a range may hold what is promised though nothing is dirty: preallocation behind the
    /// block of EOF, or what something that failed left (a kernel was seen to give EIO for both).
    fn meets_promises(&self, range: FileRange) -> bool {
        let block = self.abilities.geometry.block_size().get();
        let behind = range.end().get() > self.size().next_multiple_of(block);
        self.abilities.shapes >= Shapes::Space && (behind || self.promises)
    }
    /// The part of a write that lies before the end of a device; none: it begins there, or behind
    /// (`blkdev_write_iter`).
    pub(super) fn inside(&self, range: FileRange) -> Option<FileRange> {
        let Some(end) = self.abilities.fixed else { return Some(range) };
        (range.start() < end).then(|| FileRange::between(range.start(), range.end().min(end)))
    }
    pub(super) fn pwrite_direct(
        &mut self,
        range: FileRange,
        flags: WriteFlags,
        fault: Permits,
        outcome: &Outcome<'_>,
    ) -> Checked {
        if range.is_empty() {
            return exact(outcome.result, Ok(0));
        }
        let Some(range) = self.inside(range) else {
            return exact(outcome.result, Err(Errno::NoSpc));
        };
        let (len, result) = (range.len(), outcome.result.0);
        if !self.is_sectors(range) {
            exact(outcome.result, Err(Errno::Inval))?;
            if self.abilities.sector_first {
                return Ok(());
            }
            return self.perhaps_written(range, 0, outcome);
        }
        self.expose_tail(range.start().get());
        let owed = self.owed != Owed::No;
        let shortens = flags.nowait || fault.shortens() || owed;
        match result {
            Ok(n) if n == len || n < len && shortens => {
                if flags.dsync && self.owed == Owed::Yes && !n.is_zero() {
                    let gave = OpResult(result);
                    return Err(format!("a durable write gave {gave}, expected EIO"));
                }
                if flags.dsync && !n.is_zero() {
                    self.owed = Owed::No;
                }
                let done = n.get() as usize;
                if done > 0 {
                    self.model.put(range.start().get() as usize, &outcome.written[..done]);
                }
                self.perhaps_written(range, done, outcome)
            }
            Err(Errno::Again) if flags.nowait => Ok(()),
            Err(errno)
                if fault.allows(errno)
                    || errno == Errno::Fault && fault.good.is_some_and(|good| good < len)
                    || errno == Errno::Io && flags.dsync && owed =>
            {
                if !self.abilities.hides_tail_of_direct && range.end().get() > self.size() {
                    self.blind = Some("what a direct write left behind EOF may show later");
                }
                if errno == Errno::Io && flags.dsync && owed {
                    // The error of this write, or the one that is owed.
                    self.owed = Owed::Maybe;
                }
                self.perhaps_written(range, 0, outcome)
            }
            result => {
                Err(format!("the direct write gave {}, expected {}", OpResult(result), len.get()))
            }
        }
    }
    /// A write that begins at `start` may move EOF away from its page, which is mapped still and
    /// may hold what was stored behind EOF.
    fn expose_tail(&mut self, start: u64) {
        let size = self.size();
        // Older kernels zero what is promised there in the cache, and the flush before the write
        // leaves out what lies behind EOF.
        self.promises |= start > size;
        if self.abilities.hides_tail_of_direct || start <= size {
            return;
        }
        if self.has_tail() {
            self.blind = Some("what was stored behind EOF may show behind a direct write");
        }
        let geometry = self.abilities.geometry;
        let from = size.next_multiple_of(geometry.block_size().get());
        let to = size.next_multiple_of(geometry.page_size().get());
        if from < to {
            let (first, last) = self.exposed.unwrap_or((from, to));
            self.exposed = Some((first.min(from), last.max(to)));
        }
    }
    /// Nobody says how far a write came behind the first `done` bytes.
    fn perhaps_written(&mut self, range: FileRange, done: usize, outcome: &Outcome<'_>) -> Checked {
        let rest = &outcome.written[done..];
        if rest.is_empty() {
            return Ok(());
        }
        let size = outcome.size.get();
        if size > self.size().max(range.end().get()) || size < self.size() {
            return Err(format!("a write that did not end well gave the file {size} bytes"));
        }
        self.model.resize(size as usize);
        self.model.perhaps_copied(range.start().get() as usize + done, rest);
        let blocks = self.abilities.geometry.block_range(range);
        let (start, end) = (blocks.start().get() as usize, blocks.end().get() as usize);
        self.model.unknown_on_device(start, end);
        Ok(())
    }
    /// Linking blocks of `source`, from `from` on, to a range of this file
    /// (`generic_remap_file_range_prep`). `same`: they are one file.
    pub(super) fn linked(
        &mut self,
        source: &Self,
        (from, range, same): (u64, FileRange, bool),
        faults: &[FaultKind],
        outcome: &Outcome<'_>,
    ) -> Checked {
        let fault = Permits::of(faults);
        let geometry = self.abilities.geometry;
        let (size, to) = (source.size(), range.start().get());
        if self.abilities.volume != source.abilities.volume {
            return exact(outcome.result, Err(Errno::XDev));
        }
        if self.abilities.fixed.is_some() {
            return exact(outcome.result, Err(Errno::Inval));
        }
        if !self.abilities.links {
            return exact(outcome.result, Err(Errno::OpNotSupp));
        }
        let whole = range.len().is_zero();
        if whole && from == size {
            return exact(outcome.result, Ok(0));
        }
        let len = if whole { size.saturating_sub(from) } else { range.len().get() };
        let block = geometry.block_size().get();
        let aligned = |at: u64| at.is_multiple_of(block);
        let (end, blocks) = (from + len, len.next_multiple_of(block));
        let ragged = !aligned(end) && (end != size || to + len < self.size());
        let overlaps = same && from < to + blocks && to < from + blocks;
        let refused = from >= size || !aligned(from) || !aligned(to);
        if refused || end > size || ragged || overlaps {
            return exact(outcome.result, Err(Errno::Inval));
        }
        let owed = self.owed != Owed::No || source.owed != Owed::No;
        match outcome.result.0 {
            Err(Errno::Io) if owed => return Ok(()),
            Err(errno) if fault.allows(errno) => return Ok(()),
            _ => exact(outcome.result, Ok(len))?,
        }
        self.promises |= self.size() < to + len;
        let part = (from as usize, len as usize);
        self.model.link(to as usize, &source.model, part, blocks as usize);
        Ok(())
    }
}
