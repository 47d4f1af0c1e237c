//! Amounts that people ask for: of a state, or of what each folio adds to it.

use super::model::{FolioState, Model};
use crate::block::bio::BioState;
use crate::block::request::RequestState;
use crate::cache::folio::FolioFlags;
use crate::counters::Counter;
use crate::units::FileId;

/// An amount: bytes, a number of things, or a running total.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Amount {
    /// Bytes that the kernel of the run would call dirty.
    Dirty,
    /// Bytes of folios in the cache.
    Cached,
    /// Bytes of folios under writeback.
    Writeback,
    /// Folios in the cache.
    Folios,
    /// Bios on their way.
    Bios,
    /// Requests that have not ended.
    Requests,
    /// `i_size` of a file.
    Size(FileId),
    /// Its recorded size.
    DiskSize(FileId),
    /// A running total.
    Counter(Counter),
}

impl Amount {
    /// Those that have a fixed name.
    pub(crate) const NAMED: [(&'static str, Self); 8] = [
        ("dirty", Self::Dirty),
        ("cached", Self::Cached),
        ("writeback", Self::Writeback),
        ("folios", Self::Folios),
        ("bios", Self::Bios),
        ("requests", Self::Requests),
        ("i_size", Self::Size(FileId::new(0))),
        ("disk_size", Self::DiskSize(FileId::new(0))),
    ];

    /// What a folio adds to it; none where it is no sum over folios.
    pub(crate) fn of_folio(self, model: &Model, folio: &FolioState) -> Option<u64> {
        let geometry = model.geometry();
        let whole = geometry.folio_size(folio.place().order).get();
        match self {
            Self::Cached => Some(whole),
            Self::Folios => Some(1),
            Self::Writeback => {
                Some(if folio.flags().has(FolioFlags::WRITEBACK) { whole } else { 0 })
            }
            Self::Dirty => {
                let dirty = u64::from(folio.dirty_blocks());
                Some(dirty * whole / u64::from(folio.blocks()))
            }
            Self::Bios | Self::Requests | Self::Size(_) | Self::DiskSize(_) | Self::Counter(_) => {
                None
            }
        }
    }
    /// Whether it is a sum over folios.
    pub(crate) const fn is_sum(self) -> bool {
        matches!(self, Self::Dirty | Self::Cached | Self::Writeback | Self::Folios)
    }
    /// The amount in this state, where it is no sum over folios.
    pub(crate) fn of(self, model: &Model) -> u64 {
        let in_flight = |state| state == BioState::InFlight;
        let file = |id| model.file(id);
        match self {
            Self::Bios => model.bios().filter(|(_, bio)| in_flight(bio.state())).count() as u64,
            Self::Requests => {
                model.requests().filter(|(_, one)| one.state() != RequestState::Done).count() as u64
            }
            Self::Size(id) => file(id).map_or(0, |file| file.size().get()),
            Self::DiskSize(id) => file(id).map_or(0, |file| file.disk_size().get()),
            Self::Counter(counter) => model.counters().get(counter),
            Self::Dirty | Self::Cached | Self::Writeback | Self::Folios => 0,
        }
    }
}
