//! Blocks of a file in a state.

use super::amount::of_folio;
use crate::cache::folio::FolioFlags;
use crate::geometry::Geometry;
use crate::trace::delta::{Delta, DeltaKind};
use crate::trace::model::{FolioState, Model, Place};
use crate::units::{FileId, FolioId};

/// What a block is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Want {
    /// In the cache, valid, and not changed.
    Clean,
    /// Changed in memory.
    Dirty,
    /// Valid in memory.
    Uptodate,
    /// In a folio of the cache.
    Cached,
    /// In a folio under writeback.
    Writeback,
    /// In a locked folio.
    Locked,
}

impl Want {
    /// The words.
    pub(super) const NAMED: [(&'static str, Self); 6] = [
        ("clean", Self::Clean),
        ("dirty", Self::Dirty),
        ("uptodate", Self::Uptodate),
        ("cached", Self::Cached),
        ("writeback", Self::Writeback),
        ("locked", Self::Locked),
    ];
    fn fits(self, folio: &FolioState, at: u32) -> bool {
        match self {
            Self::Clean => folio.is_uptodate(at) && !folio.is_dirty(at),
            Self::Dirty => folio.is_dirty(at),
            Self::Uptodate => folio.is_uptodate(at),
            Self::Cached => true,
            Self::Writeback => folio.flags().has(FolioFlags::WRITEBACK),
            Self::Locked => folio.flags().has(FolioFlags::LOCKED),
        }
    }
}

/// Blocks `first` to `last` of a file, both counted, each in a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Blocks {
    pub(super) file: FileId,
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) want: Want,
}

impl Blocks {
    /// Its blocks that lie in a folio here: the first and the end, counted in the file, and the
    /// first of the folio.
    fn within(&self, geometry: Geometry, place: Place) -> Option<(u64, u64, u64)> {
        let base = geometry.file_block_floor(geometry.page_pos(place.index)).get();
        let end = base + geometry.blocks_per_folio(place.order).get();
        let (first, end) = (self.first.max(base), (self.last + 1).min(end));
        (place.file == self.file && first < end).then_some((first, end, base))
    }
    fn count(&self, model: &Model, folio: &FolioState) -> u64 {
        let Some((first, end, base)) = self.within(model.geometry(), folio.place()) else {
            return 0;
        };
        (first..end).filter(|at| self.want.fits(folio, (at - base) as u32)).count() as u64
    }
}

/// How many of the blocks are as wanted, kept up to date.
pub(super) struct Seen {
    /// Folios that hold any of them.
    folios: Vec<u32>,
    missing: u64,
}

impl Seen {
    pub(super) fn new(blocks: &Blocks, model: &Model) -> Self {
        let held = |folio: &FolioState| blocks.within(model.geometry(), folio.place()).is_some();
        let folios = model.folios().filter(|(_, folio)| held(folio)).map(|(id, _)| id.get());
        let mut seen = Self { folios: folios.collect(), missing: 0 };
        seen.recount(blocks, model);
        seen
    }
    fn recount(&mut self, blocks: &Blocks, model: &Model) {
        let folios = self.folios.iter().filter_map(|id| model.folio(FolioId::new(*id)));
        let fit: u64 = folios.map(|folio| blocks.count(model, folio)).sum();
        self.missing = (blocks.last - blocks.first + 1).saturating_sub(fit);
    }
    pub(super) fn after(&mut self, blocks: &Blocks, model: &Model, deltas: &[Delta]) {
        let mut changed = false;
        for delta in deltas.iter().filter(|delta| of_folio(delta.kind)) {
            if delta.kind == DeltaKind::FolioPlace {
                self.folios.retain(|id| *id != delta.object);
                let folio = model.folio(FolioId::new(delta.object));
                let held =
                    |folio: &FolioState| blocks.within(model.geometry(), folio.place()).is_some();
                if folio.is_some_and(held) {
                    self.folios.push(delta.object);
                }
                changed = true;
            } else {
                changed |= self.folios.contains(&delta.object);
            }
        }
        if changed {
            self.recount(blocks, model);
        }
    }
    pub(super) const fn holds(&self) -> bool {
        self.missing == 0
    }
}
