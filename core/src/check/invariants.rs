//! The numbered invariants that this engine checks, with the words that people see.
//!
//! Numbers are those of ARCHITECTURE.md. Most are checked where the code relies on them
//! (`World::require`); [`World::broken_invariants`] looks at the whole state between operations.

use crate::behaviour::{ClearRounding, ReadPending, WritePending};
use crate::cache::folio::FolioFlags;
use crate::units::{FolioId, Pos};
use crate::world::{Env, World};

/// I22b.
pub const END_BEHIND_START: u8 = 122;
/// B1.
pub const REQUEST_COVERS: u8 = 201;
/// B2.
pub const REQUEST_FITS: u8 = 202;

/// Number and meaning of every invariant that is checked.
pub const INVARIANTS: &[(u8, &str)] = &[
    (1, "block state is freed only when no read is pending"),
    (2, "block state is freed only when no write is pending"),
    (3, "when block state is freed, all its blocks are uptodate exactly if the folio is"),
    (4, "while a read is pending nobody else makes the folio uptodate"),
    (5, "a dirty folio with block state has a dirty block, a clean one none"),
    (6, "a dirty block is uptodate"),
    (7, "a folio's read starts with nothing pending"),
    (8, "a folio whose read submitted nothing ends with nothing pending"),
    (9, "without block state a folio is read as a whole, or up to EOF"),
    (10, "a mapping begins at or before the position it was asked for"),
    (11, "a mapping is not empty"),
    (12, "a mapping reaches beyond the position it was asked for"),
    (13, "a mapping is true when the file system gives it"),
    (14, "a mapping is used no further than it reaches"),
    (16, "unsharing meets no block without data"),
    (17, "a folio is uptodate when bytes that live with the inode are written through it"),
    (18, "a folio is uptodate when a page of it becomes writable"),
    (19, "zeroing what is only promised meets no folio that begins behind EOF"),
    (20, "a folio is locked while its writeback is set up"),
    (21, "a folio is clean while its writeback is set up"),
    (22, "a folio does not enter writeback twice"),
    (END_BEHIND_START, "a folio that is written has bytes inside EOF"),
    (23, "without block state a mapping covers the whole dirty length"),
    (24, "a folio enters writeback with no write pending"),
    (25, "a completion takes away no more than is pending"),
    (26, "each mapping step of writeback makes progress, within the range"),
    (27, "writeback meets mapped blocks, unwritten blocks or holes only"),
    (33, "a write that failed leaves no reservation without dirty cache"),
    (34, "a folio is locked as long as its read goes on"),
    (35, "the read of a folio ends once"),
    (REQUEST_COVERS, "the bios of a request follow each other and fill it"),
    (REQUEST_FITS, "a request is no longer than the device takes"),
];

/// The name of an invariant, such as `I5`.
pub fn name(number: u8) -> String {
    match number {
        END_BEHIND_START => "I22b".to_owned(),
        REQUEST_COVERS.. => format!("B{}", number - REQUEST_COVERS + 1),
        _ => format!("I{number}"),
    }
}

/// The words of an invariant.
pub fn words(number: u8) -> &'static str {
    INVARIANTS.iter().find(|(n, _)| *n == number).map_or("unknown invariant", |(_, words)| words)
}

impl<E: Env> World<E> {
    /// Invariants that do not hold now, with where. For moments when no operation runs.
    pub fn broken_invariants(&self) -> Vec<(u8, Pos)> {
        let mut broken = Vec::new();
        for (row, folio) in self.folios.iter() {
            let id = FolioId::new(row);
            let pos = self.folio_pos(id);
            let mut check = |number: u8, holds: bool| {
                if !holds {
                    broken.push((number, pos));
                }
            };
            let dirty = folio.flags.has(FolioFlags::DIRTY);
            let uptodate = folio.flags.has(FolioFlags::UPTODATE);
            let Some(state) = self.state(id) else {
                check(6, !dirty || uptodate);
                continue;
            };
            let buffers = state.ring.is_some();
            // Buffers and folio differ after a write error, and behind EOF.
            if !buffers && state.read_pending.is_zero() {
                check(3, state.uptodate.all() == uptodate);
            } else if !buffers && self.behaviours().read_pending == ReadPending::FolioSize {
                check(4, !uptodate);
            }
            if buffers || self.tracks_blocks() {
                // Before 6.9 a folio that could not be mapped keeps its bits; and where a cut
                // clears bits it may have cleared the last ones.
                let all = self.behaviours();
                let unmapped = !dirty && all.write_pending == WritePending::PerBlock;
                let cut = dirty && all.clear_rounding == ClearRounding::Inward;
                let skipped = !dirty && state.skipped;
                check(5, dirty == state.dirty.any() || skipped || unmapped || cut);
            }
            let blocks = state.uptodate.len();
            let valid = (0..blocks).all(|at| !state.dirty.get(at) || state.uptodate.get(at));
            check(6, valid || buffers && uptodate);
            let writing = folio.flags.has(FolioFlags::WRITEBACK);
            check(25, writing || state.write_pending.is_zero());
        }
        broken
    }
}
