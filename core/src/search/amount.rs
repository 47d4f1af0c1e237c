//! Amounts that a query can ask for.

use crate::block::bio::BioState;
use crate::block::request::RequestState;
use crate::cache::folio::FolioFlags;
use crate::counters::Counter;
use crate::trace::delta::{Delta, DeltaKind};
use crate::trace::model::{FolioState, Model};
use crate::units::{FileId, FolioId};

/// An amount: bytes, a number of things, or a running total.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Amount {
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
    pub(super) const NAMED: [(&'static str, Self); 8] = [
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
    fn of_folio(self, model: &Model, folio: &FolioState) -> Option<u64> {
        let geometry = model.geometry();
        let whole = geometry.folio_size(folio.place().order).get();
        match self {
            Self::Cached => Some(whole),
            Self::Folios => Some(1),
            Self::Writeback => {
                Some(if folio.flags().has(FolioFlags::WRITEBACK) { whole } else { 0 })
            }
            Self::Dirty => {
                let dirty = (0..folio.blocks()).filter(|at| folio.is_dirty(*at)).count() as u64;
                Some(dirty * whole / u64::from(folio.blocks()))
            }
            Self::Bios | Self::Requests | Self::Size(_) | Self::DiskSize(_) | Self::Counter(_) => {
                None
            }
        }
    }
    /// The amount in this state, where it is no sum over folios.
    pub(super) fn of(self, model: &Model) -> u64 {
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

/// A sum over all folios, kept up to date.
pub(super) struct Sum {
    amount: Amount,
    total: u64,
    touched: Vec<u32>,
}

impl Sum {
    /// None where the amount is no sum over folios.
    pub(super) fn new(amount: Amount, model: &Model) -> Option<Self> {
        if !matches!(amount, Amount::Dirty | Amount::Cached | Amount::Writeback | Amount::Folios) {
            return None;
        }
        let sum = model.folios().filter_map(|(_, folio)| amount.of_folio(model, folio)).sum();
        Some(Self { amount, total: sum, touched: Vec::new() })
    }
    pub(super) const fn get(&self) -> u64 {
        self.total
    }
    fn touched_sum(&self, model: &Model) -> u64 {
        let folios = self.touched.iter().filter_map(|id| model.folio(FolioId::new(*id)));
        folios.filter_map(|folio| self.amount.of_folio(model, folio)).sum()
    }
    pub(super) fn before(&mut self, model: &Model, deltas: &[Delta]) {
        self.touched.clear();
        self.touched.extend(deltas.iter().filter(|one| of_folio(one.kind)).map(|one| one.object));
        self.touched.sort_unstable();
        self.touched.dedup();
        self.total -= self.touched_sum(model);
    }
    pub(super) fn after(&mut self, model: &Model, _: &[Delta]) {
        self.total += self.touched_sum(model);
    }
}

/// Whether a change may change what a block of a folio is.
pub(super) const fn of_folio(kind: DeltaKind) -> bool {
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
