//! What changes of a file's size and space must give, and what they make of the bytes.

use super::expect::{Checked, Expectation, Outcome, Shapes, exact, may_fail};
use super::faults::Permits;
use crate::errno::Errno;
use crate::ops::fallocate::FallocMode;
use crate::units::{FileRange, Pos};

impl Expectation {
    pub(super) fn truncate(&mut self, new: Pos, fault: Permits, outcome: &Outcome<'_>) -> Checked {
        let refused = if self.abilities.shapes == Shapes::Fixed {
            Some(Errno::Inval)
        } else if new > self.abilities.geometry.max_file() {
            Some(Errno::FBig)
        } else {
            None
        };
        if let Some(errno) = refused {
            return exact(outcome.result, Err(errno));
        }
        may_fail(fault, outcome.result, Ok(0))?;
        let block = self.abilities.geometry.block_size().get();
        let edge = new.get().next_multiple_of(block);
        if outcome.result.0.is_err() && outcome.size.get() == self.size() {
            self.maybe_zero(new.get(), edge);
            return Ok(());
        }
        self.model.freed(edge as usize, usize::MAX);
        self.model.resize(new.get() as usize);
        Ok(())
    }
    /// The bytes of a range, as far as it lies in the file, are zero or what they were.
    fn maybe_zero(&mut self, start: u64, end: u64) {
        let end = end.min(self.size());
        self.model.maybe(
            start.min(end) as usize,
            core::iter::repeat_n(0, end.saturating_sub(start) as usize),
        );
    }
    pub(super) fn fallocate(
        &mut self,
        mode: FallocMode,
        range: FileRange,
        fault: Permits,
        outcome: &Outcome<'_>,
    ) -> Checked {
        let geometry = self.abilities.geometry;
        let size = self.size();
        let (start, end) = (range.start().get(), range.end().get());
        let moves = matches!(mode, FallocMode::Collapse | FallocMode::Insert);
        let aligned = geometry.block_range(range) == range;
        let refused = match mode {
            _ if range.is_empty() => Some(Errno::Inval),
            _ if range.end() > geometry.max_file() => Some(Errno::FBig),
            _ if self.abilities.shapes < Shapes::Space => Some(Errno::OpNotSupp),
            FallocMode::Unshare if self.abilities.shapes < Shapes::All => Some(Errno::OpNotSupp),
            _ if moves && !aligned => Some(Errno::Inval),
            FallocMode::Collapse if end >= size => Some(Errno::Inval),
            FallocMode::Insert if start >= size => Some(Errno::Inval),
            FallocMode::Insert if size + range.len().get() > geometry.max_file().get() => {
                Some(Errno::FBig)
            }
            FallocMode::Allocate
            | FallocMode::AllocateKeepSize
            | FallocMode::Punch
            | FallocMode::Zero
            | FallocMode::ZeroKeepSize
            | FallocMode::Collapse
            | FallocMode::Insert
            | FallocMode::Unshare => None,
        };
        if let Some(errno) = refused {
            return exact(outcome.result, Err(errno));
        }
        may_fail(fault, outcome.result, Ok(0))?;
        let zeroes =
            matches!(mode, FallocMode::Punch | FallocMode::Zero | FallocMode::ZeroKeepSize);
        let grows = matches!(mode, FallocMode::Allocate | FallocMode::Zero | FallocMode::Unshare);
        if outcome.result.0.is_err() {
            self.half_done(mode, range, outcome.size.get());
            if self.abilities.forgets && zeroes {
                self.blind = Some("zeros of a hole that failed may be in buffers only");
            }
            return Ok(());
        }
        if zeroes {
            let end = end.min(size);
            self.model.fill(start.min(end) as usize, end as usize, 0);
            let (start, end) = self.whole_blocks(range);
            self.model.freed(start, end);
        }
        if grows && end > size {
            self.model.resize(end as usize);
        }
        match mode {
            FallocMode::Collapse => {
                self.model.remove(start as usize, end as usize);
                // It writes the new end of the file after it moved the bytes.
                if fault.write_error {
                    self.model.unknown(start as usize);
                }
            }
            FallocMode::Insert => self.model.insert(start as usize, (end - start) as usize),
            FallocMode::Allocate
            | FallocMode::AllocateKeepSize
            | FallocMode::Punch
            | FallocMode::Zero
            | FallocMode::ZeroKeepSize
            | FallocMode::Unshare => {}
        }
        Ok(())
    }
    /// The bytes of the blocks that lie in a range.
    fn whole_blocks(&self, range: FileRange) -> (usize, usize) {
        let geometry = self.abilities.geometry;
        let start = geometry.round_up_block(range.start()).get() as usize;
        (start, (geometry.round_down_block(range.end()).get() as usize).max(start))
    }
    /// A change of space that failed may have been done in part.
    fn half_done(&mut self, mode: FallocMode, range: FileRange, now: u64) {
        let (size, start, end) = (self.size(), range.start().get(), range.end().get());
        match mode {
            FallocMode::Punch | FallocMode::Zero | FallocMode::ZeroKeepSize => {
                self.maybe_zero(start, end);
                // Its whole blocks are holes by now, or not.
                let (start, end) = self.whole_blocks(range);
                self.model.unknown_on_device(start, end);
            }
            FallocMode::Collapse => {
                // What lies behind may have moved, and the file still be as long as before.
                self.model.unknown(start as usize);
            }
            FallocMode::Allocate
            | FallocMode::AllocateKeepSize
            | FallocMode::Insert
            | FallocMode::Unshare => {}
        }
        let grown = match mode {
            FallocMode::Allocate | FallocMode::Zero | FallocMode::Unshare => size.max(end),
            FallocMode::Insert => size + range.len().get(),
            FallocMode::AllocateKeepSize
            | FallocMode::Punch
            | FallocMode::ZeroKeepSize
            | FallocMode::Collapse => size,
        };
        if now == grown {
            self.model.resize(grown as usize);
        }
    }
}
