//! One condition of a query, and how it is kept up to date along a trace.

use super::amount::{Amount, Sum};
use super::blocks::{Blocks, Seen};
use crate::block::bio::BioState;
use crate::trace::delta::Delta;
use crate::trace::io::BioRecord;
use crate::trace::model::Model;
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
    /// Such a bio has bytes on both sides of a multiple of this device address.
    BioCrosses(Bytes),
    /// A bio failed.
    BioFailed,
}

/// What is to hold, or not to hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Condition {
    pub(super) not: bool,
    pub(super) what: What,
}

/// A condition along a trace.
pub(super) struct Watch<'a> {
    condition: &'a Condition,
    kept: Kept,
}

/// What is kept from step to step.
enum Kept {
    Nothing,
    Sum(Sum),
    Seen(Seen),
}

impl<'a> Watch<'a> {
    pub(super) fn new(condition: &'a Condition, model: &Model) -> Self {
        let kept = match &condition.what {
            What::Amount(amount, _) => Sum::new(*amount, model).map_or(Kept::Nothing, Kept::Sum),
            What::Blocks(blocks) => Kept::Seen(Seen::new(blocks, model)),
            What::BioLen(_) | What::BioCrosses(_) | What::BioFailed => Kept::Nothing,
        };
        Self { condition, kept }
    }
    /// These changes are about to be made, or taken back.
    pub(super) fn before(&mut self, model: &Model, deltas: &[Delta]) {
        if let Kept::Sum(sum) = &mut self.kept {
            sum.before(model, deltas);
        }
    }
    /// They were.
    pub(super) fn after(&mut self, model: &Model, deltas: &[Delta]) {
        match (&mut self.kept, &self.condition.what) {
            (Kept::Sum(sum), _) => sum.after(model, deltas),
            (Kept::Seen(seen), What::Blocks(blocks)) => seen.after(blocks, model, deltas),
            _ => {}
        }
    }
    pub(super) fn holds(&self, model: &Model) -> bool {
        let any_bio = |fits: &dyn Fn(&BioRecord) -> bool| {
            let mut bios = model.bios().map(|(_, bio)| bio);
            bios.any(|bio| bio.state() != BioState::Done && fits(bio))
        };
        let holds = match (&self.condition.what, &self.kept) {
            (What::Blocks(_), Kept::Seen(seen)) => seen.holds(),
            (What::Blocks(_), _) => false,
            (What::Amount(_, compare), Kept::Sum(sum)) => compare.holds(sum.get()),
            (What::Amount(amount, compare), _) => compare.holds(amount.of(model)),
            (What::BioLen(compare), _) => any_bio(&|bio| compare.holds(bio.len().get())),
            (What::BioCrosses(every), _) => any_bio(&|bio| crosses(bio, *every)),
            (What::BioFailed, _) => any_bio(&|bio| bio.state() == BioState::Failed),
        };
        holds != self.condition.not
    }
}

fn crosses(bio: &BioRecord, every: Bytes) -> bool {
    let first = bio.addr().get();
    let Some(last) = bio.len().get().checked_sub(1) else { return false };
    first / every.get() != first.saturating_add(last) / every.get()
}
