//! What a simulated device does wrong, when somebody asks it to.

use crate::block::bio::{Bio, BioOp};
use crate::errno::Errno;
use crate::units::{Bytes, DevAddr};

/// What the device is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceOp {
    /// A bio of this direction.
    Bio(BioOp),
    /// Any bio.
    AnyBio,
    /// A flush of its cache.
    Flush,
}

/// What it does instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misdeed {
    /// It fails; of a bio that writes, this many bytes from its start reach the medium all the same
    /// (a torn write).
    Fails(Errno, Bytes),
    /// It fails inside submission, and nothing reaches the medium.
    Refuses(Errno),
    /// It ends only when so many others have ended, or nothing else is in flight.
    Waits(u32),
    /// It says that it is done, and has done nothing.
    Lies,
    /// It fails, and so does everything from then on.
    Dies,
}

/// A fault of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceFault {
    /// Of what.
    pub op: DeviceOp,
    /// Only bios that touch these bytes of the device, end excluded.
    pub place: Option<(DevAddr, DevAddr)>,
    /// How many such pass before.
    pub after: u32,
    /// How many then fail; none = all.
    pub times: Option<u32>,
    /// What happens.
    pub what: Misdeed,
}

impl DeviceFault {
    /// Bios of one direction fail with EIO: so many pass before, so many fail.
    pub const fn eio(op: BioOp, after: u32, times: u32) -> Self {
        let what = Misdeed::Fails(Errno::Io, Bytes::ZERO);
        Self { op: DeviceOp::Bio(op), place: None, after, times: Some(times), what }
    }
    /// Whether it fires for a bio, which then counts.
    pub(super) fn takes(&mut self, bio: &Bio) -> bool {
        let here = self.place.is_none_or(|(start, end)| bio.addr < end && start < bio.end());
        let meant = self.op == DeviceOp::AnyBio || self.op == DeviceOp::Bio(bio.head.op);
        meant && here && self.counts()
    }
    /// Whether it fires for a flush, which then counts.
    pub(super) fn takes_flush(&mut self) -> bool {
        self.op == DeviceOp::Flush && self.counts()
    }
    const fn counts(&mut self) -> bool {
        if self.after > 0 {
            self.after -= 1;
            return false;
        }
        match &mut self.times {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        }
    }
}
