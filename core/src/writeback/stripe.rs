//! Where writeback ends its bios for a device of which parts of a stripe are expensive (proposed in
//! 2025; no kernel does it here).

use crate::behaviour::StripeAlignment;
use crate::check::invariants::INSIDE_A_STRIPE;
use crate::check::mutant::Mutant;
use crate::iomap::Iomap;
use crate::trace::rule::Rule;
use crate::units::{Bytes, DevAddr, FileRange, Pos};
use crate::world::{Env, World};

/// The boundaries that ioends must not cross.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stripe {
    /// Bytes of a stripe.
    len: Bytes,
    /// Address 0 of the file system lies this far behind a boundary that is looked at.
    shift: Bytes,
    /// What is left of a piece takes its bytes from where the piece began.
    pub(super) stale: bool,
}

impl Stripe {
    /// Whether a boundary lies at an address.
    pub(super) fn at_boundary(&self, addr: DevAddr) -> bool {
        self.room(addr) == self.len
    }
    /// Bytes up to the next boundary behind an address.
    fn room(&self, addr: DevAddr) -> Bytes {
        Bytes::new(self.len.get() - (addr + self.shift).get() % self.len.get())
    }
    /// The start of a piece that ends at a boundary at the latest.
    pub(super) fn clip(&self, piece: FileRange, addr: DevAddr) -> FileRange {
        FileRange::between(piece.start(), (piece.start() + self.room(addr)).min(piece.end()))
    }
}

impl<E: Env> World<E> {
    /// The stripes that this kernel's writeback keeps to. Not where a boundary could lie inside of
    /// a block: a folio of one block knows of one I/O only.
    pub(super) fn writeback_stripe(&self) -> Option<Stripe> {
        if self.mutant(Mutant::CrossesStripes) {
            return None;
        }
        let (shift, stale) = match self.behaviours().stripe_alignment {
            StripeAlignment::None | StripeAlignment::BlockSplit => return None,
            StripeAlignment::Iomap => (Bytes::ZERO, false),
            StripeAlignment::IomapDevice => (self.config.partition, false),
            StripeAlignment::IomapStaleOffset => (Bytes::ZERO, true),
        };
        let len = self.config.queue?.stripe()?;
        let block = self.geometry().block_size().get();
        let whole = len.get().is_multiple_of(block) && shift.get().is_multiple_of(block);
        whole.then_some(Stripe { len, shift, stale })
    }
    /// Notes that a piece goes on in another bio.
    pub(super) fn say_clipped(&mut self, whole: FileRange, clipped: FileRange, map: &Iomap) {
        if clipped != whole {
            let at = map.addr_of(clipped.end()).map_or(u64::MAX, DevAddr::get);
            let rest = whole.len() - clipped.len();
            let (start, len) = (clipped.start().get(), clipped.len().get());
            self.step(Rule::StripeClipped, [start, len, at, rest.get()]);
        }
    }
    /// Where the bytes of a piece are taken from: their own place, or where a bug looks.
    pub(super) fn bytes_from(
        &mut self,
        stripe: Option<Stripe>,
        first: Pos,
        piece: FileRange,
    ) -> Pos {
        let stale = stripe.is_some_and(|stripe| stripe.stale);
        let from = if stale { first } else { piece.start() };
        self.require(from == piece.start(), 37, piece.start());
        from
    }
    /// Aligned writeback crosses no stripe of the disk with a bio.
    pub(crate) fn require_in_stripe(&mut self, addr: DevAddr, len: Bytes, pos: Pos) {
        let aligned = matches!(
            self.behaviours().stripe_alignment,
            StripeAlignment::Iomap
                | StripeAlignment::IomapDevice
                | StripeAlignment::IomapStaleOffset
        );
        let stripe = self.config.queue.and_then(|limits| limits.stripe());
        let Some(stripe) = stripe.filter(|_| aligned && !len.is_zero()) else { return };
        let block = self.geometry().block_size().get();
        if stripe.get().is_multiple_of(block) {
            let first = (addr + self.config.partition).get();
            let last = first + len.get() - 1;
            self.require(first / stripe.get() == last / stripe.get(), INSIDE_A_STRIPE, pos);
        }
    }
}
