//! Per-folio block state (`iomap_folio_state`): one uptodate and one dirty bit a block, and the two
//! counters of bytes whose I/O has not ended.
//!
//! Setting rounds outward to whole blocks in every kernel; clearing dirty bits rounds outward up to
//! 7.1. Two more bitmaps are ours: no kernel has them and no decision reads them. `asked` marks the
//! blocks that the application changed since they were last written, `waste` those that are being
//! written though nobody had changed them.

use crate::bits::Bits;
use crate::buffer::state::Ring;
use crate::units::Bytes;

/// Which bitmap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    /// Content is valid.
    Uptodate,
    /// Must be written.
    Dirty,
    /// Changed by the application since it was last written.
    Asked,
    /// In flight though nobody changed it.
    Waste,
}

/// Block state of one folio.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ifs {
    /// Blocks whose content is valid.
    pub uptodate: Bits,
    /// Blocks that must be written.
    pub dirty: Bits,
    /// Blocks that the application changed.
    pub asked: Bits,
    /// Blocks that are written though nobody changed them.
    pub waste: Bits,
    /// Bytes of the folio whose read has not ended.
    pub read_pending: Bytes,
    /// Bytes of the folio whose write has not ended.
    pub write_pending: Bytes,
    /// Writeback skipped the folio because it lay beyond EOF, and left the dirty bits. EOF may have
    /// moved past it since.
    pub skipped: bool,
    /// What more its buffers say, where the file keeps its blocks in buffers.
    pub ring: Option<Box<Ring>>,
}

impl Ifs {
    /// State of a folio of `blocks` blocks: what the folio knows as a whole becomes true of every
    /// block (follows `ifs_alloc`).
    pub fn new(blocks: u32, uptodate: bool, dirty: bool) -> Self {
        let all = |on: bool| if on { Bits::full(blocks) } else { Bits::new(blocks) };
        Self {
            uptodate: all(uptodate),
            dirty: all(dirty),
            asked: all(dirty),
            waste: Bits::new(blocks),
            read_pending: Bytes::ZERO,
            write_pending: Bytes::ZERO,
            skipped: false,
            ring: None,
        }
    }
    /// One bitmap.
    pub const fn half(&self, half: Half) -> &Bits {
        match half {
            Half::Uptodate => &self.uptodate,
            Half::Dirty => &self.dirty,
            Half::Asked => &self.asked,
            Half::Waste => &self.waste,
        }
    }
    /// One bitmap, to be changed.
    pub const fn half_mut(&mut self, half: Half) -> &mut Bits {
        match half {
            Half::Uptodate => &mut self.uptodate,
            Half::Dirty => &mut self.dirty,
            Half::Asked => &mut self.asked,
            Half::Waste => &mut self.waste,
        }
    }
}
