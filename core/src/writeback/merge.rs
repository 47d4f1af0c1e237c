//! Completed ioends that wait for a worker: sorted by file offset, neighbours become one
//! (`iomap_sort_ioends`, `iomap_ioend_try_merge`).

use crate::behaviour::{Behaviours, IoendMerge};
use crate::units::{Bytes, DevAddr, Pos};

/// An ioend whose I/O is complete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompletedIoend {
    /// First byte of the file.
    pub pos: Pos,
    /// Bytes.
    pub len: Bytes,
    /// Where it lies on the device.
    pub addr: DevAddr,
    /// Its blocks are unwritten.
    pub unwritten: bool,
    /// Its blocks were shared.
    pub shared: bool,
    /// It must not be joined to the one before.
    pub boundary: bool,
    /// What the file system attached (`io_private`).
    pub private: String,
}

impl CompletedIoend {
    fn takes(&self, next: &Self, behaviours: Behaviours) -> bool {
        let private = match behaviours.ioend_merge {
            IoendMerge::Flags => true,
            IoendMerge::Private => self.private == next.private,
        };
        private
            && !next.boundary
            && (self.unwritten, self.shared) == (next.unwritten, next.shared)
            && self.pos + self.len == next.pos
            && self.addr + self.len == next.addr
    }
}

/// Sorts and joins.
pub fn sort_and_merge(
    mut ioends: Vec<CompletedIoend>,
    behaviours: Behaviours,
) -> Vec<CompletedIoend> {
    ioends.sort_by_key(|ioend| ioend.pos);
    let mut out: Vec<CompletedIoend> = Vec::new();
    for next in ioends {
        match out.last_mut() {
            Some(last) if last.takes(&next, behaviours) => last.len += next.len,
            Some(_) | None => out.push(next),
        }
    }
    out
}
