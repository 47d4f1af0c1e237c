//! Faults that a host arms: named points at which the engine asks whether something is to fail.
//!
//! Without any, a point costs one look at an empty list. Faults of a device are the device's
//! ([`crate::device::fault`]), those of user memory are the source's
//! ([`crate::frames::UserSource`]).

use crate::errno::Errno;
use crate::iomap::MapType;
use crate::trace::rule::Rule;
use crate::units::{FileId, FileRange, Pos};
use crate::world::{Env, World};

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
    /// A bio is allocated for a read: a small one, of one vec, is had in the end.
    AllocBio,
    /// A write asks whether too much is dirty: it would have to sleep.
    Throttle,
    /// A direct write drops a folio from the cache.
    InvalidateFolio,
}

impl FaultPoint {
    /// Every point, in the order of its code.
    pub const ALL: [Self; 9] = [
        Self::ReserveBlock,
        Self::MapBlocks,
        Self::AllocIoend,
        Self::ConvertUnwritten,
        Self::AllocFolio,
        Self::AllocState,
        Self::AllocBio,
        Self::Throttle,
        Self::InvalidateFolio,
    ];
    /// The code in a step.
    pub const fn code(self) -> u64 {
        self as u64
    }
    /// What it is in a scenario file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReserveBlock => "reserve_block",
            Self::MapBlocks => "map_blocks",
            Self::AllocIoend => "alloc_ioend",
            Self::ConvertUnwritten => "convert_unwritten",
            Self::AllocFolio => "alloc_folio",
            Self::AllocState => "alloc_state",
            Self::AllocBio => "alloc_bio",
            Self::Throttle => "throttle",
            Self::InvalidateFolio => "invalidate_folio",
        }
    }
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
    /// Only for this file.
    pub file: Option<FileId>,
    /// Only where this byte of a file is concerned.
    pub at: Option<Pos>,
    /// What happens.
    pub effect: FaultEffect,
    /// How often all this passes before.
    pub after: u32,
    /// How often it still fires; none = always.
    pub times: Option<u32>,
    /// How often it fired.
    pub fired: u32,
}

impl Fault {
    /// A fault that fires once, wherever and whenever the point is reached first.
    pub const fn once(point: FaultPoint, effect: FaultEffect) -> Self {
        Self { point, file: None, at: None, effect, after: 0, times: Some(1), fired: 0 }
    }
    fn fires(&mut self, point: FaultPoint, file: FileId, range: FileRange) -> bool {
        let touches = |at: Pos| range.start() <= at && at < range.end();
        let here = self.point == point
            && self.times != Some(0)
            && self.file.is_none_or(|only| only == file)
            && self.at.is_none_or(touches);
        if here && self.after > 0 {
            self.after -= 1;
            return false;
        }
        if here {
            self.fired += 1;
            self.times = self.times.map(|left| left - 1);
        }
        here
    }
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
    fn fire(
        &mut self,
        point: FaultPoint,
        file: FileId,
        range: FileRange,
    ) -> Option<(Pos, FaultEffect)> {
        let fault =
            self.armed.iter_mut().find_map(|one| one.fires(point, file, range).then_some(*one))?;
        Some((fault.at.unwrap_or(range.start()), fault.effect))
    }
}

impl<E: Env> World<E> {
    /// The engine is at a point with a range of a file: what a fault does here, if one fires, and
    /// the byte it is about. It becomes a step, so that a trace tells why something failed.
    #[inline]
    pub(crate) fn fault(
        &mut self,
        point: FaultPoint,
        file: FileId,
        range: FileRange,
    ) -> Option<(Pos, FaultEffect)> {
        if self.faults.is_empty() {
            return None;
        }
        let fired = self.faults.fire(point, file, range);
        match fired {
            Some((at, FaultEffect::Fails(errno))) => {
                let args = [point.code(), at.get(), u64::from(errno.number()), 0];
                self.step(Rule::FaultFired, args);
            }
            Some((at, FaultEffect::Gives(kind))) => {
                self.step(Rule::FaultGives, [point.code(), at.get(), kind.code(), 0]);
            }
            None => {}
        }
        fired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId::new(0);
    const EFFECT: FaultEffect = FaultEffect::Fails(Errno::Io);

    fn range(start: u64, end: u64) -> FileRange {
        FileRange::between(Pos::new(start), Pos::new(end))
    }

    #[test]
    fn a_fault_fires_as_often_as_it_says_and_only_where_it_says() {
        let fault = Fault {
            at: Some(Pos::new(8)),
            file: Some(FILE),
            ..Fault::once(FaultPoint::MapBlocks, EFFECT)
        };
        let mut faults = Faults::default();
        assert_eq!(faults.fire(FaultPoint::MapBlocks, FILE, range(0, 16)), None);
        faults.replace(vec![fault]);
        assert_eq!(faults.fire(FaultPoint::AllocIoend, FILE, range(0, 16)), None);
        assert_eq!(faults.fire(FaultPoint::MapBlocks, FILE, range(0, 8)), None);
        assert_eq!(faults.fire(FaultPoint::MapBlocks, FileId::new(1), range(0, 9)), None);
        let fired = faults.fire(FaultPoint::MapBlocks, FILE, range(0, 9));
        assert_eq!(fired, Some((Pos::new(8), EFFECT)));
        assert_eq!(faults.fire(FaultPoint::MapBlocks, FILE, range(0, 9)), None);
        assert_eq!(faults.replace(Vec::new())[0].fired, 1);
    }

    #[test]
    fn the_third_time_is_the_third_that_would_fire() {
        let fault = Fault { after: 2, ..Fault::once(FaultPoint::AllocFolio, EFFECT) };
        let mut faults = Faults::default();
        faults.replace(vec![fault]);
        let fired: Vec<bool> = (0..4)
            .map(|_| faults.fire(FaultPoint::AllocFolio, FILE, range(0, 1)).is_some())
            .collect();
        assert_eq!(fired, [false, false, true, false]);
    }

    #[test]
    fn every_point_has_its_place_in_the_list() {
        for (code, point) in FaultPoint::ALL.into_iter().enumerate() {
            assert_eq!(point.code(), code as u64);
        }
    }
}
