//! Limits of a request queue (`struct queue_limits`): what a driver says, what the kernel makes of
//! it, and how the limits of the parts of a stacked device become its own.
//!
//! Sizes are bytes here; the kernel counts some of them in sectors of 512 bytes.

use crate::units::{Bytes, SECTOR_SIZE};
use core::fmt;
use thiserror::Error;

/// Bytes of a sector.
pub const SECTOR: Bytes = Bytes::new(SECTOR_SIZE);
/// `max_hw_sectors` of a driver that says nothing.
const SAFE_MAX: Bytes = Bytes::new(255 * SECTOR_SIZE);
/// Least window of a read ahead (`VM_READAHEAD_PAGES`).
const LEAST_AHEAD: Bytes = Bytes::kib(128);
/// An optimal size above this is no device's: the largest stripe that anybody builds is far below.
const ABSURD: Bytes = Bytes::kib(1 << 20);

/// What differs between kernels in how limits are made.
#[allow(clippy::struct_excessive_bools, reason = "each is a change of its own")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LimitRules {
    /// Most bytes of a request where neither the user nor an optimal size says more
    /// (`BLK_DEF_MAX_SECTORS_CAP`).
    pub cap: Bytes,
    /// Without an optimal size the read-ahead window is twice the largest request.
    pub ahead_by_request: bool,
    /// The block layer cuts bios of RAID10 at chunks.
    pub raid10_chunk: bool,
    /// The block layer cuts bios of RAID0 at chunks.
    pub raid0_chunk: bool,
    /// Bios of RAID4/5/6 may be as long as a stripe.
    pub stripe_fits: bool,
}

impl LimitRules {
    /// Up to 6.11.
    pub const OLD: Self = Self {
        cap: Bytes::kib(1280),
        ahead_by_request: false,
        raid10_chunk: false,
        raid0_chunk: false,
        stripe_fits: false,
    };
    /// 6.12.
    pub const LINUX_6_12: Self = Self { raid10_chunk: true, ..Self::OLD };
    /// 6.18.
    pub const LINUX_6_18: Self = Self {
        cap: Bytes::kib(4096),
        ahead_by_request: true,
        raid0_chunk: true,
        ..Self::LINUX_6_12
    };
    /// 7.3.
    pub const LINUX_7_3: Self = Self { stripe_fits: true, ..Self::LINUX_6_18 };

    /// Those of a profile.
    pub fn of_profile(name: &str) -> Self {
        match name {
            "linux-6.12" => Self::LINUX_6_12,
            "linux-6.18" => Self::LINUX_6_18,
            "linux-7.3" | "next" => Self::LINUX_7_3,
            _ => Self::OLD,
        }
    }
}

/// Limits of a queue. A size of 0 is no limit, where its field says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueLimits {
    /// Bytes of a request (`max_sectors`).
    pub bytes: Bytes,
    /// Bytes that the hardware takes at once (`max_hw_sectors`).
    pub hardware: Bytes,
    /// Pieces of memory (`max_segments`).
    pub segments: u64,
    /// Bytes of one of them (`max_segment_size`).
    pub segment: Bytes,
    /// No piece of memory crosses a multiple of it (`seg_boundary_mask` + 1); 0 = no limit.
    pub boundary: Bytes,
    /// Pieces of memory but the first begin, and but the last end, at a multiple of it
    /// (`virt_boundary_mask` + 1); 0 = no limit.
    pub gap: Bytes,
    /// No I/O crosses a multiple of it (`chunk_sectors`); 0 = no limit.
    pub chunk: Bytes,
    /// Least unit of an I/O (`logical_block_size`).
    pub logical: Bytes,
    /// Least unit that the device writes without reading (`physical_block_size`).
    pub physical: Bytes,
    /// Preferred least size (`io_min`).
    pub io_min: Bytes,
    /// Preferred size (`io_opt`); 0 = not known.
    pub io_opt: Bytes,
    /// Writes of less than `io_opt` cost reads (`BLK_FEAT_RAID_PARTIAL_STRIPES_EXPENSIVE`).
    pub partial_stripes_expensive: bool,
    /// Bios become requests that may wait in a plug and merge. A device of bios, such as an array,
    /// takes each as it comes.
    pub requests: bool,
}

