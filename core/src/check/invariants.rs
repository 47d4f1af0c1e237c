//! The numbered invariants that this engine checks, with the words that people see.
//!
//! Numbers are those of ARCHITECTURE.md. Most are checked where the code relies on them
//! (`World::require`); [`World::broken_invariants`] looks at the whole state between operations.

use crate::behaviour::{
    Behaviours, ClearRounding, DirtyTracking, InvalidateLock, MappingCheck, ReadPending,
    StripeAlignment, WritePending, ZeroFlush,
};
use crate::cache::folio::FolioFlags;
use crate::units::{FolioId, Pos};
use crate::world::{Env, World};

/// I22b.
pub const END_BEHIND_START: u8 = 122;
/// B1.
pub const REQUEST_COVERS: u8 = 201;
/// B2.
pub const REQUEST_FITS: u8 = 202;
/// B3.
pub const INSIDE_A_STRIPE: u8 = 203;
/// B4.
pub const PARITY_FITS: u8 = 204;
/// B5.
pub const ROW_IS_CHEAP: u8 = 205;
/// C1.
pub const ZERO_OR_WRITTEN: u8 = 211;

/// An invariant.
pub struct Invariant {
    /// Its number: that of its name, or one of the constants here.
    pub number: u8,
    /// What holds.
    pub words: &'static str,
    /// Since which kernel it holds, or where.
    pub since: &'static str,
    /// Whether it holds with these switches.
    pub holds_in: fn(&Behaviours) -> bool,
}

const fn new(
    number: u8,
    since: &'static str,
    holds_in: fn(&Behaviours) -> bool,
    words: &'static str,
) -> Invariant {
    Invariant { number, words, since, holds_in }
}

const fn always(_: &Behaviours) -> bool {
    true
}
/// 5.10.
fn counts_bytes(all: &Behaviours) -> bool {
    all.read_pending != ReadPending::Segments
}
/// 6.2.
fn checks_mappings(all: &Behaviours) -> bool {
    all.mapping_check == MappingCheck::Cookie
}
fn releases_under_lock(all: &Behaviours) -> bool {
    checks_mappings(all) && all.invalidate_lock != InvalidateLock::Off
}
/// 6.6.
fn tracks_blocks(all: &Behaviours) -> bool {
    all.dirty_tracking != DirtyTracking::PerFolio
}
/// 6.9.
fn counts_first(all: &Behaviours) -> bool {
    all.write_pending != WritePending::PerBlock
}
/// 6.12.
fn zeroing_flushes(all: &Behaviours) -> bool {
    all.zero_flush != ZeroFlush::Never
}
/// 6.19.
fn counts_folios(all: &Behaviours) -> bool {
    all.read_pending == ReadPending::FolioSize
}
fn aligns(all: &Behaviours) -> bool {
    !matches!(all.stripe_alignment, StripeAlignment::None | StripeAlignment::BlockSplit)
}

