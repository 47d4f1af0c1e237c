//! Rules left out on purpose, one at a time, so that a test sees which invariant notices.
//!
//! In debug builds only: in release [`World::mutant`] is always false and costs nothing.

use crate::engine::{Cx, Engine};
use crate::world::{Env, World};

/// A rule that is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// A read that failed takes nothing off what is pending.
    FailedReadStaysPending,
    /// A folio is dropped while it is written.
    DropsUnderWriteback,
    /// A folio is not uptodate though all its blocks are.
    ForgetsTheFolio,
    /// A folio is uptodate before the end of its read.
    UptodateDuringRead,
    /// A write marks no block dirty.
    DirtiesNoBlock,
    /// The blocks of a folio that was written stay dirty.
    LeavesBlocksDirty,
    /// What a write copied is not valid.
    CopyIsNotValid,
    /// A folio counts as pending before any of it is submitted.
    PendsBeforeSubmitting,
    /// A folio without block state is read to its middle only.
    ReadsHalfAFolio,
    /// A write that begins inside a block reserves from the next one on.
    ReservesFromTheNext,
    /// A write for which there is no space reserves nothing, and goes on.
    ReservesNothing,
    /// The file system answers for the block before the one asked for.
    AnswersForTheBlockBefore,
    /// The file system gives the mapping that it had before the last change.
    OldMapping,
    /// Zeroing goes on a block behind what it zeroed.
    ZeroSkipsABlock,
    /// Unsharing takes blocks that hold no data.
    UnsharesHoles,
    /// Bytes that live with the inode are not copied into a folio before it is written to.
    InlineIsNotFilled,
    /// A page is mapped before its folio is read.
    MapsBeforeReading,
    /// Zeroing goes through reservations behind EOF.
    ZeroesBehindEof,
    /// Writeback takes no lock of a folio.
    WritesUnlocked,
    /// The dirty mark goes after the folio has entered writeback.
    CleansLate,
    /// A folio that is written already is not waited for.
    WritesTwice,
    /// A folio that begins at EOF is written back.
    WritesAtEof,
    /// A folio of several blocks is mapped as if it had one.
    MapsAsOneBlock,
    /// A folio of several blocks gets no block state for its writeback.
    WritesWithoutState,
    /// What is to be written of a folio is not counted before it is mapped.
    CountsNothing,
    /// All that a mapping covers is written, not only what is dirty.
    WritesTheMapping,
    /// Writeback gives promises no place.
    WritesPromises,
    /// A reservation is given back without the lock of who adds folios.
    ReleasesUnlocked,
    /// A write that failed gives back from where it began, not from where it ended.
    ReleasesFromTheStart,
    /// A write that failed keeps its reservation.
    KeepsReservation,
    /// A bio joins a request that it does not follow.
    MergesApart,
    /// A bio joins a request that is full.
    MergesTooMuch,
    /// Writeback does not know of stripes.
    CrossesStripes,
    /// An array makes no parity of what it writes.
    MakesNoParity,
    /// An array makes parity anew always, whatever must be read for it.
    ReadsTheRow,
    /// The end of an ioend that failed changes the records as if it had not.
    RecordsWhatFailed,
    /// A direct write drops nothing of the cache.
    DropsNothing,
    /// A larger size is recorded before what was zeroed below it is written.
    RecordsUnwritten,
}

impl<E: Env> World<E> {
    /// Whether this rule is left out.
    pub(crate) fn mutant(&self, mutant: Mutant) -> bool {
        cfg!(debug_assertions) && self.mutant == Some(mutant)
    }
}

impl<E: Env> Cx<'_, E> {
    /// Whether this rule is left out.
    pub(crate) fn mutant(&self, mutant: Mutant) -> bool {
        cfg!(debug_assertions) && self.with(|world| world.mutant(mutant))
    }
}

impl<E: Env> Engine<E> {
    /// Leaves a rule out from now on; release builds leave none out.
    pub fn set_mutant(&self, mutant: Option<Mutant>) {
        self.world().mutant = mutant;
    }
}
