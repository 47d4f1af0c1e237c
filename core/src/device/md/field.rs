//! Parity and the second parity of RAID6: arithmetic of bytes in the field of 256 elements with the
//! polynomial 0x11d and the generator 2, as the kernel's `raid6` library has it.
//!
//! P is the sum of all data blocks, Q the sum of data block i times 2^i.

/// The polynomial without its highest term.
const POLYNOMIAL: u8 = 0x1d;

/// Twice an element.
const fn double(a: u8) -> u8 {
    (a << 1) ^ if a & 0x80 == 0 { 0 } else { POLYNOMIAL }
}

const fn powers() -> [u8; 256] {
    let mut table = [0; 256];
    let (mut at, mut value) = (0, 1);
    while at < 255 {
        table[at] = value;
        value = double(value);
        at += 1;
    }
    table[255] = 1;
    table
}

const fn logarithms() -> [u8; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 255 {
        table[POWERS[at] as usize] = at as u8;
        at += 1;
    }
    table
}

/// 2^n for n below 256; 2^255 is 1 again.
const POWERS: [u8; 256] = powers();
/// The n with 2^n = a; of 0 there is none, and the entry is 0.
const LOGARITHMS: [u8; 256] = logarithms();

/// 2^n.
pub const fn power(n: u32) -> u8 {
    POWERS[(n % 255) as usize]
}

/// The product of two elements.
pub const fn times(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    let sum = LOGARITHMS[a as usize] as u32 + LOGARITHMS[b as usize] as u32;
    power(sum)
}

/// The element whose product with `a` is 1; `a` is not 0.
pub const fn inverse(a: u8) -> u8 {
    power(255 - LOGARITHMS[a as usize] as u32)
}

/// All products of one element, for whole blocks.
fn row_of(factor: u8) -> [u8; 256] {
    core::array::from_fn(|b| times(factor, b as u8))
}

/// Adds `from` to `to`.
pub fn add(to: &mut [u8], from: &[u8]) {
    for (a, b) in to.iter_mut().zip(from) {
        *a ^= b;
    }
}

/// Adds `factor` times `from` to `to`.
pub fn add_times(to: &mut [u8], from: &[u8], factor: u8) {
    if factor == 1 {
        return add(to, from);
    }
    let row = row_of(factor);
    for (a, b) in to.iter_mut().zip(from) {
        *a ^= row[*b as usize];
    }
}

/// Multiplies a block.
pub fn scale(block: &mut [u8], factor: u8) {
    let row = row_of(factor);
    for byte in block {
        *byte = row[*byte as usize];
    }
}

/// P of these data blocks, each of `len` bytes.
pub fn p_of<'a>(data: impl IntoIterator<Item = &'a [u8]>, len: usize) -> Vec<u8> {
    let mut p = vec![0; len];
    data.into_iter().for_each(|block| add(&mut p, block));
    p
}

/// Q of these data blocks, each with its place in the sum.
pub fn q_of<'a>(data: impl IntoIterator<Item = (u32, &'a [u8])>, len: usize) -> Vec<u8> {
    let mut q = vec![0; len];
    data.into_iter().for_each(|(slot, block)| add_times(&mut q, block, power(slot)));
    q
}

/// The data block at `lost`, from Q and all the others (`raid6_datap_recov`): `rest` is Q less what
/// the others add to it.
pub fn from_q(mut rest: Vec<u8>, lost: u32) -> Vec<u8> {
    scale(&mut rest, inverse(power(lost)));
    rest
}

/// The data blocks at two places, from both parities (`raid6_2data_recov`): `p` and `q` are what is
/// left of P and Q less what the other blocks add to them.
pub fn from_both(p: &[u8], q: &[u8], first: u32, second: u32) -> (Vec<u8>, Vec<u8>) {
    // a + b = p and 2^i a + 2^j b = q, so a = (q + 2^j p) / (2^i + 2^j).
    let (factor, other) = (power(first), power(second));
    let mut one = q.to_vec();
    add_times(&mut one, p, other);
    scale(&mut one, inverse(factor ^ other));
    let mut rest = p.to_vec();
    add(&mut rest, &one);
    (one, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_field_is_the_one_of_the_kernel() {
        assert_eq!((power(0), power(1), power(7), power(8), power(254)), (1, 2, 0x80, 0x1d, 0x8e));
        assert_eq!(times(0x80, 2), 0x1d);
        for a in 1..=255 {
            assert_eq!(times(a, inverse(a)), 1);
            assert_eq!(times(a, 0), 0);
        }
        let mut all: Vec<u8> = (0..255).map(power).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 255, "2 generates every element but 0");
    }

    proptest! {
        #[test]
        fn the_field_has_its_laws(a: u8, b: u8, c: u8) {
            prop_assert_eq!(times(a, b), times(b, a));
            prop_assert_eq!(times(a, times(b, c)), times(times(a, b), c));
            prop_assert_eq!(times(a, b ^ c), times(a, b) ^ times(a, c));
        }

        #[test]
        fn any_two_lost_blocks_come_back(
            data in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 16), 2..12),
            one: prop::sample::Index,
            other: prop::sample::Index,
        ) {
            let (i, j) = (one.index(data.len()), other.index(data.len()));
            let p = p_of(data.iter().map(Vec::as_slice), 16);
            let q = q_of((0..).zip(data.iter().map(Vec::as_slice)), 16);
            let (mut rest_p, mut rest_q) = (p.clone(), q.clone());
            for (at, block) in data.iter().enumerate().filter(|(at, _)| *at != i && *at != j) {
                add(&mut rest_p, block);
                add_times(&mut rest_q, block, power(at as u32));
            }
            if i == j {
                prop_assert_eq!(&rest_p, &data[i]);
                prop_assert_eq!(&from_q(rest_q, i as u32), &data[i]);
            } else {
                let (a, b) = from_both(&rest_p, &rest_q, i as u32, j as u32);
                prop_assert_eq!(&a, &data[i]);
                prop_assert_eq!(&b, &data[j]);
            }
        }
    }
}
