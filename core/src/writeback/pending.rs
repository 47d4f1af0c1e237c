//! How `write_bytes_pending` of a folio with block state is counted while the folio is mapped:
//! three protocols. Whoever takes away the last bytes ends the folio's writeback. A folio of one
//! block has no count: the one completion ends it.

use crate::behaviour::WritePending;
use crate::check::mutant::Mutant;
use crate::units::{Bytes, FolioId};
use crate::world::{Env, World};

/// Keeps the count above zero while ranges are still added.
const BIAS: Bytes = Bytes::new(1);

impl<E: Env> World<E> {
    /// Before the first range of a folio is mapped.
    pub(super) fn start_pending(&mut self, id: FolioId) {
        let start = self.folio_pos(id);
        let pending = match self.behaviours().write_pending {
            WritePending::PerBlock => return,
            _ if self.mutant(Mutant::CountsNothing) => Bytes::ZERO,
            WritePending::Biased => BIAS,
            WritePending::FolioSize => self.folio_size(id),
        };
        let before = self.state(id).map(|state| state.write_pending);
        self.require(before == Some(Bytes::ZERO), 24, start);
        self.set_write_pending(id, pending);
    }
    /// A range was added to an ioend.
    pub(super) fn add_pending(&mut self, id: FolioId, len: Bytes) {
        let step = match self.behaviours().write_pending {
            WritePending::PerBlock => self.geometry().block_size(),
            WritePending::Biased => len,
            WritePending::FolioSize => return,
        };
        let mut left = len;
        while let Some(pending) = self.state(id).map(|state| state.write_pending)
            && !left.is_zero()
        {
            self.set_write_pending(id, pending + step.min(left));
            left = left.saturating_sub(step);
        }
    }
    /// Nothing more of a folio is added.
    pub(super) fn end_pending(&mut self, id: FolioId, submitted: Bytes) {
        let off = match self.behaviours().write_pending {
            _ if self.state(id).is_none() => Bytes::ZERO,
            WritePending::PerBlock => Bytes::ZERO,
            WritePending::Biased => BIAS,
            WritePending::FolioSize => self.folio_size(id).saturating_sub(submitted),
        };
        if !off.is_zero() {
            self.write_bytes_done(id, off);
        } else if submitted.is_zero() {
            self.end_writeback(id);
        }
    }
}
