//! One condition of a query, and how it is kept up to date along a trace.

use super::blocks::Blocks;
use crate::block::bio::BioState;
use crate::trace::amount::Amount;
use crate::trace::array::ArrayShape;
use crate::trace::delta::Delta;
use crate::trace::io::BioRecord;
use crate::trace::model::{FolioState, Model};
use crate::trace::sum::Sum;
use crate::trace::timeline::Timeline;
use crate::units::Bytes;
use core::cmp::Ordering;

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Compare {
    /// Which orders fit.
    pub(super) fits: &'static [Ordering],
    /// Compared with what.
    pub(super) value: u64,
}

impl Compare {
    fn holds(self, amount: u64) -> bool {
        self.fits.contains(&amount.cmp(&self.value))
    }
}

/// What is to hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// Every one of these blocks is in such a state.
    Blocks(Blocks),
    /// So much of something.
    Amount(Amount, Compare),
    /// A bio that was not sent before, or is on its way, is so long.
    BioLen(Compare),
    /// Such a bio has bytes on both sides of a multiple of this device address; none: of a stripe
    /// of the array behind the device.
    BioCrosses(Option<Bytes>),
    /// A bio failed.
    BioFailed,
}

impl What {
    /// What a folio adds to the sum that is asked for.
    fn of_folio(&self, model: &Model, folio: &FolioState) -> u64 {
        match self {
            Self::Blocks(blocks) => blocks.count(model.geometry(), folio),
            Self::Amount(amount, _) => amount.of_folio(model, folio).unwrap_or(0),
            Self::BioLen(_) | Self::BioCrosses(_) | Self::BioFailed => 0,
        }
    }
}

/// What is to hold, or not to hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Condition {
    pub(super) not: bool,
    pub(super) what: What,
}

/// A condition along a trace.
#[derive(Debug)]
pub(super) struct Watch {
    condition: Condition,
    /// Of what it asks for, so much is there; none where that is quickly counted.
    sum: Option<Sum>,
}

impl Watch {
    pub(super) fn new(condition: &Condition, timeline: &Timeline, model: &Model) -> Self {
        let mut condition = condition.clone();
        if condition.what == What::BioCrosses(None) {
            // An array tells its shape when it is first used.
            let shape = timeline.model_at(usize::MAX).array().shape();
            condition.what = What::BioCrosses(shape.map(ArrayShape::data_of_stripe));
        }
        let summed = match &condition.what {
            What::Amount(amount, _) => amount.is_sum(),
            What::Blocks(_) => true,
            What::BioLen(_) | What::BioCrosses(_) | What::BioFailed => false,
        };
        let sum = summed.then(|| Sum::new(model, |folio| condition.what.of_folio(model, folio)));
        Self { condition, sum }
    }
    /// These changes are about to be made, or taken back.
    pub(super) fn before(&mut self, model: &Model, deltas: &[Delta]) {
        let what = &self.condition.what;
        if let Some(sum) = &mut self.sum {
            sum.before(model, deltas, |folio| what.of_folio(model, folio));
        }
    }
    /// They were.
    pub(super) fn after(&mut self, model: &Model) {
        let what = &self.condition.what;
        if let Some(sum) = &mut self.sum {
            sum.after(model, |folio| what.of_folio(model, folio));
        }
    }
    pub(super) fn holds(&self, model: &Model) -> bool {
        let any_bio = |fits: &dyn Fn(&BioRecord) -> bool| {
            let mut bios = model.bios().map(|(_, bio)| bio);
            bios.any(|bio| bio.state() != BioState::Done && fits(bio))
        };
        let sum = self.sum.as_ref().map(Sum::get);
        let holds = match &self.condition.what {
            What::Blocks(blocks) => sum == Some(blocks.len()),
            What::Amount(amount, compare) => compare.holds(sum.unwrap_or_else(|| amount.of(model))),
            What::BioLen(compare) => any_bio(&|bio| compare.holds(bio.len().get())),
            What::BioCrosses(every) => {
                every.is_some_and(|every| any_bio(&|bio| crosses(bio, every)))
            }
            What::BioFailed => any_bio(&|bio| bio.state() == BioState::Failed),
        };
        holds != self.condition.not
    }
}

fn crosses(bio: &BioRecord, every: Bytes) -> bool {
    let first = bio.addr().get();
    let Some(last) = bio.len().get().checked_sub(1) else { return false };
    first / every.get() != first.saturating_add(last) / every.get()
}
