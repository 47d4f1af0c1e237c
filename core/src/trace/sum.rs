//! Sums over all folios of the cache, kept up to date: of the folios that a step changes what they
//! had is taken away, and what they have is added.

use super::delta::{Delta, DeltaKind};
use super::model::{FolioState, Model};
use crate::sort::sort;
use crate::units::FolioId;

/// A sum over all folios.
#[derive(Debug)]
pub(crate) struct Sum {
    total: u64,
    touched: Vec<u32>,
}

impl Sum {
    /// The sum in this state of what `of` says of each folio.
    pub(crate) fn new(model: &Model, of: impl Fn(&FolioState) -> u64) -> Self {
        let total = model.folios().map(|(_, folio)| of(folio)).sum();
        Self { total, touched: Vec::new() }
    }
    pub(crate) const fn get(&self) -> u64 {
        self.total
    }
    fn of_touched(&self, model: &Model, of: impl Fn(&FolioState) -> u64) -> u64 {
        let folios = self.touched.iter().filter_map(|id| model.folio(FolioId::new(*id)));
        folios.map(of).sum()
    }
    /// These changes are about to be made, or taken back.
    pub(crate) fn before(
        &mut self,
        model: &Model,
        deltas: &[Delta],
        of: impl Fn(&FolioState) -> u64,
    ) {
        self.touched.clear();
        for delta in deltas.iter().filter(|delta| changes_blocks(delta.kind)) {
            // What changes a folio twice mostly does so at once.
            if self.touched.last() != Some(&delta.object) {
                self.touched.push(delta.object);
            }
        }
        if self.touched.len() > 1 {
            sort(&mut self.touched);
            self.touched.dedup();
        }
        self.total -= self.of_touched(model, of);
    }
    /// They were.
    pub(crate) fn after(&mut self, model: &Model, of: impl Fn(&FolioState) -> u64) {
        self.total += self.of_touched(model, of);
    }
}

/// Whether a change may change what a block of a folio is.
const fn changes_blocks(kind: DeltaKind) -> bool {
    matches!(
        kind,
        DeltaKind::FolioPlace
            | DeltaKind::FolioFlags
            | DeltaKind::FolioUptodate
            | DeltaKind::FolioDirty
            | DeltaKind::FolioAsked
            | DeltaKind::FolioWaste
    )
}
