//! Coordinates in sixteenths of a pixel, and every number that a picture writes.
//!
//! No floats: the same picture must come out byte for byte on every machine.

use crate::units::Bytes;
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// A length or coordinate in sixteenths of a pixel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Fx(i32);

/// Whole pixels.
pub const fn px(n: i32) -> Fx {
    Fx(n * 16)
}

/// A count as a number of pixels or rows.
pub fn whole(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// A block number as an index; beyond every list where it does not fit.
pub fn index(block: u64) -> usize {
    usize::try_from(block).unwrap_or(usize::MAX)
}

/// How many times `unit` goes into a length; 0 for what is not positive.
pub fn fitting(length: i32, unit: i32) -> usize {
    usize::try_from(length / unit.max(1)).unwrap_or(0)
}

/// Half a pixel: where a one-pixel line is sharp.
pub const HALF: Fx = Fx(8);

impl Fx {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// From sixteenths.
    pub const fn sixteenths(n: i32) -> Self {
        Self(n)
    }
    /// As sixteenths.
    pub const fn get(self) -> i32 {
        self.0
    }
    /// The whole pixel below.
    pub const fn floor(self) -> i32 {
        self.0.div_euclid(16)
    }
    /// `self * num / den`, rounding down.
    #[must_use]
    pub fn scale(self, num: u64, den: u64) -> Self {
        // Numbers of a usual size need no long division.
        if num < 1 << 31 && den < 1 << 31 {
            let scaled = i64::from(self.0) * num.cast_signed() / den.max(1).cast_signed();
            return Self(i32::try_from(scaled).unwrap_or(i32::MAX));
        }
        let scaled = i128::from(self.0) * i128::from(num) / i128::from(den.max(1));
        Self(i32::try_from(scaled).unwrap_or(i32::MAX))
    }
}

impl Add for Fx {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl AddAssign for Fx {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl Sub for Fx {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl Neg for Fx {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}
impl Mul<i32> for Fx {
    type Output = Self;
    fn mul(self, n: i32) -> Self {
        Self(self.0 * n)
    }
}
impl Div<i32> for Fx {
    type Output = Self;
    fn div(self, n: i32) -> Self {
        Self(self.0 / n)
    }
}

impl fmt::Display for Fx {
    /// As a decimal number without trailing zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let all = self.0.unsigned_abs();
        let (whole, part) = (all / 16, all % 16 * 625);
        if part == 0 {
            return write!(f, "{sign}{whole}");
        }
        let digits = format!("{part:04}");
        write!(f, "{sign}{whole}.{}", digits.trim_end_matches('0'))
    }
}

/// Width budgeted for one character at `size` pixels: 0.62 em, rounded up.
pub const fn advance(size: i32) -> Fx {
    Fx((size * 16 * 62 + 99) / 100)
}

/// Width budgeted for a text at `size` pixels.
pub fn text_width(text: &str, size: i32) -> Fx {
    advance(size) * whole(text.chars().count())
}

/// A file position for a ruler: `64K`, `3M`, or bytes.
pub fn position(pos: u64) -> String {
    for (shift, unit) in [(30, "G"), (20, "M"), (10, "K")] {
        if pos != 0 && pos.is_multiple_of(1 << shift) {
            return format!("{}{unit}", pos >> shift);
        }
    }
    if pos == 0 { "0K".to_owned() } else { pos.to_string() }
}

/// A number with its digits in groups of three.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + 6);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// `1 block`, `16 blocks`.
pub fn plural(n: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// Milliseconds as people say them.
pub fn millis(n: u64) -> String {
    match (n / 1000, n % 1000) {
        (0, ms) => format!("{ms} ms"),
        (s, 0) => format!("{s} s"),
        (s, ms) => format!("{s}.{} s", ms / 100),
    }
}

/// A size as people say it.
pub fn size(bytes: u64) -> String {
    Bytes::new(bytes).to_string()
}

/// How many times `part` goes into `whole`, to a tenth: `16 ×`, `1.5 ×`.
pub fn times(whole: u64, part: u64) -> Option<String> {
    let tenths = u128::from(whole) * 10 / u128::from((part > 0).then_some(part)?);
    let (n, tenth) = (tenths / 10, tenths % 10);
    Some(if tenth == 0 { format!("{n} \u{d7}") } else { format!("{n}.{tenth} \u{d7}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_one_way() {
        assert_eq!(px(12).to_string(), "12");
        assert_eq!((px(12) + HALF).to_string(), "12.5");
        assert_eq!(Fx::sixteenths(-1).to_string(), "-0.0625");
        assert_eq!(grouped(98_304), "98 304");
        assert_eq!(grouped(12), "12");
        assert_eq!(position(0), "0K");
        assert_eq!(position(3 << 20), "3M");
        assert_eq!(position(65_537), "65537");
        assert_eq!(plural(1, "block"), "1 block");
        assert_eq!(times(65_536, 4096).as_deref(), Some("16 \u{d7}"));
        assert_eq!(times(1, 0), None);
        assert_eq!(advance(11), Fx::sixteenths(110));
    }
}
