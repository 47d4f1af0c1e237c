//! Rules left out on purpose, one at a time, so that a test sees which invariant notices.
//!
//! In debug builds only: in release [`World::mutant`] is always false and costs nothing.

use crate::engine::Engine;
use crate::world::{Env, World};

/// A rule that is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// A folio without block state is read to its middle only.
    ReadsHalfAFolio,
    /// The file system gives the mapping that it had before the last change.
    OldMapping,
    /// Zeroing goes on a block behind what it zeroed.
    ZeroSkipsABlock,
    /// Unsharing takes blocks that hold no data.
    UnsharesHoles,
    /// A page is mapped before its folio is read.
    MapsBeforeReading,
    /// Zeroing goes through reservations behind EOF.
    ZeroesBehindEof,
    /// A folio that begins at EOF is written back.
    WritesAtEof,
    /// A write that failed keeps its reservation.
    KeepsReservation,
    /// A bio joins a request that it does not follow.
    MergesApart,
    /// A bio joins a request that is full.
    MergesTooMuch,
}

impl<E: Env> World<E> {
    /// Whether this rule is left out.
    pub(crate) fn mutant(&self, mutant: Mutant) -> bool {
        cfg!(debug_assertions) && self.mutant == Some(mutant)
    }
}

impl<E: Env> Engine<E> {
    /// Leaves a rule out from now on; release builds leave none out.
    pub fn set_mutant(&self, mutant: Option<Mutant>) {
        self.world().mutant = mutant;
    }
}
