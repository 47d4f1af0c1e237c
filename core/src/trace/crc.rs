//! CRC-32 as of Ethernet and zip, eight bytes at a time.
//!
//! The tables are made when they are wanted: as constants they would be 8 KiB that nothing packs,
//! in a page that is sent packed.

/// Bytes that are taken at once.
const WIDE: usize = 8;
/// The polynomial, lowest bit first.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// Makes checksums.
pub(super) struct Crc {
    /// What a byte leaves behind when so many others follow it.
    tables: [[u32; 256]; WIDE],
}

impl Crc {
    pub(super) fn new() -> Self {
        let bit = |sum: u32, _| sum >> 1 ^ if sum & 1 == 1 { POLYNOMIAL } else { 0 };
        let bytes = core::array::from_fn(|byte| (0..8).fold(byte as u32, bit));
        let mut tables = [bytes; WIDE];
        for table in 1..WIDE {
            tables[table] = tables[table - 1].map(|sum| step(&bytes, sum, 0));
        }
        Self { tables }
    }
    /// The checksum of all these bytes.
    pub(super) fn of(&self, bytes: &[u8]) -> u32 {
        let mut words = bytes.chunks_exact(WIDE);
        let mut sum = u32::MAX;
        for word in &mut words {
            let mut next = 0;
            for (at, byte) in word.iter().enumerate() {
                let before = if at < 4 { (sum >> (8 * at)) as u8 } else { 0 };
                next ^= self.tables[WIDE - 1 - at][usize::from(byte ^ before)];
            }
            sum = next;
        }
        !words.remainder().iter().fold(sum, |sum, byte| step(&self.tables[0], sum, *byte))
    }
}

/// One byte on.
fn step(table: &[u32; 256], sum: u32, byte: u8) -> u32 {
    sum >> 8 ^ table[usize::from(sum as u8 ^ byte)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_check_value_of_the_standard_comes_out() {
        assert_eq!(Crc::new().of(b"123456789"), 0xcbf4_3926);
        assert_eq!(Crc::new().of(b""), 0);
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(bytes in prop::collection::vec(any::<u8>(), 0..70)) {
            let mut sum = u32::MAX;
            for byte in &bytes {
                sum ^= u32::from(*byte);
                for _ in 0..8 {
                    sum = (sum >> 1) ^ ((sum & 1) * POLYNOMIAL);
                }
            }
            prop_assert_eq!(Crc::new().of(&bytes), !sum);
        }
    }
}
