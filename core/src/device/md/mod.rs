//! Arrays of disks (`drivers/md`): where a sector lies, what a write costs, what is left after a
//! member is lost.
//!
//! Nothing here does I/O: an array takes bios and gives I/Os of its members, whose ends the host
//! reports. Sectors are 512 bytes; a member's sectors are counted from the start of its data.

pub mod disks;
pub mod field;
pub mod limits;
mod log;
pub mod mirrors;
mod offline;
pub mod parity;
pub mod plain;
pub mod rebuild;
pub mod run;
pub mod stripes;
pub mod table;
pub mod zones;

use crate::units::MemberId;

/// Some of the members of an array, of the first 64.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Members(u64);

impl Members {
    /// None.
    pub const NONE: Self = Self(0);
    /// With one more.
    #[must_use]
    pub const fn with(self, member: MemberId) -> Self {
        Self(self.0 | 1 << (member.get() & 63))
    }
    /// Whether one is among them.
    pub const fn has(self, member: MemberId) -> bool {
        member.get() < 64 && self.0 >> member.get() & 1 == 1
    }
    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = MemberId> {
        (0..64).map(MemberId::new).filter(move |member| self.has(*member))
    }
    /// How many.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }
}
