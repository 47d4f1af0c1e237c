//! One type per unit, so that bytes, blocks, pages and sectors cannot be mixed up.
//!
//! A position minus a position is a count; a position plus a count is a position. Nothing converts
//! by itself: conversions and rounding are named and live on [`crate::geometry::Geometry`].
//! Positions stay below [`MAX_POS`] (checked where they enter), so sums inside the engine cannot
//! overflow.

use core::fmt;
use core::ops::{Add, AddAssign, Sub, SubAssign};

/// Largest file position or device address that is accepted, as `loff_t` in the kernel, less room
/// for rounding up to the largest folio.
pub const MAX_POS: u64 = (1 << 62) - 1;

/// Bytes of one device sector.
pub const SECTOR_SIZE: u64 = 512;

macro_rules! newtype {
    ($(#[$doc:meta])* $name:ident($repr:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
        pub struct $name($repr);

        impl $name {
            #[doc = concat!("Wraps a raw number as a `", stringify!($name), "`.")]
            pub const fn new(raw: $repr) -> Self {
                Self(raw)
            }
            /// The raw number.
            pub const fn get(self) -> $repr {
                self.0
            }
        }
        impl crate::ordered::Key for $name {
            fn word(self) -> u64 {
                self.0.into()
            }
            fn of_word(word: u64) -> Self {
                Self(word as $repr)
            }
        }
    };
}

macro_rules! count {
    ($(#[$doc:meta])* $name:ident) => {
        newtype!($(#[$doc])* $name(u64));

        impl $name {
            /// Nothing.
            pub const ZERO: Self = Self(0);
            /// Whether there is nothing.
            pub const fn is_zero(self) -> bool {
                self.0 == 0
            }
            /// Difference, or zero if `other` is larger.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }
        impl core::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
                all.fold(Self::ZERO, Add::add)
            }
        }
    };
}

macro_rules! point {
    ($(#[$doc:meta])* $name:ident, $count:ident) => {
        newtype!($(#[$doc])* $name(u64));

        impl $name {
            /// The first one.
            pub const ZERO: Self = Self(0);
            /// How far this one is behind `start`.
            ///
            /// `start` must not lie behind this one.
            pub fn since(self, start: Self) -> $count {
                debug_assert!(self.0 >= start.0, "{self:?} lies before {start:?}");
                $count::new(self.0 - start.0)
            }
        }
        impl Add<$count> for $name {
            type Output = Self;
            fn add(self, n: $count) -> Self {
                Self(self.0 + n.get())
            }
        }
        impl AddAssign<$count> for $name {
            fn add_assign(&mut self, n: $count) {
                self.0 += n.get();
            }
        }
        impl Sub<$count> for $name {
            type Output = Self;
            fn sub(self, n: $count) -> Self {
                Self(self.0 - n.get())
            }
        }
    };
}

count!(/// A number of bytes.
    Bytes);
count!(/// A number of 512-byte sectors.
    Sectors);
count!(/// A number of pages.
    Pages);
count!(/// A number of file-system blocks.
    Blocks);
count!(/// A span of virtual or real time in nanoseconds.
    Nanos);

point!(/// A byte position in a file (`pos`).
    Pos, Bytes);
point!(/// A byte inside a smaller unit, such as a folio or a mapping (`offset`).
    Offset, Bytes);
point!(/// A byte address on a device.
    DevAddr, Bytes);
point!(/// A 512-byte sector on a device.
    Sector, Sectors);
point!(/// The index of a page in a file.
    PageIndex, Pages);
point!(/// The index of a block: in a file, or in a folio where the name says so.
    BlockNo, Blocks);
point!(/// A page frame number: pages with following numbers follow each other in memory.
    Pfn, Pages);
point!(/// A moment, in nanoseconds since the run began.
    Time, Nanos);

newtype!(/// A folio spans `2^order` pages.
    Order(u8));
newtype!(/// A folio: a row of the folio table. Rows are used again.
    FolioId(u32));
newtype!(/// An open file of the engine.
    FileId(u32));
newtype!(/// A backing device that files lie on, numbered from 0.
    BdiId(u32));
newtype!(/// A task: an application thread, or a worker of the kernel.
    TaskId(u32));
newtype!(/// A bio, numbered in the order of allocation. Numbers are never used again.
    BioId(u32));
newtype!(/// A member of an array, by its number in it.
    MemberId(u32));
newtype!(/// A request, numbered in the order of allocation. Numbers are never used again.
    RequestId(u32));
newtype!(/// An operation, numbered in the order of its start.
    OpId(u32));

impl Order {
    /// One page.
    pub const ZERO: Self = Self(0);
    /// Pages of a folio of this order.
    pub const fn pages(self) -> Pages {
        Pages(1 << self.0)
    }
    /// The next smaller order; none below a page.
    pub const fn smaller(self) -> Option<Self> {
        match self.0.checked_sub(1) {
            Some(n) => Some(Self(n)),
            None => None,
        }
    }
}

impl Bytes {
    /// A size in KiB.
    pub const fn kib(n: u64) -> Self {
        Self(n * 1024)
    }
    /// Whole sectors in this many bytes, rounding down.
    pub const fn sectors_floor(self) -> Sectors {
        Sectors(self.0 / SECTOR_SIZE)
    }
}

impl DevAddr {
    /// The sector that holds this byte.
    pub const fn sector_floor(self) -> Sector {
        Sector(self.0 / SECTOR_SIZE)
    }
}

impl Sector {
    /// The address of the first byte.
    pub const fn addr(self) -> DevAddr {
        DevAddr(self.0 * SECTOR_SIZE)
    }
}

impl fmt::Display for Bytes {
    /// As people say sizes: `4 KiB`, `1.5 MiB`, `100 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u32); 3] = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
        for (name, shift) in UNITS {
            let unit = 1u64 << shift;
            if self.0 >= unit {
                let (whole, tenths) = (self.0 / unit, self.0 % unit * 10 / unit);
                return if tenths == 0 {
                    write!(f, "{whole} {name}")
                } else {
                    write!(f, "{whole}.{tenths} {name}")
                };
            }
        }
        write!(f, "{} B", self.0)
    }
}

impl fmt::Display for Pos {
    /// In hex, as the kernel prints positions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Display for Sector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A half-open range of file bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileRange {
    start: Pos,
    len: Bytes,
}

impl FileRange {
    /// The range of `len` bytes from `start`; none if it would end beyond [`MAX_POS`].
    pub fn new(start: Pos, len: Bytes) -> Option<Self> {
        let end = start.get().checked_add(len.get())?;
        (end <= MAX_POS).then_some(Self { start, len })
    }
    /// From `start` up to, not including, `end`; empty if `end` lies before `start`.
    pub fn between(start: Pos, end: Pos) -> Self {
        Self { start, len: Bytes::new(end.get().saturating_sub(start.get())) }
    }
    /// First byte.
    pub const fn start(self) -> Pos {
        self.start
    }
    /// Number of bytes.
    pub const fn len(self) -> Bytes {
        self.len
    }
    /// First byte behind the range.
    pub fn end(self) -> Pos {
        self.start + self.len
    }
    /// Whether it holds no byte.
    pub const fn is_empty(self) -> bool {
        self.len.is_zero()
    }
    /// The bytes that both ranges hold.
    #[must_use]
    pub fn intersect(self, other: Self) -> Self {
        Self::between(self.start.max(other.start), self.end().min(other.end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_people_say_them() {
        for (bytes, text) in [
            (0, "0 B"),
            (100, "100 B"),
            (4096, "4 KiB"),
            (1_572_864, "1.5 MiB"),
            (1 << 30, "1 GiB"),
        ] {
            assert_eq!(Bytes::new(bytes).to_string(), text);
        }
    }

    #[test]
    fn ranges_refuse_to_overflow() {
        assert!(FileRange::new(Pos::new(u64::MAX), Bytes::new(1)).is_none());
        assert!(FileRange::new(Pos::new(MAX_POS), Bytes::new(1)).is_none());
        let range = FileRange::new(Pos::new(10), Bytes::new(5)).expect("in bounds");
        assert_eq!(range.end(), Pos::new(15));
        assert!(FileRange::between(Pos::new(5), Pos::new(2)).is_empty());
    }
}
