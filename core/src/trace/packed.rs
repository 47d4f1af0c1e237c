//! The values of a block of a trace: numbers in groups of seven bits, lowest first, the top bit of
//! a byte saying that more follow; texts with their length in front; what may be missing behind a
//! 0 or 1.

/// Longest number, in bytes.
const MAX_NUMBER: u32 = u64::BITS.div_ceil(7);

/// Adds a number.
pub(crate) fn put(out: &mut Vec<u8>, number: impl Into<u64>) {
    let mut rest = number.into();
    while rest > 0x7f {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Adds a text.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Adds what may be missing.
pub(crate) fn put_option<T>(out: &mut Vec<u8>, value: Option<T>, put: impl Fn(&mut Vec<u8>, T)) {
    out.push(value.is_some().into());
    if let Some(value) = value {
        put(out, value);
    }
}

/// A block while it is read; errors are what is wrong with it.
pub(crate) struct Packed<'a>(pub(crate) &'a [u8]);

impl<'a> Packed<'a> {
    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8], String> {
        let (head, rest) = self.0.split_at_checked(len).ok_or("it ends within a value")?;
        self.0 = rest;
        Ok(head)
    }
    pub(crate) fn byte(&mut self) -> Result<u8, String> {
        self.bytes(1).map(|byte| byte[0])
    }
    /// A number of the type that is wanted.
    pub(crate) fn number<T: TryFrom<u64>>(&mut self) -> Result<T, String> {
        let number = self.word()?;
        T::try_from(number).map_err(|_| format!("{number} is too large for its place"))
    }
    fn word(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for at in 0..MAX_NUMBER {
            let byte = self.byte()?;
            let group = u64::from(byte & 0x7f);
            number |= group << (7 * at);
            if number >> (7 * at) != group {
                break;
            }
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("a number has more than 64 bits".to_owned())
    }
    pub(crate) fn text(&mut self) -> Result<String, String> {
        let len = self.number()?;
        let text = core::str::from_utf8(self.bytes(len)?).map_err(|_| "a text is not UTF-8")?;
        Ok(text.to_owned())
    }
    pub(crate) fn option<T>(
        &mut self,
        read: impl Fn(&mut Self) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        match self.byte()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            other => Err(format!("{other} says neither that a value is there nor that none is")),
        }
    }
    /// Nothing may be left.
    pub(crate) fn end(self) -> Result<(), String> {
        if self.0.is_empty() { Ok(()) } else { Err("it goes on behind its last value".to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(number: u64) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, number);
        out
    }

    #[test]
    fn numbers_take_seven_bits_a_byte() {
        assert_eq!(packed(0), [0]);
        assert_eq!(packed(127), [127]);
        assert_eq!(packed(300), [0xac, 2]);
        assert_eq!(packed(u64::MAX).len(), MAX_NUMBER as usize);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |bytes: &[u8]| Packed(bytes).number::<u32>().is_err();
        assert!(refused(&[]) && refused(&[0x80]) && refused(&packed(1 << 32)));
        assert!(!refused(&packed(u32::MAX.into())));
        let mut long = [0xff; 10];
        long[9] = 2;
        assert!(Packed(&long).number::<u64>().is_err());
        assert!(Packed(&[0xff; 11]).number::<u64>().is_err());
        assert!(Packed(&[2, b'a', 0xff]).text().is_err());
        assert!(Packed(&[255, 255, 255, 255, 15]).text().is_err());
        assert!(Packed(&[2]).option(Packed::byte).is_err());
        assert!(Packed(&[0]).end().is_err());
    }

    proptest! {
        #[test]
        fn values_come_back(
            numbers in prop::collection::vec(any::<u64>(), 0..9),
            shift in 0u32..64,
            text in ".{0,9}",
            maybe in any::<Option<u32>>(),
        ) {
            let mut out = Vec::new();
            for number in &numbers {
                put(&mut out, number >> shift);
            }
            put_text(&mut out, &text);
            put_option(&mut out, maybe, put);
            let mut packed = Packed(&out);
            for number in &numbers {
                prop_assert_eq!(packed.number::<u64>(), Ok(number >> shift));
            }
            prop_assert_eq!(packed.text(), Ok(text));
            prop_assert_eq!(packed.option(Packed::number), Ok(maybe));
            prop_assert_eq!(packed.end(), Ok(()));
        }
    }
}
