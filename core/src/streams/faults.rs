//! Faults of a stream: which there are, and what each permits.

use super::expect::is_direct;
use crate::block::bio::BioOp;
use crate::device::fault::{DeviceFault, DeviceOp, Misdeed};
use crate::errno::Errno;
use crate::fault::{Fault, FaultEffect, FaultPoint};
use crate::frames::UserFault;
use crate::scenario::Action;
use crate::scenario::fault::FaultKind;
use crate::units::{Bytes, FileId, Pos};

/// What a generator lets fail during one operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Chosen {
    /// The memory of the application ends so many bytes after the start of the operation.
    BadMemory(Bytes),
    /// The block that holds this byte of the file cannot be reserved.
    NoSpace(Pos),
    /// No folio can be made that holds this byte of the file.
    NoMemory(Pos),
    /// A direct write cannot drop the folio that holds this byte of the file: it goes through the
    /// cache.
    StaysCached(Pos),
    /// So many bios pass, then one fails.
    DeviceError(BioOp, u32),
}

impl Chosen {
    /// As a fault of a scenario.
    pub(super) fn kind(self, file: FileId) -> FaultKind {
        let of_engine = |point, at, errno, times| {
            let effect = FaultEffect::Fails(errno);
            let (file, at) = (Some(file), Some(at));
            FaultKind::Engine(Fault { point, file, at, effect, after: 0, times, fired: 0 })
        };
        match self {
            Self::BadMemory(copied) => FaultKind::User(UserFault { copied, spared: Some(0) }),
            Self::NoSpace(at) => of_engine(FaultPoint::ReserveBlock, at, Errno::NoSpc, Some(1)),
            Self::NoMemory(at) => of_engine(FaultPoint::AllocFolio, at, Errno::NoMem, None),
            Self::StaysCached(at) => {
                of_engine(FaultPoint::InvalidateFolio, at, Errno::Busy, Some(1))
            }
            Self::DeviceError(op, after) => FaultKind::Device(DeviceFault::eio(op, after, 1)),
        }
    }
}

/// What may go wrong with an operation.
#[allow(clippy::struct_excessive_bools, reason = "each is a permission of its own")]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Permits {
    /// The memory of the application ends there.
    pub(super) good: Option<Bytes>,
    no_space: bool,
    no_memory: bool,
    read_error: bool,
    pub(super) write_error: bool,
    /// Something of which nobody here knows what it permits.
    pub(super) anything: bool,
}

impl Permits {
    /// What these faults permit.
    pub(super) fn of(faults: &[FaultKind]) -> Self {
        let mut all = Self::default();
        for fault in faults {
            match fault {
                FaultKind::User(UserFault { copied, spared: Some(0) }) => {
                    let good = all.good.map_or(*copied, |good| good.min(*copied));
                    all.good = Some(good);
                }
                FaultKind::Engine(Fault { point, effect: FaultEffect::Fails(errno), .. }) => {
                    match (point, errno) {
                        (FaultPoint::ReserveBlock, Errno::NoSpc) => all.no_space = true,
                        (FaultPoint::AllocFolio, Errno::NoMem) => all.no_memory = true,
                        (FaultPoint::InvalidateFolio, Errno::Busy) => {}
                        _ => all.anything = true,
                    }
                }
                FaultKind::Device(DeviceFault { op: DeviceOp::Bio(op), what, .. })
                    if *what == Misdeed::Fails(Errno::Io, Bytes::ZERO) =>
                {
                    all.read_error |= *op == BioOp::Read;
                    all.write_error |= *op == BioOp::Write;
                }
                FaultKind::User(_) | FaultKind::Engine(_) | FaultKind::Device(_) => {
                    all.anything = true;
                }
            }
        }
        all
    }
    /// Whether a writeback that an operation begins may fail: blocks in buffers may get their
    /// places then only.
    pub(super) fn stops_writeback(&self, action: &Action) -> bool {
        let reserves = !is_direct(action)
            && matches!(action, Action::Pwrite { .. } | Action::MmapStore { .. });
        self.write_error || self.no_space && !reserves
    }
    /// Whether an operation may do less than it was asked for.
    pub(super) const fn shortens(&self) -> bool {
        self.good.is_some() || self.no_space || self.no_memory || self.read_error
    }
    /// Whether an operation may fail so.
    pub(super) fn allows(&self, errno: Errno) -> bool {
        match errno {
            Errno::Fault => self.good == Some(Bytes::ZERO),
            Errno::NoSpc => self.no_space,
            Errno::NoMem => self.no_memory,
            Errno::Io => self.read_error || self.write_error,
            Errno::Again
            | Errno::Busy
            | Errno::FBig
            | Errno::Inval
            | Errno::NxIo
            | Errno::OpNotSupp
            | Errno::Perm
            | Errno::XDev => false,
        }
    }
}
