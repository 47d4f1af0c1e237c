//! The real target: a file behind `O_DIRECT` and `io_uring`, or, when asked for, an ordinary one.
//!
//! A [`Target`] takes bios, flushes and sizes, and gives completions back. It never waits while a
//! completion is there to be taken.

pub(crate) mod memory;
pub(crate) mod open;
pub(crate) mod plain;
pub(crate) mod uring;

#[cfg(test)]
mod tests;

use crate::error::Outcome;
use folioscope_core::block::bio::{Bio, BioOp};
use folioscope_core::errno::Errno;
use folioscope_core::units::{BioId, Bytes};
use memory::{Arena, Span};
use std::fs::File;

/// What a completion answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tag {
    /// A bio.
    Bio(BioId),
    /// A flush, by a number of the caller's.
    Flush(u64),
}

/// A finished I/O.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Done {
    /// Which.
    pub(crate) tag: Tag,
    /// How it ended.
    pub(crate) result: Result<(), Errno>,
}

/// A transfer that is wanted.
#[derive(Debug)]
struct Transfer {
    tag: Tag,
    op: BioOp,
    /// First byte of the file.
    at: u64,
    /// What is left of the memory.
    spans: Vec<Span>,
}

impl Transfer {
    fn new(arena: &Arena, bio: &Bio) -> Self {
        Self {
            tag: Tag::Bio(bio.id),
            op: bio.head.op,
            at: bio.addr.get(),
            spans: bio.vecs.iter().map(|vec| arena.span(vec)).collect(),
        }
    }
    fn left(&self) -> usize {
        self.spans.iter().map(|span| span.len()).sum()
    }
    /// Strikes the first `n` bytes off.
    fn advance(&mut self, mut n: usize) {
        self.at += n as u64;
        while n > 0 {
            let first = self.spans[0];
            if n < first.len() {
                self.spans[0] = first.behind(n);
                return;
            }
            n -= first.len();
            self.spans.remove(0);
        }
    }
}

/// A file that takes bios.
pub(crate) enum Target {
    /// Past the kernel's page cache.
    Direct(Box<uring::Direct>),
    /// Through it.
    Plain(plain::Plain),
}

impl Target {
    /// Starts a bio.
    pub(crate) fn submit(&mut self, arena: &mut Arena, bio: &Bio) {
        match self {
            Self::Direct(direct) => direct.submit(arena, bio),
            Self::Plain(plain) => plain.submit(arena, bio),
        }
    }
    /// Starts making what was completed durable.
    pub(crate) fn flush(&mut self, arena: &mut Arena, number: u64) {
        match self {
            Self::Direct(direct) => direct.flush(arena, number),
            Self::Plain(plain) => plain.flush(number),
        }
    }
    /// Takes completions; waits for one if `wait`, none is there and something is in flight.
    pub(crate) fn reap(
        &mut self,
        arena: &mut Arena,
        wait: bool,
        done: &mut Vec<Done>,
    ) -> Outcome<()> {
        match self {
            Self::Direct(direct) => direct.reap(arena, wait, done),
            Self::Plain(plain) => {
                plain.reap(done);
                Ok(())
            }
        }
    }
    /// I/Os that were started and not yet taken back.
    pub(crate) fn pending(&self) -> usize {
        match self {
            Self::Direct(direct) => direct.pending(),
            Self::Plain(plain) => plain.pending(),
        }
    }
    /// Sets the size of the file.
    pub(crate) fn set_size(&mut self, size: Bytes) -> Result<(), Errno> {
        self.file().set_len(size.get()).map_err(|error| errno(error.raw_os_error()))
    }
    /// The file.
    pub(crate) fn file(&self) -> &File {
        match self {
            Self::Direct(direct) => direct.file(),
            Self::Plain(plain) => plain.file(),
        }
    }
}

/// The engine's word for an error of the system; one that it has no word for is an I/O error.
fn errno(number: Option<i32>) -> Errno {
    let number = number.and_then(|number| u8::try_from(number).ok());
    number.and_then(Errno::from_number).unwrap_or(Errno::Io)
}
