//! Faults that a host arms: named points at which the engine asks whether something is to fail.
//!
//! Without any, a point costs one look at an empty list. Faults of a device are the device's
//! ([`crate::device`]), those of user memory are the source's ([`crate::frames::UserSource`]).

use crate::errno::Errno;
use crate::iomap::MapType;
use crate::units::{FileRange, Pos};

/// Where the engine asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultPoint {
    /// A write reserves blocks: the reservation stops before the block.
    ReserveBlock,
    /// Writeback asks for a mapping.
    MapBlocks,
    /// Writeback makes an ioend.
    AllocIoend,
    /// The end of an ioend converts unwritten blocks.
    ConvertUnwritten,
    /// A folio is allocated; a smaller one may be tried next.
    AllocFolio,
    /// Block state is allocated for a write that may not wait; one that may gets it in the end.
    AllocState,
    /// A write asks whether too much is dirty: it would have to sleep.
    Throttle,
}

/// What a fault does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultEffect {
    /// The step fails.
    Fails(Errno),
    /// The file system gives a mapping of this type.
    Gives(MapType),
}

/// A fault that is armed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Where.
    pub point: FaultPoint,
    /// Only where this byte of a file is concerned.
    pub at: Option<Pos>,
    /// What happens.
    pub effect: FaultEffect,
    /// How often it still fires; none = always.
    pub times: Option<u32>,
    /// How often it fired.
    pub fired: u32,
}

/// The faults of a world.
#[derive(Clone, Default, Debug)]
pub struct Faults {
    armed: Vec<Fault>,
}

impl Faults {
    /// Arms these faults and gives back those that were armed, with how often they fired.
    pub fn replace(&mut self, faults: Vec<Fault>) -> Vec<Fault> {
        core::mem::replace(&mut self.armed, faults)
    }
    /// Whether none is armed.
    pub(crate) const fn is_empty(&self) -> bool {
        self.armed.is_empty()
    }
    /// Whether a fault gave a mapping of this type.
    pub(crate) fn gave(&self, kind: MapType) -> bool {
        let given = |fault: &Fault| fault.fired > 0 && fault.effect == FaultEffect::Gives(kind);
        self.armed.iter().any(given)
    }
    /// The fault that fires at a point for a range of a file, and the byte it is about.
    pub(crate) fn fire(
        &mut self,
        point: FaultPoint,
        range: FileRange,
    ) -> Option<(Pos, FaultEffect)> {
        let touches = |at: Pos| range.start() <= at && at < range.end();
        let fault = self.armed.iter_mut().find(|fault| {
            fault.point == point && fault.times != Some(0) && fault.at.is_none_or(touches)
        })?;
        fault.fired += 1;
        fault.times = fault.times.map(|left| left - 1);
        Some((fault.at.unwrap_or(range.start()), fault.effect))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_fires_as_often_as_it_says_and_only_where_it_says() {
        let effect = FaultEffect::Fails(Errno::Io);
        let at = Some(Pos::new(8));
        let fault = Fault { point: FaultPoint::MapBlocks, at, effect, times: Some(1), fired: 0 };
        let mut faults = Faults::default();
        let range = |start, end| FileRange::between(Pos::new(start), Pos::new(end));
        assert_eq!(faults.fire(FaultPoint::MapBlocks, range(0, 16)), None);
        faults.replace(vec![fault]);
        assert_eq!(faults.fire(FaultPoint::AllocIoend, range(0, 16)), None);
        assert_eq!(faults.fire(FaultPoint::MapBlocks, range(0, 8)), None);
        assert_eq!(faults.fire(FaultPoint::MapBlocks, range(0, 9)), Some((Pos::new(8), effect)));
        assert_eq!(faults.fire(FaultPoint::MapBlocks, range(0, 9)), None);
        assert_eq!(faults.replace(Vec::new())[0].fired, 1);
    }
}
