//! The limits of an array's queue: its own wishes, stacked on those of its members.

use super::mirrors::Copies;
use super::parity::Parity;
use crate::block::limits::{LimitRules, QueueLimits, Stacked};
use crate::units::{Bytes, SECTOR_SIZE, Sectors};

/// Most bytes of a bio of RAID4/5/6 whose stripe is no longer: 256 rows.
const ROWS_OF_A_BIO: Bytes = Bytes::kib(1024);

/// What the limits of an array follow from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Chunks over so many members.
    Raid0 {
        /// Sectors of a chunk.
        chunk: Sectors,
        /// Members.
        members: u32,
    },
    /// Copies everywhere.
    Raid1,
    /// Copies of chunks.
    Raid10 {
        /// Sectors of a chunk.
        chunk: Sectors,
        /// Members.
        members: u32,
        /// How many, and where.
        copies: Copies,
    },
    /// Parity.
    Parity(Parity),
}

const fn bytes(sectors: Sectors) -> Bytes {
    Bytes::new(sectors.get() * SECTOR_SIZE)
}

/// The limits of an array whose members have those of `member` and hold data from `offset` on.
/// `cut`: the queue cuts bios at stripes.
pub fn of_array(
    kind: Kind,
    member: &QueueLimits,
    offset: Bytes,
    (rules, cut): (LimitRules, bool),
) -> Stacked {
    let free = QueueLimits::NONE;
    let own = match kind {
        Kind::Raid1 => free,
        Kind::Raid0 { chunk, members } => {
            let chunk = bytes(chunk);
            QueueLimits {
                bytes: chunk,
                hardware: chunk,
                io_min: chunk,
                io_opt: Bytes::new(chunk.get() * u64::from(members)),
                chunk: if rules.raid0_chunk { chunk } else { Bytes::ZERO },
                ..free
            }
        }
        Kind::Raid10 { chunk, members, copies } => {
            let chunk = bytes(chunk);
            let near = copies.near.max(1);
            let wide = if members.is_multiple_of(near) { members / near } else { members };
            QueueLimits {
                io_min: chunk,
                io_opt: Bytes::new(chunk.get() * u64::from(wide)),
                chunk: if rules.raid10_chunk { chunk } else { Bytes::ZERO },
                ..free
            }
        }
        Kind::Parity(parity) => {
            let stripe = parity.width();
            let most = if rules.stripe_fits { ROWS_OF_A_BIO.max(stripe) } else { ROWS_OF_A_BIO };
            QueueLimits {
                bytes: most,
                hardware: most,
                io_min: bytes(parity.chunk()),
                io_opt: stripe,
                chunk: if cut { stripe } else { Bytes::ZERO },
                partial_stripes_expensive: true,
                ..free
            }
        }
    };
    let mut stacked = Stacked::new(own).with(member, offset);
    if matches!(kind, Kind::Parity(_)) {
        // Rows copy the data, so that a member never sees a bio's memory.
        (stacked.limits.segments, stacked.limits.segment) =
            (u64::from(u16::MAX), Bytes::new(u32::MAX.into()));
    }
    stacked
}