/// Every invariant that is checked, in the order of ARCHITECTURE.md.
#[rustfmt::skip]
pub const INVARIANTS: &[Invariant] = &[
    new(1, "5.10", counts_bytes, "block state is freed only when no read is pending"),
    new(2, "5.3", always, "block state is freed only when no write is pending"),
    new(3, "5.10", counts_bytes, "when block state is freed, all its blocks are uptodate exactly if the folio is"),
    new(4, "6.19", counts_folios, "while a read is pending nobody else makes the folio uptodate"),
    new(5, "6.6; the first half up to 7.1", tracks_blocks, "a dirty folio with block state has a dirty block, a clean one none"),
    new(6, "6.6", tracks_blocks, "a dirty block is uptodate"),
    new(7, "6.19", counts_folios, "a folio's read starts with nothing pending"),
    new(8, "6.19", counts_folios, "a folio whose read submitted nothing ends with nothing pending"),
    new(9, "6.19", counts_folios, "without block state a folio is read as a whole, or up to EOF"),
    new(10, "5.15", always, "a mapping begins at or before the position it was asked for"),
    new(11, "5.15", always, "a mapping is not empty"),
    new(12, "5.15", always, "a mapping reaches beyond the position it was asked for"),
    new(13, "6.2", checks_mappings, "a mapping is true when the file system gives it"),
    new(14, "all", always, "a mapping is used no further than it reaches"),
    new(16, "all", always, "unsharing meets no block without data"),
    new(17, "all", always, "a folio is uptodate when bytes that live with the inode are written through it"),
    new(18, "all", always, "a folio is uptodate when a page of it becomes writable"),
    new(19, "6.12", zeroing_flushes, "zeroing what is only promised meets no folio that begins behind EOF"),
    new(20, "all", always, "a folio is locked while its writeback is set up"),
    new(21, "all", always, "a folio is clean while its writeback is set up"),
    new(22, "all", always, "a folio does not enter writeback twice"),
    new(END_BEHIND_START, "all", always, "a folio that is written has bytes inside EOF"),
    new(23, "6.9", counts_first, "without block state a mapping covers the whole dirty length"),
    new(24, "6.9", counts_first, "a folio of several blocks enters writeback with block state and no write pending"),
    new(25, "all", always, "a completion takes away no more than is pending"),
    new(26, "6.17", always, "each mapping step of writeback makes progress, within the range"),
    new(27, "6.17", always, "writeback meets mapped blocks, unwritten blocks or holes only"),
    new(31, "6.2", releases_under_lock, "a write that failed gives its reservation back while nobody can add folios"),
    new(32, "6.2", checks_mappings, "what it gives back begins where it ended, and ends where its reservation does"),
    new(33, "6.2", checks_mappings, "a write that failed leaves no reservation without dirty cache"),
    new(34, "all", always, "a folio is locked as long as its read goes on"),
    new(35, "all", always, "the read of a folio ends once"),
    new(37, "all", always, "a piece of a bio holds the bytes of its own place in the file"),
    new(40, "all", always, "after a direct write that met no store, and waited for nobody to drop the cache, nothing of its range is cached"),
    new(41, "all", always, "when a direct write begins, nothing of its range is cached; where it waited for that, nothing is dirty but what was stored meanwhile"),
    new(42, "all", always, "while size or extents are changed by another, no direct I/O is in flight"),
    new(REQUEST_COVERS, "all", always, "the bios of a request follow each other and fill it"),
    new(REQUEST_FITS, "all", always, "a request is no longer than the device takes"),
    new(INSIDE_A_STRIPE, "proposal", aligns, "with aligned writeback no bio crosses a stripe of the disk"),
    new(PARITY_FITS, "all", always, "the parity of a row that was written is that of its data"),
    new(ROW_IS_CHEAP, "all", always, "writing a row takes the fewer transfers of two ways, as in the table of an array's rows"),
    new(ZERO_OR_WRITTEN, "all", always, "every byte below the recorded size is on the device, is zero there, or lies in a hole or in unwritten blocks"),
];

/// The name of an invariant, such as `I5`.
pub fn name(number: u8) -> String {
    match number {
        END_BEHIND_START => "I22b".to_owned(),
        ZERO_OR_WRITTEN => "C1".to_owned(),
        REQUEST_COVERS.. => format!("B{}", number - REQUEST_COVERS + 1),
        _ => format!("I{number}"),
    }
}

fn find(number: u8) -> Option<&'static Invariant> {
    INVARIANTS.iter().find(|one| one.number == number)
}

/// The words of an invariant.
pub fn words(number: u8) -> &'static str {
    find(number).map_or("unknown invariant", |one| one.words)
}

/// A broken invariant in words, with where.
pub fn sentence((number, pos): (u8, Pos)) -> String {
    format!("{} at {pos}: {}", name(number), words(number))
}

/// Whether an invariant holds in a kernel with these switches.
pub fn holds_in(number: u8, all: &Behaviours) -> bool {
    find(number).is_none_or(|one| (one.holds_in)(all))
}

impl<E: Env> World<E> {
    /// Invariants that do not hold now, with where. For moments when no operation runs.
    pub fn broken_invariants(&self) -> Vec<(u8, Pos)> {
        let mut broken = Vec::new();
        for (row, folio) in self.folios.iter() {
            let id = FolioId::new(row);
            let pos = self.folio_pos(id);
            let state = self.state(id);
            let buffers = state.is_some_and(|state| state.ring.is_some());
            let mut check = |number: u8, holds: bool| {
                // Of buffers the same holds in every kernel.
                if !holds && (buffers || holds_in(number, &self.behaviours())) {
                    broken.push((number, pos));
                }
            };
            let dirty = folio.flags.has(FolioFlags::DIRTY);
            let uptodate = folio.flags.has(FolioFlags::UPTODATE);
            let Some(state) = state else {
                check(6, !dirty || uptodate);
                continue;
            };
            // Buffers and folio differ after a write error, and behind EOF.
            if !buffers && state.read_pending.is_zero() {
                check(3, state.uptodate.all() == uptodate);
            } else if !buffers && self.behaviours().read_pending == ReadPending::FolioSize {
                check(4, !uptodate);
            }
            if buffers || self.tracks_blocks() {
                // Before 6.9 a folio that could not be mapped keeps its bits; and where a cut
                // clears bits, as it does in buffers, it may have cleared the last ones.
                let all = self.behaviours();
                let unmapped = !dirty && all.write_pending == WritePending::PerBlock;
                let cut = dirty && (buffers || all.clear_rounding == ClearRounding::Inward);
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