impl QueueLimits {
    /// Those of a device that says nothing.
    pub const USUAL: Self = Self {
        bytes: Bytes::kib(1280),
        hardware: Bytes::kib(1280),
        segments: 128,
        segment: Bytes::kib(64),
        boundary: Bytes::new(1 << 32),
        gap: Bytes::ZERO,
        chunk: Bytes::ZERO,
        logical: SECTOR,
        physical: SECTOR,
        io_min: SECTOR,
        io_opt: Bytes::ZERO,
        partial_stripes_expensive: false,
        requests: true,
    };
    /// No limit but that each bio is one.
    pub const NONE: Self = Self {
        bytes: Bytes::new(u32::MAX as u64 & !(SECTOR_SIZE - 1)),
        hardware: Bytes::new(u32::MAX as u64 * SECTOR_SIZE),
        segments: u64::MAX,
        segment: Bytes::new(u32::MAX as u64),
        boundary: Bytes::ZERO,
        ..Self::USUAL
    };

    /// The stripe at which writeback is to cut its bios, of a device that says that parts of it
    /// are expensive; none without.
    pub fn stripe(&self) -> Option<Bytes> {
        let stripe = self.io_opt.sectors_floor();
        (self.partial_stripes_expensive && !stripe.is_zero())
            .then(|| Bytes::new(stripe.get() * SECTOR_SIZE))
    }
    /// The read-ahead window that the kernel makes of these limits (`blk_apply_bdi_limits`), in
    /// 64 bits: an absurd `io_opt` gives an absurd window, and no small one.
    pub fn read_ahead(&self, rules: LimitRules) -> Bytes {
        let twice = |size: Bytes| Bytes::new(size.get().saturating_mul(2));
        if self.io_opt.is_zero() && rules.ahead_by_request {
            return twice(self.bytes).max(LEAST_AHEAD);
        }
        twice(self.io_opt).max(LEAST_AHEAD)
    }
    /// How many pieces of memory a stretch of contiguous bytes makes, which begins `phys` bytes
    /// into memory (`bvec_split_segs`).
    pub fn segments_of_vec(&self, phys: u64, len: Bytes) -> u64 {
        let (mut at, mut left, mut count) = (phys, len.get(), 0);
        while left > 0 {
            let piece = self.segment_at(at).get().min(left);
            (at, left, count) = (at + piece, left - piece, count + 1);
        }
        count
    }
    /// Bytes that a piece of memory which begins there may have (`get_max_segment_size`).
    pub fn segment_at(&self, phys: u64) -> Bytes {
        let most = self.segment.get().max(1);
        if self.boundary.is_zero() {
            return Bytes::new(most);
        }
        Bytes::new(most.min(self.boundary.get() - phys % self.boundary.get()))
    }
    /// What is odd about these limits, for a device of `size` bytes.
    pub fn oddities(&self, size: Bytes) -> Vec<Oddity> {
        let opt = self.io_opt;
        let mut all = Vec::new();
        if opt.is_zero() {
            return if self.partial_stripes_expensive { vec![Oddity::NoStripe] } else { all };
        }
        if !opt.get().is_power_of_two() {
            all.push(Oddity::NotAPower(opt));
        }
        if !size.is_zero() && opt > size {
            all.push(Oddity::LargerThanDevice(opt, size));
        }
        if opt > ABSURD {
            all.push(Oddity::Absurd(opt));
        }
        if opt > self.hardware {
            all.push(Oddity::MoreThanHardware(opt, self.hardware));
        }
        all
    }
}

