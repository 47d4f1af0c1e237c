//! Blocks of a file in a state.

use crate::cache::folio::FolioFlags;
use crate::geometry::Geometry;
use crate::trace::model::{FolioState, Place};
use crate::units::FileId;

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
    /// How many of them a folio has as wanted.
    pub(super) fn count(&self, geometry: Geometry, folio: &FolioState) -> u64 {
        let Some((first, end, base)) = self.within(geometry, folio.place()) else {
            return 0;
        };
        (first..end).filter(|at| self.want.fits(folio, (at - base) as u32)).count() as u64
    }
    /// How many there are.
    pub(super) const fn len(&self) -> u64 {
        self.last - self.first + 1
    }
}
