//! What writing a row may cost: reads and writes of its members by how much of it is written.
//!
//! Of d data blocks w are touched and k overwritten; p blocks are parity. Updating parity reads
//! w + p blocks, making it anew d - k, less what the cache has; w + p are written.

use super::Stripes;
use super::rows::Row;
use crate::check::mutant::Mutant;
use crate::units::Sector;

impl Stripes {
    /// Leaves a rule out from now on; release builds leave none out.
    pub(crate) const fn set_mutant(&mut self, mutant: Option<Mutant>) {
        self.mutant = mutant;
    }
    pub(super) fn mutant(&self, mutant: Mutant) -> bool {
        cfg!(debug_assertions) && self.mutant == Some(mutant)
    }
    /// Rows that cost more than they may, since this was asked last.
    pub fn take_dear(&mut self) -> Vec<Sector> {
        core::mem::take(&mut self.dear)
    }
    /// So many blocks of a row are read before its write; `anew`: parity must be made anew.
    /// With a failed member other rules hold.
    pub(super) fn price_reads(&mut self, row: &Row, (reads, anew): (u32, bool), failed: &[usize]) {
        let overwritten = row.blocks.iter().filter(|block| block.overwrite).count() as u32;
        let by_all = self.config.parity.data_members() - overwritten;
        let by_change = touched(row) + self.config.parity.level().parities();
        let most = if anew { by_all } else { by_all.min(by_change) };
        if failed.is_empty() && reads > most {
            self.dear.push(row.at);
        }
    }
    /// So many blocks of a row are to be written, of which so many were touched.
    pub(super) fn price_writes(&mut self, row: &Row, writes: u64) {
        if writes != u64::from(row.touched + self.config.parity.level().parities()) {
            self.dear.push(row.at);
        }
    }
}

/// Blocks that a write touches.
pub(super) fn touched(row: &Row) -> u32 {
    row.blocks.iter().filter(|block| !block.to_write.is_empty()).count() as u32
}