/// Something that people should know about limits that are in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Oddity {
    /// Parts of a stripe are expensive, but its size is not known.
    NoStripe,
    /// Boundaries need a division, no mask.
    NotAPower(Bytes),
    /// No I/O can be as long.
    LargerThanDevice(Bytes, Bytes),
    /// Such as the common multiple of sizes that have nothing to do with each other.
    Absurd(Bytes),
    /// A whole stripe is never one request.
    MoreThanHardware(Bytes, Bytes),
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStripe => {
                write!(f, "partial stripes are expensive, but io_opt is 0: nothing is aligned")
            }
            Self::NotAPower(opt) => write!(f, "io_opt is {opt}, not a power of two"),
            Self::LargerThanDevice(opt, size) => {
                write!(f, "io_opt is {opt}, and the device has {size}: no I/O is as long")
            }
            Self::Absurd(opt) => write!(
                f,
                "io_opt is {opt}: most likely the common multiple of sizes that have nothing to \
                 do with each other; set the read-ahead of this device by hand"
            ),
            Self::MoreThanHardware(opt, most) => {
                write!(f, "io_opt is {opt}, and one I/O has {most} at most: no I/O is a stripe")
            }
        }
    }
}

/// What a driver, or a user, says of a queue. `None` and 0 = nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DriverLimits {
    /// Least unit of an I/O.
    pub logical: Option<Bytes>,
    /// Unit of the medium.
    pub physical: Option<Bytes>,
    /// Preferred least size.
    pub io_min: Bytes,
    /// Preferred size.
    pub io_opt: Bytes,
    /// Most bytes that the hardware takes at once.
    pub hardware: Option<Bytes>,
    /// Most bytes that the device takes at once (`max_dev_sectors`).
    pub device: Option<Bytes>,
    /// Most bytes that the user wants (`max_sectors_kb`).
    pub user: Option<Bytes>,
    /// No I/O crosses a multiple of it.
    pub chunk: Bytes,
    /// Pieces of memory.
    pub segments: Option<u64>,
    /// Bytes of a piece.
    pub segment: Option<Bytes>,
    /// No piece crosses a multiple of it.
    pub boundary: Option<Bytes>,
    /// Pieces must join at multiples of it.
    pub gap: Bytes,
    /// Writes of less than `io_opt` cost reads.
    pub partial_stripes_expensive: bool,
}

/// Limits that no queue can have.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{field} is {value}: expected {expected}")]
pub struct LimitError {
    /// Which one, by the kernel's name.
    pub field: &'static str,
    /// What it is.
    pub value: Bytes,
    /// What it can be.
    pub expected: &'static str,
}

impl DriverLimits {
    /// What the kernel makes of it (`blk_validate_limits`).
    pub fn validate(&self, rules: LimitRules) -> Result<QueueLimits, LimitError> {
        let logical = self.logical.unwrap_or(SECTOR);
        if !logical.get().is_power_of_two() || logical < SECTOR || logical > Bytes::kib(64) {
            let expected = "a power of two from 512 bytes to 64 KiB";
            return Err(LimitError { field: "logical_block_size", value: logical, expected });
        }
        let physical = self.physical.unwrap_or(logical).max(logical);
        if !physical.get().is_power_of_two() {
            let expected = "a power of two, the logical block at least";
            return Err(LimitError { field: "physical_block_size", value: physical, expected });
        }
        let down = |size: Bytes, unit: Bytes| Bytes::new(size.get() / unit.get() * unit.get());
        let io_min = self.io_min.max(physical);
        let io_opt = down(self.io_opt, physical);
        let hardware = down(self.hardware.unwrap_or(SAFE_MAX), logical);
        if hardware < Bytes::kib(4) {
            let expected = "a page at least";
            return Err(LimitError { field: "max_hw_sectors", value: hardware, expected });
        }
        let most = self.device.map_or(hardware, |device| device.min(hardware));
        let bytes = match self.user {
            Some(user) => user.min(most),
            None if io_opt > rules.cap => io_opt.min(most),
            None if io_min > rules.cap => io_min.min(most),
            None => rules.cap.min(most),
        };
        let bytes = down(bytes, logical).max(logical);
        let segment = match self.segment {
            // The gaps must be the only limit where there may be none.
            None if !self.gap.is_zero() => Bytes::new(u32::MAX.into()),
            None => Bytes::kib(64),
            Some(segment) => segment,
        };
        if segment.is_zero() || !self.gap.is_zero() && !self.gap.get().is_power_of_two() {
            let expected = "more than 0, with a gap mask that is a power of two less one";
            return Err(LimitError { field: "max_segment_size", value: segment, expected });
        }
        Ok(QueueLimits {
            bytes,
            hardware,
            segments: self.segments.unwrap_or(QueueLimits::USUAL.segments),
            segment,
            boundary: self.boundary.unwrap_or(QueueLimits::USUAL.boundary),
            gap: self.gap,
            chunk: self.chunk,
            logical,
            physical,
            io_min,
            io_opt,
            partial_stripes_expensive: self.partial_stripes_expensive,
            requests: true,
        })
    }
}

