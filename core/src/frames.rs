//! Memory of the page cache, and memory of the application.
//!
//! The engine knows page frames by number and never owns their bytes: the host does, through
//! [`FrameStore`]. Fresh frames read as zero.

use crate::errno::Errno;
use crate::units::{Bytes, Offset, Pages, Pfn};

/// The memory behind page frame numbers.
pub trait FrameStore {
    /// Makes `count` frames from `first` usable and zero. They were not in use.
    fn allocate(&mut self, first: Pfn, count: Pages) -> Result<(), Errno>;
    /// Gives frames back.
    fn release(&mut self, first: Pfn, count: Pages);
    /// `len` bytes from byte `offset`, counted from the start of frame `first`.
    fn bytes(&self, first: Pfn, offset: Offset, len: Bytes) -> &[u8];
    /// The same, to be changed.
    fn bytes_mut(&mut self, first: Pfn, offset: Offset, len: Bytes) -> &mut [u8];
}

/// Frames in one growing block of ordinary memory.
#[derive(Clone, Debug)]
pub struct HeapFrames {
    page: usize,
    memory: Vec<u8>,
}

impl HeapFrames {
    /// No frames yet, each of `page` bytes.
    pub fn new(page: Bytes) -> Self {
        Self { page: page.get() as usize, memory: Vec::new() }
    }
    fn span(&self, first: Pfn, offset: Offset, len: Bytes) -> core::ops::Range<usize> {
        let start = first.get() as usize * self.page + offset.get() as usize;
        start..start + len.get() as usize
    }
}

impl FrameStore for HeapFrames {
    fn allocate(&mut self, first: Pfn, count: Pages) -> Result<(), Errno> {
        let start = first.get() as usize * self.page;
        let end = start + count.get() as usize * self.page;
        let old = self.memory.len();
        if old < end {
            self.memory.resize(end, 0);
        }
        // What was added is zero already.
        if start < old {
            self.memory[start..end.min(old)].fill(0);
        }
        Ok(())
    }
    fn release(&mut self, _first: Pfn, _count: Pages) {}
    fn bytes(&self, first: Pfn, offset: Offset, len: Bytes) -> &[u8] {
        &self.memory[self.span(first, offset, len)]
    }
    fn bytes_mut(&mut self, first: Pfn, offset: Offset, len: Bytes) -> &mut [u8] {
        let span = self.span(first, offset, len);
        &mut self.memory[span]
    }
}

/// Memory of the application that a write copies from.
pub trait UserSource {
    /// Bytes of the buffer.
    fn len(&self) -> Bytes;
    /// Whether the buffer is empty.
    fn is_empty(&self) -> bool {
        self.len().is_zero()
    }
    /// Touches up to `len` bytes from `at` so that they are present; how many are
    /// (`fault_in_iov_iter_readable`). All of them, unless memory can be bad.
    fn fault_in(&mut self, at: Offset, len: Bytes) -> Bytes {
        let _ = at;
        len
    }
    /// Copies into `to` from `at`; how many bytes could be copied.
    fn copy_in(&mut self, at: Offset, to: &mut [u8]) -> Bytes;
}

impl UserSource for &[u8] {
    fn len(&self) -> Bytes {
        Bytes::new((**self).len() as u64)
    }
    fn copy_in(&mut self, at: Offset, to: &mut [u8]) -> Bytes {
        let at = at.get() as usize;
        to.copy_from_slice(&self[at..at + <[u8]>::len(to)]);
        Bytes::new(<[u8]>::len(to) as u64)
    }
}

/// Memory of the application that a read copies to.
pub trait UserDest {
    /// Bytes of the buffer.
    fn len(&self) -> Bytes;
    /// Whether the buffer is empty.
    fn is_empty(&self) -> bool {
        self.len().is_zero()
    }
    /// Copies `from` to `at`; how many bytes could be copied.
    fn copy_out(&mut self, at: Offset, from: &[u8]) -> Bytes;
}

impl UserDest for &mut [u8] {
    fn len(&self) -> Bytes {
        Bytes::new((**self).len() as u64)
    }
    fn copy_out(&mut self, at: Offset, from: &[u8]) -> Bytes {
        let at = at.get() as usize;
        self[at..at + <[u8]>::len(from)].copy_from_slice(from);
        Bytes::new(<[u8]>::len(from) as u64)
    }
}

/// A buffer whose bytes nobody looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Discard(pub Bytes);

impl UserDest for Discard {
    fn len(&self) -> Bytes {
        self.0
    }
    fn copy_out(&mut self, _at: Offset, from: &[u8]) -> Bytes {
        Bytes::new(<[u8]>::len(from) as u64)
    }
}

/// A buffer that holds one byte throughout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fill {
    /// The byte.
    pub byte: u8,
    /// How many.
    pub len: Bytes,
}

impl UserSource for Fill {
    fn len(&self) -> Bytes {
        self.len
    }
    fn copy_in(&mut self, _at: Offset, to: &mut [u8]) -> Bytes {
        to.fill(self.byte);
        Bytes::new(<[u8]>::len(to) as u64)
    }
}

/// Where the memory of the application goes bad, in spite of what fault-in says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserFault {
    /// Nothing can be copied from this byte on.
    pub copied: Bytes,
    /// So often fault-in that begins there or behind it succeeds all the same; none = always.
    pub spared: Option<u32>,
}

/// Memory that cannot be copied from some byte on.
#[derive(Clone, Debug)]
pub struct BadFrom<S> {
    /// The memory, as it would be without the faults.
    pub good: S,
    /// The faults.
    pub faults: Vec<UserFault>,
}

impl<S: UserSource> UserSource for BadFrom<S> {
    fn len(&self) -> Bytes {
        self.good.len()
    }
    fn fault_in(&mut self, at: Offset, len: Bytes) -> Bytes {
        let begun = at.since(Offset::ZERO);
        for fault in self.faults.iter_mut().filter(|fault| begun >= fault.copied) {
            if fault.spared == Some(0) {
                return Bytes::ZERO;
            }
            fault.spared = fault.spared.map(|left| left - 1);
        }
        self.good.fault_in(at, len)
    }
    fn copy_in(&mut self, at: Offset, to: &mut [u8]) -> Bytes {
        let left = |fault: &UserFault| fault.copied.saturating_sub(at.since(Offset::ZERO)).get();
        let limit = self.faults.iter().map(left).min().unwrap_or(u64::MAX);
        let len = limit.min(<[u8]>::len(to) as u64) as usize;
        self.good.copy_in(at, &mut to[..len])
    }
}

/// Memory that can be read up to a byte only: the rest was never mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadAfter<S> {
    /// The readable part.
    pub good: S,
    /// How long the buffer claims to be.
    pub len: Bytes,
}

impl<S: UserSource> UserSource for BadAfter<S> {
    fn len(&self) -> Bytes {
        self.len
    }
    fn fault_in(&mut self, at: Offset, len: Bytes) -> Bytes {
        let left = self.good.len().saturating_sub(at.since(Offset::ZERO));
        left.min(len)
    }
    fn copy_in(&mut self, at: Offset, to: &mut [u8]) -> Bytes {
        let n = self.fault_in(at, Bytes::new(<[u8]>::len(to) as u64));
        self.good.copy_in(at, &mut to[..n.get() as usize])
    }
}