/// Limits of a device that is put together of others, so far (`blk_stack_limits`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stacked {
    /// The limits.
    pub limits: QueueLimits,
    /// A part does not begin, or its sizes do not lie, as the others' do: the kernel warns, and
    /// says nothing that it would have to take back.
    pub misaligned: bool,
}

impl Stacked {
    /// A device of bios with its own preferences, before its parts are known.
    pub const fn new(own: QueueLimits) -> Self {
        Self { limits: QueueLimits { requests: false, ..own }, misaligned: false }
    }
    /// Adds a part that begins at `start` of a device with these limits.
    #[must_use]
    pub fn with(mut self, part: &QueueLimits, start: Bytes) -> Self {
        let own = &mut self.limits;
        own.bytes = own.bytes.min(part.bytes);
        own.hardware = own.hardware.min(part.hardware);
        own.segments = own.segments.min(part.segments);
        own.segment = own.segment.min(part.segment);
        own.boundary = least_but_zero(own.boundary, part.boundary);
        own.gap = least_but_zero(own.gap, part.gap);
        own.logical = own.logical.max(part.logical);
        own.physical = own.physical.max(part.physical);
        own.io_min = own.io_min.max(part.io_min);
        own.io_opt = common_multiple(own.io_opt, part.io_opt);
        if !part.chunk.is_zero() {
            own.chunk = common_divisor(own.chunk, part.chunk);
        }
        let unit = own.physical.get();
        let granularity = own.physical.max(part.io_min).get();
        let mut off = !start.get().is_multiple_of(granularity);
        if !own.io_min.get().is_multiple_of(unit) {
            own.io_min = own.physical;
            off = true;
        }
        if !own.io_opt.get().is_multiple_of(unit) {
            own.io_opt = Bytes::ZERO;
            off = true;
        }
        if !own.chunk.get().is_multiple_of(unit) {
            own.chunk = Bytes::ZERO;
            off = true;
        }
        own.bytes = Bytes::new(own.bytes.get() / own.logical.get() * own.logical.get());
        self.misaligned |= off;
        self
    }
}

fn least_but_zero(one: Bytes, other: Bytes) -> Bytes {
    match (one.is_zero(), other.is_zero()) {
        (true, _) => other,
        (_, true) => one,
        _ => one.min(other),
    }
}

fn common_divisor(one: Bytes, other: Bytes) -> Bytes {
    let (mut a, mut b) = (one.get(), other.get());
    while b > 0 {
        (a, b) = (b, a % b);
    }
    Bytes::new(a)
}

/// The least common multiple, in the 32 bits that the kernel keeps of it (`lcm_not_zero`).
fn common_multiple(one: Bytes, other: Bytes) -> Bytes {
    if one.is_zero() || other.is_zero() {
        return one.max(other);
    }
    let multiple = one.get() / common_divisor(one, other).get() * other.get();
    Bytes::new(multiple & u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driver() -> DriverLimits {
        DriverLimits { hardware: Some(Bytes::kib(1 << 20)), ..DriverLimits::default() }
    }

    #[test]
    fn the_largest_request_follows_user_hints_and_cap_in_this_order() {
        let bytes =
            |limits: DriverLimits| limits.validate(LimitRules::OLD).expect("good limits").bytes;
        assert_eq!(bytes(driver()), Bytes::kib(1280));
        assert_eq!(bytes(DriverLimits::default()), Bytes::new(255 * 512));
        let opt = DriverLimits { io_opt: Bytes::kib(3072), ..driver() };
        assert_eq!(bytes(opt), Bytes::kib(3072));
        assert_eq!(bytes(DriverLimits { io_min: Bytes::kib(2048), ..driver() }), Bytes::kib(2048));
        let small = Some(Bytes::kib(512));
        assert_eq!(bytes(DriverLimits { user: small, ..opt }), Bytes::kib(512));
        assert_eq!(bytes(DriverLimits { device: small, ..opt }), Bytes::kib(512));
        let odd =
            DriverLimits { io_opt: Bytes::new(100_000), physical: Some(Bytes::kib(4)), ..driver() };
        assert_eq!(odd.validate(LimitRules::OLD).expect("good").io_opt, Bytes::new(98304));
    }

    #[test]
    fn what_no_queue_can_have_is_refused_by_name() {
        let bad = DriverLimits { logical: Some(Bytes::new(768)), ..driver() };
        let error = bad.validate(LimitRules::OLD).expect_err("not a power").to_string();
        assert!(error.contains("logical_block_size") && error.contains("768"), "{error}");
        let bad = DriverLimits { hardware: Some(SECTOR), ..driver() };
        assert!(bad.validate(LimitRules::OLD).is_err());
    }

    #[test]
    fn read_ahead_is_twice_the_optimal_size_and_does_not_wrap() {
        let limits = QueueLimits { io_opt: Bytes::new(4_294_443_008), ..QueueLimits::USUAL };
        assert_eq!(limits.read_ahead(LimitRules::OLD), Bytes::kib(8_387_584));
        assert_eq!(limits.io_opt.sectors_floor().get(), 8_387_584);
        let unknown = QueueLimits { bytes: Bytes::kib(4096), ..QueueLimits::USUAL };
        assert_eq!(unknown.read_ahead(LimitRules::OLD), Bytes::kib(128));
        assert_eq!(unknown.read_ahead(LimitRules::LINUX_6_18), Bytes::kib(8192));
    }

    #[test]
    fn a_member_with_an_odd_size_makes_an_absurd_common_multiple() {
        let own = QueueLimits { io_opt: Bytes::kib(512), ..QueueLimits::NONE };
        let member = QueueLimits { io_opt: Bytes::new(8191 * 512), ..QueueLimits::USUAL };
        let stacked = Stacked::new(own).with(&member, Bytes::ZERO).limits;
        assert_eq!(stacked.io_opt, Bytes::new(4_294_443_008));
        let words: Vec<String> =
            stacked.oddities(Bytes::kib(1 << 20)).iter().map(Oddity::to_string).collect();
        assert!(words.iter().any(|line| line.contains("no I/O is as long")), "{words:?}");
        assert!(words.iter().any(|line| line.contains("read-ahead")), "{words:?}");
    }

    #[test]
    fn a_part_that_begins_off_a_block_is_misaligned() {
        let member =
            QueueLimits { physical: Bytes::kib(4), io_min: Bytes::kib(4), ..QueueLimits::USUAL };
        let at =
            |start| Stacked::new(QueueLimits::NONE).with(&member, Bytes::new(start)).misaligned;
        assert!(!at(1 << 20) && at(63 * 512));
    }

    #[test]
    fn pieces_of_memory_end_at_their_size_and_boundary() {
        let limits =
            QueueLimits { segment: Bytes::kib(64), boundary: Bytes::kib(32), ..QueueLimits::USUAL };
        assert_eq!(limits.segments_of_vec(0, Bytes::kib(64)), 2);
        assert_eq!(limits.segments_of_vec(4096, Bytes::kib(32)), 2);
        let free = QueueLimits { boundary: Bytes::ZERO, ..limits };
        assert_eq!(free.segments_of_vec(4096, Bytes::kib(65)), 2);
    }
}
